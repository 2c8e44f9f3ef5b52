//! What the keys of tenants were shown: counted by key and account.

use super::entries;
use crate::support::{Client, TestService, Value, json};

/// A new key of the first tenant: its id, and a client with it.
async fn keyed(service: &TestService) -> (String, Client) {
    let body = json!({"mode": "test", "label": "backend"});
    let issued = service.admin("POST", "/admin/tenants/tnt_first/keys", &body);
    let issued = issued.await.is(201);
    let client = service.a.with_key(issued["key"].as_str());
    (issued["id"].as_str().unwrap().to_owned(), client)
}

/// How often a key was shown something, added up over its entries about an account.
async fn times(service: &TestService, key: &str, cvu: &str, name: &str) -> u64 {
    let rows = entries(service, &format!("subject={cvu}&operator={key}")).await;
    let of = rows.iter().map(|it| {
        let expected = (&json!("readByKey"), &json!("key"), &json!("tnt_first/test"));
        assert_eq!((&it["action"], &it["role"], &it["subject"]), expected);
        it["shown"][name].as_u64().unwrap_or_default()
    });
    of.sum()
}

#[actix_web::test]
async fn reads_are_counted_by_key_and_account_and_found_by_subject() {
    let mut service = TestService::start().await;
    service.a.in_and_out().await;
    let opened = service.a.open_account().await;
    let (cvu, cuit) = (&opened["cvu"], &opened["holder"]["cuit"]);
    let [cvu, cuit] = [cvu, cuit].map(|it: &Value| it.as_str().unwrap().to_owned());
    let other = service.a.cvu().await;
    service.a.credit(&cvu, "5.00").await;
    let (key, client) = keyed(&service).await;
    for _ in 0..3 {
        client
            .get(&format!("/v1/accounts/{cvu}/balance"))
            .await
            .is(200);
    }
    client.get("/v1/treasury/positions").await.is(200);
    // An account is known by its CVU, whatever the address calls it.
    let number = &opened["walletAccountId"];
    for path in ["SaldoActualByIdCuenta", "SaldoClienteByIdCuenta", "Cuenta"] {
        let path = format!("/wallet/v1/{path}/{number}");
        client.get(&path).await.is(200);
    }
    client.get(&format!("/v1/accounts/{other}")).await.is(200);
    // Orders are no reads, and what was not shown is not counted.
    client.credit(&cvu, "1.00").await;
    client.get("/v1/accounts/0000003100000000000000").await;
    let seen = times(&service, &key, &cvu, &cvu).await;
    assert_eq!(seen, 7);
    assert_eq!(times(&service, &key, &cuit, &cvu).await, seen);
    assert_eq!(times(&service, &key, &other, &other).await, 2);
    // An export names its realm.
    let export = client.get("/v1/accounts").header("accept", "text/csv");
    export.await.is(200);
    assert_eq!(times(&service, &key, &cvu, "tnt_first/test/*").await, 1);
    // The whole log has no such entries, unless they are asked for.
    let all = entries(&service, "").await;
    assert!(all.iter().all(|it| it["role"] != "key"), "{all:?}");
    assert!(!entries(&service, "action=readByKey").await.is_empty());
    // Whatever was counted when the service stops is there afterwards.
    client
        .get(&format!("/v1/accounts/{cvu}/balance"))
        .await
        .is(200);
    service.restart().await;
    assert_eq!(times(&service, &key, &cvu, &cvu).await, seen + 1);
    service.verified().await;
}
