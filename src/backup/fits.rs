//! Checks other cells against the first one: what each of them must contain, and what it may
//! contain.
//!
//! **Shape.** Nothing is written to another cell before a fact says that its realm lies there. [`Said`] is the first cell's state up to a record, [`Found`] another cell's contents up to a
//! record; [`fits`] compares them.
//!
//! **Bounds.** Keeps the platform in memory, and a number for each realm.
//!
//! **Failure.** An error describes the inconsistency in words. This module changes nothing.

use std::collections::{HashMap, HashSet};

use caudal_actors::platform::PlatformActor;
use caudal_actors::records::{PLATFORM_STREAM, Tail, decode};
use caudal_ledger::facts::PlatformFact;
use caudal_ledger::tenants::Platform;
use caudal_ledger::time::Timestamp;
use caudal_storage::log::{Lying, Sealed};
use caudal_storage::{Commit, Index, StoreError};

use super::BackupError;
use super::chain::{Until, entries};

/// The state of the platform according to the first cell, up to a record.
#[derive(Clone, Debug, Default)]
pub struct Said {
    platform: Platform,
    tail: Tail,
}

impl Said {
    /// The state at the end of a store.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn load(store: &dyn Index) -> Result<Self, StoreError> {
        let (platform, tail) = PlatformActor::load(store)?;
        Ok(Self { platform, tail })
    }

    /// The platform in this state.
    pub fn platform(&self) -> &Platform {
        &self.platform
    }

    /// Applies a record of the first cell, unless it is applied already.
    ///
    /// # Errors
    /// When the record cannot be read, or facts before it are missing.
    pub fn takes(&mut self, record: &Sealed<'_>) -> Result<(), BackupError> {
        entries(record, &mut |entry| match entry.stream == PLATFORM_STREAM {
            true => self.fact(entry),
            false => Ok(()),
        })
    }

    fn fact(&mut self, entry: &Lying<'_>) -> Result<(), BackupError> {
        let fact: PlatformFact = decode(entry.body)?;
        match entry.seq.checked_sub(self.tail.seq) {
            None | Some(0) => {}
            Some(1) => {
                self.platform.apply(&fact);
                self.tail = Tail {
                    seq: entry.seq,
                    at: Timestamp::from_millis(entry.at),
                };
            }
            Some(_) => {
                return Err(BackupError::Refused(format!(
                    "commit {} of the first cell follows one that is not known",
                    entry.commit.0
                )));
            }
        }
        Ok(())
    }

    /// The commit that gives the cells new ids, for copies that continue as a history of their own.
    ///
    /// # Errors
    /// When it cannot be encoded.
    pub fn renames(&self, cells: &[(u32, String)], now: u64) -> Result<Commit, BackupError> {
        let mut tail = self.tail;
        let mut commit = Commit::default();
        for (cell, store) in cells {
            let (cell, store) = (*cell, store.clone());
            let fact = PlatformFact::CellAdded { cell, store };
            let entry = tail.next(PLATFORM_STREAM, Timestamp::from_millis(now), &fact)?;
            commit.entries.push(entry);
        }
        Ok(commit)
    }

    /// The cell of each realm, by its number.
    pub fn places(&self) -> HashMap<u32, u32> {
        let tenants = self.platform.tenants.values();
        let realms = tenants.flat_map(|it| [it.live, it.test]);
        realms
            .map(|realm| (realm.0, self.platform.cell_of(realm)))
            .collect()
    }
}

/// The realms that have entries in another cell, up to a record.
#[derive(Clone, Debug, Default)]
pub struct Found {
    realms: HashSet<u32>,
}

impl Found {
    /// Notes the realms of a record of the cell.
    pub fn takes(&mut self, record: &Sealed<'_>) {
        record.visit(&mut |entry| {
            self.realms.insert(entry.stream.realm);
            true
        });
    }
}

/// Selects the records of a cell that are restored, when the first cell is restored up to an instant.
#[derive(Debug)]
pub struct Wanted {
    cell: u32,
    until: Until,
    places: HashMap<u32, u32>,
}

impl Wanted {
    /// The selection for a cell.
    pub fn of(said: &Said, cell: u32, until: Until) -> Self {
        Self {
            cell,
            until,
            places: said.places(),
        }
    }

    /// Whether to keep a record. The cell ends before the first one that is not kept.
    pub fn wants(&self, record: &Sealed<'_>, latest: u64) -> bool {
        if self.until == Until::End {
            return true;
        }
        if self.until.is_before(record, latest) {
            return false;
        }
        let mut right = true;
        record.visit(&mut |entry| {
            right = self.places.get(&entry.stream.realm) == Some(&self.cell);
            right
        });
        right
    }
}

/// Compares another cell's contents with the first cell's state.
///
/// # Errors
/// The inconsistency, in words.
pub fn fits(said: &Said, cell: u32, found: &Found) -> Result<(), String> {
    let places = said.places();
    let other = found.realms.iter();
    let misplaced = other.filter(|realm| places.get(*realm) != Some(&cell));
    match misplaced.min() {
        None => Ok(()),
        Some(realm) => Err(format!(
            "cell {cell} has entries of realm {realm}, and the first cell does not say that it lies there"
        )),
    }
}
