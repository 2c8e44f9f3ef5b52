//! Imports a realm's file into another store.
//!
//! **Shape.** Each frame of the file becomes one commit of the store; the next follows once it is durable. So the store
//! always has a prefix of the file, and the length of the prefix tells where to continue.
//!
//! **Order.** First [`rehearse`] fills a temporary store with all of the file, and projects and verifies it. Then
//! [`begin`] records the tenant, if it is new, and that the realm is being filled. Then come [`fill`], [`compare`] with
//! every stream and with the order over all of them, and [`end`]. The platform's facts go to the first cell, and the
//! realm to the cell of its [`Place`]. So a cell has entries only after the first one says that they belong there, and
//! the realm can be opened only after all of them are durable.
//!
//! **Failure.** If the store's entries of the realm are not a prefix of the file, the import is refused before anything
//! is written. A store that takes no commits for [`PATIENCE`] ends the import; running it again continues it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use caudal_actors::platform::PlatformActor;
use caudal_actors::records::projection::ServiceProjection;
use caudal_actors::records::{PLATFORM_STREAM, Tail};
use caudal_actors::verify;
use caudal_ledger::facts::PlatformFact;
use caudal_ledger::ids::{Mode, RealmId};
use caudal_ledger::tenants::moves::NotMoved;
use caudal_ledger::tenants::{Platform, RealmSource};
use caudal_ledger::time::Timestamp;
use caudal_storage::{
    Commit, CommitNo, DurableStore, Entry, Fact, Index, Store, StoreError, StoreOptions, StreamId,
};

use super::file::{CheckedFile, failed};
use super::format;
use super::read::FileReader;
use super::tally::{RealmEntry, RealmTally, StreamReach};
use crate::BackupError;
use crate::names::hex;

/// How long a busy store is retried.
pub const PATIENCE: Duration = Duration::from_secs(60);
/// The pause between two attempts.
const ASK_AGAIN: Duration = Duration::from_millis(20);
/// Bytes of a segment of a temporary store.
const SCRATCH_SEGMENT: u32 = 16 << 20;

impl From<NotMoved> for BackupError {
    fn from(why: NotMoved) -> Self {
        Self::Refused(why.to_string())
    }
}

/// A temporary store of one realm, which is removed with its folder.
struct Scratch {
    store: Arc<DurableStore>,
    folder: PathBuf,
}

impl Scratch {
    /// A store in `folder`, filled from a file. The remains of an interrupted run are removed.
    ///
    /// # Errors
    /// When the file cannot be read, or its entries cannot be projected.
    fn of(
        path: &Path,
        checked: &CheckedFile,
        folder: &Path,
        done: &mut dyn FnMut(u64),
    ) -> Result<Self, BackupError> {
        if folder.exists() {
            std::fs::remove_dir_all(folder).map_err(|why| failed("removing", folder, why))?;
        }
        let options = StoreOptions {
            segment_bytes: SCRATCH_SEGMENT,
            reserve_bytes: 0,
            check_bytes_per_second: 0,
            ..StoreOptions::default()
        };
        let scratch = Self {
            store: DurableStore::open(folder, options, Arc::new(ServiceProjection))?,
            folder: folder.to_owned(),
        };
        fill(scratch.store.as_ref(), path, checked, done)?;
        Ok(scratch)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(why) = self.store.close() {
            tracing::warn!(%why, "a discarded store did not close cleanly");
        }
        if let Err(why) = std::fs::remove_dir_all(&self.folder) {
            tracing::warn!(%why, folder = %self.folder.display(), "could not be removed");
        }
    }
}

/// Imports a file into a temporary store in `folder`.
///
/// # Errors
/// When it cannot be projected, or the projection differs from the journal.
pub fn rehearse(
    path: &Path,
    checked: &CheckedFile,
    folder: &Path,
    done: &mut dyn FnMut(u64),
) -> Result<(), BackupError> {
    let scratch = Scratch::of(path, checked, folder, done)?;
    let store = scratch.store.as_ref();
    compare(store, path, checked)?;
    let (report, _) = verify::store(store, &mut |_| {})?;
    match report.differences.first() {
        None => Ok(()),
        Some(first) => Err(BackupError::Refused(format!(
            "{}: what is in it contradicts itself in {} places, the first: {first}. Nothing was changed",
            path.display(),
            report.count
        ))),
    }
}

/// Counts a store's entries of a realm.
///
/// # Errors
/// When it cannot be read.
pub fn tally(store: &dyn Index, realm: RealmId) -> Result<RealmTally, BackupError> {
    let mut tally = RealmTally::default();
    let mut wrong = None;
    store.replay(CommitNo(1), &mut |_, entry| {
        if entry.stream.realm == realm.0 {
            let item = RealmEntry::of(entry.stream, (entry.seq, entry.at), &entry.body);
            wrong = tally.take(&item).err();
        }
        wrong.is_none()
    })?;
    match wrong {
        Some(why) => Err(BackupError::Journal(StoreError::Corrupt(why.into()))),
        None => Ok(tally),
    }
}

/// Records that the realm of a file is being filled, and its tenant, if it is new. The store's entries of the realm
/// have to be a prefix of the file.
///
/// # Errors
/// When they are not, the realm cannot be filled here, or the store takes no writes.
pub fn begin(
    store: &dyn Store,
    path: &Path,
    checked: &CheckedFile,
    now: Timestamp,
) -> Result<(), BackupError> {
    let head = &checked.head;
    let there = tally(store, head.realm)?;
    let source = RealmSource {
        file: checked.name,
        store: hex(&head.store),
        commit: head.commit,
        at: Timestamp::from_millis(head.latest),
    };
    say(store, now, |platform| {
        let of = (&checked.ending.tenant, head.mode);
        let mut facts = platform.begin_import(of, &source, there.entries == 0)?;
        if head.mode == Mode::Test {
            facts.extend(platform.adopt_clock(&head.tenant, &checked.ending.test_clock));
        }
        follows(&there, path, checked)?;
        Ok(facts)
    })
}

/// Checks that the store's entries are a prefix of a file.
fn follows(there: &RealmTally, path: &Path, checked: &CheckedFile) -> Result<(), BackupError> {
    let other = || {
        BackupError::Refused(format!(
            "what is here of the realm {} is not the beginning of {}: {} entries are here, and another history \
             follows from them. Nothing was changed",
            checked.head.realm.0,
            path.display(),
            there.entries
        ))
    };
    let (mut reader, mut seen) = (FileReader::open(path)?, RealmTally::default());
    while seen.entries < there.entries {
        let frame = reader.entries()?.ok_or_else(other)?;
        each(&frame, &mut |item| {
            if seen.entries < there.entries {
                seen.take(&item)
            } else {
                Ok(())
            }
        })?;
    }
    if seen.digest() == there.digest() {
        Ok(())
    } else {
        Err(other())
    }
}

fn each<'a>(
    frame: &'a [u8],
    visit: &mut dyn FnMut(RealmEntry<'a>) -> Result<(), String>,
) -> Result<(), BackupError> {
    format::items(frame, visit).map_err(BackupError::Refused)
}

/// Appends the entries of a file that a store lacks; `done` receives the number of its bytes read.
///
/// # Errors
/// When the file has changed, or the store takes no writes.
pub fn fill(
    store: &dyn Store,
    path: &Path,
    checked: &CheckedFile,
    done: &mut dyn FnMut(u64),
) -> Result<(), BackupError> {
    let realm = checked.head.realm;
    let there = tally(store, realm)?.entries;
    let mut reader = FileReader::open(path)?;
    if *reader.head() != checked.head {
        return Err(BackupError::Refused(format!(
            "{} is another file than it was a moment ago",
            path.display()
        )));
    }
    let mut seen = 0_u64;
    while let Some(frame) = reader.entries()? {
        let mut commit = Commit::default();
        each(&frame, &mut |item| {
            seen += 1;
            if seen > there {
                commit.entries.push(entry(realm, &item));
            }
            Ok(())
        })?;
        if !commit.entries.is_empty() {
            append(store, &commit)?;
        }
        done(reader.offset());
    }
    Ok(())
}

fn entry(realm: RealmId, item: &RealmEntry<'_>) -> Entry {
    Entry {
        stream: StreamId {
            realm: realm.0,
            kind: item.kind,
            number: item.number,
        },
        seq: item.seq,
        at: item.at,
        body: item.body.to_vec(),
        fact: Fact::default(),
    }
}

/// Makes a commit durable. A busy store is retried.
///
/// # Errors
/// The reason why the store did not take it.
fn append(store: &dyn Store, commit: &Commit) -> Result<(), BackupError> {
    let began = Instant::now();
    loop {
        let (sender, done) = mpsc::channel();
        store.submit(
            commit.clone(),
            // The receiver below waits for this.
            Box::new(move |outcome| drop(sender.send(outcome))),
        );
        match done.recv().unwrap_or(Err(StoreError::Closed)) {
            Ok(_) => return Ok(()),
            Err(StoreError::Overloaded | StoreError::Unreachable(_))
                if began.elapsed() < PATIENCE =>
            {
                thread::sleep(ASK_AGAIN);
            }
            Err(why) => return Err(why.into()),
        }
    }
}

/// Compares a store's entries of a realm with a file, stream by stream and in the order over all of them.
///
/// # Errors
/// The first difference.
pub fn compare(store: &dyn Index, path: &Path, checked: &CheckedFile) -> Result<(), BackupError> {
    let there = tally(store, checked.head.realm)?;
    let mut reader = FileReader::open(path)?;
    while reader.entries()?.is_some() {}
    let wanted = reader.tally();
    let differs = |what: String| {
        Err(BackupError::Refused(format!(
            "what was imported differs from {}: {what}. The realm stays closed",
            path.display()
        )))
    };
    if let Some(((kind, number), here, wanted)) = there.differs(wanted) {
        let last = |reach: Option<StreamReach>| reach.map_or(0, |reach| reach.last);
        return differs(format!(
            "stream {kind}/{number} has {} entries here and {} there, or others",
            last(here),
            last(wanted)
        ));
    }
    if there.digest() == checked.ending.digest {
        Ok(())
    } else {
        differs("the order of its entries".to_owned())
    }
}

/// Records that a realm is complete, in the store with the platform's facts.
///
/// # Errors
/// When it is not being filled, or the store takes no writes.
pub fn end(platform: &dyn Store, checked: &CheckedFile, now: Timestamp) -> Result<(), BackupError> {
    let head = &checked.head;
    say(platform, now, |platform| {
        Ok(vec![platform.end_import(&head.tenant, head.mode)?])
    })
}

/// Writes facts of the platform to the store that has them, which no service uses.
///
/// # Errors
/// The error of `decide`; when the store takes no writes.
pub fn say(
    store: &dyn Store,
    now: Timestamp,
    decide: impl FnOnce(&Platform) -> Result<Vec<PlatformFact>, BackupError>,
) -> Result<(), BackupError> {
    let (platform, mut tail): (Platform, Tail) = PlatformActor::load(store)?;
    let mut commit = Commit::default();
    for fact in decide(&platform)? {
        commit.entries.push(tail.next(PLATFORM_STREAM, now, &fact)?);
    }
    if commit.entries.is_empty() {
        Ok(())
    } else {
        append(store, &commit)
    }
}
