//! Ships the records that a depot lacks, one object at a time.
//!
//! **Order.** The names in the depot, looked up in the journal, say where to continue. Records are shipped as tails
//! until they fill a full object or there are many tails; then the full object is written, and after it the tails are
//! removed. Whatever a dying shipper leaves, the next one continues from there. The mark that a cell has objects is
//! written after its first object, so a mark never claims an object that was not there yet; a shipper that finds
//! objects without a mark writes it.
//!
//! **Failure.** A depot that is ahead of the journal, or has other records, is refused: the journal is an older
//! copy or has diverged, and the depot may hold the only copy of the other history.

use std::sync::Arc;

use caudal_storage::log::{Sealed, Tail};
use caudal_storage::{End, Records, Spot};

use super::BackupError;
use super::chain::own;
use super::depot::Depot;
use super::fits::Tie;
use super::level::Level;
use super::names::{Cover, Kind, PEPPER_CHECK, Whose, name_of};
use super::object::pack;

/// The sizes at which objects are cut.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cut {
    /// The bytes of records that make a full object.
    pub run_bytes: u32,
    /// The most tails before a full object replaces them.
    pub tails: usize,
}

impl Default for Cut {
    fn default() -> Self {
        Self {
            run_bytes: 16 << 20,
            tails: 256,
        }
    }
}

/// What a shipper has written since it began.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Shipped {
    /// Objects that were written.
    pub objects: u64,
    /// Their bytes.
    pub bytes: usize,
}

/// Whether a record is to be shipped now; the first that is not ends the step.
pub(super) type Wants<'a> = &'a mut dyn FnMut(&Sealed<'_>) -> bool;

/// Ships one cell of a store to one depot.
#[derive(Debug)]
pub struct Shipper {
    depot: Arc<dyn Depot>,
    whose: Whose,
    records: Records,
    cut: Cut,
    /// Where the full objects end.
    full: Spot,
    /// Where the tails end.
    reached: Spot,
    /// The names of the tails behind the full objects.
    tails: Vec<String>,
    /// Whether the mark that there are objects is written.
    marked: bool,
    shipped: Shipped,
}

impl Shipper {
    /// Finds out how much of a store's first cell the depot has. `pepper_check` is stored beside the records.
    ///
    /// # Errors
    /// When the depot has records that the journal lacks, or one of them cannot be read.
    pub async fn begin(
        depot: Arc<dyn Depot>,
        (records, level): (Records, &dyn Level),
        cut: Cut,
        pepper_check: Option<&[u8]>,
    ) -> Result<Self, BackupError> {
        let whose = Whose::first(records.history());
        let shipper = Self::of(whose, depot, (records, level), cut).await?;
        if let Some(mark) = pepper_check {
            let name = format!("{}/{PEPPER_CHECK}", whose.folder());
            shipper.depot.put(&name, mark.to_vec()).await?;
        }
        Ok(shipper)
    }

    /// Finds out how much of a cell the depot has.
    ///
    /// # Errors
    /// As [`Self::begin`].
    pub(super) async fn of(
        whose: Whose,
        depot: Arc<dyn Depot>,
        (records, level): (Records, &dyn Level),
        cut: Cut,
    ) -> Result<Self, BackupError> {
        let all = own(depot.as_ref(), &whose).await?;
        // Another node may have shipped records that this one does not have yet.
        level.level(whose.cell).await?;
        let fulls = all.iter().filter(|it| it.kind == Kind::Full).cloned();
        let (full, cover) = (Cover::of(fulls.collect()).end(), Cover::of(all));
        let place = |end: Option<Tail>| match end {
            Some(end) => spot(&records, &end, &depot.place()),
            None => Ok(records.beginning()),
        };
        let (full, reached) = (place(full)?, place(cover.end())?);
        let tails = cover.objects.into_iter();
        let tails = tails.filter(|it| it.end.commit > full.tail().commit);
        let tails = tails.map(|it| it.name).collect();
        Ok(Self {
            depot,
            whose,
            records,
            cut,
            full,
            reached,
            tails,
            marked: false,
            shipped: Shipped::default(),
        })
    }

    /// The end of what the depot has.
    pub fn reached(&self) -> Spot {
        self.reached
    }

    /// What this shipper has written.
    pub fn shipped(&self) -> Shipped {
        self.shipped
    }

    /// The approximate number of journal bytes that are not shipped.
    pub fn behind(&self) -> u64 {
        self.records.behind(&self.reached)
    }

    /// The commit with which this cell fulfils what the first cell says of it.
    ///
    /// # Errors
    /// When the cell does not fulfil it, or its journal cannot be read.
    pub(super) fn had_with(&self, tie: &Tie) -> Result<u64, BackupError> {
        let end = self.records.last()?;
        let with = tie.had_with(&self.records)?;
        with.filter(|with| *with <= end).ok_or_else(|| {
            BackupError::Refused(format!(
                "it ends with commit {end} here, and lacks what the first cell says was copied into it. The first cell is \
                 not shipped any further before it is here"
            ))
        })
    }

    /// The current end of the journal.
    pub(super) fn end(&self) -> End {
        self.records.end()
    }

    /// Ships the next object of the records that were durable at `to`, up to the first record that is not wanted; false
    /// when that point is reached. The bound lets a round end while others post.
    ///
    /// # Errors
    /// When the journal cannot be read, or the depot refuses. The step can be repeated.
    pub(super) async fn step_to(&mut self, to: End, wants: Wants<'_>) -> Result<bool, BackupError> {
        // Existing objects may be older than the marks.
        self.mark().await?;
        let more = self.ships(to, wants).await?;
        self.mark().await?;
        Ok(more)
    }

    /// Marks, once, that there are objects of the cell, if there are any.
    async fn mark(&mut self) -> Result<(), BackupError> {
        if self.marked || self.reached == self.records.beginning() {
            return Ok(());
        }
        if let Some(mark) = self.whose.mark() {
            self.depot.put(&mark, Vec::new()).await?;
        }
        self.marked = true;
        Ok(())
    }

    async fn ships(&mut self, to: End, wants: Wants<'_>) -> Result<bool, BackupError> {
        let from = self.reached;
        let (run, end) = self.run(from, to, wants)?;
        if run.is_empty() {
            return Ok(false);
        }
        let first = from.tail().commit.0 + 1;
        if self.full == from && self.is_full(run.len()) {
            self.put(Kind::Full, first, &run, &end).await?;
            (self.full, self.reached) = (end, end);
            return Ok(true);
        }
        let more = self.is_full(run.len());
        let name = self.put(Kind::Tail, first, &run, &end).await?;
        self.tails.push(name);
        self.reached = end;
        self.gather().await?;
        Ok(more)
    }

    /// Replaces the tails with a full object when they are many or large.
    async fn gather(&mut self) -> Result<(), BackupError> {
        let waiting = self.records.between(&self.full, &self.reached);
        let small = waiting < u64::from(self.cut.run_bytes);
        if small && self.tails.len() < self.cut.tails {
            return Ok(());
        }
        let (run, end) = self.read(self.full, self.reached)?;
        let first = self.full.tail().commit.0 + 1;
        self.put(Kind::Full, first, &run, &end).await?;
        self.full = end;
        for name in std::mem::take(&mut self.tails) {
            // The full object covers this tail: if it stays, it only takes space.
            if let Err(why) = self.depot.remove(&name).await {
                tracing::debug!(%why, "a tail that a full object replaces stays");
            }
        }
        Ok(())
    }

    fn is_full(&self, bytes: usize) -> bool {
        usize::try_from(self.cut.run_bytes).is_ok_and(|run| bytes >= run)
    }

    /// The records from a place on, as far as they are wanted, up to a full run.
    fn run(&self, from: Spot, to: End, wants: Wants<'_>) -> Result<(Vec<u8>, Spot), BackupError> {
        let mut run = Vec::new();
        let mut take = |record: &Sealed<'_>| {
            let wanted = !self.is_full(run.len()) && wants(record);
            if wanted {
                run.extend_from_slice(record.bytes());
            }
            wanted
        };
        let end = self.records.take(&from, to, &mut take)?;
        Ok((run, end))
    }

    /// The records between two places.
    fn read(&self, from: Spot, to: Spot) -> Result<(Vec<u8>, Spot), BackupError> {
        let mut run = Vec::new();
        if to == from {
            return Ok((run, from));
        }
        let mut take = |record: &Sealed<'_>| {
            run.extend_from_slice(record.bytes());
            record.tail().commit < to.tail().commit
        };
        let end = self.records.read(&from, &mut take)?;
        Ok((run, end))
    }

    async fn put(
        &mut self,
        kind: Kind,
        first: u64,
        run: &[u8],
        end: &Spot,
    ) -> Result<String, BackupError> {
        let name = name_of(&self.whose, kind, first, &end.tail());
        let object = pack(&self.records.log(), run)?;
        let bytes = object.len();
        self.depot.put(&name, object).await?;
        self.shipped.objects += 1;
        self.shipped.bytes += bytes;
        Ok(name)
    }
}

/// The place in the journal where the depot ends.
fn spot(records: &Records, end: &Tail, place: &str) -> Result<Spot, BackupError> {
    let found = records.find(end)?;
    found.ok_or_else(|| {
        BackupError::Refused(format!(
            "{place} has commit {} of this store in a record that its journal does not have: the journal is an \
             older copy, or another copy of the store went on and was backed up there. Nothing was written. \
             If this one is to go on, restore it with --new-history, or back it up to another place",
            end.commit.0
        ))
    })
}
