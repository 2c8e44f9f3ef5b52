//! Texts with a rule: external ids, names, and words of the tenant.

use std::fmt;

use serde::{Deserialize, Serialize};
use unicode_normalization::UnicodeNormalization as _;

/// The id under which a PSP knows one of its own operations: 1–64 visible ASCII characters, no `/`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ExternalId(String);

/// Why a text was refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TextError {
    /// It is no external id.
    #[error("must be 1 to 64 visible ASCII characters without spaces or '/'")]
    ExternalId,
    /// It is no code of a voucher type.
    #[error("must be 2 to 40 letters without accents, digits or underscores")]
    TypeCode,
    /// A line has too many characters.
    #[error("is too long")]
    TooLong,
    /// Nothing of a line is left when it is trimmed.
    #[error("must not be empty")]
    Empty,
    /// A line has characters that hide or reorder text.
    #[error("must not contain control characters or invisible marks")]
    Hidden,
}

impl ExternalId {
    /// Reads an external id.
    pub fn parse(text: &str) -> Result<Self, TextError> {
        let good = |b: u8| b.is_ascii_graphic() && b != b'/';
        if (1..=64).contains(&text.len()) && text.bytes().all(good) {
            Ok(Self(text.to_owned()))
        } else {
            Err(TextError::ExternalId)
        }
    }

    /// The id.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for ExternalId {
    type Error = TextError;
    fn try_from(text: String) -> Result<Self, TextError> {
        Self::parse(&text)
    }
}

impl From<ExternalId> for String {
    fn from(id: ExternalId) -> String {
        id.0
    }
}

impl fmt::Display for ExternalId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Trims a text for people, brings it to NFC, and refuses what must not be kept: more than `max` characters, control
/// characters, and marks that reorder or hide text.
pub fn line(text: &str, max: usize) -> Result<String, TextError> {
    // Normalising may lengthen a text, so a text far over the limit is not even looked at.
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
    let hidden = |c: char| {
        c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    if trimmed.chars().any(hidden) {
        return Err(TextError::Hidden);
    }
    Ok(trimmed.to_owned())
}

/// Folds a text for search: lower case, Spanish accents removed. Search on both sides.
pub fn folded(text: &str) -> String {
    text.chars()
        .flat_map(char::to_lowercase)
        .filter(|c| !matches!(c, '\u{300}'..='\u{36f}'))
        .map(|c| match c {
            'á' | 'à' | 'ä' | 'â' | 'ã' => 'a',
            'é' | 'è' | 'ë' | 'ê' => 'e',
            'í' | 'ì' | 'ï' | 'î' => 'i',
            'ó' | 'ò' | 'ö' | 'ô' | 'õ' => 'o',
            'ú' | 'ù' | 'ü' | 'û' => 'u',
            'ñ' => 'n',
            'ç' => 'c',
            other => other,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn external_ids() {
        for good in ["a", "orden-1", "A:b#9", &"x".repeat(64)] {
            assert!(ExternalId::parse(good).is_ok(), "{good}");
        }
        for bad in ["", "a b", "a/b", "ñ", "a\n", &"x".repeat(65)] {
            assert!(ExternalId::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn lines_and_folding() {
        assert_eq!(line("  José Pérez ", 41).as_deref(), Ok("José Pérez"));
        assert_eq!(line("Jose\u{301}", 41).as_deref(), Ok("José"));
        for bad in ["", "   ", "a\0b", "a\u{202e}b", "abcdef"] {
            assert!(line(bad, 5).is_err(), "{bad:?}");
        }
        assert_eq!(folded("MUÑOZ Ángela"), "munoz angela");
        assert_eq!(folded("Mun\u{303}oz"), "munoz");
    }
}
