//! The events of a realm, the newest first.

use actix_web::{HttpResponse, web};
use caudal_http::bodies::events::about;
use caudal_http::errors::ApiError;
use caudal_ledger::events::{Event, EventKinds, Subject};
use caudal_ledger::ids::RealmId;

use super::page_context::PageContext;
use super::view::{Block, Cell, Page, Part, ROWS, Table};
use super::words::Word;

/// The columns of a table of events.
pub(super) const COLUMNS: [(Word, bool); 5] = [
    (Word::Number, true),
    (Word::At, false),
    (Word::Kind, false),
    (Word::Account, true),
    (Word::About, false),
];

/// Lists the events, from a number downwards.
pub(super) async fn events(
    context: PageContext,
    path: web::Path<(String, String)>,
) -> HttpResponse {
    context.answer(path.into_inner(), listed).await
}

async fn listed(context: &PageContext, path: &(String, String)) -> Result<Page, ApiError> {
    let (locale, engine, place) = (context.locale(), context.engine(), context.place(path)?);
    let last = engine.queries().last_event(place.realm)?;
    let asked = context
        .asks("last")
        .and_then(|text| text.parse::<u64>().ok());
    let to = asked.map_or(last, |to| to.min(last));
    let rows = context.rows(ROWS);
    let size = u64::try_from(rows).map_or(1, |size| size);
    let after = to.checked_sub(size).map_or(0, |after| after);
    let page = engine
        .queries()
        .events(place.realm, after, EventKinds::default(), rows)
        .await?;
    let shown = page
        .items
        .iter()
        .rev()
        .filter(|event| event.id.number <= to);
    let rows = shown.map(|event| row(context, place.realm, event));
    let next = (after > 0).then(|| format!("{}?last={after}", place.address("events")));
    let table = Table::new(locale, Word::Events, Word::NoEvents, &COLUMNS)
        .with(rows)
        .next(next);
    let table = Table {
        total: Some(last),
        ..table
    };
    let page = context.page(
        Part::Tenants,
        context.say(Word::Events),
        vec![Block::Table(table)],
    );
    Ok(page.below(place.above(locale)))
}

/// A row of such a table.
pub(super) fn row(context: &PageContext, realm: RealmId, event: &Event) -> Vec<Cell> {
    let locale = context.locale();
    let about = about(event);
    let about = Cell::maybe_code(about.as_ref()).leads(match &event.subject {
        Subject::Voucher(_) => about.map(|id| format!("/console/vouchers/{id}")),
        Subject::Transfer(_) => about.map(|id| format!("/console/transfers/{id}")),
        _ => None,
    });
    let account = event.account.0;
    let whose = (account > 0).then(|| format!("/console/accounts/{}-{account}", realm.0));
    let number = match account {
        0 => String::new(),
        some => some.to_string(),
    };
    vec![
        locale.count(event.id.number),
        locale.time(event.at),
        Cell::code(event.kind.as_str()),
        Cell::figure(number).leads(whose),
        about,
    ]
}
