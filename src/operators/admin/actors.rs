//! Actors: how many live per realm, and one account's actor compared with its state on disk.

use actix_web::http::StatusCode;
use actix_web::web;
use caudal_actors::failure::Failure;
use caudal_actors::platform::realms;
use caudal_actors::realms::{RealmReport, Target};
use caudal_backup::names::hex;
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
        let report = match admin_state.app.engine.operators().report(realm).await {
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

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = RealmActors)]
struct RealmBody {
    tenant_id: String,
    mode: &'static str,
    realm: u32,
    resident: usize,
    mailbox_depth: usize,
    commits_in_flight: usize,
    waiting_for_bank: usize,
    starts: u64,
    restarts: u64,
    passivations: u64,
}

/// Shows how the actors of each realm are doing.
#[utoipa::path(
    get,
    path = "/admin/actors",
    operation_id = "listActors",
    tag = "Actors",
    responses((status = 200, body = List<RealmBody>))
)]
pub(super) async fn list(admin_state: web::Data<AdminState>) -> HandlerResult {
    let row = |figures: RealmFigures| RealmBody {
        tenant_id: figures.tenant,
        mode: figures.mode.as_str(),
        realm: figures.realm.0,
        resident: figures.report.resident,
        mailbox_depth: figures.report.queued,
        commits_in_flight: figures.report.in_flight,
        waiting_for_bank: figures.report.waiting_for_bank,
        starts: figures.report.starts,
        restarts: figures.report.restarts,
        passivations: figures.report.passivations,
    };
    let items: Vec<_> = reports(&admin_state).await?.into_iter().map(row).collect();
    Ok(json(StatusCode::OK, &List::of(items)))
}

/// The key facts of an account.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = AccountFacts)]
struct FactsBody {
    status: &'static str,
    enabled: bool,
    available: String,
    held: String,
    total: String,
    /// The number of its movements.
    sequence: u64,
    /// The chain up to its last movement.
    hash: String,
    /// The version of its profile; with `sequence` it makes the account's ETag.
    profile_version: u64,
    waiting_for_bank: bool,
    updated_at: String,
    last_movement_at: Option<String>,
}

impl From<&Account> for FactsBody {
    fn from(account: &Account) -> Self {
        Self {
            status: account.status.as_str(),
            enabled: account.enabled,
            available: account.balance.available.to_string(),
            held: account.balance.held.to_string(),
            total: account.balance.total().to_string(),
            sequence: account.sequence,
            hash: hex(&account.hash.0),
            profile_version: account.profile_seq,
            waiting_for_bank: account.pending.is_some(),
            updated_at: account.updated_at.to_string(),
            last_movement_at: account.last_movement_at.map(|at| at.to_string()),
        }
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

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = BankCallRecord)]
struct CallBody {
    operation: String,
    reference: String,
    #[schema(value_type = Object)]
    request: serde_json::Value,
    status: Option<u16>,
    #[schema(value_type = Object)]
    body: serde_json::Value,
    millis: u64,
    correlation: String,
}

impl From<BankCall> for CallBody {
    fn from(call: BankCall) -> Self {
        let json =
            |text: String| serde_json::from_str(&text).unwrap_or(serde_json::Value::String(text));
        Self {
            operation: call.operation,
            reference: call.reference,
            request: json(call.request),
            status: call.status,
            body: json(call.body),
            millis: call.millis,
            correlation: call.correlation,
        }
    }
}

async fn locate(
    admin_state: &AdminState,
    cvu: &str,
) -> Result<(Cvu, RealmId, AccountNo), ApiError> {
    let cvu = CvuInPath::read(cvu)?;
    let (realm, account) = admin_state.app.engine.operators().locate(cvu).await?;
    Ok((cvu, realm, account))
}

/// Shows the actor of an account next to what the disk says, with the last calls to the bank.
#[utoipa::path(
    get,
    path = "/admin/actors/{cvu}",
    operation_id = "readActor",
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
    operation_id = "passivateActor",
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
    let gone = admin_state
        .app
        .engine
        .operators()
        .passivate(realm, target)
        .await?;
    let body = PassivatedBody {
        cvu: cvu.to_string(),
        passivated: gone,
    };
    Ok(json(StatusCode::OK, &body))
}
