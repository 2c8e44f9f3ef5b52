//! The positions of clients at the end of a past day, or at an instant: one cut, whatever moves in
//! the meantime.

use crate::support::{Client, TestClock, TestService, Value, json, named};

/// Three clients with money from two days; on the third day one is closed and a fourth one comes.
async fn story() -> TestService {
    let clock = TestClock::at("2026-03-02T15:00:00Z");
    let service = TestService::at(&clock).await;
    let a = &service.a;
    a.in_and_out().await;
    let mut cvus = Vec::new();
    for credit in ["10.00", "20.00", "30.00"] {
        let cvu = a.cvu().await;
        a.credit(&cvu, credit).await;
        cvus.push(cvu);
    }
    clock.set("2026-03-03T15:00:00Z");
    a.credit(&cvus[0], "1.00").await;
    a.hold(&cvus[1], "5.00").await;
    clock.set("2026-03-04T15:00:00Z");
    a.debit(&cvus[2], "30.00").await;
    a.delete(&format!("/v1/accounts/{}", cvus[2])).await.is(200);
    let late = a.cvu().await;
    a.credit(&late, "7.00").await;
    clock.set("2026-03-05T15:00:00Z");
    service
}

/// Reads the pages of a list; returns the totals of its rows and the first page.
async fn walk(client: &Client, path: &str, row: &str) -> (Vec<String>, Value) {
    let (mut totals, mut first, mut next) = (Vec::new(), Value::Null, String::new());
    loop {
        let page = client.get(&format!("{path}&cursor={next}")).await.is(200);
        for item in page["items"].as_array().unwrap() {
            totals.push(item[row].as_str().unwrap().to_owned());
        }
        if first.is_null() {
            first.clone_from(&page.json);
        } else {
            let members = ["sequence", "clientFunds", "totales", "secuencia"];
            let more = members.map(|name| page.json.get(name));
            assert_eq!(more, [None; 4], "sums are made once");
        }
        assert_eq!(page["asOf"], first["asOf"]);
        next = page.header("x-next-cursor").to_owned();
        if next.is_empty() {
            return (totals, first);
        }
    }
}

#[actix_web::test]
async fn a_past_day_is_one_cut_of_every_account() {
    let service = story().await;
    let a = &service.a;
    // Newest account first: the fourth, the closed one, the second and the first.
    let table = [
        (
            "2026-03-01",
            ["0.00", "0.00", "0.00", "0.00"],
            ("0.00", "0.00"),
            0,
        ),
        (
            "2026-03-02",
            ["0.00", "30.00", "20.00", "10.00"],
            ("60.00", "0.00"),
            3,
        ),
        (
            "2026-03-03",
            ["0.00", "30.00", "20.00", "11.00"],
            ("56.00", "5.00"),
            5,
        ),
        (
            "2026-03-04",
            ["7.00", "0.00", "20.00", "11.00"],
            ("33.00", "5.00"),
            7,
        ),
    ];
    for (date, rows, (available, held), sequence) in table {
        let total: i64 = rows.iter().map(|row| centavos(row)).sum();
        let path = format!("/v1/treasury/positions?date={date}&limit=1");
        let (found, first) = walk(a, &path, "total").await;
        assert_eq!(found, rows, "{date}");
        assert_eq!(
            (&first["sequence"], &first["final"]),
            (&json!(sequence), &json!(true))
        );
        let funds = &first["clientFunds"];
        assert_eq!(
            (&funds["available"], &funds["held"]),
            (&json!(available), &json!(held))
        );
        assert_eq!(centavos(funds["total"].as_str().unwrap()), total, "{date}");
        let past = a.get(&format!("/v1/treasury?date={date}")).await.is(200);
        assert_eq!(past["clientFunds"], *funds);
        assert_eq!(
            (&past["date"], &past["sequence"]),
            (&json!(date), &json!(sequence))
        );
        for unknown in [
            "bankBalance",
            "freeBalance",
            "covered",
            "accounts",
            "pspFees",
        ] {
            assert_eq!(past.json.get(unknown), Some(&Value::Null), "{unknown}");
        }
        assert_eq!(past["bankError"]["code"], "bank_not_kept");
        for list in ["SaldosActuales", "SaldosClientes"] {
            let path = format!("/wallet/v1/{list}?fecha={date}&pageSize=1");
            let (found, first) = walk(a, &path, "totalBalance").await;
            assert_eq!(found, rows, "{list} {date}");
            assert_eq!(first["totales"]["totalBalance"], funds["total"], "{list}");
            assert_eq!(
                (&first["secuencia"], &first["definitivo"]),
                (&json!(sequence), &json!(true))
            );
        }
    }
    // A filter uses the positions of that time, and the sums are those of all clients.
    let path = "/v1/treasury/positions?date=2026-03-02&min=20";
    let some = a.get(path).await.is(200);
    assert_eq!(
        (&some["total"], &some["clientFunds"]["total"]),
        (&json!(2), &json!("60.00"))
    );
    // An instant of a past day, and one for which money may still come in.
    let path = "/v1/treasury/positions?asOf=2026-03-03T14:59:59Z";
    let before = a.get(path).await.is(200);
    assert_eq!(before["clientFunds"]["total"], "60.00");
    let path = "/v1/treasury/positions?asOf=2026-03-05T14:59:59Z";
    let now = a.get(path).await.is(200);
    assert_eq!(
        (&now["clientFunds"]["total"], &now["final"]),
        (&json!("38.00"), &json!(false))
    );
    // Without an instant the answer has no such field.
    let plain = a.get("/v1/treasury/positions").await.is(200);
    assert_eq!(plain.json.get("asOf"), None);
}

fn centavos(text: &str) -> i64 {
    text.replace('.', "").parse().unwrap()
}

#[actix_web::test]
async fn days_and_instants_that_are_none_are_refused() {
    let service = story().await;
    let table = [
        ("/v1/treasury?date=2026-03-06", "date"),
        ("/v1/treasury?date=ayer", "date"),
        ("/v1/treasury/positions?date=2026-03-06", "date"),
        ("/v1/treasury/positions?asOf=2026-03-06T00:00:00Z", "asOf"),
        (
            "/v1/treasury/positions?asOf=2026-03-02T00:00:00Z&date=2026-03-02",
            "asOf",
        ),
        ("/wallet/v1/SaldosActuales?fecha=06-03-2026", "fecha"),
        ("/wallet/v1/SaldosClientes?asOf=ayer", "asOf"),
    ];
    for (path, field) in table {
        let refused = service.a.get(path).await;
        let refused = refused.refused(400, "invalid_request");
        assert_eq!(named(&refused.json), [field], "{path}");
    }
}
