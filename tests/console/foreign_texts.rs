//! The words of people and banks, on every page that shows them, are text, whatever they are.
//!
//! Every field that somebody else can write gets words that would break out of a page, with a mark of its own. The
//! test walks all pages from the first one on; each has to be tame, and each mark has to appear as text somewhere, so
//! that every such field was really tried.

use std::collections::{BTreeMap, BTreeSet};

use super::browser::{Browser, credential, order};
use super::sessions::PAGES;
use super::tags::{is_tame, tags};
use crate::bank_failures::letters::{deliver, notice, now, rail_id};
use crate::support::client::fresh;
use crate::support::{SOON, TestService, Value, cuit, json, wait_until};

/// More pages than this mean that the walk has no end.
const PAGES_MAX: usize = 600;
/// The mark of every field that somebody else writes and a page shows.
const MARKS: &[&str] = &[
    "tenant",
    "keylabel",
    "holder",
    "second",
    "code",
    "metakey",
    "metaword",
    "mailbox",
    "typename",
    "voucher",
    "external",
    "holdid",
    "transfer",
    "sentid",
    "payer",
    "bankname",
    "refusal",
    "parked",
    "suspended",
    "hook",
    "audited",
    "approval",
    "vote",
    "decider",
    "verdict",
    "bankref",
    "query",
];

/// A mark and what follows it: the end of an attribute, the end of an element, and something that runs.
fn evil(mark: &str) -> String {
    assert!(MARKS.contains(&mark), "{mark}");
    format!("{mark}'\"></td></textarea><img/src=x/onerror=x()>")
}

/// Sends an order of a person, with a reason.
async fn says(service: &TestService, who: &str, path: &str, reason: &str, body: &Value) -> Value {
    let call = service.admin_client().call("POST", path).json(body);
    let call = call.header("x-admin-key", who).header("x-reason", reason);
    let answer = call.await;
    assert!(
        (200..300).contains(&answer.status),
        "{path}: {}",
        answer.text
    );
    answer.json
}

/// The voucher of money with this id on the rail, once it has arrived.
async fn arrived(service: &TestService, cvu: &str, rail: &str) {
    wait_until("the money is there", SOON, async || {
        let path = format!("/v1/accounts/{cvu}/movements?referenceType=cash_in");
        let all = service.a.get(&path).await.is(200).json;
        let mut all = all.as_array().unwrap().iter();
        all.any(|it| it["counterparty"]["coelsaId"] == rail)
            .then_some(())
    })
    .await;
}

/// A transfer whose end the bank forgets, so that it waits for a person.
async fn forgotten(service: &TestService, cvu: &str) -> Value {
    let body = json!({
        "fromCvu": cvu, "to": {"alias": "DESTINO.2"}, "amount": "10.00", "description": evil("transfer"),
        "idExterno": format!("{}{}", fresh(), evil("sentid")),
    });
    let sent = service.a.post("/v1/transfers", &body).await.is(201).json;
    let sent = service.a.settled(&sent, "in_progress").await;
    service
        .bank
        .settle(&sent["originId"], "UNKNOWN_FOREVER")
        .await;
    service.a.settled(&sent, "audit").await
}

/// Everything that a tenant writes; returns its account's CVU.
async fn tenant(service: &TestService) -> String {
    service.a.in_and_out().await;
    let named = json!({"name": evil("tenant")});
    order(service, "PATCH", "/admin/tenants/tnt_first", &named)
        .await
        .is(200);
    service
        .keyed(&json!({"mode": "test", "label": evil("keylabel")}))
        .await;
    let own = cuit(fresh());
    let body = json!({
        "cuit": own, "holderName": evil("holder"), "externalId": evil("code"), "metadata": {evil("metakey"): evil("metaword")},
        "email": format!("{}@b.example", evil("mailbox")),
    });
    let cvu = service.a.open_with(body).await["cvu"]
        .as_str()
        .unwrap()
        .to_owned();
    let holders = json!({"holderName": evil("holder"), "titulares": [
        {"cuit": own, "name": evil("holder")}, {"cuit": cuit(fresh()), "name": evil("second")},
    ]});
    let path = format!("/v1/accounts/{cvu}");
    service
        .a
        .patch(&format!("{path}/identidad"), &holders)
        .await
        .is(200);
    let kind = json!({"code": "EVIL", "name": evil("typename"), "sense": "credit"});
    service.a.post("/v1/voucher-types", &kind).await.is(201);
    let posted = json!({
        "voucherTypeCode": "EVIL", "amount": "1000.00", "idExterno": evil("external"), "description": evil("voucher"),
    });
    service
        .a
        .post(&format!("{path}/comprobantes"), &posted)
        .await
        .is(201);
    let held = json!({"amount": "1.00", "idExterno": evil("holdid")});
    service
        .a
        .post(&format!("{path}/holds"), &held)
        .await
        .is(201);
    let hook = json!({"url": "http://127.0.0.1:9/", "description": evil("hook")});
    service.a.post("/v1/webhooks", &hook).await.is(201);
    cvu
}

/// Everything that a bank writes.
async fn bank(service: &TestService, cvu: &str) {
    let rail = rail_id();
    let other = json!({
        "cuit": "20123456786", "name": evil("payer"), "cbu": "2850590940090418135201",
        "bank": {"code": "285", "name": evil("bankname")},
    });
    let data = json!({
        "id": format!("1-20123456786-{}-0", fresh()), "coelsa_id": rail, "type": "TRANSFERENCIA",
        "value": {"currency": "ARS", "amount": "5.00"},
        "details": {"origin_debit": other, "origin_credit": {"cvu": cvu}},
    });
    let signed = (caudal_sandbox::NOTICE_SECRET, now());
    let told = deliver(
        &service.a,
        signed,
        &notice("transfer.cvu.received", &data),
        |body| body,
    )
    .await;
    assert!((200..300).contains(&told.status), "{}", told.text);
    arrived(service, cvu, &rail).await;
    // A refusal in the bank's own words.
    let sent = service
        .a
        .transfer(cvu, json!({"alias": "DESTINO.2"}), "2.00")
        .await
        .is(201)
        .json;
    let sent = service.a.settled(&sent, "in_progress").await;
    let path = format!(
        "/sandbox/transfers/{}/settle",
        sent["originId"].as_str().unwrap()
    );
    let refused = json!({"status": "FAILED", "reason": evil("refusal")});
    let settled = service.bank.client().post(&path, &refused).await;
    assert!((200..300).contains(&settled.status), "{}", settled.text);
    service.a.settled(&sent, "rejected").await;
    // Money for nobody.
    let closed = service.a.cvu().await;
    service
        .a
        .delete(&format!("/v1/accounts/{closed}"))
        .await
        .is(200);
    let parked = json!({"cvu": closed, "amount": "3.00", "fromName": evil("parked")});
    let parked = service
        .bank
        .client()
        .post("/sandbox/cash-in", &parked)
        .await;
    assert!((200..300).contains(&parked.status), "{}", parked.text);
    wait_until("the money waits", SOON, async || {
        let open = service
            .admin_get("/admin/cases?kind=suspense")
            .await
            .is(200);
        (open["total"] == 1).then_some(())
    })
    .await;
}

/// Everything that operators write.
async fn operators(service: &TestService, cvu: &str) {
    let root = caudal_service::TEST_ADMIN_KEY;
    let decided = forgotten(service, cvu).await;
    let verdict = json!({"outcome": "rejected", "by": evil("decider"), "reason": evil("verdict"), "bankReference": evil("bankref")});
    let path =
        |transfer: &Value| format!("/admin/cases/{}/decide", transfer["id"].as_str().unwrap());
    service
        .admin("POST", &path(&decided), &verdict)
        .await
        .is(200);
    let olga = credential(service, "olga", "operator").await;
    let eva = credential(service, "eva", "approver").await;
    let policy = json!({"policy": {"fourEyes": {"decisionsAbove": "5.00"}}});
    let call = service
        .admin_client()
        .call("PATCH", "/admin/tenants/tnt_first");
    let call = call
        .header("x-admin-key", root)
        .header("x-reason", &evil("audited"));
    call.json(&policy).await.is(200);
    let waits = forgotten(service, cvu).await;
    let completed = json!({"outcome": "completed"});
    let asked = says(service, &olga, &path(&waits), &evil("approval"), &completed).await;
    let reject = format!("/admin/approvals/{}/reject", asked["id"]);
    says(service, &eva, &reject, &evil("vote"), &json!({})).await;
    // A case that keeps waiting shows its form.
    says(service, &olga, &path(&waits), &evil("approval"), &completed).await;
    let suspend = json!({"reason": evil("suspended"), "code": "fraud"});
    let path = format!("/v1/accounts/{cvu}/suspend");
    service.a.post(&path, &suspend).await.is(200);
}

/// The addresses inside the console that a page links to.
fn links(page: &str, html: &str) -> Vec<String> {
    let tags = tags(page, html);
    let leads = tags
        .iter()
        .filter_map(|tag| tag.value("href").or_else(|| tag.value("hx-get")));
    let pages =
        leads.filter(|it| it.starts_with("/console/") && !it.starts_with("/console/files/"));
    let pages = pages.map(|it| it.replace("&#38;", "&"));
    // Files are no pages: nothing in them runs in a browser.
    pages.filter(|it| !it.contains("download=")).collect()
}

/// All pages from the first one on, including searches for something hostile.
async fn walk(service: &TestService) -> BTreeMap<String, String> {
    let mut browser = Browser::entered(service).await;
    let asked: String = url::form_urlencoded::byte_serialize(evil("query").as_bytes()).collect();
    let found: String = url::form_urlencoded::byte_serialize(b"onerror").collect();
    let mut next: Vec<_> = PAGES.map(str::to_owned).into();
    next.push(format!("/console/search?q={asked}"));
    next.push(format!("/console/search?q={found}"));
    next.push(format!(
        "/console/audit?operator={asked}&action={asked}&subject={asked}"
    ));
    for list in [
        "accounts",
        "vouchers",
        "transfers",
        "events",
        "positions",
        "reconciliation",
    ] {
        let page = format!("/console/tenants/tnt_first/test/{list}");
        next.push(format!(
            "{page}?text={asked}&status={asked}&result={asked}&mode={asked}"
        ));
    }
    let (mut seen, mut walked) = (BTreeSet::new(), BTreeMap::new());
    while let Some(page) = next.pop() {
        if !seen.insert(page.clone()) {
            continue;
        }
        assert!(
            seen.len() < PAGES_MAX,
            "the console leads to ever more pages: {page}"
        );
        let answer = browser.get(&page).await.is(200);
        is_tame(&page, &answer.text);
        next.extend(links(&page, &answer.text));
        walked.insert(page, answer.text);
    }
    walked
}

#[actix_web::test]
async fn what_somebody_else_wrote_is_text_on_every_page() {
    let service = TestService::start().await;
    service.hear().await;
    let cvu = tenant(&service).await;
    bank(&service, &cvu).await;
    operators(&service, &cvu).await;
    let pages = walk(&service).await;
    assert!(pages.len() > 60, "{:?}", pages.keys());
    for mark in MARKS {
        let (raw, text) = (format!("{mark}'"), format!("{mark}&#39;"));
        let bare: Vec<_> = pages
            .iter()
            .filter(|(_, html)| html.contains(&raw))
            .collect();
        assert!(bare.is_empty(), "{mark} is not escaped on {bare:?}");
        let shown = pages.values().any(|html| html.contains(&text));
        assert!(shown, "{mark} is on none of {:?}", pages.keys());
    }
}
