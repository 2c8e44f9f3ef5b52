//! The keys of sealed days, which are outside the journal: a copy of the journal cannot sign.

use std::fmt;

use caudal_ledger::days::SealKey;

/// Names a key: whose it is, and which of the owner's keys.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SealKeyName {
    /// The realm: `caudal/<tenant id>/<live|test>`. It is also the name of the key in a signed note.
    pub origin: String,
    /// Which of the realm's keys, from 1.
    pub generation: u32,
    /// The public key, if a closed day has named it: a generation has another key under another pepper. Without it, the
    /// key under the newest pepper is meant.
    pub public: Option<[u8; 32]>,
}

impl SealKeyName {
    /// The name of this key of the same owner.
    #[must_use]
    pub fn of(&self, key: SealKey) -> Self {
        Self {
            origin: self.origin.clone(),
            generation: key.generation,
            public: Some(key.public),
        }
    }
}

/// Signs checkpoints of closed days. The same name is always the same key, and a key that a day has named is never
/// replaced by another. Nothing here waits.
pub trait DaySigner: Send + Sync + fmt::Debug + 'static {
    /// The public key, Ed25519. `None` if this service does not have it.
    fn key(&self, of: &SealKeyName) -> Option<SealKey>;

    /// The signature of a text.
    fn sign(&self, of: &SealKeyName, text: &[u8]) -> Option<[u8; 64]>;

    /// The secret of the salts that are in the leaves of the realm's trees.
    fn salts(&self, of: &SealKeyName) -> Option<[u8; 32]>;
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

    fn salts(&self, _: &SealKeyName) -> Option<[u8; 32]> {
        None
    }
}
