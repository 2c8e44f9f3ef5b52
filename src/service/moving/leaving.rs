//! `caudal log move --to postgres://…`: moves the logs of all cells of a folder into a database.
//!
//! **Shape.** For each cell, [`Site::fill_log`] fills the log in the database, and [`Site::leave`] puts it into force.
//!
//! **Order.**
//! 1. Each log in the database is checked: it has to be this folder's, or empty. Nothing is appended or reserved.
//! 2. For each cell, the first one first: the folder gets a mark (`log.moved`), the cell is reserved for that mark, and
//!    the log is filled and compared. The folder is still the log of all cells, and may be started; no node starts,
//!    because the first cell is reserved.
//! 3. For each cell, the first one last: `log.place` is written, the cell is released, and the mark is removed.
//!
//! **Failure.** After an interruption in step 2, the folder is the log of every cell as before. After one in step 3,
//! some cells are in the database and the first one is not, or is still reserved: the reservation keeps nodes out, and
//! the folder is refused because some of its cells are copies. In either case the same command continues the move, and
//! `--to disk` reverses it.

use caudal_postgres::Trouble;
use caudal_storage::log::{Log, LogId, Tail};
use caudal_storage::moving::{Compared, Keeper};
use caudal_storage::{OpenError, Records};

use super::super::{StartError, cell, folder};
use super::{Claim, Moved, Site};
use crate::backup::names::{hex, unhex};

/// A cell that is reserved for the folder, and whose log in the database was filled.
struct Filled {
    log: Box<dyn Log>,
    /// The name under which the cell is reserved.
    name: String,
    compared: Compared,
    /// Whether the folder was already a copy.
    copy: bool,
}

impl Site {
    /// Moves the logs of the folder's cells into the database; from then on the folder's stores are copies of them.
    /// Returns the result for each cell, with the cell's number.
    ///
    /// # Errors
    /// When the database has another log, or one that is not a prefix of the folder's; when the folder or the database
    /// cannot be used. The folder is then the log as before, or the move continues when it is run again.
    pub fn to_log(&self) -> Result<Vec<(u32, Moved)>, StartError> {
        let _held = folder::hold(&self.data)?;
        let (others, first) = self.with_store(|store, records| {
            let others = self.all_others(store)?;
            if records.log() != records.history() {
                return Err(self.own_history());
            }
            if self.is_moved()? {
                return Ok((others, None));
            }
            for site in std::iter::once(self).chain(&others) {
                site.can_be_left()?;
            }
            Ok((others, self.fill_log(records)?))
        })?;
        // The first cell is released last: if its log is in the database and free, the logs of all cells are.
        let mut filled = vec![(self, first)];
        let enclosed = filled.iter().all(|(_, first)| first.is_some());
        for site in &others {
            let done = match enclosed {
                true => site.with_records(|records| site.fill_log(records))?,
                false => None,
            };
            filled.push((site, done));
        }
        let mut moved = Vec::new();
        for (site, filled) in filled.into_iter().rev() {
            let done = match filled {
                Some(filled) => site.leave(filled)?,
                None => Moved::Already,
            };
            moved.push((site.cell, done));
        }
        moved.reverse();
        Ok(moved)
    }

    /// Whether the log of the first cell is in the database, and free: then the logs of all cells are.
    fn is_moved(&self) -> Result<bool, StartError> {
        if !self.is_copy()? {
            return Ok(false);
        }
        let (claim, _) = self.claim(self.log(None)?.as_ref())?;
        Ok(!matches!(claim, Claim::Mine(_)))
    }

    /// Refuses a cell for which the database has another log, or a log in force although the folder is not a copy.
    fn can_be_left(&self) -> Result<(), StartError> {
        let own = folder::store_in(&self.data)?.ok_or_else(|| self.storeless())?;
        let log = match (self.open)(self.cell, None) {
            Err(Trouble::Absent) => return Ok(()),
            Err(why) => return Err(cell::refused(&self.data, &self.at(), why)),
            Ok(log) if hex(&log.id()) == own => log,
            // A log that was never used becomes this cell's.
            Ok(_) => self.log(unhex(&own))?,
        };
        match self.claim(log.as_ref())? {
            (Claim::InForce, tail) if !self.is_copy()? => Err(self.in_force(tail)),
            (Claim::Mine(_) | Claim::InForce | Claim::Empty, _) => Ok(()),
        }
    }

    /// Reserves the cell, appends the records that the log lacks, and compares log and journal; `None` if the log is
    /// already in force.
    fn fill_log(&self, records: &Records) -> Result<Option<Filled>, StartError> {
        if records.log() != records.history() {
            return Err(self.own_history());
        }
        let copy = self.is_copy()?;
        let begin: Option<LogId> = (!copy).then(|| records.log());
        let mut log = self.log(begin)?;
        let (claim, before): (Claim, Tail) = self.claim(log.as_ref())?;
        let (mark, fresh) = match claim {
            Claim::Mine(mark) => (mark, false),
            Claim::InForce | Claim::Empty if copy => return Ok(None),
            Claim::InForce => return Err(self.in_force(before)),
            // A new mark, which no copy of this folder has: nobody else fills the log under it.
            Claim::Empty => (self.draw()?, true),
        };
        let name = Keeper::Folder(mark).name();
        let epoch = self.take(log.as_mut(), &name)?;
        if fresh && log.tail().map_err(OpenError::Log)? != before {
            // Another writer was faster, and the log is that writer's.
            log.release(epoch).map_err(OpenError::Log)?;
            return Err(self.meanwhile());
        }
        if !copy {
            self.fill(records, log.as_mut(), epoch)?;
        }
        let compared = self.alike(records, log.as_ref())?;
        Ok(Some(Filled {
            log,
            name,
            compared,
            copy,
        }))
    }

    /// Makes the folder a copy of the log that was filled from it.
    fn leave(&self, filled: Filled) -> Result<Moved, StartError> {
        let Filled {
            mut log,
            name,
            compared,
            copy,
        } = filled;
        // If the outcome of the last append is unknown, this reservation settles it, and nobody else does.
        let epoch = log.reserve(&name).map_err(OpenError::Log)?;
        let tail = log.tail().map_err(OpenError::Log)?;
        if !copy && tail != compared.tail {
            return Err(self.meanwhile());
        }
        cell::note(&self.data, &self.place)?;
        log.release(epoch).map_err(OpenError::Log)?;
        self.unmark()?;
        Ok(Moved::Done {
            tail,
            records: compared.records,
        })
    }
}
