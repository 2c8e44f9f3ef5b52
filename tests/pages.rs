//! The pages under `/docs`: everything that they link to exists, comes from the service itself, and is sent
//! compressed and only once.

use std::collections::{BTreeMap, BTreeSet};

use caudal_ledger::events::EventKind;

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
            for link in leads.links {
                let (target, anchor) = link.split_once('#').unwrap_or((&link, ""));
                if target.starts_with("http") {
                    continue;
                }
                let target = match target {
                    "" => path.clone(),
                    whole if whole.starts_with('/') => whole.to_owned(),
                    beside => format!("/docs/{beside}"),
                };
                let there = client.get(&target).await.is(200);
                let id = format!("id=\"{anchor}\"");
                assert!(
                    anchor.is_empty() || there.text.contains(&id),
                    "{path}: {link}"
                );
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

/// The classes in a style sheet's rules, except those in rules for the page of operations.
fn classes(sheet: &str) -> BTreeSet<&str> {
    let rules = sheet.split(['{', '}', ',']);
    let general = rules.filter(|rule| !rule.contains(".operations"));
    let words = general.flat_map(|rule| rule.split('.').skip(1));
    let end = |c: char| !c.is_ascii_alphanumeric() && c != '-';
    let words = words.map(|word| word.split(end).next().unwrap_or_default());
    let named = |word: &&str| word.starts_with(|c: char| c.is_ascii_alphabetic());
    words.filter(named).collect()
}

/// Checks that no rule for the other pages affects the elements of Swagger UI.
fn the_sheet_leaves_swagger_ui_alone(found: &BTreeMap<String, Answer>) {
    let file = |name: &str| {
        let path = found.keys().find(|path| path.ends_with(name));
        found[path.unwrap()].text.as_str()
    };
    let ours = classes(file("/style.css"));
    let drawn = file("/swagger-ui-bundle.js").split("className:\"").skip(1);
    let drawn = drawn.filter_map(|rest| Some(rest.split_once('"')?.0));
    let theirs: BTreeSet<_> = drawn.flat_map(str::split_whitespace).collect();
    assert!(ours.contains("sample") && theirs.contains("opblock-title"));
    assert_eq!(ours.intersection(&theirs).collect::<Vec<_>>(), [&""; 0]);
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
        let once = match path.starts_with("/docs/files/") {
            true => "public, max-age=31536000, immutable",
            false => "no-cache",
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
    the_sheet_leaves_swagger_ui_alone(&found);
    // The operations page uses no validator, and has no bar for loading another document.
    let script = found.keys().find(|path| path.ends_with("/operations.js"));
    let script = &found[script.unwrap()].text;
    assert!(script.contains("validatorUrl: 'none'") && script.contains("layout: 'BaseLayout'"));
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
