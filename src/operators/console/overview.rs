//! The overview: what needs a person, clients' money, waiting cases, webhooks that do not keep up, and the activity of the
//! last minutes.

use caudal_http::errors::ApiError;
use serde_json::Value;

use super::live::tiles;
use super::operations::{OperationForm, form};
use super::page_context::PageContext;
use super::problems::needed;
use super::view::{Block, Cell, Live, Page, Part, ROWS, Table, table};
use super::words::Word;
use crate::admin::WebhookRow;
use crate::admin::observed::{Observed, RealmCases};

/// Shows the overview.
pub(super) async fn page(context: &PageContext) -> Result<Page, ApiError> {
    let points = context.console.pulse.points();
    let points: Vec<_> = points.iter().map(super::live::Point::json).collect();
    let charts = [Word::CommitsASecond, Word::FlushMicros, Word::QueuedCommits];
    let charts = charts
        .into_iter()
        .zip(1..)
        .map(|(word, series)| (context.say(word), series));
    let observed = Observed::now(&context.admin_state).await;
    let mut blocks = vec![needed(context, &observed)];
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
    let waiting = found.iter().filter(|it| it.figures.counts.all() > 0);
    table! {
        locale, Word::WaitsForPeople, Word::NothingWaits; it in waiting.take(context.rows(ROWS));
        => let counts = &it.figures.counts;
        => let place = format!("/console/cases?tenant={}&mode={}", it.tenant, it.mode);
        Tenant: Cell::text(&it.name).to(place);
        Mode: locale.mode(it.mode);
        Transfers figure: locale.count(counts.transfers);
        Suspense figure: locale.count(counts.suspense);
        Unbooked figure: locale.count(counts.unbooked);
        Collector figure: locale.count(counts.collector);
        OldestSince: locale.maybe_time(it.figures.oldest());
    }
}

/// Webhooks that are behind, fail or have stopped.
fn hooks(context: &PageContext, found: &[WebhookRow]) -> Table {
    let locale = context.locale();
    let late = found.iter().filter(|row| {
        row.progress.behind > 0
            || row.progress.retrying > 0
            || !matches!(row.status, "active" | "paused")
    });
    table! {
        locale, Word::WebhooksBehind, Word::NoWebhookBehind; row in late.take(context.rows(ROWS));
        Tenant: context.tenant(&row.tenant_id);
        Mode: locale.mode(row.mode);
        Host: Cell::text(&row.host).to(format!("/console/webhooks/{}", row.id));
        State: locale.state(row.shown_status());
        Behind figure: locale.count(row.progress.behind);
        Retrying figure: locale.count(row.progress.retrying);
    }
}
