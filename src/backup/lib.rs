//! Backups of the journal: shipped elsewhere as it grows, verified without being restored, and
//! restored. [`portable`] takes one realm out of a journal and into another.
//!
//! **Shape.** A store's records are in a backup store ([`backup_store`]) as objects of consecutive records, in the bytes that
//! they have in the journal, compressed:
//! ```text
//! STORE/full/FIRST-LAST-HASH.zst   a run of about 16 MiB of records
//! STORE/tail/FIRST-LAST-HASH.zst   what came since, a few seconds each
//! STORE/pepper.check               by which a wrong pepper is recognised
//! STORE/end                        which backup this is, and the last commit with its hash
//! ```
//! `STORE` is the id of the store. `FIRST` and `LAST` are the numbers of commits, and `HASH` is
//! that of the last record. Once enough tails have gathered, one full object replaces them, and they are removed.
//!
//! **Order.** An object is written whole or not at all, and never over another, except that `end` is replaced after
//! each shipment ([`end`]). The names, compared with the journal, say where shipping continues, so a shipper may die
//! anywhere.
//!
//! **Failure.** There is no manifest to trust: restore and verification follow the chain of hashes from the first
//! record, and refuse one that ends before what `end` says. A backup store with records that the journal lacks is never
//! written to, and neither is one that is not the chosen one or has lost its newest objects.

pub mod backup_store;
pub mod chain;
pub mod end;
pub mod names;
pub mod object;
pub mod outgoing;
pub mod portable;
pub mod restore;
pub mod run;
pub mod ship;
pub mod since;

use caudal_storage::log::Sealed;
use caudal_storage::{CommitNo, OpenError, StoreError};

/// Why a backup, a check or a restore cannot continue.
#[derive(Clone, Debug, thiserror::Error)]
pub enum BackupError {
    /// The backup store refused an operation; trying again may help.
    #[error("{what}: {why}")]
    BackupStore {
        /// The operation, and its object.
        what: String,
        /// The backup store's error.
        why: String,
    },
    /// An object differs from what was written.
    #[error("{object} at offset {offset}: {why}")]
    Damaged {
        /// The name of the object.
        object: String,
        /// The place in its records, in bytes from the first; 0 where the object itself is damaged.
        offset: usize,
        /// A description of the damage.
        why: String,
    },
    /// Objects are missing that were shipped, or more was asked for than there is.
    #[error("{0}")]
    Incomplete(String),
    /// The operation is refused; the message tells how to proceed.
    #[error("{0}")]
    Refused(String),
    /// The journal cannot be read.
    #[error(transparent)]
    Journal(#[from] StoreError),
    /// The store that is being restored cannot be written.
    #[error(transparent)]
    Store(#[from] OpenError),
}

impl BackupError {
    /// An entry of a record fails its checksum. The record is identified by its last commit.
    pub fn unsound(record: &Sealed<'_>) -> Self {
        let CommitNo(last) = record.tail().commit;
        Self::Refused(format!("commit {last}: an entry fails its checksum"))
    }

    /// An error of the backup store.
    pub fn backup_store(what: impl Into<String>, why: impl ToString) -> Self {
        Self::BackupStore {
            what: what.into(),
            why: why.to_string(),
        }
    }

    /// Damage at a place.
    pub(crate) fn damaged(object: &str, offset: usize, why: impl Into<String>) -> Self {
        Self::Damaged {
            object: object.to_owned(),
            offset,
            why: why.into(),
        }
    }
}
