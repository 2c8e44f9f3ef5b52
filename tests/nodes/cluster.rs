//! Nodes of one cell in this process, and clients that try again.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use caudal::service::{CellLog, Peers, Service, ServiceOptions, TEST_ADMIN_KEY};
use caudal_ledger::tenants::Mode;
use caudal_postgres::server::{Server, cell, shared};
use serde_json::Value;
use tempfile::TempDir;
use tokio::task::JoinHandle;

use super::{account, types};
use crate::support::authority::{Authority, files, write};
use crate::support::bank::{Bank, PATIENT};
use crate::support::client::fresh;
use crate::support::{Client, SOON, wait_until};

/// A lease that ends within a test.
pub const SHORT: Duration = Duration::from_secs(5);
/// One that does not, however busy the machine is: nobody can wait for its end.
const LONG: Duration = Duration::from_secs(600);
/// What nodes show each other.
pub const SECRET: &str = "a secret of nodes, of 32 characters or more";

/// Nodes of one cell.
pub struct Cluster {
    /// The bank of all of them.
    pub bank: Bank,
    /// A test key.
    pub key: String,
    server: Arc<Server>,
    cell: u32,
    dir: TempDir,
    nodes: Vec<Option<Service>>,
    urls: Arc<Mutex<Vec<String>>>,
    tenant: String,
    lease: Duration,
    encrypted: bool,
}

impl Cluster {
    /// So many nodes, of which one owns the cell; nothing where there is no database.
    pub async fn start(count: usize) -> Option<Self> {
        Self::with(count, LONG).await
    }

    /// The same with leases of this length.
    pub async fn with(count: usize, lease: Duration) -> Option<Self> {
        Self::made(count, lease, None).await
    }

    /// The same with connections between nodes that are encrypted, by certificates of an authority.
    pub async fn encrypted(count: usize, authority: &Authority) -> Option<Self> {
        Self::made(count, LONG, Some(authority)).await
    }

    async fn made(count: usize, lease: Duration, authority: Option<&Authority>) -> Option<Self> {
        let server = shared()?;
        let mut nodes = Self {
            encrypted: authority.is_some(),
            bank: Bank::start(),
            key: String::new(),
            server,
            cell: cell(),
            dir: TempDir::new().unwrap(),
            nodes: Vec::new(),
            urls: Arc::default(),
            tenant: String::new(),
            lease,
        };
        for n in 0..count {
            nodes.nodes.push(None);
            nodes.urls.lock().unwrap().push(String::new());
            if let Some(authority) = authority {
                write(&nodes.certificates(n), &authority.signs(), &[authority]);
            }
            nodes.begin(n);
        }
        nodes.tenant = wait_until("a tenant", SOON, async || {
            let owner = nodes.owner().await;
            let service = nodes.nodes[owner].as_ref().unwrap();
            Some(service.create_tenant("uno").await.ok()?.id)
        })
        .await;
        nodes.key = wait_until("a key", SOON, async || {
            let owner = nodes.owner().await;
            let service = nodes.nodes[owner].as_ref().unwrap();
            service.issue_key(&nodes.tenant, Mode::Test).await.ok()
        })
        .await;
        types(&nodes.client(0)).await;
        for n in 0..count {
            nodes.seen(n).await;
        }
        Some(nodes)
    }

    /// A key of a mode.
    pub async fn issue(&self, owner: usize, mode: Mode) -> String {
        let service = self.nodes[owner].as_ref().unwrap();
        service.issue_key(&self.tenant, mode).await.unwrap()
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
        let options = ServiceOptions {
            cell: Some(CellLog {
                log,
                node: self.name(n),
                lease: self.lease,
                peers: Some(Peers {
                    listen: SocketAddr::from(([127, 0, 0, 1], 0)),
                    address: None,
                    secret: SECRET.into(),
                    tls: self.encrypted.then(|| files(&self.certificates(n))),
                }),
            }),
            pepper: Some("a pepper that all nodes have".into()),
            banking: self.bank.banking(PATIENT),
            ..ServiceOptions::for_tests(data)
        };
        let service = Service::start(options).unwrap();
        self.urls.lock().unwrap()[n].clone_from(&service.url);
        self.nodes[n] = Some(service);
    }

    /// Where the certificate of a node is, with those of the authorities that it knows.
    pub fn certificates(&self, n: usize) -> PathBuf {
        self.dir.path().join(format!("certificates-{n}"))
    }

    /// Where a node listens to the others.
    pub async fn address(&self, n: usize) -> String {
        let cells = self.admin(n, "GET", "/admin/cells", None).await.1;
        let nodes = cells[0]["nodes"].as_array().unwrap();
        let name = self.name(n);
        let own = nodes.iter().find(|node| node["name"] == *name).unwrap();
        own["address"].as_str().unwrap().to_owned()
    }

    /// A figure of a node.
    pub async fn measured(&self, n: usize, name: &str) -> String {
        let service = self.nodes[n].as_ref().unwrap();
        let client = Client::new(&service.admin_url, None);
        let all = client.get("/metrics").header("x-admin-key", TEST_ADMIN_KEY);
        let text = all.await.is(200).text;
        let own = text
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        own.expect(name).to_owned()
    }

    /// Waits until a figure of a node is such.
    pub async fn measures(&self, n: usize, name: &str, is: impl Fn(&str) -> bool) {
        wait_until(name, SOON, async || {
            is(&self.measured(n, name).await).then_some(())
        })
        .await;
    }

    /// A client of a node.
    pub fn client(&self, n: usize) -> Client {
        Client::new(&self.urls.lock().unwrap()[n], Some(&self.key))
    }

    /// Has the bank tell a node what happens.
    pub fn bank_tells(&self, n: usize) {
        self.bank.tells(&self.urls.lock().unwrap()[n]);
    }

    /// Asks the admin API of a node.
    pub async fn admin(
        &self,
        n: usize,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> (u16, Value) {
        let service = self.nodes[n].as_ref().unwrap();
        let client = Client::new(&service.admin_url, None);
        let mut call = client.call(method, path);
        if let Some(body) = body {
            call = call.json(body);
        }
        let answer = call.header("x-admin-key", TEST_ADMIN_KEY).await;
        (answer.status, answer.json)
    }

    /// Which node serves.
    pub async fn owner(&self) -> usize {
        self.owner_but(usize::MAX).await
    }

    /// Which node serves, when it is another than this.
    pub async fn owner_but(&self, not: usize) -> usize {
        wait_until("somebody serves", SOON, async || {
            for n in (0..self.nodes.len()).filter(|n| *n != not) {
                if self.nodes[n].is_none() {
                    continue;
                }
                let cells = self.admin(n, "GET", "/admin/cells", None).await.1;
                if cells[0]["owns"] == true {
                    return Some(n);
                }
            }
            None
        })
        .await
    }

    /// Waits until all nodes know of a node.
    pub async fn seen(&self, n: usize) {
        let name = self.name(n);
        wait_until("it is seen", SOON, async || {
            for other in (0..self.nodes.len()).filter(|n| self.nodes[*n].is_some()) {
                let cells = self.admin(other, "GET", "/admin/cells", None).await.1;
                let nodes = cells[0]["nodes"].as_array().unwrap();
                nodes
                    .iter()
                    .find(|node| node["name"] == name.as_str() && node["present"] == true)?;
            }
            Some(())
        })
        .await;
    }

    /// Another node takes the cell by force, and is gone when its lease ends.
    pub fn usurp(&self, lasts: Duration) {
        let sql = format!(
            "UPDATE caudal_cell SET epoch = epoch + 1, owner = 'a ghost', \
             lease_until = now() + {} * INTERVAL '1 millisecond' WHERE cell = {}",
            lasts.as_millis(),
            self.cell
        );
        self.server.sql("postgres", &sql);
    }

    /// Has a node give the cell to another, as soon as one is there to take it; gives its name.
    pub async fn hand_over(&self, owner: usize) -> String {
        wait_until("it is handed over", SOON, async || {
            let path = "/admin/cells/0/hand-over";
            let body = serde_json::json!({});
            let given = self.admin(owner, "POST", path, Some(&body)).await.1;
            given["to"].as_str().map(str::to_owned)
        })
        .await
    }

    /// The epoch of the cell, as a node knows it.
    pub async fn epoch(&self, n: usize) -> u64 {
        let cells = self.admin(n, "GET", "/admin/cells", None).await.1;
        cells[0]["epoch"].as_u64().unwrap()
    }

    /// Waits until a node serves in this epoch or a later one; which one.
    pub async fn epoch_from(&self, epoch: u64) -> usize {
        wait_until("somebody serves in a new epoch", SOON, async || {
            let n = self.owner().await;
            (self.epoch(n).await >= epoch).then_some(n)
        })
        .await
    }

    /// Ends a node as a crash would.
    pub async fn kill(&mut self, n: usize) {
        self.nodes[n].take().unwrap().kill().await;
    }

    /// Ends a node as it should end.
    pub async fn end(&mut self, n: usize) {
        self.nodes[n].take().unwrap().stop().await.unwrap();
    }

    /// Ends all of them, the owner last: nobody has to take over.
    pub async fn stop(&mut self) {
        let owner = self.owner().await;
        let others = (0..self.nodes.len()).filter(|n| *n != owner);
        for n in others.chain([owner]) {
            if self.nodes[n].is_some() {
                self.end(n).await;
            }
        }
    }

    /// Every node shows what was acknowledged, once, and the same books.
    pub async fn agree(&self, done: &Done) {
        let sums: BTreeMap<&String, usize> =
            done.acknowledged
                .iter()
                .fold(BTreeMap::new(), |mut sums, (cvu, _)| {
                    *sums.entry(cvu).or_default() += 1;
                    sums
                });
        for n in (0..self.nodes.len()).filter(|n| self.nodes[*n].is_some()) {
            for (cvu, count) in &sums {
                assert_eq!(
                    self.client(n).available(cvu).await,
                    format!("{count}.00"),
                    "{cvu} at {n}"
                );
            }
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

/// What clients have seen.
pub struct Done {
    /// Vouchers that were acknowledged: account and external id.
    pub acknowledged: BTreeSet<(String, String)>,
    /// What was answered and was no 201, and connections that broke.
    pub errors: Vec<String>,
}

struct Seen {
    acknowledged: Mutex<BTreeSet<(String, String)>>,
    errors: Mutex<Vec<String>>,
    count: AtomicUsize,
    over: AtomicBool,
    avoided: AtomicUsize,
}

/// Clients that post with idempotency keys and try again, each time at the next node.
pub struct Load {
    seen: Arc<Seen>,
    clients: Vec<JoinHandle<()>>,
}

impl Load {
    /// So many clients.
    pub async fn begin(nodes: &Cluster, count: usize) -> Self {
        let seen = Arc::new(Seen {
            acknowledged: Mutex::default(),
            errors: Mutex::default(),
            count: AtomicUsize::new(0),
            over: AtomicBool::new(false),
            avoided: AtomicUsize::new(usize::MAX),
        });
        let mut cvus = Vec::new();
        for _ in 0..4 {
            cvus.push(account(&nodes.client(0)).await);
        }
        let clients = (0..count).map(|n| {
            let cvu = cvus[n % cvus.len()].clone();
            let client = Client::new("", Some(&nodes.key));
            tokio::spawn(post(
                Arc::clone(&seen),
                Arc::clone(&nodes.urls),
                client,
                (cvu, n),
            ))
        });
        Self {
            clients: clients.collect(),
            seen,
        }
    }

    /// Waits for so many more.
    pub async fn more(&self, more: usize) {
        let until = self.seen.count.load(Ordering::Acquire) + more;
        wait_until("more is done", SOON, async || {
            (self.seen.count.load(Ordering::Acquire) >= until).then_some(())
        })
        .await;
    }

    /// From now on a node gets no new request.
    pub fn avoids(&self, node: usize) {
        self.seen.avoided.store(node, Ordering::Release);
    }

    /// Ends when every request is answered.
    pub async fn end(self) -> Done {
        self.seen.over.store(true, Ordering::Release);
        for client in self.clients {
            client.await.unwrap();
        }
        let acknowledged = self.seen.acknowledged.lock().unwrap().clone();
        let errors = self.seen.errors.lock().unwrap().clone();
        Done {
            acknowledged,
            errors,
        }
    }
}

/// Posts one voucher after the other.
async fn post(
    seen: Arc<Seen>,
    urls: Arc<Mutex<Vec<String>>>,
    mut client: Client,
    (cvu, mut at): (String, usize),
) {
    let count = urls.lock().unwrap().len();
    while !seen.over.load(Ordering::Acquire) {
        let id = format!("load-{}", fresh());
        loop {
            at = (at + 1) % count;
            if at == seen.avoided.load(Ordering::Acquire) {
                continue;
            }
            client.url = urls.lock().unwrap()[at].clone();
            let answer = client.voucher(&cvu, "IN", "1.00", &id).key(&id);
            match answer.answer().await {
                Some(answer) if answer.status == 201 => break,
                Some(answer) => seen.errors.lock().unwrap().push(answer.text),
                None => seen
                    .errors
                    .lock()
                    .unwrap()
                    .push(format!("node {at} broke off")),
            }
        }
        let mut done = seen.acknowledged.lock().unwrap();
        done.insert((cvu.clone(), id));
        seen.count.fetch_add(1, Ordering::AcqRel);
    }
}
