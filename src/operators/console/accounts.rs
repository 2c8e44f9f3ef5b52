//! Accounts: the list of a realm, and one account with holder, balances, limits, movements, holds, and its actor.

mod one;
mod orders;
mod statements;

use actix_web::{HttpResponse, web};
use caudal_actors::engine::lists::{AccountFilter, AccountScope, AccountSort};
use caudal_http::errors::ApiError;
use caudal_ledger::accounts::{Account, Status};
use caudal_ledger::ids::RealmId;

use super::lists::{after, asked_page, note};
use super::places::address;
use super::tongue::Tongue;
use super::view::{Block, Cell, Field, Form, Page, Part, ROWS, Table, Takes};
use super::visit::Visit;
use super::words::Word;

pub(super) use one::{one, undated};
pub(super) use orders::act;
pub(super) use statements::file as statement;

/// The longest text to search for, in characters.
pub(super) const TEXT_MAX: usize = 200;

/// A table of accounts.
pub(super) fn table(tongue: Tongue, title: Word, realm: RealmId, accounts: &[Account]) -> Table {
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
            tongue.state(account.status.as_str()),
            tongue.time(account.created_at),
        ]
    });
    Table::new(tongue, title, Word::NoAccounts, &columns).with(rows)
}

/// Lists the accounts of a realm.
pub(super) async fn list(visit: Visit, path: web::Path<(String, String)>) -> HttpResponse {
    let made = listed(&visit, &path).await;
    visit.show(made)
}

async fn listed(visit: &Visit, path: &(String, String)) -> Result<Page, ApiError> {
    let (tongue, place) = (visit.tongue(), visit.place(path)?);
    visit.looks("listAccounts", &place.tenant).await?;
    let asked = visit.asks("status");
    let text = visit
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
    let page = asked_page(visit, ROWS);
    let listing = visit
        .engine()
        .queries()
        .accounts(place.realm, filter, AccountSort::CreatedAt, page)
        .await?;
    let mut table = table(tongue, Word::Accounts, place.realm, &listing.items);
    table.note = Some(note(tongue, &listing));
    table.next = after(visit, &listing);
    let any = [(String::new(), visit.say(Word::Any).to_owned())];
    let known = Status::ALL.map(|it| (it.as_str().to_owned(), tongue.state(it.as_str()).text));
    let choices = Takes::Choice(any.into_iter().chain(known).collect());
    let form = Form {
        title: visit.say(Word::Filter).to_owned(),
        action: visit.path.clone(),
        asks: true,
        fields: vec![
            Field::new(tongue, "text", Word::TextInAccount, Takes::Line, TEXT_MAX)
                .maybe(text.map_or("", |text| text)),
            Field::new(tongue, "status", Word::State, choices, 20).maybe(asked.map_or("", |it| it)),
        ],
        submit: visit.say(Word::Filter),
        grave: false,
    };
    let blocks = vec![Block::Form(form), Block::Table(table)];
    let page = visit.page(Part::Tenants, visit.say(Word::Accounts), blocks);
    Ok(page.below(place.above(tongue)))
}
