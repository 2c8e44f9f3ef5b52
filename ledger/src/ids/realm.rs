//! The number of a realm.

use std::fmt;

use serde::{Deserialize, Serialize};

words! {
    /// Live or test: two worlds that share nothing.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Mode {
        /// Real money, at the bank of the tenant's live relation.
        Live = "live",
        /// Play money, at the bank of the tenant's test relation.
        Test = "test",
    }
}

/// The number of a shard: one of the services that share nothing, so that ids name the same thing in all of them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Shard(u16);

impl Shard {
    /// The largest number of a shard.
    pub const MAX: u16 = 4095;

    /// The shard with a number; `None` if it is too large.
    pub const fn new(number: u16) -> Option<Self> {
        if number <= Self::MAX {
            Some(Self(number))
        } else {
            None
        }
    }

    /// Its number.
    pub const fn number(self) -> u16 {
        self.0
    }
}

/// The number as API keys have it: three lower-case hexadecimal digits.
impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:03x}", self.0)
    }
}

/// How many bits the number of a realm in its shard has; the shard is above them.
const NUMBER_BITS: u32 = 17;
/// The largest number of a realm in its shard.
pub const REALM_MAX: u32 = 99_999;

/// The number of a realm (tenant × mode), unique over all shards: `shard × 2^17 + number`, with numbers from 1; 0 is the
/// platform.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RealmId(pub u32);

impl RealmId {
    /// The distance between the ids of the CVU records of two realms.
    pub const RECORDS: u64 = 10_000_000;

    /// The realm with a number in a shard.
    #[must_use]
    pub fn of(shard: Shard, number: u32) -> Self {
        Self(u32::from(shard.number()).wrapping_shl(NUMBER_BITS) | number)
    }

    /// The shard that created it; `None` if no shard can have.
    pub fn shard(self) -> Option<Shard> {
        let above = self.0.wrapping_shr(NUMBER_BITS);
        u16::try_from(above).ok().and_then(Shard::new)
    }

    /// Its number in its shard.
    pub const fn number(self) -> u32 {
        self.0 & ((1 << NUMBER_BITS) - 1)
    }

    /// Live realms have odd numbers, test realms even ones: [`crate::tenants::Platform`] assigns them in pairs.
    pub const fn mode(self) -> Mode {
        if self.0 % 2 == 1 {
            Mode::Live
        } else {
            Mode::Test
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::AccountNo;

    #[test]
    fn realms_of_all_shards_differ_and_their_ids_fit_into_every_number() {
        let last = Shard::new(Shard::MAX).unwrap();
        assert_eq!(Shard::new(Shard::MAX + 1), None);
        assert_eq!(
            (Shard::default().to_string(), last.to_string()),
            ("000".into(), "fff".into())
        );
        let mut seen = std::collections::BTreeSet::new();
        for shard in [0, 1, 2, 4094, 4095].map(|number| Shard::new(number).unwrap()) {
            for number in [1, 2, REALM_MAX - 1, REALM_MAX] {
                let realm = RealmId::of(shard, number);
                assert_eq!((realm.shard(), realm.number()), (Some(shard), number));
                assert_eq!(realm.mode() == Mode::Live, number % 2 == 1);
                for account in [1, RealmId::RECORDS - 1].map(AccountNo) {
                    assert!(seen.insert(account.cvu_record(realm)));
                }
            }
        }
        assert_eq!(RealmId::of(Shard::default(), 7), RealmId(7));
        assert!(seen.iter().all(|id| *id < 1 << 53));
        assert_eq!(RealmId(u32::MAX).shard(), None);
    }
}
