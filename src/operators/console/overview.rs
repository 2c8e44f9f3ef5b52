//! The overview: what needs a person, clients' money, waiting cases, webhooks that do not keep up, and the activity of the
//! last minutes.

use actix_web::HttpResponse;
use caudal_http::errors::ApiError;
use serde_json::Value;

use super::figures::tiles;
use super::operations::{OperationForm, form};
use super::page_context::PageContext;
use super::problems::needed;
use super::view::{Block, Cell, Live, Page, Part, ROWS, Table};
use super::words::Word;
use crate::admin::WebhookRow;
use crate::admin::observed::{Observed, RealmCases};

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
    let observed = Observed::now(&context.admin_state).await;
    let mut blocks: Vec<Block> = context.done_note().into_iter().collect();
    blocks.push(needed(context, &observed));
    blocks.extend(remedies(context));
    blocks.extend([
        Block::Later {
            part: "/console/parts/equation".to_owned(),
            waiting: context.say(Word::AskingBank),
            instead: ("/console/treasury".to_owned(), context.say(Word::Treasury)),
        },
        Block::Table(waiting(context, &observed.cases?)),
        Block::Table(hooks(context, &observed.webhooks?)),
        Block::Live(Live {
            tiles: tiles(context),
            charts: charts.collect(),
            past: format!("[{}]", points.join(",")),
        }),
    ]);
    Ok(context.page(Part::Overview, context.say(Word::Overview), blocks))
}

/// The forms that end what stops the whole service: a clock in doubt, and what is held since a restore.
fn remedies(context: &PageContext) -> impl Iterator<Item = Block> {
    let doubt = context.engine().lifecycle().clock_doubt().is_some();
    let clock = doubt.then_some(OperationForm::ConfirmClock);
    let held = context.admin_state.outgoing.is_held();
    let outgoing = held.then_some(OperationForm::ReleaseOutgoing);
    let forms = clock.into_iter().chain(outgoing);
    forms.filter_map(|which| form(context, which, "", &Value::Null))
}

/// The waiting cases, realm by realm; realms without any are left out.
fn waiting(context: &PageContext, found: &[RealmCases]) -> Table {
    let locale = context.locale();
    let columns = [
        (Word::Tenant, false),
        (Word::Mode, false),
        (Word::Transfers, true),
        (Word::Suspense, true),
        (Word::Unbooked, true),
        (Word::Collector, true),
        (Word::OldestSince, false),
    ];
    let table = Table::new(locale, Word::WaitsForPeople, Word::NothingWaits, &columns);
    let waiting = found.iter().filter(|it| it.figures.counts.all() > 0);
    let rows = waiting.map(|it| {
        let counts = &it.figures.counts;
        let place = format!("/console/cases?tenant={}&mode={}", it.tenant, it.mode);
        vec![
            Cell::text(&it.name).to(place),
            locale.mode(it.mode),
            locale.count(counts.transfers),
            locale.count(counts.suspense),
            locale.count(counts.unbooked),
            locale.count(counts.collector),
            locale.maybe_time(it.figures.oldest()),
        ]
    });
    table.with(rows.take(context.rows(ROWS)))
}

/// Webhooks that are behind, fail or have stopped.
fn hooks(context: &PageContext, found: &[WebhookRow]) -> Table {
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
    let late = found.iter().filter(|row| {
        row.progress.behind > 0
            || row.progress.retrying > 0
            || !matches!(row.status, "active" | "paused")
    });
    let rows = late.take(context.rows(ROWS)).map(|row| {
        vec![
            context.tenant(&row.tenant_id),
            locale.mode(row.mode),
            Cell::text(&row.host).to(format!("/console/webhooks/{}", row.id)),
            locale.state(row.shown_status()),
            locale.count(row.progress.behind),
            locale.count(row.progress.retrying),
        ]
    });
    table.with(rows)
}
