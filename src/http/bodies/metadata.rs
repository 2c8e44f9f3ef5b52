//! How the document shows data of the tenant's own.

use utoipa::openapi::schema::{ObjectBuilder, Type};

use super::schema;

/// The tenant's own data: texts by name.
#[derive(Debug)]
pub struct Metadata;

schema!(Metadata, "Metadata", {
    let text = ObjectBuilder::new().schema_type(Type::String);
    ObjectBuilder::new()
        .schema_type(Type::Object)
        .additional_properties(Some(text))
        .description(Some("The tenant's own data: texts by name."))
});
