//! Derives this node's rows from records: the only way to do so, for the owner, at recovery and on a follower.
//!
//! **Order.** Records come in the order of the log, each one durable and in this node's journal. The rows of a record
//! become visible together, with the mark up to which the rows reach.
//!
//! **Failure.** An entry that cannot be projected ends the applier: the caller poisons the store or refuses to open it.

use std::sync::Arc;

use crate::api::{Commit, Position, Projection, Row, StoreError};
use crate::durable::project::Overlay;
use crate::index::SortedRows;
use crate::index::manifest::JournalMark;
use crate::journal::writer::AppendedAt;
use crate::journal::{position, split};
use crate::log::Sealed;
use crate::num::u32_of;
use crate::rows::no_entry;

/// The rows of a node, and how far in the log they reach.
pub(crate) struct Applier {
    index: Arc<SortedRows>,
    projection: Arc<dyn Projection>,
    overlay: Overlay,
    mark: JournalMark,
}

impl Applier {
    /// Continues from the mark of `index`; keeps at most this many counters in memory.
    pub(crate) fn new(
        index: Arc<SortedRows>,
        projection: Arc<dyn Projection>,
        counters_max: usize,
    ) -> Self {
        Self {
            mark: index.mark(),
            index,
            overlay: Overlay::new(projection.as_ref(), counters_max),
            projection,
        }
    }

    /// How far the rows reach.
    pub(crate) fn mark(&self) -> JournalMark {
        self.mark
    }

    /// Adds the rows of a record that is in the journal at this place; readers see all of them at once.
    ///
    /// # Errors
    /// The error of the projection or the index for the first entry that could not be projected, `Corrupt` for one that
    /// fails its checksum. Rows of the entries before it are not shown; the applier must not be used any more.
    pub(crate) fn record(&mut self, at: Position, sealed: &Sealed<'_>) -> Result<(), StoreError> {
        let (segment, offset) = split(at);
        let (mut entry, mut failed) = (no_entry(), None);
        let whole = sealed.record().visit(&mut |_, place, found| {
            found.copy_to(&mut entry);
            let place = position(segment, offset + place);
            let rows = self.projection.as_ref();
            failed = self.overlay.entry(&self.index, rows, &entry, place).err();
            failed.is_none()
        });
        if let Some(e) = failed {
            return Err(e);
        }
        if !whole {
            let first = sealed.first_commit().0;
            let why = format!("an entry of commit {first} or behind it fails its checksum");
            return Err(StoreError::Corrupt(why.into()));
        }
        let end = position(segment, offset + u32_of(sealed.bytes().len()));
        self.publish(sealed, end);
        Ok(())
    }

    /// Adds the rows of a record whose commits are still in memory, and the hints of those commits; `places` are the
    /// offsets of their entries within the record, one per entry, in the same order.
    pub(crate) fn commits(
        &mut self,
        commits: &[Commit],
        places: &[u32],
        placed: &AppendedAt,
        sealed: &Sealed<'_>,
    ) -> Result<(), StoreError> {
        let offered: usize = commits.iter().map(|commit| commit.entries.len()).sum();
        assert_eq!(
            places.len(),
            offered,
            "each entry has its place in the journal"
        );
        let mut places = places.iter();
        for commit in commits {
            for entry in &commit.entries {
                #[expect(
                    clippy::expect_used,
                    reason = "counted before; the record's own place would be indexed instead"
                )]
                let place = *places.next().expect("a place for each entry");
                let position = position(placed.segment.number, placed.offset + place);
                let rows = self.projection.as_ref();
                self.overlay.entry(&self.index, rows, entry, position)?;
            }
            self.overlay.hints(&commit.hints);
        }
        self.publish(sealed, placed.end);
        Ok(())
    }

    /// Adds rows that belong to no commit and can be lost.
    pub(crate) fn note(&mut self, rows: &[Row]) {
        if !rows.is_empty() {
            self.overlay.hints(rows);
            self.overlay.publish(&self.index);
        }
    }

    fn publish(&mut self, sealed: &Sealed<'_>, end: Position) {
        let tail = sealed.tail();
        let mark = JournalMark {
            commit: tail.commit.0,
            chain: tail.hash,
            end,
        };
        assert!(
            sealed.first_commit().0 == self.mark.commit + 1,
            "records are applied in the order of the log"
        );
        self.mark = mark;
        self.overlay.publish(&self.index);
    }

    /// Freezes the table of rows when it is full; waits while the flusher is behind.
    pub(crate) fn settle(&self) -> Result<(), StoreError> {
        self.index.freeze_if_full(self.mark)
    }
}
