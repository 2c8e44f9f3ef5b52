//! Vouchers: those of an account, those of a realm, and one with all its details.

use actix_web::{HttpResponse, web};
use caudal_actors::accounts::Placed;
use caudal_actors::engine::lists::{VoucherFilter, VoucherSort};
use caudal_http::bodies::vouchers::voucher;
use caudal_http::errors::ApiError;
use caudal_ledger::ids::{RealmId, VoucherId};
use caudal_ledger::rejection::Rejection;

use super::lists::{after, asked_page, note};
use super::places::found;
use super::tongue::Tongue;
use super::view::{Block, Cell, Field, Form, Page, Part, ROWS, Table, Takes};
use super::visit::Visit;
use super::words::Word;

/// The longest text to search for, in characters.
const TEXT_MAX: usize = 100;

/// A table of vouchers.
pub(super) fn table(
    tongue: Tongue,
    title: Word,
    realm: RealmId,
    placed: &[Placed],
    with_cvu: bool,
) -> Table {
    let mut columns = vec![
        (Word::At, false),
        (Word::Number, true),
        (Word::Type, false),
        (Word::Direction, false),
        (Word::Amount, true),
        (Word::AvailableAfter, true),
        (Word::HeldAfter, true),
        (Word::ExternalId, false),
        (Word::Counterparty, false),
    ];
    if with_cvu {
        columns.insert(1, (Word::Cvu, false));
    }
    let rows = placed.iter().map(|placed| {
        let body = voucher(realm, placed);
        let other = body
            .counterparty
            .and_then(|other| other.name.or(other.cbu).or(other.alias));
        let mut row = vec![
            tongue.time(placed.voucher.at),
            tongue
                .count(body.sequence)
                .to(format!("/console/vouchers/{}", body.id)),
            Cell::text(body.voucher_type_name),
            tongue.state(body.ledger_type),
            tongue.money(body.amount),
            tongue.money(body.available_after),
            tongue.money(body.held_after),
            Cell::maybe_code(body.id_externo),
            Cell::maybe(other),
        ];
        if with_cvu {
            let cvu = Cell::code(&body.cvu).to(format!("/console/accounts/{}", body.cvu));
            row.insert(1, cvu);
        }
        row
    });
    Table::new(tongue, title, Word::NoMovements, &columns).with(rows)
}

fn filter(visit: &Visit) -> VoucherFilter {
    let text = visit
        .asks("text")
        .filter(|text| text.chars().count() <= TEXT_MAX);
    let day = |name| {
        visit
            .asks(name)
            .and_then(caudal_ledger::time::BusinessDay::parse)
    };
    VoucherFilter {
        text: text.map(str::to_owned),
        from: day("from").map(|day| day.start()),
        to: day("to").map(|day| day.end()),
        ..VoucherFilter::default()
    }
}

fn form(visit: &Visit) -> Form {
    let tongue = visit.tongue();
    let field = |name, word, takes| {
        let value = visit.asks(name).map_or("", |text| text);
        Field::new(tongue, name, word, takes, TEXT_MAX).maybe(value)
    };
    Form {
        title: visit.say(Word::Filter).to_owned(),
        action: visit.path.clone(),
        asks: true,
        fields: vec![
            field("from", Word::From, Takes::Day),
            field("to", Word::To, Takes::Day),
            field("text", Word::TextInVoucher, Takes::Line),
        ],
        submit: visit.say(Word::Filter),
        grave: false,
    }
}

/// The movements of an account.
pub(super) async fn of_account(visit: Visit, path: web::Path<String>) -> HttpResponse {
    let made = account(&visit, &path).await;
    visit.show(made)
}

async fn account(visit: &Visit, key: &str) -> Result<Page, ApiError> {
    let (place, target, key) = found(visit, key).await?;
    let key = key.as_str();
    visit.looks("listMovements", key).await?;
    let page = asked_page(visit, ROWS);
    let listing = visit
        .engine()
        .queries()
        .movements(
            place.realm,
            target,
            filter(visit),
            VoucherSort::default(),
            page,
        )
        .await?;
    let tongue = visit.tongue();
    let mut table = table(tongue, Word::Movements, place.realm, &listing.items, false);
    table.note = Some(note(tongue, &listing));
    table.next = after(visit, &listing);
    let blocks = vec![Block::Form(form(visit)), Block::Table(table)];
    let mut above = place.above(tongue);
    above.push((key.to_owned(), format!("/console/accounts/{key}")));
    Ok(visit
        .page(Part::Tenants, visit.say(Word::Movements), blocks)
        .below(above))
}

/// The vouchers of a realm, in the order in which they were posted.
pub(super) async fn of_realm(visit: Visit, path: web::Path<(String, String)>) -> HttpResponse {
    let made = realm(&visit, &path).await;
    visit.show(made)
}

async fn realm(visit: &Visit, path: &(String, String)) -> Result<Page, ApiError> {
    let (tongue, place) = (visit.tongue(), visit.place(path)?);
    let page = asked_page(visit, ROWS);
    let listing = visit
        .engine()
        .queries()
        .vouchers(place.realm, filter(visit), page)
        .await?;
    let mut table = table(tongue, Word::Vouchers, place.realm, &listing.items, true);
    table.note = Some(note(tongue, &listing));
    table.next = after(visit, &listing);
    let blocks = vec![Block::Form(form(visit)), Block::Table(table)];
    let page = visit.page(Part::Tenants, visit.say(Word::Vouchers), blocks);
    Ok(page.below(place.above(tongue)))
}

/// Shows a voucher.
pub(super) async fn one(visit: Visit, path: web::Path<String>) -> HttpResponse {
    let made = single(&visit, &path).await;
    visit.show(made)
}

async fn single(visit: &Visit, id: &str) -> Result<Page, ApiError> {
    let id = VoucherId::parse(id).ok_or(Rejection::VoucherNotFound)?;
    let place = visit.realm(id.realm).ok_or(Rejection::VoucherNotFound)?;
    visit.looks("readVoucher", &id.to_string()).await?;
    let placed = visit.engine().queries().voucher(id.realm, id).await?;
    let (tongue, body) = (visit.tongue(), voucher(id.realm, &placed));
    let about = match body.reference_id == body.id {
        true => Cell::text(""),
        false if body.reference_id.starts_with("trf_") => {
            Cell::code(&body.reference_id).to(format!("/console/transfers/{}", body.reference_id))
        }
        false => Cell::code(&body.reference_id),
    };
    let facts = vec![
        (visit.say(Word::Id), Cell::code(&body.id)),
        (visit.say(Word::At), tongue.time(placed.voucher.at)),
        (
            visit.say(Word::Cvu),
            Cell::code(&body.cvu).to(format!("/console/accounts/{}", body.cvu)),
        ),
        (visit.say(Word::Number), tongue.count(body.sequence)),
        (
            visit.say(Word::Type),
            Cell::text(format!(
                "{} ({})",
                body.voucher_type_name, body.voucher_type_code
            )),
        ),
        (visit.say(Word::Direction), tongue.state(body.ledger_type)),
        (visit.say(Word::Amount), tongue.money(body.amount)),
        (
            visit.say(Word::AvailableAfter),
            tongue.money(body.available_after),
        ),
        (visit.say(Word::HeldAfter), tongue.money(body.held_after)),
        (visit.say(Word::TotalAfter), tongue.money(body.total_after)),
        (
            visit.say(Word::ExternalId),
            Cell::maybe_code(body.id_externo),
        ),
        (visit.say(Word::Description), Cell::maybe(body.description)),
        (visit.say(Word::About), about),
    ];
    let mut blocks = vec![Block::Facts(visit.say(Word::Voucher).to_owned(), facts)];
    if let Some(other) = body.counterparty {
        blocks.push(counterparty(visit, *other));
    }
    let mut above = place.above(tongue);
    above.push((body.cvu.clone(), format!("/console/accounts/{}", body.cvu)));
    Ok(visit
        .page(Part::Tenants, visit.say(Word::Voucher), blocks)
        .below(above))
}

/// The other side of a movement.
pub(super) fn counterparty(
    visit: &Visit,
    other: caudal_http::bodies::counterparty::CounterpartyBody,
) -> Block {
    let bank = other.bank.and_then(|bank| bank.name.or(bank.code));
    let facts = vec![
        (visit.say(Word::Name), Cell::maybe(other.name)),
        (visit.say(Word::Cuit), Cell::maybe_code(other.cuit)),
        (visit.say(Word::CbuOrCvu), Cell::maybe_code(other.cbu)),
        (visit.say(Word::Alias), Cell::maybe(other.alias)),
        (visit.say(Word::Bank), Cell::maybe(bank)),
        (visit.say(Word::CoelsaId), Cell::maybe_code(other.coelsa_id)),
    ];
    Block::Facts(visit.say(Word::Counterparty).to_owned(), facts)
}
