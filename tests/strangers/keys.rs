//! Wrong keys and forged notices.

use std::time::Instant;

use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use caudal::http::strangers::WRONG_EVERY;
use caudal::service::{Service, ServiceOptions};
use caudal_sandbox::NOTICE_SECRET;
use tempfile::TempDir;

use crate::support::{Answer, Client, SOON, Setup, TestService, json, wait_until};

/// How many wrong keys an address may present at once.
const BURST: u32 = 5;

async fn strict() -> TestService {
    TestService::with(Setup {
        wrong_keys: BURST,
        ..Setup::default()
    })
    .await
}

/// Presents wrong keys: the first ones are checked, then one every few seconds, and the others are
/// refused. Returns how long the refused ones are told to wait.
async fn slowed(guess: impl AsyncFn() -> Answer) -> Vec<u64> {
    let since = Instant::now();
    let (mut judged, mut waits) = (0, Vec::new());
    while waits.len() < 30 {
        let answer = guess().await;
        match answer.status {
            401 => judged += 1,
            _ => {
                let refused = answer.refused(429, "too_many_attempts");
                waits.push(refused.header("retry-after").parse().unwrap());
            }
        }
        assert!(since.elapsed() < SOON, "{judged} were judged");
    }
    // As many as the elapsed time allows.
    let later = since.elapsed().as_secs() / WRONG_EVERY.as_secs() + 1;
    let most = u64::from(BURST) + later;
    assert!(
        (u64::from(BURST)..=most).contains(&judged),
        "{judged} of {most}"
    );
    waits
}

#[actix_web::test]
async fn wrong_keys_are_slowed_and_right_ones_are_not() {
    let service = strict().await;
    let right = service.a.key.clone().unwrap();
    let wrong = format!("{right}x");
    let guess = service.a.with_key(Some(&wrong));
    let waits = slowed(async || guess.get("/v1/accounts").await).await;
    assert!(waits.iter().all(|wait| (1..=3).contains(wait)), "{waits:?}");
    // From the same address, a client with a key is served, and one without a key gets the usual answer.
    service.a.get("/v1/accounts").await.is(200);
    let none = service.a.with_key(None);
    none.get("/v1/accounts").await.refused(401, "unauthorized");
}

#[actix_web::test]
async fn wrong_admin_keys_are_slowed_and_an_operator_gets_in() {
    let service = strict().await;
    let ask = async |key: &str| {
        let admin = service.admin_client();
        admin.get("/admin/tenants").header("x-admin-key", key).await
    };
    let waits = slowed(async || ask("guess").await).await;
    assert!(waits.iter().all(|wait| *wait > 0), "{waits:?}");
    ask(caudal::service::TEST_ADMIN_KEY).await.is(200);
}

/// Sends a notice that is signed with a secret; returns the status of the answer.
async fn forge(client: &Client, cvu: &str, secret: &str) -> u16 {
    let seconds = (caudal::clock::now().millis() / 1000).to_string();
    let data = json!({"cvu": cvu, "amount": "1000000.00"});
    let body = json!({"id": "forged", "object": "event", "type": "transfer.cashin", "data": data});
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    let tag = hmac::sign(&key, format!("forged.{seconds}.{body}").as_bytes());
    let signature = format!("v1,{}", STANDARD.encode(tag));
    let stranger = client.with_key(None);
    let call = stranger
        .call("POST", caudal::notices::PATH)
        .text(body.to_string());
    let call = call.header("webhook-id", "forged");
    let call = call.header("webhook-timestamp", &seconds);
    call.header("webhook-signature", &signature).await.status
}

/// The sandbox inside a service signs with a secret from its folder: the published one opens nothing,
/// and the sandbox's own notices are heard.
#[actix_web::test]
async fn the_secret_that_everybody_knows_opens_nothing() {
    let dir = TempDir::new().unwrap();
    let service = Service::start(ServiceOptions::for_tests(dir.path())).unwrap();
    let tenant = service.create_tenant("uno").await.unwrap();
    for mode in [
        caudal_ledger::tenants::Mode::Test,
        caudal_ledger::tenants::Mode::Live,
    ] {
        let key = service.issue_key(&tenant.id, mode).await.unwrap();
        let client = Client::new(&service.url, Some(&key));
        let cvu = client.cvu().await;
        assert_eq!(forge(&client, &cvu, NOTICE_SECRET).await, 401);
        let bank = Client::new(service.bank_url.as_deref().unwrap(), None);
        let body = json!({"cvu": cvu, "amount": "7.00"});
        bank.post("/sandbox/cash-in", &body).await;
        wait_until("the money arrives", SOON, async || {
            (client.available(&cvu).await == "7.00").then_some(())
        })
        .await;
    }
    service.stop().await.unwrap();
}

/// Without a secret for test notices nobody speaks for the sandbox, which is the default of `serve`.
#[actix_web::test]
async fn without_a_secret_no_notice_is_believed() {
    let mut service = TestService::start().await;
    let cvu = service.a.cvu().await;
    service.end(true).await;
    service.without_notice_secrets();
    service.begin().await;
    for secret in [NOTICE_SECRET, ""] {
        assert_eq!(forge(&service.a, &cvu, secret).await, 401);
    }
    assert_eq!(service.a.available(&cvu).await, "0.00");
}
