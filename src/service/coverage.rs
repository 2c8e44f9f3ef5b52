//! Checks every collector account at intervals: whether it has what clients own, and whether its bank answers.
//!
//! **Bounds.** [`AT_ONCE`] banks are asked at a time, and a bank once in an interval for each collector account; while it
//! fails, less and less often. A slow bank delays the next round by as long as one question may take.
//!
//! **Failure.** What fails or panics is checked again in a later round; the other accounts are checked all the same.

use std::sync::Arc;
use std::time::Duration;

use actix_web::rt;
use caudal_actors::banks::OnCollector;
use caudal_actors::engine::Engine;
use caudal_actors::persist::panics;
use caudal_ledger::time::Timestamp;
use futures_util::StreamExt as _;
use futures_util::stream::iter;

/// How many collector accounts are checked at the same time.
const AT_ONCE: usize = 16;

/// Checks the accounts every `every`.
pub(super) async fn run(engine: Arc<Engine>, every: Duration) {
    let (engine, mut begins) = (engine.as_ref(), true);
    loop {
        let due = engine.ledger().due_checks(every, begins);
        iter(due)
            .for_each_concurrent(AT_ONCE, |on| async move { check(engine, &on).await })
            .await;
        begins = false;
        rt::time::sleep(every).await;
    }
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
