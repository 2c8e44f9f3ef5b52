//! The parts of an account, and the orders about it.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::alias::Alias;
use crate::balance::Balance;
use crate::bank::BankRefusal;
use crate::chain::Digest;
use crate::cuit::{Cuit, PersonType};
use crate::cvu::Cvu;
use crate::fees::FeeRule;
use crate::holds::Hold;
use crate::ids::{AccountNo, RealmId};
use crate::kyc::Kyc;
use crate::limits::{Limits, LimitsChange, TemporaryLimits, TotalLimits, TotalUsage, Usage};
use crate::particulars::{Cleared, Names, Particulars};
use crate::remuneration::Enrolment;
use crate::time::Timestamp;
use crate::transfers::{Transfer, TransferFact, TransferRecord};
use crate::vouchers::Voucher;

/// How many holders an account may have, its own holder included.
pub const HOLDERS_MAX: usize = 20;

/// A person who holds an account, alone or with others.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Holder {
    /// The holder's tax id.
    pub cuit: Cuit,
    /// Name, as the tenant gave it.
    pub name: String,
    /// Natural or legal person.
    pub person_type: PersonType,
}

/// The names of an account's holders: what `PATCH …/identidad` sets.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Identity {
    /// The name of the account's own holder.
    pub name: String,
    /// Natural or legal person.
    pub person_type: PersonType,
    /// All holders, the account's own first, at most [`HOLDERS_MAX`].
    pub holders: Vec<Holder>,
    /// The parts of the name, if the account has any; for facts written before this field, the parts are forgotten when
    /// the name does not follow from them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub names: Option<Names>,
}

words! {
    /// The state of an account.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Status {
        /// A wallet account without a CVU.
        Registered = "registered",
        /// Has a CVU and may move money.
        Active = "active",
        /// Outgoing movements are blocked; incoming money is accepted.
        Suspended = "suspended",
        /// Ended; the remaining money can be settled and returned.
        Closed = "closed",
        /// The bank refused to open it, so it never existed.
        Void = "rejected",
    }
}

words! {
    /// Why an account is suspended, as a code.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum SuspensionCode {
        /// Suspected fraud of the holder or against them.
        Fraud = "fraud",
        /// A matter of compliance.
        Compliance = "compliance",
        /// An order of a court.
        CourtOrder = "court_order",
        /// The holder asked for it.
        CustomerRequest = "customer_request",
        /// Anything else; the reason explains it.
        Other = "other",
    }
}

/// The suspension of an account.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Suspension {
    /// The reason, as a sentence for people.
    pub reason: String,
    /// The reason as a code.
    pub code: SuspensionCode,
    /// When it was suspended.
    pub at: Timestamp,
}

/// A request that the bank has been or will be asked, and has not answered yet.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Pending {
    /// To create the CVU and give it an alias.
    Opening(CvuOpening),
    /// To set an alias.
    Alias(Alias),
    /// To take over an identity.
    Identity(Identity),
    /// To close the CVU.
    Closing,
    /// To create the CVU of an account that existed before.
    Cvu(CvuRequest),
    /// To take over the name that a change of particulars brings.
    Particulars(Box<Particulars>),
}

/// The order to open an account at the bank.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CvuOpening {
    /// The numeric id by which the bank knows the account; in an order, see [`ProfileOrder::drawn`].
    pub client_id: u64,
    /// The alias that was asked for; without one, the bank assigns an alias.
    pub alias: Option<Alias>,
}

/// The order to get a CVU for an account that existed before.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CvuRequest {
    /// The numeric id by which the bank knows the account; in an order, see [`ProfileOrder::drawn`].
    pub client_id: u64,
    /// The tenant's name for the CVU.
    pub name: Option<String>,
    /// Whether the bank assigns an alias.
    pub automatic_alias: bool,
}

/// The bank's answer to the pending request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BankAnswer {
    /// It opened the account.
    Opened {
        /// The CVU that the bank gave.
        cvu: Cvu,
        /// The alias, when it could be set.
        alias: Option<Alias>,
    },
    /// It did what it was asked.
    Done,
    /// It refused, in these words.
    Refused(BankRefusal),
}

/// An account with everything that is known of it.
///
/// It is written as a whole when it is unloaded, and that row may be used for years: until its profile changes, the
/// earlier facts are not read again. So a new field with a default that past facts would fill needs a new format of the
/// row, or a new version of the projection; otherwise unloaded accounts come back without it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Account {
    /// Its number in the realm: the wallet account id.
    pub number: AccountNo,
    /// The sequence of the last fact of its profile, from 1.
    pub profile_seq: u64,
    /// The account's own holder: the first of [`Self::holders`].
    pub holder: Holder,
    /// All holders, the account's own first; only itself until an identity was set.
    pub holders: Vec<Holder>,
    /// The tenant's own code, unique in the realm.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The holder's e-mail address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
    /// The holder's phone number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phone: Option<String>,
    /// The tenant's own key-value data.
    pub metadata: BTreeMap<String, String>,
    /// The KYC data of the holder.
    pub kyc: Kyc,
    /// Whether the wallet account is enabled.
    pub enabled: bool,
    /// Its CVU, once the bank gave one; kept when it is closed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cvu: Option<Cvu>,
    /// The alias of its CVU, while it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alias: Option<Alias>,
    /// The state of the account, which decides what may happen to its money.
    pub status: Status,
    /// The suspension, while suspended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suspension: Option<Suspension>,
    /// The account's own limits; the others are inherited.
    pub limits: Limits,
    /// The limits that went before its own last, until they ended or will end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temporary_limits: Option<Box<TemporaryLimits>>,
    /// The request that waits for the bank.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pending: Option<Pending>,
    /// The bank's answer when it refused to open the account.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refusal: Option<BankRefusal>,
    /// When it was registered.
    pub created_at: Timestamp,
    /// When its profile last changed.
    pub updated_at: Timestamp,
    /// When it was closed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closed_at: Option<Timestamp>,
    /// When its CVU was last opened again after it had been closed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reopened_at: Option<Timestamp>,
    /// Its balance after the last movement, in centavos.
    pub balance: Balance,
    /// The number of its movements: the sequence of the last one.
    pub sequence: u64,
    /// The hash chain up to its last movement.
    pub hash: Digest,
    /// When it last moved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_movement_at: Option<Timestamp>,
    /// What counted towards limits.
    #[serde(default, skip_serializing_if = "crate::words::is_default")]
    pub usage: Usage,
    /// The account's own fee entries; the others are inherited.
    #[serde(default)]
    pub fees: Vec<FeeRule>,
    /// The parts of the holder's name, if the tenant gave them separately.
    #[serde(default)]
    pub names: Names,
    /// What the tenant calls the CVU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cvu_name: Option<String>,
    /// The last enrolment in remuneration. Its value is not part of the balance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enrolment: Option<Enrolment>,
    /// The references of all enrolments of the account.
    #[serde(default)]
    pub(super) enrolled: BTreeSet<String>,
    /// Open holds, by the sequence of the voucher that opened each. Not part of a snapshot: the index has them.
    #[serde(skip)]
    pub holds: BTreeMap<u64, Hold>,
    /// The ends of open holds that have one, soonest first, each with the number of its hold.
    #[serde(skip)]
    pub(super) ends: BTreeSet<(Timestamp, u64)>,
    /// Transfers that wait for the bank, by the sequence of their first voucher: their number.
    /// Not part of a snapshot either.
    #[serde(skip)]
    pub transfers: BTreeMap<u64, Transfer>,
}

/// An order about the profile of an account.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ProfileOrder {
    /// Block outgoing movements; an account that is already suspended stays as it is.
    Suspend {
        /// The reason, as a sentence for people.
        reason: String,
        /// The reason as a code.
        code: SuspensionCode,
    },
    /// Let money out again.
    Reactivate,
    /// Set or replace the alias.
    SetAlias(Alias),
    /// Set names and holders.
    SetIdentity {
        /// The type of person, which has to agree with the CUIT.
        person_type: Option<PersonType>,
        /// All holders, the account's own first; the account takes the name of the first.
        holders: Vec<Holder>,
    },
    /// Close the CVU at the bank and then the account.
    Close,
    /// Change KYC data and contact.
    ChangeKyc {
        /// The KYC data that changes; its fields that are `None` stay.
        kyc: Kyc,
        /// E-mail, when it changes.
        email: Option<String>,
        /// Phone, when it changes.
        phone: Option<String>,
        /// The fields to clear.
        cleared: Cleared,
    },
    /// Change its own limits.
    ChangeLimits(LimitsChange),
    /// Set limits that go before its own until an instant, in place of earlier ones; `None` ends them.
    SetTemporaryLimits(Option<Box<TemporaryLimits>>),
    /// Replace its own fees.
    ChangeFees(Vec<FeeRule>),
    /// Enable or disable the wallet account.
    SetEnabled(bool),
    /// Change the particulars of the wallet account.
    ChangeParticulars(Particulars),
    /// Get a CVU for a wallet account that existed before and has none, or reopen a closed one.
    GetCvu(CvuRequest),
    /// Get a CVU for a new account.
    Open(CvuOpening),
}

impl ProfileOrder {
    /// Whether a client id must be drawn for the order before it is decided.
    pub const fn draws(&self) -> bool {
        matches!(self, Self::GetCvu { .. } | Self::Open { .. })
    }

    /// The same order with a client id that was drawn for it; an order that asks for no CVU stays as it is.
    #[must_use]
    pub fn drawn(mut self, drawn: u64) -> Self {
        if let Self::GetCvu(CvuRequest { client_id, .. })
        | Self::Open(CvuOpening { client_id, .. }) = &mut self
        {
            *client_id = drawn;
        }
        self
    }
}

/// The limits and fees of a level above the account.
#[derive(Clone, Copy, Debug, Default)]
pub struct Terms<'a> {
    /// The limits that this level sets.
    pub limits: Limits,
    /// The fee entries of this level.
    pub fees: &'a [FeeRule],
}

/// The data, besides the account itself, by which a movement is judged.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// The realm, for naming vouchers.
    pub realm: RealmId,
    /// The time of the decision, by the service's clock.
    pub now: Timestamp,
    /// The terms that the tenant sets for its accounts.
    pub psp: Terms<'a>,
    /// The terms that the platform sets where the tenant sets none.
    pub platform: Terms<'a>,
    /// The limits on the sum over the tenant's accounts.
    pub total: TotalLimits,
    /// What has left the tenant so far, including movements that are decided and not on disk yet.
    pub total_usage: TotalUsage,
}

/// The result of a decision about money and transfers, committed as a whole or not at all.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Movements {
    /// Vouchers of one account, in their order.
    pub vouchers: Vec<Voucher>,
    /// The facts about its transfers.
    pub transfers: Vec<TransferRecord>,
}

impl Movements {
    /// A fact about one transfer, by its number, with the vouchers that record it.
    pub(super) fn of(transfer: u64, fact: TransferFact, vouchers: Vec<Voucher>) -> Self {
        Self {
            vouchers,
            transfers: vec![TransferRecord { transfer, fact }],
        }
    }

    /// The request of a transfer, with the vouchers that record it.
    pub(super) fn asking(transfer: &Transfer, vouchers: Vec<Voucher>) -> Self {
        let fact = TransferFact::Requested(Box::new(transfer.clone()));
        Self::of(transfer.sequence, fact, vouchers)
    }

    /// Whether the decision does nothing.
    pub fn is_empty(&self) -> bool {
        self.vouchers.is_empty() && self.transfers.is_empty()
    }
}
