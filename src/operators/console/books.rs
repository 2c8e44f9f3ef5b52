//! The books of a realm: the trial balance, and the entries of its accounts.

use caudal_actors::engine::books::EntryFilter;
use caudal_http::bodies::books::{BookEntryBody, MEMO_KIND, TrialBalanceBody};
use caudal_http::errors::ApiError;
use caudal_http::words::Mistake;
use caudal_ledger::books::{BookName, BookRef};
use caudal_ledger::time::BusinessDay;
use caudal_ledger::treasury::Sum;

use super::lists::{asked_day, asked_page, whole};
use super::page_context::{PageContext, TenantRealm};
use super::view::{Block, Cell, Field, Page, Part, ROWS, Takes, table};
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
