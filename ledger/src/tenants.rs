//! Tenants, their two realms, their settings and their keys.

pub mod cells;
pub mod four_eyes;
mod generations;
pub mod moves;
pub mod orders;
mod platform;
pub mod restores;
pub mod scopes;

use serde::{Deserialize, Serialize};

use crate::chain::Digest;
use crate::cvu::Cbu;
use crate::fees::FeeRule;
use crate::ids::RealmId;
use crate::limits::{Limits, TotalLimits};
use crate::time::Timestamp;

pub use crate::ids::Mode;
pub use four_eyes::FourEyes;
pub use generations::{Generation, Generations};
pub use platform::Platform;
use scopes::{Network, Scope};

/// What a tenant has decided about its accounts. Everything is off unless it says otherwise.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct Policy {
    /// An account that has money cannot be closed.
    pub close_requires_zero_balance: bool,
    /// The test realm accepts CUITs with a wrong check digit.
    pub relaxed_test_cuit: bool,
    /// What operators do for it that takes a second person.
    #[serde(skip_serializing_if = "FourEyes::is_off")]
    pub four_eyes: FourEyes,
}

/// What a tenant's relation to the bank of one mode has of its own; what is `None` comes from the
/// platform's settings. Secrets stay in files: only their paths are kept.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct BankRelation {
    /// The collector account: the tenant's CVUs of this mode hang on it.
    pub collector: Option<Cbu>,
    /// The PSP code in its CVUs, a number from 1 to 9999; where it is known, a CVU of another PSP
    /// is not believed.
    pub psp_code: Option<u16>,
    /// The address of the bank's API.
    pub base_url: Option<String>,
    /// The tenant's user name at the bank.
    pub username: Option<String>,
    /// The path of the file that holds its password.
    pub password_file: Option<String>,
    /// The path of the file that holds the secret under which the bank signs its notices.
    pub notice_secret_file: Option<String>,
}

impl BankRelation {
    /// Whether everything comes from the platform's settings.
    pub fn is_usual(&self) -> bool {
        *self == Self::default()
    }
}

/// The relations of a tenant to its banks.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct BankRelations {
    /// Of its live realm.
    pub live: BankRelation,
    /// Of its test realm.
    pub test: BankRelation,
}

impl BankRelations {
    /// That of a mode.
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

    /// Whether everything comes from the platform's settings.
    pub fn are_usual(&self) -> bool {
        self.live.is_usual() && self.test.is_usual()
    }
}

/// A payment service provider.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Tenant {
    /// Its id, unique on the platform; it never changes.
    pub id: String,
    /// Its name for people.
    pub name: String,
    /// What it has decided about its accounts.
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
    #[serde(default, skip_serializing_if = "BankRelations::are_usual")]
    pub banks: BankRelations,
    /// The limits over the sum of its accounts.
    #[serde(default, skip_serializing_if = "TotalLimits::are_none")]
    pub total_limits: TotalLimits,
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

/// From which file a realm was filled.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RealmSource {
    /// What tells the file from every other: a digest of what it holds.
    pub file: Digest,
    /// The id of the store that the realm was in, in hexadecimal digits.
    pub store: String,
    /// The last commit of that store which the file knows.
    pub commit: u64,
    /// The latest time of an entry of that store up to then.
    pub at: Timestamp,
}

/// Whether a realm is served; [`moves`] has the steps between these.
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

/// What a generation of a realm is a copy of; [`restores`] has the steps.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RestorePoint {
    /// The generation that is copied.
    pub from: u32,
    /// The instant: nothing of the first commit that has something later, and nothing behind it.
    pub at: Timestamp,
    /// Nothing behind this commit either.
    pub until: u64,
}

/// What a copy of a realm came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Copied {
    /// How many entries it has.
    pub entries: u64,
    /// A digest over all of them in their order.
    pub digest: Digest,
}

/// Whether an operator wants a realm served.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Serving {
    /// Its clients are to be served.
    Open,
    /// They are not.
    Closed,
}

impl Serving {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Open, Self::Closed];

    /// The word on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Closed => "closed",
        }
    }
}

/// A key as it is kept: never the secret, only its keyed digest.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ApiKey {
    /// Its public id, part of the key itself.
    pub id: String,
    /// The tenant it speaks for.
    pub tenant: String,
    /// The realm it opens.
    pub mode: Mode,
    /// A name for people.
    pub label: Option<String>,
    /// HMAC-SHA-256 of the secret under the server's pepper.
    pub mac: Digest,
    /// When it was issued.
    pub created_at: Timestamp,
    /// The first instant at which it no longer works; `None` while it has no end.
    pub ends_at: Option<Timestamp>,
    /// Whether it was revoked: then it does not work whatever [`Self::ends_at`] says.
    pub revoked: bool,
    /// What it may do; everything when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scopes: Option<Vec<Scope>>,
    /// From where it may be used; from everywhere when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub networks: Vec<Network>,
    /// How long it works from its issue, in milliseconds, where that was said then. The next key of a
    /// rotation works as long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lifetime: Option<u64>,
}

impl ApiKey {
    /// Whether it works at an instant.
    pub fn works_at(&self, now: Timestamp) -> bool {
        !self.revoked && self.ends_at.is_none_or(|end| now < end)
    }

    /// Whether its end is the one that was said at its issue, or none.
    pub fn ends_as_issued(&self) -> bool {
        let planned = self.lifetime.map(|long| self.created_at.plus_millis(long));
        self.ends_at == planned
    }

    /// Whether it may do what needs a scope. What needs none that a key can have needs a key without
    /// scopes.
    pub fn may(&self, needed: Option<Scope>) -> bool {
        let Some(scopes) = &self.scopes else {
            return true;
        };
        needed.is_some_and(|needed| scopes.iter().any(|had| had.covers(needed)))
    }

    /// Whether it may be used from an address; from an unknown one only if it may from everywhere.
    pub fn may_come_from(&self, address: Option<std::net::IpAddr>) -> bool {
        self.networks.is_empty()
            || address.is_some_and(|from| self.networks.iter().any(|net| net.contains(from)))
    }
}
