//! Reconciliation: the bank's movements of a day, or of some days, beside those of the ledger.

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, get};
use caudal_actors::engine::Engine;
use caudal_actors::engine::lists::{Cursor, ListPage, Listing};
use caudal_actors::engine::money::TransferView;
use caudal_actors::engine::reconciliation::{
    Comparison, Counted, Mark, RANGE_DAYS_MAX, Reconciled, Wanted,
};
use caudal_actors::failure::Failure;
use caudal_actors::ports::Way;
use caudal_ledger::balance::Direction;
use caudal_ledger::cases::Parked;
use caudal_ledger::ids::RealmId;
use caudal_ledger::money::Money;
use caudal_ledger::reconciliation::{Agreement, Tally};
use caudal_ledger::time::{BusinessDay, Timestamp};
use caudal_ledger::transfers::BankWord;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::bodies::counterparty::CounterpartyBody;
use crate::bodies::transfers::DecisionBody;
use crate::bodies::words::{AgreementWord, BankWordWord, SuspenseWord, WayWord};
use crate::http::caller::Caller;
use crate::http::cursors;
use crate::http::declared;
use crate::http::errors::ApiError;
use crate::http::problems::BankProblems;
use crate::http::query::{LIMIT_DEFAULT, LIMIT_MAX, Query, day};
use crate::http::respond::{self, json};
use crate::http::rows;
use crate::http::words::Mistake;
use crate::sheets::columns::RECONCILED;

/// The voucher that moved the money in the ledger.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReconciledVoucher {
    /// Its id.
    pub id: String,
    /// ARS with two decimals.
    pub amount: String,
    /// When it was posted.
    pub created_at: String,
}

/// Money that no account could take, and what became of it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
pub struct SuspenseBody {
    /// Its id.
    pub id: String,
    /// Why no account took it: the stable word of the refusal.
    pub reason: String,
    /// Since when it waits, or waited.
    pub at: String,
    /// `waiting`, `returning`, `credited` or `returned`.
    #[schema(value_type = SuspenseWord)]
    pub state: &'static str,
}

/// One movement: the bank's side, the ledger's, or both.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReconciledItem {
    /// The business day in whose reconciliation it is.
    pub date: String,
    /// The bank's own id.
    pub bank_transfer_id: Option<String>,
    /// The id on the rail.
    pub coelsa_id: Option<String>,
    /// `in` or `out`.
    #[schema(value_type = WayWord)]
    pub direction: &'static str,
    /// The CVU.
    pub cvu: String,
    /// The other side.
    pub counterparty: CounterpartyBody,
    /// ARS with two decimals: the bank's, or the ledger's where the bank has none.
    pub amount: String,
    /// The bank's word: `completed`, `failed`, `in_progress` or `unknown`; null when it has none.
    #[schema(value_type = Option<BankWordWord>)]
    pub status: Option<&'static str>,
    /// When, by the bank's clock.
    pub bank_at: Option<String>,
    /// The voucher in the ledger.
    pub voucher: Option<ReconciledVoucher>,
    /// The transfer that it belongs to.
    pub transfer_id: Option<String>,
    /// Whether it is a transfer that came back.
    pub reversal: bool,
    /// Where it waits, or waited, when no account could take it.
    pub suspense: Option<SuspenseBody>,
    /// `matched`, `missing_in_ledger`, `missing_at_bank`, `amount_differs`, `pending` (one side is
    /// not final), `decided` (a person ended it) or `suspense` (no account could take it; a person decides).
    #[schema(value_type = AgreementWord)]
    pub result: &'static str,
    /// Who ended it and why, when it was a person.
    pub decision: Option<DecisionBody>,
    /// Whether the bank's last word is not what the ledger has ended it with.
    pub contradicted: bool,
}

/// The counts and sums of all days asked for.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReconciliationSummary {
    /// Bank and ledger agree.
    pub matched: u64,
    /// The bank has it, the ledger has not.
    pub missing_in_ledger: u64,
    /// The ledger has it, the bank has not.
    pub missing_at_bank: u64,
    /// Both have it, with different amounts.
    pub amount_differs: u64,
    /// One side is not final; in no other count, and in no sum.
    pub pending: u64,
    /// A person ended it.
    pub decided: u64,
    /// It arrived, no account could take it, and it waits for a person.
    pub suspense: u64,
    /// The bank has ended it otherwise than the ledger; these are in their other counts too.
    pub contradicted: u64,
    /// What arrived at the bank: its completed movements, without those that are pending here.
    pub amount_in: String,
    /// What left at the bank: its completed movements, without those that are pending here.
    pub amount_out: String,
}

/// Days of the bank beside the ledger's.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
pub struct Reconciliation {
    /// The business day; absent where several were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, format = Date)]
    pub fecha: Option<String>,
    /// The first business day.
    #[schema(format = Date)]
    pub from: String,
    /// The last one.
    #[schema(format = Date)]
    pub to: String,
    /// The movements of the page, by day, then by instant.
    pub items: Vec<ReconciledItem>,
    /// How many movements there are with the result asked for.
    pub total: usize,
    /// The size of the page; null where all movements are shown.
    pub limit: Option<usize>,
    /// What to send as `cursor` for the next page; null when there is no more.
    pub next: Option<String>,
    /// The counts and sums of all movements of the days; on later pages as of the first.
    pub summary: ReconciliationSummary,
}

const fn way(way: Way) -> &'static str {
    match way {
        Way::In => "in",
        Way::Out => "out",
    }
}

const fn word(word: &BankWord) -> &'static str {
    match word {
        BankWord::Completed => "completed",
        BankWord::Failed { .. } => "failed",
        BankWord::InProgress => "in_progress",
        BankWord::Lost => "unknown",
    }
}

fn transfer_id(realm: RealmId, view: &TransferView) -> String {
    view.transfer.id(realm, view.account).to_string()
}

/// The direction, CVU, amount and other side of a movement, as the ledger has them.
fn by_ledger(found: &Reconciled) -> (Way, String, String, CounterpartyBody) {
    let transfer = found.transfer.as_ref().map(|view| &view.transfer);
    let other = transfer.map(|transfer| transfer.counterparty().into());
    if let Some(placed) = &found.voucher {
        let voucher = &placed.voucher;
        let way = match voucher.direction {
            Direction::Credit | Direction::Release => Way::In,
            Direction::Debit | Direction::Hold | Direction::ConfirmHold => Way::Out,
        };
        let (cvu, amount) = (voucher.cvu.to_string(), voucher.amount.to_string());
        let named = voucher.other_side().map(CounterpartyBody::from);
        return (way, cvu, amount, named.or(other).unwrap_or_default());
    }
    if let Some(parked) = &found.suspense {
        // Without the bank's side, only the money that was returned is known.
        let arrived = &parked.suspense.cash_in;
        let (cvu, amount) = (arrived.cvu.to_string(), arrived.amount.to_string());
        return (Way::Out, cvu, amount, arrived.counterparty().into());
    }
    let cvu = transfer.map(|transfer| transfer.from.to_string());
    let amount = transfer.map_or(Money::ZERO, |transfer| transfer.amount.money());
    let other = other.unwrap_or_default();
    (Way::Out, cvu.unwrap_or_default(), amount.to_string(), other)
}

/// Renders a movement of a realm and a day.
pub fn item(realm: RealmId, day: BusinessDay, found: &Reconciled) -> ReconciledItem {
    let bank = found.bank.as_ref();
    let transfer = found.transfer.as_ref();
    let returned = found.suspense.as_ref().and_then(Parked::returned);
    let (direction, cvu, amount, counterparty) = match bank {
        Some(bank) => (
            bank.way,
            bank.cvu.clone(),
            bank.amount.to_string(),
            CounterpartyBody {
                coelsa_id: bank.coelsa_id.clone(),
                ..bank.counterparty.clone().into()
            },
        ),
        None => by_ledger(found),
    };
    let voucher = found.voucher.as_ref().map(|placed| ReconciledVoucher {
        id: placed.voucher.id(realm, placed.account).to_string(),
        amount: placed.voucher.amount.to_string(),
        created_at: placed.voucher.at.to_string(),
    });
    ReconciledItem {
        date: day.to_string(),
        bank_transfer_id: bank
            .map(|bank| bank.bank_id.clone())
            .or_else(|| transfer.and_then(|view| view.transfer.bank_id.clone()))
            .or_else(|| returned.and_then(|returned| returned.bank_id.clone())),
        coelsa_id: bank
            .and_then(|bank| bank.coelsa_id.clone())
            .or_else(|| transfer.and_then(|view| view.transfer.coelsa_id.clone()))
            .or_else(|| returned.and_then(|returned| returned.coelsa_id.clone())),
        direction: way(direction),
        cvu,
        counterparty,
        amount,
        status: bank.map(|bank| word(&bank.word)),
        bank_at: bank.map(|bank| bank.at.to_string()),
        voucher,
        transfer_id: transfer.map(|view| transfer_id(realm, view)),
        reversal: bank.is_some_and(|bank| bank.reversal),
        suspense: found.suspense.as_ref().map(|parked| SuspenseBody {
            id: parked.id(realm).to_string(),
            reason: parked.suspense.reason.clone(),
            at: parked.since.to_string(),
            state: parked.state.as_str(),
        }),
        result: found.judged.agreement.as_str(),
        decision: found.decision().map(DecisionBody::from),
        contradicted: found.judged.contradicted,
    }
}

/// Renders the counts and sums of some days.
pub fn summary(tally: &Tally) -> ReconciliationSummary {
    ReconciliationSummary {
        matched: tally.of(Agreement::Matched),
        missing_in_ledger: tally.of(Agreement::MissingInLedger),
        missing_at_bank: tally.of(Agreement::MissingAtBank),
        amount_differs: tally.of(Agreement::AmountDiffers),
        pending: tally.of(Agreement::Pending),
        decided: tally.of(Agreement::Decided),
        suspense: tally.of(Agreement::Suspense),
        contradicted: tally.contradicted,
        amount_in: tally.amount_in.to_string(),
        amount_out: tally.amount_out.to_string(),
    }
}

fn render(realm: RealmId, wanted: &Wanted, found: &Comparison) -> Reconciliation {
    let items = found.items.iter();
    Reconciliation {
        fecha: (wanted.from == wanted.to).then(|| wanted.from.to_string()),
        from: wanted.from.to_string(),
        to: wanted.to.to_string(),
        items: items.map(|(day, it)| item(realm, *day, it)).collect(),
        total: found.counted.total,
        limit: wanted.limit,
        next: found
            .next
            .as_ref()
            .and_then(|next| cursor(wanted, next, found.counted)),
        summary: summary(&found.counted.tally),
    }
}

/// The prefix of cursors: they carry the counts and sums of the walk, too.
const WALK: &str = "r2:";

/// Where a walk continues, its range, and the counts of its first page.
#[derive(Serialize, Deserialize)]
struct Walk {
    from: String,
    to: String,
    result: Option<String>,
    day: String,
    at: u64,
    id: String,
    counted: Counted,
}

impl Walk {
    fn mark(&self) -> Option<Mark> {
        let at = Timestamp::from_millis(self.at);
        Some((BusinessDay::parse(&self.day)?, at, self.id.clone()))
    }

    /// The counts of the first page, if they are over the same rows.
    fn counted(&self, wanted: &Wanted) -> Option<Counted> {
        let days = [&self.from, &self.to].map(|day| BusinessDay::parse(day));
        let result = wanted.result.map(Agreement::as_str);
        let same = days == [Some(wanted.from), Some(wanted.to)] && self.result.as_deref() == result;
        same.then_some(self.counted)
    }
}

/// The opaque form of the place where the list continues.
fn cursor(wanted: &Wanted, (day, at, id): &Mark, counted: Counted) -> Option<String> {
    let walk = Walk {
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
fn walk(text: &str) -> Option<(Mark, Walk)> {
    let bytes = cursors::open(text)?;
    let text = std::str::from_utf8(&bytes).ok()?;
    let walk: Walk = serde_json::from_str(text.strip_prefix(WALK)?).ok()?;
    Some((walk.mark()?, walk))
}

/// The days that a query asks for: a single one, or a range; today when it names none.
fn days(query: &mut Query, today: BusinessDay) -> (BusinessDay, BusinessDay) {
    let named = query.past_day(today, day);
    let (from, to) = (query.date("from"), query.date("to"));
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
        if day.is_some_and(|day| day > today) {
            query.mistake(name, Mistake::InTheFuture);
        }
    }
    let first = named.or(from).unwrap_or(today);
    let last = named.or(to).unwrap_or(today);
    if from.is_some_and(|from| from > last) {
        query.mistake("from", Mistake::After { other: "to" });
    } else if first.days_to(last) >= RANGE_DAYS_MAX {
        let max = RANGE_DAYS_MAX;
        query.mistake("to", Mistake::LongRange { max });
    }
    (first, last)
}

/// Reads a range as a list with a page for each day, so that each day is compared once and only one is in memory.
fn by_days(
    realm: RealmId,
    wanted: Wanted,
    request_id: String,
) -> impl AsyncFn(&Engine, ListPage) -> Result<Listing<(BusinessDay, Reconciled)>, Failure> {
    async move |engine: &Engine, page: ListPage| {
        let day = page.cursor.map_or(wanted.from, |cursor| {
            Timestamp::from_millis(cursor.number).business_day()
        });
        let of_day = Wanted {
            from: day,
            to: day,
            ..wanted.clone()
        };
        let found = engine.reconcile_days(realm, &of_day, &request_id).await?;
        let next = Some(day.next()).filter(|next| *next <= wanted.to);
        Ok(Listing {
            items: found.items,
            next: next.map(|day| Cursor::from(day.start().millis())),
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
    params(
        ("date" = Option<String>, Query, description = "a business day, YYYY-MM-DD, not in the future; today in Argentina when nothing is said"),
        ("fecha" = Option<String>, Query, description = "the same under its other name"),
        ("from" = Option<String>, Query, format = Date, description = "instead of a day: the first business day of a range of at most 31"),
        ("to" = Option<String>, Query, format = Date, description = "the last business day of the range; today when absent"),
        ("result" = Option<AgreementWord>, Query, description = "only rows with this result"),
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 200, description = "rows of the page; when absent, a single day is answered whole, a range by pages of 50"),
        declared::Cursor
    ),
    responses((status = 200, content((Reconciliation = "application/json"), (String = "text/csv"), (String = "application/x-ndjson"))), BankProblems)
)]
#[get("/v1/bank/conciliacion")]
pub async fn of_days(
    request: HttpRequest,
    caller: Caller,
    mut query: Query,
) -> Result<HttpResponse, ApiError> {
    let (engine, realm) = (caller.engine(), caller.realm());
    let (from, to) = days(&mut query, engine.now().business_day());
    let results = Agreement::ALL.map(|result| (result.as_str(), result));
    let result = query.choice("result", &results);
    let style = rows::whole(&request, &mut query);
    let limit = query.integer("limit", 1, LIMIT_MAX);
    let after = query.read("cursor", |text| match text {
        "" => Ok(None),
        text => walk(text).map(Some).ok_or(Mistake::NotACursor),
    });
    query.done()?;
    let whole = from == to && after.is_none();
    let limit = limit.or_else(|| (!whole).then_some(LIMIT_DEFAULT));
    let (after, walk) = after.flatten().unzip();
    let mut wanted = Wanted {
        from,
        to,
        result,
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
        return rows::stream(&caller, (style, RECONCILED), rows::FIRST, days, show).await;
    }
    let found = engine.reconcile_days(realm, &wanted, request_id).await?;
    let body = render(realm, &wanted, &found);
    let answer = match style {
        Some(style) => {
            let items = body.items.iter().map(|item| serde_json::json!(item));
            rows::table((style, RECONCILED), items)
        }
        None => json(StatusCode::OK, &body),
    };
    Ok(respond::walked(found.counted.total, body.next, answer))
}
