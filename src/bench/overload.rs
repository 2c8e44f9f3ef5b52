//! Twice the load that the service can handle, from clients that disconnect: does it stay consistent, and is it as fast
//! afterwards?
//!
//! **Shape.** First the rate of [`CLOSED`] connections that wait for their answers. Then twice as many requests per
//! second are begun on many connections, whatever happened to the earlier ones; a client without an answer after
//! [`PATIENCE`] closes its connection and opens another. Then the first rate once more.
//!
//! **Checks.** Every answered voucher was posted. Of the vouchers that were posted although their clients had left, how
//! many were decided after that: these are orders executed for nobody. The others had been decided, and their answers
//! were on the way.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::net::SocketAddr;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use caudal::clock;
use caudal_actors::failure::Failure;
use caudal_ledger::rejection::Rejection;
use caudal_ledger::text::ExternalId;
use caudal_ledger::time::Timestamp;
use tokio::sync::oneshot;
use tokio::task::LocalSet;
use tokio::time::Instant;

use super::client::{Connection, Requests};
use super::draw::{BenchOrder, Draw, Mix};
use super::figures::{Thousandths, grouped, mebibytes, nanos, per_second};
use super::load::{self, End, Job, THREAD, Way};
use super::machine;
use super::site::{Layout, Site};
use super::tally::Tally;

/// The number of connections whose rate counts as the service's capacity.
const CLOSED: usize = 256;
/// How long the capacity is measured.
const MEASURE: Duration = Duration::from_secs(3);
/// How long a client waits for its answer before it leaves.
const PATIENCE: Duration = Duration::from_millis(200);
/// The pause between two readings of the memory.
const READING: Duration = Duration::from_millis(500);
/// One in this many orders whose clients left is looked up afterwards.
const LOOKED_UP: u64 = 8;
/// How long the service may take to become idle.
const REST_MAX: Duration = Duration::from_secs(30);

/// The size and duration of the overload.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Accounts.
    pub accounts: u64,
    /// The number of overloading connections.
    pub connections: usize,
    /// The duration of the overload.
    pub time: Duration,
    /// Threads.
    pub layout: Layout,
}

/// The results.
#[derive(Clone, Copy, Debug, Default)]
pub struct Overload {
    /// Vouchers a second before and after.
    rates: (u64, u64),
    /// Requests that were begun per second.
    offered: u64,
    counts: Counts,
    /// Vouchers that were posted during the overload.
    posted: u64,
    /// Of the orders whose clients left: how many were looked up, and how many of these were decided after that.
    late: (u64, u64),
    /// Resident memory before, at most, and at the end, in bytes.
    memory: (u64, u64, u64),
}

/// The outcomes of the requests.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    begun: u64,
    answered: u64,
    refused: u64,
    left: u64,
    /// Broken connections, and answers of any other kind.
    broken: u64,
}

impl Overload {
    /// Whether every answered voucher was posted.
    pub const fn passed(&self) -> bool {
        self.posted >= self.counts.answered
    }
}

impl fmt::Display for Overload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Counts {
            begun,
            answered,
            refused,
            left,
            broken,
        } = self.counts;
        let unheard = self.posted.saturating_sub(answered);
        let (before, most, end) = self.memory;
        writeln!(
            f,
            "twice what the service can do: {} requests/s begun, {} answered before, {} after ({})",
            grouped(self.offered),
            grouped(self.rates.0),
            grouped(self.rates.1),
            Thousandths::ratio(self.rates.1, self.rates.0)
        )?;
        writeln!(
            f,
            "  {} begun: {} posted and answered, {} refused with 503, {} left, {} broken",
            grouped(begun),
            grouped(answered),
            grouped(refused),
            grouped(left),
            grouped(broken)
        )?;
        writeln!(
            f,
            "  {} posted, {} of them for clients that left during their turn ({} of those that left)",
            grouped(self.posted),
            grouped(unheard),
            Thousandths::ratio(unheard, left)
        )?;
        writeln!(
            f,
            "  of {} whose clients had left, {} were decided after that",
            grouped(self.late.0),
            grouped(self.late.1)
        )?;
        writeln!(
            f,
            "  memory {} MiB before, {} at most, {} at the end: {}",
            mebibytes(before),
            mebibytes(most),
            mebibytes(end),
            if self.passed() { "ok" } else { "FAIL" }
        )
    }
}

/// Runs the overload on a new store in a folder.
///
/// # Errors
/// When the service fails.
pub async fn run(folder: &Path, plan: &Plan) -> anyhow::Result<Overload> {
    let site = Site::build(folder, plan.layout, plan.accounts).await?;
    let accounts = usize::try_from(plan.accounts).unwrap_or(usize::MAX);
    let mix = Mix::Spread(accounts);
    let closed = || Job {
        way: Way::Http(site.addr),
        connections: CLOSED,
        mix,
        end: End::After(Duration::from_millis(500), MEASURE),
    };
    let rate = |vouchers| per_second(vouchers, nanos(MEASURE));
    let (before, tally) = load::run(&site, closed(), Tally::new(plan.accounts)).await?;
    at_rest(&site).await;
    let (offered, entries) = (rate(before.vouchers).saturating_mul(2), posted(&site));
    let memory = machine::memory().0;
    super::say(&format!("asking for {offered} vouchers a second"));
    let draw = Draw::new(mix, tally.asked);
    let requests = Arc::clone(&site.requests);
    let Crowded {
        counts,
        most,
        next_id,
        left,
    } = crowd(site.addr, requests, *plan, offered, draw).await?;
    at_rest(&site).await;
    let all_posted = posted(&site).saturating_sub(entries);
    let late = late(&site, &left).await?;
    let tally = Tally {
        asked: next_id,
        ..tally
    };
    let (after, _) = load::run(&site, closed(), tally).await?;
    let end = machine::memory().0;
    let held = site.close().await?;
    drop(held);
    Ok(Overload {
        rates: (rate(before.vouchers), rate(after.vouchers)),
        offered: per_second(counts.begun, nanos(plan.time)),
        counts,
        posted: all_posted,
        late,
        memory: (memory, most, end),
    })
}

fn posted(site: &Site) -> u64 {
    site.engine.stats().entries
}

/// Waits until the store has no more work.
async fn at_rest(site: &Site) {
    let start = Instant::now();
    let mut last = None;
    while start.elapsed() < REST_MAX {
        let now = (posted(site), site.engine.stats().queued);
        if last.replace(now) == Some(now) && now.1 == 0 {
            return;
        }
        tokio::time::sleep(READING).await;
    }
}

/// An order whose client left, and when the connection was closed.
type Left = (BenchOrder, Timestamp);

/// Of orders whose clients left: how many were looked up, and how many of these were decided after that.
async fn late(site: &Site, left: &[Left]) -> anyhow::Result<(u64, u64)> {
    let (mut looked_up, mut late) = (0_u64, 0_u64);
    for (order, closed) in left {
        let id = ExternalId::parse(&order.external_id())?;
        let found = site.engine.voucher_by_external(site.realm, &id, None).await;
        looked_up += 1;
        match found {
            Ok(placed) if placed.voucher.at > *closed => late = late.saturating_add(1),
            Ok(_) | Err(Failure::Rejected(Rejection::VoucherNotFound)) => {}
            Err(why) => return Err(why.into()),
        }
    }
    Ok((looked_up, late))
}

/// The results of the overloading clients.
struct Crowded {
    counts: Counts,
    /// The peak of the memory.
    most: u64,
    /// The next external id.
    next_id: u64,
    left: Vec<Left>,
}

/// Overloads the service from a thread of its own.
async fn crowd(
    to: SocketAddr,
    requests: Arc<Requests>,
    plan: Plan,
    offered: u64,
    draw: Draw,
) -> anyhow::Result<Crowded> {
    let (sender, ended) = oneshot::channel();
    let body = move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        let outcome = runtime.map_err(anyhow::Error::from).map(|runtime| {
            let crowd = Rc::new(Crowd {
                to,
                requests,
                end: Instant::now().checked_add(plan.time),
                counts: Cell::default(),
                draw: RefCell::new(draw),
                left: RefCell::default(),
            });
            let local = LocalSet::new();
            let most = runtime.block_on(local.run_until(crowd.clone().all(plan, offered)));
            Crowded {
                counts: crowd.counts.get(),
                most,
                next_id: crowd.draw.borrow().next_id(),
                left: crowd.left.take(),
            }
        });
        drop(sender.send(outcome));
    };
    std::thread::Builder::new()
        .name(THREAD.to_owned())
        .spawn(body)?;
    ended.await.context("the thread of the load is gone")?
}

struct Crowd {
    to: SocketAddr,
    requests: Arc<Requests>,
    end: Option<Instant>,
    counts: Cell<Counts>,
    draw: RefCell<Draw>,
    left: RefCell<Vec<Left>>,
}

impl Crowd {
    fn is_over(&self) -> bool {
        self.end.is_none_or(|end| Instant::now() >= end)
    }

    fn count(&self, what: impl FnOnce(&mut Counts)) {
        let mut counts = self.counts.get();
        what(&mut counts);
        self.counts.set(counts);
    }

    /// Runs all clients; returns the peak of the memory.
    async fn all(self: Rc<Self>, plan: Plan, offered: u64) -> u64 {
        let connections = u64::try_from(plan.connections.max(1)).unwrap_or(1);
        let pause = super::figures::scaled(connections, 1_000_000_000, offered.max(1));
        let pause = Duration::from_nanos(pause);
        let tasks: Vec<_> = (0..plan.connections)
            .map(|_| tokio::task::spawn_local(Rc::clone(&self).one(pause)))
            .collect();
        let mut most = 0;
        while !self.is_over() {
            most = machine::memory().0.max(most);
            tokio::time::sleep(READING).await;
        }
        for task in tasks {
            task.await.ok();
        }
        most
    }

    async fn one(self: Rc<Self>, pause: Duration) {
        let mut connection = None;
        let mut due = Instant::now();
        while !self.is_over() {
            tokio::time::sleep_until(due).await;
            due = due.checked_add(pause).unwrap_or(due).max(Instant::now());
            let asked = self.draw.borrow_mut().ask();
            self.count(|counts| counts.begun = counts.begun.saturating_add(1));
            let asking = async {
                let open = match connection.take() {
                    Some(open) => open,
                    None => Connection::open(self.to).await?,
                };
                let open = connection.insert(open);
                open.ask(&self.requests, &asked)
                    .await
                    .map(|(status, _)| status)
            };
            let answer = tokio::time::timeout(PATIENCE, asking).await;
            if !matches!(answer, Ok(Ok(201 | 503))) {
                connection = None;
            }
            if answer.is_err() && self.counts.get().left.is_multiple_of(LOOKED_UP) {
                let left = (asked.order, clock::now());
                self.left.borrow_mut().push(left);
            }
            self.count(|counts| {
                let count = match answer {
                    Ok(Ok(201)) => &mut counts.answered,
                    Ok(Ok(503)) => &mut counts.refused,
                    Ok(_) => &mut counts.broken,
                    Err(_) => &mut counts.left,
                };
                *count += 1;
            });
        }
    }
}
