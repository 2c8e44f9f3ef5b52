//! Health and metrics: the only paths of the admin listener that need no key.

use std::fmt::{Display, Write as _};

use actix_web::http::StatusCode;
use actix_web::{HttpResponse, web};
use caudal_actors::engine::Down;
use caudal_actors::engine::cases::CaseFigures;
use caudal_actors::failure::Failure;
use caudal_actors::platform::realms;
use caudal_actors::realms::RealmReport;
use caudal_ledger::time::Timestamp;
use caudal_storage::{Checks, Stats};
use rust_decimal::Decimal;
use serde::Serialize;

use super::OperatorDesk;
use super::actors::{RealmFigures, reports};
use super::memory::MemoryBody;
use super::webhooks;
use crate::http::errors::ApiError;
use crate::http::respond::json;

/// Whether the process answers at all.
pub async fn livez() -> HttpResponse {
    json(StatusCode::OK, &serde_json::json!({"status": "alive"}))
}

/// Whether requests are taken and writes and reads are possible, and if not, why: more than the
/// public listener says, which anybody may ask.
pub async fn readyz(desk: web::Data<OperatorDesk>) -> Result<HttpResponse, ApiError> {
    let door = &desk.door;
    if door.gate.is_open()
        && let Err(why) = door.engine.store().ready()
    {
        return Err(ApiError::not_ready(why));
    }
    let ready = crate::server::readyz(web::Data::new(door.clone())).await?;
    let down = door.engine.down();
    if down.is_empty() {
        return Ok(ready);
    }
    Ok(json(StatusCode::OK, &Limping::of(&down)))
}

/// What is ready while the supervisor of a realm has fallen: the others go on.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Limping {
    status: &'static str,
    realms_down: Vec<Fallen>,
}

/// A realm whose supervisor has fallen within the last minute, or is not back yet.
#[derive(Debug, Serialize)]
struct Fallen {
    realm: u32,
    /// How often, without a minute of calm in between.
    falls: u32,
    /// Whether it takes orders again.
    served: bool,
}

impl Limping {
    fn of(down: &[Down]) -> Self {
        let fallen = |down: &Down| Fallen {
            realm: down.realm.0,
            falls: down.falls,
            served: down.served,
        };
        Self {
            status: "ready",
            realms_down: down.iter().map(fallen).collect(),
        }
    }
}

/// Prometheus text, made from the figures of the store and of the actors.
pub async fn metrics(desk: web::Data<OperatorDesk>) -> HttpResponse {
    let mut page = Page::default();
    store(&mut page, &desk);
    for (name, help, figure) in MemoryBody::now(&desk).figures() {
        page.gauge(name, help, figure);
    }
    clock(&mut page, &desk);
    match reports(&desk).await {
        Ok(realms) => actors(&mut page, &realms),
        // The store's figures are wanted most when the actors cannot answer.
        Err(why) => tracing::warn!(%why, "metrics without the actors' figures"),
    }
    match webhooks::all(&desk).await {
        Ok(found) => hooks(&mut page, &found),
        Err(why) => tracing::warn!(%why, "metrics without the webhooks' figures"),
    }
    match figures(&desk) {
        Ok(found) => cases(&mut page, &found, desk.door.engine.now()),
        Err(why) => tracing::warn!(%why, "metrics without the cases"),
    }
    HttpResponse::Ok()
        .content_type("text/plain; version=0.0.4; charset=utf-8")
        .body(page.0)
}

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
        self.family(name, "gauge", help);
        self.sample(name, "", value);
    }

    fn counter(&mut self, name: &str, help: &str, value: impl Display) {
        self.family(name, "counter", help);
        self.sample(name, "", value);
    }
}

fn clock(page: &mut Page, desk: &OperatorDesk) {
    let doubt = desk.door.engine.clock_doubt();
    let apart = doubt.map_or(0, |doubt| {
        let (says, believed) = (doubt.says.millis(), doubt.believed.millis());
        i128::from(says).saturating_sub(i128::from(believed))
    });
    page.gauge(
        "clock_in_doubt",
        "1 while the machine's clock is not believed and no order is taken.",
        u8::from(doubt.is_some()),
    );
    page.gauge(
        "clock_apart_milliseconds",
        "How far a clock in doubt is ahead of what is believed.",
        apart,
    );
}

fn store(page: &mut Page, desk: &OperatorDesk) {
    page.counter(
        "log_dropped_lines_total",
        "Lines of the log that were dropped because whoever reads it is slow.",
        crate::log::dropped(),
    );
    let stats = desk.door.engine.stats();
    let ready = desk.door.gate.is_open() && desk.door.engine.ready().is_ok();
    page.gauge(
        "ready",
        "1 while requests and writes are taken.",
        u8::from(ready),
    );
    page.counter(
        "journal_commits_total",
        "Commits made durable.",
        stats.commits,
    );
    page.counter(
        "journal_entries_total",
        "Entries made durable.",
        stats.entries,
    );
    page.counter(
        "journal_flushes_total",
        "Device flushes of the journal.",
        stats.flushes,
    );
    page.counter(
        "journal_written_bytes_total",
        "Bytes appended.",
        stats.journal_bytes,
    );
    let seconds = Decimal::from(stats.flush_us).checked_div(Decimal::from(1_000_000));
    let seconds = seconds.unwrap_or_default();
    page.counter(
        "journal_flush_seconds_total",
        "Time spent in flushes.",
        seconds,
    );
    page.gauge(
        "journal_last_commit",
        "Number of the last durable commit.",
        stats.last_commit,
    );
    witness(page, &stats);
    page.gauge(
        "journal_queued_commits",
        "Commits that wait for the journal.",
        stats.queued,
    );
    page.gauge(
        "journal_disk_bytes",
        "Bytes of the journal on disk.",
        stats.journal_disk_bytes,
    );
    compressed(page, &stats);
    let lag = stats.last_commit.saturating_sub(stats.indexed_commit);
    page.gauge(
        "index_lag_commits",
        "Durable commits not in the index on disk yet.",
        lag,
    );
    page.gauge(
        "index_disk_bytes",
        "Bytes of the index on disk.",
        stats.index_disk_bytes,
    );
    page.gauge("index_runs", "Runs of the index.", stats.index_runs);
    check(page, &desk.door.engine.checks());
    reads(page, &stats);
}

/// The background check of journal and index.
fn check(page: &mut Page, checks: &Checks) {
    page.gauge(
        "check_done_bytes",
        "Bytes of full segments and runs of the index that this round of the background check has read.",
        checks.done_bytes,
    );
    page.gauge(
        "check_total_bytes",
        "Bytes of full segments and runs of the index in all.",
        checks.total_bytes,
    );
    page.counter(
        "check_rounds_total",
        "Rounds of the background check that ended, since the store was created.",
        checks.rounds,
    );
    page.gauge(
        "check_last_round_timestamp_seconds",
        "When the last round ended, in seconds since 1970; 0 when none has.",
        checks.ended_at / 1000,
    );
    page.counter(
        "check_findings_total",
        "What the background check found damaged or could not read.",
        checks.found,
    );
    page.gauge(
        "opening_journal_bytes",
        "Bytes of the journal that were read to open the store.",
        checks.opening_journal_bytes,
    );
    page.gauge(
        "opening_index_bytes",
        "Bytes of the index that were read to open the store.",
        checks.opening_index_bytes,
    );
}

/// Segments of the journal that are compressed.
fn compressed(page: &mut Page, stats: &Stats) {
    page.gauge(
        "journal_compressed_segments",
        "Full segments of the journal that are compressed.",
        stats.compressed_segments,
    );
    page.gauge(
        "journal_compressed_saved_bytes",
        "Bytes by which they are smaller than they were.",
        stats.compressed_saved_bytes,
    );
    page.gauge(
        "journal_frame_cache_bytes",
        "Bytes that unpacked pieces of them take.",
        stats.frame_cache_bytes,
    );
    page.gauge(
        "journal_frame_cache_bytes_max",
        "Bytes that unpacked pieces of them take at most.",
        stats.frame_cache_bytes_max,
    );
}

/// What reads of the index cost.
fn reads(page: &mut Page, stats: &Stats) {
    page.counter(
        "index_blocks_read_total",
        "Blocks of the index that were read from its files.",
        stats.index_blocks_read,
    );
    page.counter(
        "index_blocks_cached_total",
        "Blocks of the index that were found in the cache.",
        stats.index_blocks_cached,
    );
    page.gauge(
        "index_block_cache_bytes",
        "Bytes that the cache of blocks takes.",
        stats.block_cache_bytes,
    );
    page.gauge(
        "index_block_cache_bytes_max",
        "Bytes that the cache of blocks takes at most.",
        stats.block_cache_bytes_max,
    );
}

/// How far the journal went, to be compared with the log.
fn witness(page: &mut Page, stats: &Stats) {
    page.gauge(
        "journal_witness_commit",
        "Number of the last commit that the witness beside the journal names.",
        stats.witness_commit,
    );
    // A label with the hash would be a new series at each scrape; 48 bits are exact in any reader.
    let chain = stats.witness_chain.iter().take(6);
    page.gauge(
        "journal_witness_chain",
        "First 48 bits of the hash of that commit's record, to be compared with the log.",
        chain.fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte)),
    );
    page.gauge(
        "index_rebuilt",
        "1 when this process rebuilt the index from the journal as it started.",
        u8::from(stats.index_rebuilt),
    );
}

/// One figure of a realm: name, kind, help, value.
type Figure = (
    &'static str,
    &'static str,
    &'static str,
    fn(&RealmReport) -> u64,
);

fn size(n: usize) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}

const FIGURES: [Figure; 7] = [
    (
        "actors_resident",
        "gauge",
        "Account actors that live.",
        |r| size(r.resident),
    ),
    (
        "actors_mailbox_messages",
        "gauge",
        "Messages that wait.",
        |r| size(r.queued),
    ),
    (
        "actors_commits_in_flight",
        "gauge",
        "Commits not durable yet.",
        |r| size(r.in_flight),
    ),
    (
        "actors_waiting_for_bank",
        "gauge",
        "Actors that wait for the bank.",
        |r| size(r.waiting_for_bank),
    ),
    (
        "actors_starts_total",
        "counter",
        "Actors that were started.",
        |r| r.starts,
    ),
    (
        "actors_restarts_total",
        "counter",
        "Actors replaced after a fault.",
        |r| r.restarts,
    ),
    (
        "actors_passivations_total",
        "counter",
        "Actors that were sent away.",
        |r| r.passivations,
    ),
];

fn actors(page: &mut Page, realms: &[RealmFigures]) {
    for (name, kind, help, figure) in FIGURES {
        page.family(name, kind, help);
        for realm in realms {
            // A tenant's id is made by us: letters, digits and `_`.
            let (tenant, mode) = (&realm.tenant, realm.mode.as_str());
            let labels = format!("{{tenant=\"{tenant}\",mode=\"{mode}\"}}");
            page.sample(name, &labels, figure(&realm.report));
        }
    }
}

/// One figure of a webhook: name, kind, help, value.
type HookFigure = (
    &'static str,
    &'static str,
    &'static str,
    fn(&webhooks::Row) -> u64,
);

const HOOK_FIGURES: [HookFigure; 5] = [
    (
        "webhook_behind_events",
        "gauge",
        "Events that a webhook has not looked at.",
        |row| row.progress.behind,
    ),
    (
        "webhook_waiting_accounts",
        "gauge",
        "Accounts whose next event waits to be taken.",
        |row| size(row.progress.waiting),
    ),
    (
        "webhook_stopped",
        "gauge",
        "1 while a webhook is parked or gone.",
        |row| u64::from(matches!(row.status, "parked" | "gone")),
    ),
    (
        "webhook_delivered_total",
        "counter",
        "Events that a webhook took.",
        |row| row.progress.delivered,
    ),
    (
        "webhook_parked_total",
        "counter",
        "Events that were given up.",
        |row| row.progress.parked,
    ),
];

fn hooks(page: &mut Page, found: &[webhooks::Row]) {
    for (name, kind, help, figure) in HOOK_FIGURES {
        page.family(name, kind, help);
        for row in found {
            let (tenant, mode, id) = (&row.tenant_id, row.mode, &row.id);
            let labels = format!("{{tenant=\"{tenant}\",mode=\"{mode}\",webhook=\"{id}\"}}");
            page.sample(name, &labels, figure(row));
        }
    }
}

/// What waits for a person in a realm.
pub(super) type RealmCases = (String, &'static str, CaseFigures);

pub(super) fn figures(desk: &OperatorDesk) -> Result<Vec<RealmCases>, Failure> {
    let engine = &desk.door.engine;
    let platform = engine.platform();
    let all = realms(&platform).map(|(tenant, mode)| {
        let found = engine.case_figures(tenant.realm(mode))?;
        Ok((tenant.id.clone(), mode.as_str(), found))
    });
    all.collect()
}

fn cases(page: &mut Page, found: &[RealmCases], now: Timestamp) {
    let age = |since: Option<Timestamp>| {
        let millis = since.map_or(0, |since| now.millis().saturating_sub(since.millis()));
        millis.checked_div(1000).unwrap_or(0)
    };
    let kinds = |it: &CaseFigures| {
        [
            ("transfer", it.counts.transfers, it.oldest_transfer),
            ("suspense", it.counts.suspense, it.oldest_suspense),
            ("unbooked", it.counts.unbooked, it.oldest_unbooked),
        ]
    };
    page.family("cases_open", "gauge", "Cases that wait for a person.");
    for (tenant, mode, it) in found {
        for (kind, count, _) in kinds(it) {
            let labels = format!("{{tenant=\"{tenant}\",mode=\"{mode}\",kind=\"{kind}\"}}");
            page.sample("cases_open", &labels, count);
        }
    }
    let help = "For how long the oldest open case has waited; 0 without one.";
    page.family("cases_oldest_seconds", "gauge", help);
    for (tenant, mode, it) in found {
        for (kind, _, since) in kinds(it) {
            let labels = format!("{{tenant=\"{tenant}\",mode=\"{mode}\",kind=\"{kind}\"}}");
            page.sample("cases_oldest_seconds", &labels, age(since));
        }
    }
    let help = "Money that arrived and that no account could take, in ARS.";
    page.family("suspense_pesos", "gauge", help);
    for (tenant, mode, it) in found {
        let labels = format!("{{tenant=\"{tenant}\",mode=\"{mode}\"}}");
        page.sample("suspense_pesos", &labels, it.amount);
    }
}
