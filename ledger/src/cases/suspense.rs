//! Money in suspense: a person's decisions about it, and the effect of the bank's answer to a
//! return.

use serde::{Deserialize, Serialize};

use super::{Decision, SuspenseId, SuspensePlace};
use crate::cvu::{Cbu, Cvu};
use crate::ids::{AccountNo, OriginId, RealmId, Tag};
use crate::kyc::Bring as _;
use crate::rejection::Rejection;
use crate::tenants::Mode;
use crate::time::Timestamp;
use crate::transfers::{BankTransfer, BankWord, Destination, Suspense, TransferRejection};

/// How many tries after the last known one are compared with a return on the bank's list.
const TRIES_RECOGNISED: u32 = 16;
/// The name in a decision that was lost and recognised at the bank.
const RECOGNISED_BY: &str = "unknown: recognised on the bank's list";
/// The reason in such a decision.
const RECOGNISED_WHY: &str =
    "the bank has a return of this money that was asked for after this copy of the store was taken";

/// Money on its way back to its sender.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Return {
    /// The number of the request in its realm, from 1.
    pub number: u64,
    /// The reference by which the bank knows it.
    pub origin: OriginId,
    /// The CBU or CVU of the sender, to which it goes.
    pub to: Cbu,
    /// Who decided it, and why.
    pub decision: Decision,
    /// The bank's own id of it.
    pub bank_id: Option<String>,
    /// Its id on the rail.
    pub coelsa_id: Option<String>,
}

/// The state of money in suspense.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum ParkedState {
    /// It waits for a person.
    Waiting,
    /// The bank is asked to return it.
    Returning(Return),
    /// A person had it credited to an account.
    Credited {
        /// The CVU to which it was credited.
        cvu: Cvu,
        /// The account of that CVU.
        account: AccountNo,
        /// The sequence of the voucher that credited it, in that account.
        voucher: u64,
        /// The tag of that voucher's id.
        #[serde(default, skip_serializing_if = "Tag::is_none")]
        tag: Tag,
        /// Who decided it, and why.
        decision: Decision,
    },
    /// The bank has returned it.
    Returned(Return),
}

impl ParkedState {
    /// The word on the wire.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Returning(_) => "returning",
            Self::Credited { .. } => "credited",
            Self::Returned(_) => "returned",
        }
    }
}

/// Money that arrived and that no account could take, with its state.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Parked {
    /// Where its record is.
    pub place: SuspensePlace,
    /// The money that arrived, and why no account took it.
    pub suspense: Suspense,
    /// When it began to wait.
    pub since: Timestamp,
    /// The state of the money.
    pub state: ParkedState,
    /// Why the bank refused the last try to return it, if nothing else has been decided since.
    pub refused: Option<TransferRejection>,
    /// How many times a person decided to return it.
    pub tries: u32,
}

/// An event in the life of money in suspense.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum CaseFact {
    /// A person had it credited, by a voucher of the same commit.
    Credited {
        /// The place of the money's record.
        case: SuspensePlace,
        /// The CVU to which it was credited.
        cvu: Cvu,
        /// The account of that CVU.
        account: AccountNo,
        /// The sequence of the voucher that credited it, in that account.
        voucher: u64,
        /// The tag of that voucher's id.
        #[serde(default, skip_serializing_if = "Tag::is_none")]
        tag: Tag,
        /// Who decided it, and why.
        decision: Decision,
    },
    /// A person decided to return it: the bank will be asked. The sequence of this fact is the
    /// number of the request.
    ReturnRequested {
        /// The place of the money's record.
        case: SuspensePlace,
        /// The reference by which the bank will know it.
        origin: OriginId,
        /// The CBU or CVU of the sender, to which it goes.
        to: Cbu,
        /// Who decided it, and why.
        decision: Decision,
        /// The number of the try, from 1, if it is not the one after the last.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        attempt: Option<u32>,
    },
    /// The bank has reported its ids of the return.
    ReturnNamed {
        /// The place of the money's record.
        case: SuspensePlace,
        /// The number of the request.
        number: u64,
        /// The bank's own id.
        bank_id: Option<String>,
        /// The id on the rail.
        coelsa_id: Option<String>,
    },
    /// The bank has returned it.
    Returned {
        /// The place of the money's record.
        case: SuspensePlace,
        /// The number of the request.
        number: u64,
        /// The bank's own id.
        bank_id: Option<String>,
        /// The id on the rail.
        coelsa_id: Option<String>,
    },
    /// The bank has not returned it and will not do so under this reference.
    ReturnRefused {
        /// The place of the money's record.
        case: SuspensePlace,
        /// The number of the request.
        number: u64,
        /// The bank's reason, or that it has something else under the reference.
        why: TransferRejection,
    },
}

impl CaseFact {
    /// The place of the money that the fact concerns.
    pub const fn case(&self) -> SuspensePlace {
        match self {
            Self::Credited { case, .. }
            | Self::ReturnRequested { case, .. }
            | Self::ReturnNamed { case, .. }
            | Self::Returned { case, .. }
            | Self::ReturnRefused { case, .. } => *case,
        }
    }

    /// Whether the money leaves suspense with this fact.
    pub const fn resolves(&self) -> bool {
        match self {
            Self::Credited { .. } | Self::Returned { .. } => true,
            Self::ReturnRequested { .. }
            | Self::ReturnNamed { .. }
            | Self::ReturnRefused { .. } => false,
        }
    }
}

impl Parked {
    /// Its id in a realm; the same money has the same id in every history.
    pub fn id(&self, realm: RealmId) -> SuspenseId {
        let rail = self.suspense.cash_in.coelsa_id.as_bytes();
        SuspenseId {
            realm,
            place: self.place,
            tag: Tag::of_record(rail, Timestamp::default()),
        }
    }

    /// Money that begins to wait.
    pub const fn new(place: SuspensePlace, suspense: Suspense, since: Timestamp) -> Self {
        Self {
            place,
            suspense,
            since,
            state: ParkedState::Waiting,
            refused: None,
            tries: 0,
        }
    }

    /// Whether a person can decide about it now.
    ///
    /// # Errors
    /// When it has been decided, or while the bank is asked to return it.
    pub const fn is_decidable(&self) -> Result<(), Rejection> {
        match &self.state {
            ParkedState::Waiting => Ok(()),
            ParkedState::Returning(_) => Err(Rejection::ReturnInFlight),
            ParkedState::Credited { .. } | ParkedState::Returned(_) => Err(Rejection::CaseDecided),
        }
    }

    /// The decision about the money: who made it, and why.
    pub const fn decision(&self) -> Option<&Decision> {
        match &self.state {
            ParkedState::Waiting => None,
            ParkedState::Returning(on_its_way) | ParkedState::Returned(on_its_way) => {
                Some(&on_its_way.decision)
            }
            ParkedState::Credited { decision, .. } => Some(decision),
        }
    }

    /// The return that the bank is asked to make or has made.
    pub const fn returned(&self) -> Option<&Return> {
        match &self.state {
            ParkedState::Returning(on_its_way) | ParkedState::Returned(on_its_way) => {
                Some(on_its_way)
            }
            ParkedState::Waiting | ParkedState::Credited { .. } => None,
        }
    }

    /// Decides to return it to its sender, for a tenant in a mode.
    ///
    /// # Errors
    /// When it cannot be decided now, or the bank did not say who sent it.
    pub fn decide_return(
        &self,
        tenant: (&str, Mode),
        decision: Decision,
    ) -> Result<CaseFact, Rejection> {
        self.decide_try(tenant, self.tries.saturating_add(1), decision)
    }

    /// The number of the try to return it whose reference at the bank is `origin`, if this copy of
    /// the store does not know that try because an older copy was put back since. It compares the
    /// 16 tries after the last known one.
    pub fn recognises(&self, tenant: (&str, Mode), origin: OriginId) -> Option<u32> {
        self.is_decidable().ok()?;
        let first = self.tries.saturating_add(1);
        let last = self.tries.saturating_add(TRIES_RECOGNISED);
        (first..=last).find(|attempt| self.origin_of(tenant, *attempt) == origin)
    }

    /// Adopts a try to return it that the bank knows and this store does not.
    ///
    /// # Errors
    /// When it has been decided otherwise, or the bank did not say who sent it.
    pub fn decide_recognised(
        &self,
        tenant: (&str, Mode),
        attempt: u32,
        at: Timestamp,
    ) -> Result<CaseFact, Rejection> {
        let decision = Decision {
            by: RECOGNISED_BY.to_owned(),
            reason: RECOGNISED_WHY.to_owned(),
            approval_reason: None,
            at,
            bank_reference: Some(self.origin_of(tenant, attempt).to_string()),
            forced: false,
        };
        self.decide_try(tenant, attempt, decision)
    }

    fn origin_of(&self, (tenant, mode): (&str, Mode), attempt: u32) -> OriginId {
        OriginId::of_return(tenant, mode, &self.suspense.cash_in.coelsa_id, attempt)
    }

    fn decide_try(
        &self,
        tenant: (&str, Mode),
        attempt: u32,
        decision: Decision,
    ) -> Result<CaseFact, Rejection> {
        self.is_decidable()?;
        let sender = self.suspense.cash_in.from.cbu.as_deref();
        let to = sender.and_then(|text| Cbu::parse(text).ok());
        Ok(CaseFact::ReturnRequested {
            case: self.place,
            origin: self.origin_of(tenant, attempt),
            to: to.ok_or(Rejection::SenderUnknown)?,
            decision,
            attempt: Some(attempt).filter(|it| *it != self.tries.saturating_add(1)),
        })
    }

    /// Applies the bank's answer to a return on its way; returns nothing for any other, or when the
    /// answer is not new. If the bank has something else under the reference, the return was never
    /// made: the bank has one transfer per reference.
    pub fn settle_return(&self, number: u64, record: &BankTransfer) -> Option<CaseFact> {
        let case = self.place;
        let ParkedState::Returning(on_its_way) = &self.state else {
            return None;
        };
        if on_its_way.number != number {
            return None;
        }
        let to = Destination::Key(on_its_way.to);
        let amount = self.suspense.cash_in.amount;
        let differing = record.moved.differs(amount, None, &to);
        if !differing.is_empty() {
            let differing = differing.join(", ");
            let why = TransferRejection::because(format!(
                "the bank has something else under this reference: {differing}"
            ));
            return Some(CaseFact::ReturnRefused { case, number, why });
        }
        let bank_id = Some(record.bank_id.clone()).filter(|id| !id.is_empty());
        let coelsa_id = record.coelsa_id.clone();
        match &record.word {
            BankWord::Completed => Some(CaseFact::Returned {
                case,
                number,
                bank_id,
                coelsa_id,
            }),
            BankWord::Failed { reason } => Some(CaseFact::ReturnRefused {
                case,
                number,
                why: TransferRejection::because(reason.clone()),
            }),
            BankWord::InProgress | BankWord::Lost => {
                let news = |record: &Option<String>, known: &Option<String>| {
                    record.is_some() && record != known
                };
                let named =
                    news(&bank_id, &on_its_way.bank_id) || news(&coelsa_id, &on_its_way.coelsa_id);
                named.then_some(CaseFact::ReturnNamed {
                    case,
                    number,
                    bank_id,
                    coelsa_id,
                })
            }
        }
    }

    /// Whether the bank's answer contradicts the known outcome of a return.
    pub fn is_contradicted(&self, number: u64, word: &BankWord) -> bool {
        let returned = match &self.state {
            ParkedState::Returning(on_its_way) if on_its_way.number == number => return false,
            ParkedState::Returned(done) => done.number == number,
            ParkedState::Waiting | ParkedState::Returning(_) | ParkedState::Credited { .. } => {
                false
            }
        };
        match word {
            BankWord::Completed => !returned,
            BankWord::Failed { .. } => returned,
            BankWord::InProgress | BankWord::Lost => false,
        }
    }

    /// Applies a fact; `sequence` is the sequence of that fact.
    pub fn apply(&mut self, fact: &CaseFact, sequence: u64) {
        match fact {
            CaseFact::Credited {
                case: _,
                cvu,
                account,
                voucher,
                tag,
                decision,
            } => {
                self.refused = None;
                self.state = ParkedState::Credited {
                    cvu: *cvu,
                    account: *account,
                    voucher: *voucher,
                    tag: *tag,
                    decision: decision.clone(),
                };
            }
            CaseFact::ReturnRequested {
                case: _,
                origin,
                to,
                decision,
                attempt,
            } => {
                self.refused = None;
                self.tries = attempt.unwrap_or_else(|| self.tries.saturating_add(1));
                self.state = ParkedState::Returning(Return {
                    number: sequence,
                    origin: *origin,
                    to: *to,
                    decision: decision.clone(),
                    bank_id: None,
                    coelsa_id: None,
                });
            }
            CaseFact::ReturnNamed {
                bank_id, coelsa_id, ..
            } => self.named(bank_id, coelsa_id),
            CaseFact::Returned {
                bank_id, coelsa_id, ..
            } => {
                self.named(bank_id, coelsa_id);
                if let ParkedState::Returning(on_its_way) = &self.state {
                    self.state = ParkedState::Returned(on_its_way.clone());
                }
            }
            CaseFact::ReturnRefused { why, .. } => {
                self.refused = Some(why.clone());
                self.state = ParkedState::Waiting;
            }
        }
    }

    fn named(&mut self, bank_id: &Option<String>, coelsa_id: &Option<String>) {
        if let ParkedState::Returning(on_its_way) = &mut self.state {
            on_its_way.bank_id.bring(bank_id);
            on_its_way.coelsa_id.bring(coelsa_id);
        }
    }
}
