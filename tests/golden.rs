//! The exact bodies of the native family, with a clock that stands still: what a client's parser
//! gets to see, field by field and in this order. A change here is a change for every client.

mod bodies;
mod errors;
mod money;
mod wallet;

use crate::support::{TestClock, TestService, json};

use bodies::STORY;
use errors::ERRORS;
use money::MONEY;
use wallet::WALLET;

/// One request and its whole answer.
pub struct Golden {
    /// Method and path.
    pub request: &'static str,
    /// The body; empty for none.
    pub body: &'static str,
    /// The status.
    pub status: u16,
    /// The text of the answer, with white space between its fields.
    pub answer: &'static str,
}

/// The text as it is on the wire: without line breaks and what indents them.
fn wire(text: &str) -> String {
    text.lines().map(str::trim_start).collect()
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
        let mut text = answer.text.clone();
        if let Some(timestamp) = answer["timestamp"].as_str() {
            text = text.replace(timestamp, "<now>");
        }
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
    tell(&service, STORY).await;
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
    let first = "0000999100000200000019";
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
async fn every_error_is_the_one_that_was_promised() {
    let clock = TestClock::at("2026-03-02T15:04:05.678Z");
    let service = TestService::at(&clock).await;
    tell(&service, ERRORS).await;
}
