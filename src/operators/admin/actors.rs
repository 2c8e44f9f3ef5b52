//! Actors: how many live per realm, and one account's actor compared with its state on disk.

use actix_web::http::StatusCode;
use actix_web::web;
use caudal_actors::failure::Failure;
use caudal_actors::platform::realms;
use caudal_actors::realms::{RealmReport, Target};
use caudal_backup::names::hex;
use caudal_http::bodies::body;
use caudal_http::errors::{ApiError, HandlerResult};
use caudal_http::respond::json;
use caudal_ledger::accounts::Account;
use caudal_ledger::cvu::Cvu;
use caudal_ledger::facts::BankCall;
use caudal_ledger::ids::{AccountNo, RealmId};
use caudal_ledger::tenants::Mode;
use serde::Serialize;
use utoipa::ToSchema;

use super::AdminState;
use super::accounts::CvuInPath;
use super::shapes::List;

/// The figures of a realm's actors.
pub(super) struct RealmFigures {
    /// The tenant's id.
    pub tenant: String,
    /// Live or test.
    pub mode: Mode,
    realm: RealmId,
    /// The figures.
    pub report: RealmReport,
}

/// The figures of every realm that has actors: a retired realm, or one between two supervisors, has none.
pub(super) async fn reports(admin_state: &AdminState) -> Result<Vec<RealmFigures>, Failure> {
    let platform = admin_state.app.engine.platform();
    let mut reports = Vec::new();
    for (tenant, mode) in realms(&platform) {
        let realm = tenant.realm(mode);
        let report = match admin_state.operators().report(realm).await {
            Err(Failure::ShuttingDown) => continue,
            report => report?,
        };
        reports.push(RealmFigures {
            tenant: tenant.id.clone(),
            mode,
            realm,
            report,
        });
    }
    Ok(reports)
}

body! {
    struct RealmBody as RealmActors from figures: RealmFigures {
        => let report = figures.report;
        tenant_id: String = figures.tenant;
        mode: &'static str = figures.mode.as_str();
        realm: u32 = figures.realm.0;
        resident: usize = report.resident;
        mailbox_depth: usize = report.queued;
        commits_in_flight: usize = report.in_flight;
        waiting_for_bank: usize = report.waiting_for_bank;
        starts: u64 = report.starts;
        restarts: u64 = report.restarts;
        passivations: u64 = report.passivations;
    }
}

/// Shows how the actors of each realm are doing.
#[utoipa::path(
    get,
    path = "/admin/actors",
    tag = "Actors",
    responses((status = 200, body = List<RealmBody>))
)]
pub(super) async fn list(admin_state: web::Data<AdminState>) -> HandlerResult {
    let reports = reports(&admin_state).await?.into_iter();
    let items: Vec<_> = reports.map(RealmBody::from).collect();
    Ok(json(StatusCode::OK, &List::of(items)))
}

body! {
    /// The key facts of an account.
    struct FactsBody as AccountFacts from account: &Account {
        status: &'static str = account.status.as_str();
        enabled: bool = account.enabled;
        available: String = account.balance.available.to_string();
        held: String = account.balance.held.to_string();
        total: String = account.balance.total().to_string();
        /// The number of its movements.
        sequence: u64 = account.sequence;
        /// The chain up to its last movement.
        hash: String = hex(&account.hash.0);
        /// The version of its profile; with `sequence` it makes the account's ETag.
        profile_version: u64 = account.profile_seq;
        waiting_for_bank: bool = account.pending.is_some();
        updated_at: String = account.updated_at.to_string();
        last_movement_at: Option<String> = account.last_movement_at.map(|at| at.to_string());
    }
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Actor)]
struct ActorBody {
    cvu: String,
    tenant_id: Option<String>,
    mode: &'static str,
    account: u64,
    resident: bool,
    mailbox: Option<usize>,
    pending_commits: Option<usize>,
    last_activity: Option<String>,
    /// The account as the actor knows it; null when none lives.
    live: Option<FactsBody>,
    /// The account as the disk says.
    disk: FactsBody,
    /// Whether both agree; null when there is no actor, or commits are on their way.
    agree: Option<bool>,
    /// The last calls to the bank, newest first.
    bank_calls: Vec<CallBody>,
}

body! {
    struct CallBody as BankCallRecord from call: BankCall {
        => let json =
            |text: String| serde_json::from_str(&text).unwrap_or(serde_json::Value::String(text));
        operation: String = call.operation;
        reference: String = call.reference;
        request: serde_json::Value as Object = json(call.request);
        status: Option<u16> = call.status;
        body: serde_json::Value as Object = json(call.body);
        millis: u64 = call.millis;
        correlation: String = call.correlation;
    }
}

async fn locate(
    admin_state: &AdminState,
    cvu: &str,
) -> Result<(Cvu, RealmId, AccountNo), ApiError> {
    let cvu = CvuInPath::read(cvu)?;
    let (realm, account) = admin_state.operators().locate(cvu).await?;
    Ok((cvu, realm, account))
}

/// Shows the actor of an account next to what the disk says, with the last calls to the bank.
#[utoipa::path(
    get,
    path = "/admin/actors/{cvu}",
    tag = "Actors",
    params(CvuInPath),
    responses((status = 200, body = ActorBody))
)]
pub(super) async fn read(
    admin_state: web::Data<AdminState>,
    path: web::Path<String>,
) -> HandlerResult {
    let at = locate(&admin_state, &path).await?;
    shown(&admin_state, at).await
}

async fn shown(
    admin_state: &AdminState,
    (cvu, realm, number): (Cvu, RealmId, AccountNo),
) -> HandlerResult {
    let engine = &admin_state.app.engine;
    let observed = engine
        .operators()
        .observe(realm, Target::Account(number))
        .await?;
    let (disk, calls) = engine.operators().on_disk(realm, number).await?;
    let platform = engine.platform();
    let owner = platform
        .tenants
        .values()
        .find(|tenant| tenant.realm(realm.mode()) == realm);
    let observed = observed.as_ref();
    let disk = FactsBody::from(&disk);
    let live = observed.map(|live| FactsBody::from(&live.account));
    let settled = observed.is_some_and(|live| live.pending_commits == 0);
    let body = ActorBody {
        cvu: cvu.to_string(),
        tenant_id: owner.map(|tenant| tenant.id.clone()),
        mode: realm.mode().as_str(),
        account: number.0,
        resident: observed.is_some(),
        mailbox: observed.map(|live| live.mailbox),
        pending_commits: observed.map(|live| live.pending_commits),
        last_activity: observed.map(|live| live.active_at.to_string()),
        agree: live.as_ref().filter(|_| settled).map(|live| *live == disk),
        live,
        disk,
        bank_calls: calls.into_iter().map(CallBody::from).collect(),
    };
    Ok(json(StatusCode::OK, &body))
}

/// Whether an actor is gone.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Passivated)]
struct PassivatedBody {
    cvu: String,
    /// `false` where it is not idle, or none lives.
    passivated: bool,
}

/// Sends the actor of an account away if it is idle.
#[utoipa::path(
    post,
    path = "/admin/actors/{cvu}/passivate",
    tag = "Actors",
    params(CvuInPath),
    responses((status = 200, body = PassivatedBody))
)]
pub(super) async fn passivate(
    admin_state: web::Data<AdminState>,
    path: web::Path<String>,
) -> HandlerResult {
    let (cvu, realm, number) = locate(&admin_state, &path).await?;
    let target = Target::Account(number);
    let gone = admin_state.operators().passivate(realm, target).await?;
    let body = PassivatedBody {
        cvu: cvu.to_string(),
        passivated: gone,
    };
    Ok(json(StatusCode::OK, &body))
}
