//! Clocks that go wrong.

use caudal_ledger::voucher_types::VoucherTypeChange;

use super::*;
use crate::accounts::ChangeProfile;
use crate::realms::ChangeType;

#[actix::test]
async fn a_clock_that_is_set_back_stops_nothing_and_no_stream_goes_back() {
    let world = World::new().await;
    world.clock.0.store(3_600_000, Ordering::Relaxed);
    value(world.open(Some("ana.prueba"), None).await);
    let kept = world.open(None, Some("k1")).await.unwrap();
    assert!(matches!(kept, Given::Kept { status: 201, .. }));
    let late = value(world.post("IN", 100, "a").await).into_inner();
    world.clock.0.store(0, Ordering::Relaxed);
    let kept = world.open(None, Some("k2")).await.unwrap();
    assert!(matches!(kept, Given::Kept { status: 201, .. }));
    let early = value(world.post("IN", 100, "b").await).into_inner();
    assert!(early.voucher.at >= late.voucher.at);
    let target = Target::Account(AccountNo(1));
    let order = ProfileOrder::SetAlias(Alias::parse("otra.prueba").unwrap());
    value(
        world
            .engine
            .ledger()
            .order(REALM, ChangeProfile::new(target, order), plain())
            .await,
    );
    let code = TypeCode::parse("IN").unwrap();
    let change = VoucherTypeChange {
        active: Some(false),
        ..VoucherTypeChange::default()
    };
    value(
        world
            .engine
            .ledger()
            .order(REALM, ChangeType(code, change), plain())
            .await,
    );
    let change = TenantChange::default();
    let changed = PlatformOrder::ChangeTenant("tnt_1".into(), change);
    world.engine.operators().administer(changed).await.unwrap();
    world.verified().await;
}
