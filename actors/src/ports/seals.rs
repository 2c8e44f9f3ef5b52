//! The keys of sealed days, which are outside the journal: a copy of the journal cannot sign.

use std::fmt;

use caudal_ledger::days::{SaltKey, SealKey};

/// Names a key: whose it is, and which of the owner's keys.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SealKeyName {
    /// The realm: `caudal/<tenant id>/<live|test>`. It is also the name of the key in a signed note.
    pub origin: String,
    /// Which of the realm's keys, from 1.
    pub generation: u32,
}

/// Signs checkpoints of closed days. The same name is always the same key. Nothing here waits.
pub trait DaySigner: Send + Sync + fmt::Debug + 'static {
    /// The public key, Ed25519. `None` if this service signs nothing: then no day is closed.
    fn key(&self, of: &SealKeyName) -> Option<SealKey>;

    /// The signature of a text.
    fn sign(&self, of: &SealKeyName, text: &[u8]) -> Option<[u8; 64]>;

    /// The secret of the salts that are in the leaves of the realm's trees.
    fn salts(&self, of: &SealKeyName) -> Option<SaltKey>;
}

/// Signs nothing.
#[derive(Clone, Copy, Debug)]
pub struct NoSigner;

impl DaySigner for NoSigner {
    fn key(&self, _: &SealKeyName) -> Option<SealKey> {
        None
    }

    fn sign(&self, _: &SealKeyName, _: &[u8]) -> Option<[u8; 64]> {
        None
    }

    fn salts(&self, _: &SealKeyName) -> Option<SaltKey> {
        None
    }
}
