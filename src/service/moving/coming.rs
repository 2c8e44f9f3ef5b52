//! `caudal log move --to disk`: moves the logs of all cells from a database into the folder.
//!
//! **Shape.** For each cell, [`Site::catch_up`] fills the folder from the log, [`Site::take_over`] reserves the cell,
//! and [`Site::come`] makes the folder the log.
//!
//! **Order.**
//! 1. For each cell: the folder is filled and compared while nodes may own the cell.
//! 2. Once no cell has an owner, for each cell, the first one first: the folder gets a mark (`log.moved`), the cell is
//!    reserved for that mark, and the records appended meanwhile are copied. From the first reservation on, neither
//!    side can be started.
//! 3. For each cell, the first one last: `log.place` is removed. The mark and the reservation stay.
//!
//! **Failure.** After an interruption in step 1, the database has the log of every cell as before. After one in step 2
//! or 3, the first cell is reserved and its folder is a copy. In either case the same command continues the move, and
//! `--to postgres://…` reverses it.

use caudal_storage::log::{Log, Tail};
use caudal_storage::moving::{Compared, Keeper};
use caudal_storage::{CommitNo, OpenError, Records, Store};

use super::super::{StartError, cell, folder};
use super::{Claim, Moved, Site};

/// A cell whose folder was filled from its log.
struct CaughtUp {
    log: Box<dyn Log>,
    /// The mark for which the cell is already reserved, if it is.
    mark: Option<String>,
    compared: Compared,
}

impl Site {
    /// Makes the folder's stores the logs of its cells: records that the stores lack are copied from the database,
    /// whose logs are no longer in force. Returns the result for each cell, with the cell's number.
    ///
    /// # Errors
    /// When a store is not a copy of its log, or a cell has an owner; when the folder or the database cannot be used.
    /// The database then has the logs as before, or the move continues when it is run again.
    pub fn to_folder(&self) -> Result<Vec<(u32, Moved)>, StartError> {
        let _held = folder::hold(&self.data)?;
        let (first, others) = match self.is_copy()? {
            true => {
                let (ready, others) = self.catch_up(&mut |store| self.all_others(store))?;
                (Some(ready), others)
            }
            false => (None, self.with_store(|store, _| self.all_others(store))?),
        };
        let already = || std::iter::once(self).chain(&others);
        let mut copies = others.iter().map(Self::is_copy);
        let copied = copies.try_fold(first.is_some(), |any, it| it.map(|it| any || it))?;
        if !copied {
            return Ok(already().map(|it| (it.cell, Moved::Already)).collect());
        }
        if first.is_none() {
            self.is_the_log()?;
        }
        let mut ready = vec![(self, first)];
        for site in &others {
            ready.push((site, site.fetched()?));
        }
        for (site, ready) in &ready {
            if let Some(ready) = ready {
                site.is_unowned(ready.log.as_ref())?;
            }
        }
        let mut taken = Vec::new();
        for (site, ready) in ready {
            let done = match ready {
                Some(ready) => Some(site.take_over(ready, &others)?),
                None => None,
            };
            taken.push((site, done));
        }
        let mut moved = Vec::new();
        // The first cell comes last, so that neither side can be started before all cells have come.
        for (site, taken) in taken.into_iter().rev() {
            let done = match taken {
                Some((tail, records)) => site.come(tail, records)?,
                None => Moved::Already,
            };
            moved.push((site.cell, done));
        }
        moved.reverse();
        Ok(moved)
    }

    /// Fills the folder of a cell other than the first; `None` if that folder is already the log.
    fn fetched(&self) -> Result<Option<CaughtUp>, StartError> {
        let lost = !folder::knows_a_store(&self.data)?;
        if self.is_copy()? {
            return Ok(Some(self.catch_up(&mut |_| Ok(()))?.0));
        }
        if !lost {
            self.is_the_log()?;
            return Ok(None);
        }
        // The store was lost. Only if nodes may own the log was that store a copy, and nothing is lost with it.
        let log = self.log_there()?.ok_or_else(|| self.storeless())?;
        match self.claim(log.as_ref())? {
            (Claim::InForce, _) => {
                folder::prepare(&self.data)?;
                cell::note(&self.data, &self.place)?;
                Ok(Some(self.catch_up(&mut |_| Ok(()))?.0))
            }
            (Claim::Mine(_) | Claim::Empty, _) => Err(self.storeless()),
        }
    }

    /// Refuses a folder that is not a copy although its log in the database is in force: the folder may be older than
    /// that log.
    fn is_the_log(&self) -> Result<(), StartError> {
        let Some(log) = self.log_there()? else {
            return Ok(());
        };
        match self.claim(log.as_ref())? {
            (Claim::InForce, tail) => Err(self.in_force(tail)),
            (Claim::Mine(_) | Claim::Empty, _) => Ok(()),
        }
    }

    /// Fills the folder from the log, compares the two, and calls `look` with the folder's store.
    fn catch_up<T>(
        &self,
        look: &mut dyn FnMut(&dyn Store) -> Result<T, StartError>,
    ) -> Result<(CaughtUp, T), StartError> {
        let log = self.log(None)?;
        let mark = match self.claim(log.as_ref())? {
            (Claim::Mine(mark), _) => Some(mark),
            (Claim::InForce | Claim::Empty, _) => None,
        };
        // The steps that take long come before the cell is reserved.
        let (compared, seen) = self
            .follow(&mut |store, records| Ok((self.alike(records, log.as_ref())?, look(store)?)))?;
        // A run that is interrupted after this continues under this name of the database, and under no other.
        cell::note(&self.data, &self.place)?;
        let caught = CaughtUp {
            log,
            mark,
            compared,
        };
        Ok((caught, seen))
    }

    /// Reserves the cell, and copies the records appended meanwhile. Returns the end of the log, and how many records
    /// it has. `others` are the other cells as they were found before.
    fn take_over(&self, caught: CaughtUp, others: &[Self]) -> Result<(Tail, u64), StartError> {
        let CaughtUp {
            mut log,
            mark,
            compared,
        } = caught;
        let mark = match mark {
            Some(mark) => mark,
            None => self.draw()?,
        };
        self.take(log.as_mut(), &Keeper::Folder(mark.clone()).name())?;
        self.settle(&mark)?;
        let tail = log.tail().map_err(OpenError::Log)?;
        let mut rest = 0;
        self.follow(&mut |store: &dyn Store, records: &Records| {
            self.ends(records, tail)?;
            // A cell that was added meanwhile would be left in the database.
            match self.cell > 0 || self.all_others(store)?.len() == others.len() {
                true => Ok(()),
                false => Err(self.meanwhile()),
            }
        })?;
        let more = log.read(CommitNo(compared.tail.commit.0 + 1), &mut |_| {
            rest += 1;
            true
        });
        more.map_err(OpenError::Log)?;
        Ok((tail, compared.records + rest))
    }

    /// Makes the folder the log.
    fn come(&self, tail: Tail, records: u64) -> Result<Moved, StartError> {
        cell::forget(&self.data)?;
        Ok(Moved::Done { tail, records })
    }
}
