//! Ships the records that a backup store lacks, one object at a time, to the backup that was chosen for the store.
//!
//! **Shape.** [`Destination`] knows which backup was chosen and how far it was shipped. A round ships what was durable when
//! it began, so that it ends while others post.
//!
//! **Order.** The names in the backup store, looked up in the journal, say where to continue. Records are shipped as tails
//! until they fill a full object or there are many tails; then the full object is written, and after it the tails are
//! removed. Whatever a dying shipper leaves, the next one continues from there.
//!
//! **Failure.** A backup store that is ahead of the journal, or has other records, is refused: the journal is an older
//! copy or has diverged, and the backup store may hold the only copy of the other history. A backup store without the newest object
//! that was shipped is refused, too: it is an older copy, or objects are removed there. Each step checks that the backup is
//! where it was and has the newest objects.

use std::sync::Arc;

use caudal_storage::log::{LogId, Sealed, Tail};
use caudal_storage::{End, Records, Spot};

use super::BackupError;
use super::backup_store::BackupStore;
use super::chain::own;
use super::end::{BackupChoices, CHOSEN, Destination};
use super::names::{Cover, ObjectKind, PEPPER_CHECK, hex, name_of};
use super::object::pack;

/// The sizes at which objects are cut.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ObjectLimits {
    /// The bytes of records that make a full object.
    pub run_bytes: u32,
    /// The most tails before a full object replaces them.
    pub tails: usize,
}

impl Default for ObjectLimits {
    fn default() -> Self {
        Self {
            run_bytes: 16 << 20,
            tails: 256,
        }
    }
}

/// What is known when shipping begins, besides the records.
#[derive(Debug)]
pub struct KnownBackup<'a> {
    /// The digest by which a wrong pepper is recognised, which is stored next to the records.
    pub pepper_check: Option<&'a [u8]>,
    /// The backups that this service chose.
    pub choice: &'a dyn BackupChoices,
    /// The end of what this service has shipped, as far as it knows.
    pub shipped: Option<Tail>,
}

/// What a shipment has written since it began.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Shipped {
    /// Objects that were written.
    pub objects: u64,
    /// Their bytes.
    pub bytes: usize,
}

/// The state of shipping a store to a backup store.
#[derive(Debug)]
pub struct Shipment {
    destination: Destination,
    records: Records,
    cut: ObjectLimits,
    /// Where the full objects end.
    full: Spot,
    /// Where the tails end.
    reached: Spot,
    /// The names of the tails behind the full objects.
    tails: Vec<String>,
    /// The name of the object that ends there.
    last: Option<String>,
    shipped: Shipped,
    /// The end of the journal when the round began.
    to: Option<End>,
}

impl Shipment {
    /// Finds the backup in the backup store, and how much it has.
    ///
    /// # Errors
    /// When the backup store does not have the backup that was chosen, has records that the journal lacks, or lacks what was
    /// shipped; when something cannot be read.
    pub async fn begin(
        backup_store: &Arc<dyn BackupStore>,
        records: Records,
        cut: ObjectLimits,
        known: KnownBackup<'_>,
    ) -> Result<Self, BackupError> {
        let (store, place) = (records.history(), backup_store.place());
        let destination = Destination::find(backup_store, store, known.choice).await?;
        let all = own(backup_store.as_ref(), &store).await?;
        let least = destination.least(known.shipped);
        if let Some(least) = least.filter(|it| all.iter().all(|own| own.end.commit < it.commit)) {
            return Err(lost(&place, &store, least));
        }
        let fulls = all.iter().filter(|it| it.kind == ObjectKind::Full).cloned();
        let (full, cover) = (Cover::of(fulls.collect()).end(), Cover::of(all));
        let found = |end: Option<Tail>| match end {
            Some(end) => spot(&records, &end, &place),
            None => Ok(records.beginning()),
        };
        let (full, reached) = (found(full)?, found(cover.end())?);
        let last = cover.objects.last().map(|it| it.name.clone());
        let tails = cover.objects.into_iter();
        let tails = tails.filter(|it| it.end.commit > full.tail().commit);
        let tails = tails.map(|it| it.name).collect();
        if let Some(mark) = known.pepper_check {
            let name = format!("{}/{PEPPER_CHECK}", hex(&store));
            backup_store.replace(&name, mark.to_vec()).await?;
        }
        Ok(Self {
            destination,
            records,
            cut,
            full,
            reached,
            tails,
            last,
            shipped: Shipped::default(),
            to: None,
        })
    }

    /// Checks that the backup is where it was and has the newest objects, and ships the next object; false when
    /// everything that was durable when the round began is shipped.
    ///
    /// # Errors
    /// When the backup is gone, the journal cannot be read, or the backup store refuses. The step can be repeated.
    pub async fn step(&mut self) -> Result<bool, BackupError> {
        self.destination.check().await?;
        self.check().await?;
        let to = self.to.unwrap_or_else(|| self.records.end());
        let more = self.step_to(to).await?;
        self.destination.reached(self.reached.tail()).await?;
        self.to = more.then_some(to);
        Ok(more)
    }

    /// Drops the rest of the current round, so that the next step begins a new one.
    pub fn begins_anew(&mut self) {
        self.to = None;
    }

    /// Checks that the backup store still has the newest object.
    async fn check(&self) -> Result<(), BackupError> {
        let Destination {
            backup_store,
            store,
            ..
        } = &self.destination;
        match &self.last {
            Some(last) if !backup_store.has(last).await? => {
                Err(lost(&backup_store.place(), store, self.reached.tail()))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// The end of what the backup store has.
    pub fn reached(&self) -> Spot {
        self.reached
    }

    /// What was written since this shipment began.
    pub fn shipped(&self) -> Shipped {
        self.shipped
    }

    /// The approximate number of journal bytes that are not shipped.
    pub fn behind(&self) -> u64 {
        self.records.behind(&self.reached)
    }

    /// Ships the next object of the records that were durable at `to`; false when that point is reached.
    async fn step_to(&mut self, to: End) -> Result<bool, BackupError> {
        let from = self.reached;
        let (run, end) = self.run(from, to)?;
        if run.is_empty() {
            return Ok(false);
        }
        let first = from.tail().commit.0 + 1;
        if self.full == from && self.is_full(run.len()) {
            let name = self.put(ObjectKind::Full, first, &run, &end).await?;
            self.last = Some(name);
            (self.full, self.reached) = (end, end);
            return Ok(true);
        }
        let more = self.is_full(run.len());
        let name = self.put(ObjectKind::Tail, first, &run, &end).await?;
        self.tails.push(name.clone());
        (self.last, self.reached) = (Some(name), end);
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
        let name = self.put(ObjectKind::Full, first, &run, &end).await?;
        (self.last, self.full) = (Some(name), end);
        for name in std::mem::take(&mut self.tails) {
            // The full object covers this tail: if it stays, it only takes space.
            if let Err(why) = self.destination.backup_store.remove(&name).await {
                tracing::debug!(%why, "a tail that a full object replaces stays");
            }
        }
        Ok(())
    }

    fn is_full(&self, bytes: usize) -> bool {
        usize::try_from(self.cut.run_bytes).is_ok_and(|run| bytes >= run)
    }

    /// The records from a place on, up to a full run.
    fn run(&self, from: Spot, to: End) -> Result<(Vec<u8>, Spot), BackupError> {
        let mut run = Vec::new();
        let mut take = |record: &Sealed<'_>| {
            let wanted = !self.is_full(run.len());
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
        kind: ObjectKind,
        first: u64,
        run: &[u8],
        end: &Spot,
    ) -> Result<String, BackupError> {
        let name = name_of(&self.destination.store, kind, first, &end.tail());
        let object = pack(&self.records.log(), run)?;
        let bytes = object.len();
        self.destination.backup_store.put(&name, object).await?;
        self.shipped.objects += 1;
        self.shipped.bytes += bytes;
        Ok(name)
    }
}

fn lost(place: &str, store: &LogId, least: Tail) -> BackupError {
    BackupError::Incomplete(format!(
        "{place} ({}) lacks commit {}, which was shipped: its newest objects were removed, or it is an older copy. \
         Nothing was written. Bring them back, and shipping continues; to ship them again, remove {CHOSEN} from the data \
         folder",
        hex(store),
        least.commit.0
    ))
}

/// The place in the journal where the backup store ends.
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
