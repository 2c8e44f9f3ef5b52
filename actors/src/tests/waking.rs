//! A node that wakes: it comes to rest only after waking has ended, and a realm that could not be started is tried
//! again.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use caudal_ledger::tenants::Mode;
use caudal_storage::{
    Commit, CommitNo, Differing, Done, Entry, EntryPlace, Head, Index, Pair, Position, SortOrder,
    Stats, Store, StreamId,
};

use super::harness::nap;
use super::*;
use crate::engine::Outside;
use crate::realms::CreateType;
use crate::records::REALM as OF_REALM;
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

/// A store with the orders that its reads follow.
struct One {
    store: Arc<dyn Store>,
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
    fn find(&self, entries: &[(StreamId, u64)]) -> Result<Vec<Option<EntryPlace>>, StoreError> {
        self.within.find(entries)
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

impl One {
    fn new() -> Self {
        let reading = Arc::<Mutex<Reading>>::default();
        let within = FaultyStore::new(Arc::new(ServiceProjection), 1);
        within.set_automatic(true);
        let store = Minded {
            within,
            reading: Arc::clone(&reading),
        };
        Self {
            store: Arc::new(store),
            reading,
        }
    }

    /// A node that rests at first.
    fn node(&self) -> Arc<Engine> {
        let banks = Arc::new(|_: &Relation| {
            let bank: Arc<dyn BankGateway> = Arc::<TestBank>::default();
            Ok(bank)
        });
        let outside = Outside {
            banks,
            sink: Arc::new(crate::ports::webhooks::NoSink),
            held: tokio::sync::watch::channel(false).1,
            seals: Arc::new(crate::ports::seals::NoSigner),
        };
        let options = EngineOptions {
            arbiters: 1,
            ..EngineOptions::default()
        };
        let engine = Engine::timed(
            Arc::clone(&self.store),
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

/// Makes a tenant. Returns its live realm.
async fn tenant(engine: &Engine, id: &str) -> RealmId {
    let order = PlatformOrder::CreateTenant(NewTenant::plain(id));
    let platform = engine.operators().administer(order).await.unwrap();
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
        counter_account: None,
        capture_tolerance: None,
    };
    match engine
        .ledger()
        .order(realm, CreateType(order), plain())
        .await
    {
        Ok(_) | Err(Failure::Rejected(Rejection::VoucherTypeTaken { .. })) => true,
        Err(Failure::ShuttingDown) => false,
        Err(why) => panic!("{why}"),
    }
}

#[actix::test]
async fn a_node_steps_down_only_after_its_takeover_has_finished() {
    let one = One::new();
    let node = one.node();
    node.lifecycle().wake().await.unwrap();
    let realm = tenant(&node, "t0").await;
    node.lifecycle().rest().await.unwrap();
    let ((begun, begins), (word, told)) = (channel(), channel());
    one.reads(Reading::Waits(begun, told));
    let waking = {
        let node = Arc::clone(&node);
        actix::spawn(async move { node.lifecycle().wake().await })
    };
    let since = Instant::now();
    while begins.try_recv().is_err() {
        assert!(since.elapsed() < LONG, "it does not begin");
        nap().await;
    }
    assert!(!serves(&node, realm).await, "nothing of it acts yet");
    let resting = {
        let node = Arc::clone(&node);
        actix::spawn(async move { node.lifecycle().rest().await })
    };
    nap().await;
    assert!(!resting.is_finished() && !waking.is_finished());
    word.send(()).unwrap();
    waking.await.unwrap().unwrap();
    resting.await.unwrap().unwrap();
    assert!(node.is_at_rest() && !serves(&node, realm).await);
    node.lifecycle().wake().await.unwrap();
    assert!(serves(&node, realm).await);
}

/// Checks that a realm that should be served cannot be loaded, and that clients and operators are told so.
async fn falls(engine: &Engine, realm: RealmId) {
    let is_down = || {
        let mut down = engine.lifecycle().down().into_iter();
        down.any(|it| it.realm == realm && !it.served)
    };
    wait_until(is_down).await;
    let target = Target::Account(AccountNo(1));
    let refused = engine.queries().balance(realm, target).await;
    assert_eq!(refused.unwrap_err(), Failure::ShuttingDown);
}

#[actix::test]
async fn a_realm_that_cannot_be_loaded_is_tried_again() {
    let one = One::new();
    let node = one.node();
    node.lifecycle().wake().await.unwrap();
    one.reads(Reading::Fails);
    let realm = tenant(&node, "t1").await;
    falls(&node, realm).await;
    assert!(node.lifecycle().resume(realm).await.is_err());
    one.reads(Reading::Goes);
    node.lifecycle().resume(realm).await.unwrap();
    assert!(serves(&node, realm).await);
    // Another one goes on although nobody asks for it.
    one.reads(Reading::Fails);
    let second = tenant(&node, "t2").await;
    falls(&node, second).await;
    one.reads(Reading::Goes);
    wait_until(|| node.lifecycle().down().iter().all(|it| it.served)).await;
    assert!(serves(&node, second).await);
}
