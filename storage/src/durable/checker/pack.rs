//! Chooses the segments that the background thread compresses, and handles those that stay as they were.
//!
//! **Order.** A segment is compressed once the checkpoint attests it and the index on disk reaches the set number of
//! segments beyond it; then the checkpoint names the new file.
//!
//! **Bounds.** The rate of the check, alternating with it; the disk needs room for one more segment above the floor.
//!
//! **Failure.** Nothing here ends the store: a segment that cannot be compressed stays as it was written.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use crate::durable::checker::{Checker, Work};
use crate::journal::check::Checked;
use crate::journal::names::segment_name;
use crate::journal::packing::{Kept, Packing, Step};
use crate::journal::prepare::exhausted;
use crate::journal::seal::Wrong;
use crate::journal::split;

/// How long compressing pauses after the machine ran short of something for it.
const PAUSE: Duration = Duration::from_secs(60);

/// The state of compressing.
#[derive(Debug, Default)]
pub(super) struct Packs {
    /// Segments that are compressed, or cannot be.
    done: BTreeSet<u32>,
    /// Whether the last work that was begun was compressing.
    pub(super) was_last: bool,
    /// Until when no compressing is begun.
    pause: Option<Instant>,
    given_up: bool,
}

impl Packs {
    /// Starts with the segments that are compressed already.
    pub(super) fn of(checked: &Checked) -> Self {
        let packed = checked.segments.iter().filter(|s| s.packed.is_some());
        Self {
            done: packed.map(|s| s.number).collect(),
            ..Self::default()
        }
    }

    fn rests(&self) -> bool {
        self.given_up || self.pause.is_some_and(|until| Instant::now() < until)
    }
}

impl Checker {
    /// The next segment to compress.
    pub(super) fn to_pack(&self, work: &mut Work) -> Option<Packing> {
        if self.compress_after == 0
            || work.packs.rests()
            || self.health.damaged().is_some()
            || self.health.full().is_some()
        {
            return None;
        }
        // as far as the checkpoint attests; the segment in which the index ends is never compressed
        let tail = split(work.slot.as_ref()?.index.mark.end).0;
        let before = tail.checked_sub(self.compress_after)?;
        let due = |number: &u32| !work.packs.done.contains(number);
        let old = work.attested.range(..before);
        let mut old = old.filter(|(number, a)| due(number) && a.seal.first_commit > 0);
        let seal = old.next()?.1.seal;
        let free = self.folder.free_space().ok()?;
        if free < self.floor.checked_add(u64::from(seal.size))? {
            work.packs.pause = Some(Instant::now() + PAUSE);
            return None;
        }
        work.packs.was_last = true;
        match Packing::begin(&self.files, &self.journal, &self.id, seal) {
            Ok(packing) => Some(packing),
            Err(kept) => {
                self.stays(work, seal.number, kept);
                None
            }
        }
    }

    /// Takes the next step; returns the number of bytes read.
    pub(super) fn pack(&self, work: &mut Work, packing: Packing) -> u64 {
        let seal = *packing.seal();
        match packing.step(&self.files, &self.journal) {
            Ok((packing, Step::More(read))) => {
                work.current = Some(super::Current::Packing(packing));
                read
            }
            Ok((_, Step::Done(bytes))) => {
                work.packs.done.insert(seal.number);
                self.reader.packed(seal.number, bytes);
                let row = self.attest(work, seal, None);
                match row {
                    Ok(Some(row)) => {
                        work.checkpoint.row(seal.number, Some(&row));
                        work.attested.insert(seal.number, row);
                    }
                    // the next start reads this segment
                    Ok(None) => work.checkpoint.row(seal.number, None),
                    Err(e) => {
                        let why = format!("flushing a compressed segment: {e}");
                        self.health.poison(&why);
                    }
                }
                tracing::info!(
                    segment = seal.number,
                    from = seal.size,
                    to = bytes,
                    "a segment of the journal was compressed"
                );
                u64::from(bytes)
            }
            Err(kept) => {
                self.stays(work, seal.number, kept);
                1
            }
        }
    }

    /// Handles a segment that stays as it was.
    fn stays(&self, work: &mut Work, number: u32, kept: Kept) {
        let name = segment_name(number);
        match kept {
            Kept::Segment(wrong) => {
                work.packs.done.insert(number);
                self.found(work, number, wrong);
            }
            Kept::Small => drop(work.packs.done.insert(number)),
            Kept::File(e) if exhausted(&e) => {
                work.packs.pause = Some(Instant::now() + PAUSE);
                tracing::warn!(segment = name, error = %e, "compressing segments waits");
            }
            Kept::File(e) => {
                work.packs.given_up = true;
                tracing::warn!(
                    segment = name, error = %e,
                    "a segment could not be compressed and stays as it was; no more are tried until a restart"
                );
            }
            Kept::Untrue(wrong) => {
                work.packs.given_up = true;
                let (offset, why) = match wrong {
                    Wrong::Damaged { offset, why } => (offset, why),
                    Wrong::Refused(offset, e) => (offset, e.to_string()),
                };
                tracing::error!(
                    segment = name,
                    offset,
                    why,
                    "a segment that was compressed reads back as something else: it stays as it was, and no more \
                     are tried until a restart; look at the disk's health"
                );
            }
        }
    }
}
