//! The pages under `/docs`: everything that they link to exists, comes from the service itself, is sent compressed and
//! only once, and is found by the search.

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

/// The index of the search.
const INDEX: &str = "/docs/search-index.js";

/// Every address that the pages of a listener link to, from the first one on, and the index of the search.
async fn crawl(client: &Client) -> BTreeMap<String, Answer> {
    let mut found = BTreeMap::new();
    let mut next = vec!["/docs/".to_owned(), INDEX.to_owned()];
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

#[actix_web::test]
async fn the_documents_name_only_headers_that_exist() {
    let service = TestService::start().await;
    let tenants = service.a.get("/openapi.json").await.is(200);
    let operators = service.admin_client().get("/openapi.json").await.is(200);
    let sent = tenants.json["components"]["headers"].as_object().unwrap();
    for document in [&tenants, &operators] {
        let words = document
            .text
            .split(|c: char| c != '-' && !c.is_ascii_alphanumeric());
        for name in words.filter(|word| word.starts_with("X-")) {
            // The reason of an operator is the only header of that kind in a request.
            assert!(name == "X-Reason" || sent.contains_key(name), "{name}");
        }
    }
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
    let samples = |language: &str| {
        let summary = format!("<summary>{language}</summary>");
        page.matches(&summary).count()
    };
    assert_eq!(samples("curl"), count);
    // The clients are for tenants; what the bank calls is not for them.
    let of_clients = if page.contains("x-api-key") {
        count - 1
    } else {
        0
    };
    assert_eq!(samples("Python"), of_clients);
    assert_eq!(samples("TypeScript"), of_clients);
    for name in object("/components/schemas").keys() {
        assert!(page.contains(&format!("<h3 id=\"type-{name}\">")), "{name}");
    }
}

/// Checks that the list for language models has every page, and that the Markdown that it names is there.
async fn the_list_is_full(client: &Client, found: &BTreeMap<String, Answer>) {
    let list = &found["/llms.txt"];
    assert_eq!(list.header("content-type"), "text/plain; charset=utf-8");
    assert!(list.text.starts_with("# Caudal"), "{}", list.text);
    let links = list.text.split("](").skip(1);
    let links = links.filter_map(|rest| rest.split(')').next());
    let mut listed: BTreeSet<&str> = BTreeSet::from(["/docs/"]);
    for link in links {
        let page = link.strip_suffix(".md").unwrap_or(link);
        assert!(found.contains_key(page), "{link}");
        if page != link {
            let text = client.get(link).await.is(200);
            assert_eq!(text.header("content-type"), "text/markdown; charset=utf-8");
            assert!(text.text.starts_with("# "), "{link}");
        }
        listed.insert(page);
    }
    for (path, answer) in found {
        let html = answer.header("content-type").starts_with("text/html");
        assert!(!html || listed.contains(&**path), "{path}");
    }
}

/// Checks that the index of the search has each heading of each page, and no other.
fn the_search_finds_every_heading(found: &BTreeMap<String, Answer>) {
    let index = found[INDEX].text.strip_prefix("export default ");
    let index = index.and_then(|text| text.strip_suffix(";\n")).unwrap();
    let index: Vec<Value> = serde_json::from_str(index).unwrap();
    let mut indexed = BTreeSet::new();
    for page in &index {
        for section in page["sections"].as_array().unwrap() {
            let place = (page["path"].as_str().unwrap(), section[0].as_str().unwrap());
            assert!(!section[1].as_str().unwrap().is_empty(), "{place:?}");
            indexed.insert(place);
        }
    }
    let mut headed = BTreeSet::new();
    for (path, answer) in found {
        let html = answer.header("content-type").starts_with("text/html");
        for level in ["<h1 id=\"", "<h2 id=\"", "<h3 id=\"", "<h4 id=\""] {
            let anchors = answer.text.split(level).skip(1).filter(|_| html);
            headed.extend(anchors.map(|rest| (&**path, rest.split('"').next().unwrap())));
        }
    }
    assert!(headed.len() > 300, "{}", headed.len());
    assert_eq!(indexed, headed);
}

async fn all_is_there(client: &Client, name: &str) {
    let found = crawl(client).await;
    the_list_is_full(client, &found).await;
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
    the_search_finds_every_heading(&found);
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

#[actix_web::test]
async fn an_unknown_address_is_a_page_to_a_browser_and_an_error_to_a_program() {
    let service = TestService::start().await;
    let (tenant, operator) = (service.a.with_key(None), service.admin_client());
    let browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
    for (client, path) in [
        (&tenant, "/nothing"),
        (&tenant, "/v1/nothing"),
        (&tenant, "/docs/nothing"),
        (&operator, "/nothing"),
        (&operator, "/docs/nothing"),
    ] {
        let page = client.get(path).header("accept", browser).await.is(404);
        assert_eq!(
            page.header("content-type"),
            "text/html; charset=utf-8",
            "{path}"
        );
        for part in [
            "<h1 id=\"not-found\">",
            "href=\"/docs/\"",
            "href=\"/docs/api\"",
        ] {
            assert!(page.text.contains(part), "{path}: {part}");
        }
        assert!(!page.text.contains("{{"), "{path}");
        for accept in [
            "*/*",
            "application/json",
            "application/json, text/html;q=0.9",
        ] {
            let answer = client.get(path).header("accept", accept).await;
            answer.refused(404, "route_not_found");
        }
    }
    let answer = tenant
        .post("/v1/days", &Value::Null)
        .header("accept", browser);
    answer.await.refused(405, "method_not_allowed");
}
