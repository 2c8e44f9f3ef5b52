//! Sends spans to a collector of traces (OpenTelemetry, OTLP over HTTP).
//!
//! **Shape.** Code that has done something for a request hands over a [`Finished`] span: for the request, each call to
//! a bank, each attempt at a webhook. Actors do not pass a context on; the request's id connects the spans ([`super`]).
//! The client is compiled in with the feature `otlp`; without it, [`begin`] fails.
//!
//! **Bounds.** The client queues at most 2,048 spans and drops the rest. A thread of its own sends, so no request waits
//! for the collector.
//!
//! **Never in a span:** anything that may not be in a line of the log.

use std::sync::atomic::{AtomicU32, Ordering};

use super::span::Finished;

/// One in this many requests without a trace begins one; 0 is never.
static EVERY: AtomicU32 = AtomicU32::new(0);

/// Begins to send spans to a collector, for instance `http://127.0.0.1:4318/v1/traces`. One in `every` requests without
/// a trace begins one; with 0, none does. Not for async code, because it creates a blocking client.
///
/// # Errors
/// A sentence: the program has no client, the address is invalid, or sending was begun before.
pub fn begin(endpoint: &str, every: u32) -> Result<(), String> {
    client::begin(endpoint)?;
    EVERY.store(every, Ordering::Relaxed);
    Ok(())
}

/// Sends the queued spans; for the end of the process.
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
