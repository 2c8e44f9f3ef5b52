//! Derives this node's rows from records: the only way to do so, for the owner, at recovery and on a follower.
//!
//! **Order.** Records come in the order of the log, each one durable and in this node's journal. The rows of a record
//! become visible together, with the mark up to which the rows reach.
//!
//! **Failure.** An entry that cannot be projected ends the applier: the caller poisons the store or refuses to open it.

use std::sync::Arc;

use crate::api::{Commit, Position, Projection, Row, StoreError};
use crate::durable::ahead::Read;
use crate::durable::cell::FramedEntry;
use crate::durable::project::Overlay;
use crate::index::SortedRows;
use crate::index::manifest::JournalMark;
use crate::journal::position;
use crate::journal::writer::AppendedAt;
use crate::log::Sealed;

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

    /// Adds the rows of a record that is in the journal, with its entries; readers see all of them at once.
    ///
    /// # Errors
    /// The error of the projection or the index for the first entry that could not be projected. Rows of the entries
    /// before it are not shown; the applier must not be used any more.
    pub(crate) fn record(
        &mut self,
        placed: &AppendedAt,
        sealed: &Sealed<'_>,
        entries: &[FramedEntry],
    ) -> Result<(), StoreError> {
        for (place, entry) in entries {
            let position = position(placed.segment.number, placed.offset + place);
            let rows = self.projection.as_ref();
            self.overlay.entry(&self.index, rows, entry, position)?;
        }
        self.publish(sealed, placed.end);
        Ok(())
    }

    /// Adds the rows of a record whose commits are still in memory, and the hints of those commits; `places` are the
    /// offsets of their entries within the record, one per entry, in the same order.
    ///
    /// # Errors
    /// As [`Self::record`].
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

    /// Adds the rows of a record that was read from this node's journal before the store has readers: [`Self::show`]
    /// makes them visible; if there are many, they become tables of their own.
    ///
    /// # Errors
    /// As [`Self::record`] and [`Self::settle`].
    pub(crate) fn again(&mut self, read: &Read) -> Result<(), StoreError> {
        for (position, entry) in &read.entries {
            let rows = self.projection.as_ref();
            self.overlay.entry(&self.index, rows, entry, *position)?;
        }
        self.reaches(read.first_commit, read.mark);
        self.overlay.freeze_if_full(&self.index, self.mark)
    }

    /// Makes the rows that [`Self::again`] has added visible, and frees the memory that they took.
    pub(crate) fn show(&mut self) {
        self.overlay.show(&self.index);
        self.overlay.shrink();
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
        self.reaches(sealed.first_commit().0, mark);
        self.overlay.publish(&self.index);
    }

    /// Notes that the rows now include the record that begins with this commit.
    fn reaches(&mut self, first_commit: u64, mark: JournalMark) {
        assert!(
            first_commit == self.mark.commit + 1,
            "records are applied in the order of the log"
        );
        self.mark = mark;
    }

    /// Freezes the table of rows when it is full; waits while the flusher is behind.
    ///
    /// # Errors
    /// As [`SortedRows::freeze_if_full`].
    pub(crate) fn settle(&self) -> Result<(), StoreError> {
        self.index.freeze_if_full(self.mark)
    }
}
