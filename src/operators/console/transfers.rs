//! Transfers: those of an account or a realm, and one with its calls to the bank.

use actix_web::{HttpResponse, web};
use caudal_actors::accounts::TransferView;
use caudal_actors::engine::money::TransferFilter;
use caudal_http::bodies::transfers::{BankCallBody, TransferBody, transfer};
use caudal_http::errors::ApiError;
use caudal_ledger::ids::{RealmId, TransferId};
use caudal_ledger::rejection::Rejection;
use caudal_ledger::transfers::TransferStatus;

use super::lists::{after, asked_page, note};
use super::movements::counterparty;
use super::places::found;
use super::tongue::Tongue;
use super::view::{Block, Cell, Field, Form, Page, Part, ROWS, Table, Takes, Tone};
use super::visit::{Place, Visit};
use super::words::Word;

/// A table of transfers.
pub(super) fn table(tongue: Tongue, realm: RealmId, views: &[TransferView]) -> Table {
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
            tongue.time(view.transfer.created_at),
            Cell::code(&body.id).to(format!("/console/transfers/{}", body.id)),
            tongue.state(body.status),
            Cell::code(&body.from_cvu).to(format!("/console/accounts/{}", body.from_cvu)),
            tongue.money(body.amount),
            Cell::maybe(other.name.or(other.cbu).or(other.alias)),
            Cell::code(body.id_externo),
        ]
    });
    Table::new(tongue, Word::Transfers, Word::NoTransfers, &columns).with(rows)
}

fn status(visit: &Visit) -> Option<TransferStatus> {
    let asked = visit.asks("status")?;
    TransferStatus::ALL
        .into_iter()
        .find(|status| status.as_str() == asked)
}

fn form(visit: &Visit) -> Form {
    let tongue = visit.tongue();
    let any = [(String::new(), visit.say(Word::Any).to_owned())];
    let known = TransferStatus::ALL.map(|status| {
        let word = status.as_str();
        (word.to_owned(), tongue.state(word).text)
    });
    let takes = Takes::Choice(any.into_iter().chain(known).collect());
    let value = visit.asks("status").map_or("", |text| text);
    Form {
        title: visit.say(Word::Filter).to_owned(),
        action: visit.path.clone(),
        asks: true,
        fields: vec![Field::new(tongue, "status", Word::State, takes, 20).maybe(value)],
        submit: visit.say(Word::Filter),
        grave: false,
    }
}

async fn listed(
    visit: &Visit,
    place: &Place,
    filter: TransferFilter,
) -> Result<Vec<Block>, ApiError> {
    let page = asked_page(visit, ROWS);
    let listing = visit
        .engine()
        .queries()
        .transfers(place.realm, filter, page)
        .await?;
    let mut table = table(visit.tongue(), place.realm, &listing.items);
    table.note = Some(note(visit.tongue(), &listing));
    table.next = after(visit, &listing);
    Ok(vec![Block::Form(form(visit)), Block::Table(table)])
}

/// The transfers of a realm.
pub(super) async fn of_realm(visit: Visit, path: web::Path<(String, String)>) -> HttpResponse {
    let made = realm(&visit, &path).await;
    visit.show(made)
}

async fn realm(visit: &Visit, path: &(String, String)) -> Result<Page, ApiError> {
    let place = visit.place(path)?;
    let filter = TransferFilter {
        status: status(visit),
        ..TransferFilter::default()
    };
    let blocks = listed(visit, &place, filter).await?;
    let page = visit.page(Part::Tenants, visit.say(Word::Transfers), blocks);
    Ok(page.below(place.above(visit.tongue())))
}

/// The transfers of an account.
pub(super) async fn of_account(visit: Visit, path: web::Path<String>) -> HttpResponse {
    let made = account(&visit, &path).await;
    visit.show(made)
}

async fn account(visit: &Visit, key: &str) -> Result<Page, ApiError> {
    let (place, target, key) = found(visit, key).await?;
    let key = key.as_str();
    visit.looks("listTransfers", key).await?;
    let filter = TransferFilter {
        status: status(visit),
        from: Some(target),
        ..TransferFilter::default()
    };
    let blocks = listed(visit, &place, filter).await?;
    let mut above = place.above(visit.tongue());
    above.push((key.to_owned(), format!("/console/accounts/{key}")));
    Ok(visit
        .page(Part::Tenants, visit.say(Word::Transfers), blocks)
        .below(above))
}

/// Shows a transfer.
pub(super) async fn one(visit: Visit, path: web::Path<String>) -> HttpResponse {
    let made = single(&visit, &path).await;
    visit.show(made)
}

async fn single(visit: &Visit, id: &str) -> Result<Page, ApiError> {
    let id = TransferId::parse(id).ok_or(Rejection::TransferNotFound)?;
    let place = visit.realm(id.0.realm).ok_or(Rejection::TransferNotFound)?;
    visit.looks("readTransfer", &id.to_string()).await?;
    let (view, calls) = visit
        .engine()
        .queries()
        .transfer_of(place.realm, id)
        .await?;
    let body = transfer(place.realm, &view);
    let mut blocks = Vec::new();
    if view.transfer.status == TransferStatus::Audit {
        let text = visit.say(Word::TransferWaits);
        blocks.push(Block::Note(Tone::Warn, text.to_owned()));
        let case = format!("/console/cases/{}", body.id);
        blocks.push(Block::Tabs(vec![(case, visit.say(Word::OpenCase), false)]));
    }
    let above_cvu = (
        body.from_cvu.clone(),
        format!("/console/accounts/{}", body.from_cvu),
    );
    let calls: Vec<_> = calls.iter().map(BankCallBody::from).collect();
    blocks.extend(details(visit, body));
    blocks.extend(bank_calls(visit, &calls));
    let mut above = place.above(visit.tongue());
    above.push(above_cvu);
    Ok(visit
        .page(Part::Tenants, visit.say(Word::Transfer), blocks)
        .below(above))
}

/// All details of a transfer.
pub(super) fn details(visit: &Visit, body: TransferBody) -> Vec<Block> {
    let tongue = visit.tongue();
    let to = body.to.cvu.or(body.to.cbu).or(body.to.alias);
    let rejection = body.rejection.map(|rejection| rejection.reason);
    let facts = vec![
        (visit.say(Word::Id), Cell::code(&body.id)),
        (visit.say(Word::State), tongue.state(body.status)),
        (visit.say(Word::Kind), tongue.state(body.kind)),
        (visit.say(Word::Amount), tongue.money(body.amount)),
        (
            visit.say(Word::Fee),
            tongue.maybe_money(body.fee.as_ref().map(|fee| &fee.amount)),
        ),
        (
            visit.say(Word::TaxOnFee),
            tongue.maybe_money(body.fee.as_ref().map(|fee| &fee.tax)),
        ),
        (visit.say(Word::CameBack), tongue.money(body.reversed)),
        (
            visit.say(Word::FromCvu),
            Cell::code(&body.from_cvu).to(format!("/console/accounts/{}", body.from_cvu)),
        ),
        (visit.say(Word::Destination), Cell::maybe_code(to)),
        (visit.say(Word::Concept), Cell::code(body.concept)),
        (visit.say(Word::Description), Cell::maybe(body.description)),
        (visit.say(Word::ExternalId), Cell::code(body.id_externo)),
        (visit.say(Word::OriginId), Cell::maybe_code(body.origin_id)),
        (
            visit.say(Word::BankId),
            Cell::maybe_code(body.bank_transfer_id),
        ),
        (visit.say(Word::CoelsaId), Cell::maybe_code(body.coelsa_id)),
        (visit.say(Word::Rejected), Cell::maybe(rejection)),
        (visit.say(Word::CreatedAt), tongue.time_of(&body.created_at)),
        (visit.say(Word::UpdatedAt), tongue.time_of(&body.updated_at)),
    ];
    let mut blocks = vec![
        Block::Facts(visit.say(Word::Transfer).to_owned(), facts),
        counterparty(visit, body.counterparty),
    ];
    if let Some(dispute) = body.dispute {
        let facts = vec![
            (
                visit.say(Word::Differs),
                Cell::text(dispute.differs.join(", ")),
            ),
            (
                visit.say(Word::BankId),
                Cell::code(dispute.bank_transfer_id),
            ),
            (visit.say(Word::State), tongue.state(dispute.status)),
            (visit.say(Word::Amount), tongue.maybe_money(dispute.amount)),
            (visit.say(Word::FromCvu), Cell::maybe_code(dispute.from_cvu)),
            (visit.say(Word::CbuOrCvu), Cell::maybe_code(dispute.to_cbu)),
            (visit.say(Word::Alias), Cell::maybe(dispute.to_alias)),
        ];
        blocks.push(Block::Facts(visit.say(Word::BankSays).to_owned(), facts));
    }
    blocks.extend(body.decision.map(|decision| decided(visit, &decision)));
    blocks
}

/// The decision about a transfer: by whom, and why.
pub(super) fn decided(
    visit: &Visit,
    decision: &caudal_http::bodies::transfers::DecisionBody,
) -> Block {
    let facts = vec![
        (visit.say(Word::By), Cell::text(&decision.by)),
        (visit.say(Word::Reason), Cell::text(&decision.reason)),
        (visit.say(Word::At), visit.tongue().time_of(&decision.at)),
        (
            visit.say(Word::BankReference),
            Cell::maybe_code(decision.bank_reference.as_ref()),
        ),
        (
            visit.say(Word::Forced),
            visit.tongue().is(decision.forced, Tone::Quiet),
        ),
    ];
    Block::Facts(visit.say(Word::Decision).to_owned(), facts)
}

/// The calls to the bank, with their requests and answers.
pub(super) fn bank_calls(visit: &Visit, calls: &[BankCallBody]) -> Vec<Block> {
    let tongue = visit.tongue();
    let columns = [
        (Word::At, false),
        (Word::Operation, false),
        (Word::State, false),
        (Word::Millis, true),
        (Word::Request, false),
    ];
    let rows = calls.iter().map(|call| {
        vec![
            tongue.time_of(&call.at),
            Cell::code(&call.operation),
            Cell::maybe_code(call.status),
            tongue.count(call.millis),
            Cell::code(&call.request_id),
        ]
    });
    let table = Table::new(tongue, Word::BankCalls, Word::NoBankCalls, &columns).with(rows);
    let text = |raw: &Option<Box<serde_json::value::RawValue>>| {
        raw.as_ref().map_or("–", |raw| raw.get()).to_owned()
    };
    let texts = calls.iter().map(|call| {
        let title = format!("{} {}", call.operation, tongue.time_of(&call.at).text);
        let status = call
            .status
            .map_or_else(|| "–".to_owned(), |status| status.to_string());
        Block::Text(
            title,
            format!("→ {}\n← {status} {}", text(&call.request), text(&call.body)),
        )
    });
    std::iter::once(Block::Table(table)).chain(texts).collect()
}
