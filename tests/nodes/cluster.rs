//! Nodes that share cells, in this process, and clients that retry.

mod load;

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use caudal::backup::run::Plan;
use caudal::service::{CellLog, Peers, Service, ServiceOptions};
use caudal_ledger::tenants::Mode;
use caudal_postgres::server::{Server, cells, shared};
use serde_json::Value;
use tempfile::TempDir;

use super::types;
use crate::support::authority::{Authority, files, write};
use crate::support::bank::{Bank, PATIENT};
use crate::support::service::admin_of;
use crate::support::{Client, SOON, wait_until};

pub use load::{Done, Load};

/// The length of a lease that ends within a test.
pub const SHORT: Duration = Duration::from_secs(5);
/// The length of a lease that does not end within a test, however busy the machine is: nobody can
/// wait for it.
const LONG: Duration = Duration::from_secs(600);
/// The secret of the nodes.
pub const SECRET: &str = "a secret of nodes, of 32 characters or more";
/// The pepper of all nodes.
pub const PEPPER: &str = "a pepper that all nodes have";

/// The token that the nodes show each other, made of the pepper and the secret.
pub fn shown() -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, PEPPER.as_bytes());
    let text = format!("caudal nodes {SECRET}");
    URL_SAFE_NO_PAD.encode(hmac::sign(&key, text.as_bytes()))
}

/// Nodes that share a cell, or several.
pub struct Cluster {
    /// The bank of all of them.
    pub bank: Bank,
    /// A test key.
    pub key: String,
    server: Arc<Server>,
    /// The number of the first cell in the database.
    cell: u32,
    cells: u32,
    dir: TempDir,
    nodes: Vec<Option<Service>>,
    urls: Arc<Mutex<Vec<String>>>,
    tenant: String,
    lease: Duration,
    encrypted: bool,
    /// The plan by which the owner of the first cell ships all cells.
    backup: Option<Plan>,
}

impl Cluster {
    /// Starts `count` nodes, one of which owns the cell; `None` if there is no database.
    pub async fn start(count: usize) -> Option<Self> {
        Self::with(count, LONG).await
    }

    /// Starts `count` nodes with leases of this length.
    pub async fn with(count: usize, lease: Duration) -> Option<Self> {
        Self::made((count, 1), lease, (None, None)).await
    }

    /// Starts `count` nodes with `cells` cells, all of which the first node owns.
    pub async fn parted(count: usize, cells: u32) -> Option<Self> {
        Self::made((count, cells), LONG, (None, None)).await
    }

    /// Starts such nodes that also ship their journals.
    pub async fn shipping(count: usize, cells: u32, plan: Plan) -> Option<Self> {
        Self::made((count, cells), LONG, (None, Some(plan))).await
    }

    /// Starts `count` nodes whose connections to each other are encrypted with certificates of this
    /// authority.
    pub async fn encrypted(count: usize, authority: &Authority) -> Option<Self> {
        Self::made((count, 1), LONG, (Some(authority), None)).await
    }

    async fn made(
        (count, many): (usize, u32),
        lease: Duration,
        (authority, backup): (Option<&Authority>, Option<Plan>),
    ) -> Option<Self> {
        let server = shared()?;
        let mut nodes = Self {
            encrypted: authority.is_some(),
            backup,
            bank: Bank::start(),
            key: String::new(),
            server,
            cell: cells(many),
            cells: many,
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

    /// Issues a key of a mode.
    pub async fn issue(&self, owner: usize, mode: Mode) -> String {
        self.issue_to(owner, &self.tenant, mode).await
    }

    /// Issues a key to another tenant.
    pub async fn issue_to(&self, owner: usize, tenant: &str, mode: Mode) -> String {
        let service = self.nodes[owner].as_ref().unwrap();
        service.issue_key(tenant, mode).await.unwrap()
    }

    /// The nodes that run.
    pub fn services(&self) -> impl Iterator<Item = &Service> {
        self.nodes.iter().flatten()
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
            cells: self.cells,
            pepper: Some(PEPPER.into()),
            banking: self.bank.banking(PATIENT),
            backup: self.backup.clone(),
            ..ServiceOptions::for_tests(data)
        };
        let service = Service::start(options).unwrap();
        self.urls.lock().unwrap()[n].clone_from(&service.url);
        self.nodes[n] = Some(service);
    }

    /// The folder with the certificate of a node and those of the authorities that it trusts.
    pub fn certificates(&self, n: usize) -> PathBuf {
        self.dir.path().join(format!("certificates-{n}"))
    }

    /// The address where a node listens to the others.
    pub async fn address(&self, n: usize) -> String {
        let cells = self.admin(n, "GET", "/admin/cells", None).await.1;
        let nodes = cells[0]["nodes"].as_array().unwrap();
        let name = self.name(n);
        let own = nodes.iter().find(|node| node["name"] == *name).unwrap();
        own["address"].as_str().unwrap().to_owned()
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

    /// Waits until a metric of a node meets a condition.
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

    /// Has the bank send its notices to a node.
    pub fn bank_tells(&self, n: usize) {
        self.bank.tells(&self.urls.lock().unwrap()[n]);
    }

    /// A client of a node's admin listener.
    pub fn operator(&self, n: usize) -> Client {
        Client::new(&self.nodes[n].as_ref().unwrap().admin_url, None)
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

    /// The node that serves the first cell.
    pub async fn owner(&self) -> usize {
        self.owner_but(usize::MAX).await
    }

    /// The node that serves the first cell, once that is another than `not`.
    pub async fn owner_but(&self, not: usize) -> usize {
        self.owner_of((0, not)).await
    }

    /// The node that serves a cell.
    pub async fn owner_in(&self, cell: usize) -> usize {
        self.owner_of((cell, usize::MAX)).await
    }

    async fn owner_of(&self, (cell, not): (usize, usize)) -> usize {
        wait_until("somebody serves", SOON, async || {
            for n in (0..self.nodes.len()).filter(|n| *n != not) {
                if self.nodes[n].is_none() {
                    continue;
                }
                let cells = self.admin(n, "GET", "/admin/cells", None).await.1;
                if cells[cell]["owns"] == true {
                    return Some(n);
                }
            }
            None
        })
        .await
    }

    /// Has a cell handed over to a node, and waits until that node serves it.
    pub async fn owns(&self, cell: u32, to: usize) {
        let number = usize::try_from(cell).unwrap();
        wait_until("the node owns the cell", SOON, async || {
            let owner = self.owner_in(number).await;
            if owner == to {
                return Some(());
            }
            let path = format!("/admin/cells/{cell}/hand-over");
            let body = serde_json::json!({"to": self.name(to)});
            self.admin(owner, "POST", &path, Some(&body)).await;
            None
        })
        .await;
    }

    /// Ends the lease of a cell now, whoever holds it.
    pub fn lapses(&self, cell: u32) {
        let sql = format!(
            "UPDATE caudal_cell SET lease_ms = NULL, changes = changes + 1 WHERE cell = {}",
            self.cell + cell
        );
        self.server.sql("postgres", &sql);
    }

    /// Hides the row of a cell's log from all nodes, or shows it again.
    pub fn hides(&self, cell: u32, hidden: bool) {
        let here = i64::from(self.cell + cell);
        let nowhere = -1 - here;
        let (from, to) = match hidden {
            true => (here, nowhere),
            false => (nowhere, here),
        };
        let sql = format!("UPDATE caudal_cell SET cell = {to} WHERE cell = {from}");
        self.server.sql("postgres", &sql);
    }

    /// Waits until all running nodes see a node as present.
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

    /// Has a ghost take the cell by force; it is gone when its lease ends, after `lasts`.
    pub fn usurp(&self, lasts: Duration) {
        let sql = format!(
            "UPDATE caudal_cell SET epoch = epoch + 1, owner = 'a ghost', \
             lease_ms = {}, changes = changes + 1 WHERE cell = {}",
            lasts.as_millis(),
            self.cell
        );
        self.server.sql("postgres", &sql);
    }

    /// Has a node hand the cell over as soon as another node is there to take it; returns that
    /// node's name.
    pub async fn hand_over(&self, owner: usize) -> String {
        wait_until("it is handed over", SOON, async || {
            let path = "/admin/cells/0/hand-over";
            let body = serde_json::json!({});
            let given = self.admin(owner, "POST", path, Some(&body)).await.1;
            given["to"].as_str().map(str::to_owned)
        })
        .await
    }

    /// The epoch of the first cell, as a node knows it.
    pub async fn epoch(&self, n: usize) -> u64 {
        let cells = self.admin(n, "GET", "/admin/cells", None).await.1;
        cells[0]["epoch"].as_u64().unwrap()
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

    /// Checks that every node shows each acknowledged voucher once, and that all have the same
    /// books.
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
