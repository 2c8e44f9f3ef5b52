//! Transfers at the bank: sent, looked up again, and listed for reconciliation.
//!
//! **Belief.** A refusal ends a transfer only by a code that is final ([`refusals`]), and only when the transfer cannot
//! have happened: after an attempt with an unknown end, the bank is asked for the transfer first.

use std::collections::HashMap;

use caudal_actors::ports::{BankError, BankMovement, BankReply, ReturnOrder, TransferOrder, Way};
use caudal_ledger::facts::BankCall;
use caudal_ledger::ids::OriginId;
use caudal_ledger::time::{BusinessDay, Timestamp};
use caudal_ledger::transfers::{BankTransfer, Counterparty, Destination};
use reqwest::Method;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::read::{self, BankRecord, Worth};
use super::redact::last4;
use super::refusals;
use super::wire::{self, Answer, Ask, Verdict};
use super::{HttpGateway, LIST_DEADLINE, PAGE, PAGE_BODY_MAX};

/// The operation that sends, in the journal.
const SEND: &str = "transfer";
/// The operation that asks for the state of a transfer, in the journal.
const STATUS: &str = "transfer_status";
/// The operation that lists movements, in the journal.
const LIST: &str = "movements";
/// The bank's code when it knows no such transfer.
const NOT_FOUND: &str = "TX019";
/// The longest description that the bank takes, in characters.
const DESCRIPTION_MAX: usize = 100;

fn path<'a>(collector: &'a str, rest: &[&'a str]) -> Vec<&'a str> {
    let mut path = vec!["banks", "322", "accounts", collector, "owner"];
    path.extend(["transaction-request-types", "TRANSFER-CVU"]);
    path.extend(rest);
    path
}

impl Ask<BankTransfer> {
    /// Sends a transfer, or returns the one that its reference has already made.
    fn transfer(collector: &str, order: &TransferOrder) -> Self {
        let (origin, amount) = (order.origin, order.amount);
        let (to, to_redacted) = match &order.to {
            Destination::Key(key) => (json!({"cbu": key}), json!({"cbu": last4(key.as_str())})),
            Destination::Alias(alias) => (json!({"label": alias}), json!({"label": "…"})),
        };
        let value = json!({"currency": "ARS", "amount": amount.to_string()});
        let mut body = json!({
            "origin_id": origin.to_string(),
            "origin_debit": {"cvu": order.from, "cuit": order.cuit},
            "to": to,
            "value": value,
            "concept": order.concept.as_str(),
        });
        let description = order.description.as_deref().unwrap_or_default();
        let description = read::line(description, DESCRIPTION_MAX);
        if let Some(members) = body.as_object_mut().filter(|_| !description.is_empty()) {
            members.insert("description".into(), json!(description));
        }
        let redacted = json!({
            "origin_id": origin.to_string(),
            "origin_debit": {"cvu": last4(order.from.as_str())},
            "to": to_redacted,
            "value": value,
            "concept": order.concept.as_str(),
        });
        let judge = Box::new(move |answer: &Answer| judge_sent(answer, origin));
        Self {
            reference: origin.to_string(),
            method: Method::POST,
            body: Some(body),
            redacted: redacted.to_string(),
            ..Self::get(SEND, &path(collector, &["transaction-requests"]), judge)
        }
    }

    /// Returns money from the collector account, or gives the return that its reference has already made.
    fn give_back(collector: &str, order: &ReturnOrder) -> Self {
        let (origin, amount) = (order.origin, order.amount);
        let value = json!({"currency": "ARS", "amount": amount.to_string()});
        let described = format!("Devolucion {}", order.returns);
        let body = json!({
            "origin_id": origin.to_string(),
            "to": {"cbu": order.to},
            "value": value,
            "concept": "VAR",
            "description": read::line(&described, DESCRIPTION_MAX),
        });
        let redacted = json!({
            "origin_id": origin.to_string(),
            "to": {"cbu": last4(order.to.as_str())},
            "value": value,
        });
        let judge = Box::new(move |answer: &Answer| judge_sent(answer, origin));
        let mut path = vec!["banks", "322", "accounts", collector, "owner"];
        path.extend([
            "transaction-request-types",
            "TRANSFER",
            "transaction-requests",
        ]);
        Self {
            reference: origin.to_string(),
            method: Method::POST,
            body: Some(body),
            redacted: redacted.to_string(),
            ..Self::get(SEND, &path, judge)
        }
    }

    /// Asks for a transfer that may have been sent a moment ago: if it is not there yet, it is looked for again.
    fn confirmed(collector: &str, origin: OriginId) -> Self {
        let text = origin.to_string();
        let judge = Box::new(move |answer: &Answer| match judge_status(answer, origin) {
            Verdict::Done(Some(transfer)) => Verdict::Done(transfer),
            Verdict::Done(None) => Verdict::NotYet,
            Verdict::Refused | Verdict::NotYet | Verdict::Nonsense => Verdict::Nonsense,
        });
        Self {
            redacted: json!({"origin_id": text}).to_string(),
            ..Self::get(STATUS, &path(collector, &[&text]), judge)
        }
        .about(text)
    }
}

impl Ask<Option<BankTransfer>> {
    /// Asks for the state of a transfer.
    pub fn transfer_status(collector: &str, origin: OriginId) -> Self {
        let text = origin.to_string();
        let judge = Box::new(move |answer: &Answer| judge_status(answer, origin));
        Self {
            redacted: json!({"origin_id": text}).to_string(),
            ..Self::get(STATUS, &path(collector, &[&text]), judge)
        }
        .about(text)
    }
}

impl Ask<Vec<BankMovement>> {
    /// One page of a day's movements.
    fn page(collector: &str, day: BusinessDay, way: Way, offset: usize) -> Self {
        let asked = match way {
            Way::In => "TRANSFERENCIAS_RECIBIDAS",
            Way::Out => "TRANSFERENCIAS_ENVIADAS",
        };
        let judge = Box::new(move |answer: &Answer| judge_page(answer, day, way));
        Self {
            headers: vec![
                ("obp_limit", PAGE.to_string()),
                ("obp_offset", offset.to_string()),
                ("obp_from_date", day.to_string()),
                ("obp_to_date", day.to_string()),
                ("obp_origin", asked.to_owned()),
            ],
            body_max: PAGE_BODY_MAX,
            redacted: json!({"origin": asked, "offset": offset}).to_string(),
            ..Self::get(LIST, &path(collector, &[]), judge)
        }
        .about(day.to_string())
    }
}

fn judge_sent(answer: &Answer, origin: OriginId) -> Verdict<BankTransfer> {
    if !answer.is_success() {
        return refusals::verdict(answer, refusals::TRANSFER);
    }
    // The ledger compares what it moves; an answer without even an amount makes no sense.
    match recorded(answer, origin).filter(|record| record.moved.amount.is_some()) {
        Some(transfer) => Verdict::Done(transfer),
        None => Verdict::Nonsense,
    }
}

fn judge_status(answer: &Answer, origin: OriginId) -> Verdict<Option<BankTransfer>> {
    if !answer.is_success() {
        // Any other refusal is about the request and tells nothing about the transfer.
        return match wire::code_of(answer).as_str() {
            NOT_FOUND => Verdict::Done(None),
            _ => Verdict::Nonsense,
        };
    }
    match recorded(answer, origin) {
        Some(transfer) => Verdict::Done(Some(transfer)),
        None => Verdict::Nonsense,
    }
}

/// A transfer, if it is the one of this reference.
fn recorded(answer: &Answer, origin: OriginId) -> Option<BankTransfer> {
    let record: BankRecord<'_> = answer.read()?;
    let ours = record.origin_id.as_deref().and_then(OriginId::parse) == Some(origin);
    record.transfer().filter(|_| ours)
}

/// A transfer in a list.
#[derive(Deserialize)]
struct Listed<'a> {
    #[serde(rename = "type")]
    kind: String,
    #[serde(borrow)]
    value: Worth<'a>,
    #[serde(default)]
    origin_debit: Value,
    #[serde(default)]
    origin_credit: Value,
    #[serde(default)]
    to: Value,
    #[serde(default)]
    reverses: Option<String>,
    #[serde(default)]
    concept: Option<String>,
    start_date: String,
    business_date: String,
}

fn judge_page(answer: &Answer, day: BusinessDay, way: Way) -> Verdict<Vec<BankMovement>> {
    if !answer.is_success() {
        return refusals::of_question(answer);
    }
    let (record, listed) = (answer.read(), answer.read());
    let (Some(record), Some(listed)): (Option<Vec<BankRecord<'_>>>, Option<Vec<Listed<'_>>>) =
        (record, listed)
    else {
        return Verdict::Nonsense;
    };
    // If the bank exceeds the page size, its offsets cannot be trusted either.
    if record.len() > PAGE {
        return Verdict::Nonsense;
    }
    // An unreadable item leaves a hole: it would look as if that movement had not happened.
    let items = record.iter().zip(&listed);
    let items: Option<Vec<_>> = items.map(|(a, b)| movement(a, b, day, way)).collect();
    items.map_or(Verdict::Nonsense, Verdict::Done)
}

fn movement(
    record: &BankRecord<'_>,
    listed: &Listed<'_>,
    day: BusinessDay,
    way: Way,
) -> Option<BankMovement> {
    let reversal = listed.kind == "REVERSAL";
    let (ours, other, origin) = match way {
        Way::Out if reversal => return None,
        Way::Out => (&listed.origin_debit, &listed.to, &record.origin_id),
        Way::In => (
            &listed.origin_credit,
            &listed.origin_debit,
            &listed.reverses,
        ),
    };
    // The movement is of another day: the bank did not understand the request.
    if Timestamp::parse(&listed.business_date)?.business_day() != day {
        return None;
    }
    let transfer = record.transfer()?;
    Some(BankMovement {
        bank_id: transfer.bank_id,
        coelsa_id: transfer.coelsa_id,
        // An id that is not ours is left out: somebody else used the account.
        origin: origin.as_deref().and_then(OriginId::parse),
        reversal,
        way,
        // Money that leaves the collector account itself has no CVU.
        cvu: read::id(ours.get("cvu").or_else(|| ours.get("cbu"))?.as_str()?)?,
        counterparty: Counterparty {
            concept: read::concept(listed.concept.as_deref()),
            ..read::counterparty(other)
        },
        amount: listed.value.amount()?,
        word: transfer.word,
        at: Timestamp::parse(&listed.start_date)?,
    })
}

/// Whether an earlier attempt at an order, before the last call, may have had an effect that nobody saw.
fn doubted(calls: &[BankCall], operation: &str) -> bool {
    let earlier = calls.split_last().map_or(&[][..], |(_, earlier)| earlier);
    // A call whose login was refused has had no effect.
    let sent = |call: &BankCall| call.operation == operation && call.status != Some(401);
    earlier.iter().any(sent)
}

impl HttpGateway {
    /// Sends a transfer, or returns the one that its reference has already made.
    pub(super) async fn send(
        &self,
        order: &TransferOrder,
        request_id: &str,
    ) -> BankReply<BankTransfer> {
        let ask = Ask::transfer(&self.config.collector, order);
        let confirmed = Ask::confirmed(&self.config.collector, order.origin);
        self.order(ask, confirmed, request_id).await
    }

    /// Returns money, or gives the return that its reference has already made.
    pub(super) async fn returned(
        &self,
        order: &ReturnOrder,
        request_id: &str,
    ) -> BankReply<BankTransfer> {
        let ask = Ask::give_back(&self.config.collector, order);
        let confirmed = Ask::confirmed(&self.config.collector, order.origin);
        self.order(ask, confirmed, request_id).await
    }

    /// Brings an order to the bank. A refusal after an attempt with an unknown end counts only if the bank then says,
    /// to `confirmed`, that it does not know the order.
    pub(super) async fn order<T>(
        &self,
        ask: Ask<T>,
        confirmed: Ask<T>,
        request_id: &str,
    ) -> BankReply<T> {
        let (deadline, operation) = (self.deadline(), ask.operation);
        let mut reply = self.perform(ask, request_id, deadline).await;
        // The bank may refuse the second attempt because of the first: for instance, the day's limit is used up.
        if matches!(reply.result, Err(BankError::Refused(_))) && doubted(&reply.calls, operation) {
            let found = self.perform(confirmed, request_id, deadline).await;
            reply.calls.extend(found.calls);
            match found.result {
                // The order is not there, so the refusal stands.
                Err(BankError::Refused(_)) => {}
                record => reply.result = record,
            }
        }
        reply
    }

    /// Lists a day's movements in both directions.
    pub(super) async fn list(
        &self,
        day: BusinessDay,
        request_id: &str,
    ) -> BankReply<Vec<BankMovement>> {
        let mut calls = Vec::new();
        let until = Instant::now() + LIST_DEADLINE;
        let mut all = Vec::new();
        for way in [Way::Out, Way::In] {
            let listed = self.list_way(day, way, request_id, until, &mut calls);
            match listed.await {
                Ok(listed) => all.extend(listed),
                Err(why) => {
                    let result = Err(why);
                    return BankReply { result, calls };
                }
            }
        }
        let result = Ok(all);
        BankReply { result, calls }
    }

    async fn list_way(
        &self,
        day: BusinessDay,
        way: Way,
        request_id: &str,
        until: Instant,
        calls: &mut Vec<BankCall>,
    ) -> Result<Vec<BankMovement>, BankError> {
        let mut listed: Vec<BankMovement> = Vec::new();
        let mut places: HashMap<String, usize> = HashMap::new();
        for number in 0..self.config.pages {
            let offset = number.saturating_mul(PAGE);
            let ask = Ask::page(&self.config.collector, day, way, offset);
            let deadline = self.deadline().min(until);
            let reply = self.perform(ask, request_id, deadline).await;
            calls.extend(reply.calls);
            let page = reply.result?;
            let (count, known) = (page.len(), places.len());
            for item in page {
                let at = *places.entry(item.bank_id.clone()).or_insert(listed.len());
                match listed.get_mut(at) {
                    Some(_) if at >= known => return Err(unlisted("two movements have one id")),
                    // The movement shifted to this page meanwhile; the later report counts.
                    Some(place) => *place = item,
                    None => listed.push(item),
                }
            }
            if count < PAGE {
                return Ok(listed);
            }
            if places.len() == known {
                return Err(unlisted("the bank gives the same page again"));
            }
        }
        Err(unlisted("the bank has more pages than are read"))
    }
}

fn unlisted(why: &str) -> BankError {
    let body = json!({"message": why}).to_string();
    BankError::Failed { status: None, body }
}
