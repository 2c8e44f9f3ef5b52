//! The cells of a service: the data in them.

use actix_web::http::StatusCode;
use actix_web::{HttpResponse, web};
use caudal_storage::Store;
use serde::Serialize;
use utoipa::ToSchema;

use super::OperatorDesk;
use crate::http::respond::json;

/// A cell: one journal.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Cell)]
pub(super) struct CellBody {
    /// The number of the cell.
    cell: u32,
    /// How many realms lie in it.
    realms: usize,
    /// The last commit of the log.
    commit: u64,
    /// Bytes of its journal and of its index on disk here.
    journal_disk_bytes: u64,
    index_disk_bytes: u64,
    /// Why it takes no writes here; null when it does.
    error: Option<String>,
}

impl CellBody {
    /// All cells.
    fn all(desk: &OperatorDesk) -> Vec<Self> {
        let all = desk.door.engine.cells().numbered();
        all.map(|(cell, store)| Self::now(desk, (cell, store.as_ref())))
            .collect()
    }

    fn now(desk: &OperatorDesk, (cell, store): (u32, &dyn Store)) -> Self {
        let stats = store.stats();
        Self {
            cell,
            realms: desk.door.engine.platform().realms_in(cell),
            commit: stats.last_commit,
            journal_disk_bytes: stats.journal_disk_bytes,
            index_disk_bytes: stats.index_disk_bytes,
            error: store.ready().err().map(|why| why.to_string()),
        }
    }
}

/// Shows the cells.
#[utoipa::path(
    get,
    path = "/admin/cells",
    operation_id = "listCells",
    tag = "Operation",
    responses((status = 200, body = Vec<CellBody>))
)]
pub async fn list(desk: web::Data<OperatorDesk>) -> HttpResponse {
    json(StatusCode::OK, &CellBody::all(&desk))
}
