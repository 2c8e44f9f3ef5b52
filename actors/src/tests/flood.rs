//! Floods: whoever was let in finds room all the way, mailboxes refuse messages beyond their bound, and orders whose
//! callers have left.

use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use super::harness::Harness;
use super::*;
use crate::engine::money::ItemOutcome;
use crate::in_flight::{BATCH_ITEMS_MAX, LIMIT, room};
use crate::realms::{Batch, Register};

pub(super) type Asking<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

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
fn flood<'a, T: std::fmt::Debug>(
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
    let most = room(LIMIT);
    let (waiting, refused) = flood(most + 1000, |_| {
        Box::pin(engine.queries().voucher_types(REALM))
    });
    assert_eq!((waiting.len(), refused), (most, 1000), "the supervisor");
    for asking in waiting {
        asking.await.unwrap();
    }
    let (waiting, refused) = flood(3000, |_| Box::pin(engine.queries().treasury(REALM, "r")));
    assert_eq!((waiting.len(), refused), (1024, 1976), "the treasury");
    drop(waiting);
    let change = || PlatformOrder::ChangePlatform {
        limits: None,
        fees: None,
    };
    let (waiting, refused) = flood(1000, |_| Box::pin(engine.operators().administer(change())));
    assert_eq!((waiting.len(), refused), (256, 744), "the platform");
    drop(waiting);
    harness.verified().await;
}

#[actix::test]
async fn the_in_flight_limit_fits_into_one_account_mailbox() {
    let harness = Harness::new(1, 1, 0, bank()).await;
    let engine = &harness.engine;
    let limit = usize::try_from(LIMIT.get()).unwrap();
    let (waiting, refused) = flood(limit, |n| {
        let admitted = Some(engine.in_flight().admit(REALM).unwrap());
        Box::pin(async move {
            let responder = Requester {
                admitted,
                ..plain()
            };
            let order = adjustment(1, "IN", 1, &format!("flood-{n}"));
            engine
                .ledger()
                .order(REALM, order, responder)
                .await
                .map(drop)
        })
    });
    assert_eq!((waiting.len(), refused), (limit, 0));
    let full = engine.in_flight().admit(REALM).unwrap_err();
    assert_eq!(full.in_flight, LIMIT.get());
    // The client of this one leaves at once; its order has its place until its turn.
    let mut waiting = waiting;
    drop(waiting.pop());
    assert_eq!(engine.in_flight().of(REALM).now, LIMIT.get());
    for asking in waiting {
        asking.await.unwrap();
    }
    // It was not decided, because nobody was waiting for it any more.
    assert_eq!(harness.disk(1), i64::from(LIMIT.get()) - 1);
    assert_eq!(engine.in_flight().of(REALM).now, 0);
    assert_eq!(engine.operators().report(REALM).await.unwrap().queued, 0);
    harness.verified().await;
}

/// The two largest batches that may be in flight together, while the disk writes nothing.
#[actix::test]
async fn the_largest_batches_fit_into_the_queue_of_a_stalled_disk() {
    tokio::time::pause();
    let harness = Harness::new(1, 8, 0, bank()).await;
    let engine = &harness.engine;
    harness.store.set_automatic(false);
    let mut batches: Vec<Asking<'_, _>> = Vec::new();
    for round in 0..2 {
        let admitted = engine.in_flight().admit(REALM).unwrap();
        admitted.weigh(BATCH_ITEMS_MAX).unwrap();
        let item = |n: usize| {
            let account = 1 + u64::try_from(n % 8).unwrap();
            adjustment(account, "IN", 1, &format!("large-{round}-{n}"))
        };
        let items = (0..BATCH_ITEMS_MAX).map(item).collect();
        let responder = Requester {
            admitted: Some(admitted),
            ..plain()
        };
        let mode = harness::mode(false);
        batches.push(Box::pin(engine.ledger().order(
            REALM,
            Batch { items, mode },
            responder,
        )));
    }
    assert_eq!(engine.in_flight().of(REALM).now, LIMIT.get());
    assert!(batches.iter_mut().all(|batch| ask(batch).is_none()));
    for _ in 0..2000 {
        tokio::task::yield_now().await;
    }
    assert!(batches.iter_mut().all(|batch| ask(batch).is_none()));
    harness.store.set_automatic(true);
    for batch in batches {
        assert_eq!(recorded(&value(batch.await)), BATCH_ITEMS_MAX);
    }
    assert_eq!(engine.in_flight().of(REALM).now, 0);
    harness.verified().await;
}

#[actix::test]
async fn an_order_whose_caller_has_left_is_not_executed() {
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
async fn a_waiting_order_is_not_executed_when_its_caller_leaves() {
    // Time passes only when nothing is left to do: no answer comes too late.
    tokio::time::pause();
    let harness = Harness::new(1, 1, 0, bank()).await;
    // An atomic batch has the account's account state for many turns of the thread.
    let mut batch: Asking<'_, _> = Box::pin(harness.engine.ledger().order(
        REALM,
        Batch {
            items: items(9000),
            mode: harness::mode(true),
        },
        plain(),
    ));
    assert!(ask(&mut batch).is_none());
    let queued = || async {
        harness
            .engine
            .operators()
            .report(REALM)
            .await
            .unwrap()
            .queued
    };
    let target = Target::Account(AccountNo(1));
    let probe = loop {
        let mut probe: Asking<'_, _> = Box::pin(harness.engine.queries().balance(REALM, target));
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
async fn a_batch_stops_when_its_caller_disconnects_and_can_be_retried() {
    // Time passes only when nothing is left to do: no answer comes too late.
    tokio::time::pause();
    let harness = Harness::new(1, 1, 0, bank()).await;
    let mut batch: Asking<'_, _> = Box::pin(harness.engine.ledger().order(
        REALM,
        Batch {
            items: items(5000),
            mode: harness::mode(false),
        },
        plain(),
    ));
    assert!(ask(&mut batch).is_none());
    while harness.disk(1) == 0 {
        tokio::task::yield_now().await;
    }
    drop(batch);
    let idle = || async {
        let report = harness.engine.operators().report(REALM).await.unwrap();
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
            .ledger()
            .order(
                REALM,
                Batch {
                    items: items(5000),
                    mode: harness::mode(false),
                },
                plain(),
            )
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
        let responder = Requester {
            keyed: Some(keyed(&format!("key-{n}"))),
            request_id: "r".into(),
            admitted: None,
        };
        let registration = registration();
        self.engine
            .ledger()
            .order(
                REALM,
                Register {
                    registration,
                    open: true,
                    alias: None,
                },
                responder,
            )
            .await
    }
}
