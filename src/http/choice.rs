//! Words of which a request names one: the type of the ledger that has them says which there are, so that
//! reader and document cannot differ.

use std::borrow::Cow;
use std::marker::PhantomData;

use caudal_ledger::accounts::SuspensionCode;
use caudal_ledger::cuit::PersonType;
use caudal_ledger::voucher_types::Sense;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

use super::words::Mistake;

/// A type of which each value has its word on the wire.
pub trait Choice: Copy + 'static {
    /// Its name in the document.
    const NAME: &'static str;
    /// What the document says of it.
    const ABOUT: &'static str;
    /// Every value, in the order of the document.
    const ALL: &'static [Self];

    /// The word of a value.
    fn word(self) -> &'static str;
}

/// The value of a word.
///
/// # Errors
/// When no value has it; names all words.
pub fn one_of<T: Choice>(text: &str) -> Result<T, Mistake> {
    let found = T::ALL.iter().find(|value| value.word() == text);
    found.copied().ok_or_else(|| Mistake::NotAmong {
        choices: T::ALL.iter().map(|value| value.word()).collect(),
    })
}

/// How the document shows one of the words of a type.
#[derive(Debug)]
pub struct OneOf<T>(PhantomData<T>);

impl<T: Choice> PartialSchema for OneOf<T> {
    fn schema() -> RefOr<Schema> {
        let words = T::ALL.iter().map(|value| value.word());
        ObjectBuilder::new()
            .schema_type(Type::String)
            .description(Some(T::ABOUT))
            .enum_values(Some(words))
            .into()
    }
}

impl<T: Choice> ToSchema for OneOf<T> {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed(T::NAME)
    }
}

/// Declares the words of a type of the ledger, and the name under which a request shows them.
macro_rules! choice {
    ($type:ident, $shown:ident = $name:literal, $about:literal) => {
        impl Choice for $type {
            const NAME: &'static str = $name;
            const ABOUT: &'static str = $about;
            const ALL: &'static [Self] = &Self::ALL;

            fn word(self) -> &'static str {
                self.as_str()
            }
        }

        #[doc = $about]
        pub type $shown = OneOf<$type>;
    };
}

choice!(
    PersonType,
    PersonTypeWord = "PersonTypeDto",
    "Natural or legal person."
);
choice!(
    SuspensionCode,
    SuspensionWord = "SuspensionCodeDto",
    "Why an account is suspended."
);
choice!(
    Sense,
    SenseWord = "SenseDto",
    "The direction of a custom type."
);
