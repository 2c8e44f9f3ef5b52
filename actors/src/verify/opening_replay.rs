//! A verification that begins while a store opens: it takes in the entries from which the index is built as they pass,
//! so that the journal is read and decoded once for both.
//!
//! **Shape.** A [`OpeningReplay`] is the projection of the store. It takes in each entry where it is decoded, and makes the
//! rows of [`ServiceProjection`].
//!
//! **Failure.** The entries that passed may not be complete: the index already had some of it, or the opening was begun
//! anew. Then the journal is read once more.

use std::sync::{Arc, Mutex, PoisonError};

use caudal_ledger::events::rules::RuleSets;
use caudal_ledger::ids::{AccountNo, RealmId};
use caudal_ledger::vouchers::Voucher;
use caudal_storage::{
    CommitNo, Entry, Head, Index, IndexWriter, Position, Projection, StoreError, StreamId,
};

use super::compare::Workers;
use super::pipe::{JournalRange, ReadEntry};
use super::replay::JournalReplay;
use super::{Histories, Report, everything, judged, store};
use crate::records::projection::ServiceProjection;

/// Makes the rows of a store that opens, and takes in the entries from which they are made.
pub struct OpeningReplay {
    seen: Mutex<Seeing>,
}

struct Seeing {
    walk: JournalReplay,
    /// The commit of the last entry; 0 before the first.
    last: CommitNo,
    /// Whether all entries up to `last` passed once, in their order.
    whole: bool,
}

impl OpeningReplay {
    /// A watch that has seen nothing, and may keep the profiles of this many accounts if that is more than a
    /// verification keeps anyway; a profile takes about a kilobyte.
    pub fn new(profiles: usize) -> Arc<Self> {
        let mut walk = JournalReplay::under(RuleSets::ALL);
        walk.profiles_max = walk.profiles_max.max(profiles);
        let seeing = Seeing {
            walk,
            last: CommitNo(0),
            whole: true,
        };
        Arc::new(Self {
            seen: Mutex::new(seeing),
        })
    }

    /// Verifies the store that was opened with this watch, as [`store`] does.
    ///
    /// # Errors
    /// As [`store`].
    pub fn verified(
        &self,
        opened: &dyn Index,
        progress: &mut dyn FnMut(u64),
    ) -> Result<(Report, Histories), StoreError> {
        let nothing = JournalReplay::under(RuleSets::ALL);
        let (walk, last, whole) = {
            let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
            let walk = std::mem::replace(&mut seen.walk, nothing);
            (walk, seen.last, std::mem::replace(&mut seen.whole, false))
        };
        if !whole || last != opened.applied() {
            return store(opened, progress);
        }
        progress(walk.report.entries);
        let judged = judged(
            walk,
            JournalRange::all(opened, true),
            last,
            opened,
            Workers::Two,
        )?;
        everything(judged, opened)
    }
}

impl Projection for OpeningReplay {
    fn version(&self) -> u32 {
        ServiceProjection.version()
    }

    fn scoped(&self) -> &[u8] {
        ServiceProjection.scoped()
    }

    fn single(&self) -> &[u8] {
        ServiceProjection.single()
    }

    fn unread(&self) -> &[u8] {
        ServiceProjection.unread()
    }

    fn rest_key(&self, stream: StreamId) -> Option<Vec<u8>> {
        ServiceProjection.rest_key(stream)
    }

    fn rests(&self, key: &[u8], value: &[u8]) -> Option<(StreamId, Head)> {
        ServiceProjection.rests(key, value)
    }

    fn project(
        &self,
        entry: &Entry,
        position: Position,
        index: &mut dyn IndexWriter,
    ) -> Result<(), StoreError> {
        ServiceProjection.project(entry, position, index)
    }

    fn knows(&self, entry: &Entry) -> Result<(), StoreError> {
        ServiceProjection.knows(entry)
    }

    fn recall(&self, commit: CommitNo, entry: &mut Entry) {
        ServiceProjection.recall(commit, entry);
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        // An empty commit is a gap, and so is a commit that passed before.
        seen.whole &= [seen.last.0, seen.last.0 + 1].contains(&commit.0);
        if !seen.whole {
            return;
        }
        seen.last = commit;
        let at = (RealmId(entry.stream.realm), AccountNo(entry.stream.number));
        match entry.fact.get::<Voucher>() {
            Some(voucher) => seen.walk.voucher(commit, at, voucher),
            None => seen.walk.take(commit, at, ReadEntry::of(entry)),
        }
    }
}
