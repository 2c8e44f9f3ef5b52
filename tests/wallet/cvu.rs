//! A closed CVU that is ordered again: it is the same one, with its whole balance.

use super::{cuenta, cvu, read, tipo};
use crate::support::client::fresh;
use crate::support::{Answer, Client, SOON, TestService, Value, json, wait_until};

/// Orders the CVU of an account again.
async fn again(client: &Client, id: u64, more: Value) -> Answer {
    let mut body = json!({"idCuenta": id});
    for (name, value) in more.as_object().unwrap() {
        body[name] = value.clone();
    }
    client.post("/wallet/v1/CVU", &body).await
}

/// An account whose CVU had ten pesos and is closed; returns its number, its CVU and its holder's
/// CUIT.
async fn closed(service: &TestService) -> (u64, Value, String) {
    let client = &service.a;
    let id = cuenta(client, "Ana", "Paz").await;
    let own = cvu(client, id).await;
    if id == 1 {
        tipo(client, "CARGA", 1).await;
    }
    post(client, id).await.is(201);
    client
        .delete(&format!("/wallet/v1/CVU/{}", own["id"]))
        .await
        .is(204);
    let shown = read(client, id).await.is(200);
    assert_eq!(shown["estadoCvu"], "CERRADA");
    post(client, id).await.refused(400, "account_closed");
    let holder = shown["cuitCuil"].as_str().unwrap().to_owned();
    (id, own, holder)
}

async fn post(client: &Client, id: u64) -> Answer {
    let body = json!({"idCuenta": id, "importe": 10, "codigo": "CARGA",
        "idExterno": format!("again-{}", fresh())});
    client.post("/wallet/v1/Comprobante", &body).await
}

/// How many events of this type were published.
async fn published(client: &Client, kind: &str) -> usize {
    let events = client
        .get(&format!("/v1/events?types={kind}"))
        .await
        .is(200);
    events["items"].as_array().unwrap().len()
}

#[actix_web::test]
async fn a_closed_cvu_comes_back_as_it_was() {
    let mut service = TestService::start().await;
    let (id, own, holder) = closed(&service).await;
    let first = again(&service.a, id, json!({})).await.is(200);
    assert_eq!(first.json, own, "the same CVU, alias and record");
    // A repeat changes nothing, and under a key it gets the first answer.
    assert_eq!(again(&service.a, id, json!({})).await.is(200).json, own);
    let body = json!({"idCuenta": id});
    let keyed = async |service: &TestService| {
        let call = service.a.post("/wallet/v1/CVU", &body).key("again");
        call.await.is(200)
    };
    assert_eq!(keyed(&service).await.json, own);
    service.restart().await;
    let repeat = keyed(&service).await;
    assert_eq!((repeat.replayed(), &repeat.json), (true, &own));
    let native = format!("/v1/accounts/{}", own["cvu"].as_str().unwrap());
    let native = service.a.get(&native).await.is(200);
    assert_eq!(
        (
            &native["status"],
            &native["closedAt"],
            &native["balance"]["available"]
        ),
        (&json!("active"), &Value::Null, &json!("10.00"))
    );
    assert_eq!(read(&service.a, id).await["estadoCvu"], "ACTIVA");
    let listed = service.a.get("/v1/accounts?status=closed").await.is(200);
    assert_eq!(listed["total"], 0);
    post(&service.a, id).await.is(201);
    for (kind, count) in [
        ("account.created", 1),
        ("account.closed", 1),
        ("account.reactivated", 1),
    ] {
        assert_eq!(published(&service.a, kind).await, count, "{kind}");
    }
    // The bank has one account, and knows the alias again.
    let there = service.bank.accounts_of(&holder).await;
    assert_eq!((there.len(), &there[0]["active"]), (1, &json!(true)));
    let path = format!("/v1/lookup/alias/{}", own["alias"].as_str().unwrap());
    let found = service.a.get(&path).await.is(200);
    assert_eq!(found["cbu"], own["cvu"]);
    // Ordering the CVU again does not lift a suspension.
    let path = format!("/v1/accounts/{}/suspend", own["cvu"].as_str().unwrap());
    service.a.post(&path, &json!({"reason": "x"})).await.is(200);
    assert_eq!(read(&service.a, id).await["estadoCvu"], "SUSPENDIDA");
    assert_eq!(again(&service.a, id, json!({})).await.is(200).json, own);
    assert_eq!(read(&service.a, id).await["estadoCvu"], "SUSPENDIDA");
    service.verified().await;
    service.lose_index();
    service.restart().await;
    assert_eq!(read(&service.a, id).await["estadoCvu"], "SUSPENDIDA");
    service.verified().await;
}

#[actix_web::test]
async fn a_closed_cvu_gets_the_name_and_the_alias_that_it_may_have() {
    let service = TestService::start().await;
    let (id, own, holder) = closed(&service).await;
    let named = again(
        &service.a,
        id,
        json!({"nombreCVU": "Otra", "aliasAutomatico": false}),
    );
    let named = named.await.is(200);
    assert_eq!(
        (&named["cvu"], &named["nombreCvu"], &named["alias"]),
        (&own["cvu"], &json!("Otra"), &json!(""))
    );
    // Another account of the holder has taken the alias in the meantime: the bank assigns a new one.
    let (id, own, holder_of_two) = closed(&service).await;
    assert_ne!(holder, holder_of_two);
    let body = json!({"cuit": holder_of_two, "holderName": "Ana Paz", "alias": own["alias"]});
    let other = service.a.open_with(body).await;
    assert_eq!(other["alias"], own["alias"]);
    let back = again(&service.a, id, json!({})).await.is(200);
    assert_eq!(back["cvu"], own["cvu"]);
    let alias = back["alias"].as_str().unwrap();
    assert!(
        !alias.is_empty() && back["alias"] != own["alias"],
        "{alias}"
    );
    let path = format!("/v1/lookup/alias/{}", own["alias"].as_str().unwrap());
    let found = service.a.get(&path).await.is(200);
    assert_eq!(found["cbu"], other["cvu"]);
    service.verified().await;
}

#[actix_web::test]
async fn what_the_bank_refuses_or_does_not_say_leaves_a_cvu_closed_until_it_does() {
    let mut service = TestService::start().await;
    let (id, own, _) = closed(&service).await;
    for client in [&service.b, &service.live] {
        let refused = again(client, id, json!({})).await;
        refused.refused(404, "account_not_found");
    }
    let refuses = json!({"operation": "create_cvu", "mode": "reject", "count": 1});
    service.bank.behave(refuses).await;
    let refused = again(&service.a, id, json!({})).await.is(400).error();
    assert!(refused["bankStatus"].is_u64(), "{}", refused.text);
    assert_eq!(read(&service.a, id).await["estadoCvu"], "CERRADA");
    // Many orders at once ask the bank once.
    let asked = (0..8).map(|_| again(&service.a, id, json!({})));
    let answers = futures_util::future::join_all(asked.collect::<Vec<_>>()).await;
    assert!(answers.iter().any(|answer| answer.status == 200));
    for answer in answers {
        match answer.status {
            200 => assert_eq!(answer.json, own),
            _ => drop(answer.refused(409, "operation_in_flight")),
        }
    }
    assert_eq!(published(&service.a, "account.reactivated").await, 1);
    // The outcome at the bank is unknown: the service asks it again, also after a crash.
    let close = format!("/wallet/v1/CVU/{}", own["id"]);
    service.a.delete(&close).await.is(204);
    let fails = json!({"operation": "create_cvu", "mode": "error"});
    service.bank.behave(fails).await;
    again(&service.a, id, json!({})).await.is(502);
    let refused = service.a.delete(&close).await;
    refused.refused(409, "operation_in_flight");
    service.crash().await;
    service.bank.speaks("create_cvu").await;
    wait_until("the CVU is open again", SOON, async || {
        let shown = read(&service.a, id).await;
        (shown["estadoCvu"] == "ACTIVA").then_some(())
    })
    .await;
    assert_eq!(again(&service.a, id, json!({})).await.is(200).json, own);
    assert_eq!(published(&service.a, "account.reactivated").await, 2);
    service.verified().await;
}
