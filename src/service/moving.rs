//! The log of a stopped folder: moved into a database and back, compared with it, and healed.
//!
//! **Shape.** A [`Site`] is a folder and the log beside it. Chain, numbers and the store's identity are the same in
//! both, so a move changes which of the two is the log, and nothing else.
//!
//! **Order.** Two marks say which one it is: `log.place` in the folder (its store is a copy, and is not opened alone)
//! and the reservation of the cell ([`Keeper`]: no node owns it). Each is on disk before the other is removed, so at
//! every moment at most one of the two can be started:
//! - into a database: the folder gets a mark (`log.moved`), for which the cell is reserved; it is filled and
//!   compared; `log.place` is written; the cell is released, and the mark removed;
//! - back: the folder is filled and compared while anybody may own the cell; it gets a mark; the cell is reserved for
//!   it; what was appended meanwhile is taken; `log.place` is removed. Mark and reservation stay.
//!
//! **Failure.** An interrupted move continues when it is run again, and a move that was begun to one side can be
//! reversed. Only the folder with the mark can do so: an earlier copy of it would be a second history.

mod marks;
mod words;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use caudal_actors::records::projection::Rows;
use caudal_postgres::{PostgresLog, Settings};
use caudal_storage::log::{Epoch, Log, LogError, LogId, Sealed, Tail};
use caudal_storage::moving::{Compared, Difference, Keeper, Row, compare, fill};
use caudal_storage::{
    CommitNo, DurableStore, OnProgress, OpenError, Part, Records, Store, StoreOptions,
};

use super::folder::{self, STORE};
use super::{StartError, cell, cells};
use words::journal;

/// The longest lease of an owner that is waited for: the longest that can be set.
const LEASE_MAX: Duration = Duration::from_secs(60);
/// How much longer than its lease an owner is waited for.
const MARGIN: Duration = Duration::from_secs(2);
/// The pause before asking again for a cell that has an owner.
const HELD_PAUSE: Duration = Duration::from_millis(50);

/// The stages of a move that take long.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    /// Records are copied.
    Copying,
    /// The records of both sides are compared.
    Comparing,
}

/// The result of a move.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Moved {
    /// The log is now at its destination.
    Done {
        /// Its end.
        tail: Tail,
        /// How many records there are.
        records: u64,
    },
    /// The log was already there; nothing was done.
    Already,
}

/// Called with the bytes of records that a stage has done, and their total.
pub type OnStage = Arc<dyn Fn(Stage, u64, u64) + Send + Sync>;
/// Opens a handle to the existing log, or begins a log with the given id.
type Open = Box<dyn Fn(Option<LogId>) -> Result<Box<dyn Log>, StartError>>;

/// A folder of a stopped service, and the log beside it.
pub struct Site {
    data: PathBuf,
    place: String,
    open: Open,
    margin: Duration,
    options: StoreOptions,
    told: Option<OnStage>,
}

impl fmt::Debug for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Site")
            .field("data", &self.data)
            .field("place", &self.place)
            .finish_non_exhaustive()
    }
}

impl Site {
    /// The folder `data` and the log in a database.
    pub fn new(data: impl Into<PathBuf>, log: Settings) -> Self {
        let (data, place) = (data.into(), log.place());
        let (folder, named) = (data.clone(), place.clone());
        let open = move |begin: Option<LogId>| -> Result<Box<dyn Log>, StartError> {
            let opened = match begin {
                Some(id) => PostgresLog::begin(log.clone(), id),
                None => PostgresLog::find(log.clone()),
            };
            let log = opened.map_err(|why| cell::refused(&folder, &named, why))?;
            Ok(Box::new(log))
        };
        Self::with(data, place, Box::new(open))
    }

    fn with(data: PathBuf, place: String, open: Open) -> Self {
        Self {
            data,
            place,
            open,
            margin: MARGIN,
            options: StoreOptions::default(),
            told: None,
        }
    }

    /// The same site, with callbacks for progress.
    #[must_use]
    pub fn watched(mut self, opening: OnProgress, told: OnStage) -> Self {
        self.options.progress = Some(opening);
        self.told = Some(told);
        self
    }

    /// Moves the folder's log into the database; from then on the folder's store is a copy of it.
    ///
    /// # Errors
    /// When the database has another log, or one that is not a prefix of the folder's; when the folder has several
    /// cells; when the folder or the database cannot be used. Then either the folder is still the log, or running the
    /// move again continues it.
    pub fn to_log(&self) -> Result<Moved, StartError> {
        let _held = folder::hold(&self.data)?;
        self.with_store(|store, records| {
            cells::alone(&self.data, store, "a move of its log")?;
            self.leave(records)
        })
    }

    /// Makes the folder's store the log: the store takes the records that it lacks from the database, which then no
    /// longer holds the log.
    ///
    /// # Errors
    /// When the folder's store is not a copy of the log, or somebody owns the cell; when one of the two cannot be used.
    /// Then either the database still holds the log, or running the move again continues it.
    pub fn to_folder(&self) -> Result<Moved, StartError> {
        let _held = folder::hold(&self.data)?;
        if cell::place_of(&self.data)?.is_none() {
            self.has_a_store()?;
            return Ok(Moved::Already);
        }
        let mut log = (self.open)(None)?;
        cell::same_store(&self.data, &self.place, log.id())?;
        let keeper = Keeper::of(&log.standing().map_err(OpenError::Log)?);
        let mark = match keeper {
            None => None,
            Some(Keeper::Folder(mark)) if self.is_mine(&mark)? => Some(mark),
            Some(keeper) => return Err(cell::reserved(&self.place, &keeper)),
        };
        // The slow comparison runs before the cell is taken.
        let compared = self.follow(&mut |records| self.alike(records, log.as_ref()))?;
        // From here on, an interrupted run continues only under this name of the database.
        cell::note(&self.data, &self.place)?;
        let mark = match mark {
            Some(mark) => mark,
            None => self.draw()?,
        };
        self.take(log.as_mut(), &Keeper::Folder(mark.clone()).name())?;
        self.settle(&mark)?;
        let tail = log.tail().map_err(OpenError::Log)?;
        let mut rest = 0;
        self.follow(&mut |records| self.ends(records, tail))?;
        let more = log.read(CommitNo(compared.tail.commit.0 + 1), &mut |_| {
            rest += 1;
            true
        });
        more.map_err(OpenError::Log)?;
        cell::forget(&self.data)?;
        Ok(Moved::Done {
            tail,
            records: compared.records + rest,
        })
    }

    /// Compares the folder's journal with the log, and changes neither; `longer` receives each record that the journal
    /// has beyond the log's end.
    ///
    /// # Errors
    /// When the folder's store is another one, or one of the two cannot be read.
    pub fn compare(
        &self,
        longer: &mut dyn FnMut(Row, &Sealed<'_>),
    ) -> Result<Compared, StartError> {
        let _held = folder::hold(&self.data)?;
        self.with_records(|records| {
            let log = (self.open)(None)?;
            cell::same_store(&self.data, &self.place, log.id())?;
            self.compared(records, log.as_ref(), longer)
        })
    }

    /// Appends again the records that the folder's journal has beyond the log's end, and nothing else; `longer`
    /// receives each of them before any is appended. Returns the result of the comparison before the appends.
    ///
    /// # Errors
    /// When the log is not a prefix of the journal, or somebody owns the cell; when the folder has several cells; when
    /// one of the two cannot be used.
    pub fn heal(&self, longer: &mut dyn FnMut(Row, &Sealed<'_>)) -> Result<Compared, StartError> {
        let _held = folder::hold(&self.data)?;
        self.with_store(|store, records| {
            cells::alone(&self.data, store, "healing its log")?;
            self.give_back(records, longer)
        })
    }

    /// The body of [`Self::to_log`].
    fn leave(&self, records: &Records) -> Result<Moved, StartError> {
        if records.log() != records.history() {
            return Err(self.own_history());
        }
        let copy = cell::place_of(&self.data)?.is_some();
        let mut log = (self.open)((!copy).then(|| records.log()))?;
        cell::same_store(&self.data, &self.place, log.id())?;
        let standing = log.standing().map_err(OpenError::Log)?;
        let keeper = Keeper::of(&standing);
        let fresh = keeper.is_none();
        let mark = match keeper {
            Some(Keeper::Folder(mark)) if self.is_mine(&mark)? => mark,
            Some(keeper) => return Err(cell::reserved(&self.place, &keeper)),
            None if copy => return Ok(Moved::Already),
            None if standing.tail.commit.0 > 0 => return Err(self.in_force(standing.tail)),
            // A fresh mark, which no copy of this folder has: nobody else fills the log under it.
            None => self.draw()?,
        };
        let name = Keeper::Folder(mark).name();
        let epoch = self.take(log.as_mut(), &name)?;
        if fresh && log.tail().map_err(OpenError::Log)? != standing.tail {
            // Somebody else was faster, and the log is theirs.
            log.release(epoch).map_err(OpenError::Log)?;
            return Err(self.meanwhile());
        }
        if !copy {
            self.fill(records, log.as_mut(), epoch)?;
        }
        let compared = self.alike(records, log.as_ref())?;
        // This reservation settles whether the last append took effect, and fences every earlier writer.
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

    /// The body of [`Self::heal`].
    fn give_back(
        &self,
        records: &Records,
        longer: &mut dyn FnMut(Row, &Sealed<'_>),
    ) -> Result<Compared, StartError> {
        let mut log = (self.open)(None)?;
        cell::same_store(&self.data, &self.place, log.id())?;
        let keeper = Keeper::of(&log.standing().map_err(OpenError::Log)?);
        let begun = match keeper {
            None => None,
            Some(Keeper::Healing(until)) => Some(until),
            Some(keeper) => return Err(cell::reserved(&self.place, &keeper)),
        };
        let mut until = None;
        let compared = self.compared(records, log.as_ref(), &mut |row, record| {
            until = Some(row.tail);
            longer(row, record);
        })?;
        let until = match (compared.difference, begun) {
            (Difference::Differs { .. }, _) => return Err(self.apart(compared)),
            // The run that began had more records: it must not lose those that are not in the log yet.
            (_, Some(begun)) if records.find(&begun).map_err(journal)?.is_none() => {
                return Err(cell::reserved(&self.place, &Keeper::Healing(begun)));
            }
            (_, Some(begun)) => begun,
            (Difference::None | Difference::Behind(_), None) => return Ok(compared),
            (Difference::Longer(_), None) => until.unwrap_or(compared.tail),
        };
        let name = Keeper::Healing(until).name();
        let epoch = self.take(log.as_mut(), &name)?;
        // This has deposed any other run that heals under the same name. If the log is still a prefix of the journal,
        // this run continues, so that the log is never left with only part of the records.
        let tail = log.tail().map_err(OpenError::Log)?;
        if records.find(&tail).map_err(journal)?.is_none() {
            if begun.is_none() {
                log.release(epoch).map_err(OpenError::Log)?;
            }
            return Err(self.meanwhile());
        }
        self.fill(records, log.as_mut(), epoch)?;
        let epoch = log.reserve(&name).map_err(OpenError::Log)?;
        self.ends(records, log.tail().map_err(OpenError::Log)?)?;
        cell::note(&self.data, &self.place)?;
        log.release(epoch).map_err(OpenError::Log)?;
        Ok(compared)
    }

    /// Copies the records that the log lacks.
    fn fill(&self, records: &Records, log: &mut dyn Log, epoch: Epoch) -> Result<(), StartError> {
        let tail = log.tail().map_err(OpenError::Log)?;
        let from = records.find(&tail).map_err(journal)?;
        let all = from.map_or(0, |from| records.behind(&from));
        let mut done = 0;
        let filled = fill(log, epoch, records, &mut |length| {
            done += length;
            self.tell(Stage::Copying, done, all);
        });
        filled.map(drop).map_err(|why| self.failed(why))
    }

    /// Compares, and reports progress.
    fn compared(
        &self,
        records: &Records,
        log: &dyn Log,
        longer: &mut dyn FnMut(Row, &Sealed<'_>),
    ) -> Result<Compared, StartError> {
        let all = records.behind(&records.beginning());
        let mut done = 0;
        let compared = compare(records, log, longer, &mut |length| {
            done += length;
            self.tell(Stage::Comparing, done, all);
        });
        compared.map_err(|why| self.failed(why))
    }

    /// Refuses a journal that is neither the log nor a prefix of it.
    fn alike(&self, records: &Records, log: &dyn Log) -> Result<Compared, StartError> {
        let compared = self.compared(records, log, &mut |_, _| {})?;
        match compared.difference {
            Difference::None | Difference::Behind(_) => Ok(compared),
            Difference::Longer(_) | Difference::Differs { .. } => Err(self.apart(compared)),
        }
    }

    /// Refuses a journal that does not end where the log does: the last hash covers all records before it.
    fn ends(&self, records: &Records, tail: Tail) -> Result<(), StartError> {
        let found = records.find(&tail).map_err(journal)?;
        match found.is_some_and(|spot| records.behind(&spot) == 0) {
            true => Ok(()),
            false => Err(self.meanwhile()),
        }
    }

    /// Runs `work` on the records of the folder's store as it is.
    fn with_records<T>(
        &self,
        work: impl FnOnce(&Records) -> Result<T, StartError>,
    ) -> Result<T, StartError> {
        self.with_store(|_, records| work(records))
    }

    /// Opens the folder's store as it is, runs `work`, and closes it.
    fn with_store<T>(
        &self,
        work: impl FnOnce(&dyn Store, &Records) -> Result<T, StartError>,
    ) -> Result<T, StartError> {
        self.has_a_store()?;
        let options = StoreOptions {
            create: false,
            ..self.options.clone()
        };
        let (store, records) = folder::open(&self.data, options, Arc::new(Rows))?;
        let done = work(store.as_ref(), &records);
        let closed = store.close();
        let done = done?;
        closed.map_err(journal)?;
        Ok(done)
    }

    /// Opens the folder's store as a follower of the log, which brings it up to the log's end, runs `work`, and closes
    /// it.
    fn follow<T>(
        &self,
        work: &mut dyn FnMut(&Records) -> Result<T, StartError>,
    ) -> Result<T, StartError> {
        let log = (self.open)(None)?;
        let options = cell::of_copy(&self.data, self.options.clone())?;
        let path = self.data.join(STORE);
        let store = DurableStore::join(path, options, Arc::new(Rows), log, &Part::Follower)?;
        let done = work(&store.records());
        let closed = store.close();
        let done = done?;
        closed.map_err(journal)?;
        folder::note(&self.data, &store.id())?;
        Ok(done)
    }

    /// Refuses a folder that never had a store: it is the wrong one.
    fn has_a_store(&self) -> Result<(), StartError> {
        match folder::knows_a_store(&self.data)? {
            true => Ok(()),
            false => Err(StartError::Setting(format!(
                "{0} holds no store: {0}/store/IDENTITY is missing. Name the folder that the service has as `data`",
                self.data.display()
            ))),
        }
    }

    /// Reserves the cell; waits for an owner that is gone until its lease ends.
    fn take(&self, log: &mut dyn Log, name: &str) -> Result<Epoch, StartError> {
        let began = Instant::now();
        let mut most = None;
        loop {
            let owner = match log.reserve(name) {
                Err(LogError::Held { address }) => address,
                done => return Ok(done.map_err(OpenError::Log)?),
            };
            let standing = log.standing().map_err(OpenError::Log)?;
            if let Some(keeper) = Keeper::of(&standing) {
                return Err(cell::reserved(&self.place, &keeper));
            }
            let left = standing
                .left
                .map_or(Duration::ZERO, |left| left.min(LEASE_MAX));
            if began.elapsed() >= *most.get_or_insert(left + self.margin) {
                let owner = owner.map_or(String::new(), |owner| format!(" ({owner})"));
                let why =
                    format!("it has an owner{owner}: stop all nodes first. Nothing was changed");
                let what = format!("taking the cell at {}", self.place);
                return Err(StartError::io(what, std::io::Error::other(why)));
            }
            thread::sleep(HELD_PAUSE);
        }
    }

    fn tell(&self, stage: Stage, done: u64, all: u64) {
        if let Some(told) = &self.told {
            told(stage, done, all);
        }
    }
}

#[cfg(test)]
mod tests;
