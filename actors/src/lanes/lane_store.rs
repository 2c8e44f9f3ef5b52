//! A lane as a store: reads pass through, commits and barriers take their turns.

use caudal_storage::{
    Checks, Commit, CommitNo, Differing, Done, Entry, EntryPlace, Head, Index, Pair, Position, Row,
    SortOrder, Stats, Store, StoreError, StreamId,
};

use super::{Lane, LaneItem};

impl Index for Lane {
    fn applied(&self) -> CommitNo {
        self.store.applied()
    }

    fn head(&self, stream: StreamId) -> Result<Option<Head>, StoreError> {
        self.store.head(stream)
    }

    fn read(
        &self,
        stream: StreamId,
        from: u64,
        to: u64,
        order: SortOrder,
        limit: usize,
    ) -> Result<Vec<Entry>, StoreError> {
        self.store.read(stream, from, to, order, limit)
    }

    fn seq_at(&self, stream: StreamId, at: u64) -> Result<Option<u64>, StoreError> {
        self.store.seq_at(stream, at)
    }

    fn entry(&self, position: Position) -> Result<Entry, StoreError> {
        self.store.entry(position)
    }

    fn find(&self, entries: &[(StreamId, u64)]) -> Result<Vec<Option<EntryPlace>>, StoreError> {
        self.store.find(entries)
    }

    fn has(&self, stream: StreamId, seq: u64) -> Result<bool, StoreError> {
        self.store.has(stream, seq)
    }

    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        self.store.get(key)
    }

    fn scan(
        &self,
        from: &[u8],
        to: &[u8],
        order: SortOrder,
        limit: usize,
    ) -> Result<Vec<Pair>, StoreError> {
        self.store.scan(from, to, order, limit)
    }

    fn visit(
        &self,
        from: &[u8],
        to: &[u8],
        visit: &mut dyn FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<(), StoreError> {
        self.store.visit(from, to, visit)
    }

    fn walk(&self, from: &[u8], to: &[u8], limit: usize) -> Result<Vec<Pair>, StoreError> {
        self.store.walk(from, to, limit)
    }

    fn replay(
        &self,
        from: CommitNo,
        visit: &mut dyn FnMut(CommitNo, &Entry) -> bool,
    ) -> Result<CommitNo, StoreError> {
        self.store.replay(from, visit)
    }

    fn streams_differ(
        &self,
        commits: (CommitNo, CommitNo),
        realm: Option<u32>,
        step: &mut dyn FnMut() -> bool,
    ) -> Result<Differing, StoreError> {
        self.store.streams_differ(commits, realm, step)
    }
}

impl Store for Lane {
    fn submit(&self, commit: Commit, done: Done) {
        self.add(LaneItem::Commit(commit, done));
    }

    fn barrier(&self, done: Done) {
        self.add(LaneItem::Barrier(done));
    }

    /// Hints do not wait: an account that leaves some has no commit in flight.
    fn note(&self, hints: Vec<Row>) {
        self.store.note(hints);
    }

    fn stats(&self) -> Stats {
        self.store.stats()
    }

    fn checks(&self) -> Checks {
        self.store.checks()
    }

    fn ready(&self) -> Result<(), StoreError> {
        self.store.ready()
    }

    fn close(&self) -> Result<(), StoreError> {
        self.store.close()
    }
}
