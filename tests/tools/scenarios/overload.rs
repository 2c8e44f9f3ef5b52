//! Twice the load that the service can handle, from clients that disconnect: does it stay consistent, and is it as fast
//! afterwards?
//!
//! **Shape.** First the rate of [`CLOSED`] connections that wait for their answers. Then twice as many requests per
//! second are begun on many connections, whatever happened to the earlier ones; a client without an answer after
//! [`PATIENCE`] closes its connection and opens another. Then the first rate once more.
//!
//! **Checks.** Every answered voucher was posted, which the runner compares. Of the orders whose clients had left, some
//! are looked up: those decided after that were executed for nobody.

use std::cell::{Cell, RefCell};
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use caudal_actors::failure::Failure;
use caudal_bench::client::Connection;
use caudal_bench::draw::{BenchOrder, Draw, Mix};
use caudal_bench::figures::{Thousandths, grouped, per_second, scaled};
use caudal_bench::load::{self, End, Job};
use caudal_bench::tally::Tally;
use caudal_bench::{machine, say};
use caudal_http::clock;
use caudal_ledger::rejection::Rejection;
use caudal_ledger::text::ExternalId;
use caudal_ledger::time::Timestamp;
use tokio::time::Instant;

use crate::report::{Report, Unit};
use crate::runner::{Reopened, Scenario, SetUp, Stage};

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

/// Send twice the load that the service can take
///
/// Raise the limit of open files first (`ulimit -n 20000`).
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Args {
    /// How long
    #[arg(long, default_value_t = 40)]
    seconds: u64,
    /// Accounts
    #[arg(long, default_value_t = 10_000)]
    accounts: u64,
    /// Connections; below the limit of the service, so that a client that reconnects finds a free place
    #[arg(long, default_value_t = 3500)]
    connections: usize,
}

/// The outcomes of the requests.
#[derive(Clone, Copy, Default)]
struct Counts {
    begun: u64,
    answered: u64,
    refused: u64,
    left: u64,
    /// Broken connections, and answers of any other kind.
    broken: u64,
}

/// An order whose client left, and when the connection was closed.
type Left = (BenchOrder, Timestamp);

/// Clients that send at a rate of their own, and leave when they have waited.
struct Flood {
    job: Job,
    /// The pause between two requests of a client.
    pause: Duration,
    until: Instant,
    counts: Cell<Counts>,
    draw: RefCell<Draw>,
    tally: RefCell<Tally>,
    left: RefCell<Vec<Left>>,
}

/// What the clients leave.
struct Gone {
    counts: Counts,
    /// The peak of the memory.
    memory: u64,
    tally: Tally,
    left: Vec<Left>,
}

impl Flood {
    fn is_over(&self) -> bool {
        Instant::now() >= self.until
    }

    /// Runs all clients.
    async fn all(self) -> anyhow::Result<Gone> {
        let flood = Rc::new(self);
        let clients = 0..flood.job.connections;
        let tasks: Vec<_> = clients
            .map(|_| tokio::task::spawn_local(Rc::clone(&flood).one()))
            .collect();
        let mut memory = 0;
        while !flood.is_over() {
            memory = machine::memory().max(memory);
            tokio::time::sleep(READING).await;
        }
        for task in tasks {
            task.await?;
        }
        let tally = Tally {
            asked: flood.draw.borrow().next_id(),
            ..flood.tally.take()
        };
        Ok(Gone {
            counts: flood.counts.get(),
            memory,
            tally,
            left: flood.left.take(),
        })
    }

    async fn one(self: Rc<Self>) {
        let mut connection = None;
        let mut due = Instant::now();
        while !self.is_over() {
            tokio::time::sleep_until(due).await;
            due = due
                .checked_add(self.pause)
                .unwrap_or(due)
                .max(Instant::now());
            let asked = self.draw.borrow_mut().ask();
            let asking = async {
                let open = match connection.take() {
                    Some(open) => open,
                    None => Connection::open(self.job.to).await?,
                };
                let open = connection.insert(open);
                let answer = open.ask(&self.job.requests, &asked).await;
                answer.map(|(status, _)| status)
            };
            let answer = tokio::time::timeout(PATIENCE, asking).await;
            if !matches!(answer, Ok(Ok(201 | 429 | 503))) {
                connection = None;
            }
            let mut counts = self.counts.get();
            counts.begun += 1;
            match answer {
                Ok(Ok(201)) => counts.answered += 1,
                Ok(Ok(429 | 503)) => counts.refused += 1,
                Ok(_) => counts.broken += 1,
                Err(_) => {
                    if counts.left.is_multiple_of(LOOKED_UP) {
                        let left = asked.orders.iter().map(|order| (*order, clock::now()));
                        self.left.borrow_mut().extend(left);
                    }
                    counts.left += 1;
                }
            }
            self.counts.set(counts);
            let is_posted = matches!(answer, Ok(Ok(201)));
            for order in &asked.orders {
                self.tally.borrow_mut().note(order, is_posted);
            }
        }
    }
}

fn posted(stage: &Stage) -> u64 {
    stage.site.engine.operators().stats().entries
}

/// Waits until the store has no more work.
async fn at_rest(stage: &Stage) {
    let (begun, mut last) = (Instant::now(), None);
    while begun.elapsed() < REST_MAX {
        let now = (posted(stage), stage.site.engine.operators().stats().queued);
        if last.replace(now) == Some(now) && now.1 == 0 {
            return;
        }
        tokio::time::sleep(READING).await;
    }
}

/// How many of the orders whose clients left were decided after that.
async fn late(stage: &Stage, left: &[Left]) -> anyhow::Result<u64> {
    let mut late = 0_u64;
    for (order, closed) in left {
        let id = ExternalId::parse(&order.external_id())?;
        let (engine, realm) = (&stage.site.engine, stage.site.realm);
        match engine.queries().voucher_by_external(realm, &id, None).await {
            Ok(placed) if placed.voucher.at > *closed => late += 1,
            Ok(_) | Err(Failure::Rejected(Rejection::VoucherNotFound)) => {}
            Err(why) => return Err(why.into()),
        }
    }
    Ok(late)
}

impl Args {
    /// The rate of clients that wait for their answers.
    async fn capacity(&self, stage: &mut Stage, mix: Mix) -> anyhow::Result<u64> {
        let end = End::After(Duration::from_millis(500), MEASURE);
        let job = Job::new(&stage.site, CLOSED, mix, end);
        let run = stage.run(job).await?;
        Ok(per_second(run.vouchers, run.nanos()))
    }
}

impl Scenario for Args {
    fn set_up(&self) -> SetUp {
        SetUp {
            title: format!(
                "twice the load that the service can take, {} s",
                self.seconds
            ),
            accounts: self.accounts.max(1),
            disk: (2 << 30) + self.seconds.saturating_mul(64 << 20),
            ..SetUp::default()
        }
    }

    async fn load(&self, stage: &mut Stage) -> anyhow::Result<()> {
        let mix = Mix::Spread(usize::try_from(self.accounts.max(1))?);
        let before = self.capacity(stage, mix).await?;
        at_rest(stage).await;
        let (offered, entries) = (before.saturating_mul(2).max(1), posted(stage));
        let memory = machine::memory();
        say(&format!("sending {} requests a second", grouped(offered)));
        let time = Duration::from_secs(self.seconds.max(1));
        let clients = u64::try_from(self.connections.max(1))?;
        let pause = scaled(clients, 1_000_000_000, offered);
        let job = Job::new(&stage.site, self.connections.max(1), mix, End::Answers(0));
        let [tally, _] = &mut stage.tallies;
        let tally = std::mem::take(tally);
        let gone = load::apart(move || {
            let flood = Flood {
                job,
                pause: Duration::from_nanos(pause),
                until: Instant::now() + time,
                counts: Cell::default(),
                draw: RefCell::new(Draw::new(mix, tally.asked)),
                tally: RefCell::new(tally),
                left: RefCell::default(),
            };
            Ok(flood.all())
        });
        let Gone {
            counts,
            memory: most,
            tally,
            left,
        } = gone.await?;
        stage.tallies = [tally, Tally::default()];
        at_rest(stage).await;
        let all_posted = posted(stage).saturating_sub(entries);
        let late = late(stage, &left).await?;
        let after = self.capacity(stage, mix).await?;
        let report = &mut stage.report;
        for (what, value, unit) in [
            ("vouchers before", before, Unit::PerSecond),
            ("vouchers afterwards", after, Unit::PerSecond),
            ("requests begun", counts.begun, Unit::Number),
            ("posted and answered", counts.answered, Unit::Number),
            ("refused", counts.refused, Unit::Number),
            ("whose clients left", counts.left, Unit::Number),
            ("broken", counts.broken, Unit::Number),
            ("posted in all", all_posted, Unit::Number),
            (
                "looked up of those whose clients left",
                u64::try_from(left.len())?,
                Unit::Number,
            ),
            ("decided after that", late, Unit::Number),
            ("memory before", memory, Unit::Mebibytes),
            ("memory at most", most, Unit::Mebibytes),
        ] {
            report.figure(what, value, unit);
        }
        let ratio = Thousandths::ratio(after, before).0;
        report.at_least("rate afterwards by that before", ratio, 750, Unit::Ratio);
        Ok(())
    }

    fn after(&self, _: &Path, _: Reopened, _: &mut Report) -> anyhow::Result<()> {
        Ok(())
    }
}
