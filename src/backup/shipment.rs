//! Ships a store to the backup that was chosen for it.
//!
//! **Shape.** A [`Shipper`] writes the objects, and [`Destination`] knows which backup was chosen and how far it was
//! shipped. A round ships what was durable when it began, so that it ends while others post.
//!
//! **Failure.** Each step checks that the backup is where it was and has the newest objects.

use std::sync::Arc;

use caudal_storage::log::Tail;
use caudal_storage::{End, Records, Spot};

use super::BackupError;
use super::backup_store::BackupStore;
use super::end::{BackupChoices, Destination};
use super::names::{PEPPER_CHECK, hex};
use super::ship::{ObjectLimits, Shipped, Shipper};

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

/// The state of shipping a store to a backup store.
#[derive(Debug)]
pub struct Shipment {
    destination: Destination,
    shipper: Shipper,
    /// The end of the journal when the round began.
    to: Option<End>,
}

impl Shipment {
    /// Finds the backup in the backup store, and how much it has.
    ///
    /// # Errors
    /// When the backup store does not have the backup that was chosen, has records that the journal lacks, or lacks what was
    /// shipped.
    pub async fn begin(
        backup_store: &Arc<dyn BackupStore>,
        records: Records,
        cut: ObjectLimits,
        known: KnownBackup<'_>,
    ) -> Result<Self, BackupError> {
        let store = records.history();
        let destination = Destination::find(backup_store, store, known.choice).await?;
        let least = destination.least(known.shipped);
        let shipper = Shipper::begin(Arc::clone(backup_store), records, cut, least).await?;
        if let Some(mark) = known.pepper_check {
            let name = format!("{}/{PEPPER_CHECK}", hex(&store));
            backup_store.replace(&name, mark.to_vec()).await?;
        }
        Ok(Self {
            destination,
            shipper,
            to: None,
        })
    }

    /// Checks that the backup is where it was and has the newest objects, and ships the next object; false when
    /// everything that was durable when the round began is shipped.
    ///
    /// # Errors
    /// When the backup is gone, or the backup store refuses. The step can be repeated.
    pub async fn step(&mut self) -> Result<bool, BackupError> {
        self.destination.check().await?;
        self.shipper.check().await?;
        let to = match self.to {
            Some(to) => to,
            None => self.shipper.end(),
        };
        let more = self.shipper.step_to(to).await?;
        self.destination
            .reached(self.shipper.reached().tail())
            .await?;
        self.to = more.then_some(to);
        Ok(more)
    }

    /// Drops the rest of the current round, so that the next step begins a new one.
    pub fn begins_anew(&mut self) {
        self.to = None;
    }

    /// The end of what the backup store has.
    pub fn reached(&self) -> Spot {
        self.shipper.reached()
    }

    /// What was written since this shipment began.
    pub fn shipped(&self) -> Shipped {
        self.shipper.shipped()
    }

    /// The approximate number of bytes of the journal that are not shipped.
    pub fn behind(&self) -> u64 {
        self.shipper.behind()
    }
}
