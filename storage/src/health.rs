//! Whether the store may still write, and whether its index can be trusted; shared by all threads.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use crate::api::StoreError;
use crate::sync::lock;

/// What the threads of a store know about its state.
#[derive(Debug, Default)]
pub(crate) struct Health {
    poisoned: OnceLock<Arc<str>>,
    damaged: OnceLock<Arc<str>>,
    /// Where to leave word that the index must be rebuilt at the next open.
    pub(crate) marker: PathBuf,
    full: AtomicBool,
    full_why: Mutex<String>,
    abort: bool,
}

impl Health {
    /// A healthy store; with `abort` the first failed write ends the process.
    pub(crate) fn new(marker: PathBuf, abort: bool) -> Self {
        Self {
            marker,
            abort,
            ..Self::default()
        }
    }

    /// Ends all writing.
    pub(crate) fn poison(&self, why: &str) {
        if self.poisoned.set(Arc::from(why)).is_ok() {
            tracing::error!(
                why,
                "storage lost: the store answers nothing more until a restart"
            );
            if self.abort {
                std::process::abort();
            }
        }
    }

    /// The error that every write gets once the store is poisoned.
    pub(crate) fn poisoned(&self) -> Option<StoreError> {
        self.poisoned
            .get()
            .map(|why| StoreError::Poisoned(Arc::clone(why)))
    }

    /// Notes that the index on disk is not what was written, and gives the error for the reader.
    pub(crate) fn damage(&self, why: &str) -> StoreError {
        let text: Arc<str> = Arc::from(format!(
            "the index is damaged ({why}); a restart rebuilds it"
        ));
        if self.damaged.set(Arc::clone(&text)).is_ok() {
            tracing::error!(
                why,
                "the index is damaged; restart the service to rebuild it"
            );
            if let Err(e) = std::fs::write(&self.marker, why) {
                tracing::error!(error = %e, "could not leave word that the index is damaged");
            }
        }
        StoreError::Corrupt(text)
    }

    /// The error of a damaged index, if it is.
    pub(crate) fn damaged(&self) -> Option<StoreError> {
        self.damaged
            .get()
            .map(|why| StoreError::Corrupt(Arc::clone(why)))
    }

    /// Says that free space is below the floor, or (`None`) that it is not.
    pub(crate) fn set_full(&self, why: Option<String>) {
        let now = why.is_some();
        if let Some(why) = why {
            *lock(&self.full_why) = why;
        }
        if self.full.swap(now, Ordering::AcqRel) != now {
            if now {
                tracing::error!("the disk is nearly full: writes are refused");
            } else {
                tracing::info!("there is room on the disk again: writes go on");
            }
        }
    }

    /// The error for writers while the disk is full.
    pub(crate) fn full(&self) -> Option<StoreError> {
        self.full
            .load(Ordering::Acquire)
            .then(|| StoreError::Full(lock(&self.full_why).clone()))
    }
}
