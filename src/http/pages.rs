//! The pages of a listener: its operations, its OpenAPI document, and the project's documents, all from the program
//! itself. They load nothing from other hosts.
//!
//! **Shape.** A [`Site`] has one [`PageEntry`] for each address. An entry is made on first use, since the document takes
//! tens of megabytes for a moment; only its text is kept, plain and compressed.
//!
//! **Bounds.** Entries are a fixed list. An answer shares the kept bytes, and is sent in pieces.

pub mod cached;
pub mod catalogue;
mod markdown;
mod operations;

use std::sync::{LazyLock, OnceLock};

use actix_web::http::header;
use actix_web::{HttpRequest, HttpResponse, web};
use serde_json::{Value, json};
use tokio::sync::Mutex;
use utoipa::openapi::OpenApi;

use crate::errors::ApiError;
use crate::respond;
use crate::words::Refusal;
use cached::{CachedBody, Lasting, hash};
use markdown::Rendered;

/// The path of the document.
const DOCUMENT: &str = "/openapi.json";
/// The path under which the pages are.
const DOCS: &str = "/docs/";
const HTML: &str = "text/html; charset=utf-8";
const FRAME: &str = include_str!("pages/frame.html");

/// The documents: their address below [`DOCS`], their names, and their texts.
const DOCUMENTS: [(&str, &str, &str); 13] = [
    ("guide", "Guide", include_str!("../../docs/guide.md")),
    ("events", "Events", include_str!("../../docs/events.md")),
    ("errors", "Errors", include_str!("../../docs/errors.md")),
    ("scopes", "Scopes", include_str!("../../docs/scopes.md")),
    (
        "operations",
        "Operations",
        include_str!("../../docs/operations.md"),
    ),
    (
        "operating",
        "Several nodes",
        include_str!("../../docs/operating.md"),
    ),
    (
        "walletentidad",
        "Moving here",
        include_str!("../../docs/walletentidad.md"),
    ),
    ("cases", "Cases", include_str!("../../docs/cases.md")),
    (
        "sealed-days",
        "Sealed days",
        include_str!("../../docs/sealed-days.md"),
    ),
    ("alerts", "Alerts", include_str!("../../docs/alerts.md")),
    (
        "auditors",
        "For auditors",
        include_str!("../../docs/auditors.md"),
    ),
    (
        "evidence",
        "Evidence",
        include_str!("../../docs/evidence.md"),
    ),
    (
        "glossary",
        "Glossary",
        include_str!("../../docs/glossary.md"),
    ),
];
/// A file that a browser saves: its own policy would keep the page among them from running here.
const SAVED: &str = "application/octet-stream";
/// The files to which the documents link: address below [`DOCS`], media type, text.
const LINKED: [(&str, &str, &str); 4] = [
    (
        "verify/verify_day.py",
        SAVED,
        include_str!("../../docs/verify/verify_day.py"),
    ),
    (
        "verify/verify-day.html",
        SAVED,
        include_str!("../../docs/verify/verify-day.html"),
    ),
    (
        "verify/example-proof.json",
        "application/json",
        include_str!("../../docs/verify/example-proof.json"),
    ),
    (
        "verify/example-day.json",
        "application/json",
        include_str!("../../docs/verify/example-day.json"),
    ),
];
/// The text before the table on the page of events.
const EVENT_TYPES: &str =
    "\n## Types\n\n`data` has the schema of that name in the OpenAPI document.\n\n";
/// Files of our own: name, media type, text.
const OWN: [(&str, &str, &str); 2] = [
    (
        "style.css",
        "text/css; charset=utf-8",
        include_str!("pages/style.css"),
    ),
    (
        "copy.js",
        "text/javascript; charset=utf-8",
        include_str!("pages/copy.js"),
    ),
];
/// The contents of a listener's pages.
#[derive(Debug)]
pub struct ListenerPages {
    /// The name on the pages.
    pub name: &'static str,
    /// The first page, in Markdown.
    pub home: &'static str,
    /// The document of its operations.
    pub document: fn() -> OpenApi,
}

/// The pages of a listener.
#[derive(Debug)]
pub struct Site {
    about: ListenerPages,
    entries: Vec<PageEntry>,
}

/// One address and the page or file there.
#[derive(Debug)]
struct PageEntry {
    path: String,
    source: PageSource,
    kept: OnceLock<CachedBody>,
    /// Held by the request that makes it.
    making: Mutex<()>,
}

#[derive(Clone, Copy, Debug)]
enum PageSource {
    Document,
    Home,
    Operations,
    Text(&'static str, &'static str),
    Linked(&'static str, &'static str),
    Own(&'static str, &'static str),
}

/// A hash of all files, which is a part of their addresses.
static FILES: LazyLock<String> =
    LazyLock::new(|| hash(OWN.iter().map(|(_, _, text)| text.as_bytes())));

/// The path of a file.
fn file(name: &str) -> String {
    format!("{DOCS}files/{}/{name}", *FILES)
}

impl Site {
    /// The pages of a listener; none is made yet.
    pub fn new(about: ListenerPages) -> Self {
        let mut entries = vec![
            (DOCUMENT.to_owned(), PageSource::Document),
            (DOCS.to_owned(), PageSource::Home),
            (format!("{DOCS}api"), PageSource::Operations),
        ];
        entries.extend(
            DOCUMENTS
                .map(|(path, name, text)| (format!("{DOCS}{path}"), PageSource::Text(name, text))),
        );
        entries.extend(
            LINKED.map(|(path, kind, text)| {
                (format!("{DOCS}{path}"), PageSource::Linked(kind, text))
            }),
        );
        entries.extend(OWN.map(|(name, kind, text)| (file(name), PageSource::Own(kind, text))));
        let entry = |(path, source)| PageEntry {
            path,
            source,
            kept: OnceLock::new(),
            making: Mutex::default(),
        };
        Self {
            about,
            entries: entries.into_iter().map(entry).collect(),
        }
    }

    fn make(&self, entry: &PageEntry) -> CachedBody {
        let page = |title, text: &str| self.page(entry, title, &markdown::render(text));
        match entry.source {
            PageSource::Document => document((self.about.document)()),
            PageSource::Home => page("Documentation", self.about.home),
            // The table of types, which comes from the service itself, stands below the document.
            PageSource::Text("Events", text) => page(
                "Events",
                &[text, EVENT_TYPES, &catalogue::events()].concat(),
            ),
            PageSource::Text(name, text) => page(name, text),
            PageSource::Operations => {
                let document = value((self.about.document)());
                self.page(entry, "API", &operations::render(&document))
            }
            PageSource::Linked(kind, text) | PageSource::Own(kind, text) => {
                CachedBody::new(kind, text.into())
            }
        }
    }

    /// A page in the frame that all share.
    fn page(&self, entry: &PageEntry, title: &str, body: &Rendered) -> CachedBody {
        let pages = [("api", "API")].into_iter();
        let pages = pages.chain(DOCUMENTS.iter().map(|(path, name, _)| (*path, *name)));
        let links = pages.map(|(path, name)| {
            let path = format!("{DOCS}{path}");
            let here = if path == entry.path {
                " aria-current=\"page\""
            } else {
                ""
            };
            format!("<a href=\"{path}\"{here}>{name}</a>\n")
        });
        let links: String = links.collect();
        // The texts of the documents are put in last, so that nothing in them is replaced.
        let mut html = FRAME
            .replace("{{name}}", self.about.name)
            .replace("{{title}}", title)
            .replace("{{version}}", env!("CARGO_PKG_VERSION"))
            .replace("{{links}}", &links);
        for (name, ..) in OWN {
            html = html.replace(&format!("{{{{{name}}}}}"), &file(name));
        }
        html = html
            .replace("{{contents}}", &contents(&body.sections))
            .replace("{{body}}", &body.html);
        CachedBody::new(HTML, html.into_bytes())
    }

    /// Answers with the page or file at a path.
    async fn answer(&'static self, request: &HttpRequest) -> Result<HttpResponse, ApiError> {
        let entry = self.entries.iter().find(|it| it.path == request.path());
        let entry = entry.ok_or(Refusal::NoPage)?;
        let lasting = match entry.source {
            PageSource::Own(..) => Lasting::Forever,
            PageSource::Document
            | PageSource::Home
            | PageSource::Operations
            | PageSource::Text(..)
            | PageSource::Linked(..) => Lasting::Asked,
        };
        if let Some(kept) = entry.kept.get() {
            return Ok(kept.answer(request, lasting));
        }
        // Making an entry takes so long that other requests on this thread would notice. Each request that made it would
        // have a thread of its own.
        let _turn = entry.making.lock().await;
        if let Some(kept) = entry.kept.get() {
            return Ok(kept.answer(request, lasting));
        }
        let made = web::block(move || entry.kept.get_or_init(|| self.make(entry))).await;
        match made {
            Ok(kept) => Ok(kept.answer(request, lasting)),
            Err(_) => Ok(HttpResponse::ServiceUnavailable().finish()),
        }
    }

    /// The root: leads a browser to the pages, and shows a program the addresses.
    fn root(&self, request: &HttpRequest) -> HttpResponse {
        let taken = request.headers().get_all(header::ACCEPT);
        let mut taken = taken.filter_map(|value| value.to_str().ok());
        if taken.any(|value| value.contains("text/html")) {
            return to(DOCS);
        }
        let mut answer = respond::json(
            actix_web::http::StatusCode::OK,
            &json!({
                "name": self.about.name,
                "version": env!("CARGO_PKG_VERSION"),
                "documentation": DOCS,
                "openapi": DOCUMENT,
                "live": "/livez",
                "ready": "/readyz",
            }),
        );
        let vary = header::HeaderValue::from_static("accept");
        answer.headers_mut().insert(header::VARY, vary);
        answer
    }

    /// Adds the routes of these pages.
    pub fn routes(&'static self, config: &mut web::ServiceConfig) {
        let root = move |request: HttpRequest| async move { self.root(&request) };
        let page = move |request: HttpRequest| async move { self.answer(&request).await };
        config
            .service(web::resource("/").get(root))
            .service(web::resource(DOCUMENT).get(page))
            .service(web::resource("/docs").get(|| async { to(DOCS) }))
            .service(web::resource("/docs/{file:.*}").get(page));
    }
}

#[expect(clippy::expect_used, reason = "the document is ours")]
fn document(document: OpenApi) -> CachedBody {
    let json = serde_json::to_vec(&document).expect("a document that can be written");
    drop(document);
    CachedBody::new("application/json", json)
}

/// The document for the page that is made of it.
#[expect(
    clippy::expect_used,
    clippy::needless_pass_by_value,
    reason = "the document is ours, and large: only one form of it is in memory at a time"
)]
fn value(document: OpenApi) -> Value {
    serde_json::to_value(&document).expect("a document that can be written")
}

/// The links to the sections of a page; empty for fewer than three.
fn contents(sections: &[(String, String)]) -> String {
    if sections.len() < 3 {
        return String::new();
    }
    let item = |(anchor, heading): &(String, String)| {
        let heading = heading.replace('&', "&amp;").replace('<', "&lt;");
        format!("<li><a href=\"#{anchor}\">{heading}</a></li>\n")
    };
    let items: String = sections.iter().map(item).collect();
    format!(
        "<nav class=\"contents\" aria-label=\"On this page\"><p>On this page</p><ul>\n{items}</ul></nav>"
    )
}

fn to(path: &'static str) -> HttpResponse {
    HttpResponse::Found()
        .insert_header((header::LOCATION, path))
        .finish()
}
