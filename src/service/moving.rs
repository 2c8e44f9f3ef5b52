//! Moves the logs of a stopped folder into a database and back, compares the folder with the database, and heals logs.
//!
//! **Shape.** A [`Site`] is the folder of one cell and that cell's log in the database; the first cell's site finds the
//! other cells. The chain, the numbers and the store's identity are the same in the folder and in the log, so a move
//! only changes which of the two is the log. `leaving` moves into a database, `coming` moves back, `healing` compares
//! and heals.
//!
//! **Bounds.** As many handles to logs as there are cells; a move opens one store at a time.
//!
//! **Order.** Two marks state for each cell which side is the log: `log.place` in its folder (the store is a copy, and
//! is not opened alone) and the reservation of the cell in the database ([`Keeper`]: no node owns it). Each mark is on
//! disk before the other is removed, so at every moment at most one of the two sides can be started. With several
//! cells, the first cell's move begins before and ends after the moves of the others: as long as the cells differ, the
//! first cell is reserved in the database for this folder, and the first cell's folder is not a copy while another
//! cell's is, or the reverse. So no node starts on the database, because a node opens the first cell first; and the
//! folder is refused ([`super::places`]), because not all of its cells are logs.
//!
//! **Failure.** An interrupted move continues when it is run again, and a move that was begun to one side can be
//! reversed. Only the folder with the mark can do so: an earlier copy of that folder would be a second history.

mod coming;
mod healing;
mod leaving;
mod marks;
mod words;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use caudal_actors::platform::PlatformActor;
use caudal_actors::records::projection::Rows;
use caudal_ledger::tenants::cells::CELLS_MAX;
use caudal_postgres::{PostgresLog, Settings, Trouble};
use caudal_storage::log::{Epoch, Log, LogError, LogId, Sealed, Tail};
use caudal_storage::moving::{Compared, Difference, Keeper, Row, compare, fill};
use caudal_storage::{DurableStore, OnProgress, OpenError, Part, Records, Store, StoreOptions};

use super::folder::{self, STORE};
use super::{StartError, cell, cells};
use words::journal;

/// The longest lease of an owner that is waited out: no longer lease can be set.
const LEASE_MAX: Duration = Duration::from_secs(60);
/// How long an owner is waited for after the end of its lease.
const MARGIN: Duration = Duration::from_secs(2);
/// The pause before a cell that has an owner is tried again.
const HELD_PAUSE: Duration = Duration::from_millis(50);

/// The stages of a move that take long.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    /// Records are copied.
    Copying,
    /// The records of both sides are compared.
    Comparing,
}

/// The result of a move of a cell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Moved {
    /// The log is now at its destination.
    Done {
        /// The end of the log.
        tail: Tail,
        /// How many records there are.
        records: u64,
    },
    /// The log was already there; nothing was done.
    Already,
}

/// Called with the bytes of records that a stage has done, and their total.
pub type OnStage = Arc<dyn Fn(Stage, u64, u64) + Send + Sync>;
/// Opens a handle to the existing log of a cell, or begins a log with the given id.
type Open = Arc<dyn Fn(u32, Option<LogId>) -> Result<Box<dyn Log>, Trouble>>;

/// The state of a log in the database, as seen from a folder.
enum Claim {
    /// The cell is reserved for this folder, under this mark.
    Mine(String),
    /// Nodes may own the cell, and its log has commits: the cell's folder is a copy, or should be.
    InForce,
    /// The cell is not reserved, and its log has no commits.
    Empty,
}

/// The folder of a cell of a stopped service, and the log beside it.
#[derive(Clone)]
pub struct Site {
    /// The folder of the cell: the data folder, if it is the first one.
    data: PathBuf,
    /// The number of the cell.
    cell: u32,
    /// The id of the cell's store according to the platform, if it was looked up.
    id: Option<String>,
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
            .field("cell", &self.cell)
            .field("place", &self.place)
            .finish_non_exhaustive()
    }
}

impl Site {
    /// The folder `data` and the logs of its cells in a database; the settings name the log of the first cell.
    pub fn new(data: impl Into<PathBuf>, log: Settings) -> Self {
        let place = log.place();
        let open = move |cell: u32, begin: Option<LogId>| -> Result<Box<dyn Log>, Trouble> {
            let mut log = log.clone();
            log.cell = log.cell.strict_add(cell);
            let opened = match begin {
                Some(id) => PostgresLog::begin(log, id),
                None => PostgresLog::find(log),
            };
            Ok(Box::new(opened?))
        };
        Self::with(data.into(), place, Arc::new(open))
    }

    fn with(data: PathBuf, place: String, open: Open) -> Self {
        Self {
            data,
            cell: 0,
            id: None,
            place,
            open,
            margin: MARGIN,
            options: StoreOptions::default(),
            told: None,
        }
    }

    /// The site of another cell of the folder. Call it on the site of the first cell.
    fn beside(&self, cell: u32) -> Self {
        Self {
            data: cells::place(&self.data, cell),
            cell,
            ..self.clone()
        }
    }

    /// The sites of the other cells that the platform knows. `first` is the store of the first cell.
    ///
    /// # Errors
    /// When the store cannot be read, or a cell's folder holds a store other than the one that the platform knows.
    fn others(&self, first: &dyn Store) -> Result<Vec<Self>, StartError> {
        let (platform, _) = PlatformActor::load(first).map_err(journal)?;
        let known = platform.cells().map(|(cell, id)| {
            let site = Self {
                id: Some(id.to_owned()),
                ..self.beside(cell)
            };
            let there = folder::store_in(&site.data)?;
            match there.filter(|there| there != id) {
                None => Ok(site),
                Some(there) => Err(site.other_store(&there, id)),
            }
        });
        known.collect()
    }

    /// Like [`Self::others`], but refuses a folder with a cell that the platform does not know: its log would be left
    /// behind.
    fn all_others(&self, first: &dyn Store) -> Result<Vec<Self>, StartError> {
        let others = self.others(first)?;
        for cell in 1..CELLS_MAX {
            let site = self.beside(cell);
            let known = others.iter().any(|other| other.cell == cell);
            if !known && (folder::knows_a_store(&site.data)? || site.is_copy()?) {
                return Err(site.unknown());
            }
        }
        Ok(others)
    }

    /// Whether the folder's store is a copy of a log elsewhere.
    fn is_copy(&self) -> Result<bool, StartError> {
        Ok(cell::place_of(&self.data)?.is_some())
    }

    /// Opens this cell's log. A missing log is begun with the id `begin`; without an id, it is refused.
    fn log(&self, begin: Option<LogId>) -> Result<Box<dyn Log>, StartError> {
        let opened = (self.open)(self.cell, begin);
        let log = opened.map_err(|why| cell::refused(&self.data, &self.at(), why))?;
        self.fits(log.as_ref())?;
        Ok(log)
    }

    /// Opens this cell's log; `None` if the cell has no log.
    fn log_there(&self) -> Result<Option<Box<dyn Log>>, StartError> {
        match (self.open)(self.cell, None) {
            Err(Trouble::Absent) => Ok(None),
            Err(why) => Err(cell::refused(&self.data, &self.at(), why)),
            Ok(log) => {
                self.fits(log.as_ref())?;
                Ok(Some(log))
            }
        }
    }

    /// Refuses a log that is not this cell's.
    fn fits(&self, log: &dyn Log) -> Result<(), StartError> {
        let id = cell::same_store(&self.data, &self.at(), log.id())?;
        match self.id.as_ref().filter(|known| **known != id) {
            None => Ok(()),
            Some(known) => Err(self.other_log(&id, known)),
        }
    }

    /// The state of the log as seen from this folder, and the log's end.
    ///
    /// # Errors
    /// When the cell is reserved for anything but this folder.
    fn claim(&self, log: &dyn Log) -> Result<(Claim, Tail), StartError> {
        let standing = log.standing().map_err(OpenError::Log)?;
        let claim = match Keeper::of(&standing) {
            Some(Keeper::Folder(mark)) if self.is_mine(&mark)? => Claim::Mine(mark),
            Some(keeper) => return Err(cell::reserved(&self.at(), &keeper)),
            None if standing.tail.commit.0 > 0 => Claim::InForce,
            None => Claim::Empty,
        };
        Ok((claim, standing.tail))
    }

    /// The same site, with callbacks for progress.
    #[must_use]
    pub fn watched(mut self, opening: OnProgress, told: OnStage) -> Self {
        self.options.progress = Some(opening);
        self.told = Some(told);
        self
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

    /// Compares the folder's records with the log, and reports progress.
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

    /// Refuses a journal that neither equals the log nor is a prefix of it.
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
        work: &mut dyn FnMut(&dyn Store, &Records) -> Result<T, StartError>,
    ) -> Result<T, StartError> {
        let log = self.log(None)?;
        let options = cell::of_copy(&self.data, self.options.clone())?;
        let path = self.data.join(STORE);
        let store = DurableStore::join(path, options, Arc::new(Rows), log, &Part::Follower)?;
        let done = work(store.as_ref(), &store.records());
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
            false => Err(self.storeless()),
        }
    }

    /// Reserves the cell. Waits for the lease of an owner to end, because the owner may be gone.
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
                return Err(cell::reserved(&self.at(), &keeper));
            }
            let left = standing
                .left
                .map_or(Duration::ZERO, |left| left.min(LEASE_MAX));
            if began.elapsed() >= *most.get_or_insert(left + self.margin) {
                return Err(self.owned(owner.as_deref()));
            }
            thread::sleep(HELD_PAUSE);
        }
    }

    /// Waits until nobody owns the cell: the lease of an owner that is gone ends.
    fn is_unowned(&self, log: &dyn Log) -> Result<(), StartError> {
        let began = Instant::now();
        let mut most = None;
        loop {
            let standing = log.standing().map_err(OpenError::Log)?;
            let Some(owner) = standing.owner_after(Duration::ZERO) else {
                return Ok(());
            };
            let left = standing.left.map_or(Duration::ZERO, |it| it.min(LEASE_MAX));
            if Keeper::of(&standing).is_some() {
                return Ok(());
            }
            if began.elapsed() >= *most.get_or_insert(left + self.margin) {
                return Err(self.owned(Some(owner)));
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
