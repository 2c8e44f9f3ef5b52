//! Secrets of webhooks: their text, and their form in the store.
//!
//! A secret is `whsec_` and the base64 of random bytes, as Standard Webhooks has it. It must be read
//! again for each signature, so it cannot be kept as a digest: it is sealed with AES-256-GCM under a
//! key derived from the service's pepper, for one tenant. While the pepper is replaced, each of the peppers opens what
//! it sealed. Somebody who has the store but not the pepper has no
//! secret; a row that got to another tenant does not open.
//!
//! **Bytes on disk.** One byte of format, 12 of nonce, then the sealed bytes with their tag of 16.

use std::fmt;

use aws_lc_rs::aead::{AES_256_GCM, Aad, NONCE_LEN, Nonce, RandomizedNonceKey};
use aws_lc_rs::{hkdf, rand};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use caudal_actors::ports::webhooks::SealedSecret;
use secrecy::zeroize::Zeroize as _;
use secrecy::{ExposeSecret as _, SecretSlice, SecretString};

use crate::secret_lines::{lines, newest};

/// The prefix of the text of a secret.
pub const PREFIX: &str = "whsec_";
/// The fewest and the most bytes of a secret.
pub const BYTES: std::ops::RangeInclusive<usize> = 24..=64;
/// How many bytes a new secret has.
const NEW: usize = 32;
/// The only format.
const FORMAT: u8 = 1;
/// The purpose of the key: another use of the pepper derives another key.
const SALT: &[u8] = b"caudal";
const PURPOSE: &[u8] = b"secrets of webhooks, format 1";

/// Why a secret cannot be made, read, sealed or opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SealError {
    /// The text is not that of a secret.
    #[error("is no secret: it must be `whsec_` and the base64 of 24 to 64 bytes")]
    NoSecret,
    /// The sealed bytes were sealed under another pepper or for another tenant, or have changed.
    #[error("the secret cannot be unsealed: another pepper, another tenant, or damaged")]
    Sealed,
    /// The machine has no randomness, or its cryptography fails.
    #[error("the machine's cryptography fails")]
    Crypto,
}

/// A secret to sign with. `Debug` does not show it.
#[derive(Clone, Debug)]
pub struct SigningSecret(SecretSlice<u8>);

impl SigningSecret {
    /// A new secret.
    ///
    /// # Errors
    /// When the machine has no randomness.
    pub fn new() -> Result<Self, SealError> {
        let mut bytes = vec![0_u8; NEW];
        rand::fill(&mut bytes).map_err(|_| SealError::Crypto)?;
        Ok(Self(bytes.into()))
    }

    /// Reads the text of a secret.
    ///
    /// # Errors
    /// When the text is not that of a secret.
    pub fn parse(text: &str) -> Result<Self, SealError> {
        let bytes = text.strip_prefix(PREFIX);
        let bytes = bytes.and_then(|text| STANDARD.decode(text).ok());
        Self::of(bytes.ok_or(SealError::NoSecret)?)
    }

    fn of(mut bytes: Vec<u8>) -> Result<Self, SealError> {
        if BYTES.contains(&bytes.len()) {
            Ok(Self(bytes.into()))
        } else {
            bytes.zeroize();
            Err(SealError::NoSecret)
        }
    }

    /// The text of the secret, to be shown when it is made.
    pub fn text(&self) -> SecretString {
        let text = STANDARD.encode(self.bytes());
        format!("{PREFIX}{text}").into()
    }

    /// The bytes of the key that signs.
    pub fn bytes(&self) -> &[u8] {
        self.0.expose_secret()
    }
}

/// The key that a pepper gives.
fn derived(pepper: &str) -> Result<RandomizedNonceKey, SealError> {
    let derived = hkdf::Salt::new(hkdf::HKDF_SHA256, SALT).extract(pepper.as_bytes());
    let mut key = [0_u8; 32];
    let filled = derived
        .expand(&[PURPOSE], hkdf::HKDF_SHA256)
        .and_then(|derived| derived.fill(&mut key))
        .and_then(|()| RandomizedNonceKey::new(&AES_256_GCM, &key));
    key.zeroize();
    filled.map_err(|_| SealError::Crypto)
}

/// Seals secrets under the newest pepper, and opens those of each.
pub struct Sealer {
    newest: RandomizedNonceKey,
    older: Vec<RandomizedNonceKey>,
}

impl Sealer {
    /// A sealer under peppers of any length, one a line; 32 random bytes are right.
    ///
    /// # Errors
    /// When the machine's cryptography fails.
    pub fn new(peppers: &SecretString) -> Result<Self, SealError> {
        let older = lines(peppers).skip(1).map(derived);
        Ok(Self {
            newest: derived(newest(peppers))?,
            older: older.collect::<Result<_, _>>()?,
        })
    }

    /// Whether a sealed secret of a tenant opens, and only under an older pepper.
    pub fn needs_older(&self, tenant: &str, sealed: &[u8]) -> bool {
        let opens = |key| opened(key, tenant, sealed).is_ok();
        !opens(&self.newest) && self.older.iter().any(opens)
    }

    /// Seals a sealed secret of a tenant anew, if it needs an older pepper.
    pub fn anew(&self, tenant: &str, sealed: &[u8]) -> Option<SealedSecret> {
        let older = self.needs_older(tenant, sealed);
        let secret = self.open(tenant, sealed).ok().filter(|_| older)?;
        self.seal(tenant, &secret).ok()
    }

    /// Seals a secret of a tenant.
    ///
    /// # Errors
    /// When the machine has no randomness.
    pub fn seal(&self, tenant: &str, secret: &SigningSecret) -> Result<SealedSecret, SealError> {
        let mut text = secret.bytes().to_vec();
        let aad = Aad::from(tenant.as_bytes());
        let Ok(nonce) = self.newest.seal_in_place_append_tag(aad, &mut text) else {
            text.zeroize();
            return Err(SealError::Crypto);
        };
        Ok([&[FORMAT], nonce.as_ref().as_slice(), &text].concat())
    }

    /// Opens a secret of a tenant.
    ///
    /// # Errors
    /// [`SealError::Sealed`] when the bytes were not sealed for this tenant under one of the peppers.
    pub fn open(&self, tenant: &str, sealed: &[u8]) -> Result<SigningSecret, SealError> {
        let older = self.older.iter().map(|key| opened(key, tenant, sealed));
        opened(&self.newest, tenant, sealed).or_else(|why| older.flatten().next().ok_or(why))
    }
}

/// Opens a secret of a tenant with the key of one pepper.
fn opened(
    key: &RandomizedNonceKey,
    tenant: &str,
    sealed: &[u8],
) -> Result<SigningSecret, SealError> {
    let rest = sealed.strip_prefix(&[FORMAT]).ok_or(SealError::Sealed)?;
    let (nonce, text) = rest
        .split_first_chunk::<NONCE_LEN>()
        .ok_or(SealError::Sealed)?;
    let mut text = text.to_vec();
    let aad = Aad::from(tenant.as_bytes());
    let opened = key.open_in_place(Nonce::from(nonce), aad, &mut text);
    let opened = opened.map(|bytes| bytes.to_vec());
    text.zeroize();
    SigningSecret::of(opened.map_err(|_| SealError::Sealed)?)
}

impl fmt::Debug for Sealer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sealer")
    }
}
