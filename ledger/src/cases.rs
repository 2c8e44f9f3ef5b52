//! Cases: matters that wait for a person's decision, and the decisions themselves.
//!
//! **Shape.** There are four kinds: a transfer in `audit`, which a person decides as `completed` or `rejected`
//! ([`Verdict`](crate::transfers::Verdict)); money that arrived and that no account could take ([`Parked`]), which is
//! credited to a CVU of its realm or returned to its sender through the bank; statements of the bank that the
//! ledger cannot book ([`Unbooked`]), which are booked as soon as possible, or dismissed; and movements of the collector
//! account that no rule classifies ([`RecordedMovement`]). Every decision records who
//! made it and why ([`Decision`]), and is a fact.
//!
//! **Returning.** The money is on the collector account and belongs to no CVU, and a bank sends nothing in the name of
//! a CVU that is closed or was never issued. So a return leaves from the collector account itself, under a reference of
//! its own, derived from the arrival and the number of the try
//! ([`OriginId::of_return`](crate::ids::OriginId::of_return)). Only the bank's answer ends it, as with any transfer;
//! after a refusal the case stays open, with the bank's reason, and the next try has another reference.
//!
//! **Order.** Money in suspense is decided once: while the bank is asked to return it nothing else can be decided, and
//! a decision stands whatever arrives later.

mod collector;
mod suspense;
mod unbooked;

use serde::{Deserialize, Serialize};

use crate::collector::CollectorId;
use crate::ids::{AccountNo, RealmId, Tag, TransferId, VoucherId};
use crate::time::Timestamp;

pub use collector::{CollectorFact, RecordedMovement};
pub use suspense::{CaseFact, Parked, ParkedState, Return};
pub use unbooked::{
    BankSays, TOLD_OTHERWISE, UNREADABLE, Unbooked, UnbookedFact, UnbookedState, UnreadableLine,
};

/// The longest name of a person who decides a case, in characters.
pub const BY_MAX: usize = 100;
/// The longest reason of a decision, in characters.
pub const REASON_MAX: usize = 500;

/// The account number under which returns are stored; no account has it.
pub const RETURNS: AccountNo = AccountNo(AccountNo::MAX + 1);

/// A person's decision, with name and reason.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Decision {
    /// The person's name, as they gave it: 1 to [`BY_MAX`] characters.
    pub by: String,
    /// The reason: 1 to [`REASON_MAX`] characters.
    pub reason: String,
    /// The reason of the second person, where one had to approve: at most [`REASON_MAX`] characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_reason: Option<String>,
    /// When the service accepted the decision.
    pub at: Timestamp,
    /// The bank's name for the evidence behind the decision (a call, a letter, a ticket).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bank_reference: Option<String>,
    /// Whether it was decided although the bank had not given up.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub forced: bool,
}

words! {
    /// The kinds of cases, in the order of [`Self::number`].
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
    pub enum CaseKind {
        /// A transfer in `audit`.
        Transfer = "transfer",
        /// Money that no account could take.
        Suspense = "suspense",
        /// A statement of the bank that the ledger cannot book.
        Unbooked = "unbooked",
        /// A movement of the collector account that no rule classifies.
        Collector = "collector",
    }
}

impl CaseKind {
    /// The number on disk.
    pub const fn number(self) -> u8 {
        match self {
            Self::Transfer => 1,
            Self::Suspense => 2,
            Self::Unbooked => 3,
            Self::Collector => 4,
        }
    }
}

/// The place of a record of suspense, or of an unbooked statement: the account that it concerns, and the record's
/// number there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct SuspensePlace {
    /// The account; 0 when none is known.
    pub account: AccountNo,
    /// The record's sequence in the stream of that account, from 1.
    pub sequence: u64,
}

/// Declares the id of a record at a place: written as its prefix and 32 characters.
macro_rules! record_ids {
    ($($(#[$about:meta])+ $id:ident = $prefix:literal;)+) => {$(
        $(#[$about])+
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub struct $id {
            /// The realm of the record.
            pub realm: RealmId,
            /// The place in it.
            pub place: SuspensePlace,
            /// Derived from what was recorded, so that an id never names another record if a place is used twice.
            pub tag: Tag,
        }

        impl $id {
            /// Parses an id; `None` for anything that `Display` never wrote.
            pub fn parse(text: &str) -> Option<Self> {
                let VoucherId { realm, account, sequence, tag } = VoucherId::after($prefix, text)?;
                Some(Self { realm, place: SuspensePlace { account, sequence }, tag })
            }
        }

        impl std::fmt::Display for $id {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                let Self { realm, place: SuspensePlace { account, sequence }, tag } = *self;
                VoucherId { realm, account, sequence, tag }.write($prefix, f)
            }
        }
    )+};
}

record_ids! {
    /// The id of money in suspense, in the realm to which the bank sent it. Its tag is derived from the rail's id of the
    /// money.
    SuspenseId = "sus_";

    /// The id of a statement of the bank that the ledger cannot book, in the realm whose CVU the bank named. Its tag is
    /// derived from the statement.
    UnbookedId = "unb_";
}

/// The id of a case: of its transfer, its money in suspense, its unbooked statement, or its movement of the collector
/// account.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CaseId {
    /// A transfer in `audit`.
    Transfer(TransferId),
    /// Money that no account could take.
    Suspense(SuspenseId),
    /// A statement of the bank that the ledger cannot book.
    Unbooked(UnbookedId),
    /// A movement of the collector account that no rule classifies.
    Collector(CollectorId),
}

impl CaseId {
    /// Parses the id of a case; each kind has a form of its own.
    pub fn parse(text: &str) -> Option<Self> {
        let transfer = TransferId::parse(text).map(Self::Transfer);
        let suspense = || SuspenseId::parse(text).map(Self::Suspense);
        let unbooked = || UnbookedId::parse(text).map(Self::Unbooked);
        let collector = || CollectorId::parse(text).map(Self::Collector);
        transfer
            .or_else(suspense)
            .or_else(unbooked)
            .or_else(collector)
    }
}

#[cfg(test)]
pub(crate) mod tests;
