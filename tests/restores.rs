//! Older copies of the data folder are put back at random instants while transfers are under way and
//! the bank keeps running: every beneficiary is paid once, the books of both sides agree,
//! reconciliation shows what happened, nothing is ordered twice, and no published id names anything
//! else.
//!
//! `CAUDAL_RESTORES` sets how many copies are put back, 4 by default; `CAUDAL_RESTORES_SEED` sets
//! the seed, which is printed.

use std::collections::BTreeMap;
use std::time::Duration;

use caudal_sandbox::{COLLECTOR, PASSWORD, USERNAME};

use crate::bank_failures::past::{copied, copy};
use crate::bank_failures::rig::{Rig, centavos};
use crate::support::client::fresh;
use crate::support::{Client, SOON, Value, json, wait_until};

/// How many copies are put back.
const RESTORES: &str = "CAUDAL_RESTORES";
/// The seed.
const SEED: &str = "CAUDAL_RESTORES_SEED";
/// With more copies than this, the oldest is dropped in each round.
const COPIES_MAX: usize = 6;

/// Reproducible random numbers.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }
}

/// The orders of clients: for each of their own ids the account, the destination, and the amount. No
/// two orders have the same amount, so the bank's book shows which order a payment belongs to.
#[derive(Default)]
struct Orders {
    all: BTreeMap<String, (String, u8, i64)>,
    /// The bank references that the clients were given.
    origins: BTreeMap<String, String>,
}

fn amount(centavos: i64) -> String {
    format!("{}.{:02}", centavos / 100, centavos % 100)
}

/// Orders a transfer once; `None` if it was not acknowledged.
async fn send(
    client: &Client,
    id: &str,
    (from, digit, centavos): &(String, u8, i64),
) -> Option<Value> {
    let body = json!({
        "fromCvu": from, "to": {"alias": format!("destino.{digit}")},
        "amount": amount(*centavos), "idExterno": id,
    });
    let answer = client.post("/v1/transfers", &body).answer().await?;
    (answer.status == 201).then_some(answer.json)
}

impl Orders {
    fn answered(&mut self, id: &str, transfer: &Value, seed: u64) {
        let origin = transfer["originId"].as_str().unwrap().to_owned();
        let before = self.origins.insert(id.to_owned(), origin.clone());
        assert!(
            before.is_none_or(|before| before == origin),
            "seed {seed}: {id} has two references"
        );
    }

    /// Orders some more transfers, all at once.
    async fn more(&mut self, rig: &Rig, dice: &mut Dice, seed: u64) {
        let mut sent = Vec::new();
        for _ in 0..2 + dice.below(6) {
            let from = if dice.below(3) == 0 {
                &rig.other
            } else {
                &rig.cvu
            };
            let digit = [0, 0, 1, 3, 4, 9][usize::try_from(dice.below(6)).unwrap()];
            let number = i64::from(fresh());
            let order = (from.clone(), digit, 100 + number);
            let id = format!("restore-{number}");
            self.all.insert(id.clone(), order.clone());
            sent.push(async move { (send(&rig.a, &id, &order).await, id) });
        }
        for (answer, id) in futures_util::future::join_all(sent).await {
            if let Some(transfer) = answer {
                self.answered(&id, &transfer, seed);
            }
        }
        if dice.below(2) == 0 {
            rig.cash_in(&rig.cvu, "7.77", None).await;
        }
    }

    /// Repeats every order, as a client does that does not know the outcome.
    async fn again(&mut self, rig: &Rig, seed: u64) {
        for (id, order) in self.all.clone() {
            let transfer = wait_until("it is acknowledged", SOON, async || {
                send(&rig.a, &id, &order).await
            })
            .await;
            self.answered(&id, &transfer, seed);
        }
    }
}

/// Everything that clients have read, in any history: events by their ids, and the things that they
/// are about by theirs.
#[derive(Default)]
struct Published {
    events: BTreeMap<String, Value>,
    /// The fields that never change, for each voucher, hold, transfer or money in suspense.
    things: BTreeMap<String, Value>,
    /// How many events were read again.
    kept: usize,
}

impl Published {
    /// Reads the log from its beginning.
    async fn more(&mut self, client: &Client, seed: u64) {
        let mut after = String::new();
        loop {
            let page = client.get(&format!("/v1/events?limit=200{after}")).await;
            let page = page.is(200).json.clone();
            for event in page["items"].as_array().unwrap() {
                let id = event["id"].as_str().unwrap().to_owned();
                self.thing(&event["data"], seed);
                match self.events.get(&id) {
                    Some(before) => {
                        assert_eq!(before, event, "seed {seed}: one id, two events");
                        self.kept += 1;
                    }
                    None => drop(self.events.insert(id, event.clone())),
                }
            }
            match page["next"].as_str() {
                Some(next) => after = format!("&after={next}"),
                None => return,
            }
        }
    }

    fn thing(&mut self, data: &Value, seed: u64) {
        let Some(id) = data["id"].as_str() else {
            return;
        };
        let names = [
            "amount",
            "cvu",
            "fromCvu",
            "idExterno",
            "createdAt",
            "sequence",
        ];
        let fixed = names.map(|name| (name, &data[name])).into_iter();
        let fixed: Value = fixed
            .map(|(name, value)| (name.to_owned(), value.clone()))
            .collect();
        let before = self.things.insert(id.to_owned(), fixed.clone());
        assert!(
            before.as_ref().is_none_or(|before| *before == fixed),
            "seed {seed}: {id} was {before:?} and is {fixed}"
        );
    }

    /// Counts the events of a past that is gone: a client that continues from one is refused.
    async fn gone(&self, client: &Client) -> usize {
        let mut gone = 0;
        for id in self.events.keys() {
            let answer = client.get(&format!("/v1/events?limit=1&after={id}")).await;
            if answer.status == 200 {
                continue;
            }
            answer.refused(400, "invalid_request");
            gone += 1;
        }
        gone
    }
}

/// All transfers in both directions that the bank lists in its own API.
async fn transfers_at(rig: &Rig) -> Vec<Value> {
    let user = json!({"username": USERNAME, "password": PASSWORD});
    let login = rig.control.post("/v1/login/jwt", &user).await.is(200);
    let token = format!("JWT {}", login["token"].as_str().unwrap());
    let path =
        format!("/v1/banks/322/accounts/{COLLECTOR}/owner/transaction-request-types/TRANSFER-CVU");
    let mut all = Vec::new();
    loop {
        let page = rig.control.get(&path).header("authorization", &token);
        let page = page.header("obp_limit", "200");
        let page = page
            .header("obp_offset", &all.len().to_string())
            .await
            .is(200);
        let page = page.json.as_array().unwrap().clone();
        let last = page.len() < 200;
        all.extend(page);
        if last {
            return all;
        }
    }
}

/// Waits until nothing is under way, neither here nor at the bank.
async fn ended(rig: &Rig) {
    wait_until("all has ended", SOON, async || {
        for status in ["requested", "in_progress"] {
            let path = format!("/v1/transfers?status={status}&limit=1");
            let open = rig.a.get(&path).await.is(200);
            if open["total"] != 0 {
                return None;
            }
        }
        let under_way = |it: &Value| it["status"] == "IN_PROGRESS";
        if transfers_at(rig).await.iter().any(under_way) {
            return None;
        }
        let summary = rig.day().await["summary"].clone();
        let counts = ["missingInLedger", "missingAtBank", "amountDiffers"];
        (counts.iter().all(|name| summary[*name] == 0)).then_some(())
    })
    .await;
}

/// The amount that a CVU has moved through the bank, according to the bank and to the ledger.
async fn books(rig: &Rig, cvu: &str) -> (i64, i64) {
    let (mut bank, mut ledger) = (0, 0);
    for it in transfers_at(rig).await {
        let moved = centavos(&it["value"]["amount"]);
        let party = |name: &str| it[name]["cvu"] == *cvu;
        if it["status"] == "COMPLETED" && it["type"] == "TRANSFER-CVU" && party("origin_debit") {
            bank -= moved;
        } else if it["type"] != "TRANSFER-CVU" && party("origin_credit") {
            bank += moved;
        }
    }
    let mut offset = 0;
    loop {
        let path = format!("/v1/accounts/{cvu}/movements?order=asc&limit=200&offset={offset}");
        let page = rig.a.get(&path).await.is(200);
        let rows = page.json.as_array().unwrap();
        for row in rows {
            let moved = centavos(&row["amount"]);
            let kind = (row["referenceType"].as_str(), row["ledgerType"].as_str());
            match kind {
                (Some("transfer" | "cash_in"), Some("credit")) => ledger += moved,
                (Some("transfer"), Some("confirm_hold")) => ledger -= moved,
                _ => {}
            }
        }
        if rows.len() < 200 {
            return (bank, ledger);
        }
        offset += rows.len();
    }
}

/// Checks that every order was paid once, or refused by its receiver, and that nothing else left.
async fn paid_once(rig: &Rig, orders: &Orders, seed: u64) {
    let mut sent: BTreeMap<i64, Vec<Value>> = BTreeMap::new();
    for it in transfers_at(rig).await {
        if it["type"] == "TRANSFER-CVU" {
            sent.entry(centavos(&it["value"]["amount"]))
                .or_default()
                .push(it);
        }
    }
    for (id, (from, digit, much)) in &orders.all {
        let found = sent.remove(much).unwrap_or_default();
        assert_eq!(found.len(), 1, "seed {seed}: {id} {found:?}");
        let status = if *digit == 1 { "FAILED" } else { "COMPLETED" };
        assert_eq!(found[0]["status"], status, "seed {seed}: {id}");
        assert_eq!(found[0]["origin_debit"]["cvu"], *from, "seed {seed}: {id}");
        let label = format!("destino.{digit}");
        let to = found[0]["to"]["label"].as_str().unwrap().to_lowercase();
        assert_eq!(to, label, "seed {seed}: {id}");
        assert_eq!(
            found[0]["origin_id"].as_str(),
            orders.origins.get(id).map(String::as_str),
            "seed {seed}: {id}"
        );
    }
    assert!(sent.is_empty(), "seed {seed}: nobody ordered {sent:?}");
}

fn setting(name: &str, usual: u64) -> u64 {
    std::env::var(name).map_or(usual, |text| text.parse().unwrap())
}

#[actix_web::test]
async fn older_copies_are_put_back_while_transfers_are_under_way() {
    let (restores, seed) = (setting(RESTORES, 4), setting(SEED, u64::from(fresh())));
    println!("seed {seed}");
    let mut dice = Dice(seed);
    let mut rig = Rig::start_with(|options| caudal::service::ServiceOptions {
        catch_up: Some(Duration::from_millis(200)),
        ..options
    })
    .await;
    for cvu in [&rig.cvu, &rig.other] {
        rig.a.credit(cvu, "900000000.00").await;
    }
    let (mut orders, mut copies) = (Orders::default(), Vec::new());
    let mut published = Published::default();
    for _ in 0..restores {
        // The service runs on for a while, and is ended in the middle of its work.
        for _ in 0..=dice.below(3) {
            orders.more(&rig, &mut dice, seed).await;
            published.more(&rig.a, seed).await;
            if dice.below(2) == 0 {
                rig.end(dice.below(2) == 0).await;
                copies.push(copied(&rig));
                rig.begin();
            }
        }
        rig.end(dice.below(2) == 0).await;
        if copies.is_empty() {
            copies.push(copied(&rig));
            rig.begin();
            orders.more(&rig, &mut dice, seed).await;
            published.more(&rig.a, seed).await;
            rig.end(false).await;
        }
        let which = usize::try_from(dice.below(1_000)).unwrap() % copies.len();
        std::fs::remove_dir_all(rig.data()).unwrap();
        copy(copies[which].path(), rig.data());
        // Copies made after this one stay: a later round may put one of them back, too.
        if copies.len() > COPIES_MAX {
            copies.remove(0);
        }
        rig.begin();
        if dice.below(2) == 0 {
            orders.again(&rig, seed).await;
        }
    }
    orders.again(&rig, seed).await;
    ended(&rig).await;
    paid_once(&rig, &orders, seed).await;
    for cvu in [&rig.cvu, &rig.other] {
        wait_until(
            &format!("seed {seed}: one book of {cvu}"),
            SOON,
            async || {
                let (bank, ledger) = books(&rig, cvu).await;
                (bank == ledger).then_some(())
            },
        )
        .await;
    }
    let recovered = rig.a.get("/v1/transfers?status=completed&limit=200").await;
    let items = recovered.is(200)["items"].as_array().unwrap().clone();
    let recovered = items
        .iter()
        .filter(|it| it["idExterno"].as_str().unwrap().starts_with("recovered-"));
    println!(
        "seed {seed}: {restores} restores, {} orders, {} of the last 200 completed recovered from the bank",
        orders.all.len(),
        recovered.count()
    );
    published.more(&rig.a, seed).await;
    let (all, gone) = (published.events.len(), published.gone(&rig.a).await);
    let things = published.things.len();
    println!("seed {seed}: {all} events of {things} things, {gone} of them of a past that is gone");
    assert!(published.kept > 0, "seed {seed}: no event was read twice");
    let report = caudal_actors::verify::engine(rig.engine()).await.unwrap();
    assert_eq!(report.differences, Vec::<String>::new());
}
