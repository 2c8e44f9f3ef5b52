//! Reconciliation: the bank's movements of a day, or of some days, next to those of the ledger.

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, get};
use caudal_actors::engine::Queries;
use caudal_actors::engine::lists::{ListCursor, ListPage, Listing};
use caudal_actors::engine::reconciliation::{
    Comparison, RANGE_DAYS_MAX, RangeQuery, RangeTotals, Reconciled, RowKey,
};
use caudal_actors::failure::Failure;
use caudal_http::bodies::body;
use caudal_http::bodies::reconciliation::{ReconciledItem, ReconciliationSummary, item, summary};
use caudal_http::bodies::texts::Day;
use caudal_http::bodies::words::AgreementWord;
use caudal_http::caller::Caller;
use caudal_http::cursors;
use caudal_http::errors::ApiError;
use caudal_http::params::params;
use caudal_http::problems::BankProblems;
use caudal_http::query::{LIMIT_DEFAULT, LIMIT_MAX, Query};
use caudal_http::respond::{self, json};
use caudal_http::rows;
use caudal_http::sheets::columns::RECONCILED;
use caudal_http::words::Mistake;
use caudal_ledger::ids::RealmId;
use caudal_ledger::reconciliation::Agreement;
use caudal_ledger::time::{BusinessDay, Timestamp};
use serde::{Deserialize, Serialize};

body! {
    /// Days of the bank next to the ledger's.
    pub(crate) struct Reconciliation
        by render(realm: RealmId, wanted: &RangeQuery, found: &Comparison)
    {
        => let items = found.items.iter();
        /// The business day; absent where several were asked for.
        fecha?: Option<Day> = (wanted.from == wanted.to).then(|| wanted.from.into());
        /// The first business day.
        from: Day = wanted.from.into();
        /// The last one.
        to: Day = wanted.to.into();
        /// The movements of the page, by day, then by instant.
        items: Vec<ReconciledItem> = items.map(|(day, it)| item(realm, *day, it)).collect();
        /// How many movements there are with the result asked for.
        total: usize = found.counted.total;
        /// The size of the page; null where all movements are shown.
        limit: Option<usize> = wanted.limit;
        /// What to send as `cursor` for the next page; null when there is no more.
        next: Option<String> = found
            .next
            .as_ref()
            .and_then(|next| cursor(wanted, next, found.counted));
        /// The counts and sums of all movements of the days; on later pages as of the first.
        summary: ReconciliationSummary = summary(&found.counted.tally);
    }
}

/// The prefix of cursors: they carry the counts and sums of the walk, too.
const WALK: &str = "r2:";

/// Where a walk continues, its range, and the counts of its first page.
#[derive(Debug, Serialize, Deserialize)]
struct WalkCursor {
    from: String,
    to: String,
    result: Option<String>,
    day: String,
    at: u64,
    id: String,
    counted: RangeTotals,
}

impl WalkCursor {
    fn mark(&self) -> Option<RowKey> {
        let at = Timestamp::from_millis(self.at);
        Some((BusinessDay::parse(&self.day)?, at, self.id.clone()))
    }

    /// The counts of the first page, if they are over the same rows.
    fn counted(&self, wanted: &RangeQuery) -> Option<RangeTotals> {
        let days = [&self.from, &self.to].map(|day| BusinessDay::parse(day));
        let result = wanted.result.map(Agreement::as_str);
        let same = days == [Some(wanted.from), Some(wanted.to)] && self.result.as_deref() == result;
        same.then_some(self.counted)
    }
}

/// The opaque form of the place where the list continues.
fn cursor(wanted: &RangeQuery, (day, at, id): &RowKey, counted: RangeTotals) -> Option<String> {
    let walk = WalkCursor {
        from: wanted.from.to_string(),
        to: wanted.to.to_string(),
        result: wanted.result.map(|result| result.as_str().to_owned()),
        day: day.to_string(),
        at: at.millis(),
        id: id.clone(),
        counted,
    };
    let text = serde_json::to_string(&walk).ok()?;
    Some(cursors::seal(format!("{WALK}{text}").as_bytes()))
}

/// Reads a cursor: the place, and its walk.
fn walk(text: &str) -> Option<(RowKey, WalkCursor)> {
    let bytes = cursors::open(text)?;
    let text = std::str::from_utf8(&bytes).ok()?;
    let walk: WalkCursor = serde_json::from_str(text.strip_prefix(WALK)?).ok()?;
    Some((walk.mark()?, walk))
}

/// Notes days that contradict each other, that are after today, or too many.
fn days(
    query: &mut Query,
    today: BusinessDay,
    named: Option<BusinessDay>,
    from: Option<BusinessDay>,
    to: Option<BusinessDay>,
) {
    let range = [("from", from), ("to", to)];
    for (name, _) in range.into_iter().filter(|(_, day)| day.is_some()) {
        if named.is_some() {
            query.mistake(name, Mistake::Together { other: "date" });
        }
    }
    if to.is_some() && from.is_none() && named.is_none() {
        query.mistake("from", Mistake::Required);
    }
    for (name, day) in range {
        query.not_after(name, day, today);
    }
    let first = named.or(from).unwrap_or(today);
    let last = named.or(to).unwrap_or(today);
    if from.is_some_and(|from| from > last) {
        query.mistake("from", Mistake::After { other: "to" });
    } else if first.days_to(last) >= RANGE_DAYS_MAX {
        let max = RANGE_DAYS_MAX;
        query.mistake("to", Mistake::LongRange { max });
    }
}

/// Reads where the list goes on; nothing is the first page.
fn begin(text: &str) -> Result<Option<(RowKey, WalkCursor)>, Mistake> {
    match text {
        "" => Ok(None),
        text => walk(text).map(Some).ok_or(Mistake::NotACursor),
    }
}

params! {
    /// Which days are compared, and which rows are shown.
    struct ReconciliationParams(today: BusinessDay) {
        /// a business day, YYYY-MM-DD, not in the future; today in Argentina when nothing is said
        date: Option<BusinessDay> = date("date") as Option<String> { format = Date };
        /// the same under its other name
        fecha: Option<BusinessDay> = date("fecha") as Option<String> { format = Date };
        => |query| query.one_day(today, date, fecha);
        /// instead of a day: the first business day of a range of at most 31
        from: Option<BusinessDay> = date("from") as Option<String> { format = Date };
        /// the last business day of the range; today when absent
        to: Option<BusinessDay> = date("to") as Option<String> { format = Date };
        => |query| days(query, today, date.or(fecha), from, to);
        /// only rows with this result
        result: Option<Agreement> =
            choice("result", &Agreement::ALL.map(|result| (result.as_str(), result)))
            as Option<AgreementWord>;
        /// rows of the page; when absent, a single day is answered whole, a range by pages of 50
        limit: Option<u64> = integer("limit", 1, LIMIT_MAX)
            as Option<u32> { minimum = 1, maximum = 200 };
        /// A value of `X-Next-Cursor`.
        cursor: Option<Option<(RowKey, WalkCursor)>> = read("cursor", begin) as Option<String>;
    }
}

/// Reads a range as a list with a page for each day, so that each day is compared once and only one is in memory.
fn by_days(
    realm: RealmId,
    wanted: RangeQuery,
    request_id: String,
) -> impl AsyncFn(Queries<'_>, ListPage) -> Result<Listing<(BusinessDay, Reconciled)>, Failure> {
    async move |queries: Queries<'_>, page: ListPage| {
        let day = page.cursor.map_or(wanted.from, |cursor| {
            Timestamp::from_millis(cursor.number).business_day()
        });
        let of_day = RangeQuery {
            from: day,
            to: day,
            ..wanted.clone()
        };
        let found = queries.reconcile_days(realm, &of_day, &request_id).await?;
        let next = Some(day.next()).filter(|next| *next <= wanted.to);
        Ok(Listing {
            items: found.items,
            next: next.map(|day| ListCursor::from(day.start().millis())),
            ..Listing::default()
        })
    }
}

/// Compares what the bank lists with the ledger, both ways: of one day, or of a range of days by pages.
/// The summary counts all of it, whatever page or result is asked for.
///
/// Each movement has a `result`: where bank and ledger agree, where one of them has nothing, and where
/// amounts differ. Without a day it is today in Argentina.
#[utoipa::path(
    operation_id = "reconcile",
    tag = "Reconciliation",
    params(ReconciliationParams),
    responses((status = 200, content((Reconciliation = "application/json"), (String = "text/csv"), (String = "application/x-ndjson"), (String = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"))), BankProblems)
)]
#[get("/v1/bank/conciliacion")]
pub(crate) async fn of_days(
    request: HttpRequest,
    caller: Caller,
    mut query: Query,
) -> Result<HttpResponse, ApiError> {
    let (queries, realm) = (caller.queries(), caller.realm());
    let today = caller.now().business_day();
    let style = rows::whole(&request, &mut query);
    let sent = ReconciliationParams::read(query, today)?;
    let named = sent.date.or(sent.fecha);
    let from = named.or(sent.from).unwrap_or(today);
    let to = named.or(sent.to).unwrap_or(today);
    let after = sent.cursor.flatten();
    let whole = from == to && after.is_none();
    let limit = sent.limit.or_else(|| (!whole).then_some(LIMIT_DEFAULT));
    let (after, walk) = after.unzip();
    let mut wanted = RangeQuery {
        from,
        to,
        result: sent.result,
        after,
        limit: limit.and_then(|limit| usize::try_from(limit).ok()),
        counted: None,
    };
    wanted.counted = walk.and_then(|walk| walk.counted(&wanted));
    let request_id = &caller.request_id;
    if let Some(style) = style.filter(|_| from != to) {
        wanted.limit = None;
        let days = by_days(realm, wanted, request_id.clone());
        let show = move |(day, it): &_| serde_json::json!(item(realm, *day, it));
        return rows::stream(&caller, style, RECONCILED, rows::FIRST, days, show).await;
    }
    let found = queries.reconcile_days(realm, &wanted, request_id).await?;
    let body = render(realm, &wanted, &found);
    let answer = match style {
        Some(style) => {
            let items = body.items.iter().map(|item| serde_json::json!(item));
            rows::table(style, RECONCILED, items)
        }
        None => json(StatusCode::OK, &body),
    };
    Ok(respond::walked(found.counted.total, body.next, answer))
}
