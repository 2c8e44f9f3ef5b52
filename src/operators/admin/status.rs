//! The service's state on one page: the first thing that an operator looks at.

use actix_web::http::StatusCode;
use actix_web::{HttpResponse, web};
use caudal_actors::engine::coverage::WatchedCollector;
use caudal_actors::platform::realms;
use caudal_backup::since::Since;
use caudal_http::errors::ApiError;
use caudal_http::respond::json;
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

/// Realms of all tenants.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = StatusOfRealms)]
struct RealmsBody {
    count: usize,
    /// Of which the supervisor failed within the last minute, or is not back yet.
    down: usize,
}

/// The journal.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = StatusOfJournal)]
struct JournalFigures {
    /// The last durable commit since the store was created.
    last_commit: u64,
    /// Commits that wait for the journal now.
    queued: u64,
    disk_bytes: u64,
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

/// The memory of the process.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = StatusOfMemory)]
struct MemoryFigures {
    /// What it takes, in bytes, and what it aims at.
    taken_bytes: Option<u64>,
    limit_bytes: Option<u64>,
    /// Accounts in memory.
    accounts: usize,
}

/// What waits for a person.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = StatusOfCases)]
struct CasesFigures {
    open: u64,
    oldest_since: Option<String>,
}

/// Webhooks of all tenants.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = StatusOfWebhooks)]
struct WebhooksFigures {
    count: usize,
    /// How many have events left to look at, and how many events these are together.
    behind: usize,
    events_behind: u64,
    /// How many have events that were not taken and are tried again.
    failing: usize,
    /// Parked or gone.
    stopped: usize,
}

/// How many collector accounts there are, and in which state.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = StatusOfTreasury)]
struct CollectorCounts {
    /// How many there are.
    collectors: usize,
    /// For how many of them the bank has reported the balance since the service started.
    checked: usize,
    /// For how many of them clients' money is missing.
    uncovered: usize,
    /// For how many of them the bank is not reachable.
    unreachable: usize,
}

impl CollectorCounts {
    fn of(all: &[WatchedCollector]) -> Self {
        let count = |is: fn(&WatchedCollector) -> bool| all.iter().filter(|it| is(it)).count();
        Self {
            collectors: all.len(),
            checked: count(|it| it.check.as_ref().is_some_and(|check| check.last.is_some())),
            uncovered: count(|it| it.uncovered.is_some()),
            unreachable: count(|it| it.unreachable_since().is_some()),
        }
    }
}

impl CasesFigures {
    fn of(found: &[RealmCases]) -> Self {
        let oldest = found.iter().filter_map(|it| it.figures.oldest()).min();
        Self {
            open: found.iter().map(|it| it.figures.counts.all()).sum(),
            oldest_since: oldest.map(|at| at.to_string()),
        }
    }
}

impl WebhooksFigures {
    fn of(all: &[webhooks::Row]) -> Self {
        let behind = all.iter().filter(|row| row.progress.behind > 0);
        Self {
            count: all.len(),
            behind: behind.clone().count(),
            events_behind: behind.map(|row| row.progress.behind).sum(),
            failing: all.iter().filter(|row| row.progress.retrying > 0).count(),
            stopped: all.iter().filter(|row| row.is_stopped()).count(),
        }
    }
}

/// Shows how the service is: version, whether it is ready and why not, realms, journal, disk, memory, open cases, collector
/// accounts, webhooks, and what needs a person.
#[utoipa::path(
    get,
    path = "/admin/status",
    operation_id = "readStatus",
    tag = "Operation",
    responses((status = 200, body = StatusBody))
)]
pub(super) async fn show(admin_state: web::Data<AdminState>) -> Result<HttpResponse, ApiError> {
    let engine = &admin_state.app.engine;
    let stats = engine.operators().stats();
    let platform = engine.platform();
    let observed = Observed::now(&admin_state).await;
    let problems = problems(&admin_state, &observed);
    let memory = MemoryBody::now(&admin_state);
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
        realms: RealmsBody {
            count: realms(&platform).count(),
            down: engine.lifecycle().down().len(),
        },
        journal: JournalFigures {
            last_commit: stats.last_commit,
            queued: stats.queued,
            disk_bytes: stats.journal_disk_bytes,
        },
        backup: backup.lag_seconds.map(|lag_seconds| BackupFigures {
            lag_seconds,
            error: backup.error,
        }),
        memory: MemoryFigures {
            taken_bytes: memory.taken_bytes,
            limit_bytes: memory.limit_bytes,
            accounts: memory.accounts,
        },
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
