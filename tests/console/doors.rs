//! The forms that act, and the roles that may send them; and the headers that restrict a browser in
//! every answer.

use std::collections::BTreeSet;

use super::browser::{Browser, credential};
use super::sessions::PAGES;
use crate::support::{Answer, TestService};

/// Forms that need no session.
const OPEN: &[&str] = &["/login", "/settings"];
/// Forms that everybody who is logged in may send: they do not change the ledger.
const HARMLESS: &[&str] = &["/logout"];
/// Forms that act: the pattern of the route, the address to try it at, and the roles that may send it.
const ACTS: &[(&str, &str, &[&str])] = &[
    (
        "/accounts/{key}/act",
        "/console/accounts/OWN_CVU/act?what=suspend",
        ACTING,
    ),
    ("/cases/{id}", "/console/cases/trf_1", ACTING),
    ("/deliveries/{id}", "/console/deliveries/dlv_1", ACTING),
    ("/backups", "/console/backups", ACTING),
    (
        "/operations/{form}",
        "/console/operations/resume-webhook?subject=whk_1&back=/console/",
        ACTING,
    ),
    ("/approvals/{number}", "/console/approvals/1", &["approver"]),
];
/// The roles that act.
const ACTING: &[&str] = &["operator", "approver"];
const ROLES: [&str; 4] = ["viewer", "operator", "approver", "auditor"];
/// Fields that complete any of these forms.
const FIELDS: [(&str, &str); 4] = [
    ("reason", "a walk"),
    ("outcome", "approve"),
    ("code", "fraud"),
    ("by", "somebody"),
];

/// The patterns of the routes that take a form, according to the route table.
fn forms() -> BTreeSet<String> {
    let routes = include_str!("../../src/operators/console.rs");
    let mut found = BTreeSet::new();
    for service in routes.split(".service(").skip(1) {
        let pattern = service.split('"').nth(1);
        if service.contains(".post(") {
            found.insert(pattern.unwrap().to_owned());
        }
    }
    found
}

#[test]
fn every_form_of_the_console_is_known_here() {
    let known = [OPEN, HARMLESS].concat().into_iter();
    let known = known.chain(ACTS.iter().map(|(pattern, _, _)| *pattern));
    assert_eq!(forms(), known.map(str::to_owned).collect());
}

async fn person(service: &TestService, role: &str) -> Browser {
    let credential = credential(service, &format!("the.{role}"), role).await;
    let mut browser = Browser::new(service);
    browser
        .send("/console/login", &[("key", credential.as_str())])
        .await
        .is(303);
    browser
}

#[actix_web::test]
async fn each_form_is_for_its_roles_and_for_forms_of_its_session() {
    let service = TestService::start().await;
    let cvu = service.a.cvu().await;
    for role in ROLES {
        let mut browser = person(&service, role).await;
        let token = browser.token("/console/").await;
        for (pattern, place, roles) in ACTS {
            let place = &place.replace("OWN_CVU", &cvu);
            // Without the token, or with it from another site, nobody can act.
            browser.send(place, &FIELDS).await.is(403);
            let fields: Vec<_> = FIELDS
                .into_iter()
                .chain([("token", token.as_str())])
                .collect();
            browser
                .send_from(place, &fields, "cross-site")
                .await
                .is(403);
            let answer = browser.send(place, &fields).await;
            let denied = answer.status == 403 && answer.text.contains("role_missing");
            let about = format!("{pattern} as {role}: {} {}", answer.status, answer.text);
            assert_ne!(denied, roles.contains(&role), "{about}");
            assert!(
                denied || ![401, 403, 500].contains(&answer.status),
                "{about}"
            );
        }
        for harmless in HARMLESS {
            let place = format!("/console{harmless}");
            browser.send(&place, &[]).await.is(403);
        }
    }
}

#[actix_web::test]
async fn no_key_of_a_tenant_and_no_header_opens_the_console() {
    let service = TestService::start().await;
    let admin = service.admin_client();
    let tenants = service.a.key.clone().unwrap();
    let mut browser = Browser::new(&service);
    browser
        .send("/console/login", &[("key", tenants.as_str())])
        .await
        .is(401);
    for page in PAGES {
        let call = admin.get(page).header("x-api-key", &tenants);
        // The API's key does not count here: forms of other sites cannot send headers, but they can
        // send cookies.
        let call = call.header("x-admin-key", caudal_service::TEST_ADMIN_KEY);
        call.await.is(303);
    }
}

/// Checks the headers that keep a browser from framing, sniffing, running and caching.
fn is_guarded(about: &str, answer: &Answer) {
    let header = |name: &str| answer.header(name).to_owned();
    assert_eq!(header("x-content-type-options"), "nosniff", "{about}");
    let referrer = header("referrer-policy");
    assert!(
        ["same-origin", "no-referrer"].contains(&referrer.as_str()),
        "{about}: {referrer}"
    );
    assert_eq!(header("cache-control"), "no-store", "{about}");
    assert_eq!(header("access-control-allow-origin"), "", "{about}");
    if header("content-type").starts_with("text/html") {
        let policy = header("content-security-policy");
        for part in [
            "default-src 'none'",
            "script-src 'self'",
            "form-action 'self'",
            "frame-ancestors 'none'",
            "base-uri 'none'",
        ] {
            assert!(policy.contains(part), "{about}: {policy}");
        }
        assert!(!policy.contains("unsafe"), "{about}: {policy}");
        assert_eq!(header("x-frame-options"), "DENY", "{about}");
    }
}

#[actix_web::test]
async fn every_answer_of_the_console_keeps_a_browser_in_bounds() {
    let service = TestService::start().await;
    let mut anonymous = Browser::new(&service);
    let mut browser = Browser::entered(&service).await;
    let long = "x".repeat(20_000);
    let (mut pages, mut statuses) = (0, BTreeSet::new());
    let mut seen = |about: &str, answer: Answer| {
        is_guarded(about, &answer);
        pages += u32::from(answer.header("content-type").starts_with("text/html"));
        statuses.insert(answer.status);
    };
    seen("login", anonymous.get("/console/login").await);
    seen("led", anonymous.get("/console/tenants").await);
    seen("home", anonymous.get("/console").await);
    seen(
        "wrong key",
        anonymous.send("/console/login", &[("key", "x")]).await,
    );
    seen(
        "long key",
        anonymous.send("/console/login", &[("key", &long)]).await,
    );
    seen("used link", anonymous.get("/console/enter?link=x").await);
    seen("link", anonymous.get(&service.console_link()).await);
    seen("unknown", browser.get("/console/nowhere").await);
    seen("no account", browser.get("/console/accounts/x").await);
    seen(
        "wrong day",
        browser
            .get("/console/tenants/tnt_first/test/reconciliation?date=x")
            .await,
    );
    seen("no token", browser.send("/console/backups", &[]).await);
    seen("no method", browser.send("/console/tenants", &[]).await);
    let cvu = service.a.cvu().await;
    let suspend = format!("/console/accounts/{cvu}/act?what=suspend");
    seen("no reason", browser.act("/console/", &suspend, &[]).await);
    for page in PAGES {
        seen(page, browser.get(page).await);
    }
    seen(
        "left",
        browser.act("/console/", "/console/logout", &[]).await,
    );
    assert!(pages > 19, "{pages}");
    let all = [200, 303, 400, 401, 403, 404, 405, 413];
    assert!(
        all.iter().all(|status| statuses.contains(status)),
        "{statuses:?}"
    );
}
