//! The search by a request's id: records that keep the id are found, and for the rest the page points to
//! the log.

use super::browser::{Browser, credential};
use crate::support::{TestService, Value, json};

/// The address of the search for an id.
fn search(id: &str) -> String {
    format!("/console/search?q={id}")
}

/// The accounts that the search for a text has shown, according to the audit log.
async fn showed(service: &TestService, text: &str) -> Value {
    let path = format!("/admin/audit?action=openPage&subject={text}");
    let page = service.admin_get(&path).await.is(200);
    let mut items = page["items"].as_array().unwrap().iter();
    let entry = items.find(|entry| entry["subject"] == search(text));
    entry.expect("an entry")["shown"].clone()
}

#[actix_web::test]
async fn the_id_of_an_answer_leads_to_what_happened_then() {
    let service = TestService::start().await;
    service.a.in_and_out().await;
    let cvu = service.a.cvu().await;
    let posted = service.a.voucher(&cvu, "IN", "12.00", "order-1").await;
    let posted = posted.is(201);
    let (id, voucher) = (posted.header("x-request-id"), posted["id"].as_str());
    let mut browser = Browser::entered(&service).await.reads("en");
    let page = browser.get(&search(id)).await.is(200).text;
    let link = format!("href=\"/console/vouchers/{}\"", voucher.unwrap());
    // Without webhooks nothing in the process remembers whose request it was.
    assert!(
        page.contains("of this request or of others") && page.contains(&link),
        "{page}"
    );
    assert!(!page.contains("Vouchers of this request"), "{page}");
    assert!(page.contains("grep"), "{page}");
}

#[actix_web::test]
async fn vouchers_of_a_realm_with_webhooks_are_known_by_their_request() {
    let service = TestService::start().await;
    service.a.in_and_out().await;
    let cvu = service.a.cvu().await;
    // It does not matter whether the webhook accepts anything.
    let hook = json!({"url": "http://127.0.0.1:9/"});
    service.a.post("/v1/webhooks", &hook).await.is(201);
    let mut browser = Browser::entered(&service).await.reads("en");
    // The trail notes requests only from the moment the courier was started.
    let page = crate::support::wait_until("it is remembered", crate::support::SOON, async || {
        let number = crate::support::client::fresh();
        let external = format!("order-{number}");
        let id = format!("chosen-by-the-client-{number}");
        let posted = service.a.voucher(&cvu, "IN", "12.00", &external);
        posted.header("x-request-id", &id).await.is(201);
        let page = browser.get(&search(&id)).await.is(200).text;
        let found = page.contains("Vouchers of this request");
        found.then_some((page, external, id))
    })
    .await;
    let (page, external, id) = page;
    assert!(page.contains(&external), "{page}");
    // The look is recorded with the account that was shown.
    assert_eq!(showed(&service, &id).await[&cvu], 1);
    let text = cvu.get(..20).unwrap();
    browser.get(&search(text)).await.is(200);
    assert_eq!(showed(&service, text).await[&cvu], 1);
}

#[actix_web::test]
async fn calls_to_the_bank_and_the_audit_log_are_found_exactly() {
    let service = TestService::start().await;
    service.hear().await;
    service.a.in_and_out().await;
    let cvu = service.a.cvu().await;
    service.a.credit(&cvu, "100.00").await;
    let sent = service
        .a
        .transfer(&cvu, json!({"alias": "destino.0"}), "10.00")
        .await
        .is(201);
    service.a.settled(&sent.json, "completed").await;
    let id = sent.header("x-request-id");
    let mut browser = Browser::entered(&service).await.reads("en");
    let page = browser.get(&search(id)).await.is(200).text;
    let calls = format!("<code>{id}</code>");
    assert!(
        page.contains("Calls to the bank") && page.contains(&calls),
        "{page}"
    );
    // The calls to the bank name nobody: the look is recorded all the same.
    assert_eq!(showed(&service, id).await, json!({}));
    // An operator's look, under an id that has no time in it.
    let looked = service
        .admin_client()
        .get(&format!("/admin/actors/{cvu}"))
        .header("x-admin-key", caudal_service::TEST_ADMIN_KEY)
        .header("x-request-id", "an-operator-looks")
        .await;
    looked.is(200);
    let page = browser.get(&search("an-operator-looks")).await.is(200).text;
    assert!(page.contains("readActor") && page.contains(&cvu), "{page}");
    // A person who may not read the audit log does not see it here either.
    let key = credential(&service, "vera", "viewer").await;
    let mut viewer = Browser::new(&service).reads("en");
    viewer
        .send("/console/login", &[("key", key.as_str())])
        .await
        .is(303);
    let page = viewer.get(&search("an-operator-looks")).await.is(200).text;
    assert!(!page.contains("readActor"), "{page}");
    let page = viewer.get(&search("nobody-has-this-id")).await.is(200).text;
    assert!(page.contains("Nothing was found."), "{page}");
}
