//! The bank at its worst: it refuses, fails, is late or silent, or talks nonsense; and each account
//! is opened once, or not at all.

use crate::support::client::fresh;
use crate::support::service::opening;
use crate::support::{Answer, SOON, TestService, Value, cuit, json, named, wait_until};

/// Has the bank treat an operation in this way; the service gives up soon only on a silent bank.
async fn behave(service: &TestService, operation: &str, mode: &str) {
    let bank = &service.bank;
    match mode {
        "timeout" => bank.is_silent(operation, None).await,
        "ok" => bank.speaks(operation).await,
        _ => {
            bank.behave(json!({"operation": operation, "mode": mode}))
                .await
        }
    }
}

async fn open(service: &TestService, body: &Value, key: &str) -> Answer {
    service.a.post("/v1/accounts", body).key(key).await
}

/// Repeats an opening with its key until it is answered.
async fn settled(service: &TestService, body: &Value, key: &str) -> Answer {
    wait_until("the opening is settled", SOON, async || {
        let answer = open(service, body, key).await;
        if answer.status != 409 {
            return Some(answer);
        }
        let answer = answer.refused(409, "idempotency_in_flight");
        assert_eq!(answer.header("retry-after"), "1");
        None
    })
    .await
}

/// Checks that the holder has one account at the bank: the one that was opened.
async fn once(service: &TestService, holder: &str, opened: &Answer) {
    let accounts = service.bank.accounts_of(holder).await;
    assert_eq!(accounts.len(), 1, "{accounts:?}");
    assert_eq!(accounts[0]["cvu"], opened["cvu"]);
    assert_eq!(accounts[0]["alias"], opened["alias"]);
    assert_eq!(accounts[0]["active"], true);
    let listed = service
        .a
        .get(&format!("/v1/accounts?q={holder}"))
        .await
        .is(200);
    assert_eq!(listed["total"], 1);
}

#[actix_web::test]
async fn a_refusal_is_given_as_it_is_kept_and_leaves_nothing() {
    let mut service = TestService::start().await;
    service
        .bank
        .behave(json!({"operation": "create_cvu", "mode": "reject", "code": "VW013", "count": 1}))
        .await;
    let holder = cuit(fresh());
    let mut body = opening(&holder);
    body["externalId"] = json!("customer-7");
    body["alias"] = json!("rio.de.oro");
    let refused = open(&service, &body, "refused")
        .await
        .refused(400, "bank_refused");
    assert_eq!(refused["bankStatus"], 409);
    assert_eq!(
        refused["bankBody"],
        json!({"code": "VW013", "message": "No se pudo crear el CVU"})
    );
    for restart in [false, true] {
        if restart {
            service.restart().await;
        }
        let again = open(&service, &body, "refused").await;
        assert!(
            again.replayed() && again.text == refused.text,
            "{}",
            again.text
        );
        assert_eq!(service.a.get("/v1/accounts").await["total"], 0);
        assert_eq!(service.bank.accounts_of(&holder).await.len(), 0);
    }
    // The alias and the external id of the refused opening are free again.
    let opened = open(&service, &body, "another").await.is(201);
    assert_eq!(
        (&opened["externalId"], &opened["alias"]),
        (&json!("customer-7"), &json!("rio.de.oro"))
    );
    once(&service, &holder, &opened).await;
}

#[actix_web::test]
async fn one_failure_is_tried_again_unnoticed() {
    let service = TestService::start().await;
    for mode in ["error", "reset", "late"] {
        service
            .bank
            .behave(json!({"operation": "create_cvu", "mode": mode, "count": 1, "delayMillis": 50}))
            .await;
        let holder = cuit(fresh());
        let opened = open(&service, &opening(&holder), mode).await.is(201);
        once(&service, &holder, &opened).await;
    }
}

/// An outage of one operation: checks the client's answer, and that the opening succeeds
/// afterwards.
async fn outage(operation: &str, mode: &str, status: u16, code: &str) {
    let service = TestService::start().await;
    behave(&service, operation, mode).await;
    let (holder, key) = (cuit(fresh()), format!("{operation}-{mode}"));
    let body = opening(&holder);
    let failed = open(&service, &body, &key).await.refused(status, code);
    if mode == "error" {
        assert_eq!(
            (&failed["bankStatus"], &failed["bankBody"]["code"]),
            (&json!(500), &json!("GE500"))
        );
    }
    // The outcome is unknown: the key waits, the account is not shown, and another body is refused.
    open(&service, &body, &key)
        .await
        .refused(409, "idempotency_in_flight");
    let report = service
        .a
        .get(&format!("/v1/idempotency/{key}"))
        .await
        .is(200);
    assert_eq!(
        (
            &report["requests"][0]["state"],
            &report["requests"][0]["status"]
        ),
        (&json!("in_progress"), &Value::Null)
    );
    assert_eq!(service.a.get("/v1/accounts").await["total"], 0);
    behave(&service, operation, "ok").await;
    let opened = settled(&service, &body, &key).await.is(201);
    once(&service, &holder, &opened).await;
    let again = open(&service, &body, &key).await.is(201);
    assert!(again.replayed() && again.text == opened.text);
    let other = open(&service, &opening(&cuit(fresh())), &key)
        .await
        .refused(409, "idempotency_key_reused");
    assert_eq!(named(&other.json), ["cuit"]);
}

#[actix_web::test]
async fn a_bank_that_fails_gives_502_and_one_account_in_the_end() {
    outage("create_cvu", "error", 502, "bank_failed").await;
    outage("set_alias", "error", 502, "bank_failed").await;
}

#[actix_web::test]
async fn a_silent_bank_gives_504_and_one_account_in_the_end() {
    outage("create_cvu", "timeout", 504, "bank_timeout").await;
    outage("set_alias", "timeout", 504, "bank_timeout").await;
}

#[actix_web::test]
async fn a_bank_that_hangs_up_or_talks_nonsense_gives_502_and_one_account_in_the_end() {
    outage("create_cvu", "reset", 502, "bank_failed").await;
    outage("create_cvu", "garbage", 502, "bank_failed").await;
}

#[actix_web::test]
async fn an_opening_that_was_cut_off_is_finished_after_the_restart() {
    for (mode, gracefully) in [("timeout", true), ("timeout", false), ("error", false)] {
        let mut service = TestService::start().await;
        behave(&service, "create_cvu", mode).await;
        let holder = cuit(fresh());
        let body = opening(&holder);
        let failed = open(&service, &body, "cut").await;
        assert!([502, 504].contains(&failed.status), "{}", failed.text);
        service.end(gracefully).await;
        behave(&service, "create_cvu", "ok").await;
        service.begin().await;
        // The account is opened without another request.
        wait_until("the account is there", SOON, async || {
            let listed = service
                .a
                .get(&format!("/v1/accounts?q={holder}"))
                .await
                .is(200);
            (listed["total"] == 1).then_some(())
        })
        .await;
        let opened = open(&service, &body, "cut").await.is(201);
        once(&service, &holder, &opened).await;
        let again = open(&service, &body, "cut").await.is(201);
        assert!(again.replayed() && again.text == opened.text);
        service.a.in_and_out().await;
        service
            .a
            .credit(opened["cvu"].as_str().unwrap(), "1.00")
            .await;
    }
}

#[actix_web::test]
async fn a_crash_while_the_bank_thinks_loses_nothing_and_opens_nothing_twice() {
    let mut service = TestService::start().await;
    for round in 0..3 {
        behave(&service, "create_cvu", "timeout").await;
        let holder = cuit(fresh());
        let (body, key) = (opening(&holder), format!("crash-{round}"));
        let calls = service.bank.calls("create_cvu").await;
        let waiting =
            actix_web::rt::spawn(service.a.post("/v1/accounts", &body).key(&key).answer());
        wait_until("the bank is asked", SOON, async || {
            (service.bank.calls("create_cvu").await > calls).then_some(())
        })
        .await;
        service.end(false).await;
        // Either the connection is cut, or the answer says that the outcome is unknown.
        if let Some(answer) = waiting.await.unwrap() {
            assert!(answer.status >= 500, "{}", answer.text);
        }
        behave(&service, "create_cvu", "ok").await;
        service.begin().await;
        let opened = settled(&service, &body, &key).await.is(201);
        once(&service, &holder, &opened).await;
    }
}

#[actix_web::test]
async fn an_alias_that_is_taken_at_the_bank_is_taken() {
    let service = TestService::start().await;
    let cvu = service.a.cvu().await;
    let before = service.a.get(&format!("/v1/accounts/{cvu}")).await["alias"].clone();
    // The alias of an account at another bank.
    let alias = json!({"alias": "destino.0"});
    let refused = service
        .a
        .put(&format!("/v1/accounts/{cvu}/alias"), &alias)
        .await
        .refused(409, "alias_taken");
    assert_eq!(
        (&refused["bankStatus"], &refused["bankBody"]["code"]),
        (&json!(409), &json!("VW007"))
    );
    assert_eq!(
        service.a.get(&format!("/v1/accounts/{cvu}")).await["alias"],
        before
    );
    // In an opening: neither the alias is set nor the account opened.
    let holder = cuit(fresh());
    let mut body = opening(&holder);
    body["alias"] = json!("DESTINO.1");
    let refused = open(&service, &body, "taken")
        .await
        .refused(409, "alias_taken");
    let again = open(&service, &body, "taken").await;
    assert!(again.replayed() && again.text == refused.text);
    assert_eq!(service.bank.accounts_of(&holder).await[0]["active"], false);
    assert_eq!(service.a.get("/v1/accounts").await["total"], 1);
    let events = service
        .a
        .get("/v1/events?types=account.rejected")
        .await
        .is(200);
    assert_eq!(
        events["items"][0]["data"]["status"], "rejected",
        "{}",
        events.text
    );
}

#[actix_web::test]
async fn a_refused_change_changes_nothing() {
    let service = TestService::start().await;
    let opened = service.a.open_account().await;
    let (cvu, holder) = (
        opened["cvu"].as_str().unwrap(),
        opened["holder"]["cuit"].as_str().unwrap(),
    );
    let path = format!("/v1/accounts/{cvu}");
    for (operation, method, rest, body, code) in [
        (
            "set_alias",
            "PUT",
            "/alias",
            json!({"alias": "otro.alias"}),
            "VW011",
        ),
        (
            "rename",
            "PATCH",
            "/identidad",
            json!({"holderName": "Otra Persona", "titulares": [{"cuit": holder, "name": "Otra Persona"}]}),
            "PA015",
        ),
        ("close", "DELETE", "", Value::Null, "VW014"),
    ] {
        service
            .bank
            .behave(json!({"operation": operation, "mode": "reject", "code": code, "count": 1}))
            .await;
        let call = service.a.call(method, &format!("{path}{rest}"));
        let refused = if body.is_null() {
            call.await
        } else {
            call.json(&body).await
        };
        let refused = refused.refused(400, "bank_refused");
        assert_eq!(
            (&refused["bankStatus"], &refused["bankBody"]["code"]),
            (&json!(409), &json!(code))
        );
        let after = service.a.get(&path).await.is(200);
        for name in ["alias", "holder", "titulares", "status", "closedAt"] {
            assert_eq!(after[name], opened[name], "{operation}: {name}");
        }
    }
}

#[actix_web::test]
async fn a_change_whose_outcome_is_open_blocks_its_like_and_ends_well() {
    let service = TestService::start().await;
    service.a.in_and_out().await;
    let opened = service.a.open_account().await;
    let (cvu, holder) = (
        opened["cvu"].as_str().unwrap(),
        opened["holder"]["cuit"].as_str().unwrap(),
    );
    let path = format!("/v1/accounts/{cvu}");
    let identity = json!({"holderName": "Otra Persona", "titulares": [{"cuit": holder, "name": "Otra Persona"}]});
    let done = |account: &Answer, operation: &str| match operation {
        "set_alias" => account["alias"] == "alias.nuevo",
        "rename" => account["holder"]["name"] == "Otra Persona",
        _ => account["status"] == "closed",
    };
    for (operation, method, rest, body) in [
        (
            "set_alias",
            "PUT",
            "/alias",
            json!({"alias": "alias.nuevo"}),
        ),
        ("rename", "PATCH", "/identidad", identity.clone()),
        ("close", "DELETE", "", Value::Null),
    ] {
        behave(&service, operation, "timeout").await;
        let change = async || {
            let call = service.a.call(method, &format!("{path}{rest}"));
            if body.is_null() {
                call.await
            } else {
                call.json(&body).await
            }
        };
        change().await.refused(504, "bank_timeout");
        // Money moves in the meantime; changes that need the bank wait.
        service.a.credit(cvu, "1.00").await;
        assert!(!done(&service.a.get(&path).await.is(200), operation));
        let waits = service
            .a
            .put(&format!("{path}/alias"), &json!({"alias": "third.alias"}))
            .await;
        assert_eq!(
            waits
                .refused(409, "operation_in_flight")
                .header("retry-after"),
            "1"
        );
        behave(&service, operation, "ok").await;
        wait_until("the bank has done it", SOON, async || {
            done(&service.a.get(&path).await.is(200), operation).then_some(())
        })
        .await;
        // Repeating the change succeeds, and does nothing more.
        change().await.is(200);
    }
    let known = &service.bank.accounts_of(holder).await[0];
    assert_eq!(
        (&known["active"], &known["name"]),
        (&json!(false), &json!("Otra Persona"))
    );
}

#[actix_web::test]
async fn bank_answers_are_shown_without_unrequested_fields() {
    let service = TestService::start().await;
    service
        .bank
        .behave(json!({"operation": "create_cvu", "mode": "reject", "count": 1}))
        .await;
    let holder = cuit(fresh());
    let refused = open(&service, &opening(&holder), "quiet")
        .await
        .refused(400, "bank_refused");
    for secret in [
        caudal_sandbox::PASSWORD,
        caudal_sandbox::COLLECTOR,
        "JWT ",
        "http://",
    ] {
        assert!(!refused.text.contains(secret), "{}", refused.text);
    }
}
