//! Vouchers (`comprobantes`): the movements of an account, one after the other, chained by hash.

use std::collections::BTreeMap;

use chrono::NaiveDate;
use serde::{Deserialize, Serialize};

use crate::balance::{Balance, Direction};
use crate::book_accounts::BookName;
use crate::chain::{Canonical, Digest};
use crate::counterparty::Counterparty;
use crate::cvu::Cvu;
use crate::ids::{AccountNo, RealmId, Tag, VoucherId};
use crate::money::Amount;
use crate::text::ExternalId;
use crate::time::Timestamp;
use crate::voucher_types::{TypeCode, VoucherType};

words! {
    /// The kind of thing that a voucher belongs to.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
    pub enum ReferenceType {
        /// A voucher that the tenant posted.
        #[serde(rename = "a")]
        Adjustment = "adjustment",
        /// A hold and its steps.
        #[serde(rename = "h")]
        Hold = "hold",
        /// A transfer through the bank.
        #[serde(rename = "t")]
        Transfer = "transfer",
        /// A transfer inside the realm.
        #[serde(rename = "p")]
        P2p = "p2p",
        /// Money that arrived from the bank.
        #[serde(rename = "c")]
        CashIn = "cash_in",
        /// A fee or its tax.
        #[serde(rename = "f")]
        Fee = "fee",
        /// Remuneration of balances. The service posts none; the type is reserved.
        #[serde(rename = "r")]
        Remuneration = "remuneration",
    }
}

/// The effect of a release on the usage of limits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct GivesBack {
    /// The time at which the returning money was counted.
    #[serde(rename = "c")]
    pub counted_at: Timestamp,
    /// Whether nothing of it has left, so that it no longer counts as a movement.
    #[serde(rename = "w")]
    pub whole: bool,
}

/// What only some vouchers have.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct VoucherDetails {
    /// The voucher of the same account that it reverses, in whole or in part.
    #[serde(rename = "r", default, skip_serializing_if = "Option::is_none")]
    pub reverses: Option<ReversedVoucher>,
    /// The id of the voucher that it relates to, by the tenant's word.
    #[serde(rename = "o", default, skip_serializing_if = "Option::is_none")]
    pub relates_to: Option<String>,
    /// Data of the tenant's own: names of at most [`Self::NAME_MAX`] characters, values of at most [`Self::VALUE_MAX`], at
    /// most [`Self::ENTRIES_MAX`] of them.
    #[serde(rename = "m", default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
    /// What it changes in an open hold, other than a step.
    #[serde(rename = "h", default, skip_serializing_if = "Option::is_none")]
    pub hold_change: Option<HoldChange>,
    /// For the voucher that opens a hold: by how many percent of the hold more may be confirmed than is held.
    #[serde(rename = "t", default, skip_serializing_if = "Option::is_none")]
    pub capture_tolerance: Option<u8>,
    /// Whether its type had limits when it was posted, so that it counts towards them.
    #[serde(rename = "l", default, skip_serializing_if = "std::ops::Not::not")]
    pub of_limited_type: bool,
}

/// What a voucher changes in an open hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum HoldChange {
    /// It sets more apart, or less.
    #[serde(rename = "a")]
    Amount,
    /// It is one of two that release all that is left and set it apart again until another end. Neither counts in limits.
    #[serde(rename = "e")]
    End,
}

impl VoucherDetails {
    /// The most entries of the tenant's own data.
    pub const ENTRIES_MAX: usize = 20;
    /// The longest name of an entry, in characters.
    pub const NAME_MAX: usize = 40;
    /// The longest value of an entry, in characters.
    pub const VALUE_MAX: usize = 500;

    /// The details, if there are any.
    pub fn if_any(self) -> Option<Box<Self>> {
        (self != Self::default()).then(|| Box::new(self))
    }

    fn canonical(&self, form: Canonical) -> Canonical {
        let (sequence, tag) = self
            .reverses
            .map_or((0, Tag::NONE), |it| (it.sequence, it.tag));
        let form = form
            .number(whole(sequence))
            .number(i64::from(tag.number()))
            .optional(self.relates_to.as_deref())
            .number(match self.hold_change {
                None => 0,
                Some(HoldChange::Amount) => 1,
                Some(HoldChange::End) => 2,
            })
            .number(self.capture_tolerance.map_or(-1, i64::from));
        let entries = self.metadata.iter();
        let form = entries.fold(form, |form, (name, value)| form.text(name).text(value));
        // A number after texts: details without it keep the form that they had before it existed.
        if self.of_limited_type {
            form.number(1)
        } else {
            form
        }
    }
}

/// A voucher that another one of its account reverses.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ReversedVoucher {
    /// Its sequence.
    #[serde(rename = "n")]
    pub sequence: u64,
    /// Its tag.
    #[serde(rename = "i", default, skip_serializing_if = "Tag::is_none")]
    pub tag: Tag,
}

fn whole(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// One movement of one account, with the balance after it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Voucher {
    /// The CVU whose money moved.
    #[serde(rename = "c")]
    pub cvu: Cvu,
    /// Counts the account's movements from 1, without gaps.
    #[serde(rename = "n")]
    pub sequence: u64,
    /// The direction of the money.
    #[serde(rename = "d")]
    pub direction: Direction,
    /// The amount, in centavos.
    #[serde(rename = "a")]
    pub amount: Amount,
    /// The balance after it.
    #[serde(rename = "b")]
    pub after: Balance,
    /// The code of the type, kept even when the type is removed.
    #[serde(rename = "t")]
    pub type_code: TypeCode,
    /// The name of the type at the time of posting.
    #[serde(rename = "l")]
    pub type_name: String,
    /// The number of the type at the time of posting, for a tenant's own type.
    #[serde(rename = "m", default, skip_serializing_if = "Option::is_none")]
    pub type_number: Option<u64>,
    /// The account of the books on its other side, if the tenant has set one for the type; else it follows from the code.
    #[serde(rename = "q", default, skip_serializing_if = "Option::is_none")]
    pub counter_account: Option<BookName>,
    /// The tenant's own id of the movement.
    #[serde(rename = "x", default, skip_serializing_if = "Option::is_none")]
    pub external_id: Option<ExternalId>,
    /// The kind of thing that it belongs to.
    #[serde(rename = "k")]
    pub reference_type: ReferenceType,
    /// The id of that thing, if it is not the voucher itself.
    #[serde(rename = "r", default, skip_serializing_if = "Option::is_none")]
    pub reference_id: Option<String>,
    /// A line for people.
    #[serde(rename = "w", default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The tenant's own date of the movement (wallet `fechaExterna`).
    #[serde(rename = "y", default, skip_serializing_if = "Option::is_none")]
    pub external_date: Option<NaiveDate>,
    /// That date as it was sent, if not as `YYYY-MM-DD`.
    #[serde(rename = "z", default, skip_serializing_if = "Option::is_none")]
    pub external_date_sent: Option<String>,
    /// When the hold that it opens ends by itself.
    #[serde(rename = "e", default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// For a release: the usage of limits that it gives back.
    #[serde(rename = "g", default, skip_serializing_if = "Option::is_none")]
    pub gives_back: Option<GivesBack>,
    /// The tag of the history to which its id belongs.
    #[serde(rename = "i", default, skip_serializing_if = "Tag::is_none")]
    pub tag: Tag,
    /// The other side, as far as known at the time of posting.
    #[serde(rename = "p", default, skip_serializing_if = "Option::is_none")]
    pub counterparty: Option<Box<Counterparty>>,
    /// What only some vouchers have.
    #[serde(rename = "v", default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Box<VoucherDetails>>,
    /// When it was posted; never goes back within an account.
    #[serde(rename = "u")]
    pub at: Timestamp,
    /// The hash chain up to and including this movement: [`Self::hash_after`] the previous one.
    #[serde(rename = "h")]
    pub hash: Digest,
}

impl Voucher {
    /// Its id, for an account of a realm.
    pub const fn id(&self, realm: RealmId, account: AccountNo) -> VoucherId {
        VoucherId {
            realm,
            account,
            sequence: self.sequence,
            tag: self.tag,
        }
    }

    /// The hash of this voucher after `previous`. It includes neither the number of the type nor its account in the
    /// books, which follow from the code and from the realm's types at that time.
    pub fn hash_after(&self, previous: Digest) -> Digest {
        let date = self
            .external_date
            .map(|day| match &self.external_date_sent {
                None => day.to_string(),
                Some(sent) => format!("{day} {sent}"),
            });
        // Each part that not all vouchers have adds to the version of this canonical form, which begins with 1.
        let steps = self.expires_at.is_some() || self.gives_back.is_some();
        let parts = [
            (steps, 1),
            (!self.tag.is_none(), 2),
            (self.counterparty.is_some(), 4),
            (self.details.is_some(), 8),
        ];
        let parts = parts.into_iter().filter(|(has, _)| *has);
        let version = parts.fold(1_i64, |version, (_, part)| version.strict_add(part));
        let mut form = Canonical::after(previous)
            .number(version)
            .text(self.cvu.as_str())
            .number(whole(self.sequence))
            .number(i64::from(self.direction.byte()))
            .number(self.amount.centavos())
            .number(self.after.available.centavos())
            .number(self.after.held.centavos())
            .text(self.type_code.as_str())
            .text(&self.type_name)
            .optional(self.external_id.as_ref().map(ExternalId::as_str))
            .text(self.reference_type.as_str())
            .optional(self.reference_id.as_deref())
            .optional(self.description.as_deref())
            .optional(date.as_deref())
            .number(whole(self.at.millis()));
        if !self.tag.is_none() {
            form = form.number(i64::from(self.tag.number()));
        }
        if let Some(other) = &self.counterparty {
            form = other.canonical(form);
        }
        if let Some(details) = &self.details {
            form = details.canonical(form);
        }
        if !steps {
            return form.digest();
        }
        let (counted, all) = self
            .gives_back
            .map_or((0, false), |back| (back.counted_at.millis(), back.whole));
        form.number(whole(self.expires_at.map_or(0, Timestamp::millis)))
            .number(whole(counted))
            .number(i64::from(all))
            .digest()
    }

    /// The id of the voucher that it reverses, for an account of a realm.
    pub fn reverses(&self, realm: RealmId, account: AccountNo) -> Option<VoucherId> {
        let ReversedVoucher { sequence, tag } = self.details.as_ref()?.reverses?;
        Some(VoucherId {
            realm,
            account,
            sequence,
            tag,
        })
    }

    /// Whether the account gets money back by it: a voucher is reversed, or a transfer has returned.
    pub fn is_refund(&self) -> bool {
        let reverses = self
            .details
            .as_ref()
            .is_some_and(|it| it.reverses.is_some());
        reverses || self.reference_type == ReferenceType::Transfer
    }

    /// Whether its type had limits when it was posted, so that it counts towards them.
    pub fn is_of_limited_type(&self) -> bool {
        self.details.as_ref().is_some_and(|it| it.of_limited_type)
    }

    /// What it changes in an open hold, other than a step.
    pub fn hold_change(&self) -> Option<HoldChange> {
        self.details.as_ref()?.hold_change
    }

    /// Whether a tenant may reverse it: an adjustment or a confirmation of a hold, and no reversal itself.
    pub fn is_reversible(&self) -> bool {
        let reverses = self.details.as_ref().and_then(|it| it.reverses);
        let moved = match self.reference_type {
            ReferenceType::Adjustment => true,
            ReferenceType::Hold => self.direction == Direction::ConfirmHold,
            ReferenceType::Transfer
            | ReferenceType::P2p
            | ReferenceType::CashIn
            | ReferenceType::Fee
            | ReferenceType::Remuneration => false,
        };
        moved && reverses.is_none()
    }

    /// The tenant's own date of the movement, as it was sent.
    pub fn external_date_as_sent(&self) -> Option<String> {
        let day = || self.external_date.map(|day| day.to_string());
        self.external_date_sent.clone().or_else(day)
    }

    /// Whether its external id is the tenant's own id of this movement, and so unique with the direction in the realm:
    /// transfers have an id space of their own.
    pub fn claims_external_id(&self) -> bool {
        matches!(
            self.reference_type,
            ReferenceType::Adjustment | ReferenceType::Hold
        )
    }

    /// The other side; for money that arrived, with its id on the rail.
    pub fn other_side(&self) -> Option<Counterparty> {
        let mut other = self.counterparty.as_deref().cloned()?;
        other.coelsa_id = self.coelsa_id().map(str::to_owned);
        Some(other)
    }

    /// The id of the movement on the rail (COELSA), if it was there and the bank gave one.
    pub fn coelsa_id(&self) -> Option<&str> {
        let other = self.counterparty.as_deref();
        let stated = other.and_then(|other| other.coelsa_id.as_deref());
        stated.or_else(|| {
            let arrived = self.reference_type == ReferenceType::CashIn;
            self.reference_id.as_deref().filter(|_| arrived)
        })
    }

    /// Whether it is a movement that the bank lists: money that arrived, left or came back on the rail.
    pub fn is_at_the_bank(&self) -> bool {
        match self.direction {
            Direction::Credit | Direction::ConfirmHold => matches!(
                self.reference_type,
                ReferenceType::CashIn | ReferenceType::Transfer
            ),
            Direction::Debit | Direction::Hold | Direction::Release => false,
        }
    }

    /// Whether it is listed among the tenant's adjustments and internal transfers.
    pub fn is_internal(&self) -> bool {
        matches!(
            self.reference_type,
            ReferenceType::Adjustment | ReferenceType::P2p
        )
    }
}

/// The tenant's own date of a movement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExternalDate {
    /// The calendar day, as the tenant meant it.
    pub day: NaiveDate,
    /// The date as it was sent, if not as `YYYY-MM-DD`; at most [`Self::SENT_MAX`] bytes.
    pub sent: Option<String>,
}

impl ExternalDate {
    /// The longest form in which a date may be sent, in bytes.
    pub const SENT_MAX: usize = 40;
}

impl From<NaiveDate> for ExternalDate {
    fn from(day: NaiveDate) -> Self {
        Self { day, sent: None }
    }
}

/// The order to post an adjustment voucher.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PostAdjustment {
    /// The type, resolved among the realm's types.
    pub voucher_type: VoucherType,
    /// The amount, in centavos; the direction is the type's.
    pub amount: Amount,
    /// The tenant's own id, unique with the direction among adjustments and holds of the realm.
    pub external_id: ExternalId,
    /// A line for people.
    pub description: Option<String>,
    /// The tenant's own date.
    pub external_date: Option<ExternalDate>,
    /// What only some vouchers have; what it reverses comes from `reversal`.
    pub details: Option<Box<VoucherDetails>>,
    /// The voucher that it reverses, if it reverses one; then the type is made from that voucher's.
    pub reversal: Option<Box<Reversal>>,
}

/// The order to reverse a voucher.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reversal {
    /// The voucher, of the same account.
    pub original: Voucher,
    /// Whether all that is left of it is reversed, at most the amount of the order.
    pub rest: bool,
    /// Whether its fee and tax are given back in proportion.
    pub refund_fees: bool,
}

/// Whether an order was carried out now or before: a repeated order is a success that changes nothing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome<T> {
    /// It was carried out now.
    Recorded(T),
    /// It had been carried out before; this is its result from then.
    Replayed(T),
}

impl<T> Outcome<T> {
    /// The result, new or old.
    pub fn into_inner(self) -> T {
        match self {
            Self::Recorded(value) | Self::Replayed(value) => value,
        }
    }
}
