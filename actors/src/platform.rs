//! The platform's actor: tenants, keys and the settings they inherit, on one stream.
//!
//! Keys are published to a shared map as soon as they are durable, so that a request is
//! authenticated without asking an actor.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use actix::{Actor, Context, Handler};
use caudal_ledger::facts::PlatformFact;
use caudal_ledger::tenants::{ApiKey, Mode, Platform, Tenant};
use caudal_ledger::time::Timestamp;
use caudal_storage::{Commit, Index, Store, StoreError};
use dashmap::DashMap;

use crate::failure::Failure;
use crate::mailbox::{HasResponder, Queued};
use crate::ports::Clock;
use crate::records::{PLATFORM_STREAM, Tail, reads};
use crate::reply::{Reply, Responder};
use crate::writing::write_then;

pub use caudal_ledger::tenants::orders::{NewTenant, PlatformOrder, TenantChange};

/// How many messages may wait for the platform's actor.
pub const MAILBOX: usize = 256;

/// When a key was last used, to the second; uses before this start are unknown.
#[derive(Debug, Default)]
pub struct LastUse(AtomicU64);

impl LastUse {
    /// Notes a use. Uses within a second of the last one write nothing, so that threads do not wait for each other
    /// here.
    pub fn note(&self, now: Timestamp) {
        let last = self.0.load(Ordering::Relaxed);
        if now.millis().abs_diff(last) >= 1_000 {
            self.0.store(now.millis(), Ordering::Relaxed);
        }
    }

    /// The last use since the start.
    pub fn at(&self) -> Option<Timestamp> {
        let millis = self.0.load(Ordering::Relaxed);
        (millis > 0).then(|| Timestamp::from_millis(millis))
    }
}

/// A key, with the data of its tenant that a request needs.
#[derive(Clone, Debug)]
pub struct KnownKey {
    /// When it was last used.
    pub used: Arc<LastUse>,
    /// The key as it is kept, without its secret.
    pub key: ApiKey,
    /// The tenant that it speaks for, as of the last change.
    pub tenant: Tenant,
    /// Whether the realm that it opens is served.
    pub open: bool,
}

/// Keys by id, for authentication.
pub type Keys = Arc<DashMap<String, Arc<KnownKey>>>;

/// An order to the platform; the reply receives the platform after it.
#[derive(Debug)]
pub struct PlatformMessage(pub PlatformOrder, pub Reply<Result<Arc<Platform>, Failure>>);

impl HasResponder for PlatformMessage {
    fn responder(&mut self) -> Option<&mut dyn Responder> {
        Some(&mut self.1)
    }
}

/// Called with the platform whenever a change to it is durable.
pub type OnPlatformChange = Arc<dyn Fn(&Arc<Platform>) + Send + Sync>;

/// The actor of the platform: the only writer of its stream.
pub struct PlatformActor {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    platform: Platform,
    tail: Tail,
    /// Called with the platform after each change that is on disk.
    published: OnPlatformChange,
}

impl PlatformActor {
    /// The platform from the store, and the end of its stream.
    pub fn load(store: &dyn Index) -> Result<(Platform, Tail), StoreError> {
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
        published: OnPlatformChange,
    ) -> Self {
        Self {
            store,
            clock,
            platform,
            tail,
            published,
        }
    }

    fn obey(
        &mut self,
        ctx: &mut Context<Self>,
        order: PlatformOrder,
        reply: Reply<Result<Arc<Platform>, Failure>>,
    ) {
        let now = self.clock.now();
        let facts = match self.platform.decide(order, now) {
            Ok(facts) => facts,
            Err(rejection) => return reply.send(Err(rejection.into())),
        };
        if facts.is_empty() {
            return reply.send(Ok(Arc::new(self.platform.clone())));
        }
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
        // The platform changes rarely: the actor waits for the disk before its next turn, so that its memory always
        // equals what is written.
        write_then(&self.store, ctx, commit, move |done, actor: &mut Self| {
            reply.send(done.map(|()| {
                actor.platform = next;
                actor.tail = tail;
                let platform = Arc::new(actor.platform.clone());
                (actor.published)(&platform);
                platform
            }));
        });
    }
}

/// Both realms of each tenant, for starting supervisors.
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
