//! What operators do about tenants, keys, people, limits, fees and webhooks, from forms of the console.

use super::acts::{entries, person};
use super::browser::Browser;
use crate::support::service::TENANT;
use crate::support::{TestService, Value, json};
use crate::webhooks::inbox::Inbox;

const WHY: (&str, &str) = ("reason", "a test");

/// The address of a form's operation about a subject, from a page.
fn place(form: &str, subject: &str, page: &str) -> String {
    format!("/console/operations/{form}?subject={subject}&back={page}")
}

/// The secret that a page shows once.
fn secret(html: &str) -> String {
    let (_, rest) = html.split_once("<pre tabindex=\"0\">").unwrap();
    rest.split('<').next().unwrap().to_owned()
}

async fn tenant(service: &TestService) -> Value {
    let path = format!("/admin/tenants/{TENANT}");
    service.admin_get(&path).await.is(200).json
}

#[actix_web::test]
async fn a_key_is_issued_replaced_and_revoked() {
    let service = TestService::start().await;
    let page = format!("/console/tenants/{TENANT}");
    let mut browser = Browser::entered(&service).await;
    let issue = place("issue-key", TENANT, &page);
    let fields = [
        ("mode", "test"),
        ("label", "till 7"),
        ("scopes", "read, accounts:write"),
        ("expiresAt", "2099-01-31"),
    ];
    browser.act(&page, &issue, &fields).await.is(400);
    let fields = [&fields[..], &[WHY]].concat();
    let key = secret(&browser.act(&page, &issue, &fields).await.is(200).text);
    service
        .a
        .with_key(Some(&key))
        .get("/v1/accounts")
        .await
        .is(200);
    let keys = service
        .admin_get(&format!("/admin/tenants/{TENANT}/keys"))
        .await;
    let made = &keys["items"][0];
    assert_eq!(
        json!([made["label"], made["scopes"], made["expiresAt"]]),
        json!([
            "till 7",
            ["read", "accounts:write"],
            "2099-01-31T03:00:00.000Z"
        ])
    );
    let id = made["id"].as_str().unwrap();
    let written = entries(&service, "issueKey").await;
    assert_eq!(
        json!([written[0]["subject"], written[0]["outcome"]]),
        json!([id, "done"])
    );
    assert_eq!(written[1]["subject"], TENANT);
    // The page shows no key again, and offers those that work.
    let shown = browser.get(&page).await.is(200).text;
    assert!(
        !shown.contains(&key) && shown.contains(&format!("<option value=\"{id}\"")),
        "{shown}"
    );
    let rotate = place("rotate-key", "", &page);
    let fields = [("subject", id), ("overlapSeconds", "0"), WHY];
    let next = secret(&browser.act(&page, &rotate, &fields).await.is(200).text);
    service
        .a
        .with_key(Some(&key))
        .get("/v1/accounts")
        .await
        .is(401);
    service
        .a
        .with_key(Some(&next))
        .get("/v1/accounts")
        .await
        .is(200);
    let keys = service
        .admin_get(&format!("/admin/tenants/{TENANT}/keys"))
        .await;
    let id = keys["items"][0]["id"].as_str().unwrap().to_owned();
    let revoke = place("revoke-key", "", &page);
    let done = browser
        .act(&page, &revoke, &[("subject", &id), WHY])
        .await
        .is(303);
    assert_eq!(done.header("location"), format!("{page}?done=1"));
    service
        .a
        .with_key(Some(&next))
        .get("/v1/accounts")
        .await
        .is(401);
}

#[actix_web::test]
async fn limits_fees_and_policy_of_a_tenant_and_of_the_platform_are_changed() {
    let service = TestService::start().await;
    service.a.in_and_out().await;
    service.live.in_and_out().await;
    let page = format!("/console/tenants/{TENANT}");
    let mut browser = Browser::entered(&service).await;
    let limits = place("tenant-limits", TENANT, &page);
    let fields = [
        ("limits.dailyAmount", "5000.00"),
        ("limits.dailyCount", "7"),
        WHY,
    ];
    browser.act(&page, &limits, &fields).await.is(303);
    let set = tenant(&service).await;
    assert_eq!(
        json!([set["limits"]["dailyAmount"], set["limits"]["dailyCount"]]),
        json!(["5000.00", 7])
    );
    let shown = browser.get(&page).await.is(200).text;
    assert!(
        shown.contains("name=\"limits.dailyAmount\" value=\"5000.00\""),
        "{shown}"
    );
    let written = entries(&service, "changeTenant").await;
    let changed = written[0]["changes"].as_array().unwrap();
    assert!(
        changed
            .iter()
            .any(|it| it["field"] == "limits.dailyCount" && it["after"] == "7")
    );
    // An empty field removes a limit; a wrong one is refused with its name.
    browser
        .act(&page, &limits, &[("limits.dailyCount", "7"), WHY])
        .await
        .is(303);
    assert_eq!(tenant(&service).await["limits"]["dailyAmount"], Value::Null);
    let wrong = [("limits.dailyCount", "seven"), WHY];
    let refused = browser.act(&page, &limits, &wrong).await.is(400).text;
    assert!(refused.contains("dailyCount"), "{refused}");
    let fees = place("tenant-fees", TENANT, &page);
    let line = "voucherTypeCode=OUT, percentage=0.6, minimum=1.00, charge=true";
    browser
        .act(&page, &fees, &[("feeSchedule", line), WHY])
        .await
        .is(303);
    let set = tenant(&service).await;
    assert_eq!(
        json!([
            set["feeSchedule"][0]["percentage"],
            set["feeSchedule"][0]["minimum"]
        ]),
        json!(["0.6", "1.00"])
    );
    let settings = "/console/settings-of-platform";
    let platform = place("platform-limits", "", settings);
    let fields = [("limits.maxPerTransaction", "900.00"), WHY];
    browser.act(settings, &platform, &fields).await.is(303);
    let set = service.admin_get("/admin/platform").await;
    assert_eq!(set["limits"]["maxPerTransaction"], "900.00");
    // With two people, a limit that lets more pass waits for the second one.
    let policy = place("tenant-policy", TENANT, &page);
    let fields = [
        ("policy.closeRequiresZeroBalance", "true"),
        ("policy.relaxedTestCuit", "true"),
        ("policy.fourEyes.decisionsAbove", "100.00"),
        ("policy.fourEyes.limitRaises", "true"),
        WHY,
    ];
    browser.act(&page, &policy, &fields).await.is(303);
    let set = tenant(&service).await;
    assert_eq!(
        set["policy"]["fourEyes"],
        json!({"decisionsAbove": "100.00", "limitRaises": true})
    );
    let fields = [("limits.dailyCount", "70"), WHY];
    let asked = browser.act(&page, &limits, &fields).await.is(303);
    assert_eq!(asked.header("location"), "/console/approvals");
    assert_eq!(tenant(&service).await["limits"]["dailyCount"], 7);
    let approvals = browser.get("/console/approvals").await.is(200).text;
    let (_, entry) = approvals.split_once("href=\"/console/approvals\"").unwrap();
    assert!(
        entry.split_once("</a>").unwrap().0.contains(">1</span>"),
        "{approvals}"
    );
}

#[actix_web::test]
async fn people_are_added_change_their_role_and_leave() {
    let service = TestService::start().await;
    let page = "/console/people";
    let mut browser = Browser::entered(&service).await;
    let add = place("add-person", "", page);
    let fields = [("name", "rosa.mir"), ("role", "viewer"), WHY];
    let credential = secret(&browser.act(page, &add, &fields).await.is(200).text);
    let written = entries(&service, "addPerson").await;
    assert_eq!(written[0]["subject"], "rosa.mir");
    let role = place("change-role", "", page);
    let fields = [("subject", "rosa.mir"), ("role", "operator"), WHY];
    browser.act(page, &role, &fields).await.is(303);
    let mut own = Browser::new(&service);
    own.send("/console/login", &[("key", credential.as_str())])
        .await
        .is(303);
    let revoke = place("revoke-person", "", page);
    browser
        .act(page, &revoke, &[("subject", "rosa.mir"), WHY])
        .await
        .is(303);
    own.get(page).await.is(303);
    let people = service.admin_get("/admin/people").await;
    assert_eq!(
        json!([people["items"][0]["role"], people["items"][0]["status"]]),
        json!(["operator", "revoked"])
    );
    browser
        .act(page, &place("no-form", "", page), &[WHY])
        .await
        .is(404);
}

#[actix_web::test]
async fn a_webhook_is_resumed_and_viewers_are_offered_nothing() {
    let service = TestService::start().await;
    let inbox = Inbox::start();
    let hook = json!({"url": inbox.url("/")});
    let made = service.a.post("/v1/webhooks", &hook).await.is(201);
    let id = made["id"].as_str().unwrap();
    let path = format!("/v1/webhooks/{id}");
    service
        .a
        .patch(&path, &json!({"active": false}))
        .await
        .is(200);
    let page = format!("/console/webhooks/{id}");
    let resume = place("resume-webhook", id, &page);
    let mut viewer = person(&service, "ver.todo", "viewer").await;
    let shown = viewer.get(&page).await.is(200).text;
    assert!(!shown.contains("/console/operations/"), "{shown}");
    for page in ["/console/people", "/console/settings-of-platform"] {
        let shown = viewer.get(page).await.is(200).text;
        assert!(!shown.contains("/console/operations/"), "{shown}");
    }
    viewer.act("/console/people", &resume, &[WHY]).await.is(403);
    assert_eq!(service.a.get(&path).await["status"], "paused");
    let mut browser = Browser::entered(&service).await;
    browser.act(&page, &resume, &[WHY]).await.is(303);
    assert_eq!(service.a.get(&path).await["status"], "active");
    let shown = browser.get(&page).await.is(200).text;
    assert!(!shown.contains("resume-webhook"), "{shown}");
    // Nothing is held, so nothing comes of a release; it is on record all the same.
    let release = place("release-outgoing", "", "/console/");
    let fields = [WHY, ("by", "root")];
    browser.act("/console/", &release, &fields).await;
    assert!(!entries(&service, "releaseOutgoing").await.is_empty());
}
