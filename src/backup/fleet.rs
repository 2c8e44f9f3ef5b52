//! Ships all cells of a store to one depot, so that the depot is consistent at every moment.
//!
//! **Shape.** Each cell has a [`Shipper`], the first one's objects at the top of the store's folder and the others' below it.
//! A round ships what was durable when it began.
//!
//! **Order.** Nothing is written into another cell before the first cell says that it is there. So the ends of the
//! other cells are read before the end of the first one, and the first cell is shipped before them: in the depot no
//! cell is ahead of the first one. The opposite holds, too: the first cell must not mention anything that the depot
//! lacks. Where a record of the first cell says that a copy of a realm is complete in another cell ([`Tie`]), which is
//! rare, that cell is shipped up to that point before the record, and no further, because later records may depend on
//! later ones of the first cell. The two wait for each other nowhere else. So a machine may be lost at any moment: the
//! cells in the depot are consistent with each other, and are restored without cutting anything off.
//!
//! **Several nodes.** Where cells have owners of their own, the owner of the first one ships all of them, the others from the
//! copies that it follows. What holds by itself in one process is waited for there ([`Level`]). A follower may see a
//! record of the first cell, and act on it, before its owner has it on its own disk: so the end of the first cell is read
//! once everything is here that its log had when the ends of the others were read. And a copy may lack what the first cell
//! says of that cell: so it catches up with its log first, and the record waits for the commit with which the cell has it,
//! never for an instant, because each owner has a clock of its own. A depot may have more of a cell than the copy has,
//! shipped by another node: a shipper looks what is there, and then catches up. Two nodes that ship at once, around a
//! hand-over, ship parts of the same logs, each in this order, so what lies there still fits.
//!
//! **Failure.** A cell that cannot be shipped, or whose copy does not catch up, does not delay the others until a record of
//! the first cell depends on it: then nothing is shipped before that cell is. Failures are reported at the end of the round.

use std::sync::Arc;

use caudal_storage::log::Sealed;
use caudal_storage::{End, Records, Spot};
use futures_util::future::join_all;

use super::BackupError;
use super::depot::Depot;
use super::fits::{Said, Tie};
use super::level::{FIRST, Level};
use super::names::Whose;
use super::ship::{Cut, Shipped, Shipper};

/// The cells of a store on their way to a depot.
#[derive(Debug)]
pub struct Fleet {
    first: Shipper,
    /// Whether it has all that the last round was about.
    whole: bool,
    others: Vec<Other>,
    level: Arc<dyn Level>,
    said: Said,
    round: Option<Round>,
}

/// A cell beside the first one.
#[derive(Debug)]
struct Other {
    cell: u32,
    /// Why it is not shipped, where it is not.
    shipper: Result<Shipper, BackupError>,
    /// Why not all of it is here that is in its log, or that the first one says is there, where that is so.
    late: Option<BackupError>,
    /// How far its journal was when the round began.
    to: Option<End>,
    /// Whether it has all that the last round was about.
    whole: bool,
}

/// What is still to be done in a round.
#[derive(Debug)]
struct Round {
    /// How far the first one was.
    first: End,
    /// Whether no more of it is shipped.
    first_done: bool,
    /// Which of the others is next.
    next: usize,
    /// What another cell has to have before the first goes on.
    owed: Vec<Owed>,
    /// The first commit of the record that waits for it.
    waits: u64,
}

/// Up to where another cell has to be shipped.
#[derive(Clone, Copy, Debug)]
struct Owed {
    nth: usize,
    to: End,
    /// The commit up to which: what was done later may follow from what the first cell says later.
    commit: u64,
}

/// How far a cell is.
#[derive(Clone, Copy, Debug)]
pub struct Stand {
    /// The end of what the depot has; `None` where that is not known.
    pub reached: Option<Spot>,
    /// Whether the depot has all that the cell had when the last round began.
    pub whole: bool,
}

impl Round {
    /// What the first one says next of a cell that is not shipped cannot be there: nothing goes on.
    fn ends_early(&mut self) {
        self.owed.clear();
        self.first_done = true;
    }
}

impl Other {
    /// Ships the next object of it, up to a commit where one is given; whether there is more.
    async fn step(&mut self, to: End, until: Option<u64>) -> bool {
        let Ok(shipper) = &mut self.shipper else {
            return false;
        };
        let wants =
            &mut |record: &Sealed<'_>| until.is_none_or(|last| record.first_commit().0 <= last);
        match shipper.step_to(to, wants).await {
            Ok(more) => more,
            Err(why) => {
                self.shipper = Err(why);
                false
            }
        }
    }

    /// Whether the depot has it up to a commit.
    fn has(&self, commit: u64) -> bool {
        let reached = self.shipper.as_ref().ok().map(Shipper::reached);
        reached.is_some_and(|reached| reached.tail().commit.0 >= commit)
    }

    /// Why it is not shipped, or not all of it, where that is so.
    fn failure(&self) -> Option<&BackupError> {
        self.shipper.as_ref().err().or(self.late.as_ref())
    }
}

impl Fleet {
    /// Finds out how far the depot is with each cell, the first one first. `said` is what that one says now, or said
    /// at any moment behind what the depot has of it.
    ///
    /// # Errors
    /// When the first one cannot be shipped, as [`Shipper::begin`] says.
    pub async fn begin(
        depot: &Arc<dyn Depot>,
        (cells, level): (&[Records], Arc<dyn Level>),
        cut: Cut,
        (pepper_check, said): (Option<&[u8]>, Said),
    ) -> Result<Self, BackupError> {
        let Some((records, rest)) = cells.split_first() else {
            return Err(BackupError::Refused("there is no cell to ship".to_owned()));
        };
        let history = records.history();
        let here = (records.clone(), level.as_ref());
        let first = Shipper::begin(Arc::clone(depot), here, cut, pepper_check).await?;
        let mut others = Vec::new();
        for (cell, records) in (1..).zip(rest) {
            let whose = Whose { history, cell };
            let here = (records.clone(), level.as_ref());
            let shipper = Shipper::of(whose, Arc::clone(depot), here, cut).await;
            others.push(Other {
                cell,
                shipper,
                late: None,
                to: None,
                whole: false,
            });
        }
        Ok(Self {
            first,
            whole: false,
            others,
            level,
            said,
            round: None,
        })
    }

    /// Ships the next object; false when everything is there that was durable when the round began, or has failed.
    ///
    /// # Errors
    /// When the first cell cannot be shipped. What fails of another one is given by [`Self::failure`].
    pub async fn step(&mut self) -> Result<bool, BackupError> {
        let mut round = match self.round.take() {
            Some(round) => round,
            None => self.begins().await?,
        };
        let more = self.advance(&mut round).await?;
        if more {
            self.round = Some(round);
        }
        Ok(more)
    }

    /// The next step begins a round, whatever is left of the last one.
    pub fn begins_anew(&mut self) {
        self.round = None;
    }

    async fn begins(&mut self) -> Result<Round, BackupError> {
        self.whole = false;
        let level = self.level.as_ref();
        let levels = self.others.iter().map(|other| level.level(other.cell));
        let levels = join_all(levels).await;
        // The others are looked at before the first one.
        for (other, levelled) in self.others.iter_mut().zip(levels) {
            other.whole = false;
            other.late = levelled.err();
            other.to = other.shipper.as_ref().ok().map(Shipper::end);
        }
        if !self.others.is_empty() {
            // Whatever they have follows from what the log of the first one has by now.
            self.level.level(FIRST).await?;
        }
        Ok(Round {
            first: self.first.end(),
            first_done: false,
            next: 0,
            owed: Vec::new(),
            waits: 0,
        })
    }

    async fn advance(&mut self, round: &mut Round) -> Result<bool, BackupError> {
        if let Some(owed) = round.owed.last().copied() {
            self.pays(round, owed).await;
            return Ok(true);
        }
        if !round.first_done {
            self.leads(round).await?;
            return Ok(true);
        }
        let next = self.others.get_mut(round.next);
        let Some(other) = next.filter(|_| self.whole) else {
            return Ok(false);
        };
        let more = match other.to {
            Some(to) => other.step(to, None).await,
            None => false,
        };
        if !more {
            other.whole = other.failure().is_none();
            round.next = round.next.strict_add(1);
        }
        Ok(true)
    }

    /// Ships what another cell has to have before the first goes on; where that fails the first one stays where it is.
    async fn pays(&mut self, round: &mut Round, owed: Owed) {
        let Some(other) = self.others.get_mut(owed.nth) else {
            return;
        };
        if other.step(owed.to, Some(owed.commit)).await {
            return;
        }
        round.owed.pop();
        if !other.has(owed.commit) {
            round.ends_early();
        }
    }

    /// Ships the next object of the first cell, up to a record for which another one has to have something.
    async fn leads(&mut self, round: &mut Round) -> Result<(), BackupError> {
        let Self {
            first,
            others,
            said,
            ..
        } = self;
        let (mut ties, mut wrong) = (Vec::new(), None);
        let (waited, alone) = (round.waits, others.is_empty());
        let waits = &mut round.waits;
        let wants = &mut |record: &Sealed<'_>| {
            let commit = record.first_commit().0;
            if alone {
                return true;
            }
            match said.takes(record) {
                Ok(found) if found.is_empty() || commit <= waited => true,
                Ok(found) => {
                    (ties, *waits) = (found, commit);
                    false
                }
                Err(why) => {
                    wrong = Some(why);
                    false
                }
            }
        };
        let more = first.step_to(round.first, wants).await?;
        if let Some(why) = wrong {
            return Err(why);
        }
        if ties.is_empty() {
            (self.whole, round.first_done) = (!more, !more);
            return Ok(());
        }
        for tie in ties {
            let Some(owed) = self.owed(tie).await? else {
                round.ends_early();
                break;
            };
            round.owed.push(owed);
        }
        Ok(())
    }

    /// Up to where another cell has to be shipped for what the first one says; `None` where it is not shipped, or does not
    /// have it here.
    async fn owed(&mut self, tie: Tie) -> Result<Option<Owed>, BackupError> {
        let cell = tie.cell;
        let Some(nth) = self.others.iter().position(|it| it.cell == cell) else {
            return Err(BackupError::Refused(format!(
                "the first cell says of cell {cell} what cannot be shipped: it is not here"
            )));
        };
        // What the first one says is in the log of that cell by now.
        let levelled = self.level.level(cell).await;
        let other = self.others.get_mut(nth);
        let Some((other, Ok(shipper))) = other.map(|it| (&mut it.late, &it.shipper)) else {
            return Ok(None);
        };
        let to = shipper.end();
        match levelled.and_then(|()| shipper.had_with(&tie)) {
            Ok(commit) => Ok(Some(Owed { nth, to, commit })),
            Err(why) => {
                *other = Some(why);
                Ok(None)
            }
        }
    }

    /// How far each cell is.
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

    /// Those of all cells that are shipped.
    fn shippers(&self) -> impl Iterator<Item = &Shipper> {
        let others = self.others.iter();
        std::iter::once(&self.first).chain(others.filter_map(|it| it.shipper.as_ref().ok()))
    }

    /// What was written since it began.
    pub fn shipped(&self) -> Shipped {
        let all = self.shippers().map(Shipper::shipped);
        all.fold(Shipped::default(), |sum, one| Shipped {
            objects: sum.objects.strict_add(one.objects),
            bytes: sum.bytes.strict_add(one.bytes),
        })
    }

    /// How many bytes of all journals wait, roughly.
    pub fn behind(&self) -> u64 {
        self.shippers().map(Shipper::behind).sum()
    }

    /// Whether the first one has all that the last round was about: what failed of another one keeps nobody.
    pub fn leads_on(&self) -> bool {
        self.whole
    }

    /// Why another cell than the first is not shipped, or not all of it, where one is not.
    pub fn failure(&self) -> Option<BackupError> {
        let why = |other: &Other| {
            let why = other.failure()?;
            let cell = other.cell;
            Some(BackupError::Refused(format!("cell {cell}: {why}")))
        };
        self.others.iter().find_map(why)
    }
}
