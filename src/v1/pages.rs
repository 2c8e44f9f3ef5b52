//! Pages of lists: the same four fields, whatever is listed.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use caudal_actors::engine::lists::{ListPage, Listing};
use serde::Serialize;

use crate::http::cursors;
use crate::http::respond::{json, paged};

/// A page of a list.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct PageOf<T> {
    /// What is listed.
    pub items: Vec<T>,
    /// How many match in all.
    pub total: u64,
    /// The size of the page.
    pub limit: usize,
    /// What was skipped.
    pub offset: usize,
    /// What to send as `cursor` for the next page; null when there is no more.
    pub next: Option<String>,
}

impl<T: Serialize> PageOf<T> {
    /// What was found for a page.
    pub fn of<V>(found: &Listing<V>, page: &ListPage, render: impl Fn(&V) -> T) -> Self {
        Self {
            items: found.items.iter().map(render).collect(),
            total: found.total,
            limit: page.limit,
            offset: page.offset,
            next: cursors::written(found),
        }
    }

    /// Answers with what was found for a page.
    pub fn answer<V>(
        found: &Listing<V>,
        page: &ListPage,
        render: impl Fn(&V) -> T,
    ) -> HttpResponse {
        let body = Self::of(found, page, render);
        paged(found, json(StatusCode::OK, &body))
    }
}

/// Declares how the document shows a page: its name there, what it says of the page and of its items.
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
                /// How many match in all.
                total: u64,
                /// The size of the page.
                limit: usize,
                /// What was skipped.
                offset: usize,
                /// What to send as `cursor` for the next page; null when there is no more.
                next: Option<String>,
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
