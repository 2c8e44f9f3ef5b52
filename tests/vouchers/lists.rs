//! Lists of vouchers: every filter, every order, and pages that show each row once.

use std::collections::BTreeSet;

use super::of;
use crate::support::{Answer, Client, TestClock, TestService, Value, json, named};

/// Two accounts with vouchers over three business days: `(cvu, other)`.
async fn history(service: &TestService, clock: &TestClock) -> (String, String) {
    service.a.in_and_out().await;
    service.a.create_type("PREMIO", "credit").await;
    let (cvu, other) = (service.a.cvu().await, service.a.cvu().await);
    let rows = [
        (
            "2026-03-02T15:00:00Z",
            &cvu,
            "IN",
            "100.00",
            "a-1",
            "Carga inicial",
        ),
        (
            "2026-03-02T15:00:00Z",
            &cvu,
            "OUT",
            "30.00",
            "a-2",
            "Compra: Ñandú",
        ),
        (
            "2026-03-03T02:59:59.999Z",
            &cvu,
            "IN",
            "5.00",
            "a-3",
            "Última del día",
        ),
        ("2026-03-03T03:00:00Z", &other, "IN", "50.00", "b-1", "Otra"),
        (
            "2026-03-03T03:00:00Z",
            &cvu,
            "PREMIO",
            "5.00",
            "a-4",
            "Primera del día",
        ),
        ("2026-03-04T12:00:00Z", &cvu, "OUT", "80.00", "a-5", "Todo"),
        (
            "2026-03-04T12:00:01Z",
            &cvu,
            "IN",
            "0.01",
            "a-6",
            "100% más_1",
        ),
    ];
    for (at, cvu, code, amount, id, description) in rows {
        clock.set(at);
        let body = json!({"voucherTypeCode": code, "amount": amount, "idExterno": id, "description": description});
        service.a.post(&of(cvu), &body).await.is(201);
    }
    (cvu, other)
}

fn externals(rows: &Value) -> Vec<&str> {
    rows.as_array()
        .unwrap()
        .iter()
        .map(|row| row["idExterno"].as_str().unwrap())
        .collect()
}

#[actix_web::test]
async fn movements_are_filtered_by_everything_they_have() {
    let clock = TestClock::at("2026-03-02T12:00:00Z");
    let service = TestService::at(&clock).await;
    let (cvu, _) = history(&service, &clock).await;
    let id = service.a.get("/v1/comprobantes/by-external/a-3").await["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let by_id = format!("q={id}");
    for (query, expected) in [
        ("", vec!["a-6", "a-5", "a-4", "a-3", "a-2", "a-1"]),
        ("order=asc", vec!["a-1", "a-2", "a-3", "a-4", "a-5", "a-6"]),
        ("type=credit", vec!["a-6", "a-4", "a-3", "a-1"]),
        ("type=debit&order=asc", vec!["a-2", "a-5"]),
        ("type=PREMIO", vec!["a-4"]),
        ("type=premio", vec!["a-4"]),
        ("type=hold", vec![]),
        ("type=NADA", vec![]),
        ("referenceType=adjustment&limit=2", vec!["a-6", "a-5"]),
        ("referenceType=transfer", vec![]),
        ("from=2026-03-03&to=2026-03-03", vec!["a-4"]),
        ("to=2026-03-02", vec!["a-3", "a-2", "a-1"]),
        ("from=2026-03-03T03:00:00Z", vec!["a-6", "a-5", "a-4"]),
        (
            "from=2026-03-03T00:00:00-03:00&to=2026-03-04T12:00:00Z",
            vec!["a-5", "a-4"],
        ),
        ("from=2026-03-05", vec![]),
        ("to=2026-03-01", vec![]),
        ("q=nandu", vec!["a-2"]),
        ("q=DEL+DIA", vec!["a-4", "a-3"]),
        ("q=a-5", vec!["a-5"]),
        ("q=100%25", vec!["a-6"]),
        ("q=.", vec![]),
        (by_id.as_str(), vec!["a-3"]),
        (
            "sort=amount",
            vec!["a-1", "a-5", "a-2", "a-4", "a-3", "a-6"],
        ),
        (
            "sort=amount&order=asc&type=credit",
            vec!["a-6", "a-3", "a-4", "a-1"],
        ),
        ("type=credit&from=2026-03-03&q=primera", vec!["a-4"]),
    ] {
        for list in ["comprobantes", "movements"] {
            let found = service
                .a
                .get(&format!("/v1/accounts/{cvu}/{list}?{query}"))
                .await
                .is(200);
            assert_eq!(externals(&found.json), expected, "{query}");
            if !query.contains("limit") {
                assert_eq!(
                    found.header("x-total-count"),
                    expected.len().to_string(),
                    "{query}"
                );
            }
        }
    }
    for bad in [
        "from=ayer",
        "to=2026-13-01",
        "from=2026-03-04&to=2026-03-03",
        "sort=saldo",
        "order=x",
        "limit=0",
        "type=a.b",
        "referenceType=x",
        "cursor=!!",
        "offset=x",
    ] {
        let refused = service
            .a
            .get(&format!("{}?{bad}", of(&cvu)))
            .await
            .refused(400, "invalid_request");
        assert_eq!(named(&refused.json), [bad.split('=').next().unwrap()]);
    }
    let refused = service
        .a
        .get(&format!("{}?limit=x&sort=y", of(&cvu)))
        .await
        .refused(400, "invalid_request");
    assert_eq!(named(&refused.json).len(), 2);
}

#[actix_web::test]
async fn the_realms_list_is_filtered_over_all_accounts() {
    let clock = TestClock::at("2026-03-02T12:00:00Z");
    let service = TestService::at(&clock).await;
    let (cvu, other) = history(&service, &clock).await;
    let (mine, others) = (format!("cvu={cvu}&tipo=debit"), format!("cvu={other}"));
    for (query, expected) in [
        ("", vec!["a-6", "a-5", "a-4", "b-1", "a-3", "a-2", "a-1"]),
        ("order=asc&limit=3", vec!["a-1", "a-2", "a-3"]),
        ("tipo=debit", vec!["a-5", "a-2"]),
        ("tipo=PREMIO", vec!["a-4"]),
        ("desde=2026-03-03&hasta=2026-03-03", vec!["a-4", "b-1"]),
        (
            "desde=2026-03-03T02:59:59.999Z&hasta=2026-03-03T02:59:59.999Z",
            vec!["a-3"],
        ),
        ("importeMin=50&importeMax=80.00", vec!["a-5", "b-1"]),
        ("importeMin=100", vec!["a-1"]),
        ("importeMax=0.01", vec!["a-6"]),
        ("sort=amount&order=asc&limit=2", vec!["a-6", "a-3"]),
        (mine.as_str(), vec!["a-5", "a-2"]),
        (others.as_str(), vec!["b-1"]),
    ] {
        let found = service
            .a
            .get(&format!("/v1/comprobantes/internal?{query}"))
            .await
            .is(200);
        assert_eq!(externals(&found["items"]), expected, "{query}");
        if !query.contains("limit") {
            assert_eq!(found["total"], expected.len(), "{query}");
        }
    }
    for bad in [
        "desde=x",
        "hasta=2026-02-30",
        "importeMin=1e2",
        "importeMax=-1",
        "importeMin=2&importeMax=1",
        "cvu=1",
        "tipo=a.b",
        "sort=x",
        "desde=2026-03-04&hasta=2026-03-03",
    ] {
        let refused = service
            .a
            .get(&format!("/v1/comprobantes/internal?{bad}"))
            .await
            .refused(400, "invalid_request");
        assert_eq!(named(&refused.json), [bad.split('=').next().unwrap()]);
    }
}

/// Reads a list by cursor and by offset; returns the ids in the order of each.
async fn visited(
    client: &Client,
    path: &str,
    query: &str,
    limit: usize,
) -> (Vec<String>, Vec<String>) {
    let rows = |answer: &Answer| {
        let rows = if answer.json.is_array() {
            answer.json.clone()
        } else {
            answer["items"].clone()
        };
        rows.as_array()
            .unwrap()
            .iter()
            .map(|row| row["id"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    let (mut by_cursor, mut by_offset, mut cursor) = (Vec::new(), Vec::new(), String::new());
    loop {
        let page = client
            .get(&format!("{path}?{query}&limit={limit}&cursor={cursor}"))
            .await
            .is(200);
        assert!(rows(&page).len() <= limit);
        by_cursor.extend(rows(&page));
        page.header("x-next-cursor").clone_into(&mut cursor);
        let page = client
            .get(&format!(
                "{path}?{query}&limit={limit}&offset={}",
                by_offset.len()
            ))
            .await
            .is(200);
        by_offset.extend(rows(&page));
        if cursor.is_empty() {
            return (by_cursor, by_offset);
        }
    }
}

#[actix_web::test]
async fn pages_by_cursor_and_by_offset_visit_each_row_once() {
    let clock = TestClock::at("2026-03-02T12:00:00Z");
    let service = TestService::at(&clock).await;
    service.a.in_and_out().await;
    let cvus = [service.a.cvu().await, service.a.cvu().await];
    for n in 0..25_u32 {
        // Amounts and times repeat, so that neither orders the rows by itself.
        let amount = format!("{}.00", 1 + n % 3);
        if n % 4 == 0 {
            clock.set(&format!("2026-03-02T13:00:{n:02}Z"));
        }
        service
            .a
            .credit(&cvus[usize::from(n % 5 == 0)], &amount)
            .await;
    }
    for path in [
        of(&cvus[0]),
        of(&cvus[1]),
        format!("/v1/accounts/{}/movements", cvus[0]),
        "/v1/comprobantes/internal".to_owned(),
    ] {
        for query in [
            "",
            "order=asc",
            "sort=amount",
            "sort=amount&order=asc",
            "q=in-",
            "type=credit&order=asc",
            "from=2026-03-02&to=2026-03-02",
        ] {
            // The internal list has parameter names of its own, in Spanish.
            let query = if path.contains("internal") {
                query
                    .replace("q=in-", "")
                    .replace("type", "tipo")
                    .replace("from", "desde")
                    .replace("to=", "hasta=")
            } else {
                query.to_owned()
            };
            let whole = service
                .a
                .get(&format!("{path}?{query}&limit=200"))
                .await
                .is(200);
            assert_eq!(whole.header("x-next-cursor"), "");
            let rows = if whole.json.is_array() {
                &whole.json
            } else {
                &whole["items"]
            };
            let expected: Vec<_> = rows
                .as_array()
                .unwrap()
                .iter()
                .map(|row| row["id"].as_str().unwrap().to_owned())
                .collect();
            assert_eq!(whole.header("x-total-count"), expected.len().to_string());
            assert_eq!(
                expected.iter().collect::<BTreeSet<_>>().len(),
                expected.len()
            );
            for limit in [1, 4, 5, 25] {
                let (by_cursor, by_offset) = visited(&service.a, &path, &query, limit).await;
                assert_eq!(by_cursor, expected, "{path} {query} {limit}");
                assert_eq!(by_offset, expected, "{path} {query} {limit}");
            }
        }
    }
}

#[actix_web::test]
async fn a_cursor_goes_on_where_it_was_whatever_is_posted_meanwhile() {
    let service = TestService::start().await;
    service.a.in_and_out().await;
    let cvu = service.a.cvu().await;
    for _ in 0..6 {
        service.a.credit(&cvu, "1.00").await;
    }
    for path in [of(&cvu), "/v1/comprobantes/internal".to_owned()] {
        let sequences = |answer: &Answer| {
            let rows = if answer.json.is_array() {
                answer.json.clone()
            } else {
                answer["items"].clone()
            };
            rows.as_array()
                .unwrap()
                .iter()
                .map(|row| row["sequence"].as_u64().unwrap())
                .collect::<Vec<_>>()
        };
        let first = service.a.get(&format!("{path}?limit=3")).await.is(200);
        service.a.credit(&cvu, "1.00").await;
        let cursor = first.header("x-next-cursor");
        let second = service
            .a
            .get(&format!("{path}?limit=3&cursor={cursor}"))
            .await
            .is(200);
        let (first, second) = (sequences(&first), sequences(&second));
        assert_eq!(first.last().unwrap() - 1, second[0], "{path}");
    }
}

/// A cursor stands behind a row, not behind a number of rows: vouchers posted in the meantime shift
/// nothing.
#[actix_web::test]
async fn a_walk_by_amount_shows_each_row_once_whatever_is_posted_meanwhile() {
    let service = TestService::start().await;
    service.a.in_and_out().await;
    let cvu = service.a.cvu().await;
    for amount in [
        "5.00", "1.00", "5.00", "9.00", "3.00", "5.00", "7.00", "1.00", "9.00", "4.00",
    ] {
        service.a.credit(&cvu, amount).await;
    }
    let ids = |page: &Answer| -> Vec<String> {
        let rows = page.json.as_array().or_else(|| page["items"].as_array());
        let rows = rows.unwrap().iter();
        rows.map(|row| row["id"].as_str().unwrap().to_owned())
            .collect()
    };
    let lists = [
        format!("/v1/accounts/{cvu}/movements?sort=amount"),
        "/v1/comprobantes/internal?sort=amount".to_owned(),
        "/v1/comprobantes/internal?sort=amount&importeMin=1".to_owned(),
    ];
    for list in lists {
        for order in ["asc", "desc"] {
            let at_first = service
                .a
                .get(&format!("{list}&limit=200&order={order}"))
                .await
                .is(200);
            let (mut seen, mut cursor) = (Vec::new(), String::new());
            loop {
                let path = format!("{list}&order={order}&limit=3&cursor={cursor}");
                let page = service.a.get(&path).await.is(200);
                seen.extend(ids(&page));
                page.header("x-next-cursor").clone_into(&mut cursor);
                if cursor.is_empty() {
                    break;
                }
                if seen.len() < 12 {
                    for amount in ["0.50", "5.00", "20.00"] {
                        service.a.credit(&cvu, amount).await;
                    }
                }
            }
            let once: BTreeSet<_> = seen.iter().cloned().collect();
            assert_eq!(once.len(), seen.len(), "{list} {order}: a row twice");
            let mut shown = seen.iter();
            let in_order = |id: &String| shown.any(|found| found == id);
            assert!(
                ids(&at_first).iter().all(in_order),
                "{list} {order}: a row is missing"
            );
        }
    }
}
