//! Two PSPs on one machine, one of them short of money, and a thousand snapshots under load.
//!
//! **What is right.** A snapshot names an instant and a number of vouchers. Its bank's side is the
//! balance of that PSP's collector account at that instant, by the bank's own book; its ledger's side
//! is the sum of all balances after exactly that many vouchers; the figures computed from both are
//! exact. And everything from the bank in the ledger's side is in the bank's side as well: never less
//! has arrived at the bank, and never less has left it, than the ledger counts.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use caudal_actors::records::{LEDGER, decode};
use caudal_ledger::balance::{Balance, Direction};
use caudal_ledger::facts::LedgerFact;
use caudal_ledger::ids::RealmId;
use caudal_ledger::time::Timestamp;
use caudal_ledger::vouchers::ReferenceType;
use caudal_sandbox as sandbox;
use caudal_storage::CommitNo;

use super::PATH;
use crate::support::client::fresh;
use crate::support::{Client, SOON, TestService, Value, json, wait_until};

/// How many snapshots of both PSPs are taken in both families together.
const SNAPSHOTS: usize = 1_000;
/// How many clients read snapshots of each PSP, how many move its money, and how many accounts it has.
const WATCHERS: usize = 5;
const MOVERS: usize = 4;
const ACCOUNTS: usize = 4;

fn centavos(text: &str) -> i64 {
    let (whole, cents) = text.split_once('.').unwrap();
    assert_eq!(cents.len(), 2, "{text}");
    format!("{whole}{cents}").parse().unwrap()
}

/// The ledger after a number of vouchers: available, held, arrived from the bank, left to the bank.
type Cut = [i64; 4];

/// Every cut of a realm, from the journal.
fn cuts(service: &TestService, realm: RealmId) -> BTreeMap<u64, Cut> {
    let mut balances: BTreeMap<u64, Balance> = BTreeMap::new();
    let (mut cuts, mut last) = (BTreeMap::new(), CommitNo(0));
    let (mut vouchers, mut moved) = (0, [0, 0]);
    let cut = |balances: &BTreeMap<u64, Balance>, [arrived, left]: [i64; 2]| {
        let available = balances.values().map(|it| it.available.centavos()).sum();
        let held = balances.values().map(|it| it.held.centavos()).sum();
        [available, held, arrived, left]
    };
    let visit = &mut |commit, entry: &caudal_storage::Entry| {
        if commit != last {
            cuts.insert(vouchers, cut(&balances, moved));
            last = commit;
        }
        if (entry.stream.kind, entry.stream.realm) == (LEDGER, realm.0) {
            let LedgerFact::Posted(voucher) = decode(&entry.body).unwrap();
            balances.insert(entry.stream.number, voucher.after);
            vouchers += 1;
            let amount = voucher.amount.centavos();
            match (voucher.reference_type, voucher.direction) {
                (ReferenceType::CashIn, Direction::Credit) => moved[0] += amount,
                (ReferenceType::Transfer, Direction::ConfirmHold) => moved[1] += amount,
                _ => {}
            }
        }
        true
    };
    service.engine().store().replay(CommitNo(1), visit).unwrap();
    cuts.insert(vouchers, cut(&balances, moved));
    cuts
}

/// The bank's own book of a collector account: the time of each movement, and how much had arrived and
/// left by then.
async fn book(bank: &Client, collector: &str) -> Vec<(u64, [i64; 2])> {
    let login = json!({"username": sandbox::USERNAME, "password": sandbox::PASSWORD});
    let login = bank.post("/v1/login/jwt", &login).await.is(200);
    let token = format!("JWT {}", login["token"].as_str().unwrap());
    let path =
        format!("/v1/banks/322/accounts/{collector}/owner/transaction-request-types/TRANSFER-CVU");
    let (mut book, mut sums, mut offset) = (Vec::new(), [0, 0], 0);
    loop {
        let page = bank.call("GET", &path).header("authorization", &token);
        let page = page
            .header("obp_limit", "200")
            .header("obp_offset", &offset.to_string());
        let page = page.await.is(200);
        let items = page.json.as_array().unwrap();
        for item in items {
            let amount = centavos(item["value"]["amount"].as_str().unwrap());
            assert_eq!(item["status"], "COMPLETED");
            let out = item["type"] == "TRANSFER-CVU";
            sums[usize::from(out)] += amount;
            let at = Timestamp::parse(item["start_date"].as_str().unwrap()).unwrap();
            book.push((at.millis(), sums));
        }
        offset += items.len();
        if items.len() < 200 {
            return book;
        }
    }
}

/// The values that the book may have had at an instant: before, between and after the movements of that
/// millisecond.
fn at(book: &[(u64, [i64; 2])], instant: &str) -> Vec<[i64; 2]> {
    let instant = Timestamp::parse(instant).unwrap().millis();
    let before = book.partition_point(|(at, _)| *at < instant);
    let after = book.partition_point(|(at, _)| *at <= instant);
    let sums = |n: usize| n.checked_sub(1).map_or([0, 0], |last| book[last].1);
    (before..=after).map(sums).collect()
}

/// A client that has money arrive, leave, cross to the other PSP and move inside.
async fn mover(
    (client, bank): (Client, Client),
    (own, others): (Arc<Vec<String>>, Arc<Vec<String>>),
    mut n: usize,
    stop: Arc<AtomicBool>,
) {
    while !stop.load(Ordering::Acquire) {
        n += 1;
        let cvu = &own[n % ACCOUNTS];
        match n % 5 {
            0 | 1 => {
                let body = json!({"cvu": cvu, "amount": "3.17"});
                bank.post("/sandbox/cash-in", &body).await.is(200);
            }
            2 => {
                let to = json!({"alias": "DESTINO.0"});
                client.transfer(cvu, to, "0.03").await.is(201);
            }
            3 => {
                let to = json!({"cvu": others[n / 5 % ACCOUNTS]});
                client.transfer(cvu, to, "0.11").await.is(201);
            }
            _ => {
                let id = format!("two-{}", fresh());
                client.voucher(cvu, "OUT", "0.01", &id).await.is(201);
            }
        }
    }
}

/// Waits until the bank's notice of the money was heard.
async fn credited(client: &Client, cvu: &str, amount: &str) {
    wait_until("money that arrived", SOON, async || {
        (client.available(cvu).await == amount).then_some(())
    })
    .await;
}

/// The number in the answer's text, to the centavo.
fn written(text: &str, name: &str) -> i64 {
    let (_, rest) = text.split_once(&format!("\"{name}\":")).unwrap();
    centavos(rest.split([',', '}']).next().unwrap())
}

/// A snapshot: its instant, its number of vouchers if given, bank, available, held.
struct Taken {
    at: String,
    sequence: Option<u64>,
    bank: i64,
    available: i64,
    held: i64,
}

/// Reads snapshots of both families, and checks each one by itself.
async fn watcher(client: Client, covered: bool) -> Vec<Taken> {
    let mut all = Vec::new();
    for _ in 0..SNAPSHOTS / 4 / WATCHERS {
        let taken = client.get(PATH).await.is(200);
        let text = |name: &str| taken[name].as_str().unwrap();
        let funds = |name: &str| centavos(taken["clientFunds"][name].as_str().unwrap());
        let (bank, total) = (centavos(text("bankBalance")), funds("total"));
        assert_eq!(centavos(text("freeBalance")), bank - total);
        assert_eq!(taken["covered"], json!(bank >= total));
        assert_eq!(taken["covered"], json!(covered), "{}", taken.text);
        let parts = (bank * 10_000).div_euclid(total);
        let ratio = format!("{}.{:04}", parts / 10_000, parts % 10_000);
        assert_eq!(text("coverageRatio"), ratio);
        assert_eq!(taken["asOf"], taken["bankAsOf"]);
        all.push(Taken {
            at: text("asOf").to_owned(),
            sequence: taken["sequence"].as_u64(),
            bank,
            available: funds("available"),
            held: funds("held"),
        });
        let taken = client.get("/wallet/v1/Tesoreria").await.is(200);
        let [bank, total, free, available, held] = [
            "saldoBanco",
            "saldoClientes",
            "saldoLibre",
            "saldoDisponible",
            "saldoRetenido",
        ]
        .map(|name| written(&taken.text, name));
        assert_eq!((free, total), (bank - total, available + held));
        assert_eq!(taken["cubierto"], json!(covered), "{}", taken.text);
        all.push(Taken {
            at: taken["fecha"].as_str().unwrap().to_owned(),
            sequence: None,
            bank,
            available,
            held,
        });
    }
    all
}

/// Checks that a snapshot agrees with the bank and the ledger.
fn is_right(taken: &Taken, cuts: &BTreeMap<u64, Cut>, book: &[(u64, [i64; 2])]) {
    let fits = |cut: &Cut| (cut[0], cut[1]) == (taken.available, taken.held);
    let cuts: Vec<_> = match taken.sequence {
        Some(sequence) => vec![cuts.get(&sequence).unwrap()],
        None => cuts.values().filter(|cut| fits(cut)).collect(),
    };
    assert!(!cuts.is_empty() && cuts.iter().all(|cut| fits(cut)));
    let books = at(book, &taken.at);
    let right = books.iter().any(|[arrived, left]| {
        let heard = |cut: &&&Cut| cut[2] <= *arrived && cut[3] <= *left;
        arrived - left == taken.bank && cuts.iter().any(|cut| heard(&cut))
    });
    assert!(right, "{} has {}: {books:?}", taken.at, taken.bank);
}

#[actix_web::test]
async fn a_thousand_snapshots_of_two_psps_under_load_are_right_to_the_cent() {
    let service = TestService::start().await;
    service.hear().await;
    let bank = service.bank.client();
    let mut cvus = Vec::new();
    for client in [&service.a, &service.b] {
        client.in_and_out().await;
        let mut own = Vec::new();
        for _ in 0..ACCOUNTS {
            own.push(client.cvu().await);
        }
        cvus.push(Arc::new(own));
    }
    // The first PSP has more than it owes, the second owes more than it has.
    for cvu in cvus[0].iter() {
        service.bank.cash_in(cvu, "5000.00").await;
        credited(&service.a, cvu, "5000.00").await;
        service.a.debit(cvu, "1000.00").await;
    }
    for cvu in cvus[1].iter() {
        service.bank.cash_in(cvu, "5.00").await;
        credited(&service.b, cvu, "5.00").await;
        service.b.credit(cvu, "2500.00").await;
    }
    let stop = Arc::new(AtomicBool::new(false));
    let clients = [&service.a, &service.b];
    let (mut movers, mut watchers) = (Vec::new(), Vec::new());
    for (psp, client) in clients.into_iter().enumerate() {
        for n in 0..MOVERS {
            let both = (client.clone(), bank.clone());
            let sides = (Arc::clone(&cvus[psp]), Arc::clone(&cvus[1 - psp]));
            let stop = Arc::clone(&stop);
            movers.push(actix_web::rt::spawn(mover(both, sides, n, stop)));
        }
        for _ in 0..WATCHERS {
            let look = watcher(client.clone(), psp == 0);
            watchers.push((psp, actix_web::rt::spawn(look)));
        }
    }
    let mut taken: [Vec<Taken>; 2] = Default::default();
    for (psp, watcher) in watchers {
        taken[psp].extend(watcher.await.unwrap());
    }
    stop.store(true, Ordering::Release);
    for mover in movers {
        mover.await.unwrap();
    }
    // Transfers that are under way end, at the bank and here.
    for client in clients {
        super::snapshot(client, "nothing on its way", |taken: &Value| {
            taken["inTransit"]["outgoing"] == "0.00"
        })
        .await;
    }
    assert_eq!(taken[0].len() + taken[1].len(), SNAPSHOTS);
    let collectors = [
        sandbox::COLLECTOR.to_owned(),
        sandbox::collector(RealmId(4)),
    ];
    for (psp, (realm, collector)) in [RealmId(2), RealmId(4)]
        .into_iter()
        .zip(&collectors)
        .enumerate()
    {
        let (cuts, book) = (cuts(&service, realm), book(&bank, collector).await);
        for taken in &taken[psp] {
            is_right(taken, &cuts, &book);
        }
        let mut distinct: Vec<_> = taken[psp].iter().filter_map(|it| it.sequence).collect();
        distinct.sort_unstable();
        distinct.dedup();
        println!(
            "PSP {psp}: {} cuts, {} of the bank's",
            distinct.len(),
            book.len()
        );
    }
    service.verified().await;
}
