//! Reports of the bank that the ledger cannot book after an older copy was put back, and returns of
//! money in suspense that the copy does not know: an operator sees them, and nothing is paid or
//! credited twice.

use std::time::Duration;

use super::past::{copied, put_back};
use super::rig::{Rig, rail_id, received};
use crate::support::{Answer, SOON, Value, json, named, wait_until};

/// A service that reads the bank's list again and again.
async fn start() -> Rig {
    Rig::start_with(|options| caudal_service::ServiceOptions {
        catch_up: Some(Duration::from_millis(100)),
        ..options
    })
    .await
}

fn by(outcome: &str) -> Value {
    json!({"outcome": outcome, "reason": "it was posted by hand", "by": "Ana Gómez"})
}

impl Rig {
    async fn admin(&self, method: &str, path: &str, body: &Value) -> Answer {
        let call = self.admin.call(method, path);
        let call = call.header("x-admin-key", caudal_service::TEST_ADMIN_KEY);
        match method {
            "GET" => call.await,
            _ => call.json(body).await,
        }
    }

    /// The open cases of a kind.
    async fn cases(&self, kind: &str) -> Vec<Value> {
        let path = format!("/admin/cases?kind={kind}");
        let page = self.admin("GET", &path, &Value::Null).await.is(200);
        assert_eq!(page["total"], page["items"].as_array().unwrap().len());
        page["items"].as_array().unwrap().clone()
    }

    /// Waits until there is exactly one open case of a kind, and returns it.
    async fn the_case(&self, kind: &str) -> Value {
        wait_until("there is a case", SOON, async || {
            let all = self.cases(kind).await;
            assert!(all.len() < 2, "{all:?}");
            all.first().cloned()
        })
        .await
    }

    async fn case(&self, case: &Value) -> Value {
        let path = format!("/admin/cases/{}", case["id"].as_str().unwrap());
        self.admin("GET", &path, &Value::Null).await.is(200).json
    }

    async fn decide(&self, case: &Value, body: &Value) -> Answer {
        let path = format!("/admin/cases/{}/decide", case["id"].as_str().unwrap());
        self.admin("POST", &path, body).await
    }

    /// Waits until a case has a state, and returns it.
    async fn case_is(&self, case: &Value, state: &str) -> Value {
        wait_until(&format!("the case is {state}"), SOON, async || {
            let now = self.case(case).await;
            (now["state"] == state).then_some(now)
        })
        .await
    }

    async fn open_cases_by_metrics(&self, kind: &str) -> String {
        let page = self.admin("GET", "/metrics", &Value::Null).await.text;
        let kind = format!("kind=\"{kind}\"");
        let mut lines = page.lines().filter(|line| {
            line.starts_with("caudal_cases_open{")
                && line.contains("mode=\"test\"")
                && line.contains(&kind)
        });
        lines.next().unwrap().rsplit(' ').next().unwrap().to_owned()
    }

    /// Waits until the bank's list was read a few more times.
    async fn lists_read(&self) {
        let read = async || {
            self.bank().await["calls"]["transfer_list"]
                .as_u64()
                .unwrap()
        };
        let before = read().await;
        wait_until("the list is read again", SOON, async || {
            (read().await > before + 4).then_some(())
        })
        .await;
    }

    async fn verified(&self) {
        let report = caudal_actors::verify::engine(self.engine()).await.unwrap();
        assert_eq!(report.differences, Vec::<String>::new());
    }

    /// Sends 1200.00 of 1500.00, and puts back a copy with 1000.00; returns the transfer.
    async fn left_uncovered() -> (Self, Value) {
        let mut rig = start().await;
        rig.end(true).await;
        let kept = copied(&rig);
        rig.begin();
        rig.a.credit(&rig.cvu, "500.00").await;
        let sent = rig.send(0, "1200.00").await;
        let sent = rig.ends(&sent, "completed").await;
        put_back(&mut rig, &kept).await;
        rig.has("1000.00", "0.00").await;
        (rig, sent)
    }
}

/// The reconciliation's result for a movement of the bank.
async fn result(rig: &Rig, field: &str, id: &Value) -> Value {
    rig.reconciled(field, id).await["result"].clone()
}

#[actix_web::test]
async fn money_that_left_and_is_not_there_is_a_case_until_it_is_booked() {
    let (mut rig, sent) = Rig::left_uncovered().await;
    let case = rig.the_case("unbooked").await;
    assert_eq!(
        (
            &case["state"],
            &case["reason"],
            &case["cvu"],
            &case["amount"]
        ),
        (
            &json!("open"),
            &json!("insufficient_funds"),
            &json!(rig.cvu),
            &json!("1200.00")
        )
    );
    let detail = &case["unbooked"];
    assert_eq!(detail["direction"], "out");
    for name in ["originId", "bankTransferId", "coelsaId"] {
        assert_eq!(detail[name], sent[name], "{case}");
    }
    assert!(case["ageSeconds"].is_u64());
    let id = &sent["bankTransferId"];
    for crash in [false, true] {
        if crash {
            rig.end(false).await;
            rig.begin();
        }
        // However often the list has it, it is one case.
        rig.lists_read().await;
        let again = rig.the_case("unbooked").await;
        assert_eq!(
            (&again["id"], &again["since"]),
            (&case["id"], &case["since"])
        );
        assert_eq!(rig.open_cases_by_metrics("unbooked").await, "1");
        assert_eq!(
            result(&rig, "bankTransferId", id).await,
            "missing_in_ledger"
        );
        rig.verified().await;
    }
    rig.a.credit(&rig.cvu, "500.00").await;
    let booked = rig.case_is(&case, "booked").await;
    assert_eq!(booked["ageSeconds"], Value::Null);
    rig.gets("300.00", "0.00").await;
    let transfer = booked["unbooked"]["transferId"].as_str().unwrap();
    let transfer = rig
        .a
        .get(&format!("/v1/transfers/{transfer}"))
        .await
        .is(200);
    assert_eq!(
        (&transfer["status"], &transfer["originId"]),
        (&json!("completed"), &sent["originId"])
    );
    assert_eq!(rig.cases("unbooked").await, Vec::<Value>::new());
    assert_eq!(rig.open_cases_by_metrics("unbooked").await, "0");
    assert_eq!(result(&rig, "bankTransferId", id).await, "matched");
    let refused = rig.decide(&case, &by("dismiss")).await;
    refused.refused(409, "case_decided");
    rig.verified().await;
}

#[actix_web::test]
async fn what_a_person_dismisses_is_never_booked() {
    let (mut rig, sent) = Rig::left_uncovered().await;
    let case = rig.the_case("unbooked").await;
    for (body, field) in [
        (by("credit"), "outcome"),
        (json!({"outcome": "dismiss", "by": "Ana"}), "reason"),
        (json!({"outcome": "dismiss", "reason": "r"}), "by"),
    ] {
        let refused = rig.decide(&case, &body).await;
        let refused = refused.refused(400, "invalid_request");
        assert_eq!(named(&refused.json), [field]);
    }
    let unknown = json!({"id": format!("unb_{}", "0".repeat(32))});
    let refused = rig.decide(&unknown, &by("dismiss")).await;
    refused.refused(404, "case_not_found");
    let done = rig.decide(&case, &by("dismiss")).await.is(200).json;
    assert_eq!(
        (&done["state"], &done["decision"]["by"], &done["id"]),
        (&json!("decided"), &json!("Ana Gómez"), &case["id"])
    );
    rig.a.credit(&rig.cvu, "500.00").await;
    for crash in [false, true] {
        if crash {
            rig.end(false).await;
            rig.begin();
        }
        rig.lists_read().await;
        rig.has("1500.00", "0.00").await;
        assert_eq!(rig.cases("unbooked").await, Vec::<Value>::new());
        let day = rig
            .reconciled("bankTransferId", &sent["bankTransferId"])
            .await;
        assert_eq!(
            (&day["result"], &day["decision"]["by"]),
            (&json!("decided"), &json!("Ana Gómez"))
        );
        let refused = rig.decide(&case, &by("dismiss")).await;
        refused.refused(409, "case_decided");
        rig.verified().await;
    }
}

/// Waits until the treasury has these credits that the ledger has not booked.
async fn uncredited(rig: &Rig, wanted: &str) {
    wait_until("what is not booked", SOON, async || {
        let taken = rig.a.get("/v1/treasury").await.is(200);
        (taken["uncredited"] == wanted).then_some(())
    })
    .await;
}

#[actix_web::test]
async fn an_arrival_that_is_told_again_as_something_else_credits_nobody_and_is_a_case() {
    let rig = Rig::start().await;
    let id = rail_id();
    let first = received(&rig.cvu, "1.00", &id);
    assert_eq!(rig.notify(&first).await.is(200)["result"], "done");
    assert_eq!(rig.notify(&first).await.is(200)["result"], "known");
    assert_eq!(rig.cases("unbooked").await, Vec::<Value>::new());
    let other = received(&rig.cvu, "2.00", &id);
    for _ in 0..3 {
        assert_eq!(rig.notify(&other).await.is(200)["result"], "known");
    }
    rig.has("1001.00", "0.00").await;
    let case = rig.the_case("unbooked").await;
    assert_eq!(
        (
            &case["reason"],
            &case["amount"],
            &case["unbooked"]["direction"]
        ),
        (&json!("told_otherwise"), &json!("2.00"), &json!("in"))
    );
    assert_eq!(case["unbooked"]["coelsaId"], id);
    // Of the 2.00 that the bank now reports, the ledger has booked 1.00 under this id.
    uncredited(&rig, "1.00").await;
    rig.decide(&case, &by("dismiss")).await.is(200);
    uncredited(&rig, "0.00").await;
    // The same id on another CVU is another case.
    let elsewhere = received(&rig.other, "1.00", &id);
    assert_eq!(rig.notify(&elsewhere).await.is(200)["result"], "known");
    assert_eq!(rig.notify(&other).await.is(200)["result"], "known");
    let second = rig.the_case("unbooked").await;
    assert_eq!(second["cvu"], rig.other);
    assert_eq!(rig.a.available(&rig.other).await, "0.00");
    rig.decide(&second, &by("dismiss")).await.is(200);
    // Money in suspense counts as reported before only if the notice has the same data.
    let closed = rig.a.cvu().await;
    rig.a
        .delete(&format!("/v1/accounts/{closed}"))
        .await
        .is(200);
    let id = rail_id();
    let waits = received(&closed, "3.00", &id);
    assert_eq!(rig.notify(&waits).await.is(200)["result"], "suspended");
    assert_eq!(rig.notify(&waits).await.is(200)["result"], "known");
    assert_eq!(rig.cases("unbooked").await, Vec::<Value>::new());
    let more = received(&closed, "4.00", &id);
    assert_eq!(rig.notify(&more).await.is(200)["result"], "known");
    assert_eq!(rig.the_case("unbooked").await["amount"], "4.00");
    // Even after it was credited to an account, it counts as the same arrival.
    let parked = rig.the_case("suspense").await;
    let mut credit = by("credit");
    credit["cvu"] = json!(rig.other);
    rig.decide(&parked, &credit).await.is(200);
    assert_eq!(rig.notify(&waits).await.is(200)["result"], "known");
    assert_eq!(rig.cases("unbooked").await.len(), 1);
    assert_eq!(rig.a.available(&rig.other).await, "3.00");
    rig.verified().await;
}

/// Has 12.00 arrive from an external account, chosen by its digit, for a closed CVU; returns its case.
async fn arrives_for_nobody(rig: &Rig, digit: u8) -> Value {
    let closed = rig.a.cvu().await;
    rig.a
        .delete(&format!("/v1/accounts/{closed}"))
        .await
        .is(200);
    arrives(rig, &closed, digit).await;
    rig.the_case("suspense").await
}

async fn arrives(rig: &Rig, cvu: &str, digit: u8) {
    let from = rig
        .a
        .get(&format!("/v1/lookup/alias/DESTINO.{digit}"))
        .await;
    let from = from.is(200)["cbu"].clone();
    let body = json!({"cvu": cvu, "amount": "12.00", "fromCbu": from});
    rig.control.post("/sandbox/cash-in", &body).await.is(200);
}

/// How many transfers have left the collector account itself.
async fn returned(rig: &Rig) -> usize {
    let state = rig.bank().await;
    let all = state["transfers"].as_array().unwrap().iter();
    all.filter(|it| it["type"] == "TRANSFER").count()
}

async fn incoming(rig: &Rig) -> Value {
    let treasury = rig.a.get("/v1/treasury").await.is(200);
    treasury["inTransit"]["incoming"].clone()
}

#[actix_web::test]
async fn money_whose_return_was_lost_is_not_credited_too() {
    for listed in [true, false] {
        // The list is read again and again, or once, because somebody wants to decide.
        let mut rig = if listed {
            start().await
        } else {
            Rig::start().await
        };
        let case = arrives_for_nobody(&rig, 0).await;
        rig.end(true).await;
        let kept = copied(&rig);
        rig.begin();
        rig.decide(&case, &by("return")).await.is(200);
        let lost = rig.case_is(&case, "decided").await;
        assert_eq!(returned(&rig).await, 1);
        put_back(&mut rig, &kept).await;
        let mut credit = by("credit");
        credit["cvu"] = json!(rig.other);
        let refused = rig.decide(&case, &credit).await;
        assert_eq!(refused.status, 409, "{}", refused.text);
        let known = rig.case_is(&case, "decided").await;
        assert_eq!(known["suspense"]["outcome"], "returned");
        for name in ["returnOriginId", "returnBankTransferId", "returnCoelsaId"] {
            assert_eq!(known["suspense"][name], lost["suspense"][name], "{known}");
        }
        assert!(
            known["decision"]["reason"]
                .as_str()
                .unwrap()
                .contains("bank")
        );
        rig.decide(&case, &credit)
            .await
            .refused(409, "case_decided");
        rig.decide(&case, &by("return"))
            .await
            .refused(409, "case_decided");
        assert_eq!(rig.a.available(&rig.other).await, "0.00");
        assert_eq!(returned(&rig).await, 1);
        assert_eq!(incoming(&rig).await, "0.00");
        rig.lives(0).await;
    }
}

#[actix_web::test]
async fn a_return_is_recognised_also_where_the_arrival_itself_was_lost() {
    let mut rig = Rig::start().await;
    let closed = rig.a.cvu().await;
    rig.a
        .delete(&format!("/v1/accounts/{closed}"))
        .await
        .is(200);
    rig.end(true).await;
    let kept = copied(&rig);
    rig.begin();
    arrives(&rig, &closed, 0).await;
    let case = rig.the_case("suspense").await;
    rig.decide(&case, &by("return")).await.is(200);
    rig.case_is(&case, "decided").await;
    put_back(&mut rig, &kept).await;
    // The first order makes the service read the list, which shows the arrival and the return.
    let sent = rig.send(0, "100.00").await;
    rig.ends(&sent, "completed").await;
    let known = rig.case_is(&case, "decided").await;
    assert_eq!(known["suspense"]["outcome"], "returned");
    assert_eq!(rig.cases("suspense").await, Vec::<Value>::new());
    assert_eq!(incoming(&rig).await, "0.00");
    assert_eq!(returned(&rig).await, 1);
    rig.lives(0).await;
}

#[actix_web::test]
async fn a_return_that_is_still_on_its_way_is_waited_for() {
    let mut rig = Rig::start().await;
    // The receiver's bank keeps the return pending.
    let case = arrives_for_nobody(&rig, 2).await;
    rig.end(true).await;
    let kept = copied(&rig);
    rig.begin();
    rig.decide(&case, &by("return")).await.is(200);
    let lost = wait_until("the bank has it", SOON, async || {
        let now = rig.case(&case).await;
        now["suspense"]["returnBankTransferId"]
            .is_string()
            .then_some(now)
    });
    let lost = lost.await["suspense"]["returnOriginId"].clone();
    put_back(&mut rig, &kept).await;
    let mut credit = by("credit");
    credit["cvu"] = json!(rig.other);
    let refused = rig.decide(&case, &credit).await;
    refused.refused(409, "return_in_flight");
    assert_eq!(rig.case(&case).await["suspense"]["returnOriginId"], lost);
    let ended = format!("/sandbox/transfers/{}/settle", lost.as_str().unwrap());
    rig.control
        .post(&ended, &json!({"status": "FAILED"}))
        .await
        .is(200);
    // The return never left, so the money can be credited now.
    rig.case_is(&case, "open").await;
    rig.decide(&case, &credit).await.is(200);
    assert_eq!(rig.a.available(&rig.other).await, "12.00");
    rig.verified().await;
}

#[actix_web::test]
async fn nobody_decides_about_money_while_the_list_cannot_be_read() {
    let mut rig = Rig::start().await;
    let case = arrives_for_nobody(&rig, 0).await;
    rig.end(true).await;
    rig.behave("transfer_list", "error").await;
    rig.begin();
    let mut credit = by("credit");
    credit["cvu"] = json!(rig.other);
    let refused = rig.decide(&case, &credit).await;
    assert_eq!(refused.status, 504, "{}", refused.text);
    assert_eq!(rig.case(&case).await["state"], "open");
    assert_eq!(rig.a.available(&rig.other).await, "0.00");
    rig.heal().await;
    rig.decide(&case, &credit).await.is(200);
    assert_eq!(rig.a.available(&rig.other).await, "12.00");
    rig.lives(0).await;
}
