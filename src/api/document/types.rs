//! The types of fields, beyond their Rust types: by names that mean the same everywhere, and by which fields are
//! always sent.

use std::collections::BTreeSet;

use caudal_http::document::walk;
use utoipa::openapi::path::Parameter;
use utoipa::openapi::schema::{KnownFormat, Object, Schema, SchemaFormat, SchemaType, Type};
use utoipa::openapi::{OpenApi, Ref, RefOr};

use crate::wallet;

/// The place of schemas in the document.
const SCHEMAS: &str = "#/components/schemas/";

/// Sharpens every schema of a document.
pub(super) fn sharpen(document: &mut OpenApi) {
    let components = document.components.get_or_insert_default();
    let shared = components.parameters.values_mut();
    let items = document.paths.paths.values_mut();
    let operations = items.flat_map(walk::operations_mut);
    let own = operations.flat_map(|operation| operation.parameters.iter_mut().flatten());
    for parameter in shared.chain(own) {
        if let RefOr::T(parameter) = parameter {
            parameter.schema.iter_mut().for_each(never_null);
            name_type(parameter);
        }
    }
    bodies_never_null(document);
    mention_again(document);
    let sent = sent(document);
    let components = document.components.get_or_insert_default();
    for (name, schema) in &mut components.schemas {
        let is_sent = sent.contains(name);
        walk::each(schema, &mut |schema| {
            if let RefOr::T(Schema::Object(object)) = schema {
                name_types(object, is_sent);
                if !is_sent {
                    always(object);
                }
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

fn is_null(schema: &RefOr<Schema>) -> bool {
    match schema {
        RefOr::T(Schema::Object(object)) => object.schema_type == SchemaType::Type(Type::Null),
        _ => false,
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

/// Gives the text of a parameter its format, by the parameter's name.
fn name_type(parameter: &mut Parameter) {
    if let Some(RefOr::T(Schema::Object(text))) = &mut parameter.schema {
        let name = parameter.name.as_str();
        if is_open(text) && ["at", "asOf"].contains(&name) {
            text.format = Some(SchemaFormat::KnownFormat(KnownFormat::DateTime));
        } else if is_open(text) && (is_day(name) || name == wallet::DAY) {
            text.format = Some(SchemaFormat::KnownFormat(KnownFormat::Date));
        }
    }
}

/// Whether an object is a text without further constraints.
fn is_open(text: &Object) -> bool {
    let open = text.format.is_none() && text.pattern.is_none() && text.enum_values.is_none();
    open && solid(&text.schema_type) == SchemaType::Type(Type::String)
}

/// Gives texts their format by the names of their fields; requests declare themselves how money may come.
fn name_types(object: &mut Object, is_sent: bool) {
    for (name, property) in &mut object.properties {
        let RefOr::T(Schema::Object(text)) = property else {
            continue;
        };
        if !is_open(text) {
            continue;
        }
        if is_instant(name) {
            text.format = Some(SchemaFormat::KnownFormat(KnownFormat::DateTime));
        } else if is_day(name) {
            text.format = Some(SchemaFormat::KnownFormat(KnownFormat::Date));
        } else if !is_sent && MONEY.contains(&name.as_str()) {
            text.pattern = Some(MONEY_PATTERN.to_owned());
        }
    }
}

/// Whether a field of this name is an instant in every body.
fn is_instant(name: &str) -> bool {
    let native = name.ends_with("At") || ["at", "asOf", "bankAsOf", "timestamp"].contains(&name);
    native || wallet::INSTANTS.contains(&name)
}

/// Whether a field of this name is a day in every body.
fn is_day(name: &str) -> bool {
    DAYS.contains(&name) || wallet::DAYS.contains(&name)
}

/// Fields that are days in every body.
const DAYS: [&str; 2] = ["date", "birthDate"];
/// Fields that are money wherever they are text.
const MONEY: &[&str] = &[
    "amount",
    "amountIn",
    "amountOut",
    "available",
    "availableAfter",
    "availableBalance",
    "bankBalance",
    "base",
    "confirmed",
    "dailyAmount",
    "fixed",
    "freeBalance",
    "held",
    "heldAfter",
    "heldBalance",
    "incoming",
    "maxBalance",
    "maxPerTransaction",
    "maximum",
    "minimum",
    "monthlyAmount",
    "netAmount",
    "outgoing",
    "pspFees",
    "released",
    "remaining",
    "reversed",
    "tax",
    "total",
    "totalAfter",
    "totalBalance",
    "totalCharges",
];
/// ARS with exactly two decimals.
const MONEY_PATTERN: &str = r"^-?[0-9]+\.[0-9]{2}$";
