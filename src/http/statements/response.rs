//! The statement of an account as a response: for its tenant, or for an operator in the console.
//!
//! **Shape.** The vouchers are pinned, recounted, and written at most twice: once for the hash of the bytes, which is
//! the `ETag`, and once more as they leave, if they were too many to keep.
//!
//! **Bounds.** [`StatementFormat::lines_max`] lines; [`PAGE`] vouchers at a time. A PDF, or a statement with more lines than
//! that, takes a permit among the realm's streams before anything is read, and keeps it until its bytes have left;
//! [`KEPT_MAX`] of its bytes are kept in memory, of a PDF all. Of a realm's long statements one at a time is recounted or
//! has a page read and written ([`crate::streams::LONG_AT_ONCE`]), on the threads of batches, so that they slow
//! others no more than batches do.
//!
//! **Failure.** A failed read is an error before the first byte. If it fails later, the answer breaks off before its
//! end, as the client sees by the promised length.

use std::sync::Arc;

use actix_web::body::SizedStream;
use actix_web::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE, ETAG, VARY};
use actix_web::web::Bytes;
use actix_web::{HttpRequest, HttpResponse, HttpResponseBuilder};
use aws_lc_rs::digest::{Context, SHA256};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use caudal_actors::engine::Engine;
use caudal_actors::engine::statements::Pin;
use caudal_actors::failure::Failure;
use caudal_actors::realms::Target;
use caudal_ledger::ids::RealmId;
use caudal_ledger::statements::{DAYS_MAX, Period, Statement};
use caudal_ledger::time::BusinessDay;
use futures_util::stream::{Stream, unfold};
use tokio::sync::OwnedSemaphorePermit;

use super::{StatementFormat, StatementWriter, file_name};
use crate::declared::declared;
use crate::errors::{ApiError, HandlerResult};
use crate::params::params;
use crate::pool::{Pool, give_way};
use crate::query::{Query, day};
use crate::respond::unchanged;
use crate::streams::StreamPermit;
use crate::words::Mistake;
use crate::{AppState, Hooks};

/// How many vouchers are read at a time.
const PAGE: usize = 500;
/// How many bytes of the first writing are kept for the answer: 1 MiB.
const KEPT_MAX: usize = 1 << 20;
/// How many of the kept bytes leave at a time: 64 KiB.
const PART: usize = 64 << 10;

/// The source of a statement: the actors, the permits of long answers, and the realm.
#[derive(Clone)]
pub struct Source {
    engine: Arc<Engine>,
    hooks: Arc<Hooks>,
    pool: Arc<Pool>,
    realm: RealmId,
    /// The realm whose permits and turns the statement takes.
    permits: RealmId,
}

impl Source {
    /// A realm behind a door.
    pub fn new(app: &AppState, realm: RealmId) -> Self {
        Self {
            engine: Arc::clone(&app.engine),
            hooks: Arc::clone(&app.hooks),
            pool: Arc::clone(&app.pool),
            realm,
            permits: realm,
        }
    }

    /// The same for an operator, who takes no permit of the tenant.
    pub fn for_operators(self) -> Self {
        let permits = RealmId(0);
        Self { permits, ..self }
    }

    /// Waits until no other long statement of the realm is worked on; a short one waits for none.
    async fn turn(&self, long: bool) -> Result<Option<OwnedSemaphorePermit>, Failure> {
        if long {
            self.hooks.streams.turn(self.permits).await.map(Some)
        } else {
            Ok(None)
        }
    }

    /// The statement of an account for some days, in a format, as an answer.
    ///
    /// # Errors
    /// When it has more lines than the format takes, the realm has no permit left, or a read fails.
    pub async fn give(
        &self,
        request: &HttpRequest,
        target: Target,
        (period, format): (Period, StatementFormat),
    ) -> HandlerResult {
        let pin = self
            .engine
            .queries()
            .statement_pin(self.realm, target, period)
            .await?;
        let (lines, max) = (pin.lines(), format.lines_max());
        if lines > max {
            return Err(ApiError::field("to", Mistake::TooManyLines { lines, max }));
        }
        answer(request, self, pin, format).await
    }
}

/// Notes days that are not in order, after today, or too many.
fn period(
    today: BusinessDay,
    query: &mut Query,
    first: Option<BusinessDay>,
    last: Option<BusinessDay>,
) {
    query.not_after("from", first, today);
    query.not_after("to", last, today);
    let (Some(first), Some(last)) = (first, last) else {
        return;
    };
    if first > last {
        query.mistake("from", Mistake::After { other: "to" });
    } else if first.days_to(last) >= DAYS_MAX {
        query.mistake("to", Mistake::LongRange { max: DAYS_MAX });
    }
}

params! {
    /// The days of a statement.
    pub struct StatementParams(today: BusinessDay) {
        /// the first day, YYYY-MM-DD, in Argentina
        from: BusinessDay = required("from", day) as String;
        /// the last day, whole; not in the future
        to: BusinessDay = required("to", day) as String;
        => |query| period(today, query, from, to);
    }
}

impl From<StatementParams> for Period {
    fn from(StatementParams { from, to }: StatementParams) -> Self {
        Self {
            first: from,
            last: to,
        }
    }
}

declared! {
    /// an `ETag` that was read before: 304 if the bytes are the same
    IfNoneMatch = Header "If-None-Match" as Option<String>;
}

/// A statement on its way out.
struct Writing {
    source: Source,
    pin: Pin,
    /// `None` once writing has failed.
    form: Option<Box<dyn StatementWriter>>,
    /// The sequence of the next line.
    next: u64,
    begun: bool,
    done: bool,
    /// Whether it takes turns with the other long statements of the realm.
    long: bool,
}

impl Writing {
    fn new((source, long): (&Source, bool), pin: Pin, form: Box<dyn StatementWriter>) -> Self {
        Self {
            source: source.clone(),
            pin,
            form: Some(form),
            next: pin.before + 1,
            begun: false,
            done: false,
            long,
        }
    }

    /// The next bytes, which may be empty; `None` behind the last ones.
    async fn more(&mut self) -> Result<Option<Vec<u8>>, Failure> {
        if self.done {
            return Ok(None);
        }
        let (source, realm) = (&self.source, self.source.realm);
        let turn = source.turn(self.long).await?;
        let mut page = Vec::new();
        if self.next <= self.pin.last {
            let lines = source
                .engine
                .queries()
                .statement_lines(realm, self.pin, self.next, PAGE);
            page = lines.await?;
            let last = page.last().ok_or(Failure::Damaged)?;
            self.next = last.sequence + 1;
        }
        let (begins, ends) = (!self.begun, self.next > self.pin.last);
        let mut form = self.form.take().ok_or(Failure::Bug)?;
        let write = move || {
            let mut out = Vec::new();
            if begins {
                form.head(&mut out);
            }
            for (item, voucher) in page.iter().enumerate() {
                form.line(voucher, &mut out);
                give_way(item);
            }
            if ends {
                form.foot(&mut out);
            }
            (form, out)
        };
        let (form, out) = if self.long {
            source.pool.work(source.permits, write).await?
        } else {
            write()
        };
        drop(turn);
        (self.form, self.begun, self.done) = (Some(form), true, ends);
        Ok(Some(out))
    }
}

/// The result of the first writing: the hash and the number of all bytes, and the bytes themselves if they are few.
struct Written {
    tag: String,
    length: u64,
    kept: Option<Vec<u8>>,
}

async fn written(mut writing: Writing, whole: bool) -> Result<Written, Failure> {
    let mut hash = Context::new(&SHA256);
    let (mut length, mut kept) = (0_u64, Some(Vec::new()));
    while let Some(bytes) = writing.more().await? {
        hash.update(&bytes);
        length += u64::try_from(bytes.len()).map_err(|_| Failure::Bug)?;
        let room = |kept: &Vec<u8>| whole || kept.len() + bytes.len() <= KEPT_MAX;
        kept = kept.filter(room);
        if let Some(kept) = &mut kept {
            kept.extend(bytes);
        }
    }
    let tag = format!("\"{}\"", URL_SAFE_NO_PAD.encode(hash.finish()));
    Ok(Written { tag, length, kept })
}

/// A permit for a statement that takes long to make or to send; no other statement needs one.
fn permit(
    source: &Source,
    pin: Pin,
    format: StatementFormat,
) -> Result<Option<StreamPermit>, ApiError> {
    if format != StatementFormat::Pdf && is_short(pin) {
        return Ok(None);
    }
    source.hooks.streams.permit(source.permits).map(Some)
}

/// Whether one reading gives all lines.
fn is_short(pin: Pin) -> bool {
    usize::try_from(pin.lines()).is_ok_and(|lines| lines <= PAGE)
}

/// The statement of an account as an answer.
async fn answer(
    request: &HttpRequest,
    source: &Source,
    pin: Pin,
    format: StatementFormat,
) -> HandlerResult {
    let permit = permit(source, pin, format)?;
    let (realm, long) = (source.realm, permit.is_some());
    let turn = source.turn(long).await?;
    let statement = source.engine.queries().statement(realm, pin).await?;
    drop(turn);
    let begin = |statement: &Statement| {
        let form = format.begin(realm, statement.clone());
        Writing::new((source, long), pin, form)
    };
    let whole = format == StatementFormat::Pdf || is_short(pin);
    let Written { tag, length, kept } = written(begin(&statement), whole).await?;
    if unchanged(request, &tag) {
        let mut answer = HttpResponse::NotModified();
        answer
            .insert_header((ETAG, tag))
            .insert_header((VARY, "accept"));
        return Ok(answer.finish());
    }
    let mut answer = head(&statement, format, tag);
    if let Some(bytes) = kept {
        return Ok(match permit {
            None => answer.body(bytes),
            Some(permit) => answer.body(SizedStream::new(length, parts(bytes.into(), permit))),
        });
    }
    let bytes = unfold(Some((begin(&statement), permit)), |writing| async {
        let (mut writing, permit) = writing?;
        match writing.more().await {
            Ok(Some(bytes)) => Some((Ok(Bytes::from(bytes)), Some((writing, permit)))),
            Ok(None) => None,
            Err(why) => {
                tracing::warn!(%why, "statement stream aborted");
                Some((Err(why), None))
            }
        }
    });
    Ok(answer.body(SizedStream::new(length, Box::pin(bytes))))
}

/// Sends bytes that keep their permit until the last of them has left.
fn parts(bytes: Bytes, permit: StreamPermit) -> impl Stream<Item = Result<Bytes, Failure>> + Unpin {
    Box::pin(unfold((bytes, permit), async |(mut rest, permit)| {
        let part = rest.split_to(rest.len().min(PART));
        (!part.is_empty()).then_some((Ok(part), (rest, permit)))
    }))
}

fn head(statement: &Statement, format: StatementFormat, tag: String) -> HttpResponseBuilder {
    let mut answer = HttpResponse::Ok();
    answer
        .insert_header((CONTENT_TYPE, format.content_type()))
        .insert_header((ETAG, tag))
        .insert_header((VARY, "accept"));
    if format != StatementFormat::Json {
        let name = file_name(statement.of.cvu, statement.period, format);
        let file = format!("attachment; filename=\"{name}\"");
        answer.insert_header((CONTENT_DISPOSITION, file));
    }
    answer
}
