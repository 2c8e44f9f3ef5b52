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
use serde_json::json;
use serde_json::value::RawValue;
use tokio::time::Instant;

use super::read::{self, JsonMembers, UnreadableMember};
use super::redact::{for_the_journal, last4};
use super::refusals;
use super::wire::{self, BankRequest, BankResponse, Judge, owner};
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

/// The path of transfers of CVUs.
fn path<'a>(collector: &'a str, rest: &[&'a str]) -> Vec<&'a str> {
    let transfers = ["transaction-request-types", "TRANSFER-CVU"];
    owner(collector, &[&transfers, rest].concat())
}

/// Asks for the state of a transfer.
fn status<T>(collector: &str, origin: OriginId, judge: Judge<T>) -> BankRequest<T> {
    let text = origin.to_string();
    BankRequest::get(STATUS, &path(collector, &[&text]), judge)
        .recorded(&json!({"origin_id": text}))
        .about(text)
}

impl BankRequest<BankTransfer> {
    /// Sends a transfer, or returns the one that its reference has already made.
    pub(crate) fn transfer(collector: &str, order: &TransferOrder) -> Self {
        let origin = order.origin;
        let (to, to_redacted) = match &order.to {
            Destination::Key(key) => (json!({"cbu": key}), json!({"cbu": last4(key.as_str())})),
            Destination::Alias(alias) => (json!({"label": alias}), json!({"label": "…"})),
        };
        let value = json!({"currency": "ARS", "amount": order.amount.to_string()});
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
        let path = path(collector, &["transaction-requests"]);
        Self::post(SEND, &path, body, sent(origin))
            .about(origin.to_string())
            .recorded(&redacted)
    }

    /// Returns money from the collector account, or gives the return that its reference has already made.
    pub(crate) fn give_back(collector: &str, order: &ReturnOrder) -> Self {
        let origin = order.origin;
        let value = json!({"currency": "ARS", "amount": order.amount.to_string()});
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
        let requests = [
            "transaction-request-types",
            "TRANSFER",
            "transaction-requests",
        ];
        Self::post(SEND, &owner(collector, &requests), body, sent(origin))
            .about(origin.to_string())
            .recorded(&redacted)
    }

    /// Asks for a transfer that may have been sent a moment ago: if it is not there yet, it is looked for again.
    pub(crate) fn confirmed(collector: &str, origin: OriginId) -> Self {
        status(collector, origin, wire::of_recent(state(origin)))
    }
}

impl BankRequest<Option<BankTransfer>> {
    /// Asks for the state of a transfer.
    pub(crate) fn transfer_status(collector: &str, origin: OriginId) -> Self {
        status(collector, origin, state(origin))
    }
}

impl BankRequest<DayPage> {
    /// One page of a day's movements.
    fn page(collector: &str, day: BusinessDay, way: MovementWay, offset: usize) -> Self {
        let asked = match way {
            MovementWay::In => "TRANSFERENCIAS_RECIBIDAS",
            MovementWay::Out => "TRANSFERENCIAS_ENVIADAS",
        };
        let judge = wire::of_question(move |answer| day_page(answer, day, way));
        Self {
            headers: vec![
                ("obp_limit", PAGE.to_string()),
                ("obp_offset", offset.to_string()),
                ("obp_from_date", day.to_string()),
                ("obp_to_date", day.to_string()),
                ("obp_origin", asked.to_owned()),
            ],
            body_max: PAGE_BODY_MAX,
            ..Self::get(LIST, &path(collector, &[]), judge)
        }
        .about(day.to_string())
        .recorded(&json!({"origin": asked, "offset": offset}))
    }
}

fn sent(origin: OriginId) -> Judge<BankTransfer> {
    // The ledger compares what it moves; an answer without even an amount makes no sense.
    let moved = |transfer: &BankTransfer| transfer.moved.amount.is_some();
    wire::of_order(refusals::TRANSFER, move |answer| {
        recorded(answer, origin).filter(moved)
    })
}

/// Judges the state of a transfer.
pub(super) fn state(origin: OriginId) -> Judge<Option<BankTransfer>> {
    wire::of_state(NOT_FOUND, move |answer| recorded(answer, origin))
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
pub(super) fn page<T>(
    answer: &BankResponse,
    read: impl Fn(&JsonMembers<'_>) -> Result<T, UnreadableMember>,
    keep: impl Fn(&JsonMembers<'_>, UnreadableMember, String) -> UnreadableLine,
) -> Option<LinePage<T>> {
    let lines: Vec<&RawValue> = answer.read()?;
    // If the bank exceeds the page size, its offsets cannot be trusted either.
    if lines.len() > PAGE {
        return None;
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
    Some(page)
}

/// Reads a page of a day's list.
pub(super) fn day_page(
    answer: &BankResponse,
    day: BusinessDay,
    way: MovementWay,
) -> Option<DayPage> {
    page(
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

/// A line of a list.
pub(super) trait ListLine {
    /// The bank's id of its movement.
    fn bank_id(&self) -> &str;

    /// The report of a line with the id of another one, if they are of two movements; otherwise the later report counts.
    fn clash(&self, _known: &Self, _day: BusinessDay) -> Option<UnreadableLine> {
        None
    }
}

impl ListLine for BankMovement {
    fn bank_id(&self) -> &str {
        &self.bank_id
    }

    fn clash(&self, known: &Self, day: BusinessDay) -> Option<UnreadableLine> {
        // It may have been given its id on the rail, and have ended, meanwhile.
        let rail = match (&known.coelsa_id, &self.coelsa_id) {
            (Some(known), Some(now)) => known == now,
            _ => true,
        };
        let is_same = rail
            && (&known.cvu, known.amount, known.origin, known.reversal)
                == (&self.cvu, self.amount, self.origin, self.reversal);
        (!is_same).then(|| UnreadableLine {
            day,
            incoming: self.way == MovementWay::In,
            field: "id".to_owned(),
            bank_id: Some(self.bank_id.clone()),
            coelsa_id: self.coelsa_id.clone(),
            origin: self.origin,
            cvu: Cvu::parse(&self.cvu).ok(),
            amount: Some(self.amount),
            text: String::new(),
        })
    }
}

/// The lines of a list of a day, page by page.
pub(super) struct DayLines<T> {
    day: BusinessDay,
    /// The lines that can be read.
    pub listed: Vec<T>,
    /// The place of each movement in the list, by the bank's id.
    places: HashMap<String, usize>,
    /// By the digest that identifies the line.
    unreadable: BTreeMap<[u8; 32], UnreadableLine>,
    /// The digests of the bank's answers, one after the other.
    pub answers: Vec<u8>,
}

impl<T: ListLine> DayLines<T> {
    /// No lines so far.
    pub(crate) fn of(day: BusinessDay) -> Self {
        Self {
            day,
            listed: Vec::new(),
            places: HashMap::new(),
            unreadable: BTreeMap::new(),
            answers: Vec::new(),
        }
    }

    /// The lines that can be read, and the others.
    pub(crate) fn both(self) -> (Vec<T>, Vec<UnreadableLine>) {
        (self.listed, self.unreadable.into_values().collect())
    }

    /// Takes in a page; returns whether it has a line that no earlier one has.
    pub(crate) fn take(&mut self, page: LinePage<T>) -> bool {
        let known = (self.places.len(), self.unreadable.len());
        self.answers.extend(page.digest.0);
        let mut unreadable = page.unreadable;
        for line in page.movements {
            let new = self.listed.len();
            let at = *self.places.entry(line.bank_id().to_owned()).or_insert(new);
            match self.listed.get_mut(at) {
                Some(known) => match line.clash(known, self.day) {
                    // The id does not tell which movement it is.
                    Some(clash) => unreadable.push(clash),
                    // The movement shifted to this page meanwhile.
                    None => *known = line,
                },
                None => self.listed.push(line),
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
        let mut reading = Reading::of(self, request_id);
        let result = reading.list(day).await;
        let calls = reading.calls;
        BankReply { result, calls }
    }
}

/// Several operations that together read something, with their calls so far.
pub(super) struct Reading<'a> {
    /// The gateway that asks.
    pub gateway: &'a HttpGateway,
    request_id: &'a str,
    /// The calls so far.
    pub calls: Vec<BankCall>,
}

impl<'a> Reading<'a> {
    /// Nothing was read so far.
    pub(super) fn of(gateway: &'a HttpGateway, request_id: &'a str) -> Self {
        let calls = Vec::new();
        Self {
            gateway,
            request_id,
            calls,
        }
    }

    /// Performs an operation, which ends by `until` at the latest.
    pub(super) async fn ask<T>(
        &mut self,
        ask: BankRequest<T>,
        until: Option<Instant>,
    ) -> Result<T, BankError> {
        let deadline = self.gateway.deadline();
        let deadline = until.map_or(deadline, |until| deadline.min(until));
        let reply = self.gateway.perform(ask, self.request_id, deadline).await;
        self.calls.extend(reply.calls);
        reply.result
    }

    /// Reads all pages of a list by `until`; `page` asks for the one at an offset.
    pub(super) async fn pages<T: ListLine>(
        &mut self,
        list: &str,
        day: BusinessDay,
        until: Instant,
        page: impl Fn(usize) -> BankRequest<LinePage<T>>,
    ) -> Result<DayLines<T>, BankError> {
        let mut lines = DayLines::of(day);
        for number in 0..self.gateway.config.pages {
            let page = self.ask(page(number.strict_mul(PAGE)), Some(until)).await?;
            let full = page.lines >= PAGE;
            let fresh = lines.take(page);
            if lines.unreadable.len() > UNREADABLE_MAX {
                return Err(unlisted(&format!(
                    "too many lines of {list} cannot be read"
                )));
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

    async fn list(&mut self, day: BusinessDay) -> Result<DayList, BankError> {
        let until = Instant::now() + LIST_DEADLINE;
        let collector = &self.gateway.config.collector;
        let mut all = DayList::default();
        for way in [MovementWay::Out, MovementWay::In] {
            let page = |offset| BankRequest::page(collector, day, way, offset);
            let lines = self.pages("the bank's list", day, until, page).await?;
            let (movements, unreadable) = lines.both();
            all.movements.extend(movements);
            all.unreadable.extend(unreadable);
        }
        Ok(all)
    }
}

fn unlisted(why: &str) -> BankError {
    let body = json!({"message": why}).to_string();
    BankError::Failed { status: None, body }
}
