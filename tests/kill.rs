//! kill −9 of a real process under load over HTTP, and SIGTERM: nothing that was acknowledged is
//! lost, and nothing is there twice.
//!
//! Each round, 64 clients post vouchers with external ids of their own to the process; it is killed
//! at a random moment and started again on the same folder. Vouchers whose answer was cut off are
//! sent again after the restart, as a client would. `CAUDAL_KILLS` sets the number of rounds, 3 by
//! default.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::support::canary::Paper;
use crate::support::client::fresh;
use crate::support::processes::signal;
use crate::support::{Client, SOON, Value, json, wait_until};

/// How many clients post at the same time.
const CLIENTS: usize = 64;
/// How many accounts they share, so that some are hot.
const ACCOUNTS: usize = 8;
/// How long a start may take.
const START: Duration = SOON;

/// `caudal dev` as a separate process.
struct Process {
    child: Child,
    client: Client,
    /// Read when the process has ended.
    _log: Paper,
}

impl Process {
    async fn start(data: &Path) -> Self {
        Self::start_with(data, &[]).await
    }

    async fn start_with(data: &Path, more: &[&str]) -> Self {
        Self::of(env!("CARGO_BIN_EXE_caudal"), data, more).await
    }

    /// Starts `program`, which need not be the one of these tests.
    async fn of(program: &str, data: &Path, more: &[&str]) -> Self {
        let (free, log) = ("127.0.0.1:0", Paper::new());
        let child = Command::new(program)
            .args([
                "dev",
                "--listen",
                free,
                "--admin-listen",
                free,
                "--bank-listen",
                free,
                "--data",
            ])
            .arg(data)
            .args(more)
            .stdout(Stdio::null())
            .stderr(log.pen())
            .spawn()
            .unwrap();
        let mut process = Self {
            child,
            client: Client::new("", None),
            _log: log,
        };
        let file = data.join("dev.json");
        // The file of the last run may still be there, so the service at its address must accept
        // its key.
        let ready = async || {
            let ended = process.child.try_wait().unwrap();
            assert!(ended.is_none(), "it ended instead of starting: {ended:?}");
            let text = std::fs::read(&file).ok()?;
            let reply = serde_json::from_slice::<Value>(&text).ok()?;
            let client = Client::new(reply["url"].as_str()?, Some(reply["testKey"].as_str()?));
            let answer = client.get("/v1/voucher-types").answer().await?;
            (answer.status == 200).then_some(client)
        };
        process.client = wait_until("the service runs", START, ready).await;
        process
    }

    fn signal(&self, name: &str) {
        assert!(signal(self.child.id(), name));
    }

    async fn ended(mut self) -> ExitStatus {
        wait_until("the process ends", SOON, async || {
            self.child.try_wait().unwrap()
        })
        .await
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // If the test went well, the process has ended already.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// A voucher as it was sent.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Sent {
    cvu: String,
    code: &'static str,
    centavos: u64,
}

/// The vouchers that the clients know.
#[derive(Default)]
struct Known {
    /// Those that were sent, and perhaps never answered.
    open: BTreeMap<String, Sent>,
    /// Those that were acknowledged, with the id of the voucher.
    done: BTreeMap<String, (Sent, String)>,
}

fn amount(centavos: u64) -> String {
    format!("{}.{:02}", centavos / 100, centavos % 100)
}

/// Sends one voucher; returns whether it was acknowledged.
async fn send(client: &Client, known: &Mutex<Known>, id: &str, sent: &Sent) -> bool {
    known
        .lock()
        .unwrap()
        .open
        .insert(id.to_owned(), sent.clone());
    let call = client.voucher(&sent.cvu, sent.code, &amount(sent.centavos), id);
    let Some(answer) = call.answer().await else {
        return false;
    };
    if answer.status != 201 {
        // Only a service that is about to stop may answer otherwise, with 503, and then nothing is
        // promised.
        assert_eq!(answer.status, 503, "{}", answer.text);
        return false;
    }
    let mut known = known.lock().unwrap();
    known.open.remove(id);
    let voucher = answer["id"].as_str().unwrap().to_owned();
    let before = known
        .done
        .insert(id.to_owned(), (sent.clone(), voucher.clone()));
    assert!(before.is_none_or(|(_, known)| known == voucher));
    true
}

/// Posts until told to stop or until the connection breaks.
async fn load(
    client: Client,
    known: Arc<Mutex<Known>>,
    stop: Arc<AtomicBool>,
    cvus: Vec<String>,
    round: usize,
    worker: usize,
) {
    for n in 0.. {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        let sent = Sent {
            cvu: cvus[(worker + n) % cvus.len()].clone(),
            code: if n % 4 == 3 { "OUT" } else { "IN" },
            centavos: u64::try_from(100 + (worker * 7 + n) % 50).unwrap(),
        };
        if !send(&client, &known, &format!("k{round}-{worker}-{n}"), &sent).await {
            return;
        }
    }
}

/// Checks that everything acknowledged is there, once, and that the service's balances add up;
/// returns how many there are.
async fn check(client: &Client, known: &Mutex<Known>, cvus: &[String]) -> usize {
    // Orders that were cut off are repeated until they are answered.
    let open = known.lock().unwrap().open.clone();
    for (id, sent) in &open {
        wait_until("a repeat is answered", SOON, async || {
            send(client, known, id, sent).await.then_some(())
        })
        .await;
    }
    let done = known.lock().unwrap().done.clone();
    let mut found = BTreeMap::new();
    for cvu in cvus {
        let (mut total, mut sequence, mut cursor) = (0_i64, 0, String::new());
        loop {
            let path = format!("/v1/accounts/{cvu}/movements?order=asc&limit=200&cursor={cursor}");
            let page = client.get(&path).await.is(200);
            for row in page.json.as_array().unwrap() {
                sequence += 1;
                assert_eq!(row["sequence"], sequence, "no gap and no repeat");
                let centavos: i64 = row["amount"]
                    .as_str()
                    .unwrap()
                    .replace('.', "")
                    .parse()
                    .unwrap();
                total += if row["ledgerType"] == "credit" {
                    centavos
                } else {
                    -centavos
                };
                assert_eq!(row["totalAfter"], amount(u64::try_from(total).unwrap()));
                let id = row["idExterno"].as_str().unwrap().to_owned();
                let row = (
                    cvu.clone(),
                    row["amount"].clone(),
                    row["id"].as_str().unwrap().to_owned(),
                );
                assert_eq!(found.insert(id.clone(), row), None, "{id} is there twice");
            }
            page.header("x-next-cursor").clone_into(&mut cursor);
            if cursor.is_empty() {
                break;
            }
        }
        assert_eq!(
            client.available(cvu).await,
            amount(u64::try_from(total).unwrap())
        );
    }
    for (id, (sent, voucher)) in &done {
        let row = (
            sent.cvu.clone(),
            json!(amount(sent.centavos)),
            voucher.clone(),
        );
        assert_eq!(found.get(id), Some(&row), "{id} was acknowledged");
    }
    assert_eq!(
        found.len(),
        done.len(),
        "nothing is there that was not sent"
    );
    // Some of them are also looked up by external id.
    for (id, (_, voucher)) in done.iter().step_by(done.len() / 50 + 1) {
        let found = client
            .get(&format!("/v1/comprobantes/by-external/{id}"))
            .await
            .is(200);
        assert_eq!(found["id"], *voucher);
    }
    found.len()
}

fn verified(data: &Path) {
    let verify = Command::new(env!("CARGO_BIN_EXE_caudal"))
        .arg("verify")
        .arg("--data")
        .arg(data)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&verify.stdout);
    assert!(
        verify.status.success(),
        "{said}{}",
        String::from_utf8_lossy(&verify.stderr)
    );
}

/// Opens accounts with enough money for the postings in any order, and creates the two types.
async fn prepare(client: &Client, known: &Mutex<Known>) -> Vec<String> {
    client.in_and_out().await;
    let mut cvus = Vec::new();
    for _ in 0..ACCOUNTS {
        let cvu = client.cvu().await;
        let sent = Sent {
            cvu: cvu.clone(),
            code: "IN",
            centavos: 100_000_000_000,
        };
        assert!(send(client, known, &format!("first-{}", fresh()), &sent).await);
        cvus.push(cvu);
    }
    cvus
}

/// Starts the load; returns the switch that stops it, and its tasks.
fn begin(
    client: &Client,
    known: &Arc<Mutex<Known>>,
    cvus: &[String],
    round: usize,
) -> (Arc<AtomicBool>, Vec<actix_web::rt::task::JoinHandle<()>>) {
    let stop = Arc::new(AtomicBool::new(false));
    let start = |worker| {
        let (known, stop) = (Arc::clone(known), Arc::clone(&stop));
        actix_web::rt::spawn(load(
            client.clone(),
            known,
            stop,
            cvus.to_vec(),
            round,
            worker,
        ))
    };
    let tasks = (0..CLIENTS).map(start).collect();
    (stop, tasks)
}

/// Waits for a random moment of the load: 1 to 400 further acknowledgements, chosen by the
/// randomness of hash seeds.
async fn random_moment(known: &Mutex<Known>) -> u64 {
    static SALT: AtomicU64 = AtomicU64::new(0);
    let chance = std::hash::BuildHasher::hash_one(
        &std::hash::RandomState::new(),
        SALT.fetch_add(1, Ordering::Relaxed),
    );
    let (from, more) = (known.lock().unwrap().done.len(), 1 + chance % 400);
    let enough = from + usize::try_from(more).unwrap();
    wait_until("the load goes on", SOON, async || {
        (known.lock().unwrap().done.len() >= enough).then_some(())
    })
    .await;
    more
}

#[actix_web::test]
async fn nothing_acknowledged_is_lost_or_doubled_by_kill_9() {
    let kills: usize = std::env::var("CAUDAL_KILLS").map_or(3, |text| text.parse().unwrap());
    let (folder, since) = (TempDir::new().unwrap(), Instant::now());
    let known = Arc::new(Mutex::new(Known::default()));
    let mut process = Process::start(folder.path()).await;
    let cvus = prepare(&process.client, &known).await;
    let (mut cut_off, mut kept) = (0, 0);
    for round in 0..kills {
        let (_, tasks) = begin(&process.client, &known, &cvus, round);
        random_moment(&known).await;
        process.signal("KILL");
        process.ended().await;
        for task in tasks {
            task.await.unwrap();
        }
        let acknowledged = known.lock().unwrap().done.len();
        cut_off += known.lock().unwrap().open.len();
        process = Process::start(folder.path()).await;
        let there = check(&process.client, &known, &cvus).await;
        assert!(there >= acknowledged);
        kept = there;
    }
    process.signal("TERM");
    assert!(process.ended().await.success());
    verified(folder.path());
    println!(
        "{kills} kills, {kept} vouchers, {cut_off} answers cut off, 0 lost, 0 twice, in {:?}",
        since.elapsed()
    );
}

#[actix_web::test]
async fn sigterm_ends_with_0_and_keeps_everything() {
    let folder = TempDir::new().unwrap();
    let known = Arc::new(Mutex::new(Known::default()));
    let process = Process::start(folder.path()).await;
    let cvus = prepare(&process.client, &known).await;
    let (stop, tasks) = begin(&process.client, &known, &cvus, 0);
    random_moment(&known).await;
    process.signal("TERM");
    let status = process.ended().await;
    assert_eq!(status.code(), Some(0));
    stop.store(true, Ordering::Relaxed);
    for task in tasks {
        task.await.unwrap();
    }
    verified(folder.path());
    let process = Process::start(folder.path()).await;
    check(&process.client, &known, &cvus).await;
}

/// What each round of [`nothing_acknowledged_is_lost_when_service_or_database_die`] breaks.
const BREAKS: [&str; 4] = ["the service", "the database", "both", "the connections"];

#[actix_web::test]
async fn nothing_acknowledged_is_lost_when_service_or_database_die() {
    let Some(server) = caudal_postgres::server::own() else {
        return;
    };
    let kills: usize = std::env::var("CAUDAL_KILLS").map_or(4, |text| text.parse().unwrap());
    let (folder, since) = (TempDir::new().unwrap(), Instant::now());
    let known = Arc::new(Mutex::new(Known::default()));
    let url = format!("postgres://postgres@127.0.0.1:{}/postgres", server.port);
    let log = ["--log", url.as_str()];
    let mut process = Process::start_with(folder.path(), &log).await;
    let cvus = prepare(&process.client, &known).await;
    let (mut broken, mut kept) = (BTreeMap::new(), 0);
    for round in 0..kills {
        let (stop, tasks) = begin(&process.client, &known, &cvus, round);
        random_moment(&known).await;
        let what = BREAKS[round % BREAKS.len()];
        *broken.entry(what).or_insert(0) += 1;
        match what {
            "the connections" => {
                let end = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
                           WHERE application_name = 'caudal'";
                assert_ne!(server.sql("postgres", end), "0");
            }
            "the service" => process.signal("KILL"),
            "the database" => server.kill(),
            _ => {
                process.signal("KILL");
                server.kill();
            }
        }
        if !matches!(what, "the service" | "the connections") {
            server.start(&[]);
        }
        if matches!(what, "the service" | "both") {
            process.ended().await;
            process = Process::start_with(folder.path(), &log).await;
        } else {
            // The same process continues.
            random_moment(&known).await;
        }
        stop.store(true, Ordering::Relaxed);
        for task in tasks {
            task.await.unwrap();
        }
        let acknowledged = known.lock().unwrap().done.len();
        kept = check(&process.client, &known, &cvus).await;
        assert!(kept >= acknowledged);
    }
    process.signal("TERM");
    assert!(process.ended().await.success());
    verified(folder.path());
    println!(
        "{kills} breaks {broken:?}, {kept} vouchers, 0 lost, 0 twice, in {:?}",
        since.elapsed()
    );
}
