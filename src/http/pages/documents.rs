//! The documents that the pages are made of: one table for the navigation, the first page, `/llms.txt` and the manual.

/// A document of the project.
#[derive(Debug)]
pub struct DocumentPage {
    /// Its address below `/docs/`.
    pub path: &'static str,
    /// Its name in the navigation.
    pub name: &'static str,
    /// What a reader finds there.
    pub about: &'static str,
    /// Its text, in Markdown.
    pub text: &'static str,
}

/// Declares a group of documents: path, name, description, and the file relative to this one.
macro_rules! documents {
    ($($path:literal, $name:literal, $about:literal, $file:literal;)+) => {
        &[$(DocumentPage { path: $path, name: $name, about: $about, text: include_str!($file) }),+]
    };
}

/// The documents by the title of their group.
const GROUPS: [(&str, &[DocumentPage]); 2] = [
    (
        "Start here",
        documents! {
            "guide", "Guide", "from the first account to a verified webhook, in commands that run as printed",
                "../../../docs/guide.md";
            "clients", "Clients", "clients for TypeScript and Python, and a collection for Postman",
                "../../../clients/README.md";
            "typescript", "TypeScript", "the client for TypeScript: quick start, files, events, webhooks",
                "../../../clients/typescript/README.md";
            "python", "Python", "the client for Python: quick start, files, events, asyncio, webhooks",
                "../../../clients/python/README.md";
            "events", "Events", "webhooks, feed and stream, and what a consumer can rely on",
                "../../../docs/events.md";
            "errors", "Errors", "the one shape of errors, when to retry, and every code with what to do",
                "../../../docs/errors.md";
            "scopes", "Scopes", "what a key may do with each scope",
                "../../../docs/scopes.md";
            "walletentidad", "Moving here", "how to move a client of a walletentidad API to Caudal",
                "../../../docs/walletentidad.md";
            "glossary", "Glossary", "CVU, CBU, CUIT, alias, voucher, realm and the other terms",
                "../../../docs/glossary.md";
        },
    ),
    (
        "Run it",
        documents! {
            "operations", "Operations", "from `dev` to `serve`: packages, settings, log, clock, bounds, backup, restore",
                "../../../docs/operations.md";
            "operating", "Several nodes", "add a node, remove one, upgrade without a pause, lose a machine",
                "../../../docs/operating.md";
            "alerts", "Alerts", "what each alert means, and what to do",
                "../../../docs/alerts.md";
            "cases", "Cases", "what waits for a person, and how to decide it",
                "../../../docs/cases.md";
            "sealed-days", "Sealed days", "what a sealed day proves, and how anybody verifies a balance in it",
                "../../../docs/sealed-days.md";
            "auditors", "For auditors", "what an auditor can read, export and verify",
                "../../../docs/auditors.md";
            "evidence", "Evidence", "what was broken on purpose, and performance",
                "../../../docs/evidence.md";
        },
    ),
];

/// All documents, in the order of the navigation.
pub fn documents() -> impl Iterator<Item = &'static DocumentPage> {
    GROUPS.iter().flat_map(|(_, pages)| pages.iter())
}

/// The list of all pages with a line about each, in Markdown.
pub(super) fn list() -> String {
    let mut list = "## API\n\n- [API reference](/docs/api): every operation with its fields, errors and samples\n\
                    - [OpenAPI document](/openapi.json): the same for generators and other programs\n"
        .to_owned();
    for (title, pages) in GROUPS {
        list.push_str(&format!("\n## {title}\n\n"));
        for page in pages {
            let DocumentPage {
                path, name, about, ..
            } = page;
            list.push_str(&format!("- [{name}](/docs/{path}.md): {about}\n"));
        }
    }
    list
}
