//! Transfers: money that leaves an account for another, inside the realm or through the bank.
//!
//! **States**. An internal transfer is final at once: two vouchers in one commit. A transfer
//! through the bank is `requested` (the money is held, the intent is on disk), then `in_progress`
//! once the bank has it or may have it, and ends `completed` or `rejected`. A transfer that the
//! bank itself has given up on is in `audit` until a person decides. Money that comes back after
//! completion makes it `reversed`.
//!
//! **Failure.** Only a final answer of the bank ends a transfer. A timeout or a 5xx is not an
//! answer: the money stays held and the bank is asked again. An answer counts only if it matches the
//! order: a record under our reference with another amount, currency, CVU or destination settles
//! nothing. The transfer waits in `audit` with both shown, and from then on only a person ends it.

use serde::{Deserialize, Serialize};

use crate::alias::Alias;
use crate::bank::BankRefusal;
use crate::cases::Decision;
use crate::cvu::{Cbu, Cvu};
use crate::fees::Charges;
use crate::ids::{AccountNo, OriginId, RealmId, Tag, TransferId, VoucherId};
use crate::money::{Amount, Money};
use crate::text::ExternalId;
use crate::time::Timestamp;

pub use crate::bank::{BankMoved, BankTransfer, BankWord, Concept};
pub use crate::counterparty::Counterparty;

/// Where a transfer goes.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Destination {
    /// A CBU or CVU.
    Key(Cbu),
    /// The alias that the tenant wrote; the bank resolves it.
    Alias(Alias),
}

impl Destination {
    /// Whom it names, before anybody was asked who that is.
    pub fn counterparty(&self) -> Counterparty {
        let (cbu, alias) = match self {
            Self::Key(key) => (Some(key.to_string()), None),
            Self::Alias(alias) => (None, Some(alias.to_string())),
        };
        Counterparty {
            cbu,
            alias,
            ..Counterparty::default()
        }
    }
}

/// How far a transfer is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TransferStatus {
    /// The money is held; the bank has not answered yet.
    Requested,
    /// The bank has it, or may have it.
    InProgress,
    /// The bank itself does not know and has given up; a person decides.
    Audit,
    /// The money has left.
    Completed,
    /// The bank refused; the money was released.
    Rejected,
    /// It had left and came back.
    Reversed,
}

impl TransferStatus {
    /// Every state, the open ones first.
    pub const ALL: [Self; 6] = [
        Self::Requested,
        Self::InProgress,
        Self::Audit,
        Self::Completed,
        Self::Rejected,
        Self::Reversed,
    ];

    /// The word on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Requested => "requested",
            Self::InProgress => "in_progress",
            Self::Audit => "audit",
            Self::Completed => "completed",
            Self::Rejected => "rejected",
            Self::Reversed => "reversed",
        }
    }

    /// Whether the bank's answer is still awaited.
    pub const fn is_open(self) -> bool {
        matches!(self, Self::Requested | Self::InProgress | Self::Audit)
    }
}

/// What a person says of a transfer that waits for the bank.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The money left for good.
    Completed,
    /// The money did not leave.
    Rejected,
}

impl Verdict {
    /// The state in which it leaves the transfer.
    pub const fn status(self) -> TransferStatus {
        match self {
            Self::Completed => TransferStatus::Completed,
            Self::Rejected => TransferStatus::Rejected,
        }
    }
}

/// A record of the bank under the reference of a transfer, of something else than was ordered.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Dispute {
    /// The bank's own id of its record.
    pub bank_id: String,
    /// Its id on the rail, once it has one.
    pub coelsa_id: Option<String>,
    /// How far the bank says it is.
    pub word: BankWord,
    /// What the bank says it moves.
    pub moved: BankMoved,
}

/// What the bank says of a transfer under a reference of ours that the ledger did not know: it was
/// ordered before an older copy of the store was put back.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Recovered {
    /// What the bank says that it moved.
    pub moved: BankMoved,
    /// The time of the movement, by the bank's clock.
    pub at: Timestamp,
}

/// Money that left a CVU under a reference of ours, as the bank lists it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Departure {
    /// The reference under which the bank has it.
    pub origin: OriginId,
    /// The bank's own id.
    pub bank_id: String,
    /// The id on the rail, once it has one.
    pub coelsa_id: Option<String>,
    /// The CVU that it left.
    pub cvu: Cvu,
    /// What left, in centavos.
    pub amount: Amount,
    /// The CBU or alias to which it went.
    pub to: Destination,
    /// What the bank says of it, as the transfer will keep it.
    pub recovered: Recovered,
    /// To whom it went, as far as the bank reports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolved: Option<Box<Counterparty>>,
}

impl Departure {
    /// To whom it went, as far as the bank reports.
    pub fn counterparty(&self) -> Counterparty {
        let asked = || self.to.counterparty();
        Counterparty {
            coelsa_id: self.coelsa_id.clone(),
            ..self.resolved.as_deref().cloned().unwrap_or_else(asked)
        }
    }
}

/// The currency of every transfer, by its ISO 4217 code.
pub const CURRENCY: &str = "ARS";

/// The most transfers of one account that wait for the bank at the same time.
pub const OPEN_TRANSFERS_MAX: usize = 10_000;

/// A transfer with all that became of it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Transfer {
    /// The sequence of its first voucher on the account that sends.
    pub sequence: u64,
    /// The tag of that voucher's id.
    #[serde(default, skip_serializing_if = "Tag::is_none")]
    pub tag: Tag,
    /// The account that receives, when it is of the same realm: then it is final at once.
    pub receiver: Option<(AccountNo, Cvu)>,
    /// How far it is.
    pub status: TransferStatus,
    /// The CVU that sends.
    pub from: Cvu,
    /// Where it goes, as it was asked for.
    pub to: Destination,
    /// The amount, in centavos, without charges.
    pub amount: Amount,
    /// What it costs the account that sends, in centavos; charged when it completes.
    pub charges: Charges,
    /// What the money is for.
    pub concept: Concept,
    /// A line for people.
    pub description: Option<String>,
    /// The tenant's own id: idempotent over the realm's transfers.
    pub external_id: ExternalId,
    /// The bank's own id.
    pub bank_id: Option<String>,
    /// The id on the rail (COELSA), once it has one.
    pub coelsa_id: Option<String>,
    /// Why it was rejected.
    pub rejection: Option<TransferRejection>,
    /// What of it has come back, in centavos.
    pub reversed: Money,
    /// What the bank has under its reference instead; only a person ends it then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dispute: Option<Box<Dispute>>,
    /// The reference by which the bank knows it; one without has that of its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<OriginId>,
    /// Of a transfer that only the bank remembered: what the bank says it moved, and when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovered: Option<Box<Recovered>>,
    /// When it was asked for.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// Who ended it and why, when it was a person and not the bank.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<Box<Decision>>,
    /// Who is behind the destination: of an account of the realm its holder, of any other as the bank
    /// was asked before it was sent; none while nobody has said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolved: Option<Box<Counterparty>>,
}

/// Why a transfer was rejected.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TransferRejection {
    /// A sentence: the bank's words, or the person's who decided.
    pub reason: String,
    /// The bank's own answer, when it refused the request.
    pub bank: Option<BankRefusal>,
}

/// What happened to a transfer.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum TransferFact {
    /// It was asked for: the transfer as it was then. An internal one was completed at once.
    Requested(Transfer),
    /// The bank has it, or has given up on it, or has said what it calls it.
    Advanced {
        /// `in_progress` or `audit`; the state it has when only the bank's names are new.
        status: TransferStatus,
        /// The bank's own id.
        bank_id: Option<String>,
        /// The id on the rail.
        coelsa_id: Option<String>,
    },
    /// The money has left.
    Completed {
        /// The bank's own id.
        bank_id: Option<String>,
        /// The id on the rail.
        coelsa_id: Option<String>,
    },
    /// The money did not leave: the bank refused the request, or the transfer failed there. What
    /// was held is released.
    Rejected(TransferRejection),
    /// It came back, whole or in part.
    Reversed {
        /// The id of the reversal on the rail.
        coelsa_id: String,
        /// What came back, in centavos.
        amount: Amount,
        /// The sequence of the voucher that credited it, in the account.
        voucher: u64,
    },
    /// The bank has something else under its reference: a person decides.
    Disputed(Dispute),
    /// A person said how it ended.
    Decided {
        /// How it ended, by their word.
        verdict: Verdict,
        /// Who, why and when.
        decision: Decision,
    },
    /// The bank said who is behind the destination.
    Resolved(Box<Counterparty>),
}

/// A fact and the transfer that it is of, as they are kept.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TransferRecord {
    /// The sequence of the transfer's first voucher: its number in the account.
    pub transfer: u64,
    /// What happened to it.
    pub fact: TransferFact,
}

impl Transfer {
    /// Takes in what happened at an instant. It cannot refuse.
    pub fn apply(&mut self, fact: &TransferFact, at: Timestamp) {
        self.updated_at = at;
        let mut learn = |bank: &Option<String>, rail: &Option<String>| {
            if bank.is_some() {
                self.bank_id.clone_from(bank);
            }
            if rail.is_some() {
                self.coelsa_id.clone_from(rail);
            }
        };
        match fact {
            TransferFact::Requested(transfer) => *self = transfer.clone(),
            TransferFact::Advanced {
                status,
                bank_id,
                coelsa_id,
            } => {
                learn(bank_id, coelsa_id);
                self.status = *status;
            }
            TransferFact::Completed { bank_id, coelsa_id } => {
                learn(bank_id, coelsa_id);
                self.status = TransferStatus::Completed;
            }
            TransferFact::Rejected(why) => {
                self.rejection = Some(why.clone());
                self.status = TransferStatus::Rejected;
            }
            TransferFact::Reversed { amount, .. } => {
                self.reversed = self.reversed.plus(amount.money()).unwrap_or(self.reversed);
                self.status = TransferStatus::Reversed;
            }
            TransferFact::Disputed(dispute) => {
                self.dispute = Some(Box::new(dispute.clone()));
                self.status = TransferStatus::Audit;
            }
            TransferFact::Decided { verdict, decision } => {
                self.status = verdict.status();
                self.decision = Some(Box::new(decision.clone()));
                self.rejection = match verdict {
                    Verdict::Completed => None,
                    Verdict::Rejected => Some(TransferRejection {
                        reason: decision.reason.clone(),
                        bank: None,
                    }),
                };
            }
            TransferFact::Resolved(other) => self.resolved = Some(other.clone()),
        }
    }

    /// The other side: who is behind the destination, or where nobody has said, whom the order names.
    pub fn counterparty(&self) -> Counterparty {
        let receiver = self.receiver.map(|(_, cvu)| cvu.to_string());
        let asked = || {
            let asked = self.to.counterparty();
            let cbu = receiver.or_else(|| asked.cbu.clone());
            Counterparty { cbu, ..asked }
        };
        let resolved = self.resolved.as_deref().cloned();
        Counterparty {
            coelsa_id: self.coelsa_id.clone(),
            concept: Some(self.concept.as_str().to_owned()),
            ..resolved.unwrap_or_else(asked)
        }
    }

    /// Its id, of an account of a realm.
    pub const fn id(&self, realm: RealmId, account: AccountNo) -> TransferId {
        TransferId(VoucherId {
            realm,
            account,
            sequence: self.sequence,
            tag: self.tag,
        })
    }

    /// The reference by which the bank knows it, of an account of a realm.
    pub fn origin(&self, realm: RealmId, account: AccountNo) -> OriginId {
        let TransferId(place) = self.id(realm, account);
        self.origin.unwrap_or_else(|| OriginId::of_place(place))
    }

    /// Whether the bank's answer says otherwise than how the transfer ended.
    pub const fn is_contradicted(&self, word: &BankWord) -> bool {
        let rejected = matches!(self.status, TransferStatus::Rejected);
        match word {
            BankWord::Completed => rejected,
            BankWord::Failed { .. } => !self.status.is_open() && !rejected,
            BankWord::InProgress | BankWord::Lost => false,
        }
    }

    /// Which of the things that were ordered the bank reports otherwise: `amount`, `currency`, `cvu`,
    /// `to`. What it does not report differs in nothing.
    pub fn differs(&self, record: &BankMoved) -> Vec<&'static str> {
        let cvu = |record: &String| record != self.from.as_str();
        let key = |record: &String| match &self.to {
            Destination::Key(key) => record != key.as_str(),
            Destination::Alias(_) => false,
        };
        let alias = |record: &String| match &self.to {
            Destination::Key(_) => false,
            Destination::Alias(alias) => !alias.as_str().eq_ignore_ascii_case(record),
        };
        let to =
            record.to_key.as_ref().is_some_and(key) || record.to_alias.as_ref().is_some_and(alias);
        let all = [
            (
                "amount",
                record.amount.is_some_and(|record| record != self.amount),
            ),
            (
                "currency",
                record
                    .currency
                    .as_ref()
                    .is_some_and(|record| record != CURRENCY),
            ),
            ("cvu", record.cvu.as_ref().is_some_and(cvu)),
            ("to", to),
        ];
        let differing = all.into_iter().filter(|(_, differs)| *differs);
        differing.map(|(name, _)| name).collect()
    }
}

/// The order to transfer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Send {
    /// The CBU, CVU or alias to which the money goes.
    pub to: Destination,
    /// The amount, in centavos; charges come on top.
    pub amount: Amount,
    /// What the money is for.
    pub concept: Concept,
    /// A line for people.
    pub description: Option<String>,
    /// The tenant's own id: unique among the transfers of the realm.
    pub external_id: ExternalId,
}

/// Money that arrived from the bank for a CVU.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CashIn {
    /// The id on the rail: the same money never arrives twice.
    pub coelsa_id: String,
    /// The bank's own id.
    pub bank_id: String,
    /// The CVU to which it was sent.
    pub cvu: Cvu,
    /// What arrived, in centavos.
    pub amount: Amount,
    /// The sender, as far as the bank reports.
    pub from: Counterparty,
    /// The time of the movement, by the bank's clock.
    pub at: Timestamp,
}

impl CashIn {
    /// Who sent it, with its id on the rail.
    pub fn counterparty(&self) -> Counterparty {
        Counterparty {
            coelsa_id: Some(self.coelsa_id.clone()),
            ..self.from.clone()
        }
    }
}

/// Money that arrived and that no account could take: it waits for a person.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Suspense {
    /// The money that arrived.
    pub cash_in: CashIn,
    /// Why no account took it: the stable word of the refusal.
    pub reason: String,
}
