//! Several cells on several nodes: each cell has an owner of its own, which serves the cell's tenants whichever node
//! is asked.

mod moved;
mod operators;
mod rooms;
mod secret;
mod shipped;
mod spread;

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use caudal_ledger::tenants::Mode;
use caudal_storage::CommitNo;
use serde_json::json;

use super::cluster::{Cluster, Load};
use super::site::number;
use super::{account, types};
use crate::support::{Client, SOON, wait_until};

/// How many cells and nodes there are.
const MANY: u32 = 3;

/// The admin key of the nodes.
const ROOT: &str = caudal::service::TEST_ADMIN_KEY;

/// A tenant in each cell, and a different owner for each cell: node N owns cell N.
struct Parted {
    nodes: Cluster,
    tenants: Vec<Tenant>,
}

struct Tenant {
    id: String,
    key: String,
    cvu: String,
    /// The amount acknowledged before, in whole pesos.
    before: usize,
}

impl Parted {
    async fn start() -> Option<Self> {
        Some(Self::of(Cluster::parted(3, MANY).await?).await)
    }

    async fn of(nodes: Cluster) -> Self {
        for cell in 0..MANY {
            nodes.owns(cell, cell_node(cell)).await;
        }
        let mut parted = Self {
            nodes,
            tenants: Vec::new(),
        };
        for cell in 0..MANY {
            let tenant = parted.tenant(cell).await;
            parted.tenants.push(tenant);
        }
        parted
    }

    /// Creates a tenant in a cell, with its types and an account.
    async fn tenant(&self, cell: u32) -> Tenant {
        let body = json!({"name": format!("in {cell}"), "cell": cell});
        let path = "/admin/tenants";
        let (status, made) = self.nodes.admin(0, "POST", path, Some(&body)).await;
        assert_eq!(status, 201, "{made}");
        let id = made["id"].as_str().unwrap().to_owned();
        let key = self.nodes.issue_to(0, &id, Mode::Test).await;
        // The key was issued, and the realm made, at another node than the one that serves the realm.
        let client = self.nodes.client(cell_node(cell)).with_key(Some(&key));
        types(&client).await;
        let cvu = account(&client).await;
        Tenant {
            id,
            key,
            cvu,
            before: 0,
        }
    }

    fn client(&self, node: usize, tenant: usize) -> Client {
        self.nodes
            .client(node)
            .with_key(Some(&self.tenants[tenant].key))
    }

    /// The tenants whose actors run at a node.
    async fn acting(&self, node: usize) -> BTreeSet<String> {
        let (status, found) = self.nodes.admin(node, "GET", "/admin/actors", None).await;
        assert_eq!(status, 200, "{found}");
        let rows = found["items"].as_array().unwrap().iter();
        let ids = rows.map(|row| row["tenantId"].as_str().unwrap());
        ids.map(str::to_owned).collect()
    }

    /// Waits until every node has the same journal of each cell, and verifies it.
    async fn level(&self) {
        for cell in 0..MANY {
            wait_until("every node has the same journal", SOON, async || {
                let all: BTreeSet<_> = self.nodes.services().map(|it| digest(it, cell)).collect();
                (all.len() == 1).then_some(())
            })
            .await;
        }
        for service in self.nodes.services() {
            let report = caudal_actors::verify::engine(&service.engine).await;
            assert_eq!(report.unwrap().differences, Vec::<String>::new());
        }
    }
}

/// The node that owns a cell at first.
fn cell_node(cell: u32) -> usize {
    usize::try_from(cell).unwrap()
}

/// The size and a hash of a cell's whole journal, as a node has it.
fn digest(service: &caudal::service::Service, cell: u32) -> (u64, u64) {
    let store = service.engine.cells().cell(cell).unwrap();
    let mut hasher = DefaultHasher::new();
    let last = store.replay(CommitNo(1), &mut |commit, entry| {
        (commit.0, entry.seq, entry.at, &entry.body[..]).hash(&mut hasher);
        true
    });
    (last.unwrap().0, hasher.finish())
}

#[actix_web::test]
async fn each_cell_is_served_by_its_owner_whichever_node_is_asked() {
    let Some(mut parted) = Parted::start().await else {
        return;
    };
    for node in 0..3 {
        for tenant in 0..3 {
            let client = parted.client(node, tenant);
            let (cvu, id) = (&parted.tenants[tenant].cvu, format!("one-{node}"));
            client.voucher(cvu, "IN", "12.50", &id).await.is(201);
            client.voucher(cvu, "IN", "12.51", &id).await.is(409);
        }
        let bare = parted.nodes.client(node).with_key(None);
        let refused = bare.get("/v1/voucher-types").await;
        refused.refused(401, "unauthorized");
    }
    for node in 0..3 {
        for tenant in 0..3 {
            let client = parted.client(node, tenant);
            assert_eq!(client.available(&parted.tenants[tenant].cvu).await, "37.50");
        }
        let acting = parted.acting(node).await;
        for (tenant, it) in parted.tenants.iter().enumerate() {
            assert_eq!(
                acting.contains(&it.id),
                tenant == node,
                "{tenant} at {node}"
            );
        }
        let (status, cells) = parted.nodes.admin(node, "GET", "/admin/cells", None).await;
        assert_eq!(status, 200, "{cells}");
        for cell in 0..3 {
            assert_eq!(cells[cell]["owner"], parted.nodes.name(cell), "{cells}");
            assert_eq!(cells[cell]["owns"], cell == node, "{cells}");
        }
        // On a busy machine the node may have lagged behind the platform for a moment.
        let ready = wait_until("it is ready", SOON, async || {
            let (status, ready) = parted.nodes.admin(node, "GET", "/readyz", None).await;
            (status == 200).then_some(ready)
        });
        assert_eq!(ready.await["part"], "owner");
        let is = |ready: &str| ready == "1";
        parted.nodes.measures(node, "caudal_ready", is).await;
        let (_, journal) = parted
            .nodes
            .admin(node, "GET", "/admin/journal", None)
            .await;
        assert_eq!(journal["writable"], true, "{journal}");
    }
    parted.level().await;
    parted.nodes.stop().await;
}

#[actix_web::test]
async fn what_the_first_cell_says_holds_for_the_tenants_of_every_cell() {
    let Some(mut parted) = Parted::start().await else {
        return;
    };
    let (client, cvu) = (parted.client(0, 1), parted.tenants[1].cvu.clone());
    // The bank may notify any node; the owner of the CVU's cell books the money.
    parted.nodes.bank_tells(2);
    parted.nodes.bank.cash_in(&cvu, "7.50").await;
    wait_until("it arrives", SOON, async || {
        (client.available(&cvu).await == "7.50").then_some(())
    })
    .await;
    // A new limit of the tenant applies where its realm is.
    let path = format!("/admin/tenants/{}", parted.tenants[1].id);
    let body = json!({"limits": {"dailyOutgoingTotal": "1"}});
    let (status, changed) = parted.nodes.admin(0, "PATCH", &path, Some(&body)).await;
    assert_eq!(status, 200, "{changed}");
    wait_until("the limit holds", SOON, async || {
        let id = format!("limit-{}", crate::support::client::fresh());
        let answer = client.voucher(&cvu, "OUT", "1.01", &id).await;
        (answer.json["code"] == "limit_exceeded").then_some(())
    })
    .await;
    // A revoked key stops working at every node.
    let id = parted.tenants[2].key.split('_').nth(2).unwrap().to_owned();
    let path = format!("/admin/keys/{id}");
    assert_eq!(parted.nodes.admin(0, "DELETE", &path, None).await.0, 204);
    for node in 0..3 {
        let client = parted.client(node, 2);
        wait_until("the key ends", SOON, async || {
            let answer = client.get("/v1/voucher-types").await;
            (answer.status == 401).then_some(())
        })
        .await;
    }
    parted.level().await;
    parted.nodes.stop().await;
}

#[actix_web::test]
async fn a_realm_moves_where_one_node_owns_both_cells_and_goes_on_at_its_next_owner() {
    let Some(mut parted) = Parted::start().await else {
        return;
    };
    let who = (parted.tenants[1].key.clone(), parted.tenants[1].cvu.clone());
    let load = Load::of(&parted.nodes, vec![who], 4);
    for cell in [1, 2] {
        parted.nodes.owns(cell, 0).await;
    }
    let path = format!("/admin/tenants/{}/move", parted.tenants[1].id);
    for cell in [2, 0, 1] {
        load.more(20).await;
        let body = json!({"mode": "test", "cell": cell});
        wait_until("it lies in the other cell", SOON, async || {
            let (_, now) = parted.nodes.admin(0, "POST", &path, Some(&body)).await;
            (now["test"]["cell"] == cell).then_some(())
        })
        .await;
        load.more(20).await;
        // The next owner of the cell serves it.
        parted.nodes.owns(cell, 1).await;
        load.more(20).await;
        parted.nodes.owns(cell, 0).await;
    }
    let count = load.end().await.acknowledged.len();
    for node in 0..3 {
        let available = parted
            .client(node, 1)
            .available(&parted.tenants[1].cvu)
            .await;
        assert_eq!(available, format!("{count}.00"), "at {node}");
    }
    parted.level().await;
    parted.nodes.stop().await;
}

#[actix_web::test]
async fn only_the_tenants_of_a_cell_wait_for_its_next_owner() {
    let Some(mut parted) = Parted::start().await else {
        return;
    };
    let tenants = parted.tenants.iter();
    let tenants: Vec<_> = tenants.map(|it| (it.key.clone(), it.cvu.clone())).collect();
    let loads: Vec<Load> = tenants
        .into_iter()
        .map(|who| {
            Load::of(
                &parted.nodes,
                vec![who],
                number("CAUDAL_NODE_CLIENTS", 9) / 3,
            )
        })
        .collect();
    for load in &loads {
        load.more(20).await;
    }
    // The cells change owners, under load.
    parted.nodes.owns(1, 2).await;
    parted.nodes.owns(0, 1).await;
    parted.nodes.owns(2, 0).await;
    for load in &loads {
        load.more(20).await;
        load.avoids(2);
    }
    // The owner of cell 1 dies while its lease has not ended: the others continue.
    parted.nodes.kill(2).await;
    loads[0].more(40).await;
    loads[2].more(40).await;
    parted.nodes.lapses(1);
    loads[1].more(40).await;
    assert_ne!(parted.nodes.owner_in(1).await, 2);
    parted.nodes.begin(2);
    parted.nodes.seen(2).await;
    for load in &loads {
        load.more(20).await;
    }
    for (tenant, load) in loads.into_iter().enumerate() {
        let done = load.end().await;
        let (cvu, count) = (&parted.tenants[tenant].cvu, done.acknowledged.len());
        for node in 0..3 {
            let available = parted.client(node, tenant).available(cvu).await;
            assert_eq!(available, format!("{count}.00"), "{tenant} at {node}");
        }
    }
    parted.level().await;
    parted.nodes.stop().await;
}

#[actix_web::test]
async fn a_node_that_owns_a_cell_and_has_not_followed_the_platform_is_not_ready() {
    let Some(mut parted) = Parted::start().await else {
        return;
    };
    let nodes = &parted.nodes;
    let ready = async |is: u16| {
        wait_until("what it says of itself", SOON, async || {
            let (status, body) = nodes.admin(1, "GET", "/readyz", None).await;
            (status == is).then_some(body)
        })
        .await
    };
    ready(200).await;
    nodes.hides(0, true);
    let why = ready(503).await;
    let said = why["message"].as_str().unwrap();
    assert!(
        said.contains("cell 1") && said.contains("followed cell 0"),
        "{said}"
    );
    nodes
        .measures(1, "caudal_ready", |ready| ready == "0")
        .await;
    nodes.hides(0, false);
    ready(200).await;
    nodes
        .measures(1, "caudal_ready", |ready| ready == "1")
        .await;
    let client = parted.client(1, 1);
    assert_eq!(client.available(&parted.tenants[1].cvu).await, "0.00");
    parted.level().await;
    parted.nodes.stop().await;
}
