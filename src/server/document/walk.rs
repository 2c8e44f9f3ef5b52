//! The ways over a document: its operations, and every schema inside a schema.

use utoipa::openapi::RefOr;
use utoipa::openapi::path::{Operation, PathItem};
use utoipa::openapi::schema::{AdditionalProperties, ArrayItems, Schema};

/// The operations of a path.
pub fn operations(item: &PathItem) -> impl Iterator<Item = (&'static str, &Operation)> {
    let all = [
        ("get", &item.get),
        ("post", &item.post),
        ("put", &item.put),
        ("patch", &item.patch),
        ("delete", &item.delete),
    ];
    all.into_iter()
        .filter_map(|(method, operation)| Some((method, operation.as_ref()?)))
}

/// Like [`operations`], to change them.
pub fn operations_mut(item: &mut PathItem) -> impl Iterator<Item = &mut Operation> {
    let all = [
        &mut item.get,
        &mut item.post,
        &mut item.put,
        &mut item.patch,
        &mut item.delete,
    ];
    all.into_iter().filter_map(Option::as_mut)
}

/// Calls `see` with a schema, and then with every schema nested in it; references are not followed.
pub fn each(schema: &mut RefOr<Schema>, see: &mut dyn FnMut(&mut RefOr<Schema>)) {
    see(schema);
    if let RefOr::T(schema) = schema {
        for inner in inside(schema) {
            each(inner, see);
        }
    }
}

/// The schemas directly inside a schema.
fn inside(schema: &mut Schema) -> Vec<&mut RefOr<Schema>> {
    match schema {
        Schema::Object(object) => {
            let more = match object.additional_properties.as_deref_mut() {
                Some(AdditionalProperties::RefOr(more)) => Some(more),
                Some(AdditionalProperties::FreeForm(_)) | None => None,
            };
            object.properties.values_mut().chain(more).collect()
        }
        Schema::Array(array) => match &mut array.items {
            ArrayItems::RefOrSchema(items) => vec![items],
            ArrayItems::False => vec![],
        },
        Schema::OneOf(some) => some.items.iter_mut().collect(),
        Schema::AllOf(some) => some.items.iter_mut().collect(),
        Schema::AnyOf(some) => some.items.iter_mut().collect(),
        _ => vec![],
    }
}
