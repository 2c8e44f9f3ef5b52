//! The long load: whether a growing store stays as fast, opens quickly and stays small.

use std::path::Path;
use std::sync::Weak;

use caudal_ledger::ids::RealmId;
use caudal_storage::{Store, StoreOptions};
use serde::Serialize;

use super::audit::{self, Audit};
use super::draw::Mix;
use super::figures::{Thousandths, nanos, per_second, scaled};
use super::load::{self, End, Job, Measured, Reading, Way};
use super::machine;
use super::reopen::{self, Reopened};
use super::site::{self, Layout, Site};
use super::tally::Tally;

/// The first vouchers, which do not count.
const WARM_UP: u64 = 5000;
/// The number of concurrent requests on one account.
const HOT_ASKING: usize = 512;

/// The size of the load.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Vouchers.
    pub vouchers: u64,
    /// The number of accounts.
    pub accounts: u64,
    /// The number of concurrent clients.
    pub connections: usize,
    /// Whether the load uses the actors' interface instead of HTTP.
    pub engine: bool,
    /// Vouchers on one more account.
    pub hot: u64,
    /// Threads.
    pub layout: Layout,
}

/// A tenth of the load.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Tenth {
    /// Vouchers a second.
    pub per_second: u64,
    /// Commits in one flush.
    pub mean_group: Thousandths,
    /// The mean duration of a write with its flush, in nanoseconds.
    pub mean_flush_nanos: u64,
    /// The share of the machine that other processes used meanwhile.
    pub taken_by_others: Thousandths,
    /// CPU time of the service per voucher, in nanoseconds.
    pub cpu_nanos: u64,
    /// Bytes of the journal per voucher.
    pub journal_bytes_per_posting: u64,
    /// Bytes of the index at its end.
    pub index_bytes: u64,
    /// Resident memory of the whole process at its end, including that of the load.
    pub memory: u64,
    /// Sorted runs of the index at its end.
    pub index_runs: u64,
}

impl Tenth {
    fn between(from: &Reading, to: &Reading) -> Self {
        let count = to.answers.saturating_sub(from.answers);
        let since =
            |of: fn(&caudal_storage::Stats) -> u64| of(&to.stats).saturating_sub(of(&from.stats));
        let cpu = machine::spent(&from.cpu, &to.cpu);
        let service = cpu.iter().filter(|(name, _)| *name != load::THREAD);
        let service = service.fold(0, |sum: u64, (_, nanos)| sum.saturating_add(*nanos));
        Self {
            per_second: per_second(count, nanos(to.at.duration_since(from.at))),
            mean_group: Thousandths::ratio(since(|s| s.commits), since(|s| s.flushes)),
            mean_flush_nanos: scaled(since(|s| s.flush_us), 1000, since(|s| s.flushes)),
            taken_by_others: from.taken_by_others(to),
            cpu_nanos: scaled(service, 1, count),
            journal_bytes_per_posting: scaled(since(|s| s.journal_bytes), 1, count),
            index_bytes: to.stats.index_disk_bytes,
            memory: to.memory,
            index_runs: to.stats.index_runs,
        }
    }

    /// The parts between consecutive readings of a run.
    pub fn all(run: &Measured) -> Vec<Self> {
        let readings = run.readings.iter();
        let pairs = readings.zip(run.readings.iter().skip(1));
        pairs.map(|(from, to)| Self::between(from, to)).collect()
    }

    /// The whole run as one part; `None` with fewer than two readings.
    pub fn whole(run: &Measured) -> Option<Self> {
        let (from, to) = run.readings.first().zip(run.readings.last())?;
        Some(Self::between(from, to))
    }
}

/// The results of the long load.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Grown {
    /// The interface of the load.
    pub by: &'static str,
    /// Vouchers.
    pub vouchers: u64,
    /// Accounts.
    pub accounts: u64,
    /// Vouchers a second over the whole load.
    pub per_second: u64,
    /// The tenths.
    pub tenths: Vec<Tenth>,
    /// The rate of the last tenth divided by that of the first.
    pub last_to_first: Thousandths,
    /// CPU time per voucher of the last tenth divided by that of the first.
    pub last_to_first_cpu: Thousandths,
    /// The median time of an answer in nanoseconds.
    pub p50_nanos: u64,
    /// The 99th percentile of the time of an answer, in nanoseconds.
    pub p99_nanos: u64,
    /// Bytes of the folder when closed.
    pub disk_bytes: u64,
    /// Bytes of the folder per voucher, including accounts and reserved room.
    pub disk_bytes_per_posting: u64,
    /// Opening again.
    pub reopened: Reopened,
    /// The number of wrong answers.
    pub wrong_answers: u64,
    /// The first wrong answer.
    pub first_wrong: Option<String>,
    /// The audit of the ledger after opening again.
    pub audit: Audit,
}

struct Loaded {
    load: Measured,
    wrong: Measured,
    held: Weak<dyn Store>,
    realm: RealmId,
    tally: Tally,
}

/// Loads a new store in a folder, opens it again and checks it.
///
/// # Errors
/// When the service fails.
pub fn run(folder: &Path, plan: &Plan) -> anyhow::Result<Grown> {
    let loaded = super::on_system(load(folder, plan))?;
    site::wait_let_go(&loaded.held)?;
    let disk_bytes = machine::disk_bytes(folder);
    super::say("opening the store again");
    let all = plan.accounts.saturating_add(1);
    let reopened = reopen::apart(folder, plan.layout.arbiters, all)?;
    super::say("checking the ledger");
    let store = site::open_store(folder, StoreOptions::default())?;
    let audit = audit::ledger(store.as_ref(), loaded.realm, &loaded.tally)?;
    store.close()?;
    let Loaded { load, wrong, .. } = loaded;
    let tenths = Tenth::all(&load);
    let rate = |tenth: Option<&Tenth>| tenth.map_or(0, |t| t.per_second);
    let cpu = |tenth: Option<&Tenth>| tenth.map_or(0, |t| t.cpu_nanos);
    Ok(Grown {
        by: if plan.engine { "engine" } else { "http" },
        vouchers: plan.vouchers,
        accounts: plan.accounts,
        per_second: Tenth::whole(&load).map_or(0, |whole| whole.per_second),
        last_to_first: Thousandths::ratio(rate(tenths.last()), rate(tenths.first())),
        last_to_first_cpu: Thousandths::ratio(cpu(tenths.last()), cpu(tenths.first())),
        tenths,
        p50_nanos: load.times.quantile(500),
        p99_nanos: load.times.quantile(990),
        disk_bytes,
        disk_bytes_per_posting: scaled(disk_bytes, 1, audit.vouchers),
        reopened,
        wrong_answers: load.wrong.saturating_add(wrong.wrong),
        first_wrong: load.first_wrong.or(wrong.first_wrong),
        audit,
    })
}

async fn load(folder: &Path, plan: &Plan) -> anyhow::Result<Loaded> {
    let all = plan.accounts.saturating_add(1);
    super::say(&format!("opening {all} accounts"));
    let site = Site::build(folder, plan.layout, all).await?;
    let accounts = usize::try_from(plan.accounts).unwrap_or(usize::MAX);
    super::say(&format!("loading {} vouchers", plan.vouchers));
    let job = Job {
        way: if plan.engine {
            Way::Engine(site.realm)
        } else {
            Way::Http(site.addr)
        },
        connections: plan.connections,
        mix: Mix::Spread(accounts),
        end: End::Answers {
            warm_up: WARM_UP.min(plan.vouchers / 10),
            of: plan.vouchers,
        },
    };
    let (load, tally) = load::run(&site, job, Tally::new(all)).await?;
    super::say(&format!("posting {} vouchers on one account", plan.hot));
    let job = Job {
        way: Way::Engine(site.realm),
        connections: HOT_ASKING,
        mix: Mix::Hot(accounts),
        end: End::Answers {
            warm_up: 0,
            of: plan.hot,
        },
    };
    let (wrong, tally) = load::run(&site, job, tally).await?;
    let realm = site.realm;
    Ok(Loaded {
        load,
        wrong,
        held: site.close().await?,
        realm,
        tally,
    })
}
