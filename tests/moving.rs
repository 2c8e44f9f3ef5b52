//! The log of a service moves into a database and back to its folder, by commands in separate processes, while
//! clients retry until somebody serves.

mod several;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use caudal::service::{CellLog, Service, ServiceOptions, StartError};
use caudal_ledger::tenants::Mode;
use caudal_postgres::server::{Server, own};
use tempfile::TempDir;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::cli::{caudal, said};
use crate::support::client::fresh;
use crate::support::{Client, SOON, Value, wait_until};

const CLIENTS: usize = 64;
/// From record 20 on an insert waits until it is ended.
const HELD: &str = "CREATE FUNCTION hold() RETURNS trigger AS $$ BEGIN \
     IF NEW.first_commit >= 20 THEN PERFORM pg_sleep_for('10 minutes'); END IF; RETURN NEW; END $$ LANGUAGE plpgsql; \
     CREATE TRIGGER hold BEFORE INSERT ON caudal_log FOR EACH ROW EXECUTE FUNCTION hold()";
/// How many inserts are waiting.
const WAITING: &str = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'";
/// Ends the sessions of a program that was killed.
const END: &str =
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'caudal'";
/// How many sessions of programs are left.
const LEFT: &str = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'caudal'";
/// Lets inserts pass again. The statement needs the table while others insert, and fails if it does not get it.
const GO_ON: &str = "SET lock_timeout = '60s'; DROP TRIGGER hold ON caudal_log";
/// As if a standby were promoted that no commit had waited for: the last record is gone.
const LOSE: &str = "WITH gone AS (DELETE FROM caudal_log WHERE first_commit = \
     (SELECT max(first_commit) FROM caudal_log) RETURNING *) \
     UPDATE caudal_cell SET hash = gone.previous, last_commit = gone.first_commit - 1 FROM gone";

/// A folder, a database, and the service that runs.
struct Site {
    server: Server,
    data: PathBuf,
    dir: TempDir,
    url: watch::Sender<Option<String>>,
    service: Option<Service>,
    cells: u32,
}

impl Site {
    fn start() -> Option<Self> {
        let server = own()?;
        let dir = TempDir::new().unwrap();
        Some(Self {
            server,
            data: dir.path().join("data"),
            dir,
            url: watch::Sender::new(None),
            service: None,
            cells: 1,
        })
    }

    fn options(&self, elsewhere: bool) -> ServiceOptions {
        let log = self.server.settings(self.server.port, 0);
        ServiceOptions {
            cell: elsewhere.then(|| CellLog {
                log,
                node: "one".to_owned(),
                lease: Duration::from_secs(60),
                url: None,
            }),
            cells: self.cells,
            pepper: Some("a pepper that does not lie in the folder".into()),
            ..ServiceOptions::for_tests(&self.data)
        }
    }

    /// Starts the service, so that clients are served.
    fn serve(&mut self, elsewhere: bool) {
        let service = Service::start(self.options(elsewhere)).unwrap();
        self.url.send_replace(Some(service.url.clone()));
        self.service = Some(service);
    }

    /// Stops the service, so that clients are not served.
    async fn stop(&mut self, gracefully: bool) {
        self.url.send_replace(None);
        let service = self.service.take().unwrap();
        match gracefully {
            true => service.stop().await.unwrap(),
            false => service.kill().await,
        }
    }

    /// Checks that a service refuses to start, with these words.
    fn refused(&self, elsewhere: bool, words: &str) {
        let why: StartError = match Service::start(self.options(elsewhere)) {
            Ok(_) => panic!("it starts"),
            Err(why) => why,
        };
        assert!(why.to_string().contains(words), "{why}");
    }

    fn log(&self, errand: &str, more: &[&str]) -> Command {
        let mut command = caudal(&["log", errand, "--data", path(&self.data)]);
        command.args(more);
        command
    }

    /// Waits for the end of a program, which must come in time; returns its code and its output.
    async fn ended(&self, mut command: Command) -> (Option<i32>, String, String) {
        let [out, why] = ["out", "why"].map(|name| self.dir.path().join(name));
        let command = command.stdout(File::create(&out).unwrap());
        let command = command.stderr(File::create(&why).unwrap());
        let mut program = Program(command.spawn().unwrap());
        let status = wait_until("the program ends", SOON, async || {
            program.0.try_wait().unwrap()
        });
        said(&Output {
            status: status.await,
            stdout: fs::read(out).unwrap(),
            stderr: fs::read(why).unwrap(),
        })
    }

    fn address(&self) -> String {
        format!(
            "postgres://postgres@127.0.0.1:{}/postgres",
            self.server.port
        )
    }

    /// Runs a command of `caudal log` that ends with this code; returns its JSON output.
    async fn errand(&self, code: i32, errand: &str, more: &[&str]) -> Value {
        let mut command = self.log(errand, more);
        command.arg("--json");
        let (found, out, why) = self.ended(command).await;
        assert_eq!(found, Some(code), "{errand} {more:?}: {out} {why}");
        serde_json::from_str(&out).unwrap_or_default()
    }

    /// Checks that folder and database have the same records, and verifies the folder; returns the end of the log.
    async fn equal(&self) -> Value {
        let log = self.address();
        let found = self.errand(0, "compare", &["--log", &log]).await;
        assert_eq!(found["outcome"], "equal", "{found}");
        let verify = caudal(&["verify", "--data", path(&self.data)]);
        let (code, out, why) = self.ended(verify).await;
        assert_eq!(code, Some(0), "{out} {why}");
        found["same"]["end"].clone()
    }

    /// Runs a command of `caudal log` that is refused with these words.
    async fn errand_refused(&self, errand: &str, more: &[&str], words: &str) {
        let (code, _, why) = self.ended(self.log(errand, more)).await;
        assert!(code != Some(0) && why.contains(words), "{code:?} {why}");
    }
}

/// A program that ends with its test.
struct Program(Child);

impl Drop for Program {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

fn path(data: &Path) -> &str {
    data.to_str().unwrap()
}

/// Clients that post with idempotency keys, and retry until a voucher is acknowledged.
struct Load {
    seen: Arc<Seen>,
    clients: Vec<JoinHandle<()>>,
}

#[derive(Default)]
struct Seen {
    /// How many vouchers of each account were acknowledged.
    done: Mutex<BTreeMap<String, usize>>,
    count: AtomicUsize,
    again: AtomicUsize,
    over: AtomicBool,
}

impl Load {
    async fn begin(site: &Site, key: &str) -> Self {
        let seen = Arc::new(Seen::default());
        let first = Client::new(&site.service.as_ref().unwrap().url, Some(key));
        first.in_and_out().await;
        let mut cvus = Vec::new();
        for _ in 0..4 {
            cvus.push(first.cvu().await);
        }
        let clients = (0..CLIENTS).map(|n| {
            let (cvu, client) = (cvus[n % cvus.len()].clone(), Client::new("", Some(key)));
            tokio::spawn(post(Arc::clone(&seen), site.url.subscribe(), client, cvu))
        });
        Self {
            clients: clients.collect(),
            seen,
        }
    }

    /// Waits until `more` further vouchers are acknowledged.
    async fn more(&self, more: usize) {
        let until = self.seen.count.load(Ordering::Acquire) + more;
        wait_until("more is done", SOON, async || {
            (self.seen.count.load(Ordering::Acquire) >= until).then_some(())
        })
        .await;
    }

    /// Stops the clients once every request is answered; returns how many vouchers each account has, and how many
    /// tries failed.
    async fn end(self) -> (BTreeMap<String, usize>, usize) {
        self.seen.over.store(true, Ordering::Release);
        for client in self.clients {
            let ended = timeout(SOON, client).await;
            ended.expect("a request is answered in time").unwrap();
        }
        let again = self.seen.again.load(Ordering::Acquire);
        let done = self.seen.done.lock().unwrap().clone();
        (done, again)
    }
}

async fn post(
    seen: Arc<Seen>,
    mut url: watch::Receiver<Option<String>>,
    mut client: Client,
    cvu: String,
) {
    while !seen.over.load(Ordering::Acquire) {
        let id = format!("load-{}", fresh());
        loop {
            let found = url.wait_for(Option::is_some).await.unwrap().clone();
            client.url = found.unwrap();
            let answer = client.voucher(&cvu, "IN", "1.00", &id).key(&id);
            if answer.answer().await.is_some_and(|it| it.status == 201) {
                break;
            }
            seen.again.fetch_add(1, Ordering::AcqRel);
        }
        *seen.done.lock().unwrap().entry(cvu.clone()).or_default() += 1;
        seen.count.fetch_add(1, Ordering::AcqRel);
    }
}

/// Moves the log into the database, is killed in the middle, and moves it again.
async fn into_the_database(site: &Site) {
    let to = site.address();
    // This creates the tables, before the first record.
    drop(site.server.open(1));
    site.server.sql("postgres", HELD);
    let mut moving = site.log("move", &["--to", &to]);
    let moving = moving.stdout(Stdio::null()).stderr(Stdio::null());
    let moving = Program(moving.spawn().unwrap());
    // The program stays there: the insert waits for longer than this test may take.
    wait_until("a record waits", SOON, async || {
        (site.server.sql("postgres", WAITING).trim() != "0").then_some(())
    })
    .await;
    drop(moving);
    wait_until("its sessions end", SOON, async || {
        site.server.sql("postgres", END);
        (site.server.sql("postgres", LEFT).trim() == "0").then_some(())
    })
    .await;
    site.server.sql("postgres", GO_ON);
    let part = site.errand(1, "compare", &["--log", &to]).await;
    assert_eq!(part["outcome"], "journalLonger", "{part}");
    assert!(part["same"]["records"].as_u64().unwrap() > 0, "{part}");
    site.refused(true, "the log is in a folder");
    let moved = site.errand(0, "move", &["--to", &to]).await;
    assert_eq!(moved["moved"], true, "{moved}");
    assert_eq!(moved["end"], site.equal().await);
    let again = site.errand(0, "move", &["--to", &to]).await;
    assert_eq!(again["moved"], false, "{again}");
    site.refused(false, "caudal log move --to disk");
}

/// The database loses its newest records, and gets them back from the folder.
async fn healed(site: &Site) {
    let (log, before) = (site.address(), site.equal().await);
    for _ in 0..2 {
        site.server.sql("postgres", LOSE);
    }
    site.refused(true, "ends before it");
    let lost = site.errand(1, "compare", &["--log", &log]).await;
    assert_eq!(
        (&lost["outcome"], &lost["records"]),
        (&"journalLonger".into(), &2.into())
    );
    let row = &lost["longer"][1];
    assert_eq!(row["lastCommit"], before["commit"], "{lost}");
    assert!(
        row["entries"].as_u64().unwrap() > 0 && row["latest"].is_string(),
        "{row}"
    );
    assert!(!row["realms"].as_array().unwrap().is_empty(), "{row}");
    let healed = site
        .errand(0, "heal", &["--from-local", "--log", &log])
        .await;
    assert_eq!(
        (&healed["appended"], &healed["longer"]),
        (&2.into(), &lost["longer"])
    );
    assert_eq!(site.equal().await, before);
}

#[actix_web::test]
async fn a_log_goes_into_a_database_and_back_and_nothing_acknowledged_is_lost() {
    let Some(mut site) = Site::start() else {
        return;
    };
    site.serve(false);
    let service = site.service.as_ref().unwrap();
    let tenant = service.create_tenant("uno").await.unwrap();
    let key = service.issue_key(&tenant.id, Mode::Test).await.unwrap();
    let load = Load::begin(&site, &key).await;
    load.more(300).await;
    // As in a crash: requests that were under way are retried.
    site.stop(false).await;
    into_the_database(&site).await;
    site.serve(true);
    load.more(300).await;
    site.stop(true).await;
    healed(&site).await;
    site.serve(true);
    load.more(100).await;
    site.stop(true).await;
    let end = site.equal().await;
    let log = site.address();
    let moved = site
        .errand(0, "move", &["--to", "disk", "--log", &log])
        .await;
    assert_eq!((&moved["moved"], &moved["end"]), (&true.into(), &end));
    assert_eq!(site.equal().await, end);
    site.refused(true, "the log is in a folder");
    site.serve(false);
    load.more(300).await;
    let (done, again) = load.end().await;
    let client = Client::new(&site.service.as_ref().unwrap().url, Some(&key));
    for (cvu, count) in &done {
        assert_eq!(client.available(cvu).await, format!("{count}.00"), "{cvu}");
    }
    site.stop(true).await;
    // The database has the beginning of the log, and gets the rest.
    let behind = site.errand(1, "compare", &["--log", &log]).await;
    assert_eq!(behind["same"]["end"], end, "{behind}");
    let moved = site.errand(0, "move", &["--to", &log]).await;
    assert_eq!(moved["end"], site.equal().await);
    let count: usize = done.values().sum();
    println!("{count} acknowledged and there once, {again} tries failed");
}

#[actix_web::test]
async fn a_log_is_moved_nowhere_by_mistake() {
    let Some(mut site) = Site::start() else {
        return;
    };
    let log = site.address();
    fs::create_dir(&site.data).unwrap();
    site.errand_refused("move", &["--to", &log], "holds no store")
        .await;
    site.serve(false);
    site.errand_refused("move", &["--to", &log], "in use by another process")
        .await;
    site.stop(true).await;
    for errand in ["compare", "heal"] {
        let more: &[&str] = if errand == "heal" {
            &["--from-local"]
        } else {
            &[]
        };
        site.errand_refused(errand, more, "which database?").await;
        let more = [more, &["--log", log.as_str()]].concat();
        site.errand_refused(errand, &more, "has no log for this cell")
            .await;
    }
    site.errand_refused("move", &["--to", "tape"], "or disk")
        .await;
    site.errand_refused(
        "move",
        &["--to", &log, "--log", &log],
        "--to names the database",
    )
    .await;
    // A service that is configured with a database too early changes nothing there, so the move finds it empty.
    site.refused(true, "caudal log move --to");
    let tables = "SELECT count(*) FROM pg_tables WHERE tablename LIKE 'caudal%'";
    assert_eq!(site.server.sql("postgres", tables).trim(), "0");
    // A log that another service has begun does not become this one's either.
    let (own, data) = (site.data.clone(), site.data.with_file_name("other"));
    site.data = data;
    site.serve(true);
    site.stop(true).await;
    // A command would write only to the copy, so it is refused.
    let end = site.equal().await;
    for turn in ["open", "close"] {
        let words = [
            "realm",
            turn,
            "--data",
            path(&site.data),
            "--tenant",
            "uno",
            "--mode",
            "live",
        ];
        let (code, _, why) = site.ended(caudal(&words)).await;
        assert!(
            code == Some(2) && why.contains("a copy of the log at"),
            "{code:?} {why}"
        );
    }
    assert_eq!(site.equal().await, end);
    site.data = own;
    site.errand_refused("move", &["--to", &log], "another log for this cell")
        .await;
    site.errand_refused("compare", &["--log", &log], "has or had the store")
        .await;
    site.serve(false);
    site.stop(true).await;
}
