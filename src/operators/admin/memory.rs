//! How the memory of the process is divided, and how much it uses.

use actix_web::http::StatusCode;
use actix_web::{HttpResponse, web};
use caudal_http::bodies::body;
use caudal_http::memory;
use caudal_http::respond::json;

use super::AdminState;

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

impl MemoryBody {
    /// The same as metrics: name, help, value. Unknown values are left out.
    pub(super) fn figures(&self) -> impl Iterator<Item = (&'static str, &'static str, u64)> {
        let size = |n: usize| u64::try_from(n).ok();
        let all = [
            (
                "memory_limit_bytes",
                "What the process aims at.",
                self.limit_bytes,
            ),
            (
                "memory_taken_bytes",
                "What the process takes.",
                self.taken_bytes,
            ),
            (
                "memory_accounts",
                "Accounts in memory.",
                size(self.accounts),
            ),
            (
                "memory_accounts_max",
                "Accounts that may be in memory now.",
                size(self.accounts_max),
            ),
            (
                "index_table_bytes",
                "Rows in memory that are not in the index's files yet.",
                Some(self.table_bytes),
            ),
            (
                "index_filter_bytes",
                "What is kept in memory of the index's files.",
                Some(self.filter_bytes),
            ),
        ];
        let known = |(name, help, figure): (_, _, Option<u64>)| Some((name, help, figure?));
        all.into_iter().filter_map(known)
    }
}

/// Shows how the memory of the process is divided, and what it takes.
#[utoipa::path(
    get,
    path = "/admin/memory",
    tag = "Operation",
    responses((status = 200, body = MemoryBody))
)]
pub(super) async fn show(admin_state: web::Data<AdminState>) -> HttpResponse {
    json(StatusCode::OK, &MemoryBody::of(&admin_state))
}
