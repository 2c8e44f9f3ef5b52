//! What is decided about a realm while what leaves it is held, and a realm that rests after a switch.

use super::instant::{copied, instant, released, switched};
use super::{shown, worked};
use crate::support::service::OTHER;
use crate::support::{TestService, Value, json};

/// Whether the bank has an order under the reference of a transfer.
async fn is_ordered(service: &TestService, transfer: &Value) -> bool {
    let state = service.bank.state().await;
    let all = state["transfers"].as_array().unwrap().clone();
    all.iter().any(|it| it["origin_id"] == transfer["originId"])
}

#[actix_web::test]
async fn what_was_decided_while_it_was_held_does_not_reach_the_bank() {
    let mut service = TestService::start().await;
    let cvus = worked(&service).await;
    let at = instant(&service).await;
    let number = copied(&service, &at).await;
    switched(&service, number).await;
    let before = service.b.available(&cvus[0]).await;
    let to = || json!({"alias": "destino.0"});
    // one is asked for in this life of the service, the other one is found by it
    let found = service.b.transfer(&cvus[0], to(), "1.25").await;
    let found = found.is(201).json.clone();
    service.crash().await;
    let asked = service.b.transfer(&cvus[0], to(), "2.25").await;
    let asked = asked.is(201).json.clone();
    for sent in [&found, &asked] {
        let path = format!("/admin/transfers/{}/decide", sent["id"].as_str().unwrap());
        let body = json!({"outcome": "rejected", "force": true, "by": "Ana", "reason": "it was sent otherwise"});
        let done = service.admin("POST", &path, &body).await;
        assert_eq!(done.is(200)["status"], "rejected");
    }
    assert_eq!(service.b.available(&cvus[0]).await, before);
    released(&service).await;
    // what is asked for afterwards leaves behind all that waited
    let later = service.b.transfer(&cvus[0], to(), "0.75").await;
    let later = later.is(201).json.clone();
    service.b.settled(&later, "completed").await;
    assert!(is_ordered(&service, &later).await);
    for sent in [&found, &asked] {
        assert!(!is_ordered(&service, sent).await, "{sent}");
    }
    service.verified().await;
}

#[actix_web::test]
async fn the_same_switch_again_has_a_realm_served_that_rests() {
    let service = TestService::start().await;
    let cvus = worked(&service).await;
    let at = instant(&service).await;
    let number = copied(&service, &at).await;
    switched(&service, number).await;
    let before = shown(&service.b, &cvus).await;
    // as after a load that failed
    let platform = service.engine().platform();
    let realm = platform.tenant(OTHER).unwrap().test;
    service.engine().retire(realm).await.unwrap();
    switched(&service, number).await;
    assert_eq!(shown(&service.b, &cvus).await, before);
    service.b.credit(&cvus[0], "1.00").await;
    // and where it is served nothing happens
    switched(&service, number).await;
    service.b.credit(&cvus[0], "1.00").await;
    service.verified().await;
}
