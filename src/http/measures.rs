//! The metrics of a running service: how long requests, commits, messages, calls and deliveries take.
//!
//! **Shape.** Each service has histograms of its own, so that several can live in one process without counting each
//! other's work. Handles ([`Histogram`]) are created once and given to the code that counts:
//! [`caudal_storage::times::Times`], [`caudal_actors::times::Times`], [`crate::routes`], [`banks`], [`hooks`].
//! Figures that are kept elsewhere (the store's, the actors', those of cases) are not counted again here: `/metrics`
//! reads them at the scrape.
//!
//! **Bounds.** Label values come from our own code: route patterns, methods, classes of status, operations of the bank,
//! outcomes. Never a tenant or a CVU. A histogram has [`BOUNDS`]`.len()` buckets and one more.
//!
//! **Failure.** Nothing in this module can refuse or stop a request.

pub mod banks;
pub mod hooks;
mod process;
pub mod tally;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Mutex, MutexGuard, PoisonError};

use caudal_storage::times::Histogram;

use tally::{BOUNDS, DurationTally};

/// A label: its name and its value.
pub type Label = (&'static str, Cow<'static, str>);
type Series = (&'static str, Vec<Label>);

/// The bounds of the buckets of commits in a record.
const GROUPS: [u64; 10] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512];
/// Nanoseconds of a second: histograms of time count in nanoseconds.
const NANOS: u64 = 1_000_000_000;
const BUILD: &str = "caudal_build_info";

/// Declares histograms: the name of each, and its help text.
macro_rules! histograms {
    ($($vis:vis $metric:ident = $name:literal, $help:literal;)+) => {
        $(#[doc = $help] $vis const $metric: &str = $name;)+

        /// The help text of each histogram.
        const HELP: &[(&str, &str)] = &[$(($metric, $help)),+];
    };
}

histograms! {
    pub REQUESTS = "caudal_http_request_duration_seconds",
        "From the head of a request until that of its answer, by route, method and class of status.";
    BANK = "caudal_bank_call_duration_seconds",
        "One operation at the bank with its retries, by operation and outcome.";
    WEBHOOKS = "caudal_webhook_attempt_duration_seconds",
        "One attempt to deliver to a webhook, by outcome.";
    COMMIT = "caudal_commit_duration_seconds",
        "From the submission of a commit until it is durable and visible.";
    FLUSH = "caudal_flush_duration_seconds", "One append to the log with its flush.";
    GROUP = "caudal_flush_commits", "Commits of one flush.";
    MAILBOX = "caudal_actors_mailbox_wait_seconds",
        "How long messages waited for the supervisor of a realm or the actor of an account.";
    ACTIVATION = "caudal_actors_activation_duration_seconds",
        "How long an account took to be read when its actor was started.";
}

/// All metrics that are counted for one service.
#[derive(Debug, Default)]
pub struct Measures {
    histograms: Mutex<BTreeMap<Series, Histogram>>,
    /// Requests of clients, for the console.
    pub requests: DurationTally,
}

impl Measures {
    /// The handle of a histogram; the same name and labels are the same histogram.
    pub fn histogram(&self, name: &'static str, labels: Vec<Label>) -> Histogram {
        let made = || match name {
            GROUP => Histogram::new(GROUPS.to_vec()),
            _ => Histogram::of_times(&BOUNDS),
        };
        let mut all = self.lock();
        all.entry((name, labels)).or_insert_with(made).clone()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Series, Histogram>> {
        let all = self.histograms.lock();
        all.unwrap_or_else(PoisonError::into_inner)
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
        let of = |kind| vec![("kind", Cow::Borrowed(kind))];
        caudal_actors::times::Times {
            supervisor: self.histogram(MAILBOX, of("supervisor")),
            account: self.histogram(MAILBOX, of("account")),
            activation: self.histogram(ACTIVATION, Vec::new()),
        }
    }

    /// All metrics as Prometheus reads them, with the figures of the process.
    pub fn text(&self) -> String {
        let mut page = String::new();
        let all = self.lock().clone();
        for (name, help) in HELP {
            let of_name = all.iter().filter(|((it, _), _)| it == name);
            let mut of_name = of_name.peekable();
            if of_name.peek().is_some() {
                // Writing to a String cannot fail.
                writeln!(page, "# HELP {name} {help}\n# TYPE {name} histogram").ok();
            }
            for ((_, labels), histogram) in of_name {
                samples(&mut page, name, labels, histogram);
            }
        }
        let (version, commit) = (env!("CARGO_PKG_VERSION"), option_env!("GIT_COMMIT"));
        let commit = commit.map_or("unknown", |commit| commit);
        writeln!(
            page,
            "# HELP {BUILD} Always 1; its labels say which program this is.\n# TYPE {BUILD} gauge\n\
             {BUILD}{{version=\"{version}\",commit=\"{commit}\"}} 1"
        )
        .ok();
        process::figures(&mut page);
        page
    }
}

/// Appends the samples of a histogram.
fn samples(page: &mut String, name: &str, labels: &[Label], histogram: &Histogram) {
    let unit = if name == GROUP { 1 } else { NANOS };
    let label = |(name, value): &Label| format!("{name}=\"{value}\"");
    let labels = labels.iter().map(label).collect::<Vec<_>>().join(",");
    let comma = if labels.is_empty() { "" } else { "," };
    let counted = histogram.read();
    for (bound, count) in &counted.up_to {
        let bound = decimal(*bound, unit);
        writeln!(
            page,
            "{name}_bucket{{{labels}{comma}le=\"{bound}\"}} {count}"
        )
        .ok();
    }
    let (count, sum) = (counted.count, decimal(counted.sum, unit));
    writeln!(page, "{name}_bucket{{{labels}{comma}le=\"+Inf\"}} {count}").ok();
    let labels = match labels.as_str() {
        "" => labels,
        some => format!("{{{some}}}"),
    };
    writeln!(
        page,
        "{name}_sum{labels} {sum}\n{name}_count{labels} {count}"
    )
    .ok();
}

/// A number of such parts of one, as a decimal without zeros at its end; `unit` is 1, or that of nanoseconds.
fn decimal(parts: u64, unit: u64) -> String {
    let (whole, rest) = (parts / unit, parts % unit);
    if rest == 0 {
        return whole.to_string();
    }
    let text = format!("{whole}.{rest:09}");
    text.trim_end_matches('0').to_owned()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn services_of_one_process_count_apart_and_show_what_is_zero() {
        let (one, two) = (Measures::default(), Measures::default());
        one.store().flush.record(Duration::from_micros(300));
        let (_, idle) = (one.store(), two.store());
        idle.group.count(3);
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
        has(&one, "caudal_flush_duration_seconds_sum 0.0003\n");
        has(
            &one,
            "caudal_flush_duration_seconds_bucket{le=\"+Inf\"} 1\n",
        );
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

    #[test]
    fn a_decimal_has_no_zeros_at_its_end() {
        let nanos = [0, 1, 250_000, 1_000_000_000, 2_500_000_000];
        let shown = nanos.map(|nanos| decimal(nanos, 1_000_000_000));
        assert_eq!(shown, ["0", "0.000000001", "0.00025", "1", "2.5"]);
        assert_eq!(decimal(7, 1), "7");
    }
}
