//! Money in suspense that is returned: the bank is asked under a reference of its own, until its
//! final word, through every failure of the bank and every crash.

use super::{by, shows, start, unknown_like, with};
use crate::support::{SOON, Value, json, wait_until};

#[actix_web::test]
async fn it_goes_back_to_who_sent_it() {
    let (mut service, open, closed) = start().await;
    let before = service.bank.state().await["balance"].clone();
    assert_eq!(before, "0.00");
    for cvu in [closed.clone(), unknown_like(&open)] {
        let case = service.parked(&cvu, "12.00", 0).await;
        let rail = case["suspense"]["coelsaId"].clone();
        assert_eq!(service.bank.state().await["balance"], "12.00");
        let asked = service.decide(&case, &by("return")).await.is(200);
        assert!(asked["state"] == "returning" || asked["state"] == "decided");
        shows(&asked.json, "Ana Gómez");
        let done = service.becomes(&case, "decided").await;
        assert_eq!(done["suspense"]["outcome"], "returned");
        let origin = done["suspense"]["returnOriginId"].clone();
        let sender = service.elsewhere(0).await;
        let state = service.bank.state().await;
        let ours = state["transfers"].as_array().unwrap().iter();
        let ours: Vec<_> = ours.filter(|it| it["origin_id"] == origin).collect();
        let [sent] = ours.as_slice() else {
            panic!("{ours:?}")
        };
        assert_eq!(sent["to"]["cbu"], sender);
        assert_eq!(sent["value"]["amount"], "12.00");
        assert_eq!(sent["origin_debit"]["cvu"], Value::Null);
        assert_eq!(state["balance"], "0.00");
        for restart in [false, true] {
            if restart {
                service.crash().await;
                service.hear().await;
            }
            assert_eq!(service.incoming().await, "0.00");
            let answer = service.events_of("suspense.resolved").await;
            let last = &answer.last().unwrap()["data"];
            shows(last, "Ana Gómez");
            assert_eq!(last["outcome"], "returned");
            assert_eq!(last["returnOriginId"], origin);
            assert_eq!(last["coelsaId"], rail);
            // Both movements are on the bank's list of the day.
            let there = service.today("coelsaId", &rail).await;
            assert_eq!(there[0]["result"], "decided");
            assert_eq!(there[0]["suspense"]["state"], "returned");
            shows(&there[0], "Ana Gómez");
            let id = &done["suspense"]["returnBankTransferId"];
            let back = service.today("bankTransferId", id).await;
            let [back] = back.as_slice() else {
                panic!("{back:?}")
            };
            assert_eq!(
                (&back["result"], &back["direction"]),
                (&json!("matched"), &json!("out"))
            );
            shows(back, "Ana Gómez");
        }
        service.verified().await;
    }
    assert_eq!(service.events_of("suspense.resolved").await.len(), 2);
}

#[actix_web::test]
async fn a_refusal_leaves_the_case_open_and_says_why() {
    let (service, open, closed) = start().await;
    // The receiver does not accept it: the bank takes the return, which then fails.
    let case = service.parked(&closed, "12.00", 1).await;
    service.decide(&case, &by("return")).await.is(200);
    let refused = wait_until("the return is refused", SOON, async || {
        let now = service.case(&case).await;
        now["suspense"]["returnRefusal"].is_object().then_some(now)
    });
    let refused = refused.await;
    assert_eq!(refused["state"], "open");
    let why = &refused["suspense"]["returnRefusal"]["message"];
    assert!(why.as_str().unwrap().contains("no admite"), "{refused}");
    assert_eq!(service.incoming().await, "12.00");
    assert_eq!(service.events_of("suspense.resolved").await.len(), 0);
    // The bank itself refuses the next attempt.
    let refuse = json!({"operation": "transfer", "mode": "reject", "code": "TX046"});
    service.bank.behave(refuse).await;
    service.decide(&case, &by("return")).await.is(200);
    let refused = wait_until("the bank refuses", SOON, async || {
        let now = service.case(&case).await;
        let status = &now["suspense"]["returnRefusal"]["bankStatus"];
        status.is_u64().then(|| now.clone())
    });
    assert_eq!(refused.await["state"], "open");
    service.verified().await;
    // After that the money is credited.
    let body = with(by("credit"), "cvu", open.clone());
    service.decide(&case, &body).await.is(200);
    assert_eq!(service.a.available(&open).await, "12.00");
    assert_eq!(service.incoming().await, "0.00");
    service.verified().await;
}

#[actix_web::test]
async fn without_a_sender_it_cannot_be_returned() {
    let (service, _, closed) = start().await;
    let rail = service
        .bank
        .cash_in_from(&closed, "5.00", "UNAVAILABLE")
        .await;
    let case = wait_until("the money waits", SOON, async || {
        let open = service.cases("").await;
        open["items"].get(0).cloned()
    });
    let case = case.await;
    assert_eq!(case["suspense"]["coelsaId"], rail);
    let refused = service.decide(&case, &by("return")).await;
    refused.refused(400, "sender_unknown");
    assert_eq!(service.case(&case).await["state"], "open");
}

#[actix_web::test]
async fn money_leaves_once_whatever_the_bank_does() {
    for mode in [
        "timeout",
        "error",
        "reset",
        "garbage",
        "forget",
        "lose_notice",
        "duplicate_notice",
    ] {
        for crash in [false, true] {
            let (mut service, _, closed) = start().await;
            let case = service.parked(&closed, "12.00", 0).await;
            let order = json!({"operation": "transfer", "mode": mode, "count": 1});
            match mode {
                "timeout" => service.bank.is_silent("transfer", Some(1)).await,
                _ => service.bank.behave(order).await,
            }
            service.decide(&case, &by("return")).await.is(200);
            if crash {
                service.crash().await;
                service.hear().await;
            }
            let done = service.becomes(&case, "decided").await;
            assert_eq!(done["suspense"]["outcome"], "returned", "{mode}");
            let state = service.bank.state().await;
            let all = state["transfers"].as_array().unwrap().iter();
            let out = all.filter(|it| it["type"] == "TRANSFER");
            assert_eq!(out.count(), 1, "{mode}");
            assert_eq!(state["balance"], "0.00", "{mode}");
            assert_eq!(service.incoming().await, "0.00");
            assert_eq!(service.events_of("suspense.resolved").await.len(), 1);
            service.verified().await;
        }
    }
}

#[actix_web::test]
async fn while_the_bank_is_asked_nothing_else_is_decided() {
    let (mut service, open, closed) = start().await;
    // The receiver's bank keeps the return pending.
    let case = service.parked(&closed, "12.00", 2).await;
    service.decide(&case, &by("return")).await.is(200);
    for restart in [false, true] {
        if restart {
            service.crash().await;
            service.hear().await;
        }
        let named = wait_until("the bank has it", SOON, async || {
            let now = service.case(&case).await;
            let id = now["suspense"]["returnBankTransferId"].clone();
            id.is_string().then_some(now)
        });
        let named = named.await;
        assert_eq!(named["state"], "returning");
        for body in [by("return"), with(by("credit"), "cvu", open.clone())] {
            let refused = service.decide(&case, &body).await;
            let refused = refused.refused(409, "return_in_flight");
            assert!(!refused.header("retry-after").is_empty());
        }
        assert_eq!(service.incoming().await, "12.00");
        let rail = case["suspense"]["coelsaId"].clone();
        assert_eq!(
            service.today("coelsaId", &rail).await[0]["result"],
            "pending"
        );
        let id = named["suspense"]["returnBankTransferId"].clone();
        assert_eq!(
            service.today("bankTransferId", &id).await[0]["result"],
            "pending"
        );
        let day = service.a.get("/v1/bank/conciliacion").await.is(200);
        assert_eq!(day["summary"]["amountIn"], "12.00");
        assert_eq!(day["summary"]["pending"], 2);
    }
    // A notice reports its end.
    let origin = service.case(&case).await["suspense"]["returnOriginId"].clone();
    service.bank.settle(&origin, "COMPLETED").await;
    service.becomes(&case, "decided").await;
    service.verified().await;
    // The return comes back after all: new money that waits for a person.
    service.bank.reverse(&origin).await;
    let again = wait_until("it waits again", SOON, async || {
        let open = service.cases("?kind=suspense").await;
        open["items"].get(0).cloned()
    });
    let again = again.await;
    assert_eq!(again["suspense"]["reason"], "return_came_back");
    assert_eq!(again["amount"], "12.00");
    assert_ne!(again["id"], case["id"]);
    assert_eq!(service.incoming().await, "12.00");
    let body = with(by("credit"), "cvu", open.clone());
    service.decide(&again, &body).await.is(200);
    assert_eq!(service.a.available(&open).await, "12.00");
    let day = service.a.get("/v1/bank/conciliacion").await.is(200);
    for difference in [
        "missingInLedger",
        "missingAtBank",
        "amountDiffers",
        "pending",
    ] {
        assert_eq!(day["summary"][difference], 0, "{}", day.text);
    }
    service.verified().await;
}
