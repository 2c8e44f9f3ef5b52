//! Checks every collector account at intervals: whether it has what clients own, and whether its bank answers.
//!
//! **Bounds.** [`AT_ONCE`] banks are asked at a time, and a bank once in an interval for each collector account; while it
//! fails, less and less often. A slow bank delays the next round by as long as one question may take.
//!
//! **Failure.** What fails or panics is checked again in a later round; the other accounts are checked all the same.

use std::sync::Arc;
use std::time::Duration;

use actix_web::rt;
use actix_web::rt::task::JoinHandle;
use caudal_actors::banks::OnCollector;
use caudal_actors::engine::Engine;
use caudal_actors::persist::panics;
use caudal_ledger::time::Timestamp;
use futures_util::StreamExt as _;
use futures_util::stream::iter;

/// How many collector accounts are checked at the same time.
const AT_ONCE: usize = 16;

/// Checks the accounts every `every`, until the handle is aborted.
pub(super) fn start(engine: Arc<Engine>, every: Duration) -> JoinHandle<()> {
    rt::spawn(async move {
        let mut begins = true;
        loop {
            let due = engine.ledger().due_checks(every, begins);
            let engine = engine.as_ref();
            iter(due)
                .for_each_concurrent(AT_ONCE, |on| async move { check(engine, &on).await })
                .await;
            begins = false;
            rt::time::sleep(every).await;
        }
    })
}

async fn check(engine: &Engine, on: &Arc<OnCollector>) {
    let id = format!("coverage-{}", Timestamp::millis(engine.now()));
    let collector = on.collector.cbu.get(18..);
    let checking = async {
        match engine.ledger().check_coverage(on, &id).await {
            Ok(None) => {}
            Ok(Some(fact)) if fact.covered => {
                tracing::info!(
                    collector,
                    "the collector account has what clients own again"
                );
            }
            Ok(Some(_)) => {
                tracing::error!(collector, "the collector account has less than clients own");
            }
            Err(why) => tracing::warn!(
                %why,
                collector,
                "a collector account could not be checked; it is checked again later"
            ),
        }
    };
    if panics(checking).await {
        tracing::error!(
            collector,
            "checking a collector account panicked; checking again later"
        );
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use caudal_actors::engine::EngineOptions;
    use caudal_actors::platform::{NewTenant, PlatformOrder};
    use caudal_actors::ports::fake_bank::FakeBank;
    use caudal_actors::ports::{BankError, BankGateway, Clock, Collector};
    use caudal_actors::records::projection::ServiceProjection;
    use caudal_ledger::ids::RealmId;
    use caudal_ledger::money::Money;
    use caudal_storage::FaultyStore;

    use super::*;

    /// A bank that returns the live realm's balance, and does not answer about the test realm's.
    #[derive(Debug)]
    struct Away {
        realm: RealmId,
        questions: AtomicUsize,
    }

    impl FakeBank for Away {
        fn account(&self) -> Collector {
            Collector {
                cbu: format!("{:022}", self.realm.0),
                bank: "A bank".to_owned(),
            }
        }

        fn has(&self) -> Result<(Money, Timestamp), BankError> {
            self.questions.fetch_add(1, Ordering::Relaxed);
            match self.realm {
                RealmId(1) => Ok((Money::ZERO, Noon.now())),
                _ => Err(BankError::TimedOut),
            }
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
    async fn a_bank_is_asked_once_in_an_interval_and_less_often_while_it_fails() {
        tokio::time::pause();
        let store = FaultyStore::new(Arc::new(ServiceProjection), 1);
        store.set_automatic(true);
        let away = [1, 2].map(|realm| {
            Arc::new(Away {
                realm: RealmId(realm),
                questions: AtomicUsize::new(0),
            })
        });
        let banks = away.clone();
        let banks = move |relation: &caudal_actors::banks::Relation| {
            let bank = banks.iter().find(|bank| bank.realm == relation.realm);
            let bank: Arc<dyn BankGateway> = Arc::<Away>::clone(bank.unwrap());
            Ok(bank)
        };
        let options = EngineOptions {
            arbiters: 0,
            ..EngineOptions::default()
        };
        let engine = Engine::start(store, Arc::new(Noon), Arc::new(banks), options).unwrap();
        let create = PlatformOrder::CreateTenant(NewTenant::plain("tnt_1"));
        engine.operators().administer(create).await.unwrap();
        let engine = Arc::new(engine);
        let checking = start(Arc::clone(&engine), Duration::from_secs(60));
        let asked = || {
            away.each_ref()
                .map(|bank| bank.questions.load(Ordering::Relaxed))
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
}
