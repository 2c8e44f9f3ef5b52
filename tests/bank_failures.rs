//! Everything that a bank can get wrong with transfers and with arriving money, one test for each:
//! balances and holds are right, the transfer is final or honestly open, its calls are shown,
//! reconciliation tells the truth, and the account can go on.

mod arrivals;
mod disputes;
pub mod letters;
mod notices;
pub mod past;
mod recovery;
mod reversals;
pub mod rig;
mod same;
mod texts;

use crate::support::{Answer, Value, json};
use rig::{Rig, calls};

fn call(operation: &str, status: impl Into<Option<u64>>) -> rig::Called {
    (operation.to_owned(), status.into())
}

/// The reconciliation's result for a transfer, and the bank's status in it.
async fn reconciled(rig: &Rig, transfer: &Value) -> (Value, Value) {
    let found = rig.reconciled("transferId", &transfer["id"]).await;
    (found["result"].clone(), found["status"].clone())
}

/// Checks that a transfer of 100.00 has left once, on both sides.
async fn left_once(rig: &Rig, transfer: &Value) {
    rig.has("900.00", "0.00").await;
    let at_bank = rig.at_bank(transfer).await.unwrap();
    assert_eq!(at_bank["status"], "COMPLETED", "{at_bank}");
    let known = rig.read(transfer).await;
    assert_eq!(known["bankTransferId"], at_bank["id"]);
    assert_eq!(known["coelsaId"], at_bank["coelsa_id"]);
    let vouchers = rig.statement(&rig.cvu).await;
    assert_eq!(
        vouchers,
        ["credit 1000.00", "hold 100.00", "confirm_hold 100.00"]
    );
    let found = rig.reconciled("transferId", &transfer["id"]).await;
    assert_eq!(
        (&found["result"], &found["status"], &found["amount"]),
        (&json!("matched"), &json!("completed"), &json!("100.00"))
    );
    assert_eq!(found["voucher"]["amount"], "100.00");
}

/// Checks that a transfer of 100.00 is released as if it had never been.
async fn released(rig: &Rig) {
    rig.has("1000.00", "0.00").await;
    let vouchers = rig.statement(&rig.cvu).await;
    assert_eq!(
        vouchers,
        ["credit 1000.00", "hold 100.00", "release 100.00"]
    );
}

/// Checks that a transfer of 100.00 waits for the bank, and is shown so.
async fn waits(rig: &Rig, transfer: &Value) {
    rig.has("1000.00", "100.00").await;
    let now = rig.read(transfer).await;
    assert_eq!(now["status"], "in_progress", "{now}");
    assert_eq!(now["rejection"], Value::Null);
}

#[actix_web::test]
async fn refused() {
    let rig = Rig::start().await;
    rig.order(json!({"operation": "transfer", "mode": "reject", "code": "TX040", "count": 1}))
        .await;
    let sent = rig.send(0, "100.00").await;
    let ended = rig.ends(&sent, "rejected").await;
    let why = &ended["rejection"];
    assert_eq!(
        (&why["bankStatus"], &why["bankBody"]["code"]),
        (&json!(409), &json!("TX040"))
    );
    // The bank's own message, next to its answer, wherever the transfer is shown.
    assert_eq!(why["message"], why["bankBody"]["message"]);
    assert!(!why["message"].as_str().unwrap().is_empty(), "{why}");
    let listed = rig.a.get("/v1/transfers?status=rejected").await;
    assert_eq!(listed.is(200)["items"][0]["rejection"], *why);
    let events = rig.a.get("/v1/events?types=transfer.rejected").await;
    assert_eq!(events.is(200)["items"][0]["data"]["rejection"], *why);
    assert_eq!(calls(&ended), [call("transfer", 409)]);
    assert_eq!(rig.at_bank(&sent).await, None);
    assert_eq!(reconciled(&rig, &sent).await.0, Value::Null);
    released(&rig).await;
    rig.lives(0).await;
}

#[actix_web::test]
async fn a_code_that_is_not_final_releases_nothing() {
    for code in ["TX500", "VW003", "ZZ001"] {
        let rig = Rig::start().await;
        rig.order(json!({"operation": "transfer", "mode": "reject", "code": code}))
            .await;
        let sent = rig.send(0, "100.00").await;
        // The state is asked, and the transfer is sent again under its reference.
        let asked = rig.called(&sent, "transfer_status", Some(409)).await;
        assert!(
            calls(&asked).starts_with(&[call("transfer", 409)]),
            "{code}"
        );
        rig.has("1000.00", "100.00").await;
        assert_eq!(rig.read(&sent).await["rejection"], Value::Null, "{code}");
        rig.behave("transfer", "ok").await;
        rig.ends(&sent, "completed").await;
        left_once(&rig, &sent).await;
        rig.lives(0).await;
    }
}

#[actix_web::test]
async fn refused_by_the_destination() {
    let rig = Rig::start().await;
    let sent = rig.send(1, "100.00").await;
    let ended = rig.ends(&sent, "rejected").await;
    assert_eq!(
        ended["rejection"]["message"],
        "La cuenta destino no admite créditos"
    );
    assert_eq!(calls(&ended), [call("transfer", 200)]);
    // Nothing moved on either side.
    assert_eq!(reconciled(&rig, &sent).await.0, Value::Null);
    released(&rig).await;
    rig.lives(0).await;
}

#[actix_web::test]
async fn connection_reset() {
    for once in [true, false] {
        let rig = Rig::start().await;
        if once {
            rig.once("transfer", "reset").await;
        } else {
            rig.behave("transfer", "reset").await;
        }
        let sent = rig.send(0, "100.00").await;
        let ended = rig.ends(&sent, "completed").await;
        let made = calls(&ended);
        assert_eq!(made[0], call("transfer", None));
        let last = if once { "transfer" } else { "transfer_status" };
        assert_eq!(made.last(), Some(&call(last, 200)), "{made:?}");
        left_once(&rig, &sent).await;
        rig.lives(0).await;
    }
}

#[actix_web::test]
async fn slow() {
    for in_time in [true, false] {
        let rig = Rig::start().await;
        let late = json!({"operation": "transfer", "mode": "late", "delayMillis": 60_000});
        rig.order(late).await;
        if !in_time {
            rig.give_up_soon();
        }
        // The client that sends it does not wait for the bank.
        let sent = rig.send(0, "100.00").await;
        rig.has("1000.00", "100.00").await;
        rig.taken(&sent).await;
        if in_time {
            rig.control.call("POST", "/sandbox/hurry").await.is(204);
        }
        let ended = rig.ends(&sent, "completed").await;
        let made = calls(&ended);
        if in_time {
            assert_eq!(made, [call("transfer", 200)]);
        } else {
            assert_eq!(made[0], call("transfer", None));
            assert_eq!(made.last(), Some(&call("transfer_status", 200)));
        }
        left_once(&rig, &sent).await;
        rig.lives(0).await;
    }
}

#[actix_web::test]
async fn error_500() {
    let rig = Rig::start().await;
    rig.behave("transfer", "error").await;
    let sent = rig.send(0, "100.00").await;
    // The service does not guess: it asks for the transfer, which is not there, and sends it again.
    let asked = rig.called(&sent, "transfer_status", Some(409)).await;
    assert_eq!(calls(&asked)[0], call("transfer", 500));
    waits(&rig, &sent).await;
    // No money has left on either side.
    assert_eq!(reconciled(&rig, &sent).await.0, Value::Null);
    // The bank does not even give the transfer's status.
    rig.behave("transfer_status", "error").await;
    rig.called(&sent, "transfer_status", Some(500)).await;
    waits(&rig, &sent).await;
    rig.heal().await;
    rig.ends(&sent, "completed").await;
    left_once(&rig, &sent).await;
    rig.lives(0).await;
}

#[actix_web::test]
async fn garbage() {
    let rig = Rig::start().await;
    rig.behave("transfer", "garbage").await;
    rig.behave("transfer_status", "garbage").await;
    let sent = rig.send(0, "100.00").await;
    let asked = rig.called(&sent, "transfer_status", Some(200)).await;
    assert_eq!(calls(&asked)[0], call("transfer", 200));
    waits(&rig, &sent).await;
    rig.behave("transfer_status", "ok").await;
    rig.ends(&sent, "completed").await;
    left_once(&rig, &sent).await;
    rig.lives(0).await;
}

#[actix_web::test]
async fn timeout_then_success() {
    let rig = Rig::start().await;
    rig.silence("transfer").await;
    rig.silence("transfer_status").await;
    let sent = rig.send(0, "100.00").await;
    let asked = rig.called(&sent, "transfer", None).await;
    assert!(calls(&asked).iter().all(|(_, status)| status.is_none()));
    waits(&rig, &sent).await;
    // The bank has it, and the service does not know: reconciliation shows each side as it is.
    assert_eq!(
        reconciled(&rig, &sent).await,
        (json!("pending"), json!("completed"))
    );
    rig.behave("transfer_status", "ok").await;
    let ended = rig.ends(&sent, "completed").await;
    assert_eq!(calls(&ended).last(), Some(&call("transfer_status", 200)));
    left_once(&rig, &sent).await;
    rig.lives(0).await;
}

#[actix_web::test]
async fn timeout_then_failure_it_ends_rejected() {
    let rig = Rig::start().await;
    rig.silence("transfer").await;
    let sent = rig.send(1, "100.00").await;
    let ended = rig.ends(&sent, "rejected").await;
    assert_eq!(calls(&ended)[0], call("transfer", None));
    assert_eq!(calls(&ended).last(), Some(&call("transfer_status", 200)));
    assert_eq!(
        ended["rejection"]["message"],
        "La cuenta destino no admite créditos"
    );
    released(&rig).await;
    rig.lives(0).await;
}

#[actix_web::test]
async fn timeout_then_failure_the_bank_had_not_taken_it() {
    let rig = Rig::start().await;
    // The bank answers that it has the transfer, and does not have it.
    rig.once("transfer", "forget").await;
    rig.behave("transfer_status", "error").await;
    let sent = rig.send(0, "100.00").await;
    rig.called(&sent, "transfer_status", Some(500)).await;
    waits(&rig, &sent).await;
    assert_eq!(rig.at_bank(&sent).await, None);
    rig.order(json!({"operation": "transfer", "mode": "reject", "code": "TX040"}))
        .await;
    rig.behave("transfer_status", "ok").await;
    let ended = rig.ends(&sent, "rejected").await;
    let made = calls(&ended);
    assert_eq!(
        made[made.len() - 2..],
        [call("transfer_status", 409), call("transfer", 409)]
    );
    assert_eq!(ended["rejection"]["bankBody"]["code"], "TX040");
    released(&rig).await;
    rig.lives(0).await;
}

#[actix_web::test]
async fn forgotten_then_sent_again() {
    let rig = Rig::start().await;
    rig.once("transfer", "forget").await;
    let sent = rig.send(0, "100.00").await;
    let ended = rig.ends(&sent, "completed").await;
    assert_eq!(
        calls(&ended),
        [
            call("transfer", 200),
            call("transfer_status", 409),
            call("transfer", 200)
        ]
    );
    left_once(&rig, &sent).await;
    rig.lives(0).await;
}

/// An operator decides, although the bank may not have given up.
async fn decide(rig: &Rig, transfer: &Value, outcome: &str) -> Answer {
    let id = transfer["id"].as_str().unwrap();
    let body = json!({"outcome": outcome, "reason": "the bank told us by telephone",
        "by": "Ana", "force": true});
    rig.admin
        .post(&format!("/admin/transfers/{id}/decide"), &body)
        .header("x-admin-key", caudal_service::TEST_ADMIN_KEY)
        .await
}

#[actix_web::test]
async fn never_until_a_person_decides() {
    for (outcome, word, wrong) in [
        ("completed", "COMPLETED", false),
        ("rejected", "FAILED", false),
        // The person was wrong: only reconciliation can show it.
        ("rejected", "COMPLETED", true),
    ] {
        let rig = Rig::start().await;
        let sent = rig.send(2, "100.00").await;
        rig.called(&sent, "transfer_status", Some(200)).await;
        waits(&rig, &sent).await;
        assert_eq!(
            reconciled(&rig, &sent).await,
            (json!("pending"), json!("in_progress"))
        );
        // Neither other operations nor the transfer itself are stuck.
        rig.lives(0).await;
        rig.has("999.00", "100.00").await;
        let decided = decide(&rig, &sent, outcome).await.is(200);
        assert_eq!(decided["status"], outcome);
        let total = if outcome == "completed" {
            "899.00"
        } else {
            "999.00"
        };
        rig.has(total, "0.00").await;
        for again in ["completed", "rejected"] {
            let refused = decide(&rig, &sent, again).await;
            refused.refused(400, "transfer_not_open");
        }
        assert_eq!(reconciled(&rig, &sent).await.0, "decided");
        // The bank's own word arrives after all, and moves no money a second time.
        let answer = json!({"status": word});
        rig.tell(&sent, "settle", answer).await.is(200);
        rig.heard().await;
        rig.has(total, "0.00").await;
        let found = rig.reconciled("transferId", &sent["id"]).await;
        assert_eq!(found["contradicted"], wrong, "{found}");
        if !wrong {
            rig.lives(0).await;
        }
    }
}

#[actix_web::test]
async fn given_up_by_the_bank_waits_for_a_person() {
    let rig = Rig::start().await;
    let sent = rig.send(2, "100.00").await;
    let answer = json!({"status": "UNKNOWN_FOREVER"});
    rig.called(&sent, "transfer", Some(200)).await;
    rig.tell(&sent, "settle", answer).await.is(200);
    rig.ends(&sent, "audit").await;
    rig.has("1000.00", "100.00").await;
    assert_eq!(
        reconciled(&rig, &sent).await,
        (json!("pending"), json!("unknown"))
    );
    let rejected = decide(&rig, &sent, "rejected").await.is(200);
    assert_eq!(
        rejected["rejection"]["message"],
        "the bank told us by telephone"
    );
    released(&rig).await;
    rig.tell(&sent, "settle", json!({"status": "FAILED"}))
        .await
        .is(200);
    rig.lives(0).await;
}

#[actix_web::test]
async fn restart_between_asking_and_answer() {
    for gracefully in [true, false] {
        for (digit, end) in [(0, "completed"), (1, "rejected")] {
            let mut rig = Rig::start().await;
            rig.silence("transfer").await;
            let sent = rig.send(digit, "100.00").await;
            rig.taken(&sent).await;
            rig.end(gracefully).await;
            rig.heal().await;
            rig.begin();
            rig.ends(&sent, end).await;
            if end == "completed" {
                left_once(&rig, &sent).await;
            } else {
                released(&rig).await;
            }
            rig.lives(0).await;
        }
    }
}

#[actix_web::test]
async fn refused_after_a_restart_though_the_bank_has_it() {
    let mut rig = Rig::start().await;
    rig.silence("transfer").await;
    // The transfer is still on its way, so the bank's list does not say how it ends.
    let sent = rig.send(2, "100.00").await;
    rig.taken(&sent).await;
    rig.end(false).await;
    // If it were sent again, the bank would refuse the order, for instance because the first one
    // used up a limit.
    rig.order(json!({"operation": "transfer", "mode": "reject", "code": "TX040"}))
        .await;
    rig.begin();
    let asked = rig.called(&sent, "transfer_status", Some(200)).await;
    assert_eq!(calls(&asked)[0], call("transfer_status", 200));
    waits(&rig, &sent).await;
    rig.tell(&sent, "settle", json!({"status": "COMPLETED"}))
        .await
        .is(200);
    rig.ends(&sent, "completed").await;
    left_once(&rig, &sent).await;
    rig.lives(0).await;
}
