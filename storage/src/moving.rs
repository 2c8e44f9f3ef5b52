//! Compares a log with a journal of the same records, and appends the missing ones to the log.
//!
//! **Shape.** [`compare`] reads both from their beginnings and compares record by record; [`fill`] appends the records
//! to a log that a journal has beyond the log's end. While a log is being filled, its cell is reserved for a
//! [`Keeper`], which is never a node, so that no node starts on an incomplete log.
//!
//! **Bounds.** Both functions read one record of each side at a time.
//!
//! **Order.** Records are appended unchanged, in the order of the chain, each after its predecessor. So whatever was
//! repeated, late, or interrupted, the log holds a prefix of the journal, and the same call again continues.
//!
//! **Failure.** A log that is not a prefix of the journal is not changed. Nothing is ever overwritten.

use crate::api::{CommitNo, StoreError};
use crate::codec::{hex, unhex};
use crate::durable::{Records, Spot};
use crate::log::{Epoch, Log, LogError, Sealed, Standing, Tail};
use crate::num::u64_of;

/// How often a record is sent in all, if its append fails or its answer is lost.
const TRIES: u32 = 5;
/// The beginning of the name under which a cell is reserved while a folder is the log; its mark follows. Names of nodes
/// have no line ends.
const FOLDER: &str = "caudal log move\n";
/// The same while lost records are appended again; their end follows.
const HEALING: &str = "caudal log heal\n";

/// The holder of a reserved cell that no node may take.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Keeper {
    /// The journal in the folder with this mark is the log: this log was partly filled from it, or was replaced by it.
    Folder(String),
    /// Records that this log has lost are being appended again, at least up to this end.
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

    /// The keeper for whom a cell is reserved; `None` when nodes may own it.
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

/// Why a comparison or the filling of a log was not finished.
#[derive(Clone, Debug, thiserror::Error)]
pub enum MovingError {
    /// The log refused, or cannot be read.
    #[error("the log: {0}")]
    Log(#[from] LogError),
    /// The journal cannot be read.
    #[error("the journal: {0}")]
    Journal(#[from] StoreError),
    /// The log ends with a record that the journal does not have.
    #[error("the log ends with commit {}, and its last record is not in the journal", .0.commit.0)]
    Apart(Tail),
}

/// A record in the result of a comparison.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Row {
    /// The record's number, from 1 for the first of the chain.
    pub number: u64,
    /// Its first commit.
    pub first: CommitNo,
    /// The record's last commit and its hash.
    pub tail: Tail,
    /// How many entries it holds.
    pub entries: u32,
    /// The latest time of its entries in milliseconds since 1970 UTC; `None` when it has none, or they cannot be read.
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
    /// The log has this many records more.
    Behind(u64),
    /// The journal has this many records more.
    Longer(u64),
    /// They have different records in one place, and from there on.
    Differs {
        /// The journal's record there.
        journal: Row,
        /// The log's record there.
        log: Row,
    },
}

/// The result of a comparison.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Compared {
    /// The end of the last record that both have.
    pub tail: Tail,
    /// How many records both have, including those before the first that the log still keeps.
    pub records: u64,
    /// How the two differ after that.
    pub difference: Difference,
}

/// Compares the records of a journal with those of a log by their hashes, starting with the first record that the log
/// still keeps. `longer` gets each record that only the journal has, `told` the size in bytes of each record compared.
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
        // If the journal grows meanwhile, the new records are not compared.
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

/// The journal's counterpart of a record of the log.
enum Step {
    /// The same record; the spot is after it.
    Same(Spot),
    /// Another record.
    Other(Row),
    /// None: the journal has ended.
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

/// Appends all records to a log, under an epoch that was taken, that the journal has beyond the log's end; returns how
/// many. `told` gets the size in bytes of each record appended.
///
/// If the outcome of the last append is unknown, the log's acknowledgement of the caller's next write settles it.
///
/// # Errors
/// `Apart` when the log does not end with a record of the journal, before anything is appended. Otherwise when the log
/// refuses; the records appended before that stay.
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

/// Appends a record, trying again after a lost answer or a passing error; finding it at the end of the log counts as
/// success.
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
