//! Orders that were decided on a fact that is refused while they wait for the disk.

use caudal_ledger::accounts::Status;

use super::harness::mode;
use super::*;
use crate::accounts::ChangeProfile;
use crate::engine::money::ItemOutcome;
use crate::realms::{Batch, CreateType};

#[actix::test]
async fn a_decision_on_a_pending_change_is_written_with_it_or_not_at_all() {
    let world = World::new().await;
    value(world.open(None, None).await);
    value(world.post("IN", 100, "first").await);
    let target = Target::Account(AccountNo(1));
    let change = |order| {
        let change = world
            .engine
            .ledger()
            .order(REALM, ChangeProfile::new(target, order), plain());
        Box::pin(change)
    };
    for refuses in [true, false] {
        let suspend = ProfileOrder::Suspend {
            reason: "why".into(),
            code: SuspensionCode::Other,
        };
        if refuses {
            value(change(suspend).await);
        }
        let early = world.post("OUT", 10, "early").await;
        assert!(matches!(early, Err(Failure::Rejected(_))), "{early:?}");
        world.store.set_automatic(false);
        let mut reactivated = change(ProfileOrder::Reactivate);
        goes_on(&mut reactivated, || world.store.pending() == 1).await;
        let mut posting = Box::pin(world.post("OUT", 10, "late"));
        goes_on(&mut posting, || world.store.pending() == 2).await;
        if refuses {
            // The commits behind it would find room.
            let full = StoreError::Full("says the test".into());
            assert!(world.store.refuse_waiting(full));
        }
        world.store.set_automatic(true);
        let (reactivated, posted) = (reactivated.await, posting.await);
        let view = world.engine.queries().view(REALM, target).await.unwrap();
        let (status, left) = if refuses {
            assert_eq!(reactivated.unwrap_err(), Failure::ReadOnly);
            assert_eq!(posted.unwrap_err(), Failure::Overloaded);
            (Status::Suspended, 100)
        } else {
            value(reactivated);
            value(posted);
            (Status::Active, 90)
        };
        assert_eq!(view.account.status, status);
        assert_eq!(world.balance().await, left);
        world.verified().await;
    }
}

#[actix::test]
async fn a_voucher_is_written_with_its_type_or_not_at_all() {
    let world = World::new().await;
    value(world.open(None, None).await);
    value(world.post("IN", 100, "first").await);
    let mut balance = 100;
    for (n, way) in [None, Some(false), Some(true)].into_iter().enumerate() {
        for refuses in [true, false] {
            let code = format!("NEW{n}");
            world.store.set_automatic(false);
            let mut created = Box::pin(world.engine.ledger().order(
                REALM,
                CreateType(credit(&code)),
                plain(),
            ));
            goes_on(&mut created, || world.store.pending() == 1).await;
            let item = adjustment(1, &code, 10, &format!("late-{n}"));
            // On its own, or in a batch.
            let posted = async {
                let Some(atomic) = way else {
                    return world
                        .engine
                        .ledger()
                        .order(REALM, item, plain())
                        .await
                        .map(drop);
                };
                let items = vec![item];
                let batch = world.engine.ledger().order(
                    REALM,
                    Batch {
                        items,
                        mode: mode(atomic),
                    },
                    plain(),
                );
                let outcomes = batch.await.map(|given| match given {
                    Given::Value(outcomes) => outcomes,
                    Given::Kept { .. } => panic!("kept"),
                });
                outcomes?.into_iter().next().unwrap().map(drop)
            };
            let mut posted = Box::pin(posted);
            goes_on(&mut posted, || world.store.pending() == 2).await;
            if refuses {
                // The commits behind it would find room.
                let full = StoreError::Full("says the test".into());
                assert!(world.store.refuse_waiting(full));
            }
            world.store.set_automatic(true);
            let (created, posted) = (created.await, posted.await);
            if refuses {
                assert_eq!(created.unwrap_err(), Failure::ReadOnly);
                assert_eq!(posted.unwrap_err(), Failure::Overloaded);
            } else {
                value(created);
                posted.unwrap();
                balance += 10;
            }
            assert_eq!(world.balance().await, balance, "{code}, {refuses}");
            world.verified().await;
        }
    }
}

#[actix::test]
async fn a_refusal_that_a_key_keeps_is_written_with_its_type_or_not_at_all() {
    let world = World::new().await;
    value(world.open(None, None).await);
    value(world.post("IN", 100, "first").await);
    for refuses in [true, false] {
        // The first item can be posted if there is that type, the second one cannot.
        let batch = || {
            let items = vec![
                adjustment(1, "NEW", 10, "credit"),
                adjustment(1, "OUT", 1_000, "debit"),
            ];
            let responder = Requester {
                keyed: Some(kept_batch()),
                request_id: "r".into(),
                admitted: None,
            };
            Box::pin(world.engine.ledger().order(
                REALM,
                Batch {
                    items,
                    mode: mode(true),
                },
                responder,
            ))
        };
        let answered = |again: bool, answer: Answered<Vec<ItemOutcome>>| match answer {
            Ok(Given::Kept {
                body, again: is, ..
            }) if is == again => body,
            other => panic!("{other:?}"),
        };
        world.store.set_automatic(false);
        let mut created = Box::pin(world.engine.ledger().order(
            REALM,
            CreateType(credit("NEW")),
            plain(),
        ));
        goes_on(&mut created, || world.store.pending() == 1).await;
        let mut refused = batch();
        goes_on(&mut refused, || world.store.pending() == 2).await;
        if refuses {
            // The commits behind it would find room.
            let full = StoreError::Full("says the test".into());
            assert!(world.store.refuse_waiting(full));
        }
        world.store.set_automatic(true);
        let (created, refused) = (created.await, refused.await);
        if refuses {
            assert_eq!(created.unwrap_err(), Failure::ReadOnly);
            assert_eq!(refused.unwrap_err(), Failure::Overloaded);
        } else {
            value(created);
            let body = answered(false, refused);
            assert_eq!(answered(true, batch().await), body);
        }
        assert_eq!(world.balance().await, 100);
        world.verified().await;
    }
}

/// A type of vouchers that credit.
fn credit(code: &str) -> CreateVoucherType {
    CreateVoucherType {
        code: TypeCode::parse(code).unwrap(),
        name: code.into(),
        sense: Sense::Credit,
        description: None,
        category: None,
        counter_account: None,
        capture_tolerance: None,
    }
}

/// The key of a batch, whose answer is what became of its items.
fn kept_batch() -> Keyed<Vec<ItemOutcome>> {
    Keyed {
        scope: keyed("batch").scope,
        render: Box::new(|outcomes| Rendered {
            status: 400,
            body: format!("{outcomes:?}"),
            again: false,
        }),
    }
}
