//! The page of operations: made of the OpenAPI document, so that it cannot differ from it.
//!
//! **Shape.** A section for each tag with its operations, then one for the types of bodies. Types are written once, and
//! whatever uses one links to it. Nothing is folded, so that the browser's search finds everything, and no script is
//! needed.

mod html;
mod sample;
mod types;

use std::collections::BTreeSet;

use serde_json::Value;

use super::markdown::{self, Rendered};
use html::{anchor, entries, escaped, required, text};

/// The text before the operations.
const INTRODUCTION: &str = "Search this page with your browser. The [OpenAPI document](/openapi.json), from which it is \
made, is for generators of clients and for other tools.\n\n\
In the samples `$API` is the address of this service, and other variables are for you to set: your key, and the parts \
of a path.";
/// The methods of operations, in the order in which a path shows them.
const METHODS: [&str; 5] = ["get", "post", "put", "patch", "delete"];

/// Renders the operations and types of a document.
pub(super) fn render(document: &Value) -> Rendered {
    let mut page = Page {
        document,
        html: String::new(),
        sections: Vec::new(),
    };
    page.begin();
    let all = page.operations();
    for (tag, about) in page.tags(&all) {
        let of_tag = all.iter().filter(|it| it.tag() == tag);
        page.section(&tag, &about, &of_tag.collect::<Vec<_>>());
    }
    page.types();
    Rendered {
        html: page.html,
        sections: page.sections,
    }
}

/// A page that is being written.
struct Page<'a> {
    document: &'a Value,
    html: String,
    sections: Vec<(String, String)>,
}

/// An operation, or a request that the service sends.
#[derive(Clone, Copy)]
struct Operation<'a> {
    method: &'a str,
    /// Its path; the name of the event for a request that the service sends.
    path: &'a str,
    content: &'a Value,
    /// Whether the service sends it.
    is_sent: bool,
}

impl<'a> Operation<'a> {
    fn tag(&self) -> &'a str {
        let first = self.content.pointer("/tags/0");
        first.and_then(Value::as_str).unwrap_or("Other")
    }

    fn id(&self) -> String {
        match text(self.content, "operationId") {
            "" => anchor(&[self.method, self.path].join(" ")),
            id => anchor(id),
        }
    }
}

impl<'a> Page<'a> {
    fn begin(&mut self) {
        self.html.push_str("<h1>API</h1>\n");
        self.markdown(INTRODUCTION);
        let about = self.document.get("info");
        self.markdown(about.map_or("", |info| text(info, "description")));
    }

    /// All operations, and the requests that the service sends.
    fn operations(&self) -> Vec<Operation<'a>> {
        let places = [("paths", false), ("webhooks", true)];
        let items = places.into_iter().flat_map(|(place, is_sent)| {
            let items = entries(self.document.get(place));
            items.map(move |(path, item)| (path, item, is_sent))
        });
        let all = items.flat_map(|(path, item, is_sent)| {
            METHODS.into_iter().filter_map(move |method| {
                Some(Operation {
                    method,
                    path,
                    content: item.get(method)?,
                    is_sent,
                })
            })
        });
        all.collect()
    }

    /// The tags that operations have, with their descriptions: first in the order of the document, then those that it
    /// does not describe.
    fn tags(&self, all: &[Operation<'a>]) -> Vec<(String, String)> {
        let described = self.document.get("tags").and_then(Value::as_array);
        let described = described.into_iter().flatten();
        let described = described.map(|tag| (text(tag, "name"), text(tag, "description")));
        let others = all.iter().map(|it| (it.tag(), ""));
        let mut seen = BTreeSet::new();
        let used = |tag: &str| all.iter().any(|it| it.tag() == tag);
        let tags = described.chain(others);
        let tags = tags.filter(|(tag, _)| used(tag) && seen.insert(*tag));
        tags.map(|(tag, about)| (tag.to_owned(), about.to_owned()))
            .collect()
    }

    fn section(&mut self, tag: &str, about: &str, operations: &[&Operation<'a>]) {
        let id = anchor(&["tag", tag].join(" "));
        self.push(&format!("<h2 id=\"{id}\">{}</h2>\n", escaped(tag)));
        self.sections.push((id, tag.to_owned()));
        self.markdown(about);
        self.html.push_str("<ul class=\"index\">\n");
        for it in operations {
            let head = head(it);
            let summary = escaped(text(it.content, "summary"));
            let id = it.id();
            self.push(&format!(
                "<li><a href=\"#{id}\">{head}</a> {summary}</li>\n"
            ));
        }
        self.html.push_str("</ul>\n");
        for it in operations {
            self.operation(it);
        }
    }

    fn operation(&mut self, it: &Operation<'a>) {
        let (head, id) = (head(it), it.id());
        self.push(&format!("<article>\n<h3 id=\"{id}\">{head}</h3>\n"));
        if !it.is_sent {
            self.markdown(text(it.content, "summary"));
        }
        self.markdown(text(it.content, "description"));
        if let Some(scope) = it.content.get("x-scope").and_then(Value::as_str) {
            let scope = escaped(scope);
            self.push(&format!(
                "<p>The key needs the scope <a href=\"/docs/scopes\"><code>{scope}</code></a>.</p>\n"
            ));
        }
        self.parameters(it);
        let body = it.content.get("requestBody").map(|body| self.found(body));
        if let Some(body) = body {
            let optional = match body.get("required") {
                Some(Value::Bool(true)) => "",
                _ => ", optional",
            };
            let types = self.contents(body);
            self.push(&format!("<h4>Body</h4>\n<p>{types}{optional}</p>\n"));
            self.markdown(text(body, "description"));
        }
        self.responses(it);
        if !it.is_sent {
            let sample = escaped(&self.sample(it)).into_owned();
            self.push(&format!(
                "<h4>Sample</h4>\n<pre tabindex=\"0\"><code>{sample}</code></pre>\n"
            ));
        }
        self.html.push_str("</article>\n");
    }

    /// The parameters of an operation.
    fn all_parameters(&self, it: &Operation<'a>) -> Vec<&'a Value> {
        let all = it.content.get("parameters").and_then(Value::as_array);
        let all = all.into_iter().flatten();
        all.map(|one| self.found(one)).collect()
    }

    fn parameters(&mut self, it: &Operation<'a>) {
        let rows = self.all_parameters(it).into_iter().map(|one| {
            let name = escaped(text(one, "name"));
            let required = required(one.get("required") == Some(&Value::Bool(true)));
            let place = escaped(text(one, "in")).into_owned();
            let kind = one.get("schema").map_or_else(String::new, types::kind);
            let about = markdown::render(text(one, "description")).html;
            [format!("<code>{name}</code>{required}"), place, kind, about]
        });
        let rows: Vec<_> = rows.collect();
        self.table("Parameters", ["name", "in", "type", ""], &rows);
    }

    fn responses(&mut self, it: &Operation<'a>) {
        let mut example = None;
        let mut rows = Vec::new();
        for (status, response) in entries(it.content.get("responses")) {
            let response = self.found(response);
            if status.starts_with('2') {
                let found = response.pointer("/content/application~1json/example");
                example = found.filter(|it| !it.is_null()).or(example);
            }
            let headers = entries(response.get("headers"));
            let headers = headers.filter(|(name, _)| !name.eq_ignore_ascii_case("x-request-id"));
            let headers = headers.map(|(name, _)| format!("<code>{}</code>", escaped(name)));
            let about = markdown::render(text(response, "description")).html;
            rows.push([
                format!("<code>{}</code>", escaped(status)),
                about,
                self.contents(response),
                headers.collect::<Vec<_>>().join("<br>"),
            ]);
        }
        self.table("Responses", ["status", "", "body", "headers"], &rows);
        if let Some(example) = example {
            let example = escaped(&format!("{example:#}")).into_owned();
            self.push(&format!(
                "<pre tabindex=\"0\"><code>{example}</code></pre>\n"
            ));
        }
    }

    /// The media types of a body or a response with their types.
    fn contents(&self, of: &Value) -> String {
        let all = entries(of.get("content")).map(|(media, content)| {
            let schema = content.get("schema").or_else(|| content.get("itemSchema"));
            let kind = schema.map_or_else(String::new, types::kind);
            format!("{kind} <code>{}</code>", escaped(media))
        });
        all.collect::<Vec<_>>().join("<br>")
    }

    /// The section of types.
    fn types(&mut self) {
        let id = "types";
        self.push(&format!("<h2 id=\"{id}\">Types</h2>\n"));
        self.sections.push((id.to_owned(), "Types".to_owned()));
        for (name, schema) in entries(self.document.pointer("/components/schemas")) {
            let (id, shown) = (types::anchor_of(name), escaped(name));
            self.push(&format!("<article>\n<h3 id=\"{id}\">{shown}</h3>\n"));
            self.markdown(text(schema, "description"));
            let fields = types::fields(schema);
            if fields.is_empty() {
                let kind = types::kind(schema);
                self.push(&format!("<p>{kind}</p>\n"));
            }
            let rows: Vec<_> = fields.iter().map(types::Field::row).collect();
            self.table("", ["field", "type", ""], &rows);
            self.html.push_str("</article>\n");
        }
    }

    /// A table that scrolls by itself if it is too wide; nothing without rows.
    fn table<const N: usize>(&mut self, title: &str, header: [&str; N], rows: &[[String; N]]) {
        if rows.is_empty() {
            return;
        }
        if !title.is_empty() {
            self.push(&format!("<h4>{title}</h4>\n"));
        }
        let cells = |row: &[String; N]| {
            let cells = row.iter().map(|cell| format!("<td>{cell}</td>"));
            format!("<tr>{}</tr>\n", cells.collect::<String>())
        };
        let header: String = header.map(|cell| format!("<th>{cell}</th>")).concat();
        let rows: String = rows.iter().map(cells).collect();
        self.push(&format!(
            "<div class=\"wide\" tabindex=\"0\"><table>\n<thead><tr>{header}</tr></thead>\n\
             <tbody>\n{rows}</tbody>\n</table></div>\n"
        ));
    }

    /// A value, or the component to which it refers.
    fn found(&self, value: &'a Value) -> &'a Value {
        let place = value.get("$ref").and_then(Value::as_str);
        let place = place.and_then(|place| place.strip_prefix('#'));
        let found = place.and_then(|place| self.document.pointer(place));
        found.unwrap_or(value)
    }

    fn markdown(&mut self, text: &str) {
        self.html.push_str(&markdown::render(text).html);
    }

    fn push(&mut self, html: &str) {
        self.html.push_str(html);
    }
}

/// The method and path of an operation.
fn head(it: &Operation<'_>) -> String {
    let path = escaped(it.path);
    if it.is_sent {
        return format!("<code>{path}</code>");
    }
    let method = it.method.to_ascii_uppercase();
    format!("<b>{method}</b> <code>{path}</code>")
}

#[cfg(test)]
mod tests;
