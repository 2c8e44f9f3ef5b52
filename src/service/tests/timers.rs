//! What the service does at intervals: a bank that fails, or whose list causes a panic, stops nothing else.

use actix_web::rt;
use caudal_actors::banks::Relation;
use caudal_actors::engine::EngineOptions;
use caudal_actors::platform::PlatformOrder;
use caudal_actors::ports::fake_bank::{FakeBank, FakeCall};
use caudal_actors::ports::{BankError, BankFuture, BankGateway, BankReply, Collector};
use caudal_actors::records::projection::ServiceProjection;
use caudal_ledger::ids::RealmId;
use caudal_ledger::money::Money;
use caudal_ledger::time::Timestamp;
use caudal_storage::FaultyStore;

use super::*;
use crate::{catch_up, coverage};

/// A bank that counts what it is asked. The live realm's first list causes a panic, and nothing is returned about the
/// test realm's balance.
#[derive(Debug)]
struct Odd {
    realm: RealmId,
    lists: AtomicUsize,
    balances: AtomicUsize,
}

impl FakeBank for Odd {
    fn account(&self) -> Collector {
        Collector {
            cbu: format!("{:022}", self.realm.0),
            bank: "A bank".to_owned(),
        }
    }

    fn has(&self) -> Result<(Money, Timestamp), BankError> {
        self.balances.fetch_add(1, Ordering::Relaxed);
        match self.realm {
            RealmId(1) => Ok((Money::ZERO, Noon.now())),
            _ => Err(BankError::TimedOut),
        }
    }

    fn answer<'a, T: 'a>(
        &'a self,
        (operation, _): FakeCall,
        work: impl FnOnce() -> Result<T, BankError> + 'a,
    ) -> BankFuture<'a, T> {
        if operation == "movements" {
            let before = self.lists.fetch_add(1, Ordering::Relaxed);
            assert!(before > 0 || self.realm != RealmId(1), "as the test wants");
        }
        let (result, calls) = (work(), Vec::new());
        Box::pin(std::future::ready(BankReply { result, calls }))
    }
}

#[derive(Debug)]
struct Noon;

impl Clock for Noon {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(1_700_060_400_000)
    }
}

/// An engine with a tenant, and the banks of its two realms.
async fn engine() -> (Arc<Engine>, [Arc<Odd>; 2]) {
    tokio::time::pause();
    let store = FaultyStore::new(Arc::new(ServiceProjection), 1);
    store.set_automatic(true);
    let odd = [1, 2].map(|realm| {
        Arc::new(Odd {
            realm: RealmId(realm),
            lists: AtomicUsize::new(0),
            balances: AtomicUsize::new(0),
        })
    });
    let banks = odd.clone();
    let banks = move |relation: &Relation| {
        let bank = banks.iter().find(|bank| bank.realm == relation.realm);
        let bank: Arc<dyn BankGateway> = Arc::<Odd>::clone(bank.unwrap());
        Ok(bank)
    };
    let options = EngineOptions {
        arbiters: 0,
        ..EngineOptions::default()
    };
    let engine = Engine::start(store, Arc::new(Noon), Arc::new(banks), options).unwrap();
    let create = PlatformOrder::CreateTenant(NewTenant::plain("tnt_1"));
    engine.operators().administer(create).await.unwrap();
    (Arc::new(engine), odd)
}

#[actix_web::test]
async fn a_list_that_causes_a_panic_is_read_again_and_stops_no_other() {
    let (engine, odd) = engine().await;
    let reading = rt::spawn(catch_up::run(engine, Duration::from_secs(60)));
    rt::time::sleep(Duration::from_secs(90)).await;
    reading.abort();
    // Yesterday's and today's in the first round, today's in the second; the panic took the place of the first two.
    let lists = odd.map(|bank| bank.lists.load(Ordering::Relaxed));
    assert_eq!(lists, [2, 3]);
}

#[actix_web::test]
async fn a_bank_is_asked_once_in_an_interval_and_less_often_while_it_fails() {
    let (engine, odd) = engine().await;
    let checking = rt::spawn(coverage::run(engine, Duration::from_secs(60)));
    let asked = || {
        odd.each_ref()
            .map(|bank| bank.balances.load(Ordering::Relaxed))
    };
    rt::time::sleep(Duration::from_secs(30)).await;
    // It fails at once, and then after 2, 4 and 8 minutes and every ten.
    let fails = [0, 2, 6, 14, 24, 34];
    for minute in 0..40 {
        let failed = fails.iter().filter(|at| **at <= minute).count();
        assert_eq!(asked(), [minute + 1, failed], "in minute {minute}");
        rt::time::sleep(Duration::from_secs(60)).await;
    }
    checking.abort();
}
