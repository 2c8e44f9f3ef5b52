//! Does an operation to an engine and to the naive model, and compares what can be known.
//!
//! **What is known.** `all` has every commit that was valid when it was submitted. The first `sure`
//! of them were answered `Ok` or found by an opening; of the rest any prefix may be there.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use caudal_storage::{
    Commit, CommitNo, ENTRY_BYTES_MAX, Entry, Fact, Index, Position, Row, StoreError, StreamId,
};

use super::cents;
use super::ops::{Op, STREAMS, Wrong};
use super::rig::{Rig, Sabotaged};
use crate::hold;
use crate::invariants::Check;
use crate::invariants::store as inv;

/// The cell that an answer arrives in.
type Cell = Arc<Mutex<Option<Result<CommitNo, StoreError>>>>;

/// The answer that a submission should get.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Expected {
    /// It is recorded under this number.
    Number(u64),
    /// It is refused for a gap or a repeat: the stream, the last sequence found, the one offered.
    OutOfSequence(StreamId, u64, u64),
    Invalid,
    Overloaded,
    Full,
    /// The store is lost.
    Lost,
}

/// An engine, and everything that is known about it.
#[derive(Debug)]
pub struct Driver<R: Rig> {
    pub(super) rig: R,
    /// Every valid commit in order; the outcome of those after `sure` is open.
    pub(super) all: Vec<Vec<Entry>>,
    pub(super) sure: usize,
    waiting: Vec<(Expected, Cell)>,
    /// The commit numbers in the order in which they were answered.
    order: Arc<Mutex<Vec<u64>>>,
    pub(super) places: BTreeMap<(StreamId, u64), Position>,
    clock: u64,
    /// How many of the next submissions are refused.
    refuse: usize,
    full: bool,
    /// From some moment on writes may fail.
    sabotaged: bool,
    /// Writes have failed: the store takes nothing more.
    lost: bool,
    /// The cases that a run came across (invariant 30): a run that never loses anything proves
    /// nothing.
    pub reached: BTreeSet<&'static str>,
}

impl<R: Rig> Driver<R> {
    /// A driver of an empty store.
    pub fn new(rig: R) -> Self {
        Self {
            rig,
            all: Vec::new(),
            sure: 0,
            waiting: Vec::new(),
            order: Arc::default(),
            places: BTreeMap::new(),
            clock: 1_000,
            refuse: 0,
            full: false,
            sabotaged: false,
            lost: false,
            reached: BTreeSet::new(),
        }
    }

    /// Does one operation and checks its visible effects.
    pub fn step(&mut self, op: &Op) -> Check {
        match op {
            Op::Commit { parts, pad, later } => {
                self.clock += u64::from(*later);
                let entries = self.entries(parts, *pad);
                self.submit(entries);
            }
            Op::Wrong { parts, how } => {
                let mut entries = self.entries(parts, 0);
                spoil(entries.last_mut().expect("a commit has entries"), *how);
                self.submit(entries);
            }
            Op::Settle => self.settle()?,
            Op::Work(count) => self.rig.work(usize::from(*count)),
            Op::Look {
                stream,
                at,
                limit,
                ascending,
            } => {
                self.collect()?;
                let check = self.look(STREAMS[*stream], *at, *limit, *ascending);
                return self.forgive(check);
            }
            Op::Restart => {
                if self.rig.restart() {
                    self.reopened(!self.sabotaged && !self.lost)?;
                }
            }
            Op::Crash(keep) => {
                if self.rig.crash(usize::from(*keep)) {
                    self.reopened(false)?;
                }
            }
            Op::Rebuild(how) => {
                if self.rig.rebuild(*how) {
                    self.reopened(!self.sabotaged && !self.lost)?;
                }
            }
            Op::Sabotage(change) => self.sabotage(u64::from(*change))?,
            Op::Refuse => self.refuse += usize::from(self.rig.refuse_next()),
            Op::Full(full) => {
                if self.rig.set_full(*full) {
                    self.full = *full;
                }
            }
        }
        self.collect()
    }

    fn sabotage(&mut self, change: u64) -> Check {
        match self.rig.sabotage(change) {
            Some(Sabotaged::Lost) => self.lost = true,
            // The rig has opened the store on a sound disk; now it opens it on one that will fail.
            Some(Sabotaged::Reopened) => {
                self.reopened(false)?;
                self.rig.sabotage_now(change);
                self.sabotaged = true;
            }
            None => {}
        }
        Ok(())
    }

    /// A lost store may refuse to read, if it says so; any other failed check still counts.
    pub(super) fn forgive(&self, check: Check) -> Check {
        match check {
            Err(why) if why.contains("storage lost") && (self.sabotaged || self.lost) => Ok(()),
            other => other,
        }
    }

    /// Ends the run: everything is answered, and everything is as it should be.
    pub fn finish(mut self) -> Check {
        self.settle()?;
        let check = self.exact();
        self.forgive(check)?;
        if self.rig.restart() {
            self.reopened(!self.sabotaged && !self.lost)?;
        }
        Ok(())
    }

    /// Valid entries that follow each stream's last one, once everything before them is in.
    fn entries(&self, parts: &[(usize, i64)], pad: u16) -> Vec<Entry> {
        let mut entries: Vec<Entry> = Vec::new();
        // A record stays smaller than a segment of the smallest size.
        let share = 40_000 / u16::try_from(parts.len()).expect("a small commit");
        let pad = pad.min(share);
        for (stream, amount) in parts {
            let stream = STREAMS[*stream];
            let before = entries
                .iter()
                .rev()
                .chain(self.all.iter().rev().flat_map(|c| c.iter().rev()));
            let seq = before
                .into_iter()
                .find(|e| e.stream == stream)
                .map_or(0, |e| e.seq)
                + 1;
            entries.push(Entry {
                stream,
                seq,
                at: self.clock,
                body: cents::body(*amount, pad),
                fact: Fact::default(),
            });
        }
        entries
    }

    fn submit(&mut self, entries: Vec<Entry>) {
        let expected = self.judge(&entries);
        let cell = Cell::default();
        let (reply, order) = (Arc::clone(&cell), Arc::clone(&self.order));
        let number = match expected {
            Expected::Number(number) => number.to_be_bytes().to_vec(),
            _ => Vec::new(),
        };
        let hint = Row {
            key: vec![cents::HINT],
            value: Some(number),
        };
        let commit = Commit {
            entries: entries.clone(),
            hints: vec![hint],
            ..Commit::default()
        };
        if matches!(expected, Expected::Number(_)) {
            self.all.push(entries);
        }
        let store = self.rig.store();
        store.submit(
            commit,
            Box::new(move |result| {
                if let Ok(number) = &result {
                    order.lock().unwrap().push(number.0);
                }
                let before = reply.lock().unwrap().replace(result);
                assert!(before.is_none(), "an answer comes once");
            }),
        );
        self.waiting.push((expected, cell));
    }

    /// The answer that the store's trait demands for a commit, by its words alone.
    fn judge(&mut self, entries: &[Entry]) -> Expected {
        if self.lost {
            return Expected::Lost;
        }
        if self.full {
            return Expected::Full;
        }
        if self.refuse > 0 {
            self.refuse -= 1;
            return Expected::Overloaded;
        }
        if entries.iter().any(|e| e.body.len() > ENTRY_BYTES_MAX) {
            return Expected::Invalid;
        }
        let mut heads: BTreeMap<StreamId, (u64, u64)> = BTreeMap::new();
        for entry in self.all.iter().flatten() {
            heads.insert(entry.stream, (entry.seq, entry.at));
        }
        for entry in entries {
            let (seq, at) = heads.get(&entry.stream).copied().unwrap_or((0, 0));
            if entry.seq != seq + 1 {
                return Expected::OutOfSequence(entry.stream, seq, entry.seq);
            }
            if entry.at < at {
                return Expected::Invalid;
            }
            heads.insert(entry.stream, (entry.seq, entry.at));
        }
        Expected::Number(u64::try_from(self.all.len()).unwrap() + 1)
    }

    fn settle(&mut self) -> Check {
        self.rig.settle();
        self.collect()?;
        // A lost store refuses the barrier at once, while its threads may still be refusing earlier
        // submissions: every submission gets its answer, but perhaps a moment later.
        let deadline = Instant::now() + Duration::from_secs(120);
        while (self.sabotaged || self.lost) && !self.waiting.is_empty() && Instant::now() < deadline
        {
            std::thread::yield_now();
            self.collect()?;
        }
        hold!(
            self.waiting.is_empty(),
            "{} submissions have no answer",
            self.waiting.len()
        );
        Ok(())
    }

    /// Takes the answers that have arrived, and reports those that are wrong.
    pub(super) fn collect(&mut self) -> Check {
        let mut waiting = Vec::new();
        for (expected, cell) in std::mem::take(&mut self.waiting) {
            let Some(answer) = cell.lock().unwrap().take() else {
                waiting.push((expected, cell));
                continue;
            };
            self.answered(&expected, &answer)?;
        }
        self.waiting = waiting;
        let order = self.order.lock().unwrap();
        hold!(order.is_sorted(), "answers came in the order {order:?}");
        Ok(())
    }

    fn answered(&mut self, expected: &Expected, answer: &Result<CommitNo, StoreError>) -> Check {
        if let (Err(StoreError::Poisoned(_)), true) = (answer, self.sabotaged || self.lost) {
            // The outcome is unknown.
            self.reached.insert("a commit whose fate nobody knows");
            self.lost = true;
            return Ok(());
        }
        let same = match (expected, answer) {
            (Expected::Number(right), Ok(found)) => {
                self.sure = self.sure.max(usize::try_from(found.0).unwrap());
                *right == found.0
            }
            (
                Expected::OutOfSequence(stream, found, offered),
                Err(StoreError::OutOfSequence {
                    stream: s,
                    found: f,
                    offered: o,
                }),
            ) => (stream, found, offered) == (s, f, o),
            (Expected::Invalid, Err(StoreError::Invalid(_)))
            | (Expected::Overloaded, Err(StoreError::Overloaded))
            | (Expected::Full, Err(StoreError::Full(_))) => true,
            _ => false,
        };
        self.reached.insert(match expected {
            Expected::Number(_) => "recorded",
            Expected::OutOfSequence(..) => "out of sequence",
            Expected::Invalid => "invalid",
            Expected::Overloaded => "overloaded",
            Expected::Full => "full",
            Expected::Lost => "lost",
        });
        hold!(
            same,
            "the store answered {answer:?}, should be {expected:?}"
        );
        Ok(())
    }

    /// Takes in what an opening found. After a clean end that is everything.
    fn reopened(&mut self, clean: bool) -> Check {
        // Answers that arrived at the very end count; submissions without an answer are open, and
        // so are those answered `Closed`: they may have been in the last group.
        for (expected, cell) in std::mem::take(&mut self.waiting) {
            let answer = cell.lock().unwrap().take();
            match answer {
                None | Some(Err(StoreError::Closed)) => {
                    hold!(!clean, "closing left {expected:?} without its answer");
                }
                Some(answer) => self.answered(&expected, &answer)?,
            }
        }
        let store = self.rig.store();
        let found = found(&*store)?;
        inv::check_i11(&self.all, self.sure, &found)?;
        inv::check_i12(&self.all, &found)?;
        hold!(
            !clean || found.len() == self.all.len(),
            "I11: a clean end lost something"
        );
        let open = self.all.len() - self.sure;
        let kept = found.len() - self.sure;
        self.reached.insert(match (open, kept) {
            (0, _) => "an end with nothing open",
            (_, 0) => "open commits were lost",
            (open, kept) if open == kept => "open commits were kept",
            _ => "some open commits were kept, some lost",
        });
        self.all.truncate(found.len());
        self.sure = found.len();
        self.order.lock().unwrap().clear();
        (self.refuse, self.full, self.sabotaged, self.lost) = (0, false, false, false);
        let left: BTreeMap<StreamId, u64> = self
            .all
            .iter()
            .flatten()
            .map(|e| (e.stream, e.seq))
            .collect();
        self.places
            .retain(|(stream, seq), _| left.get(stream).is_some_and(|last| seq <= last));
        drop(store);
        self.exact()
    }
}

fn spoil(entry: &mut Entry, how: Wrong) {
    match how {
        Wrong::Gap => entry.seq += 1,
        Wrong::Repeat => entry.seq -= 1,
        Wrong::Zero => entry.seq = 0,
        Wrong::TimeBack => entry.at = 1,
        Wrong::TooLarge => entry.body.resize(ENTRY_BYTES_MAX + 1, 7),
    }
}

/// The commits in the journal.
fn found(store: &dyn Index) -> Result<Vec<Vec<Entry>>, String> {
    let mut found: Vec<Vec<Entry>> = Vec::new();
    let mut last = 0;
    let mut flaw = None;
    let end = store.replay(CommitNo(1), &mut |number, entry| {
        if number.0 != last {
            if number.0 != last + 1 {
                flaw = Some(format!("commit {} follows {last}", number.0));
            }
            last = number.0;
            found.push(Vec::new());
        }
        found.last_mut().unwrap().push(entry.clone());
        flaw.is_none()
    });
    match (end, flaw) {
        (Ok(end), None) if end.0 == last => Ok(found),
        (end, flaw) => Err(format!("replay ended with {end:?} after {last}: {flaw:?}")),
    }
}
