//! Operators' actions on one account of any tenant: suspend it, reactivate it, verify it.

use caudal_actors::accounts::{AccountView, ChangeProfile};
use caudal_actors::engine::Engine;
use caudal_actors::failure::Failure;
use caudal_actors::realms::Target;
use caudal_actors::reply::Given;
use caudal_actors::verify;
use caudal_http::body::OptionalBody;
use caudal_http::body::read::{line, text};
use caudal_http::choice::{SuspensionWord, one_of};
use caudal_http::errors::{ApiError, HandlerResult};
use caudal_http::request::request;
use caudal_http::words::Mistake;
use caudal_ledger::accounts::{Account, ProfileOrder, SuspensionCode};
use caudal_ledger::cvu::Cvu;
use caudal_ledger::ids::RealmId;
use caudal_ledger::people::audit::{FieldChange, REASON_MAX};
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::access::Acting;
use super::changes::{self, Changed};
use super::storage::{VerifyBody, verified};
use super::{AdminState, PathPart, State, ok, requester};
use caudal_http::declared::{declared, field};

/// How an account stands.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AccountStanding)]
struct StandingBody {
    cvu: String,
    /// `active`, `suspended` or `closed`.
    status: &'static str,
}

request! {
    /// Why an account is suspended.
    strict struct SuspendByOperator as AccountSuspension {
        /// Why, for the tenant and for the audit log; it may come in `X-Reason` instead.
        reason: Option<String> = optional("reason", line(REASON_MAX))
            as Option<String> { max_length = 500 };
        /// Why, as a word; `other` when absent.
        code: Option<SuspensionCode> = optional("code", text(one_of)) as Option<SuspensionWord>;
    }
}

declared! {
    /// 22 digits
    CvuInPath = Path "cvu" as String { pattern = "^000[0-9]{19}$" } => Cvu: field(Cvu::parse);
}

/// Carries out an operator's order that changes how an account stands. Returns the account's state after it, and what
/// changed.
///
/// # Errors
/// The ledger's refusals, and the failures of every engine call.
pub(crate) async fn stand(
    admin_state: &AdminState,
    realm: RealmId,
    target: Target,
    order: ProfileOrder,
) -> Result<(&'static str, Vec<FieldChange>), Failure> {
    let engine = &admin_state.app.engine;
    // No other change may come in between: the audit log has the states before and after.
    let _alone = admin_state.changes.lock().await;
    let before = standing(&engine.queries().view(realm, target).await?.account);
    let account = change(engine, realm, target, order).await?.account;
    let changes = changes::between(&before, &standing(&account));
    Ok((account.status.as_str(), changes))
}

/// What an operator's order about an account changes.
fn standing(account: &Account) -> Value {
    let suspension = account.suspension.as_ref();
    let suspension = suspension.map(|it| json!({"code": it.code.as_str(), "reason": it.reason}));
    json!({"status": account.status.as_str(), "suspension": suspension})
}

/// Carries out an operator's order about an account's profile, and returns the account after it.
///
/// # Errors
/// The ledger's refusals, and the failures of every engine call.
pub(crate) async fn change(
    engine: &Engine,
    realm: RealmId,
    target: Target,
    order: ProfileOrder,
) -> Result<AccountView, Failure> {
    let order = ChangeProfile::new(target, order);
    let ledger = engine.ledger();
    match ledger.order(realm, order, requester()).await? {
        Given::Value(view) => Ok(view),
        // Only a request with an idempotency key gets a kept answer, and this one has none.
        Given::Kept { .. } => Err(Failure::OutcomeUnknown),
    }
}

async fn ordered(admin_state: &AdminState, cvu: Cvu, order: ProfileOrder) -> HandlerResult {
    let (realm, account) = admin_state.operators().locate(cvu).await?;
    let (status, changes) = stand(admin_state, realm, Target::Account(account), order).await?;
    tracing::warn!(
        cvu_last4 = cvu.last4(),
        status,
        "an operator changed an account"
    );
    let cvu = cvu.to_string();
    let mut answer = ok(&StandingBody { cvu, status });
    answer.extensions_mut().insert(Changed(changes));
    Ok(answer)
}

/// Blocks outgoing movements of an account; money that comes in is still welcome.
#[utoipa::path(
    post,
    path = "/admin/accounts/{cvu}/suspend",
    params(CvuInPath),
    request_body(content = SuspendByOperator),
    responses((status = 200, body = StandingBody))
)]
pub(crate) async fn suspend(
    admin_state: State,
    path: PathPart,
    acting: Acting,
    sent: OptionalBody,
) -> HandlerResult {
    let cvu = CvuInPath::read(&path)?;
    let SuspendByOperator { reason, code } = SuspendByOperator::read(sent.0)?;
    let reason = reason.or_else(|| acting.reason.clone());
    let reason = reason.ok_or_else(|| ApiError::field("reason", Mistake::Required))?;
    let code = code.unwrap_or(SuspensionCode::Other);
    let order = ProfileOrder::Suspend { reason, code };
    ordered(&admin_state, cvu, order).await
}

/// Lets money out of a suspended account again.
#[utoipa::path(
    post,
    path = "/admin/accounts/{cvu}/reactivate",
    params(CvuInPath),
    responses((status = 200, body = StandingBody))
)]
pub(crate) async fn reactivate(admin_state: State, path: PathPart) -> HandlerResult {
    let cvu = CvuInPath::read(&path)?;
    ordered(&admin_state, cvu, ProfileOrder::Reactivate).await
}

/// Replays the history of one account and compares it with index and actor.
#[utoipa::path(
    post,
    path = "/admin/accounts/{cvu}/verify",
    params(CvuInPath),
    responses((status = 200, body = VerifyBody))
)]
pub(crate) async fn verify(admin_state: State, path: PathPart) -> HandlerResult {
    let engine = &admin_state.app.engine;
    let (realm, account) = engine.operators().locate(CvuInPath::read(&path)?).await?;
    Ok(verified(verify::one(engine, realm, account).await?))
}
