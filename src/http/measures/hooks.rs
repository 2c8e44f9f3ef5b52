//! Attempts to deliver to webhooks, counted by outcome.
//!
//! **Shape.** A sink in front of the real one. The outcome is `delivered`, the class of another status, or the reason
//! why there was no answer; no webhook has a series of its own.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use caudal_actors::ports::LocalFuture;
use caudal_actors::ports::webhooks::{AttemptResult, Parcel, WebhookSink};

use super::{Label, Measures, WEBHOOKS};

/// Counts every attempt of this sink.
pub fn counted(measures: &Arc<Measures>, inner: Arc<dyn WebhookSink>) -> Arc<dyn WebhookSink> {
    let counted = WebhookCounters {
        inner,
        measures: Arc::clone(measures),
    };
    // Show the metric with a count of zero before the first attempt, instead of leaving it out.
    drop(counted.measures.histogram(WEBHOOKS, outcome("delivered")));
    Arc::new(counted)
}

fn outcome(word: &'static str) -> Vec<Label> {
    vec![("outcome", word.into())]
}

const fn word(sent: &AttemptResult) -> &'static str {
    match sent.result {
        Ok(200..=299) => "delivered",
        Ok(300..=399) => "status_3xx",
        Ok(400..=499) => "status_4xx",
        Ok(_) => "status_5xx",
        Err(trouble) => trouble.as_str(),
    }
}

struct WebhookCounters {
    inner: Arc<dyn WebhookSink>,
    measures: Arc<Measures>,
}

impl fmt::Debug for WebhookCounters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl WebhookSink for WebhookCounters {
    fn send(&self, parcel: Parcel) -> LocalFuture<'_, AttemptResult> {
        Box::pin(async move {
            let since = Instant::now();
            let sent = self.inner.send(parcel).await;
            // A connection and a signature take a thousand times as long as the lookup of the handle.
            let times = self.measures.histogram(WEBHOOKS, outcome(word(&sent)));
            times.record(since.elapsed());
            sent
        })
    }
}
