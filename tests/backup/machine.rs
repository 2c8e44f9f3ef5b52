//! A machine is lost under load, again and again, and its service continues elsewhere from the backup: vouchers
//! acknowledged before the last shipment are there, once; lost ones are younger than the tail, and are counted.
//!
//! `CAUDAL_BACKUP_LOSSES` sets how many machines are lost, 1 by default; `CAUDAL_BACKUP_KEEP` is a folder to which
//! the last data folder is copied.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::{restored, verified};
use crate::support::{Client, SOON, Value, wait_until};

/// How many clients post at the same time.
const CLIENTS: usize = 32;

/// `caudal dev` that ships its journal, as a separate process.
struct Machine {
    child: Child,
    client: Client,
    admin: (Client, String),
}

impl Machine {
    async fn start(data: &Path, to: &Path) -> Self {
        let free = "127.0.0.1:0";
        let mut dev = Command::new(env!("CARGO_BIN_EXE_caudal"));
        dev.args(["dev", "--listen", free, "--admin-listen", free]);
        dev.args(["--bank-listen", free, "--backup-to"]).arg(to);
        dev.arg("--data").arg(data);
        dev.stdout(Stdio::null()).stderr(Stdio::null());
        let mut machine = Self {
            child: dev.spawn().unwrap(),
            client: Client::new("", None),
            admin: (Client::new("", None), String::new()),
        };
        let file = data.join("dev.json");
        let (client, admin) = wait_until("the service runs", SOON, async || {
            let ended = machine.child.try_wait().unwrap();
            assert!(ended.is_none(), "it ended instead of starting: {ended:?}");
            let text = std::fs::read(&file).ok()?;
            let reply = serde_json::from_slice::<Value>(&text).ok()?;
            let text = |name: &str| reply[name].as_str().map(str::to_owned);
            let client = Client::new(&text("url")?, Some(&text("testKey")?));
            let admin = Client::new(&text("adminUrl")?, None);
            let answer = client.get("/v1/voucher-types").answer().await?;
            (answer.status == 200).then_some((client, (admin, text("adminKey")?)))
        })
        .await;
        (machine.client, machine.admin) = (client, admin);
        machine
    }

    async fn ship(&self) -> Value {
        let (admin, key) = &self.admin;
        let call = admin.call("POST", "/admin/backup");
        let call = async { call.header("x-admin-key", key).await };
        let answer = tokio::time::timeout(SOON, call).await;
        let told = answer.expect("a round ends").is(200).json.clone();
        assert_eq!(told["error"], Value::Null, "{told}");
        told
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// The acknowledged vouchers by their external ids, with the time of each acknowledgement.
type Acked = Mutex<BTreeMap<String, Instant>>;

/// Posts one voucher; returns whether it was acknowledged.
async fn send(client: &Client, acked: &Acked, cvu: &str, id: &str) -> bool {
    let answer = client.voucher(cvu, "IN", "1.00", id).answer().await;
    let good = answer.is_some_and(|it| it.status == 201);
    if good {
        acked.lock().unwrap().insert(id.to_owned(), Instant::now());
    }
    good
}

/// The external ids of all movements of an account; checks that each occurs once.
async fn there(client: &Client, cvu: &str) -> Vec<String> {
    let (mut all, mut cursor) = (Vec::new(), String::new());
    loop {
        let path = format!("/v1/accounts/{cvu}/movements?order=asc&limit=200&cursor={cursor}");
        let page = client.get(&path).await.is(200);
        for row in page.json.as_array().unwrap() {
            all.push(row["idExterno"].as_str().unwrap().to_owned());
            assert_eq!(row["totalAfter"], format!("{}.00", all.len()), "no gap");
        }
        page.header("x-next-cursor").clone_into(&mut cursor);
        if cursor.is_empty() {
            break;
        }
    }
    let count = all.len();
    all.sort();
    all.dedup();
    assert_eq!(all.len(), count, "none twice");
    all
}

/// Loads a machine until so many vouchers are acknowledged, and destroys it. Returns when, and the vouchers that were
/// acknowledged before the start of the last shipment that the test waited for.
async fn burn(
    machine: Machine,
    acked: &Arc<Acked>,
    cvu: &str,
    round: usize,
) -> (Instant, Vec<String>) {
    let stop = Arc::new(AtomicBool::new(false));
    let work = (0..CLIENTS).map(|worker| {
        let (client, acked, stop) = (machine.client.clone(), Arc::clone(acked), Arc::clone(&stop));
        let cvu = cvu.to_owned();
        actix_web::rt::spawn(async move {
            for n in 0.. {
                let id = format!("m{round}-{worker}-{n}");
                if stop.load(Ordering::Relaxed) || !send(&client, &acked, &cvu, &id).await {
                    return;
                }
            }
        })
    });
    let work: Vec<_> = work.collect();
    let reached = async |more: usize| {
        let wanted = acked.lock().unwrap().len() + more;
        wait_until("vouchers are acknowledged", SOON, async || {
            (acked.lock().unwrap().len() >= wanted).then_some(())
        })
        .await;
    };
    reached(300).await;
    let mut safe = Vec::new();
    if round.is_multiple_of(2) {
        safe.extend(acked.lock().unwrap().keys().cloned());
        machine.ship().await;
        reached(100 + round * 37 % 200).await;
    } else {
        // long enough for some tails to be shipped on schedule
        reached(2000 + round * 137 % 1000).await;
    }
    let burnt = Instant::now();
    drop(machine);
    stop.store(true, Ordering::Relaxed);
    for worker in work {
        worker.await.unwrap();
    }
    (burnt, safe)
}

#[actix_web::test]
async fn a_lost_machine_loses_no_more_than_its_tail() {
    let losses = std::env::var("CAUDAL_BACKUP_LOSSES").map_or(1, |text| text.parse().unwrap());
    let dir = TempDir::new().unwrap();
    let to = dir.path().join("backup");
    let mut data = dir.path().join("m0");
    let mut machine = Machine::start(&data, &to).await;
    let cvu = machine.client.cvu().await;
    machine.client.create_type("IN", "credit").await;
    let acked: Arc<Acked> = Arc::default();
    let (mut lost, mut oldest) = (0, Duration::ZERO);
    for round in 0..losses {
        let (burnt, safe) = burn(machine, &acked, &cvu, round).await;
        let next = dir.path().join(format!("m{}", round + 1));
        restored(&to, &next, &data, &[]);
        std::fs::remove_dir_all(&data).unwrap();
        data = next;
        machine = Machine::start(&data, &to).await;
        let found = there(&machine.client, &cvu).await;
        for id in &safe {
            assert!(
                found.binary_search(id).is_ok(),
                "{id} was shipped and is gone"
            );
        }
        let known = acked.lock().unwrap().clone();
        let gone = known
            .iter()
            .filter(|(id, _)| found.binary_search(id).is_err());
        for (id, at) in gone {
            lost += 1;
            oldest = oldest.max(burnt.saturating_duration_since(*at));
            // the client finds the voucher missing, and sends it again
            assert!(send(&machine.client, &acked, &cvu, id).await);
        }
        let all = there(&machine.client, &cvu).await;
        assert!(known.keys().all(|id| all.binary_search(id).is_ok()));
    }
    machine.ship().await;
    let known = acked.lock().unwrap().len();
    println!(
        "{losses} machines lost, {known} vouchers acknowledged, {lost} of them lost with their machine and sent again, \
         the oldest {} ms old; 0 of those that had been shipped",
        oldest.as_millis()
    );
    drop(machine);
    assert!(verified(&to)["commit"].is_u64());
    if let Ok(keep) = std::env::var("CAUDAL_BACKUP_KEEP") {
        crate::bank_failures::past::copy(&data, keep.as_ref());
    }
}
