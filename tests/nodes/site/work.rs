//! Clients of a site's tenant that post and repeat, what they know, and how long nothing was acknowledged.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::{LONG, PATIENCE, Site};
use crate::support::client::fresh;
use crate::support::{Client, wait_until};

/// A tenant: its key and its accounts.
#[derive(Clone, Default)]
pub(super) struct Tenant {
    pub(super) key: String,
    pub(super) cvus: Vec<String>,
}

/// What clients know.
#[derive(Default)]
pub(super) struct Known {
    /// The address of each node; empty while clients do not know the node.
    pub(super) urls: Mutex<Vec<String>>,
    /// Each voucher that was acknowledged: its external id, its account and its own id.
    pub(super) done: Mutex<BTreeMap<String, (String, String)>>,
    /// The times of the acknowledgements.
    acknowledged: Mutex<Vec<Instant>>,
    /// The only address that clients know, if there is a balancer.
    balancer: Mutex<Option<String>>,
    refused: AtomicUsize,
    /// What each request that broke off ended with.
    broken: Mutex<Vec<String>>,
    over: AtomicBool,
}

impl Known {
    /// An empty state for so many nodes.
    pub(super) fn of(nodes: usize) -> Self {
        Self {
            urls: Mutex::new(vec![String::new(); nodes]),
            ..Self::default()
        }
    }

    /// The address of a node that clients know, in turns.
    fn next(&self, turn: usize) -> String {
        if let Some(balancer) = self.balancer.lock().unwrap().clone() {
            return balancer;
        }
        let urls = self.urls.lock().unwrap();
        let known: Vec<_> = urls.iter().filter(|url| !url.is_empty()).collect();
        known[turn % known.len()].clone()
    }

    pub(super) fn behind(&self, balancer: &str) {
        *self.balancer.lock().unwrap() = Some(balancer.to_owned());
        self.refused.store(0, Ordering::Release);
        self.broken.lock().unwrap().clear();
    }

    pub(super) fn refused(&self) -> usize {
        self.refused.load(Ordering::Acquire)
    }

    pub(super) fn broken(&self) -> Vec<String> {
        self.broken.lock().unwrap().clone()
    }

    /// How many vouchers were acknowledged.
    fn count(&self) -> usize {
        self.acknowledged.lock().unwrap().len()
    }
}

impl Site {
    /// Starts clients that post at the same time.
    pub(super) fn work(&mut self) {
        self.known.over.store(false, Ordering::Release);
        for worker in 0..self.clients {
            let (known, tenant) = (Arc::clone(&self.known), self.tenant.clone());
            let work = post(known, tenant, worker);
            self.work.push(tokio::task::spawn_local(work));
        }
    }

    /// Stops the clients, and waits until each has its last answer.
    pub(super) async fn rest(&mut self) {
        self.known.over.store(true, Ordering::Release);
        for worker in std::mem::take(&mut self.work) {
            let ended = tokio::time::timeout(LONG, worker).await;
            ended.expect("a client gets its last answer").unwrap();
        }
    }

    /// Waits until `more` further vouchers are acknowledged.
    pub async fn more(&self, more: usize) {
        let until = self.known.count() + more;
        wait_until("more is acknowledged", LONG, async || {
            (self.known.count() >= until).then_some(())
        })
        .await;
    }

    /// Waits until `more` further requests broke off.
    pub async fn breaks(&self, more: usize) {
        let until = self.known.broken().len() + more;
        wait_until("requests break off", LONG, async || {
            (self.known.broken().len() >= until).then_some(())
        })
        .await;
    }

    /// The longest time from `since` on in which nothing was acknowledged.
    pub fn pause(&self, since: Instant) -> Duration {
        let known = self.known.acknowledged.lock().unwrap();
        let mut found: Vec<_> = known.iter().filter(|at| **at > since).collect();
        found.sort_unstable();
        let mut last = &since;
        let mut longest = Duration::ZERO;
        for at in found {
            longest = longest.max(*at - *last);
            last = at;
        }
        longest
    }
}

/// Posts one voucher after another, each until it is acknowledged. That includes the last one: a voucher that is
/// given up could still reach the log while the nodes are being compared.
async fn post(known: Arc<Known>, tenant: Tenant, worker: usize) {
    let mut client = Client::new("", Some(&tenant.key));
    let mut at = worker;
    known.next(at).clone_into(&mut client.url);
    for n in 0_usize.. {
        if known.over.load(Ordering::Acquire) {
            return;
        }
        let id = format!("{worker}-{n}-{}", fresh());
        let cvu = &tenant.cvus[(worker + n) % tenant.cvus.len()];
        let voucher = wait_until("a voucher is acknowledged", LONG, async || {
            let call = client.voucher(cvu, "IN", "1.00", &id).key(&id).raw();
            let answer = call.timeout(PATIENCE).send().await;
            let owner = answer.as_ref().ok().and_then(|it| {
                let owner = it.headers().get("caudal-owner")?;
                Some(owner.to_str().unwrap().to_owned())
            });
            let body = match answer {
                Ok(answer) => {
                    let status = answer.status().as_u16();
                    answer.json::<Value>().await.map(|body| (status, body))
                }
                Err(why) => Err(why),
            };
            let broke = |how: String| known.broken.lock().unwrap().push(how);
            match body {
                Ok((201, body)) => return Some(body["id"].as_str().unwrap().to_owned()),
                Ok((409 | 503, body)) if body["code"] != "outcome_unknown" => {
                    known.refused.fetch_add(1, Ordering::AcqRel);
                }
                // A balancer breaks off with an answer of its own.
                Ok((status @ (409 | 502 | 503 | 504), body)) => broke(format!("{status}: {body}")),
                Err(why) => broke(format!("{why:?}")),
                Ok((status, body)) => panic!("{status}: {body}"),
            }
            at += 1;
            client.url = owner.unwrap_or_else(|| known.next(at));
            None
        })
        .await;
        let mut done = known.done.lock().unwrap();
        done.insert(id, (cvu.clone(), voucher));
        known.acknowledged.lock().unwrap().push(Instant::now());
    }
}
