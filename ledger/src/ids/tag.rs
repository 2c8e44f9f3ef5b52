//! Tags distinguish the histories in which a place was used.

use serde::{Deserialize, Serialize};

use crate::chain::Digest;
use crate::time::Timestamp;

/// Distinguishes the histories in which a place was used: 30 bits derived from the preceding
/// history and the time. Ids from before tags existed have none.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Tag(u32);

impl Tag {
    /// The value for ids without a tag.
    pub const NONE: Self = Self(0);
    /// How many bits a tag has: six digits of base 32.
    pub(super) const BITS: u32 = 30;

    /// The tag of the place after a movement, used at a time: known before the voucher that uses
    /// it.
    pub fn after(previous: Digest, at: Timestamp) -> Self {
        Self::drawn(u64::from_be_bytes(previous.first()) ^ at.millis())
    }

    /// The tag of events that a record with these bytes publishes.
    pub fn of_record(bytes: &[u8], at: Timestamp) -> Self {
        Self::after(Digest::of(bytes), at)
    }

    fn drawn(from: u64) -> Self {
        // Nearby times differ in the high bits of the product.
        let mixed = from.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let [high @ .., _, _, _, _] = mixed.to_be_bytes();
        Self((u32::from_be_bytes(high) >> (u32::BITS - Self::BITS)).max(1))
    }

    /// Whether there is no tag.
    pub const fn is_none(&self) -> bool {
        self.0 == 0
    }

    /// Its 4 bytes, big-endian, as in rows.
    pub const fn to_bytes(self) -> [u8; 4] {
        self.0.to_be_bytes()
    }

    /// Reads the bytes of [`Self::to_bytes`].
    pub const fn from_bytes(bytes: [u8; 4]) -> Self {
        Self(u32::from_be_bytes(bytes))
    }

    /// The tag as a number, for ids and for the hash of the voucher that has it.
    pub const fn number(self) -> u32 {
        self.0
    }

    /// The tag with this number in an id; `None` if that is not the number of a tag.
    pub(super) fn of_number(number: u128) -> Option<Self> {
        let tag = u32::try_from(number)
            .ok()
            .filter(|n| n >> Self::BITS == 0)?;
        Some(Self(tag)).filter(|tag| !tag.is_none())
    }
}
