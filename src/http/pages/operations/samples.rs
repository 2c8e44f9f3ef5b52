//! The samples of an operation: curl, and our clients where there is a method for it.

use serde_json::Value;

use super::curl::variable;
use super::html::{entries, text};
use super::literal::{PYTHON, TYPESCRIPT};
use super::{Operation, Page};

/// The header of the keys that the clients send.
pub(super) const CLIENT_KEY: &str = "x-api-key";
/// The media type of the stream of events, for which the clients have a method of their own.
const STREAM: &str = "/responses/200/content/text~1event-stream";
/// The names of parameters that are words of Python, which the client ends with an underscore.
const PYTHON_WORDS: [&str; 1] = ["from"];

/// What a call of a client passes.
struct Call<'a> {
    /// The parameters of the path.
    path: Vec<&'a str>,
    /// The other parameters that are required.
    named: Vec<&'a str>,
    /// The type and the example of the body.
    body: Option<(&'a str, &'a Value)>,
}

impl<'a> Page<'a> {
    /// The samples of an operation by language.
    pub(super) fn all_samples(&self, it: &Operation<'a>) -> Vec<(&'static str, String)> {
        let mut samples = vec![("curl", self.curl(it))];
        if !self.credentials(it).contains(&CLIENT_KEY) {
            return samples;
        }
        if it.content.pointer(STREAM).is_some() {
            let python = "for event in api.events():\n    print(event.id)";
            let typescript = "for await (const event of api.events()) console.log(event.id);";
            samples.push(("Python", python.to_owned()));
            samples.push(("TypeScript", typescript.to_owned()));
            return samples;
        }
        let call = self.call(it);
        let id = text(it.content, "operationId");
        samples.push(("Python", call.python(id)));
        samples.push(("TypeScript", call.typescript(id)));
        samples
    }

    fn call(&self, it: &Operation<'a>) -> Call<'a> {
        let is = |one: &&Value, place| text(one, "in") == place;
        let all = self.all_parameters(it);
        let path = all.iter().filter(|one| is(one, "path"));
        let named = all.iter().filter(|one| !is(one, "path"));
        let named = named.filter(|one| one.get("required") == Some(&Value::Bool(true)));
        let body = it.content.get("requestBody").map(|body| self.found(body));
        let content = body.and_then(|body| entries(body.get("content")).next());
        let body = content.and_then(|(_, content)| {
            let place = content.pointer("/schema/$ref").and_then(Value::as_str)?;
            let (_, name) = place.rsplit_once('/')?;
            Some((name, content.get("example")?))
        });
        Call {
            path: path.map(|one| text(one, "name")).collect(),
            named: named.map(|one| text(one, "name")).collect(),
            body,
        }
    }
}

impl Call<'_> {
    fn python(&self, id: &str) -> String {
        let named = self.named.iter().map(|name| {
            let mut name = snake(name);
            if PYTHON_WORDS.contains(&name.as_str()) {
                name.push('_');
            }
            format!("{name}={name}")
        });
        let mut parts: Vec<_> = self.path.iter().map(|name| snake(name)).collect();
        parts.extend(named);
        parts.extend(self.body.map(|(kind, example)| {
            let example = PYTHON.literal(example, 0);
            format!("body=models.{kind}.from_dict({example})")
        }));
        format!("api.{}({})", snake(id), parts.join(", "))
    }

    fn typescript(&self, id: &str) -> String {
        let names = self.path.iter().chain(&self.named);
        let mut parts: Vec<_> = names.map(|name| camel(name)).collect();
        parts.extend(self.body.map(|(_, example)| {
            let example = TYPESCRIPT.literal(example, 0);
            format!("body: {example}")
        }));
        if parts.is_empty() {
            return format!("await api.{id}();");
        }
        format!("await api.{id}({{ {} }});", parts.join(", "))
    }
}

/// A name as Python writes it: `holdId` is `hold_id`.
fn snake(name: &str) -> String {
    variable(name).to_ascii_lowercase()
}

/// A name as TypeScript writes it: `Idempotency-Key` is `idempotencyKey`.
fn camel(name: &str) -> String {
    let mut parts = name.split('-');
    let Some(first) = parts.next() else {
        return String::new();
    };
    let mut camel = match first.split_at_checked(1) {
        Some((start, rest)) => start.to_ascii_lowercase() + rest,
        None => String::new(),
    };
    camel.extend(parts);
    camel
}
