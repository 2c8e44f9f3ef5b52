//! What needs a person now, as one list: the console, `GET /admin/status`, `caudal status` and the metric
//! `caudal_problems` all show it.
//!
//! **Shape.** A problem is of a [`ProblemKind`]. Each kind has a code that never changes, a severity, and the alert in
//! `docs/alerts.md` that says what to do. [`problems`] finds all of them from what the service already keeps.
//!
//! **Bounds.** A problem is about one realm, account at the bank, node or webhook. At most [`PROBLEMS_MAX`] are listed of
//! each kind; the last of a kind that has more says how many.
//!
//! **Failure.** What cannot be read now is left out and logged: a store that fails is a problem itself, and must not hide
//! the others. A node that does not own the log reports what concerns itself.

use std::fmt::Display;

use caudal_actors::engine::Queries;
use caudal_actors::engine::coverage::WatchedCollector;
use caudal_actors::failure::Failure;
use caudal_actors::platform::realms;
use caudal_ledger::ids::RealmId;
use caudal_ledger::tenants::Platform;
use caudal_ledger::time::Timestamp;
use caudal_ledger::treasury::Sum;
use caudal_ledger::webhooks::WebhookId;
use serde::Serialize;
use utoipa::ToSchema;

use super::backup::BackupBody;
use super::disk::DiskFigures;
use super::node::NodesBody;
use super::observed::{Observed, RealmCases, fit};
use super::treasury::RealmBody;
use super::{AdminState, webhooks};
use caudal_http::bodies::body;

/// How many problems of one kind are listed.
pub(crate) const PROBLEMS_MAX: usize = 50;
/// How long a case may wait for a person.
const CASE_WAITS_MAX: u64 = HOUR;
/// How long a transfer may wait for the bank.
const TRANSFER_WAITS_MAX: u64 = HOUR;
/// How long after it is due a day may be closed.
const DAY_LATE_MAX: u64 = HOUR;
/// How old what the backup lacks may be, in seconds.
const BACKUP_LAG_MAX: u64 = 60;
/// How long ago a bank may have reported the balance, and how long before its end a key is a problem.
const BALANCE_AGE_MAX: u64 = 15 * 60_000;
const KEY_ENDS_SOON: u64 = 14 * 24 * HOUR;
/// The disk is nearly full below this many times what is kept back, and low below the other.
const NEARLY_FULL: u64 = 2;
const LOW: u64 = 4;
/// The disk is low, too, when it lasts for fewer days than this.
const DAYS_LEFT_MIN: u64 = 7;
/// An hour, in milliseconds.
const HOUR: u64 = 3_600_000;

/// How soon a person is needed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, ToSchema)]
#[schema(as = ProblemSeverity)]
pub(crate) enum Severity {
    /// Now.
    #[serde(rename = "page")]
    Now,
    /// On the next working day.
    #[serde(rename = "ticket")]
    NextDay,
}

impl Severity {
    /// Its word on the wire.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Now => "page",
            Self::NextDay => "ticket",
        }
    }
}

macro_rules! kinds {
    ($($kind:ident $code:literal $severity:ident $alert:literal;)+) => {
        /// The kinds of problems, the most urgent first.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
        pub(crate) enum ProblemKind {$(
            #[doc = $code]
            $kind,
        )+}

        impl ProblemKind {
            /// Every kind.
            pub(crate) const ALL: &[Self] = &[$(Self::$kind),+];

            /// Its code, how soon it needs a person, and the alert that says what to do.
            const fn row(self) -> (&'static str, Severity, &'static str) {
                match self {$(
                    Self::$kind => ($code, Severity::$severity, $alert),
                )+}
            }
        }
    };
}

kinds! {
    NotReady "not_ready" Now "CaudalNotReady";
    NoOwner "no_owner" Now "CaudalNoOwner";
    ClockInDoubt "clock_in_doubt" Now "CaudalClockInDoubt";
    DamageFound "damage_found" Now "CaudalDamageFound";
    MoneyMissing "money_missing" Now "CaudalUncovered";
    RealmDown "realm_down" Now "CaudalRealmDown";
    OneCopy "one_copy" Now "CaudalOneCopy";
    DiskNearlyFull "disk_nearly_full" Now "CaudalDiskNearlyFull";
    BankUnreachable "bank_unreachable" Now "CaudalBankUnreachable";
    BackupBehind "backup_behind" Now "CaudalBackupBehind";
    NodeAbsent "node_absent" NextDay "CaudalNodeAbsent";
    DiskLow "disk_low" NextDay "CaudalDiskLow";
    CoverageUnknown "coverage_unknown" NextDay "CaudalCoverageUnknown";
    OutgoingHeld "outgoing_held" NextDay "CaudalOutgoingHeld";
    CaseOld "case_old" NextDay "CaudalCaseOld";
    TransferOld "transfer_old" NextDay "CaudalTransferOld";
    DayNotClosed "day_not_closed" NextDay "CaudalDayNotClosed";
    WebhookStopped "webhook_stopped" NextDay "CaudalWebhookStopped";
    KeyEnds "key_ends" NextDay "CaudalKeyEnds";
}

impl ProblemKind {
    /// Its code, the same for ever.
    pub(crate) const fn code(self) -> &'static str {
        self.row().0
    }

    /// How soon it needs a person.
    pub(crate) const fn severity(self) -> Severity {
        self.row().1
    }

    /// The path of the page that says what to do.
    pub(crate) fn runbook(self) -> String {
        format!("/docs/alerts#{}", self.row().2.to_lowercase())
    }
}

/// Something that needs a person.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Problem {
    /// What it is.
    pub kind: ProblemKind,
    /// The realms that it is about; none if it is about the service.
    pub realms: Vec<RealmId>,
    /// What it is about beyond that: an id, a node, an account at the bank, a reason.
    pub subject: Option<String>,
    /// Since when; of a key, until when it works.
    pub at: Option<Timestamp>,
    /// How many items it is about.
    pub count: Option<u64>,
    /// How much money it is about.
    pub amount: Option<Sum>,
}

impl Problem {
    const fn of(kind: ProblemKind) -> Self {
        Self {
            kind,
            realms: Vec::new(),
            subject: None,
            at: None,
            count: None,
            amount: None,
        }
    }

    fn about(kind: ProblemKind, subject: impl Display) -> Self {
        Self {
            subject: Some(subject.to_string()),
            ..Self::of(kind)
        }
    }

    fn in_realm(kind: ProblemKind, realm: RealmId) -> Self {
        Self {
            realms: vec![realm],
            ..Self::of(kind)
        }
    }
}

body! {
    /// A problem on the wire.
    pub(super) struct ProblemBody as Problem of(platform: &Platform, it: &Problem) {
        => let on_it =
            realms(platform).filter(|(tenant, mode)| it.realms.contains(&tenant.realm(*mode)));
        /// What it is: `not_ready`, `no_owner`, `clock_in_doubt`, `damage_found`, `money_missing`, `realm_down`, `one_copy`,
        /// `disk_nearly_full`, `bank_unreachable`, `backup_behind`, `node_absent`, `disk_low`, `coverage_unknown`,
        /// `outgoing_held`, `case_old`, `transfer_old`, `day_not_closed`, `webhook_stopped` or `key_ends`.
        code: &'static str = it.kind.code();
        /// `page` if a person is needed now, `ticket` if the next working day is soon enough.
        severity: Severity = it.kind.severity();
        /// The realms that it is about; none if it is about the service.
        realms: Vec<RealmBody> = on_it
            .map(|(tenant, mode)| RealmBody::of(tenant, mode))
            .collect();
        /// What it is about beyond that: an id, a node, an account at the bank, a reason.
        subject: Option<String> = it.subject.clone();
        /// Since when; of a key, until when it works.
        at: Option<String> = it.at.map(|at| at.to_string());
        /// How many items it is about.
        count: Option<u64> = it.count;
        /// How much money it is about, in ARS.
        amount: Option<String> = it.amount.map(|amount| amount.to_string());
        /// The path of the page that says what to do.
        runbook: String = it.kind.runbook();
    }
}

/// Everything that needs a person now, the most urgent first.
pub(crate) fn problems(admin_state: &AdminState, observed: &Observed) -> Vec<Problem> {
    let mut all = of_service(admin_state);
    all.extend(of_nodes(admin_state));
    all.extend(of_disk(&DiskFigures::now(admin_state)));
    let backup = BackupBody::now(admin_state);
    if backup.lag_seconds.is_some_and(|lag| lag > BACKUP_LAG_MAX) {
        all.push(Problem {
            subject: backup.error,
            ..Problem::of(ProblemKind::BackupBehind)
        });
    }
    if admin_state.app.is_owners() {
        let (now, queries) = (admin_state.app.engine.now(), admin_state.queries());
        let collectors = read("collector accounts", &observed.collectors);
        all.extend(collectors.flat_map(|it| of_collector(it, now, queries)));
        all.extend(of_cases(read("cases", &observed.cases), queries));
        all.extend(of_webhooks(read("webhooks", &observed.webhooks)));
        all.extend(of_days(admin_state));
        all.extend(of_keys(admin_state));
    }
    bounded(all)
}

/// What was read; nothing if it could not be read, which is logged.
fn read<'a, T>(what: &str, found: &'a Result<Vec<T>, Failure>) -> std::slice::Iter<'a, T> {
    match found {
        Ok(found) => found.iter(),
        Err(why) => {
            tracing::warn!(%why, what, "problems without what could not be read");
            [].iter()
        }
    }
}

/// The problems in the order of their kinds, and those of one kind by their time; at most [`PROBLEMS_MAX`] of a kind, of
/// which the last has the number of those left out as its subject.
fn bounded(mut all: Vec<Problem>) -> Vec<Problem> {
    all.sort_by_key(|it| (it.kind, it.at));
    let mut kept: Vec<Problem> = Vec::new();
    for of_kind in all.chunk_by(|one, other| one.kind == other.kind) {
        let (named, more) = of_kind.split_at(of_kind.len().min(PROBLEMS_MAX));
        kept.extend_from_slice(named);
        if let (Some(last), false) = (kept.last_mut(), more.is_empty()) {
            last.subject = Some(format!("+{}", more.len()));
        }
    }
    kept
}

/// The problems of this process: readiness, clock, damage, supervisors, what is held since a restore.
fn of_service(admin_state: &AdminState) -> Vec<Problem> {
    let (engine, mut all) = (&admin_state.app.engine, Vec::new());
    let doubt = engine.lifecycle().clock_doubt().is_some();
    if doubt {
        all.push(Problem::of(ProblemKind::ClockInDoubt));
    } else if let Err(why) = fit(&admin_state.app) {
        all.push(Problem::about(ProblemKind::NotReady, why));
    }
    let found = engine.operators().checks().found;
    if found > 0 {
        all.push(Problem {
            count: Some(found),
            ..Problem::of(ProblemKind::DamageFound)
        });
    }
    let down = engine.lifecycle().down().into_iter();
    all.extend(down.map(|down| Problem::in_realm(ProblemKind::RealmDown, down.realm)));
    if admin_state.outgoing.is_held() {
        all.push(Problem::of(ProblemKind::OutgoingHeld));
    }
    all
}

/// The problem of the disk, if there is one.
fn of_disk(disk: &DiskFigures) -> Option<Problem> {
    let below =
        |times: u64| u128::from(disk.free_bytes) < u128::from(disk.floor_bytes) * u128::from(times);
    let ends_soon = disk.floor_bytes > 0 && disk.days_left.is_some_and(|days| days < DAYS_LEFT_MIN);
    let kind = if below(NEARLY_FULL) {
        ProblemKind::DiskNearlyFull
    } else if below(LOW) || ends_soon {
        ProblemKind::DiskLow
    } else {
        return None;
    };
    let free = format!("{} MiB", disk.free_bytes >> 20);
    Some(Problem::about(kind, free))
}

/// The problems of the nodes and of their log.
fn of_nodes(admin_state: &AdminState) -> Vec<Problem> {
    let app = &admin_state.app;
    let mut all = Vec::new();
    let copies = app.log.as_ref().map(|log| log.figures().copies());
    if app.is_owners() && copies.is_some_and(|copies| copies < 2) {
        all.push(Problem::of(ProblemKind::OneCopy));
    }
    if app.node.is_none() {
        return all;
    }
    let found = NodesBody::of(admin_state);
    if found.owner.is_none() {
        all.push(Problem::of(ProblemKind::NoOwner));
    }
    let absent = found.nodes.into_iter().filter(|node| !node.present);
    let now = app.engine.now().millis();
    all.extend(absent.map(|node| {
        Problem {
            at: node
                .seen_ms_ago
                .and_then(|ago| now.checked_sub(ago))
                .map(Timestamp::from_millis),
            ..Problem::about(ProblemKind::NodeAbsent, node.name)
        }
    }));
    all
}

/// The problems of a collector account, of its bank, and of the transfers that wait for it.
fn of_collector(it: &WatchedCollector, now: Timestamp, queries: Queries<'_>) -> Vec<Problem> {
    let on = |kind| Problem {
        realms: it.on.realms.iter().copied().collect(),
        subject: Some(it.on.collector.cbu.clone()),
        ..Problem::of(kind)
    };
    let mut all = Vec::new();
    if let (Some(recorded), Some(last)) = (it.uncovered, it.shortfall()) {
        all.push(Problem {
            at: Some(recorded.at),
            amount: Some(last.missing()),
            ..on(ProblemKind::MoneyMissing)
        });
    }
    let waiting = (it.waiting.count > 0).then_some(it.waiting);
    let told = it
        .check
        .as_ref()
        .and_then(|check| check.last)
        .map(|last| last.at);
    let old = told.is_some_and(|at| is_over(at, BALANCE_AGE_MAX, now));
    match (it.unreachable_since(), waiting) {
        (Some(since), Some(waiting)) => all.push(Problem {
            at: Some(since),
            count: u64::try_from(waiting.count).ok(),
            amount: Some(waiting.amount),
            ..on(ProblemKind::BankUnreachable)
        }),
        (Some(since), None) => all.push(Problem {
            at: Some(since),
            ..on(ProblemKind::CoverageUnknown)
        }),
        (None, _) if old => all.push(Problem {
            at: told,
            ..on(ProblemKind::CoverageUnknown)
        }),
        (None, _) => {}
    }
    // Times of transfers are by the clocks of their realms; the one that is least ahead gives no false alarm.
    let of_realms = it.on.realms.iter().map(|realm| queries.now(*realm));
    let now = of_realms.min().unwrap_or(now);
    let oldest = it.waiting.oldest;
    if let Some(oldest) = oldest.filter(|at| is_over(*at, TRANSFER_WAITS_MAX, now)) {
        all.push(Problem {
            at: Some(oldest),
            ..on(ProblemKind::TransferOld)
        });
    }
    all
}

/// Whether more than this many milliseconds have passed since an instant.
fn is_over(since: Timestamp, millis: u64, now: Timestamp) -> bool {
    since.plus_millis(millis) < now
}

/// The realms with a case that has waited too long.
fn of_cases<'a>(
    found: impl Iterator<Item = &'a RealmCases>,
    queries: Queries<'a>,
) -> impl Iterator<Item = Problem> {
    found.filter_map(move |it| {
        let (oldest, now) = (it.figures.oldest(), queries.now(it.realm));
        let oldest = oldest.filter(|at| is_over(*at, CASE_WAITS_MAX, now))?;
        Some(Problem {
            at: Some(oldest),
            count: Some(it.figures.counts.all()),
            ..Problem::in_realm(ProblemKind::CaseOld, it.realm)
        })
    })
}

/// The webhooks that stopped.
fn of_webhooks<'a>(
    found: impl Iterator<Item = &'a webhooks::Row>,
) -> impl Iterator<Item = Problem> {
    found.filter(|row| row.is_stopped()).filter_map(|row| {
        let realm = WebhookId::parse(&row.id)?.realm;
        Some(Problem {
            subject: Some(row.id.clone()),
            ..Problem::in_realm(ProblemKind::WebhookStopped, realm)
        })
    })
}

/// The realms whose day should be closed by now.
fn of_days(admin_state: &AdminState) -> Vec<Problem> {
    let engine = &admin_state.app.engine;
    let now = engine.now();
    let due = engine.operators().days_due().into_iter();
    let late = due.filter(|(_, at)| is_over(*at, DAY_LATE_MAX, now));
    late.map(|(realm, at)| Problem {
        at: Some(at),
        ..Problem::in_realm(ProblemKind::DayNotClosed, realm)
    })
    .collect()
}

/// The API keys that end soon as it was set when they were issued, and were not rotated.
fn of_keys(admin_state: &AdminState) -> Vec<Problem> {
    let engine = &admin_state.app.engine;
    let (platform, now) = (engine.platform(), engine.now());
    let ending = platform.keys.values().filter_map(|key| {
        let end = key
            .ends_at
            .filter(|_| key.works_at(now) && key.ends_as_issued())?;
        let tenant = platform.tenants.get(&key.tenant)?;
        (end < now.plus_millis(KEY_ENDS_SOON)).then(|| Problem {
            at: Some(end),
            realms: vec![tenant.realm(key.mode)],
            ..Problem::about(ProblemKind::KeyEnds, &key.id)
        })
    });
    ending.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_listed_once_in_their_order_with_codes_of_their_own() {
        assert!(ProblemKind::ALL.is_sorted());
        let codes = ProblemKind::ALL.iter().map(|kind| kind.code());
        let known: std::collections::BTreeSet<_> = codes.collect();
        assert_eq!(known.len(), ProblemKind::ALL.len());
        let later = |kind: &ProblemKind| kind.severity() == Severity::NextDay;
        assert!(
            ProblemKind::ALL.is_sorted_by_key(later),
            "the most urgent come first"
        );
    }

    #[test]
    fn a_disk_is_low_before_it_is_nearly_full() {
        let of = |free_bytes, floor_bytes, days_left| {
            let figures = DiskFigures {
                free_bytes,
                floor_bytes,
                days_left,
            };
            of_disk(&figures).map(|it| it.kind)
        };
        assert_eq!(of(400, 100, None), None);
        assert_eq!(of(399, 100, Some(1000)), Some(ProblemKind::DiskLow));
        assert_eq!(of(200, 100, None), Some(ProblemKind::DiskLow));
        assert_eq!(of(199, 100, None), Some(ProblemKind::DiskNearlyFull));
        assert_eq!(of(4000, 100, Some(6)), Some(ProblemKind::DiskLow));
        assert_eq!(of(4000, 100, Some(7)), None);
        // Nothing is kept back.
        assert_eq!(of(0, 0, Some(0)), None);
    }

    #[test]
    fn the_most_urgent_problems_come_first_and_none_crowds_out_the_others() {
        let at = |millis| Some(Timestamp::from_millis(millis));
        let many = (0..60).map(|n| Problem {
            at: at(100 - n),
            ..Problem::in_realm(ProblemKind::CaseOld, RealmId(1))
        });
        let mut all: Vec<_> = many.collect();
        all.push(Problem::of(ProblemKind::ClockInDoubt));
        let kept = bounded(all);
        assert_eq!(kept.len(), PROBLEMS_MAX + 1);
        assert_eq!(kept[0].kind, ProblemKind::ClockInDoubt);
        assert_eq!((kept[1].at, &kept[1].subject), (at(41), &None));
        assert_eq!(kept[PROBLEMS_MAX].subject.as_deref(), Some("+10"));
    }
}
