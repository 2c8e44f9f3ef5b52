//! Actors: how many live per realm, and one account's actor compared with its state on disk.

use caudal_actors::accounts::{Observe, Observed};
use caudal_actors::failure::Failure;
use caudal_actors::platform::realms;
use caudal_actors::realms::{RealmReport, Target};
use caudal_backup::names::hex;
use caudal_http::bodies::body;
use caudal_http::errors::{ApiError, HandlerResult};
use caudal_ledger::accounts::Account;
use caudal_ledger::cvu::Cvu;
use caudal_ledger::facts::BankCall;
use caudal_ledger::ids::{AccountNo, RealmId};
use caudal_ledger::tenants::{Mode, Tenant};

use super::accounts::CvuInPath;
use super::shapes::List;
use super::{AdminState, PathPart, State, ok, owner};

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
    responses((status = 200, body = List<RealmBody>))
)]
pub(super) async fn list(admin_state: State) -> HandlerResult {
    let reports = reports(&admin_state).await?.into_iter();
    let items: Vec<_> = reports.map(RealmBody::from).collect();
    Ok(ok(&List::of(items)))
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

body! {
    struct ActorBody as Actor of(
        cvu: Cvu,
        realm: RealmId,
        tenant: Option<&Tenant>,
        observed: Option<&Observed>,
        account: &Account,
        calls: Vec<BankCall>
    ) {
        => let on_disk = FactsBody::from(account);
        => let in_memory = observed.map(|it| FactsBody::from(&it.account));
        => let settled = observed.is_some_and(|it| it.pending_commits == 0);
        => let agree = in_memory.as_ref().filter(|_| settled).map(|it| *it == on_disk);
        cvu: String = cvu.to_string();
        tenant_id: Option<String> = tenant.map(|tenant| tenant.id.clone());
        mode: &'static str = realm.mode().as_str();
        account: u64 = account.number.0;
        resident: bool = observed.is_some();
        mailbox: Option<usize> = observed.map(|it| it.mailbox);
        pending_commits: Option<usize> = observed.map(|it| it.pending_commits);
        last_activity: Option<String> = observed.map(|it| it.active_at.to_string());
        /// The account as the actor knows it; null when none lives.
        live: Option<FactsBody> = in_memory;
        /// The account as the disk says.
        disk: FactsBody = on_disk;
        /// Whether both agree; null when there is no actor, or commits are on their way.
        agree: Option<bool> = agree;
        /// The last calls to the bank, newest first.
        bank_calls: Vec<CallBody> = calls.into_iter().map(CallBody::from).collect();
    }
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
    params(CvuInPath),
    responses((status = 200, body = ActorBody))
)]
pub(super) async fn read(admin_state: State, path: PathPart) -> HandlerResult {
    let (cvu, realm, number) = locate(&admin_state, &path).await?;
    let engine = &admin_state.app.engine;
    let observe = Observe(Target::Account(number));
    let observed = engine.queries().ask(realm, observe).await?;
    let (disk, calls) = engine.operators().on_disk(realm, number).await?;
    let platform = engine.platform();
    let tenant = owner(&platform, realm).map(|(tenant, _)| tenant);
    let observed = observed.as_ref();
    let body = ActorBody::of(cvu, realm, tenant, observed, &disk, calls);
    Ok(ok(&body))
}

body! {
    /// Whether an actor is gone.
    struct PassivatedBody as Passivated of(cvu: Cvu, gone: bool) {
        cvu: String = cvu.to_string();
        /// `false` where it is not idle, or none lives.
        passivated: bool = gone;
    }
}

/// Sends the actor of an account away if it is idle.
#[utoipa::path(
    post,
    path = "/admin/actors/{cvu}/passivate",
    params(CvuInPath),
    responses((status = 200, body = PassivatedBody))
)]
pub(super) async fn passivate(admin_state: State, path: PathPart) -> HandlerResult {
    let (cvu, realm, number) = locate(&admin_state, &path).await?;
    let target = Target::Account(number);
    let gone = admin_state.operators().passivate(realm, target).await?;
    Ok(ok(&PassivatedBody::of(cvu, gone)))
}
