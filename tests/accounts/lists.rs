//! The list of accounts: searches, orders, pages.

use super::at;
use crate::support::client::fresh;
use crate::support::{Answer, TestService, cuit, json, named};

/// Opens accounts with holders of these names; the last two are suspended and closed.
async fn population(service: &TestService, names: &[&str]) -> Vec<String> {
    let mut cvus = Vec::new();
    for name in names {
        let opened = service
            .a
            .open_with(json!({"cuit": cuit(fresh()), "holderName": name}))
            .await;
        cvus.push(opened["cvu"].as_str().unwrap().to_owned());
    }
    let (closed, suspended) = (&cvus[cvus.len() - 1], &cvus[cvus.len() - 2]);
    service.a.delete(&at(closed, "")).await.is(200);
    service
        .a
        .post(&at(suspended, "/suspend"), &json!({"reason": "x"}))
        .await
        .is(200);
    cvus
}

fn cvus(answer: &Answer) -> Vec<&str> {
    answer["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["cvu"].as_str().unwrap())
        .collect()
}

#[actix_web::test]
async fn both_families_find_a_name_by_what_a_person_types() {
    let service = TestService::start().await;
    let client = &service.a;
    for (name, typed) in [
        ("Ivana Kovačević", "kovacevic"),
        ("Łukasz Nowak", "LUKASZ"),
        ("Jörg Straße", "strasse"),
        ("Đorđe Ødegård", "dorde odegard"),
        ("Иван Петров", "petrov"),
        ("Sinéad O’Brien", "o'brien"),
    ] {
        let opened = client
            .open_with(json!({"cuit": cuit(fresh()), "holderName": name}))
            .await;
        for text in [typed, name, &name.to_uppercase()] {
            let query = |path: &str| {
                let mut url = reqwest::Url::parse(&format!("{}{path}", client.url)).unwrap();
                url.query_pairs_mut().append_pair("q", text);
                format!("{}?{}", url.path(), url.query().unwrap())
            };
            let native = client.get(&query("/v1/accounts")).await.is(200);
            assert_eq!(cvus(&native), [opened["cvu"].as_str().unwrap()], "{text}");
            let wallet = client.get(&query("/wallet/v1/Cuentas")).await.is(200);
            assert_eq!(wallet["totalRecords"], 1, "{text}");
        }
    }
}

#[actix_web::test]
async fn accounts_are_found_by_every_part_of_them() {
    let service = TestService::start().await;
    let all = population(
        &service,
        &["Ágata Peña", "Bruno Díaz", "Carla ÑANDÚ", "Delia Peña"],
    )
    .await;
    let list = async |query: &str| {
        service
            .a
            .get(&format!("/v1/accounts?{query}"))
            .await
            .is(200)
    };
    let everyone = list("").await;
    assert_eq!(
        cvus(&everyone),
        all.iter().rev().map(String::as_str).collect::<Vec<_>>(),
        "newest first"
    );
    assert_eq!(
        (&everyone["total"], &everyone["limit"], &everyone["offset"]),
        (&json!(4), &json!(50), &json!(0))
    );
    assert!(
        everyone["items"][0].get("balance").is_none()
            && everyone["items"][0].get("limits").is_none()
    );
    assert_eq!(list("q=PENA").await["total"], 2);
    assert_eq!(list("q=nand%C3%BA").await["total"], 1);
    assert_eq!(list("q=%C3%A1gata").await["total"], 1);
    assert_eq!(list(&format!("q={}", &all[1])).await["total"], 1);
    let first = &everyone["items"][0];
    let (alias, holder) = (
        first["alias"].as_str().unwrap(),
        first["holder"]["cuit"].as_str().unwrap(),
    );
    assert_eq!(
        list(&format!("q={}", alias.to_lowercase())).await["total"],
        1
    );
    assert_eq!(cvus(&list(&format!("q={holder}")).await), [all[3].as_str()]);
    for (status, total) in [("active", 2), ("suspended", 1), ("closed", 1)] {
        assert_eq!(list(&format!("status={status}")).await["total"], total);
    }
    assert_eq!(list("q=pena&status=closed").await["total"], 1);
    assert_eq!(list("q=nadie").await["items"], json!([]));
    for bad in [
        "status=abierta",
        "sort=balance",
        "order=up",
        "limit=0",
        "limit=201",
        "limit=x",
        "limit=1.5",
        "offset=-1",
        "cursor=zz",
        "offset=9223372036854775808",
    ] {
        let refused = service
            .a
            .get(&format!("/v1/accounts?{bad}"))
            .await
            .refused(400, "invalid_request");
        assert_eq!(named(&refused.json), [bad.split('=').next().unwrap()]);
    }
    let refused = service.a.get("/v1/accounts?sort=x").await;
    assert!(
        refused["message"]
            .as_str()
            .unwrap()
            .contains("createdAt, holderName, cvu, alias")
    );
    list("q=&cursor=").await;
}

#[actix_web::test]
async fn every_order_and_every_page_shows_each_account_once() {
    let service = TestService::start().await;
    let names = [
        "Zoe Alba", "ana beta", "Álvaro", "Mora", "mora", "Ñuflo", "Bea",
    ];
    let all = population(&service, &names).await;
    for sort in ["createdAt", "holderName", "cvu", "alias"] {
        for order in ["asc", "desc"] {
            for filter in ["", "&q=a"] {
                let query = format!("sort={sort}&order={order}{filter}");
                let whole = service
                    .a
                    .get(&format!("/v1/accounts?{query}"))
                    .await
                    .is(200);
                let expected = cvus(&whole);
                let total = usize::try_from(whole["total"].as_u64().unwrap()).unwrap();
                assert_eq!(total, expected.len());
                for limit in [1, 2, 3, 7] {
                    let (mut by_cursor, mut by_offset, mut cursor) =
                        (vec![], vec![], String::new());
                    loop {
                        let page = service
                            .a
                            .get(&format!(
                                "/v1/accounts?{query}&limit={limit}&cursor={cursor}"
                            ))
                            .await
                            .is(200);
                        assert_eq!(page["total"], total, "{query}");
                        by_cursor.extend(cvus(&page).iter().map(|cvu| (*cvu).to_owned()));
                        let offset = by_offset.len();
                        let page_by_offset = service
                            .a
                            .get(&format!(
                                "/v1/accounts?{query}&limit={limit}&offset={offset}"
                            ))
                            .await
                            .is(200);
                        by_offset.extend(cvus(&page_by_offset).iter().map(|cvu| (*cvu).to_owned()));
                        cursor = page.header("x-next-cursor").to_owned();
                        if cursor.is_empty() {
                            break;
                        }
                    }
                    assert_eq!(by_cursor, expected, "{query} limit {limit}");
                    assert_eq!(by_offset, expected, "{query} limit {limit}");
                }
            }
        }
    }
    let sorted = service
        .a
        .get("/v1/accounts?sort=holderName&order=asc")
        .await;
    let shown: Vec<_> = sorted["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["holder"]["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        shown,
        [
            "Álvaro", "ana beta", "Bea", "Mora", "mora", "Ñuflo", "Zoe Alba"
        ],
        "case and accents do not sort"
    );
    assert_eq!(
        service
            .a
            .get("/v1/accounts?sort=cvu&order=asc&limit=1")
            .await["items"][0]["cvu"],
        *all.iter().min().unwrap()
    );
    assert_eq!(
        service.a.get("/v1/accounts?offset=1000").await.is(200)["items"],
        json!([])
    );
}
