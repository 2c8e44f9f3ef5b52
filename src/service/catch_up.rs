//! Catches up with the bank: records transfers that the bank's list of the day has and no notice reported, and the
//! movements of collector accounts that belong to no client.
//!
//! **Why.** A bank notifies about an incoming transfer a few times and then gives up; a service that was down meanwhile
//! would never hear of it. Reading the list repairs that, at every start and at intervals. An item of the list counts
//! once, by the rail's id, as a notice does.
//!
//! **Bounds.** One list at a time, one collector account after the other; yesterday's list at the start and in the
//! first hours of a day.
//!
//! **Failure.** A bank that does not answer is asked again in the next round, and so is one whose list causes a panic.

use std::sync::Arc;
use std::time::Duration;

use actix_web::rt;
use actix_web::rt::task::JoinHandle;
use caudal_actors::banks::OnCollector;
use caudal_actors::engine::Engine;
use caudal_actors::persist::panics;
use caudal_ledger::tenants::Mode;
use caudal_ledger::time::{BusinessDay, Timestamp};

/// How long after midnight yesterday's list is still read, in milliseconds: 2 hours.
const YESTERDAY_MILLIS: u64 = 2 * 60 * 60 * 1000;

/// Reads the lists every `every`, until the handle is aborted.
pub(super) fn start(engine: Arc<Engine>, every: Duration) -> JoinHandle<()> {
    rt::spawn(async move {
        let mut first = true;
        loop {
            for on in engine.queries().collectors().values() {
                for mode in [Mode::Live, Mode::Test] {
                    if panics(turn(&engine, on, mode, first)).await {
                        tracing::error!(
                            mode = mode.as_str(),
                            collector = on.collector.cbu.get(18..),
                            "reading the list of a bank panicked; retrying later"
                        );
                    }
                }
                if panics(statements(&engine, on, first)).await {
                    tracing::error!(
                        collector = on.collector.cbu.get(18..),
                        "reading the statement of a collector account panicked; retrying later"
                    );
                }
            }
            first = false;
            rt::time::sleep(every).await;
        }
    })
}

/// Today, after yesterday at the start and in the first hours of a day.
fn days(now: Timestamp, first: bool) -> impl Iterator<Item = BusinessDay> {
    let today = now.business_day();
    let since_midnight = now.millis().saturating_sub(today.start().millis());
    let early = since_midnight < YESTERDAY_MILLIS;
    let yesterday = (first || early).then(|| today.before());
    yesterday.into_iter().chain([today])
}

/// Records the movements on a collector account's statement that belong to no client.
async fn statements(engine: &Engine, on: &Arc<OnCollector>, first: bool) {
    let now = engine.now();
    for day in days(now, first) {
        let id = format!("statement-{}", now.millis());
        let collector = on.collector.cbu.get(18..);
        match engine.ledger().read_statement(on, day, &id).await {
            Ok(0) => {}
            Ok(recorded) => tracing::info!(
                collector,
                %day,
                recorded,
                "movements of the collector account itself were recorded"
            ),
            Err(why) => tracing::warn!(
                %why,
                collector,
                %day,
                "the statement of a collector account could not be read; it is asked for again later"
            ),
        }
    }
}

async fn turn(engine: &Engine, on: &OnCollector, mode: Mode, first: bool) {
    let now = engine.now();
    for day in days(now, first) {
        let id = format!("catch-up-{}", Timestamp::millis(now));
        match engine.ledger().catch_up((on, mode), day, &id).await {
            Ok(0) => {}
            Ok(missed) => tracing::warn!(
                mode = mode.as_str(),
                collector = on.collector.cbu.get(18..),
                %day,
                missed,
                "the bank's list had what no notice brought; it is taken in now"
            ),
            Err(why) => tracing::warn!(
                %why,
                mode = mode.as_str(),
                collector = on.collector.cbu.get(18..),
                %day,
                "the bank's list could not be read; it is asked for again later"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use caudal_actors::banks::Relation;
    use caudal_actors::engine::EngineOptions;
    use caudal_actors::platform::{NewTenant, PlatformOrder};
    use caudal_actors::ports::fake_bank::{FakeBank, FakeCall};
    use caudal_actors::ports::{BankError, BankGateway, BankReply, Clock, Collector, LocalFuture};
    use caudal_actors::records::projection::ServiceProjection;
    use caudal_ledger::ids::RealmId;
    use caudal_storage::FaultyStore;

    use super::*;

    /// A bank whose first list causes a panic, if it is that of the live realm.
    #[derive(Debug)]
    struct Odd {
        realm: RealmId,
        lists: AtomicUsize,
    }

    impl FakeBank for Odd {
        fn account(&self) -> Collector {
            Collector {
                cbu: format!("{:022}", self.realm.0),
                bank: "A bank".to_owned(),
            }
        }

        fn answer<'a, T: 'a>(
            &'a self,
            (operation, _): FakeCall,
            work: impl FnOnce() -> Result<T, BankError> + 'a,
        ) -> LocalFuture<'a, BankReply<T>> {
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

    #[actix_web::test]
    async fn a_list_that_causes_a_panic_is_read_again_and_stops_no_other() {
        tokio::time::pause();
        let store = FaultyStore::new(Arc::new(ServiceProjection), 1);
        store.set_automatic(true);
        let odd = [1, 2].map(|realm| {
            Arc::new(Odd {
                realm: RealmId(realm),
                lists: AtomicUsize::new(0),
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
        let reading = start(Arc::new(engine), Duration::from_secs(60));
        rt::time::sleep(Duration::from_secs(90)).await;
        reading.abort();
        // Yesterday's and today's in the first round, today's in the second; the panic took the place of the first two.
        let lists = odd.map(|bank| bank.lists.load(Ordering::Relaxed));
        assert_eq!(lists, [2, 3]);
    }
}
