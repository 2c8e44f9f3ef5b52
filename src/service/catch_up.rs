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
use caudal_actors::banks::OnCollector;
use caudal_actors::engine::Engine;
use caudal_actors::persist::panics;
use caudal_ledger::tenants::Mode;
use caudal_ledger::time::{BusinessDay, Timestamp};

/// How long after midnight yesterday's list is still read, in milliseconds: 2 hours.
const YESTERDAY_MILLIS: u64 = 2 * 60 * 60 * 1000;

/// Reads the lists every `every`.
pub(super) async fn run(engine: Arc<Engine>, every: Duration) {
    let mut first = true;
    loop {
        for on in engine.queries().collectors().values() {
            let collector = on.collector.cbu.get(18..);
            for mode in [Mode::Live, Mode::Test] {
                if panics(turn(&engine, on, mode, first)).await {
                    tracing::error!(
                        mode = mode.as_str(),
                        collector,
                        "reading the list of a bank panicked; retrying later"
                    );
                }
            }
            if panics(statements(&engine, on, first)).await {
                tracing::error!(
                    collector,
                    "reading the statement of a collector account panicked; retrying later"
                );
            }
        }
        first = false;
        rt::time::sleep(every).await;
    }
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
