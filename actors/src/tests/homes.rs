//! Money for a CVU: the realm that has it gets it, and money for a CVU that nobody has is kept by the first realm on the
//! collector account, by notice and by list alike.

use std::collections::BTreeSet;

use caudal_ledger::cases::CaseKind;
use caudal_ledger::counterparty::Counterparty;
use caudal_ledger::cvu::Cvu;
use caudal_ledger::ids::Shard;
use caudal_ledger::tenants::Mode;

use super::*;
use crate::banks::NoticeAuthority;
use crate::engine::cases::Case;
use crate::engine::money::NoticeOutcome;
use crate::ports::Notice;
use crate::realms::Register;

/// Two tenants of a shard, on one collector account.
async fn two() -> (Engine, [RealmId; 2]) {
    let store = FaultyStore::new(Arc::new(ServiceProjection), 1);
    store.set_automatic(true);
    let bank = Arc::<TestBank>::default();
    let banks = Arc::new(move |_: &Relation| {
        let bank: Arc<dyn BankGateway> = Arc::<TestBank>::clone(&bank);
        Ok(bank)
    });
    let outside = Outside {
        banks,
        sink: Arc::new(NoSink),
        held: watch::channel(false).1,
        seals: Arc::new(crate::ports::seals::NoSigner),
    };
    let options = EngineOptions::default();
    let clock = Arc::<TestClock>::default();
    let engine = Engine::timed(store, clock, outside, options, Times::default()).unwrap();
    let shard = Shard::new(2748).unwrap();
    for id in [TENANT, "tnt_2"] {
        let new = NewTenant {
            shard,
            ..NewTenant::plain(id)
        };
        let create = PlatformOrder::CreateTenant(new);
        engine.operators().administer(create).await.unwrap();
    }
    (engine, [1, 3].map(|number| RealmId::of(shard, number)))
}

async fn opened(engine: &Engine, realm: RealmId) -> Cvu {
    let opening = engine.ledger().order(
        realm,
        Register {
            registration: registration(),
            open: true,
            alias: None,
        },
        plain(),
    );
    let view = value(opening.await);
    view.account.cvu.unwrap()
}

fn received(id: &str, cvu: Cvu) -> Notice {
    Notice::Received {
        coelsa_id: id.into(),
        bank_id: "b".into(),
        cvu,
        amount: Amount::from_centavos(70).unwrap(),
        from: Counterparty::default(),
        at: Timestamp::default(),
    }
}

async fn parked(engine: &Engine, realm: RealmId) -> usize {
    let cases = engine
        .operators()
        .cases(vec![realm], vec![CaseKind::Suspense], (0, 10));
    let (cases, _) = cases.await.unwrap();
    cases
        .iter()
        .filter(|(_, case)| matches!(case, Case::Suspense(_)))
        .count()
}

#[actix::test]
async fn money_goes_to_the_realm_that_has_the_cvu_and_else_to_the_first_on_the_account() {
    let (engine, [first, second]) = two().await;
    let own = opened(&engine, second).await;
    let hear = async |authority: NoticeAuthority, notice| {
        engine
            .ledger()
            .notice(authority, notice, "r")
            .await
            .unwrap()
    };
    assert_eq!(engine.operators().locate(own).await.unwrap().0, second);
    assert_eq!(
        hear(Mode::Live.into(), received("a", own)).await,
        NoticeOutcome::Done
    );
    let target = Target::Cvu(own);
    let balance = engine.queries().balance(second, target).await.unwrap();
    assert_eq!(balance.balance.total().centavos(), 70);
    // Nobody has the CVU.
    let stray = Cvu::compose(crate::ports::fake_bank::PSP, 123_456_789_012).unwrap();
    assert_eq!(
        hear(Mode::Live.into(), received("b", stray)).await,
        NoticeOutcome::Suspended
    );
    assert_eq!(
        hear(Mode::Live.into(), received("b", stray)).await,
        NoticeOutcome::Known
    );
    assert_eq!(
        (parked(&engine, first).await, parked(&engine, second).await),
        (1, 0)
    );
    // A bank that speaks for the second one only cannot give it what the first one keeps.
    let only = NoticeAuthority::from(BTreeSet::from([second]));
    assert_eq!(
        hear(only, received("c", stray)).await,
        NoticeOutcome::Ignored
    );
    assert_eq!(
        (parked(&engine, first).await, parked(&engine, second).await),
        (1, 0)
    );
}
