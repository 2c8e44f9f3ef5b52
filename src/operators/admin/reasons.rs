//! The reason and the body of operations that act: both are read before anything is done.

use actix_web::dev::{Payload, ServiceRequest};
use actix_web::http::header::HeaderName;
use actix_web::{FromRequest as _, HttpRequest, web};
use caudal_http::body::BODY_BYTES_MAX;
use caudal_http::bytes::Bytes;
use caudal_http::errors::ApiError;
use caudal_http::words::Refusal;
use caudal_ledger::people::audit::REASON_MAX;
use caudal_ledger::text::line;
use serde::Deserialize;

/// The header in which an operator gives the reason.
pub(super) const REASON: HeaderName = HeaderName::from_static("x-reason");

/// Reads the body of a request and puts it back for its handler.
pub(super) async fn read(call: &mut ServiceRequest) -> Result<web::Bytes, ApiError> {
    let (request, payload) = call.parts_mut();
    let Bytes(bytes) = Bytes::<BODY_BYTES_MAX>::from_request(request, payload).await?;
    let again = bytes.clone();
    let again = futures_util::stream::once(async move { Ok(again) });
    call.set_payload(Payload::Stream {
        payload: Box::pin(again),
    });
    Ok(bytes)
}

/// An operator's reason: from the header, or else from the body's field.
pub(super) fn said(request: &HttpRequest, body: &[u8]) -> Result<Option<String>, ApiError> {
    #[derive(Deserialize)]
    struct Said {
        reason: Option<String>,
    }
    let wrong = || ApiError::from(Refusal::ReasonRequired);
    let mut headers = request.headers().get_all(&REASON);
    match (headers.next(), headers.next()) {
        (Some(_), Some(_)) => Err(wrong()),
        (Some(one), None) => {
            let text = std::str::from_utf8(one.as_bytes()).map_err(|_| wrong())?;
            line(text, REASON_MAX).map(Some).map_err(|_| wrong())
        }
        (None, _) => {
            let said: Option<Said> = serde_json::from_slice(body).ok();
            let text = said.and_then(|said| said.reason);
            // The handler that parses the body reports an invalid one.
            Ok(text.and_then(|text| line(&text, REASON_MAX).ok()))
        }
    }
}
