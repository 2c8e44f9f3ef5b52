//! Ships all cells of a store to one depot, so that the depot is consistent at every moment.
//!
//! **Shape.** Each cell has a [`Shipper`]; the first cell's objects are at the top of the store's folder, the others'
//! below it. A round ships what was durable when it began.
//!
//! **Order.** Nothing is written to another cell before a fact of the first cell announces it. So a round reads the
//! ends of the other cells before the end of the first one, and ships the first cell before them: in the depot no cell
//! is ahead of the first one.
//!
//! **Several nodes.** Where cells have owners of their own, the owner of the first cell ships all of them, the others
//! from its copies. A follower may see a record of the first cell, and act on it, before the owner has it on its own
//! disk. So the end of the first cell is read only once this node has everything that the cell's log had when the ends
//! of the others were read ([`Level`]).
//!
//! **Failure.** A cell that cannot be shipped, or whose copy does not catch up, does not delay the others. Failures are
//! reported at the end of the round.

use std::sync::Arc;

use caudal_storage::log::Tail;
use caudal_storage::{End, Records, Spot};
use futures_util::future::join_all;

use super::BackupError;
use super::depot::Depot;
use super::end::{Choice, Destination};
use super::level::{FIRST, Level};
use super::names::{PEPPER_CHECK, Whose};
use super::ship::{Cut, Shipped, Shipper};

/// What is known when shipping begins, besides the records.
#[derive(Debug)]
pub struct Known<'a> {
    /// The digest by which a wrong pepper is recognised, which is stored next to the records.
    pub pepper_check: Option<&'a [u8]>,
    /// The backups that this service chose.
    pub choice: &'a dyn Choice,
    /// The end of what this service has shipped of each cell, as far as it knows.
    pub shipped: Vec<Option<Tail>>,
}

/// The cells of a store, with the state of shipping them to a depot.
#[derive(Debug)]
pub struct Fleet {
    destination: Destination,
    first: Shipper,
    /// Whether the depot has all of the first cell that the last round was to ship.
    whole: bool,
    others: Vec<Other>,
    level: Arc<dyn Level>,
    round: Option<Round>,
}

/// A cell other than the first.
#[derive(Debug)]
struct Other {
    cell: u32,
    /// Its shipper, or why it is not shipped.
    shipper: Result<Shipper, BackupError>,
    /// Why this node lacks part of the cell's log, or part of what the first cell says of it, if it does.
    late: Option<BackupError>,
    /// The end of its journal when the round began.
    to: Option<End>,
    /// Whether the depot has all of it that the last round was to ship.
    whole: bool,
}

/// The work left in a round.
#[derive(Debug)]
struct Round {
    /// The end of the first cell's journal when the round began.
    first: End,
    /// Whether the round ships no more of it.
    first_done: bool,
    /// The index of the next other cell.
    next: usize,
}

/// The state of a cell.
#[derive(Clone, Copy, Debug)]
pub struct Stand {
    /// The end of what the depot has; `None` where that is not known.
    pub reached: Option<Spot>,
    /// Whether the depot has everything that the cell had when the last round began.
    pub whole: bool,
}

impl Other {
    /// Ships its next object; returns whether there is more.
    async fn step(&mut self, to: End) -> bool {
        let Ok(shipper) = &mut self.shipper else {
            return false;
        };
        match shipper.step_to(to, &mut |_| true).await {
            Ok(more) => more,
            Err(why) => {
                self.shipper = Err(why);
                false
            }
        }
    }

    /// Checks that the depot has its newest object; otherwise it is not shipped.
    async fn check(&mut self) {
        if let Ok(shipper) = &self.shipper
            && let Err(why) = shipper.check().await
        {
            self.shipper = Err(why);
        }
    }

    /// The number of the cell, and the end of what the depot has of it.
    fn reached(&self) -> Option<(u32, Tail)> {
        let shipper = self.shipper.as_ref().ok()?;
        Some((self.cell, shipper.reached().tail()))
    }

    /// Why it is not shipped, or not completely, if so.
    fn failure(&self) -> Option<&BackupError> {
        self.shipper.as_ref().err().or(self.late.as_ref())
    }
}

impl Fleet {
    /// Finds the backup in the depot and how much of each cell it has, the first cell first.
    ///
    /// # Errors
    /// When the depot does not have the backup that was chosen, or the first cell cannot be shipped, as
    /// [`Shipper::begin`] says.
    pub async fn begin(
        depot: &Arc<dyn Depot>,
        (cells, level): (&[Records], Arc<dyn Level>),
        cut: Cut,
        known: Known<'_>,
    ) -> Result<Self, BackupError> {
        let Some((records, rest)) = cells.split_first() else {
            return Err(BackupError::Refused("there is no cell to ship".to_owned()));
        };
        let history = records.history();
        let destination = Destination::find(depot, history, known.choice).await?;
        let mut shipped = known.shipped.into_iter();
        let mut least = |cell| destination.least(cell, shipped.next().flatten());
        let whose = Whose::first(history);
        let here = (records.clone(), level.as_ref());
        let first = Shipper::begin(whose, Arc::clone(depot), here, cut, least(FIRST)).await?;
        if let Some(mark) = known.pepper_check {
            let name = format!("{}/{PEPPER_CHECK}", whose.folder());
            depot.put(&name, mark.to_vec()).await?;
        }
        let mut others = Vec::new();
        for (cell, records) in (1..).zip(rest) {
            let whose = Whose { history, cell };
            let here = (records.clone(), level.as_ref());
            let shipper = Shipper::begin(whose, Arc::clone(depot), here, cut, least(cell)).await;
            others.push(Other {
                cell,
                shipper,
                late: None,
                to: None,
                whole: false,
            });
        }
        Ok(Self {
            destination,
            first,
            whole: false,
            others,
            level,
            round: None,
        })
    }

    /// Checks that the backup is where it was and has the newest objects, and ships the next object; false when
    /// everything that was durable when the round began is shipped, or has failed.
    ///
    /// # Errors
    /// When the backup is gone or the first cell cannot be shipped. [`Self::failure`] returns the failure of another
    /// cell.
    pub async fn step(&mut self) -> Result<bool, BackupError> {
        self.destination.check().await?;
        self.first.check().await?;
        for other in &mut self.others {
            other.check().await;
        }
        let mut round = match self.round.take() {
            Some(round) => round,
            None => self.begins().await?,
        };
        let more = self.advance(&mut round).await?;
        let others = self.others.iter().filter_map(Other::reached);
        let first = (FIRST, self.first.reached().tail());
        let reached: Vec<_> = std::iter::once(first).chain(others).collect();
        self.destination.reached(reached.into_iter()).await?;
        if more {
            self.round = Some(round);
        }
        Ok(more)
    }

    /// Drops the rest of the current round, so that the next step begins a new one.
    pub fn begins_anew(&mut self) {
        self.round = None;
    }

    async fn begins(&mut self) -> Result<Round, BackupError> {
        self.whole = false;
        let level = self.level.as_ref();
        let levels = self.others.iter().map(|other| level.level(other.cell));
        let levels = join_all(levels).await;
        // Read the ends of the other cells before the end of the first.
        for (other, levelled) in self.others.iter_mut().zip(levels) {
            other.whole = false;
            other.late = levelled.err();
            other.to = other.shipper.as_ref().ok().map(Shipper::end);
        }
        if !self.others.is_empty() {
            // Everything that they have follows from records that the first cell's log has by now.
            self.level.level(FIRST).await?;
        }
        Ok(Round {
            first: self.first.end(),
            first_done: false,
            next: 0,
        })
    }

    async fn advance(&mut self, round: &mut Round) -> Result<bool, BackupError> {
        if !round.first_done {
            self.leads(round).await?;
            return Ok(true);
        }
        let next = self.others.get_mut(round.next);
        let Some(other) = next.filter(|_| self.whole) else {
            return Ok(false);
        };
        let more = match other.to {
            Some(to) => other.step(to).await,
            None => false,
        };
        if !more {
            other.whole = other.failure().is_none();
            round.next = round.next.strict_add(1);
        }
        Ok(true)
    }

    /// Ships the next object of the first cell.
    async fn leads(&mut self, round: &mut Round) -> Result<(), BackupError> {
        let more = self.first.step_to(round.first, &mut |_| true).await?;
        (self.whole, round.first_done) = (!more, !more);
        Ok(())
    }

    /// The state of each cell.
    pub fn stands(&self) -> Vec<Stand> {
        let first = Stand {
            reached: Some(self.first.reached()),
            whole: self.whole,
        };
        let others = self.others.iter().map(|other| Stand {
            reached: other.shipper.as_ref().ok().map(Shipper::reached),
            whole: other.whole,
        });
        std::iter::once(first).chain(others).collect()
    }

    /// The shippers of all cells that have one.
    fn shippers(&self) -> impl Iterator<Item = &Shipper> {
        let others = self.others.iter();
        std::iter::once(&self.first).chain(others.filter_map(|it| it.shipper.as_ref().ok()))
    }

    /// What was written since this fleet began.
    pub fn shipped(&self) -> Shipped {
        let all = self.shippers().map(Shipper::shipped);
        all.fold(Shipped::default(), |sum, one| Shipped {
            objects: sum.objects.strict_add(one.objects),
            bytes: sum.bytes.strict_add(one.bytes),
        })
    }

    /// The approximate number of bytes of all journals that are not shipped.
    pub fn behind(&self) -> u64 {
        self.shippers().map(Shipper::behind).sum()
    }

    /// Whether the depot has all of the first cell that the last round was to ship: then no failing cell holds up the
    /// others.
    pub fn leads_on(&self) -> bool {
        self.whole
    }

    /// Why a cell other than the first is not shipped, or not completely, if there is one.
    pub fn failure(&self) -> Option<BackupError> {
        let why = |other: &Other| {
            let why = other.failure()?;
            let cell = other.cell;
            Some(BackupError::Refused(format!("cell {cell}: {why}")))
        };
        self.others.iter().find_map(why)
    }
}
