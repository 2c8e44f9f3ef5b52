//! Decisions about a realm while its outgoing orders are held, and copies that are stopped.

use super::instant::{RESTORES, begun, copied, instant, listed, released, switched};
use super::{shown, worked};
use crate::support::service::OTHER;
use crate::support::{SOON, TestService, Value, json, wait_until};

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
    // one transfer is ordered before a crash, so that the service finds it at the start, and the
    // other after it
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
    // a later transfer is sent after all that waited
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
    // while the realm is served, the same switch has no effect
    switched(&service, number).await;
    service.b.credit(&cvus[0], "1.00").await;
    service.verified().await;
}

#[actix_web::test]
async fn a_copy_is_ended_by_a_word_and_goes_on_by_the_same_order() {
    let service = TestService::start().await;
    let cvus = worked(&service).await;
    let before = shown(&service.b, &cvus).await;
    let at = instant(&service).await;
    service.b.credit(&cvus[0], "1.00").await;
    let stop = format!("{RESTORES}/stop");
    let test = json!({"mode": "test"});
    // no copy is being made, so nothing happens
    let none = service.admin("POST", &stop, &test).await;
    assert_eq!(
        none.is(200)["test"]["generations"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    begun(&service, &at).await;
    let again = begun(&service, &at).await;
    assert_eq!(
        again["generations"].as_array().unwrap().len(),
        2,
        "it is the same"
    );
    service.admin("POST", &stop, &test).await.is(200);
    // the copy may have been whole before the order reached it
    wait_until("the copy has ended", SOON, async || {
        let copy = listed(&service).await["generations"][1].clone();
        match copy["state"].as_str().unwrap() {
            "copying" => return None,
            "whole" => assert_eq!(copy["error"], Value::Null),
            _ => assert!(copy["error"].as_str().unwrap().contains("an operator")),
        }
        Some(())
    })
    .await;
    assert_eq!(copied(&service, &at).await, 1, "it went on");
    switched(&service, 1).await;
    assert_eq!(shown(&service.b, &cvus).await, before);
    service.verified().await;
}
