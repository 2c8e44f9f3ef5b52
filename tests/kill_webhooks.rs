//! kill −9 of a real process while it sends events to a receiver that fails, hangs, drips, redirects,
//! hangs up and answers too late: in the end that receiver has every event, byte by byte as in
//! the feed and first taken in the order of its account, and nobody else had to wait for it.
//!
//! `CAUDAL_WEBHOOK_ORDERS` and `CAUDAL_WEBHOOK_KILLS` set how many orders and kills, 320 and 2 by
//! default; `CAUDAL_WEBHOOK_SEED` repeats the receiver's behaviour.

mod certificate;
mod chaos;
mod feed;

use std::net::{Ipv4Addr, TcpListener};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use rustls::ServerConfig;
use tokio::time::MissedTickBehavior;

use crate::kill_transfers::site::Site;
use crate::support::client::Call;
use crate::support::{Answer, Client, json, wait_until};
use crate::webhooks::hook::Hook;
use crate::webhooks::inbox::{Fate, Inbox};
use chaos::Chaos;
use feed::Feed;

/// How many orders are sent.
const ORDERS: &str = "CAUDAL_WEBHOOK_ORDERS";
/// How often the service is killed in the meantime.
const KILLS: &str = "CAUDAL_WEBHOOK_KILLS";
/// The seed of the chaos.
const SEED: &str = "CAUDAL_WEBHOOK_SEED";
/// How many clients send at the same time.
const CLIENTS: usize = 8;
/// How many accounts they share.
const ACCOUNTS: usize = 16;
/// The port that the service sends to.
const PORT: u16 = 8443;
/// Each client sends one order in this time: slower than even this machine can deliver events.
const PACE: Duration = Duration::from_millis(160);
/// The waits are milliseconds here, not minutes: the timeout, the pauses, and those of the brake.
const SETTINGS: &str = "webhook_timeout_ms = 400\nwebhook_retry_ms = [40, 80, 160]\n\
                        webhook_brake_ms = [40, 80]\n";
/// How long everything may take to be sent, or to arrive.
const LONG: Duration = Duration::from_secs(120);
/// How long a client waits before it retries, unless the service is back earlier.
const PATIENCE: Duration = Duration::from_millis(100);

fn setting(name: &str, usual: usize) -> usize {
    std::env::var(name).map_or(usual, |text| text.parse().unwrap())
}

/// Some addresses of this machine that only this process uses.
fn addresses<const N: usize>() -> [(Ipv4Addr, TcpListener); N] {
    let [_, _, high, low] = std::process::id().to_be_bytes();
    let mut free = (1..=250).filter_map(|last| {
        let ip = Ipv4Addr::new(127, high | 1, low, last);
        Some((ip, TcpListener::bind((ip, PORT)).ok()?))
    });
    std::array::from_fn(|_| free.next().unwrap())
}

/// The state that all clients share.
struct Load {
    client: Client,
    cvus: Vec<String>,
    count: usize,
    next: AtomicUsize,
    done: AtomicUsize,
    cut_off: AtomicUsize,
    /// Grows with each start of the service.
    starts: tokio::sync::watch::Sender<u64>,
}

impl Load {
    /// Sends a request under a key until it is acknowledged.
    async fn through(&self, key: &str, call: impl Fn() -> Call) -> Answer {
        let mut starts = self.starts.subscribe();
        loop {
            match call().key(key).answer().await {
                Some(answer) if answer.status < 300 => return answer,
                Some(answer) => assert_eq!(answer.status, 503, "{}", answer.text),
                None => {}
            }
            self.cut_off.fetch_add(1, Ordering::Relaxed);
            tokio::time::timeout(PATIENCE, starts.changed()).await.ok();
        }
    }

    async fn order(&self, number: usize) {
        let cvu = &self.cvus[number % ACCOUNTS];
        let id = format!("order-{number}");
        let voucher = |code: &'static str, amount: &'static str| {
            let id = &id;
            move || self.client.voucher(cvu, code, amount, id)
        };
        match number / ACCOUNTS % 6 {
            0 | 1 => drop(self.through(&id, voucher("IN", "10.01")).await),
            2 => drop(self.through(&id, voucher("OUT", "1.50")).await),
            3 => {
                let body = json!({"amount": "2.00", "idExterno": id});
                let path = format!("/v1/accounts/{cvu}/holds");
                let hold = self.through(&id, || self.client.post(&path, &body)).await;
                for (step, amount) in [("confirm", "0.75"), ("release", "1.00")] {
                    let key = format!("{id}-{step}");
                    let call = || self.client.step(&hold.json, step, amount);
                    self.through(&key, call).await;
                }
            }
            4 => {
                let to = &self.cvus[(number + 1 + number / 100) % ACCOUNTS];
                let to = if to == cvu {
                    &self.cvus[(number + 1) % ACCOUNTS]
                } else {
                    to
                };
                let body = json!({
                    "fromCvu": cvu, "to": {"cvu": to}, "amount": "0.33", "idExterno": id,
                });
                let call = || self.client.post("/v1/transfers", &body);
                self.through(&id, call).await;
            }
            _ => {
                let path = format!("/v1/accounts/{cvu}/kyc");
                let body = json!({"email": format!("mail{number}@example.com")});
                let call = || self.client.patch(&path, &body);
                self.through(&id, call).await;
            }
        }
    }

    async fn work(&self) {
        let mut pace = tokio::time::interval(PACE);
        pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            pace.tick().await;
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            if number >= self.count {
                return;
            }
            self.order(number).await;
            self.done.fetch_add(1, Ordering::Relaxed);
        }
    }

    async fn reaches(&self, count: usize) {
        wait_until("the load goes on", LONG, async || {
            (self.done.load(Ordering::Relaxed) >= count).then_some(())
        })
        .await;
    }
}

/// The receivers.
struct Town {
    chaos: (Inbox, Hook),
    healthy: (Inbox, Hook),
    holds: (Inbox, Hook),
    dead: Hook,
    /// The target of redirects.
    forbidden: Inbox,
    /// An account of which chaos takes no event, once the account is known.
    hostage: Arc<OnceLock<String>>,
}

const HOLDS: &[&str] = &["hold.*", "transfer.completed"];

impl Town {
    async fn new(
        client: &Client,
        tls: &Arc<ServerConfig>,
        listeners: [(Ipv4Addr, TcpListener); 4],
        seed: u64,
    ) -> Self {
        let forbidden = Inbox::start();
        let [chaos, healthy, holds, dead] = listeners;
        let mut wild = Chaos::new(seed, vec![forbidden.url("/"), "/elsewhere".to_owned()]);
        let secure = |listener| Inbox::listen(listener, Some(Arc::clone(tls)), |_| Fate::Take);
        let (chaos, healthy, holds) = (secure(chaos.1), secure(healthy.1), secure(holds.1));
        let hostage = Arc::new(OnceLock::<String>::new());
        let taken = Arc::clone(&hostage);
        chaos.behave(move |request| match taken.get() {
            Some(cvu) if String::from_utf8_lossy(&request.body).contains(cvu) => {
                Fate::Say("500 Internal Server Error".to_owned())
            }
            _ => wild.fate(),
        });
        // Nobody listens there any more.
        let gone = format!("https://{}:{PORT}/", dead.0);
        drop(dead.1);
        let hook = async |inbox: &Inbox| Hook::new(client, &inbox.url("/in")).await;
        let dead = Hook::new(client, &gone).await;
        let (of_chaos, of_healthy) = (hook(&chaos).await, hook(&healthy).await);
        let of_holds = Hook::of(client, &holds.url("/in"), HOLDS).await;
        Self {
            chaos: (chaos, of_chaos),
            healthy: (healthy, of_healthy),
            holds: (holds, of_holds),
            dead,
            forbidden,
            hostage,
        }
    }
}

async fn accounts(client: &Client) -> Vec<String> {
    client.in_and_out().await;
    let mut cvus = Vec::new();
    for _ in 0..ACCOUNTS {
        let cvu = client.cvu().await;
        client.credit(&cvu, "1000.00").await;
        cvus.push(cvu);
    }
    cvus
}

/// Sends everything, with kills in between; returns how often clients had no answer.
async fn play(site: &mut Site, cvus: Vec<String>, count: usize, kills: usize) -> usize {
    let load = Arc::new(Load {
        client: site.client.clone(),
        cvus,
        count,
        next: AtomicUsize::new(0),
        done: AtomicUsize::new(0),
        cut_off: AtomicUsize::new(0),
        starts: tokio::sync::watch::channel(0).0,
    });
    let work = |_| {
        let load = Arc::clone(&load);
        actix_web::rt::spawn(async move { load.work().await })
    };
    let tasks: Vec<_> = (0..CLIENTS).map(work).collect();
    let step = count / (kills + 1);
    for kill in 1..=kills {
        load.reaches(kill * step).await;
        site.end("KILL").await;
        site.begin().await;
        load.starts.send_modify(|starts| *starts += 1);
    }
    for task in tasks {
        task.await.unwrap();
    }
    load.cut_off.load(Ordering::Relaxed)
}

#[actix_web::test]
async fn every_event_arrives_through_kill_9_and_chaos() {
    let (count, kills) = (setting(ORDERS, 320), setting(KILLS, 2));
    let seed = u64::try_from(setting(SEED, 7)).unwrap();
    let listeners = addresses::<4>();
    let (pem, tls) = certificate::make(&listeners.each_ref().map(|(ip, _)| *ip));
    let network = listeners[0].0;
    let settings = format!("{SETTINGS}webhook_networks = [\"{network}/24\"]");
    let (mut site, since) = (Site::with(&settings, Some(&pem)).await, Instant::now());
    let client = site.client.clone();
    let town = Town::new(&client, &tls, listeners, seed).await;
    let cvus = accounts(&client).await;
    town.hostage.set(cvus[0].clone()).unwrap();
    let cut_off = play(&mut site, cvus.clone(), count, kills).await;
    let sent = since.elapsed();

    // The other receivers have caught up while this one still misbehaves.
    for (_, hook) in [&town.healthy, &town.holds] {
        assert_eq!(hook.caught_up(LONG).await["status"], "active");
    }
    let behind = town.chaos.1.read().await;
    assert_ne!(behind["progress"]["waiting"], 0, "{behind}");
    let healthy = since.elapsed();
    let faced = town.chaos.0.calls();
    town.chaos.0.behave(|_| Fate::Take);
    let last = town.chaos.1.caught_up(LONG).await;
    assert_eq!(last["progress"]["parked"], 0, "{last}");
    let arrived = since.elapsed();
    assert!(town.forbidden.calls().is_empty(), "a redirect was followed");

    let feed = Feed::read(&client).await;
    let figures = feed.complete(&town.chaos.0, &town.chaos.1.secret, |_| true);
    let delays = feed.complete(&town.healthy.0, &town.healthy.1.secret, |_| true);
    feed.complete(&town.holds.0, &town.holds.1.secret, |kind| {
        kind.starts_with("hold.") || kind == "transfer.completed"
    });
    feed.rebuilds(&client, &cvus, &town.chaos.0).await;
    feed.listed(&town.chaos.1).await;
    let dead = town.dead.read().await;
    assert_eq!(
        (&dead["status"], &dead["progress"]["delivered"]),
        (&json!("failing"), &json!(0)),
        "{dead}"
    );
    assert_eq!(site.end("TERM").await.code(), Some(0));
    site.verify();
    println!(
        "{count} orders, {kills} kills, {cut_off} requests without an answer, sent in {sent:?}: {} \
         events; chaos (seed {seed}): {}; {figures}; healthy: {delays}, all of it after {healthy:?}; \
         chaos had all after {arrived:?}",
        feed.events.len(),
        chaos::counts(&faced),
    );
}
