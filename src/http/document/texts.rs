//! Texts with a format, written out wherever a document has them.

use utoipa::openapi::schema::{Object, Schema, SchemaType, Type};
use utoipa::openapi::{OpenApi, Ref, RefOr};

use super::walk;
use crate::bodies::texts;

/// The place of schemas in a document.
const SCHEMAS: &str = "#/components/schemas/";

/// Writes texts with a format out wherever a schema refers to them: a reference would tell no more.
pub fn write_out(document: &mut OpenApi) {
    walk::schemas(document, &mut |schema| {
        if let Some(text) = text_of(schema) {
            *schema = text.into();
        }
    });
    let components = document.components.get_or_insert_default();
    components
        .schemas
        .retain(|name, _| texts::schema_of(name).is_none());
}

/// The schema of a text with a format, or of that or null.
fn text_of(schema: &RefOr<Schema>) -> Option<Object> {
    let (mut text, description) = match schema {
        RefOr::Ref(place) => (named_text(place)?, some(&place.description)),
        RefOr::T(Schema::OneOf(either)) => match either.items.as_slice() {
            [RefOr::Ref(place), null] | [null, RefOr::Ref(place)] if is_null(null) => {
                let mut text = named_text(place)?;
                text.schema_type = SchemaType::from_iter([Type::String, Type::Null]);
                let own = either.description.clone();
                (text, own.or_else(|| some(&place.description)))
            }
            _ => return None,
        },
        RefOr::T(_) => return None,
    };
    text.description = description;
    Some(text)
}

fn named_text(place: &Ref) -> Option<Object> {
    texts::schema_of(place.ref_location.strip_prefix(SCHEMAS)?)
}

fn some(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

/// Whether a schema is that of null only.
pub fn is_null(schema: &RefOr<Schema>) -> bool {
    match schema {
        RefOr::T(Schema::Object(object)) => object.schema_type == SchemaType::Type(Type::Null),
        _ => false,
    }
}
