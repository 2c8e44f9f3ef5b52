//! The committer: one thread that makes groups of commits durable and then visible.
//!
//! **Order.** Take what waits; refuse what does not follow its stream; seal one record and append it
//! to the log of the cell; then the rows become visible; then the `done`s are called, in the order
//! of submission. So nobody hears of a commit, and no read shows it, before it is durable.
//!
//! **Failure.** Any error after the record was begun poisons the store. A group that finds no next
//! segment is refused, and nothing of it was written. A commit out of sequence fails alone. A `done` that panics is contained: it belongs to somebody else.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use foldhash::HashMap;

use crate::api::{Commit, CommitNo, Done, Entry, Head, Projection, Row, StoreError, StreamId};
use crate::durable::Shared;
use crate::durable::applier::Applier;
use crate::durable::cell::Cell;
use crate::durable::queue::Item;
use crate::durable::sign::Sign;
use crate::journal::format::RecordBuilder;
use crate::journal::writer::Placed;
use crate::log::{LogError, Sealed, Tail};
use crate::num::u64_of;

/// The head of a stream, and where it is thought to be.
type Look<'a> = &'a dyn Fn(StreamId, u64) -> Result<Option<Head>, StoreError>;

/// What waited, with when it came.
type Came = Vec<(Instant, Item)>;

/// Who is told, what, and when a commit had come.
type Outcome = (Done, Result<CommitNo, StoreError>, Option<Instant>);

/// Checks that entries follow their streams; remembers heads so that disk is seldom asked: in two generations,
/// of which the older one goes when the newer one is full.
#[derive(Debug, Default)]
pub(crate) struct Heads {
    known: HashMap<StreamId, Option<Head>>,
    older: HashMap<StreamId, Option<Head>>,
    undo: Vec<(StreamId, Option<Head>)>,
}

impl Heads {
    /// Takes the entries of a commit, all or none.
    ///
    /// # Errors
    /// `OutOfSequence`, or `Invalid` when the time of an entry goes back; or what `look` gives.
    pub(crate) fn accept(&mut self, entries: &[Entry], look: Look<'_>) -> Result<(), StoreError> {
        self.undo.clear();
        for entry in entries {
            if let Err(e) = self.accept_one(entry, look) {
                while let Some((stream, head)) = self.undo.pop() {
                    self.known.insert(stream, head);
                }
                return Err(e);
            }
        }
        assert_eq!(self.undo.len(), entries.len(), "each entry moves one head");
        Ok(())
    }

    fn accept_one(&mut self, entry: &Entry, look: Look<'_>) -> Result<(), StoreError> {
        let stream = entry.stream;
        let known = match self.known.get(&stream).or_else(|| self.older.get(&stream)) {
            Some(known) => *known,
            None => look(stream, entry.seq.saturating_sub(1))?,
        };
        let found = known.map_or(0, |h| h.seq);
        if Some(entry.seq) != found.checked_add(1) || entry.seq == u64::MAX {
            return Err(StoreError::OutOfSequence {
                stream,
                found,
                offered: entry.seq,
            });
        }
        if let Some(head) = known
            && entry.at < head.at
        {
            return Err(StoreError::Invalid(format!(
                "the time of an entry goes back from {} to {} in stream {stream:?}",
                head.at, entry.at
            )));
        }
        self.undo.push((stream, known));
        let head = Head {
            seq: entry.seq,
            at: entry.at,
        };
        self.known.insert(stream, Some(head));
        Ok(())
    }

    /// Whether a stream has what a row at rest says of it. What cannot be looked up is not believed: the row is a hint.
    fn bear_out(&self, (stream, said): (StreamId, Head), look: Look<'_>) -> bool {
        let known = match self.known.get(&stream).or_else(|| self.older.get(&stream)) {
            Some(known) => *known,
            None => look(stream, said.seq).ok().flatten(),
        };
        known.is_some_and(|last| said.seq < last.seq || said == last)
    }

    /// Takes out the rows at rest that say of a stream what it does not have.
    fn sift(&self, hints: &mut Vec<Row>, (rows, look): (&dyn Projection, Look<'_>)) {
        hints.retain(|row| {
            let said = row.value.as_deref();
            let said = said.and_then(|value| rows.rests(&row.key, value));
            let right = said.is_none_or(|said| self.bear_out(said, look));
            if !right {
                tracing::error!(?said, "a row at rest says more than its stream has");
            }
            right
        });
    }

    /// The rows of all notes among these items, and the other items. It is called before any of them is accepted, so what a
    /// note says is held against what is durable.
    fn notes_of(&self, items: Came, with: (&dyn Projection, Look<'_>)) -> (Vec<Row>, Came) {
        let (mut notes, mut others) = (Vec::new(), Vec::with_capacity(items.len()));
        for (came, item) in items {
            match item {
                Item::Note(rows) => notes.extend(rows),
                other => others.push((came, other)),
            }
        }
        self.sift(&mut notes, with);
        (notes, others)
    }

    /// Forgets what was accepted and then refused; the index knows all that is durable.
    fn forget(&mut self) {
        self.known.clear();
        self.older.clear();
    }

    /// Forgets the longest untouched when there are too many; only between groups, when all is in the index.
    pub(crate) fn trim(&mut self, most: usize) {
        if self.known.len() > most / 2 {
            // What the older one has allocated is filled again: growing step by step would keep commits waiting.
            std::mem::swap(&mut self.known, &mut self.older);
            self.known.clear();
        }
    }
}

/// The committer's thread, as long as it runs.
pub(crate) struct Committer {
    shared: Arc<Shared>,
    cell: Cell,
    record: RecordBuilder,
    heads: Heads,
    applier: Applier,
    /// How this node is shown to others, where there are any.
    sign: Option<Sign>,
}

impl Committer {
    /// Of a cell that this node owns and whose log is applied to its end; `sign` says how it is shown to
    /// other nodes, where there are any.
    pub(crate) fn new(
        shared: Arc<Shared>,
        cell: Cell,
        applier: Applier,
        sign: Option<Sign>,
    ) -> Self {
        Self {
            shared,
            cell,
            sign,
            record: RecordBuilder::default(),
            heads: Heads::default(),
            applier,
        }
    }

    /// Works until the store closes or is lost, or, on a node among others, until it owns the cell no more:
    /// then cell, rows and sign are given back, with which it follows.
    pub(crate) fn run(mut self) -> Option<(Cell, Applier, Sign)> {
        let options = self.shared.options.clone();
        while let Some(items) =
            self.shared
                .queue
                .take(options.group_commits, options.group_bytes, self.rests())
        {
            let mut outcomes = Vec::with_capacity(items.len());
            let last = self.group(items, &mut outcomes);
            self.shared.options.times.ended(&outcomes);
            for (done, result, _) in outcomes {
                finish(done, result);
            }
            // only now: it waits when the flusher is behind
            if let Err(e) = self.applier.settle() {
                self.shared.fail_waiting(&e);
                return None;
            }
            match last {
                Some(Last::Close(reply)) => {
                    let written = self.shared.write_out(self.applier.mark());
                    self.cell.release();
                    self.shared.fail_waiting(&StoreError::Closed);
                    tell(&reply, written);
                    return None;
                }
                Some(Last::Yield(to, reply)) => self.hand_over(&to, &reply),
                None => {}
            }
            self.renew();
            if let Some(e) = self.shared.health.poisoned() {
                self.shared.fail_waiting(&e);
                return None;
            }
            if let Some(e) = self.shared.role.refusing() {
                let Some(sign) = self.sign else {
                    self.shared.fail_waiting(&e);
                    return None;
                };
                self.cell.forget();
                return Some((self.cell, self.applier, sign));
            }
            self.heads.trim(options.heads_max);
        }
        None
    }

    /// How long this thread may sleep.
    fn rests(&self) -> Option<Duration> {
        match (self.cell.rests(), &self.sign) {
            (Some(rests), Some(sign)) => Some(rests.min(sign.rests())),
            (rests, _) => rests,
        }
    }

    /// Lets the node of this name own the cell. Nothing waits that was not written: what is submitted from now on
    /// is refused. Whether the log was told or not, this node follows: it may have been told without an answer.
    fn hand_over(&mut self, to: &str, reply: &Reply) {
        if self.sign.is_none() {
            let alone = "this store has no other nodes";
            return tell(reply, Err(StoreError::Invalid(alone.to_owned())));
        }
        if let Some(e) = self.shared.role.refusing() {
            return tell(reply, Err(e));
        }
        let given = self.cell.offer(to);
        self.cell.forget();
        self.shared.role.follow();
        let failed = |e: LogError| StoreError::Unreachable(Arc::from(e.to_string()));
        tell(reply, given.map_err(failed));
    }

    /// Renews the lease when it is time. While the log cannot be reached, the lease may end: whoever takes
    /// the cell then, this node's appends change nothing.
    fn renew(&mut self) {
        if let Some(sign) = &mut self.sign {
            sign.show(&self.shared, &mut self.cell, self.applier.mark());
        }
        if self.cell.rests() != Some(Duration::ZERO) {
            return;
        }
        match self.cell.renew() {
            Ok(()) => self.shared.role.sure_until(self.cell.sure_until()),
            Err(LogError::Deposed { .. }) => self.shared.role.depose(),
            Err(e) => tracing::warn!(error = %e, "the lease of the cell was not renewed"),
        }
    }

    /// Makes one group durable and visible; says when it was the last.
    fn group(&mut self, items: Vec<(Instant, Item)>, outcomes: &mut Vec<Outcome>) -> Option<Last> {
        let mut commits = Vec::with_capacity(items.len());
        let mut closing = None;
        self.record.clear();
        let shared = Arc::clone(&self.shared);
        let rows = shared.projection.as_ref();
        let look = |stream, seq| shared.index.head_near(stream, seq, rows);
        let (notes, items) = self.heads.notes_of(items, (rows, &look));
        let tail = self.cell.tail();
        for (came, item) in items {
            match item {
                Item::Commit(mut commit, done, _) => {
                    let accepted = self.heads.accept(&commit.entries, &look);
                    if accepted.is_ok() {
                        self.heads.sift(&mut commit.hints, (rows, &look));
                    }
                    outcomes.push((
                        done,
                        accepted.map(|()| {
                            self.record.push(&commit);
                            let number = tail.commit.0 + 1 + u64_of(commits.len());
                            commits.push(commit);
                            CommitNo(number)
                        }),
                        Some(came),
                    ));
                }
                Item::Barrier(done) => {
                    let last = tail.commit.0 + u64_of(commits.len());
                    outcomes.push((done, Ok(CommitNo(last)), None));
                }
                Item::Note(_) => {}
                Item::Yield(to, reply) => closing = Some(Last::Yield(to, reply)),
                Item::Close(reply) => closing = Some(Last::Close(reply)),
            }
        }
        // before the group: what a note says was durable when it was submitted
        self.applier.note(&notes);
        let made = catch_unwind(AssertUnwindSafe(|| self.make_durable(&commits, &tail)));
        if let Err(e) = made.unwrap_or_else(|_| Err(self.shared.lost("the committer panicked"))) {
            for (_, result, _) in outcomes.iter_mut().filter(|o| o.1.is_ok()) {
                *result = Err(e.clone());
            }
        }
        closing
    }

    fn make_durable(&mut self, commits: &[Commit], tail: &Tail) -> Result<(), StoreError> {
        if let Some(e) = self.shared.health.poisoned() {
            return Err(e);
        }
        if commits.is_empty() {
            return Ok(());
        }
        let (sealed, places) = Sealed::seal(&mut self.record, tail);
        let placed = match append(&self.shared, &mut self.cell, &sealed) {
            Ok(placed) => placed,
            Err(LogError::Yet(e)) => {
                self.heads.forget();
                return Err(e);
            }
            Err(LogError::Deposed { .. }) => {
                self.shared.role.depose();
                return Err(StoreError::Deposed);
            }
            Err(e) => {
                let why = format!("writing the journal: {e}");
                return Err(self.shared.lost(&why));
            }
        };
        let bytes = u64_of(sealed.bytes().len());
        let entries = u64_of(places.len());
        self.shared.counters.add(commits.len(), entries, bytes);
        self.shared.options.times.group_of(commits.len());
        if let Err(e) = self.applier.commits(commits, places, &placed, &sealed) {
            let why = format!("a durable commit cannot be indexed: {e}");
            return Err(self.shared.lost(&why));
        }
        self.shared.reached(self.applier.mark());
        Ok(())
    }
}

/// Appends under the eyes of the watch.
fn append(shared: &Shared, cell: &mut Cell, sealed: &Sealed<'_>) -> Result<Placed, LogError> {
    let start = Instant::now();
    let placed = cell.append(sealed, &shared.watch);
    if let Some(e) = shared.health.poisoned() {
        return Err(LogError::Lost(Arc::from(e.to_string())));
    }
    let took = start.elapsed();
    shared.options.times.flush.record(took);
    let us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
    shared.counters.flushed(us);
    placed
}

/// What ends a group, and what this thread does then.
enum Last {
    Close(Reply),
    Yield(Arc<str>, Reply),
}

/// Where the outcome goes of what ends a group.
pub(crate) type Reply = std::sync::mpsc::SyncSender<Result<(), StoreError>>;

/// Says how the end of a group went.
pub(crate) fn tell(reply: &Reply, outcome: Result<(), StoreError>) {
    if reply.send(outcome).is_err() {
        tracing::error!("nobody waits for what the store was asked to end");
    }
}

/// Calls a `done`; one that panics does not take the store with it.
pub(crate) fn finish(done: Done, result: Result<CommitNo, StoreError>) {
    if catch_unwind(AssertUnwindSafe(|| done(result))).is_err() {
        tracing::error!("a callback of a commit panicked");
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;
    use crate::rows::no_entry;

    #[test]
    fn heads_that_are_in_use_stay_and_the_longest_untouched_are_looked_up_again() {
        let on_disk = RefCell::new(HashMap::<u64, u64>::default());
        let looked = RefCell::new(Vec::new());
        let look = |stream: StreamId, _: u64| {
            looked.borrow_mut().push(stream.number);
            let seq = on_disk.borrow().get(&stream.number).copied();
            Ok(seq.map(|seq| Head { seq, at: 0 }))
        };
        let mut heads = Heads::default();
        let mut next = |number: u64| {
            let mut entry = no_entry();
            entry.stream.number = number;
            entry.seq = on_disk.borrow().get(&number).map_or(1, |seq| seq + 1);
            heads.accept(std::slice::from_ref(&entry), &look).unwrap();
            let known = heads.known.len() + heads.older.len();
            heads.trim(8);
            on_disk.borrow_mut().insert(number, entry.seq);
            assert!(known <= 10, "{known} heads are kept");
        };
        for number in 1..100 {
            next(0);
            next(number);
        }
        next(1);
        let looked = looked.borrow();
        assert_eq!(looked.iter().filter(|it| **it == 0).count(), 1);
        assert_eq!(looked.iter().filter(|it| **it == 1).count(), 2);
        assert_eq!(looked.len(), 101);
    }

    #[test]
    fn a_refused_commit_moves_no_head_of_the_older_generation_either() {
        let entry = |number: u64, seq: u64| {
            let mut entry = no_entry();
            entry.stream.number = number;
            entry.seq = seq;
            entry
        };
        let nothing = |_: StreamId, _: u64| Ok(None);
        let mut heads = Heads::default();
        heads.accept(&[entry(0, 1), entry(1, 1)], &nothing).unwrap();
        heads.trim(2);
        assert!(heads.known.is_empty() && heads.older.len() == 2);
        let never = |_: StreamId, _: u64| unreachable!("both are remembered");
        let refused = heads.accept(&[entry(0, 2), entry(1, 3)], &never);
        assert!(matches!(
            refused,
            Err(StoreError::OutOfSequence {
                found: 1,
                offered: 3,
                ..
            })
        ));
        let next = [entry(0, 2), entry(1, 2)];
        heads.accept(&next, &never).unwrap();
        heads.trim(0);
        assert!(heads.accept(&next, &never).is_err(), "both have moved");
    }
}
