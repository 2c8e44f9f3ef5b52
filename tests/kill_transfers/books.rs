//! The final checks: the books of the service, of the bank and of the clients agree.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::site::{NOTICES, Site};
use super::{ACCOUNTS, CASH_IN_EVERY, FIRST, Load, amount, order, rail_id};
use crate::bank_failures::rig::{deliver, now, reversed};
use crate::support::{Client, Value, json, wait_until};

/// How long the last transfers may take to end.
const ENDS: Duration = Duration::from_secs(120);
/// The amount of each cash-in, in centavos.
const CASH_IN: i64 = 321;

fn centavos(text: &Value) -> i64 {
    text.as_str().unwrap().replace('.', "").parse().unwrap()
}

/// All pages of a list.
async fn all(client: &Client, path: &str, items: impl Fn(&Value) -> Vec<Value>) -> Vec<Value> {
    let (mut found, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = client.get(&format!("{path}&limit=200&cursor={cursor}"));
        let page = page.await.is(200);
        found.extend(items(&page.json));
        page.header("x-next-cursor").clone_into(&mut cursor);
        if cursor.is_empty() {
            return found;
        }
    }
}

fn array(value: &Value) -> Vec<Value> {
    value.as_array().unwrap().clone()
}

/// The totals that follow from the load.
#[derive(Default, Debug)]
struct Expected {
    completed: usize,
    rejected: usize,
    reversed: usize,
    cash_ins: usize,
    /// Sums in centavos, of money that went through the bank.
    left: i64,
}

fn expected(load: &Load) -> Expected {
    let mut found = Expected::default();
    for number in 0..load.count {
        let order = order(number, &load.accounts);
        match (order.end, order.receiver) {
            ("rejected", _) => found.rejected += 1,
            ("reversed", _) => found.reversed += 1,
            (_, Some(_)) => {}
            (_, None) => {
                found.completed += 1;
                found.left += order.centavos;
            }
        }
    }
    found.cash_ins = load.count.div_ceil(CASH_IN_EVERY);
    found
}

/// How many transfers have a status.
async fn count(client: &Client, status: &str) -> u64 {
    let path = format!("/v1/transfers?status={status}&limit=1");
    client.get(&path).await.is(200)["total"].as_u64().unwrap()
}

/// Waits until no transfer is open any more, and returns how long that took.
async fn ended(site: &Site) -> Duration {
    let since = Instant::now();
    wait_until("every transfer has ended", ENDS, async || {
        let mut open = 0;
        for status in ["requested", "in_progress", "audit"] {
            open += count(&site.client, status).await;
        }
        (open == 0).then_some(())
    })
    .await;
    since.elapsed()
}

/// The reconciliation of each day on which money moved: a run may begin before midnight and end after it.
async fn days(site: &Site, load: &Load) -> Vec<Value> {
    let path = "/v1/bank/conciliacion";
    let mut days = vec![site.client.get(path).await.is(200).json];
    if days[0]["fecha"] != load.day {
        let first = format!("{path}?fecha={}", load.day);
        days.push(site.client.get(&first).await.is(200).json);
    }
    days
}

/// Reports reversals whose notices the bank has given up: reconciliation names them, and the test
/// reports each again, as the bank's staff would. Returns how many there were.
async fn told_by_hand(site: &Site, load: &Load, expected: &Expected) -> usize {
    // The bank reverses a while after it completes: until then a notice may still come.
    wait_until("the bank has reversed what it reverses", ENDS, async || {
        let received = site.listed("TRANSFERENCIAS_RECIBIDAS").await;
        let reversals = received.iter().filter(|it| it["type"] == "REVERSAL");
        (reversals.count() == expected.reversed).then_some(())
    })
    .await;
    wait_until("no notice is on its way", ENDS, async || {
        let state = site.bank.get("/sandbox/state").await.is(200);
        (state["notices"]["pending"] == 0).then_some(())
    })
    .await;
    let back = count(&site.client, "reversed").await;
    let days = days(site, load).await;
    let mut missing: Vec<_> = days.iter().flat_map(|day| array(&day["items"])).collect();
    missing.retain(|item| item["result"] != "matched");
    for item in &missing {
        assert_eq!(
            (&item["result"], &item["reversal"], &item["direction"]),
            (&json!("missing_in_ledger"), &json!(true), &json!("in")),
            "{item}"
        );
        let path = format!("/v1/transfers/{}", item["transferId"].as_str().unwrap());
        let transfer = site.client.get(&path).await.is(200);
        assert_eq!(transfer["status"], "completed");
        let text = |name: &str| item[name].as_str().unwrap();
        let notice = reversed(&transfer.json, text("amount"), text("coelsaId"));
        for result in ["done", "known"] {
            let secret = (NOTICES, now());
            let heard = deliver(&site.client, secret, &notice, |body| body).await;
            assert_eq!(heard.is(200)["result"], result);
        }
    }
    assert_eq!(
        usize::try_from(back).unwrap() + missing.len(),
        expected.reversed
    );
    missing.len()
}

/// Checks that every order is one transfer, with the id that its client was given, in the right
/// status.
async fn transfers(site: &Site, load: &Load) -> BTreeMap<String, Value> {
    let listed = all(&site.client, "/v1/transfers?order=asc", |page| {
        array(&page["items"])
    });
    let mut by_external = BTreeMap::new();
    for transfer in listed.await {
        let external = transfer["idExterno"].as_str().unwrap().to_owned();
        let before = by_external.insert(external.clone(), transfer);
        assert_eq!(before, None, "{external} is there twice");
    }
    let done = load.done.lock().unwrap();
    assert_eq!((done.len(), by_external.len()), (load.count, load.count));
    for (number, id) in &*done {
        let (order, found) = (
            order(*number, &load.accounts),
            &by_external[&Load::id_of(*number)],
        );
        assert_eq!(found["id"], *id, "{number}");
        assert_eq!(found["status"], order.end, "{number}: {found}");
        assert_eq!(found["amount"], amount(order.centavos));
        assert_eq!(found["fromCvu"], load.accounts[order.from].0);
        let back = if order.end == "reversed" {
            order.centavos
        } else {
            0
        };
        assert_eq!(found["reversed"], amount(back), "{number}");
    }
    by_external
}

/// The vouchers of a transfer, by how it ends.
fn vouchers(kind: &str, end: &str) -> &'static [&'static str] {
    match (kind, end) {
        ("internal", _) => &["credit", "debit"],
        (_, "completed") => &["confirm_hold", "hold"],
        (_, "rejected") => &["hold", "release"],
        _ => &["confirm_hold", "credit", "hold"],
    }
}

/// Checks that the movements of every account add up, and are those of its transfers and cash-ins;
/// returns the sum of all totals.
async fn accounts(site: &Site, load: &Load, transfers: &BTreeMap<String, Value>) -> i64 {
    let mut of: BTreeMap<String, Vec<(String, i64)>> = BTreeMap::new();
    let mut sum = 0;
    for (cvu, _) in &load.accounts {
        let (mut available, mut held) = (0, 0);
        let path = format!("/v1/accounts/{cvu}/movements?order=asc");
        for (row, number) in all(&site.client, &path, array).await.iter().zip(1..) {
            let (kind, moved) = (
                row["ledgerType"].as_str().unwrap(),
                centavos(&row["amount"]),
            );
            let (free, apart) = match kind {
                "credit" => (moved, 0),
                "debit" => (-moved, 0),
                "hold" => (-moved, moved),
                "release" => (moved, -moved),
                _ => (0, -moved),
            };
            (available, held) = (available + free, held + apart);
            assert_eq!(row["sequence"], number, "no gap and no repeat");
            let after = [&row["availableAfter"], &row["heldAfter"]].map(centavos);
            assert_eq!(after, [available, held], "{row}");
            let reference = row["referenceId"].as_str().unwrap().to_owned();
            of.entry(reference)
                .or_default()
                .push((kind.to_owned(), moved));
        }
        assert_eq!(held, 0, "{cvu}");
        let balance = site.client.balance(cvu).await;
        assert_eq!(balance["held"], "0.00");
        assert_eq!(centavos(&balance["total"]), available);
        sum += available;
    }
    for transfer in transfers.values() {
        let text = |name: &str| transfer[name].as_str().unwrap();
        let mut found = of.remove(text("id")).unwrap_or_default();
        found.sort();
        let kinds: Vec<_> = found.iter().map(|(kind, _)| kind.as_str()).collect();
        assert_eq!(kinds, vouchers(text("kind"), text("status")), "{transfer}");
        let right = centavos(&transfer["amount"]);
        assert!(found.iter().all(|(_, moved)| *moved == right), "{transfer}");
    }
    for number in (0..load.count).step_by(CASH_IN_EVERY) {
        let found = of.remove(&rail_id(number));
        assert_eq!(found, Some(vec![("credit".to_owned(), CASH_IN)]));
    }
    // Left are the first credits, which refer to themselves, and nothing else.
    assert_eq!(of.len(), ACCOUNTS, "{of:?}");
    sum
}

/// Checks that the bank has each of our transfers once, with the same end, and no other.
async fn bank(site: &Site, transfers: &BTreeMap<String, Value>, expected: &Expected) {
    let mut of = BTreeMap::new();
    for sent in site.listed("TRANSFERENCIAS_ENVIADAS").await {
        let origin = sent["origin_id"].as_str().unwrap().to_owned();
        assert_eq!(of.insert(origin.clone(), sent), None, "{origin} twice");
    }
    for transfer in transfers.values().filter(|it| it["kind"] == "bank") {
        let origin = transfer["originId"].as_str().unwrap();
        let sent = of.remove(origin).unwrap_or_default();
        let (status, back) = match transfer["status"].as_str().unwrap() {
            "rejected" => ("FAILED", false),
            "reversed" => ("COMPLETED", true),
            _ => ("COMPLETED", false),
        };
        assert_eq!(
            (&sent["status"], &sent["reversed"]),
            (&json!(status), &json!(back)),
            "{transfer} {sent}"
        );
        assert_eq!(
            centavos(&sent["value"]["amount"]),
            centavos(&transfer["amount"])
        );
        assert_eq!(sent["id"], transfer["bankTransferId"]);
        assert_eq!(sent["coelsa_id"], transfer["coelsaId"]);
    }
    assert!(of.is_empty(), "only the bank knows {of:?}");
    let received = site.listed("TRANSFERENCIAS_RECIBIDAS").await;
    let reversals = received.iter().filter(|it| it["type"] == "REVERSAL");
    assert_eq!(reversals.count(), expected.reversed);
    assert_eq!(received.len(), expected.reversed + expected.cash_ins);
}

/// Reports all arrived money once more, in case nobody heard some of the notices.
async fn told_again(site: &Site, load: &Load) {
    for number in (0..load.count).step_by(CASH_IN_EVERY) {
        let cvu = &load.accounts[number % ACCOUNTS].0;
        let body = json!({"cvu": cvu, "amount": "3.21", "coelsaId": rail_id(number)});
        site.bank.post("/sandbox/cash-in", &body).await.is(200);
    }
}

/// Compares everything; returns the figures.
pub async fn agree(site: &Site, load: &Load) -> String {
    let expected = expected(load);
    let state = site.bank.get("/sandbox/state").await.is(200);
    let lost = state["notices"]["failed"].clone();
    told_again(site, load).await;
    let took = ended(site).await;
    let by_hand = told_by_hand(site, load, &expected).await;
    let transfers = transfers(site, load).await;
    let sum = accounts(site, load, &transfers).await;
    bank(site, &transfers, &expected).await;
    let brought = CASH_IN * i64::try_from(expected.cash_ins).unwrap();
    let first = FIRST * i64::try_from(ACCOUNTS).unwrap();
    assert_eq!(sum, first + brought - expected.left, "{expected:?}");
    let state = site.bank.get("/sandbox/state").await.is(200);
    assert_eq!(centavos(&state["balance"]), sum - first, "the bank's sum");
    let days = days(site, load).await;
    let moved = expected.completed + 2 * expected.reversed + expected.cash_ins;
    let mut matched = 0;
    for summary in days.iter().map(|day| &day["summary"]) {
        for difference in ["missingInLedger", "missingAtBank", "amountDiffers"] {
            assert_eq!(summary[difference], 0, "{summary}");
        }
        matched += usize::try_from(summary["matched"].as_u64().unwrap()).unwrap();
    }
    assert_eq!(matched, moved, "{days:?}");
    format!(
        "{} internal, {} completed, {} rejected, {} reversed, {} cash-ins; the last ended {took:?} \
         after the last was sent; {lost} notices given up by the bank, of {by_hand} reversals; {moved} movements reconciled",
        load.count - expected.completed - expected.rejected - expected.reversed,
        expected.completed,
        expected.rejected,
        expected.reversed,
        expected.cash_ins,
    )
}
