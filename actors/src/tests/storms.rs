//! Many orders at once: none waits for ever, money is conserved, and exactly the permitted ones pass.

use std::rc::Rc;

use caudal_ledger::limits::LimitKind;

use super::harness::{Dice, Harness, again, nap};
use super::*;
use crate::realms::Batch;

/// Runs all futures at once, and returns their results.
pub(super) async fn all<T: 'static>(
    work: impl IntoIterator<Item = impl Future<Output = T> + 'static>,
) -> Vec<T> {
    let tasks: Vec<_> = work.into_iter().map(actix::spawn).collect();
    let mut given = Vec::with_capacity(tasks.len());
    for task in tasks {
        given.push(task.await.unwrap());
    }
    given
}

fn bank() -> Arc<TestBank> {
    Arc::default()
}

async fn disks(harness: &Harness, accounts: u64) -> i64 {
    let mut sum = 0;
    for account in 1..=accounts {
        let live = harness.balance(account).await.total().centavos();
        assert_eq!(live, harness.disk(account));
        sum += live;
    }
    sum
}

#[actix::test]
async fn a_full_mailbox_answers_every_message() {
    let harness = Harness::new(1, 1, 0, bank()).await;
    let posts = (0..1000).map(|n| {
        let harness = Rc::clone(&harness);
        async move { harness.post(1, "IN", 1, &format!("p{n}")).await }
    });
    let failed: Vec<_> = all(posts)
        .await
        .into_iter()
        .filter_map(Result::err)
        .collect();
    assert_eq!(failed, []);
    assert_eq!(harness.disk(1), 1000);
}

#[actix::test]
async fn batches_over_fifty_accounts_and_transfers_between_them() {
    let harness = Harness::new(9, 50, 1_000, bank()).await;
    let mut dice = Dice(9);
    let work: Vec<_> = (0..300_u64)
        .map(|n| {
            let harness = Rc::clone(&harness);
            let mut dice = Dice(dice.roll(u64::MAX));
            async move {
                let way = (1 + dice.roll(50), 1 + dice.roll(50));
                let atomic = n % 20 != 1;
                loop {
                    let failed = if n % 10 == 1 {
                        let items = (1..=50).map(|a| adjustment(a, "IN", 1, &format!("b{n}-{a}")));
                        let given = harness.engine.ledger().order(
                            REALM,
                            Batch {
                                items: items.collect(),
                                mode: harness::mode(atomic),
                            },
                            plain(),
                        );
                        let given = given.await.map(|given| value(Ok(given)));
                        given
                            .and_then(|items| items.into_iter().collect::<Result<Vec<_>, _>>())
                            .err()
                    } else {
                        harness.give(way, 1, &format!("t{n}")).await.err()
                    };
                    match failed {
                        None => return,
                        Some(Failure::Rejected(Rejection::SameAccount)) if way.0 == way.1 => return,
                        Some(why) => {
                            assert!(again(&why) && why != Failure::OutcomeUnknown, "{why}")
                        }
                    }
                    nap().await;
                }
            }
        })
        .collect();
    all(work).await;
    assert_eq!(disks(&harness, 50).await, 50 * 1000 + 30 * 50);
    harness.verified().await;
    println!("batches: 30 over 50 accounts, 270 transfers between them");
}

#[actix::test]
async fn exactly_what_a_limit_lets_pass_passes() {
    let mut storms = 0;
    for seed in 0..6 {
        let harness = Harness::new(seed, 3, 100_000, bank()).await;
        let passing = 7 + seed;
        let limits = if seed % 2 == 0 {
            Limits::default().with(LimitKind::DailyCount, passing)
        } else {
            let amount = i64::try_from(passing).unwrap() * 10 + 9;
            Limits::default().with(LimitKind::DailyAmount, Money::from_centavos(amount))
        };
        let change = TenantChange {
            limits: Some(limits),
            ..TenantChange::default()
        };
        let changed = PlatformOrder::ChangeTenant("tnt_1".into(), change);
        harness
            .engine
            .operators()
            .administer(changed)
            .await
            .unwrap();
        let orders = (0..200_u64).map(|n| {
            let harness = Rc::clone(&harness);
            async move {
                let id = format!("n{n}");
                let failed = match n % 4 {
                    0 => harness.post(1, "OUT", 10, &id).await.err(),
                    1 => harness.hold(1, 10, &id, None).await.err(),
                    2 => harness.give((1, 2), 10, &id).await.err(),
                    _ => harness.send(1, harness::outside(), 10, &id).await.err(),
                };
                match failed {
                    None => true,
                    Some(Failure::Rejected(Rejection::LimitExceeded { .. })) => false,
                    Some(why) => panic!("{why}"),
                }
            }
        });
        let passed = all(orders).await.into_iter().filter(|ok| *ok).count();
        assert_eq!(u64::try_from(passed).unwrap(), passing, "seed {seed}");
        // A change of the tenant's limits holds for the very next movement.
        let change = TenantChange {
            limits: Some(Limits::default()),
            ..TenantChange::default()
        };
        let changed = PlatformOrder::ChangeTenant("tnt_1".into(), change);
        harness
            .engine
            .operators()
            .administer(changed)
            .await
            .unwrap();
        value(harness.post(1, "OUT", 10, "after").await);
        harness.verified().await;
        storms += 1;
    }
    println!("limits: {storms} storms of 200 movements");
}

#[actix::test]
async fn an_actor_that_lent_its_state_is_not_passivated() {
    let harness = Harness::new(1, 2, 1_000, bank()).await;
    let target = Target::Account(AccountNo(1));
    for turns in 0..12 {
        let id = format!("t{turns}");
        let going = async {
            let harness = Rc::clone(&harness);
            let going = actix::spawn(async move {
                for _ in 0..turns {
                    tokio::task::yield_now().await;
                }
                // The read loads it again.
                tokio::join!(
                    harness.engine.operators().passivate(REALM, target),
                    harness.balance(1)
                )
            });
            going.await.unwrap().0
        };
        let (given, gone) = tokio::join!(harness.give((1, 2), 1, &id), going);
        value(given);
        gone.unwrap();
        let live = harness.balance(1).await.total().centavos();
        assert_eq!(live, harness.disk(1), "after {turns}");
    }
    harness.verified().await;
}
