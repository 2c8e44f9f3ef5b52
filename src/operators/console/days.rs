//! The closed days of a realm, and one of them with its books and its signed checkpoint.

use actix_web::{HttpResponse, web};
use caudal_http::bodies::days::ClosedDayBody;
use caudal_http::errors::ApiError;
use caudal_ledger::rejection::Rejection;
use caudal_ledger::time::BusinessDay;

use super::books::entries_address;
use super::lists::{asked_page, whole};
use super::page_context::{PageContext, TenantRealm};
use super::view::{Block, Cell, Page, Part, ROWS, Table};
use super::words::Word;

/// Shows the closed days, the newest first.
pub(super) async fn list(context: PageContext, path: web::Path<(String, String)>) -> HttpResponse {
    context.answer(path.into_inner(), listed).await
}

async fn listed(context: &PageContext, path: &(String, String)) -> Result<Page, ApiError> {
    let (locale, place) = (context.locale(), context.place(path)?);
    let queries = context.engine().queries();
    let page = asked_page(context, ROWS);
    let listing = queries.closed_days(place.realm, (None, None), page).await?;
    let columns = [
        (Word::Day, false),
        (Word::ClientsHave, true),
        (Word::InSuspense, true),
        (Word::BankHas, true),
        (Word::Free, true),
        (Word::Unexplained, true),
        (Word::Bank, false),
        (Word::ClosedAt, false),
    ];
    let rows = listing.items.iter().map(ClosedDayBody::from).map(|day| {
        vec![
            Cell::text(day.date.to_string()).to(place.address(&format!("days/{}", day.date))),
            locale.money(day.client_funds.total),
            locale.money(day.suspense),
            locale.maybe_money(day.bank.balance),
            locale.maybe_money(day.free_balance),
            locale.maybe_money(day.bank.unexplained),
            locale.state(day.bank.status),
            locale.time_of(&day.closed_at),
        ]
    });
    let table = Table::new(locale, Word::ClosedDays, Word::NoClosedDays, &columns).with(rows);
    let table = whole(context, table, &listing);
    let blocks = vec![Block::Table(table)];
    let page = context.page(Part::Treasury, context.say(Word::ClosedDays), blocks);
    Ok(page.below(place.above(locale)))
}

/// Shows a closed day.
pub(super) async fn day(
    context: PageContext,
    path: web::Path<(String, String, String)>,
) -> HttpResponse {
    context.answer(path.into_inner(), one).await
}

async fn one(context: &PageContext, path: &(String, String, String)) -> Result<Page, ApiError> {
    let (tenant, mode, date) = path;
    let place = context.place(&(tenant.clone(), mode.clone()))?;
    let date = BusinessDay::parse(date).ok_or(Rejection::DayNotClosed)?;
    let queries = context.engine().queries();
    let record = queries.closed_day(place.realm, date).await?;
    let record = record.ok_or(Rejection::DayNotClosed)?;
    let body = ClosedDayBody::from(&record);
    let title = format!("{} {date}", context.say(Word::ClosedDay));
    let blocks = shown(context, &place, date, &body);
    let page = context.page(Part::Treasury, title, blocks);
    Ok(page.below(place.above(context.locale())))
}

fn shown(
    context: &PageContext,
    place: &TenantRealm,
    date: BusinessDay,
    day: &ClosedDayBody,
) -> Vec<Block> {
    let locale = context.locale();
    let link = |what: &str| place.address(&format!("{what}?date={date}"));
    let bank = &day.bank;
    let facts = [
        (
            Word::ClientsHave,
            locale.money(&day.client_funds.total).to(link("positions")),
        ),
        (Word::Available, locale.money(&day.client_funds.available)),
        (Word::Held, locale.money(&day.client_funds.held)),
        (Word::InSuspense, locale.money(&day.suspense)),
        (
            Word::BankHas,
            locale
                .maybe_money(bank.balance.as_ref())
                .to(link("collector")),
        ),
        (Word::Bank, locale.state(bank.status)),
        (Word::Free, locale.maybe_money(day.free_balance.as_ref())),
        (
            Word::Unexplained,
            locale
                .maybe_money(bank.unexplained.as_ref())
                .to(link("reconciliation")),
        ),
        (Word::AccountsWithCvu, locale.count(day.accounts)),
        (Word::Vouchers, locale.count(day.vouchers)),
        (Word::Events, locale.count(day.events)),
        (Word::ClosedAt, locale.time_of(&day.closed_at)),
        (
            Word::Books,
            Cell::text(context.say(Word::TrialBalance)).to(link("books")),
        ),
        (Word::PublicKey, Cell::code(&day.key)),
    ];
    let facts = facts.map(|(word, cell)| (context.say(word), cell));
    let columns = [(Word::BookAccount, false), (Word::Balance, true)];
    let books = day.books.iter();
    let books = books.map(|book| {
        let entries = entries_address(place, &book.account, Some(date));
        vec![
            locale.book(&book.account).to(entries),
            locale.money(&book.balance),
        ]
    });
    let books = Table::new(locale, Word::Books, Word::NothingHere, &columns).with(books);
    let mut blocks = vec![
        Block::Facts(context.say(Word::ClosedDay).to_owned(), facts.into()),
        Block::Table(books),
    ];
    if let Some(found) = bank.differences.as_ref().filter(|found| !found.is_empty()) {
        let columns = [(Word::Outcome, false), (Word::Movements, true)];
        let rows = found.iter();
        let rows = rows.map(|it| vec![locale.state(&it.kind), locale.count(it.count)]);
        let table = Table::new(locale, Word::Differences, Word::NothingHere, &columns);
        blocks.push(Block::Table(table.with(rows)));
    }
    let checkpoint = context.say(Word::Checkpoint).to_owned();
    blocks.push(Block::Text(checkpoint, day.checkpoint.clone()));
    blocks
}
