//! The checkpoint: records what the next start need not read.
//!
//! **Shape.** `CHECKPOINT`: two slots of 8192 bytes at 0 and 8192, written in turn, then a row of
//! 256 bytes for each segment that takes no more records, by number (see [`Attested`]). A slot:
//! ```text
//! magic "CAUDALC1", store id [16], serial u64,
//! rounds: begun u64, ended u64, when the last one ended u64 (ms since 1970);
//! index: the file of sled (inode u64, made i64 + u32), mark (commit u64, chain [32], end u64),
//! runs u32, for each: id u64, digest [32], round u64;
//! crc32c u32, zeros
//! ```
//!
//! **Order.** A row is written after an fsync of its segment; a slot is written after the index manifest that it
//! repeats is on disk. So the checkpoint is never ahead of what it attests: after a power cut it may be older, which
//! only costs reading.
//!
//! **What is trusted.** At a start, the segments before the one in which the index ends (according to the slot) are
//! taken as attested. Everything from there on is read, and so are segments whose file was replaced or changed. Runs of
//! the index that the slot names are opened by their fences and filters; all others are read. A checkpoint is ignored
//! and written anew if it has no intact slot, belongs to another store, or has a row for the journal's last segment or
//! a later one; then everything is read. The whole journal is also read when attested and read parts disagree, when the
//! index ends before the mark in the slot, or when it has to be rebuilt. Witness, identity and the proof of the index
//! are checked in any case.
//!
//! **Bounds.** 256 bytes per segment, plus 16 KiB.
//!
//! **Failure.** Everything in the file can be found elsewhere: if it cannot be read, or cannot be written and is
//! removed, the next start does a full check. Neither poisons the store.

use std::fs::File;
use std::io;
use std::sync::Arc;

use crate::api::Position;
use crate::codec::{Cursor, all_zero};
use crate::context::StoreContext;
use crate::folder::{Birth, Folder};
use crate::index::manifest::JournalMark;
use crate::index::scrub::AttestedRuns;
use crate::journal::check::Checked;
use crate::journal::format::{Hash, StoreId};
use crate::journal::seal::{Attested, ROW};
use crate::journal::split;
use crate::num::{u32_of, u64_of, usize_of32};

/// The name of the file.
pub(crate) const CHECKPOINT: &str = "CHECKPOINT";
const MAGIC: [u8; 8] = *b"CAUDALC1";
const SLOT: usize = 8192;
const ROWS: usize = 2 * SLOT;
/// Bytes of a slot before its runs, and of one run.
const SLOT_FIXED: usize = 128;
const PER_RUN: usize = 48;
/// The most runs that a slot names; any further runs are read at the next start.
const RUNS_MAX: usize = (SLOT - SLOT_FIXED - 4) / PER_RUN;
/// The largest file that is read, in bytes; enough for a quarter of a million segments.
const BYTES_MAX: u64 = 64 << 20;

/// A run of the index that was written whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct KnownRun {
    /// The number of the run.
    pub(crate) id: u64,
    /// The SHA-256 over the checksums of its blocks.
    pub(crate) digest: Hash,
    /// The number of the round in which it was last read.
    pub(crate) round: u64,
}

/// The rounds of the background check.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Rounds {
    /// The number of the last one that was begun.
    pub(crate) begun: u64,
    /// The number of the last one that ended.
    pub(crate) ended: u64,
    /// When that round ended, in milliseconds since 1970; 0 when none has ended.
    pub(crate) ended_at: u64,
}

impl Rounds {
    /// The round that reads at the start count towards.
    pub(crate) fn of_opening(&self) -> u64 {
        if self.begun > self.ended {
            self.begun
        } else {
            self.begun + 1
        }
    }
}

/// The content of a slot: the rounds of the background check, and the index when the slot was written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct CheckpointSlot {
    /// The rounds of the background check.
    pub(crate) rounds: Rounds,
    /// sled's file; `None` when the file system does not identify it.
    pub(crate) file: Option<Birth>,
    /// How far the rows covered the journal.
    pub(crate) mark: JournalMark,
    /// The runs, at most as many as a slot names.
    pub(crate) runs: Vec<KnownRun>,
}

impl CheckpointSlot {
    /// Encodes the bytes of a slot.
    pub(crate) fn encode(&self, id: &StoreId, serial: u64) -> Vec<u8> {
        let mut b = Vec::with_capacity(SLOT);
        b.extend_from_slice(&MAGIC);
        b.extend_from_slice(id);
        b.extend_from_slice(&serial.to_be_bytes());
        let rounds = self.rounds;
        for n in [rounds.begun, rounds.ended, rounds.ended_at] {
            b.extend_from_slice(&n.to_be_bytes());
        }
        let file = self.file.unwrap_or_default();
        b.extend_from_slice(&file.inode.to_be_bytes());
        b.extend_from_slice(&file.made.0.to_be_bytes());
        b.extend_from_slice(&file.made.1.to_be_bytes());
        let mark = self.mark;
        b.extend_from_slice(&mark.commit.to_be_bytes());
        b.extend_from_slice(&mark.chain);
        b.extend_from_slice(&mark.end.0.to_be_bytes());
        let runs = self.runs.iter().take(RUNS_MAX);
        b.extend_from_slice(&u32_of(runs.len()).to_be_bytes());
        for run in runs {
            b.extend_from_slice(&run.id.to_be_bytes());
            b.extend_from_slice(&run.digest);
            b.extend_from_slice(&run.round.to_be_bytes());
        }
        let crc = crc32c::crc32c(&b);
        b.extend_from_slice(&crc.to_be_bytes());
        b.resize(SLOT, 0);
        b
    }

    /// Parses a slot of this store and returns it with its serial; `None` unless every bit is right.
    pub(crate) fn decode(slot: &[u8], id: &StoreId) -> Option<(u64, Self)> {
        let mut c = Cursor::new(slot.get(..SLOT)?);
        if c.array()? != MAGIC || c.array()? != *id {
            return None;
        }
        let serial = c.u64()?;
        let rounds = Rounds {
            begun: c.u64()?,
            ended: c.u64()?,
            ended_at: c.u64()?,
        };
        let file = Birth {
            inode: c.u64()?,
            made: (c.array().map(i64::from_be_bytes)?, c.u32()?),
        };
        let mark = JournalMark {
            commit: c.u64()?,
            chain: c.array()?,
            end: Position(c.u64()?),
        };
        let count = usize_of32(c.u32()?);
        if count > RUNS_MAX {
            return None;
        }
        let mut runs = Vec::with_capacity(count);
        for _ in 0..count {
            runs.push(KnownRun {
                id: c.u64()?,
                digest: c.array()?,
                round: c.u64()?,
            });
        }
        let used = slot.get(..SLOT - c.rest().len())?;
        let good = c.u32()? == crc32c::crc32c(used) && all_zero(c.rest());
        let slot = Self {
            rounds,
            file: (file.inode != 0).then_some(file),
            mark,
            runs,
        };
        good.then_some((serial, slot))
    }
}

/// The part of the checkpoint that was found on disk and is trusted.
#[derive(Clone, Debug, Default)]
pub(crate) struct TrustedCheckpoint {
    /// The rows of segments, by number from 1.
    pub(crate) attested: Vec<Option<Attested>>,
    /// The newest intact slot; `None` when nothing is trusted.
    pub(crate) slot: Option<CheckpointSlot>,
    serial: u64,
}

impl TrustedCheckpoint {
    /// The first segment that is always read, even if attested: the one in which the index ends.
    pub(crate) fn tail(&self) -> u32 {
        let end = self.slot.as_ref().map(|slot| slot.mark.end);
        end.map_or(0, |end| split(end).0)
    }

    /// Whether the checkpoint names more than the journal was found to hold, which means it belongs to another journal.
    pub(crate) fn is_ahead_of(&self, checked: &Checked) -> bool {
        let Some(slot) = &self.slot else {
            return false;
        };
        let mut read = checked.read.iter();
        slot.mark.commit > checked.last_commit
            || !read.any(|(seal, _)| seal.number == checked.segment)
    }

    /// The index runs that need not be read, and the file that contains them.
    pub(crate) fn known(&self) -> Option<(Birth, AttestedRuns)> {
        let slot = self.slot.as_ref()?;
        let known = AttestedRuns {
            commit: slot.mark.commit,
            runs: slot.runs.iter().map(|run| (run.id, run.digest)).collect(),
        };
        Some((slot.file?, known))
    }
}

/// Reads the checkpoint of a store whose journal has this many segments.
pub(crate) fn read(folder: &Folder, id: &StoreId, segments: u32) -> TrustedCheckpoint {
    let bytes = match folder.content(CHECKPOINT, BYTES_MAX) {
        Ok(bytes) => bytes,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return TrustedCheckpoint::default(),
        Err(e) => {
            tracing::warn!(error = %e, "the checkpoint cannot be read: everything is checked");
            return TrustedCheckpoint::default();
        }
    };
    let found = parse(&bytes, id, segments);
    if found.slot.is_none() {
        tracing::warn!(
            "the checkpoint does not belong to this journal as it is: everything is checked"
        );
    }
    found
}

/// Parses the bytes of the file and returns the part that is trusted.
pub(crate) fn parse(bytes: &[u8], id: &StoreId, segments: u32) -> TrustedCheckpoint {
    let slots = [0, SLOT].map(|at| {
        bytes
            .get(at..)
            .and_then(|slot| CheckpointSlot::decode(slot, id))
    });
    let newest = slots
        .into_iter()
        .flatten()
        .max_by_key(|(serial, _)| *serial);
    let Some((serial, slot)) = newest else {
        return TrustedCheckpoint::default();
    };
    let mut attested = Vec::new();
    let rows = bytes.get(ROWS..).unwrap_or(&[]);
    for (row, number) in rows.chunks(ROW).zip(1u32..) {
        let row = Attested::decode(row, id).filter(|row| row.seal.number == number);
        // a row beyond the journal's end was not written for this journal
        if row.is_some() && number >= segments {
            return TrustedCheckpoint::default();
        }
        attested.push(row);
    }
    if split(slot.mark.end).0 > segments {
        return TrustedCheckpoint::default();
    }
    TrustedCheckpoint {
        attested,
        slot: Some(slot),
        serial,
    }
}

/// The checkpoint file as it is written.
#[derive(Debug)]
pub(crate) struct Checkpoint {
    context: Arc<StoreContext>,
    serial: u64,
    /// Whether the content on disk is trusted; if not, the file is begun anew.
    whole: bool,
    file: Option<File>,
    given_up: bool,
}

impl Checkpoint {
    /// Continues from what was found on disk; writes nothing yet.
    pub(crate) fn new(context: &Arc<StoreContext>, found: &TrustedCheckpoint) -> Self {
        Self {
            context: Arc::clone(context),
            serial: found.serial,
            whole: found.slot.is_some(),
            file: None,
            given_up: false,
        }
    }

    /// Writes the row of a segment; `None` withdraws what was attested.
    pub(crate) fn row(&mut self, number: u32, row: Option<&Attested>) {
        let bytes = row.map_or_else(|| vec![0; ROW], |row| row.encode(&self.context.id));
        let nth = u64::from(number) - u64::from(number > 0);
        self.put(&bytes, u64_of(ROWS) + nth * u64_of(ROW));
    }

    /// Writes the next slot.
    pub(crate) fn slot(&mut self, slot: &CheckpointSlot) {
        self.serial += 1;
        let bytes = slot.encode(&self.context.id, self.serial);
        self.put(&bytes, self.serial % 2 * u64_of(SLOT));
    }

    fn put(&mut self, bytes: &[u8], at: u64) {
        if self.given_up {
            return;
        }
        if let Err(e) = self.try_put(bytes, at) {
            self.given_up = true;
            // the file on disk may by now claim more than is true
            tracing::warn!(error = %e, "the checkpoint cannot be written: the next start checks more");
            if let Err(e) = self.context.files.remove(&self.context.folder, CHECKPOINT) {
                tracing::error!(
                    error = %e,
                    "a checkpoint that may be ahead of the store cannot be removed: remove it before the next start"
                );
            }
        }
    }

    fn try_put(&mut self, bytes: &[u8], at: u64) -> io::Result<()> {
        let file = match &self.file {
            Some(file) => file,
            None => {
                let file = self.open()?;
                self.file.insert(file)
            }
        };
        self.context.files.write_at(file, bytes, at)?;
        self.context.files.sync_data(file)
    }

    fn open(&self) -> io::Result<File> {
        let (files, folder) = (&self.context.files, &self.context.folder);
        if self.whole {
            return files.open(folder, CHECKPOINT);
        }
        // the old content proves nothing
        folder.remove(CHECKPOINT)?;
        let file = files.create(folder, CHECKPOINT)?;
        files.sync_folder(folder)?;
        Ok(file)
    }
}

/// The offset of a segment's row in the file.
#[cfg(test)]
pub(crate) fn place_of(number: u32) -> u64 {
    u64_of(ROWS) + u64::from(number - 1) * u64_of(ROW)
}
