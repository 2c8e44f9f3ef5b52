//! Several cells in one service: tenants lie in one of them, and go into another while everybody goes on.

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

/// The generations of the realms of the other tenant, with where each lies.
const RESTORES: &str = "/admin/tenants/tnt_other/restores";

/// How long a move or an order is tried again, however busy the machine is.
const PATIENCE: Duration = Duration::from_secs(300);

/// A service with so many cells.
async fn with_cells(cells: u32) -> TestService {
    TestService::with(Setup {
        cells,
        ..Setup::default()
    })
    .await
}

/// What is known of the other tenant's test realm.
pub async fn standing(service: &TestService) -> Value {
    service.admin_get(RESTORES).await.is(200)["test"].clone()
}

/// Begins to move the other tenant's test realm, or goes on with it.
pub async fn begun(service: &TestService, cell: u32) -> Value {
    let body = json!({"mode": "test", "cell": cell});
    let path = format!("/admin/tenants/{OTHER}/move");
    service.admin("POST", &path, &body).await.is(200)["test"].clone()
}

/// Moves it, however often it is interrupted.
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
