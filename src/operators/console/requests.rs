//! Shows the effects of a request, by its id (`X-Request-Id` of its answer).
//!
//! **Shape.** No fact of the ledger keeps the id of its request: that would cost bytes with every voucher. Records
//! that do keep it are shown as the request's own: entries of the audit log, calls to the bank, and the newest
//! vouchers of realms with webhooks, as long as the process remembers them. Everything else is in the log, line by
//! line. Many ids say when they were made ([`made_at`]); then the events of the realms at that time are shown, too,
//! with a note that they may be of other requests.
//!
//! **Bounds.** The realms that the search covers. [`BRIEF`] rows of each kind of each realm, from the possible
//! difference of clocks before the request ([`slack`]) to [`WINDOW_MILLIS`] after it. Of the audit log as many
//! entries as one of its pages covers: those of about that time if the id tells one, else the newest, with a link to
//! earlier ones. All realms are asked at once, for [`ASKED`] at most: a realm that does not answer is left out.

use std::collections::BTreeMap;
use std::time::Duration;

use actix_web::rt::time::timeout;
use caudal_actors::accounts::AccountVoucher;
use caudal_actors::engine::people::AuditQuery;
use caudal_http::bodies::transfers::BankCallBody;
use caudal_http::current::{is_id, is_made, made_at};
use caudal_http::errors::ApiError;
use caudal_ledger::events::{Event, Subject};
use caudal_ledger::ids::{AccountNo, TransferId};
use caudal_ledger::people::audit::AuditFilter;
use caudal_ledger::time::Timestamp;
use futures_util::future::join_all;

use super::accounts::undated;
use super::movements;
use super::page_context::{PageContext, TenantRealm};
use super::places::key;
use super::realms::table as events_table;
use super::transfers::bank_calls;
use super::view::{BRIEF, Block, Cell, ROWS, Tone, table};
use super::words::Word;
use crate::admin::people::Power;

/// How long after its beginning a request may write, in milliseconds: one that waits longer was already answered.
const WINDOW_MILLIS: u64 = 10_000;
/// How far the clocks of nodes may be apart, in milliseconds: another node may have made the id.
const NODES_MILLIS: u64 = 2_000;
/// The same for the clocks of clients.
const CLIENTS_MILLIS: u64 = 60_000;
/// How long after a request the audit log is searched for it, in milliseconds: clients try again under the same id.
const AUDITED_MILLIS: u64 = 3_600_000;
/// How long realms may take to tell what they remember.
const ASKED: Duration = Duration::from_secs(1);

/// Whether a text is certainly the id of a request.
pub(super) fn is_sure(text: &str) -> bool {
    made_at(text).is_some()
}

/// What is known of a request in these realms; empty if the text cannot be the id of one.
pub(super) async fn found(
    context: &PageContext,
    realms: &[TenantRealm],
    id: &str,
) -> Result<Vec<Block>, ApiError> {
    if !is_id(id) {
        return Ok(Vec::new());
    }
    let at = made_at(id);
    let mut blocks: Vec<_> = audited(context, id, at).await?.into_iter().collect();
    let remembered = join_all(realms.iter().map(|place| remembered(context, place, id))).await;
    for (place, found) in realms.iter().zip(remembered) {
        blocks.extend(written(context, place, &found));
        if let Some(at) = at {
            blocks.extend(around(context, place, id, at).await?);
        }
    }
    if blocks.is_empty() && at.is_none() {
        return Ok(Vec::new());
    }
    if blocks.is_empty() {
        blocks.push(context.note(Tone::Warn, Word::NothingFound));
    }
    blocks.insert(0, context.note(Tone::Quiet, Word::RequestsInLog));
    Ok(blocks)
}

/// How long before its id says a request may have come by another clock, in milliseconds.
fn slack(id: &str) -> u64 {
    if is_made(id) {
        NODES_MILLIS
    } else {
        CLIENTS_MILLIS
    }
}

/// The acts of operators in the request, for those who may read the audit log.
async fn audited(
    context: &PageContext,
    id: &str,
    at: Option<Timestamp>,
) -> Result<Option<Block>, ApiError> {
    if !context.session.who.role.may(Power::Audit) {
        return Ok(None);
    }
    let filter = AuditFilter {
        request_id: Some(id.to_owned()),
        ..AuditFilter::default()
    };
    let query = AuditQuery {
        filter,
        from: at.map(|at| before(at, slack(id))),
        to: at.map(|at| at.plus_millis(AUDITED_MILLIS)),
        limit: BRIEF,
        before: None,
    };
    let found = context.operators().audit_page(query).await?;
    if found.rows.is_empty() && found.next.is_none() {
        return Ok(None);
    }
    let locale = context.locale();
    let table = table! {
        locale, Word::Audit, Word::NoAudit; row in found.rows.iter();
        Number figure: locale.count(row.sequence);
        At: locale.time(row.at);
        By: Cell::text(&row.entry.operator);
        Action: Cell::code(&row.entry.action);
        About: Cell::code(&row.entry.subject);
    };
    let whole = found.next;
    let whole = whole.map(|next| format!("/console/audit?request={id}&before={next}"));
    Ok(Some(Block::Table(table.next(whole))))
}

/// The vouchers that are known to be of the request; a realm that rests, or does not answer, remembers none.
async fn remembered(context: &PageContext, place: &TenantRealm, id: &str) -> Vec<AccountVoucher> {
    let asked = context.operators().wrote(place.realm, id, BRIEF);
    let answer = timeout(ASKED, asked).await;
    answer.into_iter().flatten().flatten().collect()
}

/// Shows these vouchers.
fn written(context: &PageContext, place: &TenantRealm, found: &[AccountVoucher]) -> Option<Block> {
    if found.is_empty() {
        return None;
    }
    let (title, locale) = (Word::OfThisRequest, context.locale());
    let table = movements::table(locale, title, place.realm, found, true);
    Some(Block::Table(table.of(&place.title(locale), place.realm.0)))
}

/// The events of a realm around the time of the request, with the request's calls to the bank. The period by which
/// the clocks may differ is read separately: in a busy realm, nothing of the request would be among the first rows.
async fn around(
    context: &PageContext,
    place: &TenantRealm,
    id: &str,
    at: Timestamp,
) -> Result<Vec<Block>, ApiError> {
    let (queries, realm) = (context.queries(), place.realm);
    let until = at.plus_millis(WINDOW_MILLIS);
    let after = queries.events_between(realm, (at, until), BRIEF).await?;
    let full = after.len() == BRIEF;
    let first = after.first().map(|event| event.id.number);
    let early = (before(at, slack(id)), at);
    let mut events = queries.events_between(realm, early, BRIEF).await?;
    // Both lists have the events of that very instant.
    events.retain(|event| first.is_none_or(|first| event.id.number < first));
    events.extend(after);
    if events.is_empty() {
        return Ok(Vec::new());
    }
    let table = events_table(context, Word::RightAfter, realm, events.iter());
    let table = table.of(&place.title(context.locale()), realm.0);
    let last = events.last().map(|event| event.id.number);
    // The list of events goes down from a number: a page from there begins just behind the last row.
    let more = last.filter(|_| full);
    let size = u64::try_from(ROWS).map_or(1, |size| size);
    let more = more.and_then(|last| last.checked_add(size));
    let more = more.map(|to| format!("{}?last={to}", place.address("events")));
    let mut blocks = calls(context, place, &events, id).await?;
    blocks.push(Block::Table(table.next(more)));
    Ok(blocks)
}

/// An instant this many milliseconds before another; the earliest instant if that would be before it.
fn before(at: Timestamp, millis: u64) -> Timestamp {
    let earlier = at.millis().checked_sub(millis);
    earlier.map_or_else(Timestamp::default, Timestamp::from_millis)
}

/// The subject of calls to the bank.
enum CallSubject {
    Transfer(TransferId),
    Account(AccountNo),
}

/// The request's calls to the bank, about the subjects of some events.
async fn calls(
    context: &PageContext,
    place: &TenantRealm,
    events: &[Event],
    id: &str,
) -> Result<Vec<Block>, ApiError> {
    let (engine, realm) = (context.engine(), place.realm);
    let mut about = BTreeMap::new();
    for event in events {
        let (whose, what) = match &event.subject {
            Subject::Transfer(transfer) => {
                let transfer = transfer.id(realm, event.account);
                (transfer.to_string(), CallSubject::Transfer(transfer))
            }
            Subject::Account(account, ..) => {
                (key(realm, account), CallSubject::Account(account.number))
            }
            _ => continue,
        };
        about.insert(whose, what);
    }
    let mut blocks = Vec::new();
    for about in about.into_values() {
        let (dated, made) = match about {
            CallSubject::Transfer(id) => (true, engine.queries().transfer_of(realm, id).await?.1),
            CallSubject::Account(number) => {
                let calls = engine.operators().on_disk(realm, number).await?.1;
                let made = calls.into_iter().map(|call| (Timestamp::default(), call));
                (false, made.collect())
            }
        };
        let of_it = made.iter().filter(|(_, call)| call.correlation == id);
        let of_it: Vec<_> = of_it.map(BankCallBody::from).collect();
        if of_it.is_empty() {
            continue;
        }
        let found = bank_calls(context, &of_it);
        if dated {
            blocks.extend(found)
        } else {
            blocks.extend(undated(found))
        }
    }
    Ok(blocks)
}
