//! The configured admin key, with which a service is first set up: a request that shows it acts as `root`.

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::digest;
use secrecy::SecretString;

use crate::secret_lines::lines;

/// The stored form of the admin key: the SHA-256 of each of its lines, so that a comparison takes the same time for any
/// length.
pub struct RootKey(Vec<digest::Digest>);

impl RootKey {
    /// The stored form of a key, whose older lines are accepted, too.
    pub fn new(key: &SecretString) -> Self {
        let hash = |line: &str| digest::digest(&digest::SHA256, line.as_bytes());
        Self(lines(key).map(hash).collect())
    }

    /// Whether a text is the key. The use of an older one is logged.
    pub fn is(&self, shown: &str) -> bool {
        let shown = digest::digest(&digest::SHA256, shown.as_bytes());
        let fits =
            |line: &digest::Digest| verify_slices_are_equal(line.as_ref(), shown.as_ref()).is_ok();
        let place = self.0.iter().position(fits);
        if place.is_some_and(|place| place > 0) {
            tracing::info!(secret = "admin_key", "an older secret was used");
        }
        place.is_some()
    }
}

impl std::fmt::Debug for RootKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("RootKey")
    }
}
