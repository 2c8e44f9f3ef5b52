//! A store whose queue is full at the worst moment: orders that only wait are refused.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize};
use std::sync::{Condvar, Mutex};
use std::thread::ThreadId;

use caudal_ledger::ids::Tag;
use caudal_ledger::transfers::TransferStatus;
use caudal_ledger::webhooks::{DeliveryId, WebhookId};
use caudal_storage::{
    Commit, CommitNo, Differing, Done, Entry, EntryPlace, Head, Index, Pair, Position, SortOrder,
    Stats, Store, StreamId,
};

use super::harness::{Harness, cvu, outside, sending};
use super::*;
use crate::accounts::MakeTransfer;
use crate::engine::lists::{AccountFilter, ListPage};
use crate::realms::Batch;

pub(super) struct FullStore {
    inner: Arc<FaultyStore>,
    refuse: AtomicUsize,
    /// The next commit is kept from the store, so that the test can fail it.
    keeps: AtomicBool,
    kept: Mutex<Option<Done>>,
    /// A thread that must not read.
    serving: Mutex<Option<ThreadId>>,
    /// Its reads all the same.
    blocked: Mutex<Vec<&'static str>>,
    /// Whether reads off the serving thread are held, and how many wait.
    held: Mutex<(bool, usize)>,
    let_go: Condvar,
    /// How many reads remain until the store writes everything that waits, in the middle of a read.
    fuse: AtomicI64,
    /// Which reads fail, by their name, and how many have failed.
    breaks: Mutex<Option<Breaks>>,
    failed: AtomicUsize,
}

/// Whether the read of this name fails.
type Breaks = Box<dyn FnMut(&'static str) -> bool + Send>;

impl std::fmt::Debug for FullStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.inner.fmt(f)
    }
}

impl FullStore {
    pub(super) fn over(inner: Arc<FaultyStore>) -> Arc<Self> {
        Arc::new(Self {
            inner,
            refuse: AtomicUsize::new(0),
            keeps: AtomicBool::new(false),
            kept: Mutex::new(None),
            serving: Mutex::new(None),
            blocked: Mutex::default(),
            held: Mutex::default(),
            let_go: Condvar::new(),
            fuse: AtomicI64::new(0),
            breaks: Mutex::new(None),
            failed: AtomicUsize::new(0),
        })
    }

    /// Makes all reads of rows fail, or work again.
    pub(super) fn break_rows(&self, broken: bool) {
        *self.breaks.lock().unwrap() = None;
        if broken {
            self.break_reads(|what| what == "get");
        }
    }

    /// Makes those reads fail for whose name `breaks` returns true.
    pub(super) fn break_reads(&self, breaks: impl FnMut(&'static str) -> bool + Send + 'static) {
        *self.breaks.lock().unwrap() = Some(Box::new(breaks));
    }

    /// How many reads have failed.
    pub(super) fn failed(&self) -> usize {
        self.failed.load(Ordering::Acquire)
    }

    /// The `n`-th read from now on waits until the store has written everything; 0 is none. Returns how many reads the
    /// previous setting had left.
    pub(super) fn write_at_read(&self, n: i64) -> i64 {
        self.fuse.swap(n, Ordering::AcqRel)
    }

    pub(super) fn engine(
        self: &Arc<Self>,
        clock: &Arc<harness::HarnessClock>,
        bank: &Arc<TestBank>,
    ) -> Engine {
        self.engine_on(0, clock, bank)
    }

    fn reads(&self, what: &'static str) -> Result<(), StoreError> {
        if let Some(breaks) = &mut *self.breaks.lock().unwrap()
            && breaks(what)
        {
            self.failed.fetch_add(1, Ordering::AcqRel);
            return Err(StoreError::Unreadable("broken".into()));
        }
        if self.fuse.load(Ordering::Acquire) > 0 && self.fuse.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.inner.step_all();
        }
        if *self.serving.lock().unwrap() == Some(std::thread::current().id()) {
            self.blocked.lock().unwrap().push(what);
            return Ok(());
        }
        let mut held = self.held.lock().unwrap();
        if held.0 {
            held.1 += 1;
            drop(self.let_go.wait_while(held, |held| held.0).unwrap());
        }
        Ok(())
    }

    /// Holds the reads of other threads, or lets them go.
    pub(super) fn hold_reads(&self, hold: bool) {
        *self.serving.lock().unwrap() = Some(std::thread::current().id());
        *self.held.lock().unwrap() = (hold, 0);
        self.let_go.notify_all();
    }

    /// How many reads wait.
    pub(super) fn held(&self) -> usize {
        self.held.lock().unwrap().1
    }

    fn engine_on(
        self: &Arc<Self>,
        arbiters: usize,
        clock: &Arc<harness::HarnessClock>,
        bank: &Arc<TestBank>,
    ) -> Engine {
        let gateway: Arc<dyn BankGateway> = Arc::<TestBank>::clone(bank);
        let options = EngineOptions {
            arbiters,
            ..EngineOptions::default()
        };
        let banks = Arc::new(move |_: &crate::banks::Relation| Ok(Arc::clone(&gateway)));
        let clock = Arc::<harness::HarnessClock>::clone(clock);
        Engine::start(Arc::<Self>::clone(self), clock, banks, options).unwrap()
    }
}

impl Index for FullStore {
    fn applied(&self) -> CommitNo {
        self.inner.applied()
    }
    fn head(&self, stream: StreamId) -> Result<Option<Head>, StoreError> {
        self.reads("head")?;
        self.inner.head(stream)
    }
    fn read(
        &self,
        stream: StreamId,
        from: u64,
        to: u64,
        order: SortOrder,
        limit: usize,
    ) -> Result<Vec<Entry>, StoreError> {
        self.reads("read")?;
        self.inner.read(stream, from, to, order, limit)
    }
    fn seq_at(&self, stream: StreamId, at: u64) -> Result<Option<u64>, StoreError> {
        self.reads("seq_at")?;
        self.inner.seq_at(stream, at)
    }
    fn entry(&self, position: Position) -> Result<Entry, StoreError> {
        self.reads("entry")?;
        self.inner.entry(position)
    }
    fn find(&self, entries: &[(StreamId, u64)]) -> Result<Vec<Option<EntryPlace>>, StoreError> {
        self.reads("find")?;
        self.inner.find(entries)
    }
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        self.reads("get")?;
        self.inner.get(key)
    }
    fn scan(
        &self,
        from: &[u8],
        to: &[u8],
        order: SortOrder,
        limit: usize,
    ) -> Result<Vec<Pair>, StoreError> {
        self.reads("scan")?;
        self.inner.scan(from, to, order, limit)
    }
    fn replay(
        &self,
        from: CommitNo,
        visit: &mut dyn FnMut(CommitNo, &Entry) -> bool,
    ) -> Result<CommitNo, StoreError> {
        self.reads("replay")?;
        self.inner.replay(from, visit)
    }
    fn streams_differ(
        &self,
        commits: (CommitNo, CommitNo),
        realm: Option<u32>,
        step: &mut dyn FnMut() -> bool,
    ) -> Result<Differing, StoreError> {
        self.reads("streams_differ")?;
        self.inner.streams_differ(commits, realm, step)
    }
}

impl Store for FullStore {
    fn submit(&self, commit: Commit, done: Done) {
        if self.keeps.swap(false, Ordering::AcqRel) {
            *self.kept.lock().unwrap() = Some(done);
            return;
        }
        self.inner.submit(commit, done);
    }
    fn barrier(&self, done: Done) {
        let less = |n: usize| n.checked_sub(1);
        let refused = self
            .refuse
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, less);
        match refused {
            Ok(_) => done(Err(StoreError::Overloaded)),
            Err(_) => self.inner.barrier(done),
        }
    }
    fn stats(&self) -> Stats {
        self.inner.stats()
    }
    fn ready(&self) -> Result<(), StoreError> {
        self.inner.ready()
    }
    fn close(&self) -> Result<(), StoreError> {
        self.inner.close()
    }
}

#[actix::test]
async fn a_full_queue_behind_a_transfer_does_not_make_it_forgotten() {
    tokio::time::pause();
    let bank: Arc<TestBank> = Arc::default();
    let first = Harness::new(1, 1, 1000, Arc::<TestBank>::clone(&bank)).await;
    let store = FullStore::over(first.store.crash(0));
    let engine = store.engine(&first.clock, &bank);
    store.refuse.store(1, Ordering::Release);
    let order = sending(outside(), 100, "t");
    let target = Target::Account(AccountNo(1));
    let sending = engine.ledger().order(
        REALM,
        MakeTransfer {
            from: target,
            order,
            dry_run: false,
        },
        plain(),
    );
    let flush = async {
        wait_until(|| store.inner.pending() >= 1).await;
        store.inner.set_automatic(true);
    };
    let (sent, ()) = tokio::join!(sending, flush);
    let sent = value(sent).into_inner();
    assert_eq!(sent.transfer.status, TransferStatus::Requested);
    let asked = || bank.called().iter().any(|c| c.starts_with("transfer"));
    wait_until(asked).await;
}

#[actix::test]
async fn what_may_be_on_disk_is_not_called_overloaded() {
    let bank: Arc<TestBank> = Arc::default();
    let first = Harness::new(1, 2, 1000, Arc::<TestBank>::clone(&bank)).await;
    let store = FullStore::over(first.store.crash(0));
    let engine = store.engine(&first.clock, &bank);
    store.inner.set_automatic(true);
    store.keeps.store(true, Ordering::Release);
    let mut lost = Box::pin(
        engine
            .ledger()
            .order(REALM, adjustment(2, "IN", 5, "lost"), plain()),
    );
    goes_on(&mut lost, || store.kept.lock().unwrap().is_some()).await;
    // All or nothing: a voucher of one account, and one that the other account is just writing.
    store.inner.set_automatic(false);
    let items = vec![
        adjustment(1, "IN", 7, "new"),
        adjustment(2, "IN", 5, "lost"),
    ];
    let both = engine.ledger().order(
        REALM,
        Batch {
            items,
            mode: harness::mode(true),
        },
        plain(),
    );
    let flush = async {
        wait_until(|| store.inner.pending() == 1).await;
        let kept = store.kept.lock().unwrap().take();
        kept.unwrap()(Err(StoreError::Overloaded));
        store.inner.set_automatic(true);
    };
    let (both, ()) = tokio::join!(both, flush);
    assert_eq!(both.unwrap_err(), Failure::OutcomeUnknown);
    assert_eq!(lost.await.unwrap_err(), Failure::Overloaded);
    let disk = |n| {
        crate::engine::operators::on_disk(engine.store().as_ref(), REALM, AccountNo(n))
            .unwrap()
            .0
            .balance
    };
    assert_eq!(disk(1).total().centavos(), 1007);
    assert_eq!(disk(2).total().centavos(), 1000);
}

#[actix::test]
async fn nothing_reads_the_store_where_requests_are_served() {
    let bank: Arc<TestBank> = Arc::default();
    let first = Harness::new(1, 2, 1000, Arc::<TestBank>::clone(&bank)).await;
    let held = value(first.hold(1, 7, "h", None).await).into_inner();
    let given = value(first.give((1, 2), 5, "t").await).into_inner();
    let store = FullStore::over(first.store.crash(0));
    store.inner.set_automatic(true);
    // The actors have a thread of their own; this one serves.
    let engine = store.engine_on(1, &first.clock, &bank);
    *store.serving.lock().unwrap() = Some(std::thread::current().id());
    let first_voucher = super::harness::place(store.inner.as_ref(), 1, 1);
    let target = Target::Account(AccountNo(1));
    engine
        .queries()
        .voucher(REALM, first_voucher)
        .await
        .unwrap();
    let id = ExternalId::parse("first-1").unwrap();
    engine
        .queries()
        .voucher_by_external(REALM, &id, None)
        .await
        .unwrap();
    engine.queries().position(REALM, target).await.unwrap();
    engine.operators().locate(cvu(1)).await.unwrap();
    engine
        .operators()
        .on_disk(REALM, AccountNo(1))
        .await
        .unwrap();
    let hold = held.hold.id(REALM, AccountNo(1));
    engine.queries().hold(REALM, hold).await.unwrap();
    let transfer = given.transfer.id(REALM, AccountNo(1));
    engine.queries().transfer_of(REALM, transfer).await.unwrap();
    let unknown = engine.queries().answers(REALM, "no-key").await;
    assert_eq!(unknown.unwrap_err(), Failure::KeyUnknown);
    assert_eq!(engine.queries().webhooks(REALM).await.unwrap(), []);
    engine.queries().webhook(REALM, 1).await.unwrap_err();
    let webhook = WebhookId {
        realm: REALM,
        number: 1,
    };
    let delivery = DeliveryId {
        webhook,
        event: 1,
        tag: Tag::NONE,
    };
    engine.queries().delivery(delivery).await.unwrap_err();
    let all = AccountFilter::default();
    let page = ListPage {
        order: SortOrder::Ascending,
        limit: 10,
        offset: 0,
        cursor: None,
    };
    let balances = engine.queries().balances(REALM, all, page).await.unwrap();
    let balances: Vec<_> = balances.items.iter().map(|it| it.account.0).collect();
    assert_eq!(balances, [1, 2]);
    let day = first.clock.peek().business_day();
    engine.queries().reconcile(REALM, day, "r").await.unwrap();
    assert_eq!(*store.blocked.lock().unwrap(), Vec::<&str>::new());
}
