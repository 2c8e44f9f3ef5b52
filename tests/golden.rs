//! The exact bodies of both families, with a clock that stands still: exactly what a client's
//! parser sees, field by field and in this order. A change here is a change for every client.

mod bodies;
mod changes;
mod errors;
mod money;
mod treasury;
mod wallet;
mod walletentidad;
mod webhooks;

use crate::support::{SOON, TestClock, TestService, Value, json, wait_until};

use bodies::STORY;
use changes::CHANGES;
use errors::ERRORS;
use money::MONEY;
use treasury::{ELSEWHERE, TREASURY};
use wallet::WALLET;
use walletentidad::WALLETENTIDAD;
use webhooks::WEBHOOKS;

/// One request and its whole answer.
#[derive(Clone, Copy)]
pub struct Golden {
    /// Method and path.
    pub request: &'static str,
    /// The body; empty for none.
    pub body: &'static str,
    /// The status.
    pub status: u16,
    /// The answer's text, with white space between its fields.
    pub answer: &'static str,
}

/// The text as it is sent: without line breaks and indentation.
fn wire(text: &str) -> String {
    text.lines().map(str::trim_start).collect()
}

/// The text with masks for the values that differ each time.
fn masked(answer: &Value, mut text: String) -> String {
    let first = answer
        .pointer("/items/0/attempts/0")
        .unwrap_or(&Value::Null);
    for (field, mask) in [("timestamp", "<now>"), ("secret", "<secret>")] {
        if let Some(reply) = answer[field].as_str() {
            text = text.replace(reply, mask);
        }
    }
    let failure = &answer["progress"]["lastFailure"];
    for attempt in [
        answer,
        &answer[0]["progress"]["lastFailure"],
        failure,
        first,
    ] {
        if let Some(next) = attempt["nextAttemptAt"].as_str() {
            text = text.replace(next, "<soon>");
        }
        let took = format!("\"durationMs\":{}", attempt["durationMs"]);
        text = text.replace(&took, "\"durationMs\":<ms>");
    }
    text
}

async fn tell(service: &TestService, story: &[Golden]) {
    let mut wrong = String::new();
    for (step, golden) in story.iter().enumerate() {
        let (method, path) = golden.request.split_once(' ').unwrap();
        let mut call = service
            .a
            .call(method, path)
            .header("x-request-id", "golden")
            .key(&format!("golden-{step}"));
        if !golden.body.is_empty() {
            call = call.text(golden.body);
        }
        let answer = call.await;
        let text = masked(&answer.json, answer.text.clone());
        if (answer.status, &text) != (golden.status, &wire(golden.answer)) {
            wrong += &format!("\n{}\n{} {text}\n", golden.request, answer.status);
        }
    }
    assert!(wrong.is_empty(), "these answered otherwise:\n{wrong}");
}

#[actix_web::test]
async fn every_body_is_the_one_that_was_promised() {
    let clock = TestClock::at("2026-03-02T15:04:05.678Z");
    let service = TestService::at(&clock).await;
    tell(&service, &[STORY, CHANGES].concat()).await;
}

#[actix_web::test]
async fn every_body_of_money_is_the_one_that_was_promised() {
    let clock = TestClock::at("2026-03-02T15:04:05.678Z");
    let service = TestService::at(&clock).await;
    for (cuit, holder, alias) in [
        ("20267565393", "Juana Azurduy", "Rio.De.Oro"),
        ("27312547568", "Ana Paz", "Mar.De.Sal"),
    ] {
        let body = json!({"cuit": cuit, "holderName": holder, "alias": alias});
        service.a.open_with(body).await;
    }
    service.a.create_type("COMPRA", "credit").await;
    let first = "0000999100000257958477";
    let credit = service.a.voucher(first, "COMPRA", "100", "orden-1");
    credit.await.is(201);
    tell(&service, MONEY).await;
}

#[actix_web::test]
async fn every_body_of_the_wallet_family_is_the_one_that_was_promised() {
    let clock = TestClock::at("2026-03-02T15:04:05.678Z");
    let service = TestService::at(&clock).await;
    tell(&service, WALLET).await;
}

#[actix_web::test]
async fn every_body_that_walletentidad_clients_know_is_the_one_that_was_promised() {
    let clock = TestClock::at("2026-03-02T15:04:05.678Z");
    let service = TestService::at(&clock).await;
    tell(&service, WALLETENTIDAD).await;
}

#[actix_web::test]
async fn every_error_is_the_one_that_was_promised() {
    let clock = TestClock::at("2026-03-02T15:04:05.678Z");
    let service = TestService::at(&clock).await;
    tell(&service, ERRORS).await;
}

#[actix_web::test]
async fn every_body_of_the_treasury_is_the_one_that_was_promised() {
    let clock = TestClock::at("2026-03-02T15:04:05.678Z");
    let service = TestService::at(&clock).await;
    let body = json!({"cuit": "27312547568", "holderName": "Ana Paz", "alias": "Mar.De.Sal"});
    service.a.open_with(body).await;
    service.a.create_type("CARGA", "credit").await;
    let cvu = "0000999100000287336728";
    let credit = service.a.voucher(cvu, "CARGA", "100.10", "a");
    credit.await.is(201);
    let hold = json!({"amount": "30", "idExterno": "reserva-1"});
    let path = format!("/v1/accounts/{cvu}/holds");
    service.a.post(&path, &hold).await.is(201);
    tell(&service, TREASURY).await;
}

#[actix_web::test]
async fn every_body_of_webhooks_is_the_one_that_was_promised() {
    let clock = TestClock::at("2026-03-02T15:04:05.678Z");
    let service = TestService::at(&clock).await;
    let nowhere = json!({"url": "http://127.0.0.1:1/caudal", "types": ["voucher.created"]});
    service.a.post("/v1/webhooks", &nowhere).await.is(201);
    let body = json!({"cuit": "27312547568", "holderName": "Ana Paz", "alias": "Mar.De.Sal"});
    service.a.open_with(body).await;
    service.a.create_type("CARGA", "credit").await;
    let credit = service
        .a
        .voucher("0000999100000287336728", "CARGA", "100.10", "a");
    credit.await.is(201);
    // From here on nothing happens by itself: the clock stands still, so no further attempt is
    // made.
    let first = "/v1/webhooks/whk_00000040000000200000001jsw";
    wait_until("a failure that is written down", SOON, async || {
        let reply = service.a.get(first).await;
        (reply["progress"]["waiting"] == 1).then_some(())
    })
    .await;
    tell(&service, WEBHOOKS).await;
}

/// Whether a path matches a template.
fn fits(template: &str, path: &str) -> bool {
    let (path, _) = path.split_once('?').unwrap_or((path, ""));
    let (parts, wanted) = (path.split('/'), template.split('/'));
    parts.clone().count() == wanted.clone().count()
        && parts
            .zip(wanted)
            .all(|(part, wanted)| part == wanted || wanted.starts_with('{'))
}

#[test]
fn every_operation_has_a_golden_body() {
    let document = serde_json::to_value(caudal::server::openapi()).unwrap();
    let all = [
        STORY,
        CHANGES,
        MONEY,
        WALLET,
        WALLETENTIDAD,
        TREASURY,
        WEBHOOKS,
    ]
    .concat();
    let granted = |golden: &&Golden| (200..300).contains(&golden.status);
    let requests = all.iter().filter(granted).map(|golden| golden.request);
    let mut requests: Vec<_> = requests.chain(ELSEWHERE.iter().copied()).collect();
    let mut templates = Vec::new();
    for (template, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            // The operation that the bank calls has tests of its own.
            if operation["operationId"].is_string() && operation["security"].is_null() {
                templates.push((method.to_uppercase(), template.clone()));
            }
        }
    }
    // Templates without parameters first: a path that matches one belongs to it.
    templates.sort_by_key(|(_, template)| template.matches('{').count());
    let mut missing = Vec::new();
    for (method, template) in templates {
        let before = requests.len();
        requests.retain(|request| {
            let (made, path) = request.split_once(' ').unwrap();
            !(made == method && fits(&template, path))
        });
        if requests.len() == before {
            missing.push(format!("{method} {template}"));
        }
    }
    assert!(missing.is_empty(), "no golden body: {missing:#?}");
}
