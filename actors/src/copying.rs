//! Copies the history of a realm, in the order of the journal, under the number of another generation: into the same
//! cell ([`crate::restores`]) or into another one ([`crate::moves`]).
//!
//! **Shape.** The journal of the source is read from the first place where the realm can have entries, and the realm's
//! entries are appended to the target, in whole commits and in the same order. The appended entries are read again and
//! compared by a digest over all of them, each with its stream and its number there; and the ledger of the copy is
//! verified like that of a whole store ([`crate::verify`]).
//!
//! **Bounds.** One copy at a time ([`Turn`]), as fast as [`speed`] lets it. At most one of its commits is with the
//! target, of as many entries as its speed gives, of [`COMMIT_BYTES`], or of one commit of its source. In memory: while
//! it appends, a key and eight bytes for each stream of the realm; while it verifies, a name, balance and hash of each
//! account, and the open transfers and cases. It stops when only [`ROOM`] of the target's disk is left, so that other
//! realms can keep writing.
//!
//! **Failure.** An unfinished copy is always a prefix of its source; it continues from its end.

use std::collections::HashMap;
use std::sync::{Arc, Weak, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use caudal_ledger::ids::RealmId;
use caudal_ledger::tenants::Copied;
use caudal_ledger::time::Timestamp;
use caudal_storage::{Commit, CommitNo, Entry, Fact, Row, SortOrder, Store, StoreError, StreamId};

use crate::elsewhere::{Elsewhere, ROOM};
use crate::engine::Engine;
use crate::engine::generations::{NotCopied, Progress};
use crate::failure::Failure;
use crate::records::keys;
use crate::verify;
use speed::Speed;
pub(crate) use turn::Turn;

mod speed;
mod turn;

/// How many rows of accounts at rest it hands over at once. The target's committer checks whether the streams have the
/// movement that each row names, which may cost a read of the disk, and other writers wait for that.
const ROWS: usize = 64;
/// Once it has this many bytes, it appends before it takes a further commit of its source.
const COMMIT_BYTES: usize = 1 << 20;
/// How long a store that takes no commits at the moment is retried.
const PATIENCE: Duration = Duration::from_secs(60);
/// The pause before it is retried.
const ASK_AGAIN: Duration = Duration::from_millis(20);

/// The place of a generation.
#[derive(Clone)]
pub(crate) struct Place {
    /// The store of its cell.
    pub(crate) store: Arc<dyn Store>,
    /// The number under which it lies there.
    pub(crate) lies: RealmId,
}

/// The place of a copy. If another node owns its cell, that node appends to it, and everything appended before is then
/// applied here.
pub(crate) async fn placed(
    engine: &Engine,
    (cell, lies): (u32, RealmId),
    store: Arc<dyn Store>,
    elsewhere: Option<&Arc<dyn Elsewhere>>,
) -> Result<Arc<dyn Store>, Failure> {
    match elsewhere.filter(|_| engine.rests(cell)) {
        Some(elsewhere) => {
            elsewhere.level(cell).await?;
            Ok(elsewhere.place(cell, lies, store))
        }
        None => Ok(store),
    }
}

/// The source, the target and the bounds of a copy.
pub(crate) struct Errand {
    pub(crate) source: Place,
    pub(crate) target: Place,
    /// The commit of the source's cell after which all of the source lies; 0 if that is unknown.
    pub(crate) from: u64,
    /// The instant up to which it is copied: nothing of the first commit with a later entry, and nothing after that
    /// commit.
    pub(crate) at: Timestamp,
    /// The commit of the target's cell after which all of the copy lies.
    pub(crate) behind: u64,
}

/// A copy under way.
pub(crate) struct Copy {
    errand: Errand,
    engine: Weak<Engine>,
    progress: Arc<Progress>,
    /// The last commit of the source that was read.
    read: u64,
    waiting: Waiting,
    /// The digest of the copy as it was read again, and the last commit of the target that was read for it.
    found: (Copied, u64),
    speed: Speed,
    /// When its time limit began, and the limit, if there is one.
    bound: Option<(Instant, Duration)>,
    stopped: Option<NotCopied>,
}

/// Entries of the source that are read and not appended yet.
#[derive(Default)]
struct Waiting {
    /// The commit that is being read.
    number: u64,
    commit: Vec<Entry>,
    /// The entries of whole commits before it, and their bytes.
    whole: Vec<Entry>,
    bytes: usize,
    /// The ends of the copy's streams.
    heads: HashMap<StreamId, u64>,
    copied: Copied,
}

impl Copy {
    /// A copy that has not begun, or that continues from its end.
    pub(crate) fn new(errand: Errand, engine: &Arc<Engine>, progress: Arc<Progress>) -> Self {
        let (from, behind) = (errand.from, errand.behind);
        Self {
            errand,
            engine: Arc::downgrade(engine),
            progress,
            read: from,
            waiting: Waiting::default(),
            found: (Copied::default(), behind),
            speed: Speed::low(Instant::now()),
            bound: None,
            stopped: None,
        }
    }

    /// Lets it work without rests from now on.
    pub(crate) fn hurry(&mut self) {
        self.speed.hurry();
    }

    /// Gives it this much time from now on; after that it stops.
    pub(crate) fn ends_within(&mut self, most: Duration) {
        self.bound = Some((Instant::now(), most));
    }

    /// Appends the entries that the copy lacks, up to a commit of the source.
    pub(crate) fn append(&mut self, until: u64) -> Result<(), NotCopied> {
        let Place { store, lies } = self.errand.source.clone();
        let at = self.errand.at.millis();
        let mut done = Ok(());
        let from = CommitNo(self.read.strict_add(1));
        store.replay(from, &mut |commit, entry| {
            if !self.goes_on() || commit.0 > until {
                return false;
            }
            if entry.stream.realm != lies.0 {
                return true;
            }
            if commit.0 != self.waiting.number {
                done = self.end_commit();
                self.waiting.number = commit.0;
            }
            self.waiting.commit.push(entry.clone());
            // The first commit with a later entry, and everything after it, is left out.
            let late = entry.at > at;
            if late {
                self.waiting.commit.clear();
            }
            done.is_ok() && !late
        })?;
        self.stopped()?;
        done?;
        self.end_commit()?;
        self.put()?;
        self.read = self.read.max(until);
        Ok(())
    }

    /// The digest of the copy, once the appended entries were read again and equal those that were read first.
    pub(crate) fn compared(&mut self) -> Result<Copied, NotCopied> {
        let Place { store, lies } = self.errand.target.clone();
        let until = store.applied().0;
        let (mut found, from) = self.found;
        store.replay(CommitNo(from.strict_add(1)), &mut |commit, entry| {
            if commit.0 > until {
                return false;
            }
            if entry.stream.realm == lies.0 {
                let Entry {
                    stream, seq, at, ..
                } = entry;
                let name = (stream.kind, stream.number);
                found = found.and(name, (*seq, *at), &entry.body);
            }
            self.goes_on()
        })?;
        self.stopped()?;
        self.found = (found, until);
        match found == self.waiting.copied {
            true => Ok(found),
            false => Err(NotCopied::Differs),
        }
    }

    /// Copies and compares everything that the source has now. Returns the digest, and the last commit of the target
    /// that was read, after which there is nothing of the copy.
    pub(crate) fn catch_up(&mut self) -> Result<(Copied, u64), NotCopied> {
        self.append(self.errand.source.store.applied().0)?;
        let copied = self.compared()?;
        Ok((copied, self.found.1))
    }

    /// Copies the rows that the accounts left at rest, under the copy's number, so that no account has to be loaded
    /// from all of its movements. These rows are hints: the target takes a row only if the stream has the movement that
    /// the row names, and a row may be lost.
    pub(crate) fn carry(&mut self) -> Result<(), NotCopied> {
        let Place { store, lies } = self.errand.source.clone();
        let target = self.errand.target.clone();
        for begin in keys::left_at_rest(lies) {
            let (mut from, end) = (begin.clone(), keys::after_prefix(&begin));
            loop {
                let rows = store.scan(&from, &end, SortOrder::Ascending, ROWS)?;
                let Some((last, _)) = rows.last() else { break };
                from = [last.as_slice(), &[0]].concat();
                // The movement that a row names is copied before the row: the source had it when the row was read.
                self.append(store.applied().0)?;
                let row = |(key, value): (Vec<u8>, Vec<u8>)| Row {
                    key: keys::renumbered(&key, lies, target.lies).unwrap_or(key),
                    value: Some(value),
                };
                target.store.note(rows.into_iter().map(row).collect());
                // A note alone does not wake the committer; the barrier makes it write the rows, and paces the copy.
                let (sender, ended) = mpsc::channel();
                let done = Box::new(move |outcome| drop(sender.send(outcome)));
                let asked = Instant::now();
                target.store.barrier(done);
                drop(ended.recv());
                self.speed.waited(asked.elapsed());
                if !self.goes_on() {
                    return self.stopped();
                }
            }
        }
        Ok(())
    }

    /// Verifies the ledger of the copy.
    pub(crate) fn verified(&mut self) -> Result<(), NotCopied> {
        let Place { store, lies } = self.errand.target.clone();
        let from = CommitNo(self.errand.behind.strict_add(1));
        let report = verify::realm(store.as_ref(), (lies, from), &mut || self.goes_on())?;
        self.stopped()?;
        let report = report.ok_or(NotCopied::Stopped)?;
        match report.differences.first() {
            None => Ok(()),
            Some(first) => Err(NotCopied::Wrong {
                count: report.count,
                first: first.clone(),
            }),
        }
    }

    /// Rests when it is time. Returns `false` when it cannot go on, for the reason that [`Self::stopped`] gives.
    fn goes_on(&mut self) -> bool {
        let Some(rest) = self.speed.rest(Instant::now()) else {
            return self.stopped.is_none();
        };
        thread::sleep(rest);
        self.speed.rested(Instant::now());
        self.is_wanted()
    }

    /// Checks whether it can go on. Once stopped, it stays stopped.
    fn is_wanted(&mut self) -> bool {
        if self.stopped.is_some() {
            return false;
        }
        let engine = self.engine.upgrade();
        let wanted = engine.is_some_and(|engine| !engine.is_at_rest());
        let target = &self.errand.target.store;
        let took = self.bound.map(|(since, most)| (since.elapsed(), most));
        let late = took.filter(|(took, most)| took >= most);
        self.stopped = match target.room() {
            _ if late.is_some() => late.map(|(took, _)| NotCopied::Behind {
                millis: took.as_millis(),
            }),
            _ if self.progress.is_unwanted() => Some(NotCopied::Unwanted),
            _ if !wanted || target.ready().is_err() => Some(NotCopied::Stopped),
            Some(left) if left <= ROOM => Some(NotCopied::NoRoom { left, least: ROOM }),
            Some(_) | None => None,
        };
        self.stopped.is_none()
    }

    /// The reason why it could not go on, if it could not.
    fn stopped(&self) -> Result<(), NotCopied> {
        self.stopped.clone().map_or(Ok(()), Err)
    }

    /// Ends a commit of the source that was read completely: it is appended as a whole.
    fn end_commit(&mut self) -> Result<(), NotCopied> {
        let commit = std::mem::take(&mut self.waiting.commit);
        let target = self.errand.target.clone();
        let bytes = commit.iter().map(|it| it.body.len()).sum::<usize>();
        if bytes > COMMIT_BYTES {
            // It fills a commit by itself.
            self.put()?;
        }
        let waiting = &mut self.waiting;
        for mut entry in commit {
            let Entry {
                stream, seq, at, ..
            } = entry;
            let name = (stream.kind, stream.number);
            waiting.copied = waiting.copied.and(name, (seq, at), &entry.body);
            entry.stream.realm = target.lies.0;
            entry.fact = Fact::default();
            let known = match waiting.heads.get(&entry.stream) {
                Some(known) => *known,
                None => {
                    let head = target.store.head(entry.stream)?.map_or(0, |head| head.seq);
                    waiting.heads.insert(entry.stream, head);
                    head
                }
            };
            if seq > known {
                waiting.bytes = waiting.bytes.strict_add(entry.body.len());
                waiting.whole.push(entry);
            }
        }
        self.progress.note(waiting.number, waiting.copied.entries);
        let full = waiting.whole.len() >= self.speed.entries();
        match full || waiting.bytes >= COMMIT_BYTES {
            true => self.put(),
            false => Ok(()),
        }
    }

    /// Makes the waiting entries durable. A busy store is retried, as long as the copy is wanted.
    fn put(&mut self) -> Result<(), NotCopied> {
        let entries = std::mem::take(&mut self.waiting.whole);
        self.waiting.bytes = 0;
        if entries.is_empty() {
            return Ok(());
        }
        let commit = Commit {
            entries,
            hints: Vec::new(),
            ..Commit::default()
        };
        let target = Arc::clone(&self.errand.target.store);
        let since = Instant::now();
        loop {
            let (sender, outcome) = mpsc::channel();
            let done = Box::new(move |outcome| drop(sender.send(outcome)));
            target.submit(commit.clone(), done);
            // However long this takes: a commit under way may still be written, and only then the end of the copy is
            // known.
            let asked = Instant::now();
            let done = outcome.recv().unwrap_or(Err(StoreError::Closed));
            self.speed.committed(asked.elapsed());
            match done {
                Ok(_) => return Ok(()),
                Err(StoreError::Overloaded | StoreError::Unreachable(_))
                    if since.elapsed() < PATIENCE =>
                {
                    thread::sleep(ASK_AGAIN);
                    // It has waited, not worked.
                    self.speed.rested(Instant::now());
                    if !self.is_wanted() {
                        return self.stopped();
                    }
                }
                Err(why) => return Err(why.into()),
            }
        }
    }
}
