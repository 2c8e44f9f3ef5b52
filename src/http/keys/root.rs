//! The configured admin key, with which a service is first set up: a request that shows it acts as `root`.

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::digest;
use secrecy::{ExposeSecret as _, SecretString};

/// The stored form of the admin key: its SHA-256, so that a comparison takes the same time for any length.
pub struct RootKey(digest::Digest);

impl RootKey {
    /// The stored form of a key.
    pub fn new(key: &SecretString) -> Self {
        Self(digest::digest(
            &digest::SHA256,
            key.expose_secret().as_bytes(),
        ))
    }

    /// Whether a text is the key.
    pub fn is(&self, shown: &str) -> bool {
        let shown = digest::digest(&digest::SHA256, shown.as_bytes());
        verify_slices_are_equal(self.0.as_ref(), shown.as_ref()).is_ok()
    }
}

impl std::fmt::Debug for RootKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("RootKey")
    }
}
