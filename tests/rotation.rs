//! Every secret of a service is replaced under load: whoever uses the old one or the new one is accepted, until nobody
//! uses the old one.
//!
//! A thread of its own uses all secrets that somebody may use at the time, again and again, also while the service starts
//! again. Any answer that is no success fails the test, except 503 of a service that stops.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use caudal_sandbox::NOTICE_SECRET;
use caudal_service::TEST_ADMIN_KEY;

use crate::console::browser::{credential, order};
use crate::support::client::fresh;
use crate::support::service::{OTHER, TENANT};
use crate::support::{Call, Client, SOON, TestService, Value, json, wait_until};
use crate::unauthenticated::keys::notice;
use crate::webhooks::hook::{Hook, quick};
use crate::webhooks::inbox::Inbox;

const PEPPER: &str = "another pepper of a test, of more than 32 characters";
const NOTICES: &str = "another secret of notices, of more than 32 characters";
const ADMIN_KEY: &str = "another admin key of a test, of more than 32 characters";
/// How often each secret has to be accepted before the test goes on: more than once, so that what was used before is not
/// used any more.
const ROUNDS: u32 = 3;

/// The secrets that are used at a time.
#[derive(Clone, Default)]
struct Used {
    keys: Vec<String>,
    operators: Vec<String>,
    notices: Vec<String>,
}

/// What the thread and the test share.
struct Shared {
    public: Client,
    admin: Client,
    cvu: String,
    used: Mutex<Used>,
    accepted: Mutex<BTreeMap<String, u32>>,
    refused: Mutex<Vec<String>>,
    over: AtomicBool,
}

/// The load; it ends when this handle is dropped.
struct Load(Arc<Shared>, Option<JoinHandle<()>>);

impl Shared {
    /// A call with each secret.
    fn calls(&self) -> Vec<(String, Call)> {
        let used = self.used.lock().unwrap().clone();
        let key = |key: String| {
            let client = self.public.with_key(Some(&key));
            let call = client.voucher(&self.cvu, "IN", "1.00", &format!("load-{}", fresh()));
            (key, call)
        };
        let operator = |shown: String| {
            let call = self.admin.get("/admin/me").header("x-admin-key", &shown);
            (shown, call)
        };
        let bank = |secret: String| {
            let call = notice(&self.public, &self.cvu, &secret);
            (secret, call)
        };
        let keys = used.keys.into_iter().map(key);
        let operators = used.operators.into_iter().map(operator);
        let notices = used.notices.into_iter().map(bank);
        keys.chain(operators).chain(notices).collect()
    }

    async fn run(&self) {
        while !self.over.load(Ordering::Relaxed) {
            for (secret, call) in self.calls() {
                match call.answer().await {
                    Some(answer) if (200..300).contains(&answer.status) => {
                        *self.accepted.lock().unwrap().entry(secret).or_default() += 1;
                    }
                    Some(answer) if answer.status != 503 => {
                        let refused = format!("{} {}", answer.status, answer.text);
                        self.refused.lock().unwrap().push(refused);
                    }
                    Some(_) | None => self.back().await,
                }
            }
        }
    }

    /// Waits until the service takes requests again.
    async fn back(&self) {
        wait_until("the service is back", SOON, async || {
            let ready = self.public.get("/readyz").answer().await?;
            (ready.status == 200 || self.over.load(Ordering::Relaxed)).then_some(())
        })
        .await;
    }
}

impl Load {
    fn start(service: &TestService, cvu: String) -> Self {
        let shared = Arc::new(Shared {
            public: Client::new(&service.a.url, None),
            admin: Client::new(&service.admin_client().url, None),
            cvu,
            used: Mutex::default(),
            accepted: Mutex::default(),
            refused: Mutex::default(),
            over: AtomicBool::new(false),
        });
        let own = Arc::clone(&shared);
        let thread = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread();
            let runtime = { runtime }.enable_all().build().unwrap();
            runtime.block_on(own.run());
        });
        Self(shared, Some(thread))
    }

    /// Waits until each secret in use has been accepted some times from now on.
    async fn goes_on(&self) {
        let used = self.0.used.lock().unwrap().clone();
        self.0.accepted.lock().unwrap().clear();
        let all = [used.keys, used.operators, used.notices].concat();
        wait_until("each secret is accepted", SOON, async || {
            let refused = self.0.refused.lock().unwrap();
            assert!(refused.is_empty(), "{refused:?}");
            let accepted = self.0.accepted.lock().unwrap();
            let often = |secret| accepted.get(secret).is_some_and(|times| *times >= ROUNDS);
            all.iter().all(often).then_some(())
        })
        .await;
    }

    /// Changes what is used, and waits until it is.
    async fn uses(&self, change: impl FnOnce(&mut Used)) {
        change(&mut self.0.used.lock().unwrap());
        self.goes_on().await;
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.0.over.store(true, Ordering::Relaxed);
        let ended = self.1.take().map(JoinHandle::join);
        if !thread::panicking() {
            ended.map(Result::unwrap);
        }
    }
}

/// What still needs the older pepper; null while there is only one.
async fn older_pepper(service: &TestService) -> Value {
    let status = service.admin_get("/admin/status").await.is(200);
    status["olderPepper"].clone()
}

/// Rotates every key that needs the older pepper; returns the text of the first tenant's new test key. Its old key works
/// on until it is revoked, the others end.
async fn rotate_keys(service: &TestService) -> (String, String) {
    let mut rotated = None;
    for tenant in [TENANT, OTHER] {
        let path = format!("/admin/tenants/{tenant}/keys");
        let list = service.admin_get(&path).await.is(200);
        for key in list["items"].as_array().unwrap() {
            assert_eq!(key["olderPepper"], true, "{key}");
            let id = key["id"].as_str().unwrap();
            let used = tenant == TENANT && key["mode"] == "test";
            let overlap = json!({"overlapSeconds": if used { 3600 } else { 0 }});
            let path = format!("/admin/keys/{id}/rotate");
            let new = order(service, "POST", &path, &overlap).await.is(201);
            assert_eq!(new["olderPepper"], false);
            if used {
                rotated = Some((id.to_owned(), new["key"].as_str().unwrap().to_owned()));
            }
        }
    }
    rotated.unwrap()
}

#[actix_web::test]
async fn a_pepper_is_replaced_under_load() {
    let mut service = TestService::with(quick()).await;
    service.stays();
    service.a.in_and_out().await;
    let (cvu, inbox) = (service.a.cvu().await, Inbox::start());
    let hook = Hook::of(&service.a, &inbox.url("/"), &["voucher.created"]).await;
    let ana = credential(&service, "ana", "operator").await;
    let load = Load::start(&service, cvu);
    load.uses(|used| {
        used.keys = service.a.key.iter().cloned().collect();
        used.operators = vec![TEST_ADMIN_KEY.to_owned(), ana.clone()];
    })
    .await;
    assert_eq!(older_pepper(&service).await, Value::Null);

    let old = std::fs::read_to_string(service.data().join("pepper")).unwrap();
    service.pepper(&format!("{PEPPER}\n{old}\n"));
    service.restart().await;
    load.goes_on().await;
    let left = json!({"keys": 4, "people": 1, "webhooks": 0, "realms": 0});
    wait_until("secrets are sealed anew", SOON, async || {
        (older_pepper(&service).await == left).then_some(())
    })
    .await;

    // Both keys work until the old one is no longer used.
    let (id, key) = rotate_keys(&service).await;
    load.uses(|used| used.keys.push(key.clone())).await;
    load.uses(|used| used.keys.retain(|it| *it == key)).await;
    let path = format!("/admin/keys/{id}");
    order(&service, "DELETE", &path, &json!({})).await.is(204);
    // A program that has a person's credential gets that of another person.
    let eva = credential(&service, "eva", "operator").await;
    load.uses(|used| used.operators.push(eva)).await;
    load.uses(|used| used.operators.retain(|it| *it != ana))
        .await;
    let path = "/admin/people/ana";
    order(&service, "DELETE", path, &json!({})).await.is(204);
    let none = json!({"keys": 0, "people": 0, "webhooks": 0, "realms": 0});
    assert_eq!(older_pepper(&service).await, none);

    service.pepper(PEPPER);
    service.restart().await;
    load.goes_on().await;
    assert_eq!(older_pepper(&service).await, Value::Null);
    let old = service.a.get("/v1/accounts").await;
    old.refused(401, "unauthorized");
    drop(load);
    let hook = Hook {
        client: service.a.with_key(Some(&key)),
        ..hook
    };
    let read = hook.caught_up(SOON).await;
    assert_eq!(read["status"], "active", "{read}");
    for call in inbox.calls() {
        assert_eq!(call.signed(&hook.secret), Ok(()));
    }
}

#[actix_web::test]
async fn the_admin_key_and_the_secrets_of_notices_and_webhooks_are_replaced_under_load() {
    let mut service = TestService::with(quick()).await;
    service.stays();
    service.hear().await;
    service.a.in_and_out().await;
    let (cvu, inbox) = (service.a.cvu().await, Inbox::start());
    let hook = Hook::of(&service.a, &inbox.url("/"), &["voucher.created"]).await;
    let load = Load::start(&service, cvu);
    load.uses(|used| {
        used.keys = service.a.key.iter().cloned().collect();
        used.operators = vec![TEST_ADMIN_KEY.to_owned()];
        used.notices = vec![NOTICE_SECRET.to_owned()];
    })
    .await;

    let rotated = format!("{}/rotate-secret", hook.path);
    let rotated = service.a.post(&rotated, &json!({})).await.is(200);
    let secret = rotated["secret"].as_str().unwrap();
    let known = inbox.calls().len();
    service.admin_key(&format!("{ADMIN_KEY}\n{TEST_ADMIN_KEY}"));
    service.notice_secret(Some(&format!("{NOTICES}\n{NOTICE_SECRET}")));
    service.restart().await;
    load.goes_on().await;
    load.uses(|used| {
        used.operators.push(ADMIN_KEY.to_owned());
        used.notices.push(NOTICES.to_owned());
    })
    .await;

    // The bank signs with the new secret from now on.
    let url = format!("{}{}", service.a.url, caudal_bank::notices::route::PATH);
    let told = json!({"url": url, "secret": NOTICES});
    let told = service.bank.client().post("/sandbox/notify", &told).await;
    assert_eq!(told.status, 204, "{}", told.text);
    load.uses(|used| {
        used.operators.retain(|it| it != TEST_ADMIN_KEY);
        used.notices.retain(|it| it != NOTICE_SECRET);
    })
    .await;
    service.admin_key(ADMIN_KEY);
    service.notice_secret(Some(NOTICES));
    service.restart().await;
    load.goes_on().await;
    let other = service.a.cvu().await;
    service.bank.cash_in(&other, "7.00").await;
    wait_until("the money arrives", SOON, async || {
        (service.a.available(&other).await == "7.00").then_some(())
    })
    .await;
    drop(load);
    let status = service.admin_get("/admin/me").await;
    status.refused(401, "unauthorized");
    let forged = notice(&service.a, &other, NOTICE_SECRET).await;
    forged.refused(401, "unauthorized");
    let read = hook.caught_up(SOON).await;
    assert_eq!(read["status"], "active", "{read}");
    for (number, call) in inbox.calls().iter().enumerate() {
        // Those that were under way when the secret was rotated may have only the old signature.
        assert_eq!(call.signed(&hook.secret), Ok(()));
        assert!(number <= known || call.signed(secret).is_ok(), "{number}");
    }
}
