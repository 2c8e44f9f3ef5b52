//! Turns, answers after the flush, doubt and reload, on a store that fails on command.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use caudal_ledger::accounts::{Holder, ProfileOrder, SuspensionCode};
use caudal_ledger::alias::Alias;
use caudal_ledger::cuit::Cuit;
use caudal_ledger::facts::{BankRefusal, Registration};
use caudal_ledger::ids::{AccountNo, RealmId};
use caudal_ledger::kyc::Kyc;
use caudal_ledger::limits::{Limits, TotalLimits};
use caudal_ledger::money::{Amount, Money};
use caudal_ledger::rejection::Rejection;
use caudal_ledger::text::ExternalId;
use caudal_ledger::time::Timestamp;
use caudal_ledger::voucher_types::{CreateVoucherType, Sense, TypeCode};
use caudal_ledger::vouchers::Outcome;
use caudal_storage::{FaultyStore, Store, StoreError};
use tokio::sync::watch;

use crate::accounts::{AccountView, AccountVoucher, ChangeProfile, Observe};
use crate::banks::{NoBank, Relation};
use crate::engine::{Engine, EngineOptions, Outside, Requester};
use crate::platform::{NewTenant, PlatformOrder, TenantChange};
use crate::ports::webhooks::NoSink;
use crate::ports::{BankError, BankGateway, Clock};
use crate::realms::{Adjustment, CreateType, Register, Target, TypeRef};
use crate::records::projection::ServiceProjection;
use crate::reply::{Answered, Given, Keyed, Rendered, Scope};
use crate::times::Times;
use crate::{failure::Failure, verify};

mod bank;
mod clocks;
mod cold;
mod courier;
mod crashes;
mod days;
mod flood;
mod full_store;
mod harness;
mod hazards;
mod homes;
mod lists;
mod lives;
mod looks;
mod money;
mod openings;
mod panics;
mod refused;
mod rest;
mod rules;
mod secrets;
mod storms;
mod totals;
mod treasury;
mod unread;
mod verified;
mod waking;

use bank::TestBank;

const REALM: RealmId = RealmId(1);

#[derive(Debug, Default)]
struct TestClock(AtomicU64);

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.fetch_add(1, Ordering::Relaxed) + 1_700_000_000_000)
    }
}

struct World {
    store: Arc<FaultyStore>,
    bank: Arc<TestBank>,
    clock: Arc<TestClock>,
    engine: Engine,
}

/// The tenant of all tests.
const TENANT: &str = "tnt_1";

/// Makes a tenant and two types.
async fn furnish(engine: &Engine) {
    let create = PlatformOrder::CreateTenant(NewTenant::plain(TENANT));
    engine.operators().administer(create).await.unwrap();
    for (code, sense) in [("IN", Sense::Credit), ("OUT", Sense::Debit)] {
        let order = CreateVoucherType {
            code: TypeCode::parse(code).unwrap(),
            name: code.into(),
            sense,
            description: None,
            category: None,
            counter_account: None,
            capture_tolerance: None,
        };
        let created = engine
            .ledger()
            .order(REALM, CreateType(order), plain())
            .await;
        created.unwrap();
    }
}

impl World {
    /// A service with a tenant, two types, and a store that writes at once.
    async fn new() -> Self {
        let store = FaultyStore::new(Arc::new(ServiceProjection), 1);
        store.set_automatic(true);
        let world = Self::over(store, Arc::default(), Arc::default());
        furnish(&world.engine).await;
        world
    }

    fn over(store: Arc<FaultyStore>, bank: Arc<TestBank>, clock: Arc<TestClock>) -> Self {
        let banks = {
            let bank = Arc::clone(&bank);
            // The tenant's other realm has no bank: one account of two would be shared.
            Arc::new(move |relation: &Relation| {
                let bank: Arc<dyn BankGateway> = Arc::<TestBank>::clone(&bank);
                let own = relation.realm == REALM;
                own.then_some(bank).ok_or(NoBank::Absent)
            })
        };
        let options = EngineOptions {
            arbiters: 0,
            treasury_every: Duration::ZERO,
            bank_reads: crate::engine::BankReadLimits {
                kept: Duration::ZERO,
                ..crate::engine::BankReadLimits::default()
            },
            ..EngineOptions::default()
        };
        let (sink, held) = (Arc::new(NoSink), watch::channel(false).1);
        let outside = Outside {
            banks,
            sink,
            held,
            seals: Arc::new(days::TestSigner),
        };
        let clock_of = Arc::<TestClock>::clone(&clock);
        let held_store = Arc::<FaultyStore>::clone(&store);
        let engine = Engine::timed(held_store, clock_of, outside, options, Times::default());
        Self {
            store,
            bank,
            clock,
            engine: engine.unwrap(),
        }
    }

    /// The process dies with `keep` of the waiting commits on disk, and starts again.
    fn crash(self, keep: usize) -> Self {
        let store = self.store.crash(keep);
        store.set_automatic(true);
        Self::over(store, Arc::clone(&self.bank), Arc::clone(&self.clock))
    }

    async fn open(&self, alias: Option<&str>, key: Option<&str>) -> Answered<AccountView> {
        let alias = alias.map(|a| Alias::parse(a).unwrap());
        let responder = Requester {
            keyed: key.map(keyed),
            request_id: "r".into(),
            admitted: None,
        };
        self.engine
            .ledger()
            .order(
                REALM,
                Register {
                    registration: registration(),
                    open: true,
                    alias,
                },
                responder,
            )
            .await
    }

    async fn post(&self, code: &str, centavos: i64, id: &str) -> Answered<Outcome<AccountVoucher>> {
        self.engine
            .ledger()
            .order(REALM, adjustment(1, code, centavos, id), plain())
            .await
    }

    async fn balance(&self) -> i64 {
        let account = Target::Account(AccountNo(1));
        let view = self.engine.queries().balance(REALM, account).await.unwrap();
        view.balance.total().centavos()
    }

    async fn verified(&self) {
        let report = verify::engine(&self.engine).await.unwrap();
        assert_eq!(report.differences, Vec::<String>::new());
    }
}

fn plain<T>() -> Requester<T> {
    Requester {
        keyed: None,
        request_id: "r".into(),
        admitted: None,
    }
}

/// A key whose answer is 201 with the alias, or 400 with the failure.
fn keyed(key: &str) -> Keyed<AccountView> {
    Keyed {
        scope: Scope {
            key: key.into(),
            method: "POST".into(),
            path: "/v1/accounts".into(),
            fields: BTreeMap::new(),
        },
        render: Box::new(|outcome| {
            let (status, body) = match outcome {
                Ok(view) => (201, format!("{:?}", view.account.cvu)),
                Err(failure) => (400, failure.to_string()),
            };
            Rendered {
                status,
                body,
                again: false,
            }
        }),
    }
}

fn registration() -> Registration {
    let cuit = Cuit::parse("20267565393").unwrap();
    Registration {
        number: AccountNo(0),
        holder: Holder {
            cuit,
            name: "Ana".into(),
            person_type: cuit.person_type(),
        },
        code: None,
        email: None,
        phone: None,
        metadata: BTreeMap::new(),
        kyc: Kyc::default(),
        enabled: true,
        names: caudal_ledger::particulars::Names::default(),
        asks_cvu: false,
    }
}

fn adjustment(account: u64, code: &str, centavos: i64, id: &str) -> Adjustment {
    Adjustment {
        target: Target::Account(AccountNo(account)),
        voucher_type: TypeRef::Code(TypeCode::parse(code).unwrap()),
        amount: Some(Amount::from_centavos(centavos).unwrap()),
        external_id: ExternalId::parse(id).unwrap(),
        description: None,
        external_date: None,
        details: None,
        dry_run: false,
    }
}

fn value<T>(answered: Answered<T>) -> T {
    match answered.unwrap_or_else(|why| panic!("{why}")) {
        Given::Value(value) => value,
        Given::Kept { .. } => panic!("kept"),
    }
}

/// Polls a condition until it holds.
async fn wait_until(what: impl Fn() -> bool) {
    let deadline = tokio::time::Instant::now() + Duration::from_secs(120);
    while !what() {
        assert!(tokio::time::Instant::now() < deadline, "waited too long");
        tokio::task::yield_now().await;
        actix::clock::interval(Duration::from_millis(1))
            .tick()
            .await;
    }
}

/// Polls an order until a condition holds, before which it must not be answered.
async fn goes_on<T>(order: &mut (impl Future<Output = T> + Unpin), until: impl Fn() -> bool) {
    tokio::select! {
        biased;
        _ = order => panic!("answered before the flush"),
        () = wait_until(until) => {}
    }
}

#[actix::test]
async fn nothing_is_answered_before_it_is_on_disk() {
    let world = World::new().await;
    value(world.open(None, None).await);
    world.store.set_automatic(false);
    let mut posting = Box::pin(world.post("IN", 100, "a"));
    let mut reading = Box::pin(world.balance());
    goes_on(&mut posting, || world.store.pending() == 1).await;
    // A read that has seen the posting waits for it too.
    let soon = Duration::from_millis(50);
    assert!(
        tokio::time::timeout(soon, &mut reading).await.is_err(),
        "shown before the flush"
    );
    world.store.step_all();
    assert!(matches!(value(posting.await), Outcome::Recorded(_)));
    assert_eq!(reading.await, 100);
}

#[actix::test]
async fn repeats_get_the_first_voucher_while_it_is_in_flight_and_afterwards() {
    let world = World::new().await;
    value(world.open(None, None).await);
    world.store.set_automatic(false);
    let postings = async {
        tokio::join!(
            world.post("IN", 100, "a"),
            world.post("IN", 100, "a"),
            world.post("IN", 101, "a"),
        )
    };
    let flushes = async {
        wait_until(|| world.store.pending() >= 3).await;
        world.store.step_all();
    };
    let ((first, second, third), ()) = tokio::join!(postings, flushes);
    let (first, second) = (value(first), value(second));
    world.store.set_automatic(true);
    assert!(matches!(
        (&first, &second),
        (Outcome::Recorded(_), Outcome::Replayed(_))
    ));
    assert_eq!(first.into_inner(), second.clone().into_inner());
    assert_eq!(value(world.post("IN", 100, "a").await), second);
    value(world.post("IN", 400, "b").await);
    let debit = value(world.post("OUT", 100, "a").await);
    assert!(
        matches!(debit, Outcome::Recorded(_)),
        "the direction is part of the key"
    );
    let Err(Failure::Rejected(Rejection::ExternalIdReused { fields, .. })) = third else {
        panic!("{third:?}")
    };
    assert_eq!(fields, ["amount"]);
    assert_eq!(world.balance().await, 400);
    world.verified().await;
}

#[actix::test]
async fn an_external_id_is_one_over_all_accounts_of_the_realm() {
    let world = World::new().await;
    value(world.open(None, None).await);
    value(world.open(None, None).await);
    value(world.post("IN", 100, "a").await);
    let other = world
        .engine
        .ledger()
        .order(REALM, adjustment(2, "IN", 100, "a"), plain())
        .await;
    let Err(Failure::Rejected(Rejection::ExternalIdReused { fields, .. })) = other else {
        panic!("{other:?}")
    };
    assert_eq!(fields, ["cvu"]);
}

#[actix::test]
async fn a_refused_commit_leaves_nothing_and_the_account_is_loaded_again() {
    let world = World::new().await;
    value(world.open(None, None).await);
    value(world.post("IN", 100, "a").await);
    world.store.refuse_next(StoreError::Overloaded);
    assert_eq!(world.post("IN", 1, "b").await, Err(Failure::Overloaded));
    // The next order loads the account from the disk, and the id is free again.
    let again = value(world.post("IN", 1, "b").await);
    assert!(matches!(again, Outcome::Recorded(_)));
    assert_eq!(world.balance().await, 101);
    assert_eq!(
        world
            .engine
            .operators()
            .report(REALM)
            .await
            .unwrap()
            .restarts,
        1
    );
    world.verified().await;
}

#[actix::test]
async fn a_crash_keeps_what_was_acknowledged_and_nothing_half() {
    let mut world = World::new().await;
    value(world.open(None, None).await);
    value(world.post("IN", 100, "a").await);
    for keep in [0, 1] {
        world.store.set_automatic(false);
        let id = format!("crash-{keep}");
        let mut posting = Box::pin(world.post("IN", 10, &id));
        goes_on(&mut posting, || world.store.pending() == 1).await;
        drop(posting);
        world = world.crash(keep);
        // Whatever survived the crash, the same request ends in exactly one voucher.
        let outcome = value(world.post("IN", 10, &id).await);
        assert_eq!(matches!(outcome, Outcome::Replayed(_)), keep == 1);
    }
    assert_eq!(world.balance().await, 120);
    world.verified().await;
}

#[actix::test]
async fn poison_answers_that_the_outcome_is_unknown() {
    let world = World::new().await;
    value(world.open(None, None).await);
    world.store.poison("test", 0);
    assert_eq!(
        world.post("IN", 100, "a").await,
        Err(Failure::OutcomeUnknown)
    );
}

#[actix::test]
async fn if_match_lets_only_the_version_pass_that_was_read() {
    let world = World::new().await;
    value(world.open(None, None).await);
    let target = Target::Account(AccountNo(1));
    let suspend = || ProfileOrder::Suspend {
        reason: "why".into(),
        code: SuspensionCode::Other,
    };
    let view = world.engine.queries().view(REALM, target).await.unwrap();
    let version = view.account.profile_seq;
    let stale = world
        .engine
        .ledger()
        .order(
            REALM,
            ChangeProfile {
                target,
                order: suspend(),
                if_match: Some(vec![version - 1]),
            },
            plain(),
        )
        .await;
    assert_eq!(stale, Err(Failure::Stale));
    // A movement does not change the version.
    value(world.post("IN", 1, "a").await);
    value(
        world
            .engine
            .ledger()
            .order(
                REALM,
                ChangeProfile {
                    target,
                    order: suspend(),
                    if_match: Some(vec![version]),
                },
                plain(),
            )
            .await,
    );
    let refused = world.post("OUT", 1, "b").await;
    assert_eq!(refused, Err(Failure::Rejected(Rejection::AccountSuspended)));
}

#[actix::test]
async fn an_idle_actor_can_go_and_comes_back_the_same() {
    let world = World::new().await;
    value(world.open(None, None).await);
    for n in 0..300 {
        value(world.post("IN", 1, &format!("n{n}")).await);
    }
    let target = Target::Account(AccountNo(1));
    let before = world
        .engine
        .queries()
        .ask(REALM, Observe(target))
        .await
        .unwrap()
        .unwrap()
        .account;
    assert!(
        world
            .engine
            .operators()
            .passivate(REALM, target)
            .await
            .unwrap()
    );
    assert_eq!(
        world
            .engine
            .queries()
            .ask(REALM, Observe(target))
            .await
            .unwrap(),
        None
    );
    assert_eq!(
        world
            .engine
            .queries()
            .view(REALM, target)
            .await
            .unwrap()
            .account,
        before
    );
    let (on_disk, _) =
        crate::engine::operators::on_disk(world.engine.store().as_ref(), REALM, AccountNo(1))
            .unwrap();
    assert_eq!(on_disk, before);
    world.verified().await;
}
