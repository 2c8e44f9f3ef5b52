//! The types of bodies and parameters, in words.

use serde_json::Value;

use super::super::markdown;
use super::html::{anchor, entries, escaped, required, text};

/// The depth to which fields of objects inside objects are listed.
const DEPTH_MAX: usize = 4;
/// The bounds of a value: the word of the schema, and that of the page.
const BOUNDS: [(&str, &str); 8] = [
    ("minimum", "at least"),
    ("maximum", "at most"),
    ("minLength", "characters at least"),
    ("maxLength", "characters at most"),
    ("minItems", "items at least"),
    ("maxItems", "items at most"),
    ("pattern", "pattern"),
    ("default", "by default"),
];

/// A field of an object.
#[derive(Debug)]
pub(super) struct Field<'a> {
    /// Its name, behind those of the objects that it is in.
    name: String,
    schema: &'a Value,
    required: bool,
}

impl Field<'_> {
    /// Its name, type and description, as HTML.
    pub(super) fn row(&self) -> [String; 3] {
        let name = escaped(&self.name);
        let required = required(self.required);
        let about = markdown::render(text(self.schema, "description")).html;
        let name = format!("<code>{name}</code>{required}");
        [name, kind(self.schema), about]
    }
}

/// The address of a type within the page.
pub(super) fn anchor_of(name: &str) -> String {
    anchor(&["type", name].join(" "))
}

/// The fields of a type, required ones first, with those of objects that have no name of their own.
pub(super) fn fields(schema: &Value) -> Vec<Field<'_>> {
    let mut all = Vec::new();
    collect(schema, "", DEPTH_MAX, &mut all);
    all
}

fn collect<'a>(schema: &'a Value, within: &str, depth: usize, all: &mut Vec<Field<'a>>) {
    let Some(deeper) = depth.checked_sub(1) else {
        return;
    };
    let listed = schema.get("required").and_then(Value::as_array);
    let is_required = |name: &str| {
        let mut listed = listed.into_iter().flatten();
        listed.any(|it| it.as_str() == Some(name))
    };
    let fields = entries(schema.get("properties"));
    let fields = fields.map(|(name, inner)| (is_required(name), name, inner));
    let (first, rest): (Vec<_>, Vec<_>) = fields.partition(|(required, ..)| *required);
    for (required, name, inner) in first.into_iter().chain(rest) {
        let full = format!("{within}{name}");
        all.push(Field {
            name: full.clone(),
            schema: inner,
            required,
        });
        collect(inner, &format!("{full}."), deeper, all);
        if let Some(items) = inner.get("items") {
            collect(items, &format!("{full}[]."), deeper, all);
        }
    }
    // What several types have in common, and what only this one has.
    let parts = schema.get("allOf").and_then(Value::as_array);
    for part in parts.into_iter().flatten() {
        collect(part, within, deeper, all);
    }
}

/// A type in words, as HTML: links to named types, and bounds.
pub(super) fn kind(schema: &Value) -> String {
    if let Some(place) = schema.get("$ref").and_then(Value::as_str) {
        let name = place.rsplit_once('/').map_or(place, |(_, name)| name);
        let (id, name) = (anchor_of(name), escaped(name));
        return format!("<a href=\"#{id}\">{name}</a>");
    }
    for (word, between) in [("oneOf", " or "), ("anyOf", " or "), ("allOf", " and ")] {
        if let Some(parts) = schema.get(word).and_then(Value::as_array) {
            return parts.iter().map(kind).collect::<Vec<_>>().join(between);
        }
    }
    let values = schema.get("enum").and_then(Value::as_array);
    if let Some(values) = values {
        let value = |it: &Value| format!("<code>{}</code>", escaped(&plain(it)));
        return values.iter().map(value).collect::<Vec<_>>().join(", ");
    }
    let mut shown = match schema.get("type") {
        Some(Value::Array(several)) => {
            let words = several.iter().map(|word| base(word, schema));
            words.collect::<Vec<_>>().join(" or ")
        }
        Some(one) => base(one, schema),
        None => "any".to_owned(),
    };
    if let Some(format) = schema.get("format").and_then(Value::as_str) {
        shown.push_str(&format!(" ({})", escaped(format)));
    }
    for (name, word) in BOUNDS {
        if let Some(bound) = schema.get(name).filter(|it| !it.is_null()) {
            let bound = plain(bound);
            shown.push_str(&format!(", {word} <code>{}</code>", escaped(&bound)));
        }
    }
    shown
}

/// The basic type of a name.
fn base(word: &Value, schema: &Value) -> String {
    match (word.as_str(), schema.get("items")) {
        (Some("array"), Some(items)) => format!("array of {}", kind(items)),
        (Some("object"), _) => match schema.get("additionalProperties") {
            Some(each @ Value::Object(_)) => format!("object of {}", kind(each)),
            _ => "object".to_owned(),
        },
        (_, _) => escaped(&plain(word)).into_owned(),
    }
}

/// A value as text: without quotation marks if it is one.
fn plain(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}
