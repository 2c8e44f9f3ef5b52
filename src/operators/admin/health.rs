//! Health and metrics: the only paths of the admin listener that need no key.

mod coverage;
mod log;
mod realms;
mod store;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{Display, Write as _};

use actix_web::HttpResponse;
use caudal_actors::engine::{DownRealm, Queries};
use caudal_actors::realms::RealmReport;
use caudal_http::bodies::body;
use caudal_http::errors::HandlerResult;
use caudal_http::respond;
use caudal_ledger::tenants::Platform;
use caudal_ledger::time::Timestamp;
use caudal_ledger::treasury::Sum;

use super::actors::{RealmFigures, reports};
use super::backup::BackupBody;
use super::observed::{Observed, RealmCases, fit};
use super::problems::ProblemKind;
use super::storage::MemoryBody;
use super::{AdminState, State, ok, problems, webhooks};

/// The most tenants with labels of their own: the oldest. The figures of all others are under [`OTHER`].
const TENANTS_MAX: usize = 200;
/// The most webhooks with labels of their own.
const WEBHOOKS_MAX: usize = 1000;
/// The label of whatever has none of its own.
const OTHER: &str = "other";

/// Whether the process answers at all.
pub(super) async fn livez() -> HttpResponse {
    ok(&serde_json::json!({"status": "alive"}))
}

/// Whether the service takes requests and its stores can be read and written; if not, why. Of several nodes, only the
/// owner of the log takes requests. This says more than `/readyz` of the public listener, which is open to everybody.
pub(super) async fn readyz(admin_state: State) -> HandlerResult {
    let app = &admin_state.app;
    fit(app)?;
    if !app.is_owners() {
        return Err(app.refusal());
    }
    let down = app.engine.lifecycle().down();
    if down.is_empty() {
        return Ok(respond::ready());
    }
    Ok(ok(&Limping::from(down.as_slice())))
}

body! {
    /// The response while a realm's supervisor is down: the other realms are served.
    struct Limping from down: &[DownRealm] {
        status: &'static str = "ready";
        realms_down: Vec<Fallen> = down.iter().map(Fallen::from).collect();
    }
}

body! {
    /// A realm whose supervisor failed within the last minute, or is not back yet.
    struct Fallen from down: &DownRealm {
        realm: u32 = down.realm.0;
        /// The number of falls without a minute of calm in between.
        falls: u32 = down.falls;
        /// Whether the realm takes orders again.
        served: bool = down.served;
    }
}

/// Prometheus text, made from the figures of the store and of the actors.
pub(super) async fn metrics(admin_state: State) -> HttpResponse {
    let mut page = Page::default();
    store::figures(&mut page, &admin_state);
    page.known(&MEMORY, &MemoryBody::of(&admin_state));
    page.known(&BACKUP, &BackupBody::now(&admin_state));
    log::figures(&mut page, &admin_state);
    let engine = &admin_state.app.engine;
    let named = LabelledTenants::of(&engine.platform());
    realms::in_flight(&mut page, engine, &named);
    clock(&mut page, &admin_state);
    match reports(&admin_state).await {
        Ok(realms) => actors(&mut page, &realms, &named),
        // The store's figures matter most when the actors cannot answer.
        Err(why) => tracing::warn!(%why, "metrics without the actors' figures"),
    }
    let observed = Observed::now(&admin_state).await;
    match &observed.webhooks {
        Ok(found) => hooks(&mut page, found, &named),
        Err(why) => tracing::warn!(%why, "metrics without the webhooks' figures"),
    }
    match &observed.collectors {
        Ok(found) => coverage::figures(&mut page, found, (&engine.platform(), &named)),
        Err(why) => tracing::warn!(%why, "metrics without the collector accounts"),
    }
    realms::days(&mut page, engine, &named);
    match &observed.cases {
        Ok(found) => cases(&mut page, (found, engine.queries()), &named),
        Err(why) => tracing::warn!(%why, "metrics without the cases"),
    }
    problems(&mut page, &admin_state, &observed);
    HttpResponse::Ok()
        .content_type("text/plain; version=0.0.4; charset=utf-8")
        .body(page.0 + &admin_state.app.measures.text())
}

/// The tenants that have labels of their own.
struct LabelledTenants(BTreeSet<String>);

impl LabelledTenants {
    fn of(platform: &Platform) -> Self {
        let mut all: Vec<_> = platform.tenants.values().collect();
        // The number of a realm says when it was created.
        all.sort_by_key(|tenant| tenant.live);
        let named = all.into_iter().take(TENANTS_MAX);
        Self(named.map(|tenant| tenant.id.clone()).collect())
    }

    /// The label of a tenant. The service generates tenant ids: letters, digits and `_`.
    fn label<'a>(&self, tenant: &'a str) -> &'a str {
        if self.0.contains(tenant) {
            tenant
        } else {
            OTHER
        }
    }
}

/// The values of a family by their labels: those with the same labels are combined.
fn combined<T: Copy>(
    values: impl IntoIterator<Item = (String, T)>,
    combine: impl Fn(T, T) -> T,
) -> BTreeMap<String, T> {
    let mut found = BTreeMap::new();
    for (labels, value) in values {
        let entry = found.entry(labels);
        entry
            .and_modify(|known| *known = combine(*known, value))
            .or_insert(value);
    }
    found
}

/// The labels of a realm's sample. The service generates tenant ids: letters, digits and `_`.
fn labels(tenant: &str, mode: &str) -> String {
    format!("{{tenant=\"{tenant}\",mode=\"{mode}\"}}")
}

/// A figure of something: name, kind, help, and how it is read.
type Figure<S, V = u64> = (&'static str, &'static str, &'static str, fn(&S) -> V);

/// Declares figures: kind, name, help, and how each is read.
macro_rules! figures {
    ($($kind:ident $name:ident $help:literal = $figure:expr;)+) => {
        [$((stringify!($name), stringify!($kind), $help, $figure)),+]
    };
}
use figures;

#[derive(Default)]
struct Page(String);

impl Page {
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        // Writing to a String cannot fail.
        writeln!(
            self.0,
            "# HELP caudal_{name} {help}\n# TYPE caudal_{name} {kind}"
        )
        .ok();
    }

    fn sample(&mut self, name: &str, labels: &str, value: impl Display) {
        writeln!(self.0, "caudal_{name}{labels} {value}").ok();
    }

    fn gauge(&mut self, name: &str, help: &str, value: impl Display) {
        self.figure(name, "gauge", help, value);
    }

    /// A family of sums by their labels.
    fn sums(
        &mut self,
        name: &str,
        kind: &str,
        help: &str,
        values: impl IntoIterator<Item = (String, u64)>,
    ) {
        self.family(name, kind, help);
        for (labels, value) in combined(values, u64::strict_add) {
            self.sample(name, &labels, value);
        }
    }

    /// A family of gauges by their labels; those with the same labels are combined.
    fn gauges<T: Copy + Display>(
        &mut self,
        name: &str,
        help: &str,
        values: impl IntoIterator<Item = (String, T)>,
        combine: impl Fn(T, T) -> T,
    ) {
        self.family(name, "gauge", help);
        for (labels, value) in combined(values, combine) {
            self.sample(name, &labels, value);
        }
    }

    /// The figures of something.
    fn all<S>(&mut self, figures: &[Figure<S>], of: &S) {
        for (name, kind, help, figure) in figures {
            self.figure(name, kind, help, figure(of));
        }
    }

    /// The figures of something, as far as they are known.
    fn known<S>(&mut self, figures: &[Figure<S, Option<u64>>], of: &S) {
        for (name, kind, help, figure) in figures {
            if let Some(value) = figure(of) {
                self.figure(name, kind, help, value);
            }
        }
    }

    fn figure(&mut self, name: &str, kind: &str, help: &str, value: impl Display) {
        self.family(name, kind, help);
        self.sample(name, "", value);
    }

    fn counter(&mut self, name: &str, help: &str, value: impl Display) {
        self.figure(name, "counter", help, value);
    }
}

fn clock(page: &mut Page, admin_state: &AdminState) {
    let doubt = admin_state.app.engine.lifecycle().clock_doubt();
    let apart = doubt.map_or(0, |doubt| {
        let (says, believed) = (doubt.says.millis(), doubt.believed.millis());
        i128::from(says).saturating_sub(i128::from(believed))
    });
    page.gauge(
        "clock_in_doubt",
        "1 while the machine's clock is not believed and no order is taken.",
        u8::from(doubt.is_some()),
    );
    let (sign, far) = (if apart < 0 { "-" } else { "" }, apart.unsigned_abs());
    page.gauge(
        "clock_apart_seconds",
        "How far a clock in doubt is ahead of what is believed.",
        format_args!("{sign}{}.{:03}", far / 1000, far % 1000),
    );
}

/// The memory of the process.
const MEMORY: [Figure<MemoryBody, Option<u64>>; 6] = figures! {
    gauge memory_limit_bytes "What the process aims at." = |it| it.limit_bytes;
    gauge memory_taken_bytes "What the process takes." = |it| it.taken_bytes;
    gauge memory_accounts "Accounts in memory." = |it| Some(size(it.accounts));
    gauge memory_accounts_max "Accounts that may be in memory now." = |it| Some(size(it.accounts_max));
    gauge index_table_bytes "Rows in memory that are not in the index's files yet."
        = |it| Some(it.table_bytes);
    gauge index_filter_bytes "What is kept in memory of the index's files." = |it| Some(it.filter_bytes);
};

/// The backup; nothing when none is configured.
const BACKUP: [Figure<BackupBody, Option<u64>>; 5] = figures! {
    gauge backup_lag_seconds "Age of the oldest commit that the backup lacks, at most; 0 when it has all."
        = |it| it.lag_seconds;
    gauge backup_lag_bytes "Bytes of the journal that the backup lacks." = |it| it.lag_bytes;
    gauge backup_commit "The last commit of the backup." = |it| it.commit;
    gauge backup_objects "Objects that were written since the start." = |it| it.objects;
    gauge backup_failures "Rounds of the backup that failed since the start." = |it| it.failures;
};

fn size(n: usize) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}

/// The actors of a realm.
const ACTORS: [Figure<RealmReport>; 7] = figures! {
    gauge actors_resident "Account actors that live." = |r| size(r.resident);
    gauge actors_mailbox_messages "Messages that wait." = |r| size(r.queued);
    gauge actors_commits_in_flight "Commits not durable yet." = |r| size(r.in_flight);
    gauge actors_waiting_for_bank "Actors that wait for the bank." = |r| size(r.waiting_for_bank);
    counter actors_starts_total "Actors that were started." = |r| r.starts;
    counter actors_restarts_total "Actors replaced after a fault." = |r| r.restarts;
    counter actors_passivations_total "Actors that were sent away." = |r| r.passivations;
};

fn actors(page: &mut Page, realms: &[RealmFigures], named: &LabelledTenants) {
    for (name, kind, help, figure) in ACTORS {
        let values = realms.iter().map(|realm| {
            let labels = labels(named.label(&realm.tenant), realm.mode.as_str());
            (labels, figure(&realm.report))
        });
        page.sums(name, kind, help, values);
    }
}

/// A webhook.
const WEBHOOK: [Figure<webhooks::Row>; 5] = figures! {
    gauge webhook_behind_events "Events that a webhook has not looked at." = |row| row.progress.behind;
    gauge webhook_waiting_accounts "Accounts whose next event waits to be taken."
        = |row| size(row.progress.waiting);
    gauge webhook_stopped "1 while a webhook is parked or gone." = |row| u64::from(row.is_stopped());
    counter webhook_delivered_total "Events that a webhook took." = |row| row.progress.delivered;
    counter webhook_parked_total "Events that were given up." = |row| row.progress.parked;
};

fn hooks(page: &mut Page, found: &[webhooks::Row], named: &LabelledTenants) {
    for (name, kind, help, figure) in WEBHOOK {
        let values = found.iter().enumerate().map(|(place, row)| {
            let (tenant, mode) = (named.label(&row.tenant_id), row.mode);
            let id = if tenant == OTHER || place >= WEBHOOKS_MAX {
                OTHER
            } else {
                row.id.as_str()
            };
            let labels = format!("{{tenant=\"{tenant}\",mode=\"{mode}\",webhook=\"{id}\"}}");
            (labels, figure(row))
        });
        page.sums(name, kind, help, values);
    }
}

/// How many problems there are of each kind.
fn problems(page: &mut Page, admin_state: &AdminState, observed: &Observed) {
    let found = problems::problems(admin_state, observed);
    let counted = ProblemKind::ALL.iter().map(|kind| {
        let labels = format!("{{code=\"{}\"}}", kind.code());
        let of_kind = found.iter().filter(|it| it.kind == *kind);
        (labels, size(of_kind.count()))
    });
    let help = "What needs a person, by its code; see docs/alerts.md.";
    page.sums("problems", "gauge", help, counted);
}

fn cases(page: &mut Page, (found, queries): (&[RealmCases], Queries<'_>), named: &LabelledTenants) {
    let age = |now: Timestamp, since: Option<Timestamp>| {
        let millis = since.map_or(0, |since| now.millis().saturating_sub(since.millis()));
        millis.checked_div(1000).unwrap_or(0)
    };
    let kinds = |of: &RealmCases| {
        let (tenant, mode, it) = (named.label(&of.tenant).to_owned(), of.mode, &of.figures);
        let now = queries.now(of.realm);
        let labelled = |(kind, count, since)| {
            let labels = format!("{{tenant=\"{tenant}\",mode=\"{mode}\",kind=\"{kind}\"}}");
            (labels, count, age(now, since))
        };
        [
            ("transfer", it.counts.transfers, it.oldest_transfer),
            ("suspense", it.counts.suspense, it.oldest_suspense),
            ("unbooked", it.counts.unbooked, it.oldest_unbooked),
            ("collector", it.counts.collector, it.oldest_collector),
        ]
        .map(labelled)
    };
    let all: Vec<_> = found.iter().flat_map(kinds).collect();
    let of_all = all.iter();
    let counts = of_all.map(|(labels, count, _)| (labels.clone(), *count));
    let help = "Cases that wait for a person.";
    page.sums("cases_open", "gauge", help, counts);
    let help = "For how long the oldest open case has waited; 0 without one.";
    let ages = all.iter().map(|(labels, _, age)| (labels.clone(), *age));
    page.gauges("cases_oldest_seconds", help, ages, u64::max);
    let help = "Money that arrived and that no account could take, in ARS.";
    let sums = found.iter().map(|of| {
        let labels = labels(named.label(&of.tenant), of.mode);
        (labels, of.figures.amount)
    });
    page.gauges("suspense_pesos", help, sums, Sum::plus);
}

#[cfg(test)]
mod tests {
    use caudal_ledger::tenants::orders::{NewTenant, PlatformOrder};

    use super::*;

    #[test]
    fn the_oldest_tenants_have_labels_and_the_figures_of_all_others_are_added_up() {
        let mut platform = Platform::default();
        for number in 0..TENANTS_MAX + 3 {
            let new = NewTenant::plain(format!("tnt_{number}"));
            let facts = platform.decide(PlatformOrder::CreateTenant(new), Timestamp::default());
            for fact in facts.unwrap() {
                platform.apply(&fact);
            }
        }
        let named = LabelledTenants::of(&platform);
        let mut page = Page::default();
        let values = platform.tenants.keys().map(|tenant| {
            let label = named.label(tenant);
            (format!("{{tenant=\"{label}\"}}"), 2)
        });
        page.sums("figure", "gauge", "A test.", values);
        let samples: Vec<_> = page
            .0
            .lines()
            .filter(|line| !line.starts_with('#'))
            .collect();
        assert_eq!(samples.len(), TENANTS_MAX + 1);
        for line in [
            "caudal_figure{tenant=\"other\"} 6",
            "caudal_figure{tenant=\"tnt_0\"} 2",
            "caudal_figure{tenant=\"tnt_199\"} 2",
        ] {
            assert!(samples.contains(&line), "{line}");
        }
    }
}
