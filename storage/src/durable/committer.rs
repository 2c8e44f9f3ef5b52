//! The committer: one thread that makes groups of commits durable and then visible.
//!
//! **Order.** Take what waits; refuse what does not follow its stream; one record, one write, one
//! fdatasync; then the rows become visible; then the `done`s are called, in the order of
//! submission. So nobody hears of a commit, and no read shows it, before it is on disk.
//!
//! **Failure.** Any error after the record was begun poisons the store. A group that finds no next
//! segment is refused, and nothing of it was written. A commit out of sequence fails alone. A `done` that panics is contained: it belongs to somebody else.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use crate::api::{Commit, CommitNo, Done, Entry, Head, Position, StoreError, StreamId};
use crate::durable::Shared;
use crate::durable::project::Overlay;
use crate::durable::queue::Item;
use crate::index::manifest::Mark;
use crate::journal::format::RecordBuilder;
use crate::journal::position;
use crate::journal::writer::{Appended, Refused, Writer};
use crate::num::u64_of;

type Outcome = (Done, Result<CommitNo, StoreError>);

/// Checks that entries follow their streams; remembers heads so that disk is seldom asked.
#[derive(Debug, Default)]
pub(crate) struct Heads {
    known: HashMap<StreamId, Option<Head>>,
    undo: Vec<(StreamId, Option<Head>)>,
}

impl Heads {
    /// Takes the entries of a commit, all or none.
    pub(crate) fn accept(
        &mut self,
        entries: &[Entry],
        look: &dyn Fn(StreamId) -> Result<Option<Head>, StoreError>,
    ) -> Result<(), StoreError> {
        self.undo.clear();
        for entry in entries {
            if let Err(e) = self.accept_one(entry, look) {
                while let Some((stream, head)) = self.undo.pop() {
                    self.known.insert(stream, head);
                }
                return Err(e);
            }
        }
        debug_assert_eq!(self.undo.len(), entries.len(), "each entry moves one head");
        Ok(())
    }

    fn accept_one(
        &mut self,
        entry: &Entry,
        look: &dyn Fn(StreamId) -> Result<Option<Head>, StoreError>,
    ) -> Result<(), StoreError> {
        let stream = entry.stream;
        let known = match self.known.entry(stream) {
            std::collections::hash_map::Entry::Occupied(o) => o.into_mut(),
            std::collections::hash_map::Entry::Vacant(v) => v.insert(look(stream)?),
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
        self.undo.push((stream, *known));
        *known = Some(Head {
            seq: entry.seq,
            at: entry.at,
        });
        Ok(())
    }

    /// Forgets what was accepted and then refused; the index knows all that is durable.
    fn forget(&mut self) {
        self.known.clear();
    }

    /// Forgets everything when there is too much; only between groups, when all is in the index.
    pub(crate) fn trim(&mut self, most: usize) {
        if self.known.len() > most {
            self.known.clear();
        }
    }
}

/// The thread's state.
pub(crate) struct Committer {
    shared: Arc<Shared>,
    writer: Writer,
    record: RecordBuilder,
    heads: Heads,
    overlay: Overlay,
    mark: Mark,
}

impl Committer {
    /// Behind a journal that ends at `mark`.
    pub(crate) fn new(shared: Arc<Shared>, writer: Writer, overlay: Overlay, mark: Mark) -> Self {
        Self {
            shared,
            writer,
            record: RecordBuilder::default(),
            heads: Heads::default(),
            overlay,
            mark,
        }
    }

    /// Works until the store closes or is lost.
    pub(crate) fn run(mut self) {
        let options = self.shared.options.clone();
        while let Some(items) = self
            .shared
            .queue
            .take(options.group_commits, options.group_bytes)
        {
            let mut outcomes = Vec::with_capacity(items.len());
            let closing = self.group(items, &mut outcomes);
            for (done, result) in outcomes {
                finish(done, result);
            }
            // only now: it waits when the flusher is behind
            if let Err(e) = self.shared.index.freeze_if_full(self.mark) {
                return self.shared.fail_waiting(&e);
            }
            if let Some(reply) = closing {
                let written = self.write_out();
                self.shared.fail_waiting(&StoreError::Closed);
                if reply.send(written).is_err() {
                    tracing::error!("nobody waits for the end of the store");
                }
                return;
            }
            if let Some(e) = self.shared.health.poisoned() {
                self.shared.fail_waiting(&e);
                return;
            }
            self.heads.trim(options.heads_max);
        }
    }

    /// Makes one group durable and visible; says when it was the last.
    fn group(&mut self, items: Vec<Item>, outcomes: &mut Vec<Outcome>) -> Option<Reply> {
        let mut commits = Vec::with_capacity(items.len());
        let mut closing = None;
        self.record.clear();
        let index = Arc::clone(&self.shared.index);
        for item in items {
            match item {
                Item::Commit(commit, done, _) => {
                    let accepted = self.heads.accept(&commit.entries, &|s| index.head(s));
                    outcomes.push((
                        done,
                        accepted.map(|()| {
                            self.record.push(&commit);
                            let number = self.writer.next_commit() + u64_of(commits.len());
                            commits.push(commit);
                            CommitNo(number)
                        }),
                    ));
                }
                Item::Barrier(done) => {
                    let last = self.writer.next_commit() - 1 + u64_of(commits.len());
                    outcomes.push((done, Ok(CommitNo(last))));
                }
                Item::Close(reply) => closing = Some(reply),
            }
        }
        let made = catch_unwind(AssertUnwindSafe(|| self.make_durable(&commits)));
        if let Err(e) = made.unwrap_or_else(|_| Err(self.lost("the committer panicked"))) {
            for (_, result) in outcomes.iter_mut().filter(|o| o.1.is_ok()) {
                *result = Err(e.clone());
            }
        }
        closing
    }

    fn make_durable(&mut self, commits: &[Commit]) -> Result<(), StoreError> {
        if let Some(e) = self.shared.health.poisoned() {
            return Err(e);
        }
        if commits.is_empty() {
            return Ok(());
        }
        let appended = match self.append() {
            Ok(appended) => appended,
            Err(Refused::Yet(e)) => {
                self.heads.forget();
                return Err(e);
            }
            Err(Refused::Lost(e)) => return Err(self.lost(&format!("writing the journal: {e}"))),
        };
        let places = self.record.places.len();
        let offered: usize = commits.iter().map(|commit| commit.entries.len()).sum();
        assert_eq!(places, offered, "each entry has its place in the journal");
        let entries = u64_of(places);
        self.shared.counters.add(commits.len(), entries, &appended);
        if let Err(e) = self.project(commits, &appended) {
            return Err(self.lost(&format!("a durable commit cannot be indexed: {e}")));
        }
        let last = appended.first_commit + u64_of(commits.len()) - 1;
        self.mark = Mark {
            commit: last,
            chain: self.writer.chain(),
            end: appended.end,
        };
        self.shared.witness.saw(self.mark);
        self.overlay.publish(&self.shared.index);
        self.shared
            .counters
            .last_commit
            .store(last, Ordering::Release);
        Ok(())
    }

    fn lost(&self, why: &str) -> StoreError {
        self.shared.health.poison(why);
        self.shared.health.poisoned().unwrap_or(StoreError::Closed)
    }

    fn append(&mut self) -> Result<Appended, Refused> {
        let start = Instant::now();
        self.shared.watch.begin();
        let appended = self.writer.append(&mut self.record);
        self.shared.watch.end();
        if let Some(e) = self.shared.health.poisoned() {
            return Err(Refused::Lost(std::io::Error::other(e.to_string())));
        }
        let us = u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.shared.counters.flushed(us);
        appended
    }

    fn project(&mut self, commits: &[Commit], at: &Appended) -> Result<(), StoreError> {
        let mut places = self.record.places.iter();
        for commit in commits {
            for entry in &commit.entries {
                #[expect(
                    clippy::expect_used,
                    reason = "counted before; the record's own place would be indexed instead"
                )]
                let place = *places.next().expect("a place for each entry");
                let position: Position = position(at.segment, at.offset + place);
                let index = &self.shared.index;
                self.overlay
                    .entry(index, self.shared.projection.as_ref(), entry, position)?;
            }
            self.overlay.hints(&commit.hints);
        }
        Ok(())
    }

    /// Writes everything that is in memory to the index, and the end of the journal to its witness.
    fn write_out(&self) -> Result<(), StoreError> {
        if let Some(e) = self.shared.health.poisoned() {
            return Err(e);
        }
        let witness = &self.shared.witness;
        let written = witness.write();
        written.map_err(|e| self.lost(&format!("writing the witness: {e}")))?;
        witness.tell("the store is closed");
        if self.shared.health.full().is_some() {
            tracing::warn!("the disk is nearly full: the next start reads more of the journal");
            return Ok(());
        }
        self.shared.index.freeze(self.mark)?;
        self.shared.index.wait_flushed()
    }
}

type Reply = std::sync::mpsc::SyncSender<Result<(), StoreError>>;

/// Calls a `done`; one that panics does not take the store with it.
pub(crate) fn finish(done: Done, result: Result<CommitNo, StoreError>) {
    if catch_unwind(AssertUnwindSafe(|| done(result))).is_err() {
        tracing::error!("a callback of a commit panicked");
    }
}
