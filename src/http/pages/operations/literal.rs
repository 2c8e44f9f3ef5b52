//! A value of JSON as a literal of a programming language.

use serde_json::Value;

/// How long a literal may be to stay on one line, in characters.
pub(super) const LINE_MAX: usize = 80;
/// What one level is indented by, in characters.
const INDENT: usize = 2;

/// The words and marks in which languages differ.
#[derive(Debug)]
pub(super) struct Syntax {
    null: &'static str,
    yes: &'static str,
    no: &'static str,
    /// Whether names of fields stand without quotation marks.
    bare: bool,
    /// The space inside the braces of an object on one line.
    pad: &'static str,
}

pub(super) const PYTHON: Syntax = Syntax {
    null: "None",
    yes: "True",
    no: "False",
    bare: false,
    pad: "",
};
pub(super) const TYPESCRIPT: Syntax = Syntax {
    null: "null",
    yes: "true",
    no: "false",
    bare: true,
    pad: " ",
};

impl Syntax {
    /// The literal of a value, which begins in a line with this depth.
    pub(super) fn literal(&self, value: &Value, depth: usize) -> String {
        let line = self.line(value);
        if line.len() <= LINE_MAX {
            return line;
        }
        let deeper = depth + 1;
        let (open, parts, close) = match value {
            Value::Array(items) => {
                let items = items.iter().map(|it| self.literal(it, deeper));
                ('[', items.collect::<Vec<_>>(), ']')
            }
            Value::Object(fields) => {
                let fields = fields.iter().map(|(name, it)| {
                    let (name, it) = (self.name(name), self.literal(it, deeper));
                    format!("{name}: {it}")
                });
                ('{', fields.collect(), '}')
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return line,
        };
        let (inner, outer) = (" ".repeat(deeper * INDENT), " ".repeat(depth * INDENT));
        let parts = parts.iter().map(|part| format!("{inner}{part},\n"));
        format!("{open}\n{}{outer}{close}", parts.collect::<String>())
    }

    /// The literal on one line.
    fn line(&self, value: &Value) -> String {
        match value {
            Value::Null => self.null.to_owned(),
            Value::Bool(true) => self.yes.to_owned(),
            Value::Bool(false) => self.no.to_owned(),
            // The escapes of JSON are those of both languages.
            Value::Number(_) | Value::String(_) => value.to_string(),
            Value::Array(items) => {
                let items: Vec<_> = items.iter().map(|it| self.line(it)).collect();
                format!("[{}]", items.join(", "))
            }
            Value::Object(fields) => {
                let fields = fields.iter();
                let fields =
                    fields.map(|(name, it)| format!("{}: {}", self.name(name), self.line(it)));
                let (fields, pad) = (fields.collect::<Vec<_>>().join(", "), self.pad);
                format!("{{{pad}{fields}{pad}}}")
            }
        }
    }

    /// The name of a field.
    fn name(&self, name: &str) -> String {
        let plain = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        if self.bare && plain {
            name.to_owned()
        } else {
            Value::from(name).to_string()
        }
    }
}
