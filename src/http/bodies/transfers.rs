//! The body of a transfer, with the calls to the bank, the decisions of operators, and the reason of a refusal.

use std::collections::BTreeMap;

use super::holds::BalanceAfter;
use super::metadata::Metadata;
use super::texts::{Instant, Pesos};
use super::words::{
    BankWordWord, ConceptWord, DifferenceWord, RejectionCodeWord, TransferKindWord,
    TransferStatusWord,
};
use caudal_actors::accounts::TransferView;
use caudal_ledger::cases::Decision;
use caudal_ledger::facts::BankCall;
use caudal_ledger::ids::RealmId;
use caudal_ledger::time::Timestamp;
use caudal_ledger::transfers::{BankWord, Destination, Dispute, Transfer, TransferRejection};
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::counterparty::CounterpartyBody;

/// Where a transfer goes.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, ToSchema)]
#[schema(as = TransferDestination)]
pub struct DestinationBody {
    /// The CVU: as asked for, or of the account of the realm that receives.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub cvu: Option<String>,
    /// The CBU, as asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub cbu: Option<String>,
    /// The alias, as asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub alias: Option<String>,
}

/// What a movement costs.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
#[schema(as = TransferFee)]
pub struct ChargesBody {
    /// The fee: ARS with two decimals.
    pub amount: Pesos,
    /// The tax on it.
    pub tax: Pesos,
}

/// Why a transfer was rejected.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = TransferRejection)]
pub struct RejectionBody {
    /// One of a closed list, the same whatever the bank: switch on it.
    #[schema(value_type = RejectionCodeWord)]
    pub code: &'static str,
    /// A sentence for people, whatever the bank answered: the bank's own words where it has said any, or
    /// those of the person who decided.
    pub message: String,
    /// The bank's own code, when it refused the request itself and named one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub bank_code: Option<String>,
    /// The bank's status, when it refused the request itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub bank_status: Option<u16>,
    /// The bank's body, when it refused the request itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Object, required = false)]
    pub bank_body: Option<serde_json::Value>,
}

/// Why a transfer was rejected, in the bank's words if it gave any.
pub fn reason(rejection: &TransferRejection) -> String {
    let body = rejection.bank.as_ref().map(|refusal| &refusal.body);
    let body = body.and_then(|body| serde_json::from_str::<serde_json::Value>(body).ok());
    let said = body.as_ref().and_then(|body| body.get("message")?.as_str());
    let said = said.map(str::trim).filter(|said| !said.is_empty());
    said.unwrap_or(&rejection.reason).to_owned()
}

impl From<&TransferRejection> for RejectionBody {
    fn from(rejection: &TransferRejection) -> Self {
        let bank = rejection.bank.as_ref();
        let body: Option<serde_json::Value> = bank
            .and_then(|refusal| serde_json::from_str(&refusal.body).ok())
            .filter(serde_json::Value::is_object);
        let code = body.as_ref().and_then(|body| body.get("code")?.as_str());
        Self {
            code: rejection.code.as_str(),
            message: reason(rejection),
            bank_code: code.map(str::to_owned),
            bank_status: bank.map(|refusal| refusal.status),
            bank_body: body,
        }
    }
}

/// A record of the bank under the reference of a transfer, of something else than was ordered.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = TransferDispute)]
pub struct DisputeBody {
    /// What the bank reports otherwise than it was ordered: `amount`, `currency`, `cvu`, `to`.
    #[schema(value_type = Vec<DifferenceWord>)]
    pub differs: Vec<&'static str>,
    /// The bank's own id of its record.
    pub bank_transfer_id: String,
    /// Its id on the rail.
    pub coelsa_id: Option<String>,
    /// How far the bank says that it is: `completed`, `failed`, `in_progress` or `unknown`.
    #[schema(value_type = BankWordWord)]
    pub status: &'static str,
    /// How much, as the bank reports it.
    pub amount: Option<Pesos>,
    /// The currency, as the bank reports it.
    pub currency: Option<String>,
    /// The CVU that sends, as the bank reports it.
    pub from_cvu: Option<String>,
    /// The CBU or CVU that receives, as the bank reports it.
    pub to_cbu: Option<String>,
    /// The alias that receives, as the bank reports it.
    pub to_alias: Option<String>,
}

fn dispute(transfer: &Transfer) -> Option<Box<DisputeBody>> {
    let Dispute {
        bank_id,
        coelsa_id,
        word,
        moved,
    } = *transfer.dispute.clone()?;
    Some(Box::new(DisputeBody {
        differs: transfer.differs(&moved),
        bank_transfer_id: bank_id,
        coelsa_id,
        status: match word {
            BankWord::Completed => "completed",
            BankWord::Failed { .. } => "failed",
            BankWord::InProgress => "in_progress",
            BankWord::Lost => "unknown",
        },
        amount: moved.amount.map(Into::into),
        currency: moved.currency,
        from_cvu: moved.cvu,
        to_cbu: moved.to_key,
        to_alias: moved.to_alias,
    }))
}

/// What a person decided, by name and reason.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Decision)]
pub struct DecisionBody {
    /// Who decided, as they named themselves.
    pub by: String,
    /// Why.
    pub reason: String,
    /// Why the second person approved it, where one had to.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub approval_reason: Option<String>,
    /// When.
    pub at: Instant,
    /// What the bank calls that on which the decision rests.
    pub bank_reference: Option<String>,
    /// Whether it was decided though the bank had not given up.
    pub forced: bool,
}

impl From<&Decision> for DecisionBody {
    fn from(decision: &Decision) -> Self {
        Self {
            by: decision.by.clone(),
            reason: decision.reason.clone(),
            approval_reason: decision.approval_reason.clone(),
            at: decision.at.into(),
            bank_reference: decision.bank_reference.clone(),
            forced: decision.forced,
        }
    }
}

/// A transfer.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Transfer)]
pub struct TransferBody {
    /// Its id.
    pub id: String,
    /// `internal` (to an account of the realm, final at once) or `bank`.
    #[schema(value_type = TransferKindWord)]
    pub kind: &'static str,
    /// `requested`, `in_progress`, `audit`, `completed`, `rejected` or `reversed`.
    #[schema(value_type = TransferStatusWord)]
    pub status: &'static str,
    /// The CVU that sends.
    pub from_cvu: String,
    /// Where it goes, as it was asked for.
    pub to: DestinationBody,
    /// Who that is: of an account of the realm its holder; of any other as the bank said when it was
    /// asked, right before the transfer was sent. Until then, or where the bank did not say, what was
    /// asked for.
    pub counterparty: CounterpartyBody,
    /// ARS with two decimals.
    pub amount: Pesos,
    /// What it costs the account that sends; null when nothing.
    pub fee: Option<ChargesBody>,
    /// What for: the central bank's code.
    #[schema(value_type = ConceptWord)]
    pub concept: &'static str,
    /// A line for people.
    pub description: Option<String>,
    /// The tenant's own id.
    pub id_externo: String,
    /// The reference that the bank knows it by; null when internal.
    pub origin_id: Option<String>,
    /// The bank's own id.
    pub bank_transfer_id: Option<String>,
    /// The id on the rail.
    pub coelsa_id: Option<String>,
    /// What of it has come back.
    pub reversed: Pesos,
    /// Why it was rejected.
    pub rejection: Option<RejectionBody>,
    /// What the bank has under its reference instead of what was ordered; only a person ends it then.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = DisputeBody, required = false)]
    pub dispute: Option<Box<DisputeBody>>,
    /// Who ended it and why, when it was a person and not the bank.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub decision: Option<DecisionBody>,
    /// The tenant's own data; absent without any.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(value_type = Metadata, required = false)]
    pub metadata: BTreeMap<String, String>,
    /// The balance of the CVU that sends after the request; absent where the transfer is only read, and in events.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub balance: Option<BalanceAfter>,
    /// When it was asked for.
    pub created_at: Instant,
    /// When it last changed.
    pub updated_at: Instant,
}

/// Renders a transfer.
pub fn transfer(realm: RealmId, view: &TransferView) -> TransferBody {
    let TransferView {
        account,
        transfer,
        balance,
    } = view;
    let internal = transfer.receiver.is_some();
    let charges = transfer.charges;
    TransferBody {
        id: transfer.id(realm, *account).to_string(),
        kind: if internal { "internal" } else { "bank" },
        status: transfer.status.as_str(),
        from_cvu: transfer.from.to_string(),
        to: destination(transfer),
        counterparty: transfer.counterparty().into(),
        amount: transfer.amount.into(),
        fee: (!charges.is_nothing()).then(|| ChargesBody {
            amount: charges.fee.into(),
            tax: charges.tax.into(),
        }),
        concept: transfer.concept.as_str(),
        description: transfer.description.clone(),
        id_externo: transfer.external_id.to_string(),
        origin_id: (!internal).then(|| transfer.origin(realm, *account).to_string()),
        bank_transfer_id: transfer.bank_id.clone(),
        coelsa_id: transfer.coelsa_id.clone(),
        reversed: transfer.reversed.into(),
        rejection: transfer.rejection.as_ref().map(RejectionBody::from),
        dispute: dispute(transfer),
        decision: transfer.decision.as_deref().map(DecisionBody::from),
        metadata: transfer.metadata.clone(),
        balance: balance.map(Into::into),
        created_at: transfer.created_at.into(),
        updated_at: transfer.updated_at.into(),
    }
}

fn destination(transfer: &Transfer) -> DestinationBody {
    let receiver = transfer.receiver.map(|(_, cvu)| cvu.to_string());
    match &transfer.to {
        Destination::Key(key) => match key.cvu() {
            Some(cvu) => DestinationBody {
                cvu: Some(cvu.to_string()),
                ..DestinationBody::default()
            },
            None => DestinationBody {
                cvu: receiver,
                cbu: Some(key.to_string()),
                alias: None,
            },
        },
        Destination::Alias(alias) => DestinationBody {
            cvu: receiver,
            cbu: None,
            alias: Some(alias.to_string()),
        },
    }
}

/// One call to the bank.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BankCallBody {
    /// What was asked.
    pub operation: String,
    /// When.
    pub at: Instant,
    /// The request, without personal data.
    #[schema(value_type = Value)]
    pub request: Option<Box<RawValue>>,
    /// The HTTP status; null when there was no answer.
    pub status: Option<u16>,
    /// The answer.
    #[schema(value_type = Value)]
    pub body: Option<Box<RawValue>>,
    /// From sending to the answer, in milliseconds.
    pub millis: u64,
    /// The id of the request that caused it.
    pub request_id: String,
}

/// JSON as it is, any other text as a string; `None` for an empty text.
fn shown(text: &str) -> Option<Box<RawValue>> {
    if text.is_empty() {
        return None;
    }
    let as_it_is = serde_json::from_str(text).ok();
    as_it_is.or_else(|| serde_json::value::to_raw_value(text).ok())
}

impl From<&(Timestamp, BankCall)> for BankCallBody {
    fn from((at, call): &(Timestamp, BankCall)) -> Self {
        Self {
            operation: call.operation.clone(),
            at: (*at).into(),
            request: shown(&call.request),
            status: call.status,
            body: shown(&call.body),
            millis: call.millis,
            request_id: call.correlation.clone(),
        }
    }
}
