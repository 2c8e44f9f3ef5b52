//! Closed days: final figures, in order, with the bank's side, and a proof for each account.

use std::time::Duration;

use caudal_ledger::time::Timestamp;
use caudal_service::DayClosing;

use super::books::centavos;
use crate::audit::person;
use crate::support::service::{DAY_GRACE, TENANT};
use crate::support::{Client, SOON, Setup, TestClock, TestService, Value, json, wait_until};

const DAYS: &str = "/v1/days";
/// The closed days, the newest first.
async fn days(client: &Client) -> Vec<Value> {
    let listed = client.get(DAYS).await.is(200);
    listed["items"].as_array().unwrap().clone()
}

/// The lines of a checkpoint that begin with a word, without it.
fn lines<'a>(day: &'a Value, word: &str) -> Vec<&'a str> {
    let text = day["checkpoint"].as_str().unwrap();
    let lines = text.lines().filter_map(|line| line.strip_prefix(word));
    lines.map(str::trim_start).collect()
}

#[actix_web::test]
async fn days_close_in_order_and_their_figures_never_change() {
    let clock = TestClock::at("2026-03-02T15:00:00Z");
    let service = TestService::at(&clock).await;
    let a = &service.a;
    a.in_and_out().await;
    let (one, two) = (a.cvu().await, a.cvu().await);
    a.credit(&one, "10.00").await;
    a.hold(&one, "4.00").await;
    clock.set("2026-03-04T15:00:00Z");
    a.credit(&two, "5.00").await;
    let third = a.cvu().await;
    // The fourth is not over.
    service.close_days().await;
    let found = days(a).await;
    let dates: Vec<_> = found.iter().map(|day| &day["date"]).collect();
    assert_eq!(dates, ["2026-03-03", "2026-03-02"]);
    a.get("/v1/days/2026-03-04")
        .await
        .refused(404, "day_not_closed");
    // It is after its grace, ten minutes after midnight in Buenos Aires.
    clock.set("2026-03-05T03:11:00Z");
    a.credit(&third, "1.00").await;
    service.close_days().await;
    let closed = days(a).await;
    assert_eq!(closed[1..], found, "closed days do not change");
    let funds = |day: &Value| {
        let funds = &day["clientFunds"];
        [&funds["available"], &funds["held"], &funds["total"]].map(centavos)
    };
    for (day, accounts, of_clients, vouchers) in [
        (&closed[0], 3, [1100, 400, 1500], 3),
        (&closed[1], 2, [600, 400, 1000], 2),
        (&closed[2], 2, [600, 400, 1000], 2),
    ] {
        assert_eq!(
            (&day["accounts"], funds(day)),
            (&json!(accounts), of_clients)
        );
        assert_eq!(day["vouchers"], vouchers);
        assert_eq!(day["bank"]["status"], "absent");
        let past = format!("/v1/treasury?date={}", day["date"].as_str().unwrap());
        assert_eq!(
            a.get(&past).await.is(200)["clientFunds"],
            day["clientFunds"]
        );
        let books = format!(
            "/v1/books/trial-balance?date={}",
            day["date"].as_str().unwrap()
        );
        let books = a.get(&books).await.is(200);
        let mut clients = books["items"].as_array().unwrap().iter();
        let clients = clients.find(|it| it["account"] == "clients").unwrap();
        assert_eq!(clients["balance"], day["clientFunds"]["total"]);
    }
    for pair in closed.windows(2) {
        assert_eq!(pair[0]["previous"], pair[1]["digest"]);
        assert_eq!(
            lines(&pair[0], "previous"),
            [pair[1]["digest"].as_str().unwrap()]
        );
    }
    assert_eq!(lines(&closed[2], "previous"), ["none"]);
    let (_, mut browser) = person(&service, "vera", "auditor").await;
    for page in ["days", "days/2026-03-04"] {
        let page = format!("/console/tenants/{TENANT}/test/{page}");
        let page = browser.get(&page).await.is(200);
        assert!(page.text.contains("2026-03-04"), "{}", page.text);
    }
    let events = a.get("/v1/events?types=day.closed&limit=100").await.is(200);
    let events = events["items"].as_array().unwrap();
    assert_eq!(events.len(), 3);
    let newest = events.iter().find(|it| it["data"]["date"] == "2026-03-04");
    assert_eq!(newest.unwrap()["data"], closed[0]);
}

#[actix_web::test]
async fn days_are_listed_by_page_and_period_and_belong_to_their_realm() {
    let clock = TestClock::at("2026-03-02T15:00:00Z");
    let service = TestService::at(&clock).await;
    let cvu = service.a.cvu().await;
    let theirs = service.b.cvu().await;
    clock.set("2026-03-09T15:00:00Z");
    service.close_days().await;
    let dates = async |query: &str| {
        let listed = service.a.get(&format!("{DAYS}?{query}")).await.is(200);
        let dates = listed["items"].as_array().unwrap().iter();
        let dates = dates.map(|day| {
            day["date"]
                .as_str()
                .unwrap()
                .rsplit('-')
                .next()
                .unwrap()
                .to_owned()
        });
        (
            dates.collect::<Vec<_>>().join(" "),
            listed["total"].clone(),
            listed["next"].clone(),
        )
    };
    for (query, shown, total) in [
        ("", "08 07 06 05 04 03 02", 7),
        ("limit=2", "08 07", 7),
        ("limit=2&offset=6", "02", 7),
        ("order=asc&limit=3", "02 03 04", 7),
        ("from=2026-03-04&to=2026-03-06", "06 05 04", 3),
        ("to=2026-03-01", "", 0),
        ("from=2026-03-09", "", 0),
    ] {
        let (found, all, _) = dates(query).await;
        assert_eq!((found.as_str(), all), (shown, json!(total)), "{query}");
    }
    let (_, _, next) = dates("limit=4").await;
    let (found, ..) = dates(&format!("limit=4&cursor={}", next.as_str().unwrap())).await;
    assert_eq!(found, "04 03 02");
    for query in ["from=2026-03-06&to=2026-03-04", "from=today", "day=1"] {
        service
            .a
            .get(&format!("{DAYS}?{query}"))
            .await
            .refused(400, "invalid_request");
    }
    let csv = service
        .a
        .get(DAYS)
        .header("accept", "text/csv")
        .await
        .is(200);
    assert_eq!(csv.text.lines().count(), 8);
    // Another tenant's days and accounts are its own.
    let day = "/v1/days/2026-03-05";
    let (ours, others) = (
        service.a.get(day).await.is(200),
        service.b.get(day).await.is(200),
    );
    assert_ne!(ours["key"], others["key"]);
    assert!(
        ours["checkpoint"]
            .as_str()
            .unwrap()
            .starts_with(&format!("caudal/{TENANT}/test\n1\n"))
    );
    service.a.get(&format!("{day}/proof/{cvu}")).await.is(200);
    service
        .a
        .get(&format!("{day}/proof/{theirs}"))
        .await
        .refused(404, "account_not_found");
    service
        .live
        .get(&format!("{day}/proof/{cvu}"))
        .await
        .refused(404, "account_not_found");
    service
        .a
        .get(&format!("{day}/proof/1"))
        .await
        .refused(400, "invalid_request");
    service
        .a
        .get("/v1/days/yesterday")
        .await
        .refused(404, "day_not_closed");
}

#[actix_web::test]
async fn a_closed_day_has_the_banks_side_when_the_bank_answers() {
    // The sandbox dates its movements by the clock of the machine.
    let clock = TestClock::standing(Timestamp::millis(now()));
    let later = |days: u64| {
        let at = now().business_day().end().millis() + days * 24 * 60 * 60 * 1000;
        Timestamp::from_millis(at - 60_000).to_string()
    };
    let service = TestService::at(&clock).await;
    service.hear().await;
    let cvu = service.a.cvu().await;
    service.bank.cash_in(&cvu, "500.00").await;
    service
        .bank_moves(json!({"kind": "fee", "amount": "30.00"}))
        .await;
    service.catch_up().await;
    clock.set(&later(1));
    service.close_days().await;
    let closed = days(&service.a).await;
    let day = &closed[0];
    assert_eq!(
        (
            &day["bank"]["status"],
            &day["bank"]["balance"],
            &day["bank"]["unexplained"]
        ),
        (&json!("known"), &json!("470.00"), &json!("0.00"))
    );
    assert_eq!(
        (&day["freeBalance"], &day["covered"]),
        (&json!("-30.00"), &json!(false))
    );
    let sealed = format!("470.00 {}", day["bank"]["digest"].as_str().unwrap());
    assert_eq!(lines(day, "bank "), [sealed]);
    let path = format!("/v1/treasury?date={}", day["date"].as_str().unwrap());
    let past = service.a.get(&path).await.is(200);
    assert_eq!(
        (&past["bankBalance"], &past["freeBalance"], &past["covered"]),
        (&json!("470.00"), &json!("-30.00"), &json!(false))
    );
    // A bank that does not answer holds up no day, and its side is added later.
    service.bank.is_silent("statement", None).await;
    clock.set(&later(2));
    service.close_days().await;
    let waits = days(&service.a).await[0].clone();
    assert_eq!(waits["bank"]["status"], "pending");
    assert_eq!(lines(&waits, "bank "), ["pending"]);
    let path = format!("/v1/treasury?date={}", waits["date"].as_str().unwrap());
    let past = service.a.get(&path).await.is(200);
    assert_eq!(past["bankError"]["code"], "bank_not_yet");
    service.bank.speaks("statement").await;
    service.close_days().await;
    let known = days(&service.a).await[0].clone();
    assert_eq!(
        (&known["bank"]["status"], &known["bank"]["balance"]),
        (&json!("late"), &json!("470.00"))
    );
    assert_eq!(known["checkpoint"], waits["checkpoint"]);
    clock.set(&later(3));
    service.close_days().await;
    let last = days(&service.a).await[0].clone();
    let digest = known["bank"]["digest"].as_str().unwrap();
    let late = format!("{} 470.00 {digest}", known["date"].as_str().unwrap());
    assert_eq!(lines(&last, "late "), [late]);
}

#[actix_web::test]
async fn a_bank_that_is_away_for_longer_than_a_month_adds_its_side_to_every_day() {
    let service = TestService::start().await;
    service.hear().await;
    let cvu = service.a.cvu().await;
    service.bank.cash_in(&cvu, "500.00").await;
    let ahead = async |days: u64| {
        let order = json!({"daysAhead": days});
        let clock = service.a.post("/v1/simulations/clock", &order).await;
        clock.is(200);
    };
    let of_statement = async |mode: &str| {
        let order = json!({"operation": "statement", "mode": mode});
        service.bank.behave(order).await;
    };
    let waiting = async || {
        let found = service.a.get("/v1/days?limit=100").await.is(200);
        let days = found["items"].as_array().unwrap().iter();
        days.filter(|day| day["bank"]["status"] == "pending")
            .count()
    };
    of_statement("error").await;
    ahead(40).await;
    service.close_days().await;
    assert_eq!(waiting().await, 40);
    of_statement("ok").await;
    // The next closed day names those that are known until then, and has room for so many.
    for (day, left, named) in [(40, 9, 0), (41, 0, 31), (42, 0, 9)] {
        ahead(day).await;
        service.close_days().await;
        let newest = days(&service.a).await[0].clone();
        assert_eq!(
            (waiting().await, lines(&newest, "late ").len()),
            (left, named)
        );
    }
}

#[actix_web::test]
async fn the_day_after_a_rotation_names_the_new_key_which_signs_from_then_on() {
    let clock = TestClock::at("2026-03-02T15:00:00Z");
    let service = TestService::at(&clock).await;
    let cvu = service.a.cvu().await;
    let keys = format!("/admin/tenants/{TENANT}/seal-keys");
    let old = service.admin_get(&keys).await.is(200).json;
    clock.set("2026-03-03T15:00:00Z");
    service.close_days().await;
    let rotate = format!("{keys}/rotate");
    let new = service
        .admin("POST", &rotate, &json!({}))
        .await
        .is(200)
        .json;
    assert_eq!(service.admin_get(&keys).await.is(200).json, new);
    assert!(new["test"] != old["test"] && new["live"] != old["live"]);
    clock.set("2026-03-06T15:00:00Z");
    service.close_days().await;
    let found = days(&service.a).await;
    let signed: Vec<_> = found
        .iter()
        .map(|day| (&day["key"], &day["nextKey"]))
        .collect();
    let (old, new, none) = (&old["test"], &new["test"], &Value::Null);
    assert_eq!(signed, [(new, none), (new, none), (old, new), (old, none)]);
    assert_eq!(lines(&found[2], "key "), [new.as_str().unwrap()]);
    // The salts of a day are those of its key.
    for day in ["2026-03-03", "2026-03-05"] {
        let proof = format!("/v1/days/{day}/proof/{cvu}");
        service.a.get(&proof).await.is(200);
    }
    let page = service.admin_get("/metrics").await.is(200).text;
    let due = format!(
        "caudal_day_due_timestamp_seconds{{tenant=\"{TENANT}\",mode=\"test\"}} {}",
        Timestamp::parse("2026-03-07T03:00:00Z").unwrap().millis() / 1000 + DAY_GRACE.as_secs() - 1
    );
    assert!(page.contains(&due), "{due}: {page}");
}

/// What a day says: who signed it, and which key follows.
fn signed(day: &Value) -> (&Value, &Value) {
    (&day["key"], &day["nextKey"])
}

#[actix_web::test]
async fn a_new_pepper_makes_new_keys_and_changes_no_closed_day() {
    let clock = TestClock::at("2026-03-02T15:00:00Z");
    let mut service = TestService::at(&clock).await;
    let cvu = service.a.cvu().await;
    let keys = format!("/admin/tenants/{TENANT}/seal-keys");
    let old = service.admin_get(&keys).await.is(200)["test"].clone();
    clock.set("2026-03-03T15:00:00Z");
    service.close_days().await;
    let first = days(&service.a).await;
    assert_eq!(signed(&first[0]), (&old, &Value::Null));
    let proof = "/v1/days/2026-03-02/proof/".to_owned() + &cvu;
    let proved = service.a.get(&proof).await.is(200).json;

    let pepper = std::fs::read_to_string(service.data().join("pepper")).unwrap();
    service.pepper(&format!(
        "a newer pepper of more than 32 characters\n{pepper}"
    ));
    service.restart().await;
    let realms = async |service: &TestService| {
        let status = service.admin_get("/admin/status").await.is(200);
        status["olderPepper"]["realms"].clone()
    };
    assert_eq!(realms(&service).await, 4);
    let new = service.admin_get(&keys).await.is(200)["test"].clone();
    assert_ne!(new, old);
    clock.set("2026-03-05T15:00:00Z");
    service.close_days().await;
    let found = days(&service.a).await;
    let all: Vec<_> = found.iter().map(signed).collect();
    let none = &Value::Null;
    assert_eq!(all, [(&new, none), (&old, &new), (&old, none)]);
    assert_eq!(found[2], first[0]);
    assert_eq!(realms(&service).await, 0);

    // Without the older pepper the days go on, and those that were closed under it keep their proofs.
    service.pepper("a newer pepper of more than 32 characters");
    service.restart().await;
    let key = service.keyed(&json!({"mode": "test"})).await;
    assert_eq!(key.get(&proof).await.is(200).json, proved);
    clock.set("2026-03-06T15:00:00Z");
    service.close_days().await;
    assert_eq!(signed(&days(&key).await[0]), (&new, none));
}

fn now() -> Timestamp {
    let since = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap();
    Timestamp::from_millis(u64::try_from(since.as_millis()).unwrap())
}

#[actix_web::test]
async fn the_service_closes_days_by_itself() {
    let clock = TestClock::at("2026-03-02T15:00:00Z");
    let service = TestService::with(Setup {
        clock: std::sync::Arc::<TestClock>::clone(&clock),
        day_closing: Some(DayClosing {
            grace: DAY_GRACE,
            every: Duration::from_millis(50),
        }),
        ..Setup::default()
    })
    .await;
    clock.set("2026-03-04T15:00:00Z");
    wait_until("two days are closed", SOON, async || {
        let found = days(&service.live).await;
        (found.len() == 2).then_some(())
    })
    .await;
}
