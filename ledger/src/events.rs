//! Events: how a tenant learns of each change. They are numbered without gaps in each realm.
//!
//! An event is not a record of its own. It is a view of the fact that it reports, numbered when the fact is indexed. So
//! no event exists without its commit, and every commit with such a fact has its event. Intents (requests to the bank)
//! and refusals that change nothing are not events. Which facts are events is itself part of history: see [`rules`].

pub mod rules;

use std::fmt;

use crate::accounts::Account;
use crate::balance::{Balance, Direction};
use crate::cases::{CaseFact, Parked};
use crate::coverage::CoverageFact;
use crate::days::ClosedDay;
use crate::facts::{AccountFact, RealmFact};
use crate::holds::Hold;
use crate::ids::{AccountNo, RealmId, Tag, VoucherId};
use crate::time::Timestamp;
use crate::transfers::{Suspense, Transfer, TransferFact, TransferStatus};
use crate::voucher_types::VoucherType;
use crate::vouchers::{HoldChange, ReferenceType, Voucher};

/// The place of an event: realm and number, from 1 without gaps, and the tag of the history to which it belongs.
/// Written as `evt_` and 32 characters that sort like the numbers; 26 without a tag.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct EventId {
    /// The realm whose event it is.
    pub realm: RealmId,
    /// Its number in the realm, from 1.
    pub number: u64,
    /// The tag of its history; [`Tag::NONE`] when neither its rules nor its record gave it one.
    pub tag: Tag,
}

const PREFIX: &str = "evt_";

impl EventId {
    /// Parses an id; `None` for anything that `Display` never wrote.
    pub fn parse(text: &str) -> Option<Self> {
        let id = VoucherId::after(PREFIX, text)?;
        (id.account == AccountNo(0)).then_some(Self {
            realm: id.realm,
            number: id.sequence,
            tag: id.tag,
        })
    }
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = VoucherId {
            realm: self.realm,
            account: AccountNo(0),
            sequence: self.number,
            tag: self.tag,
        };
        place.write(PREFIX, f)
    }
}

macro_rules! kinds {
    ($($(#[doc = $about:literal])+ $name:ident = $number:literal, $word:literal;)+) => {
        /// What happened. The numbers are on disk: appended, never edited.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum EventKind {
            $($(#[doc = $about])+ $name,)+
        }

        impl EventKind {
            /// Every kind, in the order of their numbers.
            pub const ALL: &[Self] = &[$(Self::$name,)+];

            /// The word on the wire.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $word,)+ }
            }

            /// What happened, in a sentence.
            pub const fn about(self) -> &'static str {
                match self { $(Self::$name => concat!($($about),+).trim_ascii(),)+ }
            }

            /// The number on disk.
            pub const fn number(self) -> u8 {
                match self { $(Self::$name => $number,)+ }
            }

            /// The kind of a number on disk.
            pub const fn of_number(number: u8) -> Option<Self> {
                match number { $($number => Some(Self::$name),)+ _ => None }
            }
        }
    };
}

kinds! {
    /// A wallet account exists; it has no CVU yet.
    AccountRegistered = 1, "account.registered";
    /// An account has its CVU.
    AccountCreated = 2, "account.created";
    /// The bank refused to open an account: it never was.
    AccountRejected = 3, "account.rejected";
    /// Holder, co-holders, KYC data, contact or fees changed.
    AccountUpdated = 4, "account.updated";
    /// The alias was set or replaced.
    AccountAliasUpdated = 5, "account.alias.updated";
    /// Outgoing movements are blocked.
    AccountSuspended = 6, "account.suspended";
    /// They are possible again, or a CVU that was closed is open again.
    AccountReactivated = 7, "account.reactivated";
    /// The wallet account was enabled.
    AccountEnabled = 8, "account.enabled";
    /// The wallet account was disabled.
    AccountDisabled = 9, "account.disabled";
    /// The account's own limits changed.
    AccountLimitsUpdated = 10, "account.limits.updated";
    /// The account is closed.
    AccountClosed = 11, "account.closed";
    /// Money moved: every voucher is published by one of these.
    VoucherCreated = 12, "voucher.created";
    /// Money was set apart.
    HoldCreated = 13, "hold.created";
    /// What was set apart has left, all or part.
    HoldConfirmed = 14, "hold.confirmed";
    /// What was set apart has returned, all or part.
    HoldReleased = 15, "hold.released";
    /// The time of a hold came, and its rest has returned.
    HoldExpired = 16, "hold.expired";
    /// A transfer through the bank was accepted; its money is held.
    TransferRequested = 17, "transfer.requested";
    /// The bank has it, or may have it.
    TransferInProgress = 18, "transfer.in_progress";
    /// The bank does not know; a person decides.
    TransferAudit = 19, "transfer.audit";
    /// The money has arrived, or left for good.
    TransferCompleted = 20, "transfer.completed";
    /// The bank refused; the money is released.
    TransferRejected = 21, "transfer.rejected";
    /// It came back, whole or in part.
    TransferReversed = 22, "transfer.reversed";
    /// A voucher type was created.
    VoucherTypeCreated = 23, "voucher_type.created";
    /// A voucher type was switched on or off, or got another account in the books.
    VoucherTypeUpdated = 24, "voucher_type.updated";
    /// A voucher type was removed.
    VoucherTypeRemoved = 25, "voucher_type.removed";
    /// Money arrived that no account could take; it waits for a person.
    CashInSuspended = 26, "cash_in.suspended";
    /// The fund accepted, refused, suspended or ended the remuneration of an account's balance.
    AccountRemunerationUpdated = 27, "account.remuneration.updated";
    /// A person said how a transfer ended; what it then is, is published right after.
    TransferDecided = 28, "transfer.decided";
    /// Money that no account could take was credited to one, or returned.
    SuspenseResolved = 29, "suspense.resolved";
    /// The collector account no longer has all of the clients' money: two checks in a row found money missing.
    TreasuryUncovered = 30, "treasury.uncovered";
    /// The collector account has all of the clients' money again.
    TreasuryCovered = 31, "treasury.covered";
    /// A business day is closed: its figures are final, and its checkpoint is signed.
    DayClosed = 32, "day.closed";
    /// More or less is set apart by a hold, or until another time.
    HoldUpdated = 33, "hold.updated";
}

impl EventKind {
    /// The event of a fact of an account's profile; `None` for intents and for refusals that leave the account as it
    /// was: the caller got those as the answer.
    pub const fn of_account(fact: &AccountFact) -> Option<Self> {
        match fact {
            // The event follows when the account has its CVU.
            AccountFact::Registered(registration) if registration.asks_cvu => None,
            AccountFact::Registered(_) => Some(Self::AccountRegistered),
            AccountFact::Opened { .. } => Some(Self::AccountCreated),
            AccountFact::OpeningRefused(_) => Some(Self::AccountRejected),
            AccountFact::AliasChanged { .. } => Some(Self::AccountAliasUpdated),
            AccountFact::IdentityChanged(_)
            | AccountFact::KycChanged { .. }
            | AccountFact::FeesChanged(_)
            | AccountFact::ParticularsChanged(_) => Some(Self::AccountUpdated),
            AccountFact::Closed => Some(Self::AccountClosed),
            AccountFact::Suspended { .. } => Some(Self::AccountSuspended),
            AccountFact::Reactivated | AccountFact::Reopened { .. } => {
                Some(Self::AccountReactivated)
            }
            AccountFact::LimitsChanged(_) | AccountFact::TemporaryLimitsSet(_) => {
                Some(Self::AccountLimitsUpdated)
            }
            AccountFact::EnabledChanged { enabled: true } => Some(Self::AccountEnabled),
            AccountFact::EnabledChanged { enabled: false } => Some(Self::AccountDisabled),
            AccountFact::EnrolmentChanged { .. } => Some(Self::AccountRemunerationUpdated),
            AccountFact::OpeningRequested { .. }
            | AccountFact::EnrolmentRequested { .. }
            | AccountFact::AliasRequested { .. }
            | AccountFact::AliasRefused(_)
            | AccountFact::IdentityRequested(_)
            | AccountFact::IdentityRefused(_)
            | AccountFact::ClosingRequested
            | AccountFact::ClosingRefused(_)
            | AccountFact::CvuRequested { .. }
            | AccountFact::CvuRefused(_)
            | AccountFact::ParticularsRequested(_)
            | AccountFact::ParticularsRefused(_) => None,
        }
    }

    /// The event of a voucher about the hold that it opens or steps, given the hold after it; `None` for holds that
    /// belong to something else, such as a transfer.
    pub fn of_hold(voucher: &Voucher, hold: Option<&Hold>) -> Option<Self> {
        if voucher.reference_type != ReferenceType::Hold {
            return None;
        }
        match voucher.direction {
            Direction::Hold if voucher.hold_change().is_some() => Some(Self::HoldUpdated),
            Direction::Hold => Some(Self::HoldCreated),
            Direction::Release if voucher.hold_change() == Some(HoldChange::Amount) => {
                Some(Self::HoldUpdated)
            }
            // What is set apart again, which follows, is the event.
            Direction::Release if voucher.hold_change().is_some() => None,
            Direction::ConfirmHold => Some(Self::HoldConfirmed),
            Direction::Release if hold.is_some_and(|hold| hold.is_due(voucher.at)) => {
                Some(Self::HoldExpired)
            }
            Direction::Release => Some(Self::HoldReleased),
            Direction::Credit | Direction::Debit => None,
        }
    }

    /// The event of a fact of a transfer, given its status before (unless the fact is the first) and after; `None` when
    /// only the bank's ids, or the receiver's name, were learned.
    pub fn of_transfer(
        fact: &TransferFact,
        before: Option<TransferStatus>,
        after: TransferStatus,
    ) -> Option<Self> {
        let advanced = matches!(fact, TransferFact::Advanced { .. });
        if (advanced && before == Some(after)) || matches!(fact, TransferFact::Resolved(_)) {
            return None;
        }
        if matches!(fact, TransferFact::Decided { .. }) {
            return Some(Self::TransferDecided);
        }
        Some(Self::of_status(after))
    }

    /// The additional event of a fact by which a person said how the transfer ended.
    pub const fn of_ending(fact: &TransferFact) -> Option<Self> {
        match fact {
            TransferFact::Decided { verdict, .. } => Some(Self::of_status(verdict.status())),
            TransferFact::Requested(_)
            | TransferFact::Advanced { .. }
            | TransferFact::Completed { .. }
            | TransferFact::Rejected(_)
            | TransferFact::Reversed { .. }
            | TransferFact::Disputed(_)
            | TransferFact::Resolved(_) => None,
        }
    }

    const fn of_status(status: TransferStatus) -> Self {
        match status {
            TransferStatus::Requested => Self::TransferRequested,
            TransferStatus::InProgress => Self::TransferInProgress,
            TransferStatus::Audit => Self::TransferAudit,
            TransferStatus::Completed => Self::TransferCompleted,
            TransferStatus::Rejected => Self::TransferRejected,
            TransferStatus::Reversed => Self::TransferReversed,
        }
    }

    /// The event of a fact of money in suspense; `None` while the bank is asked.
    pub const fn of_case(fact: &CaseFact) -> Option<Self> {
        if fact.resolves() {
            Some(Self::SuspenseResolved)
        } else {
            None
        }
    }

    /// The event of a change between covered and not covered.
    pub const fn of_coverage(fact: &CoverageFact) -> Self {
        if fact.covered {
            Self::TreasuryCovered
        } else {
            Self::TreasuryUncovered
        }
    }

    /// The event of a fact of a realm; `None` for facts about the numbering of events itself.
    pub const fn of_realm(fact: &RealmFact) -> Option<Self> {
        match fact {
            RealmFact::VoucherTypeCreated(_) => Some(Self::VoucherTypeCreated),
            RealmFact::VoucherTypeToggled { .. }
            | RealmFact::VoucherTypeAccountSet { .. }
            | RealmFact::VoucherTypeToleranceSet { .. }
            | RealmFact::VoucherTypeLimitsSet { .. } => Some(Self::VoucherTypeUpdated),
            RealmFact::VoucherTypeRemoved { .. } => Some(Self::VoucherTypeRemoved),
            RealmFact::EventRules { .. } => None,
        }
    }

    fn bit(self) -> u64 {
        1_u64.wrapping_shl(u32::from(self.number()))
    }
}

/// A set of kinds of events, which a webhook or a list wants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EventKinds(u64);

impl Default for EventKinds {
    fn default() -> Self {
        Self::EVERY
    }
}

impl EventKinds {
    /// All kinds, present and future: all 64 bits.
    pub const EVERY: Self = Self(u64::MAX);

    /// The set that these words name; each word is a kind, or a family such as `hold.*`.
    ///
    /// # Errors
    /// The first word that names no kind.
    pub fn parse<'a>(words: impl IntoIterator<Item = &'a str>) -> Result<Self, &'a str> {
        let mut found = 0;
        for word in words {
            match Self::named(word).0 {
                0 => return Err(word),
                bits => found |= bits,
            }
        }
        Ok(Self(found))
    }

    /// The same for stored words: a word of a newer version names nothing here.
    pub fn known<'a>(words: impl IntoIterator<Item = &'a str>) -> Self {
        let bits = words.into_iter().map(|word| Self::named(word).0);
        Self(bits.fold(0, |found, bits| found | bits))
    }

    /// The set that one word names; empty if it names no kind.
    fn named(word: &str) -> Self {
        let named = |kind: &EventKind| match word.strip_suffix('*') {
            Some(family) if family.ends_with('.') => kind.as_str().starts_with(family),
            Some(_) => false,
            None => kind.as_str() == word,
        };
        Self::of(EventKind::ALL.iter().filter(|kind| named(kind)))
    }

    /// The set of these kinds alone.
    pub fn of<'a>(kinds: impl IntoIterator<Item = &'a EventKind>) -> Self {
        let kinds = kinds.into_iter();
        Self(kinds.fold(0, |bits, kind| bits | kind.bit()))
    }

    /// The kinds in both sets.
    pub const fn and(self, others: Self) -> Self {
        Self(self.0 & others.0)
    }

    /// Whether the set has a kind.
    pub fn has(self, kind: EventKind) -> bool {
        self.0 & kind.bit() != 0
    }
}

/// The subject of an event, in its state right after the commit that the event reports.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Subject {
    /// An account, with its balance and the number of its movements at that moment.
    Account(Box<Account>, Balance, u64),
    /// A voucher, which never changes.
    Voucher(Box<Voucher>),
    /// A hold in its state at that moment.
    Hold(Box<Hold>),
    /// A transfer in its state at that moment.
    Transfer(Box<Transfer>),
    /// A voucher type in its state at that moment.
    VoucherType(Box<VoucherType>),
    /// Money that no account could take.
    Suspense(Box<Suspense>),
    /// Money in suspense with its outcome.
    Resolved(Box<Parked>),
    /// The collector account next to what is owed.
    Coverage(CoverageFact),
    /// A day that was closed.
    Day(Box<ClosedDay>),
}

/// An event, assembled from the fact that it reports.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Event {
    /// Its realm, number and tag.
    pub id: EventId,
    /// The instant of the fact that it reports.
    pub at: Timestamp,
    /// The kind of change.
    pub kind: EventKind,
    /// The account to which the event belongs; 0 for events of the realm itself. Events of one account are published in
    /// order.
    pub account: AccountNo,
    /// The subject of the event.
    pub subject: Subject,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_words_of_kinds_are_their_own_and_read_back() {
        for kind in EventKind::ALL {
            assert_eq!(EventKind::of_number(kind.number()), Some(*kind));
            let only = EventKinds::parse([kind.as_str()]).unwrap();
            let had: Vec<_> = EventKind::ALL.iter().filter(|k| only.has(**k)).collect();
            assert_eq!(had, [kind], "{}", kind.as_str());
            assert!(EventKinds::EVERY.has(*kind));
        }
    }

    #[test]
    fn a_family_is_all_that_begin_with_it_and_unknown_words_are_named() {
        let holds = EventKinds::parse(["hold.*", "account.closed"]).unwrap();
        let had = |kind| holds.has(kind);
        assert!(had(EventKind::HoldExpired) && had(EventKind::AccountClosed));
        assert!(!had(EventKind::AccountCreated) && !had(EventKind::VoucherCreated));
        for word in [
            "",
            "*",
            "hold",
            "hold*",
            "hold.",
            "holds.*",
            "voucher.posted",
            "account.Closed",
        ] {
            assert_eq!(EventKinds::parse(["hold.*", word]), Err(word));
        }
    }

    #[test]
    fn mentions_of_a_transfer_are_not_notified_and_returns_are() {
        let advanced = |status| TransferFact::Advanced {
            status,
            bank_id: Some("1".into()),
            coelsa_id: None,
        };
        let published = |fact: &TransferFact, before, after| {
            EventKind::of_transfer(fact, Some(before), after).map(EventKind::as_str)
        };
        use TransferStatus::{Audit, InProgress, Requested, Reversed};
        for (before, after, right) in [
            (Requested, Requested, None),
            (Requested, InProgress, Some("transfer.in_progress")),
            (InProgress, InProgress, None),
            (InProgress, Audit, Some("transfer.audit")),
            (Audit, InProgress, Some("transfer.in_progress")),
        ] {
            assert_eq!(published(&advanced(after), before, after), right);
        }
        let back = TransferFact::Reversed {
            coelsa_id: "1".into(),
            amount: crate::money::Amount::from_centavos(1).unwrap(),
            voucher: 1,
        };
        let again = published(&back, Reversed, Reversed);
        assert_eq!(again, Some("transfer.reversed"));
    }

    #[test]
    fn ids_read_back_in_the_order_of_their_numbers() {
        let id = |number, tag| EventId {
            realm: RealmId(7),
            number,
            tag,
        };
        let tag = Tag::of_record(b"a fact", Timestamp::from_millis(1));
        for tag in [Tag::NONE, tag] {
            let numbers = [1, 2, 31, 32, 1_000, (1 << 40) - 1];
            let texts = numbers.map(|n| id(n, tag).to_string());
            assert!(texts.is_sorted(), "{texts:?}");
            assert_eq!(EventId::parse(&texts[4]), Some(id(1_000, tag)));
        }
        let voucher = VoucherId {
            realm: RealmId(7),
            account: AccountNo(1),
            sequence: 1,
            tag: Tag::NONE,
        };
        assert_eq!(
            EventId::parse(&voucher.to_string().replace("cmp_", "evt_")),
            None
        );
    }
}
