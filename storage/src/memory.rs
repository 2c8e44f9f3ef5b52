//! The engine for tests without a disk: it behaves like the others and forgets everything when
//! dropped.
//!
//! **Order.** [`MemoryStore::new`] has a thread of its own, like the durable engine;
//! [`MemoryStore::synchronous`] calls `done` inside `submit` on the caller's thread, after its own
//! lock is free, for tests that must be deterministic. With it, a caller must not hold anything
//! during `submit` that its callback waits for.

pub(crate) mod state;

use std::fmt;
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex};

use crate::api::{
    Commit, CommitNo, Differing, Done, Entry, Head, Index, Pair, Position, Projection, Row,
    SortOrder, Stats, Store, StoreError, StreamId,
};
use crate::memory::state::MemoryState;
use crate::num::u64_of;
use crate::rows::check_row;
use crate::sync::lock;

/// The most commits that may wait.
const QUEUE_COMMITS: usize = 8192;

enum PendingItem {
    Commit(Commit, Done),
    Barrier(Done),
    Close(SyncSender<()>),
}

struct MemoryStoreCore {
    projection: Arc<dyn Projection>,
    state: Mutex<MemoryState>,
}

impl MemoryStoreCore {
    fn commit(&self, commit: Commit) -> Result<CommitNo, StoreError> {
        let mut state = lock(&self.state);
        state.check(&commit)?;
        state.apply(commit, self.projection.as_ref())
    }
}

/// A store in memory.
pub struct MemoryStore {
    core: Arc<MemoryStoreCore>,
    /// `None` when the store is closed or has no thread.
    queue: Mutex<Option<SyncSender<PendingItem>>>,
    threaded: bool,
    closed: std::sync::atomic::AtomicBool,
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStore")
            .field("threaded", &self.threaded)
            .finish_non_exhaustive()
    }
}

impl MemoryStore {
    /// An empty store that calls `done` on a thread of its own.
    pub fn new(projection: Arc<dyn Projection>) -> Arc<Self> {
        let (queue, items) = sync_channel::<PendingItem>(QUEUE_COMMITS);
        let core = Arc::new(MemoryStoreCore {
            projection,
            state: Mutex::new(MemoryState::default()),
        });
        let own = Arc::clone(&core);
        // if the thread cannot be started, every submit answers Closed
        let thread = std::thread::Builder::new().name("caudal-storage-memory".to_owned());
        let started = thread.spawn(move || {
            for item in items {
                match item {
                    PendingItem::Commit(commit, done) => done(own.commit(commit)),
                    PendingItem::Barrier(done) => done(Ok(CommitNo(lock(&own.state).last))),
                    PendingItem::Close(reply) => {
                        if reply.send(()).is_err() {
                            tracing::error!(
                                "the caller that waited for the store to close has gone"
                            );
                        }
                        return;
                    }
                }
            }
        });
        let queue = started.ok().map(|_| queue);
        Arc::new(Self {
            core,
            queue: Mutex::new(queue),
            threaded: true,
            closed: std::sync::atomic::AtomicBool::new(false),
        })
    }

    /// An empty store that calls `done` inside `submit`.
    pub fn synchronous(projection: Arc<dyn Projection>) -> Arc<Self> {
        Arc::new(Self {
            core: Arc::new(MemoryStoreCore {
                projection,
                state: Mutex::new(MemoryState::default()),
            }),
            queue: Mutex::new(None),
            threaded: false,
            closed: std::sync::atomic::AtomicBool::new(false),
        })
    }

    fn gate(&self) -> Result<(), StoreError> {
        let closed = self.closed.load(std::sync::atomic::Ordering::Acquire);
        if closed {
            Err(StoreError::Closed)
        } else {
            Ok(())
        }
    }

    fn send(&self, item: PendingItem) {
        let sent = match lock(&self.queue).as_ref() {
            Some(queue) => queue.try_send(item),
            None => Err(TrySendError::Disconnected(item)),
        };
        match sent {
            Ok(()) => {}
            Err(TrySendError::Full(PendingItem::Commit(_, done) | PendingItem::Barrier(done))) => {
                done(Err(StoreError::Overloaded));
            }
            Err(TrySendError::Disconnected(
                PendingItem::Commit(_, done) | PendingItem::Barrier(done),
            )) => {
                done(Err(StoreError::Closed));
            }
            Err(_) => {}
        }
    }
}

impl Index for MemoryStore {
    fn applied(&self) -> CommitNo {
        CommitNo(lock(&self.core.state).last)
    }

    fn head(&self, stream: StreamId) -> Result<Option<Head>, StoreError> {
        self.gate()?;
        Ok(lock(&self.core.state).head(stream))
    }

    fn read(
        &self,
        stream: StreamId,
        from: u64,
        to: u64,
        order: SortOrder,
        limit: usize,
    ) -> Result<Vec<Entry>, StoreError> {
        self.gate()?;
        Ok(lock(&self.core.state).read(stream, (from, to), order, limit))
    }

    fn seq_at(&self, stream: StreamId, at: u64) -> Result<Option<u64>, StoreError> {
        self.gate()?;
        Ok(lock(&self.core.state).seq_at(stream, at))
    }

    fn entry(&self, position: Position) -> Result<Entry, StoreError> {
        self.gate()?;
        lock(&self.core.state).entry(position)
    }

    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        self.gate()?;
        Ok(lock(&self.core.state).get(key))
    }

    fn scan(
        &self,
        from: &[u8],
        to: &[u8],
        order: SortOrder,
        limit: usize,
    ) -> Result<Vec<Pair>, StoreError> {
        self.gate()?;
        Ok(lock(&self.core.state).scan(from, to, order, limit))
    }

    fn replay(
        &self,
        from: CommitNo,
        visit: &mut dyn FnMut(CommitNo, &Entry) -> bool,
    ) -> Result<CommitNo, StoreError> {
        self.gate()?;
        // a clone, so that `visit` may call the store
        let state = lock(&self.core.state).clone();
        Ok(state.replay(from, visit))
    }

    fn streams_differ(
        &self,
        _: (CommitNo, CommitNo),
        _: Option<u32>,
        _: &mut dyn FnMut() -> bool,
    ) -> Result<Differing, StoreError> {
        Ok(Differing::default())
    }
}

impl Store for MemoryStore {
    fn submit(&self, commit: Commit, done: Done) {
        if let Err(e) = self.gate() {
            return done(Err(e));
        }
        if self.threaded {
            self.send(PendingItem::Commit(commit, done));
        } else {
            done(self.core.commit(commit));
        }
    }

    fn barrier(&self, done: Done) {
        if let Err(e) = self.gate() {
            return done(Err(e));
        }
        if self.threaded {
            self.send(PendingItem::Barrier(done));
        } else {
            let last = lock(&self.core.state).last;
            done(Ok(CommitNo(last)));
        }
    }

    fn note(&self, hints: Vec<Row>) {
        if self.gate().is_ok() && hints.iter().all(|row| check_row(row).is_ok()) {
            lock(&self.core.state).note(hints, self.core.projection.as_ref());
        }
    }

    fn stats(&self) -> Stats {
        let state = lock(&self.core.state);
        Stats {
            commits: state.last,
            entries: u64_of(state.len()),
            last_commit: state.last,
            indexed_commit: state.last,
            ..Stats::default()
        }
    }

    fn ready(&self) -> Result<(), StoreError> {
        self.gate()
    }

    fn close(&self) -> Result<(), StoreError> {
        self.gate()?;
        let queue = lock(&self.queue).take();
        if let Some(queue) = queue {
            let (reply, closed) = sync_channel(1);
            if queue.send(PendingItem::Close(reply)).is_ok() && closed.recv().is_err() {
                tracing::error!("the thread of a memory store panicked");
            }
        }
        self.closed
            .store(true, std::sync::atomic::Ordering::Release);
        Ok(())
    }
}
