//! `caudal log compare` finds, and `heal` appends again, the records that the folder's journals have and their logs
//! lack: in one cell, or in all.
//!
//! **Shape.** Both compare each cell by itself, because each has its own log. A heal of several cells is one operation.
//!
//! **Order.** A heal compares all of its cells, then reserves the cells whose logs lack records, then fills those logs,
//! and then releases the cells. So no node starts between the first record that the heal appends and the last: a node
//! opens all cells, and is refused by a reserved one.
//!
//! **Failure.** If one of the cells cannot be healed, nothing is appended to any log. An interrupted heal continues
//! when it is run again. Healing one cell alone says nothing about the others.

use std::sync::Arc;

use caudal_actors::records::projection::Rows;
use caudal_storage::log::{Epoch, Log, Sealed, Tail};
use caudal_storage::moving::{Compared, Difference, Keeper, Row};
use caudal_storage::{OpenError, Records, Store, StoreOptions};

use super::super::{StartError, cell, cells, folder};
use super::{Site, journal};

/// Called with the number of a cell and each record that its journal has after the end of its log.
pub type Longer<'a> = &'a mut dyn FnMut(u32, Row, &Sealed<'_>);

/// An open store of the folder, with its site and its records.
type Held = (Site, Arc<dyn Store>, Records);

/// A cell whose log lacks records, or has been healed in part.
struct Lacking<'a> {
    site: &'a Site,
    records: &'a Records,
    log: Box<dyn Log>,
    /// Records are appended up to this end at least.
    until: Tail,
    /// Whether an earlier run has begun to heal this log.
    begun: bool,
}

impl Site {
    /// Compares the journals of the folder's cells with their logs: of the cell `only`, or of all cells. Changes
    /// neither. Returns the result for each cell, with the cell's number.
    ///
    /// # Errors
    /// When a store and its log do not belong together, or one of the two cannot be read.
    pub fn compare(
        &self,
        only: Option<u32>,
        longer: Longer<'_>,
    ) -> Result<Vec<(u32, Compared)>, StartError> {
        let _held = folder::hold(&self.data)?;
        let mut all = Vec::new();
        for site in self.chosen(only)? {
            let found = site.with_records(|records| {
                let log = site.log(None)?;
                let mut told = |row: Row, record: &Sealed<'_>| longer(site.cell, row, record);
                site.compared(records, log.as_ref(), &mut told)
            })?;
            all.push((site.cell, found));
        }
        Ok(all)
    }

    /// Appends to the logs again the records that the folder's journals have after the ends of the logs, and nothing
    /// else: of the cell `only`, or of all cells. `longer` gets each of those records before any is appended. Returns
    /// the result of the comparison before that for each cell, with the cell's number.
    ///
    /// # Errors
    /// When a log and its journal are two histories, or a cell has an owner; when one of the two cannot be used.
    pub fn heal(
        &self,
        only: Option<u32>,
        longer: Longer<'_>,
    ) -> Result<Vec<(u32, Compared)>, StartError> {
        let _held = folder::hold(&self.data)?;
        let sites = self.chosen(only)?;
        let mut open = Vec::new();
        let done = opened(&sites, &mut open).and_then(|()| healed(&open, longer));
        let closed: Vec<_> = open.iter().map(|(_, store, _)| store.close()).collect();
        let done = done?;
        closed
            .into_iter()
            .collect::<Result<(), _>>()
            .map_err(journal)?;
        Ok(done)
    }

    /// The site of the cell `only`, or those of all cells.
    fn chosen(&self, only: Option<u32>) -> Result<Vec<Self>, StartError> {
        match only {
            Some(0) => Ok(vec![self.clone()]),
            Some(cell) => Ok(vec![self.beside(cell)]),
            None => {
                let others = self.with_store(|store, _| self.others(store))?;
                Ok(std::iter::once(self.clone()).chain(others).collect())
            }
        }
    }

    /// Compares the journal with the log. Returns the result, and the cell if its log has to be healed.
    fn looked<'a>(
        &'a self,
        records: &'a Records,
        longer: Longer<'_>,
    ) -> Result<(Compared, Option<Lacking<'a>>), StartError> {
        let log = self.log(None)?;
        let keeper = Keeper::of(&log.standing().map_err(OpenError::Log)?);
        let begun = match keeper {
            None => None,
            Some(Keeper::Healing(until)) => Some(until),
            Some(keeper) => return Err(cell::reserved(&self.at(), &keeper)),
        };
        let mut until = None;
        let compared = self.compared(records, log.as_ref(), &mut |row, record| {
            until = Some(row.tail);
            longer(self.cell, row, record);
        })?;
        let until = match (compared.difference, begun) {
            (Difference::Differs { .. }, _) => return Err(self.apart(compared)),
            // The run that began had more records than this journal, and those must not be lost.
            (_, Some(begun)) if records.find(&begun).map_err(journal)?.is_none() => {
                return Err(cell::reserved(&self.at(), &Keeper::Healing(begun)));
            }
            (_, Some(begun)) => begun,
            (Difference::None | Difference::Behind(_), None) => return Ok((compared, None)),
            (Difference::Longer(_), None) => until.unwrap_or(compared.tail),
        };
        let lacking = Lacking {
            site: self,
            records,
            log,
            until,
            begun: begun.is_some(),
        };
        Ok((compared, Some(lacking)))
    }
}

/// Opens the stores of these cells as they are. Together they take no more memory than one store.
fn opened(sites: &[Site], open: &mut Vec<Held>) -> Result<(), StartError> {
    let many = sites.iter().map(|_| 1_u32).sum();
    for site in sites {
        site.has_a_store()?;
        let options = StoreOptions {
            create: false,
            ..cells::share(&site.options, many)
        };
        let (store, records) = folder::open(&site.data, options, Arc::new(Rows))?;
        open.push((site.clone(), store, records));
    }
    Ok(())
}

/// Compares and heals these open cells, for [`Site::heal`].
fn healed(open: &[Held], longer: Longer<'_>) -> Result<Vec<(u32, Compared)>, StartError> {
    let (mut found, mut lacking) = (Vec::new(), Vec::new());
    for (site, _, records) in open {
        let (compared, lacks) = site.looked(records, longer)?;
        found.push((site.cell, compared));
        lacking.extend(lacks);
    }
    let mut taken = Vec::new();
    for lacks in &mut lacking {
        match lacks.reserve() {
            Ok(epoch) => taken.push((lacks, epoch)),
            Err(why) => {
                // nothing was appended yet, so the cells reserved before this one are given up
                taken
                    .into_iter()
                    .for_each(|(lacks, epoch)| lacks.give_up(epoch));
                return Err(why);
            }
        }
    }
    for (lacks, epoch) in &mut taken {
        lacks.site.fill(lacks.records, lacks.log.as_mut(), *epoch)?;
    }
    for (lacks, _) in &mut taken {
        lacks.release()?;
    }
    Ok(found)
}

impl Lacking<'_> {
    fn name(&self) -> String {
        Keeper::Healing(self.until).name()
    }

    /// Reserves the cell, if its log is still a prefix of the journal.
    fn reserve(&mut self) -> Result<Epoch, StartError> {
        let name = self.name();
        let epoch = self.site.take(self.log.as_mut(), &name)?;
        // This reservation has deposed any other run that heals under the same name. If the log is still a prefix of
        // the journal, this run continues, so that the log is never left with a part of the records.
        let tail = self.log.tail().map_err(OpenError::Log)?;
        if self.records.find(&tail).map_err(journal)?.is_none() {
            if !self.begun {
                self.log.release(epoch).map_err(OpenError::Log)?;
            }
            return Err(self.site.meanwhile());
        }
        Ok(epoch)
    }

    /// Releases the cell, to which nothing was appended, unless an earlier run has begun to heal it.
    fn give_up(&mut self, epoch: Epoch) {
        if self.begun {
            return;
        }
        if let Err(why) = self.log.release(epoch) {
            let cell = self.site.cell;
            tracing::warn!(%why, cell, "the cell stays reserved until the log is healed");
        }
    }

    /// Checks that the log has all records of the journal, notes that the folder is a copy, and releases the cell.
    fn release(&mut self) -> Result<(), StartError> {
        let (site, name) = (self.site, self.name());
        let epoch = self.log.reserve(&name).map_err(OpenError::Log)?;
        site.ends(self.records, self.log.tail().map_err(OpenError::Log)?)?;
        cell::note(&site.data, &site.place)?;
        Ok(self.log.release(epoch).map_err(OpenError::Log)?)
    }
}
