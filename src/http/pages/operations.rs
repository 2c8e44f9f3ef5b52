//! The page of operations: made of the OpenAPI document, so that it cannot differ from it.
//!
//! **Shape.** A section for each tag with its operations, then one for the errors that they share, and one for the types
//! of bodies. Errors and types are described once, and whatever has one links to it. Of the samples one is open at a time;
//! no script is needed.

mod curl;
mod html;
mod literal;
mod samples;
mod types;

use std::collections::BTreeSet;

use serde_json::Value;

use super::markdown::{self, Rendered, Section};
use html::{anchor, entries, escaped, required, text};

/// The text before the operations.
const INTRODUCTION: &str = "The [OpenAPI document](/openapi.json), from which this page is made, is for generators of \
clients and for other tools.\n\n\
In the samples for curl `$API` is the address of this service; you set the other variables: your key, and the parts of a \
path.";
/// The text about the samples for the clients.
const CLIENTS: &str = "In Python and TypeScript `api` is [our client](/docs/clients): `Caudal(url, key)` or \
`new Caudal({ url, key })`. Python samples need `from caudal_client.generated import models`.";
/// The text before the errors that operations share.
const ERRORS: &str = "The body of every error has a stable `code`: [Errors](/docs/errors) lists each with what to do.";
/// The methods of operations, in the order in which a path shows them.
const METHODS: [&str; 5] = ["get", "post", "put", "patch", "delete"];

/// Renders the operations and types of a document.
pub(super) fn render(document: &Value) -> Rendered {
    let mut page = Page {
        document,
        body: Rendered::default(),
    };
    page.begin();
    let all = page.operations();
    for (tag, about) in page.tags(&all) {
        let of_tag = all.iter().filter(|it| it.tag() == tag);
        page.section(&tag, &about, &of_tag.collect::<Vec<_>>());
    }
    page.errors();
    page.types();
    page.body
}

/// A page that is being written.
struct Page<'a> {
    document: &'a Value,
    body: Rendered,
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
        let about = self.document.get("info");
        let about = about.map_or("", |info| text(info, "description"));
        self.push("<h1 id=\"api\">API</h1>\n");
        self.begins("api".to_owned(), "API", about);
        self.markdown(INTRODUCTION);
        let mut schemes = entries(self.document.pointer("/components/securitySchemes"));
        if schemes.any(|(_, scheme)| text(scheme, "name") == samples::CLIENT_KEY) {
            self.markdown(CLIENTS);
        }
        self.markdown(about);
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

    /// Notes the section that begins here.
    fn begins(&mut self, anchor: String, heading: &str, text: &str) {
        self.body.sections.push(Section {
            anchor,
            heading: heading.to_owned(),
            is_main: false,
            text: text.replace('`', ""),
        });
    }

    /// Begins a main section.
    fn begins_main(&mut self, anchor: &str, heading: &str, about: &str) {
        let shown = escaped(heading);
        self.push(&format!("<h2 id=\"{anchor}\">{shown}</h2>\n"));
        self.markdown(about);
        self.body.sections.push(Section {
            anchor: anchor.to_owned(),
            heading: heading.to_owned(),
            is_main: true,
            text: about.to_owned(),
        });
    }

    fn section(&mut self, tag: &str, about: &str, operations: &[&Operation<'a>]) {
        self.begins_main(&anchor(&["tag", tag].join(" ")), tag, about);
        self.push("<ul class=\"index\">\n");
        for it in operations {
            let head = head(it);
            let summary = escaped(text(it.content, "summary"));
            let id = it.id();
            self.push(&format!(
                "<li><a href=\"#{id}\">{head}</a> {summary}</li>\n"
            ));
        }
        self.push("</ul>\n");
        for it in operations {
            self.operation(it);
        }
    }

    fn operation(&mut self, it: &Operation<'a>) {
        let (head, id) = (head(it), it.id());
        self.push(&format!("<article>\n<h3 id=\"{id}\">{head}</h3>\n"));
        let (summary, about) = (text(it.content, "summary"), text(it.content, "description"));
        let heading = if it.is_sent {
            it.path.to_owned()
        } else {
            self.markdown(summary);
            [&it.method.to_ascii_uppercase(), it.path].join(" ")
        };
        self.markdown(about);
        let words = [text(it.content, "operationId"), summary, about].join(" ");
        self.begins(id, &heading, &words);
        if let Some(scope) = it.content.get("x-scope").and_then(Value::as_str) {
            let scope = escaped(scope);
            self.push(&format!(
                "<p>The key needs the scope <a href=\"/docs/scopes\"><code>{scope}</code></a>.</p>\n"
            ));
        }
        self.parameters(it);
        self.request_body(it);
        self.responses(it);
        if !it.is_sent {
            self.samples(it);
        }
        self.push("</article>\n");
    }

    fn request_body(&mut self, it: &Operation<'a>) {
        let Some(body) = it.content.get("requestBody").map(|body| self.found(body)) else {
            return;
        };
        let optional = match body.get("required") {
            Some(Value::Bool(true)) => "",
            _ => ", optional",
        };
        let types = self.contents(body);
        self.push(&format!("<h4>Body</h4>\n<p>{types}{optional}</p>\n"));
        self.markdown(text(body, "description"));
        for (_, content) in entries(body.get("content")) {
            let schema = content.get("schema").map(|schema| self.found(schema));
            self.fields(schema.map_or(&Value::Null, |schema| schema));
        }
    }

    /// The fields of a type.
    fn fields(&mut self, schema: &Value) {
        let fields = types::fields(schema);
        let rows: Vec<_> = fields.iter().map(types::Field::row).collect();
        self.table("", ["field", "type", "description"], &rows);
    }

    /// The samples of an operation, one of which is open at a time.
    fn samples(&mut self, it: &Operation<'a>) {
        self.push("<h4>Samples</h4>\n");
        for (place, (language, sample)) in self.all_samples(it).into_iter().enumerate() {
            let open = if place == 0 { " open" } else { "" };
            let (name, sample) = (it.id(), escaped(&sample).into_owned());
            self.push(&format!(
                "<details name=\"{name}\"{open}><summary>{language}</summary>\n\
                 <pre tabindex=\"0\"><code>{sample}</code></pre></details>\n"
            ));
        }
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
        self.table("Parameters", ["name", "in", "type", "description"], &rows);
    }

    /// The responses of an operation. An error that several operations share is described once.
    fn responses(&mut self, it: &Operation<'a>) {
        let mut example = None;
        let (mut rows, mut errors) = (Vec::new(), Vec::new());
        for (status, response) in entries(it.content.get("responses")) {
            if let Some(name) = shared(response) {
                let id = error_anchor(name);
                errors.push(format!("<a href=\"#{id}\">{}</a>", escaped(status)));
                continue;
            }
            if status.starts_with('2') {
                let found = response.pointer("/content/application~1json/example");
                example = found.filter(|it| !it.is_null()).or(example);
            }
            rows.push(self.response(status, response));
        }
        self.table("Responses", ["status", "meaning", "body", "headers"], &rows);
        if let Some(example) = example {
            let example = escaped(&format!("{example:#}")).into_owned();
            self.push(&format!(
                "<pre tabindex=\"0\"><code>{example}</code></pre>\n"
            ));
        }
        if !errors.is_empty() {
            let errors = errors.join(", ");
            self.push(&format!("<p>Errors: {errors}</p>\n"));
        }
    }

    /// The row of a response.
    fn response(&self, status: &str, response: &Value) -> [String; 4] {
        let headers = entries(response.get("headers"));
        let headers = headers.filter(|(name, _)| !name.eq_ignore_ascii_case("x-request-id"));
        let headers = headers.map(|(name, _)| format!("<code>{}</code>", escaped(name)));
        [
            format!("<code>{}</code>", escaped(status)),
            markdown::render(text(response, "description")).html,
            self.contents(response),
            headers.collect::<Vec<_>>().join("<br>"),
        ]
    }

    /// The section of the errors that operations share.
    fn errors(&mut self) {
        self.begins_main("errors", "Errors", ERRORS);
        for (name, response) in entries(self.document.pointer("/components/responses")) {
            let (id, about) = (error_anchor(name), text(response, "description"));
            let shown = escaped(name);
            self.push(&format!("<h3 id=\"{id}\">{shown}</h3>\n"));
            self.begins(id, name, about);
            self.markdown(about);
            let types = self.contents(response);
            self.push(&format!("<p>{types}</p>\n"));
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
        self.begins_main("types", "Types", "");
        for (name, schema) in entries(self.document.pointer("/components/schemas")) {
            let (id, shown) = (types::anchor_of(name), escaped(name));
            let about = text(schema, "description");
            self.push(&format!("<article>\n<h3 id=\"{id}\">{shown}</h3>\n"));
            self.begins(id, name, about);
            self.markdown(about);
            if types::fields(schema).is_empty() {
                let kind = types::kind(schema);
                self.push(&format!("<p>{kind}</p>\n"));
            }
            self.fields(schema);
            self.push("</article>\n");
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
        self.body.html.push_str(&markdown::render(text).html);
    }

    fn push(&mut self, html: &str) {
        self.body.html.push_str(html);
    }
}

/// The name of the shared response to which one refers.
fn shared(response: &Value) -> Option<&str> {
    let place = response.get("$ref").and_then(Value::as_str)?;
    place.strip_prefix("#/components/responses/")
}

/// The address of a shared error within the page.
fn error_anchor(name: &str) -> String {
    anchor(&["error", name].join(" "))
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
