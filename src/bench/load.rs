//! The load: connections that send one request after the other, all on one thread of their own.
//!
//! **Bounds.** One thread, so that its cost can be told from the service's. Each connection waits for its answer before
//! it sends the next request.

use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use caudal_actors::engine::Engine;
use caudal_storage::Stats;
use tokio::sync::oneshot;
use tokio::task::LocalSet;

use super::client::{Connection, Requests, all_recorded};
use super::draw::{Asked, BenchOrder, Draw, Kind, Mix};
use super::figures::{Thousandths, Times, nanos};
use super::machine::{self, Cpu, LOAD_THREAD};
use super::site::Site;
use super::tally::Tally;

/// The longest wait for answers before a run ends anyway.
const LAST_MAX: Duration = Duration::from_secs(60);
/// The bytes of an unexpected answer that are shown.
const SHOWN: usize = 300;

/// The end of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// After a time that does not count, and one that does; each lasts at least until there were as many answers as
    /// there are connections.
    After(Duration, Duration),
    /// After this many answers.
    Answers(u64),
}

/// One run of load.
#[derive(Clone, Debug)]
pub struct Job {
    /// Where the requests go.
    pub to: SocketAddr,
    /// The tenant's requests.
    pub requests: Arc<Requests>,
    /// The number of concurrent clients.
    pub connections: usize,
    /// The requests.
    pub mix: Mix,
    /// The end of the run.
    pub end: End,
    /// How long each connection pauses after an answer.
    pub pause: Duration,
}

impl Job {
    /// The requests of a site's own tenant.
    pub fn new(site: &Site, connections: usize, mix: Mix, end: End) -> Self {
        Self {
            to: site.addr,
            requests: Arc::clone(&site.requests),
            connections,
            mix,
            end,
            pause: Duration::ZERO,
        }
    }
}

/// A reading between two answers.
#[derive(Clone, Debug)]
pub struct Reading {
    /// The time of the reading.
    pub at: Instant,
    /// CPU of all threads.
    pub cpu: Cpu,
    /// CPU of the whole machine, in nanoseconds.
    pub busy: u64,
    /// The store's figures.
    pub stats: Stats,
    /// Resident memory.
    pub memory: u64,
}

/// The results of a run.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Times of the answers that count.
    pub times: Times,
    /// The reading at the beginning of the counted part.
    pub from: Reading,
    /// The reading at its end.
    pub to: Reading,
    /// Vouchers acknowledged by those answers.
    pub vouchers: u64,
    /// The number of wrong answers.
    pub wrong: u64,
    /// The first wrong answer.
    pub first_wrong: Option<String>,
}

impl Measured {
    /// How long the counted part lasted, in nanoseconds.
    pub fn nanos(&self) -> u64 {
        nanos(self.to.at.duration_since(self.from.at))
    }

    /// How much a figure of the store grew in the counted part.
    pub fn grew(&self, of: fn(&Stats) -> u64) -> u64 {
        of(&self.to.stats).saturating_sub(of(&self.from.stats))
    }

    /// The CPU time of each thread in the counted part.
    pub fn cpu(&self) -> Cpu {
        machine::spent(&self.from.cpu, &self.to.cpu)
    }

    /// The share of the machine that other processes used in the counted part.
    pub fn taken_by_others(&self) -> Thousandths {
        let own: u64 = self.cpu().values().sum();
        let busy = self.to.busy.saturating_sub(self.from.busy);
        let processors = u64::try_from(machine::processors()).unwrap_or(1);
        Thousandths::ratio(
            busy.saturating_sub(own),
            self.nanos().saturating_mul(processors),
        )
    }
}

/// Sends requests until the end of the run.
///
/// # Errors
/// When a connection cannot be made or breaks.
pub async fn run(site: &Site, job: Job, tally: Tally) -> anyhow::Result<(Measured, Tally)> {
    let engine = Arc::clone(&site.engine);
    apart(move || Ok(here(job, tally, engine))).await
}

/// Does the same on this thread, which is one of [`apart`].
///
/// # Errors
/// As [`run`].
pub async fn here(
    job: Job,
    tally: Tally,
    engine: Arc<Engine>,
) -> anyhow::Result<(Measured, Tally)> {
    Run::new(job, tally, engine).run().await
}

/// Runs a future on a thread of the load's name, on a runtime of its own.
///
/// # Errors
/// When the thread cannot be started, or the work fails.
pub async fn apart<T, F>(
    work: impl FnOnce() -> anyhow::Result<F> + Send + 'static,
) -> anyhow::Result<T>
where
    T: Send + 'static,
    F: Future<Output = anyhow::Result<T>>,
{
    let (sender, ended) = oneshot::channel();
    let body = move || {
        let outcome = || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()?;
            LocalSet::new().block_on(&runtime, async { work()?.await })
        };
        drop(sender.send(outcome()));
    };
    let thread = std::thread::Builder::new().name(LOAD_THREAD.to_owned());
    thread.spawn(body)?;
    ended.await.context("the thread of the load is gone")?
}

struct Run {
    job: Job,
    engine: Arc<Engine>,
    stop: Cell<bool>,
    counts: Cell<bool>,
    issued: Cell<u64>,
    answers: Cell<u64>,
    draw: RefCell<Draw>,
    tally: RefCell<Tally>,
    counted: RefCell<Counted>,
}

/// What is counted while a run lasts.
#[derive(Default)]
struct Counted {
    times: Times,
    vouchers: u64,
    wrong: u64,
    first_wrong: Option<String>,
}

impl Run {
    fn new(job: Job, tally: Tally, engine: Arc<Engine>) -> Rc<Self> {
        let draw = RefCell::new(Draw::new(job.mix, tally.asked));
        let counts = Cell::new(matches!(job.end, End::Answers(_)));
        Rc::new(Self {
            job,
            engine,
            stop: Cell::new(false),
            counts,
            issued: Cell::new(0),
            answers: Cell::new(0),
            draw,
            tally: RefCell::new(tally),
            counted: RefCell::default(),
        })
    }

    async fn run(self: Rc<Self>) -> anyhow::Result<(Measured, Tally)> {
        let mut asking = Vec::with_capacity(self.job.connections);
        for _ in 0..self.job.connections {
            let connection = Connection::open(self.job.to).await.context("connecting")?;
            let run = Rc::clone(&self);
            asking.push(tokio::task::spawn_local(run.ask(connection)));
        }
        let mut readings = (self.read(), None);
        if let End::After(warm_up, measured) = self.job.end {
            self.last(warm_up).await;
            readings.0 = self.read();
            self.counts.set(true);
            self.last(measured).await;
            self.counts.set(false);
            readings.1 = Some(self.read());
            self.stop.set(true);
        }
        for one in asking {
            one.await.context("a connection of the load panicked")??;
        }
        let counted = self.counted.take();
        let measured = Measured {
            times: counted.times,
            from: readings.0,
            to: readings.1.unwrap_or_else(|| self.read()),
            vouchers: counted.vouchers,
            wrong: counted.wrong,
            first_wrong: counted.first_wrong,
        };
        Ok((measured, self.tally.take()))
    }

    /// Waits for the given time, and for at least one answer on each connection.
    async fn last(&self, time: Duration) {
        let connections = u64::try_from(self.job.connections).unwrap_or(0);
        let enough = self.answers.get().saturating_add(connections);
        let start = Instant::now();
        tokio::time::sleep(time).await;
        while self.answers.get() < enough && start.elapsed() < LAST_MAX {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    async fn ask(self: Rc<Self>, mut connection: Connection) -> anyhow::Result<()> {
        while let Some(asked) = self.next() {
            let start = Instant::now();
            let answer = connection.ask(&self.job.requests, &asked).await;
            let took = start.elapsed();
            let right = match &answer {
                Ok((status, body)) => match asked.kind {
                    Kind::Empty | Kind::Post | Kind::Transfer => *status == 201,
                    Kind::Balance => *status == 200,
                    Kind::Bulk => *status == 200 && all_recorded(body, asked.orders.len()),
                },
                Err(_) => false,
            };
            self.answered(&asked, took, right, || match &answer {
                Ok((status, body)) => {
                    let shown = body.get(..SHOWN).unwrap_or(body);
                    format!("{status} {}", String::from_utf8_lossy(shown))
                }
                Err(why) => why.to_string(),
            });
            answer.context("a connection of the load broke")?;
            if !self.job.pause.is_zero() {
                tokio::time::sleep(self.job.pause).await;
            }
        }
        Ok(())
    }

    fn next(&self) -> Option<Asked> {
        let issued = self.issued.get();
        let over = match self.job.end {
            End::After(..) => self.stop.get(),
            End::Answers(of) => issued >= of,
        };
        if over {
            return None;
        }
        self.issued.set(issued.saturating_add(1));
        let mut draw = self.draw.borrow_mut();
        let asked = draw.ask();
        self.tally.borrow_mut().asked = draw.next_id();
        Some(asked)
    }

    /// Counts an answer; nobody knows whether anything was done by one that is not right.
    fn answered(&self, asked: &Asked, took: Duration, right: bool, shown: impl FnOnce() -> String) {
        let mut tally = self.tally.borrow_mut();
        for order in &asked.orders {
            tally.note(order, right);
        }
        drop(tally);
        let mut counted = self.counted.borrow_mut();
        if !right {
            counted.wrong += 1;
            counted.first_wrong.get_or_insert_with(shown);
        }
        if self.counts.get() {
            counted.times.add(nanos(took));
            if right {
                let vouchers = asked.orders.iter().map(BenchOrder::vouchers);
                counted.vouchers += vouchers.sum::<u64>();
            }
        }
        self.answers.set(self.answers.get().saturating_add(1));
    }

    fn read(&self) -> Reading {
        Reading {
            at: Instant::now(),
            cpu: machine::cpu(),
            busy: machine::busy(),
            stats: self.engine.operators().stats(),
            memory: machine::memory(),
        }
    }
}
