//! Query parameters, each declared once: how it is read, and how the document shows it.
//!
//! **Shape.** As [`super::request`] does for bodies: each parameter has its type, its name on the wire, the
//! method of [`Query`] that reads it, and the type that the document shows:
//!
//! ```text
//! params! {
//!     /// What they are for.
//!     struct PreviewParams {
//!         /// What the document says of the parameter.
//!         cvu: Cvu = required("cvu", Cvu::parse) as String { pattern = "^000[0-9]{19}$" };
//!     }
//! }
//! ```
//!
//! The parameters of an operation are read by `read`, which ends the reading. A `part struct` is taken by `take` with
//! others that its operation has, or before them; none of its parameters is required. Readers may need arguments:
//! `struct PreviewParams(now: Timestamp)`. `=> |query| …` after a parameter notes a mistake that concerns several; it may
//! name those before it.

use caudal_actors::engine::lists::{ListCursor, ListPage, SortOrder};
use caudal_ledger::time::{BusinessDay, Timestamp};

use super::query::{LIMIT_DEFAULT, LIMIT_MAX, OFFSET_MAX, ORDERS, Query};
use super::shapes::DayOrInstant;
use super::words::Mistake;
use crate::bodies::words::OrderWord;

/// Declares query parameters: see [`crate::params`].
#[macro_export]
macro_rules! params {
    ($(#[$about:meta])+ part $vis:vis struct $name:ident $($rest:tt)+) => {
        params!(@all part [$(#[$about])+] $vis $name $($rest)+);
    };
    ($(#[$about:meta])+ $vis:vis struct $name:ident $($rest:tt)+) => {
        params!(@all whole [$(#[$about])+] $vis $name $($rest)+);
    };

    (
        @all $kind:ident [$(#[$about:meta])+] $vis:vis $name:ident
        $(($($arg:ident: $needs:ty),+))?
        {$(
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

        params!(@take $kind $vis $name ($($($arg: $needs),+)?) {$(
            $field = $how($wire $(, $read)*) [$(|$query| $check)?];
        )+});

        params!(@shown Query $name {$(
            $(#[$doc])+
            $field: $json = $wire { $($($schema)+)? };
        )+});
    };

    // What the document shows of them, compiled once: each operation that has them brings a type of its own for a place
    // that they do not need.
    (@shown $place:ident $name:ident {$(
        $(#[$doc:meta])+
        $field:ident: $json:ty = $wire:literal { $($schema:tt)* };
    )+}) => {
        const _: () = {
            #[derive(utoipa::IntoParams)]
            #[into_params(parameter_in = $place)]
            #[expect(dead_code, reason = "what the document shows is never made")]
            struct Shape {$(
                $(#[$doc])+
                #[param(rename = $wire, $($schema)*)]
                $field: $json,
            )+}

            fn shown() -> Vec<utoipa::openapi::path::Parameter> {
                <Shape as utoipa::IntoParams>::into_params(|| None)
            }

            impl utoipa::IntoParams for $name {
                fn into_params(
                    _: impl Fn() -> Option<utoipa::openapi::path::ParameterIn>,
                ) -> Vec<utoipa::openapi::path::Parameter> {
                    shown()
                }
            }
        };
    };

    // Some of the parameters of an operation.
    (@take part $vis:vis $name:ident ($($arg:ident: $needs:ty),*) {$(
        $field:ident = $how:ident($wire:literal $(, $read:expr)*) [$(|$query:ident| $check:expr)?];
    )+}) => {
        impl $name {
            /// Takes them from a query, which keeps every mistake.
            $vis fn take(source: &mut $crate::query::Query $(, $arg: $needs)*) -> Self {
                $(
                    let $field = source.$how($wire $(, $read)*);
                    $({ let $query = &mut *source; $check; })?
                )+
                Self {$($field),+}
            }
        }
    };
    // All that are left of them.
    (@take whole $vis:vis $name:ident ($($arg:ident: $needs:ty),*) {$(
        $field:ident = $how:ident($wire:literal $(, $read:expr)*) [$(|$query:ident| $check:expr)?];
    )+}) => {
        impl $name {
            /// Reads them from a query, and ends its reading.
            ///
            /// # Errors
            /// 400 with every mistake.
            $vis fn read(
                mut source: $crate::query::Query
                $(, $arg: $needs)*
            ) -> Result<Self, $crate::errors::ApiError> {
                let whole = Self::taken(&mut source $(, $arg)*);
                source.finish(whole)
            }

            fn taken(
                source: &mut $crate::query::Query
                $(, $arg: $needs)*
            ) -> Option<Self> {
                $(
                    let $field = source.$how($wire $(, $read)*);
                    $({ let $query = &mut *source; $check; })?
                )+
                Some(Self {$($field: params!(@kept $how $field)),+})
            }
        }
    };

    // What is kept of what was taken.
    (@kept required $taken:ident) => { $taken? };
    (@kept $how:ident $taken:ident) => { $taken };
}
pub use params;

params! {
    /// Parameters of every list.
    part pub struct PageParams {
        /// Rows of the page, 1–200; 50 when absent.
        limit: Option<u64> = integer("limit", 1, LIMIT_MAX)
            as Option<u32> { minimum = 1, maximum = 200 };
        /// Rows to skip; use `cursor` for deep pages.
        offset: Option<u64> = integer("offset", 0, OFFSET_MAX)
            as Option<u64> { minimum = 0, maximum = 10_000_000 };
        /// `asc` or `desc` (when absent).
        order: Option<SortOrder> = choice("order", &ORDERS) as Option<OrderWord>;
        /// A value of `X-Next-Cursor`.
        cursor: Option<ListCursor> = cursor("cursor") as Option<String>;
    }
}

params! {
    /// The size of a page, for lists with a `cursor` of their own.
    part pub struct Limit {
        /// Rows of the page, 1–200; 50 when absent.
        limit: Option<u64> = integer("limit", 1, LIMIT_MAX)
            as Option<u32> { minimum = 1, maximum = 200 };
    }
}

params! {
    /// A period, both ends included.
    part pub struct PeriodParams {
        /// A date or date-time; not before it.
        from: Option<Timestamp> = since("from") as Option<DayOrInstant>;
        /// A date (the whole day) or date-time; not after it.
        to: Option<Timestamp> = until("to") as Option<DayOrInstant>;
        => |query| query.in_order("from", from, "to", to);
    }
}

params! {
    /// Parameters of every list.
    part pub struct PaginaParams {
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
        cursor: Option<ListCursor> = cursor("cursor") as Option<String>;
    }
}

params! {
    /// Whether an order is only to be judged.
    pub struct DryRun {
        /// Only answer what would happen; nothing is done.
        dry_run: bool = flag("dryRun") as Option<bool>;
    }
}

params! {
    /// A text to search for among clients.
    part pub struct ClientText {
        /// In CVU, alias, holder's name or CUIT.
        q: Option<String> = text("q") as Option<String>;
    }
}

params! {
    /// A day that is not after `today`.
    part pub struct PastDay(today: BusinessDay) {
        /// A business day, `YYYY-MM-DD`, not in the future.
        date: Option<BusinessDay> = date("date") as Option<String> { format = Date };
        => |query| query.not_after("date", date, today);
    }
}

params! {
    /// An instant that is not after `now`.
    part pub struct AsOf(now: Timestamp) {
        /// An instant, RFC 3339, not in the future, instead of a day.
        as_of: Option<Timestamp> = instant("asOf") as Option<String> { format = DateTime };
        => |query| query.not_after("asOf", as_of, now);
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
