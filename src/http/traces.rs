//! Traces of other services (W3C `traceparent`): remembered for each request, and passed on with every
//! call made for it.
//!
//! **Shape.** A request that continues a trace is a span of it, and so is each call that goes out for it ([`Leg`]).
//! Spans can be sent to a collector ([`export`]); then requests without a trace may begin one.
//!
//! **Bounds.** A trace is kept, in memory only, under its request's id, for the newest [`TRACES_MAX`] requests that
//! brought one. Every call on behalf of the request continues the trace ([`leg`]) as a span of its own.

pub mod export;
#[cfg(feature = "otlp")]
mod otlp;
pub mod span;

use std::collections::{HashMap, VecDeque};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::SystemTime;

use actix_web::http::header::HeaderMap;

use span::{Finished, SpanKind};

/// The most requests whose traces are kept, the newest ones.
pub const TRACES_MAX: usize = 8_192;
/// The header of a trace, taken and passed on.
pub const TRACEPARENT: &str = "traceparent";
/// The flag of a trace that is recorded.
const SAMPLED: u8 = 1;

/// The trace of a request, with the request as a span of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Trace {
    id: u128,
    flags: u8,
    /// The caller's span; `None` if the trace begins here.
    parent: Option<u64>,
    /// The span of the request.
    span: u64,
}

/// The id of a span: random, and never 0 because of the UUID's variant bits.
fn span_id() -> u64 {
    uuid::Uuid::now_v7().as_u64_pair().1
}

impl Trace {
    /// Reads the header; `None` if it is malformed, or a trace without an id.
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
        let parent = u64::from_str_radix(parent, 16).ok().filter(|id| *id != 0)?;
        let flags = u8::from_str_radix(flags, 16).ok()?;
        (version != "ff").then(|| Self {
            id,
            flags,
            parent: Some(parent),
            span: span_id(),
        })
    }

    /// A trace that begins here, if this request is selected to begin one.
    pub fn begun() -> Option<Self> {
        (export::is_on() && export::begins()).then(|| Self {
            id: uuid::Uuid::now_v7().as_u128(),
            flags: SAMPLED,
            parent: None,
            span: span_id(),
        })
    }

    /// Whether its spans are sent to a collector.
    pub fn is_sent(self) -> bool {
        self.flags & SAMPLED == SAMPLED && export::is_on()
    }

    /// Sends the span of an answered request; `name` and `about` must not contain anything personal.
    pub fn answered(
        self,
        name: String,
        began: SystemTime,
        about: Vec<(&'static str, String)>,
        failed: bool,
    ) {
        export::send(Finished {
            trace: self.id,
            span: self.span,
            parent: self.parent.map(|parent| (parent, true)),
            kind: SpanKind::Answered,
            name,
            began,
            about,
            failed,
        });
    }

    /// The trace in a request's headers.
    pub fn of(headers: &HeaderMap) -> Option<Self> {
        Self::parse(headers.get(TRACEPARENT)?.to_str().ok()?)
    }

    /// Its id: 32 digits.
    pub fn id(self) -> String {
        format!("{:032x}", self.id)
    }
}

#[derive(Debug, Default)]
struct SpanTraces {
    of: HashMap<String, Trace>,
    order: VecDeque<String>,
}

impl SpanTraces {
    fn remember(&mut self, request_id: &str, trace: Trace) {
        if self.of.insert(request_id.to_owned(), trace).is_some() {
            return;
        }
        self.order.push_back(request_id.to_owned());
        if self.order.len() > TRACES_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.of.remove(&oldest);
        }
    }
}

static TRACES: LazyLock<Mutex<SpanTraces>> = LazyLock::new(Mutex::default);

/// Remembers the trace of a request.
pub fn remember(request_id: &str, trace: Trace) {
    let mut traces = TRACES.lock().unwrap_or_else(PoisonError::into_inner);
    traces.remember(request_id, trace);
}

/// A call on behalf of a request, as a span of its trace.
#[derive(Clone, Copy, Debug)]
pub struct Leg {
    trace: Trace,
    span: u64,
    began: SystemTime,
}

/// Starts the span of a call on behalf of a request; `None` if the request has no trace.
pub fn leg(request_id: &str) -> Option<Leg> {
    let traces = TRACES.lock().unwrap_or_else(PoisonError::into_inner);
    let trace = *traces.of.get(request_id)?;
    drop(traces);
    Some(Leg {
        trace,
        span: span_id(),
        began: SystemTime::now(),
    })
}

impl Leg {
    /// The value of the header [`TRACEPARENT`] for the call.
    pub fn header(&self) -> String {
        let Trace { id, flags, .. } = self.trace;
        format!("00-{id:032x}-{:016x}-{flags:02x}", self.span)
    }

    /// Sends the span of a call that has ended: `name` comes from our own code, `status` is the answer's, if there was
    /// one.
    pub fn ended(self, name: &str, request_id: &str, status: Option<u16>) {
        if !self.trace.is_sent() {
            return;
        }
        let mut about = vec![("caudal.request_id", request_id.to_owned())];
        about.extend(status.map(|status| ("http.response.status_code", status.to_string())));
        export::send(Finished {
            trace: self.trace.id,
            span: self.span,
            parent: Some((self.trace.span, false)),
            kind: SpanKind::Asked,
            name: name.to_owned(),
            began: self.began,
            about,
            failed: status.is_none_or(|status| status >= 400),
        });
    }
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
        assert!(leg("unknown").is_none());
        remember("mine", trace);
        let next = || leg("mine").unwrap().header();
        let (one, two) = (next(), next());
        assert_ne!(one, two);
        let [one, two] = [one, two].map(|it| Trace::parse(&it).unwrap());
        assert_eq!((one.id(), two.id()), (trace.id(), trace.id()));
        // A span has an id of its own, and names its parent.
        let spans = [trace.parent, Some(trace.span), one.parent, two.parent];
        let distinct: std::collections::BTreeSet<_> = spans.into_iter().collect();
        assert_eq!(distinct.len(), spans.len(), "{spans:?}");
        // Nothing is sent without a collector.
        assert!(!trace.is_sent() && Trace::begun().is_none());
    }

    #[test]
    fn the_newest_traces_are_remembered_and_no_more() {
        // A store of its own: other tests wait for theirs.
        let (mut traces, trace) = (SpanTraces::default(), Trace::parse(GOOD).unwrap());
        traces.remember("mine", trace);
        for n in 1..TRACES_MAX {
            traces.remember(&format!("other-{n}"), trace);
        }
        assert!(traces.of.contains_key("mine"));
        traces.remember("one too many", trace);
        assert!(!traces.of.contains_key("mine"));
        assert_eq!(traces.of.len(), TRACES_MAX);
    }
}
