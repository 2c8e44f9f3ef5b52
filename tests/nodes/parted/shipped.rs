//! The cells of several owners are shipped to one depot, whichever node ships, and restored from there.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use caudal::backup::run::Plan;
use caudal_ledger::tenants::Mode;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::super::cluster::{Cluster, PEPPER};
use super::super::{account, types};
use super::{MANY, Parted};
use crate::backup::moments::Remembering;
use crate::backup::{SMALL, restored};
use crate::support::{SOON, wait_until};

/// Has the owner of the first cell ship until nothing is left.
async fn all_is_shipped(parted: &Parted) {
    wait_until("everything is shipped", SOON, async || {
        let owner = parted.nodes.owner_in(0).await;
        let path = "/admin/backup";
        let (_, now) = parted
            .nodes
            .admin(owner, "POST", path, Some(&json!({})))
            .await;
        let cells = now["cells"].as_array().unwrap();
        let whole = |it: &Value| it["lagBytes"] == 0 && it["commit"] == it["lastCommit"];
        (now["error"] == Value::Null && cells.iter().all(whole)).then_some(())
    })
    .await;
}

#[actix_web::test]
async fn the_owner_of_the_first_cell_ships_all_cells_whoever_owns_them() {
    let depot = Arc::new(Remembering::default());
    let plan = Plan {
        depot: Arc::<Remembering>::clone(&depot),
        every: Duration::from_secs(2),
        cut: SMALL,
    };
    let Some(nodes) = Cluster::shipping(3, MANY, plan).await else {
        return;
    };
    let mut parted = Parted::of(nodes).await;
    let loads = [0, 1, 2].map(|tenant| parted.load(tenant, 2));
    // Meanwhile the first cell changes hands, its owner dies, and a realm moves from cell to cell.
    for (round, cell) in [2, 0, 1].into_iter().enumerate() {
        for load in &loads {
            load.more(20).await;
        }
        parted.moves(round, 1, cell).await;
        parted.nodes.owns(0, (round + 1) % 3).await;
    }
    let dies = parted.nodes.owner_in(0).await;
    loads.iter().for_each(|load| load.avoids(dies));
    let owned = parted.owned(dies).await;
    parted.nodes.kill(dies).await;
    for cell in owned {
        parted.nodes.lapses(cell);
    }
    for load in &loads {
        load.more(20).await;
    }
    parted.nodes.begin(dies);
    parted.nodes.seen(dies).await;
    parted.moves(0, 1, 2).await;
    let mut counts = Vec::new();
    for (tenant, load) in loads.into_iter().enumerate() {
        let count = load.end().await.acknowledged.len();
        parted.shows(tenant, count).await;
        counts.push(count);
    }
    parted.level().await;
    all_is_shipped(&parted).await;
    only_the_owner_ships(&parted).await;
    parted.nodes.stop().await;
    let seen = depot.fits_at_every_moment().await;
    assert!(seen > 12, "{seen}");
    let all: usize = counts.into_iter().sum();
    assert!(vouchers_in(&depot) >= all);
}

/// Checks that a node that does not ship says which one does, and shows no figures of its own.
async fn only_the_owner_ships(parted: &Parted) {
    let owner = parted.nodes.owner_in(0).await;
    for node in 0..3 {
        let (status, now) = parted.nodes.admin(node, "GET", "/admin/backup", None).await;
        assert_eq!((status, &now["error"]), (200, &Value::Null), "{now}");
        assert_eq!(
            now["shippedBy"],
            parted.nodes.name(owner),
            "at {node}: {now}"
        );
        let ships = node == owner;
        for name in ["commit", "lagSeconds", "lagBytes"] {
            assert_eq!(now[name] != Value::Null, ships, "{name} at {node}: {now}");
        }
        let cells = now["cells"].as_array().unwrap().len();
        assert_eq!(cells, if ships { 3 } else { 0 }, "{now}");
    }
}

/// Restores and verifies a depot; returns how many vouchers it has.
fn vouchers_in(depot: &Remembering) -> usize {
    let dir = TempDir::new().unwrap();
    let [from, pepper, data] = ["backup", "pepper", "new"].map(|name| dir.path().join(name));
    depot.write_to(&from);
    fs::create_dir(&pepper).unwrap();
    fs::write(pepper.join("pepper"), PEPPER).unwrap();
    let done = restored(&from, &data, &pepper, &[]);
    usize::try_from(done["verified"]["vouchers"].as_u64().unwrap()).unwrap()
}

#[actix_web::test]
async fn the_last_node_that_stops_ships_what_is_left_of_all_cells() {
    let depot = Arc::new(Remembering::default());
    let plan = Plan {
        depot: Arc::<Remembering>::clone(&depot),
        every: Duration::from_secs(3600),
        cut: SMALL,
    };
    let Some(mut nodes) = Cluster::shipping(1, 2, plan).await else {
        return;
    };
    let body = json!({"name": "in 1", "cell": 1});
    let (status, made) = nodes.admin(0, "POST", "/admin/tenants", Some(&body)).await;
    assert_eq!(status, 201, "{made}");
    let other = nodes.issue_to(0, made["id"].as_str().unwrap(), Mode::Test);
    let other = nodes.client(0).with_key(Some(&other.await));
    types(&other).await;
    wait_until("it has shipped before", SOON, async || {
        let asked = json!({});
        let (_, now) = nodes.admin(0, "POST", "/admin/backup", Some(&asked)).await;
        (now["error"] == Value::Null && now["lagBytes"] == 0).then_some(())
    })
    .await;
    for client in [nodes.client(0), other] {
        let cvu = account(&client).await;
        client.voucher(&cvu, "IN", "1.00", "last").await.is(201);
    }
    // Its stores are closed by the time it ships for the last time.
    nodes.end(0).await;
    assert!(depot.fits_at_every_moment().await > 0);
    assert_eq!(vouchers_in(&depot), 2);
}
