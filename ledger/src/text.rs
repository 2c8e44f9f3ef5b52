//! Texts with rules: external ids, names, and words of the tenant.

use serde::{Deserialize, Serialize};
use unicode_normalization::UnicodeNormalization as _;

/// The id by which a PSP knows one of its own operations: 1–64 printable characters, with spaces only inside.
/// Comparison is exact: neither case nor the composition of accents is folded.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ExternalId(String);

/// Why a text was refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TextError {
    /// Not an external id.
    #[error("must be 1 to 64 printable characters, without a space at either end")]
    ExternalId,
    /// Not the code of a voucher type.
    #[error("must be 2 to 40 letters without accents, digits, underscores or dashes")]
    TypeCode,
    /// Not the name of an account of the books.
    #[error(
        "must be 1 to 40 lower-case letters without accents, digits, underscores, colons, dots or dashes"
    )]
    BookName,
    /// The name of an account of the books that the service itself keeps.
    #[error("must not be the name of a fixed account of the books")]
    BookFixed,
    /// A line has too many characters.
    #[error("is too long")]
    TooLong,
    /// A line is empty after trimming.
    #[error("must not be empty")]
    Empty,
    /// A line has characters that hide or reorder text.
    #[error("must not contain control characters or invisible marks")]
    Hidden,
}

text!(ExternalId, TextError);

impl ExternalId {
    /// The most bytes of an external id: 64 characters of UTF-8.
    pub const BYTES_MAX: usize = 256;

    /// Parses an external id.
    ///
    /// # Errors
    /// When it is empty or longer than 64 characters, begins or ends with a space, or has an invisible character.
    pub fn parse(text: &str) -> Result<Self, TextError> {
        if text.bytes().all(|byte| byte.is_ascii_graphic()) && (1..=64).contains(&text.len()) {
            return Ok(Self(text.to_owned()));
        }
        // Long texts are refused before they are counted.
        let fits = text.len() <= Self::BYTES_MAX && (1..=64).contains(&text.chars().count());
        let ends = [text.chars().next(), text.chars().next_back()];
        let spaced = ends.into_iter().flatten().any(char::is_whitespace);
        if fits && !spaced && text.chars().all(is_printable) {
            Ok(Self(text.to_owned()))
        } else {
            Err(TextError::ExternalId)
        }
    }
}

/// Trims a text for people, normalises it to NFC, and refuses texts that must not be stored: with more than `max`
/// characters, control characters, or marks that reorder or hide text.
///
/// # Errors
/// When nothing is left after trimming, the text is too long, or it has such a character.
pub fn line(text: &str, max: usize) -> Result<String, TextError> {
    // Normalising may lengthen a text, so a text far over the limit is refused unread.
    if text.len() > max.saturating_mul(16) {
        return Err(TextError::TooLong);
    }
    let composed: String = text.nfc().collect();
    let trimmed = composed.trim();
    if trimmed.is_empty() {
        return Err(TextError::Empty);
    }
    if trimmed.chars().count() > max {
        return Err(TextError::TooLong);
    }
    if trimmed.chars().any(hides) {
        return Err(TextError::Hidden);
    }
    Ok(trimmed.to_owned())
}

/// Whether a character is a control character, or a mark that hides or reorders text.
fn hides(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// Whether a character is visible or a space. Invisible marks, private-use characters and code points that Unicode will
/// never assign are not.
pub fn is_printable(c: char) -> bool {
    let unseen = matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180b}'..='\u{180f}' | '\u{fe00}'..='\u{fe0f}' | '\u{fff0}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e0fff}');
    let private = matches!(c, '\u{e000}'..='\u{f8ff}' | '\u{f0000}'..='\u{10ffff}');
    let never = matches!(c, '\u{fdd0}'..='\u{fdef}') || u32::from(c) & 0xfffe == 0xfffe;
    !(hides(c) || unseen || private || never)
}

/// Folds a text for search, so that what a person types on any keyboard finds it: the letters of Unicode that the
/// characters stand for (NFKC), each as the ASCII letters it is written with (`ł` is `l`, `ß` is `ss`, `И` is `i`),
/// without accents and in lower case. Apply it to both sides.
///
/// Rows of the index keep folded texts: when this gives another text than before, the projection's version changes.
pub fn folded(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let mut folded = String::with_capacity(text.len());
    for c in text.nfkc() {
        match deunicode::deunicode_char(c) {
            Some(ascii) => folded.push_str(ascii),
            None => folded.push(c),
        }
    }
    folded.to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn external_ids() {
        let longest = "\u{1f30a}".repeat(64);
        let good = [
            "a",
            "orden-1",
            "A:b#9",
            "pago 123",
            "OP/2026/1",
            "año-1",
            "李小龙",
            "%2F",
            &longest,
        ];
        for good in good.into_iter().chain(["x".repeat(64).as_str()]) {
            assert!(ExternalId::parse(good).is_ok(), "{good}");
        }
        let bad = [
            "",
            " ",
            " a",
            "a ",
            "\u{a0}a",
            "a\u{3000}",
            "a\n",
            "a\tb",
            "a\u{0}b",
            "a\u{7f}",
        ];
        let hidden = [
            "a\u{200b}b",
            "a\u{202e}b",
            "a\u{ad}b",
            "\u{feff}a",
            "\u{e000}",
            "\u{ffff}",
            "\u{10ffff}",
        ];
        let long = ["x".repeat(65), "ñ".repeat(65), "x".repeat(100_000)];
        let long = long.iter().map(String::as_str);
        for bad in bad.into_iter().chain(hidden).chain(long) {
            assert!(ExternalId::parse(bad).is_err(), "{bad:.80?}");
        }
        // Compared exactly: neither case nor composition is folded.
        let parse = |text| ExternalId::parse(text).unwrap();
        assert_ne!(parse("A"), parse("a"));
        assert_ne!(parse("\u{f1}"), parse("n\u{303}"));
    }

    #[test]
    fn lines_and_folding() {
        assert_eq!(line("  José Pérez ", 41).as_deref(), Ok("José Pérez"));
        assert_eq!(line("Jose\u{301}", 41).as_deref(), Ok("José"));
        for bad in ["", "   ", "a\0b", "a\u{202e}b", "abcdef"] {
            assert!(line(bad, 5).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn what_a_person_would_type_finds_a_name() {
        for (name, typed) in [
            ("MUÑOZ Ángela", "munoz angela"),
            ("Mun\u{303}oz", "munoz"),
            ("Kovačević", "kovacevic"),
            ("KOVAČEVIĆ", "Kovacevic"),
            ("Łukasz", "lukasz"),
            ("Straße", "strasse"),
            ("STRASSE", "straße"),
            ("STRAẞE", "Straße"),
            ("Ødegård", "odegard"),
            ("Đorđe", "dorde"),
            ("Ħal Għargħur", "hal gharghur"),
            ("Þór Æsir Œuvre", "thor aesir oeuvre"),
            ("Iğdır İSTANBUL", "igdir istanbul"),
            ("Nguyễn Văn Ấn", "nguyen van an"),
            ("O’Brien", "o'brien"),
            ("ﬁn ｆｕｌｌ", "fin full"),
            ("Иванов", "ivanov"),
            ("ΣΊΣΥΦΟΣ", "σίσυφος"),
            ("やまだ", "yamada"),
            ("李小龙", "Li Xiao Long"),
        ] {
            let (name, typed) = (folded(name), folded(typed));
            assert!(name.contains(&typed), "{name:?} {typed:?}");
        }
        // A character that has no letters in ASCII is compared as it is, and a fold does not change when it is folded.
        for text in ["\u{e000}", "x\u{e000}\u{10ffff}", "Łukasz 李小龙 😀 ½"] {
            let once = folded(text);
            assert!(!once.is_empty() && folded(&once) == once, "{once:?}");
        }
    }

    #[test]
    fn rows_of_the_index_are_folded_as_they_were() {
        let all = (0..=u32::from(char::MAX)).filter_map(char::from_u32);
        let mut digest = aws_lc_rs::digest::Context::new(&aws_lc_rs::digest::SHA256);
        for c in all {
            digest.update(folded(&c.to_string()).as_bytes());
            digest.update(&[0]);
        }
        let digest = digest.finish();
        let digest: String = digest
            .as_ref()
            .iter()
            .map(|it| format!("{it:02x}"))
            .collect();
        let why = "texts fold otherwise: raise the projection's version, then write the hash anew";
        assert_eq!(
            digest, "6d38c73e56ef8460376732426b24d723df917074be2580d6e4cfa68d03bdd57a",
            "{why}"
        );
    }
}
