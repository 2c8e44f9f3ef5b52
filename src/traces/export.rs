//! Spans that are sent to a collector of traces (OpenTelemetry, OTLP over HTTP).
//!
//! **Shape.** Whoever did something for a request hands over a [`Finished`] span when it has ended: the request,
//! each call to a bank, each attempt at a webhook. Actors pass no context around; what belongs together is found by
//! the request's id ([`super`]). The client is a part of programs with the feature `otlp`; without it nothing can be begun.
//!
//! **Bounds.** What waits is bounded by the client: 2,048 spans, and what comes beyond is dropped. A thread of its own
//! sends, so nobody waits for the collector.
//!
//! **Never in a span:** what is never in a line of the log.

use std::sync::atomic::{AtomicU32, Ordering};

use super::span::Finished;

/// A request without a trace begins one of its own once in this many; 0 is never.
static EVERY: AtomicU32 = AtomicU32::new(0);

/// Begins to send spans to a collector, for instance `http://127.0.0.1:4318/v1/traces`; of so many requests that bring
/// no trace one begins a trace, of 0 none. Not for async code: a client is made.
///
/// # Errors
/// A sentence: the program has no client, the address is none, or it was begun before.
pub fn begin(endpoint: &str, every: u32) -> Result<(), String> {
    client::begin(endpoint)?;
    EVERY.store(every, Ordering::Relaxed);
    Ok(())
}

/// Sends what waits; for the end of the process.
pub fn end() {
    client::end();
}

/// Whether spans are sent.
pub(crate) fn is_on() -> bool {
    client::is_on()
}

/// Whether the next request without a trace begins one.
pub(super) fn begins() -> bool {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let every = EVERY.load(Ordering::Relaxed);
    every > 0 && COUNT.fetch_add(1, Ordering::Relaxed).is_multiple_of(every)
}

/// Sends a span, if spans are sent.
pub(crate) fn send(span: Finished) {
    client::send(span);
}

#[cfg(feature = "otlp")]
use super::otlp as client;

#[cfg(not(feature = "otlp"))]
mod client {
    use super::super::span::Finished;

    pub(super) fn begin(_: &str) -> Result<(), String> {
        let why = "this program was built without the feature otlp: build it with `--features otlp`, or leave it out";
        Err(why.to_owned())
    }

    pub(super) fn end() {}

    pub(super) fn is_on() -> bool {
        false
    }

    pub(super) fn send(_: Finished) {}
}
