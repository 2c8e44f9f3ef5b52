//! Watches the log: every service in this binary logs everything of Caudal's into one place, and each line is
//! searched for data that must never be logged.
//!
//! **Shape.** A subscriber for the whole process, installed once. A line with a name, CUIT, CBU, CVU, key, alias,
//! email, date of birth, document number or amount is an offence; the offence is kept, and the next test that asks or
//! ends fails and shows it, so it does not matter which thread logged it for which test. Personal data that tests
//! send, and every secret that they receive, is learnt as it passes ([`learn_of`]), before the service can log it; a
//! secret that comes in an answer may have been logged before that, so the lines that are kept are searched for it,
//! too. A separate process writes to a [`Paper`], which is read when the process has ended.
//!
//! Tests that need to see lines ask for those of a request id.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::io;
use std::process::Stdio;
use std::sync::{Mutex, OnceLock};

use caudal_http::log::level::{self, OURS};
use caudal_ledger::cuit::Cuit;
use serde_json::Value;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

/// What libraries log in the tests: only what they find important.
const OTHERS: &str = "info,actix_server=warn";
/// Names of people, and of aliases, that the tests use.
const NAMES: &[&str] = &[
    "Juana",
    "Azurduy",
    "Holder Number",
    "Ñandú",
    "Lovelace",
    "Otra Persona",
    "Perez",
    "Pérez",
    "Higgins",
    "mar.de.sal",
    "alias.nuevo",
    "ana.prueba",
    "canary.alias",
];
/// The prefixes of keys and secrets.
const SECRETS: &[&str] = &[
    "cdl_test_",
    "cdl_live_",
    "cdl_admin_",
    "cdl_op_",
    "whsec_",
    "admin-key-of-tests",
];
/// Fields of bodies that identify a person or open something, whatever their value.
const PERSONAL: &[&str] = &[
    "holderName",
    "nombre",
    "apellido",
    "razonSocial",
    "nombreCVU",
    "cuit",
    "cuitCuil",
    "alias",
    "email",
    "phone",
    "celular",
    "address",
    "domicilio",
    "calle",
    "datosDomicilio",
    "metadata",
    "titulares",
];
/// Fields of bodies that hold a date of birth.
const BORN: &[&str] = &["birthDate", "fechaNacimiento"];
/// Fields of bodies that hold a document number.
const DOCUMENTS: &[&str] = &["dni"];
/// How many digits a document number has. A line matches only if it has all of them as a word of their own.
const DNI_DIGITS: std::ops::RangeInclusive<usize> = 7..=8;
/// Dates of birth are learnt only if they begin with this: no clock of a test shows such a year.
const BIRTHS: &str = "19";
/// Fields of bodies whose values open something.
const OPENING: &[&str] = &["secret", "credential"];
/// The fewest digits of a phone number that is learnt. It also has its `+`, which none of our own numbers has.
const PHONE_DIGITS: usize = 10;
/// How many characters a learnt text has; the lower bound keeps out words of our own.
const LEARNT_CHARS: std::ops::RangeInclusive<usize> = 6..=200;
/// How many lines of a process are shown when a test fails, counted from the last.
const TAIL: usize = 60;
/// How many lines are kept for tests at most; the oldest go first.
const KEPT_MAX: usize = 50_000;

/// The lines that were logged, and the offences among them.
#[derive(Default)]
pub struct Log {
    lines: Mutex<VecDeque<String>>,
    offences: Mutex<Vec<String>>,
}

static LOG: OnceLock<Log> = OnceLock::new();
/// What tests have sent and received, in lower case, by its first word.
static LEARNT: Mutex<Option<HashMap<String, BTreeSet<String>>>> = Mutex::new(None);

/// The writer of a subscriber: it writes into a log.
pub struct Sink(pub &'static Log);

impl io::Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Self(log) = self;
        for line in String::from_utf8_lossy(bytes).lines() {
            log.keep(line);
            // Only after the line is kept: if a secret is learnt in the meantime, one of the two searches finds it.
            if let Some(why) = offence(line) {
                log.offends(why, line);
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What tests log: everything that an operator can have logged.
fn filter() -> String {
    let ours = OURS.map(|name| format!("{name}=trace"));
    format!("{OTHERS},{}", ours.join(","))
}

/// Installs the subscriber, once for all tests.
pub fn watch() {
    static BEGUN: OnceLock<()> = OnceLock::new();
    LOG.get_or_init(Log::default);
    BEGUN.get_or_init(|| {
        let lines = tracing_subscriber::fmt::layer()
            .with_ansi(false)
            .with_writer(|| Sink(LOG.get().unwrap()));
        let filter = level::filter(&filter()).unwrap();
        let log = tracing_subscriber::registry().with(filter).with(lines);
        log.init();
        learn(caudal_sandbox::NOTICE_SECRET);
    });
}

/// Fails if any test has logged something that must not be logged.
#[track_caller]
pub fn sings() {
    if let Some(log) = LOG.get() {
        log.sings();
    }
}

impl Log {
    fn keep(&self, line: &str) {
        let mut lines = self.lines.lock().unwrap();
        if lines.len() == KEPT_MAX {
            lines.pop_front();
        }
        lines.push_back(line.to_owned());
    }

    fn offends(&self, why: &str, line: &str) {
        let offence = format!("{why}: {line}");
        self.offences.lock().unwrap().push(offence);
    }

    /// Searches the lines logged before a secret was known here.
    pub fn looks_back(&self, secret: &str) {
        let lines = self.lines.lock().unwrap();
        let leaks: Vec<_> = lines.iter().filter(|line| line.contains(secret)).collect();
        for line in leaks {
            self.offends("a secret", line);
        }
    }

    /// Fails if this log has a line that must not be logged.
    #[track_caller]
    pub fn sings(&self) {
        let offences = self.offences.lock().unwrap().clone();
        assert!(offences.is_empty(), "in the log: {offences:#?}");
    }
}

/// Learns a secret: no line from now on may have it, nor any line that is kept.
pub fn learn(secret: &str) {
    if let Some(log) = LOG.get().filter(|_| keep(secret)) {
        log.looks_back(secret.trim());
    }
}

/// Learns a text that no line may have from now on; returns whether it is new. Words and numbers alone are not
/// learnt: they may mean something else, and no test may fail because of the digits of a clock. Numbers that identify
/// a person have known shapes: those of a CUIT or a CBU, and phone numbers with a `+`.
fn keep(text: &str) -> bool {
    let text = text.trim().to_lowercase();
    let letters = text.chars().filter(|c| c.is_alphabetic()).count();
    let chars = text.chars().count();
    let digits = text.chars().filter(char::is_ascii_digit).count();
    let phone = text.starts_with('+') && digits >= PHONE_DIGITS;
    let said = phone || (1..chars).contains(&letters);
    LEARNT_CHARS.contains(&chars) && said && insert(text)
}

/// Learns a date of birth, whichever way round it is written.
fn keep_birth(text: &str) {
    let numbers: Vec<&str> = words(text).collect();
    let [year, month, day] = match numbers.as_slice() {
        [year, month, day] if year.len() == 4 => [*year, *month, *day],
        [day, month, year] => [*year, *month, *day],
        _ => return,
    };
    if year.starts_with(BIRTHS) {
        for said in [[year, month, day], [day, month, year]] {
            insert(said.join("-"));
            insert(said.join("/"));
        }
    }
}

/// Learns a document number, as it is written and as digits alone.
fn keep_document(number: &Value) {
    let sent = number.as_str().map(str::to_owned);
    let sent = sent.or_else(|| number.is_number().then(|| number.to_string()));
    let Some(sent) = sent else { return };
    let digits = sent.trim().replace('.', "");
    if DNI_DIGITS.contains(&digits.len()) && digits.bytes().all(|it| it.is_ascii_digit()) {
        insert(digits);
        insert(sent);
    }
}

/// Learns a text in lower case; returns whether it is new.
fn insert(text: String) -> bool {
    let Some(first) = words(&text).next() else {
        return false;
    };
    let mut learnt = LEARNT.lock().unwrap();
    let by_word = learnt.get_or_insert_default();
    let first = first.to_owned();
    by_word.entry(first).or_default().insert(text)
}

/// Learns the personal data and the secrets in a body. It learns nothing from an OpenAPI document, whose fields of
/// those names are descriptions, nor from a voucher type (it has a `signo`), whose `nombre` belongs to nobody.
pub fn learn_of(body: &Value) {
    match body {
        Value::Object(fields) if fields.contains_key("openapi") => {}
        Value::Object(fields) if fields.contains_key("signo") => {}
        Value::Object(fields) => {
            for (name, value) in fields {
                match name.as_str() {
                    name if OPENING.contains(&name) => learn_all(value, &learn),
                    name if PERSONAL.contains(&name) => learn_all(value, &|text| {
                        keep(text);
                    }),
                    name if BORN.contains(&name) => learn_all(value, &keep_birth),
                    name if DOCUMENTS.contains(&name) => keep_document(value),
                    _ => learn_of(value),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(learn_of),
        _ => {}
    }
}

fn learn_all(value: &Value, how: &dyn Fn(&str)) {
    match value {
        Value::String(text) => how(text),
        Value::Array(items) => items.iter().for_each(|item| learn_all(item, how)),
        Value::Object(fields) => fields.values().for_each(|field| learn_all(field, how)),
        _ => {}
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
}

/// Whether a line, in lower case, has a learnt text that is not just the beginning of a longer word.
fn is_learnt(lower: &str) -> bool {
    let learnt = LEARNT.lock().unwrap();
    let Some(learnt) = learnt.as_ref() else {
        return false;
    };
    let said = |text: &String| {
        let mut behind = lower.split(text.as_str()).skip(1);
        behind.any(|rest| !rest.starts_with(char::is_alphanumeric))
    };
    let mut known = words(lower).filter_map(|word| learnt.get(word));
    known.any(|texts| texts.iter().any(said))
}

/// The log of a separate process: it is read for offences when the test drops it, which must happen after the process
/// has ended.
pub struct Paper(tempfile::NamedTempFile);

impl Paper {
    pub fn new() -> Self {
        Self(tempfile::NamedTempFile::new().unwrap())
    }

    /// The handle that the process writes to.
    pub fn pen(&self) -> Stdio {
        self.0.reopen().unwrap().into()
    }
}

impl Drop for Paper {
    fn drop(&mut self) {
        let Ok(said) = std::fs::read(self.0.path()) else {
            assert!(std::thread::panicking(), "the paper is gone");
            return;
        };
        let said = String::from_utf8_lossy(&said);
        if std::thread::panicking() {
            // Whoever investigates a failed test has nothing else from the process.

            let mut tail: Vec<_> = said.lines().rev().take(TAIL).collect();
            tail.reverse();
            println!("the process logged at last:\n{}", tail.join("\n"));
        } else {
            reads("a process", &said)
        }
    }
}

/// Fails if a process has logged a line that must not be logged.
#[track_caller]
pub fn reads(whose: &str, log: &str) {
    let found = log.lines().filter_map(|line| Some((offence(line)?, line)));
    let found: Vec<_> = found.collect();
    assert!(found.is_empty(), "in the log of {whose}: {found:#?}");
}

/// The lines so far that have a text in them.
pub fn lines(text: &str) -> Vec<String> {
    let lines = LOG.get().unwrap().lines.lock().unwrap();
    lines
        .iter()
        .filter(|line| line.contains(text))
        .cloned()
        .collect()
}

/// Whether a line in lower case has a name by itself. Our own ids are random letters, and some have a name inside.
fn has_word(lower: &str, name: &str) -> bool {
    let name = name.to_lowercase();
    let mut found = lower.match_indices(&name);
    found.any(|(at, _)| {
        let (before, rest) = lower.split_at(at);
        let after = rest.chars().nth(name.chars().count());
        let is_part = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        !is_part(before.chars().next_back()) && !is_part(after)
    })
}

/// The kind of offence in a line, if there is one.
pub fn offence(line: &str) -> Option<&'static str> {
    let lower = line.to_lowercase();
    if NAMES.iter().any(|name| has_word(&lower, name)) {
        return Some("a name or an alias");
    }
    if SECRETS.iter().any(|secret| line.contains(secret)) {
        return Some("a key");
    }
    if is_learnt(&lower) {
        return Some("what a test has sent or got");
    }
    if line.contains('@') {
        return Some("an email");
    }
    // Whole words: our own ids have such digits inside.
    let words = line.split(|c: char| !c.is_ascii_alphanumeric());
    for word in words.filter(|word| word.bytes().all(|b| b.is_ascii_digit())) {
        match word.len() {
            22 => return Some("a CBU or CVU"),
            11 if Cuit::parse(word).is_ok() => return Some("a CUIT"),
            _ => {}
        }
    }
    line.split([' ', '=', '"', ',', '(', ')', '{', '}'])
        .any(amount)
        .then_some("an amount")
}

/// Digits, a dot, and two digits more.
fn amount(word: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    word.split_once('.')
        .is_some_and(|(whole, rest)| digits(whole) && rest.len() == 2 && digits(rest))
}
