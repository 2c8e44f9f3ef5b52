//! Orders to the platform, and the facts that follow from them.

use super::{
    ApiKey, BankRelation, BankRelations, Mode, Platform, Policy, Provider, Serving, Tenant,
};
use crate::collector::CollectorRule;
use crate::facts::{ClockWord, PlatformFact};
use crate::fees::FeeRule;
use crate::ids::{REALM_MAX, Shard};
use crate::limits::{Limits, TotalLimits};
use crate::rejection::Rejection;
use crate::time::Timestamp;

/// A change of a tenant: fields that are `None` stay.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TenantChange {
    /// Another name for people.
    pub name: Option<String>,
    /// Another policy, replacing the old one as a whole.
    pub policy: Option<Policy>,
    /// The limits that its accounts inherit, replaced as a whole.
    pub limits: Option<Limits>,
    /// The limits on the sum over its accounts, replaced as a whole.
    pub total_limits: Option<TotalLimits>,
    /// The fee schedule that its accounts inherit, replaced as a whole.
    pub fees: Option<Vec<FeeRule>>,
    /// What its statements state of it besides its name, replaced as a whole.
    pub provider: Option<Provider>,
    /// Its relation to the bank of live keys, replaced as a whole.
    pub live_bank: Option<BankRelation>,
    /// Its relation to the bank of test keys, replaced as a whole.
    pub test_bank: Option<BankRelation>,
    /// Whether the realm of live keys is served.
    pub live: Option<Serving>,
    /// Whether the realm of test keys is served.
    pub test: Option<Serving>,
}

impl TenantChange {
    /// Whether the change serves the realm of a mode.
    pub const fn serving(&self, mode: Mode) -> Option<Serving> {
        match mode {
            Mode::Live => self.live,
            Mode::Test => self.test,
        }
    }

    /// The tenant after the change. Whether its realms are served is no part of a tenant.
    pub fn over(self, old: &Tenant) -> Tenant {
        Tenant {
            name: self.name.unwrap_or_else(|| old.name.clone()),
            policy: self.policy.unwrap_or(old.policy),
            limits: self.limits.unwrap_or(old.limits),
            total_limits: self.total_limits.unwrap_or(old.total_limits),
            fees: self.fees.unwrap_or_else(|| old.fees.clone()),
            provider: self.provider.unwrap_or_else(|| old.provider.clone()),
            banks: BankRelations {
                live: self.live_bank.unwrap_or_else(|| old.banks.live.clone()),
                test: self.test_bank.unwrap_or_else(|| old.banks.test.clone()),
            },
            ..old.clone()
        }
    }
}

/// The order to create a tenant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewTenant {
    /// The shard of the service that creates it.
    pub shard: Shard,
    /// Its id, unique among tenants.
    pub id: String,
    /// Its name for people.
    pub name: String,
    /// Its policy for its accounts.
    pub policy: Policy,
    /// The limits that its accounts inherit.
    pub limits: Limits,
    /// The limits on the sum over its accounts.
    pub total_limits: TotalLimits,
    /// The fee schedule that its accounts inherit.
    pub fees: Vec<FeeRule>,
    /// Its relations to the banks of both modes.
    pub banks: BankRelations,
    /// What its statements state of it besides its name.
    pub provider: Provider,
}

impl NewTenant {
    /// A tenant that sets nothing of its own; its name is its id.
    pub fn plain(id: impl Into<String>) -> Self {
        let id = id.into();
        Self {
            shard: Shard::default(),
            name: id.clone(),
            id,
            policy: Policy::default(),
            limits: Limits::default(),
            total_limits: TotalLimits::default(),
            fees: Vec::new(),
            banks: BankRelations::default(),
            provider: Provider::default(),
        }
    }
}

/// An operator's order to the platform.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PlatformOrder {
    /// Create a tenant with a live and a test realm.
    CreateTenant(NewTenant),
    /// Change the tenant with this id.
    ChangeTenant(String, TenantChange),
    /// Issue a key; only the door knows its secret. If the key has an end, that sets its lifetime.
    IssueKey(ApiKey),
    /// Issue a key in place of another, which keeps working for a while.
    RotateKey {
        /// The public id of the key to be replaced.
        id: String,
        /// The new key; its tenant, mode, label, scopes, networks and lifetime are taken from the old
        /// one.
        new: ApiKey,
        /// How long the old key keeps working, in milliseconds.
        overlap: u64,
    },
    /// End the key with this public id at once.
    RevokeKey(String),
    /// Trust the machine's clock, because a person says that it is right.
    ConfirmClock(ClockWord),
    /// Set the limits and fees of tenants without their own.
    ChangePlatform {
        /// Limits, when they change.
        limits: Option<Limits>,
        /// Fees, when they change.
        fees: Option<Vec<FeeRule>>,
    },
    /// Set the rules of the tenant with this id for the movements of its collector accounts, as a whole.
    SetCollectorRules(String, Vec<CollectorRule>),
    /// Let new keys sign the closed days of the tenant with this id.
    RotateSealKeys(String),
    /// Put the clock of the test realm of the tenant with this id this many days ahead of the machine's. It never goes
    /// back, and is at most [`DAYS_AHEAD_MAX`](super::test_clock::DAYS_AHEAD_MAX) ahead.
    AdvanceTestClock(String, u32),
}

impl Platform {
    /// Decides an order.
    ///
    /// # Errors
    /// When a tenant to be created exists or another one does not exist, there are too many tenants or keys, a
    /// key does not exist, a key has ended, or a realm is incomplete.
    pub fn decide(
        &self,
        order: PlatformOrder,
        now: Timestamp,
    ) -> Result<Vec<PlatformFact>, Rejection> {
        match order {
            PlatformOrder::CreateTenant(new) => self.create(new, now),
            PlatformOrder::ChangeTenant(id, change) => {
                let mut facts = self.served(&id, &change)?;
                facts.extend(changed(self.tenant(&id)?, change));
                Ok(facts)
            }
            PlatformOrder::IssueKey(key) => {
                self.may_issue(&key.tenant, key.mode, now)?;
                let lifetime = key
                    .ends_at
                    .and_then(|end| end.millis().checked_sub(now.millis()));
                Ok(vec![PlatformFact::KeyIssued(ApiKey {
                    created_at: now,
                    lifetime,
                    ..key
                })])
            }
            PlatformOrder::RotateKey { id, new, overlap } => {
                let end = self.decide_end(&id, now.plus_millis(overlap), false, now)?;
                let old = self.keys.get(&id).ok_or(Rejection::KeyNotFound)?;
                self.may_issue(&old.tenant, old.mode, now)?;
                let key = ApiKey {
                    id: new.id,
                    mac: new.mac,
                    pepper: new.pepper,
                    created_at: now,
                    ends_at: old.lifetime.map(|long| now.plus_millis(long)),
                    revoked: false,
                    ..old.clone()
                };
                Ok(vec![end, PlatformFact::KeyIssued(key)])
            }
            PlatformOrder::RevokeKey(id) => Ok(vec![self.decide_end(&id, now, true, now)?]),
            PlatformOrder::ConfirmClock(word) => Ok(vec![PlatformFact::ClockConfirmed(word)]),
            PlatformOrder::ChangePlatform { limits, fees } => {
                let limits = limits.unwrap_or(self.limits);
                let fees = fees.unwrap_or_else(|| self.fees.clone());
                Ok(vec![PlatformFact::PlatformChanged { limits, fees }])
            }
            PlatformOrder::SetCollectorRules(id, rules) => {
                self.tenant(&id)?;
                Ok(vec![PlatformFact::CollectorRulesSet { id, rules }])
            }
            PlatformOrder::RotateSealKeys(id) => {
                let generation = self.tenant(&id)?.seal_generation.strict_add(1);
                Ok(vec![PlatformFact::SealKeysRotated { id, generation }])
            }
            PlatformOrder::AdvanceTestClock(id, days) => {
                Ok(self.advance_clock(&id, days, now)?.into_iter().collect())
            }
        }
    }

    /// Creates a tenant with its two realms.
    fn create(&self, new: NewTenant, now: Timestamp) -> Result<Vec<PlatformFact>, Rejection> {
        if self.tenants.contains_key(&new.id) {
            return Err(Rejection::TenantTaken);
        }
        let (live, test) = self.next_realms(new.shard);
        if test.number() > REALM_MAX {
            return Err(Rejection::TooManyTenants);
        }
        let tenant = Tenant {
            id: new.id,
            name: new.name,
            policy: new.policy,
            limits: new.limits,
            fees: new.fees,
            live,
            test,
            created_at: now,
            banks: new.banks,
            total_limits: new.total_limits,
            collector_rules: Vec::new(),
            seal_generation: 1,
            provider: new.provider,
        };
        Ok(vec![PlatformFact::TenantCreated(Box::new(tenant))])
    }
}

impl Platform {
    /// The facts by which a change opens or closes a tenant's realms; none if they already are in that state.
    fn served(&self, id: &str, change: &TenantChange) -> Result<Vec<PlatformFact>, Rejection> {
        let tenant = self.tenant(id)?;
        let mut facts = Vec::new();
        for mode in [Mode::Live, Mode::Test] {
            let state = self.state(tenant.realm(mode)).as_str();
            let wanted = change.serving(mode);
            let Some(wanted) = wanted.filter(|wanted| wanted.as_str() != state) else {
                continue;
            };
            let fact = match wanted {
                Serving::Open => self.open_realm(id, mode),
                Serving::Closed => self.close_realm(id, mode),
            };
            facts.push(fact.map_err(|_| Rejection::RealmImporting)?);
        }
        Ok(facts)
    }
}

/// The facts of a change of a tenant. Unchanged relations lead to no fact.
fn changed(tenant: &Tenant, change: TenantChange) -> Vec<PlatformFact> {
    let new = change.over(tenant);
    let related = [Mode::Live, Mode::Test].into_iter().filter_map(|mode| {
        let relation = new.banks.of(mode);
        (relation != tenant.banks.of(mode)).then(|| PlatformFact::BankRelated {
            id: tenant.id.clone(),
            mode,
            relation: relation.clone(),
        })
    });
    let mut facts: Vec<_> = related.collect();
    facts.push(PlatformFact::TenantChanged {
        id: new.id,
        name: new.name,
        policy: new.policy,
        limits: new.limits,
        total_limits: new.total_limits,
        fees: new.fees,
        provider: new.provider,
    });
    facts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::Digest;
    use crate::tenants::scopes::{Network, Scope};
    use crate::tenants::{RealmSource, RealmState};

    const NOON: Timestamp = Timestamp::from_millis(1_772_463_600_000);

    impl Platform {
        /// Decides an order and applies its facts; returns how many there were.
        pub(in crate::tenants) fn told(
            &mut self,
            order: PlatformOrder,
            now: Timestamp,
        ) -> Result<usize, Rejection> {
            let facts = self.decide(order, now)?;
            facts.iter().for_each(|fact| self.apply(fact));
            Ok(facts.len())
        }
    }

    fn new(id: &str) -> PlatformOrder {
        let new = NewTenant {
            name: "A tenant".to_owned(),
            ..NewTenant::plain(id)
        };
        PlatformOrder::CreateTenant(new)
    }

    fn key(id: &str, tenant: &str) -> ApiKey {
        ApiKey {
            id: id.to_owned(),
            tenant: tenant.to_owned(),
            mode: Mode::Live,
            label: None,
            mac: Digest([0; 32]),
            pepper: None,
            created_at: Timestamp::default(),
            ends_at: None,
            revoked: false,
            scopes: None,
            networks: Vec::new(),
            lifetime: None,
        }
    }

    fn done(platform: &mut Platform, order: PlatformOrder) -> usize {
        platform.told(order, NOON).unwrap()
    }

    #[test]
    fn each_tenant_has_two_realms_of_its_own_and_its_id_once() {
        let mut platform = Platform::default();
        assert_eq!(done(&mut platform, new("a")), 1);
        assert_eq!(done(&mut platform, new("b")), 1);
        let realms = |id: &str| {
            let tenant = platform.tenant(id).unwrap();
            (tenant.live.0, tenant.test.0, tenant.created_at)
        };
        assert_eq!((realms("a"), realms("b")), ((1, 2, NOON), (3, 4, NOON)));
        let again = platform.decide(new("a"), NOON);
        assert_eq!(again, Err(Rejection::TenantTaken));
        let change = PlatformOrder::ChangeTenant("c".to_owned(), TenantChange::default());
        assert_eq!(
            platform.decide(change, NOON),
            Err(Rejection::TenantNotFound)
        );
    }

    #[test]
    fn a_relation_that_stays_as_it_is_makes_no_fact() {
        let mut platform = Platform::default();
        done(&mut platform, new("a"));
        let change = |psp_code| TenantChange {
            live_bank: Some(BankRelation {
                psp_code,
                ..BankRelation::default()
            }),
            ..TenantChange::default()
        };
        let order = |code| PlatformOrder::ChangeTenant("a".to_owned(), change(code));
        assert_eq!(done(&mut platform, order(None)), 1);
        assert_eq!(done(&mut platform, order(Some(7))), 2);
        assert_eq!(done(&mut platform, order(Some(7))), 1);
        assert_eq!(platform.tenant("a").unwrap().name, "A tenant");
    }

    #[test]
    fn a_realm_that_stands_as_it_should_makes_no_fact() {
        let mut platform = Platform::default();
        done(&mut platform, new("a"));
        let turn = |live| {
            let change = TenantChange {
                live: Some(live),
                ..TenantChange::default()
            };
            PlatformOrder::ChangeTenant("a".to_owned(), change)
        };
        let realm = platform.tenant("a").unwrap().live;
        for (serving, facts) in [
            (Serving::Open, 1),
            (Serving::Closed, 2),
            (Serving::Closed, 1),
            (Serving::Open, 2),
        ] {
            assert_eq!(done(&mut platform, turn(serving)), facts, "{serving:?}");
            assert_eq!(platform.state(realm).as_str(), serving.as_str());
        }
        let source = RealmSource {
            file: Digest([1; 32]),
            store: String::new(),
            commit: 1,
            at: NOON,
        };
        let (id, mode) = ("a".to_owned(), Mode::Live);
        let state = RealmState::Importing(source);
        platform.apply(&PlatformFact::RealmChanged { id, mode, state });
        for serving in Serving::ALL {
            let refused = platform.decide(turn(serving), NOON);
            assert_eq!(refused, Err(Rejection::RealmImporting));
        }
    }

    #[test]
    fn the_next_key_of_a_rotation_may_do_the_same_for_as_long() {
        let mut platform = Platform::default();
        done(&mut platform, new("a"));
        let limited = ApiKey {
            scopes: Some(vec![Scope::Read]),
            networks: Network::parse("10.0.0.0/8").into_iter().collect(),
            ends_at: Some(NOON.plus_millis(5_000)),
            ..key("one", "a")
        };
        done(&mut platform, PlatformOrder::IssueKey(limited));
        let rotate = |overlap| PlatformOrder::RotateKey {
            id: "one".to_owned(),
            new: key("two", "a"),
            overlap,
        };
        done(&mut platform, rotate(1_000));
        let old = platform.keys.get("one").unwrap();
        let next = platform.keys.get("two").unwrap();
        assert!(!old.ends_as_issued() && next.ends_as_issued());
        assert_eq!(old.ends_at, Some(NOON.plus_millis(1_000)));
        assert_eq!(
            (&next.scopes, &next.networks, next.ends_at),
            (&old.scopes, &old.networks, Some(NOON.plus_millis(5_000)))
        );
    }

    #[test]
    fn a_rotated_key_goes_on_for_a_while_and_a_revoked_one_does_not() {
        let mut platform = Platform::default();
        done(&mut platform, new("a"));
        done(&mut platform, PlatformOrder::IssueKey(key("one", "a")));
        let rotate = PlatformOrder::RotateKey {
            id: "one".to_owned(),
            new: key("two", "nobody"),
            overlap: 1_000,
        };
        assert_eq!(done(&mut platform, rotate), 2);
        let works = |platform: &Platform, id: &str, after| {
            let key = platform.keys.get(id).unwrap();
            assert_eq!(key.tenant, "a");
            key.works_at(NOON.plus_millis(after))
        };
        assert!(works(&platform, "one", 999) && !works(&platform, "one", 1_000));
        assert!(works(&platform, "two", 1_000));
        done(&mut platform, PlatformOrder::RevokeKey("two".to_owned()));
        assert!(!works(&platform, "two", 0));
        let unknown = PlatformOrder::RevokeKey("three".to_owned());
        assert_eq!(platform.decide(unknown, NOON), Err(Rejection::KeyNotFound));
    }
}
