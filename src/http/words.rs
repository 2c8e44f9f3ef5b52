//! The sentences that people read. The reason why a request is refused is a value until its answer is written; only
//! here it becomes a sentence, in the language of the client.
//!
//! **Shape.** [`Mistake`] is what is wrong with one field or parameter, [`Refusal`] a refusal of the service before
//! an actor is asked; each is a table with both languages side by side. Of the actors' failures ([`codes`]) and of what
//! the ledger refuses ([`ledger`]) the own text is the English. A mistake, failure or rule without a sentence does not
//! compile.

pub(crate) mod codes;
pub mod ledger;
mod mistakes;
mod refusals;

use std::fmt;

use super::current::Language;

pub use mistakes::{FieldError, Mistake, WrongField};
pub use refusals::{Expected, Refusal};

/// A sentence for people, in any language.
pub trait Say {
    /// Writes the sentence in a language.
    ///
    /// # Errors
    /// When the formatter fails.
    fn say(&self, language: Language, f: &mut fmt::Formatter<'_>) -> fmt::Result;

    /// The sentence as text.
    fn text(&self, language: Language) -> String {
        In(language, self).to_string()
    }
}

/// A sentence in a language.
struct In<'a, T: ?Sized>(Language, &'a T);

impl<T: Say + ?Sized> fmt::Display for In<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.1.say(self.0, f)
    }
}

/// Values that are written alike in every language: figures, names of fields, words of the interface.
macro_rules! alike {
    ($($type:ty),+) => {$(
        impl Say for $type {
            fn say(&self, _: Language, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
    )+};
}

alike!(u32, u64, usize, &'static str, String);

/// The words of the interface of which a client has to send one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Choices(Vec<&'static str>);

impl Choices {
    /// The words of a list of choices.
    pub fn of<T>(choices: &[(&'static str, T)]) -> Self {
        choices.iter().map(|(word, _)| *word).collect()
    }
}

impl FromIterator<&'static str> for Choices {
    fn from_iter<I: IntoIterator<Item = &'static str>>(words: I) -> Self {
        Self(words.into_iter().collect())
    }
}

impl Say for Choices {
    fn say(&self, _: Language, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join(", "))
    }
}

impl Say for [WrongField] {
    fn say(&self, language: Language, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self, language) {
            ([one], _) => write!(f, "{} {}", one.field, In(language, &one.mistake)),
            (many, Language::English) => write!(f, "{} fields are wrong; see errors", many.len()),
            (many, Language::Spanish) => {
                write!(f, "Hay {} campos incorrectos; ver errors", many.len())
            }
        }
    }
}

/// Declares an enumeration with a sentence in each language for each variant; `{name}` stands for the field of that
/// name, in the same language.
macro_rules! words {
    (
        $(#[$meta:meta])*
        pub enum $name:ident {$(
            $variant:ident $({ $($field:ident: $type:ty),+ })? = $english:literal, $spanish:literal;
        )+}
    ) => {
        $(#[$meta])*
        #[derive(Clone, PartialEq, Eq, Debug)]
        pub enum $name {$(
            #[doc = $english]
            $variant $({$(
                #[doc = concat!("What stands for `", stringify!($field), "`.")]
                $field: $type,
            )+})?,
        )+}

        impl $name {
            /// The sentences in English and in Spanish, in the order of the variants.
            pub const SENTENCES: &'static [(&'static str, &'static str)] =
                &[$(($english, $spanish)),+];
        }

        impl $crate::words::Say for $name {
            fn say(
                &self,
                language: $crate::current::Language,
                f: &mut std::fmt::Formatter<'_>,
            ) -> std::fmt::Result {
                use $crate::current::Language::{English, Spanish};
                match self {$(
                    Self::$variant $({ $($field),+ })? => {
                        $($(let $field = $crate::words::In(language, $field);)+)?
                        match language {
                            English => write!(f, $english),
                            Spanish => write!(f, $spanish),
                        }
                    }
                )+}
            }
        }
    };
}
use words;

#[cfg(test)]
mod tests;
