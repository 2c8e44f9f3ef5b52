//! One line for each request, and the trace that it belongs to.
//!
//! **Shape.** [`Requests`] is the outermost layer of both listeners. It gives the request its id (the
//! client's own, the trace's, or a new one), opens its span, and writes its line when the answer is
//! there: request id, tenant, mode, method, the pattern of its route, status, our code of a refusal,
//! and how long it took. What handlers log meanwhile carries the id by the span; what actors, the bank's
//! gateway and the courier log on behalf of it names the id itself, since they work elsewhere.
//!
//! **Order.** A refusal always has its line; of what succeeds it may be one in so many
//! ([`Door::log_every`](super::Door)). A server error is a WARN, all else INFO.
//!
//! **Traces.** A `traceparent` (W3C) is remembered under the request's id, for the newest
//! [`TRACES_MAX`] requests that brought one, in memory alone: whatever goes out on behalf of the
//! request continues the trace ([`traceparent`]) as a span of its own.

use std::cell::Cell;
use std::collections::{HashMap, VecDeque};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::Instant;

use actix_web::body::MessageBody;
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::header::HeaderMap;
use actix_web::http::{Method, StatusCode};
use actix_web::{Error, HttpMessage as _, web};
use tracing::Span;
use tracing_actix_web::RootSpanBuilder;

use super::Door;
use super::frame::{self, Language, Request};
use crate::keys::Identity;

/// Requests whose traces are remembered at most.
pub const TRACES_MAX: usize = 8_192;
/// The header of a trace, taken and passed on.
pub const TRACEPARENT: &str = "traceparent";
/// What is logged of requests, as a target for filters.
const TARGET: &str = "caudal::request";

/// The stable word of a refusal, left with the answer for the line.
#[derive(Clone, Debug)]
pub struct Code(pub std::borrow::Cow<'static, str>);

/// When a request came, and how it was asked for.
#[derive(Clone, Debug)]
struct Began {
    at: Instant,
    method: Method,
}

/// What is taken of a `traceparent`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Trace {
    id: u128,
    flags: u8,
}

impl Trace {
    /// Reads the header; `None` for what is none, or a trace without an id.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('-');
        let hex = |part: &str| {
            part.bytes()
                .all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
        };
        let mut part = |length| {
            let part = parts.next()?;
            (part.len() == length && hex(part)).then_some(part)
        };
        let (version, id) = (part(2)?, part(32)?);
        let (parent, flags) = (part(16)?, part(2)?);
        let id = u128::from_str_radix(id, 16).ok().filter(|id| *id != 0)?;
        let good = version != "ff" && parent.contains(|c| c != '0');
        let flags = u8::from_str_radix(flags, 16).ok()?;
        good.then_some(Self { id, flags })
    }

    /// The trace of a request's headers.
    pub fn of(headers: &HeaderMap) -> Option<Self> {
        Self::parse(headers.get(TRACEPARENT)?.to_str().ok()?)
    }

    /// Its id: 32 digits.
    pub fn id(self) -> String {
        format!("{:032x}", self.id)
    }
}

#[derive(Debug, Default)]
struct Traces {
    of: HashMap<String, Trace>,
    order: VecDeque<String>,
}

static TRACES: LazyLock<Mutex<Traces>> = LazyLock::new(Mutex::default);

/// Remembers the trace of a request.
pub(crate) fn remember(request_id: &str, trace: Trace) {
    let mut traces = TRACES.lock().unwrap_or_else(PoisonError::into_inner);
    if traces.of.insert(request_id.to_owned(), trace).is_some() {
        return;
    }
    traces.order.push_back(request_id.to_owned());
    if traces.order.len() > TRACES_MAX
        && let Some(oldest) = traces.order.pop_front()
    {
        traces.of.remove(&oldest);
    }
}

/// The header under which the trace of a request goes on, as a new span; `None` without a trace.
pub fn traceparent(request_id: &str) -> Option<String> {
    let traces = TRACES.lock().unwrap_or_else(PoisonError::into_inner);
    let trace = *traces.of.get(request_id)?;
    drop(traces);
    // Random, and never 0 because of the variant.
    let (_, span) = uuid::Uuid::now_v7().as_u64_pair();
    let Trace { id, flags } = trace;
    Some(format!("00-{id:032x}-{span:016x}-{flags:02x}"))
}

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct Requests;

impl RootSpanBuilder for Requests {
    fn on_request_start(call: &ServiceRequest) -> Span {
        let trace = Trace::of(call.headers());
        let id = frame::request_id(call.headers(), trace);
        let span = tracing::info_span!(
            target: TARGET,
            "request",
            request_id = id,
            trace_id = tracing::field::Empty
        );
        if let Some(trace) = trace {
            span.record("trace_id", trace.id());
            remember(&id, trace);
        }
        let language = match call.path().starts_with("/wallet/") {
            true => Language::Spanish,
            false => Language::English,
        };
        let mut extensions = call.extensions_mut();
        extensions.insert(Request { id, language });
        extensions.insert(Began {
            at: Instant::now(),
            method: call.method().clone(),
        });
        span
    }

    fn on_request_end<B: MessageBody>(_: Span, outcome: &Result<ServiceResponse<B>, Error>) {
        match outcome {
            Ok(answer) => line(answer),
            // Every error of ours is an answer by then.
            Err(why) => {
                let status = why.as_response_error().status_code().as_u16();
                tracing::warn!(target: TARGET, status, "request");
            }
        }
    }
}

/// Whether what succeeded has its line: one in so many of each thread, none of none.
fn chosen(every: u32) -> bool {
    thread_local!(static COUNT: Cell<u32> = const { Cell::new(0) });
    COUNT.with(|count| {
        let next = count.get().wrapping_add(1);
        count.set(next);
        next.checked_rem(every) == Some(0)
    })
}

fn line<B: MessageBody>(answer: &ServiceResponse<B>) {
    if !tracing::enabled!(target: TARGET, tracing::Level::INFO) {
        return;
    }
    let (request, status) = (answer.request(), answer.status());
    if status.is_success() {
        let door = request.app_data::<web::Data<Door>>();
        if !chosen(door.map_or(1, |door| door.log_every)) {
            return;
        }
    }
    let extensions = request.extensions();
    let identity = extensions.get::<Identity>();
    let tenant = identity.map(|identity| identity.tenant.as_str());
    let mode = identity.map(|identity| identity.mode.as_str());
    let began = extensions.get::<Began>();
    let method = began.map(|began| began.method.as_str());
    let duration_us = began.map(|began| micros(began.at));
    let (pattern, said) = (request.match_pattern(), answer.response().extensions());
    let route = pattern.as_deref().unwrap_or("none");
    let code = said.get::<Code>().map(|Code(code)| code.as_ref());
    let number = status.as_u16();
    if status.is_server_error() {
        tracing::warn!(target: TARGET, tenant, mode, method, route, status = number, code, duration_us, "request");
    } else {
        tracing::info!(target: TARGET, tenant, mode, method, route, status = number, code, duration_us, "request");
    }
}

fn micros(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_micros()).unwrap_or(u64::MAX)
}

/// The code of a refusal that was kept as text.
pub fn code_of(status: StatusCode, body: &str) -> Option<Code> {
    #[derive(serde::Deserialize)]
    struct Coded {
        code: String,
    }
    let refused = status.is_client_error() || status.is_server_error();
    let read = refused.then(|| serde_json::from_str::<Coded>(body).ok());
    read.flatten().map(|body| Code(body.code.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn only_a_whole_traceparent_is_taken() {
        let trace = Trace::parse(GOOD).unwrap();
        assert_eq!(trace.id(), "4bf92f3577b34da6a3ce929d0e0e4736");
        for bad in [
            "",
            "00",
            "00-0-0-0",
            "00-4bf92f3577b34da6a3ce929d0e0e4736",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
        ] {
            assert_eq!(Trace::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_trace_goes_on_as_another_span_while_it_is_remembered() {
        let trace = Trace::parse(GOOD).unwrap();
        assert_eq!(traceparent("unknown"), None);
        remember("mine", trace);
        let (one, two) = (traceparent("mine").unwrap(), traceparent("mine").unwrap());
        assert_ne!(one, two);
        assert_eq!(Trace::parse(&one), Some(trace));
        for n in 0..TRACES_MAX {
            remember(&format!("other-{n}"), trace);
        }
        assert_eq!(traceparent("mine"), None);
    }
}
