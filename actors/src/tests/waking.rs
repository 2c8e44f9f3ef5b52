//! A cell that wakes: no other cell waits for it, it comes to rest only after waking has ended, and a realm that could
//! not be started is tried again.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use caudal_ledger::facts::PlatformFact;
use caudal_ledger::tenants::Mode;
use caudal_storage::{
    Commit, CommitNo, Differing, Done, Entry, Head, Index, Pair, Position, SortOrder, Stats, Store,
    StreamId,
};

use super::harness::nap;
use super::*;
use crate::cells::Cells;
use crate::engine::Outside;
use crate::records::{PLATFORM_STREAM, REALM as OF_REALM, entry};
use crate::times::Times;

/// No wait is longer, however slow the machine is: then the test fails.
const LONG: Duration = Duration::from_secs(60);

/// What happens when a realm's own entries are read.
#[derive(Debug, Default)]
enum Reading {
    #[default]
    Goes,
    Fails,
    /// It signals that it has begun, and waits for a signal.
    Waits(Sender<()>, Receiver<()>),
}

/// Two cells; the reads of the second one follow the test's orders.
struct Two {
    stores: [Arc<dyn Store>; 2],
    reading: Arc<Mutex<Reading>>,
}

/// A store whose reads follow the test's orders.
#[derive(Debug)]
struct Minded {
    within: Arc<FaultyStore>,
    reading: Arc<Mutex<Reading>>,
}

impl Minded {
    fn minds(&self, stream: StreamId) -> Result<(), StoreError> {
        if stream.realm == 0 || stream.kind != OF_REALM {
            return Ok(());
        }
        let mut now = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
        match &*now {
            Reading::Goes => Ok(()),
            Reading::Fails => Err(StoreError::Closed),
            Reading::Waits(begun, word) => {
                begun.send(()).ok();
                let told = word.recv_timeout(LONG);
                *now = Reading::Goes;
                told.map_err(|_| StoreError::Closed)
            }
        }
    }
}

impl Index for Minded {
    fn applied(&self) -> CommitNo {
        self.within.applied()
    }
    fn head(&self, stream: StreamId) -> Result<Option<Head>, StoreError> {
        self.within.head(stream)
    }
    fn read(
        &self,
        stream: StreamId,
        from: u64,
        to: u64,
        order: SortOrder,
        limit: usize,
    ) -> Result<Vec<Entry>, StoreError> {
        self.minds(stream)?;
        self.within.read(stream, from, to, order, limit)
    }
    fn seq_at(&self, stream: StreamId, at: u64) -> Result<Option<u64>, StoreError> {
        self.within.seq_at(stream, at)
    }
    fn entry(&self, position: Position) -> Result<Entry, StoreError> {
        self.within.entry(position)
    }
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        self.within.get(key)
    }
    fn scan(
        &self,
        from: &[u8],
        to: &[u8],
        order: SortOrder,
        limit: usize,
    ) -> Result<Vec<Pair>, StoreError> {
        self.within.scan(from, to, order, limit)
    }
    fn replay(
        &self,
        from: CommitNo,
        visit: &mut dyn FnMut(CommitNo, &Entry) -> bool,
    ) -> Result<CommitNo, StoreError> {
        self.within.replay(from, visit)
    }
    fn streams_differ(
        &self,
        commits: (CommitNo, CommitNo),
        realm: Option<u32>,
        step: &mut dyn FnMut() -> bool,
    ) -> Result<Differing, StoreError> {
        self.within.streams_differ(commits, realm, step)
    }
}

impl Store for Minded {
    fn submit(&self, commit: Commit, done: Done) {
        self.within.submit(commit, done);
    }
    fn barrier(&self, done: Done) {
        self.within.barrier(done);
    }
    fn stats(&self) -> Stats {
        self.within.stats()
    }
    fn ready(&self) -> Result<(), StoreError> {
        self.within.ready()
    }
    fn close(&self) -> Result<(), StoreError> {
        self.within.close()
    }
}

fn store(seed: u64) -> Arc<FaultyStore> {
    let store = FaultyStore::new(Arc::new(Rows), seed);
    store.set_automatic(true);
    store
}

impl Two {
    fn new() -> Self {
        let reading = Arc::<Mutex<Reading>>::default();
        let second = Minded {
            within: store(2),
            reading: Arc::clone(&reading),
        };
        let first = store(1);
        let added = PlatformFact::CellAdded {
            cell: 1,
            store: "the second".to_owned(),
        };
        let at = Timestamp::from_millis(1_700_000_000_000);
        let commit = Commit {
            entries: vec![entry(PLATFORM_STREAM, 1, at, &added).unwrap()],
            hints: Vec::new(),
            decided_on: Vec::new(),
        };
        first.submit(commit, Box::new(|done| assert!(done.is_ok())));
        Self {
            stores: [first, Arc::new(second)],
            reading,
        }
    }

    /// Two nodes, each awake with the cell of its number.
    async fn awake(&self) -> (Arc<Engine>, Arc<Engine>) {
        let (first, second) = (self.node(), self.node());
        first.wake(0).await.unwrap();
        second.wake(1).await.unwrap();
        (first, second)
    }

    /// A node that rests at first.
    fn node(&self) -> Arc<Engine> {
        let [first, second] = self.stores.clone();
        let banks = Arc::new(|_: &Relation| {
            let bank: Arc<dyn BankGateway> = Arc::<TestBank>::default();
            Ok(bank)
        });
        let outside = Outside {
            banks,
            sink: Arc::new(crate::ports::webhooks::Nobody),
            held: tokio::sync::watch::channel(false).1,
        };
        let options = EngineOptions {
            arbiters: 1,
            ..EngineOptions::default()
        };
        let engine = Engine::timed(
            Cells::several(first, vec![second]),
            Arc::<TestClock>::default(),
            outside,
            options.resting(true),
            Times::default(),
        );
        Arc::new(engine.unwrap())
    }

    fn reads(&self, how: Reading) {
        *self.reading.lock().unwrap_or_else(PoisonError::into_inner) = how;
    }
}

/// Makes a tenant in a cell. Returns its live realm.
async fn tenant(engine: &Engine, id: &str, cell: u32) -> RealmId {
    let order = PlatformOrder::CreateTenant(NewTenant::plain(id), cell);
    let platform = engine.administer(order).await.unwrap();
    platform.tenant(id).unwrap().realm(Mode::Live)
}

/// Whether a realm that exists is served. One that is not yet, or by another node, says so: a client that is told that
/// the realm does not exist would give up.
async fn serves(engine: &Engine, realm: RealmId) -> bool {
    let order = CreateVoucherType {
        code: TypeCode::parse("IN").unwrap(),
        name: "In".into(),
        sense: Sense::Credit,
        description: None,
        category: None,
    };
    match engine.create_type(realm, order, plain()).await {
        Ok(_) | Err(Failure::Rejected(Rejection::VoucherTypeTaken { .. })) => true,
        Err(Failure::ShuttingDown) => false,
        Err(why) => panic!("{why}"),
    }
}

#[actix::test]
async fn while_a_cell_wakes_the_others_are_served_and_it_rests_only_when_that_has_ended() {
    let two = Two::new();
    let node = two.node();
    node.wake(0).await.unwrap();
    let (here, there) = (tenant(&node, "t0", 0).await, tenant(&node, "t1", 1).await);
    let ((begun, begins), (word, told)) = (channel(), channel());
    two.reads(Reading::Waits(begun, told));
    let waking = {
        let node = Arc::clone(&node);
        actix::spawn(async move { node.wake(1).await })
    };
    let since = Instant::now();
    while begins.try_recv().is_err() {
        assert!(since.elapsed() < LONG, "it does not begin");
        nap().await;
    }
    // Orders of another cell, and of the platform, go on.
    assert!(serves(&node, here).await);
    tenant(&node, "t2", 0).await;
    assert!(!serves(&node, there).await, "nothing of it acts yet");
    let resting = {
        let node = Arc::clone(&node);
        actix::spawn(async move { node.rest(1).await })
    };
    nap().await;
    assert!(!resting.is_finished() && !waking.is_finished());
    word.send(()).unwrap();
    waking.await.unwrap().unwrap();
    resting.await.unwrap().unwrap();
    assert!(node.rests(1) && !serves(&node, there).await);
    node.wake(1).await.unwrap();
    assert!(serves(&node, there).await);
    assert!(serves(&node, here).await);
}

#[actix::test]
async fn a_realm_that_could_not_be_started_is_tried_again() {
    let two = Two::new();
    let (first, second) = two.awake().await;
    two.reads(Reading::Fails);
    let realm = tenant(&first, "t1", 1).await;
    assert!(second.look_again().unwrap(), "it has seen the tenant");
    falls(&second, realm).await;
    two.reads(Reading::Goes);
    let since = Instant::now();
    while !serves(&second, realm).await {
        assert!(since.elapsed() < LONG, "it is never tried again");
        second.look_again().unwrap();
        nap().await;
    }
    assert!(!second.look_again().unwrap(), "there is nothing new");
}

#[actix::test]
async fn while_a_realm_is_started_its_clients_are_told_to_come_again() {
    let two = Two::new();
    let (first, second) = two.awake().await;
    let realm = tenant(&first, "t1", 1).await;
    let ((begun, begins), (word, told)) = (channel(), channel());
    two.reads(Reading::Waits(begun, told));
    let looks = {
        let second = Arc::clone(&second);
        std::thread::spawn(move || second.look_again())
    };
    let since = Instant::now();
    while begins.try_recv().is_err() {
        assert!(since.elapsed() < LONG, "it does not begin");
        nap().await;
    }
    assert!(!serves(&second, realm).await, "it is not started yet");
    word.send(()).unwrap();
    assert!(looks.join().unwrap().unwrap(), "it has seen the tenant");
    assert!(serves(&second, realm).await);
}

/// Checks that a realm that should be served cannot be loaded, and that clients and operators are told so.
async fn falls(engine: &Engine, realm: RealmId) {
    let is_down = || {
        let mut down = engine.down().into_iter();
        down.any(|it| it.realm == realm && !it.served)
    };
    wait_until(is_down).await;
    let target = Target::Account(AccountNo(1));
    let refused = engine.balance(realm, target).await;
    assert_eq!(refused.unwrap_err(), Failure::ShuttingDown);
}

#[actix::test]
async fn a_realm_that_cannot_be_loaded_by_the_node_that_writes_the_platform_is_tried_again() {
    let two = Two::new();
    let node = two.node();
    node.wake(0).await.unwrap();
    node.wake(1).await.unwrap();
    two.reads(Reading::Fails);
    let realm = tenant(&node, "t1", 1).await;
    falls(&node, realm).await;
    assert!(node.resume(realm).await.is_err());
    two.reads(Reading::Goes);
    node.resume(realm).await.unwrap();
    assert!(serves(&node, realm).await);
    // Another one goes on although nobody asks for it.
    two.reads(Reading::Fails);
    let second = tenant(&node, "t2", 1).await;
    falls(&node, second).await;
    two.reads(Reading::Goes);
    wait_until(|| node.down().iter().all(|it| it.served)).await;
    assert!(serves(&node, second).await);
}
