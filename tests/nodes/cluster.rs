//! Nodes that share a log, in this process, and clients that follow its owner.

mod load;

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use caudal_ledger::tenants::Mode;
use caudal_postgres::server::{Server, cell, shared};
use caudal_service::{CellLog, Service, ServiceOptions};
use serde_json::Value;
use tempfile::TempDir;

use super::{port, types};
use crate::support::bank::{Bank, PATIENT};
use crate::support::service::admin_of;
use crate::support::{Client, SOON, canary, wait_until};

pub use load::{Done, Load};

/// The length of a lease that ends within a test.
pub const SHORT: Duration = Duration::from_secs(5);
/// The length of a lease that does not end within a test, however busy the machine is: nobody can
/// wait for it.
const LONG: Duration = Duration::from_secs(600);
/// The pepper of all nodes.
const PEPPER: &str = "a pepper that all nodes have, of 32 characters or more";

/// What a test sets differently.
type Sets = fn(ServiceOptions) -> ServiceOptions;

/// Nodes that share a log.
pub struct Cluster {
    /// The bank of all of them.
    pub bank: Bank,
    /// A test key.
    pub key: String,
    server: Arc<Server>,
    /// The number of the log in the database.
    cell: u32,
    dir: TempDir,
    nodes: Vec<Option<Service>>,
    ports: Vec<u16>,
    urls: Arc<Mutex<Vec<String>>>,
    lease: Duration,
    sets: Sets,
}

impl Cluster {
    /// Starts `count` nodes, one of which owns the log; `None` if there is no database.
    pub async fn start(count: usize) -> Option<Self> {
        Self::with(count, LONG).await
    }

    /// Starts `count` nodes with leases of this length.
    pub async fn with(count: usize, lease: Duration) -> Option<Self> {
        Self::made(count, lease, |options| options).await
    }

    /// Starts `count` nodes with further settings.
    pub async fn set(count: usize, sets: Sets) -> Option<Self> {
        Self::made(count, LONG, sets).await
    }

    async fn made(count: usize, lease: Duration, sets: Sets) -> Option<Self> {
        let server = shared()?;
        let mut nodes = Self {
            bank: Bank::start(),
            key: String::new(),
            server,
            cell: cell(),
            dir: TempDir::new().unwrap(),
            nodes: Vec::new(),
            ports: (0..count).map(|_| port()).collect(),
            urls: Arc::default(),
            lease,
            sets,
        };
        for n in 0..count {
            nodes.nodes.push(None);
            nodes.urls.lock().unwrap().push(String::new());
            nodes.begin(n);
        }
        let tenant = wait_until("a tenant", SOON, async || {
            let owner = nodes.owner().await;
            let service = nodes.nodes[owner].as_ref().unwrap();
            Some(service.create_tenant("uno").await.ok()?.id)
        })
        .await;
        nodes.key = wait_until("a key", SOON, async || {
            let owner = nodes.owner().await;
            let service = nodes.nodes[owner].as_ref().unwrap();
            service.issue_key(&tenant, Mode::Test).await.ok()
        })
        .await;
        types(&nodes.client(0)).await;
        for n in 0..count {
            nodes.seen(n).await;
        }
        Some(nodes)
    }

    /// Where a node listens, as HOST:PORT.
    pub fn place(&self, n: usize) -> String {
        format!("127.0.0.1:{}", self.ports[n])
    }

    /// The name of a node.
    pub fn name(&self, n: usize) -> String {
        format!("node-{n}")
    }

    /// Starts a node.
    pub fn begin(&mut self, n: usize) {
        let mut log = self.server.settings(self.server.port, self.cell);
        log.limits.patience = Duration::from_secs(10);
        let data = self.dir.path().join(self.name(n));
        let listen = SocketAddr::from(([127, 0, 0, 1], self.ports[n]));
        let options = ServiceOptions {
            listen,
            cell: Some(CellLog {
                log,
                node: self.name(n),
                lease: self.lease,
                url: Some(format!("http://{listen}")),
            }),
            pepper: Some(PEPPER.into()),
            banking: self.bank.banking(PATIENT),
            ..ServiceOptions::for_tests(data)
        };
        let service = Service::start((self.sets)(options)).unwrap();
        self.urls.lock().unwrap()[n].clone_from(&service.url);
        self.nodes[n] = Some(service);
    }

    /// The value of a node's metric.
    pub async fn measured(&self, n: usize, name: &str) -> String {
        let service = self.nodes[n].as_ref().unwrap();
        let text = admin_of(service, "GET", "/metrics", None)
            .await
            .is(200)
            .text;
        let own = text
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        own.expect(name).to_owned()
    }

    /// A client of a node.
    pub fn client(&self, n: usize) -> Client {
        Client::new(&self.urls.lock().unwrap()[n], Some(&self.key))
    }

    /// Has the bank send its notices to a node.
    pub fn bank_tells(&self, n: usize) {
        self.bank.tells(&self.urls.lock().unwrap()[n]);
    }

    /// A client of a node's admin listener.
    pub fn operator(&self, n: usize) -> Client {
        Client::new(&self.nodes[n].as_ref().unwrap().admin_url, None)
    }

    /// The path of a link that logs in to the console of a node once.
    pub fn console_link(&self, n: usize) -> String {
        let service = self.nodes[n].as_ref().unwrap();
        let link = service.console_link().unwrap();
        link.rsplit('=').take(1).for_each(canary::learn);
        link.strip_prefix(&service.admin_url).unwrap().to_owned()
    }

    /// Calls the admin API of a node.
    pub async fn admin(
        &self,
        n: usize,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> (u16, Value) {
        let service = self.nodes[n].as_ref().unwrap();
        let answer = admin_of(service, method, path, body).await;
        (answer.status, answer.json)
    }

    /// The node that serves.
    pub async fn owner(&self) -> usize {
        self.owner_but(usize::MAX).await
    }

    /// The node that serves, once that is another than `not`.
    pub async fn owner_but(&self, not: usize) -> usize {
        wait_until("somebody serves", SOON, async || {
            for n in (0..self.nodes.len()).filter(|n| *n != not) {
                if self.nodes[n].is_some() && self.node(n).await["owns"] == true {
                    return Some(n);
                }
            }
            None
        })
        .await
    }

    /// What a node knows of all of them.
    async fn node(&self, n: usize) -> Value {
        self.admin(n, "GET", "/admin/node", None).await.1
    }

    /// Waits until all running nodes see a node as present.
    pub async fn seen(&self, n: usize) {
        let name = self.name(n);
        wait_until("it is seen", SOON, async || {
            for other in (0..self.nodes.len()).filter(|n| self.nodes[*n].is_some()) {
                let known = self.node(other).await;
                let nodes = known["nodes"].as_array().unwrap();
                nodes
                    .iter()
                    .find(|node| node["name"] == name.as_str() && node["present"] == true)?;
            }
            Some(())
        })
        .await;
    }

    /// Has a ghost take the log by force; it is gone when its lease ends, after `lasts`.
    pub fn usurp(&self, lasts: Duration) {
        let sql = format!(
            "UPDATE caudal_cell SET epoch = epoch + 1, owner = 'a ghost', \
             lease_ms = {}, changes = changes + 1 WHERE cell = {}",
            lasts.as_millis(),
            self.cell
        );
        self.server.sql("postgres", &sql);
    }

    /// Has a node hand the log over as soon as another node is there to take it; returns that
    /// node's name.
    pub async fn hand_over(&self, owner: usize) -> String {
        wait_until("it is handed over", SOON, async || {
            let path = "/admin/node/hand-over";
            let body = serde_json::json!({});
            let given = self.admin(owner, "POST", path, Some(&body)).await.1;
            given["to"].as_str().map(str::to_owned)
        })
        .await
    }

    /// The epoch of the log, as a node knows it.
    pub async fn epoch(&self, n: usize) -> u64 {
        self.node(n).await["epoch"].as_u64().unwrap()
    }

    /// Waits until a node serves in this epoch or a later one; returns that node.
    pub async fn epoch_from(&self, epoch: u64) -> usize {
        wait_until("somebody serves in a new epoch", SOON, async || {
            let n = self.owner().await;
            (self.epoch(n).await >= epoch).then_some(n)
        })
        .await
    }

    /// Ends a node abruptly, as a crash would.
    pub async fn kill(&mut self, n: usize) {
        self.nodes[n].take().unwrap().kill().await;
    }

    /// Stops a node properly.
    pub async fn end(&mut self, n: usize) {
        self.nodes[n].take().unwrap().stop().await.unwrap();
    }

    /// Stops all nodes, the owner last, so that none has to take over.
    pub async fn stop(&mut self) {
        let owner = self.owner().await;
        let others = (0..self.nodes.len()).filter(|n| *n != owner);
        for n in others.chain([owner]) {
            if self.nodes[n].is_some() {
                self.end(n).await;
            }
        }
    }

    /// Checks that the owner shows each acknowledged voucher once, and that all nodes have the same
    /// books.
    pub async fn agree(&self, done: &Done) {
        let sums: BTreeMap<&String, usize> =
            done.acknowledged
                .iter()
                .fold(BTreeMap::new(), |mut sums, (cvu, _)| {
                    *sums.entry(cvu).or_default() += 1;
                    sums
                });
        let owner = self.client(self.owner().await);
        for (cvu, count) in &sums {
            assert_eq!(owner.available(cvu).await, format!("{count}.00"), "{cvu}");
        }
        let mut found = BTreeSet::new();
        for service in self.nodes.iter().flatten() {
            let head = self
                .nodes
                .iter()
                .flatten()
                .map(|it| it.engine.store().applied());
            let head = head.max().unwrap();
            wait_until("it has all", SOON, async || {
                (service.engine.store().applied() >= head).then_some(())
            })
            .await;
            let report = caudal_actors::verify::engine(&service.engine)
                .await
                .unwrap();
            assert_eq!(report.differences, Vec::<String>::new());
            found.insert(report.vouchers);
        }
        assert_eq!(found.len(), 1, "{found:?}");
    }
}
