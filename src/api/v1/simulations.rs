//! Simulations: what an integrator has the sandbox bank do, through the API and with a test key. Each is about the realm of
//! the key alone.

use actix_web::http::StatusCode;
use actix_web::{HttpResponse, post};
use caudal_actors::ports::Simulation;
use caudal_http::bodies::texts::Instant;
use caudal_http::bodies::words::SimulatedOutcomeWord;
use caudal_http::body::Body;
use caudal_http::body::read::{amount, integer, line, text};
use caudal_http::caller::Caller;
use caudal_http::errors::{ApiError, HandlerResult};
use caudal_http::problems::BankProblems;
use caudal_http::request::request;
use caudal_http::respond::json as whole_json;
use caudal_http::shapes::AmountDto;
use caudal_http::words::{Mistake, Refusal};
use caudal_ledger::cuit::Cuit;
use caudal_ledger::cvu::{Cbu, Cvu};
use caudal_ledger::ids::{RealmId, TransferId};
use caudal_ledger::money::Amount;
use caudal_ledger::tenants::Mode;
use caudal_ledger::tenants::test_clock::DAYS_AHEAD_MAX;
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;
use utoipa_actix_web::service_config::ServiceConfig;

/// The longest name, text and reason, in characters.
const TEXT_MAX: usize = 200;
/// The longest delay of a late answer, in milliseconds.
const DELAY_MAX: u64 = 60_000;
/// The most calls for which a behaviour can be ordered.
const COUNT_MAX: u64 = 1_000_000;
/// The length of an id on the rail.
const RAIL_ID: usize = 22;

/// The route table of the simulations.
pub(super) fn routes(config: &mut ServiceConfig) {
    config
        .service(cash_in)
        .service(transfer_outcome)
        .service(reversal)
        .service(bank_behaviour)
        .service(clock);
}

/// Money that has arrived at the sandbox bank.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SimulatedCashIn {
    /// Its id on the rail.
    pub coelsa_id: String,
}

/// Refuses a key of the live realm: there no such operation exists.
fn of_test(caller: &Caller) -> Result<RealmId, ApiError> {
    let realm = caller.realm();
    match realm.mode() {
        Mode::Test => Ok(realm),
        Mode::Live => Err(Refusal::NoRoute.into()),
    }
}

/// Has the sandbox bank of the realm do something.
async fn simulate(
    caller: &Caller,
    realm: RealmId,
    path: &[&str],
    order: &Value,
) -> Result<(), ApiError> {
    let simulation = Simulation {
        path: path.iter().map(|part| (*part).to_owned()).collect(),
        order: order.to_string(),
    };
    let ledger = caller.engine().ledger();
    let done = ledger.simulate(realm, simulation, &caller.request_id);
    Ok(done.await?)
}

/// The reference at the bank of a transfer through it.
async fn origin(caller: &Caller, realm: RealmId, id: TransferId) -> Result<String, ApiError> {
    let (view, _) = caller.engine().queries().transfer_of(realm, id).await?;
    if view.transfer.receiver.is_some() {
        return Err(ApiError::field("transferId", Mistake::NotAtTheBank));
    }
    Ok(view.transfer.origin(realm, view.account).to_string())
}

fn rail_id(text: &str) -> Result<String, Mistake> {
    let good = |b: u8| b.is_ascii_uppercase() || b.is_ascii_digit();
    let is_one = text.len() == RAIL_ID && text.bytes().all(good);
    is_one.then(|| text.to_owned()).ok_or(Mistake::NotARailId)
}

fn transfer_id(text: &str) -> Result<TransferId, Mistake> {
    TransferId::parse(text).ok_or(Mistake::NotATransferId)
}

/// A new id on the rail.
fn new_rail_id() -> String {
    let id = uuid::Uuid::new_v4().simple().to_string();
    let id: String = id.chars().take(RAIL_ID).collect();
    id.to_ascii_uppercase()
}

request! {
    /// Money that arrives from another bank.
    strict struct CashInBody as SimulateCashInDto {
        /// The CVU that receives; one of this PSP that nobody has ends in suspense.
        cvu: Cvu = required("cvu", text(Cvu::parse)) as String { pattern = "^000[0-9]{19}$" };
        /// How much.
        amount: Amount = required("amount", amount) as AmountDto;
        /// Its id on the rail, 22 of A-Z and 0-9; a new one when absent. The same again is the same money, and only its
        /// notice is sent again.
        coelsa_id: Option<String> = optional("coelsaId", text(rail_id)) as Option<String> { pattern = "^[A-Z0-9]{22}$" };
        /// The CBU or CVU of the sender; an invented one when absent.
        from_cbu: Option<Cbu> = optional("fromCbu", text(Cbu::parse)) as Option<String> { pattern = "^[0-9]{22}$" };
        /// The tax id of the sender; that of the account's holder when absent.
        from_cuit: Option<Cuit> = optional("fromCuit", text(Cuit::parse_relaxed)) as Option<String> { pattern = "^[0-9]{11}$" };
        /// The name of the sender; that of the account's holder when absent.
        from_name: Option<String> = unless_blank("fromName", line(TEXT_MAX)) as Option<String> { max_length = 200 };
    }
}

/// Has money arrive from another bank, at the sandbox bank of a test realm.
///
/// The sandbox then tells the service, which credits the money a moment later, as from a real bank. With a live key there
/// is no such operation: 404.
#[utoipa::path(
    operation_id = "simulateCashIn",
    tag = "Simulations",
    request_body(content = CashInBody),
    responses((status = 200, body = SimulatedCashIn), BankProblems)
)]
#[post("/v1/simulations/cash-in")]
pub(crate) async fn cash_in(caller: Caller, body: Body) -> HandlerResult {
    let realm = of_test(&caller)?;
    let sent = CashInBody::read(body)?;
    // A repeated call to the sandbox must not be other money.
    let coelsa_id = sent.coelsa_id.unwrap_or_else(new_rail_id);
    let order = json!({
        "cvu": sent.cvu,
        "amount": sent.amount.to_string(),
        "coelsaId": coelsa_id,
        "fromCbu": sent.from_cbu.map(|it| it.to_string()),
        "fromCuit": sent.from_cuit.map(|it| it.to_string()),
        "fromName": sent.from_name,
    });
    simulate(&caller, realm, &["cash-in"], &order).await?;
    Ok(whole_json(StatusCode::OK, &SimulatedCashIn { coelsa_id }))
}

/// The outcomes that can be ordered, with the bank's words for them.
const OUTCOMES: [(&str, &str); 3] = [
    ("completed", "COMPLETED"),
    ("rejected", "FAILED"),
    ("audit", "UNKNOWN_FOREVER"),
];

fn outcome(text: &str) -> Result<&'static str, Mistake> {
    let found = OUTCOMES.iter().find(|(word, _)| *word == text);
    found
        .map(|(_, bank)| *bank)
        .ok_or_else(|| Mistake::among(&OUTCOMES))
}

request! {
    /// How a transfer ends.
    strict struct OutcomeBody as SimulateTransferOutcomeDto {
        /// The transfer: one through the bank, for instance to `DESTINO.2`, that waits for it.
        transfer_id: TransferId = required("transferId", text(transfer_id)) as String;
        /// `completed`, `rejected`, or `audit`: the bank gives up, and a person decides.
        outcome: &'static str = required("outcome", text(outcome))
            as SimulatedOutcomeWord;
        /// Why it is rejected, in the bank's words.
        reason: Option<String> = unless_blank("reason", line(TEXT_MAX)) as Option<String> { max_length = 200 };
    }
}

/// Ends a transfer that waits for the sandbox bank of a test realm.
///
/// Transfers to a CBU whose account number ends in 2, or to `DESTINO.2`, wait until then.
#[utoipa::path(
    operation_id = "simulateTransferOutcome",
    tag = "Simulations",
    request_body(content = OutcomeBody),
    responses((status = 204), BankProblems)
)]
#[post("/v1/simulations/transfer-outcome")]
pub(crate) async fn transfer_outcome(caller: Caller, body: Body) -> HandlerResult {
    let realm = of_test(&caller)?;
    let sent = OutcomeBody::read(body)?;
    let origin = origin(&caller, realm, sent.transfer_id).await?;
    let order = json!({"status": sent.outcome, "reason": sent.reason});
    simulate(&caller, realm, &["transfers", &origin, "settle"], &order).await?;
    Ok(HttpResponse::NoContent().finish())
}

request! {
    /// A transfer that comes back.
    strict struct ReversalBody as SimulateReversalDto {
        /// The transfer: a completed one through the bank.
        transfer_id: TransferId = required("transferId", text(transfer_id)) as String;
        /// How much of it comes back; all that is left when absent.
        amount: Option<Amount> = optional("amount", amount) as Option<AmountDto>;
    }
}

/// Has a completed transfer come back to its sender, in whole or in part, from the sandbox bank of a test realm.
///
/// The service credits what comes back a moment later, and the transfer is `reversed`.
#[utoipa::path(
    operation_id = "simulateReversal",
    tag = "Simulations",
    request_body(content = ReversalBody),
    responses((status = 204), BankProblems)
)]
#[post("/v1/simulations/reversal")]
pub(crate) async fn reversal(caller: Caller, body: Body) -> HandlerResult {
    let realm = of_test(&caller)?;
    let sent = ReversalBody::read(body)?;
    let origin = origin(&caller, realm, sent.transfer_id).await?;
    let order = json!({"amount": sent.amount.map(|amount| amount.to_string())});
    simulate(&caller, realm, &["transfers", &origin, "reverse"], &order).await?;
    Ok(HttpResponse::NoContent().finish())
}

request! {
    /// How the sandbox bank behaves.
    strict struct BehaviourBody as SimulateBankBehaviourDto {
        /// Which of the bank's operations, for instance `transfer`, `transfer_status`, `create_cvu` or `cash_in`: the page of
        /// the sandbox bank lists them.
        operation: String = required("operation", line(40)) as String { max_length = 40 };
        /// How it behaves, for instance `reject`, `error`, `timeout`, `late` or `lose_notice`; `ok` ends any other behaviour.
        mode: String = required("mode", line(40)) as String { max_length = 40 };
        /// For how many calls; until it is changed when absent.
        count: Option<u64> = optional("count", integer(1, COUNT_MAX)) as Option<u64> { minimum = 1 };
        /// How late a `late` answer is.
        delay_millis: Option<u64> = optional("delayMillis", integer(0, DELAY_MAX)) as Option<u64> { maximum = 60000 };
        /// The bank's code for `reject`.
        code: Option<String> = optional("code", line(5)) as Option<String> { pattern = "^[A-Z0-9]{5}$" };
    }
}

/// Has the sandbox bank of a test realm misbehave, for this realm alone.
///
/// `bankBody` of a refusal lists the words that the sandbox knows. Lookups are of no realm, and cannot be ordered here.
#[utoipa::path(
    operation_id = "simulateBankBehaviour",
    tag = "Simulations",
    request_body(content = BehaviourBody),
    responses((status = 204), BankProblems)
)]
#[post("/v1/simulations/bank-behaviour")]
pub(crate) async fn bank_behaviour(caller: Caller, body: Body) -> HandlerResult {
    let realm = of_test(&caller)?;
    let sent = BehaviourBody::read(body)?;
    let order = json!({
        "operation": sent.operation,
        "mode": sent.mode,
        "count": sent.count,
        "delayMillis": sent.delay_millis,
        "code": sent.code,
    });
    simulate(&caller, realm, &["behaviour"], &order).await?;
    Ok(HttpResponse::NoContent().finish())
}

request! {
    /// How far a test realm's clock is ahead.
    strict struct ClockBody as SimulateClockDto {
        /// How many days it is ahead of the machine's clock from now on, in all: not fewer than it is now, because a clock
        /// never goes back.
        days_ahead: u32 = required("daysAhead", integer(0, DAYS_AHEAD_MAX.into())) as u32 { minimum = 0, maximum = 3650 };
    }
}

/// The clock of a test realm.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SimulatedClock {
    /// How many days it is ahead of the machine's clock.
    pub days_ahead: u32,
    /// What it shows now.
    pub now: Instant,
}

/// Puts the clock of a test realm and its sandbox bank ahead, by whole days.
///
/// What is due then happens within a minute: holds and temporary limits end, windows of limits begin anew, days close and
/// are sealed one after the other. Every time of the realm is by its clock from then on; keys, signatures of webhooks and
/// the audit log stay with the machine's. To go on by a day, send one more than before; the same number again changes
/// nothing and returns the clock.
#[utoipa::path(
    operation_id = "simulateClock",
    tag = "Simulations",
    request_body(content = ClockBody),
    responses((status = 200, body = SimulatedClock), BankProblems)
)]
#[post("/v1/simulations/clock")]
pub(crate) async fn clock(caller: Caller, body: Body) -> HandlerResult {
    let realm = of_test(&caller)?;
    let days_ahead = ClockBody::read(body)?.days_ahead;
    let engine = caller.engine();
    let known = engine.platform().test_clock(realm).days_ahead();
    if days_ahead < known {
        let range = Mistake::OutOfRange {
            min: known.into(),
            max: DAYS_AHEAD_MAX.into(),
        };
        return Err(ApiError::field("daysAhead", range));
    }
    // The bank goes first: if the second step fails, the same request completes it.
    let order = json!({"daysAhead": days_ahead});
    simulate(&caller, realm, &["clock"], &order).await?;
    let (ledger, tenant) = (engine.ledger(), &caller.identity.tenant);
    ledger.advance_clock(tenant, realm, days_ahead).await?;
    let clock = SimulatedClock {
        days_ahead: engine.platform().test_clock(realm).days_ahead(),
        now: caller.now().into(),
    };
    Ok(whole_json(StatusCode::OK, &clock))
}
