//! Metrics of the store: journal, index, and the background check of both.

use caudal_actors::persist;
use caudal_storage::{Checks, Stats};
use rust_decimal::Decimal;

use super::{AdminState, Page};

/// A figure: name, kind, help, value.
type StoreFigure = (
    &'static str,
    &'static str,
    &'static str,
    fn(&Stats, &Checks) -> u64,
);

const JOURNAL: [StoreFigure; 8] = [
    (
        "journal_commits_total",
        "counter",
        "Commits made durable.",
        |it, _| it.commits,
    ),
    (
        "journal_entries_total",
        "counter",
        "Entries made durable.",
        |it, _| it.entries,
    ),
    (
        "journal_flushes_total",
        "counter",
        "Device flushes of the journal.",
        |it, _| it.flushes,
    ),
    (
        "journal_written_bytes_total",
        "counter",
        "Bytes appended.",
        |it, _| it.journal_bytes,
    ),
    (
        "journal_last_commit",
        "gauge",
        "Number of the last durable commit.",
        |it, _| it.last_commit,
    ),
    (
        "journal_witness_commit",
        "gauge",
        "Number of the last commit that the witness beside the journal names.",
        |it, _| it.witness_commit,
    ),
    (
        "journal_witness_chain",
        "gauge",
        "First 48 bits of the hash of that commit's record, to be compared with the log.",
        // A label with the hash would start a new series at each scrape; 48 bits are exact in any reader.
        |it, _| {
            it.witness_chain
                .iter()
                .take(6)
                .fold(0, |sum, byte| sum << 8 | u64::from(*byte))
        },
    ),
    (
        "journal_queued_commits",
        "gauge",
        "Commits that wait for the journal.",
        |it, _| it.queued,
    ),
];

const ON_DISK: [StoreFigure; 11] = [
    (
        "index_rebuilt",
        "gauge",
        "1 when this process rebuilt the index from the journal as it started.",
        |it, _| u64::from(it.index_rebuilt),
    ),
    (
        "journal_disk_bytes",
        "gauge",
        "Bytes of the journal on disk.",
        |it, _| it.journal_disk_bytes,
    ),
    (
        "disk_free_bytes",
        "gauge",
        "Bytes that are free for the service on the volume of its data folder.",
        |it, _| it.disk_free_bytes,
    ),
    (
        "disk_floor_bytes",
        "gauge",
        "Below this many free bytes writes are refused; 0 if they never are for that reason.",
        |it, _| it.disk_floor_bytes,
    ),
    (
        "index_lag_commits",
        "gauge",
        "Durable commits not in the index on disk yet.",
        |it, _| it.index_lag(),
    ),
    (
        "index_disk_bytes",
        "gauge",
        "Bytes of the index on disk.",
        |it, _| it.index_disk_bytes,
    ),
    ("index_runs", "gauge", "Runs of the index.", |it, _| {
        it.index_runs
    }),
    (
        "index_blocks_read_total",
        "counter",
        "Blocks of the index that were read from its files.",
        |it, _| it.index_blocks_read,
    ),
    (
        "index_blocks_cached_total",
        "counter",
        "Blocks of the index that were found in the cache.",
        |it, _| it.index_blocks_cached,
    ),
    (
        "index_block_cache_bytes",
        "gauge",
        "Bytes that the cache of blocks takes.",
        |it, _| it.block_cache_bytes,
    ),
    (
        "index_block_cache_bytes_max",
        "gauge",
        "Bytes that the cache of blocks takes at most now.",
        |it, _| it.block_cache_bytes_max,
    ),
];

/// The background check of journal and index, and the bytes that the start read.
const CHECKS: [StoreFigure; 7] = [
    (
        "check_done_bytes",
        "gauge",
        "Bytes of full segments and runs of the index that this round of the background check has read.",
        |_, it| it.done_bytes,
    ),
    (
        "check_total_bytes",
        "gauge",
        "Bytes of full segments and runs of the index in all.",
        |_, it| it.total_bytes,
    ),
    (
        "check_rounds_total",
        "counter",
        "Rounds of the background check that ended, since the store was created.",
        |_, it| it.rounds,
    ),
    (
        "check_last_round_timestamp_seconds",
        "gauge",
        "When the last round ended, in seconds since 1970; 0 when none has.",
        |_, it| it.ended_at / 1000,
    ),
    (
        "check_findings_total",
        "counter",
        "What the background check found damaged or could not read.",
        |_, it| it.found,
    ),
    (
        "opening_journal_bytes",
        "gauge",
        "Bytes of the journal that were read to open the store.",
        |_, it| it.opening_journal_bytes,
    ),
    (
        "opening_index_bytes",
        "gauge",
        "Bytes of the index that were read to open the store.",
        |_, it| it.opening_index_bytes,
    ),
];

/// The figures of journal, index and their check.
pub(super) fn figures(page: &mut Page, admin_state: &AdminState) {
    page.counter(
        "log_dropped_lines_total",
        "Lines of the log that were dropped because whoever reads it is slow.",
        caudal_http::log::dropped(),
    );
    page.counter(
        "task_panics_total",
        "Tasks that panicked and were restarted.",
        persist::panicked(),
    );
    let engine = &admin_state.app.engine;
    let ready = admin_state.app.gate.is_open() && admin_state.app.ready().is_ok();
    page.gauge(
        "ready",
        "1 while requests and writes are taken.",
        u8::from(ready),
    );
    let (stats, checks) = (engine.operators().stats(), engine.operators().checks());
    let seconds = Decimal::from(stats.flush_us).checked_div(Decimal::from(1_000_000));
    page.figure(
        "journal_flush_seconds_total",
        "counter",
        "Time spent in flushes.",
        seconds,
    );
    for (name, kind, help, figure) in JOURNAL.iter().chain(&ON_DISK).chain(&CHECKS) {
        page.figure(name, kind, help, Some(figure(&stats, &checks)));
    }
}
