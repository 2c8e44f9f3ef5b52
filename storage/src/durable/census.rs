//! Measures what takes up the bytes of a store.

use crate::api::{Store as _, StoreError};
use crate::durable::DurableStore;

pub use crate::index::census::{IndexBytes, RowBytes};

/// The bytes of a store by their use.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Census {
    /// Bytes of the journal's files, including preallocated space.
    pub journal_files: u64,
    /// Bytes of the index's files.
    pub index_files: u64,
    /// The bytes of the index by their use.
    pub index: IndexBytes,
}

impl DurableStore {
    /// Reads the whole index and returns how its bytes are used.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn census(&self) -> Result<Census, StoreError> {
        let stats = self.stats();
        Ok(Census {
            journal_files: stats.journal_disk_bytes,
            index_files: stats.index_disk_bytes,
            index: self.shared.index.census()?,
        })
    }
}
