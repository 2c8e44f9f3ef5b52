//! The background check: reads the whole store, round after round, and records in the checkpoint what the next start
//! need not read.
//!
//! **Shape.** A round reads, in order, each segment that takes no more records and each run of the index that existed
//! when the round began. The note of each says in which round it was last read, so a round continues after a restart. A
//! read at the start counts towards the round that is under way, or the next one.
//!
//! **Bounds.** [`StoreOptions::check_bytes_per_second`](crate::StoreOptions) is the rate, in pieces of about
//! a megabyte; a round begins [`StoreOptions::check_every`](crate::StoreOptions) after the last one ended.
//! A hundred findings are kept.
//!
//! **Order.** A segment is noted after its own fsync. How far the index reaches is noted after all segments before that
//! place; see [`super::checkpoint`].
//!
//! **Failure.** Bytes that differ from those written are reported at once: the log gets an error with segment and
//! offset, the store is not ready and takes no commits, and the note in the checkpoint is withdrawn, so that the next
//! start reads the place and refuses the journal, or rebuilds the index. Segments are opened read-only. A read that the
//! system refuses is also a finding; it is tried again in the next round. A failed fsync of a segment poisons the
//! store; a checkpoint that cannot be written does not. When a read meets damage in a segment, the whole segment is
//! read at once, regardless of the rate; the result is a finding like any other.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::api::{Checks, Finding};
use crate::context::StoreContext;
use crate::durable::checkpoint::{Checkpoint, CheckpointSlot, KnownRun, Rounds, TrustedCheckpoint};
use crate::durable::seals::{Fresh, Seals};
use crate::folder::Stamp;
use crate::index::SortedRows;
use crate::index::error::IndexError;
use crate::index::manifest::JournalMark;
use crate::index::run::RunInfo;
use crate::index::scrub::{RunScrub, bytes_of};
use crate::journal::check::Checked;
use crate::journal::format::segment_name;
use crate::journal::prepare::exhausted;
use crate::journal::reread::Reread;
use crate::journal::seal::{Attested, Seal, SegmentError};
use crate::journal::{Journal, position};
use crate::num::low32;
use crate::sync::{lock, wait_for};

/// The most findings that are kept; all of them are counted.
const FINDINGS_MAX: usize = 100;
/// The longest sleep of the thread.
const LOOK_AGAIN: Duration = Duration::from_millis(250);

/// The piece of work under way.
#[derive(Debug)]
enum Current {
    Segment(Reread),
    Run(RunScrub),
}

/// The checker's state, which only one caller at a time changes.
#[derive(Debug)]
struct Work {
    checkpoint: Checkpoint,
    /// Segments that were found intact, by number from 1.
    attested: BTreeMap<u32, Attested>,
    /// For each run, the round in which it was last read.
    runs: BTreeMap<u64, u64>,
    rounds: Rounds,
    /// The content of the last slot.
    slot: Option<CheckpointSlot>,
    current: Option<Current>,
    /// Segments that could not be read in this round.
    refused: BTreeSet<u32>,
    index_done: bool,
}

/// The background check of one store.
#[derive(Debug)]
pub(crate) struct Checker {
    parts: Parts,
    work: Mutex<Work>,
    shown: Mutex<Checks>,
}

/// The parts of a checker; `rate` is in bytes per second, and `every` is the pause between two rounds.
#[derive(Debug)]
pub(crate) struct Parts {
    pub(crate) context: Arc<StoreContext>,
    pub(crate) index: Arc<SortedRows>,
    pub(crate) seals: Arc<Seals>,
    pub(crate) rate: u64,
    pub(crate) every: Duration,
    /// The journal as readers see it.
    pub(crate) reader: Arc<Journal>,
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |d| u64::try_from(d.as_millis()).unwrap_or(u64::MAX))
}

impl Work {
    /// The round that counts for segments and runs written or read whole now.
    fn round(&self) -> u64 {
        self.rounds.begun
    }

    /// The next segment to read in this round.
    fn next_segment(&self) -> Option<Seal> {
        let due =
            |a: &&Attested| a.round < self.rounds.begun && !self.refused.contains(&a.seal.number);
        self.attested.values().find(due).map(|a| a.seal)
    }
}

impl Checker {
    /// Continues from the state that was found on disk and read at the start.
    pub(crate) fn new(parts: Parts, found: &TrustedCheckpoint, checked: &Checked) -> Self {
        let read: BTreeMap<u32, Fresh> = checked
            .read
            .iter()
            .filter(|(seal, _)| seal.number < checked.segment)
            .map(|(seal, stamp)| (seal.number, (*seal, Some(*stamp))))
            .collect();
        let noted = found.attested.iter().flatten();
        // the last segment with records may take more, whatever the checkpoint says of it
        let noted =
            noted.filter(|a| a.seal.number < checked.segment && !read.contains_key(&a.seal.number));
        let mut work = Work {
            checkpoint: Checkpoint::new(&parts.context, found),
            attested: noted.map(|a| (a.seal.number, *a)).collect(),
            runs: BTreeMap::new(),
            rounds: found
                .slot
                .as_ref()
                .map_or_else(Rounds::default, |s| s.rounds),
            slot: found.slot.clone(),
            current: None,
            refused: BTreeSet::new(),
            index_done: false,
        };
        let known = found.slot.iter().flat_map(|s| s.runs.iter());
        work.runs.extend(known.map(|run| (run.id, run.round)));
        let round = work.rounds.of_opening();
        work.runs
            .extend(parts.index.loaded.whole.iter().map(|run| (*run, round)));
        lock(&parts.seals.waiting).0.extend(read.into_values());
        let shown = Checks {
            bytes_per_second: parts.rate,
            opening_journal_bytes: checked.bytes,
            opening_index_bytes: parts.index.loaded.bytes,
            ..Checks::default()
        };
        let checker = Self {
            parts,
            work: Mutex::new(work),
            shown: Mutex::new(shown),
        };
        checker.show(&lock(&checker.work));
        checker
    }

    /// Counts further bytes of the journal that were read at the start.
    pub(crate) fn read_more(&self, bytes: u64) {
        lock(&self.shown).opening_journal_bytes += bytes;
    }

    /// The figures and findings, for operators.
    pub(crate) fn shown(&self) -> Checks {
        lock(&self.shown).clone()
    }

    /// Ends the thread after the piece that it is reading.
    pub(crate) fn stop(&self) {
        lock(&self.parts.seals.waiting).1 = true;
        self.parts.seals.changed.notify_all();
    }

    /// The loop of the checker's thread.
    pub(crate) fn run(&self) {
        let mut next = Instant::now();
        loop {
            self.note();
            let now = Instant::now();
            if self.parts.rate > 0 && now >= next {
                let pause = self.step() * 1_000_000 / self.parts.rate;
                next = now + Duration::from_micros(pause);
                if pause == 0 {
                    next = now + LOOK_AGAIN;
                }
            }
            let waiting = lock(&self.parts.seals.waiting);
            if waiting.1 || self.parts.context.health.poisoned().is_some() {
                return;
            }
            if waiting.0.is_empty() {
                let pause = match self.parts.rate {
                    0 => LOOK_AGAIN,
                    _ => next
                        .checked_duration_since(now)
                        .unwrap_or(Duration::ZERO)
                        .min(LOOK_AGAIN),
                };
                drop(wait_for(&self.parts.seals.changed, waiting, pause));
            }
        }
    }

    /// Notes everything that no longer changes: full segments, and how far the index reaches.
    pub(crate) fn note(&self) {
        let mut work = lock(&self.work);
        // read this first: by now the writer has left all segments before the one in which the index ends
        let on_disk = self.parts.index.on_disk();
        let fresh = std::mem::take(&mut lock(&self.parts.seals.waiting).0);
        for (seal, before) in fresh {
            if self.parts.context.health.poisoned().is_some() {
                return;
            }
            match self.attest(&work, seal, before) {
                Ok(Some(row)) => {
                    work.checkpoint.row(seal.number, Some(&row));
                    work.attested.insert(seal.number, row);
                }
                // the row on disk may describe an earlier state with fewer records
                Ok(None) => work.checkpoint.row(seal.number, None),
                Err(e) => {
                    let why = format!("flushing {}: {e}", segment_name(seal.number));
                    return self.parts.context.health.poison(&why);
                }
            }
        }
        self.look_at_suspects(&mut work);
        if self.parts.context.health.poisoned().is_none()
            && self.parts.context.health.damaged().is_none()
        {
            self.note_index(&mut work, on_disk);
        }
        self.show(&work);
    }

    /// Reads the whole of each segment in which a read met damage: of one that still takes records, those that are
    /// durable. If the segment is sound, and no entry begins where the index led, the index is damaged.
    fn look_at_suspects(&self, work: &mut Work) {
        while let Some((number, suspect)) = self.parts.context.health.next_suspect() {
            let (offset, by_index) = (suspect.offset, suspect.by_index);
            let name = segment_name(number);
            let known = lock(&self.shown).findings.iter().any(|it| it.place == name);
            // a wrong row is met again and again until the index is rebuilt
            if known || by_index && self.parts.context.health.index_damaged().is_some() {
                continue;
            }
            let read = match work.attested.get(&number).map(|row| row.seal) {
                None => Ok(()),
                Some(seal) => Reread::open(&self.parts.context, seal).and_then(Reread::whole),
            };
            let begins = read.and_then(|()| self.parts.reader.read_through(number, offset));
            match begins {
                Ok(false) if by_index => {
                    let why = format!("a row leads to offset {offset} of {name}, to no entry");
                    self.keep("index", None, why.clone());
                    self.parts.context.health.damage(&why);
                }
                Ok(_) => tracing::warn!(
                    segment = name,
                    offset,
                    why = suspect.why,
                    "a read met damage that is not there any more; look at the memory of the machine"
                ),
                Err(wrong) => drop(self.found(work, number, wrong)),
            }
        }
    }

    /// Flushes the file of a segment before the checkpoint attests it; `None` when the file was changed since it was
    /// read, or cannot be examined.
    fn attest(
        &self,
        work: &Work,
        seal: Seal,
        before: Option<Stamp>,
    ) -> std::io::Result<Option<Attested>> {
        // the watch reports files that are gone
        let context = &self.parts.context;
        let Ok(file) = context
            .files
            .read(&context.journal, &segment_name(seal.number))
        else {
            return Ok(None);
        };
        context.files.sync_all(&file)?;
        let stamp = Stamp::of(&file)?;
        let round = if before.is_some() {
            work.rounds.of_opening()
        } else {
            work.round()
        };
        Ok(before
            .is_none_or(|b| b == stamp)
            .then_some(Attested { seal, stamp, round }))
    }

    fn note_index(&self, work: &mut Work, (mark, runs): (JournalMark, Vec<RunInfo>)) {
        let round = work.round();
        let runs: Vec<KnownRun> = runs
            .iter()
            .map(|run| KnownRun {
                id: run.id,
                digest: run.digest,
                round: work.runs.get(&run.id).copied().unwrap_or(round),
            })
            .collect();
        work.runs = runs.iter().map(|run| (run.id, run.round)).collect();
        let slot = CheckpointSlot {
            rounds: work.rounds,
            file: self.parts.context.folder.birth("index/db"),
            mark,
            runs,
        };
        if work.slot.as_ref() != Some(&slot) {
            work.checkpoint.slot(&slot);
            work.slot = Some(slot);
        }
    }

    /// Reads and checks the next piece; returns its bytes, 0 when there is nothing to read now.
    pub(crate) fn step(&self) -> u64 {
        if self.parts.context.health.poisoned().is_some() {
            return 0;
        }
        let mut work = lock(&self.work);
        let current = match work.current.take() {
            Some(current) => Some(current),
            None => self.to_read(&mut work),
        };
        let read = match current {
            Some(Current::Segment(reread)) => self.segment(&mut work, reread),
            Some(Current::Run(scrub)) => self.run_of_index(&mut work, scrub),
            None => 0,
        };
        self.show(&work);
        read
    }

    /// Chooses what to read next. Begins a round when one is due, and ends one that has nothing left.
    fn to_read(&self, work: &mut Work) -> Option<Current> {
        let rounds = work.rounds;
        let now = now_ms();
        if rounds.begun == rounds.ended {
            let rested = u128::from(now.abs_diff(rounds.ended_at)) >= self.parts.every.as_millis();
            if rounds.ended > 0 && !rested {
                return None;
            }
            work.rounds.begun += 1;
            work.refused.clear();
            work.index_done = false;
        }
        while let Some(seal) = work.next_segment() {
            match Reread::open(&self.parts.context, seal) {
                Ok(reread) => return Some(Current::Segment(reread)),
                Err(wrong) => {
                    if !self.found(work, seal.number, wrong) {
                        return None;
                    }
                }
            }
        }
        let begun = work.rounds.begun;
        while !work.index_done && self.parts.context.health.damaged().is_none() {
            let (_, runs) = self.parts.index.on_disk();
            let due = |id: u64| work.runs.get(&id).is_some_and(|round| *round < begun);
            match runs.iter().find(|run| due(run.id)) {
                None => work.index_done = true,
                Some(run) => match self.parts.index.scrub(run.id) {
                    Some(scrub) => return Some(Current::Run(scrub)),
                    None => drop(work.runs.remove(&run.id)),
                },
            }
        }
        work.rounds.ended = begun;
        work.rounds.ended_at = now;
        tracing::info!(round = begun, "all stored data was read and checked");
        None
    }

    fn segment(&self, work: &mut Work, mut reread: Reread) -> u64 {
        let number = reread.seal().number;
        let read = match reread.step() {
            Ok(read) => read,
            Err(wrong) => {
                self.found(work, number, wrong);
                return 1;
            }
        };
        if !reread.done() {
            work.current = Some(Current::Segment(reread));
            return read;
        }
        let round = work.rounds.begun;
        if let Some(row) = work.attested.get_mut(&number) {
            row.round = round;
            work.checkpoint.row(number, Some(row));
        }
        read
    }

    fn run_of_index(&self, work: &mut Work, mut scrub: RunScrub) -> u64 {
        match self.parts.index.scrub_step(&mut scrub) {
            Ok((read, false)) => {
                work.current = Some(Current::Run(scrub));
                read
            }
            Ok((read, true)) => {
                work.runs.insert(scrub.run(), work.rounds.begun);
                read
            }
            Err(IndexError::Read(why)) => {
                // a run that cannot be read now is read in the next round
                work.runs.insert(scrub.run(), work.rounds.begun);
                self.parts.context.health.unreadable(&why, None);
                self.keep("index", None, why);
                1
            }
            Err(IndexError::Damaged(why) | IndexError::Write(why)) => {
                self.parts.context.health.damage(&why);
                self.keep("index", None, why);
                1
            }
        }
    }

    /// Reports what is wrong with a segment; false when it is to be tried again shortly.
    fn found(&self, work: &mut Work, number: u32, wrong: SegmentError) -> bool {
        let name = segment_name(number);
        match wrong {
            SegmentError::Refused(_, e) if exhausted(&e) => {
                tracing::warn!(segment = name, error = %e, "the check of the journal waits");
                return false;
            }
            SegmentError::Refused(offset, e) => {
                let why = format!("reading {name} at offset {offset}: {e}");
                let at = position(number, low32(offset));
                self.parts.context.health.unreadable(&why, Some(at));
                work.refused.insert(number);
                self.keep(&name, Some(offset), format!("it cannot be read: {e}"));
            }
            SegmentError::Damaged { offset, why } => {
                let place = self.parts.context.journal.path().join(&name);
                self.parts.context.health.rot(&place, offset, &why);
                // the next start reads this segment
                work.attested.remove(&number);
                work.checkpoint.row(number, None);
                self.keep(&name, Some(offset), why);
            }
        }
        true
    }

    fn keep(&self, place: &str, offset: Option<u64>, why: String) {
        let mut shown = lock(&self.shown);
        shown.found += 1;
        if shown.findings.len() < FINDINGS_MAX {
            shown.findings.push(Finding {
                place: place.to_owned(),
                offset,
                why,
                at: now_ms(),
            });
        }
    }

    fn show(&self, work: &Work) {
        let rounds = work.rounds;
        let (mut done, mut total) = (0, 0);
        for row in work.attested.values() {
            let bytes = u64::from(row.seal.size);
            total += bytes;
            done += if row.round >= rounds.begun { bytes } else { 0 };
        }
        for run in self.parts.index.on_disk().1 {
            let bytes = bytes_of(run.blocks);
            total += bytes;
            let read = work
                .runs
                .get(&run.id)
                .is_none_or(|round| *round >= rounds.begun);
            done += if read { bytes } else { 0 };
        }
        done += match &work.current {
            Some(Current::Segment(reread)) => reread.offset(),
            Some(Current::Run(scrub)) => scrub.bytes(),
            None => 0,
        };
        let mut shown = lock(&self.shown);
        (shown.round, shown.rounds) = (rounds.begun, rounds.ended);
        shown.ended_at = rounds.ended_at;
        shown.done_bytes = done.min(total);
        shown.total_bytes = total;
    }
}
