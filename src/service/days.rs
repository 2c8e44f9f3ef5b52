//! Closes the days of every realm, a grace after their end, and asks the bank again about days that lack its side.
//!
//! **Order.** One realm after the other, and in a realm one day after the other, so that closing takes one turn among
//! the scans. Days that were missed while nothing ran are closed in the first round.
//!
//! **Failure.** A day that cannot be closed now is closed in a later round; the other realms' days are closed all the
//! same.

use std::sync::Arc;
use std::time::Duration;

use actix_web::rt;
use caudal_actors::engine::Engine;
use caudal_actors::failure::Failure;
use caudal_actors::persist::panics;
use caudal_ledger::ids::RealmId;

/// When days are closed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DayClosing {
    /// How long after its end a day is closed, so that no movement can enter it any more.
    pub grace: Duration,
    /// The pause between two rounds through the realms.
    pub every: Duration,
}

/// Closes days, again and again.
pub(super) async fn run(engine: Arc<Engine>, closing: DayClosing) {
    let grace = closing.grace.as_secs().strict_mul(1000);
    loop {
        for realm in engine.ledger().realms_with_days() {
            if panics(Box::pin(turn(&engine, realm, grace))).await {
                tracing::error!(
                    realm = realm.0,
                    "closing the days of a realm panicked; closing again later"
                );
            }
        }
        rt::time::sleep(closing.every).await;
    }
}

async fn turn(engine: &Engine, realm: RealmId, grace: u64) {
    if let Err(why) = close(engine, realm, grace).await {
        tracing::warn!(%why, realm = realm.0, "a day could not be closed; closing it later");
    }
}

async fn close(engine: &Engine, realm: RealmId, grace: u64) -> Result<(), Failure> {
    let id = format!("days-{}-{}", realm.0, engine.now().millis());
    let ledger = engine.ledger();
    while let Some(date) = ledger.close_next_day(realm, grace, &id).await? {
        tracing::info!(realm = realm.0, %date, "day closed");
    }
    let completed = ledger.complete_days(realm, &id).await?;
    if completed > 0 {
        tracing::info!(
            realm = realm.0,
            days = completed,
            "the bank's side of closed days is known now"
        );
    }
    Ok(())
}
