//! The shapes of the native family's requests, for the OpenAPI document. They are read field by
//! field (see [`crate::http::body`]); a test holds both against each other.

#![expect(dead_code, reason = "read by the OpenAPI document only")]

use serde::Serialize;
use utoipa::{IntoParams, ToSchema};

/// Parameters of every list.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct PageParams {
    /// Rows of the page, 1–200; 50 when absent.
    #[param(minimum = 1, maximum = 200)]
    limit: Option<u32>,
    /// Rows to skip; use `cursor` for deep pages.
    #[param(minimum = 0, maximum = 10_000_000)]
    offset: Option<u64>,
    /// `asc` or `desc` (when absent).
    order: Option<String>,
    /// A value of `X-Next-Cursor`.
    cursor: Option<String>,
}

/// The direction of a custom type.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SenseDto {
    /// Money comes in.
    Credit,
    /// Money goes out.
    Debit,
}
