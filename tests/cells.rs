//! Several cells in one service: each tenant lies in one of them, and moves into another while everybody
//! continues.

mod commands;
mod crashes;
mod folders;
mod imported;
mod load;
mod logged;
mod moved;

use std::time::Duration;

use crate::support::service::OTHER;
use crate::support::{Setup, TestService, Value, json, wait_until};

/// Lists the generations of the other tenant's realms, with the cell of each.
const RESTORES: &str = "/admin/tenants/tnt_other/restores";

/// How long a move or an order is retried, however busy the machine is.
const PATIENCE: Duration = Duration::from_secs(300);

/// A service with this many cells.
async fn with_cells(cells: u32) -> TestService {
    TestService::with(Setup {
        cells,
        ..Setup::default()
    })
    .await
}

/// The state of the other tenant's test realm.
pub async fn standing(service: &TestService) -> Value {
    service.admin_get(RESTORES).await.is(200)["test"].clone()
}

/// Begins to move the other tenant's test realm, or continues a move; returns its state.
pub async fn begun(service: &TestService, cell: u32) -> Value {
    let body = json!({"mode": "test", "cell": cell});
    let path = format!("/admin/tenants/{OTHER}/move");
    service.admin("POST", &path, &body).await.is(200)["test"].clone()
}

/// Moves the realm into a cell, however often the move is interrupted.
pub async fn brought(service: &TestService, cell: u32) {
    wait_until("the realm lies in its cell", PATIENCE, async || {
        let now = standing(service).await;
        let last = now["generations"].as_array().unwrap().last().unwrap();
        let under_way = last["state"] == "copying";
        let there = now["cell"] == cell && !under_way;
        if !there && !under_way {
            begun(service, cell).await;
        }
        there.then_some(())
    })
    .await;
}
