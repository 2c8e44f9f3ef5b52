//! `Idempotency-Key`: the first answer again, byte for byte, whatever happens in between.

mod spelling;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use caudal_service::config::Settings;
use futures_util::future::join_all;

use crate::support::client::fresh;
use crate::support::service::opening;
use crate::support::{Answer, Setup, TestClock, TestService, Value, cuit, json, named};

/// Every POST of the native family, with a body that works once.
async fn posts(service: &TestService) -> Vec<(String, Value, u16)> {
    service.a.in_and_out().await;
    let cvu = service.a.cvu().await;
    service.a.credit(&cvu, "100.00").await;
    let voucher = json!({"voucherTypeCode": "OUT", "amount": "1.00", "idExterno": format!("post-{}", fresh())});
    vec![
        ("/v1/accounts".to_owned(), opening(&cuit(fresh())), 201),
        (format!("/v1/accounts/{cvu}/comprobantes"), voucher, 201),
        (
            "/v1/voucher-types".to_owned(),
            json!({"code": "NEW", "name": "New", "sense": "credit"}),
            201,
        ),
        (
            format!("/v1/accounts/{cvu}/suspend"),
            json!({"reason": "a test"}),
            200,
        ),
        (format!("/v1/accounts/{cvu}/reactivate"), Value::Null, 200),
    ]
}

async fn send(service: &TestService, path: &str, body: &Value, key: &str) -> Answer {
    let call = service.a.call("POST", path).key(key);
    if body.is_null() {
        call.await
    } else {
        call.json(body).await
    }
}

#[track_caller]
fn same(first: &Answer, again: &Answer) {
    assert_eq!((first.status, &first.text), (again.status, &again.text));
    assert_eq!(again.header("content-type"), "application/json");
    assert!(!first.replayed() && again.replayed());
}

#[actix_web::test]
async fn every_post_gives_its_first_answer_again_also_after_a_restart_and_a_crash() {
    let mut service = TestService::start().await;
    let mut done = Vec::new();
    for (path, body, status) in posts(&service).await {
        let key = format!("key-{}", fresh());
        let first = send(&service, &path, &body, &key).await.is(status);
        same(&first, &send(&service, &path, &body, &key).await);
        done.push((path, body, key, first));
    }
    let vouchers = service.verified().await;
    for crash in [false, true] {
        if crash {
            service.crash().await;
        } else {
            service.restart().await;
        }
        for (path, body, key, first) in &done {
            same(first, &send(&service, path, body, key).await);
        }
        assert_eq!(service.verified().await, vouchers);
    }
    assert_eq!(service.a.get("/v1/accounts").await["total"], 2);
}

#[actix_web::test]
async fn another_body_is_refused_with_the_fields_that_differ() {
    let service = TestService::start().await;
    service.a.in_and_out().await;
    let cvu = service.a.cvu().await;
    let path = format!("/v1/accounts/{cvu}/comprobantes");
    let first =
        json!({"voucherTypeCode": "IN", "amount": "10.00", "idExterno": "a", "description": "d"});
    service.a.post(&path, &first).key("k").await.is(201);
    for (body, differing) in [
        (
            json!({"voucherTypeCode": "IN", "amount": "10.01", "idExterno": "a", "description": "d"}),
            vec!["amount"],
        ),
        (
            json!({"voucherTypeCode": "IN", "amount": "10.00", "idExterno": "b"}),
            vec!["description", "idExterno"],
        ),
        (
            json!({"voucherTypeCode": "OUT", "amount": 10, "idExterno": "b", "description": "e"}),
            vec!["amount", "description", "idExterno", "voucherTypeCode"],
        ),
    ] {
        let refused = service
            .a
            .post(&path, &body)
            .key("k")
            .await
            .refused(409, "idempotency_key_reused");
        assert_eq!(named(&refused.json), differing, "{}", refused.text);
    }
    // Another order of fields or other white space does not make another body.
    let text = "{ \"idExterno\" : \"a\",\"description\":\"d\",\n\"amount\":\"10.00\", \"voucherTypeCode\":\"IN\"}";
    let again = service
        .a
        .call("POST", &path)
        .text(text)
        .key("k")
        .await
        .is(201);
    assert!(again.replayed());
    // The same key on another path is another key.
    service
        .a
        .post("/v1/accounts", &opening(&cuit(fresh())))
        .key("k")
        .await
        .is(201);
    let other = service.a.cvu().await;
    let body = json!({"voucherTypeCode": "IN", "amount": "10.00", "idExterno": "elsewhere"});
    let elsewhere = service
        .a
        .post(&format!("/v1/accounts/{other}/comprobantes"), &body)
        .key("k")
        .await;
    assert!(!elsewhere.is(201).replayed());
    assert_eq!(service.a.balance(&cvu).await["sequence"], 1);
}

/// Sends the same request many times at once; checks that there is one effect, and one answer.
async fn storm(
    service: &TestService,
    path: &str,
    body: &Value,
    key: Option<&str>,
    refusal: &str,
) -> Answer {
    let send = |_| {
        let call = service.a.post(path, body);
        async {
            if let Some(key) = key {
                call.key(key).await
            } else {
                call.await
            }
        }
    };
    let answers = join_all((0..50).map(send)).await;
    let (done, refused): (Vec<_>, Vec<_>) =
        answers.into_iter().partition(|answer| answer.status == 201);
    for answer in refused {
        let answer = answer.refused(409, refusal);
        assert_eq!(answer.header("retry-after"), "1");
    }
    let texts: BTreeSet<_> = done.iter().map(|answer| answer.text.as_str()).collect();
    assert_eq!(texts.len(), 1, "{texts:?}");
    assert_eq!(
        done.iter().filter(|answer| !answer.replayed()).count(),
        1,
        "one was the first"
    );
    done[0].clone()
}

#[actix_web::test]
async fn fifty_at_once_with_one_key_have_one_effect_and_one_answer() {
    let service = TestService::start().await;
    service.a.in_and_out().await;
    let holder = cuit(fresh());
    let opened = storm(
        &service,
        "/v1/accounts",
        &opening(&holder),
        Some("storm"),
        "idempotency_in_flight",
    )
    .await;
    assert_eq!(service.a.get("/v1/accounts").await["total"], 1);
    assert_eq!(service.bank.accounts_of(&holder).await.len(), 1);
    let cvu = opened["cvu"].as_str().unwrap();
    let path = format!("/v1/accounts/{cvu}/comprobantes");
    for n in 0..4 {
        let (id, key) = (format!("storm-{n}"), format!("storm-{n}"));
        let body = json!({"voucherTypeCode": "IN", "amount": "10.00", "idExterno": id});
        // Half of the rounds rely on the external id alone.
        let key = (n % 2 == 0).then_some(key.as_str());
        let posted = storm(&service, &path, &body, key, "idempotency_in_flight").await;
        assert_eq!(posted["sequence"], n + 1);
    }
    assert_eq!(service.a.available(cvu).await, "40.00");
    let kind = json!({"code": "STORM", "name": "Storm", "sense": "credit"});
    storm(
        &service,
        "/v1/voucher-types",
        &kind,
        Some("storm"),
        "idempotency_in_flight",
    )
    .await;
    assert_eq!(service.verified().await, 4);
}

#[actix_web::test]
async fn one_external_id_for_two_accounts_at_once_is_one_voucher() {
    let service = TestService::start().await;
    service.a.in_and_out().await;
    let (one, two) = (service.a.cvu().await, service.a.cvu().await);
    for n in 0..5 {
        let id = format!("twice-{n}");
        let calls = (0..40).map(|i| {
            service
                .a
                .voucher(if i % 2 == 0 { &one } else { &two }, "IN", "1.00", &id)
                .into_future()
        });
        let answers = join_all(calls).await;
        let done: BTreeSet<_> = answers
            .iter()
            .filter(|a| a.status == 201)
            .map(|a| a["id"].to_string())
            .collect();
        assert_eq!(done.len(), 1, "{done:?}");
        for refused in answers.into_iter().filter(|a| a.status != 201) {
            let refused = refused.is(409).error();
            assert!(
                refused["code"] == "id_externo_reused" || refused["code"] == "id_externo_in_flight",
                "{}",
                refused.text
            );
        }
    }
    assert_eq!(service.verified().await, 5);
}

#[actix_web::test]
async fn a_refusal_is_kept_and_a_malformed_request_is_not() {
    let mut service = TestService::start().await;
    service.a.in_and_out().await;
    let cvu = service.a.cvu().await;
    let path = format!("/v1/accounts/{cvu}/comprobantes");
    let body = json!({"voucherTypeCode": "OUT", "amount": "5.00", "idExterno": "later"});
    let refused = service
        .a
        .post(&path, &body)
        .key("kept")
        .await
        .refused(400, "insufficient_funds");
    // It would succeed by now, but the key already has its answer.
    service.a.credit(&cvu, "100.00").await;
    same(&refused, &service.a.post(&path, &body).key("kept").await);
    service.restart().await;
    same(&refused, &service.a.post(&path, &body).key("kept").await);
    service.a.post(&path, &body).key("another").await.is(201);
    // A request that cannot be read does not use up its key.
    let bad = json!({"voucherTypeCode": "OUT", "amount": "five", "idExterno": "read"});
    service
        .a
        .post(&path, &bad)
        .key("unread")
        .await
        .refused(400, "invalid_request");
    service
        .a
        .call("POST", &path)
        .text("{")
        .key("unread")
        .await
        .refused(400, "malformed_body");
    service
        .a
        .with_key(None)
        .post(&path, &bad)
        .key("unread")
        .await
        .refused(401, "unauthorized");
    service
        .a
        .get("/v1/idempotency/unread")
        .await
        .refused(404, "idempotency_key_not_found");
    let good = json!({"voucherTypeCode": "OUT", "amount": "5.00", "idExterno": "read"});
    assert!(
        !service
            .a
            .post(&path, &good)
            .key("unread")
            .await
            .is(201)
            .replayed()
    );
    // A dry run does not use up its key.
    let dry = json!({"voucherTypeCode": "OUT", "amount": "5.00", "idExterno": "dry"});
    service
        .a
        .post(&format!("{path}?dryRun=true"), &dry)
        .key("dry")
        .await
        .is(200);
    service
        .a
        .get("/v1/idempotency/dry")
        .await
        .refused(404, "idempotency_key_not_found");
    assert!(
        !service
            .a
            .post(&path, &dry)
            .key("dry")
            .await
            .is(201)
            .replayed()
    );
}

#[actix_web::test]
async fn what_a_key_did_can_be_read() {
    let service = TestService::start().await;
    service.a.in_and_out().await;
    let cvu = service.a.cvu().await;
    let path = format!("/v1/accounts/{cvu}/comprobantes");
    let body = json!({"voucherTypeCode": "OUT", "amount": "5.00", "idExterno": "a"});
    let refused = service.a.post(&path, &body).key("shown").await.is(400);
    let opened = service
        .a
        .post("/v1/accounts", &opening(&cuit(fresh())))
        .key("shown")
        .await
        .is(201);
    let report = service.a.get("/v1/idempotency/shown").await.is(200);
    let requests = report["requests"].as_array().unwrap();
    let of = |wanted: &str| {
        requests
            .iter()
            .find(|request| request["path"] == wanted)
            .unwrap()
    };
    assert_eq!((requests.len(), &report["key"]), (2, &json!("shown")));
    for (path, answer) in [(path.as_str(), refused), ("/v1/accounts", opened)] {
        let request = of(path);
        assert_eq!(request["method"], "POST");
        assert_eq!(request["state"], "completed");
        assert_eq!(request["status"], answer.status);
        assert_eq!(request["body"], answer.json);
    }
}

#[actix_web::test]
async fn keys_are_visible_ascii_once_and_an_opening_needs_one() {
    let service = TestService::start().await;
    let body = opening(&cuit(fresh()));
    service
        .a
        .post("/v1/accounts", &body)
        .await
        .refused(400, "idempotency_key_required");
    let long = "x".repeat(256);
    for bad in ["", "a b", "ñ", long.as_str()] {
        let refused = service
            .a
            .post("/v1/accounts", &body)
            .key(bad)
            .await
            .refused(400, "invalid_request");
        assert_eq!(named(&refused.json), ["Idempotency-Key"]);
    }
    let twice = service
        .a
        .post("/v1/accounts", &body)
        .key("one")
        .key("two")
        .await;
    assert_eq!(
        named(&twice.refused(400, "invalid_request").json),
        ["Idempotency-Key"]
    );
    assert_eq!(service.a.get("/v1/accounts").await["total"], 0);
    let longest = "!".repeat(255);
    let first = service
        .a
        .post("/v1/accounts", &body)
        .key(&longest)
        .await
        .is(201);
    same(
        &first,
        &service.a.post("/v1/accounts", &body).key(&longest).await,
    );
    // The quoted form from the draft standard is the same key.
    let kind = json!({"code": "QUOTED", "name": "Quoted", "sense": "credit"});
    let first = service
        .a
        .post("/v1/voucher-types", &kind)
        .key("\"quoted\"")
        .await
        .is(201);
    same(
        &first,
        &service
            .a
            .post("/v1/voucher-types", &kind)
            .key("quoted")
            .await,
    );
}

/// How long keys are kept by a service with these settings besides those that it needs.
fn kept(setting: &str) -> Duration {
    let needed = "data = \"/d\"\nadmin_key = \"q3Jx9vT0bWz5LrM2cHn8YdKs7PfGa1Eu\"\n";
    let bank = "[bank.live]\nbase_url = \"https://b.ar\"\nusername = \"u\"\npassword = \"p\"\n\
                collector = \"3220001805007351350083\"\nnotice_secret = \"Zk4u8QmB1xYtV6rNc0LsHj3WgEaP9dFo\"\n";
    let settings = format!("{needed}{setting}\n{bank}");
    let settings = Settings::parse(&settings, HashMap::new()).unwrap();
    settings.options().unwrap().engine.keys_kept
}

#[actix_web::test]
async fn a_key_is_replayed_until_it_has_been_kept_as_the_settings_say_and_new_then() {
    for (setting, before, after) in [
        ("", "2026-03-09T11:59:59.999Z", "2026-03-09T12:00:00.000Z"),
        (
            "idempotency_days = 2",
            "2026-03-04T11:59:59.999Z",
            "2026-03-04T12:00:00.000Z",
        ),
        (
            "idempotency_days = 30",
            "2026-04-01T11:59:59.999Z",
            "2026-04-01T12:00:00.000Z",
        ),
    ] {
        let clock = TestClock::at("2026-03-02T12:00:00Z");
        let mut service = TestService::with(Setup {
            clock: Arc::<TestClock>::clone(&clock),
            keys_kept: kept(setting),
            ..Setup::default()
        })
        .await;
        let kind = |code: &str| json!({"code": code, "name": "Kind", "sense": "credit"});
        let post = async |service: &TestService, code| {
            let call = service.a.post("/v1/voucher-types", &kind(code));
            call.key("k").await
        };
        let first = post(&service, "ONE").await.is(201);
        clock.set(before);
        same(&first, &post(&service, "ONE").await);
        let other = post(&service, "TWO").await;
        other.refused(409, "idempotency_key_reused");
        service.restart().await;
        same(&first, &post(&service, "ONE").await);
        clock.set(after);
        let anew = post(&service, "TWO").await.is(201);
        assert!(!anew.replayed(), "{setting}");
        same(&anew, &post(&service, "TWO").await);
    }
}

#[actix_web::test]
async fn a_new_key_with_a_known_external_id_gives_the_first_voucher_marked_as_repeated() {
    let service = TestService::start().await;
    service.a.in_and_out().await;
    let cvu = service.a.cvu().await;
    let first = service
        .a
        .voucher(&cvu, "IN", "10.00", "known")
        .key("one")
        .await
        .is(201);
    let again = service
        .a
        .voucher(&cvu, "IN", "10.00", "known")
        .key("two")
        .await
        .is(201);
    assert_eq!(first.json, again.json);
    assert!(again.replayed(), "it is a repeat, by whichever key");
}
