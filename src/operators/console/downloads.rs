//! Downloads: each table of a page as a file, CSV or a workbook of Excel, with all its rows and not only those of the page.
//!
//! **Shape.** A download is the address of the page with `download=csv` or `download=xlsx`, and `list` where the page has
//! several tables. The page's own handler makes page after page, so that a file has the columns, rows, filters and
//! roles of the page, and no page declares its rows twice. The rows leave as they are read.
//!
//! **Bounds.** [`PAGE`] rows in memory, [`ROWS_MAX`] in a file, and a permit among the operators' long answers. Rows are
//! written on the threads of batches.
//!
//! **Order.** The look is recorded before the first byte leaves ([`super::looks`]): the address, the CVUs of the first rows,
//! and the realm if more follow. Before each further page the operator's credential is checked again.
//!
//! **Failure.** A failure of the first page is a page that says so. Later the file breaks off: the browser shows that the
//! download failed, and a workbook without its end does not open.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::rc::Rc;

use actix_web::http::header::{CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_TYPE};
use actix_web::web::Bytes;
use actix_web::{Handler, HttpResponse, web};
use caudal_actors::failure::Failure;
use caudal_http::current;
use caudal_http::errors::ApiError;
use caudal_http::pool::give_way;
use caudal_http::rows::ROWS_MAX;
use caudal_http::sheets::xlsx::CellValue;
use caudal_http::sheets::{SheetForm, SheetWriter};
use caudal_http::shown;
use caudal_http::streams::StreamPermit;
use caudal_http::words::{Mistake, Refusal};
use caudal_ledger::cvu::Cvu;
use caudal_ledger::ids::RealmId;
use caudal_ledger::time::Timestamp;
use futures_util::future::LocalBoxFuture;
use futures_util::stream::unfold;
use serde::de::DeserializeOwned;

use super::page_context::{PageContext, fields};
use super::view::{Block, Cell, CellKind, Page, Table};
use crate::admin::people;

/// The parameter that asks for a file: `csv` or `xlsx`.
pub(super) const DOWNLOAD: &str = "download";
/// The parameter that names the table of a page.
pub(super) const LIST: &str = "list";
/// The parameters that ask for a page of a list: a file begins at the beginning.
pub(super) const OF_PAGES: [&str; 5] = ["cursor", "offset", "before", "last", "done"];
/// How many rows of a file are read at a time.
pub(super) const PAGE: usize = 500;
/// The room for the longest text of a column and what is next to it, in characters.
const MARGIN: usize = 2;

/// What a file shows, for the audit log: an extension of its answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Downloaded {
    /// The CVUs of the first rows.
    pub cvus: BTreeSet<Cvu>,
    /// Whether these are all rows.
    pub is_whole: bool,
}

/// The handler of a page.
pub(super) fn page<F>(made: F) -> impl Handler<(PageContext,), Output = HttpResponse>
where
    F: AsyncFn(&PageContext) -> Result<Page, ApiError> + Copy + 'static,
{
    let made = async move |context: &PageContext, _: &()| made(context).await;
    move |context: PageContext| context.answer((), made)
}

/// The handler of a page about what its path names.
pub(super) fn page_of<F>(
    made: F,
) -> impl Handler<(PageContext, web::Path<String>), Output = HttpResponse>
where
    F: AsyncFn(&PageContext, &str) -> Result<Page, ApiError> + Copy + 'static,
{
    page_in(async move |context: &PageContext, path: &String| made(context, path).await)
}

/// The handler of a page whose path has several parts.
pub(super) fn page_in<P, F>(
    made: F,
) -> impl Handler<(PageContext, web::Path<P>), Output = HttpResponse>
where
    P: DeserializeOwned + 'static,
    F: AsyncFn(&PageContext, &P) -> Result<Page, ApiError> + Copy + 'static,
{
    move |context: PageContext, path: web::Path<P>| context.answer(path.into_inner(), made)
}

impl PageContext {
    /// Answers with a page, or with one of its tables as a file if the visit asks for it.
    pub(super) async fn answer<P, F>(self, path: P, made: F) -> HttpResponse
    where
        P: 'static,
        F: AsyncFn(&Self, &P) -> Result<Page, ApiError> + 'static,
    {
        if self.is_page() {
            let page = made(&self, &path).await;
            return self.show(page);
        }
        let made = async move |context: &Self, path: &P| Ok(made(context, path).await?.blocks);
        self.file(source(path, made)).await
    }

    /// The same for a part of a page.
    pub(super) async fn answer_part<P, F>(self, path: P, made: F) -> HttpResponse
    where
        P: 'static,
        F: AsyncFn(&Self, &P) -> Result<Vec<Block>, ApiError> + 'static,
    {
        if self.is_page() {
            let blocks = made(&self, &path).await;
            return self.show_part(blocks);
        }
        self.file(source(path, made)).await
    }

    /// How many rows a page of a list has: `usual`, or more for a file.
    pub(super) fn rows(&self, usual: usize) -> usize {
        if self.is_page() { usual } else { PAGE }
    }

    /// Whether the visit asks for a page and not for a file.
    pub(super) fn is_page(&self) -> bool {
        self.asks(DOWNLOAD).is_none()
    }

    async fn file(mut self, source: BlockSource) -> HttpResponse {
        for name in OF_PAGES {
            self.asked.remove(name);
        }
        let begun = FileWalk::begin(&self, &source).await;
        let (form, first, permit) = match begun {
            Ok(begun) => begun,
            Err(why) => return self.show(Err(why)),
        };
        let shown = Downloaded {
            cvus: cvus(&first),
            is_whole: self.following(&first).is_none(),
        };
        let day = self.engine().now().business_day();
        let name = format!(
            "attachment; filename=\"caudal-{}-{day}.{}\"",
            first.name,
            form.ending()
        );
        let walk = FileWalk {
            context: self,
            request: current::request(),
            source,
            form,
            read: Some(first),
            sheet: None,
            rows: 0,
            _permit: permit,
        };
        let mut answer = HttpResponse::Ok()
            .insert_header((CONTENT_TYPE, form.content_type()))
            .insert_header((CONTENT_DISPOSITION, name))
            .insert_header((CACHE_CONTROL, "no-store"))
            .streaming(unfold(Some(walk), |walk| async {
                let mut walk = walk?;
                match walk.more().await {
                    Ok(Some(bytes)) => Some((Ok(Bytes::from(bytes)), Some(walk))),
                    Ok(None) => None,
                    Err(why) => {
                        tracing::warn!(%why, "a download was aborted");
                        Some((Err(why), None))
                    }
                }
            }));
        answer.extensions_mut().insert(shown);
        answer
    }

    /// The parameters of the page after a table; `None` if the table has no more rows, or its other rows are on another
    /// page of the console.
    fn following(&self, table: &Table) -> Option<BTreeMap<String, String>> {
        let (path, query) = table.next.as_ref()?.split_once('?')?;
        (path == self.path).then(|| {
            let mut asked = fields(query.as_bytes());
            for name in [DOWNLOAD, LIST] {
                let kept = self.asked.get(name).cloned();
                asked.extend(kept.map(|value| (name.to_owned(), value)));
            }
            asked
        })
    }

    /// The table that the visit asks for, among those of a page.
    fn wanted(&self, blocks: Vec<Block>) -> Result<Table, ApiError> {
        let list = self.asks(LIST);
        let mut tables = blocks.into_iter().filter_map(|block| match block {
            Block::Table(table) => Some(table),
            _ => None,
        });
        let found = tables.find(|table| list.is_none_or(|list| table.name == list));
        Ok(found.ok_or(Refusal::NoPage)?)
    }
}

/// Makes the blocks of a page again for each part of a file.
type BlockSource =
    Box<dyn for<'a> Fn(&'a PageContext) -> LocalBoxFuture<'a, Result<Vec<Block>, ApiError>>>;

/// The source of blocks of a page, whatever its path and its handler are.
fn source<P, F>(path: P, made: F) -> BlockSource
where
    P: 'static,
    F: AsyncFn(&PageContext, &P) -> Result<Vec<Block>, ApiError> + 'static,
{
    let both = Rc::new((path, made));
    Box::new(move |context| {
        let both = Rc::clone(&both);
        Box::pin(async move {
            let (path, made) = both.as_ref();
            made(context, path).await
        })
    })
}

/// A file that is being written.
struct FileWalk {
    context: PageContext,
    request: current::Request,
    source: BlockSource,
    form: SheetForm,
    /// The rows that were read and are not written yet; `None` behind the last ones.
    read: Option<Table>,
    /// `None` before the first row, and while rows are written.
    sheet: Option<SheetWriter>,
    rows: u64,
    _permit: StreamPermit,
}

impl FileWalk {
    /// The form of the file, its first rows, and a permit for it.
    async fn begin(
        context: &PageContext,
        source: &BlockSource,
    ) -> Result<(SheetForm, Table, StreamPermit), ApiError> {
        let form = match context.asks(DOWNLOAD) {
            Some("csv") => SheetForm::Csv,
            Some("xlsx") => SheetForm::Xlsx,
            _ => return Err(Refusal::NoPage.into()),
        };
        let permit = context.admin_state.app.hooks.streams.permit(RealmId(0))?;
        let table = context.wanted(source(context).await?)?;
        let max = ROWS_MAX;
        if let Some(rows) = table.total.filter(|rows| *rows > max) {
            let mistake = Mistake::TooManyRows { rows, max };
            return Err(ApiError::field(DOWNLOAD, mistake));
        }
        Ok((form, table, permit))
    }

    /// The next bytes; `None` behind the last ones.
    async fn more(&mut self) -> Result<Option<Vec<u8>>, Failure> {
        let Some(table) = self.read.take() else {
            return Ok(None);
        };
        self.rows += u64::try_from(table.rows.len()).map_err(|_| Failure::Bug)?;
        let next = self.context.following(&table);
        if next.is_some() && self.rows >= ROWS_MAX {
            return Err(Failure::PageTooFar);
        }
        let (form, sheet, is_last) = (self.form, self.sheet.take(), next.is_none());
        let write = move || written(form, sheet, &table, is_last);
        let app = self.context.admin_state.app.clone();
        let written = app.pool.work(RealmId(0), write).await?;
        let (sheet, out) = written.map_err(|why| {
            tracing::warn!(%why, "a download could not be written");
            Failure::PageTooFar
        })?;
        self.sheet = sheet;
        if let Some(next) = next {
            let who = people::still(&app, &self.context.session.who);
            if who.is_none() || !app.is_owners() {
                return Err(Failure::ShuttingDown);
            }
            self.context.asked = next;
            self.read = Some(self.table().await?);
        }
        Ok(Some(out))
    }

    async fn table(&self) -> Result<Table, Failure> {
        // Cursors are those of the list that the request asks for.
        let blocks = (self.source)(&self.context);
        let blocks = current::answering(self.request.clone(), blocks).await;
        let table = blocks.and_then(|blocks| self.context.wanted(blocks));
        table.map_err(|why| {
            tracing::warn!(%why, "a page of a download could not be read");
            Failure::Overloaded
        })
    }
}

/// Writes rows, and the end behind the last ones. Returns the bytes that are ready.
fn written(
    form: SheetForm,
    sheet: Option<SheetWriter>,
    table: &Table,
    is_last: bool,
) -> io::Result<(Option<SheetWriter>, Vec<u8>)> {
    let mut sheet = match sheet {
        Some(sheet) => sheet,
        None => SheetWriter::begin(form, &headers(table))?,
    };
    for (item, row) in table.rows.iter().enumerate() {
        sheet.row(row.iter().map(|cell| value(cell, form)))?;
        give_way(item);
    }
    let mut out = sheet.take()?;
    if is_last {
        out.extend(sheet.end()?);
        return Ok((None, out));
    }
    Ok((Some(sheet), out))
}

/// The headings, each with the width of the longest text of the first rows.
fn headers(table: &Table) -> Vec<(&'static str, usize)> {
    let header = |(place, column): (usize, &super::view::Column)| {
        let cells = table.rows.iter().filter_map(|row| row.get(place));
        let longest = cells.map(|cell| cell.text.chars().count()).max();
        (column.title, longest.map_or(0, |longest| longest + MARGIN))
    };
    table.columns.iter().enumerate().map(header).collect()
}

/// A cell of a page as one of a file. In CSV an instant has the offset of Buenos Aires, so that its text begins with the
/// business day.
fn value(cell: &Cell, form: SheetForm) -> CellValue<'_> {
    let text = || CellValue::Text(cell.raw.as_deref().unwrap_or(&cell.text).into());
    match &cell.kind {
        _ if cell.text.is_empty() => CellValue::Empty,
        CellKind::Figure => match &cell.raw {
            Some(raw) if raw.contains('.') => CellValue::Amount(raw.into()),
            Some(raw) => CellValue::Number(raw.into()),
            None => text(),
        },
        CellKind::Time(at) => match (Timestamp::parse(at), form) {
            (Some(at), SheetForm::Csv) => CellValue::Text(at.zoned().into()),
            (Some(at), SheetForm::Xlsx) => CellValue::Instant(at),
            (None, _) => text(),
        },
        CellKind::Text | CellKind::Code | CellKind::State(_) => text(),
    }
}

/// The CVUs in the cells of a table and in their addresses.
fn cvus(table: &Table) -> BTreeSet<Cvu> {
    let cells = table.rows.iter().flatten();
    let texts = cells.flat_map(|cell| [Some(&cell.text), cell.href.as_ref()]);
    texts
        .flatten()
        .flat_map(|text| shown::cvus(text.as_bytes()))
        .collect()
}
