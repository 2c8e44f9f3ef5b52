//! Actors: how many live in each realm, what waits, and which were replaced.

use actix_web::HttpResponse;
use caudal_actors::realms::RealmReport;

use super::lists::cut;
use super::view::{Block, Cell, Page, Part, Table, Tile, Tone};
use super::visit::Visit;
use super::words::Word;
use crate::admin::reports;
use crate::http::errors::ApiError;

/// Shows the actors.
pub async fn page(visit: Visit) -> HttpResponse {
    let made = made(&visit).await;
    visit.show(made)
}

async fn made(visit: &Visit) -> Result<Page, ApiError> {
    let blocks = vec![
        Block::Tiles(tiles(visit)),
        Block::Table(by_realm(visit).await?),
        Block::Table(fallen(visit)),
    ];
    Ok(visit.page(Part::Actors, visit.say(Word::Actors), blocks))
}

fn tiles(visit: &Visit) -> Vec<Tile> {
    let (tongue, residency) = (visit.tongue(), visit.engine().residency());
    let at_most = |cell: Cell| format!("{} {}", visit.say(Word::AtMost), cell.text);
    let taken = crate::memory::taken();
    let plan = visit.desk.door.memory;
    vec![
        Tile {
            label: visit.say(Word::Residents),
            cell: tongue.count(residency.living()),
            hint: at_most(tongue.count(residency.most())),
        },
        Tile {
            label: visit.say(Word::MemoryTaken),
            cell: taken.map_or_else(|| Cell::figure(""), |bytes| tongue.bytes(bytes)),
            hint: plan.map_or_else(String::new, |plan| at_most(tongue.bytes(plan.limit))),
        },
    ]
}

/// The realms, the busiest first.
async fn by_realm(visit: &Visit) -> Result<Table, ApiError> {
    let tongue = visit.tongue();
    let mut realms = reports(&visit.desk).await?;
    let busy = |it: &RealmReport| (it.queued, it.in_flight, it.resident);
    realms.sort_by_key(|it| std::cmp::Reverse(busy(&it.report)));
    let columns = [
        (Word::Tenant, false),
        (Word::Mode, false),
        (Word::Residents, true),
        (Word::Mailbox, true),
        (Word::InFlight, true),
        (Word::WaitsForBank, true),
        (Word::Starts, true),
        (Word::Replaced, true),
        (Word::SentAway, true),
    ];
    let (realms, note, next) = cut(visit, realms);
    let rows = realms.iter().map(|it| {
        let report = &it.report;
        vec![
            Cell::text(&it.tenant).to(format!("/console/tenants/{}", it.tenant)),
            Cell::text(it.mode.as_str()),
            tongue.count(report.resident),
            tongue.count(report.queued),
            tongue.count(report.in_flight),
            tongue.count(report.waiting_for_bank),
            tongue.count(report.starts),
            tongue.count(report.restarts),
            tongue.count(report.passivations),
        ]
    });
    let table = Table::new(tongue, Word::ActorsByRealm, Word::NoTenants, &columns);
    Ok(table.with(rows).part(note, next))
}

/// Realms whose supervisor has fallen.
fn fallen(visit: &Visit) -> Table {
    let tongue = visit.tongue();
    let columns = [
        (Word::Realm, false),
        (Word::Falls, true),
        (Word::Served, false),
    ];
    let rows = visit.engine().down().into_iter().map(|down| {
        let place = visit.realm(down.realm);
        vec![
            Cell::maybe(place.map(|place| place.title())),
            tongue.count(down.falls),
            tongue.is(down.served, Tone::Bad),
        ]
    });
    Table::new(tongue, Word::RealmsDown, Word::NoRealmDown, &columns).with(rows)
}
