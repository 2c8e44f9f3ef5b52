//! Crowds: mailboxes that refuse messages beyond their bound, and orders whose callers have left.

use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use super::harness::Harness;
use super::*;
use crate::engine::money::ItemOutcome;
use crate::lanes::PRESSED;

pub type Asking<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// Asks, and checks whether there is an answer at once. All actors live on this thread: none takes a turn before the
/// test gives way.
fn ask<T>(asking: &mut Asking<'_, T>) -> Option<T> {
    match asking
        .as_mut()
        .poll(&mut Context::from_waker(Waker::noop()))
    {
        Poll::Ready(answer) => Some(answer),
        Poll::Pending => None,
    }
}

/// Asks this many times. Returns the calls that wait, and how many were refused at once.
fn crowd<'a, T: std::fmt::Debug>(
    size: usize,
    each: impl Fn(usize) -> Asking<'a, Result<T, Failure>>,
) -> (Vec<Asking<'a, Result<T, Failure>>>, usize) {
    let mut waiting = Vec::new();
    let mut refused = 0;
    for number in 0..size {
        let mut asking = each(number);
        match ask(&mut asking) {
            None => waiting.push(asking),
            Some(answer) => {
                assert_eq!(answer.unwrap_err(), Failure::Overloaded);
                refused += 1;
            }
        }
    }
    (waiting, refused)
}

fn bank() -> Arc<TestBank> {
    Arc::default()
}

#[actix::test]
async fn each_mailbox_refuses_what_it_has_no_place_for() {
    let harness = Harness::new(1, 1, 0, bank()).await;
    let engine = &harness.engine;
    let (waiting, refused) = crowd(20_000, |_| Box::pin(engine.voucher_types(REALM)));
    assert_eq!((waiting.len(), refused), (8192, 11_808), "the supervisor");
    for asking in waiting {
        asking.await.unwrap();
    }
    let (waiting, refused) = crowd(3000, |_| Box::pin(engine.treasury(REALM, "r")));
    assert_eq!((waiting.len(), refused), (1024, 1976), "the treasury");
    drop(waiting);
    let change = || PlatformOrder::ChangePlatform {
        limits: None,
        fees: None,
    };
    let (waiting, refused) = crowd(1000, |_| Box::pin(engine.administer(change())));
    assert_eq!((waiting.len(), refused), (256, 744), "the platform");
    drop(waiting);
    // Orders leave room for reads, and take their turns a few at a time.
    let (waiting, refused) = crowd(3000, |n| {
        Box::pin(async move { lab_post(engine, n).await.map(drop) })
    });
    assert_eq!((waiting.len(), refused), (2048, 952), "orders");
    let mut reading: Asking<'_, _> = Box::pin(engine.voucher_types(REALM));
    assert!(ask(&mut reading).is_none(), "reads are not refused");
    for asking in waiting {
        asking.await.unwrap();
    }
    reading.await.unwrap();
    // The supervisor forwards as many as the account's mailbox holds, and refuses the rest itself.
    let target = Target::Account(AccountNo(1));
    let (waiting, refused) = crowd(3000, |_| {
        Box::pin(async move { engine.balance(REALM, target).await.map(drop) })
    });
    assert_eq!((waiting.len(), refused), (3000, 0));
    let mut answers = (0, 0);
    for asking in waiting {
        match asking.await {
            Ok(()) => answers.0 += 1,
            Err(why) => {
                assert_eq!(why, Failure::Overloaded);
                answers.1 += 1;
            }
        }
    }
    assert_eq!(answers, (1024, 1976), "the account");
    assert_eq!(harness.disk(1), 2048);
    assert_eq!(engine.report(REALM).await.unwrap().queued, 0);
    harness.verified().await;
}

async fn lab_post(engine: &Engine, number: usize) -> Answered<Outcome<Placed>> {
    let order = adjustment(1, "IN", 1, &format!("flood-{number}"));
    engine.post(REALM, order, plain()).await
}

#[actix::test]
async fn an_order_whose_asker_left_before_its_turn_is_not_executed() {
    let harness = Harness::new(1, 2, 1000, bank()).await;
    let mut leaving: Vec<Asking<'_, Result<(), Failure>>> = Vec::new();
    for n in 0..40 {
        let harness = &harness;
        leaving.push(match n % 4 {
            0 => {
                Box::pin(async move { harness.post(1, "IN", 7, &format!("l{n}")).await.map(drop) })
            }
            1 => Box::pin(async move { harness.give((1, 2), 7, &format!("l{n}")).await.map(drop) }),
            2 => {
                Box::pin(async move { harness.hold(1, 7, &format!("l{n}"), None).await.map(drop) })
            }
            _ => Box::pin(async move { harness.open_keyed(n).await.map(drop) }),
        });
    }
    assert!(leaving.iter_mut().all(|asking| ask(asking).is_none()));
    let mut staying: Asking<'_, _> = Box::pin(harness.post(1, "IN", 1, "stays"));
    assert!(ask(&mut staying).is_none());
    drop(leaving);
    value(staying.await);
    assert_eq!((harness.disk(1), harness.disk(2)), (1001, 1000));
    let totals =
        crate::engine::operators::on_disk(harness.engine.store().as_ref(), REALM, AccountNo(3));
    assert_eq!(totals.unwrap_err(), Rejection::AccountNotFound.into());
    // Their claims are free: the same ids and keys work now.
    let again = value(harness.post(1, "IN", 7, "l0").await);
    assert!(matches!(again, Outcome::Recorded(_)));
    let kept = harness.open_keyed(3).await.unwrap();
    assert!(matches!(kept, Given::Kept { again: false, .. }));
    harness.verified().await;
}

#[actix::test]
async fn an_order_waits_undecided_for_a_store_that_has_enough_and_reads_pass_by() {
    let harness = Harness::new(1, 9, 0, bank()).await;
    harness.store.set_automatic(false);
    let held = || usize::try_from(harness.engine.stats().queued).unwrap();
    let mut orders: Vec<Asking<'_, _>> = Vec::new();
    for n in 0..2000 {
        let harness = &harness;
        orders.push(Box::pin(async move {
            harness.post(1 + n % 8, "IN", 1, &format!("p{n}")).await
        }));
    }
    assert!(orders.iter_mut().all(|asking| ask(asking).is_none()));
    while held() < PRESSED {
        tokio::task::yield_now().await;
    }
    assert_eq!(harness.balance(9).await.total().centavos(), 0);
    let decided = held();
    assert!((PRESSED..PRESSED + 100).contains(&decided), "{decided}");
    // Half of the waiting callers leave. The orders were taken in sequence, so these are undecided.
    let leaving: Vec<_> = orders.splice(decided..1500, []).collect();
    assert!(leaving.len() > 400);
    drop(leaving);
    harness.store.set_automatic(true);
    let staying = i64::try_from(orders.len()).unwrap();
    for order in orders {
        value(order.await);
    }
    assert_eq!((1..=8).map(|n| harness.disk(n)).sum::<i64>(), staying);
    assert_eq!(harness.engine.report(REALM).await.unwrap().queued, 0);
    harness.verified().await;
}

/// Items of a batch for one account.
fn items(count: usize) -> Vec<Adjustment> {
    let item = |n| adjustment(1, "IN", 1, &format!("item-{n}"));
    (0..count).map(item).collect()
}

fn recorded(outcomes: &[ItemOutcome]) -> usize {
    let new = |outcome: &&ItemOutcome| matches!(outcome, Ok(Outcome::Recorded(_)));
    outcomes.iter().filter(new).count()
}

#[actix::test]
async fn an_order_that_waits_for_an_account_is_not_executed_when_its_asker_leaves() {
    // Time passes only when nothing is left to do: no answer comes too late.
    tokio::time::pause();
    let harness = Harness::new(1, 1, 0, bank()).await;
    // An atomic batch has the account's desk for many turns of the thread.
    let mut batch: Asking<'_, _> = Box::pin(harness.engine.batch(
        REALM,
        items(9000),
        harness::mode(true),
        plain(),
    ));
    assert!(ask(&mut batch).is_none());
    let queued = || async { harness.engine.report(REALM).await.unwrap().queued };
    let target = Target::Account(AccountNo(1));
    let probe = loop {
        let mut probe: Asking<'_, _> = Box::pin(harness.engine.balance(REALM, target));
        let mut turns = 0;
        while ask(&mut probe).is_none() && turns < 10 {
            tokio::task::yield_now().await;
            turns += 1;
        }
        if turns == 10 {
            break probe;
        }
    };
    let mut waiting: Vec<Asking<'_, _>> = Vec::new();
    for n in 0..8 {
        let id = format!("w{n}");
        let harness = &harness;
        waiting.push(Box::pin(
            async move { harness.post(1, "IN", 100, &id).await },
        ));
    }
    assert!(waiting.iter_mut().all(|asking| ask(asking).is_none()));
    while queued().await < 9 {}
    assert!(ask(&mut batch).is_none(), "the batch is too short for this");
    let staying = waiting.split_off(5);
    drop(waiting);
    for asking in staying {
        value(asking.await);
    }
    assert_eq!(recorded(&value(batch.await)), 9000);
    assert_eq!(probe.await.unwrap().balance.total().centavos(), 9000);
    assert_eq!(harness.disk(1), 9000 + 3 * 100);
    harness.verified().await;
}

#[actix::test]
async fn of_a_batch_whose_asker_leaves_the_rest_is_not_executed_and_can_be_asked_again() {
    // Time passes only when nothing is left to do: no answer comes too late.
    tokio::time::pause();
    let harness = Harness::new(1, 1, 0, bank()).await;
    let mut batch: Asking<'_, _> = Box::pin(harness.engine.batch(
        REALM,
        items(5000),
        harness::mode(false),
        plain(),
    ));
    assert!(ask(&mut batch).is_none());
    while harness.disk(1) == 0 {
        tokio::task::yield_now().await;
    }
    drop(batch);
    let idle = || async {
        let report = harness.engine.report(REALM).await.unwrap();
        report.queued == 0 && report.in_flight == 0
    };
    while !idle().await {
        tokio::task::yield_now().await;
    }
    let done = usize::try_from(harness.disk(1)).unwrap();
    assert!(done < 5000, "{done}");
    let again = value(
        harness
            .engine
            .batch(REALM, items(5000), harness::mode(false), plain())
            .await,
    );
    assert_eq!(recorded(&again), 5000 - done);
    assert!(again.iter().all(Result::is_ok));
    assert_eq!(harness.disk(1), 5000);
    harness.verified().await;
}

impl Harness {
    /// Registers an account under a key.
    async fn open_keyed(&self, n: usize) -> Answered<AccountView> {
        let asker = Asker {
            keyed: Some(keyed(&format!("key-{n}"))),
            request_id: "r".into(),
        };
        let registration = registration();
        self.engine
            .register(REALM, registration, true, None, asker)
            .await
    }
}
