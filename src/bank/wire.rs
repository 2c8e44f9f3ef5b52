//! The requests to the bank, and how its answers are read.

use std::iter;

use caudal_actors::ports::Simulation;
use caudal_ledger::accounts::Holder;
use caudal_ledger::alias::Alias;
use caudal_ledger::cuit::Cuit;
use caudal_ledger::cvu::Cvu;
use reqwest::Method;
use secrecy::ExposeSecret;
use serde::Deserialize;
use serde_json::{Value, json};

use super::names::for_the_bank;
use super::redact::last4;
use super::refusals::{ALIAS, CLOSE, CREATE, RENAME};
use super::{BODY_MAX, Config};

/// The meaning of an answer. Only answers with 2xx and 4xx are judged.
#[derive(PartialEq, Eq, Debug)]
pub(super) enum Verdict<T> {
    /// The bank has done it, and gave this value.
    Done(T),
    /// The bank refuses.
    Refused,
    /// The bank does not yet know what it did a moment ago.
    NotYet,
    /// The answer makes no sense: the outcome is unknown.
    Nonsense,
}

impl<T> Verdict<T> {
    /// A refusal that counts, or an answer that makes no sense.
    fn refused(counts: bool) -> Self {
        if counts {
            Self::Refused
        } else {
            Self::Nonsense
        }
    }
}

/// An answer of the bank, within its limit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct BankResponse {
    /// The HTTP status.
    pub status: u16,
    /// The decoded body, of at most as many bytes as the operation reads.
    pub body: String,
}

impl BankResponse {
    /// Whether the status is any 2xx.
    pub(crate) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The body as JSON of this shape; `None` when it is not.
    pub(crate) fn read<'a, B: Deserialize<'a>>(&'a self) -> Option<B> {
        serde_json::from_str(&self.body).ok()
    }
}

/// Judges an answer.
pub(super) type Judge<T> = Box<dyn Fn(&BankResponse) -> Verdict<T>>;

/// Judges an answer: `read` reads one with success, and `refused` says what the bank's code means in any other.
fn judge<T>(
    read: impl Fn(&BankResponse) -> Option<T> + 'static,
    refused: impl Fn(&str) -> Verdict<T> + 'static,
) -> Judge<T> {
    Box::new(move |answer| {
        if answer.is_success() {
            read(answer).map_or(Verdict::Nonsense, Verdict::Done)
        } else {
            refused(&code(&answer.body))
        }
    })
}

/// Judges the answer to an order. Only these codes mean that the order was not made and never will be.
pub(super) fn of_order<T>(
    finals: &'static [&'static str],
    read: impl Fn(&BankResponse) -> Option<T> + 'static,
) -> Judge<T> {
    judge(read, |code| Verdict::refused(finals.contains(&code)))
}

/// Judges the answer to a question that decides nothing: any code is the bank's refusal.
pub(super) fn of_question<T>(read: impl Fn(&BankResponse) -> Option<T> + 'static) -> Judge<T> {
    judge(read, |code| Verdict::refused(!code.is_empty()))
}

/// Judges the answer to a question for the state of an order; the code `unknown` means that the bank knows no such order.
pub(super) fn of_state<T>(
    unknown: &'static str,
    read: impl Fn(&BankResponse) -> Option<T> + 'static,
) -> Judge<Option<T>> {
    judge(
        move |answer| read(answer).map(Some),
        move |code| match code {
            code if code == unknown => Verdict::Done(None),
            // Any other refusal is about the request and tells nothing about the order.
            _ => Verdict::Nonsense,
        },
    )
}

/// The same for an order that may have been made a moment ago: if it is not there yet, it is looked for again.
pub(super) fn of_recent<T: 'static>(judge: Judge<Option<T>>) -> Judge<T> {
    Box::new(move |answer| match judge(answer) {
        Verdict::Done(Some(found)) => Verdict::Done(found),
        Verdict::Done(None) => Verdict::NotYet,
        Verdict::Refused | Verdict::NotYet | Verdict::Nonsense => Verdict::Nonsense,
    })
}

/// An operation of the bank.
pub(super) struct BankRequest<T> {
    /// Its name in the journal.
    pub operation: &'static str,
    /// The reference that makes it idempotent: the client id, by which the bank and we know the account.
    pub reference: String,
    /// The HTTP method.
    pub method: Method,
    /// The path under the base URL, by segments.
    pub path: Vec<String>,
    /// The JSON body; `None` sends none.
    pub body: Option<Value>,
    /// Headers to send, besides the login and the request id.
    pub headers: Vec<(&'static str, String)>,
    /// The longest answer that is read, in bytes.
    pub body_max: usize,
    /// The request for the journal: without persons, and with only the last four digits of a CVU.
    pub redacted: String,
    /// Judges its answer.
    pub judge: Judge<T>,
}

impl<T> BankRequest<T> {
    /// A request without a body; `path` is the part after `/v1`.
    pub(crate) fn get(operation: &'static str, path: &[&str], judge: Judge<T>) -> Self {
        let path = iter::once(&"v1").chain(path);
        Self {
            operation,
            reference: String::new(),
            method: Method::GET,
            path: path.map(|part| (*part).to_owned()).collect(),
            body: None,
            headers: Vec::new(),
            body_max: BODY_MAX,
            redacted: "{}".to_owned(),
            judge,
        }
    }

    /// A request with a body.
    pub(crate) fn post(
        operation: &'static str,
        path: &[&str],
        body: Value,
        judge: Judge<T>,
    ) -> Self {
        Self {
            method: Method::POST,
            body: Some(body),
            ..Self::get(operation, path, judge)
        }
    }

    /// The same, with a reference for the journal.
    pub(crate) fn about(self, reference: String) -> Self {
        Self { reference, ..self }
    }

    /// The same, with this in the journal.
    pub(crate) fn recorded(self, redacted: &Value) -> Self {
        let redacted = redacted.to_string();
        Self { redacted, ..self }
    }

    /// The same about a CVU.
    fn about_cvu(self, cvu: &Cvu) -> Self {
        let client_id = client_id_of(cvu).map(|client_id| client_id.to_string());
        self.about(client_id.unwrap_or_default())
            .recorded(&json!({"cvu": last4(cvu.as_str())}))
    }
}

/// The path of our collector account, after `/v1`.
pub(super) fn owner<'a>(collector: &'a str, rest: &[&'a str]) -> Vec<&'a str> {
    [&["banks", "322", "accounts", collector, "owner"], rest].concat()
}

impl BankRequest<LoggedIn> {
    /// Logs in.
    pub(crate) fn login(config: &Config) -> Self {
        let body = json!({
            "username": config.username,
            "password": config.password.expose_secret(),
        });
        let judge = of_order(&[], |answer| answer.read());
        Self::post("login", &["login", "jwt"], body, judge)
    }
}

impl BankRequest<Cvu> {
    /// Creates the CVU of a client id, or returns the existing one.
    pub(crate) fn create_cvu(config: &Config, client_id: u64, holder: &Holder) -> Self {
        let psp = config.psp_code;
        // The client id and the PSP are in the CVU: so this is really the answer to our request.
        let ours = move |cvu: &Cvu| {
            let code = cvu.as_str().get(3..7).and_then(|code| code.parse().ok());
            client_id_of(cvu) == Some(client_id) && psp.is_none_or(|psp| code == Some(psp))
        };
        let judge = of_order(CREATE, move |answer| {
            let created: Created = answer.read()?;
            Cvu::parse(&created.cvu).ok().filter(ours)
        });
        let body = json!({
            "client_id": client_id,
            "cuit": holder.cuit,
            "name": for_the_bank(&holder.name),
            "currency": "ARS",
        });
        let path = owner(&config.collector, &["wallet", "cvu"]);
        Self::post("create_cvu", &path, body, judge)
            .about(client_id.to_string())
            .recorded(&json!({"client_id": client_id, "currency": "ARS"}))
    }
}

impl BankRequest<Alias> {
    /// Sets an alias, or has the bank assign one.
    pub(crate) fn set_alias(collector: &str, cvu: Cvu, cuit: Cuit, alias: Option<&Alias>) -> Self {
        let mut body = json!({"cvu": cvu, "cuit": cuit});
        if let (Some(members), Some(alias)) = (body.as_object_mut(), alias) {
            members.insert("label".into(), json!(alias));
        }
        // The alias is often a name, or made of the holder's CUIT.
        let label = alias.map(|_| "…");
        let (wanted, own) = (alias.cloned(), alias.cloned());
        let judge = judge(
            move |answer| alias_in(answer, wanted.as_ref()),
            move |code| match (code, &own) {
                // The CVU already has that alias, perhaps from an attempt whose answer was lost.
                ("VW010", Some(alias)) => Verdict::Done(alias.clone()),
                // It has one, so it is assigned no other.
                ("VW010", None) => Verdict::Refused,
                ("VW006", _) => Verdict::NotYet,
                _ => Verdict::refused(ALIAS.contains(&code)),
            },
        );
        let path = owner(collector, &["wallet", "alias"]);
        Self::post("set_alias", &path, body, judge)
            .about_cvu(&cvu)
            .recorded(&json!({"cvu": last4(cvu.as_str()), "label": label}))
    }
}

impl BankRequest<()> {
    /// Changes the holder's name.
    pub(crate) fn rename(collector: &str, cvu: Cvu, name: &str) -> Self {
        let path = owner(collector, &["wallet", "cvu", cvu.as_str()]);
        let body = json!({"name": for_the_bank(name)});
        Self {
            method: Method::PUT,
            ..Self::post("rename", &path, body, of_order(RENAME, done))
        }
        .about_cvu(&cvu)
    }

    /// Closes a CVU.
    pub(crate) fn close(collector: &str, cvu: Cvu, cuit: Cuit) -> Self {
        let path = owner(collector, &["wallet", "cvu", cvu.as_str(), cuit.as_str()]);
        Self {
            method: Method::DELETE,
            ..Self::get("close", &path, of_order(CLOSE, done))
        }
        .about_cvu(&cvu)
    }

    /// Has a sandbox do something as if it had happened at the bank, for our collector account only; a bank without
    /// simulations refuses with a code of its own or does not understand it.
    pub(crate) fn simulation(collector: &str, simulation: &Simulation) -> Self {
        let mut path = owner(collector, &["simulations"]);
        path.extend(simulation.path.iter().map(String::as_str));
        Self {
            method: Method::POST,
            body: serde_json::from_str(&simulation.order).ok(),
            ..Self::get("simulation", &path, of_question(|_| Some(())))
        }
    }
}

impl BankRequest<bool> {
    /// Whether a CVU is closed: no longer active, or not there.
    pub(crate) fn is_closed(cvu: Cvu) -> Self {
        let judge = judge(
            move |answer| {
                let found: Found = answer.read()?;
                let ours = found.account_routing.address == cvu.as_str();
                ours.then_some(!found.is_active)
            },
            |code| match code {
                "PA005" | "PA012" | "VW006" => Verdict::Done(true),
                // Any other code tells nothing about the CVU.
                _ => Verdict::Nonsense,
            },
        );
        Self::get("lookup", &["accounts", "cbu", cvu.as_str()], judge).about_cvu(&cvu)
    }
}

/// The alias that an answer gives to a CVU; the wanted one, if there was one.
fn alias_in(answer: &BankResponse, wanted: Option<&Alias>) -> Option<Alias> {
    let given: Status = answer.read().filter(Status::is_ok)?;
    let label = given.label.filter(|label| !label.is_empty());
    match (wanted, label.map(|label| Alias::parse(&label))) {
        (Some(wanted), None) => Some(wanted.clone()),
        (Some(wanted), Some(Ok(label))) => Some(label).filter(|label| label == wanted),
        (None, Some(Ok(label))) => Some(label),
        (Some(_) | None, Some(Err(_))) | (None, None) => None,
    }
}

/// Whether an answer with success says yes; a 204 without a body is a yes as well.
fn done(answer: &BankResponse) -> Option<()> {
    let is_ok = answer.status == 204 || answer.read().is_some_and(|it: Status| it.is_ok());
    is_ok.then_some(())
}

/// The client id in a CVU.
fn client_id_of(cvu: &Cvu) -> Option<u64> {
    cvu.as_str().get(9..21)?.parse().ok()
}

/// The bank's code in a body; empty when there is none.
pub(super) fn code(body: &str) -> String {
    let error: Result<Error, _> = serde_json::from_str(body);
    error.map(|error| error.code).unwrap_or_default()
}

#[derive(Deserialize)]
struct Error {
    code: String,
}

#[derive(Deserialize)]
struct Created {
    cvu: String,
}

#[derive(Deserialize)]
struct Status {
    status: String,
    label: Option<String>,
}

impl Status {
    fn is_ok(&self) -> bool {
        self.status.eq_ignore_ascii_case("ok")
    }
}

#[derive(Deserialize)]
struct Found {
    is_active: bool,
    account_routing: Routing,
}

/// The key of an account in an answer.
#[derive(Deserialize)]
pub(super) struct Routing {
    /// Its CBU or CVU.
    pub address: String,
}

/// The answer to a login.
#[derive(Deserialize)]
pub(super) struct LoggedIn {
    /// The token of the session, sent with each operation.
    pub token: String,
    /// How long the token is valid, in seconds.
    pub expires_in: u64,
}
