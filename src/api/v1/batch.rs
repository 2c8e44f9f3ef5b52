//! Many adjustments at once, each with its own result, or all or nothing.
//!
//! **Shape.** The body is split into its items without copying, each item is read by itself, and the answer is
//! written straight from the vouchers: with the JSON work of a single posting for each item, that work would be most
//! of the cost of a batch.
//!
//! **Bounds.** [`BATCH_BYTES_MAX`] and [`ITEMS_MAX`].

pub(crate) mod items;

use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::Arc;

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, post, web};
use caudal_actors::accounts::AccountVoucher;
use caudal_actors::accounts::BatchMode;
use caudal_actors::engine::money::ItemOutcome;
use caudal_actors::failure::Failure;
use caudal_actors::in_flight;
use caudal_actors::realms::Batch;
use caudal_actors::reply::{Answered, Given};
use caudal_http::bodies::counterparty::CounterpartyBody;
use caudal_http::bodies::vouchers::VoucherBody;
use caudal_http::bodies::words::BatchStatusWord;
use caudal_http::body::{Fingerprint, listed};
use caudal_http::bytes::JsonBytes;
use caudal_http::caller::{Caller, too_many};
use caudal_http::catalogue::ErrorCode;
use caudal_http::current::{self, Language};
use caudal_http::declared;
use caudal_http::errors::{ApiError, FieldError};
use caudal_http::params::params;
use caudal_http::pool::{INLINE_BYTES, INLINE_ITEMS, give_way};
use caudal_http::problems::Problems;
use caudal_http::query::Query;
use caudal_http::respond::{IDEMPOTENCY_KEY, give, raw, requester_for};
use caudal_http::text;
use caudal_http::words::{Refusal, Say as _};
use caudal_ledger::ids::RealmId;
use caudal_ledger::time::Timestamp;
use caudal_ledger::vouchers::Outcome;
use serde::ser::{SerializeSeq as _, SerializeStruct as _};
use serde::{Serialize, Serializer};
use utoipa::ToSchema;

use items::SentBatch;

/// The largest body of a batch, in bytes.
pub(crate) const BATCH_BYTES_MAX: usize = 1024 * 1024;
/// The most items of a batch.
pub(crate) const ITEMS_MAX: usize = in_flight::BATCH_ITEMS_MAX;
/// The bytes that are reserved for an answer before it is written.
const ANSWER_BYTES: usize = 64 * 1024;

/// The answer to a batch.
#[derive(ToSchema)]
#[expect(dead_code, reason = "what the document shows is never made")]
pub(crate) struct BatchBody {
    /// One result for each item, in the order sent.
    results: Vec<BatchResult<'static>>,
    /// How many of each.
    summary: BatchSummary,
}

/// What became of an item.
#[derive(Serialize, ToSchema)]
struct BatchResult<'a> {
    /// Its place in the batch, from 0.
    index: usize,
    /// `recorded`, `replayed`, `rejected`, or, in an atomic batch that is refused, `not_posted`.
    #[schema(value_type = BatchStatusWord)]
    status: &'static str,
    /// The voucher, if it was recorded or is replayed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<VoucherBody>, nullable = false)]
    voucher: Option<WrittenVoucher<'a>>,
    /// Why it was rejected.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    error: Option<BatchError<'a>>,
}

/// Why an item was rejected: as in the body of an error.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct BatchError<'a> {
    /// A stable word that clients may switch on.
    #[schema(value_type = ErrorCode)]
    code: &'static str,
    /// A sentence for people.
    message: String,
    /// The fields that are wrong.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    errors: Vec<FieldError>,
    /// More about a refusal, by code.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Object, required = false)]
    details: Option<&'a serde_json::Value>,
}

impl<'a> BatchError<'a> {
    fn of(error: &'a ApiError, language: Language) -> Self {
        Self {
            code: error.code(),
            message: error.text(language),
            errors: error.fields(language),
            details: error.details.as_deref(),
        }
    }
}

/// How many items of a batch went which way.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct BatchSummary {
    /// New vouchers.
    recorded: usize,
    /// Vouchers that were there already.
    replayed: usize,
    /// Refused.
    rejected: usize,
    /// Not posted because others of an atomic batch are refused.
    not_posted: usize,
}

/// The facts about a batch before its items are posted.
struct BatchPlan {
    realm: RealmId,
    atomic: bool,
    total: usize,
    /// The items that cannot be read, by their place in the batch.
    unreadable: BTreeMap<usize, ApiError>,
    request: current::Request,
}

/// The outcome of a batch, ready to be written.
struct Report<'a> {
    plan: &'a BatchPlan,
    /// Of the readable items, in their order: all of them, or none when none was tried.
    outcomes: &'a [ItemOutcome],
}

impl Report<'_> {
    fn summary(&self) -> BatchSummary {
        let count = |wanted: fn(&ItemOutcome) -> bool| {
            self.outcomes
                .iter()
                .filter(|outcome| wanted(outcome))
                .count()
        };
        let recorded = count(|outcome| matches!(outcome, Ok(Outcome::Recorded(_))));
        let replayed = count(|outcome| matches!(outcome, Ok(Outcome::Replayed(_))));
        let unreadable = self.plan.unreadable.len();
        let rejected = unreadable.strict_add(count(Result::is_err));
        let refused = self.is_refused();
        // In a refused batch, items that would have been recorded or were not even tried are not posted.
        let known = replayed.saturating_add(rejected);
        BatchSummary {
            recorded: if refused { 0 } else { recorded },
            replayed,
            rejected,
            not_posted: if refused {
                self.plan.total.saturating_sub(known)
            } else {
                0
            },
        }
    }

    /// Whether nothing was posted because the batch is atomic and some of it could not be.
    fn is_refused(&self) -> bool {
        self.plan.atomic
            && (!self.plan.unreadable.is_empty() || self.outcomes.iter().any(Result::is_err))
    }

    /// The refusal of an atomic batch.
    fn refusal(&self) -> ApiError {
        let BatchSummary { rejected, .. } = self.summary();
        let total = self.plan.total;
        ApiError {
            details: serde_json::to_value(self).ok().map(Box::new),
            ..(Refusal::BatchRefused {
                wrong: rejected,
                total,
            })
            .into()
        }
    }

    /// The whole answer.
    fn answer(&self) -> (StatusCode, String) {
        if self.is_refused() {
            let refusal = self.refusal();
            let body = refusal.body(&self.plan.request, caudal_http::clock::now());
            return (refusal.status, text::json(&body));
        }
        (StatusCode::OK, text::long_json(self, ANSWER_BYTES))
    }
}

impl Serialize for Report<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut body = serializer.serialize_struct("Report", 2)?;
        body.serialize_field("results", &Results(self))?;
        body.serialize_field("summary", &self.summary())?;
        body.end()
    }
}

struct Results<'a>(&'a Report<'a>);

impl Serialize for Results<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Report { plan, outcomes } = *self.0;
        let refused = self.0.is_refused();
        let mut outcomes = outcomes.iter();
        let mut stamp = Stamp::default();
        let mut rows = serializer.serialize_seq(Some(plan.total))?;
        for index in 0..plan.total {
            give_way(index);
            let error = match plan.unreadable.get(&index) {
                Some(error) => error,
                None => match outcomes.next() {
                    Some(Ok(outcome)) => {
                        let at = stamp.of(outcome);
                        let row = written(plan.realm, index, outcome, at, refused);
                        rows.serialize_element(&row)?;
                        continue;
                    }
                    Some(Err(failure)) => &ApiError::from(failure),
                    None => {
                        rows.serialize_element(&not_posted(index))?;
                        continue;
                    }
                },
            };
            rows.serialize_element(&BatchResult {
                index,
                status: "rejected",
                voucher: None,
                error: Some(BatchError::of(error, plan.request.language)),
            })?;
        }
        rows.end()
    }
}

/// The result of an item that was posted, or would have been if the batch were not refused.
fn written<'a>(
    realm: RealmId,
    index: usize,
    outcome: &'a Outcome<AccountVoucher>,
    at: &'a str,
    refused: bool,
) -> BatchResult<'a> {
    let (status, placed) = match outcome {
        Outcome::Recorded(_) if refused => return not_posted(index),
        Outcome::Recorded(placed) => ("recorded", placed),
        Outcome::Replayed(placed) => ("replayed", placed),
    };
    BatchResult {
        index,
        status,
        voucher: Some(WrittenVoucher { realm, placed, at }),
        error: None,
    }
}

/// The result of a good item in a batch that is refused because of other items.
const fn not_posted<'a>(index: usize) -> BatchResult<'a> {
    BatchResult {
        index,
        status: "not_posted",
        voucher: None,
        error: None,
    }
}

/// A voucher that is written without being copied: the same text as that of a [`VoucherBody`].
struct WrittenVoucher<'a> {
    realm: RealmId,
    placed: &'a AccountVoucher,
    /// When the voucher was posted.
    at: &'a str,
}

/// The instant of the last voucher, as text: most vouchers of a batch have the same one.
#[derive(Default)]
struct Stamp {
    at: Option<Timestamp>,
    text: String,
}

impl Stamp {
    fn of(&mut self, outcome: &Outcome<AccountVoucher>) -> &str {
        let (Outcome::Recorded(placed) | Outcome::Replayed(placed)) = outcome;
        let at = placed.voucher.at;
        if self.at != Some(at) {
            self.at = Some(at);
            self.text = at.to_string();
        }
        &self.text
    }
}

/// Any value that can be displayed, as a string.
struct Text<T>(T);

impl<T: Display> Serialize for Text<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl Serialize for WrittenVoucher<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let AccountVoucher { account, voucher } = self.placed;
        let id = voucher.id(self.realm, *account);
        let mut body = serializer.serialize_struct("Voucher", 16)?;
        body.serialize_field("id", &Text(id))?;
        body.serialize_field("cvu", voucher.cvu.as_str())?;
        body.serialize_field("sequence", &voucher.sequence)?;
        body.serialize_field("ledgerType", voucher.direction.as_str())?;
        body.serialize_field("amount", &Text(voucher.amount))?;
        body.serialize_field("availableAfter", &Text(voucher.after.available))?;
        body.serialize_field("heldAfter", &Text(voucher.after.held))?;
        body.serialize_field("totalAfter", &Text(voucher.after.total()))?;
        body.serialize_field("voucherTypeCode", voucher.type_code.as_str())?;
        body.serialize_field("voucherTypeName", &voucher.type_name)?;
        let external_id = voucher.external_id.as_ref().map(|id| id.as_str());
        body.serialize_field("idExterno", &external_id)?;
        body.serialize_field("referenceType", voucher.reference_type.as_str())?;
        match &voucher.reference_id {
            Some(reference) => body.serialize_field("referenceId", reference)?,
            None => body.serialize_field("referenceId", &Text(id))?,
        }
        body.serialize_field("description", &voucher.description)?;
        let other = voucher.other_side().map(CounterpartyBody::from);
        body.serialize_field("counterparty", &other)?;
        if let Some(reverses) = voucher.reverses(self.realm, *account) {
            body.serialize_field("reverses", &Text(reverses))?;
        }
        if let Some(details) = &voucher.details {
            if let Some(relates_to) = &details.relates_to {
                body.serialize_field("relatesTo", relates_to)?;
            }
            if !details.metadata.is_empty() {
                body.serialize_field("metadata", &details.metadata)?;
            }
        }
        body.serialize_field("createdAt", self.at)?;
        body.end()
    }
}

params! {
    /// Whether a batch is only to be judged.
    struct BatchParams {
        /// answer what each item would get, post nothing
        dry_run: bool = flag("dryRun") as Option<bool>;
    }
}

/// Posts up to 10 000 adjustment vouchers; the answer has one result for each, in the order sent.
///
/// Each item is posted, replayed or rejected by itself; with `mode: atomic` all are posted or none. Up to 1
/// MiB. It counts its items in what the realm may have in flight (429 `too_many_in_flight`), at most half of that.
#[utoipa::path(
    operation_id = "createComprobantes",
    tag = "Vouchers",
    params(
        declared::IdempotencyKey,
        BatchParams
    ),
    request_body(content = items::Batch<'_>, description = "at most 1 MiB"),
    responses((status = 200, body = BatchBody), Problems)
)]
#[post("/v1/comprobantes/batch")]
pub(crate) async fn post(
    request: HttpRequest,
    caller: Caller,
    query: Query,
    body: JsonBytes<BATCH_BYTES_MAX>,
) -> Result<HttpResponse, ApiError> {
    let BatchParams { dry_run } = BatchParams::read(query)?;
    let (sent, fingerprint) = read(&request, &caller, body.0).await?;
    let SentBatch {
        atomic,
        orders,
        unreadable,
    } = sent?;
    let plan = Arc::new(BatchPlan {
        realm: caller.realm(),
        atomic,
        total: orders.len().saturating_add(unreadable.len()),
        unreadable,
        request: current::request(),
    });
    let none_to_try = orders.is_empty() || (atomic && !plan.unreadable.is_empty());
    if none_to_try {
        // Like any malformed request: nothing is done, and no idempotency key is used.
        let (plan, outcomes) = (&*plan, &[]);
        let (status, text) = Report { plan, outcomes }.answer();
        return Ok(raw(status, text));
    }
    let shown = Arc::clone(&plan);
    let requester = requester_for(
        &request,
        &caller,
        || fingerprint.unwrap_or_else(|| Ok(Fingerprint::default())),
        |_| false,
        move |outcomes: &Vec<ItemOutcome>| {
            let plan = &*shown;
            Report { plan, outcomes }.answer()
        },
    )?;
    let engine = caller.engine();
    let mode = BatchMode { atomic, dry_run };
    let answered = engine
        .ledger()
        .order(
            plan.realm,
            Batch {
                items: orders,
                mode,
            },
            requester,
        )
        .await;
    show(&caller, plan, answered).await
}

/// Reads a batch, and takes its fingerprint if the request has a key; a long batch off the thread that serves. A batch
/// that is beyond the limit is refused before any of this work.
async fn read(
    request: &HttpRequest,
    caller: &Caller,
    body: web::Bytes,
) -> Result<
    (
        Result<SentBatch, ApiError>,
        Option<Result<Fingerprint, ApiError>>,
    ),
    ApiError,
> {
    let weighed = caller.admitted.weigh(listed::count(&body));
    weighed.map_err(too_many)?;
    let keyed = request.headers().contains_key(&IDEMPOTENCY_KEY);
    let long = body.len() > INLINE_BYTES;
    let work = move || {
        let fingerprint = keyed.then(|| items::fingerprint(&body));
        (items::read(&body), fingerprint)
    };
    Ok(if long {
        caller.app.pool.work(caller.realm(), work).await?
    } else {
        work()
    })
}

/// Writes the outcome of a batch; a long one off the thread that serves.
async fn show(
    caller: &Caller,
    plan: Arc<BatchPlan>,
    answered: Answered<Vec<ItemOutcome>>,
) -> Result<HttpResponse, ApiError> {
    let outcomes = match answered {
        Ok(Given::Value(outcomes)) => outcomes,
        kept => return give(kept, |_| raw(StatusCode::OK, String::new())),
    };
    let long = outcomes.len() > INLINE_ITEMS;
    let work = move || {
        let (plan, outcomes) = (&*plan, &outcomes);
        Report { plan, outcomes }.answer()
    };
    let (status, text) = if long {
        // The batch is done, but a client that gets no answer does not learn that.

        let written = caller.app.pool.work(caller.realm(), work).await;
        written.map_err(|_| Failure::OutcomeUnknown)?
    } else {
        work()
    };
    Ok(raw(status, text))
}

#[cfg(test)]
mod tests;
