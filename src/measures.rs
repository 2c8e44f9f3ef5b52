//! The metrics of a running service: how long requests, commits, messages, calls and deliveries take.
//!
//! **Shape.** The facade of `metrics` with the Prometheus exporter behind it. Each service has a recorder of its own,
//! so that several can live in one process without counting each other's work; nothing is installed for the whole
//! process. Handles ([`Histogram`]) are created once and given to the code that counts:
//! [`caudal_storage::times::Times`], [`caudal_actors::times::Times`], [`crate::http::routes`], [`banks`], [`hooks`].
//! Figures that are kept elsewhere (the store's, the actors', those of cases) are not counted again here: `/metrics`
//! reads them at the scrape.
//!
//! **Bounds.** Label values come from our own code: route patterns, methods, classes of status, operations of the bank,
//! outcomes. Never a tenant or a CVU. A histogram has [`BOUNDS`]`.len()` buckets and one more. A recorded value waits
//! as 16 bytes until it is put into its bucket, every [`UPKEEP`] or when `/metrics` is read.
//!
//! **Failure.** Nothing in this module can refuse or stop a request.

pub mod banks;
pub mod hooks;
pub mod tally;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use actix_web::rt;
use actix_web::rt::task::JoinHandle;
use caudal_actors::persist::persist;
use metrics::{Histogram, Key, Label, Level, Metadata, Recorder as _, with_local_recorder};
use metrics_exporter_prometheus::{
    BuildError, Matcher, PrometheusBuilder, PrometheusHandle, PrometheusRecorder,
};
use metrics_process::Collector;

use tally::{BOUNDS, Tally};

/// The pause between two rounds of putting recorded values into buckets.
pub const UPKEEP: Duration = Duration::from_secs(1);
/// The bounds of the buckets of commits in a record.
const GROUPS: [f64; 10] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0];
/// Requests by route, method and class of status.
pub const REQUESTS: &str = "caudal_http_request_duration_seconds";
/// Calls to banks by operation and outcome.
const BANK: &str = "caudal_bank_call_duration_seconds";
/// Attempts to deliver by outcome.
const WEBHOOKS: &str = "caudal_webhook_attempt_duration_seconds";
const COMMIT: &str = "caudal_commit_duration_seconds";
const FLUSH: &str = "caudal_flush_duration_seconds";
const GROUP: &str = "caudal_flush_commits";
const MAILBOX: &str = "caudal_actors_mailbox_wait_seconds";
const ACTIVATION: &str = "caudal_actors_activation_duration_seconds";
const BUILD: &str = "caudal_build_info";

/// The help text of each metric.
const HELP: [(&str, &str); 8] = [
    (
        REQUESTS,
        "From the head of a request until that of its answer, by route, method and class of status.",
    ),
    (
        BANK,
        "One operation at the bank with its retries, by operation and outcome.",
    ),
    (WEBHOOKS, "One attempt to deliver to a webhook, by outcome."),
    (
        COMMIT,
        "From the submission of a commit until it is durable and visible.",
    ),
    (FLUSH, "One append to the log with its flush."),
    (GROUP, "Commits of one flush."),
    (
        MAILBOX,
        "How long messages waited for the supervisor of a realm or the actor of an account.",
    ),
    (
        ACTIVATION,
        "How long an account took to be read when its actor was started.",
    ),
];

const HERE: Metadata<'static> = Metadata::new("caudal", Level::INFO, None);

/// All metrics that are counted for one service.
pub struct Measures {
    recorder: PrometheusRecorder,
    handle: PrometheusHandle,
    process: Collector,
    /// Requests of clients, for the console.
    pub requests: Tally,
}

impl fmt::Debug for Measures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Measures").finish_non_exhaustive()
    }
}

impl Measures {
    /// Metrics without any counts yet.
    ///
    /// # Errors
    /// Only if a list of buckets were empty, and none is.
    pub fn new() -> Result<Self, BuildError> {
        let seconds: Vec<f64> = BOUNDS.iter().map(Duration::as_secs_f64).collect();
        let recorder = PrometheusBuilder::new()
            .set_buckets(&seconds)?
            .set_buckets_for_metric(Matcher::Full(GROUP.to_owned()), &GROUPS)?
            .build_recorder();
        for (name, help) in HELP {
            recorder.describe_histogram(name.into(), None, help.into());
        }
        let help = "Always 1; its labels say which program this is.";
        recorder.describe_gauge(BUILD.into(), None, help.into());
        let version = Label::from_static_parts("version", env!("CARGO_PKG_VERSION"));
        let commit = option_env!("GIT_COMMIT").map_or("unknown", |commit| commit);
        let commit = Label::from_static_parts("commit", commit);
        let built = Key::from_parts(BUILD, vec![version, commit]);
        recorder.register_gauge(&built, &HERE).set(1.0);
        let process = Collector::default();
        with_local_recorder(&recorder, || process.describe());
        Ok(Self {
            handle: recorder.handle(),
            recorder,
            process,
            requests: Tally::default(),
        })
    }

    /// The handle of a histogram; the same name and labels are the same histogram.
    pub fn histogram(&self, name: &'static str, labels: Vec<Label>) -> Histogram {
        let key = Key::from_parts(name, labels);
        self.recorder.register_histogram(&key, &HERE)
    }

    /// The store's metrics.
    pub fn store(&self) -> caudal_storage::times::Times {
        caudal_storage::times::Times {
            commit: self.histogram(COMMIT, Vec::new()),
            flush: self.histogram(FLUSH, Vec::new()),
            group: self.histogram(GROUP, Vec::new()),
        }
    }

    /// The actors' metrics.
    pub fn actors(&self) -> caudal_actors::times::Times {
        let of = |kind| vec![Label::from_static_parts("kind", kind)];
        caudal_actors::times::Times {
            supervisor: self.histogram(MAILBOX, of("supervisor")),
            account: self.histogram(MAILBOX, of("account")),
            activation: self.histogram(ACTIVATION, Vec::new()),
        }
    }

    /// All metrics as Prometheus reads them, with the figures of the process.
    pub fn text(&self) -> String {
        with_local_recorder(&self.recorder, || self.process.collect());
        self.handle.render()
    }

    /// Puts recorded values into buckets, until the handle is aborted.
    pub fn keep_up(self: &Arc<Self>) -> JoinHandle<()> {
        let handle = self.handle.clone();
        let upkeep = async move |_| loop {
            rt::time::sleep(UPKEEP).await;
            handle.run_upkeep();
        };
        rt::spawn(persist("measures", upkeep))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_of_one_process_count_apart_and_show_what_is_zero() {
        let (one, two) = (Measures::new().unwrap(), Measures::new().unwrap());
        one.store().flush.record(Duration::from_micros(300));
        let (_, idle) = (one.store(), two.store());
        idle.group.record(3_u32);
        let (one, two) = (one.text(), two.text());
        let has = |text: &str, line: &str| assert!(text.contains(line), "{line} is not in\n{text}");
        has(
            &one,
            "caudal_flush_duration_seconds_bucket{le=\"0.00025\"} 0\n",
        );
        has(
            &one,
            "caudal_flush_duration_seconds_bucket{le=\"0.0005\"} 1\n",
        );
        has(&two, "caudal_flush_duration_seconds_count 0\n");
        has(&two, "caudal_flush_commits_bucket{le=\"2\"} 0\n");
        has(&two, "caudal_flush_commits_bucket{le=\"4\"} 1\n");
        for text in [&one, &two] {
            has(text, "# HELP caudal_flush_duration_seconds One append");
            has(
                text,
                "# TYPE caudal_build_info gauge\ncaudal_build_info{version=",
            );
            has(text, "# TYPE process_resident_memory_bytes gauge\n");
        }
    }
}
