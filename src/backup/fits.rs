//! Checks other cells against the first one: what each of them must contain, and what it may
//! contain.
//!
//! **Shape.** Cells depend on each other in two ways. A fact of the first one says that a copy of a realm is whole in
//! another cell, so that cell has to have it ([`Tie`]). And nothing is written to another cell before a fact says that
//! its realm lies there. [`Said`] is the first cell's state up to a record, [`Found`] another cell's contents up to a
//! record; [`fits`] compares them.
//!
//! **Bounds.** Keeps the platform in memory, and a number for each generation of a realm.
//!
//! **Failure.** An error describes the inconsistency in words. This module changes nothing.

use std::collections::HashMap;

use caudal_actors::platform::PlatformActor;
use caudal_actors::records::{PLATFORM_STREAM, Tail, decode};
use caudal_ledger::facts::PlatformFact;
use caudal_ledger::ids::{Mode, RealmId};
use caudal_ledger::tenants::{Copied, Platform};
use caudal_ledger::time::Timestamp;
use caudal_storage::log::{Lying, Sealed};
use caudal_storage::{Commit, CommitNo, Index, Records, StoreError};

use super::BackupError;
use super::chain::{Until, entries};

/// A part of another cell that a fact of the first cell depends on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tie {
    /// The number of the cell.
    pub cell: u32,
    /// The number under which the realm lies there from then on.
    pub lies: RealmId,
    /// The commit that the cell has to have, if the fact names one.
    pub commit: Option<u64>,
    /// The copy that the cell has to have, if the fact names no commit.
    pub copied: Option<Lies>,
}

/// A copy of a realm, by its beginning and its length.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lies {
    /// The commit of its cell after which all of it lies.
    pub behind: u64,
    /// The number of its entries.
    pub entries: u64,
}

impl Tie {
    /// The commit with which the cell fulfils the tie: the one that the fact names, or the one that completes the copy.
    /// `None` while too little is there. Reads the cell's journal from the beginning of the copy.
    ///
    /// # Errors
    /// When the journal cannot be read, or an entry of it fails its checksum.
    pub fn had_with(&self, records: &Records) -> Result<Option<u64>, BackupError> {
        let Some(Lies { behind, entries }) = self.copied.filter(|it| it.entries > 0) else {
            return Ok(Some(self.commit.map_or(0, |commit| commit)));
        };
        let (mut there, mut with, mut wrong) = (0_u64, None, None);
        records.read_from(CommitNo(behind.strict_add(1)), &mut |record| {
            let whole = record.visit(&mut |entry| {
                let of_copy = entry.stream.realm == self.lies.0;
                there = there.strict_add(u64::from(of_copy));
                true
            });
            if !whole {
                wrong = Some(BackupError::unsound(record));
            } else if there >= entries {
                with = Some(record.tail().commit.0);
            }
            whole && with.is_none()
        })?;
        wrong.map_or(Ok(with), Err)
    }
}

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

    /// Applies a record of the first cell, unless it is applied already, and returns what the record needs of other
    /// cells.
    ///
    /// # Errors
    /// When the record cannot be read, or facts before it are missing.
    pub fn takes(&mut self, record: &Sealed<'_>) -> Result<Vec<Tie>, BackupError> {
        let mut ties = Vec::new();
        entries(record, &mut |entry| {
            if entry.stream == PLATFORM_STREAM {
                ties.extend(self.fact(entry)?);
            }
            Ok(())
        })?;
        Ok(ties)
    }

    fn fact(&mut self, entry: &Lying<'_>) -> Result<Option<Tie>, BackupError> {
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
        Ok(self.tie(&fact).filter(|tie| tie.cell > 0))
    }

    fn tie(&self, fact: &PlatformFact) -> Option<Tie> {
        let of = |id: &str, mode: Mode, number: u32, (commit, copied): (_, Option<Copied>)| {
            let realm = self.platform.tenants.get(id)?.realm(mode);
            Some(Tie {
                cell: self.platform.cell_of(realm, number),
                lies: realm.under(number),
                commit,
                copied: copied.map(|copied| Lies {
                    behind: self.platform.behind_of(realm, number),
                    entries: copied.entries,
                }),
            })
        };
        if let PlatformFact::RealmMoved {
            id,
            mode,
            number,
            commit,
            ..
        } = fact
        {
            return of(id, *mode, *number, (Some(*commit), None));
        }
        match fact {
            PlatformFact::RestoreCopied {
                id,
                mode,
                number,
                copied,
            } => of(id, *mode, *number, (None, Some(*copied))),
            _ => None,
        }
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

    /// The cell of each generation of each realm, by the number under which the generation lies.
    pub fn places(&self) -> HashMap<u32, u32> {
        let platform = &self.platform;
        let tenants = platform.tenants.values();
        let realms = tenants.flat_map(|it| [it.live, it.test]);
        let mut places = HashMap::new();
        for realm in realms {
            places.insert(realm.0, platform.cell_of(realm, 0));
            let copies = platform.generations(realm).into_iter();
            for (number, copy) in copies.flat_map(|it| it.copies()) {
                places.insert(realm.under(number).0, copy.cell);
            }
        }
        places
    }
}

/// The contents of another cell, up to a record.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// Its last commit.
    commit: u64,
    /// The number of entries under each realm number.
    entries: HashMap<u32, u64>,
}

impl Found {
    /// Counts a record of the cell.
    pub fn takes(&mut self, record: &Sealed<'_>) {
        self.commit = record.tail().commit.0;
        record.visit(&mut |entry| {
            let count = self.entries.entry(entry.stream.realm).or_default();
            *count = count.strict_add(1);
            true
        });
    }
}

/// Selects the records of a cell that are restored, when the first cell is restored up to an instant.
#[derive(Debug)]
pub struct Wanted {
    cell: u32,
    until: Until,
    /// The commit that the cell has to reach, whatever the instant.
    least: u64,
    places: HashMap<u32, u32>,
    /// Copies that the first cell puts into force only after its cut, with the last commit that is part of the copy.
    later: Vec<Tie>,
}

impl Wanted {
    /// The selection for a cell; `later` are the ties of the first cell after its cut.
    pub fn of(said: &Said, cell: u32, until: Until, later: &[Tie]) -> Self {
        Self {
            cell,
            until,
            least: said.platform.reach_of(cell),
            places: said.places(),
            later: later.iter().filter(|it| it.cell == cell).copied().collect(),
        }
    }

    /// Whether to keep a record. The cell ends before the first one that is not kept.
    pub fn wants(&self, record: &Sealed<'_>, latest: u64) -> bool {
        if record.first_commit().0 <= self.least || self.until == Until::End {
            return true;
        }
        if self.until.is_before(record, latest) {
            return false;
        }
        let last = record.tail().commit.0;
        let over = |lies: u32| {
            let mut later = self.later.iter().filter(|it| it.lies.0 == lies);
            later.any(|it| it.commit.is_some_and(|copied| last > copied))
        };
        let mut right = true;
        record.visit(&mut |entry| {
            let lies = entry.stream.realm;
            right = self.places.get(&lies) == Some(&self.cell) && !over(lies);
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
    let platform = said.platform();
    let least = platform.reach_of(cell);
    if found.commit < least {
        return Err(format!(
            "cell {cell} ends with commit {}, and the first cell says that a tenant was moved into it with commit {least}",
            found.commit
        ));
    }
    let places = said.places();
    let other = found.entries.keys();
    if let Some(lies) = other
        .filter(|lies| places.get(*lies) != Some(&cell))
        .map(|lies| RealmId(*lies))
        .min_by_key(|lies| lies.0)
    {
        return Err(format!(
            "cell {cell} has entries of realm {} (generation {}), and the first cell does not say that it lies there",
            lies.home().0,
            lies.generation()
        ));
    }
    let tenants = platform.tenants.values();
    for realm in tenants.flat_map(|it| [it.live, it.test]) {
        let copies = platform.generations(realm).into_iter();
        for (number, copy) in copies.flat_map(|it| it.copies()) {
            let Some(copied) = copy.copied.filter(|_| copy.cell == cell) else {
                continue;
            };
            let there = found.entries.get(&realm.under(number).0);
            let there = there.map_or(0, |there| *there);
            if there < copied.entries {
                return Err(format!(
                    "cell {cell} has {there} of the {} entries of generation {number} of realm {}",
                    copied.entries, realm.0
                ));
            }
        }
    }
    Ok(())
}
