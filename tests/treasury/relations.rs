//! The collector accounts: a treasury shows its own relation's, and a shared one belongs to no
//! single tenant.

use caudal_ledger::ids::RealmId;
use caudal_sandbox as sandbox;

use super::snapshot;
use crate::support::service::{OTHER, TENANT};
use crate::support::{TestService, Value, json};

#[actix_web::test]
async fn each_realm_has_its_own_collector_account() {
    let service = TestService::start().await;
    service.hear().await;
    let mut seen = Vec::new();
    for (client, amount) in [
        (&service.a, "10.00"),
        (&service.b, "20.00"),
        (&service.live, "40.00"),
    ] {
        let cvu = client.cvu().await;
        service.bank.cash_in(&cvu, amount).await;
        let taken = snapshot(client, "its own money", |taken| {
            taken["bankBalance"] == amount && taken["clientFunds"]["total"] == amount
        });
        let taken = taken.await;
        assert_eq!(taken["covered"], true);
        assert_eq!(taken["asOf"], taken["bankAsOf"]);
        seen.push(taken["collector"]["cbu"].as_str().unwrap().to_owned());
    }
    let own = [4, 1].map(|realm| sandbox::collector(RealmId(realm)));
    assert_eq!(seen[1..], own);
    assert_eq!(seen[0], sandbox::COLLECTOR);
}

#[actix_web::test]
async fn a_shared_collector_account_shows_nobody_the_others_money() {
    let service = TestService::start().await;
    service.hear().await;
    let path = format!("/admin/tenants/{OTHER}");
    let order = |cbu: &str| json!({"bank": {"test": {"collectorCbu": cbu}}});
    let shared = order(sandbox::COLLECTOR);
    let answer = service.admin("PATCH", &path, &shared).await.is(200);
    let in_use = &answer["bank"]["test"]["collectorInUse"];
    assert_eq!(in_use, sandbox::COLLECTOR);
    let (one, two) = (service.a.cvu().await, service.b.cvu().await);
    service.bank.cash_in(&one, "10.00").await;
    service.bank.cash_in(&two, "30.00").await;
    for (client, total) in [(&service.a, "10.00"), (&service.b, "30.00")] {
        let taken = snapshot(client, "its clients' money", |taken| {
            taken["clientFunds"]["total"] == total
        });
        let taken = taken.await;
        assert_eq!(taken["bankError"]["code"], "collector_shared");
        for name in [
            "bankBalance",
            "bankAsOf",
            "freeBalance",
            "coverageRatio",
            "covered",
        ] {
            assert_eq!(taken[name], Value::Null, "{name}");
        }
        let spanish = client.get("/wallet/v1/Tesoreria").await.is(200);
        assert_eq!(spanish["saldoBanco"], Value::Null);
        assert!(spanish["errorBanco"].as_str().unwrap().contains("otra"));
    }
    // The operator sees all of them, at one cut.
    let whole = service.admin("GET", "/admin/treasury", &Value::Null).await;
    let whole = whole.is(200);
    let items = whole["items"].as_array().unwrap();
    let both = items.iter().find(|it| it["shared"] == true).unwrap();
    let realms = json!([{"tenant": TENANT, "mode": "test"}, {"tenant": OTHER, "mode": "test"}]);
    assert_eq!(both["realms"], realms);
    let taken = &both["treasury"];
    assert_eq!(taken["bankBalance"], "40.00");
    assert_eq!(taken["clientFunds"]["total"], "40.00");
    assert_eq!(taken["freeBalance"], "0.00");
    assert_eq!(items.len(), 3);
    // CVUs belong to their collector account, so it stays while there are any.
    let away = order(&sandbox::collector(RealmId(4)));
    let refused = service.admin("PATCH", &path, &away).await;
    refused.refused(409, "bank_in_use");
    service.admin("PATCH", &path, &shared).await.is(200);
}

#[actix_web::test]
async fn a_transfer_to_another_psp_arrives_there_and_moves_both_treasuries() {
    let service = TestService::start().await;
    service.hear().await;
    let (from, to) = (service.a.cvu().await, service.b.cvu().await);
    service.bank.cash_in(&from, "10.00").await;
    snapshot(&service.a, "the money", |taken| {
        taken["clientFunds"]["total"] == "10.00"
    })
    .await;
    let found = service.a.get(&format!("/v1/lookup/cbu/{to}")).await.is(200);
    assert_eq!(found["bank"]["code"], "1003");
    let live = service.live.get(&format!("/v1/lookup/cbu/{to}")).await;
    live.refused(404, "destination_not_found");
    let sent = service.a.transfer(&from, json!({"cvu": to}), "4.00").await;
    service.a.settled(&sent.is(201).json, "completed").await;
    for (client, amount) in [(&service.a, "6.00"), (&service.b, "4.00")] {
        snapshot(client, "its part", |taken| {
            taken["bankBalance"] == amount && taken["clientFunds"]["total"] == amount
        })
        .await;
    }
    service.verified().await;
}
