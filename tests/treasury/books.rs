//! The books: the other side of everything that moves money, and a treasury whose terms add up to the bank's balance.

use super::PATH;
use crate::support::{Answer, Client, SOON, TestService, Value, json, named, wait_until};

const BOOKS: &str = "/v1/books/trial-balance";

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
        terms + owed,
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
            ("adjustments", "-6.00"),
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
