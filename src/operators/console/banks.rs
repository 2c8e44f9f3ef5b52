//! The banks: whether each responds, since when not, and what waits for it.

use caudal_http::errors::ApiError;

use super::page_context::{PageContext, TenantRealm};
use super::view::{Block, Cell, CellKind, Page, Part, Tone, table};
use super::words::Word;

/// Shows the banks.
pub(super) async fn page(context: &PageContext) -> Result<Page, ApiError> {
    let locale = context.locale();
    let watched = context.operators().watched_collectors().await?;
    let table = table! {
        locale, Word::Banks, Word::NoCollectors; it in &watched;
        => let realms = it.on.realms.iter().filter_map(|realm| context.realm(*realm));
        => let places: Vec<TenantRealm> = realms.collect();
        => let titles: Vec<_> = places.iter().map(|it| it.title(locale)).collect();
        => let last = it.check.as_ref().and_then(|check| check.last);
        => let (tone, word) = match (it.unreachable_since(), last) {
            (Some(_), _) => (Tone::Bad, Word::NotResponding),
            (None, Some(_)) => (Tone::Good, Word::Responds),
            (None, None) => (Tone::Quiet, Word::NotAskedYet),
        };
        => let first = places.first();
        => let waiting = first.map(|place| place.address("transfers?status=in_progress"));
        Bank: Cell::text(&it.on.collector.bank);
        Collector: Cell::code(&it.on.collector.cbu).leads(first.map(TenantRealm::treasury));
        Realms: Cell::text(titles.join(", "));
        State: Cell::of(CellKind::State(tone), context.say(word));
        UnreachableSince: locale.maybe_time(it.unreachable_since());
        BalanceReported: locale.maybe_time(last.map(|last| last.at));
        TransfersWaiting figure: locale.count(it.waiting.count).leads(waiting);
        PesosInTransfers figure: locale.money(it.waiting.amount);
        OldestRequested: locale.maybe_time(it.waiting.oldest);
    };
    let blocks = vec![Block::Table(table)];
    Ok(context.page(Part::Banks, context.say(Word::Banks), blocks))
}
