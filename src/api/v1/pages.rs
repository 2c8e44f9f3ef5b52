//! Pages of lists: the same fields, whatever is listed.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use caudal_actors::engine::lists::{ListPage, Listing, ScannedPart};
use caudal_http::bodies::body;
use caudal_http::cursors;
use caudal_http::respond::{json, paged};
use serde::Serialize;

body! {
    /// How much of a list a page has looked at that did not look at all of it.
    pub(crate) struct Looked from part: ScannedPart {
        /// How many rows.
        rows: u64 = part.rows;
        /// When the last of them was written; null where the list is not in the order of time.
        until: Option<String> = part.until.map(|at| at.to_string());
    }
}

/// A page of a list.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub(crate) struct PageOf<T> {
    /// The items of the page.
    pub items: Vec<T>,
    /// How many items match in all; with `looked`, how many at least.
    pub total: u64,
    /// The size of the page.
    pub limit: usize,
    /// How many items were skipped.
    pub offset: usize,
    /// The `cursor` of the next page; null when there is none.
    pub next: Option<String>,
    /// How far the page's search went, where it did not cover the whole list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub looked: Option<Looked>,
}

impl<T: Serialize> PageOf<T> {
    /// The page of a listing.
    pub(crate) fn of<V>(found: &Listing<V>, page: &ListPage, render: impl Fn(&V) -> T) -> Self {
        Self {
            items: found.items.iter().map(render).collect(),
            total: found.total,
            limit: page.limit,
            offset: page.offset,
            next: cursors::written(found),
            looked: found.looked.map(Looked::from),
        }
    }

    /// Answers with the page of a listing.
    pub(crate) fn answer<V>(
        found: &Listing<V>,
        page: &ListPage,
        render: &impl Fn(&V) -> T,
    ) -> HttpResponse {
        let body = Self::of(found, page, render);
        paged(found, json(StatusCode::OK, &body))
    }
}

/// Declares how the document shows a page: its name there, and the descriptions of the page and of its items.
macro_rules! page {
    ($(#[$about:meta])+ $vis:vis $name:ident as $shown:ident { $(#[$items:meta])+ $item:ty }) => {
        $(#[$about])+
        $vis type $name = $crate::v1::pages::PageOf<$item>;

        const _: () = {
            $(#[$about])+
            #[derive(utoipa::ToSchema)]
            #[schema(as = $shown)]
            #[expect(dead_code, reason = "what the document shows is never made")]
            struct Shape {
                $(#[$items])+
                items: Vec<$item>,
                /// How many match in all; with `looked` how many there are at least.
                total: u64,
                /// The size of the page.
                limit: usize,
                /// What was skipped.
                offset: usize,
                /// What to send as `cursor` for the next page; null when there is no more.
                next: Option<String>,
                /// How far the page has looked, where that was not the whole list: one request looks at
                /// so much at most, so the page may be short or empty; go on with `next`.
                #[schema(nullable = false)]
                looked: Option<$crate::v1::pages::Looked>,
            }

            impl utoipa::PartialSchema for $name {
                fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
                    <Shape as utoipa::PartialSchema>::schema()
                }
            }

            impl utoipa::ToSchema for $name {
                fn name() -> std::borrow::Cow<'static, str> {
                    <Shape as utoipa::ToSchema>::name()
                }

                fn schemas(
                    into: &mut Vec<(
                        String,
                        utoipa::openapi::RefOr<utoipa::openapi::schema::Schema>,
                    )>,
                ) {
                    <Shape as utoipa::ToSchema>::schemas(into);
                }
            }
        };
    };
}
pub(crate) use page;
