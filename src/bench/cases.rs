//! The cases, one after the other, each at each number of connections. Vouchers on accounts that are not in memory have
//! a store of their own, most of whose accounts do not fit in memory.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use super::audit::{self, Audit};
use super::draw::Mix;
use super::figures::{Thousandths, grouped, per_second, scaled};
use super::flush;
use super::load::{self, End, Job, Measured};
use super::machine;
use super::site::{Layout, Site};
use super::tally::Tally;

/// One in this many accounts fits in memory where they are to be read first.
const RESIDENT: u64 = 20;

/// What is measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, clap::ValueEnum)]
pub(crate) enum Case {
    /// A request that does nothing.
    #[default]
    Empty,
    /// A small write that the disk flushes.
    Flush,
    /// A voucher on any of many CVUs.
    Spread,
    /// A voucher on the same CVU as all others.
    Hot,
    /// A transfer between any two CVUs, which makes two vouchers.
    Transfer,
    /// Many vouchers in one request, on many CVUs.
    Bulk,
    /// Many vouchers in one request, on one CVU.
    BulkHot,
    /// A balance.
    Balance,
    /// A voucher on an account that is probably not in memory.
    Cold,
}

impl Case {
    fn title(self, bulk: usize) -> String {
        match self {
            Self::Empty => "empty request".to_owned(),
            Self::Flush => "flush of the disk".to_owned(),
            Self::Spread => "voucher, many CVUs".to_owned(),
            Self::Hot => "voucher, one CVU".to_owned(),
            Self::Transfer => "transfer, two vouchers".to_owned(),
            Self::Bulk => format!("bulk of {bulk}, many CVUs"),
            Self::BulkHot => format!("bulk of {bulk}, one CVU"),
            Self::Balance => "balance".to_owned(),
            Self::Cold => "voucher, account not in memory".to_owned(),
        }
    }

    fn mix(self, plan: &Plan) -> Mix {
        let accounts = usize::try_from(plan.accounts).unwrap_or(usize::MAX);
        match self {
            // Flushes are not requests.
            Self::Empty | Self::Flush => Mix::Empty,
            Self::Spread | Self::Cold => Mix::Spread(accounts),
            Self::Hot => Mix::Hot(accounts),
            // Includes the CVU of the hot cases, so that there are always two accounts.
            Self::Transfer => Mix::Transfers(accounts.saturating_add(1)),
            Self::Bulk => Mix::Bulk(plan.bulk, accounts),
            Self::BulkHot => Mix::BulkHot(plan.bulk, accounts),
            Self::Balance => Mix::Balances(accounts),
        }
    }
}

/// The cases and their load.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) cases: Vec<Case>,
    /// The numbers of concurrent clients, with one row of the table for each.
    pub(crate) connections: Vec<usize>,
    /// How long each run lasts, before and while it counts.
    pub(crate) time: (Duration, Duration),
    /// The number of accounts over which vouchers and balances are spread.
    pub(crate) accounts: u64,
    /// The number of vouchers in a bulk.
    pub(crate) bulk: usize,
    pub(crate) layout: Layout,
}

/// The results of all cases.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Found {
    pub(crate) rows: Vec<Row>,
    pub(crate) wrong_answers: u64,
    pub(crate) first_wrong: Option<String>,
    /// The check of each store.
    pub(crate) audits: Vec<Audit>,
}

/// A row of the table.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Row {
    #[serde(skip)]
    pub(crate) case: Case,
    pub(crate) name: String,
    pub(crate) connections: usize,
    /// Answers, or flushes, a second.
    pub(crate) per_second: u64,
    pub(crate) vouchers_per_second: u64,
    pub(crate) p50_nanos: u64,
    pub(crate) p99_nanos: u64,
    /// The rate of vouchers, or else of answers, by that of empty requests on as many connections.
    pub(crate) to_empty: Option<Thousandths>,
    pub(crate) flushes_per_second: u64,
    /// The mean duration of a write with its flush.
    pub(crate) mean_flush_nanos: u64,
    /// CPU time of the service per voucher, or else per answer.
    pub(crate) cpu_nanos: u64,
    /// The share of the machine that other processes used meanwhile.
    pub(crate) taken_by_others: Thousandths,
}

impl Row {
    fn of(case: Case, name: String, connections: usize, run: &Measured) -> Self {
        let (answers, nanos) = (run.times.count(), run.nanos());
        let flushes = run.grew(|stats| stats.flushes);
        let units = if run.vouchers > 0 {
            run.vouchers
        } else {
            answers
        };
        Self {
            case,
            name,
            connections,
            per_second: per_second(answers, nanos),
            vouchers_per_second: per_second(run.vouchers, nanos),
            p50_nanos: run.times.quantile(500),
            p99_nanos: run.times.quantile(990),
            to_empty: None,
            flushes_per_second: per_second(flushes, nanos),
            mean_flush_nanos: scaled(run.grew(|stats| stats.flush_us), 1000, flushes),
            cpu_nanos: scaled(machine::of_service(&run.cpu()), 1, units),
            taken_by_others: run.taken_by_others(),
        }
    }

    /// Vouchers a second, or answers if there are none.
    pub(crate) const fn rate(&self) -> u64 {
        if self.vouchers_per_second > 0 {
            self.vouchers_per_second
        } else {
            self.per_second
        }
    }
}

/// Runs all cases on new stores in a folder.
pub(crate) async fn run(folder: &Path, plan: &Plan) -> anyhow::Result<Found> {
    let mut found = Found::default();
    if plan.cases.contains(&Case::Flush) {
        super::say("flushes of the disk");
        let (times, nanos) = flush::measure(folder, plan.time.1)?;
        found.rows.push(Row {
            case: Case::Flush,
            name: Case::Flush.title(plan.bulk),
            connections: 1,
            per_second: per_second(times.count(), nanos),
            p50_nanos: times.quantile(500),
            p99_nanos: times.quantile(990),
            ..Row::default()
        });
    }
    let (cold, others): (Vec<_>, Vec<_>) = plan.cases.iter().partition(|it| **it == Case::Cold);
    run_on(&folder.join("warm"), plan.layout, &others, plan, &mut found).await?;
    let resident = usize::try_from(plan.accounts / RESIDENT)?.max(1);
    let layout = Layout {
        resident: Some(resident),
        ..plan.layout
    };
    run_on(&folder.join("cold"), layout, &cold, plan, &mut found).await?;
    let empty = found.rows.iter().filter(|row| row.case == Case::Empty);
    let empty: Vec<_> = empty.map(|row| (row.connections, row.rate())).collect();
    for row in found.rows.iter_mut().filter(|it| it.case != Case::Flush) {
        let same = empty.iter().find(|(n, _)| *n == row.connections);
        row.to_empty = same.map(|(_, rate)| Thousandths::ratio(row.rate(), *rate));
    }
    Ok(found)
}

/// Runs some of the cases on a new store, and checks it.
async fn run_on(
    folder: &Path,
    layout: Layout,
    cases: &[Case],
    plan: &Plan,
    found: &mut Found,
) -> anyhow::Result<()> {
    let cases: Vec<_> = cases.iter().filter(|it| **it != Case::Flush).collect();
    if cases.is_empty() {
        return Ok(());
    }
    let all = plan.accounts.saturating_add(1);
    super::say(&format!("opening {} accounts", grouped(all)));
    let site = Site::build(layout.options(folder)?, all).await?;
    let mut tally = Tally::new(all);
    if cases.contains(&&Case::Transfer) {
        tally = site.fund(tally).await?;
    }
    for case in cases {
        for connections in &plan.connections {
            let title = case.title(plan.bulk);
            super::say(&format!("{title} × {connections}"));
            let end = End::After(plan.time.0, plan.time.1);
            let job = Job::new(&site, *connections, case.mix(plan), end);
            let (measured, known) = load::run(&site, job, tally).await?;
            tally = known;
            found.wrong_answers += measured.wrong;
            found
                .rows
                .push(Row::of(*case, title, *connections, &measured));
            found.first_wrong = found.first_wrong.take().or(measured.first_wrong);
        }
    }
    super::say("checking the ledger");
    let (store, realm) = (Arc::clone(site.engine.store()), site.realm);
    let checked = actix_web::web::block(move || audit::ledger(store.as_ref(), &[(realm, &tally)]));
    found.audits.push(checked.await??);
    site.close().await
}
