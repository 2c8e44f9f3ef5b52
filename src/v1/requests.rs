//! The words of the native family's requests, for the OpenAPI document.

use serde::Serialize;
use utoipa::ToSchema;

/// The direction of a custom type.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SenseDto {
    /// Money comes in.
    Credit,
    /// Money goes out.
    Debit,
}
