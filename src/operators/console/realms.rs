//! The events of a realm, the newest first.

use actix_web::{HttpResponse, web};
use caudal_http::bodies::events::about;
use caudal_http::errors::ApiError;
use caudal_ledger::events::{Event, EventKinds, Subject};
use caudal_ledger::ids::RealmId;

use super::view::{Block, Cell, Page, Part, ROWS, Table};
use super::visit::Visit;
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
pub(super) async fn events(visit: Visit, path: web::Path<(String, String)>) -> HttpResponse {
    let made = listed(&visit, &path).await;
    visit.show(made)
}

async fn listed(visit: &Visit, path: &(String, String)) -> Result<Page, ApiError> {
    let (tongue, engine, place) = (visit.tongue(), visit.engine(), visit.place(path)?);
    let last = engine.queries().last_event(place.realm)?;
    let asked = visit.asks("to").and_then(|text| text.parse::<u64>().ok());
    let to = asked.map_or(last, |to| to.min(last));
    let size = u64::try_from(ROWS).map_or(1, |size| size);
    let after = to.checked_sub(size).map_or(0, |after| after);
    let page = engine
        .queries()
        .events(place.realm, after, EventKinds::default(), ROWS)
        .await?;
    let shown = page
        .items
        .iter()
        .rev()
        .filter(|event| event.id.number <= to);
    let rows = shown.map(|event| row(visit, place.realm, event));
    let next = (after > 0).then(|| format!("{}?to={after}", place.address("events")));
    let table = Table::new(tongue, Word::Events, Word::NoEvents, &COLUMNS)
        .with(rows)
        .next(next);
    let page = visit.page(
        Part::Tenants,
        visit.say(Word::Events),
        vec![Block::Table(table)],
    );
    Ok(page.below(place.above(tongue)))
}

/// A row of such a table.
pub(super) fn row(visit: &Visit, realm: RealmId, event: &Event) -> Vec<Cell> {
    let tongue = visit.tongue();
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
        tongue.count(event.id.number),
        tongue.time(event.at),
        Cell::code(event.kind.as_str()),
        Cell::figure(number).leads(whose),
        about,
    ]
}
