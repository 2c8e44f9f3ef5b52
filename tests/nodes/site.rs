//! Nodes as processes on one log, clients that retry, and the comparison of what all of them know
//! at the end.

mod compare;
mod work;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use caudal_sandbox as sandbox;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::task::JoinHandle;

use super::{account, port, types};
use crate::support::bank::Bank;
use crate::support::processes::signal;
use crate::support::{Client, canary, wait_until};
use work::{Known, Tenant};

const ADMIN_KEY: &str = "1f6d0c4e8b2a97535c1e60aa7d42f9b8";
pub const NODES: usize = 3;
const LEASE: u64 = 5;
/// How long any step may take: many processes share the machine.
pub const LONG: Duration = Duration::from_secs(120);
/// How long a client waits for one answer before it asks another node.
const PATIENCE: Duration = Duration::from_secs(4);

/// Hosts of nodes that all run on this machine's loopback.
pub fn loopback() -> Vec<Host> {
    let host = |_| Host {
        address: "127.0.0.1".to_owned(),
        enter: Vec::new(),
    };
    (0..NODES).map(host).collect()
}

/// Prints how long nothing was acknowledged, by event.
pub fn tell(pauses: BTreeMap<&str, Vec<Duration>>, counts: &Counts) {
    for (what, mut found) in pauses {
        found.sort_unstable();
        println!(
            "{} {what}: pause median {} ms, worst {} ms",
            found.len(),
            found[found.len() / 2].as_millis(),
            found[found.len() - 1].as_millis()
        );
    }
    let Counts {
        acknowledged,
        lost,
        twice,
        nodes,
    } = counts;
    println!("{acknowledged} acknowledged, {lost} lost, {twice} twice, {nodes} nodes equal");
    assert_eq!((*lost, *twice), (0, 0));
}

/// `caudal serve` as a process.
struct Process {
    child: Child,
    admin: Client,
    log: PathBuf,
}

impl Drop for Process {
    fn drop(&mut self) {
        // If the test went well, the process has ended already.
        self.child.kill().ok();
        self.child.wait().ok();
        if !std::thread::panicking() {
            // Not read as UTF-8: a process that was killed may have ended in the middle of a
            // character.
            let said = fs::read(&self.log).unwrap();
            canary::reads("a node", &String::from_utf8_lossy(&said));
        }
    }
}

/// The place where a node runs: its address, and the words that go before its command.
pub struct Host {
    pub address: String,
    pub enter: Vec<String>,
}

/// Nodes and their clients.
pub struct Site {
    log: String,
    bank: Bank,
    /// Before `dir`: the logs of the processes are in that folder, which must go after them.
    nodes: Vec<Option<Process>>,
    dir: TempDir,
    hosts: Vec<Host>,
    /// The port of each node, which stays the same over its starts.
    ports: Vec<u16>,
    starts: usize,
    clients: usize,
    known: Arc<Known>,
    tenant: Tenant,
    work: Vec<JoinHandle<()>>,
}

/// The results of comparing what clients know with what the nodes have.
pub struct Counts {
    pub acknowledged: usize,
    pub lost: usize,
    pub twice: usize,
    /// How many nodes were compared.
    pub nodes: usize,
}

/// How often a record of a log has an earlier epoch than the one before it.
pub const EPOCHS_BACK: &str = "SELECT count(*) FROM (SELECT epoch, lag(epoch) OVER (PARTITION BY cell ORDER BY \
                               first_commit) AS before FROM caudal_log) AS it WHERE epoch < before";

pub fn number(name: &str, usual: usize) -> usize {
    let set = std::env::var(name).ok();
    set.map_or(usual, |text| text.parse().unwrap())
}

impl Site {
    /// Starts nodes on these hosts, and clients that post until the end.
    pub async fn start(log: String, bank: Bank, hosts: Vec<Host>) -> Self {
        let mut site = Self::empty(log, bank, hosts);
        site.all(NODES).await;
        site
    }

    fn empty(log: String, bank: Bank, hosts: Vec<Host>) -> Self {
        Self {
            log,
            bank,
            dir: TempDir::new().unwrap(),
            nodes: hosts.iter().map(|_| None).collect(),
            ports: hosts.iter().map(|_| port()).collect(),
            hosts,
            starts: 0,
            clients: number("CAUDAL_NODE_CLIENTS", 16),
            known: Arc::new(Known::of(NODES)),
            tenant: Tenant::default(),
            work: Vec::new(),
        }
    }

    /// Starts the first `first` nodes, and clients.
    async fn all(&mut self, first: usize) {
        for n in 0..first {
            self.begin(n).await;
        }
        self.tenant = self.tenant().await;
        self.work();
    }

    /// Creates a tenant, with its types and accounts.
    async fn tenant(&self) -> Tenant {
        let tenant = self.order("/admin/tenants", json!({"name": "uno"})).await;
        let path = format!("/admin/tenants/{}/keys", tenant["id"].as_str().unwrap());
        let key = self.order(&path, json!({"mode": "test"})).await;
        let key = key["key"].as_str().unwrap().to_owned();
        let url = self.known.urls.lock().unwrap()[0].clone();
        let client = Client::new(&url, Some(&key));
        types(&client).await;
        let mut cvus = Vec::new();
        for _ in 0..8 {
            cvus.push(account(&client).await);
        }
        Tenant { key, cvus }
    }

    /// Stops the clients, and compares what they know with what each node has.
    pub async fn end(mut self) -> Counts {
        self.compare().await
    }

    async fn compare(&mut self) -> Counts {
        self.rest().await;
        self.whole().await;
        self.level().await;
        compare::agree(self).await
    }

    /// The nodes that run.
    fn there(&self) -> impl Iterator<Item = usize> {
        (0..self.nodes.len()).filter(|n| self.nodes[*n].is_some())
    }

    /// Has a node leave: clients stop using it, and then it is told to stop.
    pub async fn leave(&mut self, n: usize) {
        self.known.urls.lock().unwrap()[n].clear();
        self.stop(n).await;
    }

    /// Tells a node to stop, and waits until it has stopped.
    async fn stop(&mut self, n: usize) {
        self.signal(n, "TERM");
        let mut process = self.nodes[n].take().unwrap();
        let ended = wait_until("it stops", LONG, async || process.child.try_wait().unwrap());
        assert_eq!(ended.await.code(), Some(0));
    }

    /// Has the owner hand the log over to a node, or to any other, and waits until that one serves.
    pub async fn hand_over(&self, to: Option<usize>) {
        let before = wait_until("it is handed over", LONG, async || {
            let owner = self.owner_but(usize::MAX).await;
            let before = self.node(owner).await?["epoch"].as_u64()?;
            let to = to.map(|n| format!("node-{n}"));
            let path = "/admin/node/hand-over";
            let given = self.ask(owner, "POST", path, Some(json!({"to": to})));
            given.await?["to"].is_string().then_some(before)
        })
        .await;
        wait_until("somebody serves in a new epoch", LONG, async || {
            let owner = self.owner_but(usize::MAX).await;
            let shown = self.node(owner).await?;
            (shown["owns"] == true && shown["epoch"].as_u64()? > before).then_some(())
        })
        .await;
    }

    /// Where a node listens, as HOST:PORT.
    pub fn place(&self, n: usize) -> String {
        format!("{}:{}", self.hosts[n].address, self.ports[n])
    }

    /// From now on so many clients know nothing but this address.
    pub async fn behind(&mut self, url: &str, clients: usize) {
        self.rest().await;
        self.known.behind(url);
        self.clients = clients;
        self.work();
    }

    /// How many requests were refused with 503 and repeated since the balancer is there.
    pub fn refused(&self) -> usize {
        self.known.refused()
    }

    /// What each request that broke off since then ended with.
    pub fn broken(&self) -> Vec<String> {
        self.known.broken()
    }

    /// Kills a node.
    pub fn kill(&mut self, n: usize) {
        let mut process = self.nodes[n].take().unwrap();
        process.child.kill().unwrap();
        process.child.wait().unwrap();
    }

    fn settings(&self, n: usize) -> PathBuf {
        let file = self.dir.path().join(format!("node-{n}.toml"));
        let host = &self.hosts[n].address;
        let listen = format!("{host}:{}", self.ports[n]);
        let cell = format!(
            "[cell]\nlog = \"{log}\"\nnode = \"node-{n}\"\n\
             lease_seconds = {LEASE}\npublic_url = \"http://{listen}\"\n",
            log = self.log,
        );
        let text = format!(
            "data = \"{data}\"\nlisten = \"{listen}\"\nadmin_listen = \"{host}:0\"\nadmin_key = \"{ADMIN_KEY}\"\n\
             pepper = \"7d42f9b81f6d0c4e8b2a97535c1e60aa\"\nworkers = 1\nbank_catch_up_seconds = 0\ntreasury_check_seconds = 0\n\
             {cell}[bank.test]\nbase_url = \"{bank}\"\nusername = \"{user}\"\npassword = \"{password}\"\n\
             collector = \"{collector}\"\nplain_http = true\n",
            data = self.dir.path().join(format!("node-{n}")).display(),
            bank = self.bank.client().url,
            user = sandbox::USERNAME,
            password = sandbox::PASSWORD,
            collector = sandbox::COLLECTOR,
        );
        fs::write(&file, text).unwrap();
        file
    }

    pub async fn begin(&mut self, n: usize) {
        self.starts += 1;
        let log = self.dir.path().join(format!("{n}-{}.log", self.starts));
        let program = env!("CARGO_BIN_EXE_caudal").to_owned();
        let words = [self.hosts[n].enter.clone(), vec![program]].concat();
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]);
        // The variables of the tests are no settings of the service.
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("CAUDAL_")) {
            command.env_remove(name);
        }
        let child = command
            .args(["serve", "--config"])
            .arg(self.settings(n))
            .stdout(Stdio::null())
            .stderr(File::create(&log).unwrap())
            .spawn()
            .unwrap();
        let mut process = Process {
            child,
            admin: Client::new("", None),
            log: log.clone(),
        };
        let said = wait_until("it takes requests", LONG, async || {
            let ended = process.child.try_wait().unwrap();
            let text = fs::read_to_string(&log).unwrap();
            assert!(ended.is_none(), "it ended instead of starting: {text}");
            let line = text.lines().find(|line| line.contains("takes requests"))?;
            serde_json::from_str::<Value>(line).ok()
        })
        .await;
        let field = |name: &str| {
            let fields = said.get("fields").unwrap_or(&said);
            fields[name].as_str().unwrap().to_owned()
        };
        process.admin = Client::new(&field("admin"), None);
        self.known.urls.lock().unwrap()[n] = field("url");
        self.nodes[n] = Some(process);
    }

    pub fn signal(&self, n: usize, name: &str) {
        let id = self.nodes[n].as_ref().unwrap().child.id();
        assert!(signal(id, name));
    }

    pub async fn ask(
        &self,
        n: usize,
        method: &str,
        path: &str,
        body: Option<Value>,
    ) -> Option<Value> {
        let process = self.nodes[n].as_ref()?;
        let mut call = process.admin.call(method, path);
        if let Some(body) = body {
            call = call.json(&body);
        }
        let call = call.header("x-admin-key", ADMIN_KEY).raw();
        let answer = call.timeout(PATIENCE).send().await.ok()?;
        let status = answer.status().as_u16();
        let text = answer.text().await.ok()?;
        assert!(status < 300 || status == 503, "{status}: {text}");
        serde_json::from_str(&text).ok().filter(|_| status < 300)
    }

    /// Orders something of the owner, retrying until it succeeds.
    async fn order(&self, path: &str, body: Value) -> Value {
        wait_until(path, LONG, async || {
            let owner = self.owner_but(usize::MAX).await;
            self.ask(owner, "POST", path, Some(body.clone())).await
        })
        .await
    }

    /// What a node knows of all of them.
    async fn node(&self, n: usize) -> Option<Value> {
        self.ask(n, "GET", "/admin/node", None).await
    }

    /// The node that serves, once that is another than `not`.
    pub async fn owner_but(&self, not: usize) -> usize {
        wait_until("somebody serves", LONG, async || {
            for n in self.there().filter(|n| *n != not) {
                if self
                    .node(n)
                    .await
                    .is_some_and(|shown| shown["owns"] == true)
                {
                    return Some(n);
                }
            }
            None
        })
        .await
    }

    /// Waits until all nodes follow to the end of the log and see each other.
    pub async fn whole(&self) {
        wait_until("all nodes are there", LONG, async || {
            let shown = self.node(self.there().next()?).await?;
            let nodes = shown["nodes"].as_array()?.iter();
            let there = nodes.filter(|node| node["present"] == true);
            let all = there.count() == self.there().count();
            (all && shown["owner"].is_string()).then_some(())
        })
        .await;
    }

    /// The journal, as a node shows it.
    async fn journal(&self, n: usize) -> Option<Value> {
        self.ask(n, "GET", "/admin/journal", None).await
    }

    /// Waits until every node has the whole journal, while nobody writes.
    async fn level(&self) {
        wait_until("no node lacks anything", LONG, async || {
            let mut ends = BTreeSet::new();
            for n in self.there() {
                ends.insert(self.journal(n).await?["lastCommit"].as_u64()?);
            }
            (ends.len() == 1).then_some(())
        })
        .await;
    }
}
