//! How the document shows what may come in two forms: an amount as text or as number, a code likewise.

use std::borrow::Cow;

use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, OneOfBuilder, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

/// Declares a schema of a text or a number.
macro_rules! either {
    ($(#[doc = $about:literal])+ $name:ident: $pattern:literal or $number:expr) => {
        $(#[doc = $about])+
        #[derive(Debug)]
        pub struct $name;

        impl PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                let text = ObjectBuilder::new().schema_type(Type::String);
                let number: ObjectBuilder = $number;
                let about = [$($about),+].concat();
                OneOfBuilder::new()
                    .item(text.pattern(Some($pattern)))
                    .item(number)
                    .description(Some(about.trim()))
                    .into()
            }
        }

        impl ToSchema for $name {
            fn name() -> Cow<'static, str> {
                Cow::Borrowed(stringify!($name))
            }
        }
    };
}

either! {
    /// ARS, greater than 0, at most 2 decimals; text or number, read exactly.
    AmountDto: r"^[0-9]{1,15}(\.[0-9]{1,2})?$" or
        ObjectBuilder::new().schema_type(Type::Number).exclusive_minimum(Some(0))
}
either! {
    /// ARS from 0 up, at most 2 decimals; text or number, read exactly.
    MoneyDto: r"^[0-9]{1,15}(\.[0-9]{1,2})?$" or
        ObjectBuilder::new().schema_type(Type::Number).minimum(Some(0))
}
either! {
    /// A code, as text or as a whole number.
    CodeDto: r"^\S(.*\S)?$" or ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(0))
}
