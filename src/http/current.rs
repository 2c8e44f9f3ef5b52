//! The request that is being answered: its id, and the language of its answer.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use actix_web::http::header::{HeaderMap, HeaderName};

use crate::traces::Trace;

/// The language of messages for people.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Language {
    /// The native family and the admin API.
    #[default]
    English,
    /// Spanish: requests of the wallet family.
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

/// What a future does is done for a request.
pub fn answering<F: Future>(request: Request, work: F) -> impl Future<Output = F::Output> {
    REQUEST.scope(request, work)
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

#[cfg(test)]
mod tests {
    use actix_web::http::header::HeaderValue;

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
