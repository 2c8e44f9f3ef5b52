//! The events of a realm, the newest first.

use caudal_http::bodies::events::about;
use caudal_http::errors::ApiError;
use caudal_ledger::events::{Event, EventKinds, Subject};
use caudal_ledger::ids::RealmId;

use super::page_context::PageContext;
use super::view::{Block, Cell, Page, Part, ROWS, Table, table};
use super::words::Word;

/// Lists the events, from a number downwards.
pub(super) async fn events(
    context: &PageContext,
    path: &(String, String),
) -> Result<Page, ApiError> {
    let (queries, place) = (context.queries(), context.place(path)?);
    let last = queries.last_event(place.realm)?;
    let asked = context
        .asks("last")
        .and_then(|text| text.parse::<u64>().ok());
    let to = asked.map_or(last, |to| to.min(last));
    let rows = context.rows(ROWS);
    let size = u64::try_from(rows).map_or(1, |size| size);
    let after = to.checked_sub(size).map_or(0, |after| after);
    let kinds = EventKinds::default();
    let page = queries.events(place.realm, after, kinds, rows).await?;
    let shown = page.items.iter().rev();
    let shown = shown.filter(|event| event.id.number <= to);
    let next = (after > 0).then(|| format!("{}?last={after}", place.address("events")));
    let mut table = table(context, Word::Events, place.realm, shown).next(next);
    table.total = Some(last);
    let (title, blocks) = (context.say(Word::Events), vec![Block::Table(table)]);
    Ok(context.page_in(&place, Part::Tenants, title, blocks))
}

/// A table of events.
pub(super) fn table<'a>(
    context: &PageContext,
    title: Word,
    realm: RealmId,
    events: impl Iterator<Item = &'a Event>,
) -> Table {
    let locale = context.locale();
    table! {
        locale, title, Word::NoEvents; event in events;
        => let about = about(event);
        => let about = Cell::maybe_code(about.as_ref()).leads(match &event.subject {
            Subject::Voucher(_) => about.map(|id| format!("/console/vouchers/{id}")),
            Subject::Transfer(_) => about.map(|id| format!("/console/transfers/{id}")),
            _ => None,
        });
        => let account = (event.account.0 > 0).then_some(event.account.0);
        Number figure: locale.count(event.id.number);
        At: locale.time(event.at);
        Kind: Cell::code(event.kind.as_str());
        Account figure: account.map_or_else(|| Cell::figure(""), |number| {
            Cell::figure(number).to(format!("/console/accounts/{}-{number}", realm.0))
        });
        About: about;
    }
}
