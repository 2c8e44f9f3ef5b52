//! What takes the bytes of a store.

use crate::api::{Store as _, StoreError};
use crate::durable::DurableStore;

pub use crate::index::census::{IndexBytes, RowBytes};

/// What takes the bytes of a store.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Census {
    /// Bytes of the journal's files, room that was set aside among them.
    pub journal_files: u64,
    /// Bytes of sled's files.
    pub index_files: u64,
    /// What the index consists of.
    pub index: IndexBytes,
}

impl DurableStore {
    /// Reads the whole index and says what takes its bytes.
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
