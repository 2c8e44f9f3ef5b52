//! Watches over what is logged: every service of this binary logs everything of Caudal's into one
//! place, where each line is looked through for what must never be there.
//!
//! **Shape.** A subscriber for the whole process, installed once. A line with a name, CUIT, CBU, CVU,
//! key, alias, email or amount is an offence; the offence is kept, and whatever test ends next fails
//! and shows it, so it does not matter which thread logged it for which test.
//!
//! Tests that need to see lines ask for those of a request id.

use std::collections::VecDeque;
use std::io;
use std::sync::{Mutex, OnceLock};

use caudal::log::level::OURS;
use caudal_ledger::cuit::Cuit;
use tracing::Level;
use tracing_subscriber::EnvFilter;

/// What is logged by tests of what is not ours: what the libraries find important.
const OTHERS: &str = "info,actix_server=warn";
/// Words that the tests use for people, and for aliases.
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
/// What keys and secrets begin with.
const SECRETS: &[&str] = &[
    "cdl_test_",
    "cdl_live_",
    "cdl_admin_",
    "cdl_op_",
    "whsec_",
    "admin-key-of-tests",
];
/// Lines that are kept for tests at most: the newest.
const KEPT_MAX: usize = 50_000;

#[derive(Default)]
struct Log {
    lines: Mutex<VecDeque<String>>,
    offences: Mutex<Vec<String>>,
}

static LOG: OnceLock<Log> = OnceLock::new();

struct Sink;

impl io::Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let log = LOG.get().unwrap();
        for line in String::from_utf8_lossy(bytes).lines() {
            if let Some(why) = offence(line) {
                log.offences.lock().unwrap().push(format!("{why}: {line}"));
            }
            let mut lines = log.lines.lock().unwrap();
            if lines.len() == KEPT_MAX {
                lines.pop_front();
            }
            lines.push_back(line.to_owned());
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What is logged by tests: all that an operator can have logged, too.
fn filter() -> String {
    let ours = OURS.map(|name| format!("{name}=trace"));
    format!("{OTHERS},{}", ours.join(","))
}

/// Begins to watch, once for all tests.
pub fn watch() {
    static BEGUN: OnceLock<()> = OnceLock::new();
    LOG.get_or_init(Log::default);
    BEGUN.get_or_init(|| {
        tracing_subscriber::fmt()
            .with_max_level(Level::TRACE)
            .with_env_filter(EnvFilter::new(filter()))
            .with_ansi(false)
            .with_writer(|| Sink)
            .init();
    });
}

/// Fails when anything was logged, by whatever test, that must not be.
pub fn sings() {
    let Some(log) = LOG.get() else { return };
    let offences = log.offences.lock().unwrap().clone();
    assert!(offences.is_empty(), "in the log: {offences:#?}");
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

/// What of a line must not be there.
pub fn offence(line: &str) -> Option<&'static str> {
    let lower = line.to_lowercase();
    if NAMES
        .iter()
        .any(|name| lower.contains(&name.to_lowercase()))
    {
        return Some("a name or an alias");
    }
    if SECRETS.iter().any(|secret| line.contains(secret)) {
        return Some("a key");
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
