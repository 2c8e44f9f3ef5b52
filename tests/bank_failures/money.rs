//! Money that arrives where it should not, or comes back.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use caudal::notices::PATH;
use caudal_ledger::cvu::Cvu;

use super::rig::{Rig, ended, rail_id, received, reversed};
use crate::support::client::fresh;
use crate::support::{SOON, Value, json, wait_until};

#[actix_web::test]
async fn cash_in_twice_with_the_same_rail_id() {
    let rig = Rig::start().await;
    let id = rail_id();
    rig.cash_in(&rig.cvu, "50.00", Some(&id)).await;
    rig.gets("1050.00", "0.00").await;
    rig.cash_in(&rig.cvu, "50.00", Some(&id)).await;
    rig.heard().await;
    // Many at once, some of which say something else; the first counts.
    let (race, amounts) = (rail_id(), ["8.00", "9.00"]);
    rig.order(json!({"operation": "cash_in", "mode": "lose_notice", "count": 1}))
        .await;
    rig.cash_in(&rig.cvu, "8.00", Some(&race)).await;
    let told = (0..16).map(|n| {
        let notice = received(&rig.cvu, amounts[n % 2], &race);
        let rig = &rig;
        async move { rig.told(&notice).await }
    });
    let mut done = Vec::new();
    for answer in futures_util::future::join_all(told).await {
        // Those that meet are to come again.
        assert!([200, 503].contains(&answer.status), "{}", answer.text);
        if answer["result"] == "done" {
            done.push(answer);
        }
    }
    assert_eq!(done.len(), 1);
    let vouchers = rig.statement(&rig.cvu).await;
    assert_eq!(vouchers.len(), 3, "{vouchers:?}");
    assert_eq!(vouchers[1], "credit 50.00");
    let found = rig.reconciled("coelsaId", &json!(race)).await;
    let differs = vouchers[2] == "credit 9.00";
    let expected = if differs { "amount_differs" } else { "matched" };
    assert_eq!(found["result"], expected);
    let again = rig.told(&received(&rig.other, "8.00", &race)).await.is(200);
    assert_eq!(again["result"], "known");
    rig.lives(u64::from(differs)).await;
}

/// Money waits, and reconciliation says where and why.
async fn suspended(rig: &Rig, cvu: &str, reason: &str) {
    for told in [true, false] {
        let id = rail_id();
        if told {
            rig.cash_in(cvu, "12.34", Some(&id)).await;
            rig.heard().await;
        } else {
            // Straight from the bank's mouth, to see the answer; twice, to see that it is once.
            rig.order(json!({"operation": "cash_in", "mode": "lose_notice", "count": 1}))
                .await;
            rig.cash_in(cvu, "12.34", Some(&id)).await;
            let notice = received(cvu, "12.34", &id);
            for result in ["suspended", "known"] {
                assert_eq!(rig.told(&notice).await.is(200)["result"], result);
            }
        }
        let found = rig.reconciled("coelsaId", &json!(id)).await;
        assert_eq!(
            (&found["result"], &found["voucher"], &found["cvu"]),
            (&json!("missing_in_ledger"), &Value::Null, &json!(cvu))
        );
        assert_eq!(found["suspense"]["reason"], reason, "{found}");
        assert_eq!(found["amount"], "12.34");
    }
}

#[actix_web::test]
async fn cash_in_to_a_closed_cvu() {
    let mut rig = Rig::start().await;
    let closed = rig.a.cvu().await;
    rig.a.credit(&closed, "3.00").await;
    let gone = rig.a.delete(&format!("/v1/accounts/{closed}")).await;
    assert_eq!(gone.is(200)["status"], "closed");
    suspended(&rig, &closed, "account_closed").await;
    assert_eq!(rig.statement(&closed).await, ["credit 3.00"]);
    rig.end(false).await;
    rig.begin();
    suspended(&rig, &closed, "account_closed").await;
    rig.lives(4).await;
}

#[actix_web::test]
async fn cash_in_to_an_unknown_cvu() {
    let mut rig = Rig::start().await;
    // The client id after the last one of the same realm.
    let digits = |from, to| rig.other.get(from..to).unwrap().parse::<u64>().unwrap();
    let (client, psp) = (digits(9, 21), u16::try_from(digits(3, 7)).unwrap());
    let unknown = Cvu::compose(psp, client + 100).unwrap().to_string();
    suspended(&rig, &unknown, "account_not_found").await;
    rig.end(true).await;
    rig.begin();
    suspended(&rig, &unknown, "account_not_found").await;
    // Of no realm at all: heard, and nothing kept for anybody.
    let nobody = Cvu::compose(psp, 999_999_999_999).unwrap().to_string();
    let id = rig.cash_in(&nobody, "1.00", None).await;
    rig.heard().await;
    let found = rig.reconciled("coelsaId", &json!(id)).await;
    assert_eq!(found, Value::Null);
    rig.lives(4).await;
}

#[actix_web::test]
async fn cash_in_to_a_suspended_account() {
    let rig = Rig::start().await;
    let path = format!("/v1/accounts/{}", rig.cvu);
    let body = json!({"reason": "orden judicial"});
    rig.a.post(&format!("{path}/suspend"), &body).await.is(200);
    let id = rig.cash_in(&rig.cvu, "50.00", None).await;
    rig.gets("1050.00", "0.00").await;
    let found = rig.reconciled("coelsaId", &json!(id)).await;
    assert_eq!(
        (&found["result"], &found["suspense"]),
        (&json!("matched"), &Value::Null)
    );
    // What arrived does not leave.
    let body = json!({
        "fromCvu": rig.cvu, "to": {"alias": "destino.0"}, "amount": "1.00",
        "idExterno": format!("no-{}", fresh()),
    });
    let refused = rig.a.post("/v1/transfers", &body).await;
    refused.refused(400, "account_suspended");
    let body = json!({"reason": "levantada"});
    rig.a
        .post(&format!("{path}/reactivate"), &body)
        .await
        .is(200);
    rig.lives(0).await;
}

#[actix_web::test]
async fn cash_in_to_a_disabled_account() {
    let rig = Rig::start().await;
    rig.enable(false).await;
    let id = rig.cash_in(&rig.cvu, "50.00", None).await;
    rig.gets("1050.00", "0.00").await;
    let found = rig.reconciled("coelsaId", &json!(id)).await;
    assert_eq!(
        (&found["result"], &found["suspense"]),
        (&json!("matched"), &Value::Null)
    );
    let refused = rig.a.voucher(&rig.cvu, "OUT", "1.00", "disabled").await;
    refused.refused(400, "account_disabled");
    rig.enable(true).await;
    rig.lives(0).await;
}

/// A transfer of 100.00 that has left.
async fn gone(rig: &Rig) -> Value {
    let sent = rig.send(0, "100.00").await;
    rig.ends(&sent, "completed").await
}

#[actix_web::test]
async fn reversal_whole() {
    let rig = Rig::start().await;
    let sent = gone(&rig).await;
    rig.tell(&sent, "reverse", json!({})).await.is(200);
    let back = rig.ends(&sent, "reversed").await;
    assert_eq!(back["reversed"], "100.00");
    rig.has("1000.00", "0.00").await;
    let vouchers = rig.statement(&rig.cvu).await;
    assert_eq!(
        vouchers[1..],
        ["hold 100.00", "confirm_hold 100.00", "credit 100.00"]
    );
    let day = rig.day().await;
    let items = day["items"].as_array().unwrap();
    let of_it: Vec<_> = items
        .iter()
        .filter(|it| it["transferId"] == sent["id"])
        .map(|it| (&it["reversal"], &it["direction"], &it["result"]))
        .collect();
    assert_eq!(
        of_it,
        [
            (&json!(false), &json!("out"), &json!("matched")),
            (&json!(true), &json!("in"), &json!("matched"))
        ]
    );
    rig.lives(0).await;
}

#[actix_web::test]
async fn reversal_by_itself_of_digit_3() {
    let rig = Rig::start().await;
    let sent = rig.send(3, "100.00").await;
    let back = rig.ends(&sent, "reversed").await;
    assert_eq!(back["reversed"], "100.00");
    rig.has("1000.00", "0.00").await;
    rig.lives(0).await;
}

#[actix_web::test]
async fn reversal_in_parts() {
    let mut rig = Rig::start().await;
    let sent = gone(&rig).await;
    for (part, reversed, total) in [
        ("30.00", "30.00", "930.00"),
        ("0.01", "30.01", "930.01"),
        ("69.99", "100.00", "1000.00"),
    ] {
        let body = json!({"amount": part});
        rig.tell(&sent, "reverse", body).await.is(200);
        rig.gets(total, "0.00").await;
        assert_eq!(rig.read(&sent).await["reversed"], reversed);
        rig.end(false).await;
        rig.begin();
        rig.has(total, "0.00").await;
    }
    rig.tell(&sent, "reverse", json!({})).await.is(409);
    rig.lives(0).await;
}

#[actix_web::test]
async fn reversal_of_more_than_what_left() {
    let rig = Rig::start().await;
    let sent = gone(&rig).await;
    let too_much = |amount: &str| reversed(&sent, amount, &rail_id());
    let heard = rig.told(&too_much("100.01")).await.is(200);
    assert_eq!(heard["result"], "ignored");
    rig.has("900.00", "0.00").await;
    rig.tell(&sent, "reverse", json!({"amount": "60.00"}))
        .await
        .is(200);
    rig.gets("960.00", "0.00").await;
    for amount in ["40.01", "100.00"] {
        let heard = rig.told(&too_much(amount)).await.is(200);
        assert_eq!(heard["result"], "ignored");
    }
    rig.has("960.00", "0.00").await;
    // Of one that never left, nothing can come back.
    let refused = rig.send(1, "10.00").await;
    let refused = rig.ends(&refused, "rejected").await;
    let notice = reversed(&refused, "10.00", &rail_id());
    assert_eq!(rig.told(&notice).await.is(200)["result"], "ignored");
    rig.has("960.00", "0.00").await;
    rig.lives(0).await;
}

#[actix_web::test]
async fn reversal_while_the_account_is_busy() {
    let rig = Rig::start().await;
    let sent = gone(&rig).await;
    // There is always a posting on its way to the disk.
    let stop = Arc::new(AtomicBool::new(false));
    let busy: Vec<_> = (0..16)
        .map(|client| {
            let (a, cvu, stop) = (rig.a.clone(), rig.cvu.clone(), Arc::clone(&stop));
            actix_web::rt::spawn(async move {
                let mut posted = 0;
                while !stop.load(Ordering::Relaxed) {
                    posted += 1;
                    let id = format!("busy-{client}-{posted}");
                    a.voucher(&cvu, "IN", "0.01", &id).await.is(201);
                }
                posted
            })
        })
        .collect();
    rig.a.credit(&rig.cvu, "1.00").await;
    // The bank tells three times at most; the first must do.
    for part in ["10.00", "20.00", "0.01", "0.02", "0.03", "69.94"] {
        let heard = rig.told(&reversed(&sent, part, &rail_id())).await.is(200);
        assert_eq!(heard["result"], "done");
    }
    stop.store(true, Ordering::Relaxed);
    let mut total = 100_100;
    for client in busy {
        total += client.await.unwrap();
    }
    rig.has(&format!("{}.{:02}", total / 100, total % 100), "0.00")
        .await;
    assert_eq!(rig.read(&sent).await["reversed"], "100.00");
}

#[actix_web::test]
async fn reversal_together_with_completion() {
    let rig = Rig::start().await;
    rig.behave("transfer_status", "error").await;
    // Money of another transfer is held beside it all the time.
    let other = rig.send(2, "100.00").await;
    for _ in 0..20 {
        let sent = rig.send(2, "10.00").await;
        rig.called(&sent, "transfer", Some(200)).await;
        let sent = rig.ends(&sent, "in_progress").await;
        let back = rail_id();
        let told = [ended(&sent, "COMPLETED"), reversed(&sent, "10.00", &back)];
        let rig = &rig;
        let told = told.iter().cycle().take(6).map(|notice| async move {
            wait_until("it is heard", SOON, async || {
                let heard = rig.told(notice).await;
                assert!([200, 503].contains(&heard.status), "{}", heard.text);
                assert_ne!(heard["result"], "ignored", "{notice}");
                (heard.status == 200).then_some(())
            })
            .await;
        });
        futures_util::future::join_all(told).await;
        rig.has("1000.00", "100.00").await;
        assert_eq!(rig.read(&sent).await["status"], "reversed");
    }
    assert_eq!(rig.statement(&rig.cvu).await.len(), 2 + 20 * 3);
    let verdict = json!({"status": "FAILED"});
    rig.tell(&other, "settle", verdict).await.is(200);
    rig.ends(&other, "rejected").await;
    rig.has("1000.00", "0.00").await;
}

#[actix_web::test]
async fn reversal_to_a_closed_account() {
    let rig = Rig::start().await;
    let cvu = rig.a.cvu().await;
    rig.a.credit(&cvu, "10.00").await;
    let body = json!({
        "fromCvu": cvu, "to": {"alias": "destino.0"}, "amount": "10.00",
        "idExterno": format!("trf-{}", fresh()),
    });
    let sent = rig.a.post("/v1/transfers", &body).await.is(201).json;
    rig.ends(&sent, "completed").await;
    rig.a.delete(&format!("/v1/accounts/{cvu}")).await.is(200);
    rig.tell(&sent, "reverse", json!({})).await.is(200);
    rig.ends(&sent, "reversed").await;
    let vouchers = rig.statement(&cvu).await;
    assert_eq!(vouchers.last().unwrap(), "credit 10.00");
    rig.heard().await;
    assert_eq!(rig.day().await["summary"]["missingInLedger"], 0);
}

#[actix_web::test]
async fn a_notice_needs_no_key_and_knows_post_only() {
    let rig = Rig::start().await;
    let answer = rig.a.get(PATH).await.refused(405, "method_not_allowed");
    assert_eq!(answer.header("allow"), "POST");
}
