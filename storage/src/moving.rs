//! Compares a log with a journal of the same records, and appends to the log what it lacks.
//!
//! **Shape.** [`compare`] reads both from their beginnings and compares record by record; [`fill`] appends to a
//! log the records that a journal has beyond its end. While a log is filled its cell is reserved for a
//! [`Keeper`], which is never a node, so that nobody starts on an incomplete log.
//!
//! **Bounds.** Both read one record of each side at a time.
//!
//! **Order.** Records are appended as they are, in the order of the chain, each behind the one that it names. So
//! whatever was repeated, late, or interrupted leaves a prefix of the journal in the log, and the same call
//! again continues.
//!
//! **Failure.** A log that is not a prefix of the journal is not changed. Nothing is ever overwritten.

use crate::api::{CommitNo, StoreError};
use crate::codec::{hex, unhex};
use crate::durable::{Records, Spot};
use crate::log::{Epoch, Log, LogError, Sealed, Standing, Tail};
use crate::num::u64_of;

/// How often a record is sent whose append failed, or whose answer was lost.
const TRIES: u32 = 5;
/// A cell is reserved under this, and what follows it, while a folder is the log. Names of nodes have no line ends.
const FOLDER: &str = "caudal log move\n";
/// The same while records that it has lost are appended again.
const HEALING: &str = "caudal log heal\n";

/// For whom a cell is reserved that no node may take.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Keeper {
    /// The journal in the folder with this mark is the log: what is here was filled from it in part, or was left
    /// for it.
    Folder(String),
    /// Records that this log has lost are being appended again, up to here at least.
    Healing(Tail),
}

impl Keeper {
    /// The name under which the cell is reserved.
    pub fn name(&self) -> String {
        match self {
            Self::Folder(mark) => format!("{FOLDER}{mark}"),
            Self::Healing(tail) => format!("{HEALING}{} {}", tail.commit.0, hex(&tail.hash)),
        }
    }

    /// For whom a cell is reserved; `None` when nodes may own it.
    pub fn of(standing: &Standing) -> Option<Self> {
        let name = standing.offered.as_deref()?;
        if let Some(mark) = name.strip_prefix(FOLDER) {
            return Some(Self::Folder(mark.to_owned()));
        }
        let (commit, hash) = name.strip_prefix(HEALING)?.split_once(' ')?;
        Some(Self::Healing(Tail {
            commit: CommitNo(commit.parse().ok()?),
            hash: unhex(hash)?.try_into().ok()?,
        }))
    }
}

/// Why a log and a journal were not compared to the end, or a log was not filled.
#[derive(Clone, Debug, thiserror::Error)]
pub enum MovingError {
    /// The log refused, or cannot be read.
    #[error("the log: {0}")]
    Log(#[from] LogError),
    /// The journal cannot be read.
    #[error("the journal: {0}")]
    Journal(#[from] StoreError),
    /// The log ends with something that the journal does not have.
    #[error("the log ends with commit {}, and its last record is not in the journal", .0.commit.0)]
    Apart(Tail),
}

/// A record as a comparison tells of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Row {
    /// Which one it is, from 1 for the first of the chain.
    pub number: u64,
    /// Its first commit.
    pub first: CommitNo,
    /// Its last commit and its hash.
    pub tail: Tail,
    /// How many entries it holds.
    pub entries: u32,
    /// The latest time of its entries in milliseconds since 1970 UTC; `None` when it has none, or they cannot
    /// be read.
    pub latest: Option<u64>,
}

impl Row {
    fn of(number: u64, record: &Sealed<'_>) -> Self {
        Self {
            number,
            first: record.first_commit(),
            tail: record.tail(),
            entries: record.entries(),
            latest: record.latest().filter(|at| *at > 0),
        }
    }
}

/// How a journal and a log differ.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Difference {
    /// They have the same records.
    None,
    /// The log goes on behind the journal: this many records.
    Behind(u64),
    /// The journal goes on behind the log: this many records.
    Longer(u64),
    /// They have different records in one place, and from there on.
    Differs {
        /// What the journal has there.
        journal: Row,
        /// What the log has there.
        log: Row,
    },
}

/// What a comparison found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Compared {
    /// The end of the last record that both have.
    pub tail: Tail,
    /// How many records both have, with those before the first that the log still keeps.
    pub records: u64,
    /// What follows.
    pub difference: Difference,
}

/// Holds the records of a journal against those of a log from the first one that the log still keeps, by their hashes.
/// `longer` sees each record that the journal has behind the log, `told` how many bytes each has that was compared.
///
/// # Errors
/// When one of the two cannot be read.
pub fn compare(
    records: &Records,
    log: &dyn Log,
    longer: &mut dyn FnMut(Row, &Sealed<'_>),
    told: &mut dyn FnMut(u64),
) -> Result<Compared, MovingError> {
    let (mut at, mut number) = begin(records, log)?;
    let mut difference = Difference::None;
    let mut failed = None;
    log.read(CommitNo(at.tail().commit.0 + 1), &mut |kept| {
        // A journal that grows meanwhile is not looked at again.
        if let Difference::Behind(count) = &mut difference {
            *count += 1;
            return true;
        }
        match step(records, &at, number, kept) {
            Ok(Step::Same(next)) => {
                (at, number) = (next, number + 1);
                told(u64_of(kept.bytes().len()));
            }
            Ok(Step::Over) => difference = Difference::Behind(1),
            Ok(Step::Other(journal)) => {
                let log = Row::of(number + 1, kept);
                difference = Difference::Differs { journal, log };
                return false;
            }
            Err(e) => {
                failed = Some(e);
                return false;
            }
        }
        true
    })?;
    if let Some(e) = failed {
        return Err(e.into());
    }
    let compared = Compared {
        tail: at.tail(),
        records: number,
        difference,
    };
    if difference != Difference::None {
        return Ok(compared);
    }
    let mut count = 0;
    records.read(&at, &mut |record| {
        count += 1;
        longer(Row::of(number + count, record), record);
        true
    })?;
    Ok(Compared {
        difference: if count > 0 {
            Difference::Longer(count)
        } else {
            Difference::None
        },
        ..compared
    })
}

/// The place in the journal where the log begins, and how many records are before it.
fn begin(records: &Records, log: &dyn Log) -> Result<(Spot, u64), MovingError> {
    let beginning = records.beginning();
    let first = match log.read(CommitNo(1), &mut |_| false) {
        Err(LogError::Trimmed { first }) => first,
        read => return Ok(read.map(|()| (beginning, 0))?),
    };
    let (mut number, mut there) = (0, beginning.tail());
    records.read(&beginning, &mut |record| {
        let before = record.tail().commit < first;
        if before {
            (number, there) = (number + 1, record.tail());
        }
        before
    })?;
    match records.find(&there)? {
        Some(spot) if there.commit.0 + 1 == first.0 => Ok((spot, number)),
        Some(_) | None => Err(MovingError::Log(LogError::Trimmed { first })),
    }
}

/// What a journal has in the place of a record of the log.
enum Step {
    /// The same; the place behind it.
    Same(Spot),
    /// Another one.
    Other(Row),
    /// None.
    Over,
}

fn step(records: &Records, at: &Spot, number: u64, kept: &Sealed<'_>) -> Result<Step, StoreError> {
    let mut found = None;
    let next = records.read(at, &mut |record| {
        let same = record.hash() == kept.hash();
        found = Some((same, Row::of(number + 1, record)));
        false
    })?;
    Ok(match found {
        Some((true, _)) => Step::Same(next),
        Some((false, row)) => Step::Other(row),
        None => Step::Over,
    })
}

/// Appends to a log, under an epoch that was taken, whatever the journal has behind its end; gives how many
/// records that were. `told` hears how many bytes each one has when it is there.
///
/// What is not known of the last one is settled by the next write that the log acknowledges, which is the caller's.
///
/// # Errors
/// `Apart` when the log does not end with a record of the journal, before anything is appended. When the log
/// refuses: what was appended before stays.
pub fn fill(
    log: &mut dyn Log,
    epoch: Epoch,
    records: &Records,
    told: &mut dyn FnMut(u64),
) -> Result<u64, MovingError> {
    let tail = log.tail()?;
    let from = records.find(&tail)?.ok_or(MovingError::Apart(tail))?;
    let (mut count, mut failed) = (0, None);
    records.read(&from, &mut |record| match append(log, epoch, record) {
        Ok(()) => {
            count += 1;
            told(u64_of(record.bytes().len()));
            true
        }
        Err(e) => {
            failed = Some(e);
            false
        }
    })?;
    failed.map_or(Ok(count), |e| Err(e.into()))
}

/// Appends a record that a try whose answer was lost may have appended, or may yet.
fn append(log: &mut dyn Log, epoch: Epoch, record: &Sealed<'_>) -> Result<(), LogError> {
    let mut last = None;
    for _ in 0..TRIES {
        match log.append(epoch, record) {
            Err(LogError::Gap { tail, .. }) if tail == record.tail() => return Ok(()),
            Err(why @ (LogError::Unknown(_) | LogError::Yet(_))) => last = Some(why),
            done => return done,
        }
    }
    last.map_or(Ok(()), Err)
}
