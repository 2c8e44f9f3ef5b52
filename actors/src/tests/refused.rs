//! Orders that were decided on a fact that is refused while they wait for the disk.

use caudal_ledger::accounts::Status;

use super::*;

#[actix::test]
async fn what_was_decided_on_a_change_is_written_with_it_or_not_at_all() {
    let world = World::new().await;
    value(world.open(None, None).await);
    value(world.post("IN", 100, "first").await);
    let target = Target::Account(AccountNo(1));
    let change = |order| {
        let change = world.engine.change(REALM, target, order, None, plain());
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
        let view = world.engine.view(REALM, target).await.unwrap();
        let (status, left) = match refuses {
            true => {
                assert_eq!(reactivated.unwrap_err(), Failure::ReadOnly);
                assert_eq!(posted.unwrap_err(), Failure::Overloaded);
                (Status::Suspended, 100)
            }
            false => {
                value(reactivated);
                value(posted);
                (Status::Active, 90)
            }
        };
        assert_eq!(view.account.status, status);
        assert_eq!(world.balance().await, left);
        world.verified().await;
    }
}
