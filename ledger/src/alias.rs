//! Alias of a CVU: 6 to 20 letters, digits, dots and dashes; case does not matter.

use std::fmt;
use std::hash::{Hash, Hasher};

use serde::{Deserialize, Serialize};

/// An alias as its holder wrote it: 6 to 20 ASCII letters, digits, dots and dashes, the form that
/// the national alias system accepts. Comparison ignores case.
#[derive(Clone, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Alias(String);

/// Why a text is not an alias.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("must have 6 to 20 characters: letters without accents, digits, dots and dashes")]
pub struct AliasError;

text!(Alias, AliasError);

impl Alias {
    /// Parses an alias and keeps its case for display.
    ///
    /// # Errors
    /// When the text has another length or another character.
    pub fn parse(text: &str) -> Result<Self, AliasError> {
        let good = |b: u8| b.is_ascii_alphanumeric() || b == b'.' || b == b'-';
        if (6..=20).contains(&text.len()) && text.bytes().all(good) {
            Ok(Self(text.to_owned()))
        } else {
            Err(AliasError)
        }
    }

    /// The form by which aliases are compared and indexed: lower case.
    pub fn folded(&self) -> String {
        self.0.to_ascii_lowercase()
    }
}

impl PartialEq for Alias {
    fn eq(&self, other: &Self) -> bool {
        self.0.eq_ignore_ascii_case(&other.0)
    }
}

impl Eq for Alias {}

impl Hash for Alias {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.folded().hash(state);
    }
}

impl fmt::Debug for Alias {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_of_the_field() {
        for text in [
            "mi.alias",
            "ABC123",
            "a-b-c-d",
            "PERRO.ANANA.CEDRO",
            "a2345678901234567890",
        ] {
            assert!(Alias::parse(text).is_ok(), "{text}");
        }
        for text in [
            "corto",
            "a23456789012345678901",
            "con espacio",
            "niño.azul.x",
            "con_guion_bajo",
            "",
        ] {
            assert_eq!(Alias::parse(text), Err(AliasError), "{text}");
        }
        assert_eq!(Alias::parse("Mi.Alias"), Alias::parse("mi.alias"));
    }
}
