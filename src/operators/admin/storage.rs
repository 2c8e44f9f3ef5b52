//! The figures of the journal and of the memory, and verification of all stored data.

use std::fmt::Display;

use actix_web::HttpResponse;
use caudal_actors::verify::{self, Report};
use caudal_backup::names::hex;
use caudal_http::bodies::body;
use caudal_http::errors::{ApiError, HandlerResult};
use caudal_http::words::Refusal;
use caudal_ledger::time::Timestamp;
use caudal_storage::{Checks, Finding, Stats};

use super::{AdminState, State, ok};

body! {
    /// Figures of a journal and its index since the start of the process, unless said otherwise.
    struct FiguresBody as JournalFigures of(stats: &Stats, refuses: Option<impl Display>) {
        /// Why no writes are possible; null when they are.
        reason: Option<String> = refuses.map(|why| why.to_string());
        commits: u64 = stats.commits;
        entries: u64 = stats.entries;
        flushes: u64 = stats.flushes;
        /// Commits per flush.
        mean_group_size: Option<String> = ratio(stats.commits, stats.flushes);
        /// How long a commit waits for the device: the last flush and the mean, in microseconds.
        last_flush_micros: u64 = stats.last_flush_us;
        mean_flush_micros: Option<String> = ratio(stats.flush_us, stats.flushes);
        written_bytes: u64 = stats.journal_bytes;
        /// Commits that wait for the journal now.
        queued: u64 = stats.queued;
        /// The last durable commit since the store was created.
        last_commit: u64 = stats.last_commit;
        /// The last commit that the witness next to the journal names, and the hash of its record: to be
        /// compared with what the log said before.
        witness_commit: u64 = stats.witness_commit;
        witness_chain: String = hex(&stats.witness_chain);
        /// Durable commits that the index on disk does not hold yet.
        index_lag: u64 = stats.index_lag();
        /// Bytes of the journal's files.
        journal_disk_bytes: u64 = stats.journal_disk_bytes;
        index_disk_bytes: u64 = stats.index_disk_bytes;
    }
}

body! {
    /// Figures of the journal and the index.
    struct JournalBody as Journal of(admin_state: &AdminState) {
        => let (stats, ready) = (admin_state.operators().stats(), admin_state.app.ready());
        /// Whether writes are possible.
        writable: bool = ready.is_ok();
        #[serde(flatten)]
        figures: FiguresBody = FiguresBody::of(&stats, ready.err());
        index_runs: u64 = stats.index_runs;
        /// Blocks of the index that were read from its files, and those that were found in the cache,
        /// since the start of this process.
        index_blocks_read: u64 = stats.index_blocks_read;
        index_blocks_cached: u64 = stats.index_blocks_cached;
        /// Bytes that the cache of blocks takes now, and at most now: never more than `storage.block_cache_mib`, and less while
        /// the process is at `memory_bytes`.
        block_cache_bytes: u64 = stats.block_cache_bytes;
        block_cache_bytes_max: u64 = stats.block_cache_bytes_max;
        check: CheckBody = admin_state.operators().checks().into();
    }
}

body! {
    /// The background check, which reads journal and index round after round, and what the start read.
    struct CheckBody as JournalCheck from checks: Checks {
        => let ended_at = Timestamp::from_millis(checks.ended_at);
        => let found = checks.findings.into_iter();
        /// How much it reads in a second at most, in bytes; 0 is off.
        bytes_per_second: u64 = checks.bytes_per_second;
        /// The number of the last round that was begun, since the store was created.
        round: u64 = checks.round;
        /// How much of what it is about was read in that round, in bytes. What was written since counts as read.
        done_bytes: u64 = checks.done_bytes;
        /// How much the round is about, in bytes: full segments of the journal and runs of the index.
        total_bytes: u64 = checks.total_bytes;
        /// How many rounds were ended, and when the last one was.
        rounds: u64 = checks.rounds;
        last_round_at: Option<String> = (checks.rounds > 0).then(|| ended_at.to_string());
        /// What is damaged or cannot be read, since the start of the process; at most a hundred.
        findings: Vec<FindingBody> = found.map(FindingBody::from).collect();
        /// How many findings there are in all.
        count: u64 = checks.found;
        /// Bytes of the journal and of the index that were read to open the store. The rest is read in the background.
        opening_journal_bytes: u64 = checks.opening_journal_bytes;
        opening_index_bytes: u64 = checks.opening_index_bytes;
    }
}

body! {
    /// Something that is damaged or cannot be read.
    struct FindingBody as JournalFinding from finding: Finding {
        /// The file of a segment of the journal, or `index`.
        place: String = finding.place;
        /// Where in the segment, in bytes from its beginning.
        offset: Option<u64> = finding.offset;
        /// What is wrong.
        reason: String = finding.why;
        found_at: String = Timestamp::from_millis(finding.at).to_string();
    }
}

/// Reads the figures of the journal and the index.
#[utoipa::path(
    get,
    path = "/admin/journal",
    responses((status = 200, body = JournalBody))
)]
pub(super) async fn journal(admin_state: State) -> HttpResponse {
    ok(&JournalBody::of(&admin_state))
}

body! {
    /// The memory of the process, in bytes. The system counts as taken what was freed within the last second, too.
    pub(super) struct MemoryBody as Memory of(admin_state: &AdminState) {
        => let stats = admin_state.app.engine.store().stats();
        => let residency = admin_state.app.engine.residency();
        => let plan = admin_state.app.memory;
        /// What the process aims at (`memory_bytes`); null without a target.
        limit_bytes: Option<u64> = plan.map(|plan| plan.limit);
        /// How much of the machine's memory it uses; null if the system does not report it.
        taken_bytes: Option<u64> = caudal_http::memory::taken();
        /// Accounts in memory, and how many there may be now: more while there is room, fewer while there is none.
        accounts: usize = residency.living();
        accounts_max: usize = residency.most();
        /// Rows that are not in the index's files yet.
        table_bytes: u64 = stats.index_table_bytes;
        /// What is kept of the index's files to find rows in them; it grows with what is stored.
        filter_bytes: u64 = stats.index_filter_bytes;
        /// The cache of the index's blocks as they are searched: now, and at most now; less while the process is at its
        /// limit.
        block_cache_bytes: u64 = stats.block_cache_bytes;
        block_cache_bytes_max: u64 = stats.block_cache_bytes_max;
        /// sled's cache of the pages of small runs of the index, at most.
        page_cache_bytes_max: Option<u64> = plan.map(|plan| plan.page_cache);
    }
}

/// Shows how the memory of the process is divided, and what it takes.
#[utoipa::path(
    get,
    path = "/admin/memory",
    responses((status = 200, body = MemoryBody))
)]
pub(super) async fn memory(admin_state: State) -> HttpResponse {
    ok(&MemoryBody::of(&admin_state))
}

/// A ratio with one decimal; `None` if `count` is 0.
fn ratio(sum: u64, count: u64) -> Option<String> {
    let tenths = sum.saturating_mul(10).checked_div(count)?;
    Some(format!("{}.{}", tenths / 10, tenths % 10))
}

body! {
    /// What a verification found.
    pub struct VerifyBody as Verification from report: Report {
        /// Whether nothing differs.
        ok: bool = report.count == 0;
        /// The last commit that was replayed.
        commit: u64 = report.commit;
        /// Entries replayed.
        entries: u64 = report.entries;
        /// Accounts whose history was replayed.
        accounts: u64 = report.accounts;
        /// Vouchers checked.
        vouchers: u64 = report.vouchers;
        /// Actors whose live balance was compared.
        actors: u64 = report.actors;
        /// Entries of the audit log that were recounted.
        audit_entries: u64 = report.audit_entries;
        /// What differs, in words; at most a hundred.
        differences: Vec<String> = report.differences;
        /// How many differences there are in all.
        count: u64 = report.count;
    }
}

/// The answer of a verification; differences are logged.
pub(super) fn verified(report: Report) -> HttpResponse {
    if report.count > 0 {
        tracing::error!(differences = report.count, "verification found differences");
    }
    ok(&VerifyBody::from(report))
}

/// Replays every history and compares it with index and actors; one at a time.
#[utoipa::path(
    post,
    path = "/admin/verify",
    responses((status = 200, body = VerifyBody))
)]
pub(super) async fn verify(admin_state: State) -> HandlerResult {
    let Ok(_turn) = admin_state.verifying.try_acquire() else {
        return Err(ApiError::from(Refusal::Verifying).later(10));
    };
    Ok(verified(verify::engine(&admin_state.app.engine).await?))
}
