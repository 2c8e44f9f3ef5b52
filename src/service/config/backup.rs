//! Settings of backups: where the journal is shipped, and how often.

use std::time::Duration;

use caudal_backup::backup_store;
use caudal_backup::run::{BackupPlan, EVERY};
use caudal_backup::ship::ObjectLimits;
use serde::Deserialize;

use super::Mistakes;

/// The settings of the section.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct BackupTo {
    /// A folder or `s3://BUCKET/PREFIX`; without it, no journal is shipped.
    pub(super) to: Option<String>,
    /// How often the tail is shipped, in seconds.
    pub(super) tail_seconds: u64,
}

impl Default for BackupTo {
    fn default() -> Self {
        Self {
            to: None,
            tail_seconds: EVERY.as_secs(),
        }
    }
}

impl BackupTo {
    /// The backup's plan, if a backup is set.
    pub(super) fn plan(&self, wrong: &mut Mistakes) -> Option<BackupPlan> {
        wrong.range("backup.tail_seconds", self.tail_seconds, 1, 3600);
        let place = self.to.as_deref().filter(|place| !place.is_empty())?;
        // A missing folder is not created: it may be a volume that is not mounted.
        let backup_store = backup_store::open(place, false);
        let backup_store = backup_store
            .map_err(|why| wrong.add("backup.to", why))
            .ok()?;
        Some(BackupPlan {
            backup_store,
            every: Duration::from_secs(self.tail_seconds),
            cut: ObjectLimits::default(),
        })
    }
}
