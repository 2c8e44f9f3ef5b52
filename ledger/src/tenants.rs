//! Tenants, their two realms, their settings and their keys.

pub mod orders;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::chain::Digest;
use crate::cvu::Cbu;
use crate::facts::PlatformFact;
use crate::fees::FeeRule;
use crate::ids::RealmId;
use crate::limits::{Limits, TotalLimits};
use crate::rejection::Rejection;
use crate::time::Timestamp;

/// Live or test: two worlds that share nothing.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Real money.
    Live,
    /// The sandbox bank.
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

/// What a tenant has decided about its accounts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct Policy {
    /// An account that has money cannot be closed.
    pub close_requires_zero_balance: bool,
    /// The test realm accepts CUITs with a wrong check digit.
    pub relaxed_test_cuit: bool,
}

/// What a tenant's relation to the bank of one mode has of its own; what is `None` comes from the
/// platform's settings. Secrets stay in files: only their paths are kept.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct BankRelation {
    /// The collector account: the tenant's CVUs of this mode hang on it.
    pub collector: Option<Cbu>,
    /// The PSP code in its CVUs, 1 to 9999; where it is known, a CVU of another PSP is not believed.
    pub psp_code: Option<u16>,
    /// Where the bank's API is.
    pub base_url: Option<String>,
    /// The tenant's user there.
    pub username: Option<String>,
    /// The file that holds its password.
    pub password_file: Option<String>,
    /// The file that holds the secret under which the bank signs its notices.
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
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its policy.
    pub policy: Policy,
    /// Its limits.
    pub limits: Limits,
    /// Its fees.
    pub fees: Vec<FeeRule>,
    /// The realm of its live keys.
    pub live: RealmId,
    /// The realm of its test keys.
    pub test: RealmId,
    /// When it was created.
    pub created_at: Timestamp,
    /// What its banks are.
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
    /// The first instant at which it no longer works.
    pub ends_at: Option<Timestamp>,
    /// Whether it was revoked.
    pub revoked: bool,
}

impl ApiKey {
    /// Whether it works at an instant.
    pub fn works_at(&self, now: Timestamp) -> bool {
        !self.revoked && self.ends_at.is_none_or(|end| now < end)
    }
}

/// All tenants and keys, and the platform's own settings.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Platform {
    /// Tenants by id.
    pub tenants: BTreeMap<String, Tenant>,
    /// Keys by id.
    pub keys: BTreeMap<String, ApiKey>,
    /// Limits for tenants that have none of their own.
    pub limits: Limits,
    /// Fees for tenants that have none of their own.
    pub fees: Vec<FeeRule>,
    /// What a person last confirmed of the clock: what it said, and what was believed until then.
    pub clock: Option<(Timestamp, Timestamp)>,
    realms: u32,
}

impl Platform {
    /// The most keys of one tenant and mode that work at the same time.
    pub const KEYS_MAX: usize = 50;

    /// The realms that the next tenant gets, live and test.
    pub fn next_realms(&self) -> (RealmId, RealmId) {
        let live = self.realms.saturating_add(1);
        (RealmId(live), RealmId(live.saturating_add(1)))
    }

    /// The tenant of that id.
    pub fn tenant(&self, id: &str) -> Result<&Tenant, Rejection> {
        self.tenants.get(id).ok_or(Rejection::TenantNotFound)
    }

    /// Decides whether a tenant may have another key.
    pub fn may_issue(&self, tenant: &str, mode: Mode, now: Timestamp) -> Result<(), Rejection> {
        self.tenant(tenant)?;
        let working = |key: &&ApiKey| key.tenant == tenant && key.mode == mode && key.works_at(now);
        if self.keys.values().filter(working).count() >= Self::KEYS_MAX {
            return Err(Rejection::TooManyKeys {
                maximum: Self::KEYS_MAX,
            });
        }
        Ok(())
    }

    /// Decides the end of a key: at once when revoked, later when rotated.
    pub fn decide_end(
        &self,
        id: &str,
        at: Timestamp,
        revoked: bool,
        now: Timestamp,
    ) -> Result<PlatformFact, Rejection> {
        let key = self.keys.get(id).ok_or(Rejection::KeyNotFound)?;
        if !revoked && !key.works_at(now) {
            return Err(Rejection::KeyNotActive);
        }
        // An end that was set before is never put off.
        let at = key.ends_at.map_or(at, |end| end.min(at));
        Ok(PlatformFact::KeyEnds {
            id: id.to_owned(),
            at,
            revoked,
        })
    }

    /// Takes in what happened.
    pub fn apply(&mut self, fact: &PlatformFact) {
        match fact {
            PlatformFact::TenantCreated(tenant) => {
                self.realms = self.realms.max(tenant.live.0).max(tenant.test.0);
                self.tenants
                    .insert(tenant.id.clone(), Tenant::clone(tenant));
            }
            PlatformFact::TenantChanged {
                id,
                name,
                policy,
                limits,
                fees,
                total_limits,
            } => {
                if let Some(tenant) = self.tenants.get_mut(id) {
                    tenant.name.clone_from(name);
                    tenant.policy = *policy;
                    tenant.limits = *limits;
                    tenant.total_limits = *total_limits;
                    tenant.fees.clone_from(fees);
                }
            }
            PlatformFact::KeyIssued(key) => {
                self.keys.insert(key.id.clone(), key.clone());
            }
            PlatformFact::KeyEnds { id, at, revoked } => {
                if let Some(key) = self.keys.get_mut(id) {
                    key.ends_at = Some(*at);
                    key.revoked = key.revoked || *revoked;
                }
            }
            PlatformFact::ClockConfirmed(word) => {
                self.clock = Some((word.says, word.believed));
            }
            PlatformFact::PlatformChanged { limits, fees } => {
                self.limits = *limits;
                self.fees.clone_from(fees);
            }
            PlatformFact::BankRelated { id, mode, relation } => {
                if let Some(tenant) = self.tenants.get_mut(id) {
                    tenant.banks.of_mut(*mode).clone_from(relation);
                }
            }
        }
    }
}
