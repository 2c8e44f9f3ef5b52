//! Vouchers: those of an account, those of a realm, and one with all its details.

use std::collections::BTreeMap;

use caudal_actors::accounts::AccountVoucher;
use caudal_actors::engine::lists::{VoucherFilter, VoucherSort};
use caudal_http::bodies::counterparty::CounterpartyBody;
use caudal_http::bodies::vouchers::{VoucherBody, voucher, whole as shown};
use caudal_http::errors::ApiError;
use caudal_ledger::books::BookMove;
use caudal_ledger::ids::{HoldId, RealmId, VoucherId};
use caudal_ledger::rejection::Rejection;
use caudal_ledger::time::BusinessDay;

use super::books::entries_address;
use super::lists::{asked_page, whole};
use super::locale::Locale;
use super::page_context::PageContext;
use super::places::{accounts, found};
use super::view::{Block, Cell, Page, Part, ROWS, Table, Takes, facts, table};
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
    let mut table = table! {
        locale, title, Word::NoMovements; placed in placed;
        => let body = voucher(realm, placed);
        => let other = body.counterparty;
        At: locale.time(placed.voucher.at);
        Cvu: Cell::code(&body.cvu).to(format!("/console/accounts/{}", body.cvu));
        Number figure: locale.count(body.sequence).to(format!("/console/vouchers/{}", body.id));
        Type: Cell::text(locale.type_name(&body.voucher_type_code, &body.voucher_type_name));
        Direction: locale.state(body.ledger_type);
        Amount figure: locale.money(body.amount);
        AvailableAfter figure: locale.money(body.available_after);
        HeldAfter figure: locale.money(body.held_after);
        ExternalId: Cell::maybe_code(body.id_externo);
        Counterparty: Cell::maybe(other.and_then(|it| it.name.or(it.cbu).or(it.alias)));
    };
    if !with_cvu {
        table.remove(1);
    }
    table
}

fn filter(context: &PageContext) -> VoucherFilter {
    let text = context
        .asks("text")
        .filter(|text| text.chars().count() <= TEXT_MAX);
    let day = |name| context.asks(name).and_then(BusinessDay::parse);
    VoucherFilter {
        text: text.map(str::to_owned),
        from: day("from").map(|day| day.start()),
        to: day("to").map(|day| day.end()),
        ..VoucherFilter::default()
    }
}

fn form(context: &PageContext) -> Block {
    context.filter(vec![
        context.asked_field("from", Word::From, Takes::Day, TEXT_MAX),
        context.asked_field("to", Word::To, Takes::Day, TEXT_MAX),
        context.asked_field("text", Word::TextInVoucher, Takes::Line, TEXT_MAX),
    ])
}

/// The movements of an account.
pub(super) async fn of_account(context: &PageContext, key: &str) -> Result<Page, ApiError> {
    let (place, target, key) = found(context, key).await?;
    let (queries, page) = (context.queries(), asked_page(context, ROWS));
    let (filter, sort) = (filter(context), VoucherSort::default());
    let listing = queries
        .movements(place.realm, target, filter, sort, page)
        .await?;
    let locale = context.locale();
    let table = table(locale, Word::Movements, place.realm, &listing.items, false);
    let table = whole(context, table, &listing);
    let (title, blocks) = (
        context.say(Word::Movements),
        vec![form(context), Block::Table(table)],
    );
    let page = context.page_in(&place, Part::Tenants, title, blocks);
    Ok(page.under(&key, format!("/console/accounts/{key}")))
}

/// The vouchers of a realm, in the order in which they were posted.
pub(super) async fn of_realm(
    context: &PageContext,
    path: &(String, String),
) -> Result<Page, ApiError> {
    let (locale, place) = (context.locale(), context.place(path)?);
    let (queries, page) = (context.queries(), asked_page(context, ROWS));
    let listing = queries.vouchers(place.realm, filter(context), page).await?;
    let table = table(locale, Word::Vouchers, place.realm, &listing.items, true);
    let table = whole(context, table, &listing);
    let (title, blocks) = (
        context.say(Word::Vouchers),
        vec![form(context), Block::Table(table)],
    );
    Ok(context.page_in(&place, Part::Tenants, title, blocks))
}

/// Shows a voucher.
pub(super) async fn one(context: &PageContext, id: &str) -> Result<Page, ApiError> {
    let id = VoucherId::parse(id).ok_or(Rejection::VoucherNotFound)?;
    let place = context.realm(id.realm).ok_or(Rejection::VoucherNotFound)?;
    let queries = context.queries();
    let placed = queries.voucher(id.realm, id).await?;
    let reversed = queries.reversed(id.realm, &placed).await?;
    let body = shown(id.realm, &placed, reversed);
    let day = placed.voucher.at.business_day();
    let in_books = BookMove::of_voucher(&placed.voucher).map(|moved| {
        let entries = entries_address(&place, moved.debit.as_str(), Some(day));
        Cell::text(context.say(Word::BookEntries)).to(entries)
    });
    let in_books = in_books.unwrap_or_else(|| Cell::text(""));
    let mut facts = facts(context, &body);
    facts.push((context.say(Word::Books), in_books));
    let of_day = place.address(&format!("books?date={day}"));
    let of_day = Cell::text(day.to_string()).to(of_day);
    facts.push((context.say(Word::TrialBalance), of_day));
    facts.extend(links(context, &body));
    let mut blocks = vec![context.facts(Word::Voucher, facts)];
    blocks.extend(accounts(context, &body.cvu).await?);
    if let Some(other) = body.counterparty {
        blocks.push(counterparty(context, *other));
    }
    blocks.extend(metadata(context, &body.metadata));
    let page = context.page_in(&place, Part::Tenants, context.say(Word::Voucher), blocks);
    Ok(page.under(&body.cvu, format!("/console/accounts/{}", body.cvu)))
}

/// What a voucher is, moved and left behind.
fn facts(context: &PageContext, body: &VoucherBody) -> Vec<(&'static str, Cell)> {
    let locale = context.locale();
    let about = match HoldId::parse(&body.reference_id) {
        _ if body.reference_id == body.id => Cell::text(""),
        Some(HoldId(opening)) => voucher_link(&body.reference_id, &opening.to_string()),
        None if body.reference_id.starts_with("trf_") => {
            Cell::code(&body.reference_id).to(format!("/console/transfers/{}", body.reference_id))
        }
        None => Cell::code(&body.reference_id),
    };
    let account = format!("/console/accounts/{}", body.cvu);
    let name = locale.type_name(&body.voucher_type_code, &body.voucher_type_name);
    let kind = format!("{name} ({})", body.voucher_type_code);
    facts! {
        context;
        Id: Cell::code(&body.id);
        At: locale.time_of(&body.created_at);
        Cvu: Cell::code(&body.cvu).to(account);
        Number: locale.count(body.sequence);
        Type: Cell::text(kind);
        Direction: locale.state(body.ledger_type);
        Amount: locale.money(&body.amount);
        AvailableAfter: locale.money(&body.available_after);
        HeldAfter: locale.money(&body.held_after);
        TotalAfter: locale.money(&body.total_after);
        ExternalId: Cell::maybe_code(body.id_externo.as_ref());
        Description: Cell::maybe(body.description.as_ref());
        About: about;
    }
}

/// The vouchers that a voucher reverses or relates to, and what of it is reversed.
fn links(
    context: &PageContext,
    body: &VoucherBody,
) -> impl Iterator<Item = (&'static str, Cell)> + use<> {
    let locale = context.locale();
    let link = |id: &String| voucher_link(id, id);
    let all = [
        (Word::Reverses, body.reverses.as_ref().map(link)),
        (Word::RelatesTo, body.relates_to.as_ref().map(link)),
        (
            Word::Reversed,
            body.reversed.as_ref().map(|sum| locale.money(sum)),
        ),
        (
            Word::Reversible,
            body.remaining.as_ref().map(|sum| locale.money(sum)),
        ),
    ];
    let all = all.map(|(word, cell)| cell.map(|cell| (context.say(word), cell)));
    all.into_iter().flatten()
}

/// An id with a link to the page of a voucher.
fn voucher_link(id: &str, voucher: &str) -> Cell {
    Cell::code(id).to(format!("/console/vouchers/{voucher}"))
}

/// The tenant's own data, if there is any.
pub(super) fn metadata(context: &PageContext, data: &BTreeMap<String, String>) -> Option<Block> {
    let rows = data.iter();
    let table = table! {
        context.locale(), Word::TenantsData, Word::NothingFound; (name, value) in rows;
        Name: Cell::code(name);
        Value: Cell::text(value);
    };
    (!data.is_empty()).then_some(Block::Table(table))
}

/// The other side of a movement.
pub(super) fn counterparty(context: &PageContext, other: CounterpartyBody) -> Block {
    let bank = other.bank.and_then(|bank| bank.name.or(bank.code));
    facts! {
        context, Counterparty;
        Name: Cell::maybe(other.name);
        Cuit: Cell::maybe_code(other.cuit);
        CbuOrCvu: Cell::maybe_code(other.cbu);
        Alias: Cell::maybe(other.alias);
        Bank: Cell::maybe(bank);
        CoelsaId: Cell::maybe_code(other.coelsa_id);
    }
}
