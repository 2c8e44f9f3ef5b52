//! The commands that call the admin API of a running service.
//!
//! **Shape.** A row of [`table::OPERATIONS`] is a command: its words, the operation that it calls, where each argument
//! goes, and how the answer is printed. The parser, the help, the manual pages and the request follow from the row, so a
//! new operation of the admin API is one more row.
//!
//! **Failure.** A refusal is printed with what to do about it, exit code 1. An answer that says that nothing came of the
//! order ([`Operation::failed`]) is printed and exits with 1, too. What waits for a second person exits with 0.

mod readable;
mod table;

use clap::builder::PossibleValuesParser;
use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Args as _, Command, FromArgMatches, Subcommand};
use reqwest::{Method, StatusCode};
use serde_json::{Map, Value};
use url::form_urlencoded::Serializer;

use super::Exit;
use super::remote::{Asking, TIMEOUT};
use super::terminal::{say, say_json, wait};

pub(super) use readable::{Shown, rows, shown_as};

/// The word that clears a value.
const NONE: &str = "none";
/// The ends of the names of fields that are whole numbers, where names and values are given in pairs.
const INTEGERS: [&str; 2] = ["Count", "pspCode"];

/// A command that calls one operation of the admin API.
#[derive(Debug)]
struct Operation {
    /// Its words, after `caudal`.
    words: &'static str,
    /// What it does, for the help.
    about: &'static str,
    /// The method of the operation.
    method: &'static str,
    /// The path of the operation, as in its document.
    path: &'static str,
    /// Its arguments.
    fields: &'static [Field],
    /// How the answer is printed.
    shown: Shown,
    /// Why an answer means that the command failed; `None` when it does not.
    failed: fn(&Value) -> Option<String>,
}

/// An argument of a command, and where it goes in the request.
#[derive(Debug)]
struct Field {
    /// What it is called in the help: the name of an option, or a word in capitals for a place.
    name: &'static str,
    /// The field of the request; dots lead into objects.
    field: &'static str,
    part: Part,
    kind: Kind,
    /// Whether it is given by its place rather than by `--name`.
    placed: bool,
    required: bool,
    about: &'static str,
}

/// The part of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Part {
    Path,
    Query,
    Body,
}

/// What values an argument takes.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Text,
    /// A text, or [`NONE`] for null.
    Clearable,
    Number,
    /// `true` when the option is there.
    Switch,
    Boolean,
    /// One of these words.
    Words(fn() -> Vec<&'static str>),
    /// Any number of texts.
    Texts,
    /// Any number of these words.
    Among(fn() -> Vec<&'static str>),
    /// `NAME=VALUE` any number of times, with these names: the fields of an object.
    Pairs(fn() -> Vec<&'static str>),
    /// `NAME=VALUE,NAME=VALUE` or a JSON object, any number of times: a list of objects with these fields.
    Objects(fn() -> Vec<&'static str>),
}

/// A command of the table, as it was given.
#[derive(Debug)]
pub(super) struct Given {
    operation: &'static Operation,
    matches: ArgMatches,
}

/// A request.
struct Request {
    path: String,
    body: Option<Value>,
}

/// Runs a command of the table.
pub(super) fn run(given: Given) -> Result<(), Exit> {
    let Given { operation, matches } = given;
    let Request { path, body } = operation.request(&matches)?;
    let method = Method::from_bytes(operation.method.as_bytes()).map_err(Exit::failed)?;
    let asking = Asking::from_arg_matches(&matches).map_err(Exit::usage)?;
    let as_json = asking.json;
    let remote = asking.find()?;
    let reply = wait(remote.send(method, &path, body, Some(TIMEOUT)))?;
    let waits = reply.status == StatusCode::ACCEPTED;
    if as_json {
        say_json(&reply.json)?;
    } else if waits {
        say(&waiting(&reply.json))?;
    } else {
        say(&shown_as(&operation.shown, &reply.json))?;
    }
    match (operation.failed)(&reply.json) {
        Some(why) if !waits => Err(Exit::failed(why)),
        Some(_) | None => Ok(()),
    }
}

/// What a person does about an order that waits for a second person.
fn waiting(approval: &Value) -> String {
    let part = |name| readable::cell(approval, name);
    format!(
        "Nothing was done yet: approval {0} waits for a second person until {1}.\nSomebody else decides: \
         `caudal approvals approve {0}` or `caudal approvals reject {0}`.",
        part("id"),
        part("expiresAt")
    )
}

impl Operation {
    /// The request that these arguments make.
    fn request(&self, matches: &ArgMatches) -> Result<Request, Exit> {
        let mut path = self.path.to_owned();
        let mut query = Serializer::new(String::new());
        let mut body = Map::new();
        for field in self.fields {
            let Some(value) = field.value(matches)? else {
                continue;
            };
            match field.part {
                Part::Path => {
                    let named = format!("{{{}}}", field.field);
                    path = path.replace(&named, segment(&plain(&value))?);
                }
                Part::Query => {
                    query.append_pair(field.field, &plain(&value));
                }
                Part::Body => put(&mut body, field.field, value),
            }
        }
        let query = query.finish();
        if !query.is_empty() {
            path = format!("{path}?{query}");
        }
        let body = self.has_body().then_some(Value::Object(body));
        Ok(Request { path, body })
    }

    /// Whether the operation takes a body, maybe an empty one.
    fn has_body(&self) -> bool {
        let changes = ["PUT", "PATCH"].contains(&self.method);
        changes || self.fields.iter().any(|it| it.part == Part::Body)
    }

    /// The command, as the parser takes it; `name` is the last of its words.
    fn command(&self, name: &'static str) -> Command {
        let arguments = self.fields.iter().map(Field::argument);
        let command = Asking::augment_args(Command::new(name).args(arguments));
        let call = format!("Admin API: {} {}", self.method, self.path);
        command.about(self.about).after_help(call)
    }
}

impl Field {
    fn argument(&self) -> Arg {
        let mut about = self.about.to_owned();
        if let Kind::Pairs(names) | Kind::Objects(names) = self.kind {
            about.push_str(&format!(": {}", names().join(", ")));
        }
        let arg = Arg::new(self.field).help(about).required(self.required);
        let arg = if self.placed {
            arg.value_name(self.name)
        } else {
            arg.long(self.name).value_name("TEXT")
        };
        let several = |arg: Arg| {
            if self.placed {
                arg.num_args(1..)
            } else {
                arg.action(ArgAction::Append)
            }
        };
        match self.kind {
            Kind::Text | Kind::Clearable => arg,
            Kind::Number => arg
                .value_name("NUMBER")
                .value_parser(clap::value_parser!(u64)),
            Kind::Switch => arg.action(ArgAction::SetTrue),
            Kind::Boolean => arg
                .value_name("BOOLEAN")
                .value_parser(PossibleValuesParser::new(["true", "false"])),
            Kind::Words(words) => arg.value_parser(PossibleValuesParser::new(words())),
            Kind::Texts => several(arg),
            Kind::Among(words) => several(arg.value_parser(PossibleValuesParser::new(words()))),
            Kind::Pairs(_) => several(arg.value_name("NAME=VALUE")),
            Kind::Objects(_) => several(arg.value_name("NAME=VALUE,…")),
        }
    }

    /// The value that was given, if one was.
    fn value(&self, matches: &ArgMatches) -> Result<Option<Value>, Exit> {
        if matches!(self.kind, Kind::Switch) {
            return Ok(matches.get_flag(self.field).then_some(Value::Bool(true)));
        }
        if matches!(self.kind, Kind::Number) {
            let number = matches.get_one::<u64>(self.field);
            return Ok(number.map(|number| Value::from(*number)));
        }
        let Some(texts) = matches.get_many::<String>(self.field) else {
            return Ok(None);
        };
        let texts: Vec<_> = texts.map(String::as_str).collect();
        let [first, ..] = *texts.as_slice() else {
            return Ok(None);
        };
        Ok(Some(match self.kind {
            Kind::Text | Kind::Words(_) | Kind::Number | Kind::Switch => first.into(),
            Kind::Clearable if first == NONE => Value::Null,
            Kind::Clearable => first.into(),
            Kind::Boolean => (first == "true").into(),
            Kind::Texts | Kind::Among(_) => texts.into(),
            Kind::Pairs(_) => object(texts.into_iter().flat_map(|text| text.split(',')))?,
            Kind::Objects(_) if texts == [NONE] => Value::Array(Vec::new()),
            Kind::Objects(_) => {
                let objects = texts.into_iter().map(|text| match text.as_bytes() {
                    [b'{', ..] => serde_json::from_str(text)
                        .map_err(|why| Exit::usage(format!("{text:?} is no JSON: {why}"))),
                    _ => object(text.split(',')),
                });
                Value::Array(objects.collect::<Result<_, _>>()?)
            }
        }))
    }
}

/// An object of `NAME=VALUE` pairs.
fn object<'a>(pairs: impl IntoIterator<Item = &'a str>) -> Result<Value, Exit> {
    let pair = |text: &str| -> Result<(String, Value), Exit> {
        let wrong = || Exit::usage(format!("{text:?} is not NAME=VALUE"));
        let (name, value) = text.trim().split_once('=').ok_or_else(wrong)?;
        let integer = INTEGERS.iter().any(|end| name.ends_with(end));
        let value = match value {
            NONE => Value::Null,
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            number if integer => {
                let wrong = |_| Exit::usage(format!("{name}={number}: no whole number"));
                number.parse::<u64>().map_err(wrong)?.into()
            }
            text => text.into(),
        };
        Ok((name.to_owned(), value))
    };
    let pairs = pairs.into_iter().map(pair);
    Ok(Value::Object(pairs.collect::<Result<_, Exit>>()?))
}

/// Puts a value where the dots of its name lead.
fn put(into: &mut Map<String, Value>, field: &str, value: Value) {
    let Some((first, rest)) = field.split_once('.') else {
        into.insert(field.to_owned(), value);
        return;
    };
    let inner = into.entry(first).or_insert_with(|| Map::new().into());
    if let Value::Object(inner) = inner {
        put(inner, rest, value);
    }
}

/// A value in a path or a query.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// An id as one segment of a path.
fn segment(id: &str) -> Result<&str, Exit> {
    let good = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-' | b'@');
    if !id.trim_matches('.').is_empty() && id.bytes().all(good) {
        Ok(id)
    } else {
        Err(Exit::usage(format!("{id:?} is no id")))
    }
}

/// The words before the last one, and the last one.
fn split(words: &'static str) -> (&'static str, &'static str) {
    words.rsplit_once(' ').unwrap_or(("", words))
}

/// A command with the commands of the table whose words begin with `under`.
fn with_operations(command: Command, under: &str) -> Command {
    let mut command = command;
    for (words, about) in table::GROUPS {
        let (parent, name) = split(words);
        if parent == under {
            let group = Command::new(name).about(*about);
            let group = group.subcommand_required(true).arg_required_else_help(true);
            command = command.subcommand(with_operations(group, words));
        }
    }
    for operation in table::OPERATIONS {
        let (parent, name) = split(operation.words);
        if parent == under {
            command = command.subcommand(operation.command(name));
        }
    }
    command
}

impl FromArgMatches for Given {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let (mut words, mut at) = (Vec::new(), matches);
        while let Some((name, below)) = at.subcommand() {
            words.push(name);
            at = below;
        }
        let words = words.join(" ");
        let mut all = table::OPERATIONS.iter();
        let operation = all.find(|it| it.words == words);
        let operation = operation.ok_or_else(|| clap::Error::new(ErrorKind::InvalidSubcommand))?;
        Ok(Self {
            operation,
            matches: at.clone(),
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Subcommand for Given {
    fn augment_subcommands(command: Command) -> Command {
        with_operations(command, "")
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        with_operations(command, "")
    }

    fn has_subcommand(name: &str) -> bool {
        let groups = table::GROUPS.iter().map(|(words, _)| *words);
        let mut all = groups.chain(table::OPERATIONS.iter().map(|it| it.words));
        all.any(|words| words == name)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use caudal_operators::admin::openapi;
    use serde_json::json;

    use super::*;

    /// The names of the fields of a schema, with those of its alternatives.
    fn properties(document: &Value, schema: &Value) -> BTreeMap<String, Value> {
        if let Some(at) = schema["$ref"].as_str() {
            let found = document.pointer(at.trim_start_matches('#')).unwrap();
            return properties(document, found);
        }
        let own = schema["properties"].as_object().into_iter().flatten();
        let own = own.map(|(name, schema)| (name.clone(), schema.clone()));
        let others = ["oneOf", "allOf", "anyOf"].map(|name| schema[name].as_array());
        let others = others.into_iter().flatten().flatten();
        let items = schema.get("items").into_iter();
        let others = others.chain(items);
        let others = others.flat_map(|schema| properties(document, schema));
        own.chain(others).collect()
    }

    /// The fields of an operation of the document: those of its path, its query and its body.
    fn documented(document: &Value, operation: &Operation) -> BTreeSet<String> {
        let method = operation.method.to_lowercase();
        let found = &document["paths"][operation.path][&method];
        assert!(found.is_object(), "{}: no such operation", operation.words);
        let parameters = found["parameters"].as_array().into_iter().flatten();
        let parameters = parameters.filter(|it| it["in"] != "header");
        let names = parameters.map(|it| it["name"].as_str().unwrap().to_owned());
        let body = &found["requestBody"]["content"]["application/json"]["schema"];
        let body = properties(document, body).into_keys();
        // The reason travels in the header.
        names.chain(body).filter(|it| it != "reason").collect()
    }

    #[test]
    fn the_arguments_are_the_fields_of_the_document() {
        let document = serde_json::to_value(openapi()).unwrap();
        let mut all = BTreeMap::new();
        for operation in table::OPERATIONS {
            let key = (operation.method, operation.path);
            let (there, given) = all
                .entry(key)
                .or_insert_with(|| (documented(&document, operation), BTreeSet::new()));
            // The body of collector rules is a list, or an object with the list.
            if operation.path.ends_with("/collector-rules") && operation.method == "PUT" {
                *there = ["id", "rules"].map(str::to_owned).into();
            }
            let fields = operation.fields.iter();
            given.extend(fields.map(|it| it.field.split('.').next().unwrap().to_owned()));
        }
        for (operation, (there, given)) in all {
            assert_eq!(given, there, "{operation:?}");
        }
    }

    #[test]
    fn the_names_of_pairs_are_the_fields_of_the_document() {
        let document = serde_json::to_value(openapi()).unwrap();
        for operation in table::OPERATIONS {
            let method = operation.method.to_lowercase();
            let called = &document["paths"][operation.path][&method];
            let body = &called["requestBody"]["content"]["application/json"]["schema"];
            for field in operation.fields {
                let (Kind::Pairs(names) | Kind::Objects(names)) = field.kind else {
                    continue;
                };
                let inside = field.field.split('.').filter(|name| *name != "rules");
                let schema = inside.fold(body.clone(), |at, name| {
                    properties(&document, &at).remove(name).unwrap()
                });
                let there = properties(&document, &schema);
                let all: BTreeSet<_> = there.keys().map(String::as_str).collect();
                let given: BTreeSet<_> = names().into_iter().collect();
                assert_eq!(given, all, "{}: {}", operation.words, field.name);
                for (name, schema) in &there {
                    let integer = schema["type"].to_string().contains("integer");
                    let ends = INTEGERS.iter().any(|end| name.ends_with(end));
                    let money = schema["oneOf"].is_array();
                    assert_eq!(ends, integer && !money, "{name}: {schema}");
                }
            }
        }
    }

    #[test]
    fn requests_are_what_the_arguments_say() {
        for (line, path, body) in [
            (
                "cases list --kind suspense --limit 5",
                "/admin/cases?kind=suspense&limit=5",
                Value::Null,
            ),
            ("cases show trf_1", "/admin/cases/trf_1", Value::Null),
            (
                "cases decide sus_1 credit --cvu 7 --force",
                "/admin/cases/sus_1/decide",
                json!({"outcome": "credit", "cvu": "7", "force": true}),
            ),
            (
                "limits set tnt_1 dailyAmount=5.00 dailyCount=7 maxBalance=none",
                "/admin/tenants/tnt_1",
                json!({"limits": {"dailyAmount": "5.00", "dailyCount": 7, "maxBalance": null}}),
            ),
            (
                "fees set tnt_1 voucherTypeCode=TRANSFER_OUT,fixed=1.00,charge=true",
                "/admin/tenants/tnt_1",
                json!({"feeSchedule": [{"voucherTypeCode": "TRANSFER_OUT", "fixed": "1.00", "charge": true}]}),
            ),
            (
                "fees set-platform none",
                "/admin/platform",
                json!({"feeSchedule": []}),
            ),
            (
                r#"collector-rules set t direction=out,class=sweep {"textContains":"a,b"}"#,
                "/admin/tenants/t/collector-rules",
                json!({"rules": [{"direction": "out", "class": "sweep"}, {"textContains": "a,b"}]}),
            ),
            (
                "tenant set t --decisions-above none --limit-raises true --bank-live pspCode=9,username=none --provider-cuit none --provider-address Sarmiento",
                "/admin/tenants/t",
                json!({"policy": {"fourEyes": {"decisionsAbove": null, "limitRaises": true}},
                    "bank": {"live": {"pspCode": 9, "username": null}},
                    "provider": {"cuit": null, "address": "Sarmiento"}}),
            ),
            ("log reset", "/admin/log", json!({})),
            ("outgoing release", "/admin/outgoing/release", json!({})),
            (
                "key issue t --mode test --scope read --scope accounts:read",
                "/admin/tenants/t/keys",
                json!({"mode": "test", "scopes": ["read", "accounts:read"]}),
            ),
        ] {
            let parser = Given::augment_subcommands(Command::new("caudal"));
            let words = ["caudal"].into_iter().chain(line.split(' '));
            let matches = parser.try_get_matches_from(words).unwrap();
            let Given { operation, matches } = Given::from_arg_matches(&matches).unwrap();
            let request = operation.request(&matches).unwrap();
            let sent = request.body.unwrap_or_default();
            assert_eq!((request.path.as_str(), sent), (path, body), "{line}");
        }
        for wrong in ["", "..", "a/b", "a?b", "é"] {
            assert_eq!(segment(wrong).unwrap_err().code, 2, "{wrong}");
        }
    }
}
