//! Query parameters that several operations share, each declared once: how it is read, and how the document
//! shows it.
//!
//! **Shape.** As [`super::request`] does for bodies: each parameter has its type, its name on the wire, the
//! method of [`Query`] that reads it, and the type that the document shows. `=> |query| …` after a parameter
//! notes a mistake that concerns several.

use caudal_actors::engine::lists::{Cursor, ListPage, SortOrder};
use caudal_ledger::time::Timestamp;

use super::query::{LIMIT_DEFAULT, LIMIT_MAX, OFFSET_MAX, ORDERS, Query};
use super::shapes::DayOrInstant;
use super::words::Mistake;
use crate::bodies::words::OrderWord;

/// Declares query parameters: see [`crate::params`].
#[macro_export]
macro_rules! params {
    (
        $(#[$about:meta])+
        $vis:vis struct $name:ident {$(
            $(#[$doc:meta])+
            $field:ident: $type:ty = $how:ident($wire:literal $(, $read:expr)*)
                as $json:ty $({ $($schema:tt)+ })?;
            $(=> |$query:ident| $check:expr;)?
        )+}
    ) => {
        $(#[$about])+
        #[derive(Debug)]
        $vis struct $name {$(
            $(#[$doc])+
            $vis $field: $type,
        )+}

        impl $name {
            /// Takes them from a query, which keeps every mistake.
            $vis fn take(source: &mut $crate::query::Query) -> Self {
                $(
                    let $field = source.$how($wire $(, $read)*);
                    $({ let $query = &mut *source; $check; })?
                )+
                Self {$($field),+}
            }
        }

        const _: () = {
            #[derive(utoipa::IntoParams)]
            #[into_params(parameter_in = Query)]
            #[expect(dead_code, reason = "what the document shows is never made")]
            struct Shape {$(
                $(#[$doc])+
                #[param(rename = $wire, $($($schema)+)?)]
                $field: $json,
            )+}

            impl utoipa::IntoParams for $name {
                fn into_params(
                    place: impl Fn() -> Option<utoipa::openapi::path::ParameterIn>,
                ) -> Vec<utoipa::openapi::path::Parameter> {
                    <Shape as utoipa::IntoParams>::into_params(place)
                }
            }
        };
    };
}
pub use params;

params! {
    /// Parameters of every list.
    pub struct PageParams {
        /// Rows of the page, 1–200; 50 when absent.
        limit: Option<u64> = integer("limit", 1, LIMIT_MAX)
            as Option<u32> { minimum = 1, maximum = 200 };
        /// Rows to skip; use `cursor` for deep pages.
        offset: Option<u64> = integer("offset", 0, OFFSET_MAX)
            as Option<u64> { minimum = 0, maximum = 10_000_000 };
        /// `asc` or `desc` (when absent).
        order: Option<SortOrder> = choice("order", &ORDERS) as Option<OrderWord>;
        /// A value of `X-Next-Cursor`.
        cursor: Option<Cursor> = cursor("cursor") as Option<String>;
    }
}

params! {
    /// A period, both ends included.
    pub struct PeriodParams {
        /// A date or date-time; not before it.
        from: Option<Timestamp> = since("from") as Option<DayOrInstant>;
        /// A date (the whole day) or date-time; not after it.
        to: Option<Timestamp> = until("to") as Option<DayOrInstant>;
        => |query| query.in_order(("from", from), ("to", to));
    }
}

params! {
    /// Parameters of every list.
    pub struct PaginaParams {
        /// The page, from 1; 0 is read as 1.
        page_number: Option<u64> = integer("pageNumber", 0, OFFSET_MAX)
            as Option<u64> { minimum = 0 };
        /// The same under another name.
        page: Option<u64> = integer("page", 0, OFFSET_MAX) as Option<u64> { minimum = 0 };
        => |query| if page_number.is_some() && page.is_some() && page_number != page {
            query.mistake("page", Mistake::Contradicts { other: "pageNumber" });
        };
        /// Records of a page, 1–200; 50 when absent, and 200 for balances.
        page_size: Option<u64> = integer("pageSize", 1, LIMIT_MAX)
            as Option<u32> { minimum = 1, maximum = 200 };
        /// `asc` or `desc` (when absent).
        order: Option<SortOrder> = choice("order", &ORDERS) as Option<OrderWord>;
        /// A value of `X-Next-Cursor`.
        cursor: Option<Cursor> = cursor("cursor") as Option<String>;
    }
}

impl From<PageParams> for ListPage {
    fn from(sent: PageParams) -> Self {
        Self {
            order: sent.order.unwrap_or(SortOrder::Descending),
            limit: rows(sent.limit.unwrap_or(LIMIT_DEFAULT)),
            offset: rows(sent.offset.unwrap_or(0)),
            cursor: sent.cursor,
        }
    }
}

impl From<PaginaParams> for ListPage {
    fn from(sent: PaginaParams) -> Self {
        sent.of(LIMIT_DEFAULT)
    }
}

impl PaginaParams {
    /// The page, with `default` records where the query asks for no size.
    fn of(self, default: u64) -> ListPage {
        let size = self.page_size.unwrap_or(default);
        let before = self
            .page_number
            .or(self.page)
            .unwrap_or(1)
            .saturating_sub(1);
        ListPage {
            order: self.order.unwrap_or(SortOrder::Descending),
            limit: rows(size),
            offset: rows(before.saturating_mul(size)),
            cursor: self.cursor,
        }
    }
}

fn rows(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

impl Query {
    /// Order, limit, offset and cursor of a native list.
    pub fn page(&mut self) -> ListPage {
        PageParams::take(self).into()
    }

    /// Order, page (from 1; 0 is read as 1), size and cursor of a list of the wallet family.
    pub fn wallet_page(&mut self) -> ListPage {
        PaginaParams::take(self).into()
    }

    /// Like [`Self::wallet_page`], with `default` records where the query asks for no size.
    pub fn wallet_page_of(&mut self, default: u64) -> ListPage {
        PaginaParams::take(self).of(default)
    }
}
