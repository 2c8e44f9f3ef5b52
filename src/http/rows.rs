//! Lists as streams: all rows of a list in one answer, as CSV, as a workbook of Excel or as lines of JSON, where `Accept`
//! asks for it.
//!
//! **Shape.** The stream walks the list page by page, each beginning where the last one ended, so it costs what its
//! pages cost and takes its turns among other requests. A row is written as it is read; the rows of a workbook are
//! compressed on the threads of batches.
//!
//! **Bounds.** [`PAGE`] rows in memory (a day of a reconciliation), [`ROWS_MAX`] in one stream, which fit into one sheet,
//! and a permit among the realm's streams. A client that does not read stops its own stream, and is disconnected as with any answer.
//!
//! **Failure.** A mistake in the query, or a failure of the first page, is an error as everywhere. Later the stream
//! breaks off without its end: lines of JSON end with one that counts them (`{"summary":{"rows":n}}`), a workbook without
//! its end does not open, and for all of them the transfer coding shows that they were cut. The stream also breaks off when the service stops or
//! the key ends.

use std::io;

use actix_web::dev::Payload;
use actix_web::http::header::{CACHE_CONTROL, CONTENT_TYPE, VARY};
use actix_web::web::Bytes;
use actix_web::{FromRequest, HttpRequest, HttpResponse, ResponseError as _};
use caudal_actors::engine::Queries;
use caudal_actors::engine::lists::{ListPage, Listing, SortOrder};
use caudal_actors::failure::Failure;
use caudal_ledger::ids::AccountNo;
use futures_util::TryFutureExt as _;
use futures_util::future::{LocalBoxFuture, MapOk};
use futures_util::stream::unfold;
use serde::Serialize;
use serde_json::{Value, json};

use super::accept::preferred;
use super::caller::Caller;
use super::errors::{ApiError, HandlerResult};
use super::pool::give_way;
use super::query::Query;
use super::streams::StreamPermit;
use super::words::Mistake;
use crate::sheets::xlsx::{MEDIA as XLSX, SHEET_ROWS_MAX};
use crate::sheets::{SheetColumn, SheetForm, SheetKind, SheetWriter};

/// The most rows of one stream: about as many as a spreadsheet takes.
pub const ROWS_MAX: u64 = 1_000_000;
const _: () = assert!(ROWS_MAX < SHEET_ROWS_MAX);
/// How many rows are read at a time.
const PAGE: usize = 500;
/// The parameters that ask for a page of a list.
const OF_PAGES: [&str; 3] = ["limit", "offset", "cursor"];
/// How a client asks for the whole list, as messages for people name it.
const WHOLE: &str = "Accept: text/csv, application/x-ndjson or that of XLSX";

/// The start of a list that is walked in one order and has no pages of its own.
pub const FIRST: ListPage = ListPage {
    order: SortOrder::Ascending,
    limit: 0,
    offset: 0,
    cursor: None,
};

/// The form in which a row is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RowStyle {
    /// A line of JSON.
    Ndjson,
    /// A row of CSV.
    Csv,
    /// A row of a workbook of Excel.
    Xlsx,
}

/// The forms of a list: pages of JSON, unless another is asked for.
const FORMS: &[(&str, Option<RowStyle>)] = &[
    ("application/json", None),
    ("application/x-ndjson", Some(RowStyle::Ndjson)),
    ("text/csv", Some(RowStyle::Csv)),
    (XLSX, Some(RowStyle::Xlsx)),
];

/// The style that `Accept` asks for; `None` for pages of JSON.
pub fn style(request: &HttpRequest) -> Option<RowStyle> {
    preferred(request, FORMS).flatten()
}

/// Like [`style`], for a list, which then takes no parameters of pages.
pub fn whole(request: &HttpRequest, query: &mut Query) -> Option<RowStyle> {
    let style = style(request)?;
    for name in OF_PAGES {
        if query.has(name) {
            query.mistake(name, Mistake::Together { other: WHOLE });
        }
    }
    Some(style)
}

impl RowStyle {
    const fn content_type(self) -> &'static str {
        match self {
            Self::Ndjson => "application/x-ndjson",
            Self::Csv => SheetForm::Csv.content_type(),
            Self::Xlsx => SheetForm::Xlsx.content_type(),
        }
    }
}

/// Writes the rows of a table.
enum RowWriter {
    Ndjson,
    Sheet(SheetWriter, Vec<SheetColumn>),
}

impl RowWriter {
    /// The pen of a table.
    fn begin(style: RowStyle, kind: SheetKind) -> io::Result<Self> {
        let form = match style {
            RowStyle::Ndjson => return Ok(Self::Ndjson),
            RowStyle::Csv => SheetForm::Csv,
            RowStyle::Xlsx => SheetForm::Xlsx,
        };
        let columns = kind.typed();
        let headers: Vec<_> = columns.iter().map(SheetColumn::header).collect();
        Ok(Self::Sheet(SheetWriter::begin(form, &headers)?, columns))
    }

    /// Writes rows; the bytes that are ready.
    fn put(&mut self, bodies: impl IntoIterator<Item = Value>) -> io::Result<Vec<u8>> {
        match self {
            Self::Ndjson => {
                let lines = bodies.into_iter().map(|body| format!("{body}\n"));
                Ok(lines.collect::<String>().into_bytes())
            }
            Self::Sheet(sheet, columns) => {
                for (item, body) in bodies.into_iter().enumerate() {
                    sheet.row(columns.iter().map(|column| column.value(&body)))?;
                    give_way(item);
                }
                sheet.take()
            }
        }
    }

    /// The last bytes, behind this many rows.
    fn end(self, rows: u64) -> io::Result<Vec<u8>> {
        match self {
            Self::Ndjson => {
                let summary = json!({"summary": {"rows": rows}});
                Ok(format!("{summary}\n").into_bytes())
            }
            Self::Sheet(sheet, _) => sheet.end(),
        }
    }
}

/// A table that is larger than its form takes.
fn too_large(why: io::Error) -> Failure {
    tracing::warn!(%why, "a table could not be written");
    Failure::PageTooFar
}

/// An answer with rows that are already in memory.
pub fn table(
    style: RowStyle,
    kind: SheetKind,
    bodies: impl IntoIterator<Item = Value>,
) -> HttpResponse {
    let write = || {
        let mut pen = RowWriter::begin(style, kind)?;
        let mut rows = 0;
        let counted = bodies.into_iter().inspect(|_| rows += 1);
        let mut out = pen.put(counted)?;
        out.extend(pen.end(rows)?);
        Ok(out)
    };
    match write().map_err(too_large) {
        Ok(out) => answer(style, out),
        Err(why) => ApiError::from(why).error_response(),
    }
}

fn answer(style: RowStyle, out: Vec<u8>) -> HttpResponse {
    HttpResponse::Ok()
        .insert_header((CONTENT_TYPE, style.content_type()))
        .insert_header((VARY, "accept"))
        .body(out)
}

/// Pages of rows as JSON, whatever the items of the list are.
trait RowSource {
    fn rows<'a>(
        &'a self,
        queries: Queries<'a>,
        page: ListPage,
    ) -> LocalBoxFuture<'a, Result<Listing<Value>, Failure>>;
}

struct Rendered<F, R> {
    fetch: F,
    render: R,
}

impl<T, F, R> RowSource for Rendered<F, R>
where
    F: AsyncFn(Queries<'_>, ListPage) -> Result<Listing<T>, Failure>,
    R: Fn(&T) -> Value,
{
    fn rows<'a>(
        &'a self,
        queries: Queries<'a>,
        page: ListPage,
    ) -> LocalBoxFuture<'a, Result<Listing<Value>, Failure>> {
        Box::pin(async move {
            let listing = (self.fetch)(queries, page).await?;
            Ok(listing.with(|items| items.iter().map(&self.render).collect()))
        })
    }
}

/// A list that is sent as it is read.
struct ListStream {
    caller: Caller,
    style: RowStyle,
    kind: SheetKind,
    /// None before the first row, and while rows are written.
    pen: Option<RowWriter>,
    page: ListPage,
    source: Box<dyn RowSource>,
    /// The page that was read and not yet written; `None` behind the last page.
    read: Option<Listing<Value>>,
    rows: u64,
    _permit: StreamPermit,
}

impl ListStream {
    /// The bytes of the next page; `None` behind the last one.
    async fn more(&mut self) -> Result<Option<Vec<u8>>, Failure> {
        let Some(listing) = self.read.take() else {
            return Ok(None);
        };
        let bodies = listing.items;
        self.rows += u64::try_from(bodies.len()).map_err(|_| Failure::Bug)?;
        let (style, kind, pen) = (self.style, self.kind, self.pen.take());
        let last = listing.next.is_none().then_some(self.rows);
        let write = move || {
            let mut pen = pen.map_or_else(|| RowWriter::begin(style, kind), Ok)?;
            let mut out = pen.put(bodies)?;
            let Some(rows) = last else {
                return Ok((Some(pen), out));
            };
            out.extend(pen.end(rows)?);
            Ok((None, out))
        };
        let written = match style {
            RowStyle::Xlsx => {
                self.caller
                    .app
                    .pool
                    .work(self.caller.realm(), write)
                    .await?
            }
            RowStyle::Csv | RowStyle::Ndjson => write(),
        };
        let (pen, out) = written.map_err(too_large)?;
        if last.is_some() {
            return Ok(Some(out));
        }
        self.pen = pen;
        if self.rows >= ROWS_MAX {
            return Err(Failure::PageTooFar);
        }
        self.caller.may_go_on()?;
        self.page.cursor = listing.next;
        let next = self.source.rows(self.caller.queries(), self.page).await?;
        self.read = Some(next);
        Ok(Some(out))
    }
}

/// A body as a row, with the number of its account.
pub fn with_account(body: &impl Serialize, account: AccountNo) -> Value {
    let mut body = json!(body);
    if let Some(body) = body.as_object_mut() {
        body.insert("walletAccountId".to_owned(), account.0.into());
    }
    body
}

/// A request for a list: a page of it, or all of its rows in another form.
#[derive(Debug)]
pub struct ListCall {
    /// Who makes it.
    pub caller: Caller,
    /// Its parameters; those of the page are read last.
    pub query: Query,
    style: Option<RowStyle>,
}

type ListParts = (HttpRequest, Caller, Query);

impl FromRequest for ListCall {
    type Error = actix_web::Error;
    type Future = MapOk<<ListParts as FromRequest>::Future, fn(ListParts) -> Self>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        ListParts::from_request(request, payload).map_ok(|(request, caller, mut query)| Self {
            style: whole(&request, &mut query),
            caller,
            query,
        })
    }
}

impl ListCall {
    /// Returns a page of the list as `paged` writes it, or all of its rows. `fetch` reads a page, and `show` renders
    /// an item; a row also has the number of its account, if `account` gives one.
    ///
    /// # Errors
    /// 400 with every mistake in the parameters; those of `fetch`, and of [`stream`].
    pub async fn answer<T: 'static, R: Serialize, S: Fn(&T) -> R + 'static>(
        mut self,
        kind: SheetKind,
        fetch: impl AsyncFn(Queries<'_>, ListPage) -> Result<Listing<T>, Failure> + 'static,
        account: fn(&T) -> Option<AccountNo>,
        show: S,
        paged: impl FnOnce(&Listing<T>, &ListPage, &S) -> HttpResponse,
    ) -> HandlerResult {
        let page = self.query.page();
        self.query.done()?;
        let Some(style) = self.style else {
            let listing = fetch(self.caller.queries(), page).await?;
            return Ok(paged(&listing, &page, &show));
        };
        let row = move |item: &T| match account(item) {
            Some(account) => with_account(&show(item), account),
            None => json!(show(item)),
        };
        stream(&self.caller, style, kind, page, fetch, row).await
    }
}

/// Answers with all rows of a list: `fetch` reads a page of it, `render` shows an item as pages of JSON do.
///
/// # Errors
/// The errors of the first page; 400 where there are more rows than one stream may have; 429 where the realm has as
/// many streams as it may.
pub async fn stream<T, F, R>(
    caller: &Caller,
    style: RowStyle,
    kind: SheetKind,
    page: ListPage,
    fetch: F,
    render: R,
) -> Result<HttpResponse, ApiError>
where
    T: 'static,
    F: AsyncFn(Queries<'_>, ListPage) -> Result<Listing<T>, Failure> + 'static,
    R: Fn(&T) -> Value + 'static,
{
    let source = Box::new(Rendered { fetch, render });
    streamed(caller, (style, kind), page, source).await
}

/// As [`stream`], not compiled for each list.
async fn streamed(
    caller: &Caller,
    (style, kind): (RowStyle, SheetKind),
    page: ListPage,
    source: Box<dyn RowSource>,
) -> Result<HttpResponse, ApiError> {
    let page = ListPage {
        limit: PAGE,
        ..page
    };
    let first = source.rows(caller.queries(), page).await?;
    if first.total > ROWS_MAX {
        let (rows, max) = (first.total, ROWS_MAX);
        return Err(ApiError::field(
            "Accept",
            Mistake::TooManyRows { rows, max },
        ));
    }
    let walk = ListStream {
        _permit: caller.app.hooks.streams.permit(caller.realm())?,
        caller: caller.clone(),
        style,
        kind,
        pen: None,
        page,
        source,
        read: Some(first),
        rows: 0,
    };
    let bytes = unfold(Some(walk), |walk| async {
        let mut walk = walk?;
        match walk.more().await {
            Ok(Some(bytes)) => Some((Ok(Bytes::from(bytes)), Some(walk))),
            Ok(None) => None,
            Err(why) => {
                tracing::warn!(%why, "list stream aborted");
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
