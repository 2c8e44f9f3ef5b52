//! The outcome of the request that used an idempotency key.

use actix_web::http::StatusCode;
use actix_web::{HttpResponse, get, web};
use caudal_http::bodies::texts::Instant;
use caudal_http::bodies::words::KeyStateWord;
use caudal_http::caller::Caller;
use caudal_http::declared::{declared, field};
use caudal_http::errors::ApiError;
use caudal_http::problems::Problems;
use caudal_http::respond::json;
use caudal_http::words::Mistake;
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

/// The requests that were made with a key.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct KeyReport {
    /// The key.
    pub key: String,
    /// The requests, one per method and path.
    pub requests: Vec<KeyedRequest>,
}

/// One request and its answer.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct KeyedRequest {
    /// The method.
    pub method: String,
    /// The path.
    pub path: String,
    /// `completed`, or `in_progress` while the bank's outcome is not known.
    #[schema(value_type = KeyStateWord)]
    pub state: &'static str,
    /// The status that was answered.
    pub status: Option<u16>,
    /// The body that was answered.
    #[schema(value_type = Option<Object>)]
    pub body: Option<Box<RawValue>>,
    /// When it was answered, or begun.
    pub at: Instant,
}

/// An idempotency key.
fn key(text: &str) -> Result<String, Mistake> {
    let good = (1..=255).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic());
    good.then(|| text.to_owned()).ok_or(Mistake::IdempotencyKey)
}

declared! {
    /// the Idempotency-Key of an earlier request
    KeyInPath = Path "key" as String => String: field(key);
}

/// Shows what an idempotency key did.
///
/// Every request that was made with the key, with its answer; `in_progress` while the bank's outcome is not
/// known.
#[utoipa::path(
    operation_id = "readIdempotencyKey",
    tag = "Idempotency",
    params(KeyInPath),
    responses((status = 200, body = KeyReport), Problems)
)]
#[get("/v1/idempotency/{key}")]
pub(crate) async fn read(
    caller: Caller,
    path: web::Path<String>,
) -> Result<HttpResponse, ApiError> {
    let key = KeyInPath::read(&path)?;
    let answers = caller.queries().answers(caller.realm(), &key).await?;
    let requests = answers.into_iter().map(|answer| {
        let done = answer.status != 0;
        KeyedRequest {
            method: answer.method,
            path: answer.path,
            state: if done { "completed" } else { "in_progress" },
            status: done.then_some(answer.status),
            body: RawValue::from_string(answer.body).ok(),
            at: answer.at.into(),
        }
    });
    Ok(json(
        StatusCode::OK,
        &KeyReport {
            key,
            requests: requests.collect(),
        },
    ))
}
