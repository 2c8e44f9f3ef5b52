//! Moves of a tenant's realm into another cell of a running service.
//!
//! The list of the tenant's restores shows the move while it runs, and its result: a copy in the other cell is another
//! generation of the realm. Where the tenant's policy requires a second person for restores, it requires one for a
//! move.

use actix_web::http::StatusCode;
use actix_web::{HttpResponse, web};
use caudal_actors::failure::Failure;
use caudal_actors::moves;
use caudal_actors::platform::PlatformOrder;
use caudal_ledger::tenants::Mode;
use caudal_ledger::tenants::cells::MoveStep;

use super::OperatorDesk;
use super::access::Acting;
use super::approvals::{self, ApprovalBody};
use super::far::Far;
use super::keys::mode;
use super::requests::CELL_MAX;
use super::restores::{RestoresBody, shown};
use crate::http::body::Body;
use crate::http::body::read::{integer, text};
use crate::http::current;
use crate::http::errors::ApiError;
use crate::http::request::request;

type Answer = Result<HttpResponse, ApiError>;

request! {
    /// Which realm goes into which cell.
    strict struct MoveRealm as RealmMove {
        /// Which of the tenant's realms.
        mode: Mode = required("mode", text(mode)) as String { pattern = "^(live|test)$" };
        /// The number of the cell.
        cell: u32 = required("cell", integer(0, CELL_MAX)) as u32 { minimum = 0, maximum = 15 };
    }
}

/// Takes a realm into another cell while it and all others go on; the answer comes when that has begun. At the end the
/// realm's requests pause briefly; a client whose request waits too long gets 503 or an unknown outcome, and asks again with the
/// same `Idempotency-Key`. A move that was interrupted goes on when the realm is to go into the same cell again; nothing happens
/// where it lies in that cell.
#[utoipa::path(
    post,
    path = "/admin/tenants/{id}/move",
    operation_id = "moveRealm",
    tag = "Restores",
    params(("id" = String, Path, description = "Its id")),
    request_body(content = MoveRealm),
    responses((status = 200, body = RestoresBody),
        (status = 202, body = ApprovalBody, description = "It waits for a second person."))
)]
pub async fn begin(
    desk: web::Data<OperatorDesk>,
    path: web::Path<String>,
    acting: Acting,
    sent: Body,
) -> Answer {
    // In a task of its own, so that a move that began is not left half done because the operator's connection ended.
    let work = async move { moved(&desk, &path, &acting, sent).await };
    let work = current::answering(current::request(), work);
    let done = actix_web::rt::spawn(work).await;
    done.map_err(|_| Failure::OutcomeUnknown)?
}

/// Moves the realm, at once or once a second person has approved.
pub(super) async fn moved(desk: &OperatorDesk, id: &str, acting: &Acting, sent: Body) -> Answer {
    let _turn = desk.changes.lock().await;
    let engine = &desk.door.engine;
    let MoveRealm { mode, cell } = MoveRealm::read(sent)?;
    let platform = engine.platform();
    if platform.tenant(id)?.policy.four_eyes.restores && !acting.approved {
        let step = MoveStep::Begin {
            cell,
            behind: 0,
            anew: false,
        };
        let id = id.to_owned();
        platform.decide(PlatformOrder::Move { id, mode, step }, engine.now())?;
        return approvals::ask(desk, acting).await;
    }
    moves::begin(engine, (id, mode), cell, Far::of(desk)).await?;
    let mode = mode.as_str();
    tracing::warn!(tenant = id, mode, cell, "a realm goes into a cell");
    shown(desk, id, StatusCode::OK)
}
