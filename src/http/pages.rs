//! The pages of a listener: its operations, its OpenAPI document, and the project's documents, all from the program
//! itself. They load nothing from other hosts.
//!
//! **Shape.** A [`Site`] has one [`PageEntry`] for each address. An entry is made on first use, since the document takes
//! tens of megabytes for a moment; only its text is kept, plain and compressed.
//!
//! **Bounds.** Entries are a fixed list. An answer shares the kept bytes, and is sent in pieces.

pub mod cached;
pub mod catalogue;
mod documents;
mod markdown;
mod operations;
mod search;

use std::sync::{LazyLock, OnceLock};

use actix_web::body::BoxBody;
use actix_web::http::header::{self, HeaderValue};
use actix_web::{HttpRequest, HttpResponse, ResponseError as _, web};
use serde_json::{Value, json};
use tokio::sync::Mutex;
use utoipa::openapi::OpenApi;

use crate::accept;
use crate::errors::{ApiError, HandlerResult};
use crate::respond;
use crate::words::Refusal;
use cached::{CachedBody, Lasting, hash};
pub use documents::{DocumentPage, documents};
use markdown::{Rendered, Section};
use search::SearchIndex;

/// The path of the document.
const DOCUMENT: &str = "/openapi.json";
/// The path under which the pages are.
const DOCS: &str = "/docs/";
/// The path of the index of all pages for language models.
const LLMS: &str = "/llms.txt";
const HTML: &str = "text/html; charset=utf-8";
const PLAIN: &str = "text/plain; charset=utf-8";
const MARKDOWN: &str = "text/markdown; charset=utf-8";
const JAVASCRIPT: &str = "text/javascript; charset=utf-8";
const FRAME: &str = include_str!("pages/frame.html");

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
const OWN: [(&str, &str, &str); 3] = [
    (
        "style.css",
        "text/css; charset=utf-8",
        include_str!("pages/style.css"),
    ),
    ("copy.js", JAVASCRIPT, include_str!("pages/copy.js")),
    ("search.js", JAVASCRIPT, include_str!("pages/search.js")),
];
/// The place in the text of a first page where the list of all pages is put.
const PAGES: &str = "{{pages}}";
/// The page at an address that does not exist.
const MISSING: &str = "# Not found\n\nThere is no page at this address. The [documentation](/docs/) lists all pages, and the \
[API reference](/docs/api) all operations.";
/// The contents of a listener's pages.
#[derive(Debug)]
pub struct ListenerPages {
    /// The name on the pages.
    pub name: &'static str,
    /// The first page, in Markdown, with the place of the list of pages.
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
    /// The list of pages for language models.
    Llms,
    Operations,
    SearchIndex,
    Text(&'static DocumentPage),
    /// A document as it is written.
    Markdown(&'static DocumentPage),
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
            (LLMS.to_owned(), PageSource::Llms),
            (format!("{DOCS}api"), PageSource::Operations),
            (format!("{DOCS}{}", search::PATH), PageSource::SearchIndex),
        ];
        entries.extend(documents().flat_map(|it| {
            let path = format!("{DOCS}{}", it.path);
            [
                (format!("{path}.md"), PageSource::Markdown(it)),
                (path, PageSource::Text(it)),
            ]
        }));
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
        let page = |title, body: &Rendered| {
            CachedBody::new(HTML, self.framed(&entry.path, title, body).into_bytes())
        };
        match entry.source {
            PageSource::Document => document((self.about.document)()),
            PageSource::Home => page("Documentation", &markdown::render(&self.home())),
            PageSource::Llms => CachedBody::new(PLAIN, self.llms().into_bytes()),
            PageSource::Operations => page("API", &self.operations()),
            PageSource::SearchIndex => CachedBody::new(JAVASCRIPT, self.search_index().script()),
            PageSource::Text(it) => page(it.name, &markdown::render(&text(it))),
            PageSource::Markdown(it) => CachedBody::new(MARKDOWN, text(it).into_bytes()),
            PageSource::Linked(kind, text) | PageSource::Own(kind, text) => {
                CachedBody::new(kind, text.into())
            }
        }
    }

    /// The first page, in Markdown.
    fn home(&self) -> String {
        self.about.home.replace(PAGES, &documents::list())
    }

    /// The list of pages, in the form of llmstxt.org.
    fn llms(&self) -> String {
        let lead = self.about.home.split(PAGES).next();
        [lead.map_or("", |lead| lead), &documents::list()].concat()
    }

    fn operations(&self) -> Rendered {
        operations::render(&value((self.about.document)()))
    }

    /// The index of the sections of all pages.
    fn search_index(&self) -> SearchIndex {
        let mut index = SearchIndex::default();
        index.add("Documentation", DOCS, markdown::render(&self.home()));
        index.add("API", &format!("{DOCS}api"), self.operations());
        for it in documents() {
            let path = format!("{DOCS}{}", it.path);
            index.add(it.name, &path, markdown::render(&text(it)));
        }
        index
    }

    /// A page in the frame that all share.
    fn framed(&self, here: &str, title: &str, body: &Rendered) -> String {
        let pages = [("api", "API")].into_iter();
        let pages = pages.chain(documents().map(|it| (it.path, it.name)));
        let links = pages.map(|(path, name)| {
            let path = format!("{DOCS}{path}");
            let here = if path == here {
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
            .replace("{{index}}", &format!("{DOCS}{}", search::PATH))
            .replace("{{links}}", &links);
        for (name, ..) in OWN {
            html = html.replace(&format!("{{{{{name}}}}}"), &file(name));
        }
        html.replace("{{contents}}", &contents(&body.sections))
            .replace("{{body}}", &body.html)
    }

    /// The response to a request for what does not exist: a page for a browser, and the error for a program.
    ///
    /// # Errors
    /// The error, for a program.
    pub fn missing(&self, request: &HttpRequest, why: Refusal) -> HandlerResult {
        let why = ApiError::from(why);
        if !accept::prefers_html(request) {
            return Err(why);
        }
        let page = self.framed(request.path(), "Not found", &markdown::render(MISSING));
        let mut response = why.error_response().map_body(|_, _| BoxBody::new(page));
        let kind = HeaderValue::from_static(HTML);
        response.headers_mut().insert(header::CONTENT_TYPE, kind);
        Ok(response)
    }

    /// Answers with the page or file at a path.
    async fn answer(&'static self, request: &HttpRequest) -> HandlerResult {
        let entry = self.entries.iter().find(|it| it.path == request.path());
        let Some(entry) = entry else {
            return self.missing(request, Refusal::NoPage);
        };
        let lasting = if matches!(entry.source, PageSource::Own(..)) {
            Lasting::Forever
        } else {
            Lasting::Asked
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
        if accept::prefers_html(request) {
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
        let vary = HeaderValue::from_static("accept");
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
            .service(web::resource(LLMS).get(page))
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

/// The text of a document. The table of event types, which comes from the service itself, stands below its document.
fn text(it: &DocumentPage) -> String {
    if it.path == "events" {
        return [it.text, EVENT_TYPES, &catalogue::events()].concat();
    }
    it.text.to_owned()
}

/// The links to the main sections of a page; empty for fewer than three.
fn contents(sections: &[Section]) -> String {
    let main: Vec<_> = sections.iter().filter(|it| it.is_main).collect();
    if main.len() < 3 {
        return String::new();
    }
    let item = |it: &&Section| {
        let heading = it.heading.replace('&', "&amp;").replace('<', "&lt;");
        format!("<li><a href=\"#{}\">{heading}</a></li>\n", it.anchor)
    };
    let items: String = main.iter().map(item).collect();
    format!(
        "<nav class=\"contents\" aria-label=\"On this page\"><p>On this page</p><ul>\n{items}</ul></nav>"
    )
}

fn to(path: &'static str) -> HttpResponse {
    HttpResponse::Found()
        .insert_header((header::LOCATION, path))
        .finish()
}
