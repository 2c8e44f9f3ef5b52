//! A request with curl for each operation.

use serde_json::Value;

use super::html::{entries, text};
use super::literal::LINE_MAX;
use super::{Operation, Page};

/// The headers of keys, and the variables that the documents use for them.
const KEYS: [(&str, &str); 2] = [("x-api-key", "KEY"), ("x-admin-key", "ADMIN_KEY")];
const JSON: &str = "application/json";

impl<'a> Page<'a> {
    /// The sample of an operation: what it requires, and its example of a body.
    pub(super) fn curl(&self, it: &Operation<'a>) -> String {
        let mut url = format!("$API{}", variables(it.path));
        let body = it.content.get("requestBody").map(|body| self.found(body));
        let mut parts = Vec::new();
        let header = |name: &str| {
            let known = KEYS.iter().find(|(header, _)| *header == name);
            let value = known.map_or_else(|| variable(name), |(_, key)| (*key).to_owned());
            format!("-H \"{name}: ${value}\"")
        };
        parts.extend(self.credentials(it).into_iter().map(header));
        for one in self.all_parameters(it) {
            let name = text(one, "name");
            if one.get("required") != Some(&Value::Bool(true)) {
                continue;
            }
            let place = text(one, "in");
            if place == "header" {
                parts.push(header(&name.to_ascii_lowercase()));
            } else if place == "query" {
                url.push(if url.contains('?') { '&' } else { '?' });
                url.push_str(&format!("{name}=${}", variable(name)));
            }
        }
        if let Some(body) = body {
            let media = entries(body.get("content")).next();
            let (media, content) = media.unwrap_or((JSON, &Value::Null));
            parts.push(format!("-H 'content-type: {media}'"));
            let example = content.get("example").filter(|it| !it.is_null());
            parts.push(match example {
                Some(example) => format!("-d '{}'", quoted(example)),
                None => "-d @body.json".to_owned(),
            });
        }
        // A body makes it a POST.
        let method = match (it.method, body.is_some()) {
            ("get", false) | ("post", true) => String::new(),
            (method, _) => format!("-X {} ", method.to_ascii_uppercase()),
        };
        let mut sample = format!("curl -sS {method}\"{url}\"");
        for part in parts {
            sample.push_str(" \\\n  ");
            sample.push_str(&part);
        }
        sample
    }

    /// The headers of the credentials that an operation needs.
    pub(super) fn credentials(&self, it: &Operation<'a>) -> Vec<&'a str> {
        let own = it.content.get("security");
        let needed = own.or_else(|| self.document.get("security"));
        // Any one of them is enough.
        let needed = needed.and_then(|all| all.get(0));
        let schemes = self.document.pointer("/components/securitySchemes");
        let names = entries(needed);
        let schemes = names.filter_map(|(name, _)| schemes?.get(name));
        let headers = schemes.filter(|scheme| text(scheme, "in") == "header");
        headers.map(|scheme| text(scheme, "name")).collect()
    }
}

/// A path with variables of the shell for its parameters.
fn variables(path: &str) -> String {
    let parts = path.split('{').map(|part| match part.split_once('}') {
        Some((name, rest)) => format!("${{{}}}{rest}", variable(name)),
        None => part.to_owned(),
    });
    parts.collect()
}

/// The variable of a parameter: `holdId` is `HOLD_ID`.
pub(super) fn variable(name: &str) -> String {
    let mut variable = String::with_capacity(name.len() + 4);
    let mut after_small = false;
    for c in name.chars() {
        if c.is_ascii_uppercase() && after_small {
            variable.push('_');
        }
        after_small = c.is_ascii_lowercase() || c.is_ascii_digit();
        let c = if c.is_ascii_alphanumeric() { c } else { '_' };
        variable.push(c.to_ascii_uppercase());
    }
    variable
}

/// A body between the single quotes of a shell.
fn quoted(body: &Value) -> String {
    let line = body.to_string();
    let text = if line.len() > LINE_MAX {
        format!("{body:#}")
    } else {
        line
    };
    text.replace('\'', r"'\''")
}
