//! Transfers: money that leaves an account for another, inside the realm or through the bank.
//!
//! **States.** An internal transfer is final at once: two vouchers in one commit. A transfer
//! through the bank is `requested` (the money is held, the intent is on disk), then `in_progress`
//! once the bank has it or may have it, and ends as `completed` or `rejected`. A transfer that the
//! bank itself has given up on is in `audit` until a person decides. If money comes back after
//! completion, the transfer becomes `reversed`.
//!
//! **Failure.** Only a final answer of the bank ends a transfer. A timeout or a 5xx is not an
//! answer: the money stays held and the bank is asked again. An answer counts only if it matches
//! the order: a record under our reference with another amount, currency, CVU or destination
//! settles nothing. The transfer then waits in `audit` with both versions shown, and only a person
//! can end it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::alias::Alias;
use crate::bank::BankRefusal;
use crate::cases::Decision;
use crate::cvu::{Cbu, Cvu};
use crate::fees::Charges;
use crate::ids::{AccountNo, OriginId, RealmId, Tag, TransferId, VoucherId};
use crate::kyc::Bring as _;
use crate::money::{Amount, Money};
use crate::text::ExternalId;
use crate::time::Timestamp;

pub use crate::bank::{BankMoved, BankTransfer, BankWord, Concept};
pub use crate::counterparty::Counterparty;

/// The destination of a transfer.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Destination {
    /// A CBU or CVU.
    Key(Cbu),
    /// The alias as the tenant wrote it; the bank resolves it.
    Alias(Alias),
}

impl Destination {
    /// The counterparty that it names, before anybody was asked who that is.
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

words! {
    /// The state of a transfer.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum TransferStatus {
        /// The money is held; the bank has not answered yet.
        Requested = "requested",
        /// The bank has it, or may have it.
        InProgress = "in_progress",
        /// The bank itself does not know and has given up; a person decides.
        Audit = "audit",
        /// The money has left.
        Completed = "completed",
        /// The bank refused; the money was released.
        Rejected = "rejected",
        /// The money had left and came back.
        Reversed = "reversed",
    }
}

impl TransferStatus {
    /// Whether the bank's answer is still awaited.
    pub const fn is_open(self) -> bool {
        matches!(self, Self::Requested | Self::InProgress | Self::Audit)
    }
}

/// A person's verdict on a transfer that waits for the bank.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The money left for good.
    Completed,
    /// The money did not leave.
    Rejected,
}

impl Verdict {
    /// The state into which it puts the transfer.
    pub const fn status(self) -> TransferStatus {
        match self {
            Self::Completed => TransferStatus::Completed,
            Self::Rejected => TransferStatus::Rejected,
        }
    }
}

/// The bank's record under the reference of a transfer that differs from the order.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Dispute {
    /// The bank's own id of its record.
    pub bank_id: String,
    /// Its id on the rail, once it has one.
    pub coelsa_id: Option<String>,
    /// The state that the bank reports.
    pub word: BankWord,
    /// The movement that the bank reports.
    pub moved: BankMoved,
}

/// The bank's report of a transfer under a reference of ours that the ledger did not know: it was
/// ordered in a history that was lost when an older copy of the store was put back.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Recovered {
    /// The movement that the bank reports.
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
    /// The amount that left, in centavos.
    pub amount: Amount,
    /// The CBU or alias to which it went.
    pub to: Destination,
    /// The bank's report, as the transfer will store it.
    pub recovered: Recovered,
    /// The receiver, as far as the bank reports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolved: Option<Box<Counterparty>>,
}

impl Departure {
    /// The receiver, as far as the bank reports.
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

/// The most transfers of one account that may wait for the bank at a time.
pub const OPEN_TRANSFERS_MAX: usize = 10_000;

/// A transfer with its present state.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Transfer {
    /// The sequence of its first voucher on the sending account.
    #[serde(rename = "n")]
    pub sequence: u64,
    /// The tag of that voucher's id.
    #[serde(rename = "i", default, skip_serializing_if = "Tag::is_none")]
    pub tag: Tag,
    /// The receiving account if it is in the same realm; the transfer is then final at once.
    #[serde(rename = "r", skip_serializing_if = "Option::is_none")]
    pub receiver: Option<(AccountNo, Cvu)>,
    /// Its state.
    #[serde(rename = "s")]
    pub status: TransferStatus,
    /// The sending CVU.
    #[serde(rename = "f")]
    pub from: Cvu,
    /// The destination as ordered.
    #[serde(rename = "o")]
    pub to: Destination,
    /// The amount, in centavos, without charges.
    #[serde(rename = "a")]
    pub amount: Amount,
    /// The charges for the sending account, in centavos; charged when the transfer completes.
    #[serde(rename = "c")]
    pub charges: Charges,
    /// The purpose of the money.
    #[serde(rename = "k")]
    pub concept: Concept,
    /// A line for people.
    #[serde(rename = "w", skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The tenant's own id, idempotent among the realm's transfers.
    #[serde(rename = "x")]
    pub external_id: ExternalId,
    /// The bank's own id.
    #[serde(rename = "b", skip_serializing_if = "Option::is_none")]
    pub bank_id: Option<String>,
    /// The id on the rail (COELSA), once it has one.
    #[serde(rename = "q", skip_serializing_if = "Option::is_none")]
    pub coelsa_id: Option<String>,
    /// Why it was rejected.
    #[serde(rename = "j", skip_serializing_if = "Option::is_none")]
    pub rejection: Option<TransferRejection>,
    /// The amount that has come back, in centavos.
    #[serde(rename = "v")]
    pub reversed: Money,
    /// The bank's differing record under its reference; only a person can end the transfer then.
    #[serde(rename = "d", default, skip_serializing_if = "Option::is_none")]
    pub dispute: Option<Box<Dispute>>,
    /// The reference by which the bank knows it; without one, it is derived from its place.
    #[serde(rename = "g", default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<OriginId>,
    /// For a transfer that only the bank remembered: the movement that the bank reported, and its
    /// time.
    #[serde(rename = "y", default, skip_serializing_if = "Option::is_none")]
    pub recovered: Option<Box<Recovered>>,
    /// When it was requested.
    #[serde(rename = "t")]
    pub created_at: Timestamp,
    /// When it last changed.
    #[serde(rename = "u")]
    pub updated_at: Timestamp,
    /// Who ended it and why, if it was a person and not the bank.
    #[serde(rename = "p", default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<Box<Decision>>,
    /// The owner of the destination: for an account of the realm its holder, for any other account
    /// as the bank answered before the transfer was sent; `None` while it is unknown.
    #[serde(rename = "z", default, skip_serializing_if = "Option::is_none")]
    pub resolved: Option<Box<Counterparty>>,
    /// Data of the tenant's own, within the bounds of [`VoucherDetails`](crate::vouchers::VoucherDetails).
    #[serde(rename = "m", default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
}

/// Why a transfer was rejected.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TransferRejection {
    /// The reason as one of a closed list.
    #[serde(default, skip_serializing_if = "crate::words::is_default")]
    pub code: RejectionCode,
    /// A sentence: in the bank's words, or in those of the person who decided.
    pub reason: String,
    /// The bank's own answer, when it refused the request.
    pub bank: Option<BankRefusal>,
}

impl TransferRejection {
    /// A rejection with this sentence, which is no refusal of the request by the bank.
    pub const fn because(reason: String) -> Self {
        Self {
            code: RejectionCode::Other,
            reason,
            bank: None,
        }
    }
}

words! {
    /// Why a transfer was rejected, as one of a closed list.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum RejectionCode {
        /// Nobody has the CBU, CVU or alias.
        DestinationNotFound = "destination_not_found",
        /// The account of the destination takes no money: it is closed, blocked or inactive.
        DestinationClosed = "destination_closed",
        /// The tax id or name is not that of the account's holder.
        HolderMismatch = "holder_mismatch",
        /// The account of the destination is in another currency.
        CurrencyMismatch = "currency_mismatch",
        /// A limit of the bank or the rail would be exceeded.
        LimitExceeded = "limit_exceeded",
        /// The bank of the destination, or the rail, could not be reached.
        BankUnavailable = "bank_unavailable",
        /// A person decided that the money did not leave.
        RefusedByPerson = "refused_by_person",
        /// Anything else.
        #[default]
        Other = "other",
    }
}

/// An event in the life of a transfer.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum TransferFact {
    /// It was requested: the transfer in its state at that time. An internal one was completed at
    /// once.
    Requested(Box<Transfer>),
    /// The bank has it, has given up on it, or has reported its ids.
    Advanced {
        /// `in_progress` or `audit`; the unchanged state when only the bank's ids are new.
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
    /// The money did not leave: the bank refused the request, or the transfer failed there. The
    /// held money is released.
    Rejected(TransferRejection),
    /// It came back, whole or in part.
    Reversed {
        /// The id of the reversal on the rail.
        coelsa_id: String,
        /// The amount that came back, in centavos.
        amount: Amount,
        /// The sequence of the voucher that credited it, in the account.
        voucher: u64,
    },
    /// The bank has something else under its reference: a person decides.
    Disputed(Dispute),
    /// A person said how it ended.
    Decided {
        /// The verdict.
        verdict: Verdict,
        /// Who, why and when.
        decision: Decision,
    },
    /// The bank said who owns the destination.
    Resolved(Box<Counterparty>),
}

/// A fact with the transfer to which it belongs, as stored.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TransferRecord {
    /// The sequence of the transfer's first voucher: its number in the account.
    #[serde(rename = "t")]
    pub transfer: u64,
    /// The fact.
    #[serde(rename = "f")]
    pub fact: TransferFact,
}

impl Transfer {
    /// Applies a fact with its time. It cannot refuse.
    pub fn apply(&mut self, fact: &TransferFact, at: Timestamp) {
        self.updated_at = at;
        match fact {
            TransferFact::Requested(transfer) => self.clone_from(transfer),
            TransferFact::Advanced {
                status,
                bank_id,
                coelsa_id,
            } => {
                self.bank_id.bring(bank_id);
                self.coelsa_id.bring(coelsa_id);
                self.status = *status;
            }
            TransferFact::Completed { bank_id, coelsa_id } => {
                self.bank_id.bring(bank_id);
                self.coelsa_id.bring(coelsa_id);
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
                        code: RejectionCode::RefusedByPerson,
                        ..TransferRejection::because(decision.reason.clone())
                    }),
                };
            }
            TransferFact::Resolved(other) => self.resolved = Some(other.clone()),
        }
    }

    /// The other side: the owner of the destination or, while that is unknown, the destination
    /// named in the order.
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

    /// Its id, for an account of a realm.
    pub const fn id(&self, realm: RealmId, account: AccountNo) -> TransferId {
        TransferId(VoucherId {
            realm,
            account,
            sequence: self.sequence,
            tag: self.tag,
        })
    }

    /// The sequence of the last voucher of its request: inside the realm the money and then its fee and tax, through the
    /// bank the hold of the money and then that of both charges.
    pub fn last_of_request(&self) -> u64 {
        let Charges { fee, tax } = self.charges;
        let charged = |sum: Money| u64::from(sum > Money::ZERO);
        let charges = match self.receiver {
            Some(_) => charged(fee).strict_add(charged(tax)),
            None => charged(fee).max(charged(tax)),
        };
        self.sequence.strict_add(charges)
    }

    /// The reference by which the bank knows it, for an account of a realm.
    pub fn origin(&self, realm: RealmId, account: AccountNo) -> OriginId {
        let TransferId(place) = self.id(realm, account);
        self.origin.unwrap_or_else(|| OriginId::of_place(place))
    }

    /// Whether the bank's answer contradicts the ending of the transfer.
    pub const fn is_contradicted(&self, word: &BankWord) -> bool {
        let rejected = matches!(self.status, TransferStatus::Rejected);
        match word {
            BankWord::Completed => rejected,
            BankWord::Failed { .. } => !self.status.is_open() && !rejected,
            BankWord::InProgress | BankWord::Lost => false,
        }
    }

    /// The fields in which the bank's record differs from the order.
    pub fn differs(&self, record: &BankMoved) -> Vec<&'static str> {
        record.differs(self.amount, Some(&self.from), &self.to)
    }
}

impl BankMoved {
    /// The fields in which the record differs from an order: `amount`, `currency`, `cvu`, `to`. What the bank does not
    /// report, or the order does not say, does not differ.
    pub(crate) fn differs(
        &self,
        amount: Amount,
        from: Option<&Cvu>,
        to: &Destination,
    ) -> Vec<&'static str> {
        let differs =
            |said: &Option<String>, ours: &str| said.as_ref().is_some_and(|it| it != ours);
        let alias = |said: &String, ours: &Alias| !ours.as_str().eq_ignore_ascii_case(said);
        let elsewhere = match to {
            Destination::Key(key) => differs(&self.to_key, key.as_str()),
            Destination::Alias(ours) => self.to_alias.as_ref().is_some_and(|it| alias(it, ours)),
        };
        differing([
            ("amount", self.amount.is_some_and(|it| it != amount)),
            ("currency", differs(&self.currency, CURRENCY)),
            (
                "cvu",
                from.is_some_and(|cvu| differs(&self.cvu, cvu.as_str())),
            ),
            ("to", elsewhere),
        ])
    }
}

/// The names of the fields that differ.
pub(crate) fn differing(
    fields: impl IntoIterator<Item = (&'static str, bool)>,
) -> Vec<&'static str> {
    let differing = fields.into_iter().filter(|(_, differs)| *differs);
    differing.map(|(name, _)| name).collect()
}

/// The order to transfer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Send {
    /// The CBU, CVU or alias to which the money goes.
    pub to: Destination,
    /// The amount, in centavos; charges are added.
    pub amount: Amount,
    /// The purpose of the money.
    pub concept: Concept,
    /// A line for people.
    pub description: Option<String>,
    /// The tenant's own id: unique among the transfers of the realm.
    pub external_id: ExternalId,
    /// Data of the tenant's own.
    pub metadata: BTreeMap<String, String>,
}

/// Money that arrived from the bank for a CVU.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CashIn {
    /// The id on the rail, by which the same money is never credited twice.
    pub coelsa_id: String,
    /// The bank's own id.
    pub bank_id: String,
    /// The CVU to which it was sent.
    pub cvu: Cvu,
    /// The amount that arrived, in centavos.
    pub amount: Amount,
    /// The sender, as far as the bank reports.
    pub from: Counterparty,
    /// The time of the movement, by the bank's clock.
    pub at: Timestamp,
}

impl CashIn {
    /// The sender, with the id on the rail.
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
    /// Why no account took it: the stable code of the refusal.
    pub reason: String,
}
