//! Treasury of the native family: the snapshot, and the position of each client.
//!
//! A position is read from disk, like the snapshot, and so agrees with it; the movements and the balance of a day are
//! those of the account.

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, get, web};
use caudal_actors::engine::Engine;
use caudal_actors::engine::lists::ListPage;
use caudal_actors::engine::treasury::{Cut, Position, PositionFilter, Silence, Snapshot};
use caudal_actors::ports::{BankError, Collector};
use caudal_ledger::time::{BusinessDay, Timestamp};
use serde::Serialize;
use serde_json::json;
use utoipa::ToSchema;

use super::balances::HistoricalBalance;
use super::pages::page;
use super::{balances, target, vouchers};
use crate::bodies::vouchers::Movement;
use crate::bodies::words::{AccountStatusWord, CurrencyWord, SilenceWord};
use crate::http::caller::Caller;
use crate::http::declared;
use crate::http::errors::ApiError;
use crate::http::params::{PageParams, PeriodParams};
use crate::http::problems::Problems;
use crate::http::query::Query;
use crate::http::respond::{json as whole_json, paged};
use crate::http::rows;
use crate::http::words::Mistake;
use crate::sheets::columns::{POSITIONS, TREASURY};

type Answer = Result<HttpResponse, ApiError>;

/// The account at the bank that has the money of all clients.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
pub struct CollectorBody {
    /// Its CBU.
    pub cbu: String,
    /// The name of its bank.
    pub bank: String,
}

/// Why the bank's balance is not known.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BankSilence {
    /// `bank_refused`, `bank_failed`, `bank_timeout`, `bank_not_yet`, `bank_not_set`, `bank_not_kept`
    /// (of a past day), or `collector_shared`: the collector account is another realm's as well.
    #[schema(value_type = SilenceWord)]
    pub code: &'static str,
    /// A sentence for people.
    pub message: &'static str,
    /// The bank's status, when it answered.
    pub bank_status: Option<u16>,
}

/// What belongs to clients.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
pub struct ClientFunds {
    /// What they can spend.
    pub available: String,
    /// What is set apart.
    pub held: String,
    /// The sum of both.
    pub total: String,
}

/// How many accounts are in which state.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
pub struct AccountCounts {
    /// Active.
    pub active: u64,
    /// Suspended.
    pub suspended: u64,
    /// Closed.
    pub closed: u64,
}

/// Money between bank and ledger.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
pub struct InTransit {
    /// Transfers that wait for the bank's word; the clients' funds still hold them.
    pub outgoing: String,
    /// What arrived and no account could take.
    pub incoming: String,
}

/// The treasury of the realm.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Treasury {
    /// When it was taken; of a past day, the end of that day.
    pub as_of: String,
    /// The business day that was asked for; absent for now.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub date: Option<String>,
    /// The vouchers of the realm that it counts: the ledger's side is as of exactly these.
    pub sequence: u64,
    /// `ARS`.
    #[schema(value_type = CurrencyWord)]
    pub currency: &'static str,
    /// The account that really holds the money.
    pub collector: CollectorBody,
    /// What it has; null when the bank is away.
    pub bank_balance: Option<String>,
    /// When the bank read it.
    pub bank_as_of: Option<String>,
    /// Why it is not known.
    pub bank_error: Option<BankSilence>,
    /// What belongs to clients.
    pub client_funds: ClientFunds,
    /// The accounts with a CVU; null for a past day.
    pub accounts: Option<AccountCounts>,
    /// Money between bank and ledger; null for a past day.
    pub in_transit: Option<InTransit>,
    /// Fees and their tax taken from clients so far; they stay on the collector account until the
    /// PSP moves them. Null for a past day.
    pub psp_fees: Option<String>,
    /// `bankBalance` less `clientFunds.total`; may be negative, and blocks nothing. Null when the
    /// bank is away.
    pub free_balance: Option<String>,
    /// `bankBalance` by `clientFunds.total`, four decimals, rounded down; null when nothing is owed.
    pub coverage_ratio: Option<String>,
    /// Whether the collector account has all that is owed; null when the bank is away.
    pub covered: Option<bool>,
}

fn silence(why: &Silence) -> BankSilence {
    let (code, message, bank_status) = match why {
        Silence::Shared => (
            "collector_shared",
            "the collector account is another realm's as well; nobody can say whose its money is",
            None,
        ),
        Silence::NoBank => ("bank_not_set", "there is no bank that could be asked", None),
        Silence::NotYet => ("bank_not_yet", "the bank has not answered yet", None),
        Silence::Error(BankError::Refused(refusal)) => (
            "bank_refused",
            "the bank refused to tell the balance",
            Some(refusal.status),
        ),
        Silence::Error(BankError::Failed { status, .. }) => {
            ("bank_failed", "the bank failed", *status)
        }
        Silence::Error(BankError::TimedOut) => {
            ("bank_timeout", "the bank did not answer in time", None)
        }
    };
    BankSilence {
        code,
        message,
        bank_status,
    }
}

impl From<&Snapshot> for Treasury {
    fn from(snapshot: &Snapshot) -> Self {
        let totals = &snapshot.totals;
        let (bank, coverage) = (snapshot.bank.as_ref(), snapshot.coverage());
        let ratio = coverage.and_then(|coverage| coverage.ratio);
        Self {
            as_of: snapshot.as_of.to_string(),
            date: None,
            sequence: totals.sequence,
            currency: "ARS",
            collector: CollectorBody {
                cbu: snapshot.collector.cbu.clone(),
                bank: snapshot.collector.bank.clone(),
            },
            bank_balance: bank.ok().map(|(balance, _)| balance.to_string()),
            bank_as_of: bank.ok().map(|(_, at)| at.to_string()),
            bank_error: bank.err().map(silence),
            client_funds: ClientFunds {
                available: totals.available.to_string(),
                held: totals.held.to_string(),
                total: totals.owed().to_string(),
            },
            accounts: Some(AccountCounts {
                active: totals.census.active,
                suspended: totals.census.suspended,
                closed: totals.census.closed,
            }),
            in_transit: Some(InTransit {
                outgoing: totals.outgoing.to_string(),
                incoming: totals.incoming.to_string(),
            }),
            psp_fees: Some(totals.fees.to_string()),
            free_balance: coverage.map(|coverage| coverage.free.to_string()),
            coverage_ratio: ratio.map(|ratio| ratio.to_string()),
            covered: coverage.map(|coverage| coverage.covered),
        }
    }
}

impl Treasury {
    /// The ledger's side at the end of a past day.
    fn past(cut: &Cut, day: BusinessDay, collector: Collector) -> Self {
        Self {
            as_of: cut.at.to_string(),
            date: Some(day.to_string()),
            sequence: cut.sequence,
            currency: "ARS",
            collector: CollectorBody {
                cbu: collector.cbu,
                bank: collector.bank,
            },
            bank_balance: None,
            bank_as_of: None,
            bank_error: Some(BankSilence {
                code: "bank_not_kept",
                message: "the bank tells its balance of now alone, and that of a past day is not kept",
                bank_status: None,
            }),
            client_funds: cut.into(),
            accounts: None,
            in_transit: None,
            psp_fees: None,
            free_balance: None,
            coverage_ratio: None,
            covered: None,
        }
    }
}

impl From<&Cut> for ClientFunds {
    fn from(cut: &Cut) -> Self {
        Self {
            available: cut.available.to_string(),
            held: cut.held.to_string(),
            total: cut.owed().to_string(),
        }
    }
}

/// What a client has.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Position)]
pub struct PositionBody {
    /// The CVU.
    pub cvu: Option<String>,
    /// Its alias.
    pub alias: Option<String>,
    /// The id of its wallet account.
    pub wallet_account_id: u64,
    /// The holder's name.
    pub holder_name: String,
    /// The holder's CUIT.
    pub cuit: String,
    /// `active`, `suspended` or `closed`.
    #[schema(value_type = AccountStatusWord)]
    pub status: &'static str,
    /// What can be spent.
    pub available: String,
    /// What is set apart.
    pub held: String,
    /// The sum of both.
    pub total: String,
    /// When it last moved; null before the first movement.
    pub last_movement_at: Option<String>,
}

impl From<&Position> for PositionBody {
    fn from(position: &Position) -> Self {
        let Position {
            account,
            balance,
            last_movement_at,
        } = position;
        Self {
            cvu: account.cvu.map(|cvu| cvu.to_string()),
            alias: account.alias.as_ref().map(ToString::to_string),
            wallet_account_id: account.number.0,
            holder_name: account.holder.name.clone(),
            cuit: account.holder.cuit.to_string(),
            status: account.status.as_str(),
            available: balance.available.to_string(),
            held: balance.held.to_string(),
            total: balance.total().to_string(),
            last_movement_at: last_movement_at.map(|at| at.to_string()),
        }
    }
}

page! {
    /// A page of positions.
    pub PositionsPage as PositionsPage {
        /// The positions.
        PositionBody
    }
}

/// Positions of an instant that was asked for.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Positions {
    /// The page.
    #[serde(flatten)]
    pub page: PositionsPage,
    /// The instant that all pages are of; absent for now, when each row is of the moment in which it
    /// was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub as_of: Option<String>,
    /// Whether no movement can come any more that is not after the instant: then all pages are one cut.
    /// Absent for now.
    #[serde(rename = "final", skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub is_final: Option<bool>,
    /// The vouchers of the realm up to the instant. Only on the first page of an instant.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub sequence: Option<u64>,
    /// What belonged to all clients then, whatever the filters leave. Only on the first page of an
    /// instant.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub client_funds: Option<ClientFunds>,
}

/// The instant that a query asks for: the end of a day, or any that is not in the future. `None` where it names none.
pub fn instant(query: &mut Query, now: Timestamp) -> Option<Timestamp> {
    let (day, at) = (query.date("date"), query.instant("asOf"));
    if day.is_some() && at.is_some() {
        query.mistake("asOf", Mistake::Together { other: "date" });
    }
    if day.is_some_and(|day| day > now.business_day()) {
        query.mistake("date", Mistake::InTheFuture);
    }
    if at.is_some_and(|at| at > now) {
        query.mistake("asOf", Mistake::InTheFuture);
    }
    at.or(day.map(BusinessDay::end))
}

/// The sums at the instant of a list of positions: made once for a walk, with its first page.
pub async fn cut_of(
    caller: &Caller,
    at: Option<Timestamp>,
    page: &ListPage,
) -> Result<Option<Cut>, ApiError> {
    let first = page.cursor.is_none() && page.offset == 0;
    match at.filter(|_| first) {
        Some(at) => Ok(Some(caller.engine().cut(caller.realm(), at).await?)),
        None => Ok(None),
    }
}

/// A snapshot as JSON, or as a row if the client asks for one.
fn formed(request: &HttpRequest, treasury: &Treasury) -> HttpResponse {
    match rows::style(request) {
        Some(style) => rows::table((style, TREASURY), [json!(treasury)]),
        None => whole_json(StatusCode::OK, treasury),
    }
}

/// Takes a snapshot: what belongs to clients, at one cut through all accounts, beside what the
/// collector account has. When the bank is away the ledger's side is served all the same. Of a past day
/// there is the ledger's side at its end, read from the movements of every account.
///
/// `freeBalance` is what the collector account has beyond the clients' funds; it is informative and may be
/// negative.
#[utoipa::path(
    operation_id = "readTreasury",
    tag = "Treasury",
    params(("date" = Option<String>, Query, description = "a business day, YYYY-MM-DD, not in the future; now when absent")),
    responses((status = 200, content((Treasury = "application/json"), (String = "text/csv"), (String = "application/x-ndjson"))), Problems)
)]
#[get("/v1/treasury")]
pub async fn take(request: HttpRequest, caller: Caller, mut query: Query) -> Answer {
    let (engine, realm) = (caller.engine(), caller.realm());
    let day = query.date("date");
    if day.is_some_and(|day| day > engine.now().business_day()) {
        query.mistake("date", Mistake::InTheFuture);
    }
    query.done()?;
    if let Some(day) = day {
        let cut = engine.cut(realm, day.end()).await?;
        let past = Treasury::past(&cut, day, engine.collector(realm));
        return Ok(formed(&request, &past));
    }
    let snapshot = engine.treasury(realm, &caller.request_id).await?;
    Ok(formed(&request, &Treasury::from(&snapshot)))
}

/// Lists what clients have, the newest account first. Closed accounts are listed while they have
/// money. With `date` or `asOf` it is what they had then, by the accounts that there are today: all pages
/// of one instant are one cut, and the first has the sums of all accounts.
///
/// Filter by text and by a range of totals; go on with `X-Next-Cursor` as `cursor` until it is absent: a filtered
/// page of many accounts may be short, and `looked` then says how far it has looked.
#[utoipa::path(
    operation_id = "listPositions",
    tag = "Treasury",
    params(
        PageParams,
        declared::ClientText,
        ("min" = Option<String>, Query, description = "only a total of at least this amount"),
        ("max" = Option<String>, Query, description = "only a total of at most this amount"),
        declared::Date,
        declared::AsOf
    ),
    responses((status = 200, content((Positions = "application/json"), (String = "text/csv"), (String = "application/x-ndjson"))), Problems)
)]
#[get("/v1/treasury/positions")]
pub async fn list(request: HttpRequest, caller: Caller, mut query: Query) -> Answer {
    let whole = rows::whole(&request, &mut query);
    let (min, max) = query.amounts("min", "max");
    let text = query.text("q");
    let page = query.page();
    let (engine, realm) = (caller.engine(), caller.realm());
    let at = instant(&mut query, engine.now());
    query.done()?;
    let filter = PositionFilter { text, min, max, at };
    if let Some(style) = whole {
        let fetch =
            async move |engine: &Engine, page| engine.positions(realm, filter.clone(), page).await;
        let show = |position: &Position| json!(PositionBody::from(position));
        return rows::stream(&caller, (style, POSITIONS), page, fetch, show).await;
    }
    let listing = engine.positions(realm, filter, page).await?;
    let cut = cut_of(&caller, at, &page).await?;
    let body = Positions {
        page: PositionsPage::of(&listing, &page, |position| position.into()),
        as_of: at.map(|at| at.to_string()),
        is_final: at.map(|at| engine.is_settled(at)),
        sequence: cut.map(|cut| cut.sequence),
        client_funds: cut.as_ref().map(ClientFunds::from),
    };
    Ok(paged(&listing, whole_json(StatusCode::OK, &body)))
}

/// Reads what a client has.
///
/// What is available, held and in all, and when it last moved.
#[utoipa::path(
    operation_id = "readPosition",
    tag = "Treasury",
    params(declared::CvuInPath),
    responses((status = 200, body = PositionBody), Problems)
)]
#[get("/v1/treasury/positions/{cvu}")]
pub async fn read(caller: Caller, path: web::Path<String>) -> Answer {
    let target = target(&path)?;
    let position = caller.engine().position(caller.realm(), target).await?;
    Ok(whole_json(StatusCode::OK, &PositionBody::from(&position)))
}

/// Lists the ledger movements of a client, newest first.
///
/// The same list as the movements of the account.
#[utoipa::path(
    operation_id = "listPositionMovements",
    tag = "Treasury",
    params(
        declared::CvuInPath,
        PageParams,
        PeriodParams,
        vouchers::MovementParams
    ),
    responses((status = 200, content((Vec<Movement> = "application/json"), (String = "text/csv"), (String = "application/x-ndjson"))), Problems)
)]
#[get("/v1/treasury/positions/{cvu}/movements")]
pub async fn movements(
    request: HttpRequest,
    caller: Caller,
    path: web::Path<String>,
    query: Query,
) -> Answer {
    vouchers::history(&request, &caller, &path, query).await
}

/// Reads what a client had at the end of a day, or at an instant.
///
/// The same as the historical balance of the account.
#[utoipa::path(
    operation_id = "readHistoricalPosition",
    tag = "Treasury",
    params(
        declared::CvuInPath,
        declared::Date,
        declared::At
    ),
    responses((status = 200, body = HistoricalBalance), Problems)
)]
#[get("/v1/treasury/positions/{cvu}/balance/historical")]
pub async fn historical(caller: Caller, path: web::Path<String>, query: Query) -> Answer {
    balances::past(&caller, &path, query).await
}
