//! The folders to be changed, and the real binary running on them.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use caudal_ledger::tenants::Mode;
use caudal_service::{Service, ServiceOptions};
use tempfile::TempDir;

use crate::support::{Client, SOON, Value, canary, json, wait_until};

/// How many vouchers one request has.
const BATCH: usize = 1000;
/// How many of its last lines a process is judged by: those of requests that fail meanwhile can come after its reason.
const LAST_LINES: usize = 16;

/// A folder, and the vouchers that were acknowledged in it.
pub struct Base {
    pub data: PathBuf,
    pub acked: BTreeSet<String>,
}

/// An older copy, the folder after a stop, and the folder after a crash.
pub struct Site {
    dir: TempDir,
    pub older: PathBuf,
    pub stopped: Base,
    pub killed: Base,
    pub key: String,
    pub cvu: String,
    next: AtomicU32,
}

/// Copies a file or folder, keeping its attributes.
pub fn copy(from: &Path, to: &Path) {
    let copied = Command::new("cp")
        .args(["-a", "--sparse=always", "-T"])
        .args([from, to])
        .status();
    assert!(
        copied.unwrap().success(),
        "{} to {}",
        from.display(),
        to.display()
    );
}

/// The binary, without the variables of this test, which it would take as settings.
fn caudal() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_caudal"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("CAUDAL_") {
            command.env_remove(name);
        }
    }
    command
}

/// Posts credits, first in batches and then one at a time.
async fn post(client: &Client, cvu: &str, batches: usize, acked: &mut BTreeSet<String>) {
    for _ in 0..batches {
        let first = acked.len();
        let ids: Vec<_> = (first..first + BATCH).map(|n| format!("v-{n}")).collect();
        let item = |id: &String| json!({"cvu": cvu, "voucherTypeCode": "IN", "amount": "1", "idExterno": id});
        let items: Vec<_> = ids.iter().map(item).collect();
        let body = json!({"mode": "independent", "items": items});
        let done = client.post("/v1/comprobantes/batch", &body).await.is(200);
        let recorded = done["results"].as_array().unwrap();
        assert!(recorded.iter().all(|row| row["status"] == "recorded"));
        acked.extend(ids);
    }
    for _ in 0..50 {
        let id = format!("v-{}", acked.len());
        client.voucher(cvu, "IN", "1", &id).await.is(201);
        acked.insert(id);
    }
}

impl Site {
    /// Fills a folder in three runs of the service, and keeps a copy of each.
    pub async fn build() -> Self {
        let dir = TempDir::new().unwrap();
        let (data, older) = (dir.path().join("origin"), dir.path().join("older"));
        let options = || ServiceOptions::for_tests(&data);
        let service = Service::start(options()).unwrap();
        let tenant = service.create_tenant("uno").await.unwrap();
        let key = service.issue_key(&tenant.id, Mode::Test).await.unwrap();
        let client = Client::new(&service.url, Some(&key));
        client.in_and_out().await;
        let cvu = client.cvu().await;
        let mut acked = BTreeSet::new();
        post(&client, &cvu, 5, &mut acked).await;
        service.stop().await.unwrap();
        copy(&data, &older);
        let service = Service::start(options()).unwrap();
        let client = Client::new(&service.url, Some(&key));
        post(&client, &cvu, 5, &mut acked).await;
        service.stop().await.unwrap();
        let stopped = Base {
            data: dir.path().join("stopped"),
            acked: acked.clone(),
        };
        copy(&data, &stopped.data);
        let service = Service::start(options()).unwrap();
        let client = Client::new(&service.url, Some(&key));
        post(&client, &cvu, 1, &mut acked).await;
        // the last half second may not have a witness yet
        wait_until("the witness has seen it", SOON, async || {
            let stats = service.engine.operators().stats();
            (stats.witness_commit == stats.last_commit).then_some(())
        })
        .await;
        service.kill().await;
        let killed = Base {
            data: dir.path().join("killed"),
            acked,
        };
        copy(&data, &killed.data);
        Self {
            dir,
            older,
            stopped,
            killed,
            key,
            cvu,
            next: AtomicU32::new(0),
        }
    }

    /// A path that is not in use.
    pub fn fresh(&self) -> PathBuf {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        self.dir.path().join(format!("case-{number}"))
    }

    /// Starts the binary on a folder.
    pub async fn open(&self, data: &Path) -> Opened {
        let settings = self.dir.path().join("settings.toml");
        let text = format!(
            r#"data = "{}"
            listen = "127.0.0.1:0"
            admin_listen = "127.0.0.1:0"
            admin_key = "kJ7hGq2Zx9PvT4mWc8RnYb3LdFs6Ea5U"
            bank_catch_up_seconds = 0
            treasury_check_seconds = 0
            [storage]
            segment_mib = 1
            free_space_floor_mib = 0
            index_cache_mib = 4
            [bank.live]
            base_url = "http://127.0.0.1:9"
            username = "nobody"
            password = "nobodys"
            collector = "3220001805007351350083"
            notice_secret = "Qm4Xz8Lt2Vb6Ny1Rk5Hs9Wd3Pf7Jc0Ga"
            "#,
            data.display()
        );
        std::fs::write(&settings, text).unwrap();
        let mut child = caudal()
            .arg("serve")
            .arg("--config")
            .arg(&settings)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let said = Arc::new(Mutex::new(Vec::new()));
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let heard = Arc::clone(&said);
        let reader = std::thread::spawn(move || {
            lines
                .map_while(Result::ok)
                .for_each(|line| heard.lock().unwrap().push(line));
        });
        let url = wait_until("it serves or ends", SOON, async || {
            let answer = said.lock().unwrap();
            let ready = answer.iter().find(|line| line.contains("takes requests"));
            if let Some(line) = ready {
                let line: Value = serde_json::from_str(line).unwrap();
                return Some(line["url"].as_str().map(str::to_owned));
            }
            child.try_wait().unwrap().map(|_| None)
        })
        .await;
        let process = Process {
            url: url.clone().unwrap_or_default(),
            child,
            said,
            reader: Some(reader),
        };
        match url {
            Some(_) => Opened::Serves(process),
            None => {
                let (code, why) = process.ended().await;
                Opened::Refused(code, why)
            }
        }
    }

    /// The exit code of `verify` on a folder.
    pub fn verify(&self, data: &Path) -> Option<i32> {
        let mut verify = caudal();
        verify.arg("verify").arg("--data").arg(data);
        verify.output().unwrap().status.code()
    }
}

/// The result of a start.
pub enum Opened {
    /// The exit code, and the output.
    Refused(Option<i32>, String),
    Serves(Process),
}

/// A running service, killed when it is dropped.
pub struct Process {
    pub url: String,
    child: Child,
    said: Arc<Mutex<Vec<String>>>,
    reader: Option<std::thread::JoinHandle<()>>,
}

impl Process {
    /// Waits for its end; returns its exit code (`None` after a signal) and its last lines.
    pub async fn ended(mut self) -> (Option<i32>, String) {
        let ended = async || self.child.try_wait().unwrap();
        let status = wait_until("the process ends", SOON, ended).await;
        if let Some(reader) = self.reader.take() {
            reader.join().unwrap();
        }
        let said = self.said.lock().unwrap();
        (
            status.code(),
            said.iter()
                .rev()
                .take(LAST_LINES)
                .rev()
                .cloned()
                .collect::<Vec<_>>()
                .join("\n"),
        )
    }

    /// How many of these vouchers it lacks.
    pub async fn lacks(&self, site: &Site, acked: &BTreeSet<String>) -> usize {
        let client = Client::new(&self.url, Some(&site.key));
        let (mut found, mut cursor) = (BTreeSet::new(), String::new());
        loop {
            let cvu = &site.cvu;
            let path = format!("/v1/accounts/{cvu}/movements?order=asc&limit=200&cursor={cursor}");
            let page = client.get(&path).await.is(200);
            for row in page.json.as_array().unwrap() {
                let id = row["idExterno"].as_str().unwrap().to_owned();
                assert!(found.insert(id), "a voucher is there twice");
            }
            page.header("x-next-cursor").clone_into(&mut cursor);
            if cursor.is_empty() {
                return acked.difference(&found).count();
            }
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
        if !std::thread::panicking() {
            if let Some(reader) = self.reader.take() {
                reader.join().ok();
            }
            let said = self.said.lock().unwrap().join("\n");
            canary::reads("a service on a folder", &said);
        }
    }
}
