//! Pages of lists: which one a visit asks for, the address of the next one, and the note below it.

use std::fmt::Display;

use caudal_actors::engine::lists::{ListPage, Listing};
use caudal_http::cursors;
use caudal_http::errors::ApiError;
use caudal_http::words::Mistake;
use caudal_ledger::ids::RealmId;
use caudal_ledger::time::BusinessDay;
use caudal_storage::SortOrder;

use super::locale::Locale;
use super::page_context::{PageContext, query};
use super::view::{ROWS, Table};
use super::words::Word;

/// The parameter with which a list of the index continues.
const CURSOR: &str = "cursor";
/// The parameter with which a list in memory continues.
const OFFSET: &str = "offset";

/// The part of a list in memory that a visit asks for by its offset, the note below it, and the address of the next
/// part.
pub(super) fn cut<T>(context: &PageContext, all: Vec<T>) -> (Vec<T>, String, Option<String>) {
    let (locale, count) = (context.locale(), all.len());
    let asked = context.asks(OFFSET).and_then(|text| text.parse().ok());
    let skip: usize = asked.map_or(0, |skip| skip);
    let rows = context.rows(ROWS);
    let part = all.into_iter().skip(skip).take(rows).collect();
    let note = in_all(locale, count);
    let next = skip.checked_add(rows).filter(|next| *next < count);
    let next = next.map(|next| going_on(context, OFFSET, &next.to_string()));
    (part, note, next)
}

/// The note below a list of so many items.
pub(super) fn in_all(locale: Locale, count: impl Display) -> String {
    format!("{} {}", locale.count(count).text, locale.say(Word::InAll))
}

/// The address of the same page with another value of its continuation.
pub(super) fn going_on(context: &PageContext, name: &str, value: &str) -> String {
    let asked = context.asked.iter();
    let kept = asked.map(|(name, value)| (name.as_str(), value.as_str()));
    let kept = kept.filter(|(known, _)| *known != name && *known != "done");
    let query = query(kept.chain([(name, value)]));
    format!("{}?{query}", context.path)
}

/// The page that a visit asks for, the newest first, with `usual` rows, or more for a file.
pub(super) fn asked_page(context: &PageContext, usual: usize) -> ListPage {
    ListPage {
        order: SortOrder::Descending,
        limit: context.rows(usual),
        offset: 0,
        cursor: context.asks(CURSOR).and_then(cursors::read),
    }
}

/// Adds to a table what a listing says besides its rows: how many there are, and the address of the next page.
pub(super) fn whole<T>(context: &PageContext, table: Table, listing: &Listing<T>) -> Table {
    let total = listing.looked.is_none().then_some(listing.total);
    let table = table.part(note(context.locale(), listing), after(context, listing));
    Table { total, ..table }
}

/// The address of the page after a listing, with the other parameters of the visit.
fn after<T>(context: &PageContext, listing: &Listing<T>) -> Option<String> {
    let cursor = cursors::written(listing)?;
    Some(going_on(context, CURSOR, &cursor))
}

/// The note below a listing: how many items there are, or how far the search went.
fn note<T>(locale: Locale, listing: &Listing<T>) -> String {
    match &listing.looked {
        None => in_all(locale, listing.total),
        Some(part) => {
            let (rows, looked) = (locale.count(part.rows).text, locale.say(Word::RowsLooked));
            format!("{rows} {looked}")
        }
    }
}

/// The business day that a visit asks for, a realm's today if none.
///
/// # Errors
/// 400 when it is no day, or one to come.
pub(super) fn asked_day(context: &PageContext, realm: RealmId) -> Result<BusinessDay, ApiError> {
    let today = context.queries().now(realm).business_day();
    let day = match context.asks("date") {
        None => today,
        Some(text) => {
            BusinessDay::parse(text).ok_or_else(|| ApiError::field("date", Mistake::NotADate))?
        }
    };
    if day > today {
        return Err(ApiError::field("date", Mistake::InTheFuture));
    }
    Ok(day)
}
