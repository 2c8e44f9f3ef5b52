//! Both OpenAPI documents in short: a line for each operation, parameter, body, status and field, without the
//! sentences. `tests/contract/outline.txt` has them as they were reviewed, so a change of the interface is a change of
//! that file. To update it:
//!
//! ```text
//! CAUDAL_UPDATE_OUTLINE=1 cargo test -p caudal --test service contract::outline
//! ```

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use super::schema::Document;
use crate::support::Value;

/// Set to write the file anew.
const UPDATE: &str = "CAUDAL_UPDATE_OUTLINE";
/// What is said of a schema for people, and what has a line or a place of its own.
const NOT_SHOWN: [&str; 8] = [
    "title",
    "description",
    "example",
    "examples",
    "type",
    "properties",
    "required",
    "additionalProperties",
];

/// The last part of a reference: the name of what it refers to.
fn name(reference: &str) -> &str {
    reference.rsplit('/').next().unwrap()
}

/// A value as the outline shows it: text without quotes, a list with `|` between its members.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(members) => members.iter().map(plain).collect::<Vec<_>>().join("|"),
        other => other.to_string(),
    }
}

/// A schema in one line: its type, then every constraint.
fn short(schema: &Value) -> String {
    let Some(parts) = schema.as_object() else {
        return plain(schema);
    };
    let mut words = Vec::new();
    if !schema["type"].is_null() {
        words.push(plain(&schema["type"]));
    }
    for (key, value) in parts {
        match key.as_str() {
            "$ref" => words.push(name(value.as_str().unwrap()).to_owned()),
            "oneOf" | "anyOf" | "allOf" => {
                let choices = value.as_array().unwrap().iter().map(short);
                let between = if key == "allOf" { " & " } else { " or " };
                words.push(format!("({})", choices.collect::<Vec<_>>().join(between)));
            }
            "items" => words.push(format!("of {}", short(value))),
            "discriminator" => words.push(format!("by {}", plain(&value["propertyName"]))),
            "additionalProperties" => words.push(format!("others={}", short(value))),
            "properties" => {
                let fields = value.as_object().unwrap().iter();
                let fields = fields.map(|(field, it)| property(schema, field, it));
                words.push(format!("{{{}}}", fields.collect::<Vec<_>>().join("; ")));
            }
            shown if NOT_SHOWN.contains(&shown) => {}
            _ => words.push(format!("{key}={}", plain(value))),
        }
    }
    words.join(" ")
}

/// A field of an object; `?` after its name where it may be left out.
fn property(object: &Value, field: &str, schema: &Value) -> String {
    let mut required = object["required"].as_array().into_iter().flatten();
    let may = if required.any(|it| it == field) {
        ""
    } else {
        "?"
    };
    format!("{field}{may}: {}", short(schema))
}

/// What a body may be, by its media types.
fn contents(document: &Document, body: &Value) -> String {
    let body = document.resolved(body);
    let kinds = body["content"].as_object().into_iter().flatten();
    let kinds = kinds.map(|(kind, it)| match kind.as_str() {
        "application/json" => short(&it["schema"]),
        other => other.to_owned(),
    });
    kinds.collect::<Vec<_>>().join(", ")
}

fn operation(document: &Document, head: &str, operation: &Value, out: &mut String) {
    writeln!(out, "\n{head} {}", plain(&operation["operationId"])).unwrap();
    if let Some(scope) = operation["x-scope"].as_str() {
        writeln!(out, "    scope {scope}").unwrap();
    }
    if !operation["security"].is_null() {
        writeln!(out, "    security {}", operation["security"]).unwrap();
    }
    for it in operation["parameters"].as_array().into_iter().flatten() {
        let it = document.resolved(it);
        let may = if it["required"] == true { "" } else { "?" };
        let (place, named) = (plain(&it["in"]), plain(&it["name"]));
        writeln!(out, "    {place} {named}{may}: {}", short(&it["schema"])).unwrap();
    }
    let body = &operation["requestBody"];
    if !body.is_null() {
        let may = if body["required"] == true { "" } else { "?" };
        writeln!(out, "    body{may}: {}", contents(document, body)).unwrap();
    }
    let mut refusals = Vec::new();
    for (status, answer) in operation["responses"].as_object().unwrap() {
        if status.starts_with(['4', '5']) {
            refusals.push(status.as_str());
            continue;
        }
        let answer = document.resolved(answer);
        let headers = answer["headers"].as_object().into_iter().flatten();
        let headers: Vec<_> = headers.map(|(header, _)| header.as_str()).collect();
        let line = format!(
            "{status}: {} {}",
            contents(document, &answer),
            headers.join(" ")
        );
        writeln!(out, "    {}", line.trim_end()).unwrap();
    }
    writeln!(out, "    refused: {}", refusals.join(" ")).unwrap();
}

/// A document, by its operations in the order of their paths, its events, its headers and its schemas.
fn outline(title: &str, document: &Document, out: &mut String) {
    writeln!(out, "# {title}").unwrap();
    let operations = document.written().into_iter();
    let operations: BTreeMap<_, _> = operations
        .map(|(path, method, it)| ((path, method), it))
        .collect();
    for ((path, method), it) in &operations {
        operation(document, &format!("{method} {path}"), it, out);
    }
    let events = document.0["webhooks"].as_object().into_iter().flatten();
    writeln!(out).unwrap();
    for (event, item) in events {
        let body = contents(document, &item["post"]["requestBody"]);
        writeln!(out, "event {event}: {body}").unwrap();
    }
    let components = &document.0["components"];
    for (header, it) in components["headers"].as_object().into_iter().flatten() {
        writeln!(out, "header {header}: {}", short(&it["schema"])).unwrap();
    }
    for (schema, it) in components["schemas"].as_object().unwrap() {
        let mut whole = it.clone();
        let fields = whole.as_object_mut().unwrap().remove("properties");
        writeln!(out, "\n{schema}: {}", short(&whole)).unwrap();
        for (field, property_of) in fields.iter().filter_map(Value::as_object).flatten() {
            writeln!(out, "    {}", property(it, field, property_of)).unwrap();
        }
    }
}

#[test]
fn the_interface_is_as_it_was_reviewed() {
    let operators = serde_json::to_value(caudal_operators::admin::openapi()).unwrap();
    let mut now = String::new();
    outline("For tenants", &Document::of_the_service(), &mut now);
    writeln!(now).unwrap();
    outline("For operators", &Document(operators), &mut now);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/contract/outline.txt");
    if std::env::var_os(UPDATE).is_some() {
        std::fs::write(&path, &now).unwrap();
    }
    let reviewed = std::fs::read_to_string(&path).unwrap();
    let differs = reviewed
        .lines()
        .zip(now.lines())
        .position(|(was, is)| was != is);
    let line = differs.unwrap_or_else(|| reviewed.lines().count().min(now.lines().count()));
    assert!(
        reviewed == now,
        "the interface has changed, from line {} of {} on: now {:?}. If it should, {UPDATE}=1 writes the file anew",
        line + 1,
        path.display(),
        now.lines().nth(line)
    );
}
