//! A realm moves to and fro while 64 clients work in it: nothing is lost, and nothing is there twice.
//!
//! `CAUDAL_MOVES` sets how often it moves, 4 by default. Each move copies more than the one before, so clients read
//! more often than they order.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use caudal_ledger::events::EventId;
use futures_util::future::join_all;

use super::{PATIENCE, brought};
use crate::support::{Client, Setup, TestService, Value, json, wait_until};

/// How often the realm moves.
const MOVES: &str = "CAUDAL_MOVES";
/// How many clients work.
const CLIENTS: usize = 64;
/// How often a client reads between two orders.
const READS: usize = 40;
/// How many orders are carried out at least between two moves.
const ORDERS: u64 = 40;
/// About how many orders are carried out at most between two moves: the amount to copy then does not depend on how
/// long a move takes.
const ORDERS_MAX: u64 = 640;

/// Shorter waits are not recorded.
const KEPT: Duration = Duration::from_millis(5);
/// How many requests of each realm pass a second: enough that, even if all clients wait at once, none waits longer
/// than a client may.
const PACE: u32 = 2000;
/// How many clients work in the tenant that stays in its cell.
const BESIDE: usize = 4;

/// One wait: for a read, or for an order from its first try until it was acknowledged.
#[derive(Clone, Copy)]
struct Wait {
    began: Instant,
    ended: Instant,
}

/// The waits of the clients of one tenant.
#[derive(Default)]
struct Waits(Mutex<Vec<Wait>>);

impl Waits {
    fn note(&self, began: Instant) {
        let ended = Instant::now();
        if ended - began >= KEPT {
            self.0.lock().unwrap().push(Wait { began, ended });
        }
    }

    /// Of the longest waits during each move, the median and the maximum, in milliseconds.
    fn longest(&self, moves: &[(Instant, Instant)]) -> (u128, u128) {
        let waits = self.0.lock().unwrap();
        let during = |(from, to): &(Instant, Instant)| {
            let all = waits
                .iter()
                .filter(|it| it.ended >= *from && it.began <= *to);
            let all = all.map(|it| (it.ended - it.began).as_millis());
            all.max().unwrap_or_default()
        };
        let mut longest: Vec<_> = moves.iter().map(during).collect();
        longest.sort_unstable();
        (longest[longest.len() / 2], longest[longest.len() - 1])
    }
}

/// The results of all clients.
#[derive(Default)]
struct Tally {
    waits: Waits,
    beside: Waits,
    done: AtomicU64,
    /// How many orders may be carried out before the next move is over.
    allowed: AtomicU64,
    /// Answers that nothing was done, or that the outcome is unknown.
    again: AtomicU64,
    reads: AtomicU64,
    over: AtomicBool,
}

/// Retries an order with the same key until it is acknowledged.
async fn surely(client: &Client, tally: &Tally, path: &str, body: &Value, key: &str) -> Value {
    let since = Instant::now();
    let done = wait_until(key, PATIENCE, async || {
        let answer = client.post(path, body).key(key).answer().await?;
        match answer.status {
            200 | 201 => Some(answer.json),
            409 | 429 | 503 => {
                tally.again.fetch_add(1, Ordering::Relaxed);
                None
            }
            other => panic!("{other} {}: {key}", answer.text),
        }
    })
    .await;
    tally.done.fetch_add(1, Ordering::Relaxed);
    tally.waits.note(since);
    done
}

/// Works until all moves are over; returns what its own account and the next one received, in centavos.
async fn works(client: &Client, tally: &Tally, number: usize, cvus: &[String]) -> (i64, i64) {
    let (own, next) = (&cvus[number], &cvus[(number + 1) % cvus.len()]);
    let (mut here, mut beside) = (0, 0);
    let vouchers = format!("/v1/accounts/{own}/comprobantes");
    let holds = format!("/v1/accounts/{own}/holds");
    let mut turn = 0;
    // so that not all clients are in step
    let (mut reads, balance) = (number % READS, format!("/v1/accounts/{own}/balance"));
    while turn < 2 || !tally.over.load(Ordering::Relaxed) {
        let enough = tally.done.load(Ordering::Relaxed) >= tally.allowed.load(Ordering::Relaxed);
        if turn > 0 && (reads < READS || (turn > 1 && enough)) {
            let since = Instant::now();
            let answer = client.get(&balance).answer().await;
            tally.waits.note(since);
            if answer.is_some_and(|it| it.status == 200) {
                tally.reads.fetch_add(1, Ordering::Relaxed);
            }
            reads += 1;
            continue;
        }
        reads = 0;
        let name = |what: &str| format!("{what}-{number}-{turn}");
        let id = name("in");
        let body = json!({"voucherTypeCode": "IN", "amount": "10.00", "idExterno": id});
        surely(client, tally, &vouchers, &body, &id).await;
        let id = name("hold");
        let body = json!({"amount": "3.00", "idExterno": id});
        let hold = surely(client, tally, &holds, &body, &id).await;
        let step = format!("/v1/holds/{}/confirm", hold["id"].as_str().unwrap());
        let body = json!({"amount": "1.00"});
        surely(client, tally, &step, &body, &name("confirm")).await;
        let step = format!("/v1/holds/{}/release", hold["id"].as_str().unwrap());
        let body = json!({"amount": "2.00"});
        surely(client, tally, &step, &body, &name("release")).await;
        let id = name("transfer");
        let body = json!({"fromCvu": own, "to": {"cvu": next}, "amount": "0.75", "idExterno": id});
        surely(client, tally, "/v1/transfers", &body, &id).await;
        here += 1000 - 100 - 75;
        beside += 75;
        turn += 1;
    }
    // the realm still knows the last acknowledged order by its key, wherever it lies now
    let id = format!("in-{number}-{}", turn - 1);
    let body = json!({"voucherTypeCode": "IN", "amount": "10.00", "idExterno": id});
    let again = wait_until(&id, PATIENCE, async || {
        let answer = client.post(&vouchers, &body).key(&id).answer().await?;
        (answer.status == 201).then_some(answer)
    })
    .await;
    assert!(again.replayed(), "{id}");
    (here, beside)
}

/// Works in another tenant until all moves are over; returns its account's CVU and what it received, in pesos.
async fn stays(client: &Client, tally: &Tally, number: usize) -> (String, u64) {
    let cvu = client.cvu().await;
    let (balance, mut posted) = (format!("/v1/accounts/{cvu}/balance"), 0);
    while posted == 0 || !tally.over.load(Ordering::Relaxed) {
        for read in 0..=READS {
            let since = Instant::now();
            if read == number {
                client.credit(&cvu, "1.00").await;
                posted += 1;
            } else {
                client.get(&balance).await.is(200);
            }
            tally.beside.note(since);
        }
    }
    (cvu, posted)
}

/// The number of events; checks that their numbers are in order and without a gap.
async fn events(client: &Client) -> u64 {
    let (mut after, mut seen) = (String::new(), 0_u64);
    loop {
        let page = client.get(&format!("/v1/events?limit=200{after}")).await;
        let page = page.is(200).json.clone();
        for event in page["items"].as_array().unwrap() {
            seen += 1;
            let id = EventId::parse(event["id"].as_str().unwrap()).unwrap();
            assert_eq!(id.number, seen);
        }
        match page["next"].as_str() {
            Some(next) => after = format!("&after={next}"),
            None => return seen,
        }
    }
}

/// Prints how long clients waited during the moves, and how long the moves took.
fn told(tally: &Tally, times: &[(Instant, Instant)]) {
    let mut took: Vec<_> = times
        .iter()
        .map(|(from, to)| (*to - *from).as_millis())
        .collect();
    took.sort_unstable();
    let (waited, beside) = (tally.waits.longest(times), tally.beside.longest(times));
    println!(
        "a move took {} ms, {} at most; the longest wait during one was {} ms, {} at most; of the other tenant {} ms, {} \
         at most (each in the middle, and of all)",
        took[took.len() / 2],
        took[took.len() - 1],
        waited.0,
        waited.1,
        beside.0,
        beside.1,
    );
}

#[actix_web::test]
async fn nothing_is_lost_while_a_realm_goes_to_and_fro() {
    let moves = std::env::var(MOVES).map_or(4, |text| text.parse::<u32>().unwrap());
    assert!(moves > 0);
    let service = TestService::with(Setup {
        cells: 2,
        pace: Some(PACE),
        ..Setup::default()
    });
    let mut service = service.await;
    service.b.in_and_out().await;
    let mut cvus = Vec::new();
    for _ in 0..CLIENTS {
        cvus.push(service.b.cvu().await);
    }
    let tally = Tally::default();
    let clients = (0..CLIENTS).map(|number| works(&service.b, &tally, number, &cvus));
    service.a.in_and_out().await;
    let others = (0..BESIDE).map(|number| stays(&service.a, &tally, number));
    let mover = async {
        let mut times = Vec::new();
        for turn in 0..moves {
            let began = Instant::now();
            brought(&service, (turn + 1) % 2).await;
            times.push((began, Instant::now()));
            let done = tally.done.load(Ordering::Relaxed);
            tally.allowed.store(done + ORDERS_MAX, Ordering::Relaxed);
            let wanted = done + ORDERS;
            wait_until("clients order something", PATIENCE, async || {
                (tally.done.load(Ordering::Relaxed) >= wanted).then_some(())
            })
            .await;
        }
        tally.over.store(true, Ordering::Relaxed);
        times
    };
    let (times, came, beside) = tokio::join!(mover, join_all(clients), join_all(others));
    told(&tally, &times);
    for (cvu, posted) in beside {
        assert_eq!(service.a.available(&cvu).await, format!("{posted}.00"));
    }
    let (done, again) = (tally.done.into_inner(), tally.again.into_inner());
    let reads = tally.reads.into_inner();
    println!("{moves} moves, {done} orders done, {again} tries refused, {reads} balances read");
    for life in 0..2 {
        for (number, cvu) in cvus.iter().enumerate() {
            let from = came[(number + CLIENTS - 1) % CLIENTS].1;
            let wanted = came[number].0 + from;
            let wanted = format!("{}.{:02}", wanted / 100, wanted % 100);
            let funds = service.b.funds(cvu).await;
            assert_eq!(funds, (wanted, "0.00".to_owned()), "life {life}, {cvu}");
        }
        service.verified().await;
        service.crash().await;
    }
    let all = events(&service.b).await;
    let told = service
        .engine()
        .last_event(caudal_ledger::ids::RealmId(4))
        .unwrap();
    assert_eq!(all, told, "every event once");
}
