//! A thousand snapshots while many clients post and transfer through both families: each is the sum of
//! the positions after exactly as many vouchers as it names.
//!
//! **Shape.** The amounts are chosen so that a snapshot shows how often each thing has happened: a
//! credit is 1,000.00, a debit 0.01, a hold 0.01 that stays, and a transfer two vouchers that change
//! no sum. Seen from outside that has to be whole, never more than was ordered and never less than
//! was granted before. Only the journal has the order of the vouchers: by it, each snapshot has to
//! be the sum of all balances after as many vouchers as it names. The bank is away, so that each
//! snapshot shows the present.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use tokio::sync::watch;
use tokio::time::timeout;

use super::cuts::cuts;
use super::{PATH, POSITIONS};
use crate::support::client::fresh;
use crate::support::{Client, SOON, TestService, Value, json};

/// How many clients move money, and how many read snapshots.
const MOVERS: usize = 64;
const WATCHERS: usize = 20;
/// How many snapshots are taken; half as many again in the wallet family.
const SNAPSHOTS: usize = 1_000;
/// How many accounts share the movements.
const ACCOUNTS: usize = 8;

/// The things that happen, by their index in the counters.
const CREDIT: usize = 0;
const DEBIT: usize = 1;
const HOLD: usize = 2;
const TRANSFER: usize = 3;

/// How often each thing was ordered, and granted.
#[derive(Default)]
struct Counters {
    asked: [AtomicI64; 4],
    granted: [AtomicI64; 4],
    stop: AtomicBool,
    /// How many movements were granted; lets others wait for more.
    moved: watch::Sender<usize>,
}

impl Counters {
    /// Waits until a movement was granted that was ordered after this call: each mover has at most
    /// one under way.
    async fn goes_on(&self) {
        let mut moved = self.moved.subscribe();
        let enough = *moved.borrow_and_update() + MOVERS + 1;
        let more = timeout(SOON, moved.wait_for(|moved| *moved >= enough)).await;
        drop(more.expect("money moves").unwrap());
    }
}

fn read(counters: &[AtomicI64; 4]) -> [i64; 4] {
    counters.each_ref().map(|it| it.load(Ordering::SeqCst))
}

/// A client that moves money among the accounts until it is told to stop.
async fn mover(client: Client, number: usize, cvus: Arc<Vec<String>>, counters: Arc<Counters>) {
    let mut n = number;
    while !counters.stop.load(Ordering::Acquire) {
        n += 1;
        let (at, kind) = (n % ACCOUNTS, n / 3 % 5);
        let (cvu, other) = (
            &cvus[at],
            &cvus[(at + 1 + n / 7 % (ACCOUNTS - 1)) % ACCOUNTS],
        );
        let id = format!("load-{}", fresh());
        let kind = kind.min(TRANSFER);
        counters.asked[kind].fetch_add(1, Ordering::SeqCst);
        let native = |code: &str, amount: &str| client.voucher(cvu, code, amount, &id);
        let wallet = |code: &str, amount: f64| {
            let body =
                json!({"idCuenta": at + 1, "importe": amount, "codigo": code, "idExterno": id});
            client.post("/wallet/v1/Comprobante", &body)
        };
        let answer = match (kind, n % 2) {
            (CREDIT, 0) => native("IN", "1000.00").await,
            (CREDIT, _) => wallet("IN", 1000.0).await,
            (DEBIT, 0) => native("OUT", "0.01").await,
            (DEBIT, _) => wallet("OUT", 0.01).await,
            (HOLD, _) => {
                let body = json!({"amount": "0.01", "idExterno": id});
                client
                    .post(&format!("/v1/accounts/{cvu}/holds"), &body)
                    .await
            }
            _ => client.transfer(cvu, json!({"cvu": other}), "0.37").await,
        };
        answer.is(201);
        counters.granted[kind].fetch_add(1, Ordering::SeqCst);
        counters.moved.send_modify(|moved| *moved += 1);
    }
}

fn centavos(text: &str) -> i64 {
    text.replace('.', "").parse().unwrap()
}

/// How often each thing had happened, according to a snapshot and its number of vouchers.
fn decoded(sequence: u64, available: i64, held: i64) -> [i64; 4] {
    let total = available + held;
    let credits = total.div_euclid(100_000) + i64::from(total.rem_euclid(100_000) > 0);
    let debits = credits * 100_000 - total;
    let halves = i64::try_from(sequence).unwrap() - credits - debits - held;
    assert!(
        halves >= 0 && halves % 2 == 0,
        "half a transfer at {sequence}: {available} {held}"
    );
    [credits, debits, held, halves / 2]
}

/// The ledger's side of a snapshot: its sequence, available, held.
fn side(taken: &Value) -> (u64, (String, String)) {
    let funds = &taken["clientFunds"];
    let text = |name: &str| funds[name].as_str().unwrap().to_owned();
    let (available, held) = (text("available"), text("held"));
    assert_eq!(
        centavos(&available) + centavos(&held),
        centavos(&text("total"))
    );
    (taken["sequence"].as_u64().unwrap(), (available, held))
}

type Seen = (
    Vec<(u64, (String, String))>,
    Vec<(u64, u64, (String, String))>,
);

/// A client that reads snapshots of both families, and never sees less than before.
async fn watcher(client: Client, counters: Arc<Counters>) -> Seen {
    let (mut native, mut wallet) = (Vec::new(), Vec::new());
    let mut last = [0; 4];
    for _ in 0..SNAPSHOTS / 2 / WATCHERS {
        let before = read(&counters.granted);
        let taken = client.get(PATH).await.is(200);
        let after = read(&counters.asked);
        let (sequence, funds) = side(&taken.json);
        let now = decoded(sequence, centavos(&funds.0), centavos(&funds.1));
        for kind in [CREDIT, DEBIT, HOLD, TRANSFER] {
            let least = before[kind].max(last[kind]);
            assert!(
                (least..=after[kind]).contains(&now[kind]),
                "{least} {now:?} {after:?}"
            );
        }
        last = now;
        let spanish = client.get("/wallet/v1/Tesoreria").await.is(200);
        let written = |name: &str| {
            // The number as it is sent, to the centavo.
            let (_, rest) = spanish.text.split_once(&format!("\"{name}\":")).unwrap();
            rest.split([',', '}']).next().unwrap().to_owned()
        };
        let funds_then = (written("saldoDisponible"), written("saldoRetenido"));
        native.push((sequence, funds));
        // It has no sequence, but is no earlier than the snapshot before it.
        let next = side(&client.get(PATH).await.is(200).json);
        wallet.push((sequence, next.0, funds_then));
        native.push(next);
        counters.goes_on().await;
    }
    (native, wallet)
}

#[actix_web::test]
async fn a_thousand_snapshots_under_load_are_the_sums_of_their_sequence() {
    let service = TestService::start().await;
    service.bank.is_away().await;
    service.a.in_and_out().await;
    let counters = Arc::new(Counters::default());
    let mut cvus = Vec::new();
    for _ in 0..ACCOUNTS {
        let cvu = service.a.cvu().await;
        service.a.credit(&cvu, "1000.00").await;
        for counter in [&counters.asked, &counters.granted] {
            counter[CREDIT].fetch_add(1, Ordering::SeqCst);
        }
        cvus.push(cvu);
    }
    let cvus = Arc::new(cvus);
    let movers: Vec<_> = (0..MOVERS)
        .map(|n| {
            let (cvus, counters) = (Arc::clone(&cvus), Arc::clone(&counters));
            actix_web::rt::spawn(mover(service.a.clone(), n, cvus, counters))
        })
        .collect();
    let watchers: Vec<_> = (0..WATCHERS)
        .map(|_| actix_web::rt::spawn(watcher(service.a.clone(), Arc::clone(&counters))))
        .collect();
    let (mut native, mut wallet) = (Vec::new(), Vec::new());
    for watcher in watchers {
        let (one, other) = watcher.await.unwrap();
        native.extend(one);
        wallet.extend(other);
    }
    counters.stop.store(true, Ordering::Release);
    for mover in movers {
        mover.await.unwrap();
    }
    assert_eq!((native.len(), wallet.len()), (SNAPSHOTS, SNAPSHOTS / 2));
    let right = cuts(&service);
    for (sequence, sums) in &native {
        assert_eq!(right.get(sequence), Some(sums), "at {sequence}");
    }
    for (first, last, sums) in &wallet {
        let found = right.range(first..=last).any(|(_, right)| right == sums);
        assert!(found, "{sums:?} is no cut from {first} to {last}");
    }
    let distinct: BTreeSet<_> = native.iter().map(|(sequence, _)| sequence).collect();
    println!(
        "{} cuts of {} vouchers",
        distinct.len(),
        right.keys().last().unwrap()
    );
    assert!(
        distinct.len() >= SNAPSHOTS / 2 / WATCHERS,
        "{} cuts",
        distinct.len()
    );
    // When all is quiet the positions equal the snapshot, and every granted movement is in it.
    let (sequence, funds) = side(&service.a.get(PATH).await.is(200).json);
    let now = decoded(sequence, centavos(&funds.0), centavos(&funds.1));
    assert_eq!((now, now), (read(&counters.granted), read(&counters.asked)));
    let listed = service.a.get(POSITIONS).await.is(200);
    let sum = |name: &str| {
        let items = listed["items"].as_array().unwrap().iter();
        items.map(|it| centavos(it[name].as_str().unwrap())).sum()
    };
    assert_eq!(
        (centavos(&funds.0), centavos(&funds.1)),
        (sum("available"), sum("held"))
    );
}
