//! Several cells whose logs are in PostgreSQL: each has its own there, and the cell's folder is a copy that may be
//! lost.

use std::fs;
use std::path::Path;
use std::time::Duration;

use caudal::service::{CellLog, Service, ServiceOptions};
use caudal_ledger::tenants::Mode;
use caudal_postgres::server::{Server, cells, shared};
use serde_json::json;
use tempfile::TempDir;

use super::PATIENCE;
use crate::support::bank::{Bank, PATIENT};
use crate::support::service::admin_of;
use crate::support::{Client, wait_until};

/// How many cells there are.
const MANY: u32 = 3;

fn options(data: &Path, server: &Server, (first, bank): (u32, &Bank)) -> ServiceOptions {
    ServiceOptions {
        cell: Some(CellLog {
            log: server.settings(server.port, first),
            node: "one".to_owned(),
            lease: Duration::from_secs(10),
            peers: None,
        }),
        cells: MANY,
        pepper: Some("a pepper that does not lie in the folder".into()),
        banking: bank.banking(PATIENT),
        ..ServiceOptions::for_tests(data)
    }
}

/// Creates a tenant in a cell; returns its id and a client of its test realm, which has its types.
async fn tenant(service: &Service, cell: u32) -> (String, Client) {
    let body = json!({"name": format!("in {cell}"), "cell": cell});
    let made = admin_of(service, "POST", "/admin/tenants", Some(&body)).await;
    let id = made.is(201)["id"].as_str().unwrap().to_owned();
    let key = service.issue_key(&id, Mode::Test).await.unwrap();
    let client = Client::new(&service.url, Some(&key));
    client.in_and_out().await;
    (id, client)
}

fn logs(server: &Server, first: u32) -> String {
    let sql = format!(
        "SELECT cell - {first}, last_commit > 0 FROM caudal_cell WHERE cell >= {first} AND cell < {} ORDER BY cell",
        first + MANY
    );
    server.sql("postgres", &sql)
}

#[actix_web::test]
async fn each_cell_has_a_log_and_folders_that_are_lost_are_filled_from_theirs() {
    let Some(server) = shared() else { return };
    let (dir, first, bank) = (TempDir::new().unwrap(), cells(MANY), Bank::start());
    let data = dir.path().join("data");
    let service = Service::start(options(&data, &server, (first, &bank))).unwrap();
    let mut tenants = Vec::new();
    for cell in 0..MANY {
        let (id, client) = tenant(&service, cell).await;
        let cvu = client.cvu().await;
        client.voucher(&cvu, "IN", "12.50", "one").await.is(201);
        tenants.push((id, client, cvu));
    }
    let found = logs(&server, first);
    assert_eq!(found.matches('t').count(), 3, "{found}");
    let page = admin_of(&service, "GET", "/metrics", None).await.text;
    for cell in 0..MANY {
        let of = |name: &str| {
            let name = format!("caudal_cell_log_{name}{{cell=\"{cell}\"}} ");
            let found = page.lines().find_map(|line| line.strip_prefix(&name));
            found.expect(&name).parse::<u64>().unwrap()
        };
        assert_eq!(of("copies"), 1);
        assert!(of("appends_total") > 0, "{page}");
    }
    // As when a machine is lost together with its disk.
    service.kill().await;
    fs::remove_dir_all(&data).unwrap();
    let service = Service::start(options(&data, &server, (first, &bank))).unwrap();
    for (_, client, cvu) in &mut tenants {
        client.url.clone_from(&service.url);
        assert_eq!(client.available(cvu).await, "12.50");
        client.voucher(cvu, "IN", "1.00", "two").await.is(201);
    }
    // One realm moves into another cell, and its data stays there.
    let (id, client, cvu) = &tenants[1];
    let (path, body) = (
        format!("/admin/tenants/{id}/move"),
        json!({"mode": "test", "cell": 2}),
    );
    wait_until("it lies in the other cell", PATIENCE, async || {
        let now = admin_of(&service, "POST", &path, Some(&body)).await.json;
        (now["test"]["cell"] == 2).then_some(())
    })
    .await;
    wait_until("it goes on there", PATIENCE, async || {
        let answer = client
            .voucher(cvu, "IN", "1.00", "three")
            .key("three")
            .answer()
            .await?;
        (answer.status == 201).then_some(())
    })
    .await;
    let report = caudal_actors::verify::engine(&service.engine)
        .await
        .unwrap();
    assert_eq!(report.differences, Vec::<String>::new());
    service.stop().await.unwrap();
    let service = Service::start(options(&data, &server, (first, &bank))).unwrap();
    let (_, client, cvu) = &mut tenants[1];
    client.url.clone_from(&service.url);
    assert_eq!(client.available(cvu).await, "14.50");
    service.stop().await.unwrap();
}

#[actix_web::test]
async fn a_log_that_is_another_one_or_is_not_counted_is_refused() {
    let Some(server) = shared() else { return };
    let (dir, first, bank) = (TempDir::new().unwrap(), cells(MANY), Bank::start());
    let data = dir.path().join("data");
    let all = options(&data, &server, (first, &bank));
    let service = Service::start(all.clone()).unwrap();
    tenant(&service, 2).await;
    service.stop().await.unwrap();
    let fewer = ServiceOptions {
        cells: 2,
        ..all.clone()
    };
    let refused = Service::start(fewer).unwrap_err().to_string();
    assert!(refused.contains("Set it to 3"), "{refused}");
    // A copy cannot serve as a log of its own.
    let local = ServiceOptions {
        cell: None,
        ..all.clone()
    };
    let refused = Service::start(local).unwrap_err().to_string();
    assert!(refused.contains("cell.log"), "{refused}");
    // In the place of cell 2 is the log of another installation, or none; with the cell's folder and without it.
    let place = first + 2;
    let keep = format!(
        "UPDATE caudal_cell SET cell = {} WHERE cell = {place}",
        1_000_000 + place
    );
    server.sql("postgres", &keep);
    for lost in [false, true] {
        if lost {
            fs::remove_dir_all(data.join("cells").join("2")).unwrap();
        }
        Service::start(all.clone()).unwrap_err();
        assert!(!logs(&server, first).contains("\n2|"), "no log was begun");
    }
    drop(server.open(place));
    let refused = Service::start(all.clone()).unwrap_err().to_string();
    assert!(refused.contains("its cell has been"), "{refused}");
    server.sql(
        "postgres",
        &format!("DELETE FROM caudal_cell WHERE cell = {place}"),
    );
    let back = format!(
        "UPDATE caudal_cell SET cell = {place} WHERE cell = {}",
        1_000_000 + place
    );
    server.sql("postgres", &back);
    let service = Service::start(all).unwrap();
    service.stop().await.unwrap();
}
