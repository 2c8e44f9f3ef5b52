//! Transfers: those of an account or a realm, and one with its calls to the bank.

use caudal_actors::accounts::TransferView;
use caudal_actors::engine::money::TransferFilter;
use caudal_http::bodies::transfers::{BankCallBody, DecisionBody, TransferBody, transfer};
use caudal_http::errors::ApiError;
use caudal_ledger::ids::{RealmId, TransferId};
use caudal_ledger::rejection::Rejection;
use caudal_ledger::transfers::TransferStatus;

use super::lists::{asked_page, whole};
use super::locale::Locale;
use super::movements::{counterparty, metadata};
use super::page_context::{PageContext, TenantRealm};
use super::places::{accounts, found};
use super::view::{Block, Cell, Page, Part, ROWS, Table, Takes, Tone, facts, table};
use super::words::Word;

/// A table of transfers.
pub(super) fn table(locale: Locale, realm: RealmId, views: &[TransferView]) -> Table {
    table! {
        locale, Word::Transfers, Word::NoTransfers; view in views.iter();
        => let body = transfer(realm, view);
        => let other = body.counterparty;
        At: locale.time(view.transfer.created_at);
        Transfer: Cell::code(&body.id).to(format!("/console/transfers/{}", body.id));
        State: locale.state(body.status);
        Cvu: Cell::code(&body.from_cvu).to(format!("/console/accounts/{}", body.from_cvu));
        Amount figure: locale.money(body.amount);
        Counterparty: Cell::maybe(other.name.or(other.cbu).or(other.alias));
        ExternalId: Cell::code(body.id_externo);
    }
}

fn status(context: &PageContext) -> Option<TransferStatus> {
    let asked = context.asks("status")?;
    TransferStatus::ALL
        .into_iter()
        .find(|status| status.as_str() == asked)
}

async fn listed(
    context: &PageContext,
    place: &TenantRealm,
    filter: TransferFilter,
) -> Result<Vec<Block>, ApiError> {
    let (queries, page) = (context.queries(), asked_page(context, ROWS));
    let listing = queries.transfers(place.realm, filter, page).await?;
    let table = table(context.locale(), place.realm, &listing.items);
    let table = whole(context, table, &listing);
    let states = TransferStatus::ALL.map(TransferStatus::as_str);
    let takes = Takes::any_of(context.locale(), states);
    let form = context.filter(vec![context.asked_field("status", Word::State, takes, 20)]);
    Ok(vec![form, Block::Table(table)])
}

/// The transfers of a realm.
pub(super) async fn of_realm(
    context: &PageContext,
    path: &(String, String),
) -> Result<Page, ApiError> {
    let place = context.place(path)?;
    let filter = TransferFilter {
        status: status(context),
        ..TransferFilter::default()
    };
    let blocks = listed(context, &place, filter).await?;
    Ok(context.page_in(&place, Part::Tenants, context.say(Word::Transfers), blocks))
}

/// The transfers of an account.
pub(super) async fn of_account(context: &PageContext, key: &str) -> Result<Page, ApiError> {
    let (place, target, key) = found(context, key).await?;
    let filter = TransferFilter {
        status: status(context),
        from: Some(target),
        ..TransferFilter::default()
    };
    let blocks = listed(context, &place, filter).await?;
    let page = context.page_in(&place, Part::Tenants, context.say(Word::Transfers), blocks);
    Ok(page.under(&key, format!("/console/accounts/{key}")))
}

/// Shows a transfer.
pub(super) async fn one(context: &PageContext, id: &str) -> Result<Page, ApiError> {
    let id = TransferId::parse(id).ok_or(Rejection::TransferNotFound)?;
    let place = context.realm(id.0.realm);
    let place = place.ok_or(Rejection::TransferNotFound)?;
    let (view, calls) = context.queries().transfer_of(place.realm, id).await?;
    let body = transfer(place.realm, &view);
    let mut blocks = Vec::new();
    if view.transfer.status == TransferStatus::Audit {
        blocks.push(context.note(Tone::Warn, Word::TransferWaits));
    }
    if view.transfer.status.is_open() {
        let case = format!("/console/cases/{}", body.id);
        let tab = (case, context.say(Word::OpenCase), false);
        blocks.push(Block::Tabs(vec![tab]));
    }
    let from = body.from_cvu.clone();
    let calls: Vec<_> = calls.iter().map(BankCallBody::from).collect();
    blocks.extend(details(context, body));
    blocks.extend(accounts(context, &from).await?);
    blocks.extend(bank_calls(context, &calls));
    let page = context.page_in(&place, Part::Tenants, context.say(Word::Transfer), blocks);
    let account = format!("/console/accounts/{from}");
    Ok(page.under(from, account))
}

/// All details of a transfer.
pub(super) fn details(context: &PageContext, body: TransferBody) -> Vec<Block> {
    let locale = context.locale();
    let to = body.to.cvu.or(body.to.cbu).or(body.to.alias);
    let rejection = body
        .rejection
        .map(|it| format!("{} ({})", it.message, it.code));
    let facts = facts! {
        context;
        Id: Cell::code(&body.id);
        State: locale.state(body.status);
        Kind: locale.state(body.kind);
        Amount: locale.money(body.amount);
        Fee: locale.maybe_money(body.fee.as_ref().map(|fee| &fee.amount));
        TaxOnFee: locale.maybe_money(body.fee.as_ref().map(|fee| &fee.tax));
        CameBack: locale.money(body.reversed);
        FromCvu: Cell::code(&body.from_cvu).to(format!("/console/accounts/{}", body.from_cvu));
        Destination: Cell::maybe_code(to);
        Concept: Cell::code(body.concept);
        Description: Cell::maybe(body.description);
        ExternalId: Cell::code(body.id_externo);
        OriginId: Cell::maybe_code(body.origin_id);
        BankId: Cell::maybe_code(body.bank_transfer_id);
        CoelsaId: Cell::maybe_code(body.coelsa_id);
        Rejected: Cell::maybe(rejection);
        CreatedAt: locale.time_of(&body.created_at);
        UpdatedAt: locale.time_of(&body.updated_at);
    };
    let mut blocks = vec![
        context.facts(Word::Transfer, facts),
        counterparty(context, body.counterparty),
    ];
    if let Some(dispute) = body.dispute {
        blocks.push(facts! {
            context, BankSays;
            Differs: Cell::text(dispute.differs.join(", "));
            BankId: Cell::code(dispute.bank_transfer_id);
            State: locale.state(dispute.status);
            Amount: locale.maybe_money(dispute.amount);
            FromCvu: Cell::maybe_code(dispute.from_cvu);
            CbuOrCvu: Cell::maybe_code(dispute.to_cbu);
            Alias: Cell::maybe(dispute.to_alias);
        });
    }
    blocks.extend(body.decision.map(|decision| decided(context, &decision)));
    blocks.extend(metadata(context, &body.metadata));
    blocks
}

/// The decision about a transfer: by whom, and why.
pub(super) fn decided(context: &PageContext, decision: &DecisionBody) -> Block {
    facts! {
        context, Decision;
        By: Cell::text(&decision.by);
        Reason: Cell::text(&decision.reason);
        ApprovalReason: Cell::maybe(decision.approval_reason.as_ref());
        At: context.locale().time_of(&decision.at);
        BankReference: Cell::maybe_code(decision.bank_reference.as_ref());
        Forced: context.locale().is(decision.forced, Tone::Quiet);
    }
}

/// The calls to the bank, with their requests and answers.
pub(super) fn bank_calls(context: &PageContext, calls: &[BankCallBody]) -> Vec<Block> {
    let locale = context.locale();
    let table = table! {
        locale, Word::BankCalls, Word::NoBankCalls; call in calls.iter();
        At: locale.time_of(&call.at);
        Operation: Cell::code(&call.operation);
        State: Cell::maybe_code(call.status);
        Millis figure: locale.count(call.millis);
        Request: Cell::code(&call.request_id);
    };
    let text = |raw: &Option<Box<serde_json::value::RawValue>>| {
        raw.as_ref().map_or("–", |raw| raw.get()).to_owned()
    };
    let texts = calls.iter().map(|call| {
        let title = format!("{} {}", call.operation, locale.time_of(&call.at).text);
        let status = call
            .status
            .map_or_else(|| "–".to_owned(), |status| status.to_string());
        Block::Text(
            title,
            format!("→ {}\n← {status} {}", text(&call.request), text(&call.body)),
        )
    });
    let mut blocks = vec![Block::Table(table)];
    if !calls.is_empty() {
        blocks.push(Block::FoldBegins(context.say(Word::BankMessages)));
        blocks.extend(texts);
        blocks.push(Block::FoldEnds);
    }
    blocks
}
