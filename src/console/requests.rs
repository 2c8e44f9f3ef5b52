//! What a request did, by its id (`X-Request-Id` of its answer).
//!
//! **Shape.** No fact of the ledger keeps the id of its request: that would cost bytes with every voucher. What keeps it is
//! shown as the request's own: entries of the audit log, calls to the bank, and the newest vouchers of realms with
//! webhooks, as long as the process remembers them. Beyond that the log has it, line by line. Many ids say when they were
//! made ([`made_at`]); then what happened in the realms right after that is shown too, and that it may be of others.
//!
//! **Bounds.** The realms that the search looks at. [`BRIEF`] rows of each kind of each realm, [`WINDOW_MILLIS`] after the request, and of
//! the audit log as many entries as one of its pages looks at.

use std::collections::BTreeSet;

use caudal_actors::engine::people::AuditQuery;
use caudal_ledger::events::{Event, Subject};
use caudal_ledger::people::audit::AuditFilter;
use caudal_ledger::time::Timestamp;

use super::accounts::undated;
use super::movements;
use super::places::address;
use super::realms::{COLUMNS, row};
use super::transfers::bank_calls;
use super::view::{BRIEF, Block, Cell, ROWS, Table, Tone};
use super::visit::{Place, Visit};
use super::words::Word;
use crate::admin::people::Power;
use crate::bodies::transfers::BankCallBody;
use crate::http::current::{is_id, made_at};
use crate::http::errors::ApiError;

/// How long after its beginning a request may write, in milliseconds: what waits longer was answered already.
const WINDOW_MILLIS: u64 = 10_000;

/// Whether a text is surely an id of a request.
pub fn is_sure(text: &str) -> bool {
    made_at(text).is_some()
}

/// What is known of a request of these realms; nothing where a text cannot be the id of one.
pub async fn found(visit: &Visit, realms: &[Place], id: &str) -> Result<Vec<Block>, ApiError> {
    if !is_id(id) {
        return Ok(Vec::new());
    }
    let mut blocks: Vec<_> = audited(visit, id).await?.into_iter().collect();
    let at = made_at(id);
    for place in realms {
        blocks.extend(written(visit, place, id).await?);
        if let Some(at) = at {
            blocks.extend(around(visit, place, id, at).await?);
        }
    }
    if blocks.is_empty() && at.is_none() {
        return Ok(Vec::new());
    }
    if blocks.is_empty() {
        let note = visit.say(Word::NothingFound).to_owned();
        blocks.push(Block::Note(Tone::Warn, note));
    }
    let note = visit.say(Word::RequestsInLog).to_owned();
    blocks.insert(0, Block::Note(Tone::Quiet, note));
    Ok(blocks)
}

/// What operators did in it, for those who may read the audit log.
async fn audited(visit: &Visit, id: &str) -> Result<Option<Block>, ApiError> {
    if !visit.session.who.role.may(Power::Audit) {
        return Ok(None);
    }
    let filter = AuditFilter {
        request_id: Some(id.to_owned()),
        ..AuditFilter::default()
    };
    let query = AuditQuery {
        filter,
        limit: BRIEF,
        ..AuditQuery::default()
    };
    let found = visit.engine().audit_page(query).await?;
    if found.rows.is_empty() {
        return Ok(None);
    }
    let columns = [
        (Word::Number, true),
        (Word::At, false),
        (Word::By, false),
        (Word::Action, false),
        (Word::About, false),
    ];
    let tongue = visit.tongue();
    let rows = found.rows.iter().map(|row| {
        vec![
            tongue.count(row.sequence),
            tongue.time(row.at),
            Cell::text(&row.entry.operator),
            Cell::code(&row.entry.action),
            Cell::code(&row.entry.subject),
        ]
    });
    let table = Table::new(tongue, Word::Audit, Word::NoAudit, &columns).with(rows);
    let whole = found.next.map(|_| format!("/console/audit?request={id}"));
    Ok(Some(Block::Table(table.next(whole))))
}

/// The vouchers that are known to be of it.
async fn written(visit: &Visit, place: &Place, id: &str) -> Result<Option<Block>, ApiError> {
    let found = match visit.engine().wrote(place.realm, id, BRIEF).await {
        Ok(found) if !found.is_empty() => found,
        // A realm that rests remembers nothing.
        Ok(_) | Err(_) => return Ok(None),
    };
    visit.looks("listMovements", id).await?;
    let mut table = movements::table(
        visit.tongue(),
        Word::OfThisRequest,
        place.realm,
        &found,
        true,
    );
    table.title = format!("{} · {}", table.title, place.title());
    Ok(Some(Block::Table(table)))
}

/// What happened in a realm right after it came, with the calls to the bank that are of it.
async fn around(
    visit: &Visit,
    place: &Place,
    id: &str,
    at: Timestamp,
) -> Result<Vec<Block>, ApiError> {
    let (engine, realm) = (visit.engine(), place.realm);
    let until = at.plus_millis(WINDOW_MILLIS);
    let events = engine.events_between(realm, (at, until), BRIEF).await?;
    if events.is_empty() {
        return Ok(Vec::new());
    }
    let rows = events.iter().map(|event| row(visit, realm, event));
    let mut table = Table::new(visit.tongue(), Word::RightAfter, Word::NoEvents, &COLUMNS);
    table.title = format!("{} · {}", table.title, place.title());
    let last = events.last().map(|event| event.id.number);
    // The list of events goes down from a number: a page from there begins with what is just behind.
    let more = last.filter(|_| events.len() == BRIEF);
    let size = u64::try_from(ROWS).map_or(1, |size| size);
    let more = more.and_then(|last| last.checked_add(size));
    let more = more.map(|to| format!("{}?to={to}", place.address("events")));
    let mut blocks = calls(visit, place, &events, id).await?;
    blocks.push(Block::Table(table.with(rows).next(more)));
    Ok(blocks)
}

/// The calls to the bank that were made for the request, about what some events are about.
async fn calls(
    visit: &Visit,
    place: &Place,
    events: &[Event],
    id: &str,
) -> Result<Vec<Block>, ApiError> {
    let (engine, realm) = (visit.engine(), place.realm);
    let (mut seen, mut blocks) = (BTreeSet::new(), Vec::new());
    for event in events {
        let (key, dated, made) = match &event.subject {
            Subject::Transfer(transfer) => {
                let transfer = transfer.id(realm, event.account);
                let made = engine.transfer_of(realm, transfer).await?.1;
                (transfer.to_string(), true, made)
            }
            Subject::Account(account, ..) => {
                let calls = engine.on_disk(realm, account.number).await?.1;
                let made = calls.into_iter().map(|call| (Timestamp::default(), call));
                (address(realm, account), false, made.collect())
            }
            _ => continue,
        };
        let of_it = made.iter().filter(|(_, call)| call.correlation == id);
        let of_it: Vec<_> = of_it.map(BankCallBody::from).collect();
        if of_it.is_empty() || !seen.insert(key) {
            continue;
        }
        let found = bank_calls(visit, &of_it);
        match dated {
            true => blocks.extend(found),
            false => blocks.extend(undated(found)),
        }
    }
    Ok(blocks)
}
