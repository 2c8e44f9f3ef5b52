//! Clients of a site's tenants that post and retry, what they know, and how long nothing was acknowledged.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::{LONG, PATIENCE, Site, number};
use crate::support::client::fresh;
use crate::support::{Client, wait_until};

/// A tenant whose realm lies in the cell of the same number.
#[derive(Clone)]
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
    /// The times of the acknowledgements, in each cell.
    acknowledged: Mutex<Vec<Vec<Instant>>>,
    over: AtomicBool,
}

impl Known {
    /// An empty state for so many nodes and cells.
    pub(super) fn of(nodes: usize, cells: usize) -> Self {
        Self {
            urls: Mutex::new(vec![String::new(); nodes]),
            acknowledged: Mutex::new(vec![Vec::new(); cells]),
            ..Self::default()
        }
    }

    /// The address of a node that clients know, in turns.
    fn next(&self, turn: usize) -> String {
        let urls = self.urls.lock().unwrap();
        let known: Vec<_> = urls.iter().filter(|url| !url.is_empty()).collect();
        known[turn % known.len()].clone()
    }

    /// How many vouchers were acknowledged in these cells.
    fn count(&self, cells: &[usize]) -> usize {
        let known = self.acknowledged.lock().unwrap();
        cells.iter().map(|cell| known[*cell].len()).sum()
    }
}

impl Site {
    /// Starts clients that post for all tenants at the same time.
    pub(super) fn work(&mut self) {
        self.known.over.store(false, Ordering::Release);
        for worker in 0..number("CAUDAL_NODE_CLIENTS", 16) {
            let cell = worker % self.tenants.len();
            let (known, tenant) = (Arc::clone(&self.known), self.tenants[cell].clone());
            let work = post(known, tenant, (cell, worker));
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
        self.more_in(&self.all_cells(), more).await;
    }

    /// Waits until the tenants of these cells have `more` further vouchers acknowledged.
    pub async fn more_in(&self, cells: &[usize], more: usize) {
        let until = self.known.count(cells) + more;
        wait_until("more is acknowledged", LONG, async || {
            (self.known.count(cells) >= until).then_some(())
        })
        .await;
    }

    /// The longest time from `since` on in which nothing was acknowledged.
    pub fn pause(&self, since: Instant) -> Duration {
        self.pause_in(&self.all_cells(), since)
    }

    /// The longest time from `since` on in which the tenants of these cells had nothing acknowledged.
    pub fn pause_in(&self, cells: &[usize], since: Instant) -> Duration {
        let known = self.known.acknowledged.lock().unwrap();
        let found = cells.iter().flat_map(|cell| &known[*cell]);
        let mut found: Vec<_> = found.filter(|at| **at > since).collect();
        found.sort_unstable();
        let mut last = &since;
        let mut longest = Duration::ZERO;
        for at in found {
            longest = longest.max(*at - *last);
            last = at;
        }
        longest
    }

    fn all_cells(&self) -> Vec<usize> {
        (0..self.cells).collect()
    }
}

/// Posts one voucher after another, each until it is acknowledged. That includes the last one: a voucher that is
/// given up could still reach the log while the nodes are being compared.
async fn post(known: Arc<Known>, tenant: Tenant, (cell, worker): (usize, usize)) {
    let mut client = Client::new("", Some(&tenant.key));
    let mut at = worker;
    for n in 0_usize.. {
        if known.over.load(Ordering::Acquire) {
            return;
        }
        let id = format!("{worker}-{n}-{}", fresh());
        let cvu = &tenant.cvus[(worker + n) % tenant.cvus.len()];
        let voucher = wait_until("a voucher is acknowledged", LONG, async || {
            at += 1;
            known.next(at).clone_into(&mut client.url);
            let call = client.voucher(cvu, "IN", "1.00", &id).key(&id).raw();
            let answer = call.timeout(PATIENCE).send().await.ok()?;
            let status = answer.status().as_u16();
            let body: Value = answer.json().await.ok()?;
            match status {
                201 => Some(body["id"].as_str().unwrap().to_owned()),
                409 | 503 => None,
                _ => panic!("{status}: {body}"),
            }
        })
        .await;
        let mut done = known.done.lock().unwrap();
        done.insert(id, (cvu.clone(), voucher));
        known.acknowledged.lock().unwrap()[cell].push(Instant::now());
    }
}
