//! Pages of lists: which one a visit asks for, the address of the next one, and the note below it.

use caudal_actors::engine::lists::{ListPage, Listing};
use caudal_http::cursors;
use caudal_storage::SortOrder;

use super::tongue::Tongue;
use super::view::ROWS;
use super::visit::Visit;
use super::words::Word;

/// The parameter with which a list of the index continues.
const CURSOR: &str = "cursor";
/// The parameter with which a list in memory continues.
const OFFSET: &str = "offset";

/// The part of a list in memory that a visit asks for by its offset, the note below it, and the address of the next
/// part.
pub(super) fn cut<T>(visit: &Visit, all: Vec<T>) -> (Vec<T>, String, Option<String>) {
    let (tongue, count) = (visit.tongue(), all.len());
    let asked = visit.asks(OFFSET).and_then(|text| text.parse().ok());
    let skip: usize = asked.map_or(0, |skip| skip);
    let part = all.into_iter().skip(skip).take(ROWS).collect();
    let note = format!("{} {}", tongue.count(count).text, tongue.say(Word::InAll));
    let next = skip.checked_add(ROWS).filter(|next| *next < count);
    let next = next.map(|next| going_on(visit, OFFSET, &next.to_string()));
    (part, note, next)
}

/// The address of the same page with another value of its continuation.
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
pub(super) fn asked_page(visit: &Visit, limit: usize) -> ListPage {
    ListPage {
        order: SortOrder::Descending,
        limit,
        offset: 0,
        cursor: visit.asks(CURSOR).and_then(cursors::read),
    }
}

/// The address of the page after a listing, with the other parameters of the visit.
pub(super) fn after<T>(visit: &Visit, listing: &Listing<T>) -> Option<String> {
    let cursor = cursors::written(listing)?;
    Some(going_on(visit, CURSOR, &cursor))
}

/// The note below a listing: how many items there are, or how far the search went.
pub(super) fn note<T>(tongue: Tongue, listing: &Listing<T>) -> String {
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
