//! Reads and decodes the journal for a verification, on a thread of its own if two may work.
//!
//! **Bounds.** At most [`PARTS`] parts wait, each of at most [`PART`] entries, and of less than [`PART_BYTES`] plus one
//! entry.
//!
//! **Order.** That of the journal.
//!
//! **Failure.** The store's errors. An entry that cannot be decoded is no error here.

use std::borrow::Cow;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;

use caudal_ledger::facts::LedgerFact;
use caudal_ledger::ids::{AccountNo, RealmId};
use caudal_ledger::vouchers::Voucher;
use caudal_storage::{CommitNo, Entry, Index, StoreError};

use super::At;
use crate::records::{LEDGER, decode};

/// How many entries are handed over at once.
const PART: usize = 256;
/// A part takes no further entry once its entries have this many bytes.
const PART_BYTES: usize = 128 << 10;
/// The most parts that wait.
const PARTS: usize = 8;

/// An entry as it was read.
pub(super) enum ReadEntry<'a> {
    /// A movement.
    Voucher(Box<Voucher>),
    /// A movement that cannot be read, and why.
    Broken(StoreError),
    /// Anything else.
    Entry(Cow<'a, Entry>),
}

impl<'a> ReadEntry<'a> {
    /// Classifies an entry.
    pub(super) fn of(entry: &'a Entry) -> Self {
        if entry.stream.kind != LEDGER {
            return Self::Entry(Cow::Borrowed(entry));
        }
        match decode(&entry.body) {
            Ok(LedgerFact::Posted(voucher)) => Self::Voucher(Box::new(voucher)),
            Err(why) => Self::Broken(why),
        }
    }

    fn into_owned(self) -> ReadEntry<'static> {
        match self {
            Self::Voucher(voucher) => ReadEntry::Voucher(voucher),
            Self::Broken(why) => ReadEntry::Broken(why),
            Self::Entry(entry) => ReadEntry::Entry(Cow::Owned(entry.into_owned())),
        }
    }
}

/// The part of a journal that is read.
#[derive(Clone, Copy)]
pub(super) struct JournalRange {
    /// From this commit on.
    pub from: CommitNo,
    /// Up to this commit, which the index has: the journal of a running service is ahead of the index for a moment.
    pub to: CommitNo,
    /// Whether nobody writes to the store meanwhile, so that no difference can come from a write.
    pub stands: bool,
}

impl JournalRange {
    /// Everything that the index of a store has by now; `stands` tells that it gets no more meanwhile.
    pub(super) fn all(store: &dyn Index, stands: bool) -> Self {
        Self {
            from: CommitNo(1),
            to: store.applied(),
            stands,
        }
    }
}

fn at(entry: &Entry) -> At {
    (RealmId(entry.stream.realm), AccountNo(entry.stream.number))
}

/// Takes an entry in its turn.
pub(super) type TakeEntry<'t> = &'t mut dyn FnMut(CommitNo, At, ReadEntry<'_>);

/// Gives each entry to `take`. `step` is called before each, and ends the replay if it returns `false`. Returns the
/// number of the last commit.
pub(super) fn one(
    store: &dyn Index,
    reach: JournalRange,
    step: &mut dyn FnMut() -> bool,
    take: TakeEntry<'_>,
) -> Result<CommitNo, StoreError> {
    let last = store.replay(reach.from, &mut |commit, entry| {
        if commit > reach.to || !step() {
            return false;
        }
        take(commit, at(entry), ReadEntry::of(entry));
        true
    })?;
    Ok(last.min(reach.to))
}

/// The same, read on a thread of its own.
pub(super) fn two(
    store: &dyn Index,
    reach: JournalRange,
    take: TakeEntry<'_>,
) -> Result<CommitNo, StoreError> {
    let (sender, parts) = sync_channel(PARTS);
    thread::scope(|scope| {
        let reader = thread::Builder::new().name("caudal-verify-read".to_owned());
        let Ok(reader) = reader.spawn_scoped(scope, || fill(store, reach, sender)) else {
            // No thread is available: the replay takes longer.
            return one(store, reach, &mut || true, take);
        };
        for part in parts {
            for (commit, at, seen) in part {
                take(commit, at, seen);
            }
        }
        match reader.join() {
            Ok(read) => read,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

type DecodedPart = Vec<(CommitNo, At, ReadEntry<'static>)>;

fn fill(
    store: &dyn Index,
    reach: JournalRange,
    sender: SyncSender<DecodedPart>,
) -> Result<CommitNo, StoreError> {
    let (mut part, mut bytes) = (DecodedPart::with_capacity(PART), 0);
    let read = store.replay(reach.from, &mut |commit, entry| {
        if commit > reach.to {
            return false;
        }
        part.push((commit, at(entry), ReadEntry::of(entry).into_owned()));
        bytes += entry.body.len();
        if part.len() < PART && bytes < PART_BYTES {
            return true;
        }
        bytes = 0;
        let full = std::mem::replace(&mut part, DecodedPart::with_capacity(PART));
        sender.send(full).is_ok()
    });
    // The receiver stays until the last part.
    drop(sender.send(part));
    Ok(read?.min(reach.to))
}
