//! Pages of lists: which one a visit asks for, where the next one is, and what is said below it.

use caudal_actors::engine::lists::{ListPage, Listing};
use caudal_storage::SortOrder;

use super::tongue::Tongue;
use super::view::ROWS;
use super::visit::Visit;
use super::words::Word;
use crate::http::cursors;

/// By what a list of the index goes on.
const CURSOR: &str = "cursor";
/// By what a list in memory does.
const OFFSET: &str = "offset";

/// The part of a list in memory that a visit asks for by its offset, what is to be said below it, and where it goes on.
pub fn cut<T>(visit: &Visit, all: Vec<T>) -> (Vec<T>, String, Option<String>) {
    let (tongue, count) = (visit.tongue(), all.len());
    let asked = visit.asks(OFFSET).and_then(|text| text.parse().ok());
    let skip: usize = asked.map_or(0, |skip| skip);
    let part = all.into_iter().skip(skip).take(ROWS).collect();
    let note = format!("{} {}", tongue.count(count).text, tongue.say(Word::InAll));
    let next = skip.checked_add(ROWS).filter(|next| *next < count);
    let next = next.map(|next| going_on(visit, OFFSET, &next.to_string()));
    (part, note, next)
}

/// The address of the same page with another value of what it goes on by.
fn going_on(visit: &Visit, name: &str, value: &str) -> String {
    let kept = visit
        .asked
        .iter()
        .filter(|(known, _)| *known != name && *known != "done");
    let query = url::form_urlencoded::Serializer::new(String::new())
        .extend_pairs(kept)
        .append_pair(name, value)
        .finish();
    format!("{}?{query}", visit.path)
}

/// The page that a visit asks for, the newest first.
pub fn asked_page(visit: &Visit, limit: usize) -> ListPage {
    ListPage {
        order: SortOrder::Descending,
        limit,
        offset: 0,
        cursor: visit.asks(CURSOR).and_then(cursors::read),
    }
}

/// The address of the page after a listing, with what else is asked for.
pub fn after<T>(visit: &Visit, listing: &Listing<T>) -> Option<String> {
    let cursor = cursors::written(listing)?;
    Some(going_on(visit, CURSOR, &cursor))
}

/// What is to be said below a listing: how many there are, or how far was looked.
pub fn note<T>(tongue: Tongue, listing: &Listing<T>) -> String {
    match &listing.looked {
        None => format!(
            "{} {}",
            tongue.count(listing.total).text,
            tongue.say(Word::InAll)
        ),
        Some(part) => format!(
            "{} {}",
            tongue.count(part.rows).text,
            tongue.say(Word::RowsLooked)
        ),
    }
}
