//! The books of a realm: the trial balance, the entries of its accounts, and the closed days, each with its books and its
//! signed checkpoint.

use caudal_actors::engine::books::EntryFilter;
use caudal_http::bodies::books::{BookEntryBody, MEMO_KIND, TrialBalanceBody};
use caudal_http::bodies::days::ClosedDayBody;
use caudal_http::errors::ApiError;
use caudal_http::words::Mistake;
use caudal_ledger::books::{BookName, BookRef};
use caudal_ledger::rejection::Rejection;
use caudal_ledger::time::BusinessDay;
use caudal_ledger::treasury::Sum;

use super::lists::{asked_day, asked_page, whole};
use super::page_context::{PageContext, TenantRealm};
use super::view::{Block, Cell, Field, Page, Part, ROWS, Takes, facts, table};
use super::words::Word;

/// The address of the entries of an account, of a day or of all days.
pub(super) fn entries_address(
    place: &TenantRealm,
    account: &str,
    day: Option<BusinessDay>,
) -> String {
    let days = day.map_or_else(String::new, |day| format!("&from={day}&to={day}"));
    place.address(&format!("books/entries?account={account}{days}"))
}

/// Shows the trial balance, now or at the end of a day.
pub(super) async fn balances(
    context: &PageContext,
    path: &(String, String),
) -> Result<Page, ApiError> {
    let (locale, place) = (context.locale(), context.place(path)?);
    let day = context
        .asks("date")
        .map(|_| asked_day(context, place.realm));
    let (day, queries) = (day.transpose()?, context.queries());
    let found = queries
        .trial_balance(place.realm, day.map(BusinessDay::end))
        .await?;
    let body = TrialBalanceBody::of(&found, day);
    let mut table = table! {
        locale, Word::TrialBalance, Word::NothingHere; it in body.items.iter();
        => let account = &it.account.account;
        => let entries = (it.account.kind != MEMO_KIND).then(|| entries_address(&place, account, day));
        BookAccount: locale.book(account).leads(entries);
        Kind: locale.state(it.account.kind);
        DebitSide figure: locale.money(&it.debit);
        CreditSide figure: locale.money(&it.credit);
        Balance figure: locale.money(&it.balance);
    };
    let zero = Sum::from_centavos(0);
    let total = |word: Word, side: fn(Sum) -> Sum| {
        let amounts = found.lines.iter().map(|line| side(line.debit).max(zero));
        let sum = locale.money(amounts.fold(zero, Sum::plus)).text;
        format!("{} {sum}", context.say(word))
    };
    table.note = Some(format!(
        "{}: {} · {}",
        context.say(Word::Total),
        total(Word::DebitSide, |debit| debit),
        total(Word::CreditSide, |debit| Sum::from_centavos(0).minus(debit))
    ));
    let field = Field::new(locale, "date", Word::EndOfDay, Takes::Day, 10).maybe(said(day));
    let form = context.query(Word::Day, Word::Show, vec![field]);
    let blocks = vec![Block::Form(form), Block::Table(table)];
    Ok(context.page_in(&place, Part::Treasury, context.say(Word::Books), blocks))
}

/// A day as the value of its field.
fn said(day: Option<BusinessDay>) -> String {
    day.map_or_else(String::new, |day| day.to_string())
}

/// Shows entries of the books.
pub(super) async fn entries(
    context: &PageContext,
    path: &(String, String),
) -> Result<Page, ApiError> {
    let (locale, place) = (context.locale(), context.place(path)?);
    let account = context.asks("account").map(BookRef::parse).transpose();
    let account = account.map_err(|why| ApiError::field("account", Mistake::from(why)))?;
    let day = |name| context.asks(name).and_then(BusinessDay::parse);
    let (from, to) = (day("from"), day("to"));
    let filter = EntryFilter {
        account: account.clone(),
        from: from.map(BusinessDay::start),
        to: to.map(BusinessDay::end),
    };
    let page = asked_page(context, ROWS);
    let queries = context.queries();
    let listing = queries.book_entries(place.realm, filter, page).await?;
    let table = table! {
        locale, Word::BookEntries, Word::NothingHere; entry in &listing.items;
        => let body = BookEntryBody::from(entry);
        => let source = match body.source.kind {
            "voucher" => format!("/console/vouchers/{}", body.source.id),
            _ => format!("/console/cases/{}", body.source.id),
        };
        => let day = entry.fact.at.business_day();
        => let counter = entries_address(&place, &body.counter_account, Some(day));
        At: locale.time(entry.fact.at);
        BookAccount: locale.book(&body.account);
        DebitSide figure: locale.money(body.debit);
        CreditSide figure: locale.money(body.credit);
        About: Cell::code(body.source.id).to(source);
        Description: Cell::maybe(body.text);
        CounterAccount: locale.book(&body.counter_account).to(counter);
    };
    let table = whole(context, table, &listing);
    let name = account.as_ref().map_or("", BookRef::as_str);
    let most = BookName::BYTES_MAX;
    let form = context.filter(vec![
        Field::new(locale, "account", Word::BookAccount, Takes::Line, most).maybe(name),
        Field::new(locale, "from", Word::From, Takes::Day, 10).maybe(said(from)),
        Field::new(locale, "to", Word::To, Takes::Day, 10).maybe(said(to)),
    ]);
    let date = to.map_or_else(String::new, |to| format!("?date={to}"));
    let (title, blocks) = (
        context.say(Word::BookEntries),
        vec![form, Block::Table(table)],
    );
    let page = context.page_in(&place, Part::Treasury, title, blocks);
    let books = place.address(&format!("books{date}"));
    Ok(page.under(context.say(Word::Books), books))
}

/// Shows the closed days, the newest first.
pub(super) async fn days(context: &PageContext, path: &(String, String)) -> Result<Page, ApiError> {
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
    let blocks = shown_day(context, &place, date, &body);
    Ok(context.page_in(&place, Part::Treasury, title, blocks))
}

fn shown_day(
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
