//! Aliases: compared without case, set once however often the order is repeated, reserved to their holder.

use std::future::IntoFuture as _;

use super::{at, read};
use crate::support::client::fresh;
use crate::support::{SOON, TestService, cuit, json, named, wait_until};

#[actix_web::test]
async fn aliases_are_compared_without_case_and_reserved_to_their_holder() {
    let service = TestService::start().await;
    let (one, two) = (
        service.a.open_account().await,
        service.a.open_account().await,
    );
    let (one_cvu, two_cvu) = (one["cvu"].as_str().unwrap(), two["cvu"].as_str().unwrap());
    let set = async |cvu: &str, alias: &str| {
        service
            .a
            .put(&at(cvu, "/alias"), &json!({"alias": alias}))
            .await
    };
    let first = set(one_cvu, "Rio.De.Plata").await.is(200);
    assert_eq!(first["alias"], "Rio.De.Plata");
    // Setting the same alias again does nothing.
    let calls = service.bank.calls("set_alias").await;
    let again = set(one_cvu, "Rio.De.Plata").await.is(200);
    assert_eq!(first.header("etag"), again.header("etag"));
    assert_eq!(service.bank.calls("set_alias").await, calls);
    for taken in ["Rio.De.Plata", "RIO.DE.PLATA", "rio.de.plata"] {
        let refused = set(two_cvu, taken).await.refused(409, "alias_taken");
        // Within the same tenant and mode, the refusal names the account that has the alias.
        assert_eq!(refused["details"]["cvu"], one_cvu);
        assert!(refused["message"].as_str().unwrap().contains(one_cvu));
        let body = json!({"cuit": cuit(fresh()), "holderName": "Otra", "alias": taken});
        service
            .a
            .post("/v1/accounts", &body)
            .key(&format!("k-{}", fresh()))
            .await
            .refused(409, "alias_taken");
    }
    // A holder's former alias stays reserved to the holder.
    set(one_cvu, "mar.del.plata").await.is(200);
    set(two_cvu, "rio.de.plata")
        .await
        .refused(409, "alias_taken");
    let own =
        json!({"cuit": one["holder"]["cuit"], "holderName": "La Misma", "alias": "rio.de.plata"});
    assert_eq!(service.a.open_with(own).await["alias"], "rio.de.plata");
    // The alias cannot be set back: the other account of the holder has it now.
    set(one_cvu, "rio.de.plata")
        .await
        .refused(409, "alias_taken");
    for bad in [
        "corto",
        "con_guion",
        "",
        "niño.azul.x",
        "a23456789012345678901",
    ] {
        let refused = set(one_cvu, bad).await.refused(400, "invalid_request");
        assert_eq!(named(&refused.json), ["alias"]);
    }
    assert_eq!(read(&service.a, one_cvu).await["alias"], "mar.del.plata");
}

#[actix_web::test]
async fn the_own_alias_again_is_no_change_in_whatever_case() {
    let service = TestService::start().await;
    let cvu = service.a.cvu().await;
    let set = async |alias: &str| {
        let body = json!({"alias": alias});
        service.a.put(&at(&cvu, "/alias"), &body).await.is(200)
    };
    let first = set("mi.alias.uno").await;
    let events = service.a.get("/v1/events?limit=200").await.is(200).text;
    for alias in ["mi.alias.uno", "MI.ALIAS.UNO", "Mi.Alias.Uno"] {
        let again = set(alias).await;
        assert_eq!(again["alias"], "mi.alias.uno");
        assert_eq!(again.header("etag"), first.header("etag"));
    }
    let now = service.a.get("/v1/events?limit=200").await.is(200).text;
    assert_eq!(now, events, "nothing happened, so nothing is told");
}

/// Of eight equal orders at once, each is done or is told that one is under way; so is one sent while the
/// bank fails.
#[actix_web::test]
async fn equal_changes_of_an_alias_at_once_are_one_change() {
    let service = TestService::start().await;
    let cvu = service.a.cvu().await;
    let put = |alias: &str| service.a.put(&at(&cvu, "/alias"), &json!({"alias": alias}));
    let eight = (0..8).map(|_| put("ocho.a.la.vez").into_future());
    let mut done = 0;
    for answer in futures_util::future::join_all(eight).await {
        if answer.status == 200 {
            done += 1;
        } else {
            let busy = answer.refused(409, "operation_in_flight");
            assert!(busy.header("retry-after").parse::<u32>().unwrap() > 0);
        }
    }
    assert!(done > 0);
    let set = put("ocho.a.la.vez").await.is(200);
    assert_eq!(set["alias"], "ocho.a.la.vez");
    assert_eq!(
        service.bank.calls("set_alias").await,
        2,
        "one was of the opening"
    );
    // The bank fails: the change goes on, and a repeated order is told so.
    let fails = json!({"operation": "set_alias", "mode": "error"});
    service.bank.behave(fails).await;
    put("despues.de.502").await.refused(502, "bank_failed");
    put("despues.de.502")
        .await
        .refused(409, "operation_in_flight");
    service.bank.speaks("set_alias").await;
    let again = async || {
        let answer = put("despues.de.502").await;
        if answer.status != 200 {
            answer.refused(409, "operation_in_flight");
            return None;
        }
        Some(answer)
    };
    let settled = wait_until("the alias", SOON, again).await;
    assert_eq!(settled["alias"], "despues.de.502");
}

#[actix_web::test]
async fn the_alias_of_a_closed_cvu_is_its_holders_again() {
    let mut service = TestService::start().await;
    let first = service.a.open_account().await;
    let (old, holder) = (
        first["cvu"].as_str().unwrap(),
        first["holder"]["cuit"].clone(),
    );
    let alias = json!({"alias": "de.vuelta.a.mi"});
    service.a.put(&at(old, "/alias"), &alias).await.is(200);
    let body = json!({"cuit": holder, "holderName": "La Misma Persona", "externalId": "second"});
    let second = service.a.open_with(body).await["cvu"]
        .as_str()
        .unwrap()
        .to_owned();
    let take =
        async |service: &TestService, cvu: &str| service.a.put(&at(cvu, "/alias"), &alias).await;
    take(&service, &second).await.refused(409, "alias_taken");
    service.a.delete(&at(old, "")).await.is(200);
    let other = service.a.cvu().await;
    take(&service, &other).await.refused(409, "alias_taken");
    assert_eq!(
        take(&service, &second).await.is(200)["alias"],
        "de.vuelta.a.mi"
    );
    for _ in 0..2 {
        let found = service
            .a
            .get("/v1/lookup/alias/de.vuelta.a.mi")
            .await
            .is(200);
        assert_eq!(found["cbu"], *second);
        take(&service, &second).await.is(200);
        take(&service, &other).await.refused(409, "alias_taken");
        service.crash().await;
    }
    service.verified().await;
}
