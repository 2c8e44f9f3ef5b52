//! Walks over lists of accounts while accounts are renamed.

use std::collections::{BTreeMap, BTreeSet};

use crate::support::client::fresh;
use crate::support::{Client, TestService, Value, cuit, json, named};

/// How many accounts there are, and how many a page shows.
const ACCOUNTS: usize = 9;
const PAGE: usize = 2;

/// A list: its path, its sort field, and the field that identifies an account in it.
type List = (&'static str, &'static str, &'static str);

const NATIVE: &str = "/v1/accounts?limit";
const WALLET: &str = "/wallet/v1/Cuentas?pageSize";

/// Moves an account in an order: before all others, or behind them.
async fn moved(client: &Client, sort: &str, item: &Value, first: bool) {
    let (letter, number) = (if first { "A" } else { "Z" }, fresh());
    let cvu = item["cvu"].as_str().unwrap_or_default();
    let cuenta = format!("/wallet/v1/Cuenta/{}", item["id"]);
    let call = match sort {
        "holderName" => {
            let name = format!("{letter} Paz {number}");
            let holders = json!([{"cuit": item["holder"]["cuit"], "name": name}]);
            client.patch(
                &format!("/v1/accounts/{cvu}/identidad"),
                &json!({"titulares": holders}),
            )
        }
        "alias" => client.put(
            &format!("/v1/accounts/{cvu}/alias"),
            &json!({"alias": format!("{letter}{letter}.paz.{number}")}),
        ),
        "nombre" => client.put(&cuenta, &json!({"nombre": format!("{letter} {number}")})),
        "codigo" => client.put(
            &cuenta,
            &json!({"codigo": format!("{letter}-paz-{number}")}),
        ),
        _ => {
            let number = if first { number } else { 90_000_000 + number };
            client.put(&cuenta, &json!({"cuitCuil": cuit(number)}))
        }
    };
    let answer = call.await;
    assert!([200, 204].contains(&answer.status), "{}", answer.text);
}

/// Walks over a list, and moves the last account of every page; returns how often each account was seen,
/// and which were moved.
async fn walk(
    client: &Client,
    (path, sort, id): List,
    query: &str,
) -> (BTreeMap<String, usize>, BTreeSet<String>) {
    let (mut seen, mut moves) = (BTreeMap::new(), BTreeSet::new());
    let mut cursor = String::new();
    for page in 0.. {
        // An account that is moved to the end each time would be seen without end.
        assert!(page < ACCOUNTS * 3, "{sort} {query}");
        let path = format!("{path}={PAGE}&sort={sort}&{query}&cursor={cursor}");
        let found = client.get(&path).await.is(200);
        let items = found["items"].as_array().unwrap();
        for item in items {
            *seen.entry(item[id].to_string()).or_default() += 1;
        }
        cursor = found.header("x-next-cursor").to_owned();
        if cursor.is_empty() {
            return (seen, moves);
        }
        let last = items.last().unwrap();
        let ahead = query.contains("desc") == (page % 2 == 0);
        if moves.len() < ACCOUNTS / 2 {
            moved(client, sort, last, ahead).await;
            moves.insert(last[id].to_string());
        }
    }
    unreachable!("every walk ends")
}

#[actix_web::test]
async fn a_walk_shows_each_account_once_that_is_not_renamed_meanwhile() {
    let service = TestService::start().await;
    for nth in 0..ACCOUNTS {
        let name = format!("{} Paz", ["Eva", "Mora", "Teo"][nth % 3]);
        let body = json!({"cuit": cuit(fresh()), "holderName": name});
        service.a.open_with(body).await;
        let body = json!({"cuitCuil": cuit(50_000_000 + fresh()), "nombre": "Eva",
            "apellido": "Paz", "codigo": format!("M-paz-{nth}")});
        service.b.post("/wallet/v1/Cuenta", &body).await.is(201);
    }
    let lists: [(&Client, List); 5] = [
        (&service.a, (NATIVE, "holderName", "walletAccountId")),
        (&service.a, (NATIVE, "alias", "walletAccountId")),
        (&service.b, (WALLET, "nombre", "id")),
        (&service.b, (WALLET, "codigo", "id")),
        (&service.b, (WALLET, "cuitCuil", "id")),
    ];
    for (client, list) in lists {
        for order in ["asc", "desc"] {
            for filter in ["", "&q=paz"] {
                let query = format!("order={order}{filter}");
                let (seen, moves) = walk(client, list, &query).await;
                let still = (1..=ACCOUNTS).map(|id| id.to_string());
                let still: Vec<_> = still.filter(|id| !moves.contains(id)).collect();
                assert!(still.len() >= ACCOUNTS / 2, "{list:?} {query} {moves:?}");
                for id in &still {
                    assert_eq!(seen.get(id), Some(&1), "{list:?} {query}: {id} {seen:?}");
                }
            }
        }
    }
}

/// A cursor continues the list that gave it, with the same filters and in the same order. Another page size is no other
/// list.
#[actix_web::test]
async fn a_cursor_of_another_list_is_refused() {
    let service = TestService::start().await;
    let client = &service.a;
    client.in_and_out().await;
    let cvu = client.cvu().await;
    client.cvu().await;
    for _ in 0..3 {
        client.credit(&cvu, "10.00").await;
        client.hold(&cvu, "1.00").await;
    }
    for n in 0..3 {
        let body = json!({"url": format!("https://psp.example/{n}")});
        client.post("/v1/webhooks", &body).await.is(201);
    }
    let lists = [
        "/v1/accounts?".to_owned(),
        "/v1/accounts?sort=holderName&".to_owned(),
        "/v1/accounts?status=active&".to_owned(),
        format!("/v1/accounts/{cvu}/comprobantes?"),
        format!("/v1/accounts/{cvu}/movements?"),
        format!("/v1/accounts/{cvu}/holds?"),
        "/v1/webhooks?".to_owned(),
        "/v1/treasury/positions?".to_owned(),
        "/wallet/v1/Cuentas?".to_owned(),
    ];
    let size = |list: &str, size: u32| {
        if list.starts_with("/wallet") {
            format!("{list}pageSize={size}")
        } else {
            format!("{list}limit={size}")
        }
    };
    let mut cursors = Vec::new();
    for list in &lists {
        let page = client.get(&size(list, 1)).await.is(200);
        let cursor = page.header("x-next-cursor").to_owned();
        assert!(!cursor.is_empty(), "{list} has one page only");
        cursors.push(cursor);
    }
    for list in &lists {
        for (of, cursor) in lists.iter().zip(&cursors) {
            let path = format!("{}&cursor={cursor}", size(list, 2));
            let answer = client.get(&path).await;
            if of == list {
                drop(answer.is(200))
            } else {
                let refused = answer.refused(400, "invalid_request");
                assert_eq!(named(&refused.json), ["cursor"], "{list} took that of {of}");
            }
        }
    }
    // `c1:1`, as it was before cursors named their list.
    let old = client.get("/v1/accounts?cursor=YzE6MQ").await;
    old.refused(400, "invalid_request");
}
