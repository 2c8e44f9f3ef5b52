//! The closed days of a realm, and one of them with its books and its signed checkpoint.

use caudal_http::bodies::days::ClosedDayBody;
use caudal_http::errors::ApiError;
use caudal_ledger::rejection::Rejection;
use caudal_ledger::time::BusinessDay;

use super::books::entries_address;
use super::lists::{asked_page, whole};
use super::page_context::{PageContext, TenantRealm};
use super::view::{Block, Cell, Page, Part, ROWS, facts, table};
use super::words::Word;

/// Shows the closed days, the newest first.
pub(super) async fn list(context: &PageContext, path: &(String, String)) -> Result<Page, ApiError> {
    let (locale, place) = (context.locale(), context.place(path)?);
    let (queries, page) = (context.queries(), asked_page(context, ROWS));
    let listing = queries.closed_days(place.realm, (None, None), page).await?;
    let table = table! {
        locale, Word::ClosedDays, Word::NoClosedDays; day in listing.items.iter().map(ClosedDayBody::from);
        Day: Cell::text(day.date.to_string()).to(place.address(&format!("days/{}", day.date)));
        ClientsHave figure: locale.money(day.client_funds.total);
        InSuspense figure: locale.money(day.suspense);
        BankHas figure: locale.maybe_money(day.bank.balance);
        Free figure: locale.maybe_money(day.free_balance);
        Unexplained figure: locale.maybe_money(day.bank.unexplained);
        Bank: locale.state(day.bank.status);
        ClosedAt: locale.time_of(&day.closed_at);
    };
    let table = whole(context, table, &listing);
    let (title, blocks) = (context.say(Word::ClosedDays), vec![Block::Table(table)]);
    Ok(context.page_in(&place, Part::Treasury, title, blocks))
}

/// Shows a closed day.
pub(super) async fn day(
    context: &PageContext,
    path: &(String, String, String),
) -> Result<Page, ApiError> {
    let (tenant, mode, date) = path;
    let place = context.place(&(tenant.clone(), mode.clone()))?;
    let date = BusinessDay::parse(date).ok_or(Rejection::DayNotClosed)?;
    let record = context.queries().closed_day(place.realm, date).await?;
    let record = record.ok_or(Rejection::DayNotClosed)?;
    let body = ClosedDayBody::from(&record);
    let title = format!("{} {date}", context.say(Word::ClosedDay));
    let blocks = shown(context, &place, date, &body);
    Ok(context.page_in(&place, Part::Treasury, title, blocks))
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
    let facts = facts! {
        context, ClosedDay;
        ClientsHave: locale.money(&day.client_funds.total).to(link("positions"));
        Available: locale.money(&day.client_funds.available);
        Held: locale.money(&day.client_funds.held);
        InSuspense: locale.money(&day.suspense);
        BankHas: locale.maybe_money(bank.balance.as_ref()).to(link("collector"));
        Bank: locale.state(bank.status);
        Free: locale.maybe_money(day.free_balance.as_ref());
        Unexplained: locale.maybe_money(bank.unexplained.as_ref()).to(link("reconciliation"));
        AccountsWithCvu: locale.count(day.accounts);
        Vouchers: locale.count(day.vouchers);
        Events: locale.count(day.events);
        ClosedAt: locale.time_of(&day.closed_at);
        Books: Cell::text(context.say(Word::TrialBalance)).to(link("books"));
        PublicKey: Cell::code(&day.key);
    };
    let books = table! {
        locale, Word::Books, Word::NothingHere; book in &day.books;
        => let entries = entries_address(place, &book.account, Some(date));
        BookAccount: locale.book(&book.account).to(entries);
        Balance figure: locale.money(&book.balance);
    };
    let mut blocks = vec![facts, Block::Table(books)];
    if let Some(found) = bank.differences.as_ref().filter(|found| !found.is_empty()) {
        blocks.push(Block::Table(table! {
            locale, Word::Differences, Word::NothingHere; it in found;
            Outcome: locale.state(&it.kind);
            Movements figure: locale.count(it.count);
        }));
    }
    let checkpoint = context.say(Word::Checkpoint).to_owned();
    blocks.push(Block::Text(checkpoint, day.checkpoint.clone()));
    blocks
}
