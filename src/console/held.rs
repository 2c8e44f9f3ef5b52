//! Realms that hold all outgoing calls, because another generation came into force.
//!
//! **Shape.** A note and a table with a row for each such realm, above everything else on the overview and on the
//! page of its tenant; nothing where no realm holds. Unfinished work is counted, some of which may be at the bank
//! already, and links to the list.
//! list.
//! **Bounds.** [`ROWS`] realms; of each kind of work at most [`COUNTED_MAX`] are counted.
//! **Bounds.** [`ROWS`] realms; of each kind [`COUNTED_MAX`] are counted.
//! **Failure.** A count that cannot be read is left out of the row of its realm: that the realm holds is known
//! without a read.
//! **Failure.** What of a realm cannot be read is left out of its row: that it holds is known without a read.

use caudal_actors::engine::leaving::{COUNTED_MAX, Leaving};
use caudal_actors::platform::realms;
use caudal_ledger::tenants::Platform;

use super::tongue::Tongue;
use super::view::{Block, Cell, ROWS, Table, Tone};
use super::visit::{Place, Visit};
use super::words::Word;
use crate::v1::webhooks::bodies::webhook;

/// The realms of a tenant, or of all tenants.
pub async fn shown(visit: &Visit, tenant: Option<&str>) -> Vec<Block> {
    let platform = visit.engine().platform();
    let held = realms(&platform).filter(|(known, mode)| {
        let wanted = tenant.is_none_or(|id| known.id == id);
        wanted && platform.is_held(known.realm(*mode))
    });
    let held: Vec<_> = held
        .take(ROWS)
        .map(|(known, mode)| Place::of(known, mode))
        .collect();
    if held.is_empty() {
        return Vec::new();
    }
    let columns = [
        (Word::Tenant, false),
        (Word::Mode, false),
        (Word::Generation, true),
        (Word::Since, false),
        (Word::Transfers, true),
        (Word::Amount, true),
        (Word::Returns, true),
        (Word::Enrolments, true),
        (Word::EventsHeld, true),
    ];
    let mut table = Table::new(
        visit.tongue(),
        Word::RealmsHeld,
        Word::NoRealmHeld,
        &columns,
    );
    for place in held {
        table.rows.push(row(visit, &platform, &place).await);
    }
    vec![
        Block::Note(Tone::Warn, visit.say(Word::RealmsHeldHint).to_owned()),
        Block::Table(table),
    ]
}

async fn row(visit: &Visit, platform: &Platform, place: &Place) -> Vec<Cell> {
    let (tongue, engine) = (visit.tongue(), visit.engine());
    let number = platform.in_force(place.realm);
    let since = platform
        .generations(place.realm)
        .and_then(|known| known.since(number));
    let mut row = vec![
        Cell::text(&place.name).to(format!("/console/tenants/{}", place.tenant)),
        Cell::text(place.mode.as_str()),
        tongue.count(number),
        tongue.maybe_time(since),
    ];
    row.extend(match engine.leaving(place.realm).await {
        Ok(leaving) => waiting(tongue, place, &leaving),
        Err(_) => unread::<4>(),
    });
    // Webhooks are behind by different numbers of events: the one that is furthest behind gives the number held.
    let behind = engine.webhooks(place.realm).await.map(|hooks| {
        let behind = hooks
            .iter()
            .map(|hook| webhook(place.realm, hook).progress.behind);
        behind.max().map_or(0, |most| most)
    });
    row.push(behind.map_or_else(
        |_| Cell::figure(""),
        |behind| tongue.count(behind).to("/console/webhooks"),
    ));
    row
}

fn unread<const N: usize>() -> Vec<Cell> {
    vec![Cell::figure(""); N]
}

fn waiting(tongue: Tongue, place: &Place, leaving: &Leaving) -> Vec<Cell> {
    let counted = |count: usize| {
        let mut cell = tongue.count(count);
        if count >= COUNTED_MAX {
            cell.text.push('+');
        }
        cell
    };
    vec![
        counted(leaving.transfers).to(place.address("transfers")),
        tongue.money(leaving.amount),
        counted(leaving.returns).to("/console/cases"),
        counted(leaving.enrolments),
    ]
}
