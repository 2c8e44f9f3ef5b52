//! Clients that post and repeat what was refused, at the node that the refusal names.

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
    /// Answers other than 201 and `not_owner`, and connections that broke.
    pub errors: Vec<String>,
}

struct Seen {
    acknowledged: Mutex<BTreeSet<(String, String)>>,
    errors: Mutex<Vec<String>>,
    count: AtomicUsize,
    over: AtomicBool,
}

/// Clients that post with idempotency keys and follow the owner.
pub struct Load {
    seen: Arc<Seen>,
    clients: Vec<JoinHandle<()>>,
}

impl Load {
    /// Starts `count` clients on four new accounts.
    pub async fn begin(nodes: &Cluster, count: usize) -> Self {
        let mut accounts = Vec::new();
        for _ in 0..4 {
            accounts.push(account(&nodes.client(0)).await);
        }
        let seen = Arc::new(Seen {
            acknowledged: Mutex::default(),
            errors: Mutex::default(),
            count: AtomicUsize::new(0),
            over: AtomicBool::new(false),
        });
        let clients = (0..count).map(|n| {
            let cvu = accounts[n % accounts.len()].clone();
            let client = Client::new("", Some(&nodes.key));
            tokio::task::spawn_local(post(
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
    let all = urls.lock().unwrap().clone();
    let next = |at: &mut usize| {
        *at += 1;
        all[*at % all.len()].clone()
    };
    client.url = next(&mut at);
    while !seen.over.load(Ordering::Acquire) {
        let id = format!("load-{}", fresh());
        wait_until("a voucher is acknowledged", SOON, async || {
            let call = client.voucher(&cvu, "IN", "1.00", &id).key(&id);
            match call.answer().await {
                Some(answer) if answer.status == 201 => return Some(()),
                Some(answer) if REFUSED.contains(&answer.status) => panic!("{}", answer.text),
                Some(answer) if answer.json["code"] == "not_owner" => {
                    let owner = answer.headers.get("caudal-owner");
                    let owner = owner.map(|owner| owner.to_str().unwrap().to_owned());
                    client.url = owner.unwrap_or_else(|| next(&mut at));
                }
                Some(answer) => seen.errors.lock().unwrap().push(answer.text),
                None => {
                    let broke = format!("{} broke off", client.url);
                    seen.errors.lock().unwrap().push(broke);
                    client.url = next(&mut at);
                }
            }
            None
        })
        .await;
        let mut done = seen.acknowledged.lock().unwrap();
        done.insert((cvu.clone(), id));
        seen.count.fetch_add(1, Ordering::AcqRel);
    }
}
