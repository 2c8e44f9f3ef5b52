//! Takes one realm back to an instant while it and all others go on.
//!
//! **Shape.** What is copied is another generation of the realm ([`caudal_ledger::tenants::restores`]). A copy begins by a
//! fact of the platform. Then the journal is read from its beginning, and what the realm has in it up to the instant is
//! appended once more, under the number of the new generation, whole commits in their order. What was appended is read
//! again and compared by a digest over all of it, and its ledger is verified like the whole store's
//! ([`crate::verify`]). Only then a fact says that the copy is whole. To switch is another order: the realm rests, one
//! fact puts the generation into force, the realm is loaded from it. To go back is to switch to the number before.
//!
//! What follows the generation in force, because it asks [`crate::cells`]: the realm's actors, their claims and what keys
//! keep, lists and pages, the feed and its ids, webhooks and how far they have come, the meter, sums of the treasury,
//! reconciliation, references of the bank ([`crate::cells::Cells::find`]), and the verification of one account or of the actors. What
//! sees all generations as they lie: verification of the store, backup, the journal. What asks the platform: exports,
//! which take the one in force at their end; streams of events, which end when another one comes into force. What no
//! generation has: the tenant, its limits, its keys and relations to banks, people and the audit log; those stay as
//! they are.
//!
//! **Bounds.** One copy at a time. It works [`SLICE`] and rests [`REST`] times as long, [`REST_MAX`] at most, so it takes
//! a fifth of one processor, and has one commit with the store, of [`COMMIT_ENTRIES`] entries or of one commit of its
//! source. In memory: while it appends, a key and eight bytes for each stream of the realm; after that, while it verifies,
//! a name, balance and hash of each account, and what each transfer, arrival in suspense and unbooked movement that is
//! still open comes to. It stops where [`ROOM`] of the disk is left, so that the
//! others can go on. The journal is never trimmed, so it has all of the realm.
//!
//! **Order.** A commit of which an entry is later than the instant ends the copy, and so does the commit at which it was
//! begun: what is copied is a beginning of what the realm did. While the switch is under way nothing of the realm acts,
//! and its orders are refused, nothing done. Until the outcome of that fact is known the realm rests.
//!
//! **Failure.** A copy that is cut off, or fails, is seen by nobody. Begun again with the same instant it goes on behind
//! what is there. After the switch nothing is ordered of the bank before its list was looked through from the last event
//! of the generation on, as after a start, so what it did since is taken in ([`crate::lookout`], with its bound of days);
//! what leaves the realm is held ([`crate::hold`]) until an operator releases it.

use std::collections::HashMap;
use std::sync::{Arc, Weak, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use caudal_ledger::ids::{Mode, RealmId};
use caudal_ledger::rejection::Rejection;
use caudal_ledger::tenants::restores::RestoreStep;
use caudal_ledger::tenants::{Copied, Generation, RestorePoint};
use caudal_ledger::time::Timestamp;
use caudal_storage::{Commit, CommitNo, Entry, Fact, Store, StoreError, StreamId};

use crate::engine::Engine;
use crate::engine::generations::{Copying, NotCopied, Progress};
use crate::failure::Failure;
use crate::platform::PlatformOrder;
use crate::verify;

/// How long a copy works without a rest.
const SLICE: Duration = Duration::from_millis(1);
/// How many times as long it rests then.
const REST: u32 = 4;
/// The longest rest: what is asked of it is heard in that time.
const REST_MAX: Duration = Duration::from_millis(250);
/// How many entries it appends at once, unless one commit of its source has more.
const COMMIT_ENTRIES: usize = 16;
/// A copy stops where so many bytes of the disk, or fewer, are free above the store's floor: they are for those who go on.
const ROOM: u64 = 256 << 20;
/// How long a store that takes no commits at the moment is asked again.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long is waited before it is asked again.
const ASK_AGAIN: Duration = Duration::from_millis(20);

/// Begins to copy a realm as it was at an instant, or goes on with it; the number of its generation. The copy is made
/// after the answer, on a thread of its own. Must be called inside an actix system.
///
/// # Errors
/// Those of every door; a tenant that is not, an instant that cannot be, a realm that is being filled, and
/// `RestoreConflict` while another copy is made. The very copy that is made is no error: it goes on.
pub async fn begin(
    engine: &Arc<Engine>,
    id: &str,
    mode: Mode,
    at: Timestamp,
) -> Result<u32, Failure> {
    let platform = engine.platform();
    let realm = platform.tenant(id)?.realm(mode);
    let made = engine.copying().filter(|it| it.goes_on_with(realm));
    if let (Some(made), Some(number)) = (made, platform.unused(realm, at))
        && made.number == number
    {
        return Ok(number);
    }
    let until = engine.store().applied().0;
    let step = RestoreStep::Begin { at, until };
    let order = move |id: String, step| PlatformOrder::Restore { id, mode, step };
    // What is refused does not take the place of what is known of the last copy.
    platform.decide(order(id.to_owned(), step), engine.now())?;
    let progress = Arc::new(Progress::default());
    let turn = Turn::take(engine, realm, &progress)?;
    let platform = engine.administer(order(id.to_owned(), step)).await?;
    let number = platform.unused(realm, at).ok_or(Failure::Bug)?;
    let known = platform.generations(realm).and_then(|it| it.copy(number));
    let Generation { point, copied } = *known.ok_or(Failure::Bug)?;
    engine.copies(|known| {
        if let Some(known) = known {
            known.number = number;
        }
    });
    if copied.is_some() {
        turn.note(Ok(()));
        return Ok(number);
    }
    let work = Work {
        store: Arc::clone(engine.store()),
        engine: Arc::downgrade(engine),
        source: realm.under(point.from),
        target: realm.under(number),
        point,
        progress,
        worked_since: Instant::now(),
        stopped: None,
    };
    let engine = Arc::downgrade(engine);
    let id = id.to_owned();
    actix::spawn(async move {
        let done = tokio::task::spawn_blocking(move || work.copy()).await;
        let done = done.unwrap_or_else(|why| Err(NotCopied::Failed(why.to_string())));
        let ended = match (done, engine.upgrade()) {
            (Ok(copied), Some(engine)) => {
                let step = RestoreStep::End { number, copied };
                let ended = engine.administer(order(id, step)).await;
                ended.map_err(|why| NotCopied::Failed(why.to_string()))
            }
            (Ok(_), None) => Err(NotCopied::Stopped),
            (Err(why), _) => Err(why),
        };
        turn.ends(realm, number, ended.map(drop));
    });
    Ok(number)
}

/// The turn of a copy: there is one at a time. It is the next one's when this is dropped.
struct Turn(Weak<Engine>);

impl Turn {
    fn take(
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

    fn ends(self, realm: RealmId, number: u32, with: Result<(), NotCopied>) {
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

    fn note(&self, with: Result<(), NotCopied>) {
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

/// A copy while it is made.
struct Work {
    store: Arc<dyn Store>,
    engine: Weak<Engine>,
    /// Under which number lies what is copied, and the copy.
    source: RealmId,
    target: RealmId,
    point: RestorePoint,
    progress: Arc<Progress>,
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
    /// Of whole commits before it.
    whole: Vec<Entry>,
    /// How far the streams of the copy go.
    heads: HashMap<StreamId, u64>,
    copied: Copied,
}

impl Work {
    /// All of it: what it came to.
    fn copy(mut self) -> Result<Copied, NotCopied> {
        let copied = self.append()?;
        if self.appended()? != copied {
            return Err(NotCopied::Differs);
        }
        let (store, from) = (Arc::clone(&self.store), CommitNo(self.point.until));
        let report = verify::realm(store.as_ref(), (self.target, from), &mut || self.goes_on())?;
        self.stopped()?;
        let report = report.ok_or(NotCopied::Stopped)?;
        match report.differences.first() {
            None => Ok(copied),
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
        thread::sleep(
            worked
                .checked_mul(REST)
                .map_or(REST_MAX, |it| it.min(REST_MAX)),
        );
        self.worked_since = Instant::now();
        self.is_wanted()
    }

    /// Looks whether it can go on. What has stopped it once has stopped it for good.
    fn is_wanted(&mut self) -> bool {
        if self.stopped.is_some() {
            return false;
        }
        let engine = self.engine.upgrade();
        let wanted = engine.is_some_and(|engine| !engine.is_at_rest());
        self.stopped = match self.store.room() {
            _ if self.progress.is_unwanted() => Some(NotCopied::Unwanted),
            _ if !wanted || self.store.ready().is_err() => Some(NotCopied::Stopped),
            Some(left) if left <= ROOM => Some(NotCopied::NoRoom { left, least: ROOM }),
            Some(_) | None => None,
        };
        self.stopped.is_none()
    }

    /// Why it could not go on, if it could not.
    fn stopped(&self) -> Result<(), NotCopied> {
        self.stopped.clone().map_or(Ok(()), Err)
    }

    /// Appends what the copy lacks; what there is of it then.
    fn append(&mut self) -> Result<Copied, NotCopied> {
        let store = Arc::clone(&self.store);
        let (mut waiting, mut done) = (Waiting::default(), Ok(()));
        store.replay(CommitNo(1), &mut |commit, entry| {
            if !self.goes_on() || commit.0 > self.point.until {
                return false;
            }
            if entry.stream.realm != self.source.0 {
                return true;
            }
            if commit.0 != waiting.number {
                done = self.end_commit(&mut waiting);
                waiting.number = commit.0;
            }
            waiting.commit.push(entry.clone());
            // The first commit that is later, and what follows it, is not wanted.
            let late = entry.at > self.point.at.millis();
            if late {
                waiting.commit.clear();
            }
            done.is_ok() && !late
        })?;
        self.stopped()?;
        done?;
        self.end_commit(&mut waiting)?;
        self.put(&mut waiting)?;
        Ok(waiting.copied)
    }

    /// A commit of the source was read to its end: it is appended as a whole.
    fn end_commit(&mut self, waiting: &mut Waiting) -> Result<(), NotCopied> {
        for mut entry in std::mem::take(&mut waiting.commit) {
            let Entry {
                stream, seq, at, ..
            } = entry;
            let name = (stream.kind, stream.number);
            waiting.copied = waiting.copied.and(name, (seq, at), &entry.body);
            entry.stream.realm = self.target.0;
            entry.fact = Fact::default();
            let known = match waiting.heads.get(&entry.stream) {
                Some(known) => *known,
                None => {
                    let head = self.store.head(entry.stream)?.map_or(0, |head| head.seq);
                    waiting.heads.insert(entry.stream, head);
                    head
                }
            };
            if seq > known {
                waiting.whole.push(entry);
            }
        }
        self.progress.note(waiting.number, waiting.copied.entries);
        match waiting.whole.len() >= COMMIT_ENTRIES {
            true => self.put(waiting),
            false => Ok(()),
        }
    }

    /// Makes durable what waits. A store that is busy is asked again, as long as the copy is wanted.
    fn put(&mut self, waiting: &mut Waiting) -> Result<(), NotCopied> {
        let entries = std::mem::take(&mut waiting.whole);
        if entries.is_empty() {
            return Ok(());
        }
        let commit = Commit {
            entries,
            hints: Vec::new(),
        };
        let since = Instant::now();
        loop {
            let (sender, outcome) = mpsc::channel();
            let done = Box::new(move |outcome| drop(sender.send(outcome)));
            self.store.submit(commit.clone(), done);
            match outcome.recv().unwrap_or(Err(StoreError::Closed)) {
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

    /// What there is of the copy, read again.
    fn appended(&mut self) -> Result<Copied, NotCopied> {
        let store = Arc::clone(&self.store);
        let mut found = Copied::default();
        store.replay(CommitNo(self.point.until), &mut |_, entry| {
            if entry.stream.realm == self.target.0 {
                let Entry {
                    stream, seq, at, ..
                } = entry;
                let name = (stream.kind, stream.number);
                found = found.and(name, (*seq, *at), &entry.body);
            }
            self.goes_on()
        })?;
        self.stopped()?;
        Ok(found)
    }
}
