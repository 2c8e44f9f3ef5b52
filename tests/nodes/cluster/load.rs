//! Clients that post to several nodes and retry, each time at the next node.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tokio::task::JoinHandle;

use super::Cluster;
use crate::nodes::account;
use crate::support::client::fresh;
use crate::support::{Client, SOON, wait_until};

/// The results that clients have seen.
pub struct Done {
    /// Vouchers that were acknowledged: account and external id.
    pub acknowledged: BTreeSet<(String, String)>,
    /// Answers other than 201, and connections that broke.
    pub errors: Vec<String>,
}

struct Seen {
    acknowledged: Mutex<BTreeSet<(String, String)>>,
    errors: Mutex<Vec<String>>,
    count: AtomicUsize,
    over: AtomicBool,
    avoided: AtomicUsize,
}

/// Clients that post with idempotency keys and retry, each time at the next node.
pub struct Load {
    seen: Arc<Seen>,
    clients: Vec<JoinHandle<()>>,
}

impl Load {
    /// Starts `count` clients on four new accounts.
    pub async fn begin(nodes: &Cluster, count: usize) -> Self {
        let mut accounts = Vec::new();
        for _ in 0..4 {
            let cvu = account(&nodes.client(0)).await;
            accounts.push((nodes.key.clone(), cvu));
        }
        Self::of(nodes, accounts, count)
    }

    /// Starts `count` clients on these accounts, each given by a key and its CVU.
    pub fn of(nodes: &Cluster, accounts: Vec<(String, String)>, count: usize) -> Self {
        let seen = Arc::new(Seen {
            acknowledged: Mutex::default(),
            errors: Mutex::default(),
            count: AtomicUsize::new(0),
            over: AtomicBool::new(false),
            avoided: AtomicUsize::new(usize::MAX),
        });
        let clients = (0..count).map(|n| {
            let (key, cvu) = accounts[n % accounts.len()].clone();
            let client = Client::new("", Some(&key));
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

    /// Waits until `more` further vouchers are acknowledged.
    pub async fn more(&self, more: usize) {
        let until = self.seen.count.load(Ordering::Acquire) + more;
        wait_until("more is done", SOON, async || {
            (self.seen.count.load(Ordering::Acquire) >= until).then_some(())
        })
        .await;
    }

    /// From now on no client sends a request to this node.
    pub fn avoids(&self, node: usize) {
        self.seen.avoided.store(node, Ordering::Release);
    }

    /// Stops the clients once every request is answered.
    pub async fn end(self) -> Done {
        self.seen.over.store(true, Ordering::Release);
        for client in self.clients {
            let ended = tokio::time::timeout(SOON, client).await;
            ended
                .expect("a request is never answered with 201")
                .unwrap();
        }
        let acknowledged = self.seen.acknowledged.lock().unwrap().clone();
        let errors = self.seen.errors.lock().unwrap().clone();
        Done {
            acknowledged,
            errors,
        }
    }
}

/// Statuses of answers that no retry changes.
const REFUSED: [u16; 4] = [400, 401, 403, 404];

/// Posts one voucher after another.
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
                tokio::task::yield_now().await;
                continue;
            }
            client.url = urls.lock().unwrap()[at].clone();
            let answer = client.voucher(&cvu, "IN", "1.00", &id).key(&id);
            match answer.answer().await {
                Some(answer) if answer.status == 201 => break,
                Some(answer) if REFUSED.contains(&answer.status) => panic!("{}", answer.text),
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
