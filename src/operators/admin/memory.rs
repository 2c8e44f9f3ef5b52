//! How the memory of the process is divided, and how much it uses.

use actix_web::http::StatusCode;
use actix_web::{HttpResponse, web};
use caudal_http::memory;
use caudal_http::respond::json;
use serde::Serialize;
use utoipa::ToSchema;

use super::AdminState;

/// The memory of the process, in bytes. The system counts as taken what was freed within the last second, too.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Memory)]
pub(super) struct MemoryBody {
    /// What the process aims at (`memory_bytes`); null when nobody looks.
    pub limit_bytes: Option<u64>,
    /// What it takes of the machine's memory; null where the system does not say.
    pub taken_bytes: Option<u64>,
    /// Accounts in memory, and how many there may be now: more while there is room, fewer while there is none.
    pub accounts: usize,
    pub accounts_max: usize,
    /// Rows that are not in the index's files yet.
    pub table_bytes: u64,
    /// What is kept of the index's files to find rows in them; it grows with what is stored.
    pub filter_bytes: u64,
    /// The cache of the index's blocks as they are searched: now, and at most now; less while the process is at its
    /// limit.
    pub block_cache_bytes: u64,
    pub block_cache_bytes_max: u64,
    /// sled's cache of the pages of small runs of the index, at most.
    pub page_cache_bytes_max: Option<u64>,
}

impl MemoryBody {
    /// The current figures.
    pub(super) fn now(admin_state: &AdminState) -> Self {
        let stats = admin_state.app.engine.store().stats();
        let residency = admin_state.app.engine.residency();
        let plan = admin_state.app.memory;
        Self {
            limit_bytes: plan.map(|plan| plan.limit),
            taken_bytes: memory::taken(),
            accounts: residency.living(),
            accounts_max: residency.most(),
            table_bytes: stats.index_table_bytes,
            filter_bytes: stats.index_filter_bytes,
            block_cache_bytes: stats.block_cache_bytes,
            block_cache_bytes_max: stats.block_cache_bytes_max,
            page_cache_bytes_max: plan.map(|plan| plan.page_cache),
        }
    }

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
    operation_id = "readMemory",
    tag = "Operation",
    responses((status = 200, body = MemoryBody))
)]
pub(super) async fn show(admin_state: web::Data<AdminState>) -> HttpResponse {
    json(StatusCode::OK, &MemoryBody::now(&admin_state))
}
