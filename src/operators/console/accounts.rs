//! Accounts: the list of a realm, and one account with holder, balances, limits, movements, holds, and its actor.

mod one;
mod orders;
mod statements;

use caudal_actors::engine::lists::{AccountFilter, AccountScope, AccountSort};
use caudal_http::errors::ApiError;
use caudal_ledger::accounts::{Account, Status};
use caudal_ledger::ids::RealmId;

use super::lists::{asked_page, whole};
use super::locale::Locale;
use super::page_context::PageContext;
use super::places::address;
use super::view::{Block, Cell, Field, Page, Part, ROWS, Table, Takes, table};
use super::words::Word;

pub(super) use one::{one, undated};
pub(super) use orders::act;
pub(super) use statements::file as statement;

/// The longest text to search for, in characters.
pub(super) const TEXT_MAX: usize = 200;

/// A table of accounts.
pub(super) fn table(locale: Locale, title: Word, realm: RealmId, accounts: &[Account]) -> Table {
    table! {
        locale, title, Word::NoAccounts; account in accounts.iter();
        Number figure: Cell::figure(account.number).to(address(realm, account));
        Cvu: Cell::maybe_code(account.cvu).to(address(realm, account));
        Alias: Cell::maybe(account.alias.as_ref());
        Holder: Cell::text(&account.holder.name);
        Cuit: Cell::code(account.holder.cuit);
        State: locale.state(account.status.as_str());
        CreatedAt: locale.time(account.created_at);
    }
}

/// Lists the accounts of a realm.
pub(super) async fn list(context: &PageContext, path: &(String, String)) -> Result<Page, ApiError> {
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
    let (queries, page) = (context.queries(), asked_page(context, ROWS));
    let sort = AccountSort::CreatedAt;
    let listing = queries.accounts(place.realm, filter, sort, page).await?;
    let table = table(locale, Word::Accounts, place.realm, &listing.items);
    let table = whole(context, table, &listing);
    let choices = Takes::any_of(locale, Status::ALL.map(Status::as_str));
    let form = context.filter(vec![
        Field::new(locale, "text", Word::TextInAccount, Takes::Line, TEXT_MAX)
            .maybe(text.map_or("", |text| text)),
        context.asked_field("status", Word::State, choices, 20),
    ]);
    let (title, blocks) = (context.say(Word::Accounts), vec![form, Block::Table(table)]);
    Ok(context.page_in(&place, Part::Tenants, title, blocks))
}
