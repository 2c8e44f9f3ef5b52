//! The request that is being answered: its id, and the language of its answer.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use actix_web::http::header::{HeaderMap, HeaderName};
use caudal_ledger::time::Timestamp;

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

/// The facts about its request that an error body needs.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Request {
    /// Its id: the client's, if it looks sane, else made here.
    pub id: String,
    /// The language of its messages.
    pub language: Language,
    /// The list that it asks for: see [`super::cursors::list`].
    pub list: u32,
}

tokio::task_local! {
    static REQUEST: Request;
}

/// The request that is being answered.
pub fn request() -> Request {
    REQUEST.try_with(Clone::clone).unwrap_or_default()
}

/// The list that is asked for; 0 outside a request.
pub fn list() -> u32 {
    REQUEST.try_with(|it| it.list).map_or(0, |list| list)
}

/// Runs a future on behalf of a request, so that [`request`] finds it.
pub fn answering<F: Future>(request: Request, work: F) -> impl Future<Output = F::Output> {
    REQUEST.scope(request, work)
}

/// The header that carries a request's id.
pub const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// The longest id that is taken from a client, in characters.
const REQUEST_ID_MAX: usize = 64;

/// Whether a text may be the id of a request.
pub fn is_id(text: &str) -> bool {
    let good = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    (1..=REQUEST_ID_MAX).contains(&text.len()) && text.bytes().all(good)
}

/// The id of a request: the client's if it looks sane, its trace's, or a new one.
pub(super) fn request_id(headers: &HeaderMap, trace: Option<Trace>) -> String {
    let given = headers
        .get(REQUEST_ID)
        .and_then(|value| value.to_str().ok())
        .filter(|text| is_id(text));
    match (given, trace) {
        (Some(id), _) => id.to_owned(),
        // W3C trace context: the trace's id serves as the request's.
        (None, Some(trace)) => trace.id(),
        (None, None) => made_id(),
    }
}

/// The prefix of ids that are made here.
const MADE: &str = "req_";
/// Hexadecimal digits of the milliseconds since 1970 in such an id.
const MILLIS_DIGITS: usize = 12;
/// The digit that follows them. Earlier ids were made from the start of the process and had a `7` there.
const TIMED: char = '0';
/// Ids with a time outside of this range were made in another way: 2020 to 2120, in milliseconds since 1970.
const SANE_MILLIS: std::ops::Range<u64> = 1_577_836_800_000..4_733_510_400_000;

/// An id that no other request of any process has: the time, a part that is random per process, and a count.
pub(super) fn made_id() -> String {
    static PROCESS: LazyLock<String> = LazyLock::new(|| {
        let random = uuid::Uuid::now_v7().simple().to_string();
        random.chars().skip(MILLIS_DIGITS + 1).collect()
    });
    static REQUESTS: AtomicU64 = AtomicU64::new(0);
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let millis = since.map_or(0, |since| since.as_millis());
    format!(
        "{MADE}{millis:0MILLIS_DIGITS$x}{TIMED}{}{:08x}",
        *PROCESS,
        REQUESTS.fetch_add(1, Ordering::Relaxed)
    )
}

/// Whether an id looks like one that a service made, by the clock of its machine.
pub fn is_made(id: &str) -> bool {
    id.starts_with(MADE)
}

/// When a request came, as far as its id says so: an id made here has the time of this machine's clock, a UUID of
/// version 7 that of its maker's clock. Any other id says nothing.
pub fn made_at(id: &str) -> Option<Timestamp> {
    let made = || {
        let rest = id.strip_prefix(MADE)?;
        let (millis, rest) = rest.split_at_checked(MILLIS_DIGITS)?;
        let timed = rest.starts_with(TIMED);
        u64::from_str_radix(millis, 16).ok().filter(|_| timed)
    };
    let given = || {
        let uuid = uuid::Uuid::try_parse(id).ok()?;
        let sorted = uuid.get_version() == Some(uuid::Version::SortRand);
        let (seconds, nanos) = uuid.get_timestamp().filter(|_| sorted)?.to_unix();
        let millis = seconds.checked_mul(1000)?;
        millis.checked_add(u64::from(nanos.div_euclid(1_000_000)))
    };
    let millis = made().or_else(given);
    let sane = millis.filter(|millis| SANE_MILLIS.contains(millis));
    sane.map(Timestamp::from_millis)
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

    #[test]
    fn an_id_says_when_it_was_made() {
        let at = |id: &str| made_at(id).map(Timestamp::millis);
        let id = made_id();
        assert_eq!(id.len(), "req_".len() + 40, "{id}");
        assert_ne!(id, made_id());
        let (now, made) = (SystemTime::now(), made_at(&id).expect("a time"));
        let now = now.duration_since(UNIX_EPOCH).unwrap().as_millis();
        assert!(u128::from(made.millis()) <= now, "{id}");
        for (id, millis) in [
            (
                "req_0199f1e2d3c40aaaaaaaaaaaaaaaaaaa00000001",
                Some(0x0199_f1e2_d3c4),
            ),
            // Made the old way: the time would be that of the start of the process.
            ("req_0199f1e2d3c47aaaaaaaaaaaaaaaaaaa00000001", None),
            (
                "0199f1e2-d3c4-7aaa-8aaa-aaaaaaaaaaaa",
                Some(0x0199_f1e2_d3c4),
            ),
            // Version 4; a trace; one that only looks like it; not of this age; cut short.
            ("0199f1e2-d3c4-4aaa-8aaa-aaaaaaaaaaaa", None),
            ("4bf92f3577b34da6a3ce929d0e0e4736", None),
            ("req_0199f1e2d3cz0aaaaaaaaaaaaaaaaaaa00000001", None),
            ("ffffffff-ffff-7aaa-8aaa-aaaaaaaaaaaa", None),
            ("req_0199", None),
            ("req_", None),
            ("", None),
        ] {
            assert_eq!(at(id), millis, "{id}");
        }
    }
}
