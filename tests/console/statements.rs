//! Statements from the console: the same file that the account's holder would get, only for people who are logged in,
//! and recorded.

use super::browser::Browser;
use crate::support::{TestService, Value};

/// The days of a requested statement: no test service has existed for longer.
fn days(service: &TestService) -> String {
    let today = service.engine().now().business_day();
    format!("from={}-01&to={today}", today.month())
}

async fn looked(service: &TestService) -> Vec<Value> {
    let page = service.admin_get("/admin/audit?action=openPage").await;
    let items = page.is(200)["items"].as_array().unwrap().clone();
    let statement = |it: &Value| it["subject"].as_str().unwrap().contains("/statement?");
    items.into_iter().filter(statement).collect()
}

#[actix_web::test]
async fn the_file_is_that_of_the_tenant_and_who_looked_is_on_record() {
    let service = TestService::start().await;
    service.a.in_and_out().await;
    let cvu = service.a.cvu().await;
    service.a.credit(&cvu, "1234.50").await;
    let (mut browser, days) = (Browser::entered(&service).await, days(&service));
    let page = format!("/console/accounts/{cvu}");
    let shown = browser.get(&page).await.is(200).text;
    let action = format!("action=\"{page}/statement\"");
    assert!(shown.contains(&action), "{shown}");
    for (format, media, ending) in [
        ("csv", "text/csv", "csv"),
        ("camt053", "application/xml", "xml"),
        ("json", "application/json", "json"),
        ("pdf", "application/pdf", "pdf"),
    ] {
        let wanted = format!("/v1/accounts/{cvu}/statements?{days}");
        let wanted = service.a.get(&wanted).header("accept", media).await;
        let file = format!("{page}/statement?{days}&format={format}");
        let file = browser.get(&file).await.is(200);
        assert!(file.header("content-type").starts_with(media), "{format}");
        let name = file.header("content-disposition");
        let begins = format!("attachment; filename=\"resumen-{cvu}-");
        let ends = format!(".{ending}\"");
        assert!(name.starts_with(&begins) && name.ends_with(&ends), "{name}");
        assert_eq!(file.header("cache-control"), "no-store");
        // The etag is the hash of the bytes.
        let wanted = wanted.is(200);
        assert_eq!(file.header("etag"), wanted.header("etag"), "{format}");
    }
    let entries = looked(&service).await;
    assert_eq!(entries.len(), 4);
    for entry in &entries {
        assert_eq!(entry["outcome"], "looked");
        assert_eq!(entry["shown"][&cvu], 1);
    }
}

#[actix_web::test]
async fn what_is_asked_for_wrongly_is_a_page_that_says_so() {
    let service = TestService::start().await;
    let cvu = service.a.cvu().await;
    let path = format!("/console/accounts/{cvu}/statement");
    let mut browser = Browser::entered(&service).await.reads("en");
    for query in [
        "",
        "from=2026-01-01",
        "from=x&to=2026-01-02",
        "from=2026-01-02&to=2026-01-01",
        "from=2024-01-01&to=2026-01-01",
        "from=2026-01-01&to=2999-01-01",
        "from=2026-01-01&to=2026-01-02&format=odt",
        "from=2026-01-01&from=2026-01-01&to=2026-01-02",
    ] {
        let answer = browser.get(&format!("{path}?{query}")).await.is(400);
        assert!(
            answer.header("content-type").starts_with("text/html"),
            "{query}"
        );
    }
    // Nothing was shown, so no look is recorded.
    assert_eq!(looked(&service).await, Vec::<Value>::new());
    let nobody = "/console/accounts/0000003100000000000000/statement";
    browser.get(nobody).await.is(404);
    let mut anonymous = Browser::new(&service);
    let answer = anonymous.get(&format!("{path}?{}", days(&service))).await;
    assert!(answer.is(303).header("location").contains("/console/login"));
}
