//! `caudal log compare` and `heal`: what the folder's journals have and their logs lack, one cell or all of them.
//!
//! **Shape.** Both look at each cell on its own, because each has a log of its own. A heal of several cells is one.
//!
//! **Order.** A heal compares all of its cells, then reserves those whose logs lack something, then fills them, and then
//! releases them. So from the first record that it appends to the last, no node starts: one that opens a cell that is
//! reserved is refused, and it opens all of them.
//!
//! **Failure.** If one of its cells cannot be healed, nothing is appended to any. One that was cut off goes on when it is
//! run again. A cell that is healed alone says nothing of the others.

use std::sync::Arc;

use caudal_actors::records::projection::Rows;
use caudal_storage::log::{Epoch, Log, Sealed, Tail};
use caudal_storage::moving::{Compared, Difference, Keeper, Row};
use caudal_storage::{OpenError, Records, Store, StoreOptions};

use super::super::{StartError, cell, cells, folder};
use super::{Site, journal};

/// Sees each record that the journal of a cell has behind the log of that.
pub type Longer<'a> = &'a mut dyn FnMut(u32, Row, &Sealed<'_>);

/// A store of the folder that is open.
type Held = (Site, Arc<dyn Store>, Records);

/// A cell whose log lacks something, or has been healed in part.
struct Lacking<'a> {
    site: &'a Site,
    records: &'a Records,
    log: Box<dyn Log>,
    /// Up to where records are appended at least.
    until: Tail,
    /// Whether somebody began before.
    begun: bool,
}

impl Site {
    /// Compares the journals of the folder's cells with their logs, of `only` one or of all. Changes neither. What was
    /// found of each, by its number.
    ///
    /// # Errors
    /// When a store is another one than its log has, or one of the two cannot be read.
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

    /// Appends to the logs again what the folder's journals have behind their ends, and nothing else: of `only` one cell
    /// or of all. `longer` sees each of those records before any is appended. What the comparison found before, by the
    /// numbers of the cells.
    ///
    /// # Errors
    /// When a log is no beginning of its journal, or somebody owns the cell; when one of the two cannot be used.
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

    /// One cell, or all of them.
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

    /// Compares the journal with the log, and says what it lacks.
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
            // Whoever began had more: what is not there yet must not be lost for that.
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

/// Opens the stores of these cells as they are, together with no more memory than one.
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

/// What [`Site::heal`] does with the stores of its cells.
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
                // nothing was appended yet, so the cells before this one are free again
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

    /// Reserves the cell, where its log is a beginning of the journal still.
    fn reserve(&mut self) -> Result<Epoch, StartError> {
        let name = self.name();
        let epoch = self.site.take(self.log.as_mut(), &name)?;
        // Somebody who heals under the same name has been deposed by this: where the log is a beginning of the journal
        // still, it is gone on with, and never left with a part.
        let tail = self.log.tail().map_err(OpenError::Log)?;
        if self.records.find(&tail).map_err(journal)?.is_none() {
            if !self.begun {
                self.log.release(epoch).map_err(OpenError::Log)?;
            }
            return Err(self.site.meanwhile());
        }
        Ok(epoch)
    }

    /// Gives the cell back to which nothing was appended, unless an earlier run had begun to.
    fn give_up(&mut self, epoch: Epoch) {
        if self.begun {
            return;
        }
        if let Err(why) = self.log.release(epoch) {
            let cell = self.site.cell;
            tracing::warn!(%why, cell, "the cell stays reserved until the log is healed");
        }
    }

    /// Gives the cell back, whose log has all of the journal.
    fn release(&mut self) -> Result<(), StartError> {
        let (site, name) = (self.site, self.name());
        let epoch = self.log.reserve(&name).map_err(OpenError::Log)?;
        site.ends(self.records, self.log.tail().map_err(OpenError::Log)?)?;
        cell::note(&site.data, &site.place)?;
        Ok(self.log.release(epoch).map_err(OpenError::Log)?)
    }
}
