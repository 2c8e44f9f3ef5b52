//! Bodies as they arrive: within their limit and their time.
//!
//! **Bounds.** [`BODY_BYTES_MAX`] for every body whose operation sets no other limit; [`BODY_DEADLINE`] for all of it
//! to arrive.
//!
//! **Order.** An order begins when its body is here. Until then a stop of the service, or a hand-over of the log, does
//! not wait for the client: the request gets 503, and nothing was done.

use std::time::Duration;

use actix_web::dev::Payload;
use actix_web::http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, TRANSFER_ENCODING};
use actix_web::{FromRequest, HttpRequest, web};
use futures_util::StreamExt as _;

use super::AppState;
use super::errors::ApiError;
use super::words::Refusal;

/// The largest body, in bytes.
pub const BODY_BYTES_MAX: usize = 64 * 1024;
/// How long a body may take to arrive, unless set: ten seconds.
pub const BODY_DEADLINE: Duration = Duration::from_secs(10);
/// How long the head of a request may take to arrive, unless set: five seconds.
pub const HEAD_DEADLINE: Duration = Duration::from_secs(5);

/// How long the parts of a request may take to arrive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Deadlines {
    /// How long a head may take to arrive; by default [`HEAD_DEADLINE`].
    pub head: Duration,
    /// How long a body may take to arrive; by default [`BODY_DEADLINE`].
    pub body: Duration,
}

impl Default for Deadlines {
    fn default() -> Self {
        Self {
            head: HEAD_DEADLINE,
            body: BODY_DEADLINE,
        }
    }
}

/// The most memory that is reserved on the strength of a declared length, in bytes.
const RESERVED_MAX: usize = 4 * 1024;

type BodyStream<T> = std::pin::Pin<Box<dyn Future<Output = Result<T, ApiError>>>>;

/// A body as it came, of any content type, at most so many bytes.
#[derive(Debug)]
pub struct Bytes<const MAX: usize>(pub web::Bytes);

impl<const MAX: usize> FromRequest for Bytes<MAX> {
    type Error = ApiError;
    type Future = BodyStream<Self>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let declared = request.headers().get(CONTENT_LENGTH);
        let declared = declared
            .and_then(|v| v.to_str().ok())
            .and_then(|v| v.parse::<usize>().ok());
        let app = request.app_data::<web::Data<AppState>>().cloned();
        let deadline = app.as_ref().map_or(BODY_DEADLINE, |app| app.deadlines.body);
        let encoded = refuse_encoded(request);
        let mut payload = payload.take();
        Box::pin(async move {
            encoded?;
            if declared.is_some_and(|length| length > MAX) {
                return Err(Refusal::BodyTooLarge { most: MAX }.into());
            }
            let read = read_all(&mut payload, MAX, declared.unwrap_or(0));
            let bytes = tokio::select! {
                biased;
                bytes = tokio::time::timeout(deadline, read) => bytes,
                why = no_longer_served(app.as_ref()) => return Err(why),
            };
            let bytes = bytes.map_err(|_| Refusal::BodyTooSlow)??;
            Ok(Self(bytes.freeze()))
        })
    }
}

/// A body that is not empty and is declared as JSON, at most so many bytes.
#[derive(Debug)]
pub struct JsonBytes<const MAX: usize>(pub web::Bytes);

impl<const MAX: usize> FromRequest for JsonBytes<MAX> {
    type Error = ApiError;
    type Future = BodyStream<Self>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let json = is_json(request);
        let bytes = Bytes::<MAX>::from_request(request, payload);
        Box::pin(async move {
            let Bytes(bytes) = bytes.await?;
            match (json, bytes.is_empty()) {
                (_, true) => Err(Refusal::NoBody.into()),
                (false, false) => Err(Refusal::NotJson.into()),
                (true, false) => Ok(Self(bytes)),
            }
        })
    }
}

/// Refuses a body that is encoded: bodies are read as they are sent.
///
/// # Errors
/// 415.
pub fn refuse_encoded(request: &HttpRequest) -> Result<(), Refusal> {
    let headers = request.headers();
    let length = headers.get(CONTENT_LENGTH);
    let sent =
        length.is_some_and(|length| length != "0") || headers.contains_key(TRANSFER_ENCODING);
    if sent && headers.contains_key(CONTENT_ENCODING) {
        Err(Refusal::BodyEncoded)
    } else {
        Ok(())
    }
}

/// Whether a request declares its body as JSON.
pub fn is_json(request: &HttpRequest) -> bool {
    let value = request
        .headers()
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    let essence = value
        .and_then(|value| value.split(';').next())
        .unwrap_or_default();
    essence.trim().eq_ignore_ascii_case("application/json")
}

/// Waits until this process takes no more requests, or another node owns the log; returns the error for it.
async fn no_longer_served(app: Option<&web::Data<AppState>>) -> ApiError {
    let Some(app) = app else {
        return std::future::pending().await;
    };
    loop {
        app.gate.closed().await;
        if !app.gate.is_open() || !app.is_owners() {
            return app.refusal();
        }
    }
}

async fn read_all(
    payload: &mut Payload,
    most: usize,
    expected: usize,
) -> Result<web::BytesMut, ApiError> {
    let mut bytes = web::BytesMut::with_capacity(expected.min(RESERVED_MAX));
    while let Some(chunk) = payload.next().await {
        let chunk = chunk.map_err(|_| Refusal::BodyBrokenOff)?;
        if bytes.len().saturating_add(chunk.len()) > most {
            return Err(Refusal::BodyTooLarge { most }.into());
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}
