//! Snapshots of a whole service while money moves, after a crash, and over a rebuilt index.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use caudal_actors::records::{LEDGER, decode};
use caudal_ledger::balance::Balance;
use caudal_ledger::facts::LedgerFact;
use caudal_ledger::money::Money;
use caudal_storage::CommitNo;
use tokio::sync::watch;
use tokio::time::timeout;

use super::PATH;
use crate::support::service::TENANT;
use crate::support::{Client, SOON, TestService, Value, json};

/// Available and held of all accounts after each commit, by the number of vouchers so far.
pub fn cuts(service: &TestService) -> BTreeMap<u64, (String, String)> {
    let engine = service.engine();
    let realm = engine.platform().tenants[TENANT].test.0;
    let mut balances: BTreeMap<u64, Balance> = BTreeMap::new();
    let (mut cuts, mut vouchers, mut last) = (BTreeMap::new(), 0, CommitNo(0));
    let sums = |balances: &BTreeMap<u64, Balance>| {
        let sum = |part: fn(&Balance) -> Money| {
            let centavos = balances.values().map(|balance| part(balance).centavos());
            Money::from_centavos(centavos.sum()).to_string()
        };
        (
            sum(|balance| balance.available),
            sum(|balance| balance.held),
        )
    };
    let visit = &mut |commit, entry: &caudal_storage::Entry| {
        if commit != last {
            cuts.insert(vouchers, sums(&balances));
            last = commit;
        }
        if (entry.stream.kind, entry.stream.realm) == (LEDGER, realm) {
            let LedgerFact::Posted(voucher) = decode(&entry.body).unwrap();
            balances.insert(entry.stream.number, voucher.after);
            vouchers += 1;
        }
        true
    };
    engine.store().replay(CommitNo(1), visit).unwrap();
    cuts.insert(vouchers, sums(&balances));
    cuts
}

/// The ledger's side of a snapshot.
fn side(taken: &Value) -> (u64, (String, String)) {
    let funds = |name: &str| taken["clientFunds"][name].as_str().unwrap().to_owned();
    (
        taken["sequence"].as_u64().unwrap(),
        (funds("available"), funds("held")),
    )
}

/// How many clients move money.
const MOVERS: usize = 8;

#[derive(Default)]
struct Load {
    stop: AtomicBool,
    moved: watch::Sender<usize>,
}

async fn move_money(client: Client, cvus: Vec<String>, load: Arc<Load>) {
    let mut n = 0;
    while !load.stop.load(Ordering::Acquire) {
        n += 1;
        let (from, to) = (&cvus[n % cvus.len()], &cvus[(n + 1 + n / 7) % cvus.len()]);
        match n % 4 {
            0 => {
                let hold = client.hold(from, "0.05").await;
                let step = if n.is_multiple_of(8) {
                    "confirm"
                } else {
                    "release"
                };
                client.step(&hold, step, "0.05").await.is(200);
            }
            1 if from != to => {
                let sent = client.transfer(from, json!({"cvu": to}), "0.03");
                sent.await.is(201);
            }
            2 => {
                let sent = client.transfer(from, json!({"alias": "DESTINO.0"}), "0.02");
                sent.await.is(201);
            }
            _ => drop(client.credit(from, "0.11").await),
        }
        load.moved.send_modify(|moved| *moved += 1);
    }
}

#[actix_web::test]
async fn every_snapshot_is_a_cut_and_outlives_a_crash_and_the_index() {
    let mut service = TestService::start().await;
    service.bank.is_away().await;
    service.a.in_and_out().await;
    let mut cvus = Vec::new();
    for _ in 0..5 {
        let cvu = service.a.cvu().await;
        service.a.credit(&cvu, "1000.00").await;
        cvus.push(cvu);
    }
    let load = Arc::new(Load::default());
    let movers: Vec<_> = (0..MOVERS)
        .map(|n| {
            let mut cvus = cvus.clone();
            cvus.rotate_left(n % 5);
            actix_web::rt::spawn(move_money(service.a.clone(), cvus, Arc::clone(&load)))
        })
        .collect();
    let mut taken = Vec::new();
    let mut moved = load.moved.subscribe();
    for n in 0..300 {
        taken.push(side(&service.a.get(PATH).await.is(200).json));
        if n % 5 == 0 {
            // Each mover has at most one movement under way, so one of these is new.
            let enough = *moved.borrow_and_update() + MOVERS + 1;
            let more = timeout(SOON, moved.wait_for(|moved| *moved >= enough)).await;
            drop(more.expect("money moves").unwrap());
        }
    }
    load.stop.store(true, Ordering::Release);
    for mover in movers {
        mover.await.unwrap();
    }
    let right = cuts(&service);
    for (sequence, sums) in &taken {
        assert_eq!(right.get(sequence), Some(sums), "at {sequence}");
    }
    taken.dedup();
    assert!(taken.len() >= 60, "{} cuts", taken.len());
    service.crash().await;
    for lost in [false, true] {
        if lost {
            service.end(true).await;
            service.lose_index();
            service.begin().await;
        }
        let (sequence, sums) = side(&service.a.get(PATH).await.is(200).json);
        let right = cuts(&service);
        assert_eq!(right.get(&sequence), Some(&sums));
        assert!(sequence >= taken.last().unwrap().0);
        let listed = service.a.get("/v1/treasury/positions").await.is(200);
        assert_eq!(listed["total"], 5);
        service.verified().await;
    }
}
