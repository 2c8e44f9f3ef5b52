//! Restores a store from a depot, with all of its cells.
//!
//! **Shape.** The journals are written with the bytes of the records; the indexes are built when the store is opened.
//! The first cell says which other cells there are, and the store id of each. A cell without objects is made empty.
//!
//! **To an instant.** Every cell ends before its first record that is later than the instant. The cells share one
//! clock, so everything decided after the instant is later in every cell, and what is kept is consistent: whatever
//! another cell has, the first one announced before, and whatever the first one mentions is there. Because records are
//! kept or dropped whole, a rule is added ([`super::fits::Wanted`]): a cell ends before the first record with something
//! that the first cell does not place there. An instant defines the end of every cell, the number of
//! a commit that of only one: with several cells such a number is refused.
//!
//! What was taken away after the instant is taken over from the records after it ([`super::since`]).
//!
//! **Order.** The first cell becomes a store last, so an interrupted restore leaves no store. In a new history every
//! cell gets a new id, and the last record of the first cell, which is written here, has those ids.
//!
//! **Failure.** A damaged object ends the restore, and so do cells that are not consistent with each other: the folder
//! does not become a store. Running it again begins anew.

use std::path::PathBuf;

use caudal_storage::log::{LogId, Sealed};
use caudal_storage::{Restore, StoreOptions};

use super::BackupError;
use super::chain::{Kept, Walked, Whole, walk};
use super::depot::Depot;
use super::fits::{Found, Said, Wanted, fits};
use super::names::{PEPPER_CHECK, hex, unhex};
use super::object::unpack;
use super::since::{Access, Since, taken_over};

pub use super::chain::Until;

/// A cell that was restored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Restored {
    /// The number of the cell.
    pub cell: u32,
    /// What was read from the depot and written.
    pub walked: Walked,
    /// The store's id after the restore.
    pub history: LogId,
    /// Whether the depot has more than was requested.
    pub cut: bool,
}

/// Creates the folder of a cell when it is called.
pub type Folders<'a> = &'a dyn Fn(u32) -> Result<PathBuf, BackupError>;

/// The source, target and extent of a restore.
#[derive(Clone, Copy)]
pub struct Errand<'a> {
    /// The source.
    pub depot: &'a dyn Depot,
    /// The store to restore.
    pub whole: &'a Whole,
    /// The target folders.
    pub folders: Folders<'a>,
    /// The options of the stores.
    pub options: &'a StoreOptions,
    /// The point to restore up to.
    pub until: Until,
    /// Whether the restored store becomes a history of its own.
    pub new_history: bool,
}

/// The digest by which a wrong pepper is recognised, if the depot has it.
///
/// # Errors
/// When the depot cannot be read.
pub async fn pepper_check(depot: &dyn Depot, kept: &Kept) -> Result<Option<Vec<u8>>, BackupError> {
    let name = format!("{}/{PEPPER_CHECK}", hex(&kept.history));
    depot.get(&name).await
}

/// Refuses the number of a commit that the backup does not have, and any where there are several cells, because it
/// names a point in only one of them.
///
/// # Errors
/// When it is refused.
pub fn may(whole: &Whole, until: Until) -> Result<(), BackupError> {
    match until {
        Until::Commit(_) if !whole.others.is_empty() => refused(
            "the backup has several cells, and the number of a commit is that of one: name an instant".to_owned(),
        ),
        Until::Commit(commit) if commit > whole.first.last() => refused(format!(
            "the backup ends with commit {}, so it has no commit {commit}. Without --at, all of it is restored",
            whole.first.last()
        )),
        Until::Commit(_) | Until::Instant(_) | Until::End => Ok(()),
    }
}

/// Restores all cells of a store: as the same store, or as a history of its own. `done` receives the number of object
/// bytes read. Also returns what a history of its own has taken over from the rest of the backup.
///
/// # Errors
/// When a folder is not empty, an object is damaged, there is nothing before the requested point, cells are not
/// consistent with each other, or something cannot be read or written.
pub async fn restore(
    errand: Errand<'_>,
    done: &mut dyn FnMut(u64),
) -> Result<(Vec<Restored>, Since), BackupError> {
    let Errand { whole, .. } = errand;
    may(whole, errand.until)?;
    let First {
        making: mut first,
        said,
        mut then,
        last,
        incomplete,
    } = first(errand, done).await?;
    let mut all = vec![first.made];
    let mut before = whole.first.cover.bytes();
    for (cell, store) in said.platform().cells() {
        let kept = whole.there(errand.depot, cell).await?;
        let mut read = |bytes: u64| done(before.strict_add(bytes));
        let wanted = Wanted::of(&said, cell, errand.until);
        let other = other(errand, (&kept, store), (&said, &wanted), &mut read).await?;
        before = before.strict_add(kept.cover.bytes());
        all.push(other);
    }
    if errand.new_history && all.len() > 1 {
        let others = all.iter().skip(1);
        let names: Vec<_> = others.map(|it| (it.cell, hex(&it.history))).collect();
        let commit = said.renames(&names, first.made.walked.latest)?;
        first.restore.say(&commit)?;
        then.goes_behind(&commit);
    }
    let (commits, mut since) = taken_over(&then, &last)?;
    since.incomplete = incomplete;
    for commit in &commits {
        first.restore.say(commit)?;
    }
    first.restore.finish()?;
    Ok((all, since))
}

fn refused<T>(why: String) -> Result<T, BackupError> {
    Err(BackupError::Refused(why))
}

/// A cell that is being restored.
struct Making {
    restore: Restore,
    made: Restored,
}

impl Making {
    /// Begins in a cell's folder; the store's log id is that of the first object.
    async fn begin(
        errand: Errand<'_>,
        kept: &Kept,
        history: Option<LogId>,
    ) -> Result<Self, BackupError> {
        let depot = errand.depot;
        let Some(first) = kept.cover.objects.first() else {
            let (place, of) = (depot.place(), kept.whose().folder());
            return refused(format!("{place} lacks the first records of {of}"));
        };
        let Some(object) = depot.get(&first.name).await? else {
            return Err(BackupError::damaged(&first.name, 0, "the object is gone"));
        };
        let log = unpack(&first.name, &object)?.log;
        Self::of(errand, kept.cell, log, history)
    }

    fn of(
        errand: Errand<'_>,
        cell: u32,
        log: LogId,
        history: Option<LogId>,
    ) -> Result<Self, BackupError> {
        let path = (errand.folders)(cell)?;
        let history = history.filter(|_| !errand.new_history);
        let restore = Restore::begin(&path, errand.options, log, history)?;
        let made = Restored {
            cell,
            walked: Walked::default(),
            history: restore.history(),
            cut: false,
        };
        Ok(Self { restore, made })
    }

    fn put(&mut self, record: &Sealed<'_>, latest: u64) -> Result<(), BackupError> {
        self.restore.put(record)?;
        self.made.walked.count(record, latest);
        Ok(())
    }
}

/// The first cell, after it was written up to the cut and read to its end.
struct First {
    making: Making,
    /// Its facts up to the cut.
    said: Said,
    /// Who may do what at the cut.
    then: Access,
    /// Who may do what at the end.
    last: Access,
    /// Why it could not be read to its end.
    incomplete: Option<String>,
}

/// Writes the first cell, and reads it to its end where there are others or where it becomes a history of its own.
async fn first(errand: Errand<'_>, done: &mut dyn FnMut(u64)) -> Result<First, BackupError> {
    let Errand { depot, whole, .. } = errand;
    let several = !whole.others.is_empty();
    let kept = &whole.first;
    let mut making = Making::begin(errand, kept, Some(kept.history)).await?;
    let (mut said, mut later) = (Said::default(), false);
    let (mut then, mut last) = (Access::default(), None);
    let mut take = |record: &Sealed<'_>, latest: u64| {
        if !later && !errand.until.is_before(record, latest) {
            making.put(record, latest)?;
            said.takes(record)?;
            then.takes(record, latest)?;
            return Ok(true);
        }
        last.get_or_insert_with(|| then.clone())
            .takes(record, latest)?;
        later = true;
        Ok(errand.new_history)
    };
    let walked = walk(depot, kept, &mut take, done).await;
    making.made.cut = later;
    let incomplete = match walked {
        Ok(walked) => {
            making.made.walked.objects = walked.objects;
            None
        }
        // Damage behind the instant is often the reason to go back to it.
        Err(why) if later && !several => {
            making.made.walked.objects = kept.cover.objects.len();
            Some(why.to_string())
        }
        Err(why) => return Err(why),
    };
    if making.made.walked.records == 0 {
        return refused("the backup begins later than that: nothing was restored".to_owned());
    }
    let last = last.unwrap_or_else(|| then.clone());
    Ok(First {
        making,
        said,
        then,
        last,
        incomplete,
    })
}

/// Writes another cell, whose store id is `store`.
async fn other(
    errand: Errand<'_>,
    (kept, store): (&Kept, &str),
    (said, wanted): (&Said, &Wanted),
    done: &mut dyn FnMut(u64),
) -> Result<Restored, BackupError> {
    let cell = kept.cell;
    let Some(history) = unhex(store) else {
        return refused(format!(
            "the first cell says that cell {cell} is {store}, which is no id"
        ));
    };
    let mut found = Found::default();
    let making = match kept.cover.objects.is_empty() && kept.cover.missing.is_none() {
        true => Making::of(errand, cell, history, Some(history))?,
        false => {
            let mut making = Making::begin(errand, kept, Some(history)).await?;
            let mut cut = false;
            let mut take = |record: &Sealed<'_>, latest: u64| {
                cut = !wanted.wants(record, latest);
                if !cut {
                    making.put(record, latest)?;
                    found.takes(record);
                }
                Ok(!cut)
            };
            let walked = walk(errand.depot, kept, &mut take, done).await?;
            making.made.cut = cut;
            making.made.walked.objects = walked.objects;
            making
        }
    };
    if let Err(why) = fits(said, cell, &found) {
        return refused(unfit(&why, errand.until));
    }
    match making.made.walked.records {
        0 => making.restore.finish_empty()?,
        _ => making.restore.finish()?,
    }
    Ok(making.made)
}

/// The error of cells that are not consistent, with advice.
fn unfit(why: &str, until: Until) -> String {
    let advice = match until {
        Until::End => {
            "If a service ships there now, run the same again. Otherwise restore all of it to an instant before (--at INSTANT \
             --new-history)"
        }
        Until::Commit(_) | Until::Instant(_) => {
            "Name another instant, some seconds before or after"
        }
    };
    format!("the cells do not fit together: {why}. Nothing was restored. {advice}")
}
