//! The number of a realm.

use serde::{Deserialize, Serialize};

/// Live or test: two worlds that share nothing.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Real money, at the bank of the tenant's live relation.
    Live,
    /// Play money, at the bank of the tenant's test relation.
    Test,
}

impl Mode {
    /// The word on the wire and in keys.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Test => "test",
        }
    }
}

/// How many bits a realm's number has in ids and CVUs.
const REALM_BITS: u32 = 20;
/// The largest number of a realm.
pub const REALM_MAX: u32 = (1 << REALM_BITS) - 1;

/// The number of a realm (tenant × mode), from 1; 0 is the platform.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RealmId(pub u32);

impl RealmId {
    /// How many client ids a realm has at the bank: those whose digits before the last seven are the realm's number.
    pub const CLIENTS: u64 = 10_000_000;

    /// Live realms have odd numbers, test realms even ones: [`crate::tenants::Platform`] assigns them in pairs.
    pub const fn mode(self) -> Mode {
        if self.0 % 2 == 1 {
            Mode::Live
        } else {
            Mode::Test
        }
    }
}
