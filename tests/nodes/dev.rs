//! `caudal dev --cluster`: the cluster that it starts can be used and killed, and nothing of it is left
//! afterwards.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::Child;
use std::time::Duration;

use caudal_postgres::server::installed;
use serde_json::Value;
use tempfile::TempDir;

use super::{account, types};
use crate::cli::caudal;
use crate::support::canary::Paper;
use crate::support::processes::{runs, signal};
use crate::support::{Client, wait_until};

/// How long any step may take: nine processes share the machine with all other tests.
const LONG: Duration = Duration::from_secs(240);
/// How long a request waits for its answer before it is sent again.
const PATIENCE: Duration = Duration::from_secs(20);

/// A running `caudal dev --cluster`, its output and the description of the cluster.
struct Look {
    child: Child,
    /// Read when the process has ended.
    _log: Paper,
    dir: TempDir,
    folder: PathBuf,
    told: Value,
}

impl Drop for Look {
    fn drop(&mut self) {
        // If the test went well, the process has ended already.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

impl Look {
    async fn start(more: &[&str]) -> Option<Self> {
        if !installed() {
            return None;
        }
        let dir = TempDir::new().unwrap();
        // Where the tests run as root, the user who runs PostgreSQL needs access.
        fs::set_permissions(dir.path(), Permissions::from_mode(0o711)).unwrap();
        let free = "127.0.0.1:0";
        let out = File::create(dir.path().join("out")).unwrap();
        let mut command = caudal(&["dev", "--cluster", "--listen", free]);
        command.args(["--admin-listen", free, "--bank-listen", free]);
        command.args(more);
        // A locale that this machine may lack must not keep the servers from starting.
        let command = command
            .env("TMPDIR", dir.path())
            .env("LC_ALL", "es_AR.UTF-8");
        let log = Paper::new();
        let child = command.stdout(out).stderr(log.pen()).spawn();
        let child = child.unwrap();
        let mut look = Self {
            child,
            _log: log,
            dir,
            folder: PathBuf::new(),
            told: Value::Null,
        };
        wait_until("it says what there is", LONG, async || {
            let ended = look.child.try_wait().unwrap();
            assert!(ended.is_none(), "it ended: {ended:?} {}", look.said());
            let entries = fs::read_dir(look.dir.path()).unwrap();
            let mut paths = entries.map(|entry| entry.unwrap().path());
            look.folder = paths.find(|path| path.is_dir())?;
            look.read()
        })
        .await;
        Some(look)
    }

    /// Reads the description of the cluster; `None` until it is there.
    fn read(&mut self) -> Option<()> {
        let text = fs::read(self.folder.join("cluster.json")).ok()?;
        self.told = serde_json::from_slice(&text).unwrap();
        Some(())
    }

    /// Waits until the command has printed this.
    async fn says(&self, what: &str) {
        wait_until(what, LONG, async || {
            self.said().contains(what).then_some(())
        })
        .await;
    }

    /// Interrupts the command as Ctrl-C does, and waits until nothing of it is left.
    async fn stop(&mut self) {
        self.read().unwrap();
        let ids = self.processes();
        assert!(signal(self.child.id(), "INT"));
        let ended = wait_until("it ends", LONG, async || self.child.try_wait().unwrap()).await;
        assert_eq!(ended.code(), Some(0), "{}", self.said());
        assert!(!self.folder.exists(), "{}", self.folder.display());
        none_runs(&ids).await;
    }

    fn said(&self) -> String {
        fs::read_to_string(self.dir.path().join("out")).unwrap()
    }

    fn text(&self, at: &str) -> &str {
        self.told.pointer(at).and_then(Value::as_str).unwrap()
    }

    fn client(&self, n: usize) -> Client {
        let url = self.text(&format!("/nodes/{n}/url"));
        Client::new(url, Some(self.text("/testKey")))
    }

    /// The processes of the nodes and the servers.
    fn processes(&self) -> Vec<i64> {
        let all = ["nodes", "servers"].map(|kind| self.told[kind].as_array().unwrap());
        let ids = all.iter().flat_map(|kind| kind.iter());
        // A process that has ended has no id.
        ids.filter_map(|one| one["pid"].as_i64()).collect()
    }

    /// The node that owns the log, according to one of them.
    async fn owner(&self, asked: usize) -> usize {
        let admin = Client::new(self.text(&format!("/nodes/{asked}/adminUrl")), None);
        wait_until("somebody owns the log", LONG, async || {
            let call = admin.get("/admin/node");
            let known = call.header("x-admin-key", self.text("/adminKey"));
            let known = known.answer().await?;
            let owner = known.json["owner"].as_str()?;
            (0..3).find(|n| self.text(&format!("/nodes/{n}/name")) == owner)
        })
        .await
    }
}

/// Has a client ask the node that an answer names, from now on.
fn follow(client: &mut Client, answer: &reqwest::Response) {
    if let Some(owner) = answer.headers().get("caudal-owner") {
        owner.to_str().unwrap().clone_into(&mut client.url);
    }
}

/// Posts a voucher, retrying as often as necessary at the node that owns the log by then.
async fn post(first: &Client, cvu: &str, id: &str) {
    let mut client = first.clone();
    wait_until("it is posted", LONG, async || {
        let call = client.voucher(cvu, "IN", "1.00", id).key(id).raw();
        let Ok(answer) = call.timeout(PATIENCE).send().await else {
            client.url.clone_from(&first.url);
            return None;
        };
        follow(&mut client, &answer);
        match answer.status().as_u16() {
            201 => Some(()),
            409 | 503 => None,
            other => panic!("{other}: {}", answer.text().await.unwrap()),
        }
    })
    .await;
}

/// The available amount, asked for as often as necessary.
async fn available(first: &Client, cvu: &str) -> String {
    let mut client = first.clone();
    wait_until("the balance", LONG, async || {
        let call = client.get(&format!("/v1/accounts/{cvu}/balance")).raw();
        let Ok(answer) = call.timeout(PATIENCE).send().await else {
            client.url.clone_from(&first.url);
            return None;
        };
        follow(&mut client, &answer);
        match answer.status().as_u16() {
            200 => {
                let balance: Value = answer.json().await.ok()?;
                Some(balance["available"].as_str().unwrap().to_owned())
            }
            503 => None,
            other => panic!("{other}: {}", answer.text().await.unwrap()),
        }
    })
    .await
}

async fn none_runs(ids: &[i64]) {
    wait_until("nothing is left", LONG, async || {
        (!ids.iter().any(runs)).then_some(())
    })
    .await;
}

#[actix_web::test]
async fn a_cluster_to_look_at_goes_on_when_its_owner_and_its_primary_are_killed_and_leaves_nothing()
{
    let Some(mut look) = Look::start(&[]).await else {
        return;
    };
    types(&look.client(0)).await;
    let cvu = account(&look.client(1)).await;
    for n in 0..3 {
        post(&look.client(n), &cvu, &format!("one-{n}")).await;
    }
    let ids = look.processes();
    let owner = look.owner(0).await;
    let other = (owner + 1) % 3;
    assert!(signal(ids[owner], "KILL"));
    post(&look.client(other), &cvu, "after-the-owner").await;
    assert!(signal(ids[3], "KILL"));
    post(&look.client(other), &cvu, "after-the-primary").await;
    assert_eq!(available(&look.client((owner + 2) % 3), &cvu).await, "5.00");
    let told = format!("node-{} ended by signal 9", owner + 1);
    for line in [
        &told,
        "db-1, which took writes, ended by signal 9",
        "db-2 is promoted",
    ] {
        look.says(line).await;
    }
    look.stop().await;
    none_runs(&ids).await;
}

#[actix_web::test]
async fn a_node_that_cannot_start_without_the_primary_does_not_keep_the_standby_from_taking_over() {
    let Some(mut look) = Look::start(&["--restart"]).await else {
        return;
    };
    types(&look.client(0)).await;
    let cvu = account(&look.client(0)).await;
    let ids = look.processes();
    // The server is stopped: it accepts connections and answers none.
    assert!(signal(ids[3], "STOP"));
    assert!(signal(ids[1], "KILL"));
    look.says("node-2 ended by signal 9; it is started again")
        .await;
    assert!(signal(ids[3], "KILL"));
    look.says("db-2 is promoted").await;
    look.says("db-1 is the standby now").await;
    look.says("node-2 runs again").await;
    // The command prints this before it writes the description.
    wait_until("it is written", LONG, async || {
        look.read()?;
        let now = look.processes();
        (now.len() == 5 && now[1] != ids[1] && now[3] != ids[3]).then_some(())
    })
    .await;
    post(&look.client(0), &cvu, "after-both").await;
    // The standby first: the server that takes writes then has everything that was acknowledged.
    let ids = look.processes();
    assert!(signal(ids[3], "KILL"));
    assert!(signal(ids[4], "KILL"));
    look.says("db-2 runs again and takes writes").await;
    post(&look.client(0), &cvu, "after-both-servers").await;
    assert_eq!(available(&look.client(2), &cvu).await, "2.00");
    look.stop().await;
}

#[actix_web::test]
async fn a_cluster_whose_starter_is_killed_leaves_no_process() {
    let Some(mut look) = Look::start(&[]).await else {
        return;
    };
    let ids = look.processes();
    assert!(ids.len() == 5 && ids.iter().all(runs), "{ids:?}");
    look.child.kill().unwrap();
    look.child.wait().unwrap();
    none_runs(&ids).await;
}
