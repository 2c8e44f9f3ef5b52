//! The checks that a table can make on an answer: a place, and the value expected there.

use caudal_ledger::cuit::Cuit;
use caudal_ledger::cvu::{Cbu, Cvu};
use caudal_ledger::time::{BusinessDay, Timestamp};

use crate::support::{Answer, Value};

/// The test for a form that a value may have.
type Shape = fn(&Value) -> bool;

/// The forms by name.
pub const SHAPES: &[(&str, Shape)] = &[
    ("text", Value::is_string),
    ("number", Value::is_number),
    ("integer", |value| value.is_i64() || value.is_u64()),
    ("boolean", Value::is_boolean),
    ("object", Value::is_object),
    ("list", Value::is_array),
    ("null", Value::is_null),
    ("cvu", |value| text(value, |it| Cvu::parse(it).is_ok())),
    ("cbu", |value| text(value, |it| Cbu::parse(it).is_ok())),
    ("cuit", |value| text(value, |it| Cuit::parse(it).is_ok())),
    ("alias", |value| text(value, is_alias)),
    // Two decimals, whatever the size.
    ("money", |value| text(value, is_money)),
    // `YYYY-MM-DD`.
    ("day", |value| {
        text(value, |it| BusinessDay::parse(it).is_some())
    }),
    // UTC with milliseconds and `Z`.
    ("instant", |value| text(value, is_instant)),
    // A word for programs.
    ("word", |value| text(value, is_word)),
];

fn text(value: &Value, is: impl Fn(&str) -> bool) -> bool {
    value.as_str().is_some_and(is)
}

fn is_alias(text: &str) -> bool {
    let letter = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '-';
    (6..=20).contains(&text.len()) && text.chars().all(letter)
}

fn is_money(text: &str) -> bool {
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let parts = unsigned.split_once('.');
    parts.is_some_and(|(whole, part)| digits(whole) && digits(part) && part.len() == 2)
}

fn is_instant(text: &str) -> bool {
    text.len() == 24 && text.ends_with('Z') && Timestamp::parse(text).is_some()
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_lowercase() || c == '_')
}

/// One step into a body.
#[derive(Debug)]
pub enum Part {
    /// A field, or the number of a member.
    Named(String),
    /// Each member.
    Each,
    /// The first member with this text in this field.
    First(String, String),
}

/// A place in an answer.
#[derive(Debug)]
pub enum Place {
    Header(String),
    /// The text as received.
    Text,
    Json(Vec<Part>),
}

impl Place {
    /// Reads a place.
    pub fn parse(text: &str) -> Result<Self, String> {
        if let Some(name) = text.strip_prefix("header ") {
            return Ok(Self::Header(name.to_owned()));
        }
        if text.is_empty() || text.contains(' ') {
            return Err(format!("{text:?} is no place"));
        }
        if text == "body" {
            return Ok(Self::Text);
        }
        let (mut parts, mut rest) = (Vec::new(), text.trim_start_matches('.'));
        while !rest.is_empty() {
            let end = if rest.starts_with('[') {
                rest.find(']').ok_or("no ]")? + 1
            } else {
                rest.find('.').unwrap_or(rest.len())
            };
            let (part, left) = rest.split_at(end);
            parts.push(match part.strip_prefix('[') {
                Some(pick) => {
                    let pick = pick.trim_end_matches(']');
                    let (field, value) = pick.split_once('=').ok_or("no = in []")?;
                    Part::First(field.to_owned(), value.to_owned())
                }
                None if part == "*" => Part::Each,
                None => Part::Named(part.to_owned()),
            });
            rest = left.strip_prefix('.').unwrap_or(left);
        }
        Ok(Self::Json(parts))
    }

    /// The values at the place; none if the place does not exist.
    pub fn of(&self, answer: &Answer, write: &dyn Fn(&str) -> Result<String, String>) -> Found {
        match self {
            Self::Header(name) => Ok(answer
                .headers
                .get_all(name)
                .iter()
                .map(|value| Value::from(String::from_utf8_lossy(value.as_bytes())))
                .collect()),
            Self::Text => Ok(vec![Value::from(answer.text.clone())]),
            Self::Json(parts) => {
                let (mut here, mut many) = (vec![&answer.json], false);
                for part in parts {
                    let next = step(&answer.json, &here, part, write)?;
                    // Either all members have the field, or none.
                    if many && !next.is_empty() && next.len() < here.len() {
                        return Err(format!("{} of {} have it", next.len(), here.len()));
                    }
                    many |= matches!(part, Part::Each);
                    here = next;
                }
                let here = here.into_iter().map(|value| followed(&answer.json, value));
                Ok(here.cloned().collect())
            }
        }
    }
}

/// The values at a place.
pub type Found = Result<Vec<Value>, String>;

/// The value that a `$ref` leads to, or the value itself.
fn followed<'a>(root: &'a Value, value: &'a Value) -> &'a Value {
    let target = value.get("$ref").and_then(Value::as_str);
    let target = target.and_then(|target| root.pointer(target.trim_start_matches('#')));
    target.map_or(value, |target| followed(root, target))
}

fn step<'a>(
    root: &'a Value,
    here: &[&'a Value],
    part: &Part,
    write: &dyn Fn(&str) -> Result<String, String>,
) -> Result<Vec<&'a Value>, String> {
    let mut next = Vec::new();
    for value in here.iter().map(|value| followed(root, value)) {
        match (part, value) {
            (Part::Named(name), Value::Array(list)) => {
                next.extend(name.parse().ok().and_then(|at: usize| list.get(at)));
            }
            (Part::Named(name), value) => {
                next.extend(value.get(name));
                // A schema composed of parts has the fields of its parts.
                let all: Vec<_> = value["allOf"].as_array().into_iter().flatten().collect();
                next.extend(step(root, &all, part, write)?);
            }
            (Part::Each, Value::Array(list)) => next.extend(list),
            (Part::Each, Value::Object(fields)) => next.extend(fields.values()),
            (Part::First(field, wanted), Value::Array(list)) => {
                let wanted = write(wanted)?;
                let is = |value: &&Value| {
                    let field = followed(root, value).get(field);
                    field.map(plain).is_some_and(|it| it == wanted)
                };
                next.extend(list.iter().find(is));
            }
            (Part::Each | Part::First(..), _) => {}
        }
    }
    Ok(next)
}

/// The expectation about a place.
#[derive(Debug)]
enum Test {
    Equal(String),
    Differs(String),
    Has(String),
    In(String),
    Is(Vec<(String, Shape)>),
    Count(usize),
    Keys(Vec<String>),
    Rises,
    Falls,
    Present,
    Absent,
}

/// A place and the expectation about it.
#[derive(Debug)]
pub struct Check {
    place: Place,
    test: Test,
}

impl Check {
    /// Reads a check.
    pub fn parse(text: &str) -> Result<Self, String> {
        let from = text.strip_prefix("header ").map_or(0, |_| "header ".len());
        let (head, rest) = text.split_at(from);
        let (place, rest) = rest.split_once(' ').ok_or("a place and no check")?;
        let (word, value) = rest.trim().split_once(' ').unwrap_or((rest.trim(), ""));
        let value = value.trim();
        let test = match (word, value.is_empty()) {
            ("rises", true) => Test::Rises,
            ("falls", true) => Test::Falls,
            ("present", true) => Test::Present,
            ("absent", true) => Test::Absent,
            ("==", false) => Test::Equal(expected(value)?),
            ("!=", false) => Test::Differs(expected(value)?),
            ("has", false) => Test::Has(expected(value)?),
            ("in", false) if value.starts_with('[') => Test::In(expected(value)?),
            ("count", false) => Test::Count(value.parse().map_err(|_| "no number")?),
            ("keys", false) => {
                let mut names: Vec<_> = value.split_whitespace().map(str::to_owned).collect();
                names.sort();
                Test::Keys(names)
            }
            ("is", false) => Test::Is(value.split(" or ").map(shape).collect::<Result<_, _>>()?),
            _ => return Err(format!("no check {rest:?}")),
        };
        let place = Place::parse(&format!("{head}{place}"))?;
        Ok(Self { place, test })
    }

    /// Checks an answer.
    ///
    /// # Errors
    /// The difference from the expectation.
    pub fn hold(
        &self,
        answer: &Answer,
        write: &dyn Fn(&str) -> Result<String, String>,
    ) -> Result<(), String> {
        let found = self.place.of(answer, write)?;
        let json = |value: &str| -> Result<Value, String> {
            let value = write(value)?;
            serde_json::from_str(&value).map_err(|why| format!("{value}: {why}"))
        };
        let holds = match &self.test {
            Test::Absent => found.is_empty(),
            _ if found.is_empty() => return Err("is not there".into()),
            Test::Present => true,
            Test::Rises => ordered(&found, std::cmp::Ordering::Greater),
            Test::Falls => ordered(&found, std::cmp::Ordering::Less),
            Test::Equal(value) => {
                let value = json(value)?;
                found.iter().all(|it| *it == value)
            }
            Test::Differs(value) => {
                let value = json(value)?;
                found.iter().all(|it| *it != value)
            }
            Test::Has(value) => {
                let value = json(value)?;
                found.iter().all(|it| has(it, &value))
            }
            Test::In(value) => {
                let value = json(value)?;
                found.iter().all(|it| has(&value, it))
            }
            Test::Is(shapes) => {
                let is = |value: &Value| shapes.iter().any(|(_, shape)| shape(value));
                found.iter().all(is)
            }
            Test::Count(count) => found.iter().all(|it| size(it) == Some(*count)),
            Test::Keys(names) => found.iter().all(|it| {
                let fields = it.as_object();
                let mut keys: Vec<_> = fields.into_iter().flat_map(|it| it.keys()).collect();
                keys.sort();
                keys.into_iter().eq(names)
            }),
        };
        if holds {
            return Ok(());
        }
        let found: Vec<_> = found.iter().map(Value::to_string).collect();
        Err(format!("there is {}", found.join(", ")))
    }
}

/// Checks that a value is JSON, whatever its variables stand for.
fn expected(value: &str) -> Result<String, String> {
    let zeros = super::play::written(value, &|_| Ok("0".to_owned()))?;
    serde_json::from_str::<Value>(&zeros).map_err(|why| format!("no JSON: {why}"))?;
    Ok(value.to_owned())
}

fn shape(name: &str) -> Result<(String, Shape), String> {
    let known = SHAPES.iter().find(|(known, _)| *known == name);
    let (name, shape) = known.ok_or_else(|| format!("no shape {name:?}"))?;
    Ok(((*name).to_owned(), *shape))
}

/// A text as it is, and any other value as JSON.
fn plain(value: &Value) -> String {
    let text = value.as_str().map(str::to_owned);
    text.unwrap_or_else(|| value.to_string())
}

fn has(whole: &Value, part: &Value) -> bool {
    match (whole, part) {
        (Value::String(text), Value::String(part)) => text.contains(part.as_str()),
        (Value::Array(list), part) => list.contains(part),
        _ => false,
    }
}

fn size(value: &Value) -> Option<usize> {
    match value {
        Value::Array(list) => Some(list.len()),
        Value::Object(fields) => Some(fields.len()),
        _ => None,
    }
}

/// Whether no value has this relation to the next. Amounts are compared as amounts.
fn ordered(found: &[Value], wrong: std::cmp::Ordering) -> bool {
    let key = |value: &Value| {
        let text = plain(value);
        let digits = text.split('.').next().unwrap_or_default();
        let whole = digits.parse::<u64>().is_ok().then_some(digits.len());
        (whole, text.to_lowercase())
    };
    let keys: Vec<_> = found.iter().map(key).collect();
    keys.is_sorted_by(|one, next| one.cmp(next) != wrong)
}
