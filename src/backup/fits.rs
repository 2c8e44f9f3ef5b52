//! Checks other cells against the first one: what each of them must contain, and what it may
//! contain.
//!
//! **Shape.** Cells depend on each other in two ways. The first one says that a copy of a realm is whole in another cell,
//! so that cell has to have it ([`Tie`]). And nothing is written into another cell before the first one says that its realm
//! lies there. [`Said`] is what the first cell says up to a record, [`Found`] what another one has up to a record; [`fits`]
//! compares them.
//!
//! **Bounds.** In memory: the platform, and a number for each generation of a realm.
//!
//! **Failure.** An inconsistency is described in words. Nothing is changed here.

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

/// What another cell has to have before something that the first one says is right.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tie {
    /// The number of the cell.
    pub cell: u32,
    /// The number under which a realm lies there from then on.
    pub lies: RealmId,
    /// The commit that the cell has to have, where it was said.
    pub commit: Option<u64>,
    /// What the cell has to have, where no commit was said.
    pub copied: Option<Lies>,
}

/// A copy, by how much it is and where it begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lies {
    /// The commit of its cell behind which all of it lies.
    pub behind: u64,
    /// How many entries it came to.
    pub entries: u64,
}

impl Tie {
    /// The commit with which a cell has it, where that was said or is found; `None` while too little is there. Reads its
    /// journal from where the copy begins.
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

/// What the first cell says, up to a record.
#[derive(Clone, Debug, Default)]
pub struct Said {
    platform: Platform,
    tail: Tail,
}

impl Said {
    /// All that a store says.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn load(store: &dyn Index) -> Result<Self, StoreError> {
        let (platform, tail) = PlatformActor::load(store)?;
        Ok(Self { platform, tail })
    }

    /// The platform as it says.
    pub fn platform(&self) -> &Platform {
        &self.platform
    }

    /// Takes in what a record of the first cell says, unless that is known; what other cells have to have for it.
    ///
    /// # Errors
    /// When the record cannot be read, or what comes before it is not known.
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

    /// What gives the cells other ids, where they are copies that go on beside what they were copied from.
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

    /// In which cell each generation of each realm lies, by the number under which it does.
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

/// What another cell has, up to a record.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// Its last commit.
    commit: u64,
    /// How many entries there are of what lies under each number.
    entries: HashMap<u32, u64>,
}

impl Found {
    /// Takes in a record of the cell.
    pub fn takes(&mut self, record: &Sealed<'_>) {
        self.commit = record.tail().commit.0;
        record.visit(&mut |entry| {
            let count = self.entries.entry(entry.stream.realm).or_default();
            *count = count.strict_add(1);
            true
        });
    }
}

/// Which records of a cell are wanted, where the first one is wanted up to an instant.
#[derive(Debug)]
pub struct Wanted {
    cell: u32,
    until: Until,
    /// The commit that it has to reach, whatever the instant.
    least: u64,
    places: HashMap<u32, u32>,
    /// What was only put into force behind where the first cell ends, with the commit up to which it is a copy.
    later: Vec<Tie>,
}

impl Wanted {
    /// Those of a cell, of what is said; `later` is what the first cell says behind that.
    pub fn of(said: &Said, cell: u32, until: Until, later: &[Tie]) -> Self {
        Self {
            cell,
            until,
            least: said.platform.reach_of(cell),
            places: said.places(),
            later: later.iter().filter(|it| it.cell == cell).copied().collect(),
        }
    }

    /// Whether a record is wanted. The first that is not is where the cell ends.
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

/// Compares what another cell has with what the first one says.
///
/// # Errors
/// In words, what does not fit.
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
