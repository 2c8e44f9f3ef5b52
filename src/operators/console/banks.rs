//! The banks: whether each responds, since when not, and what waits for it.

use actix_web::HttpResponse;
use caudal_actors::engine::coverage::WatchedCollector;
use caudal_http::errors::ApiError;

use super::page_context::{PageContext, TenantRealm};
use super::view::{Block, Cell, CellKind, Page, Part, Table, Tone};
use super::words::Word;

/// Shows the banks.
pub(super) async fn page(context: PageContext) -> HttpResponse {
    context
        .answer((), async |context: &PageContext, ()| made(context).await)
        .await
}

async fn made(context: &PageContext) -> Result<Page, ApiError> {
    let columns = [
        (Word::Bank, false),
        (Word::Collector, false),
        (Word::Realms, false),
        (Word::State, false),
        (Word::UnreachableSince, false),
        (Word::BalanceReported, false),
        (Word::TransfersWaiting, true),
        (Word::PesosInTransfers, true),
        (Word::OldestRequested, false),
    ];
    let watched = context.engine().operators().watched_collectors().await?;
    let rows = watched.iter().map(|it| row(context, it));
    let table = Table::new(context.locale(), Word::Banks, Word::NoCollectors, &columns);
    let blocks = vec![Block::Table(table.with(rows))];
    Ok(context.page(Part::Banks, context.say(Word::Banks), blocks))
}

fn row(context: &PageContext, it: &WatchedCollector) -> Vec<Cell> {
    let locale = context.locale();
    let realms = it
        .on
        .realms
        .iter()
        .filter_map(|realm| context.realm(*realm));
    let places: Vec<TenantRealm> = realms.collect();
    let titles: Vec<_> = places.iter().map(|it| it.title(locale)).collect();
    let last = it.check.as_ref().and_then(|check| check.last);
    let (tone, word) = match (it.unreachable_since(), last) {
        (Some(_), _) => (Tone::Bad, Word::NotResponding),
        (None, Some(_)) => (Tone::Good, Word::Responds),
        (None, None) => (Tone::Quiet, Word::NotAskedYet),
    };
    let first = places.first();
    let waiting = first.map(|place| place.address("transfers?status=in_progress"));
    vec![
        Cell::text(&it.on.collector.bank),
        Cell::code(&it.on.collector.cbu).leads(first.map(TenantRealm::treasury)),
        Cell::text(titles.join(", ")),
        Cell::of(CellKind::State(tone), context.say(word)),
        locale.maybe_time(it.unreachable_since()),
        locale.maybe_time(last.map(|last| last.at)),
        locale.count(it.waiting.count).leads(waiting),
        locale.money(it.waiting.amount),
        locale.maybe_time(it.waiting.oldest),
    ]
}
