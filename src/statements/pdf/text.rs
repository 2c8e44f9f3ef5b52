//! Texts on pages: in the encoding and with the widths of the standard fonts, which every reader has.
//!
//! Helvetica has the letters of the languages of western Europe (`WinAnsiEncoding`). A character that it lacks is
//! shown as `?`; the other formats of a statement have every text as it is.

/// Stands for a character that the font lacks.
const UNKNOWN: u8 = b'?';
/// Shows that a text was cut.
const ELLIPSIS: u8 = 0x85;
/// The characters from 0x80 to 0x9f, in their order; unused places are spaces.
const MIDDLE: [char; 32] = [
    '€', ' ', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', ' ', 'Ž', ' ', ' ', '‘', '’',
    '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', ' ', 'ž', 'Ÿ',
];
/// The widths of Helvetica from 0x20 on, in thousandths of its size.
const WIDTHS: [u16; 224] = [
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278,
    278, // space to /
    556, 556, 556, 556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, // 0 to ?
    1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833, 722, 778, // @ to O
    667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556, // P to _
    333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556, // ` to o
    556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584, 278, // p to ~
    556, 278, 222, 556, 333, 1000, 556, 556, 333, 1000, 667, 333, 1000, 278, 611, 278, // 0x80
    278, 222, 222, 333, 333, 350, 556, 1000, 333, 1000, 500, 333, 944, 278, 500, 667, // 0x90
    278, 333, 556, 556, 556, 556, 260, 556, 333, 737, 370, 556, 584, 333, 737, 333, // 0xa0
    400, 584, 333, 333, 333, 556, 537, 278, 333, 333, 365, 556, 834, 834, 834, 611, // 0xb0
    667, 667, 667, 667, 667, 667, 1000, 722, 667, 667, 667, 667, 278, 278, 278,
    278, // À to Ï
    722, 722, 778, 778, 778, 778, 778, 584, 778, 722, 722, 722, 722, 667, 667,
    611, // Ð to ß
    556, 556, 556, 556, 556, 556, 889, 500, 556, 556, 556, 556, 278, 278, 278,
    278, // à to ï
    556, 556, 556, 556, 556, 556, 556, 584, 611, 556, 556, 556, 556, 500, 556,
    500, // ð to ÿ
];

/// The bytes of a text in the encoding of the fonts.
pub(super) fn encoded(text: &str) -> Vec<u8> {
    text.chars().map(byte).collect()
}

fn byte(c: char) -> u8 {
    let same = u8::try_from(u32::from(c)).ok();
    if let Some(byte) = same.filter(|byte| matches!(byte, 0x20..=0x7e | 0xa0..=0xff)) {
        return byte;
    }
    let mut places = (0x80_u8..).zip(MIDDLE);
    let place = places.find(|(_, known)| *known == c && c != ' ');
    place.map_or(UNKNOWN, |(place, _)| place)
}

/// The width of a text in Helvetica of a size, in the unit of the size.
pub(super) fn width(text: &[u8], size: i16) -> i32 {
    let of = |byte: &u8| {
        let place = usize::from(*byte).checked_sub(0x20)?;
        WIDTHS.get(place).copied()
    };
    let all: i32 = text.iter().filter_map(of).map(i32::from).sum();
    all * i32::from(size) / 1000
}

/// A text, cut where it would be wider than there is room.
pub(super) fn clipped(text: &str, size: i16, room: i16) -> Vec<u8> {
    let mut bytes = encoded(text);
    if width(&bytes, size) <= i32::from(room) {
        return bytes;
    }
    while !bytes.is_empty() && width(&bytes, size) + i32::from(size) > i32::from(room) {
        bytes.pop();
    }
    while bytes.last() == Some(&b' ') {
        bytes.pop();
    }
    bytes.push(ELLIPSIS);
    bytes
}

/// An amount as it is written in Argentina: `1234.50` is `1.234,50`.
pub(super) fn pesos(amount: &str) -> String {
    let (sign, digits) = match amount.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", amount),
    };
    let (whole, cents) = digits.split_once('.').unwrap_or((digits, "00"));
    let length = whole.chars().count();
    let mut text = String::from(sign);
    for (place, digit) in whole.chars().enumerate() {
        if place > 0 && (length - place).is_multiple_of(3) {
            text.push('.');
        }
        text.push(digit);
    }
    format!("{text},{cents}")
}

/// A tax id as people write it: `20-12345678-6`.
pub(super) fn hyphened(cuit: &str) -> String {
    let digits: Vec<char> = cuit.chars().collect();
    match digits.as_slice() {
        [a, b, middle @ .., last] if digits.len() == 11 => {
            let middle: String = middle.iter().collect();
            format!("{a}{b}-{middle}-{last}")
        }
        _ => cuit.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_and_tax_ids_are_written_as_in_argentina() {
        for (amount, shown) in [
            ("0.00", "0,00"),
            ("999.90", "999,90"),
            ("1234.50", "1.234,50"),
            ("123456789.01", "123.456.789,01"),
            ("-1000.00", "-1.000,00"),
        ] {
            assert_eq!(pesos(amount), shown);
        }
        assert_eq!(hyphened("20123456786"), "20-12345678-6");
        assert_eq!(hyphened("x"), "x");
    }

    #[test]
    fn letters_that_the_font_lacks_are_shown_as_such() {
        assert_eq!(encoded("Ñandú €5"), b"\xd1and\xfa \x805");
        assert_eq!(encoded("\u{5d0}\u{202e}中\n\u{81}"), b"?????");
        assert_eq!(width(b"A1 ", 1000), 667 + 556 + 278);
        assert_eq!(clipped("abc", 10, 100), b"abc");
        let cut = clipped("a long text that has no room", 10, 50);
        assert!(width(&cut, 10) <= 50 && cut.ends_with(&[ELLIPSIS]));
    }
}
