//! Wrong keys and forged notices.

use std::future::IntoFuture as _;
use std::time::Instant;

use actix_web::rt::task::JoinHandle;
use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use caudal_http::wire::ConnectionLimits;
use caudal_http::wrong_keys::DELAYED_SHARE;
use caudal_sandbox::NOTICE_SECRET;
use caudal_service::{Service, ServiceOptions, TEST_ADMIN_KEY};
use tempfile::TempDir;

use crate::support::{Answer, Call, Client, SOON, Setup, TestService, json, wait_until};

/// How many wrong keys of an address are refused without a delay.
const BURST: u32 = 5;
/// How many refusals are delayed in these tests.
const DELAYED: usize = 2;

async fn strict() -> TestService {
    TestService::with(Setup {
        wrong_keys: BURST,
        limits: ConnectionLimits {
            connections: DELAYED * DELAYED_SHARE,
            ..ConnectionLimits::default()
        },
        ..Setup::default()
    })
    .await
}

/// Presents wrong keys until a refusal takes longer than requests do in between; each is 401. Returns the refusal that
/// waits.
async fn delayed(guess: impl Fn() -> Call, between: impl AsyncFn()) -> JoinHandle<Answer> {
    for _ in 0..BURST {
        guess().await.refused(401, "unauthorized");
    }
    let since = Instant::now();
    while since.elapsed() < SOON {
        let guessed = actix_web::rt::spawn(guess().into_future());
        between().await;
        if !guessed.is_finished() {
            return guessed;
        }
        guessed.await.unwrap().refused(401, "unauthorized");
    }
    panic!("no refusal of a wrong key was delayed");
}

#[actix_web::test]
async fn wrong_keys_are_slowed_and_right_ones_are_not() {
    let service = strict().await;
    let right = service.a.key.clone().unwrap();
    let wrong = service.a.with_key(Some(&format!("{right}x")));
    let none = service.a.with_key(None);
    for path in ["/v1/accounts", "/wallet/v1/Cuentas"] {
        // The tests run on this machine, where the service trusts a proxy.
        let (from, other) = (format!("192.0.2.{}", path.len()), "203.0.113.20");
        let guess = |from: &str| wrong.get(path).header("x-forwarded-for", from);
        let between = async || {
            // From the same address, a client with a key is served, and one without a key is refused at once.
            for (client, status) in [(&service.a, 200), (&none, 401)] {
                let call = client.get(path).header("x-forwarded-for", &from);
                assert_eq!(call.await.status, status);
            }
            // So is a wrong key of another client behind the same proxy.
            guess(other).await.refused(401, "unauthorized");
        };
        let slow = delayed(|| guess(&from), between).await;
        slow.await.unwrap().refused(401, "unauthorized");
    }
}

#[actix_web::test]
async fn no_more_refusals_wait_than_may_and_every_one_is_401() {
    let service = strict().await;
    let wrong = service.a.with_key(Some("guess"));
    let guess = || wrong.get("/v1/accounts");
    let slow = delayed(guess, async || drop(service.a.get("/v1/accounts").await)).await;
    let many = futures_util::future::join_all((0..10).map(|_| guess().into_future()));
    for refused in many.await {
        refused.refused(401, "unauthorized");
    }
    slow.await.unwrap().refused(401, "unauthorized");
}

#[actix_web::test]
async fn wrong_admin_keys_are_slowed_and_an_operator_gets_in() {
    let service = strict().await;
    let admin = service.admin_client();
    let from = |key: &str, from: &str| {
        let call = admin.get("/admin/tenants").header("x-admin-key", key);
        call.header("x-forwarded-for", from)
    };
    let (one, other) = ("192.0.2.1", "192.0.2.2");
    let between = async || {
        from(TEST_ADMIN_KEY, one).await.is(200);
        from("guess", other).await.refused(401, "unauthorized");
    };
    let slow = delayed(|| from("guess", one), between).await;
    slow.await.unwrap().refused(401, "unauthorized");
}

/// Sends a notice that is signed with a secret; returns the status of the answer.
async fn forge(client: &Client, cvu: &str, secret: &str) -> u16 {
    notice(client, cvu, secret).await.status
}

/// A notice that is signed with a secret.
pub fn notice(client: &Client, cvu: &str, secret: &str) -> Call {
    let seconds = (caudal_http::clock::now().millis() / 1000).to_string();
    let data = json!({"cvu": cvu, "amount": "1000000.00"});
    let body = json!({"id": "forged", "object": "event", "type": "transfer.cashin", "data": data});
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    let tag = hmac::sign(&key, format!("forged.{seconds}.{body}").as_bytes());
    let signature = format!("v1,{}", STANDARD.encode(tag));
    let without_key = client.with_key(None);
    let call = without_key
        .call("POST", caudal_bank::notices::route::PATH)
        .text(body.to_string());
    let call = call.header("webhook-id", "forged");
    let call = call.header("webhook-timestamp", &seconds);
    call.header("webhook-signature", &signature)
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
    service.notice_secret(None);
    service.begin().await;
    for secret in [NOTICE_SECRET, ""] {
        assert_eq!(forge(&service.a, &cvu, secret).await, 401);
    }
    assert_eq!(service.a.available(&cvu).await, "0.00");
}
