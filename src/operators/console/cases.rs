//! Cases: everything that waits for a person, of all tenants, and the form with which they decide.
//!
//! **Order.** A decision names who takes it and why; that goes into the journal, the event and the day's
//! reconciliation. The ledger refuses a second one.

mod decide;

use actix_web::{HttpResponse, web};
use caudal_actors::engine::cases::{Case, RealmCase};
use caudal_actors::platform::realms;
use caudal_http::bodies::events::resolved;
use caudal_http::bodies::transfers::{BankCallBody, DecisionBody, transfer};
use caudal_http::errors::ApiError;
use caudal_ledger::cases::{BankSays, CaseId, CaseKind, Unbooked};
use caudal_ledger::ids::RealmId;
use caudal_ledger::rejection::Rejection;
use caudal_ledger::time::Timestamp;

use super::movements::counterparty;
use super::transfers::{bank_calls, decided, details};
use super::view::{Block, Cell, Page, Part, ROWS, Table};
use super::visit::Visit;
use super::words::Word;

pub(super) use decide::decide;

/// Lists the cases, those first that have waited longest.
pub(super) async fn list(visit: Visit) -> HttpResponse {
    let made = listed(&visit).await;
    visit.show(made)
}

async fn listed(visit: &Visit) -> Result<Page, ApiError> {
    let (tongue, engine) = (visit.tongue(), visit.engine());
    let platform = engine.platform();
    let (tenant, mode) = (visit.asks("tenant"), visit.asks("mode"));
    visit.looks("listCases", &looked(visit)).await?;
    let wanted = realms(&platform).filter(|(found, of)| {
        tenant.is_none_or(|id| found.id == id) && mode.is_none_or(|mode| of.as_str() == mode)
    });
    let wanted = wanted.map(|(tenant, mode)| tenant.realm(mode)).collect();
    let offset = visit
        .asks("offset")
        .and_then(|text| text.parse::<usize>().ok());
    let offset = offset.map_or(0, |offset| offset);
    let (cases, total) = engine
        .operators()
        .cases(wanted, CaseKind::ALL.to_vec(), (offset, ROWS))
        .await?;
    let columns = [
        (Word::Since, false),
        (Word::Kind, false),
        (Word::Case, false),
        (Word::Tenant, false),
        (Word::Mode, false),
        (Word::Amount, true),
        (Word::Cvu, false),
        (Word::Reason, false),
    ];
    let rows = cases.iter().map(|case| row(visit, case));
    let mut table = Table::new(tongue, Word::Cases, Word::NothingWaits, &columns).with(rows);
    table.note = Some(format!(
        "{} {}",
        tongue.count(total).text,
        visit.say(Word::InAll)
    ));
    let end = offset
        .checked_add(cases.len())
        .filter(|end| u64::try_from(*end).is_ok_and(|end| end < total));
    table.next = end.map(|end| {
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        for (name, value) in [("tenant", tenant), ("mode", mode)] {
            query.extend_pairs(value.map(|value| (name, value)));
        }
        format!(
            "/console/cases?{}",
            query.append_pair("offset", &end.to_string()).finish()
        )
    });
    let mut blocks: Vec<Block> = visit.done_note().into_iter().collect();
    blocks.push(Block::Table(table));
    Ok(visit.page(Part::Cases, visit.say(Word::Cases), blocks))
}

/// The subject of the entry about a look at the list: the filter, as the admin API has it.
fn looked(visit: &Visit) -> String {
    let asked = ["tenant", "mode", "offset"].map(|name| Some((name, visit.asks(name)?)));
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    let query = query.extend_pairs(asked.into_iter().flatten()).finish();
    match query.as_str() {
        "" => "cases".to_owned(),
        query => format!("cases?{query}"),
    }
}

fn row(visit: &Visit, (realm, case): &RealmCase) -> Vec<Cell> {
    let (tongue, realm) = (visit.tongue(), *realm);
    let (since, kind, id, amount, cvu, reason) = match case {
        Case::Transfer(view, since) => {
            let it = &view.transfer;
            let id = it.id(realm, view.account).to_string();
            (
                *since,
                CaseKind::Transfer,
                id,
                Some(it.amount),
                Some(it.from),
                it.status.as_str().to_owned(),
            )
        }
        Case::Suspense(parked) => {
            let it = &parked.suspense.cash_in;
            let reason = parked.suspense.reason.clone();
            (
                Some(parked.since),
                CaseKind::Suspense,
                parked.id(realm).to_string(),
                Some(it.amount),
                Some(it.cvu),
                reason,
            )
        }
        Case::Unbooked(it) => {
            let id = it.id(realm).to_string();
            (
                Some(it.since),
                CaseKind::Unbooked,
                id,
                it.says.amount(),
                it.says.cvu(),
                it.reason.clone(),
            )
        }
    };
    let place = visit.realm(realm);
    vec![
        tongue.maybe_time(since),
        tongue.state(kind.as_str()),
        Cell::code(&id).to(format!("/console/cases/{id}")),
        Cell::maybe(place.as_ref().map(|place| &place.name)),
        Cell::text(realm.mode().as_str()),
        amount.map_or_else(|| Cell::text(""), |amount| tongue.money(amount)),
        cvu.map_or_else(
            || Cell::text(""),
            |cvu| Cell::code(cvu).to(format!("/console/accounts/{cvu}")),
        ),
        tongue.state(&reason),
    ]
}

/// Shows a case.
pub(super) async fn one(visit: Visit, path: web::Path<String>) -> HttpResponse {
    let made = single(&visit, &path).await;
    visit.show(made)
}

async fn single(visit: &Visit, text: &str) -> Result<Page, ApiError> {
    let (id, engine) = (
        CaseId::parse(text).ok_or(Rejection::CaseNotFound)?,
        visit.engine(),
    );
    visit.looks("readCase", text).await?;
    let mut blocks: Vec<Block> = visit.done_note().into_iter().collect();
    match id {
        CaseId::Transfer(id) => {
            known(visit, id.0.realm)?;
            let (case, calls) = engine.operators().transfer_case(id).await?;
            if let Case::Transfer(view, since) = case {
                let body = transfer(id.0.realm, &view);
                blocks.extend(since.map(|since| waiting(visit, since)));
                blocks.extend(details(visit, body));
                blocks.extend(decide::about_transfer(visit, text, &view));
            }
            let calls: Vec<_> = calls.iter().map(BankCallBody::from).collect();
            blocks.extend(bank_calls(visit, &calls));
        }
        CaseId::Suspense(id) => {
            known(visit, id.realm)?;
            let parked = engine.operators().suspense_case(id)?;
            let body = resolved(id.realm, &parked);
            let (tongue, arrived) = (visit.tongue(), body.arrived);
            let facts = vec![
                (visit.say(Word::State), tongue.state(body.outcome)),
                (visit.say(Word::Amount), tongue.money(arrived.amount)),
                (
                    visit.say(Word::Cvu),
                    Cell::code(&arrived.cvu).to(format!("/console/accounts/{}", arrived.cvu)),
                ),
                (visit.say(Word::Reason), tongue.state(&arrived.reason)),
                (visit.say(Word::CoelsaId), Cell::code(arrived.coelsa_id)),
                (
                    visit.say(Word::BankId),
                    Cell::code(arrived.bank_transfer_id),
                ),
                (visit.say(Word::At), tongue.time_of(&arrived.bank_at)),
                (
                    visit.say(Word::CreditedTo),
                    Cell::maybe_code(body.credited_cvu),
                ),
                (visit.say(Word::Voucher), Cell::maybe_code(body.voucher_id)),
            ];
            blocks.push(waiting(visit, parked.since));
            blocks.push(Block::Facts(visit.say(Word::Suspense).to_owned(), facts));
            blocks.push(counterparty(visit, arrived.counterparty));
            blocks.extend(body.decision.map(|decision| decided(visit, &decision)));
            blocks.extend(decide::about_suspense(visit, text, body.outcome));
        }
        CaseId::Unbooked(id) => {
            known(visit, id.realm)?;
            let unbooked = engine.operators().unbooked_case(id)?;
            blocks.extend(said(visit, &unbooked));
            blocks.extend(
                unbooked
                    .decision()
                    .map(|it| decided(visit, &DecisionBody::from(it))),
            );
            blocks.extend(decide::about_unbooked(visit, text, &unbooked));
        }
    }
    let above = vec![(
        visit.say(Word::Cases).to_owned(),
        "/console/cases".to_owned(),
    )];
    Ok(visit.page(Part::Cases, text, blocks).below(above))
}

/// Checks that the realm exists: anybody can make up ids.
fn known(visit: &Visit, realm: RealmId) -> Result<(), Rejection> {
    visit
        .realm(realm)
        .map(|_| ())
        .ok_or(Rejection::CaseNotFound)
}

fn waiting(visit: &Visit, since: Timestamp) -> Block {
    let facts = vec![(visit.say(Word::Since), visit.tongue().time(since))];
    Block::Facts(visit.say(Word::Case).to_owned(), facts)
}

fn said(visit: &Visit, unbooked: &Unbooked) -> [Block; 2] {
    let (tongue, says) = (visit.tongue(), &unbooked.says);
    let state = if unbooked.waits() { "open" } else { "decided" };
    let amount = says.amount().map(|amount| tongue.money(amount));
    let mut facts = vec![
        (visit.say(Word::State), tongue.state(state)),
        (
            visit.say(Word::Amount),
            amount.unwrap_or_else(|| Cell::text("")),
        ),
        (visit.say(Word::Cvu), Cell::maybe_code(says.cvu())),
        (visit.say(Word::Reason), tongue.state(&unbooked.reason)),
    ];
    if let BankSays::Unreadable(line) = says {
        facts.push((
            visit.say(Word::BankId),
            Cell::maybe_code(line.bank_id.as_deref()),
        ));
        facts.push((visit.say(Word::UnreadableField), Cell::code(&line.field)));
        facts.push((visit.say(Word::BankSays), Cell::code(&line.text)));
    }
    [
        waiting(visit, unbooked.since),
        Block::Facts(visit.say(Word::Unbooked).to_owned(), facts),
    ]
}
