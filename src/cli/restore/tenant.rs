//! Takes one realm of a running service back to an instant: copies it, puts the copy into force, releases its held
//! calls. Other commands that make a copy use [`watched`], too.

use std::time::Duration;

use caudal_ledger::ids::Mode;
use caudal_ledger::time::Timestamp;
use reqwest::Method;
use serde_json::{Value, json};

use crate::cli::Exit;
use crate::cli::admin::{Asking, segment, table};
use crate::cli::remote::{Remote, shown};
use crate::cli::terminal::{self, say, wait};

/// The pause between two questions about a copy's progress.
const ASK_AGAIN: Duration = Duration::from_millis(250);
/// How many questions in a row may fail before the command stops asking.
const UNHEARD_MAX: u32 = 20;

/// The requested operation on a realm.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wanted {
    /// List its generations.
    List,
    /// Copy it as it was at an instant, and put the copy into force or only make it.
    At(Timestamp, Force),
    /// Put this generation into force.
    Switch(u64),
    /// Release its held calls.
    Release,
    /// Stop the copy in progress.
    Stop,
}

/// Whether a copy is put into force once it is whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Force {
    /// Yes.
    Now,
    /// No, an operator does that later.
    Later,
}

/// A realm of a running service.
struct Realm {
    remote: Remote,
    path: String,
    tenant: String,
    mode: Mode,
}

impl Realm {
    fn ask(&self, method: Method, step: &str, body: Option<Value>) -> Result<Value, Exit> {
        let path = format!("{}{step}", self.path);
        // A realm may take a while to come to rest, so there is no deadline.
        wait(self.remote.ask_within(method, &path, body, None))
    }

    fn of<'a>(&self, all: &'a Value) -> &'a Value {
        all.get(self.mode.as_str()).unwrap_or(&Value::Null)
    }

    fn command(&self, more: &str) -> String {
        let mode = self.mode.as_str();
        format!(
            "caudal restore --tenant {} --mode {mode} {more}",
            self.tenant
        )
    }

    /// Makes a copy, and waits until it is whole; returns its number.
    fn copy(&self, at: Timestamp) -> Result<u64, Exit> {
        let body = json!({"mode": self.mode.as_str(), "at": at.to_string()});
        let all = self.ask(Method::POST, "", Some(body))?;
        let ask = || wait(self.remote.ask(Method::GET, &self.path, None));
        let (_, copy) = watched(all, self.mode, ask)?;
        match (shown(&copy, "state").as_str(), number(&copy)) {
            ("whole", Some(number)) => Ok(number),
            _ => Err(Exit::failed(format!(
                "the copy is not whole: {}. The same command again goes on with it",
                shown(&copy, "error")
            ))),
        }
    }

    /// Puts a generation into force.
    fn switch(&self, number: u64) -> Result<Value, Exit> {
        let body = json!({"mode": self.mode.as_str(), "generation": number});
        self.ask(Method::POST, "/switch", Some(body))
    }

    fn page(&self, all: &Value) -> String {
        const COLUMNS: [&str; 7] = [
            "generation",
            "state",
            "at",
            "of",
            "entries",
            "since",
            "error",
        ];
        let realm = self.of(all);
        let rows = realm.get("generations").and_then(Value::as_array);
        let rows = rows.map(Vec::as_slice).unwrap_or(&[]);
        let held = match realm.get("outgoingHeld") {
            Some(Value::Bool(true)) => "held",
            _ => "not held",
        };
        format!(
            "{}\nin force: generation {}; outgoing: {held}",
            table(&COLUMNS, rows),
            shown(realm, "inForce")
        )
    }

    /// The result of putting a generation into force, for a person.
    fn told(&self, done: &Value, number: u64) -> String {
        if done.get("requestedBy").is_some() {
            let id = shown(done, "id");
            return format!("generation {number} waits for a second person: approval {id}");
        }
        format!(
            "generation {number} is in force, and transfers and webhooks of the realm are held. Look at its cases and its \
             reconciliation; then: {}",
            self.command("--release")
        )
    }
}

/// The number of a generation.
fn number(generation: &Value) -> Option<u64> {
    generation.get("generation")?.as_u64()
}

/// The generations of a realm in the service's answer.
fn generations(all: &Value, mode: Mode) -> &[Value] {
    let found = all.get(mode.as_str()).and_then(|it| it.get("generations"));
    found.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Waits while the last generation in an answer is being copied; returns the last answer, and that generation in it. Up
/// to [`UNHEARD_MAX`] questions in a row may fail: the copy goes on without them.
///
/// # Errors
/// When the answer has no generation; the error of `ask` when more questions fail.
pub fn watched(
    mut all: Value,
    mode: Mode,
    ask: impl Fn() -> Result<Value, Exit>,
) -> Result<(Value, Value), Exit> {
    let last = generations(&all, mode).last().and_then(number);
    let last = last.ok_or_else(|| Exit::failed("the service shows no copy"))?;
    let bar = terminal::progress("copying, commits read:");
    let mut unheard: u32 = 0;
    let copy = loop {
        let mut known = generations(&all, mode).iter();
        let copy = known.find(|it| number(it) == Some(last));
        let copy = copy.unwrap_or(&Value::Null);
        if shown(copy, "state") != "copying" {
            break Ok(copy.clone());
        }
        if let Some(commit) = copy.get("commit").and_then(Value::as_u64) {
            bar.set_position(commit);
        }
        std::thread::sleep(ASK_AGAIN);
        match ask() {
            Ok(heard) => (all, unheard) = (heard, 0),
            Err(_) if unheard < UNHEARD_MAX => unheard = unheard.strict_add(1),
            Err(why) => break Err(why),
        }
    };
    bar.finish_and_clear();
    Ok((all, copy?))
}

/// Runs the command.
pub fn run((tenant, mode): (&str, Mode), wanted: Wanted, asking: Asking) -> Result<(), Exit> {
    let (remote, json) = asking.find()?;
    let path = format!("/admin/tenants/{}/restores", segment(tenant)?);
    let tenant = tenant.to_owned();
    let realm = Realm {
        remote,
        path,
        tenant,
        mode,
    };
    let (done, text) = match wanted {
        Wanted::List => {
            let all = realm.ask(Method::GET, "", None)?;
            let page = realm.page(&all);
            (all, page)
        }
        Wanted::At(at, Force::Now) => {
            let number = realm.copy(at)?;
            let done = realm.switch(number)?;
            let told = realm.told(&done, number);
            (done, told)
        }
        Wanted::At(at, Force::Later) => {
            let number = realm.copy(at)?;
            let next = realm.command(&format!("--generation {number}"));
            let text =
                format!("generation {number} is whole, and nobody sees it yet; then: {next}");
            (realm.ask(Method::GET, "", None)?, text)
        }
        Wanted::Switch(number) => {
            let done = realm.switch(number)?;
            let told = realm.told(&done, number);
            (done, told)
        }
        Wanted::Stop => {
            let body = json!({"mode": mode.as_str()});
            let done = realm.ask(Method::POST, "/stop", Some(body))?;
            (
                done,
                "the copy ends; the same restore again goes on with it".to_owned(),
            )
        }
        Wanted::Release => {
            let body = json!({"mode": mode.as_str()});
            let done = realm.ask(Method::POST, "/release", Some(body))?;
            (done, "released".to_owned())
        }
    };
    if json {
        return say(&serde_json::to_string_pretty(&done).map_err(Exit::failed)?);
    }
    say(&text)
}
