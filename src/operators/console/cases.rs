//! Cases: everything that waits for a person, of all tenants, and the form with which they decide.
//!
//! **Order.** A decision names who takes it and why; that goes into the journal, the event and the day's
//! reconciliation. The ledger refuses a second one.

mod decide;

use caudal_actors::engine::cases::Case;
use caudal_actors::platform::realms;
use caudal_http::bodies::events::resolved;
use caudal_http::bodies::transfers::{BankCallBody, DecisionBody, transfer};
use caudal_http::errors::ApiError;
use caudal_ledger::cases::{BankSays, CaseId, CaseKind, Parked, RecordedMovement, Unbooked};

use caudal_ledger::ids::RealmId;
use caudal_ledger::rejection::Rejection;
use caudal_ledger::time::Timestamp;

use super::lists::{going_on, in_all};
use super::movements::counterparty;
use super::page_context::PageContext;
use super::places::accounts;
use super::transfers::{bank_calls, decided, details};
use super::view::{Block, Cell, Page, Part, ROWS, facts, table};
use super::words::Word;
use crate::admin::cases::{realm_of, render};

pub(super) use decide::decide;

/// Lists the cases, those first that have waited longest.
pub(super) async fn list(context: &PageContext) -> Result<Page, ApiError> {
    let (locale, engine) = (context.locale(), context.engine());
    let platform = engine.platform();
    let (tenant, mode) = (context.asks("tenant"), context.asks("mode"));
    let wanted = realms(&platform).filter(|(found, of)| {
        tenant.is_none_or(|id| found.id == id) && mode.is_none_or(|mode| of.as_str() == mode)
    });
    let wanted = wanted.map(|(tenant, mode)| tenant.realm(mode)).collect();
    let offset = context.asks("offset").and_then(|text| text.parse().ok());
    let offset: usize = offset.map_or(0, |offset| offset);
    let span = (offset, context.rows(ROWS));
    let kinds = CaseKind::ALL.to_vec();
    let (cases, total) = engine.operators().cases(wanted, kinds, span).await?;
    let mut table = table! {
        locale, Word::Cases, Word::NothingWaits; case in &cases;
        => let it = render(&context.admin_state, case);
        => let place = context.realm(case.0);
        Since: it.since.map_or_else(|| Cell::text(""), |at| locale.time_of(&at));
        Kind: locale.state(it.kind);
        Case: Cell::code(&it.id).to(format!("/console/cases/{}", it.id));
        Tenant: Cell::maybe(place.map(|place| place.name));
        Mode: locale.mode(it.mode);
        Amount figure: it.amount.map_or_else(|| Cell::text(""), |amount| locale.money(amount));
        Cvu: it.cvu.map_or_else(
            || Cell::text(""),
            |cvu| Cell::code(&cvu).to(format!("/console/accounts/{cvu}")),
        );
        Reason: locale.state(&it.reason);
    };
    table.total = Some(total);
    table.note = Some(in_all(locale, total));
    let end = offset.checked_add(cases.len());
    let end = end.filter(|end| u64::try_from(*end).is_ok_and(|end| end < total));
    table.next = end.map(|end| going_on(context, "offset", &end.to_string()));
    let blocks = vec![Block::Table(table)];
    Ok(context.page(Part::Cases, context.say(Word::Cases), blocks))
}

/// Shows a case.
pub(super) async fn one(context: &PageContext, text: &str) -> Result<Page, ApiError> {
    let id = CaseId::parse(text).ok_or(Rejection::CaseNotFound)?;
    let (case, form) = contents(context, (id, text), "").await?;
    let blocks = case.into_iter().chain(form).collect();
    let title = match id {
        CaseId::Transfer(_) => Word::Transfer,
        CaseId::Suspense(_) => Word::Suspense,
        CaseId::Unbooked(_) => Word::Unbooked,
        CaseId::Collector(_) => Word::Collector,
    };
    let title = format!("{}: {}", context.say(Word::Case), context.say(title));
    let page = context.page(Part::Cases, title, blocks);
    Ok(page.under(context.say(Word::Cases), "/console/cases"))
}

/// The contents of a case with its id, with the accounts that it or the `request` about it names, and the form to decide
/// it while it waits.
pub(super) async fn contents(
    context: &PageContext,
    (id, text): (CaseId, &str),
    request: &str,
) -> Result<(Vec<Block>, Option<Block>), ApiError> {
    let engine = context.engine();
    let (mut blocks, mut form) = (Vec::new(), None);
    let mut named = request.to_owned();
    // Anybody can make up ids of realms that do not exist.
    context.realm(realm_of(id)).ok_or(Rejection::CaseNotFound)?;
    match id {
        CaseId::Transfer(id) => {
            let (case, calls) = engine.operators().transfer_case(id).await?;
            if let Case::Transfer(view, since) = case {
                let body = transfer(id.0.realm, &view);
                named = format!("{named} {} {:?}", body.from_cvu, body.to.cvu);
                blocks.extend(since.map(|since| waiting(context, text, since)));
                blocks.extend(details(context, body));
                form = decide::about_transfer(context, text, &view);
            }
            let calls: Vec<_> = calls.iter().map(BankCallBody::from).collect();
            blocks.push(Block::FoldBegins(context.say(Word::BankCalls)));
            blocks.extend(bank_calls(context, &calls));
            blocks.push(Block::FoldEnds);
        }
        CaseId::Suspense(id) => {
            let parked = engine.operators().suspense_case(id)?;
            named = format!("{named} {}", parked.suspense.cash_in.cvu);
            blocks.extend(of_suspense(context, id.realm, text, &parked));
            form = decide::about_suspense(context, text, parked.state.as_str());
        }
        CaseId::Unbooked(id) => {
            let unbooked = engine.operators().unbooked_case(id)?;
            blocks.extend(said(context, text, &unbooked));
            let decision = unbooked.decision().map(DecisionBody::from);
            blocks.extend(decision.map(|it| decided(context, &it)));
            let cvu = unbooked.says.cvu().map(|cvu| cvu.to_string());
            named = format!("{named} {cvu:?}");
            form = decide::about_unbooked(context, text, &unbooked);
        }
        CaseId::Collector(id) => {
            let record = engine.operators().collector_case(id)?;
            blocks.extend(of_collector(context, text, &record));
            let decision = record.decision.as_ref().map(DecisionBody::from);
            blocks.extend(decision.map(|it| decided(context, &it)));
            form = decide::about_collector(context, text, &record);
        }
    }
    blocks.extend(accounts(context, &named).await?);
    Ok((blocks, form))
}

/// Money in suspense, its sender, and the decision about it.
fn of_suspense(context: &PageContext, realm: RealmId, id: &str, parked: &Parked) -> Vec<Block> {
    let (locale, body) = (context.locale(), resolved(realm, parked));
    let arrived = body.arrived;
    let facts = facts! {
        context, Suspense;
        State: locale.state(body.outcome);
        Amount: locale.money(arrived.amount);
        Cvu: Cell::code(&arrived.cvu).to(format!("/console/accounts/{}", arrived.cvu));
        Reason: locale.state(&arrived.reason);
        CoelsaId: Cell::code(arrived.coelsa_id);
        BankId: Cell::code(arrived.bank_transfer_id);
        At: locale.time_of(&arrived.bank_at);
        CreditedTo: Cell::maybe_code(body.credited_cvu);
        Voucher: Cell::maybe_code(body.voucher_id);
    };
    let mut blocks = vec![
        waiting(context, id, parked.since),
        facts,
        counterparty(context, arrived.counterparty),
    ];
    blocks.extend(body.decision.map(|decision| decided(context, &decision)));
    blocks
}

fn waiting(context: &PageContext, id: &str, since: Timestamp) -> Block {
    facts! {
        context, Case;
        Since: context.locale().time(since);
        Id: Cell::code(id);
    }
}

/// A movement of the collector account, and its other side.
fn of_collector(context: &PageContext, id: &str, record: &RecordedMovement) -> [Block; 3] {
    let (locale, movement) = (context.locale(), &record.movement);
    let way = if movement.incoming { "in" } else { "out" };
    let facts = facts! {
        context, Collector;
        Class: locale.state(record.class.as_str());
        Direction: locale.state(way);
        Amount: locale.money(movement.amount);
        BankSays: Cell::text(&movement.text);
        At: locale.time(movement.at);
        BankId: Cell::code(&movement.bank_id);
        CoelsaId: Cell::maybe_code(movement.coelsa_id.as_deref());
    };
    [
        waiting(context, id, record.since),
        facts,
        counterparty(context, movement.counterparty.clone().into()),
    ]
}

fn said(context: &PageContext, id: &str, unbooked: &Unbooked) -> [Block; 2] {
    let (locale, says) = (context.locale(), &unbooked.says);
    let state = if unbooked.waits() { "open" } else { "decided" };
    let amount = says.amount().map(|amount| locale.money(amount));
    let mut facts = facts! {
        context;
        State: locale.state(state);
        Amount: amount.unwrap_or_else(|| Cell::text(""));
        Cvu: Cell::maybe_code(says.cvu());
        Reason: locale.state(&unbooked.reason);
    };
    if let BankSays::Unreadable(line) = says {
        facts.extend(facts! {
            context;
            BankId: Cell::maybe_code(line.bank_id.as_deref());
            UnreadableField: Cell::code(&line.field);
            BankSays: Cell::code(&line.text);
        });
    }
    [
        waiting(context, id, unbooked.since),
        context.facts(Word::Unbooked, facts),
    ]
}
