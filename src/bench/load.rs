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
use caudal_actors::realms::{Adjustment, Target, TypeRef};
use caudal_actors::reply::Given;
use caudal_ledger::cvu::Cvu;
use caudal_ledger::ids::RealmId;
use caudal_ledger::money::Amount;
use caudal_ledger::text::ExternalId;
use caudal_ledger::voucher_types::TypeCode;
use caudal_ledger::vouchers::Outcome;
use caudal_storage::Stats;
use tokio::sync::oneshot;
use tokio::task::LocalSet;

use super::bulk::{self, Acknowledged};
use super::client::{Connection, Requests};
use super::draw::{Asked, BenchOrder, Draw, Kind, Mix};
use super::figures::{Histogram, Thousandths, grouped, nanos, per_second};
use super::machine::{self, Actors, Cpu};
use super::site::{Site, VOUCHER_TYPE, asker};
use super::tally::Tally;

/// The name of the load's thread.
pub const THREAD: &str = "bench-load";
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
    /// After this many answers, of which the first do not count.
    Answers {
        /// How many do not count.
        warm_up: u64,
        /// How many there are in all.
        of: u64,
    },
}

/// The interface through which requests are sent.
#[derive(Clone)]
pub enum Way {
    /// HTTP.
    Http(SocketAddr),
    /// HTTP, with each connection pausing this long after an answer.
    Calm(SocketAddr, Duration),
    /// The interface of the actors.
    Engine(RealmId),
}

/// One run of load.
#[derive(Clone)]
pub struct Job {
    /// The interface.
    pub way: Way,
    /// The number of concurrent clients.
    pub connections: usize,
    /// The requests.
    pub mix: Mix,
    /// The end of the run.
    pub end: End,
}

/// A reading between two answers.
#[derive(Clone, Debug)]
pub struct Reading {
    /// The time of the reading.
    pub at: Instant,
    /// Answers so far.
    pub answers: u64,
    /// CPU of all threads.
    pub cpu: Cpu,
    /// CPU of the whole machine, in nanoseconds.
    pub busy: u64,
    /// The store's figures.
    pub stats: Stats,
    /// Resident memory.
    pub memory: u64,
}

impl Reading {
    /// The share of the machine that other processes used between two readings.
    pub fn taken_by_others(&self, to: &Self) -> Thousandths {
        let own = machine::spent(&self.cpu, &to.cpu);
        let own = own
            .values()
            .fold(0, |sum: u64, nanos| sum.saturating_add(*nanos));
        let others = to.busy.saturating_sub(self.busy).saturating_sub(own);
        let processors = u64::try_from(machine::processors()).unwrap_or(1);
        let whole = nanos(to.at.duration_since(self.at)).saturating_mul(processors);
        Thousandths::ratio(others, whole)
    }
}

/// The results of a run.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// Times of the answers that count.
    pub times: Histogram,
    /// The readings at the beginning and end of the counted part; for a run by answers also at each tenth in between.
    pub readings: Vec<Reading>,
    /// Vouchers acknowledged by those answers.
    pub vouchers: u64,
    /// The number of wrong answers.
    pub wrong: u64,
    /// The first wrong answer.
    pub first_wrong: Option<String>,
}

/// Sends requests until the end of the run.
///
/// # Errors
/// When a connection cannot be made or breaks.
pub async fn run(site: &Site, job: Job, tally: Tally) -> anyhow::Result<(Measured, Tally)> {
    start(site, &site.requests, job, tally, false).await
}

/// Sends requests until the end of the run, and reports each tenth.
///
/// # Errors
/// As [`run`].
pub async fn run_telling(site: &Site, job: Job, tally: Tally) -> anyhow::Result<(Measured, Tally)> {
    start(site, &site.requests, job, tally, true).await
}

/// Sends a given tenant's requests until the end of the run.
///
/// # Errors
/// As [`run`].
pub async fn run_as(
    site: &Site,
    requests: &Arc<Requests>,
    job: Job,
    tally: Tally,
) -> anyhow::Result<(Measured, Tally)> {
    start(site, requests, job, tally, false).await
}

async fn start(
    site: &Site,
    requests: &Arc<Requests>,
    job: Job,
    tally: Tally,
    tells: bool,
) -> anyhow::Result<(Measured, Tally)> {
    let (sender, ended) = oneshot::channel();
    let engine = Arc::clone(&site.engine);
    let requests = Arc::clone(requests);
    let actors = site.actors.clone();
    // Requests of a tenant other than the site's own are a flood.
    let (pinned, floods) = (site.pinned, !Arc::ptr_eq(&requests, &site.requests));
    let body = move || {
        if let Some(Err(why)) = pinned.map(|pin| pin.ask(floods)) {
            drop(sender.send(Err(why)));
            return;
        }
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        let outcome = runtime.map_err(anyhow::Error::from).and_then(|runtime| {
            let local = LocalSet::new();
            let run = Run::new((job, tells), tally, engine, (requests, actors));
            runtime.block_on(local.run_until(run.run()))
        });
        drop(sender.send(outcome));
    };
    let thread = std::thread::Builder::new().name(THREAD.to_owned());
    thread.spawn(body)?;
    ended.await.context("the thread of the load is gone")?
}

/// Posts a voucher through the actors' interface.
///
/// # Errors
/// When it is not recorded, or had been recorded before.
pub async fn post(
    engine: &Engine,
    realm: RealmId,
    target: Target,
    order: &BenchOrder,
) -> anyhow::Result<()> {
    let order = Adjustment {
        target,
        voucher_type: TypeRef::Code(TypeCode::parse(VOUCHER_TYPE)?),
        amount: Amount::parse(&order.amount())?,
        external_id: ExternalId::parse(&order.external_id())?,
        description: None,
        external_date: None,
        dry_run: false,
    };
    match engine.post(realm, order, asker()).await? {
        Given::Value(Outcome::Recorded(_)) => Ok(()),
        other => anyhow::bail!("not recorded: {other:?}"),
    }
}

struct Run {
    job: Job,
    /// Whether each tenth is reported.
    tells: bool,
    engine: Arc<Engine>,
    requests: Arc<Requests>,
    actors: Actors,
    stop: Cell<bool>,
    counts: Cell<bool>,
    issued: Cell<u64>,
    answers: Cell<u64>,
    next_reading: Cell<u64>,
    draw: RefCell<Draw>,
    tally: RefCell<Tally>,
    measured: RefCell<Measured>,
}

impl Run {
    fn new(
        (job, tells): (Job, bool),
        tally: Tally,
        engine: Arc<Engine>,
        (requests, actors): (Arc<Requests>, Actors),
    ) -> Rc<Self> {
        let next_reading = match job.end {
            End::After(..) => u64::MAX,
            End::Answers { warm_up, .. } => warm_up,
        };
        let draw = RefCell::new(Draw::new(job.mix, tally.asked));
        Rc::new(Self {
            job,
            tells,
            engine,
            requests,
            actors,
            stop: Cell::new(false),
            counts: Cell::new(false),
            issued: Cell::new(0),
            answers: Cell::new(0),
            next_reading: Cell::new(next_reading),
            draw,
            tally: RefCell::new(tally),
            measured: RefCell::default(),
        })
    }

    async fn run(self: Rc<Self>) -> anyhow::Result<(Measured, Tally)> {
        let mut asking = Vec::with_capacity(self.job.connections);
        for _ in 0..self.job.connections {
            let run = Rc::clone(&self);
            let connection = match &self.job.way {
                Way::Http(to) | Way::Calm(to, _) => {
                    Some(Connection::open(*to).await.context("connecting")?)
                }
                Way::Engine(_) => None,
            };
            asking.push(tokio::task::spawn_local(async move {
                match connection {
                    Some(connection) => run.by_http(connection).await,
                    None => run.by_engine().await,
                }
            }));
        }
        if let End::After(warm_up, measured) = self.job.end {
            self.last(warm_up).await;
            self.read();
            self.counts.set(true);
            self.last(measured).await;
            self.counts.set(false);
            self.read();
            self.stop.set(true);
        }
        for one in asking {
            one.await.context("a connection of the load panicked")??;
        }
        Ok((self.measured.take(), self.tally.take()))
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

    async fn by_http(self: Rc<Self>, mut connection: Connection) -> anyhow::Result<()> {
        while let Some(asked) = self.next() {
            let start = Instant::now();
            match connection.ask(&self.requests, &asked).await {
                Ok((status, body)) => {
                    let took = start.elapsed();
                    let acknowledged = match (asked.order.kind, status) {
                        (Kind::Noop | Kind::Post | Kind::Transfer, 201) | (Kind::Balance, 200) => {
                            Acknowledged::All
                        }
                        (Kind::Bulk, 200) => bulk::acknowledged(body, asked.items.len()),
                        _ => Acknowledged::Nothing,
                    };
                    self.answered(&asked, took, &acknowledged, || {
                        let shown = body.get(..SHOWN).unwrap_or(body);
                        format!("{status} {}", String::from_utf8_lossy(shown))
                    });
                    if let Way::Calm(_, pause) = self.job.way {
                        tokio::time::sleep(pause).await;
                    }
                }
                Err(why) => {
                    self.answered(&asked, start.elapsed(), &Acknowledged::Nothing, || {
                        why.to_string()
                    });
                    return Err(why).context("a connection of the load broke");
                }
            }
        }
        Ok(())
    }

    async fn by_engine(self: Rc<Self>) -> anyhow::Result<()> {
        while let Some(asked) = self.next() {
            let start = Instant::now();
            let answer = self.ask_engine(&asked.order).await;
            let wrong = answer.as_ref().err().map(ToString::to_string);
            let acknowledged = wrong
                .as_ref()
                .map_or(Acknowledged::All, |_| Acknowledged::Nothing);
            self.answered(&asked, start.elapsed(), &acknowledged, || {
                wrong.unwrap_or_default()
            });
        }
        Ok(())
    }

    async fn ask_engine(&self, order: &BenchOrder) -> anyhow::Result<()> {
        let Way::Engine(realm) = self.job.way else {
            return Ok(());
        };
        let target = Target::Cvu(Cvu::parse(self.requests.cvu(order.account))?);
        match order.kind {
            Kind::Noop => Ok(()),
            Kind::Transfer | Kind::Bulk => anyhow::bail!("asked by HTTP alone"),
            Kind::Balance => Ok(self.engine.balance(realm, target).await.map(drop)?),
            Kind::Post => post(&self.engine, realm, target, order).await,
        }
    }

    fn next(&self) -> Option<Asked> {
        let issued = self.issued.get();
        let over = match self.job.end {
            End::After(..) => self.stop.get(),
            End::Answers { of, .. } => issued >= of,
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

    fn answered(
        &self,
        asked: &Asked,
        took: Duration,
        acknowledged: &Acknowledged,
        shown: impl FnOnce() -> String,
    ) {
        let mut tally = self.tally.borrow_mut();
        let mut vouchers = 0_u64;
        for (place, order) in asked.orders().iter().enumerate() {
            let done = acknowledged.done(place);
            tally.note(order, done);
            if done {
                vouchers += order.vouchers();
            }
        }
        drop(tally);
        let mut measured = self.measured.borrow_mut();
        if *acknowledged != Acknowledged::All {
            measured.wrong += 1;
            measured
                .first_wrong
                .get_or_insert_with(|| match acknowledged {
                    Acknowledged::Partly(_, first) => first.clone(),
                    Acknowledged::All | Acknowledged::Nothing => shown(),
                });
        }
        if self.counts.get() {
            measured.times.add(nanos(took));
            measured.vouchers += vouchers;
        }
        drop(measured);
        let answers = self.answers.get().saturating_add(1);
        self.answers.set(answers);
        if answers >= self.next_reading.get() {
            self.read_tenth();
        }
    }

    fn read_tenth(&self) {
        let End::Answers { warm_up, of } = self.job.end else {
            return;
        };
        self.read();
        self.counts.set(true);
        let done = u64::try_from(self.measured.borrow().readings.len()).unwrap_or(u64::MAX);
        if self.tells && done > 1 {
            self.tell(done.saturating_sub(1));
        }
        let next = super::figures::scaled(of.saturating_sub(warm_up), done, 10);
        let next = if done > 10 { u64::MAX } else { next };
        self.next_reading.set(next.saturating_add(warm_up));
    }

    /// Reports the progress and the rate of the last tenth.
    fn tell(&self, tenth: u64) {
        if let [.., from, to] = self.measured.borrow().readings.as_slice() {
            let rate = per_second(
                to.answers.saturating_sub(from.answers),
                nanos(to.at.duration_since(from.at)),
            );
            let (all, rate) = (grouped(to.answers), grouped(rate));
            super::say(&format!("tenth {tenth} of 10: {all} in all, {rate}/s"));
        }
    }

    fn read(&self) {
        let reading = Reading {
            at: Instant::now(),
            answers: self.answers.get(),
            cpu: self.actors.cpu(),
            busy: machine::busy(),
            stats: self.engine.stats(),
            memory: machine::memory().0,
        };
        self.measured.borrow_mut().readings.push(reading);
    }
}
