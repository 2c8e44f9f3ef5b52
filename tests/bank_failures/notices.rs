//! Notices that come twice, late, never, in the wrong order, or from somebody else.

use caudal_bank::notices::route::PATH;
use caudal_sandbox::NOTICE_SECRET;

use super::rig::{Rig, calls, deliver, ended, now, rail_id, received, reversed};
use super::{call, left_once, reconciled, waits};
use crate::support::{Value, json};

/// A transfer of 100.00 that waits for its end while the bank cannot be asked for it.
async fn unasked(rig: &Rig) -> Value {
    rig.behave("transfer_status", "error").await;
    let sent = rig.send(2, "100.00").await;
    rig.called(&sent, "transfer_status", Some(500)).await;
    waits(rig, &sent).await;
    sent
}

async fn settle(rig: &Rig, transfer: &Value, status: &str) {
    let reply = json!({"status": status});
    rig.tell(transfer, "settle", reply).await.is(200);
}

#[actix_web::test]
async fn duplicate_notice() {
    let rig = Rig::start().await;
    let sent = unasked(&rig).await;
    rig.behave("transfer", "duplicate_notice").await;
    settle(&rig, &sent, "COMPLETED").await;
    rig.ends(&sent, "completed").await;
    rig.heard().await;
    left_once(&rig, &sent).await;
    // A further notice changes nothing either, although the service asks about the transfer as well.
    let again = rig.notify(&ended(&sent, "COMPLETED")).await.is(200);
    assert_eq!(again["result"], "known");
    rig.tell(&sent, "reverse", json!({"amount": "40.00"}))
        .await
        .is(200);
    rig.behave("cash_in", "duplicate_notice").await;
    let arrived = rig.cash_in(&rig.cvu, "7.00", None).await;
    rig.heard().await;
    rig.has("947.00", "0.00").await;
    let vouchers = rig.statement(&rig.cvu).await;
    assert_eq!(vouchers[3..], ["credit 40.00", "credit 7.00"]);
    let state = rig.bank().await;
    assert_eq!(state["notices"]["sent"], 6, "{}", state["notices"]);
    let found = rig.reconciled("coelsaId", &json!(arrived)).await;
    assert_eq!(found["result"], "matched");
    rig.lives(0).await;
}

#[actix_web::test]
async fn late_notice() {
    let rig = Rig::start().await;
    // The notice is held back for so long that the service has asked in the meantime.
    let sent = rig.send(2, "100.00").await;
    rig.called(&sent, "transfer", Some(200)).await;
    rig.once("transfer", "reorder_notice").await;
    settle(&rig, &sent, "COMPLETED").await;
    let known = rig.ends(&sent, "completed").await;
    assert_eq!(calls(&known).last(), Some(&call("transfer_status", 200)));
    assert_eq!(rig.bank().await["notices"]["pending"], 1);
    left_once(&rig, &sent).await;
    rig.heard().await;
    left_once(&rig, &sent).await;
    rig.deafen();
    let arrived = json!(rig.cash_in(&rig.cvu, "7.00", None).await);
    let found = rig.reconciled("coelsaId", &arrived).await;
    assert_eq!(found["result"], "missing_in_ledger");
    rig.listen();
    rig.gets("907.00", "0.00").await;
    let found = rig.reconciled("coelsaId", &arrived).await;
    assert_eq!(found["result"], "matched");
    rig.lives(0).await;
}

#[actix_web::test]
async fn notice_lost_and_found_by_asking() {
    for (status, word) in [("COMPLETED", "completed"), ("FAILED", "rejected")] {
        let rig = Rig::start().await;
        let sent = unasked(&rig).await;
        rig.once("transfer", "lose_notice").await;
        settle(&rig, &sent, status).await;
        assert_eq!(rig.bank().await["notices"]["lost"], 1);
        waits(&rig, &sent).await;
        // The ledger's side is not final yet, whatever the bank's side is.
        assert_eq!(reconciled(&rig, &sent).await.0, "pending");
        rig.behave("transfer_status", "ok").await;
        let found = rig.ends(&sent, word).await;
        assert_eq!(calls(&found).last(), Some(&call("transfer_status", 200)));
        rig.lives(0).await;
    }
}

#[actix_web::test]
async fn notice_of_money_lost_and_told_again() {
    let rig = Rig::start().await;
    rig.once("cash_in", "lose_notice").await;
    let id = rig.cash_in(&rig.cvu, "7.00", None).await;
    let found = rig.reconciled("coelsaId", &json!(id)).await;
    assert_eq!(
        (&found["result"], &found["cvu"], &found["amount"]),
        (&json!("missing_in_ledger"), &json!(rig.cvu), &json!("7.00"))
    );
    rig.has("1000.00", "0.00").await;
    rig.cash_in(&rig.cvu, "7.00", Some(&id)).await;
    rig.gets("1007.00", "0.00").await;
    rig.lives(0).await;
}

#[actix_web::test]
async fn notices_lost_and_found_on_the_banks_list() {
    let every = Some(std::time::Duration::from_millis(50));
    let rig = Rig::start_with(|options| caudal_service::ServiceOptions {
        catch_up: every,
        ..options
    })
    .await;
    rig.once("cash_in", "lose_notice").await;
    let arrived = rig.cash_in(&rig.cvu, "7.00", None).await;
    rig.gets("1007.00", "0.00").await;
    let found = rig.reconciled("coelsaId", &json!(arrived)).await;
    assert_eq!(found["result"], "matched");
    let sent = rig.send(0, "100.00").await;
    rig.ends(&sent, "completed").await;
    rig.behave("transfer", "lose_notice").await;
    rig.tell(&sent, "reverse", json!({"amount": "30.00"}))
        .await
        .is(200);
    rig.behave("transfer", "ok").await;
    rig.gets("937.00", "0.00").await;
    assert_eq!(rig.bank().await["notices"]["lost"], 2);
    // The notice of the money that was found comes late, and is not counted a second time.
    rig.cash_in(&rig.cvu, "7.00", Some(&arrived)).await;
    rig.heard().await;
    rig.has("937.00", "0.00").await;
    rig.lives(0).await;
}

#[actix_web::test]
async fn reversal_before_completion_is_known() {
    let rig = Rig::start().await;
    let sent = unasked(&rig).await;
    // The bank delays the notice of the completion until after that of the reversal.
    rig.once("transfer", "reorder_notice").await;
    settle(&rig, &sent, "COMPLETED").await;
    waits(&rig, &sent).await;
    rig.tell(&sent, "reverse", json!({"amount": "30.00"}))
        .await
        .is(200);
    let back = rig.ends(&sent, "reversed").await;
    assert_eq!(back["reversed"], "30.00");
    rig.heard().await;
    rig.has("930.00", "0.00").await;
    let vouchers = rig.statement(&rig.cvu).await;
    assert_eq!(
        vouchers[1..],
        ["hold 100.00", "confirm_hold 100.00", "credit 30.00"]
    );
    let state = rig.bank().await;
    let reply = state["notices"]["last"].as_array().unwrap();
    assert!(reply.iter().all(|it| it["status"] == "sent"), "{reply:?}");
    assert_eq!(rig.read(&sent).await["status"], "reversed");
    rig.lives(0).await;
}

#[actix_web::test]
async fn completion_before_the_answer_to_the_order() {
    let rig = Rig::start().await;
    rig.order(json!({"operation": "transfer", "mode": "late", "delayMillis": 60_000, "count": 1}))
        .await;
    let sent = rig.send(2, "100.00").await;
    let at_bank = rig.taken(&sent).await;
    assert_eq!(at_bank["status"], "PENDING");
    settle(&rig, &sent, "COMPLETED").await;
    let known = rig.ends(&sent, "completed").await;
    assert_eq!(calls(&known), [], "the answer is still on its way");
    // The bank answers "pending" after the notice, which is too late to matter.
    rig.control.call("POST", "/sandbox/hurry").await.is(204);
    let asked = rig.called(&sent, "transfer", Some(200)).await;
    assert_eq!(asked["status"], "completed");
    assert_eq!(calls(&asked), [call("transfer", 200)]);
    left_once(&rig, &sent).await;
    rig.lives(0).await;
}

#[actix_web::test]
async fn forged_notice() {
    let rig = Rig::start().await;
    let sent = unasked(&rig).await;
    let (arrived, present) = (rail_id(), now());
    let notices = [
        received(&rig.cvu, "500.00", &arrived),
        ended(&sent, "COMPLETED"),
        ended(&sent, "FAILED"),
        reversed(&sent, "100.00", &rail_id()),
    ];
    let wrong = "another-secret-of-the-right-length-1234567890";
    for notice in &notices {
        for (secret, seconds) in [
            (wrong, present),
            ("", present),
            (NOTICE_SECRET, present - 400),
            (NOTICE_SECRET, present + 400),
            (NOTICE_SECRET, 0),
        ] {
            let answer = deliver(&rig.a, (secret, seconds), notice, |body| body).await;
            answer.refused(401, "unauthorized");
        }
        let changed = |body: String| body.replace("00\"", "01\"").replace("FAIL", "FALL");
        let answer = deliver(&rig.a, (NOTICE_SECRET, present), notice, changed).await;
        answer.refused(401, "unauthorized");
        let nameless = rig.a.with_key(None);
        let unsigned = nameless.call("POST", PATH).text(notice.to_string());
        unsigned.await.refused(401, "unauthorized");
        // An API key is no signature.
        let keyed = rig.a.call("POST", PATH).text(notice.to_string());
        keyed.await.refused(401, "unauthorized");
    }
    waits(&rig, &sent).await;
    assert_eq!(
        rig.statement(&rig.cvu).await,
        ["credit 1000.00", "hold 100.00"]
    );
    // The properly signed notice takes effect, once.
    let right = rig.notify(&ended(&sent, "FAILED")).await.is(200);
    assert_eq!(right["result"], "done");
    let again = rig.notify(&ended(&sent, "FAILED")).await.is(200);
    assert_eq!(again["result"], "known");
    settle(&rig, &sent, "FAILED").await;
    rig.lives(0).await;
}

#[actix_web::test]
async fn notice_of_nothing_of_ours() {
    let rig = Rig::start().await;
    let sent = rig.send(0, "100.00").await;
    let sent = rig.ends(&sent, "completed").await;
    let mut unknown = sent.clone();
    unknown["originId"] = json!("000080001000999");
    for notice in [
        ended(&unknown, "COMPLETED"),
        reversed(&unknown, "1.00", &rail_id()),
        received("0000003100099999999996", "1.00", &rail_id()),
    ] {
        let answer = rig.notify(&notice).await;
        assert!([200, 400].contains(&answer.status), "{}", answer.text);
        assert_ne!(answer["result"], "done", "{}", answer.text);
    }
    left_once(&rig, &sent).await;
    rig.lives(0).await;
}
