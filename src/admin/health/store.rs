//! Metrics of the store: journal, index, and the background check of both.

use caudal_storage::{Checks, Stats};
use rust_decimal::Decimal;

use super::{OperatorDesk, Page};

/// The figures of store, journal, index and their check.
pub(super) fn figures(page: &mut Page, desk: &OperatorDesk) {
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

/// A figure of a cell: name, help, value.
type OfCell = (&'static str, &'static str, fn(&Stats, &Checks) -> u64);

const OF_CELLS: [OfCell; 5] = [
    (
        "cells_last_commit",
        "Number of the last durable commit of a cell.",
        |stats, _| stats.last_commit,
    ),
    (
        "cells_queued_commits",
        "Commits that wait for the journal of a cell.",
        |stats, _| stats.queued,
    ),
    (
        "cells_journal_disk_bytes",
        "Bytes of the journal of a cell on disk.",
        |stats, _| stats.journal_disk_bytes,
    ),
    (
        "cells_index_disk_bytes",
        "Bytes of the index of a cell on disk.",
        |stats, _| stats.index_disk_bytes,
    ),
    (
        "cells_check_findings",
        "What the background check of a cell found since the start, damaged or unreadable.",
        |_, checks| checks.found,
    ),
];

/// Figures of every cell, where there are several; those without a cell are of the first one.
pub(super) fn cells(page: &mut Page, desk: &OperatorDesk) {
    let engine = &desk.door.engine;
    let all: Vec<_> = engine.cells().numbered().collect();
    if all.len() < 2 {
        return;
    }
    let label = |cell: u32| format!("{{cell=\"{cell}\"}}");
    for (name, help, figure) in OF_CELLS {
        page.family(name, "gauge", help);
        for (cell, store) in &all {
            page.sample(name, &label(*cell), figure(&store.stats(), &store.checks()));
        }
    }
    let platform = engine.platform();
    page.family("cells_realms", "gauge", "Realms that lie in a cell.");
    for (cell, _) in &all {
        page.sample("cells_realms", &label(*cell), platform.realms_in(*cell));
    }
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
        "Bytes that the cache of blocks takes at most now.",
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
