//! Tenants, their two realms, their settings and their keys.

mod clocks;
pub mod four_eyes;
pub mod moves;
pub mod orders;
mod platform;
pub mod scopes;
pub mod test_clock;

use serde::{Deserialize, Serialize};

use crate::chain::Digest;
use crate::collector::CollectorRule;
use crate::cuit::Cuit;
use crate::cvu::Cbu;
use crate::fees::FeeRule;
use crate::ids::{PepperId, RealmId};
use crate::limits::{Limits, TotalLimits};
use crate::time::Timestamp;

pub use crate::ids::Mode;
pub use four_eyes::FourEyes;
pub use platform::Platform;
use scopes::{Network, Scope};

/// A tenant's decisions about its accounts. Everything is off by default.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct Policy {
    /// An account that still has money cannot be closed.
    pub close_requires_zero_balance: bool,
    /// The test realm accepts CUITs with a wrong check digit.
    pub relaxed_test_cuit: bool,
    /// The operations by operators that need a second person.
    #[serde(skip_serializing_if = "FourEyes::is_off")]
    pub four_eyes: FourEyes,
}

/// The longest name of the file of a secret, in characters.
pub const SECRET_NAME_MAX: usize = 100;

/// Whether a text is the name of the file of a secret: 1 to [`SECRET_NAME_MAX`] letters, digits, dots, dashes and
/// underscores, the first a letter or a digit. So it is neither a path nor `.` or `..`.
pub fn is_secret_name(text: &str) -> bool {
    let good = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
    let begins = text.bytes().next();
    begins.is_some_and(|b| b.is_ascii_alphanumeric())
        && text.len() <= SECRET_NAME_MAX
        && text.bytes().all(good)
}

impl Policy {
    /// What one of two policies forbids or leaves to a second person.
    #[must_use]
    pub fn stricter(self, other: Self) -> Self {
        Self {
            close_requires_zero_balance: self.close_requires_zero_balance
                || other.close_requires_zero_balance,
            relaxed_test_cuit: self.relaxed_test_cuit && other.relaxed_test_cuit,
            four_eyes: self.four_eyes.stricter(other.four_eyes),
        }
    }
}

words! {
    /// The API that a bank has; each has a gateway of its own.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum BankKind {
        /// API BANK of Banco Industrial.
        #[default]
        ApiBank = "api_bank",
    }
}

/// A tenant's own settings for the bank of one mode; fields that are `None` come from the
/// platform's settings. Secrets stay in files: only their names are stored.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct BankRelation {
    /// Which API the bank has.
    #[serde(skip_serializing_if = "crate::words::is_default")]
    pub kind: BankKind,
    /// The collector account, to which the tenant's CVUs of this mode belong.
    pub collector: Option<Cbu>,
    /// The PSP code in its CVUs, a number from 1 to 9999; if it is known, a CVU with another PSP
    /// code is not accepted.
    pub psp_code: Option<u16>,
    /// The address of the bank's API.
    pub base_url: Option<String>,
    /// The tenant's user name at the bank.
    pub username: Option<String>,
    /// The name of the file that holds its password.
    pub password_file: Option<String>,
    /// The name of the file that holds the secret with which the bank signs its notices.
    pub notice_secret_file: Option<String>,
}

impl BankRelation {
    /// Whether all settings come from the platform.
    pub fn is_usual(&self) -> bool {
        *self == Self::default()
    }
}

/// The relations of a tenant to its banks.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct BankRelations {
    /// Its relation for the live realm.
    pub live: BankRelation,
    /// Its relation for the test realm.
    pub test: BankRelation,
}

impl BankRelations {
    /// The relation for a mode.
    pub const fn of(&self, mode: Mode) -> &BankRelation {
        match mode {
            Mode::Live => &self.live,
            Mode::Test => &self.test,
        }
    }

    const fn of_mut(&mut self, mode: Mode) -> &mut BankRelation {
        match mode {
            Mode::Live => &mut self.live,
            Mode::Test => &mut self.test,
        }
    }
}

/// What statements state of a payment service provider besides its name.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Provider {
    /// Its tax id.
    pub cuit: Option<Cuit>,
    /// Its registered address, in one line.
    pub address: Option<String>,
}

/// A payment service provider.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Tenant {
    /// Its id, unique on the platform; it never changes.
    pub id: String,
    /// Its name for people.
    pub name: String,
    /// Its policy for its accounts.
    pub policy: Policy,
    /// The limits that its accounts inherit.
    pub limits: Limits,
    /// The fee schedule that its accounts inherit.
    pub fees: Vec<FeeRule>,
    /// The realm of its live keys.
    pub live: RealmId,
    /// The realm of its test keys.
    pub test: RealmId,
    /// When it was created.
    pub created_at: Timestamp,
    /// Its relations to the banks of both modes.
    #[serde(default, skip_serializing_if = "crate::words::is_default")]
    pub banks: BankRelations,
    /// The limits on the sum over its accounts.
    #[serde(default, skip_serializing_if = "crate::words::is_default")]
    pub total_limits: TotalLimits,
    /// Its rules for the movements of its collector accounts, the first that takes one counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub collector_rules: Vec<CollectorRule>,
    /// Which keys sign the closed days of its realms, from 1. A closed day hands over to a new key.
    #[serde(default = "first_generation", skip_serializing_if = "is_first")]
    pub seal_generation: u32,
    /// What its statements state of it besides its name.
    #[serde(default, skip_serializing_if = "crate::words::is_default")]
    pub provider: Provider,
}

const fn first_generation() -> u32 {
    1
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
const fn is_first(generation: &u32) -> bool {
    *generation == first_generation()
}

impl Tenant {
    /// The realm of a mode.
    pub const fn realm(&self, mode: Mode) -> RealmId {
        match mode {
            Mode::Live => self.live,
            Mode::Test => self.test,
        }
    }
}

/// The file from which a realm was filled.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RealmSource {
    /// A digest of the file's content, which identifies it.
    pub file: Digest,
    /// The id of the store from which the realm was exported, in hexadecimal digits.
    pub store: String,
    /// The last commit of that store that the file contains.
    pub commit: u64,
    /// The latest time of an entry of that store up to then.
    pub at: Timestamp,
}

/// Whether a realm is served; [`moves`] has the transitions between these states.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum RealmState {
    /// Its clients are served.
    Open,
    /// It is being filled from a file.
    Importing(RealmSource),
    /// It was filled from a file, and waits to be opened.
    Imported(RealmSource),
    /// An operator closed it.
    Closed,
}

words! {
    /// Whether an operator wants a realm served.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub enum Serving {
        /// Its clients are to be served.
        Open = "open",
        /// Its clients are not to be served.
        Closed = "closed",
    }
}

/// A key as it is stored: never the secret, only its keyed digest.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ApiKey {
    /// Its public id, part of the key itself.
    pub id: String,
    /// The tenant to which it belongs.
    pub tenant: String,
    /// The mode of the realm that it opens.
    pub mode: Mode,
    /// Its name for people.
    pub label: Option<String>,
    /// HMAC-SHA-256 of the secret under the server's pepper.
    pub mac: Digest,
    /// The pepper under which it was made; `None` if that was not recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pepper: Option<PepperId>,
    /// When it was issued.
    pub created_at: Timestamp,
    /// The first instant at which it no longer works; `None` if it has no end.
    pub ends_at: Option<Timestamp>,
    /// Whether it was revoked: then it does not work, whatever [`Self::ends_at`] is.
    pub revoked: bool,
    /// The scopes that it has; without this field, it may do everything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scopes: Option<Vec<Scope>>,
    /// The networks from which it may be used; if empty, from everywhere.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub networks: Vec<Network>,
    /// How long it works from its issue, in milliseconds, if that was specified then. The next key
    /// of a rotation works for the same time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lifetime: Option<u64>,
}

impl ApiKey {
    /// Whether it works at an instant.
    pub fn works_at(&self, now: Timestamp) -> bool {
        !self.revoked && self.ends_at.is_none_or(|end| now < end)
    }

    /// Whether its end is still the one set at its issue, if any.
    pub fn ends_as_issued(&self) -> bool {
        let planned = self.lifetime.map(|long| self.created_at.plus_millis(long));
        self.ends_at == planned
    }

    /// Whether it may do an operation that needs this scope. An operation that no scope covers
    /// needs a key without scopes.
    pub fn may(&self, needed: Option<Scope>) -> bool {
        let Some(scopes) = &self.scopes else {
            return true;
        };
        needed.is_some_and(|needed| scopes.iter().any(|had| had.covers(needed)))
    }

    /// Whether it may be used from an address; from an unknown one only if it may be used from
    /// everywhere.
    pub fn may_come_from(&self, address: Option<std::net::IpAddr>) -> bool {
        self.networks.is_empty()
            || address.is_some_and(|from| self.networks.iter().any(|net| net.contains(from)))
    }
}
