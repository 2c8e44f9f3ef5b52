//! Logging in and out: by key, or by a link that works once, and in no other way.

use super::browser::{Browser, credential, order, token};
use crate::support::{TestService, json};

/// Every page that can be opened by itself.
pub const PAGES: [&str; 15] = [
    "/console/",
    "/console/search",
    "/console/tenants",
    "/console/cases",
    "/console/treasury",
    "/console/banks",
    "/console/people",
    "/console/settings-of-platform",
    "/console/reconciliation",
    "/console/webhooks",
    "/console/backups",
    "/console/node",
    "/console/audit",
    "/console/approvals",
    "/console/parts/equation",
];

#[actix_web::test]
async fn unauthenticated_visitors_are_redirected_to_the_login_page() {
    let service = TestService::start().await;
    let mut browser = Browser::new(&service);
    for page in PAGES
        .into_iter()
        .chain(["/console/live", "/console/accounts/1-1?at=x"])
    {
        let answer = browser.get(page).await.is(303);
        let place: String = url::form_urlencoded::byte_serialize(page.as_bytes()).collect();
        assert_eq!(
            answer.header("location"),
            format!("/console/login?back={place}")
        );
        assert_eq!(answer.text, "");
    }
    browser.get("/console/nowhere").await.is(303);
    // A part of a page is not replaced by the login page.
    let part = service.admin_client().get("/console/parts/equation");
    let part = part.header("hx-request", "true").await.is(401);
    assert!(part.header("hx-redirect").starts_with("/console/login"));
    for (method, path) in [
        ("POST", "/console/backups"),
        ("POST", "/console/accounts/1-1/act?what=suspend"),
    ] {
        service.admin_client().call(method, path).await.is(303);
    }
    // The public listener has nothing of the console.
    service.a.get("/console/").await.is(404);
}

#[actix_web::test]
async fn the_key_logs_in_and_leads_back_to_a_page_of_the_console_alone() {
    let service = TestService::start().await;
    let key = caudal_service::TEST_ADMIN_KEY;
    for (back, place) in [
        ("/console/backups", "/console/backups"),
        ("/console/search?q=a%20b", "/console/search?q=a%20b"),
        ("https://elsewhere.example/console/", "/console/"),
        ("//elsewhere.example/console/", "/console/"),
        ("/console//elsewhere.example", "/console/"),
        ("/console/\\elsewhere.example", "/console/"),
        ("/console/\r\nset-cookie: a=b", "/console/"),
        ("/admin/tenants", "/console/"),
        ("", "/console/"),
    ] {
        let mut browser = Browser::new(&service);
        let answer = browser
            .send("/console/login", &[("key", key), ("back", back)])
            .await;
        assert_eq!(answer.is(303).header("location"), place, "{back}");
        browser.get("/console/").await.is(200);
    }
    for wrong in ["", "wrong", " ", &format!("{key}x")] {
        let mut browser = Browser::new(&service);
        let answer = browser
            .send("/console/login", &[("key", wrong)])
            .await
            .is(401);
        assert!(
            answer.text.contains("La credencial no es correcta."),
            "{}",
            answer.text
        );
        assert_eq!(browser.cookie("caudal_session"), None);
    }
    // A page of another site cannot log anybody in.
    let mut browser = Browser::new(&service);
    browser
        .send_from("/console/login", &[("key", key)], "cross-site")
        .await
        .is(401);
    assert_eq!(browser.cookie("caudal_session"), None);
    browser
        .send_from("/console/login", &[("key", key)], "same-site")
        .await
        .is(401);
    browser
        .send("/console/login", &[("key", &"x".repeat(20_000))])
        .await
        .is(413);
}

#[actix_web::test]
async fn a_link_logs_in_once() {
    let service = TestService::start().await;
    let link = service.console_link();
    let mut browser = Browser::new(&service);
    let entered = browser.get(&link).await.is(200);
    assert!(entered.text.contains("url=/console/"), "{}", entered.text);
    browser.get("/console/").await.is(200);
    let mut second = Browser::new(&service);
    let used = second.get(&link).await.is(401);
    assert!(used.text.contains("El enlace ya se usó"), "{}", used.text);
    second.get("/console/").await.is(303);
    second.get("/console/enter?link=").await.is(401);
    second.get("/console/enter").await.is(401);
}

#[actix_web::test]
async fn a_session_ends_with_its_logout_and_with_the_credential() {
    let service = TestService::start().await;
    let mut browser = Browser::entered(&service).await;
    let secret = browser.cookie("caudal_session").unwrap().clone();
    let answer = browser
        .act("/console/", "/console/logout", &[])
        .await
        .is(303);
    assert_eq!(answer.header("location"), "/console/login");
    assert_eq!(browser.cookie("caudal_session"), None);
    browser.set("caudal_session", &secret);
    browser.get("/console/").await.is(303);

    let credential = credential(&service, "ana", "viewer").await;
    let mut ana = Browser::new(&service);
    ana.send("/console/login", &[("key", &credential)])
        .await
        .is(303);
    let page = ana.get("/console/").await.is(200);
    assert!(
        page.text.contains("<span class=\"who\">ana</span>"),
        "{}",
        page.text
    );
    order(&service, "DELETE", "/admin/people/ana", &json!({}))
        .await
        .is(204);
    ana.get("/console/").await.is(303);
}

#[actix_web::test]
async fn each_login_gets_a_new_session() {
    let service = TestService::start().await;
    let key = [("key", caudal_service::TEST_ADMIN_KEY)];
    // An attacker has set a cookie before, either made up or of their own session.
    let mut other = Browser::entered(&service).await;
    let theirs = other.cookie("caudal_session").unwrap().clone();
    for planted in ["x".repeat(43), theirs] {
        let mut browser = Browser::new(&service);
        browser.set("caudal_session", &planted);
        browser.send("/console/login", &key).await.is(303);
        let own = browser.cookie("caudal_session").unwrap().clone();
        assert_ne!(own, planted);
        assert_eq!(own.len(), 43, "256 bits");
        // The planted cookie leads nowhere.
        browser.set("caudal_session", &planted);
        browser.get("/console/").await.is(303);
        browser.set("caudal_session", &own);
        // Nor does the former session work any more when somebody logs in again, by key or by link.
        browser.send("/console/login", &key).await.is(303);
        let next = browser.cookie("caudal_session").unwrap().clone();
        browser.get(&service.console_link()).await.is(200);
        for old in [&own, &next] {
            let mut left = Browser::new(&service);
            left.set("caudal_session", old);
            left.get("/console/").await.is(303);
        }
        browser.get("/console/").await.is(200);
    }
    other.get("/console/").await.is(303);
    // A session is accepted from its cookie and from nowhere else.
    let own = Browser::entered(&service).await;
    let own = own.cookie("caudal_session").unwrap();
    let page = format!("/console/?caudal_session={own}");
    let asked = service.admin_client().get(&page);
    asked
        .header("caudal_session", own)
        .header("authorization", own)
        .await
        .is(303);
}

#[actix_web::test]
async fn the_cookie_of_a_session_goes_to_the_console_alone_and_in_secret_where_the_way_is() {
    let service = TestService::start().await;
    let mut said = Vec::new();
    for proto in ["", "http", "https"] {
        let call = service.admin_client().call("POST", "/console/login");
        let call = call.header("content-type", "application/x-www-form-urlencoded");
        let call = match proto {
            "" => call,
            proto => call.header("x-forwarded-proto", proto),
        };
        let key = caudal_service::TEST_ADMIN_KEY;
        let answer = call.body(format!("key={key}")).await.is(303);
        let mut lines = answer.headers.get_all("set-cookie").iter();
        let line = lines.next().unwrap().to_str().unwrap().to_owned();
        assert!(lines.next().is_none(), "one cookie");
        let (_, attributes) = line.split_once("; ").unwrap();
        said.push(attributes.to_owned());
    }
    let usual = "Path=/console; Max-Age=43200; HttpOnly; SameSite=Strict";
    assert_eq!(said, [usual, usual, &format!("{usual}; Secure")]);
}

#[actix_web::test]
async fn forms_of_others_are_refused() {
    let service = TestService::start().await;
    let mut browser = Browser::entered(&service).await;
    let mut other = Browser::entered(&service).await;
    let (own, foreign) = (
        browser.token("/console/backups").await,
        other.token("/console/backups").await,
    );
    assert_ne!(own, foreign);
    for token in ["", "x", &foreign] {
        let answer = browser
            .send("/console/backups", &[("token", token)])
            .await
            .is(403);
        assert!(
            answer.text.contains("no es de esta sesión"),
            "{}",
            answer.text
        );
    }
    browser.send("/console/backups", &[]).await.is(403);
    for site in ["cross-site", "same-site"] {
        let fields = [("token", own.as_str())];
        browser
            .send_from("/console/backups", &fields, site)
            .await
            .is(403);
    }
    browser
        .send("/console/backups", &[("token", &own)])
        .await
        .is(303);
}

#[actix_web::test]
async fn language_and_theme_are_kept_and_nothing_else_is_taken_for_them() {
    let service = TestService::start().await;
    let mut browser = Browser::entered(&service).await.reads("en-US,en;q=0.9");
    let page = browser.get("/console/").await.is(200);
    assert!(
        page.text.contains("<html lang=\"en\" data-theme=\"auto\">"),
        "{}",
        page.text
    );
    let fields = [
        ("language", "es"),
        ("theme", "dark"),
        ("back", "/console/cases"),
    ];
    let answer = browser.send("/console/settings", &fields).await.is(303);
    assert_eq!(answer.header("location"), "/console/cases");
    let page = browser.get("/console/cases").await.is(200);
    assert!(
        page.text.contains("<html lang=\"es\" data-theme=\"dark\">"),
        "{}",
        page.text
    );
    let fields = [("language", "\"><script>"), ("theme", "x; Path=/")];
    browser.send("/console/settings", &fields).await.is(303);
    browser.set("caudal_theme", "\"><script>");
    let page = browser.get("/console/cases").await.is(200);
    assert!(
        page.text.contains("<html lang=\"es\" data-theme=\"auto\">"),
        "{}",
        page.text
    );
    assert!(token(&page.text).is_some());
}
