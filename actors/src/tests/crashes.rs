//! Actors that die and power that goes, in the middle of what concerns several accounts.

use std::rc::Rc;

use caudal_ledger::tenants::Mode;
use caudal_ledger::transfers::{BankMoved, BankTransfer, BankWord};

use super::lab::{Lab, again, nap, origin, outside};
use super::storms::all;
use super::*;
use crate::engine::money::Heard;
use crate::ports::Notice;

fn bank() -> Arc<TestBank> {
    Arc::default()
}

#[actix::test]
async fn the_end_of_a_hold_is_not_written_by_an_actor_in_doubt() {
    tokio::time::pause();
    let lab = Lab::new(1, 1, 1000, bank()).await;
    let end = lab.clock.now().plus_millis(60_000);
    value(lab.hold(1, 100, "h", Some(end)).await);
    lab.store.refuse_next(StoreError::Overloaded);
    assert_eq!(lab.post(1, "IN", 7, "x").await, Err(Failure::Overloaded));
    // Another actor has the account now, and has moved it on; the old one has an alarm set.
    value(lab.post(1, "IN", 50, "y").await);
    super::lab::later(Duration::from_secs(61)).await;
    let balance = lab.balance(1).await;
    assert_eq!(balance.available.centavos(), 1050);
    lab.verified().await;
}

#[actix::test]
async fn a_batch_that_repeats_what_is_in_flight_waits_for_it() {
    let lab = Lab::new(1, 2, 1000, bank()).await;
    lab.store.set_automatic(false);
    let both = || vec![adjustment(1, "IN", 1, "done"), adjustment(2, "IN", 5, "a")];
    lab.store.set_automatic(true);
    value(lab.post(1, "IN", 1, "done").await);
    lab.store.set_automatic(false);
    let mut first = Box::pin(lab.post(2, "IN", 5, "a"));
    goes_on(&mut first, || lab.store.pending() == 1).await;
    let mut repeat = Box::pin(lab.engine.batch(REALM, both(), lab::mode(true), plain()));
    let soon = Duration::from_millis(20);
    assert!(
        tokio::time::timeout(soon, &mut repeat).await.is_err(),
        "answered before the flush"
    );
    lab.store.step_all();
    value(first.await);
    let outcomes = value(repeat.await);
    assert!(
        outcomes
            .iter()
            .all(|one| matches!(one, Ok(Outcome::Replayed(_))))
    );
}

/// Transfers each way and a batch over all, again and again until each is known to be done.
async fn work(lab: Rc<Lab>, name: String) {
    let until_known = |n: u64| {
        let (lab, id) = (Rc::clone(&lab), format!("{name}-{n}"));
        async move {
            loop {
                let failed = match n % 4 {
                    0 => lab.give((1, 2), 5, &id).await.err(),
                    1 => lab.give((2, 1), 3, &id).await.err(),
                    2 => lab.give((2, 3), 1, &id).await.err(),
                    _ => {
                        let items = (1..=3).map(|a| adjustment(a, "IN", 1, &format!("{id}-{a}")));
                        let posted =
                            lab.engine
                                .batch(REALM, items.collect(), lab::mode(true), plain());
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
    let lab = Lab::new(1, 3, 1000, bank()).await;
    let (mut deaths, mut rounds) = (0_u32, 0_i64);
    loop {
        rounds += 1;
        lab.clock.arm(rounds);
        work(Rc::clone(&lab), format!("r{rounds}")).await;
        let died = lab.clock.blown();
        lab.clock.arm(0);
        deaths += u32::from(died);
        let mut sum = 0;
        for account in 1..=3 {
            let total = lab.balance(account).await.total().centavos();
            assert_eq!(total, lab.disk(account));
            sum += total;
        }
        assert_eq!(sum, 3000 + rounds * 6, "round {rounds}");
        if !died {
            break;
        }
    }
    // All of each batch and transfer once: what each account has is known.
    assert_eq!(lab.disk(1), 1000 + rounds * (2 - 10 + 6));
    assert_eq!(lab.disk(2), 1000 + rounds * (2 + 10 - 6 - 2));
    assert_eq!(lab.disk(3), 1000 + rounds * (2 + 2));
    lab.verified().await;
    let restarts = lab.engine.report(REALM).await.unwrap().restarts;
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
        let lab = Lab::new(1, 3, 1000, bank()).await;
        lab.store.set_automatic(false);
        let ways = [(1, 2), (2, 1), (2, 3), (3, 1), (1, 3), (3, 2)];
        let tasks: Vec<_> = ways
            .into_iter()
            .map(|way| {
                let lab = Rc::clone(&lab);
                actix::spawn(async move {
                    lab.give(way, 10, &format!("{way:?}").replace(", ", "-"))
                        .await
                })
            })
            .collect();
        wait_until(|| lab.store.pending() >= 6).await;
        for _ in 0..n.min(3) {
            lab.store.step();
            assert_eq!((1..=3).map(|a| lab.disk(a)).sum::<i64>(), 3000);
        }
        tasks.iter().for_each(tokio::task::JoinHandle::abort);
        let lab = lab.crash(keep, bank());
        crashes += 1;
        assert_eq!((1..=3).map(|a| lab.disk(a)).sum::<i64>(), 3000);
        for way in ways {
            let id = format!("{way:?}").replace(", ", "-");
            value(lab.give(way, 10, &id).await);
        }
        // Each went once: every account gave and got twice.
        for account in 1..=3 {
            assert_eq!(lab.balance(account).await.total().centavos(), 1000);
        }
        lab.verified().await;
    }
    println!("halves: {crashes} crashes");
}

#[actix::test]
async fn what_comes_back_before_its_transfer_is_settled_on_disk_settles_it_once() {
    tokio::time::pause();
    let silent = bank();
    let lab = Lab::new(1, 1, 1000, Arc::<TestBank>::clone(&silent)).await;
    // It gives its lists of two days. It has the transfer, and says nothing of it for now.
    silent.will_obey();
    silent.will_obey();
    silent.will_say(BankError::TimedOut);
    value(lab.send(1, outside(), 100, "t").await);
    wait_until(|| {
        silent
            .called()
            .iter()
            .any(|call| call.starts_with("transfer"))
    })
    .await;
    let origin = origin("t");
    lab.store.set_automatic(false);
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
    let hear = |notice| lab.engine.notice(Mode::Live, notice, "r");
    let ((first, second), ()) = tokio::join!(
        async {
            tokio::join!(hear(settled), async {
                wait_until(|| lab.store.pending() >= 1).await;
                hear(back.clone()).await
            })
        },
        async {
            wait_until(|| lab.store.pending() >= 2).await;
            lab.store.set_automatic(true);
        }
    );
    assert_eq!((first, second), (Ok(Heard::Done), Err(Failure::Overloaded)));
    assert_eq!(hear(back.clone()).await, Ok(Heard::Done));
    assert_eq!(hear(back).await, Ok(Heard::Known));
    let balance = lab.balance(1).await;
    assert_eq!(balance.total().centavos(), 900 + 40);
    lab.verified().await;
}
