//! CBU, CVU and CUIT against python-stdnum, an independent implementation from the same sources.
//!
//! This is a separate program, not counted among the tests: it prints `oracle: ok`, or
//! `oracle: not run` if python-stdnum is missing, which `CAUDAL_REQUIRE_ORACLE=1` makes a failure.
//! `CAUDAL_PYTHON` names another interpreter than `python3`. Like every test it can be filtered by
//! its name.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "all of this room is test code: a panic is how it reports"
)]

pub mod generators;
pub mod scale;

use std::io::Write;
use std::process::{Command, Stdio};

use caudal_ledger::cuit::Cuit;
use caudal_ledger::cvu::{Cbu, Cvu};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::ValueTree;
use proptest::test_runner::{RngSeed, TestRunner};

use generators::{keys, texts};
use scale::{cases, config};

const SCRIPT: &str = "
import sys
from stdnum.ar import cbu, cuit
for line in sys.stdin:
    kind, number = line.rstrip('\\n').split(':', 1)
    print(int((cbu if kind == 'cbu' else cuit).is_valid(number)))
";

fn python() -> Command {
    Command::new(std::env::var("CAUDAL_PYTHON").unwrap_or_else(|_| "python3".to_owned()))
}

fn available() -> bool {
    let tried = python()
        .args(["-c", "import stdnum.ar.cbu, stdnum.ar.cuit"])
        .output();
    tried.is_ok_and(|output| output.status.success())
}

/// Valid keys, keys with one digit wrong or two swapped, and random digits.
fn keys_22() -> impl Strategy<Value = String> {
    let valid = prop_oneof![
        (0_u16..=9_999, 0_u64..=999_999_999_999).prop_map(|(psp, client)| keys::cvu(psp, client)),
        (1_u16..=999, 0_u16..=9_999, 0_u64..=9_999_999_999_999)
            .prop_map(|(bank, branch, account)| keys::cbu(bank, branch, account)),
        ("000[0-9]{4}", "[0-9]{13}").prop_map(|(first, second)| keys::key_22(&first, &second)),
    ];
    spoiled(valid).prop_union_random("[0-9]{20,23}")
}

/// CUITs of the same kinds; stdnum does not know the prefixes 25 and 26.
fn cuits() -> impl Strategy<Value = String> {
    let valid = (select(keys::PREFIXES.to_vec()), 0_u32..=99_999_999)
        .prop_map(|(prefix, number)| keys::cuit(prefix, number));
    spoiled(valid)
        .prop_union_random("[0-9]{10,12}")
        .prop_filter("a prefix that stdnum knows", |text| {
            !text.starts_with("25") && !text.starts_with("26")
        })
}

fn spoiled(valid: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    (valid, 0_u8..4, any::<prop::sample::Index>(), 1_u32..=9).prop_map(|(text, how, at, shift)| {
        let place = at.index(text.len());
        match how {
            0 | 1 => text,
            2 => texts::other_digit(&text, place, shift),
            _ => {
                let mut swapped: Vec<char> = text.chars().collect();
                swapped.swap(place, (place + 1) % text.len());
                swapped.into_iter().collect()
            }
        }
    })
}

/// Replaces one in eight by a text of the pattern.
trait OrPattern: Strategy<Value = String> + Sized + 'static {
    fn prop_union_random(self, pattern: &'static str) -> BoxedStrategy<String> {
        prop_oneof![7 => self, 1 => pattern].boxed()
    }
}
impl<S: Strategy<Value = String> + 'static> OrPattern for S {}

/// The answers that the ledger should give for a key that stdnum judges by its check digits alone:
/// keys that begin with 000 are CVUs, which have a PSP and a reserved 0.
fn right_key(text: &str, valid: bool) -> (bool, bool) {
    let is_cvu = text.starts_with("000");
    let good_cvu = valid && is_cvu && text.get(3..7) != Some("0000") && text.get(8..9) == Some("0");
    (if is_cvu { good_cvu } else { valid }, good_cvu)
}

/// Whether the words that filter tests select this program.
fn wanted() -> bool {
    let mut filters = std::env::args()
        .skip(1)
        .filter(|word| !word.starts_with('-'))
        .peekable();
    filters.peek().is_none() || filters.any(|word| "oracle".contains(&word))
}

fn main() {
    if !wanted() {
        return;
    }
    if !available() {
        let required = std::env::var("CAUDAL_REQUIRE_ORACLE").is_ok_and(|value| value == "1");
        assert!(!required, "python-stdnum is required and not installed");
        println!("oracle: not run: python-stdnum is not installed");
        return;
    }
    let asked = keys_are_valid_exactly_when_stdnum_says_so();
    println!("oracle: ok, {asked} questions");
}

fn keys_are_valid_exactly_when_stdnum_says_so() -> usize {
    let seed = 20_260_630;
    let mut runner = TestRunner::new(proptest::test_runner::Config {
        rng_seed: RngSeed::Fixed(seed),
        ..config(1)
    });
    let lines: Vec<(bool, String)> = (0..cases(6_000))
        .map(|n| {
            let is_key = n % 2 == 0;
            let tree = if is_key {
                keys_22().boxed().new_tree(&mut runner)
            } else {
                cuits().boxed().new_tree(&mut runner)
            };
            (is_key, tree.unwrap().current())
        })
        .collect();
    let said = ask(&lines);
    assert_eq!(said.len(), lines.len(), "one answer for each question");
    for ((is_key, text), valid) in lines.iter().zip(&said) {
        if *is_key {
            let found = (Cbu::parse(text).is_ok(), Cvu::parse(text).is_ok());
            assert_eq!(
                found,
                right_key(text, *valid),
                "{text} (CBU, CVU), seed {seed}"
            );
        } else {
            assert_eq!(Cuit::parse(text).is_ok(), *valid, "{text}, seed {seed}");
        }
    }
    let valid = said.iter().filter(|valid| **valid).count();
    assert!(
        valid > said.len() / 4 && valid < said.len() * 3 / 4,
        "{valid} of {}",
        said.len()
    );
    said.len()
}

fn ask(lines: &[(bool, String)]) -> Vec<bool> {
    let mut child = python()
        .args(["-c", SCRIPT])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("python starts");
    let mut input = child.stdin.take().expect("a pipe");
    let text: String = (lines.iter())
        .map(|(is_key, text)| format!("{}:{text}\n", if *is_key { "cbu" } else { "cuit" }))
        .collect();
    // Python reads while it writes: a separate thread feeds it, or both pipes would fill up.
    let feeder = std::thread::spawn(move || input.write_all(text.as_bytes()));
    let output = child.wait_with_output().expect("python ends");
    feeder
        .join()
        .expect("the feeder ends")
        .expect("python reads it all");
    assert!(output.status.success(), "python failed");
    String::from_utf8(output.stdout)
        .expect("text")
        .lines()
        .map(|line| line == "1")
        .collect()
}
