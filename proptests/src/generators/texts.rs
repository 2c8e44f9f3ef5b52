//! Texts that are almost right: numbers, keys and ids with one thing wrong.

use proptest::prelude::*;
use proptest::sample::select;

/// Texts of amounts: well formed ones of every length, and each way of going wrong.
pub fn amounts() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => "(0|[1-9][0-9]{0,15})(\\.[0-9]{1,5})?",
        2 => "[0-9]{0,3}(\\.[0-9]{0,4}){0,2}",
        2 => "99999999999999[89]\\.(99|98|990|991|999)0{0,4}",
        1 => "(0|1)\\.0{1,70}",
        1 => "[-+]?[0-9]{1,4}([eE][-+]?[0-9])?",
        1 => "[0-9]{16,70}",
        1 => "[ \t]?[0-9]{1,3}[ _,.'][0-9]{1,3}[ \n]?",
        1 => select(vec!["NaN", "inf", "", ".", "-", "1.", ".1", "0x1", "１", "١", "1²", "½", "0.0"])
            .prop_map(str::to_owned),
        1 => "\\PC{0,8}",
    ]
}

/// A text with one character replaced, at a given place and by a given character.
pub fn replaced(text: &str, place: usize, with: char) -> String {
    let place = place % text.chars().count().max(1);
    text.chars()
        .enumerate()
        .map(|(i, c)| if i == place { with } else { c })
        .collect()
}

/// A text of digits with a different digit at `place`; `shift`, 1 to 9, is added modulo 10.
pub fn other_digit(text: &str, place: usize, shift: u32) -> String {
    text.chars()
        .enumerate()
        .map(|(i, c)| match c.to_digit(10) {
            Some(digit) if i == place => char::from_digit((digit + shift) % 10, 10).unwrap(),
            _ => c,
        })
        .collect()
}
