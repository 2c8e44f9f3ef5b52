//! Decisions on cases: a person decides, at once or, where the tenant's policy says so, once a second person has
//! approved.

use caudal_actors::engine::cases::Case;
use caudal_actors::engine::money::TransferView;
use caudal_actors::realms::Target;
use caudal_http::bodies::transfers::{TransferBody, transfer};
use caudal_http::body::Body;
use caudal_http::current;
use caudal_http::errors::{ApiError, HandlerResult, Why};
use caudal_http::words::Mistake;
use caudal_ledger::cases::{CaseId, Parked, RecordedMovement, SuspenseId, Unbooked, UnbookedId};
use caudal_ledger::collector::CollectorId;
use caudal_ledger::ids::{RealmId, TransferId};
use caudal_ledger::rejection::Rejection;
use caudal_ledger::tenants::FourEyes;
use utoipa::openapi::schema::OneOfBuilder;
use utoipa::openapi::{Ref, RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use super::decisions::{
    DecideCollector, DecideSuspense, DecideTransfer, DecideUnbooked, Dismissal, Resolution,
};
use super::{CaseBody, CaseInPath, no_case, of_collector, of_suspense, of_transfer, of_unbooked};
use crate::admin::access::Acting;
use crate::admin::approvals::{self, ApprovalBody};
use crate::admin::{AdminState, PathPart, State, ok, owner};
use caudal_http::declared::{declared, id};

/// The realm's four-eyes rules, unless a second person has approved this operation.
fn wary(admin_state: &AdminState, acting: &Acting, realm: RealmId) -> Option<FourEyes> {
    let platform = admin_state.app.engine.platform();
    let eyes = owner(&platform, realm).map(|(tenant, _)| tenant.policy.four_eyes);
    eyes.filter(|eyes| acting.second.is_none() && !eyes.is_off())
}

/// Decides a transfer as the body says. Like the decisions about other cases, `None` means that nothing was done, because
/// a second person has to approve it first.
async fn of_transfer_by(
    admin_state: &AdminState,
    acting: &Acting,
    id: TransferId,
    sent: Body,
) -> Result<Option<TransferView>, ApiError> {
    let sent = DecideTransfer::read(sent)?;
    let (outcome, force) = (sent.outcome, sent.force.unwrap_or(false));
    let decision = sent.decision(acting, admin_state.app.engine.now())?;
    let by = decision.by.clone();
    let operators = admin_state.operators();
    if let Some(eyes) = wary(admin_state, acting, id.0.realm) {
        let (case, _) = operators.transfer_case(id).await?;
        let asked =
            matches!(&case, Case::Transfer(view, _) if eyes.decides(view.transfer.amount.money()));
        if asked {
            return Ok(None);
        }
    }
    let request_id = current::request().id;
    let decided = operators.decide_transfer(id, (outcome, force), decision, request_id);
    let view = decided.await?;
    tracing::warn!(transfer = %id, ?outcome, by, force, "an operator decided about a transfer");
    Ok(Some(view))
}

async fn of_suspense_by(
    admin_state: &AdminState,
    acting: &Acting,
    id: SuspenseId,
    sent: Body,
) -> Result<Option<Parked>, ApiError> {
    let sent = DecideSuspense::read(sent)?;
    let credit_to = match (sent.outcome, sent.cvu) {
        (Resolution::Credit, Some(cvu)) => Some(cvu),
        (Resolution::Credit, None) => return Err(ApiError::field("cvu", Mistake::Required)),
        (Resolution::Return, _) => None,
    };
    let decision = sent.decision(acting, admin_state.app.engine.now())?;
    let by = decision.by.clone();
    let operators = admin_state.operators();
    if let Some(eyes) = wary(admin_state, acting, id.realm) {
        let arrived = operators.suspense_case(id)?.suspense.cash_in;
        if eyes.decides(arrived.amount.money()) {
            return Ok(None);
        }
    }
    let request_id = current::request().id;
    let parked = match credit_to {
        Some(cvu) => {
            let target = Target::Cvu(cvu);
            operators
                .credit_suspense(id, target, decision, request_id)
                .await?
        }
        None => operators.return_suspense(id, decision, request_id).await?,
    };
    let state = parked.state.as_str();
    tracing::warn!(suspense = %id, state, by, "an operator decided about money in suspense");
    Ok(Some(parked))
}

async fn of_unbooked_by(
    admin_state: &AdminState,
    acting: &Acting,
    id: UnbookedId,
    sent: Body,
) -> Result<Option<Unbooked>, ApiError> {
    let sent = DecideUnbooked::read(sent)?;
    let Dismissal::Dismiss = sent.outcome;
    let decision = sent.decision(acting, admin_state.app.engine.now())?;
    let by = decision.by.clone();
    let operators = admin_state.operators();
    if let Some(eyes) = wary(admin_state, acting, id.realm) {
        let amount = operators.unbooked_case(id)?.says.amount();
        let asked = match amount {
            Some(amount) => eyes.decides(amount.money()),
            // Nobody knows how much is on a line whose amount cannot be read.
            None => eyes.decisions_above.is_some(),
        };
        if asked {
            return Ok(None);
        }
    }
    let request_id = current::request().id;
    let dismissed = operators.dismiss_unbooked(id, decision, request_id).await?;
    tracing::warn!(case = %id, by, "an operator dismissed what could not be booked");
    Ok(Some(dismissed))
}

async fn of_collector_by(
    admin_state: &AdminState,
    acting: &Acting,
    id: CollectorId,
    sent: Body,
) -> Result<Option<RecordedMovement>, ApiError> {
    let sent = DecideCollector::read(sent)?;
    let class = sent.outcome;
    let decision = sent.decision(acting, admin_state.app.engine.now())?;
    let by = decision.by.clone();
    let operators = admin_state.operators();
    let request_id = current::request().id;
    if let Some(eyes) = wary(admin_state, acting, id.realm) {
        let amount = operators.collector_case(id)?.movement.amount;
        if eyes.decides(amount.money()) {
            return Ok(None);
        }
    }
    let classified = operators
        .classify_movement(id, class, decision, request_id)
        .await?;
    tracing::warn!(case = %id, class = class.as_str(), by, "an operator classified a movement of the collector account");
    Ok(Some(classified))
}

/// A decision on a case of any kind, as the document shows it.
struct CaseDecision;

impl PartialSchema for CaseDecision {
    fn schema() -> RefOr<Schema> {
        OneOfBuilder::new()
            .item(Ref::from_schema_name(DecideTransfer::name()))
            .item(Ref::from_schema_name(DecideSuspense::name()))
            .item(Ref::from_schema_name(DecideUnbooked::name()))
            .item(Ref::from_schema_name(DecideCollector::name()))
            .into()
    }
}

impl ToSchema for CaseDecision {
    fn schemas(into: &mut Vec<(String, RefOr<Schema>)>) {
        into.push((DecideTransfer::name().into(), DecideTransfer::schema()));
        into.push((DecideSuspense::name().into(), DecideSuspense::schema()));
        into.push((DecideUnbooked::name().into(), DecideUnbooked::schema()));
        into.push((DecideCollector::name().into(), DecideCollector::schema()));
    }
}

/// Decides about a case: the body is that of its kind.
#[utoipa::path(
    post,
    path = "/admin/cases/{id}/decide",
    params(CaseInPath),
    request_body(content = CaseDecision),
    responses((status = 200, body = CaseBody), (status = 202, body = ApprovalBody, description = "It waits for a second person."))
)]
pub(crate) async fn decide(
    admin_state: State,
    path: PathPart,
    acting: Acting,
    sent: Body,
) -> HandlerResult {
    let id = CaseInPath::read(&path)?;
    let body = match id {
        CaseId::Transfer(id) => {
            let decided = of_transfer_by(&admin_state, &acting, id, sent).await;
            let decided = decided.map_err(|error| match error.why {
                Why::Failed(why) => no_case(why),
                _ => error,
            });
            decided?.map(|view| of_transfer(&admin_state, id.0.realm, &view, None))
        }
        CaseId::Suspense(id) => {
            let decided = of_suspense_by(&admin_state, &acting, id, sent).await?;
            decided.map(|parked| of_suspense(&admin_state, id.realm, &parked))
        }
        CaseId::Unbooked(id) => {
            let decided = of_unbooked_by(&admin_state, &acting, id, sent).await?;
            decided.map(|dismissed| of_unbooked(&admin_state, id.realm, &dismissed))
        }
        CaseId::Collector(id) => {
            let decided = of_collector_by(&admin_state, &acting, id, sent).await?;
            decided.map(|record| of_collector(&admin_state, id.realm, &record))
        }
    };
    match body {
        Some(body) => Ok(ok(&body)),
        None => approvals::ask(&admin_state, &acting).await,
    }
}

declared! {
    /// Its id
    TransferInPath = Path "id" as String
        => TransferId: id(TransferId::parse, Rejection::TransferNotFound);
}

/// Decides about a transfer and answers the transfer.
#[utoipa::path(
    post,
    path = "/admin/transfers/{id}/decide",
    params(TransferInPath),
    request_body(content = DecideTransfer),
    responses((status = 200, body = TransferBody), (status = 202, body = ApprovalBody, description = "It waits for a second person."))
)]
pub(crate) async fn decide_transfer(
    admin_state: State,
    path: PathPart,
    acting: Acting,
    sent: Body,
) -> HandlerResult {
    let id = TransferInPath::read(&path)?;
    match of_transfer_by(&admin_state, &acting, id, sent).await? {
        Some(view) => Ok(ok(&transfer(id.0.realm, &view))),
        None => approvals::ask(&admin_state, &acting).await,
    }
}
