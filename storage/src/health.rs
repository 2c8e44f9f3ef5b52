//! Whether the store may still write, and whether its index can be trusted; shared by all threads.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use crate::api::StoreError;
use crate::folder::Folder;
use crate::sync::lock;

/// The file that says that the index must be rebuilt.
pub(crate) const MARKER: &str = "INDEX-DAMAGED";

/// What the threads of a store know about its state.
#[derive(Debug, Default)]
pub(crate) struct Health {
    poisoned: OnceLock<Arc<str>>,
    damaged: OnceLock<Arc<str>>,
    /// Where to leave word that the index must be rebuilt at the next open.
    folder: Option<Arc<Folder>>,
    /// What commits are refused with while the journal has no next segment.
    stalled: Mutex<Option<StoreError>>,
    full: AtomicBool,
    full_why: Mutex<String>,
    abort: bool,
}

impl Health {
    /// A healthy store; with `abort` the first failed write ends the process.
    pub(crate) fn new(folder: Arc<Folder>, abort: bool) -> Self {
        Self {
            folder: Some(folder),
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
            let marked = self.folder.as_ref().map(|folder| folder.create(MARKER));
            if let Some(Err(e)) = marked
                && e.kind() != io::ErrorKind::AlreadyExists
            {
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

    /// Refuses commits with this until [`Self::go_on`].
    pub(crate) fn stall(&self, why: StoreError) {
        *lock(&self.stalled) = Some(why);
    }

    /// Takes commits again.
    pub(crate) fn go_on(&self) {
        *lock(&self.stalled) = None;
    }

    /// The error for writers while commits cannot be taken: too little room, no next segment.
    pub(crate) fn refusing(&self) -> Option<StoreError> {
        self.full().or_else(|| lock(&self.stalled).clone())
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
