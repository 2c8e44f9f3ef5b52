//! Holds: money set apart, then confirmed or released in parts until nothing is left.
//!
//! A hold consists only of vouchers: the one that opens it, and its steps, which name it. So its state is a fold of
//! them, and `confirmed + released <= amount` is a property of the history.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::balance::Direction;
use crate::cvu::Cvu;
use crate::ids::{AccountNo, HoldId, RealmId, Tag, VoucherId};
use crate::money::{Amount, Money};
use crate::text::ExternalId;
use crate::time::Timestamp;
use crate::vouchers::{HoldChange, ReferenceType, Voucher};

/// The most open holds that an account may have at a time.
pub const OPEN_HOLDS_MAX: usize = 10_000;

/// A hold with its present state.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Hold {
    /// The sequence of the voucher that opened it: its number in the account.
    pub sequence: u64,
    /// The tag of that voucher.
    #[serde(default, skip_serializing_if = "Tag::is_none")]
    pub tag: Tag,
    /// The CVU whose money is held.
    pub cvu: Cvu,
    /// The amount set apart, in centavos: at first, or by the last change.
    pub amount: Amount,
    /// The part that has left, in centavos.
    pub confirmed: Money,
    /// The part that has returned, in centavos.
    pub released: Money,
    /// Whether the rest was released because the hold expired.
    pub expired: bool,
    /// The tenant's own id of it: unique among the holds of the realm.
    pub external_id: Option<ExternalId>,
    /// A line for people.
    pub description: Option<String>,
    /// When the rest is released automatically.
    pub expires_at: Option<Timestamp>,
    /// When it was opened.
    pub created_at: Timestamp,
    /// When nothing was left of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// By how many percent of it more may be confirmed than is held; none where nothing may.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capture_tolerance: Option<u8>,
    /// Data of the tenant's own, as in the voucher that opened it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
}

words! {
    /// The state of a hold.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
    pub enum HoldStatus {
        /// A part of it is still set apart.
        Open = "open",
        /// It has ended, and some of it has left: `confirmed` says how much, and `released` how much returned.
        Confirmed = "confirmed",
        /// All of it has returned.
        Released = "released",
        /// It expired, and nothing of it has left.
        Expired = "expired",
    }
}

impl Hold {
    /// Its id, for an account of a realm.
    pub const fn id(&self, realm: RealmId, account: AccountNo) -> HoldId {
        HoldId(VoucherId {
            realm,
            account,
            sequence: self.sequence,
            tag: self.tag,
        })
    }

    /// The hold that a voucher opens, if it opens one.
    pub fn opened(voucher: &Voucher) -> Option<Self> {
        let opens =
            voucher.direction == Direction::Hold && voucher.reference_type == ReferenceType::Hold;
        let details = voucher.details.as_deref();
        let changes = details.is_some_and(|it| it.hold_change.is_some());
        (opens && !changes).then(|| Self {
            sequence: voucher.sequence,
            tag: voucher.tag,
            cvu: voucher.cvu,
            amount: voucher.amount,
            confirmed: Money::ZERO,
            released: Money::ZERO,
            expired: false,
            external_id: voucher.external_id.clone(),
            description: voucher.description.clone(),
            expires_at: voucher.expires_at,
            created_at: voucher.at,
            ended_at: None,
            capture_tolerance: details.and_then(|it| it.capture_tolerance),
            metadata: details.map_or_else(BTreeMap::new, |it| it.metadata.clone()),
        })
    }

    /// The number of the hold that a voucher steps or changes: the sequence of the voucher that opened it.
    pub fn of_step(voucher: &Voucher) -> Option<u64> {
        let step = match voucher.direction {
            Direction::Release | Direction::ConfirmHold => true,
            Direction::Hold => voucher.hold_change().is_some(),
            Direction::Credit | Direction::Debit => false,
        };
        let named = voucher.reference_id.as_deref().and_then(HoldId::parse);
        named
            .filter(|_| step && voucher.reference_type == ReferenceType::Hold)
            .map(|id| id.0.sequence)
    }

    /// Applies a step or a change: a confirmation or a release of at most what remains, more or less to be held, or another
    /// end.
    pub fn apply(&mut self, step: &Voucher) {
        let more = |sum: Money| sum.plus(step.amount.money()).unwrap_or(sum);
        match (step.direction, step.hold_change()) {
            (Direction::ConfirmHold, _) => self.confirmed = more(self.confirmed),
            (Direction::Release, Some(HoldChange::Amount)) => {
                self.amount = self.amount.minus(step.amount).unwrap_or(self.amount);
            }
            (Direction::Hold, Some(HoldChange::Amount)) => {
                self.amount = self.amount.plus(step.amount).unwrap_or(self.amount);
            }
            (Direction::Hold, Some(HoldChange::End)) => self.expires_at = step.expires_at,
            (Direction::Release, Some(HoldChange::End)) => {}
            (Direction::Release, None) => {
                self.released = more(self.released);
                // The account releases expired holds before it does anything else, so a release at or after the end is
                // the expiry itself.
                self.expired = self.expired || self.is_due(step.at);
            }
            (Direction::Credit | Direction::Debit, _) | (Direction::Hold, None) => {}
        }
        if self.remaining().is_none() {
            self.ended_at = self.ended_at.or(Some(step.at));
        }
    }

    /// The amount still set apart, in centavos; `None` when nothing is.
    pub fn remaining(&self) -> Option<Amount> {
        let rest = self.amount.money().minus(self.confirmed)?;
        rest.minus(self.released)?.amount()
    }

    /// How much more may be confirmed than is held, in centavos.
    pub fn tolerated(&self) -> Money {
        let Some(percent) = self.capture_tolerance else {
            return Money::ZERO;
        };
        let more = i128::from(self.amount.centavos()).strict_mul(percent.into()) / 100;
        // A share of an amount fits.
        i64::try_from(more).map_or(Money::ZERO, Money::from_centavos)
    }

    /// Whether the hold has expired: at [`Self::expires_at`] and later.
    pub fn is_due(&self, now: Timestamp) -> bool {
        self.expires_at.is_some_and(|end| end <= now)
    }

    /// The state that follows from its parts and its end.
    pub fn status(&self) -> HoldStatus {
        let none = |money: Money| money == Money::ZERO;
        match none(self.confirmed) {
            _ if self.remaining().is_some() => HoldStatus::Open,
            true if self.expired => HoldStatus::Expired,
            true => HoldStatus::Released,
            false => HoldStatus::Confirmed,
        }
    }
}

/// The order to set money apart.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OpenHold {
    /// The amount to set apart, in centavos.
    pub amount: Amount,
    /// The tenant's own id, idempotent among the holds of the realm.
    pub external_id: ExternalId,
    /// A line for people.
    pub description: Option<String>,
    /// When the rest is released automatically.
    pub expires_at: Option<Timestamp>,
    /// By how many percent of the amount more may be confirmed than is held, at most 100.
    pub capture_tolerance: Option<u8>,
    /// Data of the tenant's own.
    pub metadata: BTreeMap<String, String>,
}

/// The order to change an open hold; what is absent stays.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct HoldAmendment {
    /// The amount to be set apart in all, with what was confirmed and released of it, in centavos.
    pub amount: Option<Amount>,
    /// When the rest is released automatically; `Some(None)` for never.
    pub expires_at: Option<Option<Timestamp>>,
}

/// A step of a hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HoldStep {
    /// The money leaves the account.
    Confirm,
    /// The money can be spent again.
    Release,
}
