//! Lists: searches, orders, pages; and rows that must not be seen.

use std::collections::BTreeSet;

use super::{cuenta, cvu, made, read};
use crate::support::client::fresh;
use crate::support::{Answer, TestService, cuit, json, named};

fn ids(answer: &Answer) -> Vec<u64> {
    let items = answer["items"].as_array().unwrap().iter();
    items.map(|item| item["id"].as_u64().unwrap()).collect()
}

#[actix_web::test]
async fn accounts_are_found_by_every_part_of_them() {
    let mut service = TestService::start().await;
    for (number, body) in [
        json!({"nombre": "Ágata", "apellido": "Peña", "codigo": "Z-1", "email": "Agata@uno.example"}),
        json!({"nombre": "Bruno", "apellido": "Díaz", "razonSocial": "Ñandú SRL", "habilitado": false}),
        json!({"razonSocial": "Acme SA", "codigo": "a-2"}),
    ]
    .into_iter()
    .enumerate()
    {
        let mut body = body;
        body["cuitCuil"] = json!(cuit(70_000_000 + u32::try_from(number).unwrap()));
        made(&service.a, &body).await;
    }
    let native = json!({"cuit": cuit(70_000_009), "holderName": "Carla Peña", "externalId": "N-9"});
    service.a.open_with(native).await;
    let list = async |service: &TestService, query: &str| {
        service
            .a
            .get(&format!("/wallet/v1/Cuentas?{query}"))
            .await
            .is(200)
    };
    let table = [
        ("", vec![4, 3, 2, 1]),
        ("order=asc", vec![1, 2, 3, 4]),
        ("sort=id&order=desc", vec![4, 3, 2, 1]),
        ("sort=nombre&order=asc", vec![3, 1, 2, 4]),
        ("sort=codigo&order=asc", vec![2, 4, 1, 3]),
        ("sort=cuitCuil&order=asc", vec![1, 2, 3, 4]),
        ("q=PENA", vec![4, 1]),
        ("q=%C3%A1gata%20pe", vec![1]),
        ("q=nandu", vec![2]),
        ("q=bruno", vec![2]),
        ("q=acme", vec![3]),
        ("q=UNO.example", vec![1]),
        ("q=z-1", vec![1]),
        ("q=n-9", vec![4]),
        ("q=2", vec![3, 2]),
        ("q=20-70000002", vec![3]),
        ("q=7000000", vec![4, 3, 2, 1]),
        ("q=nadie", vec![]),
        ("habilitado=false", vec![2]),
        ("habilitado=true", vec![4, 3, 1]),
        ("habilitado=true&q=a", vec![4, 3, 1]),
    ];
    for round in 0..2 {
        for (query, right) in &table {
            let found = list(&service, query).await;
            let mut seen = ids(&found);
            // A digit occurs in every CUIT, so it only counts that the id is found.
            if *query == "q=2" {
                assert!(seen.contains(&2), "{round}");
                continue;
            }
            if !query.contains("sort") && !query.contains("order") {
                let sorted: BTreeSet<_> = seen.iter().copied().collect();
                seen = sorted.into_iter().rev().collect();
            }
            assert_eq!(&seen, right, "{round}: {query}");
            assert_eq!(found["totalRecords"], right.len(), "{query}");
        }
        // The list shows the same as the account itself.
        for item in list(&service, "").await["items"].as_array().unwrap() {
            let one = read(&service.a, item["id"].as_u64().unwrap()).await.is(200);
            assert_eq!(&one.json, item);
        }
        service.restart().await;
    }
    // After a change the new values are found at once, and the former ones no longer.
    let change = json!({"nombre": "Úrsula", "email": "u@tres.example", "codigo": "W-7"});
    service.a.put("/wallet/v1/Cuenta/1", &change).await.is(204);
    for (query, right) in [
        ("q=ursula", vec![1]),
        ("q=agata", vec![]),
        ("q=tres.ex", vec![1]),
        ("q=z-1", vec![]),
        ("q=w-7", vec![1]),
    ] {
        assert_eq!(ids(&list(&service, query).await), right, "{query}");
    }
}

#[actix_web::test]
async fn pages_hold_together() {
    let service = TestService::start().await;
    let mut all = Vec::new();
    for number in 0..7 {
        all.push(cuenta(&service.a, &format!("Nombre {number}"), "Paz").await);
    }
    let get = async |query: &str| {
        service
            .a
            .get(&format!("/wallet/v1/Cuentas?{query}"))
            .await
            .is(200)
    };
    for (page, right) in [
        ("pageNumber=0", vec![1, 2, 3]),
        ("page=1", vec![1, 2, 3]),
        ("pageNumber=3&page=3", vec![7]),
        ("page=4", vec![]),
    ] {
        let found = get(&format!("pageSize=3&order=asc&{page}")).await;
        assert_eq!(ids(&found), right, "{page}");
        assert_eq!(
            (&found["totalPages"], &found["totalRecords"]),
            (&json!(3), &json!(7)),
            "{page}"
        );
    }
    for query in [
        "sort=id",
        "sort=nombre",
        "sort=codigo",
        "sort=cuitCuil",
        "q=paz",
        "order=asc",
        "habilitado=true",
    ] {
        let (mut seen, mut cursor) = (Vec::new(), String::new());
        loop {
            let found = get(&format!("pageSize=2&cursor={cursor}&{query}")).await;
            seen.extend(ids(&found));
            cursor = found.header("x-next-cursor").to_owned();
            if cursor.is_empty() {
                break;
            }
        }
        let distinct: BTreeSet<_> = seen.iter().copied().collect();
        assert_eq!((seen.len(), distinct.len()), (7, 7), "{query}: {seen:?}");
    }
    for (query, field) in [
        ("pageSize=0", "pageSize"),
        ("pageSize=201", "pageSize"),
        ("pageNumber=-1", "pageNumber"),
        ("page=x", "page"),
        ("page=1&pageNumber=2", "page"),
        ("sort=createdAt", "sort"),
        ("order=up", "order"),
        ("habilitado=si", "habilitado"),
        ("cursor=zz", "cursor"),
    ] {
        let path = format!("/wallet/v1/Cuentas?{query}");
        let refused = service.a.get(&path).await.refused(400, "invalid_request");
        assert_eq!(named(&refused.json), [field], "{query}");
    }
    // Balances are listed for accounts that have a CVU.
    for id in [2, 5, 6] {
        cvu(&service.a, id).await;
    }
    let balances = async |query: &str| {
        let found = service
            .a
            .get(&format!("/wallet/v1/SaldosActuales?{query}"))
            .await
            .is(200);
        let items = found["items"].as_array().unwrap().iter();
        (
            found.header("x-next-cursor").to_owned(),
            items
                .map(|it| it["idCuenta"].as_u64().unwrap())
                .collect::<Vec<_>>(),
        )
    };
    assert_eq!(balances("").await.1, [6, 5, 2]);
    let (cursor, first) = balances("pageSize=2&order=asc").await;
    let (end, second) = balances(&format!("pageSize=2&order=asc&cursor={cursor}")).await;
    assert_eq!((first, second, end.as_str()), (vec![2, 5], vec![6], ""));
}

/// A client that gives no page size gets balances 200 at a time, not 50.
#[actix_web::test]
async fn balances_come_200_at_a_time_unless_another_size_is_asked_for() {
    let service = TestService::start().await;
    for _ in 0..53 {
        service.a.open_account().await;
    }
    let page = async |path: &str| {
        let found = service.a.get(&format!("/wallet/v1/{path}")).await.is(200);
        let shown = found["items"].as_array().unwrap().len();
        let pages = found["totalPages"].as_u64().unwrap();
        assert_eq!(found["totalRecords"], 53, "{path}");
        (shown, pages, found.header("x-next-cursor").is_empty())
    };
    for (path, right) in [
        ("SaldosActuales", (53, 1, true)),
        ("SaldosActuales?pageNumber=1", (53, 1, true)),
        ("SaldosActuales?pageSize=50", (50, 2, false)),
        ("SaldosActuales?pageSize=50&pageNumber=2", (3, 2, true)),
        ("SaldosActuales?pageNumber=2", (0, 1, true)),
        ("Cuentas", (50, 2, false)),
    ] {
        assert_eq!(page(path).await, right, "{path}");
    }
}

#[actix_web::test]
async fn resources_of_another_tenant_are_not_found() {
    let service = TestService::start().await;
    cuenta(&service.a, "Ana", "Paz").await;
    let mut theirs = 0;
    for client in [&service.b, &service.live] {
        for _ in 0..3 {
            theirs = cuenta(client, "Ajena", "Ajena").await;
        }
        cvu(client, theirs).await;
        let body = json!({"nombre": "C", "codigo": "CARGA", "signo": 1});
        client
            .post("/wallet/v1/TipoComprobante", &body)
            .await
            .is(201);
        let body =
            json!({"idCuenta": theirs, "importe": 1, "codigo": "CARGA", "idExterno": "ajeno"});
        client.post("/wallet/v1/Comprobante", &body).await.is(201);
    }
    let body = json!({"nombre": "C", "codigo": "CARGA", "signo": 1});
    service
        .a
        .post("/wallet/v1/TipoComprobante", &body)
        .await
        .is(201);
    let ask = async |id: u64| {
        let external = format!("x-{}", fresh());
        let client = &service.a;
        let answers = [
            read(client, id).await,
            client.put(&format!("/wallet/v1/Cuenta/{id}"), &json!({"email": "a@b.example"})).await,
            client.patch(&format!("/wallet/v1/Habilitado/Cuenta/{id}"), &json!({"habilitado": false})).await,
            client.post("/wallet/v1/CVU", &json!({"idCuenta": id})).await,
            client.post("/wallet/v1/Comprobante", &json!({"idCuenta": id, "importe": 1, "codigo": "CARGA", "idExterno": external})).await,
            client.get(&format!("/wallet/v1/SaldoHistoricoByIdCuenta/{id}?fecha=2026-01-31")).await,
        ];
        answers.map(|answer| answer.refused(404, "account_not_found").essence(""))
    };
    let nothing = ask(9_999_999).await;
    for id in [theirs, 0, 99_999_999_999] {
        assert_eq!(ask(id).await, nothing, "{id}");
    }
    read(&service.a, u64::MAX)
        .await
        .refused(404, "account_not_found");
    service
        .a
        .get("/wallet/v1/ComprobanteByIdExterno/ajeno")
        .await
        .refused(404, "voucher_not_found");
    let all = service.a.get("/wallet/v1/Cuentas").await.is(200);
    assert!(!all.text.contains("Ajena"));
    let holder = read(&service.b, theirs).await["cuitCuil"]
        .as_str()
        .unwrap()
        .to_owned();
    let none = service
        .a
        .get(&format!("/wallet/v1/CuentaByCuit?cuit={holder}"))
        .await
        .is(200);
    assert_eq!(none.json, json!([]));
    assert_eq!(read(&service.b, theirs).await["habilitado"], true);
}
