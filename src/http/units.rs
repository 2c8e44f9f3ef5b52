//! Numbers as people read them: digits in groups, sizes and durations with their units. The console and the command line
//! write them alike.

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;
/// The units of a size, each 1,024 of the one before it.
const SIZES: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];

/// A number in groups of three digits, with these marks; `None` if the text is not a number.
pub fn grouped(text: &str, thousands: char, decimals: char) -> Option<String> {
    let (whole, rest) = text
        .split_once('.')
        .map_or((text, None), |(whole, rest)| (whole, Some(rest)));
    let digits = whole.strip_prefix('-').unwrap_or(whole);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let mut made = String::with_capacity(text.len());
    if digits.len() < whole.len() {
        made.push('-');
    }
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            made.push(thousands);
        }
        made.push(digit);
    }
    if let Some(rest) = rest {
        made.push(decimals);
        made.push_str(rest);
    }
    Some(made)
}

/// A size: the number, with one decimal above a KiB, and its unit.
pub fn size(bytes: u64) -> (String, &'static str) {
    let (mut tenths, mut units) = (u128::from(bytes) * 10, SIZES.iter().peekable());
    while tenths >= 10_240 && units.len() > 1 {
        tenths /= 1024;
        units.next();
    }
    match units.next() {
        Some(&unit) if unit != "B" => (format!("{}.{}", tenths / 10, tenths % 10), unit),
        Some(_) | None => (bytes.to_string(), "B"),
    }
}

/// A duration in its two largest units.
pub fn duration(seconds: u64) -> String {
    let two = |(one, name): (u64, &str), (part, below): (u64, &str)| {
        format!("{} {name} {} {below}", seconds / one, seconds % one / part)
    };
    match seconds {
        0..MINUTE => format!("{seconds} s"),
        MINUTE..HOUR => two((MINUTE, "min"), (1, "s")),
        HOUR..DAY => two((HOUR, "h"), (MINUTE, "min")),
        _ => two((DAY, "d"), (HOUR, "h")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_people_do() {
        for (text, right) in [
            ("1234567.50", Some("1,234,567.50")),
            ("-1000", Some("-1,000")),
            ("999.00", Some("999.00")),
            ("", None),
            ("-", None),
            ("a.5", None),
        ] {
            assert_eq!(grouped(text, ',', '.').as_deref(), right, "{text}");
        }
        for (bytes, right) in [
            (0, "0 B"),
            (1_023, "1023 B"),
            (1_610_612_736, "1.5 GiB"),
            (20_971_520, "20.0 MiB"),
        ] {
            let (number, unit) = size(bytes);
            assert_eq!(format!("{number} {unit}"), right);
        }
        for (seconds, right) in [
            (59, "59 s"),
            (61, "1 min 1 s"),
            (3_723, "1 h 2 min"),
            (90_000, "1 d 1 h"),
        ] {
            assert_eq!(duration(seconds), right);
        }
    }
}
