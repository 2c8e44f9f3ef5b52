//! The cost of webhooks for the ledger: vouchers per second with no webhook, with one that takes everything, and with
//! dead ones, in turn in one run; then how a backlog drains, and the memory and disk that an unfetched one takes.
//!
//! **Shape.** One store. Between any two states there is a run without a webhook, and each state is compared with the
//! two runs around it, so that a machine or a store that gets slower does not count against a webhook. A webhook exists
//! only while it is measured, so its undelivered events do not burden the next one.

pub mod receiver;

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use caudal_actors::reply::Given;
use caudal_ledger::webhooks::{WebhookFormat, WebhookOrder};
use serde::Serialize;

use super::audit::{self, Audit};
use super::draw::{Mix, Over};
use super::figures::{Thousandths, median, nanos, per_second, scaled};
use super::load::{self, End, Job, Measured, Way};
use super::machine::{self, Cpu};
use super::site::{Layout, Site, asker, sealed};
use super::tally::Tally;
use receiver::Receiver;

/// Vouchers of one request while a backlog is being built.
const BULK: usize = 1000;
/// The number of concurrent requests that build it.
const LOADING: usize = 16;
/// How long a backlog may take to drain.
const DRAIN_MAX: Duration = Duration::from_secs(600);
/// The pause between two looks at whether it has drained.
const LOOK: Duration = Duration::from_millis(20);

/// The load and the layout of a measurement.
#[derive(Clone, Debug)]
pub struct Plan {
    /// How often each state is measured.
    pub rounds: usize,
    /// How long each measurement lasts, before and while it counts.
    pub time: (Duration, Duration),
    /// Accounts over which vouchers are spread.
    pub accounts: u64,
    /// The number of concurrent clients.
    pub connections: usize,
    /// Events that wait for a webhook when it is switched on.
    pub backlog: u64,
    /// Events that are never fetched.
    pub undelivered: u64,
    /// Threads.
    pub layout: Layout,
}

/// The kind of subscriber.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum State {
    /// Nobody.
    Nobody,
    /// One that takes everything.
    Healthy,
    /// One that refuses connections.
    Refusing,
    /// One that connects and never answers.
    Silent,
}

impl State {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Nobody, Self::Healthy, Self::Refusing, Self::Silent];

    /// What it is called.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Nobody => "no webhook",
            Self::Healthy => "one that takes everything",
            Self::Refusing => "one that refuses connections",
            Self::Silent => "one that never answers",
        }
    }
}

/// The result of a state: medians over the rounds.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WebhookRow {
    /// Who subscribes.
    pub state: State,
    /// Vouchers a second.
    pub per_second: u64,
    /// The 99th percentile of the time of an answer, in nanoseconds.
    pub p99_nanos: u64,
    /// Its rate divided by the mean of the rates without a webhook right before and after it: the median, the lowest
    /// and the highest. Without a webhook this shows how steady the machine is.
    pub to_nobody: [Thousandths; 3],
    /// CPU time of the service per voucher, including deliveries, in nanoseconds.
    pub cpu_nanos: u64,
    /// Events that were delivered in a second of the load.
    pub delivered_per_second: u64,
    /// The share of the machine that other processes used meanwhile.
    pub taken_by_others: Thousandths,
}

/// A backlog that was fetched, and one that was not.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Backlog {
    /// Events that waited for a webhook that takes everything.
    pub events: u64,
    /// Nanoseconds until all of them were delivered.
    pub drain_nanos: u64,
    /// Bytes of the journal for the note of one delivery.
    pub journal_bytes_per_delivery: u64,
    /// CPU of the courier's thread for one delivery, in nanoseconds.
    pub cpu_nanos_per_delivery: u64,
    /// Events that are never fetched.
    pub undelivered: u64,
    /// Resident memory before posting the same number of vouchers without a webhook, after that, and after posting as
    /// many more with a dead webhook.
    pub memory: [u64; 3],
    /// Bytes on the disk for each voucher of the last ones, with its event.
    pub disk_bytes_per_voucher: u64,
}

/// The results of a measurement.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Hooked {
    /// The number of concurrent clients.
    pub connections: usize,
    /// Accounts over which vouchers were spread.
    pub accounts: u64,
    /// The states.
    pub lines: Vec<WebhookRow>,
    /// The backlogs.
    pub backlog: Backlog,
    /// The number of deliveries, and of the connections opened for them.
    pub deliveries: [u64; 2],
    /// Requests that arrived out of the order of their account, or were not events.
    pub wrong_deliveries: u64,
    /// The number of wrong answers.
    pub wrong_answers: u64,
    /// The first wrong answer.
    pub first_wrong: Option<String>,
    /// The audit of the ledger.
    pub audit: Audit,
}

impl Hooked {
    /// The rate in a state divided by that without a webhook.
    pub fn ratio(&self, state: State) -> Option<Thousandths> {
        let line = self.lines.iter().find(|line| line.state == state);
        line.map(|line| line.to_nobody[0])
    }

    /// By how much memory grew behind a dead webhook.
    pub const fn growth(&self) -> u64 {
        let [_, before, after] = self.backlog.memory;
        after.saturating_sub(before)
    }
}

/// One state, measured once.
#[derive(Debug)]
struct Round {
    state: State,
    rate: u64,
    p99: u64,
    cpu: u64,
    delivered: u64,
    others: u64,
}

/// A run: the service, the receivers, and the results so far.
struct Run<'a> {
    site: &'a Site,
    plan: &'a Plan,
    folder: &'a Path,
    receiver: Receiver,
    tally: Tally,
    wrong: u64,
    first_wrong: Option<String>,
}

/// Measures on a new store in a folder.
///
/// # Errors
/// When the service fails.
pub async fn run(folder: &Path, plan: &Plan) -> anyhow::Result<Hooked> {
    super::say(&format!("opening {} accounts", plan.accounts));
    let site = Site::build(folder, plan.layout, plan.accounts).await?;
    let mut run = Run {
        site: &site,
        plan,
        folder,
        receiver: Receiver::start()?,
        tally: Tally::new(plan.accounts),
        wrong: 0,
        first_wrong: None,
    };
    let mut rounds = Vec::new();
    for round in 0..plan.rounds {
        let shown = round.saturating_add(1);
        super::say(&format!("webhooks, round {shown} of {}", plan.rounds));
        for state in turns(round) {
            rounds.push(run.state(State::Nobody).await?);
            rounds.push(run.state(state).await?);
        }
    }
    rounds.push(run.state(State::Nobody).await?);
    let backlog = run.backlog().await?;
    super::say("checking the ledger");
    let Run {
        receiver,
        tally,
        wrong: wrong_answers,
        first_wrong,
        ..
    } = run;
    let (store, realm) = (std::sync::Arc::clone(site.engine.store()), site.realm);
    let checked = actix_web::web::block(move || audit::ledger(store.as_ref(), realm, &tally));
    let audit = checked.await??;
    drop(site.close().await?);
    let arrived = receiver.arrived();
    Ok(Hooked {
        connections: plan.connections,
        accounts: plan.accounts,
        lines: State::ALL.map(|state| line(state, &rounds)).to_vec(),
        backlog,
        deliveries: [arrived.requests, arrived.connections],
        wrong_deliveries: arrived.wrong,
        wrong_answers,
        first_wrong,
        audit,
    })
}

/// The states of a round with a webhook, beginning with a different one each round.
fn turns(round: usize) -> [State; 3] {
    let mut states = [State::Healthy, State::Refusing, State::Silent];
    let begin = round.checked_rem(states.len()).unwrap_or(0);
    states.rotate_left(begin);
    states
}

fn line(state: State, rounds: &[Round]) -> WebhookRow {
    let own = || rounds.iter().filter(move |round| round.state == state);
    let of = |what: fn(&Round) -> u64| median(own().map(what));
    let mut ratios = ratios(state, rounds);
    ratios.sort_unstable();
    let at = |place: usize| Thousandths(ratios.get(place).copied().unwrap_or(0));
    WebhookRow {
        state,
        per_second: of(|r| r.rate),
        p99_nanos: of(|r| r.p99),
        to_nobody: [
            at(ratios.len() / 2),
            at(0),
            at(ratios.len().saturating_sub(1)),
        ],
        cpu_nanos: of(|r| r.cpu),
        delivered_per_second: of(|r| r.delivered),
        taken_by_others: Thousandths(of(|r| r.others)),
    }
}

/// The rates in a state, each divided by the mean of the rates without a webhook right before and after it, in
/// thousandths.
fn ratios(state: State, rounds: &[Round]) -> Vec<u64> {
    let nobody = |it: &&Round| it.state == State::Nobody;
    let ratio = |(at, round): (usize, &Round)| {
        let (before, rest) = rounds.split_at_checked(at)?;
        let before = before.iter().rfind(nobody)?.rate;
        let after = rest.iter().skip(1).find(nobody)?.rate;
        let twice = round.rate.saturating_mul(2);
        Some(Thousandths::ratio(twice, before.saturating_add(after)).0)
    };
    let own = rounds
        .iter()
        .enumerate()
        .filter(|(_, it)| it.state == state);
    own.filter_map(ratio).collect()
}

/// CPU time of the service between two readings, without the load and the receivers.
fn own(before: &Cpu, after: &Cpu) -> u64 {
    let spent = machine::spent(before, after);
    let own = spent.iter();
    let own = own.filter(|(name, _)| ![load::THREAD, receiver::THREAD].contains(&name.as_str()));
    own.fold(0, |sum, (_, nanos)| sum.saturating_add(*nanos))
}

impl Run<'_> {
    async fn state(&mut self, state: State) -> anyhow::Result<Round> {
        let url = match state {
            State::Nobody => None,
            State::Healthy => Some(self.receiver.taking()),
            State::Refusing => Some(self.receiver.refusing()),
            State::Silent => Some(self.receiver.silent()),
        };
        let webhook = match url {
            Some(url) => Some(self.subscribe(url).await?),
            None => None,
        };
        let (before, since) = (self.receiver.arrived().events, Instant::now());
        let accounts = usize::try_from(self.plan.accounts).unwrap_or(usize::MAX);
        let (warm_up, counted) = self.plan.time;
        let measured = self
            .load(Job {
                way: Way::Http(self.site.addr),
                connections: self.plan.connections,
                mix: Mix::Spread(accounts),
                end: End::After(warm_up, counted),
            })
            .await?;
        let delivered = self.receiver.arrived().events.saturating_sub(before);
        let delivered = per_second(delivered, nanos(since.elapsed()));
        if let Some(number) = webhook {
            self.order(number, WebhookOrder::Remove).await?;
        }
        let readings = measured.readings.first().zip(measured.readings.last());
        let (from, to) = readings.context("a run of load without readings")?;
        let took = nanos(to.at.duration_since(from.at));
        let vouchers = measured.times.count();
        Ok(Round {
            state,
            rate: per_second(vouchers, took),
            p99: measured.times.quantile(990),
            cpu: scaled(own(&from.cpu, &to.cpu), 1, vouchers),
            delivered,
            others: from.taken_by_others(to).0,
        })
    }

    /// Fetches one backlog, and leaves another one.
    async fn backlog(&mut self) -> anyhow::Result<Backlog> {
        super::say(&format!("draining {} events", self.plan.backlog));
        let number = self.subscribe(self.receiver.taking()).await?;
        self.order(number, active(false)).await?;
        let events = self.post(self.plan.backlog).await?;
        let before = self.receiver.begin();
        let journal = self.site.engine.stats().journal_bytes;
        let (cpu, since) = (self.site.actors.cpu(), Instant::now());
        self.order(number, active(true)).await?;
        let arrived = || {
            let now = self.receiver.arrived();
            now.events.saturating_sub(before.events)
        };
        while arrived() < events {
            ensure!(since.elapsed() < DRAIN_MAX, "a backlog does not drain");
            tokio::time::sleep(LOOK).await;
        }
        let drain_nanos = nanos(since.elapsed());
        let cpu = machine::spent(&cpu, &self.site.actors.cpu());
        // The store's threads may still be busy with earlier work.
        let cpu = machine::of_actors(&cpu);
        self.order(number, WebhookOrder::Remove).await?;
        let noted = self.site.engine.stats().journal_bytes;
        let noted = noted.saturating_sub(journal);
        super::say(&format!(
            "{} events that nobody fetches",
            self.plan.undelivered
        ));
        let first = machine::memory().0;
        self.post(self.plan.undelivered).await?;
        let second = machine::memory().0;
        let disk = machine::disk_bytes(self.folder);
        let number = self.subscribe(self.receiver.refusing()).await?;
        let undelivered = self.post(self.plan.undelivered).await?;
        let third = machine::memory().0;
        let disk = machine::disk_bytes(self.folder).saturating_sub(disk);
        self.order(number, WebhookOrder::Remove).await?;
        Ok(Backlog {
            events,
            drain_nanos,
            journal_bytes_per_delivery: scaled(noted, 1, events),
            cpu_nanos_per_delivery: scaled(cpu, 1, events),
            undelivered,
            memory: [first, second, third],
            disk_bytes_per_voucher: scaled(disk, 1, undelivered),
        })
    }

    /// Posts this many vouchers in bulk; returns how many it posted.
    async fn post(&mut self, vouchers: u64) -> anyhow::Result<u64> {
        let accounts = usize::try_from(self.plan.accounts).unwrap_or(usize::MAX);
        let whole = u64::try_from(BULK).unwrap_or(1);
        let bulk = whole.min(vouchers).max(1);
        let of = vouchers.checked_div(bulk).unwrap_or(0);
        let size = usize::try_from(bulk).unwrap_or(1);
        let job = Job {
            way: Way::Http(self.site.addr),
            connections: LOADING,
            mix: Mix::Bulk(size, Over::Many(accounts)),
            end: End::Answers { warm_up: 0, of },
        };
        self.load(job).await?;
        Ok(of.saturating_mul(bulk))
    }

    async fn load(&mut self, job: Job) -> anyhow::Result<Measured> {
        let tally = std::mem::take(&mut self.tally);
        let (measured, tally) = load::run(self.site, job, tally).await?;
        self.tally = tally;
        self.wrong += measured.wrong;
        if self.first_wrong.is_none() {
            self.first_wrong.clone_from(&measured.first_wrong);
        }
        Ok(measured)
    }

    /// Creates a webhook for events from now on.
    async fn subscribe(&self, url: String) -> anyhow::Result<u64> {
        self.receiver.begin();
        let order = WebhookOrder::Create {
            url,
            types: None,
            description: None,
            format: WebhookFormat::Standard,
            secret: sealed()?,
        };
        self.order(0, order).await
    }

    async fn order(&self, number: u64, order: WebhookOrder) -> anyhow::Result<u64> {
        let engine = &self.site.engine;
        let given = engine
            .order_webhook(self.site.realm, number, order, asker())
            .await
            .context("a webhook of the bench")?;
        match given {
            Given::Value(webhook) => Ok(webhook.number),
            other => anyhow::bail!("a webhook of the bench: {other:?}"),
        }
    }
}

const fn active(on: bool) -> WebhookOrder {
    WebhookOrder::Change {
        url: None,
        types: None,
        description: None,
        format: None,
        active: Some(on),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_run_delivers_a_backlog_in_order_and_leaves_the_ledger_right() {
        let folder = tempfile::tempdir().unwrap();
        let plan = Plan {
            rounds: 1,
            time: (Duration::from_millis(5), Duration::from_millis(60)),
            accounts: 20,
            connections: 8,
            backlog: 100,
            undelivered: 200,
            layout: Layout {
                workers: 1,
                arbiters: 1,
                spread: false,
                memory: None,
                resident: None,
            },
        };
        let hooked = super::super::on_system(run(folder.path(), &plan)).unwrap();
        assert_eq!(hooked.first_wrong, None);
        assert!(hooked.audit.passed(), "{:?}", hooked.audit);
        assert_eq!(hooked.wrong_deliveries, 0);
        assert_eq!((hooked.backlog.events, hooked.lines.len()), (100, 4));
        assert_eq!(
            hooked.ratio(State::Nobody).map(|it| it.0 > 0),
            Some(hooked.lines.iter().any(|it| it.per_second > 0))
        );
    }
}
