//! Transfers: those of an account or a realm, and one with its calls to the bank.

use actix_web::{HttpResponse, web};
use caudal_actors::accounts::TransferView;
use caudal_actors::engine::money::TransferFilter;
use caudal_http::bodies::transfers::{BankCallBody, TransferBody, transfer};
use caudal_http::errors::ApiError;
use caudal_ledger::ids::{RealmId, TransferId};
use caudal_ledger::rejection::Rejection;
use caudal_ledger::transfers::TransferStatus;

use super::lists::{asked_page, whole};
use super::locale::Locale;
use super::movements::{counterparty, metadata};
use super::page_context::{PageContext, TenantRealm};
use super::places::{accounts, found};
use super::view::{Block, Cell, Field, Form, Page, Part, ROWS, Table, Takes, Tone};
use super::words::Word;

/// A table of transfers.
pub(super) fn table(locale: Locale, realm: RealmId, views: &[TransferView]) -> Table {
    let columns = [
        (Word::At, false),
        (Word::Transfer, false),
        (Word::State, false),
        (Word::Cvu, false),
        (Word::Amount, true),
        (Word::Counterparty, false),
        (Word::ExternalId, false),
    ];
    let rows = views.iter().map(|view| {
        let body = transfer(realm, view);
        let other = body.counterparty;
        vec![
            locale.time(view.transfer.created_at),
            Cell::code(&body.id).to(format!("/console/transfers/{}", body.id)),
            locale.state(body.status),
            Cell::code(&body.from_cvu).to(format!("/console/accounts/{}", body.from_cvu)),
            locale.money(body.amount),
            Cell::maybe(other.name.or(other.cbu).or(other.alias)),
            Cell::code(body.id_externo),
        ]
    });
    Table::new(locale, Word::Transfers, Word::NoTransfers, &columns).with(rows)
}

fn status(context: &PageContext) -> Option<TransferStatus> {
    let asked = context.asks("status")?;
    TransferStatus::ALL
        .into_iter()
        .find(|status| status.as_str() == asked)
}

fn form(context: &PageContext) -> Form {
    let locale = context.locale();
    let any = [(String::new(), context.say(Word::Any).to_owned())];
    let known = TransferStatus::ALL.map(|status| {
        let word = status.as_str();
        (word.to_owned(), locale.state(word).text)
    });
    let takes = Takes::Choice(any.into_iter().chain(known).collect());
    let value = context.asks("status").map_or("", |text| text);
    Form {
        title: context.say(Word::Filter).to_owned(),
        action: context.path.clone(),
        asks: true,
        fields: vec![Field::new(locale, "status", Word::State, takes, 20).maybe(value)],
        submit: context.say(Word::Filter),
        grave: false,
    }
}

async fn listed(
    context: &PageContext,
    place: &TenantRealm,
    filter: TransferFilter,
) -> Result<Vec<Block>, ApiError> {
    let page = asked_page(context, ROWS);
    let listing = context
        .engine()
        .queries()
        .transfers(place.realm, filter, page)
        .await?;
    let table = table(context.locale(), place.realm, &listing.items);
    let table = whole(context, table, &listing);
    Ok(vec![Block::Form(form(context)), Block::Table(table)])
}

/// The transfers of a realm.
pub(super) async fn of_realm(
    context: PageContext,
    path: web::Path<(String, String)>,
) -> HttpResponse {
    context.answer(path.into_inner(), realm).await
}

async fn realm(context: &PageContext, path: &(String, String)) -> Result<Page, ApiError> {
    let place = context.place(path)?;
    let filter = TransferFilter {
        status: status(context),
        ..TransferFilter::default()
    };
    let blocks = listed(context, &place, filter).await?;
    let page = context.page(Part::Tenants, context.say(Word::Transfers), blocks);
    Ok(page.below(place.above(context.locale())))
}

/// The transfers of an account.
pub(super) async fn of_account(context: PageContext, path: web::Path<String>) -> HttpResponse {
    let made = async |context: &PageContext, key: &String| account(context, key).await;
    context.answer(path.into_inner(), made).await
}

async fn account(context: &PageContext, key: &str) -> Result<Page, ApiError> {
    let (place, target, key) = found(context, key).await?;
    let key = key.as_str();
    let filter = TransferFilter {
        status: status(context),
        from: Some(target),
        ..TransferFilter::default()
    };
    let blocks = listed(context, &place, filter).await?;
    let mut above = place.above(context.locale());
    above.push((key.to_owned(), format!("/console/accounts/{key}")));
    Ok(context
        .page(Part::Tenants, context.say(Word::Transfers), blocks)
        .below(above))
}

/// Shows a transfer.
pub(super) async fn one(context: PageContext, path: web::Path<String>) -> HttpResponse {
    let made = async |context: &PageContext, id: &String| single(context, id).await;
    context.answer(path.into_inner(), made).await
}

async fn single(context: &PageContext, id: &str) -> Result<Page, ApiError> {
    let id = TransferId::parse(id).ok_or(Rejection::TransferNotFound)?;
    let place = context
        .realm(id.0.realm)
        .ok_or(Rejection::TransferNotFound)?;
    let (view, calls) = context
        .engine()
        .queries()
        .transfer_of(place.realm, id)
        .await?;
    let body = transfer(place.realm, &view);
    let mut blocks = Vec::new();
    if view.transfer.status == TransferStatus::Audit {
        let text = context.say(Word::TransferWaits);
        blocks.push(Block::Note(Tone::Warn, text.to_owned()));
    }
    if view.transfer.status.is_open() {
        let case = format!("/console/cases/{}", body.id);
        blocks.push(Block::Tabs(vec![(
            case,
            context.say(Word::OpenCase),
            false,
        )]));
    }
    let cvu = body.from_cvu.clone();
    let calls: Vec<_> = calls.iter().map(BankCallBody::from).collect();
    blocks.extend(details(context, body));
    blocks.extend(accounts(context, &cvu).await?);
    blocks.extend(bank_calls(context, &calls));
    let mut above = place.above(context.locale());
    above.push((cvu.clone(), format!("/console/accounts/{cvu}")));
    Ok(context
        .page(Part::Tenants, context.say(Word::Transfer), blocks)
        .below(above))
}

/// All details of a transfer.
pub(super) fn details(context: &PageContext, body: TransferBody) -> Vec<Block> {
    let locale = context.locale();
    let say = |word| context.say(word);
    let to = body.to.cvu.or(body.to.cbu).or(body.to.alias);
    let rejection = body
        .rejection
        .map(|it| format!("{} ({})", it.message, it.code));
    let facts = vec![
        (say(Word::Id), Cell::code(&body.id)),
        (say(Word::State), locale.state(body.status)),
        (say(Word::Kind), locale.state(body.kind)),
        (say(Word::Amount), locale.money(body.amount)),
        (
            say(Word::Fee),
            locale.maybe_money(body.fee.as_ref().map(|fee| &fee.amount)),
        ),
        (
            say(Word::TaxOnFee),
            locale.maybe_money(body.fee.as_ref().map(|fee| &fee.tax)),
        ),
        (say(Word::CameBack), locale.money(body.reversed)),
        (
            say(Word::FromCvu),
            Cell::code(&body.from_cvu).to(format!("/console/accounts/{}", body.from_cvu)),
        ),
        (say(Word::Destination), Cell::maybe_code(to)),
        (say(Word::Concept), Cell::code(body.concept)),
        (say(Word::Description), Cell::maybe(body.description)),
        (say(Word::ExternalId), Cell::code(body.id_externo)),
        (say(Word::OriginId), Cell::maybe_code(body.origin_id)),
        (say(Word::BankId), Cell::maybe_code(body.bank_transfer_id)),
        (say(Word::CoelsaId), Cell::maybe_code(body.coelsa_id)),
        (say(Word::Rejected), Cell::maybe(rejection)),
        (say(Word::CreatedAt), locale.time_of(&body.created_at)),
        (say(Word::UpdatedAt), locale.time_of(&body.updated_at)),
    ];
    let mut blocks = vec![
        Block::Facts(say(Word::Transfer).to_owned(), facts),
        counterparty(context, body.counterparty),
    ];
    if let Some(dispute) = body.dispute {
        let facts = vec![
            (say(Word::Differs), Cell::text(dispute.differs.join(", "))),
            (say(Word::BankId), Cell::code(dispute.bank_transfer_id)),
            (say(Word::State), locale.state(dispute.status)),
            (say(Word::Amount), locale.maybe_money(dispute.amount)),
            (say(Word::FromCvu), Cell::maybe_code(dispute.from_cvu)),
            (say(Word::CbuOrCvu), Cell::maybe_code(dispute.to_cbu)),
            (say(Word::Alias), Cell::maybe(dispute.to_alias)),
        ];
        blocks.push(Block::Facts(say(Word::BankSays).to_owned(), facts));
    }
    blocks.extend(body.decision.map(|decision| decided(context, &decision)));
    blocks.extend(metadata(context, &body.metadata));
    blocks
}

/// The decision about a transfer: by whom, and why.
pub(super) fn decided(
    context: &PageContext,
    decision: &caudal_http::bodies::transfers::DecisionBody,
) -> Block {
    let facts = vec![
        (context.say(Word::By), Cell::text(&decision.by)),
        (context.say(Word::Reason), Cell::text(&decision.reason)),
        (
            context.say(Word::ApprovalReason),
            Cell::maybe(decision.approval_reason.as_ref()),
        ),
        (
            context.say(Word::At),
            context.locale().time_of(&decision.at),
        ),
        (
            context.say(Word::BankReference),
            Cell::maybe_code(decision.bank_reference.as_ref()),
        ),
        (
            context.say(Word::Forced),
            context.locale().is(decision.forced, Tone::Quiet),
        ),
    ];
    Block::Facts(context.say(Word::Decision).to_owned(), facts)
}

/// The calls to the bank, with their requests and answers.
pub(super) fn bank_calls(context: &PageContext, calls: &[BankCallBody]) -> Vec<Block> {
    let locale = context.locale();
    let columns = [
        (Word::At, false),
        (Word::Operation, false),
        (Word::State, false),
        (Word::Millis, true),
        (Word::Request, false),
    ];
    let rows = calls.iter().map(|call| {
        vec![
            locale.time_of(&call.at),
            Cell::code(&call.operation),
            Cell::maybe_code(call.status),
            locale.count(call.millis),
            Cell::code(&call.request_id),
        ]
    });
    let table = Table::new(locale, Word::BankCalls, Word::NoBankCalls, &columns).with(rows);
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
