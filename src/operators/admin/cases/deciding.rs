//! Decisions on cases: a person decides, at once or, where the tenant's policy says so, once a second person has
//! approved.

use actix_web::http::StatusCode;
use actix_web::{HttpResponse, web};
use caudal_actors::engine::cases::Case;
use caudal_actors::engine::money::TransferView;
use caudal_actors::platform::realms;
use caudal_actors::realms::Target;
use caudal_http::bodies::transfers::{TransferBody, transfer};
use caudal_http::body::Body;
use caudal_http::current;
use caudal_http::errors::{ApiError, HandlerResult, Why};
use caudal_http::respond::json;
use caudal_http::words::Mistake;
use caudal_ledger::cases::{CaseId, Parked, RecordedMovement, SuspenseId, Unbooked, UnbookedId};
use caudal_ledger::collector::CollectorId;
use caudal_ledger::ids::{RealmId, TransferId, VoucherId};
use caudal_ledger::rejection::Rejection;
use caudal_ledger::tenants::FourEyes;
use serde::Serialize;
use utoipa::openapi::schema::OneOfBuilder;
use utoipa::openapi::{Ref, RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use super::decisions::{
    DecideCollector, DecideSuspense, DecideTransfer, DecideUnbooked, Dismissal, Resolution,
};
use super::{CaseBody, CaseInPath, no_case, of_collector, of_suspense, of_transfer, of_unbooked};
use crate::admin::AdminState;
use crate::admin::access::Acting;
use crate::admin::approvals::{self, ApprovalBody};
use caudal_http::declared::{declared, id};

/// The result of a decision: the case afterwards, or the answer that it waits for a second person.
enum Settled<T> {
    Now(T),
    Asked(HttpResponse),
}

impl<T> Settled<T> {
    fn map<U>(self, then: impl FnOnce(T) -> U) -> Settled<U> {
        match self {
            Self::Now(it) => Settled::Now(then(it)),
            Self::Asked(answer) => Settled::Asked(answer),
        }
    }
}

impl<T: Serialize> Settled<T> {
    fn answer(self) -> HttpResponse {
        match self {
            Self::Now(body) => json(StatusCode::OK, &body),
            Self::Asked(answer) => answer,
        }
    }
}

/// The realm's four-eyes rules, unless a second person has approved this operation.
fn wary(admin_state: &AdminState, acting: &Acting, realm: RealmId) -> Option<FourEyes> {
    let platform = admin_state.app.engine.platform();
    let mut all = realms(&platform);
    let found = all.find(|(tenant, mode)| tenant.realm(*mode) == realm);
    let eyes = found.map(|(tenant, _)| tenant.policy.four_eyes);
    eyes.filter(|eyes| acting.second.is_none() && !eyes.is_off())
}

/// Decides a transfer as the body says.
async fn of_transfer_by(
    admin_state: &AdminState,
    acting: &Acting,
    id: TransferId,
    sent: Body,
) -> Result<Settled<TransferView>, ApiError> {
    let sent = DecideTransfer::read(sent)?;
    let (outcome, force) = (sent.outcome, sent.force.unwrap_or(false));
    let decision = sent.decision(acting, admin_state.app.engine.now())?;
    let by = decision.by.clone();
    let engine = &admin_state.app.engine;
    let request_id = current::request().id;
    if let Some(eyes) = wary(admin_state, acting, id.0.realm) {
        let (case, _) = engine.operators().transfer_case(id).await?;
        let asked =
            matches!(&case, Case::Transfer(view, _) if eyes.decides(view.transfer.amount.money()));
        if asked {
            return Ok(Settled::Asked(approvals::ask(admin_state, acting).await?));
        }
    }
    let decided = engine
        .operators()
        .decide_transfer(id, (outcome, force), decision, request_id);
    let view = decided.await?;
    tracing::warn!(transfer = %id, ?outcome, by, force, "an operator decided about a transfer");
    Ok(Settled::Now(view))
}

async fn of_suspense_by(
    admin_state: &AdminState,
    acting: &Acting,
    id: SuspenseId,
    sent: Body,
) -> Result<Settled<Parked>, ApiError> {
    let sent = DecideSuspense::read(sent)?;
    let credit_to = match (sent.outcome, sent.cvu) {
        (Resolution::Credit, Some(cvu)) => Some(cvu),
        (Resolution::Credit, None) => return Err(ApiError::field("cvu", Mistake::Required)),
        (Resolution::Return, _) => None,
    };
    let decision = sent.decision(acting, admin_state.app.engine.now())?;
    let by = decision.by.clone();
    let engine = &admin_state.app.engine;
    let request_id = current::request().id;
    if let Some(eyes) = wary(admin_state, acting, id.realm)
        && eyes.decides(
            engine
                .operators()
                .suspense_case(id)?
                .suspense
                .cash_in
                .amount
                .money(),
        )
    {
        return Ok(Settled::Asked(approvals::ask(admin_state, acting).await?));
    }
    let parked = match credit_to {
        Some(cvu) => {
            let target = Target::Cvu(cvu);
            let credited = engine
                .operators()
                .credit_suspense(id, target, decision, request_id);
            credited.await?
        }
        None => {
            engine
                .operators()
                .return_suspense(id, decision, request_id)
                .await?
        }
    };
    let state = parked.state.as_str();
    tracing::warn!(suspense = %id, state, by, "an operator decided about money in suspense");
    Ok(Settled::Now(parked))
}

async fn of_unbooked_by(
    admin_state: &AdminState,
    acting: &Acting,
    id: UnbookedId,
    sent: Body,
) -> Result<Settled<Unbooked>, ApiError> {
    let sent = DecideUnbooked::read(sent)?;
    let Dismissal::Dismiss = sent.outcome;
    let decision = sent.decision(acting, admin_state.app.engine.now())?;
    let by = decision.by.clone();
    let engine = &admin_state.app.engine;
    let request_id = current::request().id;
    if let Some(eyes) = wary(admin_state, acting, id.realm) {
        let amount = engine.operators().unbooked_case(id)?.says.amount();
        let asked = match amount {
            Some(amount) => eyes.decides(amount.money()),
            // Nobody knows how much is on a line whose amount cannot be read.
            None => eyes.decisions_above.is_some(),
        };
        if asked {
            return Ok(Settled::Asked(approvals::ask(admin_state, acting).await?));
        }
    }
    let dismissed = engine
        .operators()
        .dismiss_unbooked(id, decision, request_id)
        .await?;
    tracing::warn!(case = %id, by, "an operator dismissed what could not be booked");
    Ok(Settled::Now(dismissed))
}

async fn of_collector_by(
    admin_state: &AdminState,
    acting: &Acting,
    id: CollectorId,
    sent: Body,
) -> Result<Settled<RecordedMovement>, ApiError> {
    let sent = DecideCollector::read(sent)?;
    let class = sent.outcome;
    let decision = sent.decision(acting, admin_state.app.engine.now())?;
    let by = decision.by.clone();
    let operators = admin_state.operators();
    let request_id = current::request().id;
    if let Some(eyes) = wary(admin_state, acting, id.realm) {
        let amount = operators.collector_case(id)?.movement.amount;
        if eyes.decides(amount.money()) {
            return Ok(Settled::Asked(approvals::ask(admin_state, acting).await?));
        }
    }
    let classified = operators
        .classify_movement(id, class, decision, request_id)
        .await?;
    tracing::warn!(case = %id, class = class.as_str(), by, "an operator classified a movement of the collector account");
    Ok(Settled::Now(classified))
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
    tag = "Cases",
    params(CaseInPath),
    request_body(content = CaseDecision),
    responses((status = 200, body = CaseBody), (status = 202, body = ApprovalBody, description = "It waits for a second person."))
)]
pub(crate) async fn decide(
    admin_state: web::Data<AdminState>,
    path: web::Path<String>,
    acting: Acting,
    sent: Body,
) -> HandlerResult {
    decided(&admin_state, &path, &acting, sent).await
}

/// Decides a case, at once or once a second person has approved.
pub(crate) async fn decided(
    admin_state: &AdminState,
    id: &str,
    acting: &Acting,
    sent: Body,
) -> HandlerResult {
    let id = CaseInPath::read(id)?;
    settled(admin_state, id, acting, sent).await
}

async fn settled(
    admin_state: &AdminState,
    id: CaseId,
    acting: &Acting,
    sent: Body,
) -> HandlerResult {
    let body = match id {
        CaseId::Transfer(id) => {
            let decided = of_transfer_by(admin_state, acting, id, sent).await;
            let decided = decided.map_err(|error| match error.why {
                Why::Failed(why) => no_case(why),
                _ => error,
            });
            decided?.map(|view| of_transfer(admin_state, id.0.realm, &view, None))
        }
        CaseId::Suspense(id) => {
            let decided = of_suspense_by(admin_state, acting, id, sent).await?;
            decided.map(|parked| of_suspense(admin_state, id.realm, &parked))
        }
        CaseId::Unbooked(id) => {
            let decided = of_unbooked_by(admin_state, acting, id, sent).await?;
            decided.map(|dismissed| of_unbooked(admin_state, id.realm, &dismissed))
        }
        CaseId::Collector(id) => {
            let decided = of_collector_by(admin_state, acting, id, sent).await?;
            decided.map(|record| of_collector(admin_state, id.realm, &record))
        }
    };
    Ok(body.answer())
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
    tag = "Cases",
    params(TransferInPath),
    request_body(content = DecideTransfer),
    responses((status = 200, body = TransferBody), (status = 202, body = ApprovalBody, description = "It waits for a second person."))
)]
pub(crate) async fn decide_transfer(
    admin_state: web::Data<AdminState>,
    path: web::Path<String>,
    acting: Acting,
    sent: Body,
) -> HandlerResult {
    transfer_decided(&admin_state, &path, &acting, sent).await
}

/// Decides a transfer, at once or once a second person has approved.
pub(crate) async fn transfer_decided(
    admin_state: &AdminState,
    id: &str,
    acting: &Acting,
    sent: Body,
) -> HandlerResult {
    let id = TransferInPath::read(id)?;
    let VoucherId { realm, .. } = id.0;
    let decided = of_transfer_by(admin_state, acting, id, sent).await?;
    Ok(decided.map(|view| transfer(realm, &view)).answer())
}
