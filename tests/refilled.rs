//! A store is restored from a folder into PostgreSQL, from there into a folder, and from a backup into PostgreSQL: what
//! clients see is the same, and what it was restored from refuses to start.

use std::path::PathBuf;
use std::time::Duration;

use caudal_ledger::tenants::Mode;
use caudal_postgres::Settings;
use caudal_postgres::server::{Server, own};
use caudal_service::{CellLog, Service, ServiceOptions};
use tempfile::TempDir;

use crate::backup::{command, seen, text};
use crate::support::{Client, Value};

/// The pepper of all folders, so that one key works in each.
const PEPPER: &str = "a pepper that does not lie in the folder";

/// A folder of a service, or the copy of a log in a database.
struct Place {
    data: PathBuf,
    /// The URL of its log, if that is in a database.
    log: Option<String>,
}

impl Place {
    fn options(&self) -> ServiceOptions {
        let log = |url: &String| Settings::new(&url.as_str().into(), None).unwrap();
        let cell = self.log.as_ref().map(|url| CellLog {
            log: log(url),
            node: "one".to_owned(),
            lease: Duration::from_secs(2),
            url: None,
        });
        ServiceOptions {
            cell,
            pepper: Some(PEPPER.into()),
            ..ServiceOptions::for_tests(&self.data)
        }
    }

    /// What a client sees of the accounts; another voucher is posted before.
    async fn seen(&self, key: &str, cvus: &[String]) -> Vec<Value> {
        let service = Service::start(self.options()).unwrap();
        let client = Client::new(&service.url, Some(key));
        let id = format!("in {}", self.data.display());
        client.voucher(&cvus[0], "IN", "1.00", &id).await.is(201);
        let seen = seen(&client, cvus).await;
        service.stop().await.unwrap();
        seen
    }

    /// What a client sees of the accounts, after a restore that changed nothing.
    async fn still(&self, key: &str, cvus: &[String], before: &[Value]) {
        let service = Service::start(self.options()).unwrap();
        let client = Client::new(&service.url, Some(key));
        assert!(seen(&client, cvus).await == before, "they differ");
        service.stop().await.unwrap();
    }

    fn refused(&self, words: &str) {
        match Service::start(self.options()) {
            Ok(_) => panic!("it starts"),
            Err(why) => assert!(why.to_string().contains(words), "{why}"),
        }
    }
}

fn url(server: &Server, database: &str) -> String {
    format!("postgres://postgres@127.0.0.1:{}/{database}", server.port)
}

fn restored(from: &str, into: &str, more: &[&str]) -> Value {
    let all = ["restore", "--from", from, "--into", into, "--json"];
    let (code, done, why) = command(&[&all[..], more].concat());
    assert_eq!(code, Some(0), "{why}");
    done
}

fn not_restored(from: &str, into: &str, words: &str) {
    let (code, _, why) = command(&["restore", "--from", from, "--into", into, "--json"]);
    assert_eq!(code, Some(2), "{why}");
    assert!(why.contains(words), "{why}");
}

/// A folder with accounts, vouchers and a hold; the key of its client.
async fn filled(place: &Place) -> (String, Vec<String>) {
    let service = Service::start(place.options()).unwrap();
    let tenant = service.create_tenant("uno").await.unwrap();
    let key = service.issue_key(&tenant.id, Mode::Test).await.unwrap();
    let client = Client::new(&service.url, Some(&key));
    client.in_and_out().await;
    let mut cvus = Vec::new();
    for n in 0..3 {
        let cvu = client.cvu().await;
        for nth in 0..20 {
            let id = format!("{n} {nth}");
            client.voucher(&cvu, "IN", "2.50", &id).await.is(201);
        }
        cvus.push(cvu);
    }
    service.stop().await.unwrap();
    (key, cvus)
}

#[actix_web::test]
async fn a_store_goes_to_a_database_and_back_and_each_place_it_left_refuses() {
    let Some(server) = own() else { return };
    let dir = TempDir::new().unwrap();
    let at = |name: &str, log: Option<&str>| Place {
        data: dir.path().join(name),
        log: log.map(str::to_owned),
    };
    let first = at("first", None);
    let (key, cvus) = filled(&first).await;
    let before = first.seen(&key, &cvus).await;
    let (folder, database) = (text(&first.data), url(&server, "postgres"));
    // A dry run changes neither side.
    let dry = restored(folder, &database, &["--dry-run"]);
    assert_eq!(
        (&dry["dryRun"], &dry["superseded"]),
        (&true.into(), &false.into())
    );
    first.still(&key, &cvus, &before).await;
    // From the folder into the database.
    let done = restored(folder, &database, &[]);
    assert_eq!(done["superseded"], true, "{done}");
    first.refused("superseded");
    let there = at("node", Some(&database));
    there.still(&key, &cvus, &before).await;
    let before = there.seen(&key, &cvus).await;
    // A log that has records is nothing to restore into, and what was superseded is nothing to restore from.
    not_restored(folder, text(&dir.path().join("other")), "superseded");
    not_restored(
        text(&there.data),
        text(&dir.path().join("other")),
        "copy of the log",
    );
    // From the database into another folder.
    let back = at("back", None);
    let done = restored(&database, text(&back.data), &[]);
    assert_eq!(done["superseded"], true, "{done}");
    there.refused("has taken its place");
    not_restored(&database, text(&dir.path().join("other")), "superseded");
    back.still(&key, &cvus, &before).await;
    let before = back.seen(&key, &cvus).await;
    not_restored(text(&back.data), &database, "superseded");
    // From a backup into another database; a backup is not superseded.
    let backup_store = dir.path().join("backups");
    let ship = [
        "backup",
        "--data",
        text(&back.data),
        "--to",
        text(&backup_store),
        "--json",
    ];
    assert_eq!(command(&ship).0, Some(0));
    server.sql("postgres", "CREATE DATABASE second");
    let second = url(&server, "second");
    let done = restored(text(&backup_store), &second, &[]);
    assert_eq!(done["superseded"], false, "{done}");
    not_restored(text(&backup_store), &second, "not empty");
    at("second", Some(&second))
        .still(&key, &cvus, &before)
        .await;
    // The folder was not superseded, so both could be started: whoever restores a backup decides.
    back.still(&key, &cvus, &before).await;
}

/// A folder that is not there is nothing to restore from.
#[test]
fn what_is_neither_a_backup_nor_a_store_is_refused() {
    let dir = TempDir::new().unwrap();
    let (none, new) = (dir.path().join("none"), dir.path().join("new"));
    let from = [
        "restore",
        "--from",
        text(&none),
        "--into",
        text(&new),
        "--dry-run",
    ];
    let (code, _, why) = command(&from);
    assert_ne!(code, Some(0), "{why}");
    assert!(!new.exists());
}
