//! Transfers through the bank: whatever it answers, and whenever, the money is in exactly one place.

use super::{funds, newest, pair};
use crate::support::{Client, SOON, TestService, Value, json, named, wait_until};

fn digit(digit: u8) -> Value {
    json!({"alias": format!("DESTINO.{digit}")})
}

/// How many transfers the bank has.
async fn at_the_bank(service: &TestService) -> Value {
    service.bank.state().await["transfersTotal"].clone()
}

#[actix_web::test]
async fn a_transfer_that_completes_leaves_for_good() {
    let (service, from, _) = pair("100.00").await;
    let sent = service
        .a
        .transfer(&from, digit(0), "40.00")
        .await
        .is(201)
        .json;
    let states = ["requested", "in_progress", "completed"];
    assert!(states.contains(&sent["status"].as_str().unwrap()), "{sent}");
    assert_eq!((&sent["kind"], &sent["to"]), (&json!("bank"), &digit(0)));
    let done = service.a.settled(&sent, "completed").await;
    assert_eq!(service.a.funds(&from).await, funds("60.00", "0.00"));
    let origin = done["originId"].as_str().unwrap();
    assert_eq!((origin.len(), &done["originId"]), (15, &sent["originId"]));
    for name in ["bankTransferId", "coelsaId"] {
        assert!(done[name].is_string(), "{name}: {done}");
    }
    assert_eq!(
        (&done["rejection"], &done["reversed"]),
        (&Value::Null, &json!("0.00"))
    );
    let calls = done["bankCalls"].as_array().unwrap();
    let call = &calls[0];
    assert_eq!(
        (&call["operation"], &call["status"]),
        (&json!("transfer"), &json!(200))
    );
    assert!(
        call["request"].is_object() && call["body"].is_object(),
        "{call}"
    );
    assert!(
        call["millis"].is_u64() && call["requestId"].is_string(),
        "{call}"
    );
    let path = format!("/v1/accounts/{from}/movements?referenceType=transfer&order=asc");
    let moved = service.a.get(&path).await.is(200).json;
    let kinds: Vec<_> = moved.as_array().unwrap().iter().collect();
    assert_eq!(kinds.len(), 2, "{moved}");
    assert_eq!(
        (&kinds[0]["ledgerType"], &kinds[1]["ledgerType"]),
        (&json!("hold"), &json!("confirm_hold"))
    );
    assert!(kinds.iter().all(|it| it["referenceId"] == done["id"]));
    assert_eq!(at_the_bank(&service).await, 1);
    service.verified().await;
}

#[actix_web::test]
async fn a_transfer_that_is_rejected_returns() {
    let (service, from, _) = pair("100.00").await;
    let sent = service
        .a
        .transfer(&from, digit(1), "40.00")
        .await
        .is(201)
        .json;
    let done = service.a.settled(&sent, "rejected").await;
    let reason = done["rejection"]["message"].as_str().unwrap();
    assert!(!reason.is_empty(), "{done}");
    assert_eq!(service.a.funds(&from).await, funds("100.00", "0.00"));
    // If the account does not exist, the bank itself refuses, and its message is shown.
    service
        .bank
        .behave(json!({"operation": "transfer", "mode": "reject", "count": 1}))
        .await;
    let sent = service
        .a
        .transfer(&from, digit(0), "1.00")
        .await
        .is(201)
        .json;
    let done = service.a.settled(&sent, "rejected").await;
    let status = done["rejection"]["bankStatus"].as_u64().unwrap();
    assert!((400..500).contains(&status), "{done}");
    assert!(done["rejection"]["bankBody"].is_object(), "{done}");
    assert_eq!(service.a.funds(&from).await, funds("100.00", "0.00"));
    assert_eq!(newest(&service.a, &from).await["ledgerType"], "release");
}

#[actix_web::test]
async fn a_transfer_on_its_way_ends_as_the_bank_says_when_its_cvu_is_closed_meanwhile() {
    let (service, native, wallet) = pair("100.00").await;
    service.hear().await;
    service.a.credit(&wallet, "100.00").await;
    let own = service.a.get(&format!("/v1/accounts/{wallet}")).await;
    let number = own.is(200)["walletAccountId"].clone();
    let cuenta = service.a.get(&format!("/wallet/v1/Cuenta/{number}")).await;
    let number = cuenta.is(200)["cuentaCVUId"].clone();
    let ways = [
        (&native, format!("/v1/accounts/{native}"), 200),
        (&wallet, format!("/wallet/v1/CVU/{number}"), 204),
    ];
    for (from, close, status) in ways {
        // The bank has taken one transfer and keeps it; the other one it could not take so far.
        let kept = service.a.transfer(from, digit(2), "10.00").await.is(201);
        let kept = service.a.settled(&kept.json, "in_progress").await;
        let fails = json!({"operation": "transfer", "mode": "error"});
        service.bank.behave(fails).await;
        let late = service.a.transfer(from, digit(0), "20.00").await.is(201);
        service.a.delete(&close).await.is(status);
        assert_eq!(service.a.funds(from).await, funds("70.00", "30.00"));
        service.bank.speaks("transfer").await;
        let refused = service.a.settled(&late.json, "rejected").await;
        let said = refused["rejection"]["bankBody"].to_string();
        assert!(said.contains("VW006"), "{refused}");
        assert_eq!(service.a.funds(from).await, funds("90.00", "10.00"));
        service.bank.settle(&kept["originId"], "COMPLETED").await;
        service.a.settled(&kept, "completed").await;
        // The rest stays on the closed account.
        assert_eq!(service.a.funds(from).await, funds("90.00", "0.00"));
    }
    service.verified().await;
}

#[actix_web::test]
async fn a_transfer_that_the_bank_keeps_pending_stays_held() {
    let (mut service, from, _) = pair("100.00").await;
    let mut kept = Vec::new();
    for amount in ["10.00", "20.00"] {
        let sent = service
            .a
            .transfer(&from, digit(2), amount)
            .await
            .is(201)
            .json;
        kept.push(service.a.settled(&sent, "in_progress").await);
    }
    assert_eq!(service.a.funds(&from).await, funds("70.00", "30.00"));
    service.crash().await;
    assert_eq!(service.a.funds(&from).await, funds("70.00", "30.00"));
    service.hear().await;
    for (transfer, status) in kept.iter().zip(["COMPLETED", "FAILED"]) {
        service.bank.settle(&transfer["originId"], status).await;
    }
    service.a.settled(&kept[0], "completed").await;
    service.a.settled(&kept[1], "rejected").await;
    assert_eq!(service.a.funds(&from).await, funds("90.00", "0.00"));
    service.verified().await;
}

#[actix_web::test]
async fn a_transfer_that_comes_back_is_a_new_credit() {
    let (service, from, _) = pair("100.00").await;
    service.hear().await;
    let sent = service
        .a
        .transfer(&from, digit(3), "40.00")
        .await
        .is(201)
        .json;
    let done = service.a.settled(&sent, "reversed").await;
    assert_eq!(done["reversed"], "40.00");
    assert_eq!(service.a.funds(&from).await, funds("100.00", "0.00"));
    let credit = newest(&service.a, &from).await;
    assert_eq!(credit["voucherTypeCode"], "TRANSFER_REVERSAL");
    assert_eq!(
        (&credit["ledgerType"], &credit["amount"]),
        (&json!("credit"), &json!("40.00"))
    );
    service.verified().await;
}

#[actix_web::test]
async fn a_transfer_that_completes_late_is_awaited() {
    let (service, from, _) = pair("100.00").await;
    let sent = service
        .a
        .transfer(&from, digit(4), "40.00")
        .await
        .is(201)
        .json;
    service.a.settled(&sent, "completed").await;
    assert_eq!(service.a.funds(&from).await, funds("60.00", "0.00"));
}

/// A receiver named by alias and by the CBU behind it, whichever came first, is one receiver; and while
/// the bank has not said who is behind the name, it is not called another one.
#[actix_web::test]
async fn a_receiver_named_otherwise_is_the_same_one() {
    let (mut service, from, _) = pair("100.00").await;
    let client = service.a.clone();
    let cbu_of = async |digit: u8| {
        let path = format!("/v1/lookup/alias/DESTINO.{digit}");
        json!({"cbu": client.get(&path).await.is(200)["cbu"]})
    };
    let (key, alias, other) = (cbu_of(0).await, digit(0), cbu_of(5).await);
    let lower = json!({"alias": "destino.0"});
    let order = |client: &Client, id: &str, to: &Value, amount: &str| {
        let body = json!({"fromCvu": from, "to": to, "amount": amount, "idExterno": id});
        client.post("/v1/transfers", &body)
    };
    for (id, first, again) in [
        ("by-alias", &alias, [&key, &lower]),
        ("by-key", &key, [&alias, &lower]),
    ] {
        let sent = order(&client, id, first, "10.00")
            .key(id)
            .await
            .is(201)
            .json;
        client.settled(&sent, "completed").await;
        for otherwise in again {
            let repeat = order(&client, id, otherwise, "10.00").await.is(201);
            assert!(repeat.replayed(), "{id} {otherwise}");
            assert_eq!(repeat["id"], sent["id"], "{id} {otherwise}");
            let more = order(&client, id, otherwise, "10.01").await;
            let more = more.refused(409, "id_externo_reused");
            assert_eq!(named(&more.json), ["amount"]);
        }
        for elsewhere in [&other, &digit(5)] {
            let refused = order(&client, id, elsewhere, "10.00").await;
            let refused = refused.refused(409, "id_externo_reused");
            assert_eq!(named(&refused.json), ["to"], "{elsewhere}");
        }
    }
    // The bank does not say yet who has the alias.
    let silent = json!({"operation": "lookup", "mode": "timeout"});
    service.bank.behave(silent).await;
    let sent = order(&client, "unsaid", &alias, "10.00").await.is(201).json;
    let early = order(&client, "unsaid", &key, "10.00").await;
    let early = early.refused(409, "id_externo_in_flight");
    assert!(!early.header("retry-after").is_empty());
    service.bank.speaks("lookup").await;
    service.crash().await;
    service.a.settled(&sent, "completed").await;
    let repeat = order(&service.a, "unsaid", &key, "10.00").await.is(201);
    assert_eq!((repeat.replayed(), &repeat["id"]), (true, &sent["id"]));
    assert_eq!(at_the_bank(&service).await, 3);
    assert_eq!(service.a.funds(&from).await, funds("70.00", "0.00"));
    service.verified().await;
}

#[actix_web::test]
async fn an_unknown_outcome_is_asked_again_and_never_guessed() {
    let (mut service, from, _) = pair("100.00").await;
    for mode in ["error", "timeout", "late"] {
        let order = json!({"operation": "transfer", "mode": mode, "count": 1, "delayMillis": 50});
        match mode {
            "timeout" => service.bank.is_silent("transfer", Some(1)).await,
            _ => service.bank.behave(order).await,
        }
        let before = at_the_bank(&service).await.as_u64().unwrap();
        let sent = service
            .a
            .transfer(&from, digit(0), "10.00")
            .await
            .is(201)
            .json;
        service.a.settled(&sent, "completed").await;
        assert_eq!(at_the_bank(&service).await, before + 1, "{mode}");
        service.bank.speaks("transfer").await;
    }
    assert_eq!(service.a.funds(&from).await, funds("70.00", "0.00"));
    // A crash before the bank's word: the service asks again about the same transfer.
    let before = at_the_bank(&service).await.as_u64().unwrap();
    let sent = service
        .a
        .transfer(&from, digit(0), "10.00")
        .await
        .is(201)
        .json;
    service.crash().await;
    service.a.settled(&sent, "completed").await;
    assert_eq!(at_the_bank(&service).await, before + 1);
    assert_eq!(service.a.funds(&from).await, funds("60.00", "0.00"));
    service.verified().await;
}

#[actix_web::test]
async fn an_operator_decides_what_the_bank_has_lost() {
    let (service, from, _) = pair("100.00").await;
    let decide = |transfer: &Value| {
        format!(
            "/admin/transfers/{}/decide",
            transfer["id"].as_str().unwrap()
        )
    };
    for (outcome, after) in [("completed", "90.00"), ("rejected", "90.00")] {
        let sent = service
            .a
            .transfer(&from, digit(2), "10.00")
            .await
            .is(201)
            .json;
        let open = service.a.settled(&sent, "in_progress").await;
        let body = json!({"outcome": outcome, "reason": "the bank's clerk said so",
            "by": "Ana", "force": true});
        let done = service.admin("POST", &decide(&open), &body).await.is(200);
        assert_eq!(done["status"], outcome);
        assert_eq!(service.a.funds(&from).await, funds(after, "0.00"));
        let again = service.admin("POST", &decide(&open), &body).await;
        again.refused(400, "transfer_not_open");
        let wrong = json!({"outcome": "lost", "reason": "?", "by": "Ana"});
        let wrong = service.admin("POST", &decide(&open), &wrong).await;
        wrong.refused(400, "invalid_request");
    }
    let nothing = "/admin/transfers/trf_0/decide";
    let body = json!({"outcome": "completed", "reason": "?", "by": "Ana"});
    let refused = service.admin("POST", nothing, &body).await;
    refused.refused(404, "transfer_not_found");
}

#[actix_web::test]
async fn a_notice_that_comes_twice_or_never_changes_nothing() {
    let (service, from, _) = pair("100.00").await;
    service.hear().await;
    for mode in ["duplicate_notice", "lose_notice"] {
        service
            .bank
            .behave(json!({"operation": "transfer", "mode": mode, "count": 1}))
            .await;
        let sent = service
            .a
            .transfer(&from, digit(0), "10.00")
            .await
            .is(201)
            .json;
        service.a.settled(&sent, "completed").await;
    }
    wait_until("all of it has left", SOON, async || {
        (service.a.funds(&from).await == funds("80.00", "0.00")).then_some(())
    })
    .await;
    service.verified().await;
}
