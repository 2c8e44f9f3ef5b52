//! A realm that rests for a move: whatever happens, it goes on where it should, and rests where it is closed.

use caudal_ledger::tenants::restores::RestoreStep;
use caudal_ledger::tenants::{Mode, Serving};
use caudal_storage::Store as _;

use super::full_store::FullStore;
use super::harness::{Harness, nap};
use super::*;
use crate::engine::generations::NotCopied;

const FIRST: Target = Target::Account(AccountNo(1));

/// Orders that change nothing, in place of those that state that the realm leaves and stays.
fn nothing() -> (PlatformOrder, PlatformOrder) {
    let order = || PlatformOrder::Restore {
        id: TENANT.to_owned(),
        mode: Mode::Live,
        step: RestoreStep::Release,
    };
    (order(), order())
}

#[actix::test]
async fn a_realm_that_cannot_be_loaded_after_its_move_is_tried_again() {
    tokio::time::pause();
    let bank: Arc<TestBank> = Arc::default();
    let first = Harness::new(1, 1, 1000, Arc::<TestBank>::clone(&bank)).await;
    let store = first.store.crash(0);
    store.set_automatic(true);
    let store = FullStore::over(store);
    let engine = store.engine(&first.clock, &bank);
    engine.balance(REALM, FIRST).await.unwrap();
    let last = async {
        store.break_rows(true);
        Err(NotCopied::Unwanted)
    };
    let mended = async {
        wait_until(|| store.failed() > 0).await;
        // the query does not wait for the realm
        let refused = engine.balance(REALM, FIRST).await;
        assert_eq!(refused.unwrap_err(), Failure::ShuttingDown);
        // a move of the realm to this place tries at once, and gets the error
        assert!(engine.resumed_in_turn(REALM).await.is_err());
        store.break_rows(false);
    };
    let (moved, ()) = tokio::join!(engine.moves((REALM, None), nothing(), last), mended);
    assert_eq!(moved.unwrap_err(), NotCopied::Unwanted);
    let served = async {
        while engine.balance(REALM, FIRST).await.is_err() {
            nap().await;
        }
    };
    let served = tokio::time::timeout(Duration::from_secs(120), served);
    served.await.expect("nobody asks for it again");
}

#[actix::test]
async fn a_realm_that_acts_although_it_is_closed_rests_before_the_last_of_it_is_read() {
    let world = World::new().await;
    value(world.open(None, None).await);
    let platform = world.engine.platform();
    let tenant = platform.tenant(TENANT).unwrap();
    let change = TenantChange {
        live: Some(Serving::Closed),
        ..TenantChange::default()
    };
    let changed = world.engine.change_tenant(tenant, change).await.unwrap();
    assert!(!changed.is_open(REALM));
    // as after a closing whose outcome came too late
    world.engine.resume(REALM).await.unwrap();
    world.engine.balance(REALM, FIRST).await.unwrap();
    let commits = std::cell::Cell::new(0);
    let last = async {
        commits.set(world.store.stats().commits);
        Err(NotCopied::Unwanted)
    };
    let moved = world.engine.moves((REALM, None), nothing(), last).await;
    assert_eq!(moved.unwrap_err(), NotCopied::Unwanted);
    let refused = world.post("IN", 1, "late").await;
    assert_eq!(refused.unwrap_err(), Failure::ShuttingDown);
    assert_eq!(world.store.stats().commits, commits.get());
}
