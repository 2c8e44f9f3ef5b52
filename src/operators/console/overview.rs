//! The overview: the state of the service, waiting cases, and the activity of the last minutes.

use actix_web::HttpResponse;
use caudal_actors::platform::realms;
use caudal_http::errors::ApiError;

use super::figures::tiles;
use super::view::{Block, Cell, Live, Page, Part, Table, Tone};
use super::visit::Visit;
use super::words::Word;
use crate::admin;

/// Shows the overview.
pub(super) async fn page(visit: Visit) -> HttpResponse {
    let made = made(&visit).await;
    visit.show(made)
}

async fn made(visit: &Visit) -> Result<Page, ApiError> {
    let points = visit.console.pulse.points();
    let points: Vec<_> = points.iter().map(super::live::Point::json).collect();
    let charts = [Word::CommitsASecond, Word::FlushMicros, Word::QueuedCommits];
    let charts = charts
        .into_iter()
        .zip(1..)
        .map(|(word, series)| (visit.say(word), series));
    let mut blocks = Vec::new();
    blocks.extend(readiness(visit));
    blocks.push(Block::Live(Live {
        tiles: tiles(visit),
        charts: charts.collect(),
        past: format!("[{}]", points.join(",")),
    }));
    blocks.push(Block::Later {
        part: "/console/parts/equation".to_owned(),
        waiting: visit.say(Word::AskingBank),
        instead: ("/console/treasury".to_owned(), visit.say(Word::Treasury)),
    });
    blocks.push(Block::Table(waiting(visit)?));
    blocks.push(Block::Table(hooks(visit).await?));
    Ok(visit.page(Part::Overview, visit.say(Word::Overview), blocks))
}

/// The reasons that keep the service from its work, if any.
fn readiness(visit: &Visit) -> Vec<Block> {
    let (engine, door) = (visit.engine(), &visit.desk.door);
    let mut notes = Vec::new();
    if let Err(why) = door.ready() {
        let text = format!("{}: {why}", visit.say(Word::NotReady));
        notes.push(Block::Note(Tone::Bad, text));
    }
    if engine.lifecycle().clock_doubt().is_some() {
        notes.push(Block::Note(
            Tone::Bad,
            visit.say(Word::ClockInDoubt).to_owned(),
        ));
    }
    if visit.desk.outgoing.is_held() {
        notes.push(Block::Note(
            Tone::Warn,
            visit.say(Word::OutgoingHeld).to_owned(),
        ));
    }
    let down = engine.lifecycle().down().len();
    if down > 0 {
        let text = format!("{}: {down}", visit.say(Word::RealmsDown));
        notes.push(Block::Note(Tone::Bad, text));
    }
    let found = engine.operators().checks().found;
    if found > 0 {
        let text = format!("{}: {found}", visit.say(Word::DamageFound));
        notes.push(Block::Note(Tone::Bad, text));
    }
    notes
}

/// The waiting cases, realm by realm; realms without any are left out.
fn waiting(visit: &Visit) -> Result<Table, ApiError> {
    let (tongue, engine) = (visit.tongue(), visit.engine());
    let columns = [
        (Word::Tenant, false),
        (Word::Mode, false),
        (Word::Transfers, true),
        (Word::Suspense, true),
        (Word::Unbooked, true),
        (Word::OldestSince, false),
    ];
    let mut table = Table::new(tongue, Word::WaitsForPeople, Word::NothingWaits, &columns);
    let platform = engine.platform();
    for (tenant, mode) in realms(&platform) {
        let found = engine.operators().case_figures(tenant.realm(mode))?;
        let counts = found.counts;
        if (counts.transfers, counts.suspense, counts.unbooked) == (0, 0, 0) {
            continue;
        }
        let since = [
            found.oldest_transfer,
            found.oldest_suspense,
            found.oldest_unbooked,
        ];
        let place = format!("/console/cases?tenant={}&mode={}", tenant.id, mode.as_str());
        table.rows.push(vec![
            Cell::text(&tenant.name).to(place),
            Cell::text(mode.as_str()),
            tongue.count(counts.transfers),
            tongue.count(counts.suspense),
            tongue.count(counts.unbooked),
            tongue.maybe_time(since.into_iter().flatten().min()),
        ]);
    }
    Ok(table)
}

/// Webhooks that are behind or have stopped.
async fn hooks(visit: &Visit) -> Result<Table, ApiError> {
    let columns = [
        (Word::Tenant, false),
        (Word::Mode, false),
        (Word::Host, false),
        (Word::State, false),
        (Word::Behind, true),
        (Word::Retrying, true),
    ];
    let tongue = visit.tongue();
    let table = Table::new(
        tongue,
        Word::WebhooksBehind,
        Word::NoWebhookBehind,
        &columns,
    );
    let found = admin::all_webhooks(&visit.desk).await?;
    let late = found.into_iter().filter(|row| {
        row.progress.behind > 0
            || row.progress.retrying > 0
            || !matches!(row.status, "active" | "paused")
    });
    let rows = late.take(super::view::ROWS).map(|row| {
        vec![
            Cell::text(row.tenant_id),
            Cell::text(row.mode),
            Cell::text(row.host).to(format!("/console/webhooks/{}", row.id)),
            tongue.state(row.status),
            tongue.count(row.progress.behind),
            tongue.count(row.progress.retrying),
        ]
    });
    Ok(table.with(rows))
}
