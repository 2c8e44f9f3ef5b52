//! Secrets of several lines: the first is the newest and is used, and each is accepted. To replace a secret, put the new one
//! before the old one, and remove the old one when nobody uses it any more: no valid secret is refused in between.

use secrecy::{ExposeSecret as _, SecretString};

/// The most lines that a secret may have.
pub const LINES_MAX: usize = 4;

/// The lines of a secret, the newest first, without blanks around them; at most [`LINES_MAX`], none of them empty.
pub fn lines(secret: &SecretString) -> impl Iterator<Item = &str> {
    let all = secret.expose_secret().lines().map(str::trim);
    all.filter(|line| !line.is_empty()).take(LINES_MAX)
}

/// The newest line of a secret; empty if it has none.
pub fn newest(secret: &SecretString) -> &str {
    lines(secret).next().unwrap_or("")
}
