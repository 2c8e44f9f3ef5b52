//! The books: the other side of everything that moves money, and a treasury whose terms add up to the bank's balance.

use std::collections::BTreeMap;

use caudal_ledger::time::BusinessDay;

use super::PATH;
use crate::support::{
    Answer, Client, SOON, TestClock, TestService, Value, json, named, wait_until,
};

const BOOKS: &str = "/v1/books/trial-balance";
const ENTRIES: &str = "/v1/books/entries";

/// An amount in centavos.
pub fn centavos(amount: &Value) -> i64 {
    amount.as_str().unwrap().replace('.', "").parse().unwrap()
}

/// The balances of the accounts that are not zero, of a trial balance that adds up.
pub fn balances(books: &Answer) -> Vec<(String, String)> {
    let items = books["items"].as_array().unwrap();
    let sum = |name: &str| items.iter().map(|it| centavos(&it[name])).sum::<i64>();
    assert_eq!(
        (sum("debit"), &books["total"]),
        (sum("credit"), &json!("0.00"))
    );
    let text = |it: &Value, name: &str| it[name].as_str().unwrap().to_owned();
    let moved = items.iter().filter(|it| it["balance"] != "0.00");
    moved
        .map(|it| (text(it, "account"), text(it, "balance")))
        .collect()
}

/// What each account has been debited less what it has been credited, in centavos, by the lines of a trial balance or by
/// entries; accounts with nothing are left out.
fn debits<'a>(items: impl IntoIterator<Item = &'a Value>) -> BTreeMap<String, i64> {
    let mut sums = BTreeMap::new();
    for item in items {
        let account = item["account"].as_str().unwrap().to_owned();
        *sums.entry(account).or_default() += centavos(&item["debit"]) - centavos(&item["credit"]);
    }
    sums.retain(|_, sum| *sum != 0);
    sums
}

/// The lines of a trial balance that adds up, as [`debits`].
async fn lines(client: &Client, query: &str) -> BTreeMap<String, i64> {
    let books = client.get(&format!("{BOOKS}?{query}")).await.is(200);
    balances(&books);
    debits(books["items"].as_array().unwrap())
}

/// All entries of a query, in pages of this many.
async fn entries(client: &Client, query: &str, limit: usize) -> Vec<Value> {
    let (mut found, mut cursor) = (Vec::new(), String::new());
    loop {
        let path = format!("{ENTRIES}?{query}&limit={limit}&cursor={cursor}");
        let page = client.get(&path).await.is(200);
        found.extend(page["items"].as_array().unwrap().iter().cloned());
        match page["next"].as_str() {
            Some(next) => next.clone_into(&mut cursor),
            None => return found,
        }
    }
}

/// Checks that the entries of a day are the difference between its trial balance and that of the day before.
pub async fn entries_explain(client: &Client, day: BusinessDay) {
    let mut sums = lines(client, &format!("date={}", day.before())).await;
    let moved = entries(client, &format!("from={day}&to={day}"), 200).await;
    for (account, sum) in debits(&moved) {
        *sums.entry(account).or_default() += sum;
    }
    sums.retain(|_, sum| *sum != 0);
    assert_eq!(sums, lines(client, &format!("date={day}")).await, "{day}");
}

/// Checks that the terms of a treasury add up to the bank's balance, and returns what they leave unexplained.
pub async fn unexplained(client: &Client) -> i64 {
    let taken = client.get(PATH).await.is(200);
    let free = &taken["free"];
    let terms = [
        "fees",
        "feeTax",
        "adjustments",
        "funding",
        "interest",
        "bankCharges",
        "unexplained",
    ];
    let terms: i64 = terms.iter().map(|term| centavos(&free[term])).sum();
    assert_eq!(
        (terms, &free["total"]),
        (centavos(&taken["freeBalance"]), &taken["freeBalance"])
    );
    let owed = centavos(&taken["clientFunds"]["total"]) + centavos(&taken["inTransit"]["incoming"]);
    assert_eq!(
        terms + owed + centavos(&taken["uncredited"]),
        centavos(&taken["bankBalance"]),
        "{}",
        taken.text
    );
    centavos(&free["unexplained"])
}

fn are(found: &[(String, String)], wanted: &[(&str, &str)]) {
    let found: Vec<_> = found
        .iter()
        .map(|(name, it)| (name.as_str(), it.as_str()))
        .collect();
    assert_eq!(found, wanted);
}

#[actix_web::test]
async fn everything_that_moves_money_has_its_other_side() {
    let service = TestService::start().await;
    service.hear().await;
    service.a.in_and_out().await;
    let fees = json!({"feeSchedule": [
        {"voucherTypeCode": "TRANSFER_OUT", "percentage": "1", "fixed": "0.00", "charge": true}]});
    service.tenant(&fees).await;
    let (one, closed) = (service.a.cvu().await, service.a.cvu().await);
    service
        .a
        .delete(&format!("/v1/accounts/{closed}"))
        .await
        .is(200);
    // Nothing has moved.
    are(&balances(&service.a.get(BOOKS).await.is(200)), &[]);
    service.bank.cash_in(&one, "500.00").await;
    service.bank.cash_in(&closed, "7.00").await;
    let all = [
        ("bank", "507.00"),
        ("clients", "500.00"),
        ("suspense", "7.00"),
    ];
    let books = wait_until("both arrivals are booked", SOON, async || {
        let books = service.a.get(BOOKS).await.is(200);
        (balances(&books).len() == all.len()).then_some(books)
    });
    are(&balances(&books.await), &all);
    // A hold and money within the realm change nothing.
    let other = service.a.cvu().await;
    service.a.hold(&one, "20.00").await;
    service
        .a
        .transfer(&one, json!({"cvu": other}), "30.00")
        .await
        .is(201);
    are(&balances(&service.a.get(BOOKS).await.is(200)), &all);
    // What the tenant gives and takes, and a transfer with its fee and the tax on it.
    service.a.credit(&one, "10.00").await;
    service.a.debit(&one, "4.00").await;
    let sent = service
        .a
        .transfer(&one, json!({"alias": "DESTINO.0"}), "100.00")
        .await;
    service.a.settled(&sent.is(201).json, "completed").await;
    let books = service.a.get(BOOKS).await.is(200);
    are(
        &balances(&books),
        &[
            ("bank", "407.00"),
            ("clients", "404.79"),
            ("suspense", "7.00"),
            ("fee_tax", "0.21"),
            ("fees", "1.00"),
            ("adjustments:in", "-10.00"),
            ("adjustments:out", "4.00"),
        ],
    );
    assert_eq!(unexplained(&service.a).await, 0);
    // A person credits what waited; another arrival goes back to its sender.
    let cases = service
        .admin_get("/admin/cases?kind=suspense")
        .await
        .is(200);
    let decide = format!(
        "/admin/cases/{}/decide",
        cases["items"][0]["id"].as_str().unwrap()
    );
    let credit = json!({"outcome": "credit", "cvu": one, "by": "ana", "reason": "it is hers"});
    service.admin("POST", &decide, &credit).await.is(200);
    let books = balances(&service.a.get(BOOKS).await.is(200));
    are(&books[..2], &[("bank", "407.00"), ("clients", "411.79")]);
    assert!(books.iter().all(|(account, _)| account != "suspense"));
    assert_eq!(unexplained(&service.a).await, 0);
    // The day has the same as now, and the day before nothing.
    let today = service.engine().now().business_day();
    let of_day =
        async |day: String| balances(&service.a.get(&format!("{BOOKS}?date={day}")).await.is(200));
    assert_eq!(of_day(today.to_string()).await, books);
    are(&of_day(today.before().to_string()).await, &[]);
    let refused = service
        .a
        .get(&format!("{BOOKS}?date={}", today.next()))
        .await;
    assert_eq!(
        named(&refused.refused(400, "invalid_request").json),
        ["date"]
    );
    entries_explain(&service.a, today).await;
    // Another tenant has books of its own.
    are(&balances(&service.b.get(BOOKS).await.is(200)), &[]);
    service.verified().await;
}

#[actix_web::test]
async fn money_that_no_account_could_take_is_not_free() {
    let service = TestService::start().await;
    service.hear().await;
    let closed = service.a.cvu().await;
    service
        .a
        .delete(&format!("/v1/accounts/{closed}"))
        .await
        .is(200);
    service.bank.cash_in(&closed, "777.00").await;
    let taken = super::snapshot(&service.a, "the money waits", |taken| {
        taken["inTransit"]["incoming"] == "777.00" && taken["bankBalance"] == "777.00"
    });
    let taken = taken.await;
    assert_eq!(
        (&taken["freeBalance"], &taken["covered"]),
        (&json!("0.00"), &json!(true))
    );
    assert_eq!(taken["coverageRatio"], "1.0000");
}

#[actix_web::test]
async fn another_account_of_a_type_counts_from_then_on_and_moves_nothing_of_the_past() {
    let clock = TestClock::at("2026-03-02T15:00:00Z");
    let mut service = TestService::at(&clock).await;
    service.a.in_and_out().await;
    let cvu = service.a.cvu().await;
    let set = async |client: &Client, code: &str, account: Value| {
        let change = json!({"counterAccount": account});
        let path = format!("/v1/voucher-types/{code}");
        client.patch(&path, &change).await.is(200)
    };
    service.a.credit(&cvu, "10.00").await;
    set(&service.a, "OUT", json!("shared")).await;
    service.a.debit(&cvu, "4.00").await;
    let hold = service.a.hold(&cvu, "2.00").await;
    let confirm = format!("/v1/holds/{}/confirm", hold["id"].as_str().unwrap());
    service.a.post(&confirm, &json!({})).await.is(200);
    let first = [
        ("bank", 0),
        ("clients", -400),
        ("adjustments:confirm_hold", -200),
        ("adjustments:in", 1_000),
        ("shared", -400),
    ];
    let is = |found: &BTreeMap<String, i64>, wanted: &[(&str, i64)]| {
        let wanted = wanted.iter().filter(|(_, sum)| *sum != 0);
        let wanted: BTreeMap<_, _> = wanted
            .map(|(name, sum)| ((*name).to_owned(), *sum))
            .collect();
        assert_eq!(*found, wanted);
    };
    is(&lines(&service.a, "").await, &first);
    clock.set("2026-03-04T15:00:00Z");
    set(&service.a, "IN", json!("shared")).await;
    set(&service.a, "OUT", Value::Null).await;
    service.a.credit(&cvu, "1.00").await;
    service.a.debit(&cvu, "3.00").await;
    let second = [
        ("clients", -200),
        ("adjustments:confirm_hold", -200),
        ("adjustments:in", 1_000),
        ("adjustments:out", -300),
        ("shared", -300),
    ];
    let days = ["2026-03-01", "2026-03-02", "2026-03-03", "2026-03-04"];
    let days = days.map(|day| BusinessDay::parse(day).unwrap());
    for crash in [false, true] {
        is(&lines(&service.a, "").await, &second);
        for (day, wanted) in days.iter().zip([&[][..], &first, &first, &second]) {
            is(&lines(&service.a, &format!("date={day}")).await, wanted);
            entries_explain(&service.a, *day).await;
        }
        service.verified().await;
        if !crash {
            service.crash().await;
        }
    }
    // The type is gone; its account stays, and an account of the same code goes on.
    service.a.delete("/v1/voucher-types/OUT").await.is(204);
    is(&lines(&service.a, "").await, &second);
    let made = json!({"code": "OUT", "name": "Out", "sense": "credit"});
    service.a.post("/v1/voucher-types", &made).await.is(201);
    let body = json!({"voucherTypeCode": "OUT", "amount": "3.00", "idExterno": "again"});
    let path = format!("/v1/accounts/{cvu}/comprobantes");
    service.a.post(&path, &body).await.is(201);
    let found = lines(&service.a, "").await;
    assert_eq!(found.get("adjustments:out"), None);
    assert_eq!(found["clients"], -500);
    service.verified().await;
}

#[actix_web::test]
async fn the_balances_at_an_instant_are_those_of_its_entries() {
    let clock = TestClock::at("2026-03-02T15:00:00Z");
    let service = TestService::at(&clock).await;
    service.a.in_and_out().await;
    let (one, other) = (service.a.cvu().await, service.a.cvu().await);
    let times = [
        "2026-03-02T15:00:00.000Z",
        "2026-03-03T02:59:59.999Z",
        "2026-03-03T03:00:00.000Z",
        "2026-03-03T15:00:00.000Z",
        "2026-03-03T15:00:00.001Z",
        "2026-03-04T02:59:59.999Z",
    ];
    for at in times {
        clock.set(at);
        service.a.credit(&one, "7.00").await;
        service.a.debit(&one, "1.50").await;
        // Money within the realm moves nothing in the books.
        let to = json!({"cvu": other});
        service.a.transfer(&one, to, "2.00").await.is(201);
    }
    let all = entries(&service.a, "order=asc", 3).await;
    assert_eq!(all.len(), times.len() * 4);
    let mut backwards = entries(&service.a, "", 200).await;
    backwards.reverse();
    assert_eq!(all, backwards);
    for at in times {
        let by_then: Vec<_> = all
            .iter()
            .filter(|it| it["at"].as_str().unwrap() <= at)
            .collect();
        let sums = debits(by_then.iter().copied());
        assert_eq!(lines(&service.a, &format!("at={at}")).await, sums, "{at}");
        let until = entries(&service.a, &format!("to={at}"), 200).await;
        assert_eq!(until.len(), by_then.len(), "{at}");
    }
    let before = lines(&service.a, "at=2026-03-02T14:59:59.999Z").await;
    assert_eq!(before, BTreeMap::new());
    let of_one = entries(&service.a, "account=adjustments:out", 1).await;
    assert_eq!(of_one.len(), times.len());
    assert!(of_one.iter().all(|it| it["counterAccount"] == "clients"));
}

#[actix_web::test]
async fn entries_are_rows_for_spreadsheets_too() {
    let service = TestService::start().await;
    service.a.in_and_out().await;
    let cvu = service.a.cvu().await;
    service.a.credit(&cvu, "7.00").await;
    let wanted = entries(&service.a, "account=clients", 10).await;
    let path = format!("{ENTRIES}?account=clients");
    let csv = service
        .a
        .get(&path)
        .header("accept", "text/csv")
        .await
        .is(200);
    let header = "at,at.date,day,account,debit,credit,source.type,source.id,text,counterAccount";
    let rows: Vec<_> = csv.text.lines().collect();
    assert_eq!((rows.len(), rows[0]), (2, header));
    let id = wanted[0]["source"]["id"].as_str().unwrap();
    assert!(
        rows[1].contains(&format!(",clients,0.00,7.00,voucher,{id},")),
        "{}",
        rows[1]
    );
    let lines = service
        .a
        .get(&path)
        .header("accept", "application/x-ndjson")
        .await
        .is(200);
    let first: Value = serde_json::from_str(lines.text.lines().next().unwrap()).unwrap();
    assert_eq!(first, wanted[0]);
}
