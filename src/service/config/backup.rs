//! Settings of backups: where the journal is shipped, and how often.

use std::time::Duration;

use caudal_backup::depot;
use caudal_backup::run::{EVERY, Plan};
use caudal_backup::ship::Cut;
use serde::Deserialize;

use super::Wrong;

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
    pub(super) fn plan(&self, wrong: &mut Wrong) -> Option<Plan> {
        wrong.range("backup.tail_seconds", self.tail_seconds, 1, 3600);
        let place = self.to.as_deref().filter(|place| !place.is_empty())?;
        // A missing folder is not created: it may be a volume that is not mounted.
        let depot = depot::open(place, false);
        let depot = depot.map_err(|why| wrong.add("backup.to", why)).ok()?;
        Some(Plan {
            depot,
            every: Duration::from_secs(self.tail_seconds),
            cut: Cut::default(),
        })
    }
}
