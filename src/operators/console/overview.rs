//! The overview: money that is missing, banks that do not answer, the state of the service, waiting cases, and the
//! activity of the last minutes.

use actix_web::HttpResponse;
use caudal_actors::engine::coverage::WatchedCollector;
use caudal_actors::platform::realms;
use caudal_actors::records::projection::CaseCounts;
use caudal_http::errors::ApiError;

use super::figures::tiles;
use super::page_context::{PageContext, TenantRealm};
use super::view::{BRIEF, Block, Cell, Live, Page, Part, Table, Tone};
use super::words::Word;
use crate::admin;

/// Shows the overview.
pub(super) async fn page(context: PageContext) -> HttpResponse {
    context
        .answer((), async |context: &PageContext, ()| made(context).await)
        .await
}

async fn made(context: &PageContext) -> Result<Page, ApiError> {
    let points = context.console.pulse.points();
    let points: Vec<_> = points.iter().map(super::live::Point::json).collect();
    let charts = [Word::CommitsASecond, Word::FlushMicros, Word::QueuedCommits];
    let charts = charts
        .into_iter()
        .zip(1..)
        .map(|(word, series)| (context.say(word), series));
    let mut blocks = Vec::new();
    blocks.extend(money(context).await?);
    blocks.extend(readiness(context));
    blocks.push(Block::Live(Live {
        tiles: tiles(context),
        charts: charts.collect(),
        past: format!("[{}]", points.join(",")),
    }));
    blocks.push(Block::Later {
        part: "/console/parts/equation".to_owned(),
        waiting: context.say(Word::AskingBank),
        instead: ("/console/treasury".to_owned(), context.say(Word::Treasury)),
    });
    blocks.push(Block::Table(waiting(context)?));
    blocks.push(Block::Table(hooks(context).await?));
    Ok(context.page(Part::Overview, context.say(Word::Overview), blocks))
}

/// The collector accounts where clients' money is missing, and then those whose bank is not reachable.
async fn money(context: &PageContext) -> Result<Vec<Block>, ApiError> {
    let watched = context.engine().operators().watched_collectors().await?;
    let missing = watched.iter().filter_map(|it| missing(context, it));
    let unreachable = watched.iter().filter_map(|it| unreachable(context, it));
    Ok(missing.take(BRIEF).chain(unreachable.take(BRIEF)).collect())
}

/// A note about a collector account, which leads to its treasury. It begins with the realms on the account.
fn note(context: &PageContext, it: &WatchedCollector, tone: Tone, says: &str) -> Block {
    let realms = it.on.realms.iter();
    let places: Vec<_> = realms.filter_map(|realm| context.realm(*realm)).collect();
    let titles: Vec<_> = places.iter().map(TenantRealm::title).collect();
    let link = places.first().map(TenantRealm::treasury);
    let link = link.unwrap_or_else(|| "/console/treasury".to_owned());
    Block::LinkedNote(tone, format!("{}: {says}", titles.join(", ")), link)
}

fn missing(context: &PageContext, it: &WatchedCollector) -> Option<Block> {
    let (locale, recorded) = (context.locale(), it.uncovered?);
    let says = format!(
        "{} {} {} {}",
        context.say(Word::MoneyMissing),
        locale.money(it.shortfall()?.missing()).text,
        context.say(Word::PesosSince),
        locale.time(recorded.at).text,
    );
    Some(note(context, it, Tone::Bad, &says))
}

fn unreachable(context: &PageContext, it: &WatchedCollector) -> Option<Block> {
    let (locale, since) = (context.locale(), it.unreachable_since()?);
    let says = format!(
        "{} {}, {} {} {} {}",
        context.say(Word::BankUnreachableSince),
        locale.time(since).text,
        locale.count(it.waiting.count).text,
        context.say(Word::TransfersOf),
        locale.money(it.waiting.amount).text,
        context.say(Word::PesosWaiting),
    );
    let tone = if it.waiting.count > 0 {
        Tone::Bad
    } else {
        Tone::Warn
    };
    Some(note(context, it, tone, &says))
}

/// The reasons that keep the service from its work, if any.
fn readiness(context: &PageContext) -> Vec<Block> {
    let (engine, app) = (context.engine(), &context.admin_state.app);
    let mut notes = Vec::new();
    if let Err(why) = app.ready() {
        let text = format!("{}: {why}", context.say(Word::NotReady));
        notes.push(Block::Note(Tone::Bad, text));
    }
    if engine.lifecycle().clock_doubt().is_some() {
        notes.push(Block::Note(
            Tone::Bad,
            context.say(Word::ClockInDoubt).to_owned(),
        ));
    }
    if context.admin_state.outgoing.is_held() {
        notes.push(Block::Note(
            Tone::Warn,
            context.say(Word::OutgoingHeld).to_owned(),
        ));
    }
    let down = engine.lifecycle().down().len();
    if down > 0 {
        let text = format!("{}: {down}", context.say(Word::RealmsDown));
        notes.push(Block::Note(Tone::Bad, text));
    }
    let found = engine.operators().checks().found;
    if found > 0 {
        let text = format!("{}: {found}", context.say(Word::DamageFound));
        notes.push(Block::Note(Tone::Bad, text));
    }
    notes
}

/// The waiting cases, realm by realm; realms without any are left out.
fn waiting(context: &PageContext) -> Result<Table, ApiError> {
    let (locale, engine) = (context.locale(), context.engine());
    let columns = [
        (Word::Tenant, false),
        (Word::Mode, false),
        (Word::Transfers, true),
        (Word::Suspense, true),
        (Word::Unbooked, true),
        (Word::Collector, true),
        (Word::OldestSince, false),
    ];
    let mut table = Table::new(locale, Word::WaitsForPeople, Word::NothingWaits, &columns);
    let platform = engine.platform();
    for (tenant, mode) in realms(&platform) {
        let found = engine.operators().case_figures(tenant.realm(mode))?;
        let counts = found.counts;
        if counts == CaseCounts::default() {
            continue;
        }
        let since = [
            found.oldest_transfer,
            found.oldest_suspense,
            found.oldest_unbooked,
            found.oldest_collector,
        ];
        let place = format!("/console/cases?tenant={}&mode={}", tenant.id, mode.as_str());
        table.rows.push(vec![
            Cell::text(&tenant.name).to(place),
            Cell::text(mode.as_str()),
            locale.count(counts.transfers),
            locale.count(counts.suspense),
            locale.count(counts.unbooked),
            locale.count(counts.collector),
            locale.maybe_time(since.into_iter().flatten().min()),
        ]);
    }
    Ok(table)
}

/// Webhooks that are behind or have stopped.
async fn hooks(context: &PageContext) -> Result<Table, ApiError> {
    let columns = [
        (Word::Tenant, false),
        (Word::Mode, false),
        (Word::Host, false),
        (Word::State, false),
        (Word::Behind, true),
        (Word::Retrying, true),
    ];
    let locale = context.locale();
    let table = Table::new(
        locale,
        Word::WebhooksBehind,
        Word::NoWebhookBehind,
        &columns,
    );
    let found = admin::all_webhooks(&context.admin_state).await?;
    let late = found.into_iter().filter(|row| {
        row.progress.behind > 0
            || row.progress.retrying > 0
            || !matches!(row.status, "active" | "paused")
    });
    let rows = late.take(context.rows(super::view::ROWS)).map(|row| {
        vec![
            Cell::text(row.tenant_id),
            Cell::text(row.mode),
            Cell::text(row.host).to(format!("/console/webhooks/{}", row.id)),
            locale.state(row.status),
            locale.count(row.progress.behind),
            locale.count(row.progress.retrying),
        ]
    });
    Ok(table.with(rows))
}
