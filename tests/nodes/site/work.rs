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
    broken: AtomicUsize,
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
        self.broken.store(0, Ordering::Release);
    }

    pub(super) fn refusals(&self) -> (usize, usize) {
        let of = |count: &AtomicUsize| count.load(Ordering::Acquire);
        (of(&self.refused), of(&self.broken))
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
        let until = self.known.refusals().1 + more;
        wait_until("requests break off", LONG, async || {
            (self.known.refusals().1 >= until).then_some(())
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
            let answer = call.timeout(PATIENCE).send().await.ok();
            let owner = answer.as_ref().and_then(|it| {
                let owner = it.headers().get("caudal-owner")?;
                Some(owner.to_str().unwrap().to_owned())
            });
            let body = match answer {
                Some(answer) => {
                    let status = answer.status().as_u16();
                    answer.json::<Value>().await.ok().map(|body| (status, body))
                }
                None => None,
            };
            match body {
                Some((201, body)) => return Some(body["id"].as_str().unwrap().to_owned()),
                Some((409 | 503, body)) if body["code"] != "outcome_unknown" => {
                    known.refused.fetch_add(1, Ordering::AcqRel);
                }
                // A balancer breaks off with an answer of its own.
                Some((409 | 502 | 503 | 504, _)) | None => {
                    known.broken.fetch_add(1, Ordering::AcqRel);
                }
                Some((status, body)) => panic!("{status}: {body}"),
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
