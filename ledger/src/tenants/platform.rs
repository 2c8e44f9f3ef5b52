//! All tenants and keys, derived from the platform's facts.

use std::collections::BTreeMap;

use super::test_clock::TestClock;
use super::{ApiKey, Mode, RealmState, Tenant};
use crate::facts::PlatformFact;
use crate::fees::FeeRule;
use crate::ids::{RealmId, Shard};
use crate::limits::Limits;
use crate::rejection::Rejection;
use crate::time::Timestamp;

/// All tenants and keys, and the platform's own settings.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Platform {
    /// All tenants, by [`Tenant::id`].
    pub tenants: BTreeMap<String, Tenant>,
    /// All keys, including those that have ended, by [`ApiKey::id`].
    pub keys: BTreeMap<String, ApiKey>,
    /// Limits for tenants without their own.
    pub limits: Limits,
    /// Fees for tenants without their own.
    pub fees: Vec<FeeRule>,
    /// The last confirmation of the clock by a person: the clock's time, and the time assumed until
    /// then.
    pub clock: Option<(Timestamp, Timestamp)>,
    /// The states of realms for which a fact exists.
    pub(super) states: BTreeMap<RealmId, RealmState>,
    /// The clocks of test realms that were advanced.
    pub(super) clocks: BTreeMap<RealmId, TestClock>,
}

impl Platform {
    /// How many keys of one tenant and mode may work at a time.
    pub const KEYS_MAX: usize = 50;

    /// The realms of the next tenant of a shard, live and test. Tenants of other shards, which were imported, do not
    /// count.
    pub fn next_realms(&self, shard: Shard) -> (RealmId, RealmId) {
        let own = self.tenants.values().map(|tenant| tenant.test);
        let own = own.filter(|realm| realm.shard() == Some(shard));
        let last = own.map(RealmId::number).max().unwrap_or(0);
        let live = last.saturating_add(1);
        let test = live.saturating_add(1);
        (RealmId::of(shard, live), RealmId::of(shard, test))
    }

    /// The tenant with an id.
    ///
    /// # Errors
    /// When there is none.
    pub fn tenant(&self, id: &str) -> Result<&Tenant, Rejection> {
        self.tenants.get(id).ok_or(Rejection::TenantNotFound)
    }

    /// Whether a tenant's policy needs a second person for anything. Then changes of bank relations and live keys do for
    /// every tenant: with a key of another tenant that shares the collector account, one person could move the money.
    pub fn has_four_eyes(&self) -> bool {
        self.tenants
            .values()
            .any(|tenant| !tenant.policy.four_eyes.is_off())
    }

    /// Decides whether a tenant may have another key of a mode.
    ///
    /// # Errors
    /// When there is no such tenant, or it already has [`Self::KEYS_MAX`] working keys of that
    /// mode.
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

    /// Decides the end of a key: at once when revoked, later when rotated. An end that was already
    /// set is never postponed.
    ///
    /// # Errors
    /// When there is no such key, or the key to be rotated no longer works.
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
        // An end that was already set is never postponed.
        let at = key.ends_at.map_or(at, |end| end.min(at));
        Ok(PlatformFact::KeyEnds {
            id: id.to_owned(),
            at,
            revoked,
        })
    }

    /// Applies a fact.
    pub fn apply(&mut self, fact: &PlatformFact) {
        match fact {
            PlatformFact::TenantCreated(tenant) => {
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
                provider,
            } => {
                if let Some(tenant) = self.tenants.get_mut(id) {
                    tenant.name.clone_from(name);
                    tenant.policy = *policy;
                    tenant.limits = *limits;
                    tenant.total_limits = *total_limits;
                    tenant.fees.clone_from(fees);
                    tenant.provider.clone_from(provider);
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
            PlatformFact::RealmChanged { id, mode, state } => {
                if let Some(tenant) = self.tenants.get(id) {
                    self.states.insert(tenant.realm(*mode), state.clone());
                }
            }
            PlatformFact::CollectorRulesSet { id, rules } => {
                if let Some(tenant) = self.tenants.get_mut(id) {
                    tenant.collector_rules.clone_from(rules);
                }
            }
            PlatformFact::SealKeysRotated { id, generation } => {
                if let Some(tenant) = self.tenants.get_mut(id) {
                    tenant.seal_generation = *generation;
                }
            }
            PlatformFact::TestClockAdvanced { id, advance } => {
                if let Some(tenant) = self.tenants.get(id) {
                    self.clocks.entry(tenant.test).or_default().0.push(*advance);
                }
            }
        }
    }
}
