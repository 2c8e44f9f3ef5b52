//! Texts that the document shows with a format: instants, days, and amounts of money. A field of one of these types
//! can be nothing else, and needs no word about it in the document.

use std::fmt;
use std::ops::Deref;

use caudal_ledger::money::{Amount, Money};
use caudal_ledger::time::{BusinessDay, Timestamp};
use caudal_ledger::treasury::Sum;
use serde::Serialize;
use utoipa::PartialSchema as _;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{KnownFormat, Object, ObjectBuilder, Schema, SchemaFormat, Type};

use super::schema;

/// ARS with exactly two decimals.
const PESOS: &str = r"^-?[0-9]+\.[0-9]{2}$";

/// Declares texts: what they are made of, and how the document shows them.
macro_rules! texts {
    ($(#[doc = $about:literal] $name:ident of $($of:ty),+: $shown:expr;)+) => {
        $(
            #[doc = $about]
            #[derive(Clone, PartialEq, Debug, Serialize)]
            #[serde(transparent)]
            pub struct $name(String);

            $(impl From<$of> for $name {
                fn from(value: $of) -> Self {
                    Self(value.to_string())
                }
            })+

            impl fmt::Display for $name {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    f.write_str(&self.0)
                }
            }

            impl Deref for $name {
                type Target = str;

                fn deref(&self) -> &str {
                    &self.0
                }
            }

            schema!($name, stringify!($name), ($shown)(ObjectBuilder::new().schema_type(Type::String)));
        )+

        /// The schema of the texts of a name, which the document writes out wherever it has them.
        pub fn schema_of(name: &str) -> Option<Object> {
            let schema = match name {
                $(stringify!($name) => $name::schema(),)+
                _ => return None,
            };
            match schema {
                RefOr::T(Schema::Object(object)) => Some(object),
                RefOr::T(_) | RefOr::Ref(_) => None,
            }
        }
    };
}

fn with_format(text: ObjectBuilder, format: KnownFormat) -> ObjectBuilder {
    text.format(Some(SchemaFormat::KnownFormat(format)))
}

texts! {
    /// An instant, RFC 3339 in UTC.
    Instant of Timestamp: |text| with_format(text, KnownFormat::DateTime);
    /// A business day, `YYYY-MM-DD`.
    Day of BusinessDay: |text| with_format(text, KnownFormat::Date);
    /// ARS with two decimals.
    Pesos of Amount, Money, Sum: |text: ObjectBuilder| text.pattern(Some(PESOS));
}
