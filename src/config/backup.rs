//! Settings of backups: where the journal is shipped to, and how often.

use std::time::Duration;

use serde::Deserialize;

use super::Wrong;
use crate::backup::depot;
use crate::backup::run::{EVERY, Plan};
use crate::backup::ship::Cut;

/// What a file may set.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct BackupTo {
    /// A folder or `s3://BUCKET/PREFIX`; nothing is shipped without it.
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
    /// How the journal is shipped, if it is.
    pub(super) fn plan(&self, wrong: &mut Wrong) -> Option<Plan> {
        wrong.range("backup.tail_seconds", self.tail_seconds, 1, 3600);
        let place = self.to.as_deref().filter(|place| !place.is_empty())?;
        // A folder that is not there is not made: it may be a volume that is not mounted.
        let depot = depot::open(place, false);
        let depot = depot.map_err(|why| wrong.add("backup.to", why)).ok()?;
        Some(Plan {
            depot,
            every: Duration::from_secs(self.tail_seconds),
            cut: Cut::default(),
        })
    }
}
