//! Actors that die and power that fails, in the middle of orders that concern several accounts.

use std::rc::Rc;

use caudal_ledger::tenants::Mode;
use caudal_ledger::transfers::{BankMoved, BankTransfer, BankWord};

use super::harness::{Harness, again, nap, origin, outside};
use super::storms::all;
use super::*;
use crate::engine::money::NoticeOutcome;
use crate::ports::Notice;
use crate::realms::Batch;

fn bank() -> Arc<TestBank> {
    Arc::default()
}

#[actix::test]
async fn a_poisoned_actor_does_not_expire_holds() {
    tokio::time::pause();
    let harness = Harness::new(1, 1, 1000, bank()).await;
    let end = harness.clock.now().plus_millis(60_000);
    value(harness.hold(1, 100, "h", Some(end)).await);
    harness.store.refuse_next(StoreError::Overloaded);
    assert_eq!(
        harness.post(1, "IN", 7, "x").await,
        Err(Failure::Overloaded)
    );
    // Another actor now has the account, and has moved it on; the old one has set an alarm.
    value(harness.post(1, "IN", 50, "y").await);
    super::harness::later(Duration::from_secs(61)).await;
    let balance = harness.balance(1).await;
    assert_eq!(balance.available.centavos(), 1050);
    harness.verified().await;
}

#[actix::test]
async fn a_batch_that_repeats_what_is_in_flight_waits_for_it() {
    let harness = Harness::new(1, 2, 1000, bank()).await;
    harness.store.set_automatic(false);
    let both = || vec![adjustment(1, "IN", 1, "done"), adjustment(2, "IN", 5, "a")];
    harness.store.set_automatic(true);
    value(harness.post(1, "IN", 1, "done").await);
    harness.store.set_automatic(false);
    let mut first = Box::pin(harness.post(2, "IN", 5, "a"));
    goes_on(&mut first, || harness.store.pending() == 1).await;
    let mut repeat = Box::pin(harness.engine.ledger().order(
        REALM,
        Batch {
            items: both(),
            mode: harness::mode(true),
        },
        plain(),
    ));
    let soon = Duration::from_millis(20);
    assert!(
        tokio::time::timeout(soon, &mut repeat).await.is_err(),
        "answered before the flush"
    );
    harness.store.set_automatic(true);
    value(first.await);
    let outcomes = value(repeat.await);
    assert!(
        outcomes
            .iter()
            .all(|one| matches!(one, Ok(Outcome::Replayed(_))))
    );
}

/// Transfers each way and a batch over all, again and again until each is known to be done.
async fn work(harness: Rc<Harness>, name: String) {
    let until_known = |n: u64| {
        let (harness, id) = (Rc::clone(&harness), format!("{name}-{n}"));
        async move {
            loop {
                let failed = match n % 4 {
                    0 => harness.give((1, 2), 5, &id).await.err(),
                    1 => harness.give((2, 1), 3, &id).await.err(),
                    2 => harness.give((2, 3), 1, &id).await.err(),
                    _ => {
                        let items = (1..=3).map(|a| adjustment(a, "IN", 1, &format!("{id}-{a}")));
                        let posted = harness.engine.ledger().order(
                            REALM,
                            Batch {
                                items: items.collect(),
                                mode: harness::mode(true),
                            },
                            plain(),
                        );
                        posted
                            .await
                            .and_then(|given| match given {
                                Given::Value(items) => {
                                    items.into_iter().collect::<Result<Vec<_>, _>>()
                                }
                                Given::Kept { .. } => panic!("kept"),
                            })
                            .err()
                    }
                };
                match failed {
                    None => return,
                    Some(why) => assert!(again(&why), "{why}"),
                }
                nap().await;
            }
        }
    };
    all((0..8).map(until_known)).await;
}

#[actix::test]
async fn whichever_actor_dies_in_whichever_turn_nothing_is_lost_and_nothing_half() {
    tokio::time::pause();
    let harness = Harness::new(1, 3, 1000, bank()).await;
    let (mut deaths, mut rounds) = (0_u32, 0_i64);
    loop {
        rounds += 1;
        harness.clock.arm(rounds);
        work(Rc::clone(&harness), format!("r{rounds}")).await;
        let died = harness.clock.blown();
        harness.clock.arm(0);
        deaths += u32::from(died);
        let mut sum = 0;
        for account in 1..=3 {
            let total = harness.balance(account).await.total().centavos();
            assert_eq!(total, harness.disk(account));
            sum += total;
        }
        assert_eq!(sum, 3000 + rounds * 6, "round {rounds}");
        if !died {
            break;
        }
    }
    // Each batch and transfer was done once: the balance of each account is known.
    assert_eq!(harness.disk(1), 1000 + rounds * (2 - 10 + 6));
    assert_eq!(harness.disk(2), 1000 + rounds * (2 + 10 - 6 - 2));
    assert_eq!(harness.disk(3), 1000 + rounds * (2 + 2));
    harness.verified().await;
    let restarts = harness
        .engine
        .operators()
        .report(REALM)
        .await
        .unwrap()
        .restarts;
    println!(
        "dying actors: {deaths} deaths, {restarts} restarts, {} orders",
        rounds * 8
    );
    assert!(deaths > 50, "{deaths}");
}

#[actix::test]
async fn no_crash_and_no_step_shows_half_a_transfer() {
    let mut crashes = 0;
    for (n, keep) in (0..=6).chain([usize::MAX]).enumerate() {
        let harness = Harness::new(1, 3, 1000, bank()).await;
        harness.store.set_automatic(false);
        let ways = [(1, 2), (2, 1), (2, 3), (3, 1), (1, 3), (3, 2)];
        let tasks: Vec<_> = ways
            .into_iter()
            .map(|way| {
                let harness = Rc::clone(&harness);
                actix::spawn(async move {
                    harness
                        .give(way, 10, &format!("{way:?}").replace(", ", "-"))
                        .await
                })
            })
            .collect();
        wait_until(|| harness.store.pending() >= 6).await;
        for _ in 0..n.min(3) {
            harness.store.step();
            assert_eq!((1..=3).map(|a| harness.disk(a)).sum::<i64>(), 3000);
        }
        tasks.iter().for_each(tokio::task::JoinHandle::abort);
        let harness = harness.crash(keep, bank());
        crashes += 1;
        assert_eq!((1..=3).map(|a| harness.disk(a)).sum::<i64>(), 3000);
        for way in ways {
            let id = format!("{way:?}").replace(", ", "-");
            value(harness.give(way, 10, &id).await);
        }
        // Each transfer was made once: every account gave and got twice.
        for account in 1..=3 {
            assert_eq!(harness.balance(account).await.total().centavos(), 1000);
        }
        harness.verified().await;
    }
    println!("halves: {crashes} crashes");
}

#[actix::test]
async fn a_return_before_the_settlement_settles_the_transfer_once() {
    tokio::time::pause();
    let silent = bank();
    let harness = Harness::new(1, 1, 1000, Arc::<TestBank>::clone(&silent)).await;
    // It gives its lists of two days. It has the transfer, and for now does not report it.
    silent.will_obey();
    silent.will_obey();
    silent.will_say(BankError::TimedOut);
    value(harness.send(1, outside(), 100, "t").await);
    wait_until(|| {
        silent
            .called()
            .iter()
            .any(|call| call.starts_with("transfer"))
    })
    .await;
    let origin = origin("t");
    harness.store.set_automatic(false);
    let transfer = BankTransfer {
        bank_id: "b".into(),
        coelsa_id: Some("c".into()),
        word: BankWord::Completed,
        moved: BankMoved::default(),
    };
    let settled = Notice::Settled { origin, transfer };
    let back = Notice::Reversed {
        origin,
        bank_id: "b".into(),
        coelsa_id: "back".into(),
        amount: Amount::from_centavos(40).unwrap(),
        reason: "closed".into(),
    };
    let hear = |notice| harness.engine.ledger().notice(Mode::Live, notice, "r");
    let ((first, second), ()) = tokio::join!(
        async {
            tokio::join!(hear(settled), async {
                wait_until(|| harness.store.pending() >= 1).await;
                hear(back.clone()).await
            })
        },
        async {
            wait_until(|| harness.store.pending() >= 2).await;
            harness.store.set_automatic(true);
        }
    );
    assert_eq!(
        (first, second),
        (Ok(NoticeOutcome::Done), Err(Failure::Overloaded))
    );
    assert_eq!(hear(back.clone()).await, Ok(NoticeOutcome::Done));
    assert_eq!(hear(back).await, Ok(NoticeOutcome::Known));
    let balance = harness.balance(1).await;
    assert_eq!(balance.total().centavos(), 900 + 40);
    harness.verified().await;
}
