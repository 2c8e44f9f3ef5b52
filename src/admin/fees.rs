//! An account's own fees, as operators set them.

use actix_web::http::StatusCode;
use actix_web::{HttpResponse, web};
use caudal_actors::engine::Asker;
use caudal_actors::failure::Failure;
use caudal_actors::realms::Target;
use caudal_actors::reply::Given;
use caudal_ledger::accounts::Order;
use caudal_ledger::cvu::Cvu;

use super::OperatorDesk;
use super::requests::{SetFees, rules};
use super::shapes::ScheduleBody;
use crate::http::body::Body;
use crate::http::current;
use crate::http::errors::ApiError;
use crate::http::respond::json;

type Answer = Result<HttpResponse, ApiError>;

/// Sets the whole fee schedule of an account.
#[utoipa::path(
    put,
    path = "/admin/accounts/{cvu}/fee-schedule",
    operation_id = "setFeeSchedule",
    tag = "Tenants",
    params(("cvu" = String, Path, description = "22 digits", pattern = "^000[0-9]{19}$")),
    request_body(content = SetFees),
    responses((status = 200, body = ScheduleBody))
)]
pub async fn set(desk: web::Data<OperatorDesk>, path: web::Path<String>, sent: Body) -> Answer {
    let cvu = Cvu::parse(&path).map_err(|why| ApiError::field("cvu", why))?;
    let SetFees { fees } = SetFees::read(sent)?;
    let engine = &desk.door.engine;
    let (realm, account) = engine.locate(cvu).await?;
    let order = Order::ChangeFees(rules(fees));
    let asker = Asker {
        keyed: None,
        request_id: current::request().id,
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
