//! Copies the history of a realm, in the order of the journal, under the number of another generation: into the same
//! cell ([`crate::restores`]) or into another one ([`crate::moves`]).
//!
//! **Shape.** The journal of the source is read from the first place where the realm can have entries, and the realm's
//! entries are appended to the target, in whole commits and in the same order. What was appended is read again and
//! compared by a digest over all entries, each with its stream and its number there; and the ledger of the copy is
//! verified like that of a whole store ([`crate::verify`]).
//!
//! **Bounds.** One copy at a time. At low speed it works for [`SLICE`] and pauses [`REST`] times as long, [`REST_MAX`]
//! at most, so it takes a fifth of one processor; at full speed it does not pause. It has one commit with the target,
//! of [`EASY_ENTRIES`] or [`HASTY_ENTRIES`] entries, of [`COMMIT_BYTES`], or of one commit of its source. In memory:
//! while it appends, a key and eight bytes for each stream of the realm; while it verifies, a name, balance and hash of
//! each account, and what is open. It stops when only [`ROOM`] of the target's disk is left, so that other realms can
//! keep writing.
//!
//! **Failure.** An unfinished copy is always a prefix of its source; it continues from its end.

use std::collections::HashMap;
use std::sync::{Arc, Weak, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use caudal_ledger::ids::RealmId;
use caudal_ledger::rejection::Rejection;
use caudal_ledger::tenants::Copied;
use caudal_ledger::time::Timestamp;
use caudal_storage::{Commit, CommitNo, Entry, Fact, Row, SortOrder, Store, StoreError, StreamId};

use crate::elsewhere::{Elsewhere, ROOM};
use crate::engine::Engine;
use crate::engine::generations::{Copying, NotCopied, Progress};
use crate::failure::Failure;
use crate::records::keys;
use crate::verify;

/// How long a copy works without a rest.
const SLICE: Duration = Duration::from_millis(1);
/// How many times as long it rests then.
const REST: u32 = 4;
/// The longest rest: what is asked of it is heard in that time.
const REST_MAX: Duration = Duration::from_millis(250);
/// How many entries it appends at once at its ease, unless one commit of its source has more.
const EASY_ENTRIES: usize = 16;
/// The same in haste.
const HASTY_ENTRIES: usize = 512;
/// How many rows of accounts at rest it hands over at once: the target's committer looks whether its streams have what
/// each of them says, which may cost a read of the disk, and whoever writes there waits for that.
const ROWS: usize = 64;
/// It appends no further commit of its source at once when there are this many bytes.
const COMMIT_BYTES: usize = 1 << 20;
/// How long a store that takes no commits at the moment is asked again.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long is waited before it is asked again.
const ASK_AGAIN: Duration = Duration::from_millis(20);

/// The turn of a copy: there is one at a time. It is the next one's when this is dropped.
pub(crate) struct Turn(Weak<Engine>);

impl Turn {
    /// Takes it, for a copy of a realm.
    ///
    /// # Errors
    /// `RestoreConflict` while another copy is made.
    pub(crate) fn take(
        engine: &Arc<Engine>,
        realm: RealmId,
        progress: &Arc<Progress>,
    ) -> Result<Self, Failure> {
        engine.copies(|known| {
            if known.as_ref().is_some_and(|it| it.ended.is_none()) {
                return Err(Rejection::RestoreConflict.into());
            }
            *known = Some(Copying {
                realm,
                number: 0,
                progress: Arc::clone(progress),
                ended: None,
            });
            Ok(Self(Arc::downgrade(engine)))
        })
    }

    /// The copy has this number.
    pub(crate) fn numbered(&self, number: u32) {
        if let Some(engine) = self.0.upgrade() {
            engine.copies(|known| {
                if let Some(known) = known {
                    known.number = number;
                }
            });
        }
    }

    /// Says how it ended.
    pub(crate) fn ends(self, realm: RealmId, number: u32, with: Result<(), NotCopied>) {
        match &with {
            Err(NotCopied::Unwanted) => {
                tracing::warn!(realm = realm.0, number, "a copy of a realm was ended");
            }
            Ok(()) => tracing::info!(realm = realm.0, number, "a copy of a realm is whole"),
            Err(why) => {
                tracing::error!(%why, realm = realm.0, number, "a copy of a realm did not become whole");
            }
        }
        self.note(with);
    }

    /// The same without a word.
    pub(crate) fn note(&self, with: Result<(), NotCopied>) {
        let Some(engine) = self.0.upgrade() else {
            return;
        };
        engine.copies(|known| {
            if let Some(known) = known.as_mut().filter(|it| it.ended.is_none()) {
                known.ended = Some(with);
            }
        });
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.note(Err(NotCopied::Stopped));
    }
}

/// Where a generation lies.
#[derive(Clone)]
pub(crate) struct Place {
    /// The store of its cell.
    pub(crate) store: Arc<dyn Store>,
    /// The number under which it lies there.
    pub(crate) lies: RealmId,
}

/// The place of a copy: where another node owns its cell, that node appends to it. What was appended before is applied here then.
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

/// What is copied.
pub(crate) struct Errand {
    pub(crate) source: Place,
    pub(crate) target: Place,
    /// The commit of the source's cell behind which all of it lies; 0 where that is not known.
    pub(crate) from: u64,
    /// Nothing of the first commit that has something later, and nothing behind it.
    pub(crate) at: Timestamp,
    /// The commit of the target's cell behind which all of the copy lies.
    pub(crate) behind: u64,
}

/// A copy while it is made.
pub(crate) struct Copy {
    errand: Errand,
    engine: Weak<Engine>,
    progress: Arc<Progress>,
    /// Up to which commit the source was read.
    read: u64,
    waiting: Waiting,
    /// What there is of the copy, as it was read again, and up to which commit of the target.
    found: (Copied, u64),
    hasty: bool,
    /// When it began to be in a hurry, and how long it has from then on, where that is bounded.
    bound: Option<(Instant, Duration)>,
    /// When the last rest ended.
    worked_since: Instant,
    stopped: Option<NotCopied>,
}

/// What of the source is read and not appended.
#[derive(Default)]
struct Waiting {
    /// Of the commit that is being read.
    number: u64,
    commit: Vec<Entry>,
    /// Of whole commits before it, and how many bytes they have.
    whole: Vec<Entry>,
    bytes: usize,
    /// How far the streams of the copy go.
    heads: HashMap<StreamId, u64>,
    copied: Copied,
}

impl Copy {
    /// A copy that has not begun, or goes on behind what is there.
    pub(crate) fn new(errand: Errand, engine: &Arc<Engine>, progress: Arc<Progress>) -> Self {
        let (from, behind) = (errand.from, errand.behind);
        Self {
            errand,
            engine: Arc::downgrade(engine),
            progress,
            read: from,
            waiting: Waiting::default(),
            found: (Copied::default(), behind),
            hasty: false,
            bound: None,
            worked_since: Instant::now(),
            stopped: None,
        }
    }

    /// From now on it does not rest.
    pub(crate) fn hurry(&mut self) {
        self.hasty = true;
    }

    /// From now on it has so long, and stops then.
    pub(crate) fn ends_within(&mut self, most: Duration) {
        self.bound = Some((Instant::now(), most));
    }

    /// Appends what the copy lacks of the source up to a commit.
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
            // The first commit that is later, and what follows it, is not wanted.
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

    /// What there is of the copy, once what was appended was read again and is what was read first.
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

    /// Copies and compares all that the source has now: what that comes to, and the last commit of the target that was
    /// looked at, behind which there is nothing of it.
    pub(crate) fn catch_up(&mut self) -> Result<(Copied, u64), NotCopied> {
        self.append(self.errand.source.store.applied().0)?;
        let copied = self.compared()?;
        Ok((copied, self.found.1))
    }

    /// Has what the accounts left at rest follow, under the copy's number, so that none of them is loaded from all of its
    /// movements. These rows are hints: the target takes one only where its stream has what it says, and one may be lost.
    pub(crate) fn carry(&mut self) -> Result<(), NotCopied> {
        let Place { store, lies } = self.errand.source.clone();
        let target = self.errand.target.clone();
        for begin in keys::left_at_rest(lies) {
            let (mut from, end) = (begin.clone(), keys::after_prefix(&begin));
            loop {
                let rows = store.scan(&from, &end, SortOrder::Ascending, ROWS)?;
                let Some((last, _)) = rows.last() else { break };
                from = [last.as_slice(), &[0]].concat();
                // What a row says is copied before the row: the source had it when the row was read.
                self.append(store.applied().0)?;
                let row = |(key, value): (Vec<u8>, Vec<u8>)| Row {
                    key: keys::renumbered(&key, lies, target.lies).unwrap_or(key),
                    value: Some(value),
                };
                target.store.note(rows.into_iter().map(row).collect());
                // A note waits for what comes after it.
                let (sender, ended) = mpsc::channel();
                let done = Box::new(move |outcome| drop(sender.send(outcome)));
                let asked = Instant::now();
                target.store.barrier(done);
                drop(ended.recv());
                self.waited(asked.elapsed());
                if !self.goes_on() {
                    return self.stopped();
                }
            }
        }
        Ok(())
    }

    /// Verifies the ledger of what there is.
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

    /// Rests where it is time to; false when it cannot go on, for the reason that [`Self::stopped`] gives.
    fn goes_on(&mut self) -> bool {
        let worked = self.worked_since.elapsed();
        if worked < SLICE {
            return self.stopped.is_none();
        }
        if !self.hasty {
            thread::sleep(
                worked
                    .checked_mul(REST)
                    .map_or(REST_MAX, |it| it.min(REST_MAX)),
            );
        }
        self.worked_since = Instant::now();
        self.is_wanted()
    }

    /// To wait for the store is no work, except for as much of it as leaves the device to others.
    fn waited(&mut self, took: Duration) {
        let idle = took.checked_sub(SLICE);
        if let Some(since) = idle.and_then(|idle| self.worked_since.checked_add(idle)) {
            self.worked_since = since;
        }
    }

    /// Looks whether it can go on. What has stopped it once has stopped it for good.
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

    /// Why it could not go on, if it could not.
    fn stopped(&self) -> Result<(), NotCopied> {
        self.stopped.clone().map_or(Ok(()), Err)
    }

    /// A commit of the source was read to its end: it is appended as a whole.
    fn end_commit(&mut self) -> Result<(), NotCopied> {
        let commit = std::mem::take(&mut self.waiting.commit);
        let target = self.errand.target.clone();
        let bytes = commit.iter().map(|it| it.body.len()).sum::<usize>();
        if bytes > COMMIT_BYTES {
            // It has the bounds of a commit by itself.
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
        let most = match self.hasty {
            true => HASTY_ENTRIES,
            false => EASY_ENTRIES,
        };
        match waiting.whole.len() >= most || waiting.bytes >= COMMIT_BYTES {
            true => self.put(),
            false => Ok(()),
        }
    }

    /// Makes durable what waits. A store that is busy is asked again, as long as the copy is wanted.
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
            // However long it takes: what is under way may be written yet, and only then it is known how far the copy goes.
            let asked = Instant::now();
            let done = outcome.recv().unwrap_or(Err(StoreError::Closed));
            self.waited(asked.elapsed());
            match done {
                Ok(_) => return Ok(()),
                Err(StoreError::Overloaded | StoreError::Unreachable(_))
                    if since.elapsed() < PATIENCE =>
                {
                    thread::sleep(ASK_AGAIN);
                    // It has waited, and not worked.
                    self.worked_since = Instant::now();
                    if !self.is_wanted() {
                        return self.stopped();
                    }
                }
                Err(why) => return Err(why.into()),
            }
        }
    }
}
