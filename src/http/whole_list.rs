//! Pages of short lists, which are held in memory whole: everything unless a page is asked for.

use caudal_actors::engine::lists::{ListCursor, Listing};

use super::errors::ApiError;
use super::params::params;
use super::query::{LIMIT_MAX, Query};
use super::words::Mistake;

params! {
    /// Parameters of a list that is given whole unless a page of it is asked for.
    part pub struct WholeParams {
        /// Rows of the page, 1–200; all that are left when absent.
        limit: Option<u64> = integer("limit", 1, LIMIT_MAX)
            as Option<u32> { minimum = 1, maximum = 200 };
        /// A value of `X-Next-Cursor`.
        cursor: Option<ListCursor> = cursor("cursor") as Option<String>;
    }
}

impl WholeParams {
    /// Reads the parameters of an operation that has no others.
    ///
    /// # Errors
    /// 400 with every mistake.
    pub fn alone(mut query: Query) -> Result<Self, ApiError> {
        let sent = Self::take(&mut query);
        query.done()?;
        Ok(sent)
    }

    /// The page of a list; `key` gives a number that is unique to an item and stays the same, from its place and the
    /// item.
    ///
    /// # Errors
    /// 400 when the last item of the page before is gone: the walk has to begin again.
    pub fn page<T>(
        &self,
        all: Vec<T>,
        key: impl Fn(u64, &T) -> u64,
    ) -> Result<Listing<T>, ApiError> {
        let total = all.iter().fold(0, |count, _| count + 1);
        let mut rest = (0..)
            .zip(all)
            .map(|(place, item)| (key(place, &item), item));
        if let Some(ListCursor { number: last, .. }) = self.cursor {
            let found = rest.find(|(number, _)| *number == last);
            found.ok_or_else(|| ApiError::field("cursor", Mistake::NotACursor))?;
        }
        let limit = self.limit.and_then(|limit| usize::try_from(limit).ok());
        let page: Vec<_> = match limit {
            Some(limit) => rest.by_ref().take(limit).collect(),
            None => rest.by_ref().collect(),
        };
        let more = rest.next().is_some();
        let next = page.last().filter(|_| more);
        let next = next.map(|(number, _)| ListCursor::from(*number));
        let items = page.into_iter().map(|(_, item)| item).collect();
        Ok(Listing {
            items,
            total,
            next,
            looked: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(limit: Option<u64>, cursor: Option<u64>) -> Option<(Vec<u64>, u64, Option<u64>)> {
        let all = vec![7, 3, 5];
        let cursor = cursor.map(ListCursor::from);
        let found = WholeParams { limit, cursor }
            .page(all, |_, item| *item)
            .ok()?;
        let next = found.next.map(|next| next.number);
        Some((found.items, found.total, next))
    }

    #[test]
    fn a_walk_goes_on_after_the_last_item_and_ends_with_the_list() {
        assert_eq!(page(None, None), Some((vec![7, 3, 5], 3, None)));
        assert_eq!(page(Some(3), None), Some((vec![7, 3, 5], 3, None)));
        assert_eq!(page(Some(2), None), Some((vec![7, 3], 3, Some(3))));
        assert_eq!(page(Some(2), Some(3)), Some((vec![5], 3, None)));
        assert_eq!(page(None, Some(7)), Some((vec![3, 5], 3, None)));
        assert_eq!(page(Some(1), Some(5)), Some((vec![], 3, None)));
        assert_eq!(page(Some(1), Some(4)), None);
    }
}
