//! Pages of lists: which one a visit asks for, where the next one is, and what is said below it.

use caudal_actors::engine::lists::{ListPage, Listing};
use caudal_storage::SortOrder;

use super::tongue::Tongue;
use super::visit::Visit;
use super::words::Word;
use crate::http::cursors;

/// The page that a visit asks for, the newest first.
pub fn asked_page(visit: &Visit, limit: usize) -> ListPage {
    ListPage {
        order: SortOrder::Descending,
        limit,
        offset: 0,
        cursor: visit.asks("cursor").and_then(cursors::read),
    }
}

/// The address of the page after a listing, with what else is asked for.
pub fn after<T>(visit: &Visit, listing: &Listing<T>) -> Option<String> {
    let cursor = cursors::written(listing)?;
    let kept = visit
        .asked
        .iter()
        .filter(|(name, _)| !matches!(name.as_str(), "cursor" | "done"));
    let query = url::form_urlencoded::Serializer::new(String::new())
        .extend_pairs(kept)
        .append_pair("cursor", &cursor)
        .finish();
    Some(format!("{}?{query}", visit.path))
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
