//! The ways over a document: its operations, all of its schemas, and every schema inside a schema.

use actix_web::http::Method;
use utoipa::openapi::content::Content;
use utoipa::openapi::header::Header;
use utoipa::openapi::path::{Operation, Parameter, PathItem};
use utoipa::openapi::response::Response;
use utoipa::openapi::schema::{AdditionalProperties, ArrayItems, Schema};
use utoipa::openapi::{OpenApi, RefOr};

/// The operations of a path.
pub fn operations(item: &PathItem) -> impl Iterator<Item = (Method, &Operation)> {
    let all = [
        (Method::GET, &item.get),
        (Method::POST, &item.post),
        (Method::PUT, &item.put),
        (Method::PATCH, &item.patch),
        (Method::DELETE, &item.delete),
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

/// Calls `see` with every schema of a document, wherever it is written; references are not followed.
pub fn schemas(document: &mut OpenApi, see: &mut dyn FnMut(&mut RefOr<Schema>)) {
    if let Some(components) = &mut document.components {
        for schema in components.schemas.values_mut() {
            each(schema, see);
        }
        for it in components.parameters.values_mut() {
            parameter(it, see);
        }
        for it in components.headers.values_mut() {
            header(it, see);
        }
        for it in components.responses.values_mut() {
            response(it, see);
        }
    }
    let webhooks = document.webhooks.iter_mut();
    let webhooks = webhooks.flat_map(|webhooks| webhooks.paths.values_mut());
    for item in document.paths.paths.values_mut().chain(webhooks) {
        for operation in operations_mut(item) {
            for it in operation.parameters.iter_mut().flatten() {
                parameter(it, see);
            }
            if let Some(RefOr::T(body)) = &mut operation.request_body {
                contents(body.content.values_mut(), see);
            }
            for it in operation.responses.responses.values_mut() {
                response(it, see);
            }
        }
    }
}

fn parameter(it: &mut RefOr<Parameter>, see: &mut dyn FnMut(&mut RefOr<Schema>)) {
    if let RefOr::T(parameter) = it
        && let Some(schema) = &mut parameter.schema
    {
        each(schema, see);
    }
}

fn header(it: &mut RefOr<Header>, see: &mut dyn FnMut(&mut RefOr<Schema>)) {
    if let RefOr::T(header) = it
        && let Some(schema) = &mut header.schema
    {
        each(schema, see);
    }
}

fn response(it: &mut RefOr<Response>, see: &mut dyn FnMut(&mut RefOr<Schema>)) {
    if let RefOr::T(response) = it {
        for it in response.headers.values_mut() {
            header(it, see);
        }
        contents(response.content.values_mut(), see);
    }
}

fn contents<'a>(
    all: impl Iterator<Item = &'a mut RefOr<Content>>,
    see: &mut dyn FnMut(&mut RefOr<Schema>),
) {
    for it in all {
        if let RefOr::T(content) = it {
            let schemas = [&mut content.schema, &mut content.item_schema];
            for schema in schemas.into_iter().flatten() {
                each(schema, see);
            }
        }
    }
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
