//! Accounts: the list of a realm, and one account with holder, balances, limits, movements, holds, and its actor.

mod one;
mod orders;
mod statements;

use actix_web::{HttpResponse, web};
use caudal_actors::engine::lists::{AccountFilter, AccountScope, AccountSort};
use caudal_http::errors::ApiError;
use caudal_ledger::accounts::{Account, Status};
use caudal_ledger::ids::RealmId;

use super::lists::{asked_page, whole};
use super::locale::Locale;
use super::page_context::PageContext;
use super::places::address;
use super::view::{Block, Cell, Field, Form, Page, Part, ROWS, Table, Takes};
use super::words::Word;

pub(super) use one::{one, undated};
pub(super) use orders::act;
pub(super) use statements::file as statement;

/// The longest text to search for, in characters.
pub(super) const TEXT_MAX: usize = 200;

/// A table of accounts.
pub(super) fn table(locale: Locale, title: Word, realm: RealmId, accounts: &[Account]) -> Table {
    let columns = [
        (Word::Number, true),
        (Word::Cvu, false),
        (Word::Alias, false),
        (Word::Holder, false),
        (Word::Cuit, false),
        (Word::State, false),
        (Word::CreatedAt, false),
    ];
    let rows = accounts.iter().map(|account| {
        vec![
            Cell::figure(account.number).to(address(realm, account)),
            Cell::maybe_code(account.cvu).to(address(realm, account)),
            Cell::maybe(account.alias.as_ref()),
            Cell::text(&account.holder.name),
            Cell::code(account.holder.cuit),
            locale.state(account.status.as_str()),
            locale.time(account.created_at),
        ]
    });
    Table::new(locale, title, Word::NoAccounts, &columns).with(rows)
}

/// Lists the accounts of a realm.
pub(super) async fn list(context: PageContext, path: web::Path<(String, String)>) -> HttpResponse {
    context.answer(path.into_inner(), listed).await
}

async fn listed(context: &PageContext, path: &(String, String)) -> Result<Page, ApiError> {
    let (locale, place) = (context.locale(), context.place(path)?);
    let asked = context.asks("status");
    let text = context
        .asks("text")
        .filter(|text| text.chars().count() <= TEXT_MAX);
    let filter = AccountFilter {
        text: text.map(str::to_owned),
        status: Status::ALL
            .into_iter()
            .find(|status| asked == Some(status.as_str())),
        enabled: None,
        // The same scope as the search, which leads here.
        scope: AccountScope::ByAnything,
    };
    let page = asked_page(context, ROWS);
    let listing = context
        .engine()
        .queries()
        .accounts(place.realm, filter, AccountSort::CreatedAt, page)
        .await?;
    let table = table(locale, Word::Accounts, place.realm, &listing.items);
    let table = whole(context, table, &listing);
    let any = [(String::new(), context.say(Word::Any).to_owned())];
    let known = Status::ALL.map(|it| (it.as_str().to_owned(), locale.state(it.as_str()).text));
    let choices = Takes::Choice(any.into_iter().chain(known).collect());
    let form = Form {
        title: context.say(Word::Filter).to_owned(),
        action: context.path.clone(),
        asks: true,
        fields: vec![
            Field::new(locale, "text", Word::TextInAccount, Takes::Line, TEXT_MAX)
                .maybe(text.map_or("", |text| text)),
            Field::new(locale, "status", Word::State, choices, 20).maybe(asked.map_or("", |it| it)),
        ],
        submit: context.say(Word::Filter),
        grave: false,
    };
    let blocks = vec![Block::Form(form), Block::Table(table)];
    let page = context.page(Part::Tenants, context.say(Word::Accounts), blocks);
    Ok(page.below(place.above(locale)))
}
