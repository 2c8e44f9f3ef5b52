//! Catches up with the bank: records transfers that the bank's list of the day has and no notice reported.
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
use caudal_ledger::time::Timestamp;

/// How long after midnight yesterday's list is still read, in milliseconds: 2 hours.
const YESTERDAY_MILLIS: u64 = 2 * 60 * 60 * 1000;

/// Reads the lists every `every`, until the handle is aborted.
pub(super) fn start(engine: Arc<Engine>, every: Duration) -> JoinHandle<()> {
    rt::spawn(async move {
        let mut first = true;
        loop {
            for on in engine.collectors().values() {
                for mode in [Mode::Live, Mode::Test] {
                    if panics(turn(&engine, (on, mode), first)).await {
                        tracing::error!("reading a bank's list panicked; it is read again later");
                    }
                }
            }
            first = false;
            rt::time::sleep(every).await;
        }
    })
}

async fn turn(engine: &Engine, (on, mode): (&OnCollector, Mode), first: bool) {
    let now = engine.now();
    let today = now.business_day();
    let since_midnight = now.millis().saturating_sub(today.start().millis());
    let early = since_midnight < YESTERDAY_MILLIS;
    let yesterday = (first || early).then(|| today.before());
    for day in yesterday.into_iter().chain([today]) {
        let id = format!("catch-up-{}", Timestamp::millis(now));
        match engine.catch_up((on, mode), day, &id).await {
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
