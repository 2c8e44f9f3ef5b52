//! Backups: a running service ships its journal, the command ships a stopped folder, and the commands check and
//! restore what was shipped, each as a separate process.

mod destination;
mod interrupted;
mod machine;
mod newest;
mod past;
mod since;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use caudal_actors::records::projection::ServiceProjection;
use caudal_backup::BackupError;
use caudal_backup::backup_store::{self, BackupStore, Listed, StoreFuture};
use caudal_backup::chain;
use caudal_backup::end::{BackupChoices, BackupId};
use caudal_backup::run::BackupPlan;
use caudal_backup::ship::{KnownBackup, ObjectLimits, Shipment};
use caudal_storage::log::LogId;
use caudal_storage::{DurableStore, Store as _, StoreOptions};
use tempfile::TempDir;

use crate::cli::{caudal, said};
use crate::support::service::Setup;
use crate::support::{Client, SOON, TestService, Value, json, wait_until};

/// Objects that are small enough for a test.
pub const SMALL: ObjectLimits = ObjectLimits {
    run_bytes: 16 << 10,
    tails: 4,
};

/// A backup store that refuses everything after so many operations.
#[derive(Debug)]
struct Dying {
    inner: Arc<dyn BackupStore>,
    left: AtomicI64,
}

impl Dying {
    fn over(to: &Path, left: i64) -> Arc<Self> {
        let inner = backup_store::open(to.to_str().unwrap(), true).unwrap();
        let left = AtomicI64::new(left);
        Arc::new(Self { inner, left })
    }

    fn tick(&self) -> Result<(), BackupError> {
        match self.left.fetch_sub(1, Ordering::SeqCst) {
            1.. => Ok(()),
            _ => Err(BackupError::backup_store("the backup store", "it is gone")),
        }
    }
}

impl BackupStore for Dying {
    fn place(&self) -> String {
        self.inner.place()
    }

    fn make(&self) -> Result<(), BackupError> {
        self.inner.make()
    }

    fn replace<'a>(&'a self, name: &'a str, bytes: Vec<u8>) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            self.tick()?;
            self.inner.replace(name, bytes).await
        })
    }

    fn has<'a>(&'a self, name: &'a str) -> StoreFuture<'a, bool> {
        Box::pin(async move {
            self.tick()?;
            self.inner.has(name).await
        })
    }

    fn put<'a>(&'a self, name: &'a str, bytes: Vec<u8>) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            self.tick()?;
            self.inner.put(name, bytes).await
        })
    }

    fn get<'a>(&'a self, name: &'a str) -> StoreFuture<'a, Option<Vec<u8>>> {
        Box::pin(async move {
            self.tick()?;
            self.inner.get(name).await
        })
    }

    fn list<'a>(&'a self, prefix: &'a str) -> StoreFuture<'a, Vec<Listed>> {
        Box::pin(async move {
            self.tick()?;
            self.inner.list(prefix).await
        })
    }

    fn remove<'a>(&'a self, name: &'a str) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            self.tick()?;
            self.inner.remove(name).await
        })
    }
}

/// Notes the backup that was chosen, in memory.
#[derive(Debug, Default)]
pub struct Chosen(Mutex<Option<BackupId>>);

impl BackupChoices for Chosen {
    fn chosen(&self, _store: &LogId, _place: &str) -> Result<Option<BackupId>, BackupError> {
        Ok(*self.0.lock().unwrap())
    }

    fn choose(&self, _store: &LogId, _place: &str, id: &BackupId) -> Result<(), BackupError> {
        *self.0.lock().unwrap() = Some(*id);
        Ok(())
    }
}

/// A plan that ships when it is asked to, and otherwise hardly ever.
pub fn asked(backup_store: Arc<dyn BackupStore>) -> Option<BackupPlan> {
    Some(BackupPlan {
        backup_store,
        every: Duration::from_secs(3600),
        cut: SMALL,
    })
}

pub fn at(place: &Path) -> Option<BackupPlan> {
    asked(backup_store::open(place.to_str().unwrap(), true).unwrap())
}

pub async fn shipped(service: &TestService) -> Value {
    let answer = service.admin("POST", "/admin/backup", &json!({})).await;
    answer.is(200).json.clone()
}

/// Runs a command; returns its exit code, its JSON output, and its standard error.
pub fn command(arguments: &[&str]) -> (Option<i32>, Value, String) {
    let (code, out, why) = said(&caudal(arguments).output().unwrap());
    (code, serde_json::from_str(&out).unwrap_or(Value::Null), why)
}

pub fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn verified(from: &Path) -> Value {
    let (code, found, why) = command(&["backup", "verify", "--from", text(from), "--json"]);
    assert_eq!(code, Some(0), "{why}");
    found
}

/// Creates a folder that has the pepper of another, but no store.
fn with_pepper(new: &Path, of: &Path) {
    fs::create_dir_all(new).unwrap();
    fs::copy(of.join("pepper"), new.join("pepper")).unwrap();
}

/// Restores into a new folder that has the pepper of another.
pub fn restored(from: &Path, data: &Path, pepper: &Path, more: &[&str]) -> Value {
    with_pepper(data, pepper);
    let mut all = vec![
        "restore",
        "--from",
        text(from),
        "--into",
        text(data),
        "--json",
    ];
    all.extend(more);
    let (code, done, why) = command(&all);
    assert_eq!(code, Some(0), "{why}");
    assert_eq!(done["verified"]["ok"], true, "{done}");
    done
}

/// Everything that a client sees of these accounts.
pub async fn seen(client: &Client, cvus: &[String]) -> Vec<Value> {
    let mut all = Vec::new();
    for cvu in cvus {
        let mut balance = client.balance(cvu).await;
        balance["asOf"] = Value::Null;
        all.push(balance);
        let path = format!("/v1/accounts/{cvu}/movements?limit=200");
        all.push(client.get(&path).await.is(200).json.clone());
    }
    let events = client.get("/v1/events?limit=200").await;
    all.push(events.is(200).json.clone());
    all
}

/// Creates accounts with movements of several kinds.
async fn worked(service: &TestService, vouchers: usize) -> Vec<String> {
    service.a.in_and_out().await;
    let cvus = vec![service.a.cvu().await, service.a.cvu().await];
    for cvu in &cvus {
        for _ in 0..vouchers {
            service.a.credit(cvu, "10.00").await;
        }
        service.a.hold(cvu, "3.00").await;
        service.a.debit(cvu, "2.00").await;
    }
    cvus
}

async fn journal(service: &TestService) -> Value {
    service
        .admin_get("/admin/journal")
        .await
        .is(200)
        .json
        .clone()
}

#[actix_web::test]
async fn a_service_ships_its_journal_and_goes_on_from_what_is_restored() {
    let dir = TempDir::new().unwrap();
    let to = dir.path().join("backup");
    let mut service = TestService::with(Setup {
        backup: at(&to),
        ..Setup::default()
    })
    .await;
    let cvus = worked(&service, 20).await;
    let first = shipped(&service).await;
    assert_eq!(
        (&first["error"], &first["lagSeconds"], &first["lagBytes"]),
        (&Value::Null, &json!(0), &json!(0))
    );
    assert_eq!(first["commit"], first["lastCommit"]);
    assert_eq!(verified(&to)["commit"], first["commit"]);
    // each round ships a little more: tails come, and full objects replace them
    for _ in 0..12 {
        service.a.credit(&cvus[0], "1.00").await;
        assert_eq!(shipped(&service).await["error"], Value::Null);
    }
    service.a.credit(&cvus[1], "1.00").await;
    let lag = service
        .admin_get("/admin/backup")
        .await
        .is(200)
        .json
        .clone();
    assert!(lag["lagBytes"].as_u64().unwrap() > 0, "{lag}");
    let metrics = service.admin_bare("/metrics").await;
    assert!(metrics.text.contains("\ncaudal_backup_lag_seconds "));
    let before = seen(&service.a, &cvus).await;
    // What the key has read is written now, and not when the service stops.
    service.admin_get("/admin/audit").await.is(200);
    let last = journal(&service).await;
    // stopping the service ships the rest
    service.end(true).await;
    let whole = verified(&to);
    assert_eq!(whole["commit"], last["lastCommit"]);
    let new = dir.path().join("new");
    let done = restored(&to, &new, service.data(), &[]);
    assert_eq!(done["restored"]["cut"], false);
    assert_eq!(done["restored"]["chain"], whole["chain"]);
    service.moves(new.clone());
    service.begin().await;
    let now = journal(&service).await;
    assert_eq!(now["lastCommit"], last["lastCommit"]);
    assert_eq!(now["witnessChain"], whole["chain"], "the same chain");
    assert_eq!(seen(&service.a, &cvus).await, before);
    service.a.credit(&cvus[0], "5.00").await;
    let on = shipped(&service).await;
    assert_eq!(
        (&on["error"], &on["store"]),
        (&Value::Null, &first["store"])
    );
    assert_eq!(verified(&to)["commit"], on["lastCommit"]);
    service.verified().await;
}

/// A stopped service with a journal of many records, and the pepper next to it.
async fn stopped(vouchers: usize) -> (TestService, Vec<String>) {
    let mut service = TestService::start().await;
    let cvus = worked(&service, vouchers).await;
    service.end(true).await;
    (service, cvus)
}

pub fn store_of(data: &Path) -> Arc<DurableStore> {
    let options = StoreOptions {
        create: false,
        ..StoreOptions::small()
    };
    DurableStore::open(data.join("store"), options, Arc::new(ServiceProjection)).unwrap()
}

#[actix_web::test]
async fn a_backup_that_dies_at_any_operation_goes_on_where_it_was() {
    let (service, _) = stopped(40).await;
    let store = store_of(service.data());
    let records = store.records();
    let end = records.read(&records.beginning(), &mut |_| true).unwrap();
    let small = ObjectLimits {
        run_bytes: 4 << 10,
        tails: 3,
    };
    let dir = TempDir::new().unwrap();
    let to = dir.path().join("backup");
    let (mut deaths, mut done) = (0, false);
    let chosen = Chosen::default();
    while !done {
        // each life makes a little progress, or none
        let backup_store: Arc<dyn BackupStore> = Dying::over(&to, 1 + deaths % 12);
        let life = async {
            let known = KnownBackup {
                pepper_check: Some(b"m"),
                choice: &chosen,
                shipped: None,
            };
            let mut shipment =
                Shipment::begin(&backup_store, records.clone(), small, known).await?;
            while shipment.step().await? {}
            Ok::<_, BackupError>(shipment.reached())
        };
        match life.await {
            Ok(reached) => {
                assert_eq!(reached, end);
                done = true;
            }
            Err(BackupError::BackupStore { .. }) => deaths += 1,
            Err(other) => panic!("{other}"),
        }
        assert!(deaths < 10_000, "it goes on");
    }
    assert!(deaths > 5, "{deaths}");
    let backup_store = backup_store::open(text(&to), false).unwrap();
    let kept = chain::kept(backup_store.as_ref(), None, false)
        .await
        .unwrap();
    let mut all = Vec::new();
    let mut take = |record: &caudal_storage::log::Sealed<'_>, _: u64| {
        all.extend_from_slice(record.bytes());
        Ok(true)
    };
    let walked = chain::walk(backup_store.as_ref(), &kept, &mut take, &mut |_| ()).await;
    assert_eq!(walked.unwrap().hash, end.tail().hash);
    let mut own = Vec::new();
    let mut take = |record: &caudal_storage::log::Sealed<'_>| {
        own.extend_from_slice(record.bytes());
        true
    };
    records.read(&records.beginning(), &mut take).unwrap();
    assert!(all == own, "byte by byte");
    store.close().unwrap();
}

fn objects(at: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for item in fs::read_dir(at).unwrap() {
        let path = item.unwrap().path();
        if path.is_dir() {
            all.extend(objects(&path))
        } else {
            all.push(path)
        }
    }
    all.retain(|path| path.extension().is_some_and(|it| it == "zst"));
    all.sort();
    all
}

#[actix_web::test]
async fn damage_is_named_and_nothing_is_restored_of_it() {
    let (service, _) = stopped(10).await;
    let dir = TempDir::new().unwrap();
    let to = dir.path().join("backup");
    let data = text(service.data()).to_owned();
    let backup = ["backup", "--data", &data, "--to", text(&to), "--json"];
    let (code, first, why) = command(&backup);
    assert_eq!(code, Some(0), "{why}");
    let (_, second, _) = command(&backup);
    assert_eq!(
        (&second["objects"], &second["commit"]),
        (&json!(0), &first["commit"])
    );
    let all = objects(&to);
    let whole = fs::read(&all[0]).unwrap();
    let name = all[0].file_name().unwrap().to_str().unwrap();
    let new = dir.path().join("new");
    with_pepper(&new, service.data());
    let restore = ["restore", "--from", text(&to), "--into", text(&new)];
    let length = whole.len();
    for place in [3, 10, 20, 40, length / 3, length / 2, length - 2] {
        let mut flipped = whole.clone();
        flipped[place] ^= 4;
        fs::remove_file(&all[0]).unwrap();
        fs::write(&all[0], &flipped).unwrap();
        for command in [&["backup", "verify", "--from", text(&to)][..], &restore] {
            let (code, _, why) = said(&caudal(command).output().unwrap());
            assert_eq!(code, Some(1), "byte {place}: {why}");
            assert!(why.contains(name) && why.contains(" at offset "), "{why}");
        }
        // the refused restore has left no store
        let (code, _, why) = command(&["verify", "--data", text(&new)]);
        assert!(matches!(code, Some(2 | 3)), "{why}");
    }
    fs::write(&all[0], &whole).unwrap();
    fs::rename(&all[0], dir.path().join("away")).unwrap();
    let (code, _, why) = command(&["backup", "verify", "--from", text(&to)]);
    assert!(code != Some(0), "{why}");
    fs::rename(dir.path().join("away"), &all[0]).unwrap();
    let (code, out, why) = said(&caudal(&restore).output().unwrap());
    assert_eq!(code, Some(0), "{why}");
    assert!(out.contains("nothing differs"), "{out}");
    // at the second attempt the folder has a store
    let (code, _, why) = command(&restore);
    assert_eq!(code, Some(2), "{why}");
    assert!(why.contains("Nothing was changed"), "{why}");
}

#[actix_web::test]
async fn an_unreachable_backup_store_is_retried_without_blocking_requests() {
    let dir = TempDir::new().unwrap();
    let to = dir.path().join("backup");
    let backup_store = Dying::over(&to, 0);
    let mut service = TestService::with(Setup {
        backup: asked(Arc::<Dying>::clone(&backup_store)),
        ..Setup::default()
    })
    .await;
    let cvus = worked(&service, 5).await;
    let told = shipped(&service).await;
    assert!(
        told["error"].as_str().unwrap().contains("it is gone"),
        "{told}"
    );
    assert!(
        told["lagBytes"].as_u64().unwrap() > 0 && told["failures"] != 0,
        "{told}"
    );
    service.a.credit(&cvus[0], "1.00").await;
    service.a.get("/readyz").await.is(200);
    backup_store.left.store(i64::MAX, Ordering::SeqCst);
    let told = wait_until("it goes on", SOON, async || {
        let told = shipped(&service).await;
        (told["error"] == Value::Null).then_some(told)
    })
    .await;
    assert_eq!(
        (&told["lagSeconds"], &told["commit"]),
        (&json!(0), &told["lastCommit"])
    );
    // a crash loses nothing that was shipped, and the rest is shipped after it
    service.a.credit(&cvus[0], "1.00").await;
    service.crash().await;
    let told = shipped(&service).await;
    assert_eq!(told["commit"], told["lastCommit"]);
    assert_eq!(verified(&to)["commit"], told["commit"]);
}
