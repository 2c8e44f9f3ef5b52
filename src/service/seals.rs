//! The keys of sealed days, made from the pepper: whoever has the journal or a backup of it cannot sign.
//!
//! **Shape.** A key is the HMAC-SHA-256, under the pepper, of what it is for, the realm's name and its generation. So
//! every node with the same pepper signs with the same key, and there is no other file to keep.

use aws_lc_rs::hmac;
use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair as _};
use caudal_actors::ports::seals::{DaySigner, SealKeyName};
use caudal_ledger::days::{SaltKey, SealKey};

/// Signs with keys that are made from the pepper.
pub struct PepperSigner(hmac::Key);

impl std::fmt::Debug for PepperSigner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PepperSigner")
    }
}

impl PepperSigner {
    /// The signer of a service with this pepper.
    pub fn new(pepper: &[u8]) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, pepper))
    }

    fn secret(&self, purpose: &str, of: &SealKeyName) -> Option<[u8; 32]> {
        let SealKeyName { origin, generation } = of;
        let label = format!("caudal sealed days\n{purpose}\n{origin}\n{generation}");
        hmac::sign(&self.0, label.as_bytes())
            .as_ref()
            .try_into()
            .ok()
    }

    fn pair(&self, of: &SealKeyName) -> Option<Ed25519KeyPair> {
        Ed25519KeyPair::from_seed_unchecked(&self.secret("key", of)?).ok()
    }
}

impl DaySigner for PepperSigner {
    fn key(&self, of: &SealKeyName) -> Option<SealKey> {
        Some(SealKey {
            generation: of.generation,
            public: self.pair(of)?.public_key().as_ref().try_into().ok()?,
        })
    }

    fn sign(&self, of: &SealKeyName, text: &[u8]) -> Option<[u8; 64]> {
        self.pair(of)?.sign(text).as_ref().try_into().ok()
    }

    fn salts(&self, of: &SealKeyName) -> Option<SaltKey> {
        self.secret("salts", of).map(|secret| SaltKey::new(&secret))
    }
}
