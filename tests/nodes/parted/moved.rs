//! A realm moves from a cell of one node into a cell of another, under load, whichever node dies in between.

use serde_json::{Value, json};

use super::super::cluster::Load;
use super::{MANY, Parted};
use crate::support::{SOON, wait_until};

impl Parted {
    /// Moves a tenant's realm into a cell, retrying past whatever prevents it at first, and waits until it is
    /// there.
    pub(super) async fn moves(&self, asked: usize, tenant: usize, cell: u32) {
        let path = format!("/admin/tenants/{}/move", self.tenants[tenant].id);
        let body = json!({"mode": "test", "cell": cell});
        wait_until("it lies in the other cell", SOON, async || {
            let (_, now) = self.nodes.admin(asked, "POST", &path, Some(&body)).await;
            (now["test"]["cell"] == cell).then_some(())
        })
        .await;
    }

    /// Checks that every node shows each acknowledged voucher once.
    pub(super) async fn shows(&self, tenant: usize, count: usize) {
        for node in 0..3 {
            let client = self.client(node, tenant);
            let available = client.available(&self.tenants[tenant].cvu).await;
            assert_eq!(available, format!("{count}.00"), "at {node}");
        }
    }

    pub(super) fn load(&self, tenant: usize, clients: usize) -> Load {
        let it = &self.tenants[tenant];
        Load::of(&self.nodes, vec![(it.key.clone(), it.cvu.clone())], clients)
    }
}

#[actix_web::test]
async fn a_realm_moves_between_cells_of_any_owners_under_load() {
    let Some(mut parted) = Parted::start().await else {
        return;
    };
    let load = parted.load(1, 4);
    // Cells of various owners to leave and to enter, and various nodes that are asked.
    for (asked, cell) in [(0, 2), (1, 1), (2, 0), (1, 2), (0, 1)] {
        load.more(20).await;
        parted.moves(asked, 1, cell).await;
        load.more(20).await;
    }
    let count = load.end().await.acknowledged.len();
    parted.shows(1, count).await;
    parted.level().await;
    parted.nodes.stop().await;
}

#[actix_web::test]
async fn whoever_dies_while_a_realm_moves_it_is_served_by_one_cell_and_can_be_moved_again() {
    let Some(mut parted) = Parted::start().await else {
        return;
    };
    for (round, dies) in [0_usize, 1, 2].into_iter().enumerate() {
        let load = parted.load(1, 3);
        load.more(10).await;
        let (from, to) = (parted.cell_of(1).await, (dies + 1) % 3);
        let to = u32::try_from(to).unwrap();
        let path = format!("/admin/tenants/{}/move", parted.tenants[1].id);
        let body = json!({"mode": "test", "cell": to});
        let driver = parted.nodes.owner_in(0).await;
        parted.nodes.admin(driver, "POST", &path, Some(&body)).await;
        // It dies somewhere on the way: the driver, the owner of the cell that the realm leaves, or that of the
        // cell that it enters.
        load.avoids(dies);
        let owned: Vec<u32> = parted.owned(dies).await;
        parted.nodes.kill(dies).await;
        for cell in owned {
            parted.nodes.lapses(cell);
        }
        load.more(10).await;
        parted.nodes.begin(dies);
        parted.nodes.seen(dies).await;
        load.more(10).await;
        let other = (0..MANY).find(|cell| *cell != from && *cell != to).unwrap();
        for cell in [to, other] {
            parted.moves(round, 1, cell).await;
            load.more(10).await;
        }
        let count = load.end().await.acknowledged.len();
        parted.tenants[1].before += count;
        parted.shows(1, parted.tenants[1].before).await;
    }
    parted.level().await;
    parted.nodes.stop().await;
}

#[actix_web::test]
async fn a_realm_that_leaves_while_the_first_cell_changes_hands_is_served_by_one_cell() {
    let Some(mut parted) = Parted::start().await else {
        return;
    };
    let load = parted.load(1, 4);
    let path = format!("/admin/tenants/{}/move", parted.tenants[1].id);
    for round in 0..6_usize {
        load.more(10).await;
        let driver = parted.nodes.owner_in(0).await;
        let from = parted.cell_of(1).await;
        let body = json!({"mode": "test", "cell": (from + 1) % MANY});
        parted.nodes.admin(driver, "POST", &path, Some(&body)).await;
        if round % 2 == 1 {
            load.more(10).await;
        }
        let next = (driver + 1) % 3;
        parted.nodes.owns(0, next).await;
        load.more(10).await;
        parted.moves(next, 1, (from + 2) % MANY).await;
    }
    let count = load.end().await.acknowledged.len();
    parted.shows(1, count).await;
    let leaving = |service: &caudal::service::Service| {
        let platform = service.engine.platform();
        let tenant = platform.tenant(&parted.tenants[1].id).unwrap();
        platform.is_leaving(tenant.realm(caudal_ledger::tenants::Mode::Test))
    };
    assert!(!parted.nodes.services().any(leaving), "it leaves for ever");
    parted.level().await;
    parted.nodes.stop().await;
}

impl Parted {
    /// The cell that a tenant's realm lies in.
    async fn cell_of(&self, tenant: usize) -> u32 {
        let path = format!("/admin/tenants/{}/restores", self.tenants[tenant].id);
        let owner = self.nodes.owner_in(0).await;
        let (_, now) = self.nodes.admin(owner, "GET", &path, None).await;
        number(&now["test"]["cell"])
    }

    /// The cells that a node owns.
    pub(super) async fn owned(&self, node: usize) -> Vec<u32> {
        let (_, cells) = self.nodes.admin(node, "GET", "/admin/cells", None).await;
        let cells = cells.as_array().unwrap().iter();
        let owned = cells.filter(|cell| cell["owns"] == true);
        owned.map(|cell| number(&cell["cell"])).collect()
    }
}

fn number(value: &Value) -> u32 {
    u32::try_from(value.as_u64().unwrap()).unwrap()
}
