//! How the document shows values that may come in two forms: an amount as text or as number, a code likewise, an end
//! of a period as day or as instant.

use utoipa::openapi::schema::{
    AnyOfBuilder, KnownFormat, ObjectBuilder, OneOfBuilder, SchemaFormat, Type,
};

use crate::bodies::schema;

/// Declares a schema of a text or a number.
macro_rules! either {
    ($(#[doc = $about:literal])+ $name:ident: $pattern:literal or $number:expr) => {
        $(#[doc = $about])+
        #[derive(Debug)]
        pub struct $name;

        schema!($name, stringify!($name), {
            let text = ObjectBuilder::new().schema_type(Type::String);
            let number: ObjectBuilder = $number;
            let about = [$($about),+].concat();
            OneOfBuilder::new()
                .item(text.pattern(Some($pattern)))
                .item(number)
                .description(Some(about.trim()))
        });
    };
}

either! {
    /// ARS, greater than 0, at most 2 decimals: text such as `"1234567.89"`, or a number, which is read exactly.
    AmountDto: r"^[0-9]{1,15}(\.[0-9]{1,2})?$" or
        ObjectBuilder::new().schema_type(Type::Number).exclusive_minimum(Some(0))
}
either! {
    /// ARS from 0 up, at most 2 decimals: text such as `"1234567.89"`, or a number, which is read exactly.
    MoneyDto: r"^[0-9]{1,15}(\.[0-9]{1,2})?$" or
        ObjectBuilder::new().schema_type(Type::Number).minimum(Some(0))
}
either! {
    /// A code, as text or as a whole number.
    CodeDto: r"^\S(.*\S)?$" or ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(0))
}

/// An end of a period: a business day, `YYYY-MM-DD`, or an instant, RFC 3339.
#[derive(Debug)]
pub struct DayOrInstant;

schema!(DayOrInstant, "DayOrInstant", {
    let text = |format| {
        let text = ObjectBuilder::new().schema_type(Type::String);
        text.format(Some(SchemaFormat::KnownFormat(format)))
    };
    AnyOfBuilder::new()
        .item(text(KnownFormat::Date))
        .item(text(KnownFormat::DateTime))
        .description(Some("A business day, or an instant of RFC 3339."))
        .examples(["2026-03-01", "2026-03-01T12:30:00-03:00"])
});
