//! Restores a store from a backup store.
//!
//! **Shape.** The journal is written with the bytes of the records; the index is built when the store is opened.
//!
//! **To an instant.** The journal ends before its first record that is later than the instant. What was taken away after
//! the instant is taken over from the records after it ([`super::since`]).
//!
//! **Order.** The folder becomes a store at the end, so an interrupted restore leaves none.
//!
//! **Failure.** A damaged object ends the restore: the folder does not become a store. Running it again begins anew.

use std::path::Path;

use caudal_storage::log::{LogId, Sealed};
use caudal_storage::{Restore, StoreOptions};

use super::BackupError;
use super::backup_store::BackupStore;
use super::chain::{ChainSummary, ShippedStore, walk};
use super::names::{PEPPER_CHECK, hex};
use super::object::unpack;
use super::since::{Access, Since, taken_over};

pub use super::chain::Until;

/// A store that was restored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Restored {
    /// What was read from the backup store and written.
    pub walked: ChainSummary,
    /// The store's id after the restore.
    pub history: LogId,
    /// Whether the backup store has more than was requested.
    pub cut: bool,
}

/// The source, target and extent of a restore.
#[derive(Clone, Copy)]
pub struct RestoreRequest<'a> {
    /// The source.
    pub backup_store: &'a dyn BackupStore,
    /// The store to restore.
    pub kept: &'a ShippedStore,
    /// The path of the new store.
    pub store: &'a Path,
    /// The options of the store.
    pub options: &'a StoreOptions,
    /// The point to restore up to.
    pub until: Until,
    /// Whether the restored store becomes a history of its own.
    pub new_history: bool,
}

/// The digest by which a wrong pepper is recognised, if the backup store has it.
///
/// # Errors
/// When the backup store cannot be read.
pub async fn pepper_check(
    backup_store: &dyn BackupStore,
    kept: &ShippedStore,
) -> Result<Option<Vec<u8>>, BackupError> {
    let name = format!("{}/{PEPPER_CHECK}", hex(&kept.history));
    backup_store.get(&name).await
}

/// Refuses the number of a commit that the backup does not have.
///
/// # Errors
/// When it is refused.
pub fn may(kept: &ShippedStore, until: Until) -> Result<(), BackupError> {
    match until {
        Until::Commit(commit) if commit > kept.last() => refused(format!(
            "the backup ends with commit {}, so it has no commit {commit}. Without --at, all of it is restored",
            kept.last()
        )),
        Until::Commit(_) | Until::Instant(_) | Until::End => Ok(()),
    }
}

fn refused<T>(why: String) -> Result<T, BackupError> {
    Err(BackupError::Refused(why))
}

/// Begins a store with the log id of the first object.
async fn begin(request: RestoreRequest<'_>) -> Result<Restore, BackupError> {
    let (backup_store, kept) = (request.backup_store, request.kept);
    let Some(first) = kept.cover.objects.first() else {
        let (place, of) = (backup_store.place(), hex(&kept.history));
        return refused(format!("{place} lacks the first records of {of}"));
    };
    let Some(object) = backup_store.get(&first.name).await? else {
        return Err(BackupError::damaged(&first.name, 0, "the object is gone"));
    };
    let log = unpack(&first.name, &object)?.log;
    let history = Some(kept.history).filter(|_| !request.new_history);
    Ok(Restore::begin(
        request.store,
        request.options,
        log,
        history,
    )?)
}

/// Restores a store: as the same store, or as a history of its own. `done` receives the number of object bytes read.
/// Also returns what a history of its own has taken over from the rest of the backup.
///
/// # Errors
/// When the folder is not empty, an object is damaged, there is nothing before the requested point, or something cannot
/// be read or written.
pub async fn restore(
    request: RestoreRequest<'_>,
    done: &mut dyn FnMut(u64),
) -> Result<(Restored, Since), BackupError> {
    let RestoreRequest {
        backup_store, kept, ..
    } = request;
    may(kept, request.until)?;
    let mut making = begin(request).await?;
    let mut made = Restored {
        walked: ChainSummary::default(),
        history: making.history(),
        cut: false,
    };
    let (mut then, mut last) = (Access::default(), None);
    let mut take = |record: &Sealed<'_>, latest: u64| {
        if !made.cut && !request.until.is_before(record, latest) {
            making.put(record)?;
            made.walked.count(record, latest);
            then.takes(record, latest)?;
            return Ok(true);
        }
        last.get_or_insert_with(|| then.clone())
            .takes(record, latest)?;
        made.cut = true;
        // A history of its own takes over what was taken away later.
        Ok(request.new_history)
    };
    let walked = walk(backup_store, kept, &mut take, done).await;
    let incomplete = match walked {
        Ok(walked) => {
            made.walked.objects = walked.objects;
            None
        }
        // Damage behind the instant is often the reason to go back to it.
        Err(why) if made.cut => {
            made.walked.objects = kept.cover.objects.len();
            Some(why.to_string())
        }
        Err(why) => return Err(why),
    };
    if made.walked.records == 0 {
        return refused("the backup begins later than that: nothing was restored".to_owned());
    }
    let last = last.unwrap_or_else(|| then.clone());
    let (commits, mut since) = taken_over(&then, &last)?;
    since.incomplete = incomplete;
    for commit in &commits {
        making.say(commit)?;
    }
    making.finish()?;
    Ok((made, since))
}
