//! The platform's actor: tenants, keys and the settings they inherit, on one stream.
//!
//! Keys are published to a shared map as soon as they are durable, so that a request is
//! authenticated without asking an actor.

use std::sync::Arc;

use actix::{Actor, AsyncContext, Context, Handler};
use caudal_ledger::facts::{ClockWord, PlatformFact};
use caudal_ledger::fees::FeeRule;
use caudal_ledger::limits::{Limits, TotalLimits};
use caudal_ledger::rejection::Rejection;
use caudal_ledger::tenants::{ApiKey, BankRelation, BankRelations, Mode, Platform, Policy, Tenant};
use caudal_ledger::time::Timestamp;
use caudal_storage::{Commit, Store, StoreError};
use dashmap::DashMap;

use crate::failure::Failure;
use crate::mailbox::Queued;
use crate::ports::Clock;
use crate::records::{PLATFORM_STREAM, Tail, reads};
use crate::reply::Reply;

/// Messages that wait for the platform at most.
pub const MAILBOX: usize = 256;

/// A key with what a request needs to know of its tenant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KnownKey {
    /// The key.
    pub key: ApiKey,
    /// The tenant.
    pub tenant: Tenant,
}

/// Keys by id, for authentication.
pub type Keys = Arc<DashMap<String, Arc<KnownKey>>>;

/// A change of a tenant: what is `None` stays.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TenantChange {
    /// Its name.
    pub name: Option<String>,
    /// Its policy.
    pub policy: Option<Policy>,
    /// Its limits.
    pub limits: Option<Limits>,
    /// The limits over the sum of its accounts.
    pub total_limits: Option<TotalLimits>,
    /// Its fees.
    pub fees: Option<Vec<FeeRule>>,
    /// Its relation to the bank of live keys.
    pub live_bank: Option<BankRelation>,
    /// Its relation to the bank of test keys.
    pub test_bank: Option<BankRelation>,
}

/// A new tenant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewTenant {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its policy.
    pub policy: Policy,
    /// Its limits.
    pub limits: Limits,
    /// The limits over the sum of its accounts.
    pub total_limits: TotalLimits,
    /// Its fees.
    pub fees: Vec<FeeRule>,
    /// What its banks are.
    pub banks: BankRelations,
}

/// What the platform can be told to do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PlatformOrder {
    /// Create a tenant with a live and a test realm.
    CreateTenant(NewTenant),
    /// Change a tenant.
    ChangeTenant(String, TenantChange),
    /// Issue a key; its secret is known to the door alone.
    IssueKey(ApiKey),
    /// Issue a key in place of another, which goes on for a while.
    RotateKey {
        /// The key to be replaced.
        id: String,
        /// The new key; its tenant, mode and label are taken from the old one.
        new: ApiKey,
        /// How long the old one goes on, in milliseconds.
        overlap: u64,
    },
    /// End a key at once.
    RevokeKey(String),
    /// Believe the machine's clock.
    ConfirmClock(ClockWord),
    /// Set the limits and fees of tenants that have none of their own.
    ChangePlatform {
        /// Limits, when they change.
        limits: Option<Limits>,
        /// Fees, when they change.
        fees: Option<Vec<FeeRule>>,
    },
}

/// An order to the platform, and where its answer goes: the platform as it is afterwards.
#[derive(Debug)]
pub struct PlatformMessage(pub PlatformOrder, pub Reply<Result<Arc<Platform>, Failure>>);

/// Called with the platform whenever a change of it is durable.
pub type Published = Arc<dyn Fn(&Arc<Platform>) + Send + Sync>;

/// The actor.
pub struct PlatformActor {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    platform: Platform,
    tail: Tail,
    published: Published,
}

impl PlatformActor {
    /// The platform as the store knows it.
    pub fn load(store: &dyn Store) -> Result<(Platform, Tail), StoreError> {
        let (mut platform, mut tail) = (Platform::default(), Tail::default());
        reads::fold(store, PLATFORM_STREAM, 0, |fact: PlatformFact, seq, at| {
            platform.apply(&fact);
            tail = Tail { seq, at };
        })?;
        Ok((platform, tail))
    }

    /// The actor of a loaded platform.
    pub fn new(
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        (platform, tail): (Platform, Tail),
        published: Published,
    ) -> Self {
        Self {
            store,
            clock,
            platform,
            tail,
            published,
        }
    }

    fn decide(&self, order: PlatformOrder, now: Timestamp) -> Result<Vec<PlatformFact>, Rejection> {
        match order {
            PlatformOrder::CreateTenant(new) if self.platform.tenants.contains_key(&new.id) => {
                Err(Rejection::TenantTaken)
            }
            PlatformOrder::CreateTenant(new) => {
                let (live, test) = self.platform.next_realms();
                let NewTenant {
                    id,
                    name,
                    policy,
                    limits,
                    total_limits,
                    fees,
                    banks,
                } = new;
                let tenant = Tenant {
                    id,
                    name,
                    policy,
                    limits,
                    fees,
                    live,
                    test,
                    created_at: now,
                    banks,
                    total_limits,
                };
                Ok(vec![PlatformFact::TenantCreated(Box::new(tenant))])
            }
            PlatformOrder::ChangeTenant(id, change) => {
                Ok(changed(self.platform.tenant(&id)?, change))
            }
            PlatformOrder::IssueKey(key) => {
                self.platform.may_issue(&key.tenant, key.mode, now)?;
                Ok(vec![PlatformFact::KeyIssued(ApiKey {
                    created_at: now,
                    ..key
                })])
            }
            PlatformOrder::RotateKey { id, new, overlap } => {
                let end = self
                    .platform
                    .decide_end(&id, now.plus_millis(overlap), false, now)?;
                let old = self.platform.keys.get(&id).ok_or(Rejection::KeyNotFound)?;
                let (tenant, mode, label) = (old.tenant.clone(), old.mode, old.label.clone());
                self.platform.may_issue(&tenant, mode, now)?;
                let key = ApiKey {
                    tenant,
                    mode,
                    label,
                    created_at: now,
                    ..new
                };
                Ok(vec![end, PlatformFact::KeyIssued(key)])
            }
            PlatformOrder::RevokeKey(id) => {
                Ok(vec![self.platform.decide_end(&id, now, true, now)?])
            }
            PlatformOrder::ConfirmClock(word) => Ok(vec![PlatformFact::ClockConfirmed(word)]),
            PlatformOrder::ChangePlatform { limits, fees } => {
                let limits = limits.unwrap_or(self.platform.limits);
                let fees = fees.unwrap_or_else(|| self.platform.fees.clone());
                Ok(vec![PlatformFact::PlatformChanged { limits, fees }])
            }
        }
    }

    fn obey(
        &mut self,
        ctx: &mut Context<Self>,
        order: PlatformOrder,
        reply: Reply<Result<Arc<Platform>, Failure>>,
    ) {
        let now = self.clock.now();
        let facts = match self.decide(order, now) {
            Ok(facts) => facts,
            Err(rejection) => return reply.send(Err(rejection.into())),
        };
        let mut next = self.platform.clone();
        let mut commit = Commit::default();
        let mut tail = self.tail;
        for fact in &facts {
            match tail.next(PLATFORM_STREAM, now, fact) {
                Ok(entry) => commit.entries.push(entry),
                Err(why) => return reply.send(Err(why.into())),
            }
            next.apply(fact);
        }
        // The platform changes rarely: it waits for the disk before its next turn, so that what it
        // knows is always what is written.
        let (sender, durable) = tokio::sync::oneshot::channel();
        self.store
            .submit(commit, Box::new(move |done| drop(sender.send(done))));
        let wait = actix::fut::wrap_future::<_, Self>(durable);
        ctx.wait(actix::fut::ActorFutureExt::map(
            wait,
            move |done, actor, _| {
                let done = done.unwrap_or(Err(StoreError::Closed));
                reply.send(done.map_err(Failure::from).map(|_| {
                    actor.platform = next;
                    actor.tail = tail;
                    let platform = Arc::new(actor.platform.clone());
                    (actor.published)(&platform);
                    platform
                }));
            },
        ));
    }
}

/// What a change makes of a tenant. Relations that stay as they are make no fact.
fn changed(tenant: &Tenant, change: TenantChange) -> Vec<PlatformFact> {
    let id = || tenant.id.clone();
    let banks = [
        (Mode::Live, change.live_bank),
        (Mode::Test, change.test_bank),
    ];
    let related = banks.into_iter().filter_map(|(mode, relation)| {
        let relation = relation.filter(|relation| relation != tenant.banks.of(mode))?;
        let id = id();
        Some(PlatformFact::BankRelated { id, mode, relation })
    });
    let mut facts: Vec<_> = related.collect();
    facts.push(PlatformFact::TenantChanged {
        id: id(),
        name: change.name.unwrap_or_else(|| tenant.name.clone()),
        policy: change.policy.unwrap_or(tenant.policy),
        limits: change.limits.unwrap_or(tenant.limits),
        total_limits: change.total_limits.unwrap_or(tenant.total_limits),
        fees: change.fees.unwrap_or_else(|| tenant.fees.clone()),
    });
    facts
}

/// The mode's realm of each tenant, for starting supervisors.
pub fn realms(platform: &Platform) -> impl Iterator<Item = (&Tenant, Mode)> {
    platform
        .tenants
        .values()
        .flat_map(|tenant| [(tenant, Mode::Live), (tenant, Mode::Test)])
}

impl Actor for PlatformActor {
    type Context = Context<Self>;
}

impl Handler<Queued<PlatformMessage>> for PlatformActor {
    type Result = ();

    fn handle(&mut self, queued: Queued<PlatformMessage>, ctx: &mut Context<Self>) {
        let PlatformMessage(order, reply) = queued.take();
        if reply.is_closed() {
            return;
        }
        self.obey(ctx, order, reply);
    }
}
