//! Words of which a request names one: see [`crate::bodies::words`].

use super::words::Mistake;
pub use crate::bodies::words::{
    BankKindWord, ClosedSet, OneOf, PersonTypeWord, SenseWord, ServingWord, SuspensionWord,
    WebhookFormatWord,
};

/// The value that a word names.
///
/// # Errors
/// When no value has this word; the mistake names all words.
pub fn one_of<T: ClosedSet>(text: &str) -> Result<T, Mistake> {
    let found = T::ALL.iter().find(|value| value.word() == text);
    found.copied().ok_or_else(|| Mistake::NotAmong {
        choices: T::ALL.iter().map(|value| value.word()).collect(),
    })
}
