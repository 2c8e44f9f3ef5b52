//! Formats of numbers. Generated clients choose the type of a number by its format, and some of them take the least
//! precise type for a number without one: 32 bits of binary floating point, which cannot hold 1234567.89.

use utoipa::Number;
use utoipa::openapi::schema::{KnownFormat, Object, Schema, SchemaFormat, SchemaType, Type};
use utoipa::openapi::{OpenApi, RefOr};

use super::walk;

/// Gives every number of a document its format: `double`; of whole numbers `int64`, or `int32` where the schema
/// bounds them so.
pub fn format(document: &mut OpenApi) {
    walk::schemas(document, &mut |schema| {
        if let RefOr::T(Schema::Object(object)) = schema
            && let Some(format) = format_of(object)
        {
            object.format = Some(SchemaFormat::KnownFormat(format));
        }
    });
}

/// The format of a schema that numbers match.
fn format_of(object: &Object) -> Option<KnownFormat> {
    let takes = |kind: &Type| match &object.schema_type {
        SchemaType::Type(one) => one == kind,
        SchemaType::Array(some) => some.contains(kind),
        SchemaType::AnyValue => false,
    };
    if takes(&Type::Number) {
        return Some(KnownFormat::Double);
    }
    takes(&Type::Integer).then(|| {
        if is_small(object) {
            KnownFormat::Int32
        } else {
            KnownFormat::Int64
        }
    })
}

/// Whether a whole number fits in 32 bits by the bounds of its schema.
fn is_small(object: &Object) -> bool {
    let above = match object.minimum {
        Some(Number::Int(least)) => i32::try_from(least).is_ok(),
        Some(Number::UInt(_)) => true,
        Some(Number::Float(_)) | None => false,
    };
    let below = match object.maximum {
        Some(Number::Int(most)) => i32::try_from(most).is_ok(),
        Some(Number::UInt(most)) => i32::try_from(most).is_ok(),
        Some(Number::Float(_)) | None => false,
    };
    above && below
}
