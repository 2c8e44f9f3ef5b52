//! Makes a store of what a depot holds.
//!
//! **Shape.** The journal is written with the bytes of the records; the index is made by whoever opens the store.
//!
//! **Failure.** A damaged object ends it, and the folder is no store. Running it again begins anew.

use std::path::Path;

use caudal_storage::log::LogId;
use caudal_storage::{Restore, StoreOptions};

use super::BackupError;
use super::chain::{Kept, Walked, walk};
use super::depot::Depot;
use super::names::{PEPPER_CHECK, hex};
use super::object::unpack;

/// Where a restore ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Until {
    /// With everything.
    End,
    /// Before the first record with a later commit. Commits that were flushed together stay together.
    Commit(u64),
    /// Before the first record with an entry of a later time, in milliseconds since 1970 UTC.
    Instant(u64),
}

/// What was restored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Restored {
    /// What was written.
    pub walked: Walked,
    /// Which store it is now.
    pub history: LogId,
    /// Whether the depot has more than was wanted.
    pub cut: bool,
}

/// The mark by which a wrong pepper is recognised, if the depot has it.
///
/// # Errors
/// When the depot cannot be read.
pub async fn pepper_check(depot: &dyn Depot, kept: &Kept) -> Result<Option<Vec<u8>>, BackupError> {
    let name = format!("{}/{PEPPER_CHECK}", hex(&kept.history));
    depot.get(&name).await
}

/// Restores a store into `path`: the same store, or, as a `new_history`, one of its own. `done` is told how many
/// bytes of objects were read.
///
/// # Errors
/// When the folder is not empty, an object is damaged, there is nothing until then, or something cannot be read
/// or written.
pub async fn restore(
    depot: &dyn Depot,
    kept: &Kept,
    path: &Path,
    options: &StoreOptions,
    (until, new_history): (Until, bool),
    done: &mut dyn FnMut(u64),
) -> Result<Restored, BackupError> {
    let Some(first) = kept.cover.objects.first() else {
        let why = format!("{} lacks the first records of the store", depot.place());
        return Err(BackupError::Refused(why));
    };
    let Some(object) = depot.get(&first.name).await? else {
        return Err(BackupError::damaged(&first.name, 0, "the object is gone"));
    };
    let log = unpack(&first.name, &object)?.log;
    let history = (!new_history).then_some(kept.history);
    let mut restore = Restore::begin(path, options, log, history)?;
    let mut cut = false;
    let mut take = |record: &caudal_storage::log::Sealed<'_>, latest: u64| {
        cut = match until {
            Until::End => false,
            Until::Commit(last) => record.tail().commit.0 > last,
            Until::Instant(at) => latest > at,
        };
        if !cut {
            restore.put(record)?;
        }
        Ok(!cut)
    };
    let walked = walk(depot, kept, &mut take, done).await?;
    if walked.records == 0 {
        let why = "the backup begins later than that: nothing was restored".to_owned();
        return Err(BackupError::Refused(why));
    }
    let history = restore.history();
    restore.finish()?;
    Ok(Restored {
        walked,
        history,
        cut,
    })
}
