//! kill −9 of a real process while 64 clients send transfers, to accounts of the realm and through a
//! bank that keeps running: every acknowledged transfer is there once and ends once, and the books
//! of both sides are the same.
//!
//! The service is started again on the same folder each time; transfers without an answer are sent
//! again with the same external id. `CAUDAL_TRANSFERS` and `CAUDAL_TRANSFER_KILLS` set how many
//! transfers and kills, 300 and 2 by default.

mod books;
pub mod site;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use caudal_ledger::cvu::Cbu;

use crate::support::{Answer, Client, Value, json, wait_until};
use site::Site;

/// How many transfers are sent.
const TRANSFERS: &str = "CAUDAL_TRANSFERS";
/// How often the service is killed in the meantime.
const KILLS: &str = "CAUDAL_TRANSFER_KILLS";
/// How many clients send at the same time.
const CLIENTS: usize = 64;
/// How many accounts they share, so that all are hot.
const ACCOUNTS: usize = 16;
/// The initial balance of each account, in centavos.
const FIRST: i64 = 100_000_000;
/// Every how many transfers money arrives as well.
const CASH_IN_EVERY: usize = 20;
/// Every how many transfers one is sent again although it was acknowledged.
const AGAIN_EVERY: usize = 16;
/// How long the clients may take to send everything.
const SENT: Duration = Duration::from_secs(900);
/// How long a client waits before it retries, unless the service is back earlier.
const PATIENCE: Duration = Duration::from_millis(100);

fn amount(centavos: i64) -> String {
    format!("{}.{:02}", centavos / 100, centavos % 100)
}

/// One transfer, as it is sent.
#[derive(Clone, Debug)]
struct Order {
    from: usize,
    to: Value,
    centavos: i64,
    /// The receiving account, if it is one of the realm.
    receiver: Option<usize>,
    /// The status in which it has to end.
    end: &'static str,
}

/// The transfer with this number: a mix of all destinations.
fn order(number: usize, accounts: &[(String, String)]) -> Order {
    let from = number % ACCOUNTS;
    let neighbour = (from + 1 + number / 7 % (ACCOUNTS - 1)) % ACCOUNTS;
    let (cvu, alias) = &accounts[neighbour];
    let digit = |digit: u8| json!({"alias": format!("destino.{digit}")});
    let unknown = || {
        let account = u64::try_from(number).unwrap() * 10;
        let key = Cbu::compose(11, 590, 700_000 + account + 7).unwrap();
        json!({"cbu": key.to_string()})
    };
    let (to, inside, end) = match number % 10 {
        0 | 8 => (json!({"cvu": cvu}), true, "completed"),
        1 => (json!({"alias": alias}), true, "completed"),
        2 => (digit(0), false, "completed"),
        3 => (digit(1), false, "rejected"),
        4 => (digit(3), false, "reversed"),
        5 => (digit(4), false, "completed"),
        6 => (digit(9), false, "completed"),
        _ => (unknown(), false, "completed"),
    };
    Order {
        from,
        to,
        centavos: 100 + i64::try_from(number % 50).unwrap(),
        receiver: inside.then_some(neighbour),
        end,
    }
}

/// The rail id of the money that arrives with a transfer.
fn rail_id(number: usize) -> String {
    format!("KILLS{number:017}")
}

/// The state that all clients share.
struct Load {
    client: Client,
    bank: Client,
    accounts: Vec<(String, String)>,
    /// The business day on which the first transfers are sent.
    day: String,
    count: usize,
    next: AtomicUsize,
    /// The ids of the acknowledged transfers, by number.
    done: Mutex<BTreeMap<usize, String>>,
    /// How many requests had no answer, or were refused with 503.
    cut_off: AtomicUsize,
    /// Grows with each start of the service.
    starts: tokio::sync::watch::Sender<u64>,
}

impl Load {
    fn id_of(number: usize) -> String {
        format!("kill-{number}")
    }

    async fn send(&self, number: usize) -> Option<Answer> {
        let order = order(number, &self.accounts);
        let body = json!({
            "fromCvu": self.accounts[order.from].0,
            "to": order.to,
            "amount": amount(order.centavos),
            "idExterno": Self::id_of(number),
        });
        let answer = self.client.post("/v1/transfers", &body).answer().await?;
        if answer.status == 201 {
            return Some(answer);
        }
        // The service has promised nothing, and the client retries.
        assert_eq!(answer.status, 503, "{}", answer.text);
        None
    }

    /// Sends one transfer until it is acknowledged, and perhaps once more; some are accompanied by
    /// money that arrives.
    async fn through(&self, number: usize) {
        if number.is_multiple_of(CASH_IN_EVERY) {
            let (cvu, id) = (&self.accounts[number % ACCOUNTS].0, rail_id(number));
            let body = json!({"cvu": cvu, "amount": "3.21", "coelsaId": id});
            self.bank.post("/sandbox/cash-in", &body).await.is(200);
        }
        let mut starts = self.starts.subscribe();
        let mut again = number.is_multiple_of(AGAIN_EVERY);
        loop {
            let Some(answer) = self.send(number).await else {
                self.cut_off.fetch_add(1, Ordering::Relaxed);
                // After either of the two the client retries.
                tokio::time::timeout(PATIENCE, starts.changed()).await.ok();
                continue;
            };
            let id = answer["id"].as_str().unwrap().to_owned();
            let before = self.done.lock().unwrap().insert(number, id.clone());
            assert!(before.is_none_or(|before| before == id), "{number}");
            if !again {
                return;
            }
            again = false;
        }
    }

    async fn work(&self) {
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            if number >= self.count {
                return;
            }
            self.through(number).await;
        }
    }

    /// Waits until this many are acknowledged.
    async fn reaches(&self, count: usize) {
        wait_until("the load goes on", SENT, async || {
            (self.done.lock().unwrap().len() >= count).then_some(())
        })
        .await;
    }
}

/// Opens accounts with enough money for the transfers in any order; returns their CVUs and aliases.
async fn prepare(client: &Client) -> Vec<(String, String)> {
    client.in_and_out().await;
    let mut accounts = Vec::new();
    for _ in 0..ACCOUNTS {
        let account = client.open_account().await;
        let text = |name: &str| account[name].as_str().unwrap().to_owned();
        client.credit(&text("cvu"), &amount(FIRST)).await;
        accounts.push((text("cvu"), text("alias")));
    }
    accounts
}

fn setting(name: &str, usual: usize) -> usize {
    std::env::var(name).map_or(usual, |text| text.parse().unwrap())
}

/// A random number below a bound.
fn chance(bound: usize) -> usize {
    let hasher = std::hash::RandomState::new();
    let number = std::hash::BuildHasher::hash_one(&hasher, bound);
    usize::try_from(number % 1_000_000).unwrap() % bound.max(1)
}

#[actix_web::test]
async fn transfers_live_through_kill_9_once() {
    let (count, kills) = (setting(TRANSFERS, 300), setting(KILLS, 2));
    let (mut site, since) = (Site::start().await, Instant::now());
    let day = site.client.get("/v1/bank/conciliacion").await.is(200)["fecha"]
        .as_str()
        .unwrap()
        .to_owned();
    let load = Arc::new(Load {
        day,
        client: site.client.clone(),
        bank: site.bank.clone(),
        accounts: prepare(&site.client).await,
        count,
        next: AtomicUsize::new(0),
        done: Mutex::default(),
        cut_off: AtomicUsize::new(0),
        starts: tokio::sync::watch::channel(0).0,
    });
    let work = |_| {
        let load = Arc::clone(&load);
        actix_web::rt::spawn(async move { load.work().await })
    };
    let tasks: Vec<_> = (0..CLIENTS).map(work).collect();
    let step = count / (kills + 1);
    for kill in 0..kills {
        load.reaches(kill * step + 1 + chance(step)).await;
        site.end("KILL").await;
        site.begin().await;
        load.starts.send_modify(|starts| *starts += 1);
    }
    for task in tasks {
        task.await.unwrap();
    }
    let (sent, cut_off) = (since.elapsed(), load.cut_off.load(Ordering::Relaxed));
    let figures = books::agree(&site, &load).await;
    let status = site.end("TERM").await;
    assert_eq!(status.code(), Some(0));
    site.verify();
    println!(
        "{count} transfers, {kills} kills, {cut_off} requests without an answer, sent in {sent:?}, \
         all in {:?}: {figures}",
        since.elapsed()
    );
}
