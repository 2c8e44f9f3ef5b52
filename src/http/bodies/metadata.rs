//! How the document shows data of the tenant's own.

use std::borrow::Cow;

use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

/// The tenant's own data: texts by name.
#[derive(Debug)]
pub struct Metadata;

impl PartialSchema for Metadata {
    fn schema() -> RefOr<Schema> {
        let text = ObjectBuilder::new().schema_type(Type::String);
        ObjectBuilder::new()
            .schema_type(Type::Object)
            .additional_properties(Some(text))
            .description(Some("The tenant's own data: texts by name."))
            .into()
    }
}

impl ToSchema for Metadata {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed("Metadata")
    }
}
