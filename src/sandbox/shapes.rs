//! Transfers as the bank shows them: in its answers and in its notices.

use caudal_ledger::cvu::Cbu;
use caudal_ledger::time::Timestamp;
use serde_json::{Value, json};

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

/// An object without those of its members that are null.
pub(super) fn present(mut object: Value) -> Value {
    if let Some(members) = object.as_object_mut() {
        members.retain(|_, value| !value.is_null());
    }
    object
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
fn own(transfer: &Transfer, name: Option<&str>) -> Value {
    present(match transfer.cvu {
        Some(cvu) => json!({"cvu": cvu, "cuit": transfer.cuit, "name": name}),
        None => json!({"cbu": transfer.collector, "name": name}),
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
    let other = party(&transfer.other);
    let (debit, credit, to) = if transfer.incoming() {
        (other, own(transfer, None), Value::Null)
    } else {
        (own(transfer, Some(&transfer.name)), Value::Null, other)
    };
    present(json!({
        "id": transfer.id(),
        "coelsa_id": transfer.coelsa_id,
        "status": transfer.status.as_str(),
        "value": value_of(transfer),
        "concept": transfer.concept,
        "description": transfer.description,
        "start_date": Timestamp::from_millis(transfer.at).to_string(),
        "business_date": business_date(transfer).to_string(),
        "reversed": transfer.returned > 0,
        "origin_id": transfer.origin_id,
        "reject_reason": transfer.reject_reason,
        "reverses": transfer.reverses,
        "type": kind(transfer),
        "origin_debit": debit,
        "origin_credit": credit,
        "to": to,
    }))
}

/// The same, for a repeat of its order.
pub(super) fn repeated(known: &Transfer) -> Value {
    let mut shown = transfer(known);
    if let Some(members) = shown.as_object_mut() {
        members.insert("warning".into(), json!("TRANSACTION_ALREADY_CREATED"));
    }
    shown
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
            "origin_credit": own(transfer, None),
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
    let data = present(json!({
        "id": transfer.id(),
        "origin_id": transfer.origin_id,
        "coelsa_id": transfer.coelsa_id,
        "status": transfer.status.as_str(),
        "value": value_of(transfer),
        "origin_debit": own(transfer, None),
        "to": party(&transfer.other),
        "reject_reason": transfer.reject_reason,
    }));
    Some(Notice {
        kind,
        data,
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
