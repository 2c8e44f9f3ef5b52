//! Fair turns between realms before the store's queue.
//!
//! **Shape.** Each realm submits through its own lane, which holds commits back:
//! the store has only a bounded number of entries of one realm at once, and the rest waits in the lane. When the store
//! ends one commit, the lane hands it the next. So in the store's queue only a small share of each other realm is ahead
//! of a quiet realm's commit, however much the others submit, and the store's promises stay as they are.
//!
//! **Bounds.** The store has at once [`SHARE`] entries of a realm while another realm writes too (fewer when there are so
//! many realms that all of them together would fill its queue), [`ALONE`] while none does, and always one commit,
//! however large. The lane has room for everything that the realm may have in flight ([`crate::in_flight`]) and
//! [`BYTES_MAX`] bytes; beyond that, which does not happen in normal operation, a commit is refused as by a full store.
//!
//! **Order.** The store gets a realm's commits in the order of submission, and a barrier keeps its place among them.
//! Between realms there is no order: no stream belongs to two.
//!
//! **Failure.** A refusal by the store is passed on. The thread that hands over delivers it, with no lock held.

use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use caudal_ledger::ids::RealmId;
use caudal_storage::{Commit, CommitNo, Done, Row, Store, StoreError};

/// The most entries of a realm that are with the store at once while another realm writes too. The store takes about a
/// millisecond to write them.
pub const SHARE: usize = 64;
/// The most entries of a realm that are with the store at once while no other realm writes.
pub const ALONE: usize = 2048;
/// How long realms still count as writing after they have written side by side, in milliseconds.
const WRITING_MS: u64 = 1000;
/// The most items that one caller hands over, while the store has a commit whose end continues the handover.
const HANDED_MAX: usize = 16;
/// The most bytes of entries and hints that may wait in one lane: a body has at most 64 KiB, one of a batch a MiB.
pub const BYTES_MAX: usize = 256 << 20;
/// How many commits of all realms may be with the store at once, while several write. Its queue has twice as much room.
const TOGETHER: usize = 4096;

/// Which realms have written lately, over all lanes of a store.
#[derive(Debug)]
pub struct Traffic {
    start: Instant,
    /// The realm that wrote last.
    last: AtomicU64,
    /// When a realm last wrote after another one, in milliseconds since the start, plus 1; 0 if never.
    mixed: AtomicU64,
    /// How many lanes there are.
    lanes: AtomicUsize,
}

impl Default for Traffic {
    fn default() -> Self {
        Self {
            start: Instant::now(),
            last: AtomicU64::new(u64::MAX),
            mixed: AtomicU64::new(0),
            lanes: AtomicUsize::new(0),
        }
    }
}

impl Traffic {
    /// Notes that a realm writes. Returns how many of its entries may be with the store.
    fn share(&self, realm: RealmId) -> usize {
        let passed = self.start.elapsed().as_millis();
        let now = u64::try_from(passed).unwrap_or(u64::MAX).saturating_add(1);
        let before = self.last.swap(u64::from(realm.0), Ordering::Relaxed);
        if before != u64::from(realm.0) && before != u64::MAX {
            self.mixed.store(now, Ordering::Relaxed);
        }
        let mixed = self.mixed.load(Ordering::Relaxed);
        if mixed > 0 && now.saturating_sub(mixed) < WRITING_MS {
            let lanes = self.lanes.load(Ordering::Relaxed).max(1);
            TOGETHER.div_euclid(lanes).clamp(1, SHARE)
        } else {
            ALONE
        }
    }
}

/// A commit or barrier that waits in a lane.
enum LaneItem {
    Commit(Commit, Done),
    Barrier(Done),
}

#[derive(Default)]
struct LaneState {
    waiting: VecDeque<LaneItem>,
    commits: usize,
    bytes: usize,
    /// The commits and entries that the store has and has not ended.
    under_way: (usize, usize),
    /// How many entries the store may have.
    share: usize,
    /// A caller is handing over; the others leave it to that one.
    handing: bool,
}

/// The lane of a realm.
pub struct Lane {
    realm: RealmId,
    store: Arc<dyn Store>,
    traffic: Arc<Traffic>,
    /// The most commits that may wait.
    most: usize,
    state: Arc<Mutex<LaneState>>,
}

impl fmt::Debug for Lane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lane")
            .field("realm", &self.realm)
            .field("store", &self.store)
            .finish_non_exhaustive()
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        self.traffic.lanes.fetch_sub(1, Ordering::Relaxed);
    }
}

fn lock(state: &Mutex<LaneState>) -> MutexGuard<'_, LaneState> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

fn bytes(commit: &Commit) -> usize {
    let entries = commit.entries.iter().map(|entry| entry.body.len());
    let hints = commit.hints.iter();
    let hints = hints.map(|row| row.value.as_ref().map_or(0, Vec::len));
    entries.chain(hints).fold(0, usize::saturating_add)
}

impl LaneState {
    /// The next item that may go to the store.
    fn next(&mut self) -> Option<LaneItem> {
        if let Some(LaneItem::Commit(commit, _)) = self.waiting.front() {
            let (commits, entries) = self.under_way;
            let then = entries.saturating_add(commit.entries.len());
            if commits > 0 && then > self.share {
                return None;
            }
            self.commits -= 1;
            self.bytes -= bytes(commit);
            self.under_way = (commits.saturating_add(1), then);
        }
        self.waiting.pop_front()
    }
}

impl Lane {
    /// The lane of a realm to a store, in which at most this many commits wait.
    pub fn new(
        realm: RealmId,
        store: Arc<dyn Store>,
        traffic: Arc<Traffic>,
        most: usize,
    ) -> Arc<Self> {
        traffic.lanes.fetch_add(1, Ordering::Relaxed);
        Arc::new(Self {
            realm,
            store,
            traffic,
            most,
            state: Arc::default(),
        })
    }

    /// How many commits wait in the lane.
    pub fn waiting(&self) -> usize {
        lock(&self.state).commits
    }

    /// Queues a commit, as [`Store::submit`] does.
    pub fn submit(&self, commit: Commit, done: Done) {
        self.add(LaneItem::Commit(commit, done));
    }

    /// Calls `done` when everything submitted before is durable, or has failed.
    pub fn barrier(&self, done: Done) {
        self.add(LaneItem::Barrier(done));
    }

    /// Puts hints into the index, as [`Store::note`] does. They do not wait: an account that leaves some has no commit in
    /// flight.
    pub fn note(&self, hints: Vec<Row>) {
        self.store.note(hints);
    }

    fn add(&self, item: LaneItem) {
        let share = self.traffic.share(self.realm);
        let mut state = lock(&self.state);
        state.share = share;
        if let LaneItem::Commit(commit, _) = &item {
            let bytes = state.bytes.saturating_add(bytes(commit));
            let full = state.commits >= self.most || state.commits > 0 && bytes > BYTES_MAX;
            if full {
                drop(state);
                return refuse(item);
            }
            state.commits += 1;
            state.bytes = bytes;
        }
        state.waiting.push_back(item);
        drop(state);
        hand_over(&self.state, &self.store);
    }
}

fn refuse(item: LaneItem) {
    let (LaneItem::Commit(_, done) | LaneItem::Barrier(done)) = item;
    done(Err(StoreError::Overloaded));
}

/// Hands the store every item that may go. Only one caller at a time does this, so the order is kept and a store that
/// answers at once does not nest calls. No caller does it for long: while the store has commits, the end of one
/// continues the handover, and an actor that came by returns to its turns.
fn hand_over(state: &Arc<Mutex<LaneState>>, store: &Arc<dyn Store>) {
    let mut now = lock(state);
    if now.handing {
        return;
    }
    now.handing = true;
    let mut handed = 0_usize;
    while let Some(item) = now.next() {
        drop(now);
        handed += 1;
        match item {
            LaneItem::Barrier(done) => store.barrier(done),
            LaneItem::Commit(commit, done) => {
                let entries = commit.entries.len();
                let (own, next) = (Arc::clone(state), Arc::clone(store));
                let ended = move |result: Result<CommitNo, StoreError>| {
                    let mut now = lock(&own);
                    let (commits, all) = now.under_way;
                    now.under_way = (commits - 1, all - entries);
                    let more = !now.waiting.is_empty();
                    drop(now);
                    done(result);
                    if more {
                        hand_over(&own, &next);
                    }
                };
                store.submit(commit, Box::new(ended));
            }
        }
        now = lock(state);
        if handed >= HANDED_MAX && now.under_way.0 > 0 {
            break;
        }
    }
    now.handing = false;
}

#[cfg(test)]
mod tests {
    use caudal_storage::{Entry, Fact, FaultyStore};

    use super::*;
    use crate::records::projection::ServiceProjection;
    use crate::records::{ANSWER_PARTS, account_stream};
    use caudal_ledger::ids::AccountNo;

    /// How many commits may wait in a lane here.
    const MOST: usize = 1000;

    /// The answers of a lane, in the order in which they came.
    type LaneAnswers = Arc<Mutex<Vec<(RealmId, u64, bool)>>>;

    struct Rig {
        store: Arc<FaultyStore>,
        traffic: Arc<Traffic>,
        heard: LaneAnswers,
    }

    impl Rig {
        fn new() -> Self {
            Self {
                store: FaultyStore::new(Arc::new(ServiceProjection), 1),
                traffic: Arc::default(),
                heard: Arc::default(),
            }
        }

        fn lane(&self, realm: u32) -> Arc<Lane> {
            let store: Arc<dyn Store> = Arc::<FaultyStore>::clone(&self.store);
            Lane::new(RealmId(realm), store, Arc::clone(&self.traffic), MOST)
        }

        fn done(&self, lane: &Lane, number: u64) -> Done {
            let (heard, realm) = (Arc::clone(&self.heard), lane.realm);
            Box::new(move |result| {
                heard.lock().unwrap().push((realm, number, result.is_ok()));
            })
        }

        /// Submits the `number`-th commit of a lane, with so many entries on a stream of its own that no projection
        /// reads.
        fn submit(&self, lane: &Lane, number: u64, entries: u64) {
            let stream = account_stream(lane.realm, AccountNo(number), ANSWER_PARTS);
            let entry = |seq| Entry {
                stream,
                seq,
                at: 1,
                body: vec![0; 100],
                fact: Fact::default(),
            };
            let commit = Commit {
                entries: (1..=entries).map(entry).collect(),
                hints: Vec::new(),
                ..Commit::default()
            };
            lane.submit(commit, self.done(lane, number));
        }

        fn heard(&self) -> Vec<(RealmId, u64, bool)> {
            self.heard.lock().unwrap().clone()
        }
    }

    #[test]
    fn a_flooding_realm_gets_only_its_share() {
        let rig = Rig::new();
        let (loud, quiet) = (rig.lane(1), rig.lane(2));
        rig.submit(&quiet, 1, 1);
        rig.store.step_all();
        for number in 1..=1000 {
            rig.submit(&loud, number, 64);
        }
        assert_eq!(rig.store.pending(), SHARE / 64);
        assert_eq!(loud.waiting(), 1000 - SHARE / 64);
        rig.submit(&quiet, 2, 1);
        let mut steps = 0;
        while !rig.heard().contains(&(RealmId(2), 2, true)) {
            assert!(rig.store.step());
            steps += 1;
        }
        assert_eq!(steps, SHARE / 64 + 1);
        rig.store.step_all();
        let loud_ones = rig
            .heard()
            .into_iter()
            .filter(|heard| heard.0 == RealmId(1));
        let numbers: Vec<u64> = loud_ones.map(|heard| heard.1).collect();
        assert_eq!(numbers, (1..=1000).collect::<Vec<_>>());
    }

    #[test]
    fn a_barrier_keeps_its_order_and_a_large_commit_is_its_own_group() {
        let rig = Rig::new();
        let (lane, other) = (rig.lane(1), rig.lane(2));
        rig.submit(&other, 9, 1);
        rig.submit(&lane, 1, 5000);
        rig.submit(&lane, 2, 1);
        lane.barrier(rig.done(&lane, 3));
        rig.submit(&lane, 4, 1);
        assert_eq!(rig.store.pending(), 2);
        rig.store.step_all();
        let heard: Vec<u64> = rig.heard().iter().map(|heard| heard.1).collect();
        assert_eq!(heard, [9, 1, 2, 3, 4]);
    }

    #[test]
    fn the_shares_of_all_realms_fit_into_the_queue_of_the_store() {
        let rig = Rig::new();
        let lanes: Vec<_> = (1..=500).map(|realm| rig.lane(realm)).collect();
        rig.submit(&lanes[0], 1, 1);
        rig.submit(&lanes[1], 1, 1);
        assert_eq!(rig.traffic.share(RealmId(1)), TOGETHER / 500);
        drop(lanes);
        assert_eq!(rig.traffic.share(RealmId(2)), SHARE);
        let _many: Vec<_> = (1..=10_000).map(|realm| rig.lane(realm)).collect();
        assert_eq!(rig.traffic.share(RealmId(1)), 1);
    }

    #[test]
    fn a_full_lane_refuses_and_a_lost_store_fails_waiting_commits() {
        let rig = Rig::new();
        let (lane, other) = (rig.lane(1), rig.lane(2));
        rig.submit(&other, 1, 1);
        let with_store = u64::try_from(SHARE).unwrap();
        let most = with_store + u64::try_from(MOST).unwrap();
        for number in 1..=most + 10 {
            rig.submit(&lane, number, 1);
        }
        let refused = rig.heard();
        assert_eq!(refused.len(), 10);
        assert!(refused.iter().all(|(_, number, ok)| *number > most && !ok));
        rig.store.poison("the test says so", 0);
        let heard = rig.heard();
        assert_eq!(u64::try_from(heard.len()).unwrap(), most + 10 + 1);
        assert!(heard.iter().all(|heard| !heard.2));
        assert_eq!(lane.waiting(), 0);
    }
}
