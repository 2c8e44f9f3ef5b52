//! `caudal log move --to disk`: the logs of all cells come from a database into the folder.
//!
//! **Shape.** For each cell [`Site::catch_up`] fills its folder from the log, [`Site::take_over`] takes the cell, and
//! [`Site::come`] makes the folder the log.
//!
//! **Order.**
//! 1. Each cell: its folder is filled and compared while anybody may own it.
//! 2. Each cell, once none of them has an owner, the first one first: its folder gets a mark (`log.moved`); the cell is
//!    reserved for it; what was appended meanwhile is taken. Neither side can be started from the first reservation on.
//! 3. Each cell, the first one last: `log.place` is removed. Mark and reservation stay.
//!
//! **Failure.** Cut off in 1, the database is the log of every cell as before. Cut off in 2 or 3, the first cell is
//! reserved and its folder is a copy. The same command goes on from either, and `--to postgres://…` goes back.

use caudal_storage::log::{Log, Tail};
use caudal_storage::moving::{Compared, Keeper};
use caudal_storage::{CommitNo, OpenError, Records, Store};

use super::super::{StartError, cell, folder};
use super::{Claim, Moved, Site};

/// A cell whose folder was filled from its log.
struct CaughtUp {
    log: Box<dyn Log>,
    /// The mark for which the cell is reserved already.
    mark: Option<String>,
    compared: Compared,
}

impl Site {
    /// Makes the folder's stores the logs of its cells: what they lack is taken from the database, whose logs are none
    /// any more. What became of each cell, by its number.
    ///
    /// # Errors
    /// When a store is no copy of its log, or somebody owns a cell; when the folder or the database cannot be used. The
    /// database has the logs then as before, or the move goes on when it is asked for again.
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
        // The first one encloses the others.
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

    /// Fills the folder of a cell beside the first one; `None` where it is the log already.
    fn fetched(&self) -> Result<Option<CaughtUp>, StartError> {
        let lost = !folder::knows_a_store(&self.data)?;
        if self.is_copy()? {
            return Ok(Some(self.catch_up(&mut |_| Ok(()))?.0));
        }
        if !lost {
            self.is_the_log()?;
            return Ok(None);
        }
        // A copy that was lost: only of a log that nodes may own nothing is lost with it.
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

    /// Refuses a folder that is no copy though its log in the database is in force: it may be older than that.
    fn is_the_log(&self) -> Result<(), StartError> {
        let Some(log) = self.log_there()? else {
            return Ok(());
        };
        match self.claim(log.as_ref())? {
            (Claim::InForce, tail) => Err(self.in_force(tail)),
            (Claim::Mine(_) | Claim::Empty, _) => Ok(()),
        }
    }

    /// Fills the folder from the log, compares the two, and looks into the folder's store.
    fn catch_up<T>(
        &self,
        look: &mut dyn FnMut(&dyn Store) -> Result<T, StartError>,
    ) -> Result<(CaughtUp, T), StartError> {
        let log = self.log(None)?;
        let mark = match self.claim(log.as_ref())? {
            (Claim::Mine(mark), _) => Some(mark),
            (Claim::InForce | Claim::Empty, _) => None,
        };
        // What takes long comes before the cell is taken.
        let (compared, seen) = self
            .follow(&mut |store, records| Ok((self.alike(records, log.as_ref())?, look(store)?)))?;
        // A run that is cut off from here on goes on under this name of the database, and no other.
        cell::note(&self.data, &self.place)?;
        let caught = CaughtUp {
            log,
            mark,
            compared,
        };
        Ok((caught, seen))
    }

    /// Takes the cell, and whatever was appended meanwhile; the end of the log, and how many records it has. `others` are
    /// the cells that the first one is thought to have beside it.
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
            // One that was added meanwhile would be left in the database.
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
