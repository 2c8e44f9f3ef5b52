//! Traces of other services (W3C `traceparent`) that requests belong to, remembered for what goes out on
//! their behalf.
//!
//! **Bounds.** A trace is remembered under its request's id, for the newest [`TRACES_MAX`] requests that
//! brought one, in memory alone. Whatever goes out on behalf of the request continues the trace
//! ([`traceparent`]) as a span of its own.

use std::collections::{HashMap, VecDeque};
use std::sync::{LazyLock, Mutex, PoisonError};

use actix_web::http::header::HeaderMap;

/// How many requests have their traces remembered, the newest ones.
pub const TRACES_MAX: usize = 8_192;
/// The header of a trace, taken and passed on.
pub const TRACEPARENT: &str = "traceparent";
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

impl Traces {
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

static TRACES: LazyLock<Mutex<Traces>> = LazyLock::new(Mutex::default);

/// Remembers the trace of a request.
pub(crate) fn remember(request_id: &str, trace: Trace) {
    let mut traces = TRACES.lock().unwrap_or_else(PoisonError::into_inner);
    traces.remember(request_id, trace);
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
    }

    #[test]
    fn the_newest_traces_are_remembered_and_no_more() {
        // Traces of its own: other tests wait for theirs.
        let (mut traces, trace) = (Traces::default(), Trace::parse(GOOD).unwrap());
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
