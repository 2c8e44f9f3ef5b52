//! Amounts as JSON numbers, written exactly: `1234.50`.

use std::borrow::Cow;
use std::fmt::Display;

use serde::ser::Error as _;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

/// An amount that is written as a JSON number with two decimals, straight from its text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Importe(String);

impl Importe {
    /// The JSON number with the text of a decimal.
    pub(crate) fn of(decimal: impl Display) -> Self {
        Self(decimal.to_string())
    }
}

impl Serialize for Importe {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw = RawValue::from_string(self.0.clone()).map_err(S::Error::custom)?;
        raw.serialize(serializer)
    }
}

impl PartialSchema for Importe {
    fn schema() -> RefOr<Schema> {
        let number = ObjectBuilder::new()
            .schema_type(Type::Number)
            .description(Some(
                "ARS with two decimals, written exactly: read the digits of the text, not a binary number",
            ));
        number.into()
    }
}

impl ToSchema for Importe {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed("Importe")
    }
}

/// A decimal that is written as a JSON number with all its own decimals, straight from its text.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(transparent)]
pub(crate) struct Exacto(Importe);

impl Exacto {
    /// The JSON number with the text of a decimal.
    pub(crate) fn of(decimal: impl Display) -> Self {
        Self(Importe::of(decimal))
    }
}

impl PartialSchema for Exacto {
    fn schema() -> RefOr<Schema> {
        let number = ObjectBuilder::new()
            .schema_type(Type::Number)
            .description(Some(
                "A decimal, written exactly: read the digits of the text, not a binary number",
            ));
        number.into()
    }
}

impl ToSchema for Exacto {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed("Exacto")
    }
}

#[cfg(test)]
mod tests {
    use caudal_ledger::money::Money;

    use super::*;

    #[test]
    fn amounts_are_written_to_the_centavo() {
        for (centavos, text) in [
            (0, "0.00"),
            (5, "0.05"),
            (123_450, "1234.50"),
            (-1, "-0.01"),
            (99_999_999_999_999_999, "999999999999999.99"),
        ] {
            let importe = Importe::of(Money::from_centavos(centavos));
            assert_eq!(serde_json::to_string(&importe).unwrap(), text);
        }
    }
}
