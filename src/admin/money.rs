//! What operators decide about money: an account's own fees, and transfers that the bank has lost.

use actix_web::http::StatusCode;
use actix_web::{HttpResponse, web};
use caudal_actors::engine::Asker;
use caudal_actors::engine::money::Verdict;
use caudal_actors::failure::Failure;
use caudal_actors::realms::Target;
use caudal_actors::reply::Given;
use caudal_ledger::accounts::Order;
use caudal_ledger::cvu::Cvu;
use caudal_ledger::ids::TransferId;
use caudal_ledger::rejection::Rejection;

use super::Desk;
use super::shapes::{self, ScheduleBody};
use crate::http::body::{Body, read};
use crate::http::errors::ApiError;
use crate::http::frame;
use crate::http::respond::json;
use crate::v1::transfers::transfer;

/// The longest reason of a decision, in characters.
const REASON_MAX: usize = 500;

type Answer = Result<HttpResponse, ApiError>;

/// `PUT /admin/accounts/{cvu}/fee-schedule`: a whole schedule, in place of the old one.
pub async fn set_fees(desk: web::Data<Desk>, path: web::Path<String>, sent: Body) -> Answer {
    let cvu = Cvu::parse(&path).map_err(|why| ApiError::field("cvu", why))?;
    let mut fields = sent.fields();
    if !fields.has("feeSchedule") {
        fields.mistake("feeSchedule", "is required");
    }
    let rules = shapes::fees(&mut fields);
    fields.done()?;
    let engine = &desk.door.engine;
    let (realm, account) = engine.locate(cvu).await?;
    let order = Order::ChangeFees(rules.unwrap_or_default());
    let asker = Asker {
        keyed: None,
        request_id: frame::request().id,
    };
    let target = Target::Account(account);
    let answered = engine.change(realm, target, order, None, asker).await?;
    let Given::Value(view) = answered else {
        // Only an idempotency key keeps answers, and there is none.
        return Err(Failure::OutcomeUnknown.into());
    };
    tracing::info!(
        cvu_last4 = cvu.last4(),
        "fee schedule of an account changed"
    );
    let body = ScheduleBody::of(cvu, &view.account.fees);
    Ok(json(StatusCode::OK, &body))
}

fn verdict(word: &str) -> Result<Verdict, &'static str> {
    match word {
        "completed" => Ok(Verdict::Completed),
        "rejected" => Ok(Verdict::Rejected),
        _ => Err("must be one of completed, rejected"),
    }
}

/// `POST /admin/transfers/{id}/decide`: what a person found out about a transfer in doubt.
pub async fn decide(desk: web::Data<Desk>, path: web::Path<String>, sent: Body) -> Answer {
    let id = TransferId::parse(&path).ok_or(Rejection::TransferNotFound)?;
    let mut fields = sent.fields();
    let outcome = fields.required("outcome", read::text(verdict));
    let reason = fields.required("reason", read::line(REASON_MAX));
    fields.done()?;
    let (Some(outcome), Some(reason)) = (outcome, reason) else {
        return Err(ApiError::field("body", "is incomplete"));
    };
    let request_id = frame::request().id;
    let engine = &desk.door.engine;
    let decided = engine.decide_transfer(id, outcome, reason, request_id);
    let view = decided.await?;
    tracing::warn!(transfer = %id, ?outcome, "an operator decided about a transfer");
    Ok(json(StatusCode::OK, &transfer(id.0.realm, &view)))
}
