//! The frame round each request: its id, its language, the headers of every answer, the gate.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use actix_web::body::{BodySize, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::Method;
use actix_web::http::header::{HeaderMap, HeaderName, HeaderValue};
use actix_web::middleware::Next;
use actix_web::{Error, HttpMessage as _, http::header};

use tokio::sync::Notify;

use super::pieces::{self, Carried};
use super::rate::Allowances;
use super::wire;
use crate::traces::Trace;

/// Open while the service takes requests.
#[derive(Debug, Default)]
pub struct Gate {
    closed: AtomicBool,
    closing: Notify,
}

impl Gate {
    /// Takes no more requests: health says "not ready", handlers answer 503.
    pub fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.closing.notify_waiters();
    }

    /// Whether requests are taken.
    pub fn is_open(&self) -> bool {
        !self.closed.load(Ordering::Acquire)
    }

    /// Waits until no more requests are taken: what goes on for long ends itself then.
    pub async fn closed(&self) {
        let closing = self.closing.notified();
        tokio::pin!(closing);
        closing.as_mut().enable();
        if self.is_open() {
            closing.await;
        }
    }
}

/// The language of messages for people.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Language {
    /// The native family and the admin API.
    #[default]
    English,
    /// The wallet family.
    Spanish,
}

/// What an error body needs to know of its request.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Request {
    /// Its id: the client's, if it looks sane, else made here.
    pub id: String,
    /// The language of its messages.
    pub language: Language,
}

tokio::task_local! {
    static REQUEST: Request;
}

/// The request that is being answered.
pub fn request() -> Request {
    REQUEST.try_with(Clone::clone).unwrap_or_default()
}

/// The header that carries a request's id.
pub const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// The longest id that is taken from a client, in characters.
const REQUEST_ID_MAX: usize = 64;

/// The id of a request: the client's if it looks sane, its trace's, or a new one.
pub(super) fn request_id(headers: &HeaderMap, trace: Option<Trace>) -> String {
    let sane = |text: &&str| {
        let good = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
        (1..=REQUEST_ID_MAX).contains(&text.len()) && text.bytes().all(good)
    };
    let given = headers
        .get(REQUEST_ID)
        .and_then(|value| value.to_str().ok())
        .filter(sane);
    match (given, trace) {
        (Some(id), _) => id.to_owned(),
        // W3C trace context: the trace's id serves as the request's.
        (None, Some(trace)) => trace.id(),
        (None, None) => made_id(),
    }
}

/// An id that no other request of any process has: random once, then counted.
pub(super) fn made_id() -> String {
    static PROCESS: LazyLock<String> = LazyLock::new(|| uuid::Uuid::now_v7().simple().to_string());
    static REQUESTS: AtomicU64 = AtomicU64::new(0);
    format!(
        "req_{}{:08x}",
        *PROCESS,
        REQUESTS.fetch_add(1, Ordering::Relaxed)
    )
}

/// The middleware of both listeners.
///
/// # Errors
/// What the inner service gives; every error of ours is an answer already.
pub async fn frame<B: MessageBody + 'static>(
    mut call: ServiceRequest,
    next: Next<B>,
) -> Result<ServiceResponse<Carried<B>>, Error> {
    let under_way = wire::under_way(call.request());
    let head_alone = call.method() == Method::HEAD;
    if head_alone {
        // Answered as GET (RFC 9110, 9.3.2); the server leaves the body out by itself.
        call.head_mut().method = Method::GET;
    }
    // Nobody waits for the answer: nothing is done. The library drops this when it has read the end.
    if !matches!(*call.method(), Method::GET | Method::OPTIONS) && wire::has_left(call.request()) {
        std::future::pending::<()>().await;
    }
    // The layer outside has given it its id.
    let request = call.extensions().get::<Request>().cloned();
    let request = request.unwrap_or_default();
    let header = HeaderValue::from_str(&request.id).ok();
    let mut answer = REQUEST.scope(request, next.call(call)).await?;
    let allowance = answer.request().extensions().get::<Allowances>().copied();
    let headers = answer.headers_mut();
    if let Some(allowance) = allowance {
        allowance.write(headers);
    }
    if let Some(value) = header {
        headers.insert(REQUEST_ID, value);
    }
    protect(headers);
    // A body without an end would go on being made, with nobody to send it to.
    if head_alone && answer.response().body().size() == BodySize::Stream {
        return Ok(answer.map_body(|_, _| pieces::nothing(under_way)));
    }
    Ok(answer.map_body(|_, body| pieces::carry(body, under_way)))
}

/// What a browser may do with a page of ours: run its own scripts, show its own pictures, ask this
/// service. Swagger UI writes styles into its elements.
const PAGES_POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; \
     font-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; \
     frame-ancestors 'none'",
);

/// The headers that keep a browser from doing with an answer what it should not.
fn protect(headers: &mut HeaderMap) {
    let html = headers.get(header::CONTENT_TYPE);
    if html.is_some_and(|kind| kind.as_bytes().starts_with(b"text/html")) {
        headers.insert(header::CONTENT_SECURITY_POLICY, PAGES_POLICY);
        let deny = HeaderValue::from_static("DENY");
        headers.insert(header::X_FRAME_OPTIONS, deny);
    }
    for (name, value) in [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if !headers.contains_key(header::CACHE_CONTROL) {
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_taken_only_when_sane() {
        let with = |name: &'static str, value: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(
                HeaderName::from_static(name),
                HeaderValue::from_static(value),
            );
            request_id(&headers, Trace::of(&headers))
        };
        assert_eq!(with("x-request-id", "abc-1"), "abc-1");
        assert!(with("x-request-id", "a b").starts_with("req_"));
        let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        assert_eq!(
            with("traceparent", trace),
            "4bf92f3577b34da6a3ce929d0e0e4736"
        );
        assert!(with("traceparent", "00-0-0-0").starts_with("req_"));
    }
}
