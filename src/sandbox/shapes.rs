//! Transfers as the bank shows them: in its answers and in its notices.

use caudal_ledger::cvu::Cbu;
use caudal_ledger::time::Timestamp;
use serde_json::{Map, Value, json};

use super::behaviours::{Mode, Operation};
use super::transfers::{Kind, Party, Transfer, TransferStatus};

/// The bank's reason for a transfer that comes back.
const REVERSAL_REASON: &str = "Problemas con el Crédito. REVERSAR";

/// A notice for the service about something that happened.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Notice {
    /// The `type` of the notice.
    pub kind: &'static str,
    pub data: Value,
    /// The operation whose behaviour it follows.
    pub operation: Operation,
    /// The collector account whose money moved.
    pub collector: Option<Cbu>,
    /// The behaviour that was fixed in advance, if any.
    pub mode: Option<Mode>,
    /// When it happened.
    pub at: u64,
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

fn value_of(transfer: &Transfer) -> Value {
    json!({"currency": "ARS", "amount": transfer.amount.to_string()})
}

/// The other side of a movement.
pub(super) fn party(party: &Party) -> Value {
    json!({
        "cuit": party.cuit,
        "name": party.name,
        "cbu": party.cbu,
        "label": party.label,
        "bank": {"code": party.bank_code, "name": party.bank_name},
    })
}

/// Argentine midnight of the transfer's business day, in UTC.
fn business_date(transfer: &Transfer) -> Timestamp {
    Timestamp::from_millis(transfer.at).business_day().start()
}

/// The side of the PSP: a CVU with its holder, or the collector account itself.
fn own(transfer: &Transfer) -> Map<String, Value> {
    object(match transfer.cvu {
        Some(cvu) => json!({"cvu": cvu, "cuit": transfer.cuit}),
        None => json!({"cbu": transfer.collector}),
    })
}

/// The bank's word for what a movement is.
pub(super) const fn kind(transfer: &Transfer) -> &'static str {
    match transfer.kind {
        Kind::Out if transfer.cvu.is_none() => "TRANSFER",
        Kind::Out => "TRANSFER-CVU",
        Kind::In => "TRANSFERENCIA",
        Kind::Reversal => "REVERSAL",
        Kind::OwnIn => "CREDITO",
        Kind::OwnOut => "DEBITO",
    }
}

/// A transfer in an answer.
pub(super) fn transfer(transfer: &Transfer) -> Value {
    let mut shown = object(json!({
        "id": transfer.id(),
        "coelsa_id": transfer.coelsa_id,
        "status": transfer.status.as_str(),
        "value": value_of(transfer),
        "concept": transfer.concept,
        "description": transfer.description,
        "start_date": Timestamp::from_millis(transfer.at).to_string(),
        "business_date": business_date(transfer).to_string(),
        "reversed": transfer.returned > 0,
    }));
    let mut put = |name: &str, value: Value| shown.insert(name.to_owned(), value);
    if let Some(origin_id) = &transfer.origin_id {
        put("origin_id", json!(origin_id));
    }
    if let Some(reason) = &transfer.reject_reason {
        put("reject_reason", json!(reason));
    }
    if let Some(reverses) = &transfer.reverses {
        put("reverses", json!(reverses));
    }
    put("type", json!(kind(transfer)));
    if transfer.incoming() {
        let credit = Value::Object(own(transfer));
        put("origin_debit", party(&transfer.other));
        put("origin_credit", credit);
    } else {
        let mut debit = own(transfer);
        debit.insert("name".to_owned(), json!(transfer.name));
        put("origin_debit", Value::Object(debit));
        put("to", party(&transfer.other));
    }
    Value::Object(shown)
}

/// The same, for a repeat of its order.
pub(super) fn repeated(known: &Transfer) -> Value {
    let mut shown = object(transfer(known));
    shown.insert("warning".into(), json!("TRANSACTION_ALREADY_CREATED"));
    Value::Object(shown)
}

/// The notice of an incoming transfer.
pub(super) fn received(transfer: &Transfer, now: u64) -> Notice {
    let data = json!({
        "id": transfer.id(),
        "coelsa_id": transfer.coelsa_id,
        "type": "TRANSFERENCIA",
        "net_name": "COELSA",
        "business_date": business_date(transfer).to_string(),
        "value": value_of(transfer),
        "concept": transfer.concept,
        "details": {
            "origin_debit": party(&transfer.other),
            "origin_credit": own(transfer),
        },
    });
    Notice {
        kind: "transfer.cvu.received",
        data,
        operation: Operation::CashIn,
        collector: transfer.collector,
        mode: None,
        at: now,
    }
}

/// The notice of an outgoing transfer that has become final, if it has.
pub(super) fn ended(transfer: &Transfer, now: u64) -> Option<Notice> {
    let kind = match transfer.status {
        TransferStatus::Completed => "transfer.cvu.completed",
        TransferStatus::Failed => "transfer.cvu.rejected",
        TransferStatus::Pending
        | TransferStatus::InProgress
        | TransferStatus::Unknown
        | TransferStatus::UnknownForever => {
            return None;
        }
    };
    let mut data = object(json!({
        "id": transfer.id(),
        "origin_id": transfer.origin_id,
        "coelsa_id": transfer.coelsa_id,
        "status": transfer.status.as_str(),
        "value": value_of(transfer),
        "origin_debit": own(transfer),
        "to": party(&transfer.other),
    }));
    if let Some(reason) = &transfer.reject_reason {
        data.insert("reject_reason".into(), json!(reason));
    }
    Some(Notice {
        kind,
        data: Value::Object(data),
        operation: Operation::Transfer,
        collector: transfer.collector,
        mode: transfer.notices,
        at: now,
    })
}

/// The notice of an outgoing transfer that comes back.
pub(super) fn reversed(transfer: &Transfer, reversal: &Transfer, now: u64) -> Notice {
    let data = json!({
        "id": transfer.id(),
        "origin_id": transfer.origin_id,
        "coelsa_id": reversal.coelsa_id,
        "value": value_of(reversal),
        "reason": REVERSAL_REASON,
    });
    Notice {
        kind: "transfer.cvu.reversed",
        data,
        operation: Operation::Transfer,
        collector: transfer.collector,
        mode: transfer.notices,
        at: now,
    }
}
