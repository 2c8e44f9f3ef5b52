//! A row in the table of the cases: the figures of one run, and the summary of a case's rounds.

use serde::Serialize;

use super::case::Case;
use super::figures::{Thousandths, median, nanos, per_second, scaled};
use super::load::{self, Measured};
use super::machine::{self, Cpu};

/// One run of one case.
#[derive(Clone, Debug, Default)]
pub struct Round {
    /// Answers per second; in (d) vouchers.
    pub rate: u64,
    /// That rate divided by the rate of the no-op.
    pub ratio: Thousandths,
    p50: u64,
    p99: u64,
    answers: u64,
    vouchers: u64,
    commits: u64,
    flushes: u64,
    flush_us: u64,
    journal_bytes: u64,
    nanos: u64,
    /// The share of the machine that other processes used.
    pub others: Thousandths,
    cpu: Cpu,
}

impl Round {
    /// The figures of a run.
    pub fn of(case: Case, measured: &Measured) -> Self {
        let answers = measured.times.count();
        let vouchers = measured.vouchers;
        let counted = if case.counts_vouchers() {
            vouchers
        } else {
            answers
        };
        let (Some(from), Some(to)) = (measured.readings.first(), measured.readings.last()) else {
            return Self::default();
        };
        let nanos = nanos(to.at.duration_since(from.at));
        let since =
            |of: fn(&caudal_storage::Stats) -> u64| of(&to.stats).saturating_sub(of(&from.stats));
        Self {
            rate: per_second(counted, nanos),
            ratio: Thousandths::default(),
            p50: measured.times.quantile(500),
            p99: measured.times.quantile(990),
            answers,
            vouchers,
            commits: since(|s| s.commits),
            flushes: since(|s| s.flushes),
            flush_us: since(|s| s.flush_us),
            journal_bytes: since(|s| s.journal_bytes),
            nanos,
            others: from.taken_by_others(to),
            cpu: machine::spent(&from.cpu, &to.cpu),
        }
    }
}

/// A row of the table: medians over the rounds, except shares, which are over all rounds together.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Row {
    /// The case.
    #[serde(skip)]
    pub case: Case,
    /// Its name.
    pub name: String,
    /// The number of concurrent clients.
    pub connections: usize,
    /// Answers a second.
    pub per_second: u64,
    /// Vouchers a second.
    pub vouchers_per_second: u64,
    /// The median time of an answer in nanoseconds.
    pub p50_nanos: u64,
    /// The 99th percentile of the time of an answer, in nanoseconds.
    pub p99_nanos: u64,
    /// Its rate divided by that of the no-op in the same round; the rate of a bulk is that of its vouchers.
    pub ratio_to_noop: Thousandths,
    /// Device flushes a second.
    pub flushes_per_second: u64,
    /// Commits in one flush.
    pub mean_group: Thousandths,
    /// The mean duration of a write with its flush, in nanoseconds.
    pub mean_flush_nanos: u64,
    /// Vouchers in one flush.
    pub vouchers_per_flush: Thousandths,
    /// Bytes of the journal per voucher.
    pub journal_bytes_per_posting: u64,
    /// The share of the machine that other processes used meanwhile.
    pub taken_by_others: Thousandths,
    /// CPU time of the service per answer, in nanoseconds.
    pub cpu_nanos: u64,
    /// CPU time of the service per voucher, in nanoseconds, if there are at least as many vouchers as answers.
    pub cpu_nanos_per_voucher: Option<u64>,
    /// CPU time by thread, including the load's own: per voucher if that is known, or else per answer.
    pub cpu_nanos_by_thread: std::collections::BTreeMap<String, u64>,
}

impl Row {
    /// The summary of a case's runs.
    pub fn of((case, name): (Case, String), connections: usize, rounds: &[&Round]) -> Self {
        let all = |of: fn(&Round) -> u64| rounds.iter().map(move |r| of(r));
        let sum = |of: fn(&Round) -> u64| all(of).fold(0, u64::saturating_add);
        let answers = sum(|r| r.answers);
        let mut threads = Cpu::new();
        for (name, nanos) in rounds.iter().flat_map(|r| &r.cpu) {
            let total = threads.entry(name.clone()).or_default();
            *total += *nanos;
        }
        let service = threads.iter().filter(|(name, _)| *name != load::THREAD);
        let service = service.fold(0_u64, |sum, (_, nanos)| sum.saturating_add(*nanos));
        let vouchers = sum(|r| r.vouchers);
        // With four balances for each voucher, the time per voucher would not be that of a voucher.
        let per_voucher = vouchers > 0 && vouchers >= answers;
        let units = if per_voucher { vouchers } else { answers };
        let postings = if vouchers > 0 {
            vouchers
        } else {
            sum(|r| r.commits)
        };
        threads.values_mut().for_each(|n| *n = scaled(*n, 1, units));
        Self {
            case,
            name,
            connections,
            per_second: median(all(|r| per_second(r.answers, r.nanos))),
            vouchers_per_second: median(all(|r| per_second(r.vouchers, r.nanos))),
            p50_nanos: median(all(|r| r.p50)),
            p99_nanos: median(all(|r| r.p99)),
            ratio_to_noop: Thousandths(median(all(|r| r.ratio.0))),
            flushes_per_second: per_second(sum(|r| r.flushes), sum(|r| r.nanos)),
            mean_group: Thousandths::ratio(sum(|r| r.commits), sum(|r| r.flushes)),
            mean_flush_nanos: scaled(sum(|r| r.flush_us), 1000, sum(|r| r.flushes)),
            vouchers_per_flush: Thousandths::ratio(vouchers, sum(|r| r.flushes)),
            journal_bytes_per_posting: scaled(sum(|r| r.journal_bytes), 1, postings),
            taken_by_others: Thousandths(median(all(|r| r.others.0))),
            cpu_nanos: scaled(service, 1, answers),
            cpu_nanos_per_voucher: per_voucher.then(|| scaled(service, 1, vouchers)),
            cpu_nanos_by_thread: threads,
        }
    }
}
