//! Amounts as texts, by hand: the rules of the contract, §1, on lists of characters and `i128`.

/// The result of reading an amount's text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reading {
    Centavos(i128),
    NotANumber,
    TooPrecise,
    TooLarge,
}

/// Reads digits with at most one point, one character at a time.
pub fn read(text: &str) -> Reading {
    let characters: Vec<char> = text.chars().collect();
    let points = characters.iter().filter(|c| **c == '.').count();
    let odd = characters.iter().any(|c| !"0123456789.".contains(*c));
    if odd || points > 1 || characters.len() > 64 || characters.is_empty() {
        return Reading::NotANumber;
    }
    let point = characters.iter().position(|c| *c == '.');
    let whole = &characters[..point.unwrap_or(characters.len())];
    let mut fraction = point.map_or(Vec::new(), |at| characters[at + 1..].to_vec());
    let empty = whole.is_empty() || (point.is_some() && fraction.is_empty());
    if empty || (whole.len() > 1 && whole[0] == '0') {
        return Reading::NotANumber;
    }
    while fraction.last() == Some(&'0') {
        fraction.pop();
    }
    if fraction.len() > 2 {
        return Reading::TooPrecise;
    }
    fraction.resize(2, '0');
    // More than fifteen digits before the point always exceed the largest amount.
    if whole.len() > 15 {
        return Reading::TooLarge;
    }
    let all = whole.iter().chain(&fraction);
    Reading::Centavos(all.fold(0, |sum, c| sum * 10 + i128::from(c.to_digit(10).unwrap())))
}

/// Writes centavos with a point before the last two digits.
pub fn write(centavos: i128) -> String {
    let mut digits: Vec<char> = centavos.to_string().chars().filter(|c| *c != '-').collect();
    while digits.len() < 3 {
        digits.insert(0, '0');
    }
    digits.insert(digits.len() - 2, '.');
    if centavos < 0 {
        digits.insert(0, '-');
    }
    digits.into_iter().collect()
}
