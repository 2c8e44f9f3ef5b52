//! The places of backups: a folder on another disk or machine, or an S3-compatible store.
//!
//! **Shape.** A [`BackupStore`] stores bytes under names. [`open`] returns the backup store that a setting or a command names.
//!
//! **Order.** [`BackupStore::put`] returns once the object is durable there.
//!
//! **Failure.** [`BackupStore::put`] never replaces an existing object; only [`BackupStore::replace`] does, as a whole.

mod api;
mod folder;
#[cfg(feature = "s3")]
mod s3;

use std::sync::Arc;

use super::BackupError;
use folder::Folder;

pub use api::{BackupStore, Listed, StoreFuture};

/// The backup store at a place: a folder, which [`BackupStore::make`] creates if `make` is set, or `s3://BUCKET/PREFIX`. It is
/// opened when it is first used, and again until that works: a place that is unavailable for a while does not keep a
/// service from starting.
///
/// # Errors
/// When the place is none, or the program was built without the named kind of store.
pub fn open(place: &str, make: bool) -> Result<Arc<dyn BackupStore>, BackupError> {
    // The note of what was chosen has a line for each place.
    if place.contains(['\n', '\r']) {
        return Err(BackupError::Refused(
            "the place for backups contains a line break".to_owned(),
        ));
    }
    match place.split_once("://") {
        Some(("file", _)) | None => Ok(Arc::new(Folder::new(place, make))),
        #[cfg(feature = "s3")]
        Some(("s3", rest)) => Ok(Arc::new(s3::Objects::new(place, rest))),
        #[cfg(not(feature = "s3"))]
        Some(("s3", _)) => Err(BackupError::Refused(format!(
            "{place}: this program was built without S3; build it with the feature s3, or name a folder"
        ))),
        Some(_) => Err(BackupError::Refused(format!(
            "{place} is no place for backups: name a folder, or s3://BUCKET/PREFIX"
        ))),
    }
}
