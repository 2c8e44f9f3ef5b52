//! A service whose log is in PostgreSQL: its folder is a copy, and may be lost.

use std::fs;
use std::path::Path;
use std::time::Duration;

use caudal_ledger::tenants::Mode;
use caudal_postgres::PostgresLog;
use caudal_postgres::server::{Server, cell, own, shared};
use caudal_service::{CellLog, Service, ServiceOptions, StartError, TEST_ADMIN_KEY};
use caudal_storage::OpenError;
use caudal_storage::log::{Log as _, LogError};
use tempfile::TempDir;

use crate::support::{Client, SOON, wait_until};

fn options(data: &Path, server: &Server, cell: u32) -> ServiceOptions {
    let mut log = server.settings(server.port, cell);
    // A test that breaks the server must not wait for it as long as an operator would.
    log.limits.patience = Duration::from_millis(500);
    ServiceOptions {
        cell: Some(CellLog {
            log,
            node: "one".to_owned(),
            lease: Duration::from_secs(10),
            url: None,
        }),
        pepper: Some("a pepper that does not lie in the folder".into()),
        ..ServiceOptions::for_tests(data)
    }
}

async fn client(service: &Service) -> (String, Client) {
    let tenant = service.create_tenant("uno").await.unwrap();
    let key = service.issue_key(&tenant.id, Mode::Test).await.unwrap();
    let client = Client::new(&service.url, Some(&key));
    client.in_and_out().await;
    (key, client)
}

async fn operators(service: &Service, path: &str) -> (u16, String) {
    let client = reqwest::Client::builder().tls_certs_only([]).no_proxy();
    let client = client.build().unwrap();
    let url = format!("{}{path}", service.admin_url);
    let answer = client.get(url).header("x-admin-key", TEST_ADMIN_KEY);
    let answer = answer.send().await.unwrap();
    (answer.status().as_u16(), answer.text().await.unwrap())
}

#[actix_web::test]
async fn a_folder_that_is_lost_is_filled_from_the_log() {
    let Some(server) = shared() else { return };
    let (dir, cell) = (TempDir::new().unwrap(), cell());
    let data = dir.path().join("data");
    let service = Service::start(options(&data, &server, cell)).unwrap();
    let (key, first) = client(&service).await;
    let cvu = first.cvu().await;
    first.voucher(&cvu, "IN", "12.50", "one").await.is(201);
    let (_, page) = operators(&service, "/metrics").await;
    assert!(page.contains("\ncaudal_cell_log_copies 1\n"), "{page}");
    assert!(
        page.contains("\ncaudal_cell_log_unknown_total 0\n"),
        "{page}"
    );
    // As when a machine is lost together with its disk; the bank is on another machine.
    service.kill().await;
    let bank = data.join(caudal_service::BANK);
    let kept = dir.path().join("kept");
    if bank.exists() {
        fs::rename(&bank, &kept).unwrap();
    }
    fs::remove_dir_all(&data).unwrap();
    fs::create_dir(&data).unwrap();
    if kept.exists() {
        fs::rename(&kept, &bank).unwrap();
    }
    let service = Service::start(options(&data, &server, cell)).unwrap();
    let second = Client::new(&service.url, Some(&key));
    assert_eq!(second.available(&cvu).await, "12.50");
    second.voucher(&cvu, "IN", "1.00", "two").await.is(201);
    service.stop().await.unwrap();
    // The folder is not accepted as one whose own journal is the log.
    let local = ServiceOptions {
        cell: None,
        ..options(&data, &server, cell)
    };
    let refused = Service::start(local).unwrap_err().to_string();
    assert!(
        refused.contains("cell.log") && refused.contains("log.place"),
        "{refused}"
    );
    // Nor is a folder with a log of its own accepted as the copy of a log elsewhere.
    let other = dir.path().join("other");
    let local = ServiceOptions::for_tests(&other);
    let pepper = options(&data, &server, cell).pepper;
    let service = Service::start(ServiceOptions { pepper, ..local }).unwrap();
    service.stop().await.unwrap();
    let refused = Service::start(options(&other, &server, cell)).unwrap_err();
    let why = refused.to_string();
    assert!(
        matches!(refused, StartError::Storage(OpenError::NotAStore(_))),
        "{why}"
    );
    assert!(!other.join("log.place").exists());
}

#[actix_web::test]
async fn a_database_that_loses_what_was_acknowledged_is_seen_and_not_followed() {
    let Some(server) = shared() else { return };
    let (dir, cell) = (TempDir::new().unwrap(), cell());
    let service = Service::start(options(dir.path(), &server, cell)).unwrap();
    let (_, client) = client(&service).await;
    let cvu = client.cvu().await;
    client.voucher(&cvu, "IN", "1.00", "one").await.is(201);
    service.stop().await.unwrap();
    // As if a standby were promoted that no commit had waited for.
    server.sql(
        "postgres",
        &format!(
            "WITH gone AS (DELETE FROM caudal_log WHERE cell = {cell} AND first_commit = \
             (SELECT max(first_commit) FROM caudal_log WHERE cell = {cell}) RETURNING *) \
             UPDATE caudal_cell SET hash = gone.previous, last_commit = gone.first_commit - 1 \
             FROM gone WHERE caudal_cell.cell = {cell}"
        ),
    );
    let refused = Service::start(options(dir.path(), &server, cell)).unwrap_err();
    let why = refused.to_string();
    assert!(
        matches!(refused, StartError::Storage(OpenError::Corrupt(_))),
        "{why}"
    );
    assert!(why.contains("ends before it"), "{why}");
}

#[actix_web::test]
async fn without_its_database_a_service_refuses_and_afterwards_goes_on() {
    let Some(server) = own() else { return };
    let dir = TempDir::new().unwrap();
    let mut short = options(dir.path(), &server, 0);
    short.cell.as_mut().unwrap().lease = Duration::from_secs(2);
    let service = Service::start(short).unwrap();
    let (_, client) = client(&service).await;
    let cvu = client.cvu().await;
    client.voucher(&cvu, "IN", "5.00", "one").await.is(201);
    server.kill();
    // Operators see the cause, and by then nothing is under way.
    wait_until("the lease ends", SOON, async || {
        let (status, text) = operators(&service, "/readyz").await;
        (status == 503 && text.contains("lease")).then_some(())
    })
    .await;
    client.voucher(&cvu, "IN", "1.00", "no").await.is(503);
    assert_eq!(client.available(&cvu).await, "5.00", "reads go on");
    server.start(&[]);
    wait_until("it goes on", SOON, async || {
        let answer = client.voucher(&cvu, "IN", "2.00", "two").await;
        (answer.status == 201).then_some(())
    })
    .await;
    wait_until("it is ready", SOON, async || {
        (operators(&service, "/readyz").await.0 == 200).then_some(())
    })
    .await;
    assert_eq!(
        client.available(&cvu).await,
        "7.00",
        "what was refused is not there"
    );
    service.stop().await.unwrap();
}

#[actix_web::test]
async fn a_service_whose_cell_is_taken_acknowledges_nothing_more() {
    let Some(server) = shared() else { return };
    let (dir, cell) = (TempDir::new().unwrap(), cell());
    let service = Service::start(options(dir.path(), &server, cell)).unwrap();
    let (_, client) = client(&service).await;
    let cvu = client.cvu().await;
    // A second process waits for as long as a lease lasts, and gives up.
    let second = dir.path().join("second");
    let held = Service::start(options(&second, &server, cell)).unwrap_err();
    assert!(
        matches!(&held, StartError::Storage(OpenError::Log(LogError::Held { address })) if address.as_deref() == Some("one")),
        "{held}"
    );
    // An operator takes the cell by force, or the lease has ended while the owner was paused.
    let taken =
        format!("UPDATE caudal_cell SET epoch = epoch + 1, owner = 'two' WHERE cell = {cell}");
    server.sql("postgres", &taken);
    let deposed = service.deposed();
    let answer = client.voucher(&cvu, "IN", "1.00", "one").await;
    assert!(matches!(answer.status, 503), "{}", answer.text);
    tokio::time::timeout(SOON, deposed).await.unwrap();
    let (status, text) = operators(&service, "/readyz").await;
    assert_eq!(status, 503, "{text}");
    assert!(text.contains("does not own"), "{text}");
    let mut log = PostgresLog::open(server.settings(server.port, cell)).unwrap();
    let tail = log.tail().unwrap();
    assert!(
        log.renew(
            caudal_storage::log::Epoch(2),
            Duration::from_secs(1),
            tail.commit
        )
        .is_ok()
    );
    service.stop().await.ok();
    assert_eq!(log.tail().unwrap(), tail);
}
