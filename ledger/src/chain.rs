//! The hash chain of one CVU's movements: `h[n] = SHA-256(h[n-1] ‖ canonical(voucher n))`.

use std::fmt;

use aws_lc_rs::digest;
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A SHA-256 digest, 32 bytes; all zeros before the first movement.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Digest(pub [u8; 32]);

/// Collects a canonical form: every field with its length, in one fixed order, so that two
/// different values never share a form. The order is part of the format and never changes.
#[derive(Clone, Default)]
pub struct Canonical(Vec<u8>);

impl Canonical {
    /// Begins with the digest of the movement before.
    pub fn after(previous: Digest) -> Self {
        let mut bytes = Vec::with_capacity(320);
        bytes.extend_from_slice(&previous.0);
        Self(bytes)
    }

    /// Adds a whole number: 8 bytes, big-endian.
    #[must_use]
    pub fn number(mut self, value: i64) -> Self {
        self.0.extend_from_slice(&value.to_be_bytes());
        self
    }

    /// Adds a text: its length in bytes (4 bytes, big-endian), then the text in UTF-8.
    #[must_use]
    pub fn text(mut self, value: &str) -> Self {
        #[expect(
            clippy::expect_used,
            reason = "two texts of one length would share a form"
        )]
        let length = u32::try_from(value.len()).expect("a text of less than 4 GiB");
        self.0.extend_from_slice(&length.to_be_bytes());
        self.0.extend_from_slice(value.as_bytes());
        self
    }

    /// Adds a text that may be absent, which is not the same as empty.
    #[must_use]
    pub fn optional(self, value: Option<&str>) -> Self {
        match value {
            Some(text) => self.number(1).text(text),
            None => self.number(0),
        }
    }

    /// The SHA-256 digest of everything that was added.
    pub fn digest(self) -> Digest {
        Digest::of(&self.0)
    }
}

impl Digest {
    /// The SHA-256 digest of some bytes.
    pub fn of(bytes: &[u8]) -> Self {
        let hash = digest::digest(&digest::SHA256, bytes);
        #[expect(
            clippy::expect_used,
            reason = "SHA-256 gives 32 bytes; zeros instead would begin a chain"
        )]
        let digest = hash.as_ref().try_into().expect("a digest of 32 bytes");
        Self(digest)
    }

    /// Its first bytes, at most 32, from which shorter names are derived.
    #[expect(clippy::expect_used, reason = "more than 32 bytes do not compile")]
    pub fn first<const N: usize>(&self) -> [u8; N] {
        const { assert!(N <= 32, "a digest has 32 bytes") };
        *self.0.first_chunk().expect("the beginning of 32 bytes")
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Bytes;
        impl Visitor<'_> for Bytes {
            type Value = Digest;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("32 bytes")
            }
            fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Digest, E> {
                bytes
                    .try_into()
                    .map(Digest)
                    .map_err(|_| E::invalid_length(bytes.len(), &self))
            }
        }
        deserializer.deserialize_bytes(Bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_that_of_its_bytes_and_begins_with_its_first() {
        let digest = Digest::of(b"abc");
        assert_eq!(
            digest.to_string(),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
        assert_eq!(digest.first(), [0xba, 0x78, 0x16, 0xbf]);
        assert_ne!(Digest::of(b""), Digest::default());
    }
}
