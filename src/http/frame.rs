//! The frame round each request: its context while it is answered, and the headers of every answer.

use std::future::{Future as _, poll_fn};
use std::pin::pin;

use actix_web::body::{BodySize, EitherBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::Method;
use actix_web::http::header::{HeaderMap, HeaderValue};
use actix_web::middleware::Next;
use actix_web::web::Bytes;
use actix_web::{Error, HttpMessage as _, http::header};

use super::current::{REQUEST_ID, Request, answering};
use super::encoding::encode;
use super::paths::{self, Paths};
use super::pieces::{self, Carried};
use super::rate::Allowance;
use super::wire;
use super::wrong_keys::Delay;

/// The middleware of both listeners.
///
/// # Errors
/// The errors of the inner service; every error of ours is an answer already.
pub async fn frame<B: MessageBody + 'static>(
    mut call: ServiceRequest,
    next: Next<B>,
) -> Result<ServiceResponse<Carried<EitherBody<B, Bytes>>>, Error> {
    let under_way = wire::under_way(call.request());
    let head_alone = call.method() == Method::HEAD;
    if head_alone {
        // Answered as GET (RFC 9110, 9.3.2); the server leaves the body out by itself.
        call.head_mut().method = Method::GET;
    }
    if paths::is_wallet(call.path())
        && let Some(paths) = call.app_data::<Paths>().copied()
    {
        paths.respell(&mut call);
    }
    // The outer layer has given the request its id.
    let request = call.extensions().get::<Request>().cloned();
    let request = request.unwrap_or_default();
    let header = HeaderValue::from_str(&request.id).ok();
    let mut answer = pin!(answering(request, next.call(call)));
    let mut at_once = true;
    let answer = poll_fn(|cx| {
        let polled = answer.as_mut().poll(cx);
        at_once &= polled.is_ready();
        polled
    });
    let answer = answer.await?;
    if at_once && !answer.status().is_success() {
        // The library decodes the body that came with a head only after it has asked once for the answer, and closes
        // the connection after an answer to a request whose body it has not decoded: each refusal would cost a client
        // its connection.
        tokio::task::yield_now().await;
    }
    let delay = answer.request().extensions_mut().remove::<Delay>();
    if let Some(delay) = delay {
        delay.wait().await;
    }
    let mut answer = encode(answer).await;
    let allowance = answer.request().extensions().get::<Allowance>().copied();
    let headers = answer.headers_mut();
    if let Some(allowance) = allowance {
        allowance.write(headers);
    }
    if let Some(value) = header {
        headers.insert(REQUEST_ID, value);
    }
    protect(headers);
    // A body without an end would go on being made, though nobody receives it.
    if head_alone && answer.response().body().size() == BodySize::Stream {
        return Ok(answer.map_body(|_, _| pieces::nothing(under_way)));
    }
    Ok(answer.map_body(|_, body| pieces::carry(body, under_way)))
}

/// The policy for a page of ours: it may run its own scripts, and use its own styles and pictures.
const PAGES_POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; base-uri 'none'; \
     form-action 'none'; frame-ancestors 'none'",
);

/// Sets the headers that keep a browser from misusing an answer.
fn protect(headers: &mut HeaderMap) {
    let html = headers.get(header::CONTENT_TYPE);
    if html.is_some_and(|kind| kind.as_bytes().starts_with(b"text/html")) {
        // The console sets a stricter policy itself.
        if !headers.contains_key(header::CONTENT_SECURITY_POLICY) {
            headers.insert(header::CONTENT_SECURITY_POLICY, PAGES_POLICY);
        }
        let deny = HeaderValue::from_static("DENY");
        headers.insert(header::X_FRAME_OPTIONS, deny);
    }
    let nosniff = HeaderValue::from_static("nosniff");
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, nosniff);
    // The console sets its own: it checks where its forms come from.
    if !headers.contains_key(header::REFERRER_POLICY) {
        let none = HeaderValue::from_static("no-referrer");
        headers.insert(header::REFERRER_POLICY, none);
    }
    if !headers.contains_key(header::CACHE_CONTROL) {
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
}
