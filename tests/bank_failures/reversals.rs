//! Money that comes back: whole, in parts, too much, too early, or to a closed account.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::rig::{Rig, ended, rail_id, reversed};
use crate::support::client::fresh;
use crate::support::{SOON, Value, json, wait_until};

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
    let heard = rig.notify(&too_much("100.01")).await.is(200);
    assert_eq!(heard["result"], "ignored");
    rig.has("900.00", "0.00").await;
    rig.tell(&sent, "reverse", json!({"amount": "60.00"}))
        .await
        .is(200);
    rig.gets("960.00", "0.00").await;
    for amount in ["40.01", "100.00"] {
        let heard = rig.notify(&too_much(amount)).await.is(200);
        assert_eq!(heard["result"], "ignored");
    }
    rig.has("960.00", "0.00").await;
    // Nothing can come back of a transfer that never left.
    let refused = rig.send(1, "10.00").await;
    let refused = rig.ends(&refused, "rejected").await;
    let notice = reversed(&refused, "10.00", &rail_id());
    assert_eq!(rig.notify(&notice).await.is(200)["result"], "ignored");
    rig.has("960.00", "0.00").await;
    rig.lives(0).await;
}

#[actix_web::test]
async fn reversal_while_the_account_is_busy() {
    let rig = Rig::start().await;
    let sent = gone(&rig).await;
    // At any time some posting is on its way to the disk.
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
    // The bank reports at most three times; the first report must suffice.
    for part in ["10.00", "20.00", "0.01", "0.02", "0.03", "69.94"] {
        let heard = rig.notify(&reversed(&sent, part, &rail_id())).await.is(200);
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
    // Money of another transfer stays held all the time.
    let other = rig.send(2, "100.00").await;
    for _ in 0..20 {
        let sent = rig.send(2, "10.00").await;
        rig.called(&sent, "transfer", Some(200)).await;
        let sent = rig.ends(&sent, "in_progress").await;
        let back = rail_id();
        let answer = [ended(&sent, "COMPLETED"), reversed(&sent, "10.00", &back)];
        let rig = &rig;
        let answer = answer.iter().cycle().take(6).map(|notice| async move {
            wait_until("it is heard", SOON, async || {
                let heard = rig.notify(notice).await;
                assert!([200, 503].contains(&heard.status), "{}", heard.text);
                assert_ne!(heard["result"], "ignored", "{notice}");
                (heard.status == 200).then_some(())
            })
            .await;
        });
        futures_util::future::join_all(answer).await;
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
