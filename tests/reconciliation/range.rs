//! Reconciliation over several days: in pages, filtered by result, with the sums over everything.

use std::collections::BTreeSet;

use caudal_actors::ports::Notice;
use caudal_ledger::cvu::Cvu;
use caudal_ledger::ids::RealmId;
use caudal_ledger::money::Amount;
use caudal_ledger::time::Timestamp;
use caudal_ledger::transfers::Counterparty;

use super::PATH;
use crate::support::{Answer, TestClock, TestService, Value, json, named};

const DAY: u64 = 86_400_000;
/// How many days ago the bank reported the money that is missing from its lists.
const PAST: [u64; 3] = [20, 7, 7];

struct Story {
    service: TestService,
    first: String,
    last: String,
}

/// Has the bank report money that came in.
async fn told(service: &TestService, cvu: &str, number: usize, at: Timestamp) {
    let notice = Notice::Received {
        coelsa_id: format!("PAST{number}"),
        bank_id: format!("bank-{number}"),
        cvu: Cvu::parse(cvu).unwrap(),
        amount: Amount::parse("1.00").unwrap(),
        from: Counterparty::default(),
        at,
    };
    let engine = service.engine();
    let reply = engine
        .ledger()
        .notice(BTreeSet::from([RealmId(2)]), notice, "past");
    reply.await.unwrap();
}

/// Money of past days that the bank does not list, and movements of today: one that agrees, one that
/// stays pending, one that a person has decided.
async fn story() -> Story {
    let now = caudal_http::clock::GuardedClock::of_machine();
    let now = caudal_actors::ports::Clock::now(&now);
    let ago = |days: u64| Timestamp::from_millis(now.millis() - days * DAY);
    let clock = TestClock::standing(ago(21).millis());
    let service = TestService::at(&clock).await;
    service.a.in_and_out().await;
    let cvu = service.a.cvu().await;
    for (number, days) in PAST.into_iter().enumerate() {
        clock.set(&ago(days).to_string());
        told(&service, &cvu, number, ago(days)).await;
    }
    clock.set(&now.to_string());
    service.hear().await;
    service.bank.cash_in(&cvu, "100.00").await;
    service.heard().await;
    for decided in [false, true] {
        let to = json!({"alias": "DESTINO.2"});
        let sent = service.a.transfer(&cvu, to, "10.00").await.is(201).json;
        service.a.settled(&sent, "in_progress").await;
        if decided {
            let id = sent["id"].as_str().unwrap();
            let body =
                json!({"outcome": "completed", "reason": "paper", "by": "Ana", "force": true});
            let path = format!("/admin/cases/{id}/decide");
            service.admin("POST", &path, &body).await.is(200);
        }
    }
    Story {
        service,
        first: ago(21).business_day().to_string(),
        last: now.business_day().to_string(),
    }
}

fn results(answer: &Answer) -> Vec<Value> {
    let items = answer["items"].as_array().unwrap().iter();
    items.map(|item| item["result"].clone()).collect()
}

#[actix_web::test]
async fn a_range_is_read_by_pages_and_its_summary_is_of_all_of_it() {
    let Story {
        service,
        first,
        last,
    } = story().await;
    let whole = format!("{PATH}?from={first}&to={last}");
    let all = service.a.get(&whole).await.is(200);
    assert_eq!(all.json.get("fecha"), None);
    assert_eq!((&all["from"], &all["to"]), (&json!(first), &json!(last)));
    assert_eq!((&all["total"], &all["limit"]), (&json!(6), &json!(50)));
    let mut sorted = results(&all)
        .iter()
        .map(|it| it.as_str().unwrap().to_owned())
        .collect::<Vec<_>>();
    assert_eq!(sorted[..3], ["missing_at_bank"; 3]);
    sorted.sort_unstable();
    let wanted = ["decided", "matched", "missing_at_bank", "missing_at_bank"];
    assert_eq!(sorted[..4], wanted);
    let days: Vec<_> = all["items"].as_array().unwrap().iter().collect();
    let days: Vec<_> = days.iter().map(|it| it["date"].as_str().unwrap()).collect();
    assert!(days.is_sorted() && days[0] < days[1], "{days:?}");
    // Pending movements are in no sum, nor is money whose end no bank has reported.
    let summary = json!({"matched": 1, "missingInLedger": 0, "missingAtBank": 3,
        "amountDiffers": 0, "pending": 1, "decided": 1, "suspense": 0, "collector": 0, "contradicted": 0, "amountIn": "100.00",
        "amountOut": "0.00"});
    assert_eq!(all["summary"], summary);
    for limit in [1, 2, 5, 6] {
        let (mut items, mut next) = (Vec::new(), String::new());
        loop {
            let path = format!("{whole}&limit={limit}&cursor={next}");
            let page = service.a.get(&path).await.is(200);
            assert_eq!(page["summary"], summary);
            assert_eq!(
                (&page["total"], page.header("x-total-count")),
                (&json!(6), "6")
            );
            let rows = page["items"].as_array().unwrap();
            assert!(rows.len() <= limit);
            items.extend(rows.clone());
            next = page.header("x-next-cursor").to_owned();
            if next.is_empty() {
                break;
            }
        }
        assert_eq!(json!(items), all["items"], "pages of {limit}");
    }
    for (result, count) in [
        ("matched", 1),
        ("missing_at_bank", 3),
        ("pending", 1),
        ("decided", 1),
        ("amount_differs", 0),
    ] {
        let path = format!("{whole}&result={result}&limit=2");
        let page = service.a.get(&path).await.is(200);
        assert_eq!(
            (&page["total"], &page["summary"]),
            (&json!(count), &summary)
        );
        assert!(results(&page).iter().all(|it| it == result), "{result}");
        assert_eq!(results(&page).len(), count.min(2), "{result}");
    }
    // A single day gives the same answer as ever, under both of its names.
    let day = service.a.get(PATH).await.is(200);
    assert_eq!((&day["fecha"], &day["total"]), (&json!(last), &json!(3)));
    for query in [
        format!("date={last}"),
        format!("fecha={last}"),
        format!("from={last}"),
        format!("from={last}&to={last}"),
    ] {
        let same = service.a.get(&format!("{PATH}?{query}")).await.is(200);
        assert_eq!(same.json, day.json, "{query}");
    }
}

#[actix_web::test]
async fn a_later_page_asks_the_bank_only_for_its_own_days() {
    let Story {
        service,
        first,
        last,
    } = story().await;
    let whole = format!("{PATH}?from={first}&to={last}");
    let all = service.a.get(&whole).await.is(200);
    // The first page asks the bank about each day, a later one only about its own days and their
    // neighbours.
    let asked = async |cursor: &str, query: &str| {
        let before = service.bank.calls("transfer_list").await;
        let path = format!("{whole}&limit=5&cursor={cursor}{query}");
        let page = service.a.get(&path).await.is(200);
        let calls = service.bank.calls("transfer_list").await - before;
        assert_eq!(page["summary"], all["summary"]);
        (calls, page.header("x-next-cursor").to_owned(), page)
    };
    let (calls, next, _) = asked("", "").await;
    assert!(calls >= 22, "{calls}");
    let (calls, _, page) = asked(&next, "").await;
    assert!((1..=4).contains(&calls), "{calls}");
    assert_eq!(page["items"], json!([all["items"][5]]));
    // A cursor for other rows is refused.
    let path = format!("{whole}&limit=5&cursor={next}&result=pending");
    let refused = service.a.get(&path).await;
    assert_eq!(
        named(&refused.refused(400, "invalid_request").json),
        ["cursor"]
    );
}

#[actix_web::test]
async fn ranges_that_are_none_are_refused() {
    let service = TestService::start().await;
    let table = [
        ("from=2026-01-01&to=2026-02-01", "to"),
        ("from=2020-01-01", "to"),
        ("from=2026-02-02&to=2026-02-01", "from"),
        ("to=2026-02-01", "from"),
        ("from=2999-01-01&to=2999-01-02", "from"),
        ("date=2026-02-01&from=2026-02-01", "from"),
        ("fecha=2026-02-01&to=2026-02-01", "to"),
        ("date=2026-02-01&fecha=2026-02-02", "fecha"),
        ("from=ayer&to=2026-02-01", "from"),
        ("result=wrong", "result"),
        ("limit=0", "limit"),
        ("limit=201", "limit"),
        ("cursor=YzE6NDI", "cursor"),
    ];
    for (query, field) in table {
        let refused = service.a.get(&format!("{PATH}?{query}")).await;
        let refused = refused.refused(400, "invalid_request");
        assert_eq!(named(&refused.json)[0], field, "{query}");
    }
    let month = service
        .a
        .get(&format!("{PATH}?from=2026-01-01&to=2026-01-31"));
    assert_eq!(month.await.is(200)["items"], json!([]));
}

#[actix_web::test]
async fn a_range_as_rows_is_whole() {
    let now = caudal_http::clock::GuardedClock::of_machine();
    let now = caudal_actors::ports::Clock::now(&now);
    let ago = |days: u64| Timestamp::from_millis(now.millis() - days * DAY);
    let clock = TestClock::standing(ago(9).millis());
    let service = TestService::at(&clock).await;
    let cvu = service.a.cvu().await;
    // over two days, more than a page has by default
    for (day, numbers) in [(7, 0..40), (5, 40..70)] {
        clock.set(&ago(day).to_string());
        for number in numbers {
            told(&service, &cvu, number, ago(day)).await;
        }
    }
    clock.set(&now.to_string());
    let range = format!("{PATH}?from={}", ago(8).business_day());
    let pages = service.a.get(&range).await.is(200);
    assert_eq!((&pages["total"], results(&pages).len()), (&json!(70), 50));
    let lines = service
        .a
        .get(&range)
        .header("accept", "application/x-ndjson");
    let lines = lines.await.is(200);
    let mut lines: Vec<Value> = lines
        .text
        .lines()
        .map(|it| serde_json::from_str(it).unwrap())
        .collect();
    assert_eq!(lines.pop().unwrap(), json!({"summary": {"rows": 70}}));
    assert_eq!(json!(lines[..50]), pages["items"]);
    let table = service
        .a
        .get(&range)
        .header("accept", "text/csv")
        .await
        .is(200);
    assert_eq!(table.text.lines().count(), 71);
    for more in ["limit=60", "cursor="] {
        let page = service.a.get(&format!("{range}&{more}"));
        let page = page.header("accept", "text/csv").await;
        page.refused(400, "invalid_request");
    }
}
