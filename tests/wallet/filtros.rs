//! `ComprobantesByFilters`: each filter alone and with others, pages, cursors, and the vouchers of other
//! tenants.

use super::{cuenta, cvu, tipo};
use crate::support::{Answer, Client, TestClock, TestService, Value, json, named};

const PATH: &str = "/wallet/v1/ComprobantesByFilters";

async fn filtered(client: &Client, query: &str) -> Answer {
    client.get(&format!("{PATH}?{query}")).await.is(200)
}

/// The tenant's own ids, or the codes of vouchers that have none.
fn shown(answer: &Answer) -> Vec<String> {
    assert_eq!(answer["items"], answer["comprobantes"]);
    let name = |item: &Value| {
        let own = item["idExterno"].as_str().filter(|own| !own.is_empty());
        own.or(item["codigo"].as_str()).unwrap().to_owned()
    };
    answer["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(name)
        .collect()
}

/// Two accounts over two days: a code that is a credit on the first and a debit on the second, and a hold
/// that is released in part. Returns the accounts and the numbers of the code's two types.
async fn two_days(service: &TestService, clock: &TestClock) -> ([u64; 2], [u64; 2]) {
    let client = &service.a;
    let (one, two) = (
        cuenta(client, "Ana", "Paz").await,
        cuenta(client, "Bea", "Sosa").await,
    );
    let own = cvu(client, one).await;
    cvu(client, two).await;
    let credit = tipo(client, "CARGA", 1).await;
    let post = async |id: u64, number: u64, name: &str, date: Option<&str>| {
        let body = json!({"idCuenta": id, "importe": 10, "idTipoComprobante": number,
            "idExterno": name, "fechaExterna": date});
        client.post("/wallet/v1/Comprobante", &body).await.is(201)
    };
    post(one, credit, "a", Some("27-02-2026")).await;
    post(two, credit, "b", None).await;
    post(one, credit, "c", Some("2026-02-28")).await;
    clock.set("2026-03-03T15:00:00.000Z");
    client.delete("/v1/voucher-types/CARGA").await.is(204);
    let debit = tipo(client, "CARGA", -1).await;
    post(one, debit, "d", Some("2026-02-27T23:59:59-03:00")).await;
    let hold = client.hold(own["cvu"].as_str().unwrap(), "4.00").await;
    client.step(&hold, "release", "1.00").await.is(200);
    ([one, two], [credit, debit])
}

#[actix_web::test]
async fn vouchers_are_filtered_by_the_type_that_they_were_posted_with() {
    let clock = TestClock::at("2026-03-02T15:04:05.678Z");
    let mut service = TestService::at(&clock).await;
    let ([one, two], [credit, debit]) = two_days(&service, &clock).await;
    let hold = filtered(&service.a, "codigo=HOLD").await;
    let hold = shown(&hold).remove(0);
    let all = ["RELEASE", &hold, "d", "c", "b", "a"];
    let table = [
        (String::new(), all.to_vec()),
        (
            "orderByDesc=false".into(),
            all.iter().rev().copied().collect(),
        ),
        // The code stands for both of its types, a number for one of them.
        ("codigo=carga".into(), vec!["d", "c", "b", "a"]),
        (format!("idTipoComprobante={credit}"), vec!["c", "b", "a"]),
        (format!("idTipoComprobante={debit}"), vec!["d"]),
        (
            format!("idTipoComprobante={credit}&idCuenta={one}"),
            vec!["c", "a"],
        ),
        ("idTipoComprobante=3".into(), vec![&hold]),
        ("idTipoComprobante=4".into(), vec!["RELEASE"]),
        ("idTipoComprobante=13".into(), vec![]),
        ("signo=1".into(), vec!["RELEASE", "c", "b", "a"]),
        ("signo=-1".into(), vec![&hold, "d"]),
        (
            format!("signo=-1&idCuenta={one}&idTipoComprobante={debit}"),
            vec!["d"],
        ),
        (format!("idCuenta={two}"), vec!["b"]),
        (format!("idCuenta={two}&signo=-1"), vec![]),
        ("fechaExterna=27-02-2026".into(), vec!["d", "a"]),
        (
            format!("fechaExterna=2026-02-27T10:00:00&idTipoComprobante={credit}"),
            vec!["a"],
        ),
        ("fechaHasta=02-03-2026".into(), vec!["c", "b", "a"]),
        ("fechaDesde=2026-03-03".into(), vec!["RELEASE", &hold, "d"]),
        (
            "fechaDesde=2026-03-02&fechaHasta=2026-03-02&signo=-1".into(),
            vec![],
        ),
        ("fechaDesde=2026-03-04".into(), vec![]),
    ];
    for round in 0..2 {
        for (query, right) in &table {
            let found = filtered(&service.a, query).await;
            assert_eq!(&shown(&found), right, "{round} {query}");
            assert_eq!(found["totalRecords"], right.len(), "{round} {query}");
        }
        let found = filtered(&service.a, &format!("idTipoComprobante={credit}")).await;
        for item in found["items"].as_array().unwrap() {
            let what = (&item["idTipoComprobante"], &item["signo"]);
            assert_eq!(what, (&json!(credit), &json!(1)));
        }
        // A date that the tenant sent is shown as it was sent.
        let found = filtered(&service.a, "codigo=CARGA").await;
        let items = found["items"].as_array().unwrap().iter();
        let dates: Vec<_> = items.map(|item| &item["fechaExterna"]).collect();
        let sent = json!([
            "2026-02-27T23:59:59-03:00",
            "2026-02-28",
            null,
            "27-02-2026"
        ]);
        assert_eq!(json!(dates), sent);
        service.verified().await;
        service.lose_index();
        service.restart().await;
    }
    // A removed type that is named by number and code stays that type, and no other with its code.
    let body = json!({"idCuenta": one, "importe": 10, "idTipoComprobante": credit,
        "codigo": "CARGA", "idExterno": "e"});
    let refused = service.a.post("/wallet/v1/Comprobante", &body).await;
    refused.refused(400, "voucher_type_unknown");
}

#[actix_web::test]
async fn filtered_vouchers_come_in_pages_and_by_cursor() {
    let clock = TestClock::at("2026-03-02T15:04:05.678Z");
    let service = TestService::at(&clock).await;
    let ([one, _], [credit, _]) = two_days(&service, &clock).await;
    for query in [
        String::new(),
        "orderByDesc=false".into(),
        format!("idCuenta={one}"),
        format!("idTipoComprobante={credit}"),
        "signo=-1".into(),
        "fechaDesde=2026-03-02&fechaHasta=2026-03-02".into(),
    ] {
        let whole = shown(&filtered(&service.a, &query).await);
        let pages = whole.len().div_ceil(2);
        let (mut paged, mut walked, mut cursor) = (Vec::new(), Vec::new(), String::new());
        for page in 1..=pages {
            let path = format!("pageSize=2&{query}");
            let by_page = filtered(&service.a, &format!("{path}&pageNumber={page}")).await;
            let by_cursor = filtered(&service.a, &format!("{path}&cursor={cursor}")).await;
            for found in [&by_page, &by_cursor] {
                let counts = (&found["totalPages"], &found["totalRecords"]);
                assert_eq!(counts, (&json!(pages), &json!(whole.len())), "{query}");
            }
            paged.extend(shown(&by_page));
            walked.extend(shown(&by_cursor));
            cursor = by_cursor.header("x-next-cursor").to_owned();
            assert_eq!(cursor.is_empty(), page == pages, "{query} {page}");
        }
        assert_eq!((&paged, &walked), (&whole, &whole), "{query}");
        let behind = format!("pageSize=2&{query}&pageNumber={}", pages + 1);
        assert!(shown(&filtered(&service.a, &behind).await).is_empty());
    }
    for (query, field) in [
        ("idTipoComprobante=14", "idTipoComprobante"),
        ("idTipoComprobante=1002", "idTipoComprobante"),
        ("idTipoComprobante=carga", "idTipoComprobante"),
        ("idTipoComprobante=1000&codigo=CARGA", "codigo"),
        ("signo=2", "signo"),
        ("fechaExterna=ayer", "fechaExterna"),
        ("fechaDesde=2026-03-04&fechaHasta=2026-03-03", "fechaDesde"),
        ("cursor=x", "cursor"),
    ] {
        let refused = service.a.get(&format!("{PATH}?{query}")).await;
        let refused = refused.refused(400, "invalid_request");
        assert_eq!(named(&refused.json), [field], "{query}");
    }
}

#[actix_web::test]
async fn filters_show_nothing_of_another_tenant_or_realm() {
    let clock = TestClock::at("2026-03-02T15:04:05.678Z");
    let service = TestService::at(&clock).await;
    let ([one, two], [credit, debit]) = two_days(&service, &clock).await;
    // The other two realms have one account and one type each, with the same numbers as the first
    // tenant's.
    for client in [&service.b, &service.live] {
        let own = cuenta(client, "Ajena", "Ajena").await;
        cvu(client, own).await;
        let number = tipo(client, "CARGA", 1).await;
        assert_eq!((own, number), (one, credit));
        let none = filtered(client, "").await;
        assert_eq!((shown(&none).len(), &none["totalRecords"]), (0, &json!(0)));
        let body = json!({"idCuenta": own, "importe": 1, "codigo": "CARGA", "idExterno": "ajeno"});
        client.post("/wallet/v1/Comprobante", &body).await.is(201);
        for query in [
            String::new(),
            format!("idTipoComprobante={credit}"),
            format!("idCuenta={own}"),
        ] {
            assert_eq!(shown(&filtered(client, &query).await), ["ajeno"], "{query}");
        }
        let refused = client.get(&format!("{PATH}?idCuenta={two}")).await;
        refused.refused(404, "account_not_found");
        let refused = client.get(&format!("{PATH}?idTipoComprobante={debit}"));
        let refused = refused.await.refused(400, "invalid_request");
        assert_eq!(named(&refused.json), ["idTipoComprobante"]);
        let text = filtered(client, "").await.text;
        assert!(!text.contains("\"c\""), "{text}");
    }
    let own = filtered(&service.a, "").await;
    assert!(!own.text.contains("ajeno"));
}
