//! The records of a store as its journal holds them, for backups and exports.
//!
//! **Shape.** A [`Spot`] is a place between two records: where the next one begins, and the end of the chain there.
//!
//! **Order.** Only durable records are shown, in the order of the chain: a record that was copied cannot be lost here.
//!
//! **Failure.** A handle keeps nothing of the store locked. Reads fail as in [`crate::Index`].

use std::sync::Arc;

use crate::api::{Position, StoreError};
use crate::durable::identity::Identity;
use crate::journal::format::SEGMENT_HEADER;
use crate::journal::{Journal, position, split};
use crate::log::{LogId, Sealed, Tail};
use crate::num::u32_of;

/// A place between two records of one journal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Spot {
    at: Position,
    tail: Tail,
}

impl Spot {
    /// The end of the chain there.
    pub fn tail(&self) -> Tail {
        self.tail
    }
}

/// How far a journal was durable at some moment.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct End(Position);

/// A handle to the durable records of an open store.
#[derive(Clone, Debug)]
pub struct Records {
    journal: Arc<Journal>,
    identity: Identity,
}

impl Records {
    /// The records of a journal that belongs to a store.
    pub(super) fn new(journal: Arc<Journal>, identity: Identity) -> Self {
        Self { journal, identity }
    }

    /// The id with which the chain begins ([`Tail::none`]).
    pub fn log(&self) -> LogId {
        self.identity.log
    }

    /// The id of the store: the same as [`Self::log`], unless the store was continued from an older copy.
    pub fn history(&self) -> LogId {
        self.identity.history
    }

    /// The place before the first record.
    pub fn beginning(&self) -> Spot {
        Spot {
            at: position(1, SEGMENT_HEADER),
            tail: Tail::none(&self.identity.log),
        }
    }

    /// The place where the chain ends with `tail`; `None` when no record here ends with it. Reads at most one segment.
    ///
    /// # Errors
    /// When the journal cannot be read.
    pub fn find(&self, tail: &Tail) -> Result<Option<Spot>, StoreError> {
        let beginning = self.beginning();
        if tail.commit == beginning.tail.commit {
            return Ok((*tail == beginning.tail).then_some(beginning));
        }
        let mut found = None;
        let from = self.journal.segment_of(tail.commit.0);
        self.journal.records(from, &mut |at, record| {
            let more = record.header.last_commit() < tail.commit.0;
            if !more {
                found = Some(Self::after(at, &Sealed::of(*record)));
            }
            Ok(more)
        })?;
        Ok(found.filter(|spot| spot.tail == *tail))
    }

    /// Visits each durable record after `from` until `visit` returns `false`; returns the place after the last record
    /// visited.
    ///
    /// # Errors
    /// When the journal cannot be read.
    pub fn read(
        &self,
        from: &Spot,
        visit: &mut dyn FnMut(&Sealed<'_>) -> bool,
    ) -> Result<Spot, StoreError> {
        let mut reached = *from;
        self.journal.records(from.at, &mut |at, record| {
            let sealed = Sealed::of(*record);
            reached = Self::after(at, &sealed);
            Ok(visit(&sealed))
        })?;
        Ok(reached)
    }

    /// How far the journal is durable now.
    pub fn end(&self) -> End {
        End(self.journal.end())
    }

    /// Visits each record after `from` that was durable at `to`, as long as `visit` accepts it (`true`); returns the
    /// place before the first one not accepted.
    ///
    /// # Errors
    /// When the journal cannot be read.
    pub fn take(
        &self,
        from: &Spot,
        to: End,
        visit: &mut dyn FnMut(&Sealed<'_>) -> bool,
    ) -> Result<Spot, StoreError> {
        let mut reached = *from;
        self.journal.records(from.at, &mut |at, record| {
            let sealed = Sealed::of(*record);
            let wanted = at < to.0 && visit(&sealed);
            if wanted {
                reached = Self::after(at, &sealed);
            }
            Ok(wanted)
        })?;
        Ok(reached)
    }

    /// Roughly how many bytes of the journal are after a place; 0 when no durable record does.
    pub fn behind(&self, spot: &Spot) -> u64 {
        self.journal.between(spot.at, self.journal.end())
    }

    /// Roughly how many bytes of the journal are between two places.
    pub fn between(&self, from: &Spot, to: &Spot) -> u64 {
        self.journal.between(from.at, to.at)
    }

    fn after(at: Position, sealed: &Sealed<'_>) -> Spot {
        let (segment, offset) = split(at);
        Spot {
            at: position(segment, offset + u32_of(sealed.bytes().len())),
            tail: sealed.tail(),
        }
    }
}
