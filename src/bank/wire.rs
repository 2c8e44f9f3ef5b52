//! The requests to the bank, and how its answers are read.

use caudal_ledger::accounts::Holder;
use caudal_ledger::alias::Alias;
use caudal_ledger::cuit::Cuit;
use caudal_ledger::cvu::Cvu;
use reqwest::Method;
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

/// What an answer without success means for an operation with these final codes.
pub(super) fn verdict<T>(answer: &BankResponse, finals: &[&str]) -> Verdict<T> {
    if finals.contains(&code_of(answer).as_str()) {
        Verdict::Refused
    } else {
        Verdict::Nonsense
    }
}

/// What an answer without success means for a question that decides nothing: any code is the bank's refusal.
pub(super) fn of_question<T>(answer: &BankResponse) -> Verdict<T> {
    if code_of(answer).is_empty() {
        Verdict::Nonsense
    } else {
        Verdict::Refused
    }
}

impl<T> BankRequest<T> {
    /// A request without a body; `path` is the part after `/v1`.
    pub(crate) fn get(operation: &'static str, path: &[&str], judge: Judge<T>) -> Self {
        let path = [&["v1"], path].concat();
        Self {
            operation,
            reference: String::new(),
            method: Method::GET,
            path: segments(&path),
            body: None,
            headers: Vec::new(),
            body_max: BODY_MAX,
            redacted: "{}".to_owned(),
            judge,
        }
    }

    /// The same, with a reference for the journal.
    pub(crate) fn about(self, reference: String) -> Self {
        Self { reference, ..self }
    }
}

impl BankRequest<Cvu> {
    /// Creates the CVU of a client id, or returns the existing one.
    pub(crate) fn create_cvu(config: &Config, client_id: u64, holder: &Holder) -> Self {
        let psp = config.psp_code;
        let of_psp = move |cvu: &Cvu| {
            let code = cvu.as_str().get(3..7).and_then(|code| code.parse().ok());
            psp.is_none_or(|psp| code == Some(psp))
        };
        Self {
            operation: "create_cvu",
            reference: client_id.to_string(),
            method: Method::POST,
            path: wallet(&config.collector, &["cvu"]),
            body: Some(json!({
                "client_id": client_id,
                "cuit": holder.cuit,
                "name": for_the_bank(&holder.name),
                "currency": "ARS",
            })),
            headers: Vec::new(),
            body_max: BODY_MAX,
            redacted: json!({"client_id": client_id, "currency": "ARS"}).to_string(),
            judge: Box::new(move |answer| {
                if !answer.is_success() {
                    return verdict(answer, CREATE);
                }
                let cvu = answer
                    .read()
                    .and_then(|created: Created| Cvu::parse(&created.cvu).ok());
                match cvu {
                    // The client id and the PSP are in the CVU: so this is really the answer to our request.
                    Some(cvu) if client_id_of(&cvu) == Some(client_id) && of_psp(&cvu) => {
                        Verdict::Done(cvu)
                    }
                    Some(_) | None => Verdict::Nonsense,
                }
            }),
        }
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
        let wanted = alias.cloned();
        Self {
            operation: "set_alias",
            reference: reference(&cvu),
            method: Method::POST,
            path: wallet(collector, &["alias"]),
            body: Some(body),
            headers: Vec::new(),
            body_max: BODY_MAX,
            redacted: json!({"cvu": last4(cvu.as_str()), "label": label}).to_string(),
            judge: Box::new(move |answer| judge_alias(answer, wanted.as_ref())),
        }
    }
}

impl BankRequest<()> {
    /// Changes the holder's name.
    pub(crate) fn rename(collector: &str, cvu: Cvu, name: &str) -> Self {
        Self {
            operation: "rename",
            reference: reference(&cvu),
            method: Method::PUT,
            path: wallet(collector, &["cvu", cvu.as_str()]),
            body: Some(json!({"name": for_the_bank(name)})),
            headers: Vec::new(),
            body_max: BODY_MAX,
            redacted: json!({"cvu": last4(cvu.as_str())}).to_string(),
            judge: Box::new(|answer| judge_done(answer, RENAME)),
        }
    }

    /// Closes a CVU.
    pub(crate) fn close(collector: &str, cvu: Cvu, cuit: Cuit) -> Self {
        Self {
            operation: "close",
            reference: reference(&cvu),
            method: Method::DELETE,
            path: wallet(collector, &["cvu", cvu.as_str(), cuit.as_str()]),
            body: None,
            headers: Vec::new(),
            body_max: BODY_MAX,
            redacted: json!({"cvu": last4(cvu.as_str())}).to_string(),
            judge: Box::new(|answer| judge_done(answer, CLOSE)),
        }
    }
}

impl BankRequest<bool> {
    /// Whether a CVU is closed: no longer active, or not there.
    pub(crate) fn is_closed(cvu: Cvu) -> Self {
        let path = ["accounts", "cbu", cvu.as_str()];
        Self {
            reference: reference(&cvu),
            redacted: json!({"cvu": last4(cvu.as_str())}).to_string(),
            ..Self::get(
                "lookup",
                &path,
                Box::new(move |answer| {
                    if !answer.is_success() {
                        return match code_of(answer).as_str() {
                            "PA005" | "PA012" | "VW006" => Verdict::Done(true),
                            // Any other code tells nothing about the CVU.
                            _ => Verdict::Nonsense,
                        };
                    }
                    match answer.read::<Found>() {
                        Some(found) if found.account_routing.address == cvu.as_str() => {
                            Verdict::Done(!found.is_active)
                        }
                        Some(_) | None => Verdict::Nonsense,
                    }
                }),
            )
        }
    }
}

fn judge_alias(answer: &BankResponse, wanted: Option<&Alias>) -> Verdict<Alias> {
    if !answer.is_success() {
        return match (code_of(answer).as_str(), wanted) {
            // The CVU already has that alias, perhaps from an attempt whose answer was lost.
            ("VW010", Some(alias)) => Verdict::Done(alias.clone()),
            // It has one, so it is assigned no other.
            ("VW010", None) => Verdict::Refused,
            ("VW006", _) => Verdict::NotYet,
            _ => verdict(answer, ALIAS),
        };
    }
    let Some(given) = answer.read::<Status>().filter(Status::is_ok) else {
        return Verdict::Nonsense;
    };
    let label = given.label.filter(|label| !label.is_empty());
    match (wanted, label.map(|label| Alias::parse(&label))) {
        (Some(wanted), None) => Verdict::Done(wanted.clone()),
        (Some(wanted), Some(Ok(label))) if label == *wanted => Verdict::Done(wanted.clone()),
        (None, Some(Ok(label))) => Verdict::Done(label),
        (Some(_), Some(_)) | (None, None | Some(Err(_))) => Verdict::Nonsense,
    }
}

fn judge_done(answer: &BankResponse, finals: &[&str]) -> Verdict<()> {
    if !answer.is_success() {
        return verdict(answer, finals);
    }
    // A 204 without a body is a yes as well.
    if answer.status == 204 || answer.read().is_some_and(|status: Status| status.is_ok()) {
        Verdict::Done(())
    } else {
        Verdict::Nonsense
    }
}

fn segments(parts: &[&str]) -> Vec<String> {
    parts.iter().map(|part| (*part).to_owned()).collect()
}

fn wallet(collector: &str, rest: &[&str]) -> Vec<String> {
    let mut path = segments(&[
        "v1", "banks", "322", "accounts", collector, "owner", "wallet",
    ]);
    path.extend(segments(rest));
    path
}

/// The client id in a CVU.
fn client_id_of(cvu: &Cvu) -> Option<u64> {
    cvu.as_str().get(9..21)?.parse().ok()
}

fn reference(cvu: &Cvu) -> String {
    client_id_of(cvu).map_or_else(String::new, |client_id| client_id.to_string())
}

/// The bank's code in a body; empty when there is none.
pub(super) fn code(body: &str) -> String {
    let error: Result<Error, _> = serde_json::from_str(body);
    error.map(|error| error.code).unwrap_or_default()
}

/// The bank's code in an answer; empty when there is none.
pub(super) fn code_of(answer: &BankResponse) -> String {
    answer
        .read()
        .map(|error: Error| error.code)
        .unwrap_or_default()
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

#[derive(Deserialize)]
struct Routing {
    address: String,
}

/// The answer to a login.
#[derive(Deserialize)]
pub(super) struct LoggedIn {
    /// The token of the session, sent with each operation.
    pub token: String,
    /// How long the token is valid, in seconds.
    pub expires_in: u64,
}

impl LoggedIn {
    /// Reads the answer of a login; `None` when it holds no token.
    pub(crate) fn read(answer: &BankResponse) -> Option<Self> {
        answer.read().filter(|_| answer.is_success())
    }
}
