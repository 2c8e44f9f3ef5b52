//! The keys of sealed days, made from the pepper: whoever has the journal or a backup of it cannot sign.
//!
//! **Shape.** A key is the HMAC-SHA-256, under the pepper, of what it is for, the realm's name and its generation. So
//! every node with the same pepper signs with the same key, and there is no other file to keep.
//!
//! **Order.** While there are older peppers, a key that a day has named is looked for under each of them, and a new key is
//! under the newest.

use aws_lc_rs::hmac;
use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair as _};
use caudal_actors::ports::seals::{DaySigner, SealKeyName};
use caudal_http::secret_lines::lines;
use caudal_ledger::days::SealKey;
use secrecy::SecretString;

/// Signs with keys that are made from the peppers, the newest first.
pub(super) struct PepperSigner(Vec<hmac::Key>);

impl std::fmt::Debug for PepperSigner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PepperSigner")
    }
}

fn secret(pepper: &hmac::Key, purpose: &str, of: &SealKeyName) -> Option<[u8; 32]> {
    let (origin, generation) = (&of.origin, of.generation);
    let label = format!("caudal sealed days\n{purpose}\n{origin}\n{generation}");
    hmac::sign(pepper, label.as_bytes())
        .as_ref()
        .try_into()
        .ok()
}

fn pair(pepper: &hmac::Key, of: &SealKeyName) -> Option<Ed25519KeyPair> {
    Ed25519KeyPair::from_seed_unchecked(&secret(pepper, "key", of)?).ok()
}

impl PepperSigner {
    /// The signer of a service with these peppers, one a line.
    pub(super) fn new(peppers: &SecretString) -> Self {
        let key = |line: &str| hmac::Key::new(hmac::HMAC_SHA256, line.as_bytes());
        Self(lines(peppers).map(key).collect())
    }

    /// The pair of a name, and the pepper that gives it.
    fn found(&self, of: &SealKeyName) -> Option<(&hmac::Key, Ed25519KeyPair)> {
        let pairs = self.0.iter().map(|pepper| (pepper, pair(pepper, of)));
        let mut pairs = pairs.filter_map(|(pepper, pair)| Some((pepper, pair?)));
        pairs.find(|(_, pair)| {
            let public = of.public.as_ref();
            public.is_none_or(|public| pair.public_key().as_ref() == public)
        })
    }
}

impl DaySigner for PepperSigner {
    fn key(&self, of: &SealKeyName) -> Option<SealKey> {
        let (_, pair) = self.found(of)?;
        Some(SealKey {
            generation: of.generation,
            public: pair.public_key().as_ref().try_into().ok()?,
        })
    }

    fn sign(&self, of: &SealKeyName, text: &[u8]) -> Option<[u8; 64]> {
        let (_, pair) = self.found(of)?;
        pair.sign(text).as_ref().try_into().ok()
    }

    fn salts(&self, of: &SealKeyName) -> Option<[u8; 32]> {
        let (pepper, _) = self.found(of)?;
        secret(pepper, "salts", of)
    }
}
