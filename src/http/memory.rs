//! The memory of the process: a target in bytes, divided among caches, tables and accounts.
//!
//! **Shape.** [`MemoryPlan::of`] divides the target. Caches and tables have fixed parts. Accounts get the rest: their
//! number follows from the memory that the process really takes ([`MemoryPlan::next`]), which [`watch`] measures four times
//! a second, so the size of an account need not be known. The cache of blocks shrinks last ([`MemoryPlan::cache`]): filters
//! and first keys of the index's runs grow with the store, and when few accounts are left nothing else makes room for
//! them.
//!
//! **Bounds.** The limit is a target: only accounts and blocks are dropped when it is exceeded, and when both are at
//! their minimum the process stays above it. Below the limit accounts may be loaded, fewer the nearer it is. Above it
//! the least recently used accounts are dropped, at most a twentieth of all in a second, and a part of the planned
//! number always stays. Blocks are dropped only when no more accounts than that part are left: if blocks were dropped
//! earlier they would come back too slowly, because accounts take the room first.
//!
//! Answers that clients do not read go first: while the process is above the limit, at most [`MemoryPlan::unread`] bytes of
//! them are kept ([`UnreadAnswers`]). The listeners end the connections of the others within a second.
//!
//! **Failure.** If the system does not report the memory that the process takes, the planned number of accounts
//! applies.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use actix_web::rt;
use actix_web::rt::task::JoinHandle;
use caudal_actors::engine::{Engine, EngineOptions};
use caudal_actors::persist::persist;

const MIB: u64 = 1 << 20;
/// The smallest limit, in bytes.
pub const LEAST: u64 = 256 * MIB;
/// The largest limit, in bytes: 16 TiB.
pub const MOST: u64 = 1 << 44;
/// An allowance for code, threads, connections, queues and work in progress, in bytes.
const PROCESS: u64 = 96 * MIB;
/// The approximate size, in bytes, of an account in memory with its actor and its place in its supervisor's lists: a
/// guess to begin with. It includes the CVUs that the supervisor remembers for each account that may be in memory.
const ACCOUNT_BYTES: u64 = 1536 + caudal_actors::residency::REMEMBERED_BYTES;
/// The head of a stream that the store keeps in memory, in bytes, roughly.
const HEAD_BYTES: u64 = 96;
/// The most bytes that an account may take until the next measurement: this bounds the accounts loaded in between.
const COMING_BYTES: u64 = 4096;
/// The pause between two measurements of the process.
const EVERY: Duration = Duration::from_millis(250);
/// At most one in this many accounts is dropped between two measurements.
const LEAVING: usize = 80;
/// What a connection takes while its client does not read an answer, in bytes, roughly.
pub const UNREAD_BYTES: u64 = 48 * 1024;
/// The smallest cache of blocks, in bytes.
const CACHE_LEAST: u64 = 8 * MIB;

/// How the memory of the process is divided, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MemoryPlan {
    /// The limit of the process.
    pub limit: u64,
    /// sled's pages: small runs of the index and its manifest. Large runs are read by the system's cache of files.
    pub page_cache: u64,
    /// Blocks of the index as they are searched.
    pub block_cache: u64,
    /// One table of rows that are not yet in the index's files; there are up to four.
    pub table: u64,
    /// Heads of streams.
    pub heads: u64,
    /// Accounts and their actors.
    pub accounts: u64,
    /// Answers that clients do not read, while the process is above the limit.
    pub unread: u64,
    /// The most accounts in memory, whatever they take, if that is set.
    pub resident: Option<usize>,
}

impl MemoryPlan {
    /// Divides `limit` bytes.
    pub fn of(limit: u64) -> Self {
        let part = |of: u64, least: u64, most: u64| (limit / of).clamp(least * MIB, most * MIB);
        let page_cache = part(64, 4, 64);
        let block_cache = part(8, 8, 4096);
        let table = part(64, 4, 32);
        let heads = part(16, 1, 1024);
        let fixed = page_cache + block_cache + 4 * table + heads + PROCESS;
        Self {
            limit,
            page_cache,
            block_cache,
            table,
            heads,
            accounts: limit.saturating_sub(fixed).max(limit / 8),
            unread: limit / 64,
            resident: None,
        }
    }

    /// How many accounts there is room for, by the estimate of an account's size.
    pub fn room(&self) -> usize {
        let room = count(self.accounts / ACCOUNT_BYTES);
        self.resident.map_or(room, |most| most.min(room))
    }

    /// Applies the plan to the options of actors and store.
    pub fn lay_out(&self, engine: &mut EngineOptions, storage: &mut caudal_storage::StoreOptions) {
        engine.resident = self.room();
        storage.index_cache_bytes = self.page_cache;
        storage.block_cache_bytes = self.block_cache;
        storage.table_bytes = count(self.table);
        storage.heads_max = count(self.heads / HEAD_BYTES);
    }

    /// How many accounts may be in memory, while `living` are and the process takes `taken` bytes.
    pub fn next(&self, living: usize, taken: u64) -> usize {
        let accounts = |bytes: u64| count(bytes / ACCOUNT_BYTES);
        let most = match self.limit.checked_sub(taken) {
            Some(left) => living.saturating_add(count(left / COMING_BYTES)),
            None => {
                let too_many = accounts(taken - self.limit).min(living / LEAVING + 1);
                living.saturating_sub(too_many).max(self.least())
            }
        };
        self.resident.map_or(most, |set| most.min(set))
    }

    /// How many unread answers may be kept, while the process takes `taken` bytes.
    pub fn unread_max(&self, taken: u64) -> usize {
        if taken > self.limit {
            count(self.unread / UNREAD_BYTES)
        } else {
            usize::MAX
        }
    }

    /// How many accounts always stay, whatever the process takes.
    fn least(&self) -> usize {
        count(self.accounts / 4 / ACCOUNT_BYTES)
    }

    /// How many bytes the cache of blocks may take next, when its bound is `most`, the process takes `taken` and
    /// `living` accounts are in memory: never more than its part, and less only when no more accounts have to leave.
    pub fn cache(&self, most: u64, taken: u64, living: usize) -> u64 {
        match self.limit.checked_sub(taken) {
            Some(left) => self.block_cache.min(most + left / 4),
            None if living > self.least() => most,
            None => most - (taken - self.limit).min(most - CACHE_LEAST.min(most)),
        }
    }
}

/// The answers that their clients do not read, on all listeners of the process, and how many there may be.
#[derive(Debug)]
pub struct UnreadAnswers {
    now: AtomicUsize,
    most: AtomicUsize,
}

impl Default for UnreadAnswers {
    fn default() -> Self {
        Self {
            now: AtomicUsize::new(0),
            most: AtomicUsize::new(usize::MAX),
        }
    }
}

impl UnreadAnswers {
    /// Counts an answer as unread until the guard is dropped.
    pub fn count(self: &Arc<Self>) -> UnreadAnswer {
        self.now.fetch_add(1, Ordering::Relaxed);
        UnreadAnswer(Arc::clone(self))
    }

    /// Sets how many there may be.
    pub fn set_most(&self, most: usize) {
        self.most.store(most, Ordering::Relaxed);
    }

    /// Whether there are more than there may be.
    pub fn is_short(&self) -> bool {
        self.now.load(Ordering::Relaxed) > self.most.load(Ordering::Relaxed)
    }
}

/// An answer that its client does not read; see [`UnreadAnswers::count`].
#[derive(Debug)]
pub struct UnreadAnswer(Arc<UnreadAnswers>);

impl Drop for UnreadAnswer {
    fn drop(&mut self) {
        self.0.now.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A number of bytes, or of things in memory, as an index.
#[expect(
    clippy::expect_used,
    reason = "no limit of memory is beyond what the machine can address"
)]
pub fn count(n: u64) -> usize {
    usize::try_from(n).expect("a number below 16 TiB")
}

/// The default limit: a quarter of the machine's memory, or of the control group's limit if that is lower.
pub fn usual() -> u64 {
    let read = |path: &str| fs::read_to_string(path).ok();
    let machine = read("/proc/meminfo").and_then(|text| machine(&text));
    let group =
        read("/proc/self/cgroup").and_then(|text| group(&text, Path::new("/sys/fs/cgroup")));
    let has = machine.into_iter().chain(group).min();
    has.map_or(LEAST, |has| (has / 4).clamp(LEAST, MOST))
}

/// All of the machine's memory in bytes, as `/proc/meminfo` says.
fn machine(meminfo: &str) -> Option<u64> {
    let line = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    kib.checked_mul(1024)
}

/// The lowest memory limit of this process's control group and of the groups around it, in bytes. Supports version 2,
/// and version 1 where it controls memory.
fn group(own: &str, root: &Path) -> Option<u64> {
    let limits = own.lines().flat_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next().unwrap_or(""), parts.next().unwrap_or("/"));
        let (root, file) = match controllers {
            "" => (root.to_path_buf(), "memory.max"),
            _ => (root.join("memory"), "memory.limit_in_bytes"),
        };
        let asked = controllers.is_empty() || controllers.split(',').any(|one| one == "memory");
        let own = root.join(path.trim_start_matches('/'));
        let up: Vec<_> = own
            .ancestors()
            .filter(|at| asked && at.starts_with(&root))
            .collect();
        let limit = |at: &&Path| fs::read_to_string(at.join(file)).ok()?.trim().parse().ok();
        up.iter().filter_map(limit).collect::<Vec<u64>>()
    });
    limits.min()
}

/// The resident memory of the process in bytes; `None` if the system does not report it.
pub fn taken() -> Option<u64> {
    let text = fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = text.split_whitespace().nth(1)?.parse().ok()?;
    pages.checked_mul(u64::try_from(rustix::param::page_size()).ok()?)
}

/// Keeps as many unread answers, accounts and blocks in memory as the plan has room for, until the handle is aborted.
pub fn watch(
    engine: &Arc<Engine>,
    plan: MemoryPlan,
    unread: &Arc<UnreadAnswers>,
) -> JoinHandle<()> {
    let (engine, unread) = (Arc::clone(engine), Arc::clone(unread));
    let keep = async move |_| keep(&engine, plan, &unread).await;
    rt::spawn(async move { persist("memory", keep).await })
}

async fn keep(engine: &Engine, plan: MemoryPlan, unread: &UnreadAnswers) {
    let mut cache = plan.block_cache;
    loop {
        if let Some(taken) = taken() {
            let residency = engine.residency();
            let living = residency.living();
            unread.set_most(plan.unread_max(taken));
            cache = plan.cache(cache, taken, living);
            engine.store().keep_cached(cache);
            residency.set_most(plan.next(living, taken));
        }
        rt::time::sleep(EVERY).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_parts_fit_into_the_total() {
        for limit in [LEAST, 300 * MIB, 1024 * MIB, 24_576 * MIB, MOST] {
            let plan = MemoryPlan::of(limit);
            let fixed = plan.page_cache + plan.block_cache + 4 * plan.table + plan.heads;
            assert!(fixed + plan.accounts + PROCESS <= limit, "{plan:?}");
            assert!(plan.accounts >= limit / 8, "{plan:?}");
        }
        let set = MemoryPlan {
            resident: Some(1000),
            ..MemoryPlan::of(LEAST)
        };
        assert_eq!((set.room(), set.next(10, 0)), (1000, 1000));
    }

    /// A process that keeps the memory it was given, with accounts of a size that the plan does not know.
    #[test]
    fn the_process_comes_to_its_limit_and_stays_there() {
        for (account, other) in [(300, 100), (1536, 200), (4000, 150)] {
            let plan = MemoryPlan::of(512 * MIB);
            let (mut living, mut seen) = (0, Vec::new());
            for _ in 0..400 {
                let taken = other * MIB + u64::try_from(living).unwrap() * account;
                seen.push(taken);
                let most = plan.next(living, taken);
                // This many accounts are loaded per second, where there is room.
                living = most.min(living + 20_000);
            }
            let settled = seen.split_off(200);
            assert!(
                settled
                    .iter()
                    .all(|taken| taken.abs_diff(plan.limit) <= plan.limit / 10)
            );
        }
    }

    /// Filters that grow with the store push the blocks out, and these come back when there is room.
    #[test]
    fn the_cache_of_blocks_makes_room_for_what_cannot_leave() {
        let plan = MemoryPlan::of(512 * MIB);
        let (least, mut cache, mut seen) = (plan.least(), plan.block_cache, Vec::new());
        for step in 0..400 {
            let filters = if step < 200 { step * MIB / 8 } else { 0 };
            let taken = 460 * MIB + filters + cache;
            seen.push(taken);
            cache = plan.cache(cache, taken, least);
            assert!((CACHE_LEAST..=plan.block_cache).contains(&cache));
        }
        let within = |taken: &u64| *taken <= plan.limit + plan.limit / 100;
        assert!(seen.split_off(1).iter().all(within));
        assert_eq!(plan.cache(CACHE_LEAST, 2 * plan.limit, least), CACHE_LEAST);
        assert_eq!(
            plan.cache(cache, plan.limit / 2, least + 1),
            plan.block_cache
        );
    }

    /// Accounts take room faster than blocks do, and the other memory of the process rises and falls every four
    /// seconds.
    #[test]
    fn accounts_leave_before_blocks_do() {
        let plan = MemoryPlan::of(512 * MIB);
        let (mut living, mut cache, mut seen) = (0, CACHE_LEAST, Vec::new());
        for step in 0..2000 {
            let swing = step % 16 * MIB;
            let accounts = u64::try_from(living).unwrap() * 1536;
            let taken = 150 * MIB + swing + cache + accounts;
            seen.push(taken);
            cache = plan.cache(cache, taken, living);
            living = plan.next(living, taken).min(living + 20_000);
        }
        assert!(cache >= plan.block_cache / 2, "{cache}");
        assert!(living > plan.least());
        let near = |taken: &u64| taken.abs_diff(plan.limit) <= plan.limit / 20;
        assert!(seen.split_off(1000).iter().all(near));
    }

    #[test]
    fn unread_answers_are_few_while_the_process_is_above_its_limit() {
        let (plan, unread) = (MemoryPlan::of(LEAST), Arc::new(UnreadAnswers::default()));
        let kept = plan.unread_max(plan.limit + 1);
        assert!(
            kept > 16 && count(plan.unread) < count(plan.limit) / 50,
            "{kept}"
        );
        let all: Vec<_> = (0..kept + 1).map(|_| unread.count()).collect();
        unread.set_most(plan.unread_max(plan.limit));
        assert!(!unread.is_short());
        unread.set_most(kept);
        assert!(unread.is_short());
        drop(all.into_iter().next());
        assert!(!unread.is_short());
    }

    #[test]
    fn some_accounts_stay_whatever_the_process_takes() {
        let plan = MemoryPlan::of(LEAST);
        let mut living = plan.room();
        for _ in 0..1000 {
            living = plan.next(living, 2 * LEAST);
        }
        assert_eq!(living, plan.least());
        assert!(living < plan.room() / 3 && living > 1000, "{living}");
    }

    #[test]
    fn machine_and_control_groups_are_read() {
        assert_eq!(
            machine("MemTotal:  2048 kB\nMemFree: 1 kB\n"),
            Some(2 * MIB)
        );
        assert_eq!(machine("MemFree: 1 kB\n"), None);
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        let write = |path: &str, text: &str| {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("a/memory.max", "3000\n");
        write("a/b/memory.max", "max\n");
        write("memory/c/memory.limit_in_bytes", "5000\n");
        write("other/c/memory.max", "1\n");
        for (own, limit) in [
            ("0::/a/b\n", Some(3000)),
            ("0::/\n", None),
            ("4:memory:/c\n3:cpu:/other/c\n", Some(5000)),
            ("4:memory:/c\n0::/a\n", Some(3000)),
            ("nonsense", None),
        ] {
            assert_eq!(group(own, root), limit, "{own}");
        }
        assert!(taken().unwrap() > MIB && usual() >= LEAST);
    }
}
