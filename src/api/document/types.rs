//! The types of fields, beyond what each says itself: texts with a format, and which fields are always sent.

use std::collections::BTreeSet;

use caudal_http::document::texts::{self, is_null};
use caudal_http::document::walk;
use utoipa::openapi::schema::{Object, Schema, SchemaType, Type};
use utoipa::openapi::{OpenApi, Ref, RefOr};

/// The place of schemas in the document.
const SCHEMAS: &str = "#/components/schemas/";

/// Sharpens every schema of a document.
pub(super) fn sharpen(document: &mut OpenApi) {
    texts::write_out(document);
    let components = document.components.get_or_insert_default();
    let shared = components.parameters.values_mut();
    let items = document.paths.paths.values_mut();
    let operations = items.flat_map(walk::operations_mut);
    let own = operations.flat_map(|operation| operation.parameters.iter_mut().flatten());
    for parameter in shared.chain(own) {
        if let RefOr::T(parameter) = parameter {
            parameter.schema.iter_mut().for_each(never_null);
        }
    }
    bodies_never_null(document);
    mention_again(document);
    let sent = sent(document);
    let components = document.components.get_or_insert_default();
    let answered = components.schemas.iter_mut();
    for (_, schema) in answered.filter(|(name, _)| !sent.contains(*name)) {
        walk::each(schema, &mut |schema| {
            if let RefOr::T(Schema::Object(object)) = schema {
                always(object);
            }
        });
    }
}

/// Puts a reference wherever a named schema is written out again, as generic lists do with their items.
fn mention_again(document: &mut OpenApi) {
    let components = document.components.get_or_insert_default();
    let named = components.schemas.iter();
    let named: Vec<_> = named
        .filter(|(_, schema)| matches!(schema, RefOr::T(Schema::Object(it)) if !it.properties.is_empty()))
        .map(|(name, schema)| (name.clone(), schema.clone()))
        .collect();
    for (own, schema) in &mut components.schemas {
        walk::each(schema, &mut |inner| {
            let known = named.iter().find(|(name, it)| name != own && it == inner);
            if let Some((name, _)) = known {
                *inner = RefOr::Ref(Ref::from_schema_name(name));
            }
        });
    }
}

/// The schemas of which the bodies of requests are made.
fn sent(document: &OpenApi) -> BTreeSet<String> {
    let mut places = Vec::new();
    let operations = document.paths.paths.values().flat_map(walk::operations);
    for (_, operation) in operations {
        let Some(RefOr::T(body)) = &operation.request_body else {
            continue;
        };
        for content in body.content.values() {
            if let RefOr::T(content) = content
                && let Some(schema) = &content.schema
            {
                mentions(schema.clone(), &mut places);
            }
        }
    }
    let schemas = document.components.as_ref().map(|it| &it.schemas);
    let mut found = BTreeSet::new();
    while let Some(name) = places.pop() {
        let schema = schemas.and_then(|schemas| schemas.get(&name)).cloned();
        if found.insert(name)
            && let Some(schema) = schema
        {
            mentions(schema, &mut places);
        }
    }
    found
}

/// The names of the schemas that a schema refers to.
fn mentions(mut schema: RefOr<Schema>, found: &mut Vec<String>) {
    walk::each(&mut schema, &mut |it| {
        if let RefOr::Ref(place) = it
            && let Some(name) = place.ref_location.strip_prefix(SCHEMAS)
        {
            found.push(name.to_owned());
        }
    });
}

/// A body that may be left out is not required; nobody has to send `null` in its place.
fn bodies_never_null(document: &mut OpenApi) {
    let items = document.paths.paths.values_mut();
    for operation in items.flat_map(walk::operations_mut) {
        let Some(RefOr::T(body)) = &mut operation.request_body else {
            continue;
        };
        for content in body.content.values_mut() {
            if let RefOr::T(content) = content
                && let Some(schema) = &mut content.schema
            {
                never_null(schema);
            }
        }
    }
}

/// What is present or absent is never null: `null` cannot be written in a path, a query or a header.
fn never_null(schema: &mut RefOr<Schema>) {
    if let RefOr::T(Schema::OneOf(some)) = schema {
        some.items.retain(|it| !is_null(it));
        if let [one] = some.items.as_slice() {
            *schema = one.clone();
        }
    }
    if let RefOr::T(Schema::Object(object)) = schema {
        object.schema_type = solid(&object.schema_type);
    }
    if let RefOr::T(Schema::Array(array)) = schema {
        array.schema_type = solid(&array.schema_type);
    }
}

/// A type without null.
fn solid(kind: &SchemaType) -> SchemaType {
    match kind {
        SchemaType::Array(types) => {
            let mut solid = types.iter().filter(|it| **it != Type::Null).cloned();
            match (solid.next(), solid.next()) {
                (Some(one), None) => SchemaType::Type(one),
                _ => kind.clone(),
            }
        }
        SchemaType::Type(_) | SchemaType::AnyValue => kind.clone(),
    }
}

/// Whether null is among the values of a property.
fn nullable(schema: &RefOr<Schema>) -> bool {
    let null_of = |kind: &SchemaType| match kind {
        SchemaType::Array(types) => types.contains(&Type::Null),
        SchemaType::Type(_) | SchemaType::AnyValue => false,
    };
    match schema {
        RefOr::T(Schema::Object(object)) => null_of(&object.schema_type),
        RefOr::T(Schema::Array(array)) => null_of(&array.schema_type),
        RefOr::T(Schema::OneOf(some)) => some.items.iter().any(is_null),
        RefOr::T(_) | RefOr::Ref(_) => false,
    }
}

/// Makes nullable properties of answers required: they are always present, if need be as null. Only a property that
/// is not nullable may be left out.
fn always(object: &mut Object) {
    let mut required = Vec::new();
    for (name, property) in &object.properties {
        if nullable(property) || object.required.contains(name) {
            required.push(name.clone());
        }
    }
    object.required = required;
}
