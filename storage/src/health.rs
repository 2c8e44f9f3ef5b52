//! Whether the store may still write, and whether its index can be trusted; shared by all threads.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use crate::api::{Position, StoreError};
use crate::files::Files;
use crate::folder::Folder;
use crate::sync::lock;

/// The name of the file that marks the index as damaged, so that it is rebuilt.
pub(crate) const MARKER: &str = "INDEX-DAMAGED";

/// How long no read must have failed before the store is ready again.
const QUIET: Duration = Duration::from_secs(2);

/// The most segments that wait for the check because a read met damage there; further ones are noted once these were
/// checked.
const SUSPECTS_MAX: usize = 64;

/// The last read that the system refused.
#[derive(Debug)]
struct Failing {
    why: Arc<str>,
    last: Instant,
    /// The place in the journal, if the read was there; used to try again.
    place: Option<Position>,
}

/// A place in a segment where a read met damage.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Suspect {
    /// The offset in the segment, in bytes from its beginning.
    pub(crate) offset: u32,
    /// What the read met.
    pub(crate) why: String,
    /// Whether the read looked for an entry there because the index leads there: then the index may be wrong instead.
    pub(crate) by_index: bool,
}

/// What the threads of a store know about its state.
#[derive(Debug, Default)]
pub(crate) struct Health {
    poisoned: OnceLock<Arc<str>>,
    damaged: OnceLock<Arc<str>>,
    /// The damage of the journal.
    rotten: OnceLock<Arc<str>>,
    /// Segments in which a read met damage.
    suspects: Mutex<BTreeMap<u32, Suspect>>,
    /// The folder for the marker that the index must be rebuilt at the next open.
    folder: Option<(Arc<Folder>, Files)>,
    /// The error for commits while the journal has no next segment.
    stalled: Mutex<Option<StoreError>>,
    /// The last recent read that the system refused.
    failing: Mutex<Option<Failing>>,
    full: AtomicBool,
    full_why: Mutex<String>,
    abort: bool,
}

impl Health {
    /// A healthy store; with `abort` the first failed write ends the process.
    pub(crate) fn new(folder: Arc<Folder>, files: &Files, abort: bool) -> Self {
        Self {
            folder: Some((folder, files.clone())),
            abort,
            ..Self::default()
        }
    }

    /// Ends all writing for good; the first reason is kept. With `abort` it ends the process.
    pub(crate) fn poison(&self, why: &str) {
        if self.poisoned.set(Arc::from(why)).is_ok() {
            tracing::error!(
                why,
                "storage lost: the store serves nothing until a restart"
            );
            if self.abort {
                std::process::abort();
            }
        }
    }

    /// The error that every write gets once the store is poisoned.
    pub(crate) fn poisoned(&self) -> Option<StoreError> {
        self.poisoned
            .get()
            .map(|why| StoreError::Poisoned(Arc::clone(why)))
    }

    /// Notes that the index on disk is damaged, and returns the error for the reader. The marker is then on disk, so
    /// that the next open rebuilds the index.
    pub(crate) fn damage(&self, why: &str) -> StoreError {
        let text: Arc<str> = Arc::from(format!(
            "the index is damaged ({why}); a restart rebuilds it"
        ));
        if self.damaged.set(Arc::clone(&text)).is_ok() {
            tracing::error!(
                why,
                "the index is damaged; restart the service to rebuild it"
            );
            let mark = |(folder, files): &(Arc<Folder>, Files)| {
                files.create(folder, MARKER)?;
                files.sync_folder(folder)
            };
            if let Some(Err(e)) = self.folder.as_ref().map(mark)
                && e.kind() != io::ErrorKind::AlreadyExists
            {
                tracing::error!(error = %e, "could not record that the index is damaged");
            }
        }
        StoreError::Corrupt(text)
    }

    /// Notes that the journal is damaged: no commits are accepted any more.
    pub(crate) fn rot(&self, segment: &Path, offset: u64, why: &str) {
        let text: Arc<str> = Arc::from(format!(
            "the journal is damaged: {} at offset {offset}: {why}. Nothing of it was changed: stop \
             the service, keep the folder, look at the disk's health, and restore the store from a \
             backup",
            segment.display()
        ));
        tracing::error!(why = %text, "the check found damage: no commits are taken any more");
        // only the first damage is reported here; the check lists all of it
        self.rotten.set(text).ok();
    }

    /// Notes that a read met damage in a segment, so that the check reads the whole segment ([`Suspect`]). The first place
    /// in each segment is kept.
    pub(crate) fn suspect(&self, segment: u32, offset: u32, why: &str, by_index: bool) {
        let mut suspects = lock(&self.suspects);
        if suspects.len() < SUSPECTS_MAX {
            suspects.entry(segment).or_insert_with(|| Suspect {
                offset,
                why: why.to_owned(),
                by_index,
            });
        }
    }

    /// Takes the next segment to check, with the place and reason of the damage that a read met.
    pub(crate) fn next_suspect(&self) -> Option<(u32, Suspect)> {
        lock(&self.suspects).pop_first()
    }

    /// The error of a damaged index; `None` if it is not damaged.
    pub(crate) fn index_damaged(&self) -> Option<StoreError> {
        let damaged = self.damaged.get();
        damaged.map(|why| StoreError::Corrupt(Arc::clone(why)))
    }

    /// The error of a damaged journal or index; `None` if neither is damaged.
    pub(crate) fn damaged(&self) -> Option<StoreError> {
        let damaged = self.rotten.get().or_else(|| self.damaged.get());
        damaged.map(|why| StoreError::Corrupt(Arc::clone(why)))
    }

    /// Notes that the system refused a read, and returns the error for the reader. Only the last failure is kept.
    pub(crate) fn unreadable(&self, why: &str, place: Option<Position>) -> StoreError {
        let why: Arc<str> = Arc::from(why);
        let now = Failing {
            why: Arc::clone(&why),
            last: Instant::now(),
            place,
        };
        if lock(&self.failing).replace(now).is_none() {
            tracing::error!(%why, "the disk refuses reads: not ready until they succeed");
        }
        StoreError::Unreadable(why)
    }

    /// The error of recent failed reads, if there were any.
    pub(crate) fn reads_fail(&self) -> Option<StoreError> {
        let failing = lock(&self.failing);
        let why = failing.as_ref().map(|f| Arc::clone(&f.why));
        why.map(StoreError::Unreadable)
    }

    /// The place of the last refused read of the journal.
    pub(crate) fn failing_place(&self) -> Option<Position> {
        lock(&self.failing).as_ref()?.place
    }

    /// Forgets refused reads when there has been none for a while.
    pub(crate) fn forget_failing(&self) {
        let mut failing = lock(&self.failing);
        if failing.as_ref().is_some_and(|f| f.last.elapsed() > QUIET) {
            *failing = None;
            tracing::info!("no failed disk read for a while: ready again");
        }
    }

    /// Refuses commits with this error until [`Self::go_on`].
    pub(crate) fn stall(&self, why: StoreError) {
        *lock(&self.stalled) = Some(why);
    }

    /// Accepts commits again after [`Self::stall`].
    pub(crate) fn go_on(&self) {
        *lock(&self.stalled) = None;
    }

    /// The error for writers while commits cannot be accepted: too little room, or no next segment.
    pub(crate) fn refusing(&self) -> Option<StoreError> {
        self.full().or_else(|| lock(&self.stalled).clone())
    }

    /// Sets that free space is below the floor, with the reason, or (`None`) that it is not.
    pub(crate) fn set_full(&self, why: Option<String>) {
        let now = why.is_some();
        if let Some(why) = why {
            *lock(&self.full_why) = why;
        }
        if self.full.swap(now, Ordering::AcqRel) != now {
            if now {
                tracing::error!("the disk is nearly full: writes are refused");
            } else {
                tracing::info!("disk space is available again: writes resume");
            }
        }
    }

    /// The error for writers while free space is below the floor.
    pub(crate) fn full(&self) -> Option<StoreError> {
        self.full
            .load(Ordering::Acquire)
            .then(|| StoreError::Full(lock(&self.full_why).clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::Faults;

    #[test]
    fn the_word_that_the_index_is_damaged_is_on_disk_once() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Arc::new(Folder::open(dir.path()).unwrap());
        let faults = Arc::new(Faults::default());
        let files = Files::with(Some(Arc::clone(&faults)));
        let health = Health::new(folder, &files, false);
        for _ in 0..2 {
            health.damage("says the test");
            assert!(dir.path().join(MARKER).is_file());
            // one change creates the file, one syncs its name
            assert_eq!(faults.seen(), 2);
        }
    }
}
