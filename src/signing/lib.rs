//! Signatures as Standard Webhooks makes them: HMAC-SHA256 over `{id}.{timestamp}.{body}`, in base64 after `v1,`.

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// The header with the id of the message; the same at every attempt.
pub const ID: &str = "webhook-id";
/// The header with the time of the attempt, in seconds since 1970.
pub const TIMESTAMP: &str = "webhook-timestamp";
/// The header with the signatures, separated by spaces.
pub const SIGNATURE: &str = "webhook-signature";
/// The version of the signatures.
const VERSION: &str = "v1,";

/// The signed parts of a message, exactly as they are sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Message<'a> {
    /// The text of [`ID`].
    pub id: &'a str,
    /// The text of [`TIMESTAMP`].
    pub timestamp: &'a str,
    /// The bytes of the body, exactly as they are sent.
    pub body: &'a [u8],
}

impl Message<'_> {
    /// One signature, under the bytes of a secret.
    pub fn sign(&self, secret: &[u8]) -> String {
        format!("{VERSION}{}", STANDARD.encode(self.tag(secret)))
    }

    /// Whether one of the signatures fits; at most `most` of them are checked.
    pub fn is_signed(&self, secret: &[u8], signatures: &str, most: usize) -> bool {
        let right = self.tag(secret);
        let fits = |one: &str| {
            let tag = one.strip_prefix(VERSION);
            let tag = tag.and_then(|tag| STANDARD.decode(tag).ok());
            // Compares in constant time.
            tag.is_some_and(|tag| verify_slices_are_equal(right.as_ref(), &tag).is_ok())
        };
        signatures.split(' ').take(most).any(fits)
    }

    fn tag(&self, secret: &[u8]) -> hmac::Tag {
        let key = hmac::Key::new(hmac::HMAC_SHA256, secret);
        let mut signing = hmac::Context::with_key(&key);
        signing.update(self.id.as_bytes());
        signing.update(b".");
        signing.update(self.timestamp.as_bytes());
        signing.update(b".");
        signing.update(self.body);
        signing.sign()
    }
}
