//! The service's state on one page: the first thing that an operator looks at.

use caudal_actors::engine::Engine;
use caudal_actors::engine::coverage::WatchedCollector;
use caudal_actors::failure::Failure;
use caudal_actors::platform::realms;
use caudal_backup::since::Since;
use caudal_http::AppState;
use caudal_http::bodies::body;
use caudal_http::errors::HandlerResult;
use caudal_storage::Stats;

use super::backup::BackupBody;
use super::disk::DiskFigures;
use super::observed::{Observed, RealmCases, fit};
use super::problems::{Problem, ProblemBody, problems};
use super::storage::MemoryBody;
use super::webhooks;
use super::{AdminState, State, ok};

body! {
    /// The state of the service.
    struct StatusBody as Status of(
        admin_state: &AdminState,
        cases: &[RealmCases],
        collectors: &[WatchedCollector],
        hooks: &[webhooks::Row],
        older_pepper: Option<OlderPepper>,
        found: &[Problem]
    ) {
        => let engine: &Engine = &admin_state.app.engine;
        => let (platform, ready) = (engine.platform(), fit(&admin_state.app));
        => let backup = BackupBody::now(admin_state);
        /// The program's version.
        version: &'static str = env!("CARGO_PKG_VERSION");
        /// The number of this service among the shards.
        shard: u16 = admin_state.app.keyring.shard().number();
        /// When the service started.
        started_at: String = admin_state.started_at.to_string();
        uptime_seconds: u64 = admin_state.uptime_seconds();
        /// Whether requests and writes are taken; of a node that does not own the log, whether it follows the owner.
        ready: bool = ready.is_ok();
        /// Why not.
        reason: Option<String> = ready.err().map(|why| why.to_string());
        /// Whether this node owns the log; always where there are no others.
        owner: bool = admin_state.app.is_owners();
        clock_in_doubt: bool = engine.lifecycle().clock_doubt().is_some();
        /// Whether transfers and webhooks are held, after a restore to the past: see `/admin/outgoing`.
        outgoing_held: bool = admin_state.outgoing.is_held();
        /// What a restore to the past has taken over from later records, and what was issued later and does not work; null
        /// once outgoing calls are released.
        restored: Option<Since> = admin_state.outgoing.since().cloned();
        tenants: usize = platform.tenants.len();
        realms: RealmsBody = engine.into();
        journal: JournalFigures = (&engine.operators().stats()).into();
        /// Null when the journal is kept nowhere besides.
        backup: Option<BackupFigures> = backup.lag_seconds.map(|lag_seconds| BackupFigures {
            lag_seconds,
            error: backup.error,
        });
        disk: DiskFigures = DiskFigures::now(admin_state);
        memory: MemoryFigures = MemoryBody::of(admin_state).into();
        cases: CasesFigures = CasesFigures::of(cases);
        /// Nothing on a node that does not own the log.
        treasury: CollectorCounts = CollectorCounts::of(collectors);
        webhooks: WebhooksFigures = WebhooksFigures::of(hooks);
        /// What still needs a pepper that is being replaced; null while there is only one.
        older_pepper: Option<OlderPepper> = older_pepper;
        /// What needs a person, the most urgent first; at most 50 of each kind. A node that does not own the log names what
        /// concerns itself.
        problems: Vec<ProblemBody> = found.iter().map(|it| ProblemBody::of(&platform, it)).collect();
    }
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

body! {
    /// Where the journal is kept besides, on the node that ships; `GET /admin/backup` says more.
    struct BackupFigures as StatusOfBackup {
        /// How old the oldest commit is that is not there, in seconds at most.
        lag_seconds: u64;
        /// Why it does not go on.
        error: Option<String>;
    }
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

body! {
    /// What still needs an older pepper; it can be removed when all of it is 0.
    struct OlderPepper as StatusOfOlderPepper {
        /// API keys that work.
        keys: usize;
        /// Credentials of people.
        people: usize;
        /// Webhooks, of which a secret that signs is sealed under it.
        webhooks: usize;
        /// Realms whose next closed day is signed under it.
        realms: usize;
    }
}

impl OlderPepper {
    /// What needs it now; `None` while there is only one pepper.
    async fn now(app: &AppState) -> Result<Option<Self>, Failure> {
        let (engine, keyring) = (&app.engine, &app.keyring);
        if keyring.older_peppers() == 0 {
            return Ok(None);
        }
        let (platform, now) = (engine.platform(), engine.now());
        let keys = platform.keys.values().filter(|key| key.works_at(now));
        let staff = engine.operators().staff();
        let people = staff.people.working();
        let mut webhooks = 0_usize;
        for (tenant, mode) in realms(&platform) {
            for view in engine.queries().webhooks(tenant.realm(mode)).await? {
                let mut signing = view.webhook.signing(now).into_iter();
                let needs = signing.any(|it| app.hooks.sealer.needs_older(&tenant.id, &it));
                webhooks = webhooks.strict_add(usize::from(needs));
            }
        }
        Ok(Some(Self {
            keys: keys.filter(|key| keyring.needs_older(key.pepper)).count(),
            people: people
                .filter(|person| keyring.needs_older(person.credential.pepper))
                .count(),
            webhooks,
            realms: engine.operators().realms_with_older_seal_key().await?,
        }))
    }
}

/// Shows how the service is: version, whether it is ready and why not, realms, journal, disk, memory, open cases, collector
/// accounts, webhooks, and what needs a person.
#[utoipa::path(
    get,
    path = "/admin/status",
    responses((status = 200, body = StatusBody))
)]
pub(super) async fn show(admin_state: State) -> HandlerResult {
    let observed = Observed::now(&admin_state).await;
    let found = problems(&admin_state, &observed);
    let (cases, collectors, hooks) = (observed.cases?, observed.collectors?, observed.webhooks?);
    let older = OlderPepper::now(&admin_state.app).await?;
    let body = StatusBody::of(&admin_state, &cases, &collectors, &hooks, older, &found);
    Ok(ok(&body))
}
