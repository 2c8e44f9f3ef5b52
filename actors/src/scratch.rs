//! Projects entries before they are durable, to find out whether they can be.
//!
//! **Why.** The store projects an entry only after its record is durable, and an entry that cannot be projected then ends
//! the store and every follower of its log. Entries that another program sends are therefore projected here first.
//!
//! **Shape.** Rows that the entries write are kept in memory and dropped at the end; all others are read from the store.
//!
//! **Bounds.** The caller bounds the entries, and their rows with them.

use std::collections::HashMap;

use caudal_storage::{Entry, Index, IndexWriter, Position, Projection as _, StoreError, StreamId};

use crate::records::projection::Rows;

/// Projects entries that follow each other and what the store has.
///
/// # Errors
/// What the projection says of the first entry that it cannot project, or what the store says of a failed read.
pub fn project(store: &dyn Index, entries: &[Entry]) -> Result<(), StoreError> {
    let mut scratch = Scratch {
        store,
        rows: HashMap::new(),
        heads: HashMap::new(),
    };
    for entry in entries {
        // followers ask this, and refuse the record
        Rows.knows(entry)?;
        scratch.heads.insert(entry.stream, entry.seq);
        Rows.project(entry, Position(0), &mut scratch)?;
    }
    Ok(())
}

struct Scratch<'a> {
    store: &'a dyn Index,
    /// The rows that the entries wrote; `None` where they removed one.
    rows: HashMap<Vec<u8>, Option<Vec<u8>>>,
    /// The last sequence of each of their streams.
    heads: HashMap<StreamId, u64>,
}

impl IndexWriter for Scratch<'_> {
    fn get(&mut self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        match self.rows.get(key) {
            Some(written) => Ok(written.clone()),
            None => self.store.get(key),
        }
    }

    fn put(&mut self, key: &[u8], value: &[u8]) {
        self.rows.insert(key.to_vec(), Some(value.to_vec()));
    }

    fn delete(&mut self, key: &[u8]) {
        self.rows.insert(key.to_vec(), None);
    }

    fn next(&mut self, key: &[u8]) -> Result<u64, StoreError> {
        let wrong = || StoreError::Invalid("a row that is counted under is no counter".to_owned());
        let last = match self.get(key)? {
            Some(value) => u64::from_be_bytes(value.try_into().map_err(|_| wrong())?),
            None => 0,
        };
        let next = last.checked_add(1).ok_or_else(wrong)?;
        self.put(key, &next.to_be_bytes());
        Ok(next)
    }

    fn head(&mut self, stream: StreamId) -> Result<u64, StoreError> {
        match self.heads.get(&stream) {
            Some(seq) => Ok(*seq),
            None => Ok(self.store.head(stream)?.map_or(0, |head| head.seq)),
        }
    }
}

#[cfg(test)]
mod tests {
    use caudal_ledger::ids::{AccountNo, RealmId};
    use caudal_storage::{Fact, MemoryStore};

    use super::*;
    use crate::records::{LEDGER, PLATFORM, account_stream};

    #[test]
    fn an_entry_that_the_projection_does_not_know_is_found_before_it_is_written() {
        let store = MemoryStore::new(std::sync::Arc::new(Rows));
        let entry = |kind: u8, body: &[u8]| Entry {
            stream: StreamId {
                kind,
                ..account_stream(RealmId(1), AccountNo(1), LEDGER)
            },
            seq: 1,
            at: 1,
            body: body.to_vec(),
            fact: Fact::default(),
        };
        for (kind, body) in [
            (255, "".as_bytes()),
            (LEDGER, b""),
            (LEDGER, b"no voucher"),
            (PLATFORM, b"no fact"),
        ] {
            let found = project(store.as_ref(), &[entry(kind, body)]);
            assert!(found.is_err(), "{kind}: {found:?}");
        }
        assert_eq!(store.applied().0, 0, "nothing is written");
    }
}
