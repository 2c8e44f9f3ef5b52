//! Every page of the console and every operation of the admin API that reads: whoever was shown a person is on record.

use std::collections::{BTreeMap, BTreeSet};

use super::{entries, person};
use crate::cli::{caudal, said};
use crate::console::browser::order;
use crate::support::{Answer, SOON, TestClock, TestService, Value, json, wait_until};

const HOLDER: &str = "Zulema Quiroga Distinta";
/// What the person has available in the end, as the API and as the console write it.
const AVAILABLE: [&str; 3] = ["7654300.98", "7.654.300,98", "7,654,300.98"];

/// A service in which one person has an account with some of everything.
struct Seeded {
    service: TestService,
    cuit: String,
    cvu: String,
    /// The addresses of one of each thing, by the pattern of its route.
    ids: BTreeMap<&'static str, String>,
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

async fn seeded() -> Seeded {
    let service = TestService::start().await;
    service.hear().await;
    let client = &service.a;
    client.in_and_out().await;
    let hook = json!({"url": "http://127.0.0.1:9/"});
    let hook = client.post("/v1/webhooks", &hook).await.is(201);
    let cuit = crate::support::cuit(777_123);
    let body = json!({"cuit": cuit, "holderName": HOLDER});
    let cvu = text(&client.open_with(body).await["cvu"]);
    let other = client.cvu().await;
    client.credit(&other, "100.00").await;
    let voucher = client.voucher(&cvu, "IN", "7654321.98", "order-z").await;
    let sent = client.transfer(&cvu, json!({"alias": "destino.0"}), "10.00");
    client.settled(&sent.await.is(201).json, "completed").await;
    let sent = client.transfer(&cvu, json!({"alias": "DESTINO.2"}), "10.00");
    let sent = client
        .settled(&sent.await.is(201).json, "in_progress")
        .await;
    let origin = &sent["originId"];
    service.bank.settle(origin, "UNKNOWN_FOREVER").await;
    client.settled(&sent, "audit").await;
    client.hold(&cvu, "1.00").await;
    assert_eq!(client.available(&cvu).await, AVAILABLE[0]);
    let policy = json!({"policy": {"fourEyes": {"decisionsAbove": "5.00"}}});
    order(&service, "PATCH", "/admin/tenants/tnt_first", &policy)
        .await
        .is(200);
    let transfer = text(&sent["id"]);
    let verdict = json!({"outcome": "rejected", "by": "Ana"});
    let decide = format!("/admin/cases/{transfer}/decide");
    order(&service, "POST", &decide, &verdict).await.is(202);
    let hook = text(&hook["id"]);
    let list = format!("/v1/webhooks/{hook}/deliveries");
    let delivery = wait_until("something is delivered", SOON, async || {
        let page = client.get(&list).await.is(200);
        let first = page["items"].get(0).or(page.json.get(0));
        first.map(|it| text(&it["id"]))
    })
    .await;
    let ids = BTreeMap::from([
        ("vouchers", text(&voucher.is(201)["id"])),
        ("transfers", transfer.clone()),
        ("cases", transfer),
        ("webhooks", hook),
        ("deliveries", delivery),
        ("approvals", "1".to_owned()),
        ("accounts", cvu.clone()),
        ("actors", cvu.clone()),
        ("tenants", "tnt_first".to_owned()),
    ]);
    Seeded {
        service,
        cuit,
        cvu,
        ids,
    }
}

impl Seeded {
    /// An address of a pattern, with one of each thing in it.
    fn address(&self, pattern: &str) -> String {
        let mut kind = "";
        let mut parts = Vec::new();
        for part in pattern.split('/') {
            parts.push(match part {
                "{mode}" => "test".to_owned(),
                "{tenant}" => "tnt_first".to_owned(),
                part if part.starts_with('{') => self.ids[kind].clone(),
                part => part.to_owned(),
            });
            kind = part;
        }
        parts.join("/")
    }

    /// Whether an answer shows the person.
    fn shows(&self, answer: &Answer) -> bool {
        let marks = [HOLDER, &self.cuit, &self.cvu];
        let mut marks = marks.into_iter().chain(AVAILABLE);
        answer.status == 200 && marks.any(|mark| answer.text.contains(mark))
    }
}

/// The patterns of the console's pages, according to the route table.
fn patterns() -> BTreeSet<String> {
    let routes = include_str!("../../src/operators/console.rs");
    let mut found = BTreeSet::new();
    for service in routes.split(".service(").skip(1) {
        // The address of the console itself leads on.
        if service.contains(".get(") && !service.contains("login::home") {
            found.insert(service.split('"').nth(1).unwrap().to_owned());
        }
    }
    found
}

#[actix_web::test]
async fn every_page_of_the_console_that_shows_a_person_leaves_an_entry() {
    let seeded = seeded().await;
    let (_, mut browser) = person(&seeded.service, "vera", "auditor").await;
    let today = seeded.service.engine().now().business_day();
    let queries = |pattern: &str| match pattern {
        "/search" => vec![
            format!("?q={}", seeded.cuit),
            "?q=Zulema".to_owned(),
            "?q=order-z".to_owned(),
        ],
        "/accounts/{key}" => vec![String::new(), "?at=2026-01-01".to_owned()],
        "/accounts/{key}/statement" => ["csv", "pdf", "json", "camt053"]
            .map(|it| format!("?from={today}&to={today}&format={it}"))
            .into(),
        "/tenants/{tenant}/{mode}/reconciliation" => vec!["?whole=yes".to_owned()],
        "/audit" => vec![
            format!("?subject={}", seeded.cvu),
            format!("?subject={}&download=csv", seeded.cvu),
        ],
        "/cases"
        | "/tenants/{tenant}/{mode}/accounts"
        | "/tenants/{tenant}/{mode}/vouchers"
        | "/tenants/{tenant}/{mode}/transfers"
        | "/tenants/{tenant}/{mode}/positions"
        | "/accounts/{key}/movements" => vec![String::new(), "?download=csv".to_owned()],
        _ => vec![String::new()],
    };
    // These need no session, never end, or need a day that is over.
    let skipped = [
        "/login",
        "/enter",
        "/live",
        "/files/{version}/{name}",
        "/tenants/{tenant}/{mode}/days/{date}",
    ];
    let mut shown = BTreeMap::new();
    for pattern in patterns() {
        if skipped.contains(&pattern.as_str()) {
            continue;
        }
        for query in queries(&pattern) {
            let page = format!("/console{}{query}", seeded.address(&pattern));
            let answer = browser.get(&page).await;
            assert_eq!(answer.status, 200, "{page}: {}", answer.text);
            // A statement names the account in its address, whatever its bytes look like.
            if seeded.shows(&answer) || pattern.ends_with("/statement") {
                shown.insert(page, answer);
            }
        }
    }
    let mut looks = entries(&seeded.service, "operator=vera&action=openPage").await;
    looks.extend(entries(&seeded.service, "operator=vera&action=downloadList").await);
    for (page, answer) in &shown {
        let of: Vec<_> = looks.iter().filter(|it| it["subject"] == **page).collect();
        assert_eq!(of.len(), 1, "{page} shows a person and leaves no entry");
        assert_eq!(
            (&of[0]["outcome"], &of[0]["role"]),
            (&json!("looked"), &json!("auditor"))
        );
        let named = answer.text.contains(&seeded.cvu) || page.contains(&seeded.cvu);
        let cvu = &of[0]["shown"][&seeded.cvu];
        assert_eq!(cvu.is_null(), !named, "{page}: {}", of[0]);
    }
    let pages: Vec<_> = shown.keys().collect();
    assert!(pages.len() >= 20, "{pages:?}");
}

#[actix_web::test]
async fn every_operation_of_the_admin_api_that_shows_a_person_leaves_an_entry() {
    let seeded = seeded().await;
    let (key, _) = person(&seeded.service, "vera", "auditor").await;
    let admin = seeded.service.admin_client();
    let document = admin.get("/openapi.json").await.is(200).json;
    let mut shown = BTreeMap::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        let Some(id) = item["get"]["operationId"].as_str() else {
            continue;
        };
        if !path.starts_with("/admin/") {
            continue;
        }
        let query = match id {
            "readEvidence" => format!("?mode=test&cvu={}", seeded.cvu),
            "find" => "?id=nobody-has-this".to_owned(),
            _ => String::new(),
        };
        let page = format!("{}{query}", seeded.address(path));
        let answer = admin.get(&page).header("x-admin-key", &key);
        let answer = answer.await.is(200);
        if seeded.shows(&answer) {
            shown.insert(id.to_owned(), answer);
        }
    }
    let looks = entries(&seeded.service, "operator=vera").await;
    for (id, answer) in &shown {
        let of: Vec<_> = looks.iter().filter(|it| it["action"] == **id).collect();
        assert_eq!(of.len(), 1, "{id} shows a person and leaves no entry");
        let named = answer.text.contains(&seeded.cvu);
        assert_eq!(of[0]["shown"][&seeded.cvu].is_null(), !named, "{}", of[0]);
    }
    for known in [
        "listCases",
        "readCase",
        "readActor",
        "readApproval",
        "listAudit",
    ] {
        assert!(shown.contains_key(known), "{known}: {:?}", shown.keys());
    }
}

#[actix_web::test]
async fn looks_are_found_by_cvu_and_by_cuit_with_their_queries() {
    let seeded = seeded().await;
    let (_, mut browser) = person(&seeded.service, "vera", "viewer").await;
    let realm = "/console/tenants/tnt_first/test";
    let mut pages: Vec<_> = ["positions", "transfers", "vouchers", "accounts"]
        .map(|list| format!("{realm}/{list}"))
        .into();
    pages.push(format!("{realm}/positions?text=Zulema&date="));
    pages.push("/console/parts/reconciliation/tnt_first/test".to_owned());
    pages.push(format!("/console/search?q={}", seeded.cuit));
    for page in &pages {
        browser.get(page).await.is(200);
    }
    // This one shows somebody else.
    browser.get("/console/search?q=Holder").await.is(200);
    let right: BTreeSet<_> = pages.iter().cloned().collect();
    let found = |rows: &[Value]| -> BTreeSet<String> {
        let of = rows.iter().filter(|it| it["operator"] == "vera");
        of.map(|it| text(&it["subject"])).collect()
    };
    for subject in [&seeded.cvu, &seeded.cuit] {
        let rows = entries(&seeded.service, &format!("subject={subject}")).await;
        assert_eq!(found(&rows), right, "{subject}");
        let run = caudal(&["audit", "--subject", subject, "--json"])
            .env("CAUDAL_ADMIN_URL", seeded.service.admin_client().url)
            .env("CAUDAL_ADMIN_KEY", caudal_service::TEST_ADMIN_KEY)
            .output();
        let (code, out, err) = said(&run.unwrap());
        assert_eq!(code, Some(0), "{err}");
        let rows: Vec<Value> = serde_json::from_str(&out).unwrap();
        assert_eq!(found(&rows), right, "{subject}");
    }
    let (_, mut auditor) = person(&seeded.service, "luz", "auditor").await;
    let page = format!("/console/audit?subject={}", seeded.cuit);
    let page = auditor.get(&page).await.is(200).text;
    assert!(
        page.contains("/console/search?q=") && page.contains(&seeded.cvu),
        "{page}"
    );
}

#[actix_web::test]
async fn a_page_has_one_entry_a_minute() {
    let clock = TestClock::at("2026-03-02T12:00:00Z");
    let service = TestService::at(&clock).await;
    let cvu = service.a.cvu().await;
    let (_, mut browser) = person(&service, "vera", "viewer").await;
    let page = format!("/console/accounts/{cvu}");
    let count = async || {
        entries(&service, "operator=vera&action=openPage")
            .await
            .len()
    };
    for (instant, looks) in [
        ("2026-03-02T12:00:00Z", 1),
        ("2026-03-02T12:00:59Z", 1),
        ("2026-03-02T12:01:00Z", 2),
    ] {
        clock.set(instant);
        for _ in 0..3 {
            browser.get(&page).await.is(200);
        }
        assert_eq!(count().await, looks, "{instant}");
    }
    browser.get(&format!("{page}?at=2026-01-01")).await.is(200);
    assert_eq!(count().await, 3);
}
