//! Transfers at the bank: sent, looked up again, and listed for reconciliation.
//!
//! **Belief.** A refusal ends a transfer only by a code that is final ([`refusals`]), and only when the transfer cannot
//! have happened: after an attempt with an unknown end, the bank is asked for the transfer first.
//!
//! **Lists** are judged line by line: a line that cannot be read in a field that decides is reported as such, and every
//! other line counts.

use std::collections::{BTreeMap, HashMap};

use caudal_actors::ports::{
    BankError, BankMovement, BankReply, DayList, MovementWay, ReturnOrder, TransferOrder,
};
use caudal_ledger::cases::UnreadableLine;
use caudal_ledger::chain::Digest;
use caudal_ledger::cvu::Cvu;
use caudal_ledger::facts::BankCall;
use caudal_ledger::ids::OriginId;
use caudal_ledger::time::{BusinessDay, Timestamp};
use caudal_ledger::transfers::{BankTransfer, Counterparty, Destination};
use reqwest::Method;
use serde_json::json;
use serde_json::value::RawValue;
use tokio::time::Instant;

use super::read::{self, JsonMembers, UnreadableMember};
use super::redact::{for_the_journal, last4};
use super::refusals;
use super::wire::{self, BankRequest, BankResponse, Verdict};
use super::{HttpGateway, LIST_DEADLINE, PAGE, PAGE_BODY_MAX, UNREADABLE_MAX};

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

impl BankRequest<BankTransfer> {
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
        let judge = Box::new(move |answer: &BankResponse| judge_sent(answer, origin));
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
        let judge = Box::new(move |answer: &BankResponse| judge_sent(answer, origin));
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
        let judge = Box::new(
            move |answer: &BankResponse| match judge_status(answer, origin) {
                Verdict::Done(Some(transfer)) => Verdict::Done(transfer),
                Verdict::Done(None) => Verdict::NotYet,
                Verdict::Refused | Verdict::NotYet | Verdict::Nonsense => Verdict::Nonsense,
            },
        );
        Self {
            redacted: json!({"origin_id": text}).to_string(),
            ..Self::get(STATUS, &path(collector, &[&text]), judge)
        }
        .about(text)
    }
}

impl BankRequest<Option<BankTransfer>> {
    /// Asks for the state of a transfer.
    pub(crate) fn transfer_status(collector: &str, origin: OriginId) -> Self {
        let text = origin.to_string();
        let judge = Box::new(move |answer: &BankResponse| judge_status(answer, origin));
        Self {
            redacted: json!({"origin_id": text}).to_string(),
            ..Self::get(STATUS, &path(collector, &[&text]), judge)
        }
        .about(text)
    }
}

impl BankRequest<DayPage> {
    /// One page of a day's movements.
    fn page(collector: &str, day: BusinessDay, way: MovementWay, offset: usize) -> Self {
        let asked = match way {
            MovementWay::In => "TRANSFERENCIAS_RECIBIDAS",
            MovementWay::Out => "TRANSFERENCIAS_ENVIADAS",
        };
        let judge = Box::new(move |answer: &BankResponse| judge_page(answer, day, way));
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

fn judge_sent(answer: &BankResponse, origin: OriginId) -> Verdict<BankTransfer> {
    if !answer.is_success() {
        return wire::verdict(answer, refusals::TRANSFER);
    }
    // The ledger compares what it moves; an answer without even an amount makes no sense.
    match recorded(answer, origin).filter(|record| record.moved.amount.is_some()) {
        Some(transfer) => Verdict::Done(transfer),
        None => Verdict::Nonsense,
    }
}

pub(super) fn judge_status(
    answer: &BankResponse,
    origin: OriginId,
) -> Verdict<Option<BankTransfer>> {
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
fn recorded(answer: &BankResponse, origin: OriginId) -> Option<BankTransfer> {
    let record: JsonMembers<'_> = answer.read()?;
    let ours = record.origin("origin_id") == Ok(Some(origin));
    record.transfer().ok().filter(|_| ours)
}

/// A page of a list.
#[derive(Debug)]
pub(super) struct LinePage<T> {
    /// How many lines it has.
    pub lines: usize,
    /// The lines that can be read.
    pub movements: Vec<T>,
    /// The others.
    pub unreadable: Vec<UnreadableLine>,
    /// The digest of the answer as it was received.
    pub digest: Digest,
}

/// A page of a day's list.
pub(super) type DayPage = LinePage<BankMovement>;

/// Reads a page of a list line by line. `read` reads a line, and `keep` what can be read of one in which a member that
/// decides cannot.
pub(super) fn judge_lines<T>(
    answer: &BankResponse,
    read: impl Fn(&JsonMembers<'_>) -> Result<T, UnreadableMember>,
    keep: impl Fn(&JsonMembers<'_>, UnreadableMember, String) -> UnreadableLine,
) -> Verdict<LinePage<T>> {
    if !answer.is_success() {
        return wire::of_question(answer);
    }
    let Some(lines): Option<Vec<&RawValue>> = answer.read() else {
        return Verdict::Nonsense;
    };
    // If the bank exceeds the page size, its offsets cannot be trusted either.
    if lines.len() > PAGE {
        return Verdict::Nonsense;
    }
    let mut page = LinePage {
        lines: lines.len(),
        movements: Vec::new(),
        unreadable: Vec::new(),
        digest: Digest::of(answer.body.as_bytes()),
    };
    for line in lines {
        let record = serde_json::from_str(line.get()).unwrap_or(JsonMembers::none());
        match read(&record) {
            Ok(movement) => page.movements.push(movement),
            Err(field) => {
                let text = for_the_journal(line.get());
                page.unreadable.push(keep(&record, field, text));
            }
        }
    }
    Verdict::Done(page)
}

pub(super) fn judge_page(
    answer: &BankResponse,
    day: BusinessDay,
    way: MovementWay,
) -> Verdict<DayPage> {
    judge_lines(
        answer,
        |record| movement(record, day, way),
        |record, field, text| unreadable(record, day, way, field, text),
    )
}

/// The names of the party with the CVU of ours and of the other one, and of our reference.
const fn parties(way: MovementWay) -> (UnreadableMember, UnreadableMember, UnreadableMember) {
    match way {
        MovementWay::Out => ("origin_debit", "to", "origin_id"),
        MovementWay::In => ("origin_credit", "origin_debit", "reverses"),
    }
}

/// Reads a line of a list.
///
/// # Errors
/// The field that decides and cannot be read.
fn movement(
    record: &JsonMembers<'_>,
    day: BusinessDay,
    way: MovementWay,
) -> Result<BankMovement, UnreadableMember> {
    let reversal = record.text("type")?.ok_or("type")? == "REVERSAL";
    if reversal && way == MovementWay::Out {
        return Err("type");
    }
    let (ours, other, origin) = parties(way);
    let start: Option<String> = record.shown("start_date");
    let start = start.as_deref().and_then(Timestamp::parse);
    let business: Option<String> = record.shown("business_date");
    let business = business.as_deref().and_then(Timestamp::parse);
    // The movement is of another day: the bank did not understand the request.
    if business.is_some_and(|business| business.business_day() != day) {
        return Err("business_date");
    }
    let transfer = record.transfer()?;
    let party = record.object(ours)?;
    let cvu = match party.text("cvu").map_err(|_| ours)? {
        Some(cvu) => Cvu::parse(&cvu).ok().map(|cvu| cvu.to_string()),
        // Money that leaves the collector account itself has no CVU.
        None => party
            .text("cbu")
            .map_err(|_| ours)?
            .as_deref()
            .and_then(read::id),
    };
    // Only a transfer that we sent, and one that came back, have a reference of ours.
    let origin = if way == MovementWay::Out || reversal {
        // An id that is not ours is left out: somebody else used the account.
        record.origin(origin)?
    } else {
        None
    };
    let concept: Option<String> = record.shown("concept");
    Ok(BankMovement {
        bank_id: transfer.bank_id,
        coelsa_id: transfer.coelsa_id,
        origin,
        reversal,
        way,
        cvu: cvu.ok_or(ours)?,
        counterparty: Counterparty {
            concept: read::concept(concept.as_deref()),
            ..record.party(other)
        },
        amount: record.pesos()?,
        word: transfer.word,
        at: start.or(business).unwrap_or_else(|| day.start()),
    })
}

/// A line that cannot be read, with what can be read of it.
fn unreadable(
    record: &JsonMembers<'_>,
    day: BusinessDay,
    way: MovementWay,
    field: UnreadableMember,
    text: String,
) -> UnreadableLine {
    let (ours, _, origin) = parties(way);
    let id = |name| {
        record
            .text(name)
            .ok()
            .flatten()
            .as_deref()
            .and_then(read::id)
    };
    let party: Option<JsonMembers<'_>> = record.deciding(ours).ok().flatten();
    let cvu = party.and_then(|party| party.text("cvu").ok().flatten());
    UnreadableLine {
        day,
        incoming: way == MovementWay::In,
        field: field.to_owned(),
        bank_id: id("id"),
        coelsa_id: id("coelsa_id"),
        origin: record.origin(origin).ok().flatten(),
        cvu: cvu.and_then(|cvu| Cvu::parse(&cvu).ok()),
        amount: record.pesos().ok(),
        text,
    }
}

/// A movement whose id another movement of the list has.
fn repeated(movement: &BankMovement, day: BusinessDay) -> UnreadableLine {
    UnreadableLine {
        day,
        incoming: movement.way == MovementWay::In,
        field: "id".to_owned(),
        bank_id: Some(movement.bank_id.clone()),
        coelsa_id: movement.coelsa_id.clone(),
        origin: movement.origin,
        cvu: Cvu::parse(&movement.cvu).ok(),
        amount: Some(movement.amount),
        text: String::new(),
    }
}

/// Whether two lines with one id are reports of one movement: it may have been given its id on the rail, and have
/// ended, meanwhile.
fn is_same(a: &BankMovement, b: &BankMovement) -> bool {
    let rail = match (&a.coelsa_id, &b.coelsa_id) {
        (Some(a), Some(b)) => a == b,
        _ => true,
    };
    rail && (&a.cvu, a.amount, a.origin, a.reversal) == (&b.cvu, b.amount, b.origin, b.reversal)
}

/// The lines of a day's list one way, page by page.
pub(super) struct DayLines {
    day: BusinessDay,
    listed: Vec<BankMovement>,
    /// The place of each movement in the list, by the bank's id.
    places: HashMap<String, usize>,
    /// By the digest that identifies the line.
    unreadable: BTreeMap<[u8; 32], UnreadableLine>,
}

impl DayLines {
    /// No lines so far.
    pub(crate) fn of(day: BusinessDay) -> Self {
        Self {
            day,
            listed: Vec::new(),
            places: HashMap::new(),
            unreadable: BTreeMap::new(),
        }
    }

    /// The movements, and the lines that cannot be read.
    pub(crate) fn both(self) -> (Vec<BankMovement>, Vec<UnreadableLine>) {
        (self.listed, self.unreadable.into_values().collect())
    }

    /// Takes in a page; returns whether it has a line that no earlier one has.
    pub(crate) fn take(&mut self, page: DayPage) -> bool {
        let known = (self.places.len(), self.unreadable.len());
        let mut unreadable = page.unreadable;
        for item in page.movements {
            let new = self.listed.len();
            let at = *self.places.entry(item.bank_id.clone()).or_insert(new);
            match self.listed.get_mut(at) {
                // The movement shifted to this page meanwhile; the later report counts.
                Some(known) if is_same(known, &item) => *known = item,
                // The id does not tell which movement it is.
                Some(_) => unreadable.push(repeated(&item, self.day)),
                None => self.listed.push(item),
            }
        }
        let keyed = unreadable.into_iter().map(|line| (line.key().0, line));
        self.unreadable.extend(keyed);
        known != (self.places.len(), self.unreadable.len())
    }
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
        let ask = BankRequest::transfer(&self.config.collector, order);
        let confirmed = BankRequest::confirmed(&self.config.collector, order.origin);
        self.order(ask, confirmed, request_id).await
    }

    /// Returns money, or gives the return that its reference has already made.
    pub(super) async fn returned(
        &self,
        order: &ReturnOrder,
        request_id: &str,
    ) -> BankReply<BankTransfer> {
        let ask = BankRequest::give_back(&self.config.collector, order);
        let confirmed = BankRequest::confirmed(&self.config.collector, order.origin);
        self.order(ask, confirmed, request_id).await
    }

    /// Brings an order to the bank. A refusal after an attempt with an unknown end counts only if the bank then says,
    /// to `confirmed`, that it does not know the order.
    pub(super) async fn order<T>(
        &self,
        ask: BankRequest<T>,
        confirmed: BankRequest<T>,
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
    pub(super) async fn list(&self, day: BusinessDay, request_id: &str) -> BankReply<DayList> {
        let mut calls = Vec::new();
        let until = Instant::now() + LIST_DEADLINE;
        let mut all = DayList::default();
        for way in [MovementWay::Out, MovementWay::In] {
            let listed = self.list_way(day, way, request_id, until, &mut calls);
            match listed.await {
                Ok(lines) => {
                    let (movements, unreadable) = lines.both();
                    all.movements.extend(movements);
                    all.unreadable.extend(unreadable);
                }
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
        way: MovementWay,
        request_id: &str,
        until: Instant,
        calls: &mut Vec<BankCall>,
    ) -> Result<DayLines, BankError> {
        let mut lines = DayLines::of(day);
        for number in 0..self.config.pages {
            let offset = number.saturating_mul(PAGE);
            let ask = BankRequest::page(&self.config.collector, day, way, offset);
            let deadline = self.deadline().min(until);
            let reply = self.perform(ask, request_id, deadline).await;
            calls.extend(reply.calls);
            let page = reply.result?;
            let full = page.lines >= PAGE;
            let fresh = lines.take(page);
            if lines.unreadable.len() > UNREADABLE_MAX {
                return Err(unlisted("too many lines of the bank's list cannot be read"));
            }
            if !full {
                return Ok(lines);
            }
            if !fresh {
                return Err(unlisted("the bank gives the same page again"));
            }
        }
        Err(unlisted("the bank has more pages than are read"))
    }
}

pub(super) fn unlisted(why: &str) -> BankError {
    let body = json!({"message": why}).to_string();
    BankError::Failed { status: None, body }
}
