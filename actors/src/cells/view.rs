//! A generation of a realm as its actors see it: under the realm's own number.
//!
//! **Shape.** The streams and rows of a later generation lie under another number ([`RealmId::under`]), and every key
//! of a realm has that number behind its first byte (`records/keys.rs`). So the whole translation is here: the number
//! is changed on the way in and back on the way out. Keys of other realms, or of none, pass unchanged.
//!
//! **Bounds.** A read costs a copy of its key and of the keys that it finds; a commit costs four bytes for each entry.
//!
//! **Order.** The wrapped store keeps all its promises.
//!
//! **Failure.** The errors are the store's, and name the streams as they lie.

use std::borrow::Cow;
use std::sync::Arc;

use caudal_ledger::ids::RealmId;
use caudal_storage::{
    Checks, Commit, CommitNo, Differing, Done, Entry, Head, Index, Pair, Position, Row, SortOrder,
    Stats, Store, StoreError, StreamId,
};

use crate::records::keys;

/// A store in which one generation of a realm takes the realm's place.
#[derive(Clone, Debug)]
pub struct View {
    store: Arc<dyn Store>,
    /// The number by which the realm is known.
    home: RealmId,
    /// The number under which it lies.
    under: RealmId,
}

impl View {
    /// Shows a generation of a realm.
    pub fn of(store: Arc<dyn Store>, realm: RealmId, generation: u32) -> Self {
        Self {
            store,
            home: realm.home(),
            under: realm.under(generation),
        }
    }

    fn inwards(&self, stream: StreamId) -> StreamId {
        match stream.realm == self.home.0 {
            true => StreamId {
                realm: self.under.0,
                ..stream
            },
            false => stream,
        }
    }

    fn outwards(&self, mut entry: Entry) -> Entry {
        if entry.stream.realm == self.under.0 {
            entry.stream.realm = self.home.0;
        }
        entry
    }

    fn key<'a>(&self, key: &'a [u8]) -> Cow<'a, [u8]> {
        if let Some(key) = keys::origin_under(self.under, key) {
            return key.into();
        }
        match keys::renumbered(key, self.home, self.under) {
            Some(key) => key.into(),
            None => key.into(),
        }
    }

    /// Both ends of a scan: a scan that begins in the realm also ends in it.
    fn range<'a>(&self, from: &'a [u8], to: &'a [u8]) -> (Cow<'a, [u8]>, Cow<'a, [u8]>) {
        let Some(begin) = keys::renumbered(from, self.home, self.under) else {
            return (from.into(), to.into());
        };
        let end = match keys::renumbered(to, self.home, self.under) {
            Some(end) => end,
            // An end behind the realm becomes an end behind the generation.
            None => keys::after_prefix(&begin.iter().copied().take(NUMBERED).collect::<Vec<_>>()),
        };
        (begin.into(), end.into())
    }

    fn rows(&self, rows: Vec<Row>) -> Vec<Row> {
        let renumber = |row: Row| Row {
            key: self.key(&row.key).into_owned(),
            ..row
        };
        rows.into_iter().map(renumber).collect()
    }

    /// Gives a row that was found the number by which it was asked for.
    fn back(&self, (key, value): Pair) -> Pair {
        let own = keys::renumbered(&key, self.under, self.home);
        (own.unwrap_or(key), value)
    }
}

/// Bytes of a key up to the end of the realm's number.
const NUMBERED: usize = 5;

impl Index for View {
    fn applied(&self) -> CommitNo {
        self.store.applied()
    }

    fn head(&self, stream: StreamId) -> Result<Option<Head>, StoreError> {
        self.store.head(self.inwards(stream))
    }

    fn read(
        &self,
        stream: StreamId,
        from: u64,
        to: u64,
        order: SortOrder,
        limit: usize,
    ) -> Result<Vec<Entry>, StoreError> {
        let stream = self.inwards(stream);
        let found = self.store.read(stream, from, to, order, limit)?;
        Ok(found.into_iter().map(|it| self.outwards(it)).collect())
    }

    fn seq_at(&self, stream: StreamId, at: u64) -> Result<Option<u64>, StoreError> {
        self.store.seq_at(self.inwards(stream), at)
    }

    fn entry(&self, position: Position) -> Result<Entry, StoreError> {
        Ok(self.outwards(self.store.entry(position)?))
    }

    fn has(&self, stream: StreamId, seq: u64) -> Result<bool, StoreError> {
        self.store.has(self.inwards(stream), seq)
    }

    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        self.store.get(&self.key(key))
    }

    fn scan(
        &self,
        from: &[u8],
        to: &[u8],
        order: SortOrder,
        limit: usize,
    ) -> Result<Vec<Pair>, StoreError> {
        let (from, to) = self.range(from, to);
        let found = self.store.scan(&from, &to, order, limit)?;
        Ok(found.into_iter().map(|pair| self.back(pair)).collect())
    }

    fn walk(&self, from: &[u8], to: &[u8], limit: usize) -> Result<Vec<Pair>, StoreError> {
        let (from, to) = self.range(from, to);
        let found = self.store.walk(&from, &to, limit)?;
        Ok(found.into_iter().map(|pair| self.back(pair)).collect())
    }

    /// Leaves out the entries of the realm's other generations, and nothing else.
    fn replay(
        &self,
        from: CommitNo,
        visit: &mut dyn FnMut(CommitNo, &Entry) -> bool,
    ) -> Result<CommitNo, StoreError> {
        self.store.replay(from, &mut |commit, entry| {
            let of = RealmId(entry.stream.realm);
            match of.home() == self.home {
                true if of == self.under => visit(commit, &self.outwards(entry.clone())),
                true => true,
                false => visit(commit, entry),
            }
        })
    }

    /// Without a realm, compares all streams of the store beneath.
    fn streams_differ(
        &self,
        commits: (CommitNo, CommitNo),
        realm: Option<u32>,
        step: &mut dyn FnMut() -> bool,
    ) -> Result<Differing, StoreError> {
        let inwards = |realm| {
            let (kind, number) = (0, 0);
            let stream = StreamId {
                realm,
                kind,
                number,
            };
            self.inwards(stream).realm
        };
        let realm = realm.map(inwards);
        self.store.streams_differ(commits, realm, step)
    }
}

impl Store for View {
    fn submit(&self, mut commit: Commit, done: Done) {
        for entry in &mut commit.entries {
            entry.stream = self.inwards(entry.stream);
        }
        for (stream, _) in &mut commit.decided_on {
            *stream = self.inwards(*stream);
        }
        commit.hints = self.rows(commit.hints);
        self.store.submit(commit, done);
    }

    fn barrier(&self, done: Done) {
        self.store.barrier(done);
    }

    fn note(&self, hints: Vec<Row>) {
        self.store.note(self.rows(hints));
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

#[cfg(test)]
mod tests {
    use caudal_ledger::ids::{AccountNo, OriginId};
    use caudal_storage::{Fact, MemoryStore};

    use super::*;
    use crate::records::projection::Rows;
    use crate::records::{ANSWER_PARTS, account_stream};

    const REALM: RealmId = RealmId(0xff);

    fn view() -> (Arc<dyn Store>, View) {
        let store: Arc<dyn Store> = MemoryStore::synchronous(Arc::new(Rows));
        (Arc::clone(&store), View::of(store, REALM, 3))
    }

    fn note(store: &dyn Store, key: Vec<u8>) {
        let value = Some(b"here".to_vec());
        store.note(vec![Row { key, value }]);
    }

    #[test]
    fn a_generation_has_rows_of_its_own_under_the_keys_of_its_realm() {
        let (store, view) = view();
        let under = REALM.under(3);
        assert_eq!((under.home(), under.generation()), (REALM, 3));
        let (one, other) = (AccountNo(1), AccountNo(u64::MAX));
        for account in [one, other] {
            note(&view, keys::snapshot(REALM, account));
            assert_eq!(store.get(&keys::snapshot(REALM, account)).unwrap(), None);
            let lies = store.get(&keys::snapshot(under, account)).unwrap();
            assert_eq!(lies, view.get(&keys::snapshot(REALM, account)).unwrap());
        }
        // The next realm, which a scan to the end must not show.
        note(store.as_ref(), keys::snapshot(RealmId(under.0 + 1), one));
        note(store.as_ref(), keys::snapshot(RealmId(REALM.0 + 1), one));
        let first = keys::snapshot(REALM, AccountNo(0));
        let from = first.get(..NUMBERED).unwrap();
        let found = view
            .scan(from, &keys::after_prefix(from), SortOrder::Ascending, 10)
            .unwrap();
        let found: Vec<_> = found.into_iter().map(|(key, _)| key).collect();
        let right = [one, other].map(|account| keys::snapshot(REALM, account));
        assert_eq!(found, right);
        // Keys of other realms pass unchanged.
        let next = keys::snapshot(RealmId(REALM.0 + 1), one);
        assert_eq!(view.get(&next).unwrap(), store.get(&next).unwrap());
    }

    #[test]
    fn a_reference_is_looked_for_among_those_of_the_generation() {
        let (store, view) = view();
        let origin = OriginId::parse("000080000G00003").unwrap();
        note(store.as_ref(), keys::origin(REALM, origin));
        assert_eq!(view.get(&keys::origin(REALM, origin)).unwrap(), None);
        note(&view, keys::origin(REALM, origin));
        assert!(view.get(&keys::origin(REALM, origin)).unwrap().is_some());
        let lies = store.get(&keys::origin(REALM.under(3), origin)).unwrap();
        assert!(lies.is_some());
    }

    #[test]
    fn streams_are_the_generations_and_other_generations_are_not_replayed() {
        let (store, view) = view();
        let of = |realm, seq| Commit {
            entries: vec![Entry {
                stream: account_stream(realm, AccountNo(1), ANSWER_PARTS),
                seq,
                at: seq,
                body: b"part".to_vec(),
                fact: Fact::default(),
            }],
            hints: Vec::new(),
            ..Commit::default()
        };
        let put = |store: &dyn Store, realm, seq| {
            let done = Box::new(|done: Result<_, _>| assert!(done.is_ok()));
            store.submit(of(realm, seq), done);
        };
        put(store.as_ref(), REALM, 1);
        put(&view, REALM, 1);
        put(&view, REALM, 2);
        put(store.as_ref(), RealmId(7), 1);
        let stream = account_stream(REALM, AccountNo(1), ANSWER_PARTS);
        assert_eq!(store.head(stream).unwrap().unwrap().seq, 1);
        assert_eq!(view.head(stream).unwrap().unwrap().seq, 2);
        let read = view.read(stream, 1, 9, SortOrder::Ascending, 9).unwrap();
        assert!(read.iter().all(|it| it.stream == stream) && read.len() == 2);
        let mut seen = Vec::new();
        view.replay(CommitNo(1), &mut |_, entry| {
            seen.push((entry.stream.realm, entry.seq));
            true
        })
        .unwrap();
        assert_eq!(seen, [(REALM.0, 1), (REALM.0, 2), (7, 1)]);
    }
}
