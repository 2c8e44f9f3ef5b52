//! Cells that take no commits here, like those that another node owns.

use super::*;

#[actix::test]
async fn a_dead_treasury_is_replaced_beside_a_cell_that_takes_nothing() {
    let [store, other] = [1, 2].map(|seed| FaultyStore::new(Arc::new(Rows), seed));
    store.set_automatic(true);
    other.set_full(true);
    let world = World::beside(vec![other], (store, Arc::default(), Arc::default()));
    furnish(&world.engine).await;
    value(world.open(None, None).await);
    value(world.post("IN", 500, "a").await);
    world.bank.will_panic();
    let lost = world.engine.treasury(REALM, "r").await;
    assert!(lost.is_err(), "{lost:?}");
    let after = world.engine.treasury(REALM, "r").await.unwrap();
    assert_eq!(after.totals.available.to_string(), "5.00");
}
