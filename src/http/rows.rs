//! Lists as streams: all rows of a list in one answer, as CSV, as lines of JSON, or (with the feature `parquet`) as
//! Parquet, where `Accept` asks for it.
//!
//! **Shape.** The stream walks the list page by page, each beginning where the last one ended, so it costs what its
//! pages cost and takes its turns among other requests. A row is written as it is read.
//!
//! **Bounds.** [`PAGE`] rows in memory (a day of a reconciliation, a group of Parquet, see `sheets::parquet`),
//! [`ROWS_MAX`] in one stream, and a seat among the realm's streams. A client that does not read stops its own
//! stream, and is disconnected as with any answer. Parquet is written off the worker that walks, among the works on
//! batches (`http::bulk`), one of a realm at a time: a group takes long to pack.
//!
//! **Failure.** A mistake in the query, or a failure of the first page, is an error as everywhere. Later the stream
//! breaks off without its end: lines of JSON end with one that counts them (`{"summary":{"rows":n}}`), and for both
//! JSON and CSV the transfer coding shows that they were cut. The stream also breaks off when the service stops or
//! the key ends.

use actix_web::http::header::{CACHE_CONTROL, CONTENT_TYPE, VARY};
use actix_web::web::Bytes;
use actix_web::{HttpRequest, HttpResponse};
use caudal_actors::engine::Engine;
use caudal_actors::engine::lists::{ListPage, Listing, SortOrder};
use caudal_actors::failure::Failure;
use futures_util::stream::unfold;
use serde_json::{Value, json};

use super::accept::preferred;
use super::caller::Caller;
use super::errors::ApiError;
use super::query::Query;
use super::streams::Seat;
use super::words::Mistake;
#[cfg(feature = "parquet")]
use crate::sheets::parquet;
use crate::sheets::{Kind, cell, row};

/// The most rows of one stream: about as many as a spreadsheet takes.
pub const ROWS_MAX: u64 = 1_000_000;
/// How many rows are read at a time.
const PAGE: usize = 500;
/// The parameters that ask for a page of a list.
const OF_PAGES: [&str; 3] = ["limit", "offset", "cursor"];
/// How a client asks for the whole list, as messages for people name it.
#[cfg(not(feature = "parquet"))]
const WHOLE: &str = "Accept: text/csv or application/x-ndjson";
/// The same for a program that writes Parquet.
#[cfg(feature = "parquet")]
const WHOLE: &str = "Accept: text/csv, application/x-ndjson or application/vnd.apache.parquet";

/// The start of a list that is walked in one order and has no pages of its own.
pub const FIRST: ListPage = ListPage {
    order: SortOrder::Ascending,
    limit: 0,
    offset: 0,
    cursor: None,
};

/// The form in which a row is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Style {
    /// A line of JSON.
    Ndjson,
    /// A row of CSV.
    Csv,
    /// A row of Parquet.
    #[cfg(feature = "parquet")]
    Parquet,
}

/// The forms of a list: pages of JSON, unless another is asked for.
const FORMS: &[(&str, Option<Style>)] = &[
    ("application/json", None),
    ("application/x-ndjson", Some(Style::Ndjson)),
    ("text/csv", Some(Style::Csv)),
    #[cfg(feature = "parquet")]
    (parquet::MEDIA, Some(Style::Parquet)),
];

/// The style that `Accept` asks for; `None` for pages of JSON.
pub fn style(request: &HttpRequest) -> Option<Style> {
    preferred(request, FORMS).flatten()
}

/// Like [`style`], for a list, which then takes no parameters of pages.
pub fn whole(request: &HttpRequest, query: &mut Query) -> Option<Style> {
    let style = style(request)?;
    for name in OF_PAGES {
        if query.has(name) {
            query.mistake(name, Mistake::Together { other: WHOLE });
        }
    }
    Some(style)
}

impl Style {
    /// Whether rows are gathered and packed, which takes the processor a long time.
    const fn packs(self) -> bool {
        match self {
            Self::Ndjson | Self::Csv => false,
            #[cfg(feature = "parquet")]
            Self::Parquet => true,
        }
    }

    const fn content_type(self) -> &'static str {
        match self {
            Self::Ndjson => "application/x-ndjson",
            Self::Csv => "text/csv; charset=utf-8",
            #[cfg(feature = "parquet")]
            Self::Parquet => parquet::MEDIA,
        }
    }
}

/// Writes the rows of a table.
enum Pen {
    Ndjson,
    Csv(Kind),
    #[cfg(feature = "parquet")]
    Parquet(Box<parquet::Table>),
}

/// Logs why rows were not written as Parquet: nobody but the operators can do anything about it.
#[cfg(feature = "parquet")]
fn broken(why: parquet::Broken) -> Failure {
    tracing::error!(%why, "rows could not be written as Parquet");
    Failure::Bug
}

impl Pen {
    /// The pen of a table; writes what comes before its rows.
    fn begin(style: Style, kind: Kind, out: &mut Vec<u8>) -> Result<Self, Failure> {
        Ok(match style {
            Style::Ndjson => Self::Ndjson,
            Style::Csv => {
                out.extend(row(kind.columns));
                Self::Csv(kind)
            }
            #[cfg(feature = "parquet")]
            Style::Parquet => {
                let table = parquet::Table::new(kind).map_err(broken)?;
                Self::Parquet(Box::new(table))
            }
        })
    }

    fn put(&mut self, body: &Value, out: &mut Vec<u8>) -> Result<(), Failure> {
        match self {
            Self::Ndjson => out.extend(format!("{body}\n").into_bytes()),
            Self::Csv(kind) => out.extend(row(kind.columns.iter().map(|it| cell(body, it)))),
            #[cfg(feature = "parquet")]
            Self::Parquet(table) => table.put(body, out).map_err(broken)?,
        }
        Ok(())
    }

    fn end(&mut self, rows: u64, out: &mut Vec<u8>) -> Result<(), Failure> {
        match self {
            Self::Ndjson => {
                let summary = json!({"summary": {"rows": rows}});
                out.extend(format!("{summary}\n").into_bytes());
            }
            Self::Csv(_) => {}
            #[cfg(feature = "parquet")]
            Self::Parquet(table) => table.end(out).map_err(broken)?,
        }
        Ok(())
    }
}

/// Rows to be written as bytes: with the pen, if one has begun, and the count of all rows if these are the last ones.
struct Rows {
    pen: Option<Pen>,
    style: Style,
    kind: Kind,
    bodies: Vec<Value>,
    ends: Option<u64>,
}

impl Rows {
    fn written(self) -> Result<(Pen, Vec<u8>), Failure> {
        let mut out = Vec::new();
        let mut pen = match self.pen {
            Some(pen) => pen,
            None => Pen::begin(self.style, self.kind, &mut out)?,
        };
        for body in &self.bodies {
            pen.put(body, &mut out)?;
        }
        if let Some(rows) = self.ends {
            pen.end(rows, &mut out)?;
        }
        Ok((pen, out))
    }

    /// Like [`Self::written`], off the thread that serves if the rows have to be packed.
    async fn packed(self, caller: &Caller) -> Result<(Pen, Vec<u8>), Failure> {
        match self.style.packs() {
            true => {
                let work = move || self.written();
                caller.door.room.work(caller.realm(), work).await?
            }
            false => self.written(),
        }
    }

    /// All rows of a table.
    fn whole((style, kind): (Style, Kind), bodies: Vec<Value>) -> Result<Self, Failure> {
        let rows = u64::try_from(bodies.len()).map_err(|_| Failure::PageTooFar)?;
        Ok(Self {
            pen: None,
            style,
            kind,
            bodies,
            ends: Some(rows),
        })
    }
}

/// An answer with a few rows that are already in memory.
///
/// # Errors
/// When a row cannot be written in that style.
pub fn table(form: (Style, Kind), bodies: Vec<Value>) -> Result<HttpResponse, ApiError> {
    let (_, out) = Rows::whole(form, bodies)?.written()?;
    Ok(answer(form.0, out))
}

/// Like [`table`], with many rows.
///
/// # Errors
/// As [`table`]; 503 where their turn to be packed does not come.
pub async fn long_table(
    caller: &Caller,
    form: (Style, Kind),
    bodies: Vec<Value>,
) -> Result<HttpResponse, ApiError> {
    let (_, out) = Rows::whole(form, bodies)?.packed(caller).await?;
    Ok(answer(form.0, out))
}

fn answer(style: Style, out: Vec<u8>) -> HttpResponse {
    HttpResponse::Ok()
        .insert_header((CONTENT_TYPE, style.content_type()))
        .insert_header((VARY, "accept"))
        .body(out)
}

/// A list that is sent as it is read.
struct Walk<T, F, R> {
    caller: Caller,
    style: Style,
    kind: Kind,
    /// None before the first row.
    pen: Option<Pen>,
    page: ListPage,
    fetch: F,
    render: R,
    /// The page that was read and not yet written; `None` behind the last page.
    read: Option<Listing<T>>,
    rows: u64,
    _seat: Seat,
}

impl<T, F, R> Walk<T, F, R>
where
    F: AsyncFn(&Engine, ListPage) -> Result<Listing<T>, Failure>,
    R: Fn(&T) -> Value,
{
    /// The bytes of the next page; `None` behind the last one.
    async fn more(&mut self) -> Result<Option<Vec<u8>>, Failure> {
        let Some(listing) = self.read.take() else {
            return Ok(None);
        };
        let mut bodies = Vec::with_capacity(listing.items.len());
        for item in &listing.items {
            bodies.push((self.render)(item));
            self.rows += 1;
        }
        let ends = listing.next.is_none().then_some(self.rows);
        let rows = Rows {
            pen: self.pen.take(),
            style: self.style,
            kind: self.kind,
            bodies,
            ends,
        };
        let (pen, out) = rows.packed(&self.caller).await?;
        self.pen = Some(pen);
        if ends.is_some() {
            return Ok(Some(out));
        }
        if self.rows >= ROWS_MAX {
            return Err(Failure::PageTooFar);
        }
        self.caller.may_go_on()?;
        self.page.cursor = listing.next;
        let next = (self.fetch)(self.caller.engine(), self.page).await?;
        self.read = Some(next);
        Ok(Some(out))
    }
}

/// Answers with all rows of a list: `fetch` reads a page of it, `render` shows an item as pages of JSON do.
///
/// # Errors
/// The errors of the first page; 400 where there are more rows than one stream may have; 429 where the realm has as
/// many streams as it may.
pub async fn stream<T, F, R>(
    caller: &Caller,
    (style, kind): (Style, Kind),
    page: ListPage,
    fetch: F,
    render: R,
) -> Result<HttpResponse, ApiError>
where
    T: 'static,
    F: AsyncFn(&Engine, ListPage) -> Result<Listing<T>, Failure> + 'static,
    R: Fn(&T) -> Value + 'static,
{
    let page = ListPage {
        limit: PAGE,
        ..page
    };
    let (engine, realm) = (caller.engine(), caller.realm());
    let first = fetch(engine, page).await?;
    if first.total > ROWS_MAX {
        let (rows, max) = (first.total, ROWS_MAX);
        return Err(ApiError::field(
            "Accept",
            Mistake::TooManyRows { rows, max },
        ));
    }
    let walk = Walk {
        _seat: caller.door.hooks.streams.seat(realm)?,
        caller: caller.clone(),
        style,
        kind,
        pen: None,
        page,
        fetch,
        render,
        read: Some(first),
        rows: 0,
    };
    let bytes = unfold(Some(walk), |walk| async {
        let mut walk = walk?;
        match walk.more().await {
            Ok(Some(bytes)) => Some((Ok(Bytes::from(bytes)), Some(walk))),
            Ok(None) => None,
            Err(why) => {
                tracing::warn!(%why, "a list breaks off");
                Some((Err(why), None))
            }
        }
    });
    Ok(HttpResponse::Ok()
        .insert_header((CONTENT_TYPE, style.content_type()))
        .insert_header((CACHE_CONTROL, "no-store"))
        .insert_header((VARY, "accept"))
        .streaming(bytes))
}
