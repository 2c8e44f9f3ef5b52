//! A store whose queue is full at the moment when it would hurt: orders that only wait are refused.

use std::sync::atomic::AtomicUsize;

use caudal_ledger::transfers::TransferStatus;
use caudal_storage::{
    Commit, CommitNo, Done, Entry, Head, Order as Way, Pair, Position, Stats, Store, StreamId,
};

use super::lab::{Lab, outside, sending};
use super::*;

#[derive(Debug)]
struct Fussy {
    inner: Arc<FaultyStore>,
    refuse: AtomicUsize,
}

impl Store for Fussy {
    fn submit(&self, commit: Commit, done: Done) {
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
    fn head(&self, stream: StreamId) -> Result<Option<Head>, StoreError> {
        self.inner.head(stream)
    }
    fn read(
        &self,
        stream: StreamId,
        from: u64,
        to: u64,
        order: Way,
        limit: usize,
    ) -> Result<Vec<Entry>, StoreError> {
        self.inner.read(stream, from, to, order, limit)
    }
    fn seq_at(&self, stream: StreamId, at: u64) -> Result<Option<u64>, StoreError> {
        self.inner.seq_at(stream, at)
    }
    fn entry(&self, position: Position) -> Result<Entry, StoreError> {
        self.inner.entry(position)
    }
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        self.inner.get(key)
    }
    fn scan(
        &self,
        from: &[u8],
        to: &[u8],
        order: Way,
        limit: usize,
    ) -> Result<Vec<Pair>, StoreError> {
        self.inner.scan(from, to, order, limit)
    }
    fn replay(
        &self,
        from: CommitNo,
        visit: &mut dyn FnMut(CommitNo, &Entry) -> bool,
    ) -> Result<CommitNo, StoreError> {
        self.inner.replay(from, visit)
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
    let first = Lab::new(1, 1, 1000, Arc::<TestBank>::clone(&bank)).await;
    let store = Arc::new(Fussy {
        inner: first.store.crash(0),
        refuse: AtomicUsize::new(0),
    });
    let gateway: Arc<dyn BankGateway> = Arc::<TestBank>::clone(&bank);
    let engine = Engine::start(
        Arc::<Fussy>::clone(&store),
        Arc::<lab::LabClock>::clone(&first.clock),
        Arc::new(move |_| Arc::clone(&gateway)),
        Options {
            arbiters: 0,
            ..Options::default()
        },
    );
    let engine = engine.unwrap();
    store.refuse.store(1, Ordering::Release);
    let order = sending(outside(), 100, "t");
    let target = Target::Account(AccountNo(1));
    let sending = engine.transfer(REALM, target, order, false, plain());
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
