//! A tenant's realm taken back to an instant: the copy is made beside it, then an operator puts it into force and later
//! releases the outgoing calls that are held.
//!
//! Making a copy needs no second person, because nobody sees a copy; putting a generation into force does where the
//! tenant's policy says so.

use actix_web::http::StatusCode;
use actix_web::{HttpResponse, web};
use caudal_actors::engine::generations::Copying;
use caudal_actors::failure::Failure;
use caudal_actors::restores;
use caudal_ledger::ids::{GENERATION_MAX, RealmId};
use caudal_ledger::tenants::{Generations, Mode, Platform};
use caudal_ledger::time::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

use super::OperatorDesk;
use super::access::Acting;
use super::approvals::{self, ApprovalBody};
use super::far::Far;
use super::keys::mode;
use crate::http::body::Body;
use crate::http::body::read::{instant, integer, text};
use crate::http::current;
use crate::http::errors::ApiError;
use crate::http::request::request;
use crate::http::respond::json;

type Answer = Result<HttpResponse, ApiError>;

/// The generations of a tenant's realms.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Restores)]
pub(super) struct RestoresBody {
    /// Those of the realm of live keys.
    live: RealmBody,
    /// Those of the realm of test keys.
    test: RealmBody,
}

/// The generations of a realm: what it always was, and copies of that as it was at an instant.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = RealmRestores)]
struct RealmBody {
    /// The number of the generation that is in force.
    in_force: u32,
    /// The number of the cell in which the realm lies.
    cell: u32,
    /// Whether transfers and webhooks of the realm are held, since another generation came into force.
    outgoing_held: bool,
    /// All of them, the first one first.
    generations: Vec<GenerationBody>,
}

/// A generation of a realm.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Generation)]
struct GenerationBody {
    /// Its number; 0 is what the realm always was.
    generation: u32,
    /// `whole`: it can come into force. `copying`: it is being made, and no other one can be begun. `interrupted`: it is not whole; the same request
    /// again goes on with it.
    state: &'static str,
    /// The cell in which it lies.
    cell: u32,
    /// Whether it is a copy of all of the realm that was made to move it into its cell.
    moved: bool,
    /// The instant as of which it was copied, or at which a move was begun; null of the first.
    at: Option<String>,
    /// The generation of which it is a copy; null of the first.
    of: Option<u32>,
    /// How many entries it has, or has so far; null where that is not known.
    entries: Option<u64>,
    /// While it is made, up to which commit the journal was read.
    commit: Option<u64>,
    /// While it is made, the commit at which it ends.
    until: Option<u64>,
    /// Since when it is in force, or when it came into force last; null where it never did.
    since: Option<String>,
    /// Why the last try to make it ended before it was whole; null where nothing is known.
    error: Option<String>,
}

impl GenerationBody {
    fn first(known: Option<&Generations>, cell: u32) -> Self {
        let since = known.and_then(|it| it.since(0));
        Self {
            generation: 0,
            state: "whole",
            cell,
            moved: false,
            at: None,
            of: None,
            entries: None,
            commit: None,
            until: None,
            since: since.map(|at| at.to_string()),
            error: None,
        }
    }
}

impl RealmBody {
    fn of(platform: &Platform, realm: RealmId, copying: Option<&Copying>) -> Self {
        let known = platform.generations(realm);
        let mut generations = vec![GenerationBody::first(known, platform.cell_of(realm, 0))];
        for (number, copy) in known.iter().flat_map(|it| it.copies()) {
            let made = copying.filter(|it| (it.realm, it.number) == (realm, number));
            let goes_on = made.filter(|it| it.ended.is_none());
            let error = made.and_then(|it| it.ended.as_ref()?.as_ref().err());
            let so_far = goes_on.map(|it| it.progress.entries());
            let since = known.and_then(|it| it.since(number));
            generations.push(GenerationBody {
                generation: number,
                // A finished copy is not "whole" while its turn lasts, because a client that reads "whole" may begin
                // the next copy.
                state: match (goes_on, copy.copied) {
                    (Some(_), _) => "copying",
                    (None, Some(_)) => "whole",
                    (None, None) => "interrupted",
                },
                cell: copy.cell,
                moved: copy.behind.is_some(),
                at: Some(copy.point.at.to_string()),
                of: Some(copy.point.from),
                entries: copy.copied.map(|it| it.entries).or(so_far),
                commit: goes_on.map(|it| it.progress.commit()),
                // A copy of everything has no last commit while the realm grows.
                until: goes_on
                    .filter(|_| copy.behind.is_none())
                    .map(|_| copy.point.until),
                since: since.map(|at| at.to_string()),
                error: error.map(ToString::to_string),
            });
        }
        Self {
            in_force: platform.in_force(realm),
            cell: platform.standing(realm).cell,
            outgoing_held: platform.is_held(realm),
            generations,
        }
    }
}

pub(super) fn shown(desk: &OperatorDesk, id: &str, status: StatusCode) -> Answer {
    let engine = &desk.door.engine;
    // Read the copy's progress first: a copy that ends in between is whole in the platform read below.
    let copying = engine.copying();
    let platform = engine.platform();
    let tenant = platform.tenant(id)?;
    let of = |realm| RealmBody::of(&platform, realm, copying.as_ref());
    let (live, test) = (of(tenant.live), of(tenant.test));
    Ok(json(status, &RestoresBody { live, test }))
}

/// Lists the generations of a tenant's realms.
#[utoipa::path(
    get,
    path = "/admin/tenants/{id}/restores",
    operation_id = "listRestores",
    tag = "Restores",
    params(("id" = String, Path, description = "Its id")),
    responses((status = 200, body = RestoresBody))
)]
pub async fn list(desk: web::Data<OperatorDesk>, path: web::Path<String>) -> Answer {
    shown(&desk, &path, StatusCode::OK)
}

request! {
    /// Which realm is copied as it was when.
    strict struct BeginRestore as NewRestore {
        /// Which of the tenant's realms.
        mode: Mode = required("mode", text(mode)) as String { pattern = "^(live|test)$" };
        /// The instant: a copy ends before the first commit of the realm that is later.
        at: Timestamp = required("at", text(instant)) as String { format = DateTime };
    }
}

/// Copies a realm as it was at an instant, beside it and under way while it goes on; the answer comes when that has
/// begun. A copy of the same instant that is being made, or was interrupted, goes on. Nobody sees it until it is put into force.
#[utoipa::path(
    post,
    path = "/admin/tenants/{id}/restores",
    operation_id = "beginRestore",
    tag = "Restores",
    params(("id" = String, Path, description = "Its id")),
    request_body(content = BeginRestore),
    responses((status = 201, body = RestoresBody))
)]
pub async fn begin(desk: web::Data<OperatorDesk>, path: web::Path<String>, sent: Body) -> Answer {
    let BeginRestore { mode, at } = BeginRestore::read(sent)?;
    let number = restores::begin(&desk.door.engine, (&path, mode), at, Far::of(&desk)).await?;
    let (tenant, mode) = (path.as_str(), mode.as_str());
    tracing::warn!(tenant, mode, number, at = %at, "a realm is copied as it was at an instant");
    shown(&desk, &path, StatusCode::CREATED)
}

request! {
    /// Whose copy is ended.
    strict struct StopRestore as RestoreStop {
        /// Which of the tenant's realms.
        mode: Mode = required("mode", text(mode)) as String { pattern = "^(live|test)$" };
    }
}

/// Ends the copy of a realm that is being made: within moments it is interrupted. The same restore again goes on with it.
/// Nothing happens if none is made.
#[utoipa::path(
    post,
    path = "/admin/tenants/{id}/restores/stop",
    operation_id = "stopRestore",
    tag = "Restores",
    params(("id" = String, Path, description = "Its id")),
    request_body(content = StopRestore),
    responses((status = 200, body = RestoresBody))
)]
pub async fn stop(desk: web::Data<OperatorDesk>, path: web::Path<String>, sent: Body) -> Answer {
    let StopRestore { mode } = StopRestore::read(sent)?;
    let engine = &desk.door.engine;
    let realm = engine.platform().tenant(&path)?.realm(mode);
    engine.end_copy(realm);
    shown(&desk, &path, StatusCode::OK)
}

request! {
    /// Which generation is to be in force.
    strict struct SwitchGeneration as GenerationSwitch {
        /// Which of the tenant's realms.
        mode: Mode = required("mode", text(mode)) as String { pattern = "^(live|test)$" };
        /// Its number; 0 is what the realm always was.
        generation: u32 = required("generation", integer(0, u64::from(GENERATION_MAX)))
            as u32 { minimum = 0, maximum = 4095 };
    }
}

/// Puts a generation of a realm into force. Orders of the realm are refused for the moment that this takes. What leaves
/// the realm is held from then on, because the bank and webhooks know what came after the instant: look at
/// the cases and the reconciliation first, then release it.
#[utoipa::path(
    post,
    path = "/admin/tenants/{id}/restores/switch",
    operation_id = "switchGeneration",
    tag = "Restores",
    params(("id" = String, Path, description = "Its id")),
    request_body(content = SwitchGeneration),
    responses((status = 200, body = RestoresBody),
        (status = 202, body = ApprovalBody, description = "It waits for a second person."))
)]
pub async fn switch(
    desk: web::Data<OperatorDesk>,
    path: web::Path<String>,
    acting: Acting,
    sent: Body,
) -> Answer {
    // In a task of its own, so that a realm that rests for the switch goes on even if the operator's connection ends.
    let work = async move { switched(&desk, &path, &acting, sent).await };
    let work = current::answering(current::request(), work);
    let done = actix_web::rt::spawn(work).await;
    done.map_err(|_| Failure::OutcomeUnknown)?
}

/// Switches the generation, at once or once a second person has approved.
pub(super) async fn switched(desk: &OperatorDesk, id: &str, acting: &Acting, sent: Body) -> Answer {
    let _turn = desk.changes.lock().await;
    let engine = &desk.door.engine;
    let SwitchGeneration { mode, generation } = SwitchGeneration::read(sent)?;
    let realm = engine.platform().tenant(id)?.realm(mode);
    super::refuse_unowned(&desk.door, desk.door.engine.cells().standing(realm).cell)?;
    let wary = engine.platform().tenant(id)?.policy.four_eyes.restores;
    if wary && !acting.approved {
        engine.may_switch(id, mode, generation)?;
        return approvals::ask(desk, acting).await;
    }
    engine.switch(id, mode, generation).await?;
    let mode = mode.as_str();
    tracing::warn!(
        tenant = id,
        mode,
        generation,
        "a generation of a realm is in force; what leaves it is held"
    );
    shown(desk, id, StatusCode::OK)
}

request! {
    /// Which realm is released.
    strict struct ReleaseRealm as RealmRelease {
        /// Which of the tenant's realms.
        mode: Mode = required("mode", text(mode)) as String { pattern = "^(live|test)$" };
    }
}

/// Releases what is held since another generation of a realm came into force. Nothing happens if nothing is held.
#[utoipa::path(
    post,
    path = "/admin/tenants/{id}/restores/release",
    operation_id = "releaseRealm",
    tag = "Restores",
    params(("id" = String, Path, description = "Its id")),
    request_body(content = ReleaseRealm),
    responses((status = 200, body = RestoresBody))
)]
pub async fn release(desk: web::Data<OperatorDesk>, path: web::Path<String>, sent: Body) -> Answer {
    let ReleaseRealm { mode } = ReleaseRealm::read(sent)?;
    desk.door.engine.release(&path, mode).await?;
    let (tenant, mode) = (path.as_str(), mode.as_str());
    tracing::warn!(tenant, mode, "what leaves a realm was released");
    shown(&desk, &path, StatusCode::OK)
}
