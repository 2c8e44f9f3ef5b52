//! Metrics of the store: journal, index, and the background check of both.

use caudal_actors::persist;
use caudal_storage::{Checks, Stats};
use rust_decimal::Decimal;

use super::{AdminState, Figure, Page, figures};
use crate::admin::observed::fit;

/// The figures of the journal, of the index, of the background check of both, and of what the start read.
const FIGURES: [Figure<(Stats, Checks)>; 26] = figures! {
    counter journal_commits_total "Commits made durable." = |(it, _)| it.commits;
    counter journal_entries_total "Entries made durable." = |(it, _)| it.entries;
    counter journal_flushes_total "Device flushes of the journal." = |(it, _)| it.flushes;
    counter journal_written_bytes_total "Bytes appended." = |(it, _)| it.journal_bytes;
    gauge journal_last_commit "Number of the last durable commit." = |(it, _)| it.last_commit;
    gauge journal_witness_commit "Number of the last commit that the witness beside the journal names."
        = |(it, _)| it.witness_commit;
    // A label with the hash would start a new series at each scrape; 48 bits are exact in any reader.
    gauge journal_witness_chain "First 48 bits of the hash of that commit's record, to be compared with the log."
        = |(it, _)| it.witness_chain.iter().take(6).fold(0, |sum, byte| sum << 8 | u64::from(*byte));
    gauge journal_queued_commits "Commits that wait for the journal." = |(it, _)| it.queued;
    gauge index_rebuilt "1 when this process rebuilt the index from the journal as it started."
        = |(it, _)| u64::from(it.index_rebuilt);
    gauge journal_disk_bytes "Bytes of the journal on disk." = |(it, _)| it.journal_disk_bytes;
    gauge disk_free_bytes "Bytes that are free for the service on the volume of its data folder."
        = |(it, _)| it.disk_free_bytes;
    gauge disk_floor_bytes "Below this many free bytes writes are refused; 0 if they never are for that reason."
        = |(it, _)| it.disk_floor_bytes;
    gauge index_lag_commits "Durable commits not in the index on disk yet." = |(it, _)| it.index_lag();
    gauge index_disk_bytes "Bytes of the index on disk." = |(it, _)| it.index_disk_bytes;
    gauge index_runs "Runs of the index." = |(it, _)| it.index_runs;
    counter index_blocks_read_total "Blocks of the index that were read from its files."
        = |(it, _)| it.index_blocks_read;
    counter index_blocks_cached_total "Blocks of the index that were found in the cache."
        = |(it, _)| it.index_blocks_cached;
    gauge index_block_cache_bytes "Bytes that the cache of blocks takes." = |(it, _)| it.block_cache_bytes;
    gauge index_block_cache_bytes_max "Bytes that the cache of blocks takes at most now."
        = |(it, _)| it.block_cache_bytes_max;
    gauge check_done_bytes "Bytes of full segments and runs of the index that this round of the background check has read."
        = |(_, it)| it.done_bytes;
    gauge check_total_bytes "Bytes of full segments and runs of the index in all." = |(_, it)| it.total_bytes;
    counter check_rounds_total "Rounds of the background check that ended, since the store was created."
        = |(_, it)| it.rounds;
    gauge check_last_round_timestamp_seconds "When the last round ended, in seconds since 1970; 0 when none has."
        = |(_, it)| it.ended_at / 1000;
    counter check_findings_total "What the background check found damaged or could not read."
        = |(_, it)| it.found;
    gauge opening_journal_bytes "Bytes of the journal that were read to open the store."
        = |(_, it)| it.opening_journal_bytes;
    gauge opening_index_bytes "Bytes of the index that were read to open the store."
        = |(_, it)| it.opening_index_bytes;
};

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
    let ready = fit(&admin_state.app).is_ok();
    page.gauge(
        "ready",
        "1 while requests and writes are taken.",
        u8::from(ready),
    );
    let (stats, checks) = (engine.operators().stats(), engine.operators().checks());
    let seconds = Decimal::from(stats.flush_us).checked_div(Decimal::from(1_000_000));
    if let Some(seconds) = seconds {
        let help = "Time spent in flushes.";
        page.counter("journal_flush_seconds_total", help, seconds);
    }
    page.all(&FIGURES, &(stats, checks));
}
