//! Limits over the sum of a tenant's accounts: exact under concurrency, over restarts and failures.

use std::rc::Rc;

use caudal_ledger::holds::HoldStep;
use caudal_ledger::limits::{Quantity, TotalLimits, Window};

use super::harness::{Harness, later, mode, outside};
use super::*;
use crate::engine::money::ItemOutcome;
use crate::realms::Batch;

const ACCOUNTS: u64 = 8;

fn pesos(centavos: i64) -> Option<Money> {
    Some(Money::from_centavos(centavos))
}

impl Harness {
    async fn limit(&self, total: TotalLimits) {
        let change = TenantChange {
            total_limits: Some(total),
            ..TenantChange::default()
        };
        let order = PlatformOrder::ChangeTenant(TENANT.into(), change);
        self.engine.operators().administer(order).await.unwrap();
    }

    /// Takes money out of an account: done, or the name of the limit that refuses it.
    async fn out(&self, account: u64, centavos: i64, id: &str) -> Result<(), &'static str> {
        limited(self.post(account, "OUT", centavos, id).await)
    }

    /// How much is left until the day's limit, according to a refusal.
    pub(super) async fn left(&self) -> Quantity {
        let refused = self.post(1, "OUT", 1_000_000, "too-much").await;
        let Err(Failure::Rejected(Rejection::LimitExceeded(breach))) = refused else {
            panic!("not refused");
        };
        assert_eq!(breach.limit, "dailyOutgoingTotal");
        breach.remaining
    }
}

fn limited<T>(answered: Answered<T>) -> Result<(), &'static str> {
    match answered {
        Ok(_) => Ok(()),
        Err(Failure::Rejected(Rejection::LimitExceeded(breach))) => Err(breach.limit),
        Err(why) => panic!("{why}"),
    }
}

async fn harness() -> Rc<Harness> {
    let harness = Harness::new(1, ACCOUNTS, 10_000, Arc::<TestBank>::default()).await;
    harness
        .limit(TotalLimits {
            daily_outgoing: pesos(1_000),
            ..TotalLimits::default()
        })
        .await;
    harness
}

#[actix::test]
async fn orders_of_many_accounts_at_once_never_pass_the_sum_together() {
    let harness = harness().await;
    harness.store.set_automatic(false);
    let orders: Vec<_> = (0..64)
        .map(|n| {
            let harness = Rc::clone(&harness);
            actix::spawn(async move { harness.out(1 + n % ACCOUNTS, 30, &format!("o{n}")).await })
        })
        .collect();
    // All were decided before any is on disk: decided orders count.
    super::wait_until(|| harness.store.pending() >= 33).await;
    harness.store.set_automatic(true);
    let mut done = 0;
    for order in orders {
        match order.await.unwrap() {
            Ok(()) => done += 1,
            Err(limit) => assert_eq!(limit, "dailyOutgoingTotal"),
        }
    }
    assert_eq!(done, 33, "33 of 30 are 990 of 1000");
    assert_eq!(
        harness.left().await,
        Quantity::Money(Money::from_centavos(10))
    );
    harness.verified().await;
    // It is the same after a restart.
    let harness = harness.crash(0, Arc::<TestBank>::default());
    assert_eq!(
        harness.left().await,
        Quantity::Money(Money::from_centavos(10))
    );
    assert_eq!(harness.out(1, 11, "x").await, Err("dailyOutgoingTotal"));
    assert_eq!(harness.out(1, 10, "x").await, Ok(()));
    // A new day has its own sums.
    harness.clock.jump(24 * 60 * 60 * 1000);
    assert_eq!(harness.out(2, 1_000, "tomorrow").await, Ok(()));
    harness.verified().await;
}

#[actix::test]
async fn what_stays_with_the_tenant_does_not_count_and_what_comes_back_counts_no_more() {
    let harness = harness().await;
    limited(harness.give((1, 2), 5_000, "inside").await).unwrap();
    let hold = value(harness.hold(1, 400, "h", None).await);
    let Outcome::Recorded(hold) = hold else {
        panic!("{hold:?}");
    };
    assert_eq!(harness.out(3, 601, "a").await, Err("dailyOutgoingTotal"));
    assert_eq!(harness.out(3, 600, "b").await, Ok(()));
    let refused = limited(harness.send(2, outside(), 1, "t").await);
    assert_eq!(refused, Err("dailyOutgoingTotal"));
    let part = Amount::from_centavos(300).ok();
    let step = harness.engine.ledger().step_hold(
        REALM,
        hold.hold.id(REALM, AccountNo(1)),
        HoldStep::Release,
        part,
        false,
        plain(),
    );
    value(step.await);
    assert_eq!(
        harness.left().await,
        Quantity::Money(Money::from_centavos(300))
    );
    let end = Some(harness.clock.peek().plus_millis(1_000));
    value(harness.hold(4, 300, "ends", end).await);
    assert_eq!(harness.out(5, 1, "c").await, Err("dailyOutgoingTotal"));
    harness.clock.jump(2_000);
    harness.balance(4).await;
    assert_eq!(harness.out(5, 300, "d").await, Ok(()));
    harness.verified().await;
}

#[actix::test]
async fn refusals_rollbacks_and_dry_runs_use_no_limit() {
    let harness = harness().await;
    let items = |count: i64, each: i64, id: &str| -> Vec<_> {
        let item = |n| adjustment(1 + n % ACCOUNTS, "OUT", each, &format!("{id}-{n}"));
        (0..u64::try_from(count).unwrap()).map(item).collect()
    };
    let refused = |outcomes: Vec<ItemOutcome>| outcomes.iter().filter(|it| it.is_err()).count();
    // An atomic batch posts nothing if its last item does not fit.
    let batch = harness.engine.ledger().order(
        REALM,
        Batch {
            items: items(11, 100, "as-one"),
            mode: mode(true),
        },
        plain(),
    );
    assert_eq!(refused(value(batch.await)), 1);
    assert_eq!(
        harness.left().await,
        Quantity::Money(Money::from_centavos(1_000))
    );
    // A dry run counts its own items, and nobody else sees them.
    let dry = crate::accounts::BatchMode {
        dry_run: true,
        ..mode(false)
    };
    let batch = harness.engine.ledger().order(
        REALM,
        Batch {
            items: items(20, 100, "dry"),
            mode: dry,
        },
        plain(),
    );
    assert_eq!(refused(value(batch.await)), 10);
    assert_eq!(
        harness.left().await,
        Quantity::Money(Money::from_centavos(1_000))
    );
    // The store refuses a commit.
    harness
        .store
        .refuse_next(caudal_storage::StoreError::Overloaded);
    let failed = harness.post(1, "OUT", 900, "not-taken").await;
    assert!(matches!(failed, Err(Failure::Overloaded)), "{failed:?}");
    assert_eq!(
        harness.left().await,
        Quantity::Money(Money::from_centavos(1_000))
    );
    let batch = harness.engine.ledger().order(
        REALM,
        Batch {
            items: items(11, 100, "each"),
            mode: mode(false),
        },
        plain(),
    );
    assert_eq!(refused(value(batch.await)), 1);
    assert_eq!(harness.left().await, Quantity::Money(Money::ZERO));
    harness.verified().await;
}

#[actix::test]
async fn a_minute_lets_so_many_movements_out() {
    tokio::time::pause();
    let harness = Harness::new(1, ACCOUNTS, 10_000, Arc::<TestBank>::default()).await;
    harness
        .limit(TotalLimits {
            per_minute: Some(3),
            monthly_outgoing: pesos(50),
            ..TotalLimits::default()
        })
        .await;
    // The beginning of a minute.
    let into = harness.clock.peek().millis() % 60_000;
    harness.clock.jump(60_000 - into);
    for n in 1..=3 {
        assert_eq!(harness.out(n, 1, &format!("a{n}")).await, Ok(()));
    }
    let refused = harness.post(4, "OUT", 1, "b").await;
    let Err(Failure::Rejected(Rejection::LimitExceeded(breach))) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(
        (breach.limit, breach.window),
        ("perMinuteCount", Window::Minute)
    );
    assert_eq!(
        (breach.maximum, breach.used),
        (Quantity::Count(3), Quantity::Count(3))
    );
    let next = breach.resets_at.unwrap();
    assert_eq!(next.millis() % 60_000, 0);
    later(Duration::from_millis(
        next.millis() - harness.clock.peek().millis(),
    ))
    .await;
    assert_eq!(harness.out(4, 47, "b").await, Ok(()));
    assert_eq!(harness.out(5, 1, "c").await, Err("monthlyOutgoingTotal"));
    harness.verified().await;
}
