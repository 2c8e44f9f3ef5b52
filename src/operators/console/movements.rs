//! Vouchers: those of an account, those of a realm, and one with all its details.

use actix_web::{HttpResponse, web};
use caudal_actors::accounts::AccountVoucher;
use caudal_actors::engine::lists::{VoucherFilter, VoucherSort};
use caudal_http::bodies::vouchers::voucher;
use caudal_http::errors::ApiError;
use caudal_ledger::books::BookMove;
use caudal_ledger::ids::{RealmId, VoucherId};
use caudal_ledger::rejection::Rejection;

use super::books::entries_address;
use super::lists::{asked_page, whole};
use super::locale::Locale;
use super::page_context::PageContext;
use super::places::found;
use super::view::{Block, Cell, Field, Form, Page, Part, ROWS, Table, Takes};
use super::words::Word;

/// The longest text to search for, in characters.
const TEXT_MAX: usize = 100;

/// A table of vouchers.
pub(super) fn table(
    locale: Locale,
    title: Word,
    realm: RealmId,
    placed: &[AccountVoucher],
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
            locale.time(placed.voucher.at),
            locale
                .count(body.sequence)
                .to(format!("/console/vouchers/{}", body.id)),
            Cell::text(body.voucher_type_name),
            locale.state(body.ledger_type),
            locale.money(body.amount),
            locale.money(body.available_after),
            locale.money(body.held_after),
            Cell::maybe_code(body.id_externo),
            Cell::maybe(other),
        ];
        if with_cvu {
            let cvu = Cell::code(&body.cvu).to(format!("/console/accounts/{}", body.cvu));
            row.insert(1, cvu);
        }
        row
    });
    Table::new(locale, title, Word::NoMovements, &columns).with(rows)
}

fn filter(context: &PageContext) -> VoucherFilter {
    let text = context
        .asks("text")
        .filter(|text| text.chars().count() <= TEXT_MAX);
    let day = |name| {
        context
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

fn form(context: &PageContext) -> Form {
    let locale = context.locale();
    let field = |name, word, takes| {
        let value = context.asks(name).map_or("", |text| text);
        Field::new(locale, name, word, takes, TEXT_MAX).maybe(value)
    };
    Form {
        title: context.say(Word::Filter).to_owned(),
        action: context.path.clone(),
        asks: true,
        fields: vec![
            field("from", Word::From, Takes::Day),
            field("to", Word::To, Takes::Day),
            field("text", Word::TextInVoucher, Takes::Line),
        ],
        submit: context.say(Word::Filter),
        grave: false,
    }
}

/// The movements of an account.
pub(super) async fn of_account(context: PageContext, path: web::Path<String>) -> HttpResponse {
    let made = async |context: &PageContext, key: &String| account(context, key).await;
    context.answer(path.into_inner(), made).await
}

async fn account(context: &PageContext, key: &str) -> Result<Page, ApiError> {
    let (place, target, key) = found(context, key).await?;
    let key = key.as_str();
    let page = asked_page(context, ROWS);
    let listing = context
        .engine()
        .queries()
        .movements(
            place.realm,
            target,
            filter(context),
            VoucherSort::default(),
            page,
        )
        .await?;
    let locale = context.locale();
    let table = table(locale, Word::Movements, place.realm, &listing.items, false);
    let table = whole(context, table, &listing);
    let blocks = vec![Block::Form(form(context)), Block::Table(table)];
    let mut above = place.above(locale);
    above.push((key.to_owned(), format!("/console/accounts/{key}")));
    Ok(context
        .page(Part::Tenants, context.say(Word::Movements), blocks)
        .below(above))
}

/// The vouchers of a realm, in the order in which they were posted.
pub(super) async fn of_realm(
    context: PageContext,
    path: web::Path<(String, String)>,
) -> HttpResponse {
    context.answer(path.into_inner(), realm).await
}

async fn realm(context: &PageContext, path: &(String, String)) -> Result<Page, ApiError> {
    let (locale, place) = (context.locale(), context.place(path)?);
    let page = asked_page(context, ROWS);
    let listing = context
        .engine()
        .queries()
        .vouchers(place.realm, filter(context), page)
        .await?;
    let table = table(locale, Word::Vouchers, place.realm, &listing.items, true);
    let table = whole(context, table, &listing);
    let blocks = vec![Block::Form(form(context)), Block::Table(table)];
    let page = context.page(Part::Tenants, context.say(Word::Vouchers), blocks);
    Ok(page.below(place.above(locale)))
}

/// Shows a voucher.
pub(super) async fn one(context: PageContext, path: web::Path<String>) -> HttpResponse {
    let made = single(&context, &path).await;
    context.show(made)
}

async fn single(context: &PageContext, id: &str) -> Result<Page, ApiError> {
    let id = VoucherId::parse(id).ok_or(Rejection::VoucherNotFound)?;
    let place = context.realm(id.realm).ok_or(Rejection::VoucherNotFound)?;
    let placed = context.engine().queries().voucher(id.realm, id).await?;
    let (locale, body) = (context.locale(), voucher(id.realm, &placed));
    let about = match body.reference_id == body.id {
        true => Cell::text(""),
        false if body.reference_id.starts_with("trf_") => {
            Cell::code(&body.reference_id).to(format!("/console/transfers/{}", body.reference_id))
        }
        false => Cell::code(&body.reference_id),
    };
    let day = placed.voucher.at.business_day();
    let in_books = BookMove::of_voucher(&placed.voucher).map(|moved| {
        let entries = entries_address(&place, moved.debit.as_str(), Some(day));
        Cell::text(context.say(Word::BookEntries)).to(entries)
    });
    let in_books = in_books.unwrap_or_else(|| Cell::text(""));
    let facts = vec![
        (context.say(Word::Id), Cell::code(&body.id)),
        (context.say(Word::At), locale.time(placed.voucher.at)),
        (
            context.say(Word::Cvu),
            Cell::code(&body.cvu).to(format!("/console/accounts/{}", body.cvu)),
        ),
        (context.say(Word::Number), locale.count(body.sequence)),
        (
            context.say(Word::Type),
            Cell::text(format!(
                "{} ({})",
                body.voucher_type_name, body.voucher_type_code
            )),
        ),
        (context.say(Word::Direction), locale.state(body.ledger_type)),
        (context.say(Word::Amount), locale.money(body.amount)),
        (
            context.say(Word::AvailableAfter),
            locale.money(body.available_after),
        ),
        (context.say(Word::HeldAfter), locale.money(body.held_after)),
        (
            context.say(Word::TotalAfter),
            locale.money(body.total_after),
        ),
        (
            context.say(Word::ExternalId),
            Cell::maybe_code(body.id_externo),
        ),
        (
            context.say(Word::Description),
            Cell::maybe(body.description),
        ),
        (context.say(Word::About), about),
        (context.say(Word::Books), in_books),
    ];
    let mut blocks = vec![Block::Facts(context.say(Word::Voucher).to_owned(), facts)];
    if let Some(other) = body.counterparty {
        blocks.push(counterparty(context, *other));
    }
    let mut above = place.above(locale);
    above.push((body.cvu.clone(), format!("/console/accounts/{}", body.cvu)));
    Ok(context
        .page(Part::Tenants, context.say(Word::Voucher), blocks)
        .below(above))
}

/// The other side of a movement.
pub(super) fn counterparty(
    context: &PageContext,
    other: caudal_http::bodies::counterparty::CounterpartyBody,
) -> Block {
    let bank = other.bank.and_then(|bank| bank.name.or(bank.code));
    let facts = vec![
        (context.say(Word::Name), Cell::maybe(other.name)),
        (context.say(Word::Cuit), Cell::maybe_code(other.cuit)),
        (context.say(Word::CbuOrCvu), Cell::maybe_code(other.cbu)),
        (context.say(Word::Alias), Cell::maybe(other.alias)),
        (context.say(Word::Bank), Cell::maybe(bank)),
        (
            context.say(Word::CoelsaId),
            Cell::maybe_code(other.coelsa_id),
        ),
    ];
    Block::Facts(context.say(Word::Counterparty).to_owned(), facts)
}
