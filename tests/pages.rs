//! The pages under `/docs`: everything that they link to exists, comes from the service itself, and is sent
//! compressed and only once.

use std::collections::{BTreeMap, BTreeSet};

use caudal_ledger::events::EventKind;
use serde_json::Value;

use crate::support::{Answer, Client, TestService};

/// The files that a page needs, and the targets of its links.
#[derive(Default)]
struct Leads {
    /// Scripts, styles and pictures, which are fetched without a click.
    needs: Vec<String>,
    links: Vec<String>,
}

impl Leads {
    fn of(html: &str) -> Self {
        let mut leads = Self::default();
        for tag in html
            .split('<')
            .skip(1)
            .filter_map(|rest| rest.split('>').next())
        {
            let name = tag.split([' ', '\n']).next().unwrap();
            let value = |attribute: &str| {
                let rest = tag.split_once(&format!("{attribute}=\""))?.1;
                Some(rest.split('"').next().unwrap().to_owned())
            };
            match name {
                "a" => leads.links.extend(value("href")),
                _ => leads.needs.extend(value("src").or_else(|| value("href"))),
            }
        }
        leads
    }
}

/// Every address that the pages of a listener link to, from the first one on.
async fn crawl(client: &Client) -> BTreeMap<String, Answer> {
    let mut found = BTreeMap::new();
    let mut next = vec!["/docs/".to_owned()];
    while let Some(path) = next.pop() {
        if found.contains_key(&path) {
            continue;
        }
        let answer = client.get(&path).await.is(200);
        if answer.header("content-type").starts_with("text/html") {
            let leads = Leads::of(&answer.text);
            for need in &leads.needs {
                assert!(
                    need.starts_with("/docs/files/") || need == "data:,",
                    "{path} asks for {need}"
                );
            }
            let own = leads.needs.into_iter().filter(|need| need != "data:,");
            next.extend(own);
            // Many links lead to other places of the same page.
            let links: BTreeSet<String> = leads.links.into_iter().collect();
            for link in links {
                let (target, anchor) = link.split_once('#').unwrap_or((&link, ""));
                if target.starts_with("http") {
                    continue;
                }
                let id = format!("id=\"{anchor}\"");
                let holds = |text: &str| anchor.is_empty() || text.contains(&id);
                let target = match target {
                    "" => {
                        assert!(holds(&answer.text), "{path}: {link}");
                        continue;
                    }
                    whole if whole.starts_with('/') => whole.to_owned(),
                    beside => format!("/docs/{beside}"),
                };
                let there = client.get(&target).await.is(200);
                assert!(holds(&there.text), "{path}: {link}");
                next.push(target);
            }
        }
        found.insert(path, answer);
    }
    found
}

#[actix_web::test]
async fn all_that_the_pages_lead_to_is_there_and_comes_from_here() {
    let service = TestService::start().await;
    let operators = service.admin_client();
    let operators = operators.with_key(None);
    all_is_there(&operators, "Caudal admin").await;
    // The document needs no key, unlike the operations that it describes.
    let document = operators.get("/openapi.json").await.is(200).json;
    assert!(document["paths"]["/admin/tenants"]["post"].is_object());
    operators.get("/admin/tenants").await.is(401);
    all_is_there(&service.a.with_key(None), "Caudal").await;
}

/// Checks that the errors and the events of the service are listed in full.
fn catalogues_are_full(errors: &str, events: &str) {
    for code in [
        "insufficient_funds",
        "limit_exceeded",
        "bank_timeout",
        "tenant_not_found",
    ] {
        assert!(errors.contains(&format!("<code>{code}</code>")), "{code}");
    }
    for kind in EventKind::ALL {
        let word = kind.as_str();
        assert!(events.contains(&format!("<code>{word}</code>")), "{word}");
    }
}

/// Checks that the page of operations has each operation of the document, and each type.
fn operations_are_full(page: &str, document: &Value) {
    let object = |place: &str| document.pointer(place).and_then(Value::as_object).unwrap();
    let mut count = 0;
    for item in object("/paths").values() {
        for operation in item.as_object().unwrap().values() {
            let Some(id) = operation["operationId"].as_str() else {
                continue;
            };
            assert!(page.contains(&format!("<h3 id=\"{id}\">")), "{id}");
            count += 1;
        }
    }
    assert!(count > 40, "{count}");
    assert_eq!(page.matches("curl -sS ").count(), count);
    for name in object("/components/schemas").keys() {
        assert!(page.contains(&format!("<h3 id=\"type-{name}\">")), "{name}");
    }
}

async fn all_is_there(client: &Client, name: &str) {
    let found = crawl(client).await;
    for path in [
        "api",
        "guide",
        "events",
        "errors",
        "operations",
        "operating",
        "walletentidad",
        "cases",
        "alerts",
        "evidence",
        "glossary",
    ] {
        assert!(found.contains_key(&format!("/docs/{path}")), "{path}");
    }
    assert!(found.contains_key("/openapi.json"));
    catalogues_are_full(&found["/docs/errors"].text, &found["/docs/events"].text);
    for (path, answer) in &found {
        let html = answer.header("content-type").starts_with("text/html");
        if html {
            let text = &answer.text;
            assert!(text.contains("<html lang=\"en\">"), "{path}");
            assert!(text.contains(&format!(" · {name}</title>")), "{path}");
            assert!(
                !text.contains("{{"),
                "{path} has a place that is not filled"
            );
            // Nothing on the page needs what its policy forbids.
            assert!(!text.contains(" style=\"") && !text.contains(" onclick="));
            for script in text.split("<script").skip(1) {
                let (tag, rest) = script.split_once('>').unwrap();
                assert!(
                    tag.contains("src=") && rest.starts_with("</script>"),
                    "{path}"
                );
            }
        }
        let once = if path.starts_with("/docs/files/") {
            "public, max-age=31536000, immutable"
        } else {
            "no-cache"
        };
        assert_eq!(answer.header("cache-control"), once, "{path}");
        let tag = answer.header("etag");
        let known = client.get(path).header("if-none-match", tag).await.is(304);
        assert!(known.text.is_empty(), "{path}");
        let small = client.get(path).header("accept-encoding", "gzip").await;
        assert_eq!(small.header("content-encoding"), "gzip", "{path}");
        let length: usize = small.header("content-length").parse().unwrap();
        assert!(length < answer.text.len(), "{path}: {length}");
    }
    operations_are_full(&found["/docs/api"].text, &found["/openapi.json"].json);
    client
        .get("/docs/files/AAAAAAAAAAAAAAAAAAAAAA/style.css")
        .await
        .refused(404, "route_not_found");
    client
        .get("/docs/none")
        .await
        .refused(404, "route_not_found");
}

#[actix_web::test]
async fn the_root_leads_people_to_the_pages_and_shows_programs_what_there_is() {
    let service = TestService::start().await;
    let client = service.a.with_key(None);
    let browser = "text/html,application/xhtml+xml,*/*;q=0.8";
    let led = client.get("/").header("accept", browser).await.is(302);
    assert_eq!(led.header("location"), "/docs/");
    assert_eq!(
        client.get("/docs").await.is(302).header("location"),
        "/docs/"
    );
    let shown = client.get("/").await.is(200);
    assert_eq!(shown.json["name"], "Caudal");
    for link in ["documentation", "openapi", "live", "ready"] {
        let link = shown.json[link].as_str().unwrap();
        client.get(link).await.is(200);
    }
}
