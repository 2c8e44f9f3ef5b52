//! The body of a transfer, with the calls to the bank, the decisions of operators, and the reason of a refusal.

use std::collections::BTreeMap;

use super::body;
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
use caudal_ledger::fees::Charges;
use caudal_ledger::ids::RealmId;
use caudal_ledger::time::Timestamp;
use caudal_ledger::transfers::{BankWord, Destination, Dispute, Transfer, TransferRejection};
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::counterparty::CounterpartyBody;

body! {
    /// Where a transfer goes.
    #[derive(Default)]
    pub struct DestinationBody as TransferDestination {
        /// The CVU: as asked for, or of the account of the realm that receives.
        cvu?: Option<String>;
        /// The CBU, as asked for.
        cbu?: Option<String>;
        /// The alias, as asked for.
        alias?: Option<String>;
    }
}

body! {
    /// What a movement costs.
    pub struct ChargesBody as TransferFee from charges: Charges {
        /// The fee: ARS with two decimals.
        amount: Pesos = charges.fee.into();
        /// The tax on it.
        tax: Pesos = charges.tax.into();
    }
}

body! {
    /// Why a transfer was rejected.
    pub struct RejectionBody as TransferRejection from rejection: &TransferRejection {
        => let bank = rejection.bank.as_ref();
        => let body: Option<serde_json::Value> = bank
            .and_then(|refusal| serde_json::from_str(&refusal.body).ok())
            .filter(serde_json::Value::is_object);
        => let code = body.as_ref().and_then(|body| body.get("code")?.as_str());
        /// One of a closed list, the same whatever the bank: switch on it.
        code: &'static str as RejectionCodeWord = rejection.code.as_str();
        /// A sentence for people, whatever the bank answered: the bank's own words where it has said any, or
        /// those of the person who decided.
        message: String = reason(rejection);
        /// The bank's own code, when it refused the request itself and named one.
        bank_code?: Option<String> = code.map(str::to_owned);
        /// The bank's status, when it refused the request itself.
        bank_status?: Option<u16> = bank.map(|refusal| refusal.status);
        /// The bank's body, when it refused the request itself.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schema(value_type = Object, required = false)]
        bank_body: Option<serde_json::Value> = body;
    }
}

/// Why a transfer was rejected, in the bank's words if it gave any.
pub fn reason(rejection: &TransferRejection) -> String {
    let body = rejection.bank.as_ref().map(|refusal| &refusal.body);
    let body = body.and_then(|body| serde_json::from_str::<serde_json::Value>(body).ok());
    let said = body.as_ref().and_then(|body| body.get("message")?.as_str());
    let said = said.map(str::trim).filter(|said| !said.is_empty());
    said.unwrap_or(&rejection.reason).to_owned()
}

body! {
    /// A record of the bank under the reference of a transfer, of something else than was ordered.
    pub struct DisputeBody as TransferDispute of(transfer: &Transfer, dispute: Dispute) {
        => let moved = dispute.moved;
        /// What the bank reports otherwise than it was ordered: `amount`, `currency`, `cvu`, `to`.
        differs: Vec<&'static str> as Vec<DifferenceWord> = transfer.differs(&moved);
        /// The bank's own id of its record.
        bank_transfer_id: String = dispute.bank_id;
        /// Its id on the rail.
        coelsa_id: Option<String> = dispute.coelsa_id;
        /// How far the bank says that it is: `completed`, `failed`, `in_progress` or `unknown`.
        status: &'static str as BankWordWord = bank_word(&dispute.word);
        /// How much, as the bank reports it.
        amount: Option<Pesos> = moved.amount.map(Into::into);
        /// The currency, as the bank reports it.
        currency: Option<String> = moved.currency;
        /// The CVU that sends, as the bank reports it.
        from_cvu: Option<String> = moved.cvu;
        /// The CBU or CVU that receives, as the bank reports it.
        to_cbu: Option<String> = moved.to_key;
        /// The alias that receives, as the bank reports it.
        to_alias: Option<String> = moved.to_alias;
    }
}

/// How far the bank says that a transfer is.
pub(super) const fn bank_word(word: &BankWord) -> &'static str {
    match word {
        BankWord::Completed => "completed",
        BankWord::Failed { .. } => "failed",
        BankWord::InProgress => "in_progress",
        BankWord::Lost => "unknown",
    }
}

body! {
    /// What a person decided, by name and reason.
    pub struct DecisionBody as Decision from decision: &Decision {
        /// Who decided, as they named themselves.
        by: String = decision.by.clone();
        /// Why.
        reason: String = decision.reason.clone();
        /// Why the second person approved it, where one had to.
        approval_reason?: Option<String> = decision.approval_reason.clone();
        /// When.
        at: Instant = decision.at.into();
        /// What the bank calls that on which the decision rests.
        bank_reference: Option<String> = decision.bank_reference.clone();
        /// Whether it was decided though the bank had not given up.
        forced: bool = decision.forced;
    }
}

body! {
    /// A transfer.
    pub struct TransferBody as Transfer by transfer(realm: RealmId, view: &TransferView) {
        => let TransferView {
            account,
            transfer,
            balance,
        } = view;
        => let internal = transfer.receiver.is_some();
        => let charges = transfer.charges;
        => let dispute = transfer.dispute.as_deref().cloned();
        /// Its id.
        id: String = transfer.id(realm, *account).to_string();
        /// `internal` (to an account of the realm, final at once) or `bank`.
        kind: &'static str as TransferKindWord = if internal { "internal" } else { "bank" };
        /// `requested`, `in_progress`, `audit`, `completed`, `rejected` or `reversed`.
        status: &'static str as TransferStatusWord = transfer.status.as_str();
        /// The CVU that sends.
        from_cvu: String = transfer.from.to_string();
        /// Where it goes, as it was asked for.
        to: DestinationBody = destination(transfer);
        /// Who that is: of an account of the realm its holder; of any other as the bank said when it was
        /// asked, right before the transfer was sent. Until then, or where the bank did not say, what was
        /// asked for.
        counterparty: CounterpartyBody = transfer.counterparty().into();
        /// ARS with two decimals.
        amount: Pesos = transfer.amount.into();
        /// What it costs the account that sends; null when nothing.
        fee: Option<ChargesBody> = (!charges.is_nothing()).then(|| charges.into());
        /// What for: the central bank's code.
        concept: &'static str as ConceptWord = transfer.concept.as_str();
        /// A line for people.
        description: Option<String> = transfer.description.clone();
        /// The tenant's own id.
        id_externo: String = transfer.external_id.to_string();
        /// The reference that the bank knows it by; null when internal.
        origin_id: Option<String>
            = (!internal).then(|| transfer.origin(realm, *account).to_string());
        /// The bank's own id.
        bank_transfer_id: Option<String> = transfer.bank_id.clone();
        /// The id on the rail.
        coelsa_id: Option<String> = transfer.coelsa_id.clone();
        /// What of it has come back.
        reversed: Pesos = transfer.reversed.into();
        /// Why it was rejected.
        rejection: Option<RejectionBody> = transfer.rejection.as_ref().map(RejectionBody::from);
        /// What the bank has under its reference instead of what was ordered; only a person ends it then.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schema(value_type = DisputeBody, required = false)]
        dispute: Option<Box<DisputeBody>>
            = dispute.map(|dispute| Box::new(DisputeBody::of(transfer, dispute)));
        /// Who ended it and why, when it was a person and not the bank.
        decision?: Option<DecisionBody> = transfer.decision.as_deref().map(DecisionBody::from);
        /// The tenant's own data; absent without any.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        #[schema(value_type = Metadata, required = false)]
        metadata: BTreeMap<String, String> = transfer.metadata.clone();
        /// The balance of the CVU that sends after the request; absent where the transfer is only read, and in events.
        balance?: Option<BalanceAfter> = balance.map(Into::into);
        /// When it was asked for.
        created_at: Instant = transfer.created_at.into();
        /// When it last changed.
        updated_at: Instant = transfer.updated_at.into();
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
