//! How the memory of the process is divided, and how much it uses.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use caudal_http::bodies::body;
use caudal_http::memory;
use caudal_http::respond::json;

use super::{AdminState, State};

body! {
    /// The memory of the process, in bytes. The system counts as taken what was freed within the last second, too.
    pub(super) struct MemoryBody as Memory of(admin_state: &AdminState) {
        => let stats = admin_state.app.engine.store().stats();
        => let residency = admin_state.app.engine.residency();
        => let plan = admin_state.app.memory;
        /// What the process aims at (`memory_bytes`); null when nobody looks.
        limit_bytes: Option<u64> = plan.map(|plan| plan.limit);
        /// What it takes of the machine's memory; null where the system does not say.
        taken_bytes: Option<u64> = memory::taken();
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
pub(super) async fn show(admin_state: State) -> HttpResponse {
    json(StatusCode::OK, &MemoryBody::of(&admin_state))
}
