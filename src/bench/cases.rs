//! The cases side by side: each at each number of connections, in rounds that begin with another
//! case each time, so that a machine that gets slower or faster does not favour one of them.

use std::path::Path;
use std::time::Duration;

use serde::Serialize;

use super::audit::{self, Audit};
use super::figures::{Thousandths, median, nanos, per_second, scaled};
use super::load::{self, End, Job, Measured, Mix, Tally, Way};
use super::machine::{self, Cpu};
use super::site::{Layout, Site};

/// What is compared.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, clap::ValueEnum)]
pub enum Case {
    /// (a) The handler that does nothing.
    Noop,
    /// (b) Durable vouchers over many CVUs.
    Spread,
    /// (c) Durable vouchers on one CVU.
    Hot,
    /// (e) Balances.
    Balance,
    /// (f) Four balances for each voucher.
    Mix,
}

impl Case {
    /// All of them, in the order of the contract; (d), bulk, waits for its endpoint.
    pub const ALL: [Self; 5] = [
        Self::Noop,
        Self::Spread,
        Self::Hot,
        Self::Balance,
        Self::Mix,
    ];

    /// What it is called.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Noop => "(a) no-op POST",
            Self::Spread => "(b) voucher, many CVUs",
            Self::Hot => "(c) voucher, one CVU",
            Self::Balance => "(e) balance",
            Self::Mix => "(f) 80 % balance, 20 % voucher",
        }
    }
}

/// What is to be run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The cases.
    pub cases: Vec<Case>,
    /// How many ask at the same time, one table row each.
    pub connections: Vec<usize>,
    /// How often each is run.
    pub rounds: usize,
    /// How long each run is, before and while it counts.
    pub time: (Duration, Duration),
    /// Accounts over which vouchers and balances are spread.
    pub accounts: u64,
    /// Threads.
    pub layout: Layout,
}

/// One run of one case.
#[derive(Clone, Debug, Default)]
struct Round {
    rate: u64,
    ratio: Thousandths,
    p50: u64,
    p99: u64,
    answers: u64,
    commits: u64,
    flushes: u64,
    flush_us: u64,
    journal_bytes: u64,
    nanos: u64,
    others: Thousandths,
    cpu: Cpu,
}

impl Round {
    fn of(measured: &Measured) -> Self {
        let answers = measured.times.count();
        let (Some(from), Some(to)) = (measured.readings.first(), measured.readings.last()) else {
            return Self::default();
        };
        let nanos = nanos(to.at.duration_since(from.at));
        let since =
            |of: fn(&caudal_storage::Stats) -> u64| of(&to.stats).saturating_sub(of(&from.stats));
        Self {
            rate: per_second(answers, nanos),
            ratio: Thousandths::default(),
            p50: measured.times.quantile(500),
            p99: measured.times.quantile(990),
            answers,
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

/// A row of the table: medians over the rounds; shares over all of them.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Row {
    /// The case.
    #[serde(skip)]
    pub case: Case,
    /// Its name.
    pub name: &'static str,
    /// How many asked at the same time.
    pub connections: usize,
    /// Answers a second.
    pub per_second: u64,
    /// The median time of an answer in nanoseconds.
    pub p50_nanos: u64,
    /// The time that 99 of 100 answers kept to, in nanoseconds.
    pub p99_nanos: u64,
    /// Its rate by that of the no-op in the same round.
    pub ratio_to_noop: Thousandths,
    /// Device flushes a second.
    pub flushes_per_second: u64,
    /// Commits in one flush.
    pub mean_group: Thousandths,
    /// The mean time of a write with its flush, in nanoseconds.
    pub mean_flush_nanos: u64,
    /// Bytes of the journal for one commit.
    pub journal_bytes_per_posting: u64,
    /// The part of the machine that other processes had meanwhile.
    pub taken_by_others: Thousandths,
    /// CPU of the service for one answer, in nanoseconds.
    pub cpu_nanos: u64,
    /// The same by thread; the last is the load's own.
    pub cpu_nanos_by_thread: std::collections::BTreeMap<String, u64>,
}

impl Row {
    fn of(case: Case, connections: usize, rounds: &[&Round]) -> Self {
        let all = |of: fn(&Round) -> u64| rounds.iter().map(move |r| of(r));
        let sum = |of: fn(&Round) -> u64| all(of).fold(0, u64::saturating_add);
        let answers = sum(|r| r.answers);
        let mut threads = Cpu::new();
        for (name, nanos) in rounds.iter().flat_map(|r| &r.cpu) {
            let total = threads.entry(name.clone()).or_default();
            *total = total.saturating_add(*nanos);
        }
        threads
            .values_mut()
            .for_each(|n| *n = scaled(*n, 1, answers));
        let service = threads.iter().filter(|(name, _)| *name != load::THREAD);
        Self {
            case,
            name: case.title(),
            connections,
            per_second: median(all(|r| r.rate)),
            p50_nanos: median(all(|r| r.p50)),
            p99_nanos: median(all(|r| r.p99)),
            ratio_to_noop: Thousandths(median(all(|r| r.ratio.0))),
            flushes_per_second: per_second(sum(|r| r.flushes), sum(|r| r.nanos)),
            mean_group: Thousandths::ratio(sum(|r| r.commits), sum(|r| r.flushes)),
            mean_flush_nanos: scaled(sum(|r| r.flush_us), 1000, sum(|r| r.flushes)),
            journal_bytes_per_posting: scaled(sum(|r| r.journal_bytes), 1, sum(|r| r.commits)),
            taken_by_others: Thousandths(median(all(|r| r.others.0))),
            cpu_nanos: service.fold(0, |sum, (_, nanos)| sum.saturating_add(*nanos)),
            cpu_nanos_by_thread: threads,
        }
    }
}

/// What all cases gave.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Compared {
    /// The rows.
    pub rows: Vec<Row>,
    /// The one CVU's rate by that of many, in the same round, at the most connections.
    pub hot_to_spread: Option<Thousandths>,
    /// Answers that were not the right ones.
    pub wrong_answers: u64,
    /// The first of them.
    pub first_wrong: Option<String>,
    /// What the ledger says.
    pub audit: Audit,
}

impl Compared {
    /// The row of a case at the most connections.
    pub fn at_most_connections(&self, case: Case) -> Option<&Row> {
        let rows = self.rows.iter().filter(|row| row.case == case);
        rows.max_by_key(|row| row.connections)
    }
}

type Run = (Case, usize, Round);

/// Runs all cases on a new store in a folder.
///
/// # Errors
/// When the service fails.
pub async fn run(folder: &Path, plan: &Plan) -> anyhow::Result<Compared> {
    let all = plan.accounts.saturating_add(1);
    super::say(&format!("opening {all} accounts"));
    let site = Site::build(folder, plan.layout, all).await?;
    let mut tally = Tally::new(all);
    let (mut wrong_answers, mut first_wrong) = (0_u64, None);
    let mut runs: Vec<Run> = Vec::new();
    for round in 0..plan.rounds {
        for connections in &plan.connections {
            let mut cases = plan.cases.clone();
            let begin = round.checked_rem(cases.len()).unwrap_or(0);
            cases.rotate_left(begin);
            let from = runs.len();
            for case in cases {
                let of = plan.rounds;
                let title = case.title();
                let round = round.saturating_add(1);
                super::say(&format!("round {round} of {of}: {title} × {connections}"));
                let job = Job {
                    way: Way::Http(site.addr),
                    connections: *connections,
                    mix: mix(case, plan.accounts),
                    end: End::After(plan.time.0, plan.time.1),
                };
                let (measured, known) = load::run(&site, job, tally).await?;
                tally = known;
                wrong_answers = wrong_answers.saturating_add(measured.wrong);
                runs.push((case, *connections, Round::of(&measured)));
                first_wrong = first_wrong.or(measured.first_wrong);
            }
            compare(runs.get_mut(from..).unwrap_or_default());
        }
    }
    super::say("checking the ledger");
    let (store, realm) = (std::sync::Arc::clone(site.engine.store()), site.realm);
    let checked = actix_web::web::block(move || audit::ledger(store.as_ref(), realm, &tally));
    let audit = checked.await??;
    let held = site.close().await?;
    drop(held);
    Ok(Compared {
        hot_to_spread: hot_to_spread(&runs),
        rows: rows(plan, &runs),
        wrong_answers,
        first_wrong,
        audit,
    })
}

fn mix(case: Case, accounts: u64) -> Mix {
    let accounts = usize::try_from(accounts).unwrap_or(usize::MAX);
    match case {
        Case::Noop => Mix::Noop,
        Case::Spread => Mix::Spread(accounts),
        Case::Hot => Mix::Hot(accounts),
        Case::Balance => Mix::Balances(accounts),
        Case::Mix => Mix::Mixed(accounts),
    }
}

/// Sets the ratios of the runs of one round and number of connections.
fn compare(runs: &mut [Run]) {
    let noop = runs.iter().find(|(case, ..)| *case == Case::Noop);
    let noop = noop.map_or(0, |(_, _, round)| round.rate);
    for (_, _, round) in runs {
        round.ratio = Thousandths::ratio(round.rate, noop);
    }
}

fn rows(plan: &Plan, runs: &[Run]) -> Vec<Row> {
    let mut rows = Vec::new();
    for case in &plan.cases {
        for connections in &plan.connections {
            let same = runs
                .iter()
                .filter(|(c, n, _)| c == case && n == connections);
            let rounds: Vec<&Round> = same.map(|(_, _, round)| round).collect();
            rows.push(Row::of(*case, *connections, &rounds));
        }
    }
    rows
}

fn hot_to_spread(runs: &[Run]) -> Option<Thousandths> {
    let most = runs.iter().map(|(_, connections, _)| *connections).max()?;
    let rates = |of: Case| {
        let same = runs.iter().filter(move |(c, n, _)| *c == of && *n == most);
        same.map(|(_, _, round)| round.rate)
    };
    let ratios = rates(Case::Hot)
        .zip(rates(Case::Spread))
        .map(|(hot, spread)| Thousandths::ratio(hot, spread).0);
    let ratios: Vec<u64> = ratios.collect();
    (!ratios.is_empty()).then(|| Thousandths(median(ratios)))
}
