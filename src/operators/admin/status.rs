//! The service's state on one page: the first thing that an operator looks at.

use actix_web::http::StatusCode;
use actix_web::{HttpResponse, web};
use caudal_actors::engine::Engine;
use caudal_actors::engine::coverage::WatchedCollector;
use caudal_actors::platform::realms;
use caudal_backup::since::Since;
use caudal_http::bodies::body;
use caudal_http::errors::ApiError;
use caudal_http::respond::json;
use caudal_storage::Stats;
use serde::Serialize;
use utoipa::ToSchema;

use super::AdminState;
use super::backup::BackupBody;
use super::disk::DiskFigures;
use super::memory::MemoryBody;
use super::observed::{Observed, RealmCases, fit};
use super::older_pepper::OlderPepper;
use super::problems::{ProblemBody, problems};
use super::webhooks;

/// How the service is.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Status)]
struct StatusBody {
    /// The program's version.
    version: &'static str,
    /// The number of this service among the shards.
    shard: u16,
    /// When the service started.
    started_at: String,
    uptime_seconds: u64,
    /// Whether requests and writes are taken; of a node that does not own the log, whether it follows the owner.
    ready: bool,
    /// Why not.
    reason: Option<String>,
    /// Whether this node owns the log; always where there are no others.
    owner: bool,
    clock_in_doubt: bool,
    /// Whether transfers and webhooks are held, after a restore to the past: see `/admin/outgoing`.
    outgoing_held: bool,
    /// What a restore to the past has taken over from later records, and what was issued later and does not work; null
    /// once outgoing calls are released.
    restored: Option<Since>,
    tenants: usize,
    realms: RealmsBody,
    journal: JournalFigures,
    /// Null when the journal is kept nowhere besides.
    backup: Option<BackupFigures>,
    disk: DiskFigures,
    memory: MemoryFigures,
    cases: CasesFigures,
    /// Nothing on a node that does not own the log.
    treasury: CollectorCounts,
    webhooks: WebhooksFigures,
    /// What still needs a pepper that is being replaced; null while there is only one.
    older_pepper: Option<OlderPepper>,
    /// What needs a person, the most urgent first; at most 50 of each kind. A node that does not own the log names what
    /// concerns itself.
    problems: Vec<ProblemBody>,
}

body! {
    /// Realms of all tenants.
    struct RealmsBody as StatusOfRealms from engine: &Engine {
        count: usize = realms(&engine.platform()).count();
        /// Of which the supervisor failed within the last minute, or is not back yet.
        down: usize = engine.lifecycle().down().len();
    }
}

body! {
    /// The journal.
    struct JournalFigures as StatusOfJournal from stats: &Stats {
        /// The last durable commit since the store was created.
        last_commit: u64 = stats.last_commit;
        /// Commits that wait for the journal now.
        queued: u64 = stats.queued;
        disk_bytes: u64 = stats.journal_disk_bytes;
    }
}

/// Where the journal is kept besides, on the node that ships; `GET /admin/backup` says more.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = StatusOfBackup)]
struct BackupFigures {
    /// How old the oldest commit is that is not there, in seconds at most.
    lag_seconds: u64,
    /// Why it does not go on.
    error: Option<String>,
}

body! {
    /// The memory of the process.
    struct MemoryFigures as StatusOfMemory from memory: MemoryBody {
        /// What it takes, in bytes, and what it aims at.
        taken_bytes: Option<u64> = memory.taken_bytes;
        limit_bytes: Option<u64> = memory.limit_bytes;
        /// Accounts in memory.
        accounts: usize = memory.accounts;
    }
}

body! {
    /// What waits for a person.
    struct CasesFigures as StatusOfCases of(found: &[RealmCases]) {
        => let oldest = found.iter().filter_map(|it| it.figures.oldest()).min();
        open: u64 = found.iter().map(|it| it.figures.counts.all()).sum();
        oldest_since: Option<String> = oldest.map(|at| at.to_string());
    }
}

body! {
    /// Webhooks of all tenants.
    struct WebhooksFigures as StatusOfWebhooks of(all: &[webhooks::Row]) {
        => let behind = all.iter().filter(|row| row.progress.behind > 0);
        count: usize = all.len();
        /// How many have events left to look at, and how many events these are together.
        behind: usize = behind.clone().count();
        events_behind: u64 = behind.map(|row| row.progress.behind).sum();
        /// How many have events that were not taken and are tried again.
        failing: usize = all.iter().filter(|row| row.progress.retrying > 0).count();
        /// Parked or gone.
        stopped: usize = all.iter().filter(|row| row.is_stopped()).count();
    }
}

body! {
    /// How many collector accounts there are, and in which state.
    struct CollectorCounts as StatusOfTreasury of(all: &[WatchedCollector]) {
        => let count = |is: fn(&WatchedCollector) -> bool| all.iter().filter(|it| is(it)).count();
        /// How many there are.
        collectors: usize = all.len();
        /// For how many of them the bank has reported the balance since the service started.
        checked: usize = count(|it| it.check.as_ref().is_some_and(|check| check.last.is_some()));
        /// For how many of them clients' money is missing.
        uncovered: usize = count(|it| it.uncovered.is_some());
        /// For how many of them the bank is not reachable.
        unreachable: usize = count(|it| it.unreachable_since().is_some());
    }
}

/// Shows how the service is: version, whether it is ready and why not, realms, journal, disk, memory, open cases, collector
/// accounts, webhooks, and what needs a person.
#[utoipa::path(
    get,
    path = "/admin/status",
    tag = "Operation",
    responses((status = 200, body = StatusBody))
)]
pub(super) async fn show(admin_state: web::Data<AdminState>) -> Result<HttpResponse, ApiError> {
    let engine: &Engine = &admin_state.app.engine;
    let platform = engine.platform();
    let observed = Observed::now(&admin_state).await;
    let problems = problems(&admin_state, &observed);
    let backup = BackupBody::now(&admin_state);
    let ready = fit(&admin_state.app);
    let body = StatusBody {
        version: env!("CARGO_PKG_VERSION"),
        shard: admin_state.app.keyring.shard().number(),
        started_at: admin_state.started_at.to_string(),
        uptime_seconds: admin_state.started.elapsed().as_secs(),
        ready: ready.is_ok(),
        reason: ready.err().map(|why| why.to_string()),
        owner: admin_state.app.is_owners(),
        clock_in_doubt: engine.lifecycle().clock_doubt().is_some(),
        outgoing_held: admin_state.outgoing.is_held(),
        restored: admin_state.outgoing.since().cloned(),
        tenants: platform.tenants.len(),
        realms: engine.into(),
        journal: (&engine.operators().stats()).into(),
        backup: backup.lag_seconds.map(|lag_seconds| BackupFigures {
            lag_seconds,
            error: backup.error,
        }),
        memory: MemoryBody::of(&admin_state).into(),
        disk: DiskFigures::now(&admin_state),
        cases: CasesFigures::of(&observed.cases?),
        treasury: CollectorCounts::of(&observed.collectors?),
        webhooks: WebhooksFigures::of(&observed.webhooks?),
        older_pepper: OlderPepper::now(&admin_state.app).await?,
        problems: problems
            .iter()
            .map(|it| ProblemBody::of(&platform, it))
            .collect(),
    };
    Ok(json(StatusCode::OK, &body))
}
