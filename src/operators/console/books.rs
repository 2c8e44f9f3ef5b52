//! The books of a realm: the trial balance, and the entries of its accounts.

use actix_web::{HttpResponse, web};
use caudal_actors::engine::books::{BookEntry, EntryFilter};
use caudal_http::bodies::books::{BookEntryBody, MEMO_KIND, TrialBalanceBody};
use caudal_http::errors::ApiError;
use caudal_http::words::Mistake;
use caudal_ledger::books::{BookName, BookRef};
use caudal_ledger::time::BusinessDay;
use caudal_ledger::treasury::Sum;

use super::lists::{asked_day, asked_page, whole};
use super::page_context::{PageContext, TenantRealm};
use super::view::{Block, Cell, Field, Form, Page, Part, ROWS, Table, Takes};
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
    context: PageContext,
    path: web::Path<(String, String)>,
) -> HttpResponse {
    context.answer(path.into_inner(), trial_balance).await
}

async fn trial_balance(context: &PageContext, path: &(String, String)) -> Result<Page, ApiError> {
    let (locale, place) = (context.locale(), context.place(path)?);
    let day = context
        .asks("date")
        .map(|_| asked_day(context))
        .transpose()?;
    let queries = context.engine().queries();
    let found = queries
        .trial_balance(place.realm, day.map(BusinessDay::end))
        .await?;
    let body = TrialBalanceBody::of(&found, day);
    let columns = [
        (Word::BookAccount, false),
        (Word::Kind, false),
        (Word::DebitSide, true),
        (Word::CreditSide, true),
        (Word::Balance, true),
    ];
    let rows = body.items.iter().map(|it| {
        let account = &it.account.account;
        let entries = (it.account.kind != MEMO_KIND).then(|| entries_address(&place, account, day));
        vec![
            locale.book(account).leads(entries),
            locale.state(it.account.kind),
            locale.money(&it.debit),
            locale.money(&it.credit),
            locale.money(&it.balance),
        ]
    });
    let mut table = Table::new(locale, Word::TrialBalance, Word::NothingHere, &columns).with(rows);
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
    let form = Form {
        title: context.say(Word::Day).to_owned(),
        action: context.path.clone(),
        asks: true,
        fields: vec![
            Field::new(locale, "date", Word::EndOfDay, Takes::Day, 10)
                .maybe(day.map_or_else(String::new, |day| day.to_string())),
        ],
        submit: context.say(Word::Show),
        grave: false,
    };
    let blocks = vec![Block::Form(form), Block::Table(table)];
    let page = context.page(Part::Treasury, context.say(Word::Books), blocks);
    Ok(page.below(place.above(locale)))
}

/// Shows entries of the books.
pub(super) async fn entries(
    context: PageContext,
    path: web::Path<(String, String)>,
) -> HttpResponse {
    context.answer(path.into_inner(), listed).await
}

async fn listed(context: &PageContext, path: &(String, String)) -> Result<Page, ApiError> {
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
    let queries = context.engine().queries();
    let listing = queries.book_entries(place.realm, filter, page).await?;
    let columns = [
        (Word::At, false),
        (Word::BookAccount, false),
        (Word::DebitSide, true),
        (Word::CreditSide, true),
        (Word::About, false),
        (Word::Description, false),
        (Word::CounterAccount, false),
    ];
    let rows = listing.items.iter().map(|it| row(context, &place, it));
    let table = Table::new(locale, Word::BookEntries, Word::NothingHere, &columns).with(rows);
    let table = whole(context, table, &listing);
    let asked = |day: Option<BusinessDay>| day.map_or_else(String::new, |day| day.to_string());
    let name = account.as_ref().map_or("", BookRef::as_str);
    let form = Form {
        title: context.say(Word::Filter).to_owned(),
        action: context.path.clone(),
        asks: true,
        fields: vec![
            Field::new(
                locale,
                "account",
                Word::BookAccount,
                Takes::Line,
                BookName::BYTES_MAX,
            )
            .maybe(name),
            Field::new(locale, "from", Word::From, Takes::Day, 10).maybe(asked(from)),
            Field::new(locale, "to", Word::To, Takes::Day, 10).maybe(asked(to)),
        ],
        submit: context.say(Word::Filter),
        grave: false,
    };
    let date = to.map_or_else(String::new, |to| format!("?date={to}"));
    let mut above = place.above(locale);
    above.push((
        context.say(Word::Books).to_owned(),
        place.address(&format!("books{date}")),
    ));
    let blocks = vec![Block::Form(form), Block::Table(table)];
    let page = context.page(Part::Treasury, context.say(Word::BookEntries), blocks);
    Ok(page.below(above))
}

fn row(context: &PageContext, place: &TenantRealm, entry: &BookEntry) -> Vec<Cell> {
    let (locale, day) = (context.locale(), entry.fact.at.business_day());
    let body = BookEntryBody::from(entry);
    let source = match body.source.kind {
        "voucher" => format!("/console/vouchers/{}", body.source.id),
        _ => format!("/console/cases/{}", body.source.id),
    };
    let counter = entries_address(place, &body.counter_account, Some(day));
    vec![
        locale.time(entry.fact.at),
        locale.book(&body.account),
        locale.money(body.debit),
        locale.money(body.credit),
        Cell::code(body.source.id).to(source),
        Cell::maybe(body.text),
        locale.book(&body.counter_account).to(counter),
    ]
}
