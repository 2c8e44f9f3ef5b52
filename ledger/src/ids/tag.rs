//! Tags tell apart the histories in which a place was taken.

use serde::{Deserialize, Serialize};

use crate::chain::Digest;
use crate::time::Timestamp;

/// Tells the histories apart in which a place was taken: 30 bits that are drawn from what came before
/// and when. Ids from before there were tags have none.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Tag(u32);

impl Tag {
    /// The tag of ids that have none.
    pub const NONE: Self = Self(0);
    /// How many bits a tag has: six digits of base 32.
    pub(super) const BITS: u32 = 30;

    /// The tag of the place after a movement, taken at a time: known before what takes it.
    pub fn after(previous: Digest, at: Timestamp) -> Self {
        Self::drawn(u64::from_be_bytes(previous.first()) ^ at.millis())
    }

    /// The tag of what a record with these bytes publishes.
    pub fn of_record(bytes: &[u8], at: Timestamp) -> Self {
        Self::after(Digest::of(bytes), at)
    }

    fn drawn(from: u64) -> Self {
        // Times that are near each other differ in the high bits of the product.
        let mixed = from.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let [high @ .., _, _, _, _] = mixed.to_be_bytes();
        Self((u32::from_be_bytes(high) >> (u32::BITS - Self::BITS)).max(1))
    }

    /// Whether this is the tag of ids that have none.
    pub const fn is_none(&self) -> bool {
        self.0 == 0
    }

    /// Its 4 bytes, big-endian, as rows have them.
    pub const fn to_bytes(self) -> [u8; 4] {
        self.0.to_be_bytes()
    }

    /// Reads what [`Self::to_bytes`] wrote.
    pub const fn from_bytes(bytes: [u8; 4]) -> Self {
        Self(u32::from_be_bytes(bytes))
    }

    /// The tag as a number, for ids and for the hash of what has it.
    pub const fn number(self) -> u32 {
        self.0
    }

    /// The tag of a number of an id; `None` for what no tag is.
    pub(super) fn of_number(number: u128) -> Option<Self> {
        let tag = u32::try_from(number)
            .ok()
            .filter(|n| n >> Self::BITS == 0)?;
        Some(Self(tag)).filter(|tag| !tag.is_none())
    }
}
