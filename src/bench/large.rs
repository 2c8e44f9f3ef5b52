//! The large load: a store as it is after years, and whether it is as fast as at the beginning.
//!
//! **Shape.** [`VOUCHERS`] over [`ACCOUNTS`], a tenth of which may be in memory, by tenths; then vouchers for accounts
//! that are in memory beside vouchers for any; then a process that posts and is [`killed`](super::killed), the store
//! opened again, and the whole ledger compared with the acknowledged vouchers. A part of the load keeps these
//! proportions.
//!
//! **Bounds.** It first prints its duration and the disk that it needs, and refuses to run if there is less.
//!
//! **Failure.** As in the rest of the bench, a difference in the ledger or a wrong answer is a FAIL.

use std::path::Path;
use std::sync::Weak;

use anyhow::ensure;
use caudal_ledger::ids::RealmId;
use caudal_storage::{Store, StoreOptions};
use serde::Serialize;

use super::audit::{self, Audit};
use super::draw::Mix;
use super::figures::{Thousandths, grouped, mebibytes, scaled};
use super::growth::Tenth;
use super::load::{self, End, Job, Measured, Way};
use super::reopen::{self, Reopened};
use super::site::{self, Layout, Site};
use super::tally::Tally;
use super::{killed, machine};

/// Vouchers of the whole load.
pub const VOUCHERS: u64 = 20_000_000;
/// Accounts of the whole load.
pub const ACCOUNTS: u64 = 2_000_000;
/// The smallest part: with fewer accounts none would be out of memory.
pub const PARTS_MAX: u64 = 10_000;
/// How long all of it takes on two processors, in minutes.
const MINUTES: u64 = 45;
/// Bytes that the whole store takes while it grows.
const DISK: u64 = 19 << 30;
/// The threads on which accounts are read.
const READERS: &str = "tokio-rt-worker";
/// The least disk that any store takes, in bytes: segments, and reserved room.
const DISK_LEAST: u64 = 1 << 30;

/// The size and layout of the load.
#[derive(Clone, Debug)]
pub struct Plan {
    /// One in this many parts of the whole load; 1 is all of it.
    pub part: u64,
    /// The number of concurrent clients.
    pub connections: usize,
    /// Whether the load uses the actors' interface instead of HTTP.
    pub engine: bool,
    /// Threads; how many accounts are in memory follows from the plan.
    pub layout: Layout,
}

impl Plan {
    fn part_of(&self, whole: u64) -> u64 {
        whole / self.part.clamp(1, PARTS_MAX)
    }

    fn vouchers(&self) -> u64 {
        self.part_of(VOUCHERS)
    }

    fn accounts(&self) -> u64 {
        self.part_of(ACCOUNTS)
    }

    fn resident(&self) -> u64 {
        self.accounts() / 10
    }

    /// Vouchers of each of the smaller runs after the load.
    fn few(&self) -> u64 {
        self.vouchers() / 40
    }

    fn disk(&self) -> u64 {
        self.part_of(DISK).saturating_add(DISK_LEAST)
    }
}

/// The results.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Large {
    /// The interface of the load.
    pub by: &'static str,
    /// Vouchers of the load by tenths.
    pub vouchers: u64,
    /// Accounts.
    pub accounts: u64,
    /// The most of them in memory.
    pub resident: u64,
    /// The tenths.
    pub tenths: Vec<Tenth>,
    /// The memory target of the process, in bytes; `None` if there was none.
    pub memory_limit: Option<u64>,
    /// The rate of the last tenth divided by that of the first.
    pub last_to_first: Thousandths,
    /// Vouchers per second for accounts that are in memory, after the load.
    pub resident_per_second: u64,
    /// Vouchers a second for any account, right afterwards.
    pub cold_per_second: u64,
    /// The second rate divided by the first.
    pub cold_to_resident: Thousandths,
    /// The cost of reading an account, from the vouchers for any account.
    pub coming: Coming,
    /// Rows of the index that are asked for by a voucher of an account in memory.
    pub resident_gets: Thousandths,
    /// Sorted runs of the index, after the load.
    pub index_runs: u64,
    /// Bytes of the folder when closed.
    pub disk_bytes: u64,
    /// The same per voucher, including accounts and reserved room.
    pub disk_bytes_per_posting: u64,
    /// Vouchers of the process that was killed.
    pub killed_after: u64,
    /// Opening after the kill.
    pub reopened: Reopened,
    /// The number of wrong answers.
    pub wrong_answers: u64,
    /// The first wrong answer.
    pub first_wrong: Option<String>,
    /// The audit of the whole ledger at the end.
    pub audit: Audit,
}

/// The work of the index and of the threads that read accounts, per voucher.
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Coming {
    /// Rows that were asked for by their key.
    pub gets: Thousandths,
    /// Blocks that were not in the cache.
    pub blocks: Thousandths,
    /// CPU of the threads that read accounts, in nanoseconds.
    pub nanos: u64,
}

impl Coming {
    fn of(run: &Measured) -> Self {
        let Some((from, to)) = run.readings.first().zip(run.readings.last()) else {
            return Self::default();
        };
        let vouchers = to.answers.saturating_sub(from.answers);
        let each = |of: fn(&caudal_storage::Stats) -> u64| {
            Thousandths::ratio(of(&to.stats).saturating_sub(of(&from.stats)), vouchers)
        };
        let cpu = machine::spent(&from.cpu, &to.cpu);
        let readers = cpu.get(READERS).copied().unwrap_or(0);
        Self {
            gets: each(|stats| stats.index_gets),
            blocks: each(|stats| stats.index_blocks_read),
            nanos: scaled(readers, 1, vouchers),
        }
    }
}

struct Loaded {
    runs: [Measured; 4],
    index_runs: u64,
    held: Weak<dyn Store>,
    realm: RealmId,
    tally: Tally,
}

/// Refuses if the disk has less room than the load takes.
fn room(plan: &Plan, free: u64, folder: &Path) -> anyhow::Result<()> {
    ensure!(
        free >= plan.disk(),
        "the large load takes up to {} MiB, and there are {} MiB free for {}: choose another disk with --dir, or a \
         part of the load with --scale",
        mebibytes(plan.disk()),
        mebibytes(free),
        folder.display()
    );
    Ok(())
}

/// Loads a new store in a folder, kills a process that posts to it, opens it again and checks it.
///
/// # Errors
/// When there is not enough room, or the service fails.
pub fn run(folder: &Path, plan: &Plan) -> anyhow::Result<Large> {
    let (vouchers, accounts) = (plan.vouchers(), plan.accounts());
    let time = match plan.part_of(MINUTES) {
        0 | 1 => "a minute".to_owned(),
        minutes => format!("{minutes} minutes"),
    };
    super::say(&format!(
        "{} vouchers over {} accounts: about {time} on two processors with a release build, and up to {} MiB on disk",
        grouped(vouchers),
        grouped(accounts),
        mebibytes(plan.disk()),
    ));
    let disk = folder.parent().unwrap_or(folder);
    room(plan, machine::free_bytes(disk)?, disk)?;
    let mut loaded = super::on_system(load(folder, plan))?;
    site::wait_let_go(&loaded.held)?;
    let (disk_bytes, noted) = (machine::disk_bytes(folder), loaded.tally.asked);
    let killed_after = plan.few().saturating_mul(2);
    super::say("posting in another process, which is killed");
    let arbiters = plan.layout.arbiters;
    let work = (killed_after, accounts);
    killed::apart(folder, arbiters, work, &mut loaded.tally)?;
    super::say("opening the store after the kill");
    let reopened = reopen::apart(folder, arbiters, 1)?;
    super::say("checking the whole ledger");
    let store = site::open_store(folder, StoreOptions::default())?;
    let audit = audit::ledger(store.as_ref(), loaded.realm, &loaded.tally)?;
    store.close()?;
    drop(store);
    let [all, warmed, resident, cold] = loaded.runs;
    let rate = |run: &Measured| Tenth::whole(run).map_or(0, |whole| whole.per_second);
    let tenths = Tenth::all(&all);
    let of = |tenth: Option<&Tenth>| tenth.map_or(0, |tenth| tenth.per_second);
    let wrong = [&all, &warmed, &resident, &cold].map(|run| run.wrong);
    Ok(Large {
        by: if plan.engine { "engine" } else { "http" },
        vouchers,
        accounts,
        resident: plan.resident(),
        memory_limit: plan.layout.memory,
        last_to_first: Thousandths::ratio(of(tenths.last()), of(tenths.first())),
        tenths,
        resident_per_second: rate(&resident),
        cold_per_second: rate(&cold),
        cold_to_resident: Thousandths::ratio(rate(&cold), rate(&resident)),
        coming: Coming::of(&cold),
        resident_gets: Coming::of(&resident).gets,
        index_runs: loaded.index_runs,
        disk_bytes,
        disk_bytes_per_posting: scaled(disk_bytes, 1, noted),
        killed_after,
        reopened,
        wrong_answers: wrong.into_iter().fold(0, u64::saturating_add),
        first_wrong: [all, warmed, resident, cold]
            .into_iter()
            .find_map(|run| run.first_wrong),
        audit,
    })
}

async fn load(folder: &Path, plan: &Plan) -> anyhow::Result<Loaded> {
    let accounts = plan.accounts();
    super::say(&format!("opening {} accounts", grouped(accounts)));
    let layout = Layout {
        resident: usize::try_from(plan.resident()).ok(),
        ..plan.layout
    };
    let site = Site::build(folder, layout, accounts).await?;
    let of = |accounts: u64| Mix::Spread(usize::try_from(accounts).unwrap_or(usize::MAX));
    let job = |mix: Mix, warm_up: u64, vouchers: u64| Job {
        way: match plan.engine {
            true => Way::Engine(site.realm),
            false => Way::Http(site.addr),
        },
        connections: plan.connections,
        mix,
        end: End::Answers {
            warm_up,
            of: vouchers.saturating_add(warm_up),
        },
    };
    super::say(&format!("loading {} vouchers", grouped(plan.vouchers())));
    let (vouchers, few) = (plan.vouchers(), plan.few());
    let all = job(of(accounts), 0, vouchers);
    let (all, tally) = load::run_telling(&site, all, Tally::new(accounts)).await?;
    let index_runs = site.engine.stats().index_runs;
    // Half of the accounts that fit in memory, requested until nearly each of them has been loaded.
    let warm = plan.resident() / 2;
    super::say("vouchers for accounts that are in memory");
    let warming = job(of(warm), 0, warm.saturating_mul(4));
    let (warmed, tally) = load::run(&site, warming, tally).await?;
    let (resident, tally) = load::run(&site, job(of(warm), 0, few), tally).await?;
    super::say("vouchers for any account");
    let (cold, tally) = load::run(&site, job(of(accounts), few / 10, few), tally).await?;
    let realm = site.realm;
    Ok(Loaded {
        runs: [all, warmed, resident, cold],
        index_runs,
        held: site.close().await?,
        realm,
        tally,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_refused_without_room_and_says_what_to_do() {
        let plan = |part| Plan {
            part,
            connections: 1,
            engine: true,
            layout: Layout {
                workers: 1,
                arbiters: 1,
                memory: None,
                resident: None,
            },
        };
        let whole = plan(1);
        assert_eq!((whole.vouchers(), whole.accounts()), (VOUCHERS, ACCOUNTS));
        assert_eq!(whole.disk(), 20 << 30);
        let folder = Path::new("/somewhere");
        assert!(room(&whole, 20 << 30, folder).is_ok());
        let refused = room(&whole, 19 << 30, folder).unwrap_err();
        let refused = refused.to_string();
        for part in ["20 480 MiB", "19 456 MiB", "/somewhere", "--dir", "--scale"] {
            assert!(refused.contains(part), "{refused}");
        }
        let smallest = plan(PARTS_MAX);
        assert!(smallest.resident() / 2 > 0 && smallest.few() > 0);
        assert!(room(&smallest, 2 << 30, folder).is_ok());
    }
}
