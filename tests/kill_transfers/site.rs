//! The service and its bank as separate processes: the service can be killed and started again at
//! the same address, and the bank keeps running.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use caudal_bank::notices::route::PATH;
use caudal_sandbox::{COLLECTOR, PASSWORD, USERNAME};
use tempfile::TempDir;

use crate::bank_failures::rig::client_of_bank;
use crate::support::canary::Paper;
use crate::support::processes::signal;
use crate::support::{Client, SOON, Value, json, wait_until};

/// How long a start may take.
const START: Duration = SOON;
/// The file of the certificate that the service trusts in addition to the machine's own.
const TRUSTED: &str = "trusted.pem";
const ADMIN_KEY: &str = "an-admin-key-for-kills-0123456789abcdef";
/// The secret with which the bank of test keys signs its notices.
pub const NOTICES: &str = "the-bank-of-kills-signs-with-this-8530";

/// A process that ends with this handle, and its log, which is read then.
struct Process(
    Child,
    #[expect(dead_code, reason = "read when it is dropped")] Paper,
);

impl Drop for Process {
    fn drop(&mut self) {
        // If the test went well, the process has ended already.
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

fn caudal() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_caudal"));
    // Variables are settings, and those of the environment that runs the tests do not apply to this
    // service.
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("CAUDAL_")) {
        command.env_remove(name);
    }
    command
}

/// Starts the command, with its log on paper.
fn started(command: &mut Command) -> Process {
    let log = Paper::new();
    let child = command.stderr(log.pen()).spawn().unwrap();
    Process(child, log)
}

/// Two free ports that stay free while nobody listens there: they are below those that the system
/// gives to outgoing connections, of which the other tests make many, and each is given out once.
fn ports() -> (u16, u16) {
    static GIVEN: AtomicU16 = AtomicU16::new(0);
    let first = 10_000 + u16::try_from(std::process::id() % 20_000).unwrap();
    let mut free = std::iter::repeat_with(|| first + GIVEN.fetch_add(1, Ordering::Relaxed))
        .take(2_000)
        .filter(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok());
    (free.next().unwrap(), free.next().unwrap())
}

/// A service, its bank, and clients for both.
pub struct Site {
    pub client: Client,
    pub bank: Client,
    admin: Client,
    service: Option<Process>,
    _bank: Process,
    folder: TempDir,
}

fn start_bank(notify: &str) -> (Process, String) {
    let mut bank = caudal();
    bank.args([
        "sandbox-bank",
        "--listen",
        "127.0.0.1:0",
        "--notify",
        notify,
    ]);
    bank.env("CAUDAL_SANDBOX_NOTICE_SECRET", NOTICES);
    let mut bank = started(bank.stdout(Stdio::piped()));
    let mut line = String::new();
    let said = bank.0.stdout.take().unwrap();
    BufReader::new(said).read_line(&mut line).unwrap();
    let url = line.split_whitespace().last().unwrap().to_owned();
    (bank, url)
}

impl Site {
    pub async fn start() -> Self {
        Self::with("", None).await
    }

    /// Starts a site with more settings at the top of the service's file, and a certificate (PEM)
    /// that it trusts.
    pub async fn with(more: &str, trusted: Option<&str>) -> Self {
        let (folder, (port, admin_port)) = (TempDir::new().unwrap(), ports());
        let url = format!("http://127.0.0.1:{port}");
        let admin = format!("http://127.0.0.1:{admin_port}");
        let (bank, bank_url) = start_bank(&format!("{url}{PATH}"));
        let data = folder.path().join("data");
        let settings = format!(
            r#"
            {more}
            data = {data:?}
            listen = "127.0.0.1:{port}"
            admin_listen = "127.0.0.1:{admin_port}"
            admin_key = "{ADMIN_KEY}"
            [storage]
            free_space_floor_mib = 0
            segment_mib = 4
            [bank.live]
            base_url = "http://127.0.0.1:9"
            username = "nobody"
            password = "nothing-that-is-known"
            collector = "{COLLECTOR}"
            notice_secret = "the-live-bank-is-not-part-of-this-7412"
            [bank.test]
            base_url = "{bank_url}"
            collector = "{COLLECTOR}"
            notice_secret = "{NOTICES}"
            "#
        );
        std::fs::write(folder.path().join("caudal.toml"), settings).unwrap();
        if let Some(pem) = trusted {
            std::fs::write(folder.path().join(TRUSTED), pem).unwrap();
        }
        let mut site = Self {
            client: Client::new(&url, None),
            bank: client_of_bank(&bank_url),
            admin: Client::new(&admin, None),
            service: None,
            _bank: bank,
            folder,
        };
        site.begin().await;
        let tenant = site.administer("/admin/tenants", json!({"name": "Kills"}));
        let id = tenant.await["id"].as_str().unwrap().to_owned();
        let path = format!("/admin/tenants/{id}/keys");
        let key = site.administer(&path, json!({"mode": "test"})).await;
        site.client.key = Some(key["key"].as_str().unwrap().to_owned());
        site
    }

    async fn administer(&self, path: &str, body: Value) -> Value {
        let call = self.admin.post(path, &body);
        call.header("x-admin-key", ADMIN_KEY).await.is(201).json
    }

    /// Starts the service at its former address.
    pub async fn begin(&mut self) {
        let mut command = caudal();
        let trusted = self.folder.path().join(TRUSTED);
        if trusted.exists() {
            command.env("SSL_CERT_FILE", trusted);
        }
        command
            .args(["serve", "--config"])
            .arg(self.folder.path().join("caudal.toml"))
            .stdout(Stdio::null());
        let mut process = started(&mut command);
        wait_until("the service runs", START, async || {
            let ended = process.0.try_wait().unwrap();
            assert!(ended.is_none(), "it ended instead of starting: {ended:?}");
            let answer = self.client.get("/readyz").answer().await?;
            (answer.status == 200).then_some(())
        })
        .await;
        self.service = Some(process);
    }

    /// Ends the service by a signal.
    pub async fn end(&mut self, name: &str) -> ExitStatus {
        let mut process = self.service.take().unwrap();
        assert!(signal(process.0.id(), name));
        wait_until("the process ends", SOON, async || {
            process.0.try_wait().unwrap()
        })
        .await
    }

    /// Checks that `caudal verify` finds no differences.
    pub fn verify(&self) {
        let data = self.folder.path().join("data");
        let mut verify = caudal();
        let said = verify
            .arg("verify")
            .arg("--data")
            .arg(data)
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&said.stdout);
        assert!(said.status.success(), "{text}");
    }

    /// All transfers in one direction that the bank lists in its own API.
    pub async fn listed(&self, way: &str) -> Vec<Value> {
        let user = json!({"username": USERNAME, "password": PASSWORD});
        let login = self.bank.post("/v1/login/jwt", &user).await.is(200);
        let token = format!("JWT {}", login["token"].as_str().unwrap());
        let path = format!(
            "/v1/banks/322/accounts/{COLLECTOR}/owner/transaction-request-types/TRANSFER-CVU"
        );
        let mut all = Vec::new();
        loop {
            let page = self
                .bank
                .get(&path)
                .header("authorization", &token)
                .header("obp_limit", "200")
                .header("obp_offset", &all.len().to_string())
                .header("obp_origin", way)
                .await
                .is(200);
            let page = page.json.as_array().unwrap().clone();
            let last = page.len() < 200;
            all.extend(page);
            if last {
                return all;
            }
        }
    }
}
