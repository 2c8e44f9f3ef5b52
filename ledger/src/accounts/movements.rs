//! Movements: the changes that the money of an account may undergo, and the vouchers that record
//! them.
//!
//! **Shape.** Every decision drafts vouchers on top of the account's current state: each has its
//! sequence, the balance after it and its place in the chain. So one decision may give several (a
//! movement, its fee, the tax on it), which are committed together or not at all.
//!
//! **Order.** An order is checked in this sequence: seen before, type, state of the account,
//! limits, money. A retry gets its first answer, whatever has happened to the account meanwhile.

use super::drafts::Draft;
use super::{Account, Context, Status};
use crate::cvu::Cvu;
use crate::fees::Schedules;
use crate::holds::{Hold, HoldAmendment, HoldStep, OPEN_HOLDS_MAX, OpenHold};
use crate::ids::{AccountNo, HoldId};
use crate::limits::{Breach, Judged, Levels, LimitKind, Limits, Usage};
use crate::money::Amount;
use crate::rejection::Rejection;
use crate::time::Timestamp;
use crate::transfers::{CashIn, differing};
use crate::voucher_types::{Origin, Sense, SystemType};
use crate::vouchers::{
    HoldChange, Outcome, PostAdjustment, ReferenceType, Voucher, VoucherDetails,
};

/// A kind of movement, as far as the account's state treats kinds differently.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Movement {
    /// An adjustment that credits.
    AdjustIn,
    /// An adjustment that debits.
    AdjustOut,
    /// Opening a hold, by the tenant.
    Hold,
    /// Confirming a hold, by the tenant.
    Confirm,
    /// Releasing a hold, by the tenant.
    Release,
    /// A transfer out, inside the realm or through the bank.
    Send,
    /// Receiving an internal transfer.
    Receive,
    /// Money that arrives from the bank.
    CashIn,
    /// The end of something begun before: a transfer at the bank, an expiry, a reversal.
    Settle,
}

impl Account {
    /// Whether the state of the account allows a kind of movement; returns its CVU.
    ///
    /// # Errors
    /// When it has no CVU, never existed, or is closed, suspended or disabled and the movement is
    /// not allowed in that state.
    pub fn may(&self, movement: Movement) -> Result<Cvu, Rejection> {
        use Movement::{
            AdjustIn, AdjustOut, CashIn, Confirm, Hold, Receive, Release, Send, Settle,
        };
        self.exists()?;
        let cvu = self.cvu.ok_or(Rejection::AccountWithoutCvu)?;
        let leaves = matches!(movement, AdjustOut | Hold | Confirm | Send);
        let switched = matches!(movement, AdjustIn | AdjustOut | Hold | Confirm | Send);
        match self.status {
            Status::Registered => Err(Rejection::AccountWithoutCvu),
            Status::Void => Err(Rejection::AccountNotFound),
            // Money left on a closed account can be settled, released and returned.
            Status::Closed => match movement {
                AdjustOut | Confirm | Release | Settle => Ok(cvu),
                AdjustIn | Hold | Send | Receive | CashIn => Err(Rejection::AccountClosed),
            },
            Status::Suspended if leaves => Err(Rejection::AccountSuspended),
            Status::Suspended | Status::Active if switched && !self.enabled => {
                Err(Rejection::AccountDisabled)
            }
            Status::Suspended | Status::Active => Ok(cvu),
        }
    }

    /// The three levels of limits that hold for the account.
    pub fn levels(&self, context: &Context<'_>) -> Levels {
        Levels {
            account: self.limits_at(self.instant(context.now)),
            psp: context.psp.limits,
            platform: context.platform.limits,
        }
    }

    /// Its own limits at an instant, temporary ones before the others.
    pub fn limits_at(&self, now: Timestamp) -> Limits {
        match &self.temporary_limits {
            Some(temporary) if temporary.apply_at(now) => temporary.limits.or(&self.limits),
            Some(_) | None => self.limits,
        }
    }

    /// The three levels of fees that hold for the account.
    pub fn schedules<'a>(&'a self, context: &Context<'a>) -> Schedules<'a> {
        Schedules {
            account: &self.fees,
            psp: context.psp.fees,
            platform: context.platform.fees,
        }
    }

    /// The time of a movement that is decided now: never before the previous movement, even if the
    /// clock was set back meanwhile. Everything that depends on time is judged by it.
    pub fn instant(&self, now: Timestamp) -> Timestamp {
        self.last_movement_at.map_or(now, |last| last.max(now))
    }

    /// What a movement of an amount is judged by.
    fn judged<'a>(&self, usage: &'a Usage, amount: Amount, context: &Context<'_>) -> Judged<'a> {
        Judged {
            usage,
            total: self.balance.total(),
            amount,
            now: self.instant(context.now),
        }
    }

    /// Whether the limits of some kinds allow a movement. Most accounts have none, and then nothing is compared.
    ///
    /// # Errors
    /// The first limit that the amount would exceed.
    pub(super) fn within(
        &self,
        kinds: fn(LimitKind) -> bool,
        amount: Amount,
        context: &Context<'_>,
    ) -> Result<(), Rejection> {
        let above = [&context.psp.limits, &context.platform.limits];
        let mut levels = above.into_iter().chain([&self.limits]);
        if levels.all(Limits::are_none) && self.temporary_limits.is_none() {
            return Ok(());
        }
        let judged = self.judged(&self.usage, amount, context);
        exceeded(self.levels(context).allow(kinds, &judged))
    }

    /// Whether limits let money out of the account. Money left on a closed account can be returned
    /// whatever they say.
    ///
    /// # Errors
    /// The first limit that the amount would exceed.
    pub(super) fn within_limits(
        &self,
        amount: Amount,
        context: &Context<'_>,
    ) -> Result<(), Rejection> {
        if self.status == Status::Closed {
            return Ok(());
        }
        self.within(LimitKind::is_on_outgoing, amount, context)
    }

    /// Whether limits let money out of the account and out of the tenant.
    ///
    /// # Errors
    /// The first limit that the amount would exceed, the account's before the tenant's.
    pub(super) fn within_all_limits(
        &self,
        amount: Amount,
        context: &Context<'_>,
    ) -> Result<(), Rejection> {
        self.within_limits(amount, context)?;
        if self.status == Status::Closed {
            return Ok(());
        }
        let now = self.instant(context.now);
        exceeded(context.total.outgoing(context.total_usage, amount, now))
    }

    /// Decides an adjustment voucher, with its fee if one is charged. `existing` is the voucher
    /// that already has the same external id and direction, with its account; `of_type` is what the account's vouchers have
    /// used of the limits of the type.
    ///
    /// # Errors
    /// When `existing` differs from the order, the type is built in or inactive, or state, limits
    /// or balance refuse it.
    pub fn decide_post(
        &self,
        order: &PostAdjustment,
        existing: Option<(AccountNo, &Voucher)>,
        of_type: &Usage,
        context: &Context<'_>,
    ) -> Result<Outcome<Vec<Voucher>>, Rejection> {
        self.exists()?;
        if let Some((number, existing)) = existing {
            let type_differs = existing.type_code != order.voucher_type.code;
            let known = (number, existing);
            return self.seen_before(
                known,
                order.amount,
                Some(("voucherTypeCode", type_differs)),
                context,
            );
        }
        let voucher_type = &order.voucher_type;
        let code = &voucher_type.code;
        let sense = match voucher_type.origin {
            Origin::Custom(sense) => sense,
            Origin::System(_) => {
                return Err(Rejection::VoucherTypeIsSystem { code: code.clone() });
            }
        };
        if !voucher_type.active {
            return Err(Rejection::VoucherTypeInactive { code: code.clone() });
        }
        match sense {
            Sense::Credit => {
                self.may(Movement::AdjustIn)?;
                self.within(LimitKind::is_on_incoming, order.amount, context)?;
            }
            Sense::Debit => {
                self.may(Movement::AdjustOut)?;
                self.within_all_limits(order.amount, context)?;
            }
        }
        let mut details = order.details.clone();
        if let Some(limits) = &voucher_type.limits {
            exceeded(limits.of_type_allow(&self.judged(of_type, order.amount, context)))?;
            details.get_or_insert_default().of_limited_type = true;
        }
        let mut drafts = self.draft(context)?;
        drafts.add(Draft {
            external_id: Some(order.external_id.clone()),
            description: order.description.clone(),
            external_date: order.external_date.clone(),
            details,
            ..Draft::new(
                voucher_type.clone(),
                order.amount,
                ReferenceType::Adjustment,
            )
        })?;
        drafts.charge()?;
        Ok(Outcome::Recorded(drafts.vouchers))
    }

    /// Decides a hold; `existing` is the voucher of a hold that already has the same external id.
    ///
    /// # Errors
    /// When `existing` differs from the order, its end is not in the future, [`OPEN_HOLDS_MAX`]
    /// holds are open, or state, limits or balance refuse it.
    pub fn decide_hold(
        &self,
        order: &OpenHold,
        existing: Option<(AccountNo, &Voucher)>,
        context: &Context<'_>,
    ) -> Result<Outcome<Vec<Voucher>>, Rejection> {
        self.exists()?;
        if let Some((number, existing)) = existing {
            // The end of the hold is the one in the first order.
            return self.seen_before((number, existing), order.amount, None, context);
        }
        self.may(Movement::Hold)?;
        let now = self.instant(context.now);
        if order.expires_at.is_some_and(|end| end <= now) {
            return Err(Rejection::ExpiryInThePast);
        }
        if self.holds.len() >= OPEN_HOLDS_MAX {
            return Err(Rejection::TooManyOpenHolds {
                maximum: OPEN_HOLDS_MAX,
            });
        }
        self.within_all_limits(order.amount, context)?;
        let mut drafts = self.draft(context)?;
        let reference_id = HoldId(drafts.next_id()).to_string();
        drafts.add(Draft {
            external_id: Some(order.external_id.clone()),
            description: order.description.clone(),
            expires_at: order.expires_at,
            reference_id: Some(reference_id),
            details: VoucherDetails {
                capture_tolerance: order.capture_tolerance,
                metadata: order.metadata.clone(),
                ..VoucherDetails::default()
            }
            .if_any(),
            ..Draft::of(SystemType::Hold, order.amount, ReferenceType::Hold)
        })?;
        drafts.charge()?;
        Ok(Outcome::Recorded(drafts.vouchers))
    }

    /// An open hold by its number, with what remains of it.
    fn open_one(&self, hold: u64) -> Result<(&Hold, Amount), Rejection> {
        let open = self.holds.get(&hold);
        let open = open.and_then(|hold| Some((hold, hold.remaining()?)));
        open.ok_or(Rejection::HoldNotOpen { ended: None })
    }

    /// Decides a change of hold number `hold`: more or less to be set apart, or another end. Nothing to change gives no
    /// voucher. More is checked and charged like a hold of the difference; another end releases what remains and sets it
    /// apart again, which limits do not count.
    ///
    /// # Errors
    /// When the hold is not open, its new end is not in the future, more was confirmed and released than the new amount, or
    /// state, limits or balance refuse it.
    pub fn decide_hold_change(
        &self,
        hold: u64,
        change: &HoldAmendment,
        context: &Context<'_>,
    ) -> Result<Vec<Voucher>, Rejection> {
        let (hold, remaining) = self.open_one(hold)?;
        let now = self.instant(context.now);
        let end = change.expires_at.unwrap_or(hold.expires_at);
        if end != hold.expires_at && end.is_some_and(|end| end <= now) {
            return Err(Rejection::ExpiryInThePast);
        }
        let amount = change.amount.unwrap_or(hold.amount);
        let mut drafts = self.draft(context)?;
        if end != hold.expires_at {
            self.may(Movement::Hold)?;
            for system in [SystemType::Release, SystemType::Hold] {
                drafts.change_hold(hold, (system, HoldChange::End), remaining, end)?;
            }
        }
        if let Some(more) = amount.minus(hold.amount) {
            self.may(Movement::Hold)?;
            self.within_all_limits(more, context)?;
            let raise = (SystemType::Hold, HoldChange::Amount);
            drafts.change_hold(hold, raise, more, end)?;
            drafts.charge()?;
        } else if let Some(requested) = hold.amount.minus(amount) {
            self.may(Movement::Release)?;
            if requested > remaining {
                return Err(Rejection::HoldRemaining {
                    remaining,
                    requested,
                });
            }
            let lower = (SystemType::Release, HoldChange::Amount);
            drafts.change_hold(hold, lower, requested, end)?;
        }
        Ok(drafts.vouchers)
    }

    /// Decides a step of hold number `hold`: for a part, or for the rest when no amount is given. A confirmation may exceed
    /// what remains by as much as the hold tolerates; the difference is set apart in the same commit.
    ///
    /// # Errors
    /// When the hold is not open, less remains of it, it would be raised above the largest amount, or the state of the
    /// account or its balance (for the fee) does not allow it.
    pub fn decide_step(
        &self,
        hold: u64,
        step: HoldStep,
        amount: Option<Amount>,
        context: &Context<'_>,
    ) -> Result<Vec<Voucher>, Rejection> {
        let (hold, remaining) = self.open_one(hold)?;
        let movement = match step {
            HoldStep::Confirm => Movement::Confirm,
            HoldStep::Release => Movement::Release,
        };
        self.may(movement)?;
        let amount = amount.unwrap_or(remaining);
        let mut drafts = self.draft(context)?;
        if amount > remaining {
            let tolerated = |more: &Amount| more.money() <= hold.tolerated();
            let more = amount.minus(remaining).filter(tolerated);
            let more = more.filter(|_| step == HoldStep::Confirm);
            let more = more.ok_or(Rejection::HoldRemaining {
                remaining,
                requested: amount,
            })?;
            hold.amount.plus(more).ok_or(Rejection::AmountOverflow)?;
            // What a closed account has can be settled, but nothing more of it is set apart.
            self.may(Movement::Hold)?;
            self.within_all_limits(more, context)?;
            let raise = (SystemType::Hold, HoldChange::Amount);
            drafts.change_hold(hold, raise, more, hold.expires_at)?;
        }
        drafts.step(hold, step, amount)?;
        drafts.charge()?;
        Ok(drafts.vouchers)
    }

    /// The releases of holds whose end has come, in the order of their ends.
    pub fn decide_expiries(&self, context: &Context<'_>) -> Vec<Voucher> {
        let now = self.instant(context.now);
        let due = self.ends.iter().take_while(|(end, _)| *end <= now);
        let due = due.filter_map(|(_, number)| self.holds.get(number));
        let Ok(mut drafts) = self.draft(context) else {
            return Vec::new();
        };
        for hold in due {
            if let Some(rest) = hold.remaining() {
                // Held money can always be released; if a release failed, the money would stay
                // held.
                drop(drafts.step(hold, HoldStep::Release, rest));
            }
        }
        drafts.vouchers
    }

    /// When the next hold ends by itself; `None` when no open hold has an end.
    pub fn next_expiry(&self) -> Option<Timestamp> {
        self.ends.first().map(|(end, _)| *end)
    }

    /// Decides the credit of money that arrived from the bank. Limits never refuse it, and a fee
    /// that the balance does not cover is not charged.
    ///
    /// # Errors
    /// When the account has no CVU, is closed or never existed, or the balance would leave the
    /// range of money; the money then goes to suspense.
    pub fn decide_cash_in(
        &self,
        arrived: &CashIn,
        context: &Context<'_>,
    ) -> Result<Vec<Voucher>, Rejection> {
        self.may(Movement::CashIn)?;
        let mut drafts = self.draft(context)?;
        drafts.add(Draft {
            reference_id: Some(arrived.coelsa_id.clone()),
            counterparty: Some(arrived.from.clone()),
            ..Draft::of(
                SystemType::TransferIn,
                arrived.amount,
                ReferenceType::CashIn,
            )
        })?;
        drafts.charge_if_covered();
        Ok(drafts.vouchers)
    }

    /// Whether orders about money can concern the account at all.
    ///
    /// # Errors
    /// When it never existed, or has no CVU.
    pub(super) fn exists(&self) -> Result<(), Rejection> {
        match (self.status, self.cvu) {
            (Status::Void, _) => Err(Rejection::AccountNotFound),
            (_, None) => Err(Rejection::AccountWithoutCvu),
            (_, Some(_)) => Ok(()),
        }
    }

    /// The outcome of an order whose external id a voucher already has: that voucher, if it is the same order.
    ///
    /// # Errors
    /// When it is another order.
    pub(super) fn seen_before(
        &self,
        (number, existing): (AccountNo, &Voucher),
        amount: Amount,
        other: Option<(&'static str, bool)>,
        context: &Context<'_>,
    ) -> Result<Outcome<Vec<Voucher>>, Rejection> {
        let differs = [
            ("cvu", number != self.number),
            ("amount", existing.amount != amount),
        ];
        let fields = differing(differs.into_iter().chain(other));
        if fields.is_empty() {
            return Ok(Outcome::Replayed(vec![existing.clone()]));
        }
        let held_by = existing.id(context.realm, number);
        Err(Rejection::ExternalIdReused {
            held_by,
            cvu: existing.cvu,
            fields,
        })
    }
}

fn exceeded(judged: Result<(), Breach>) -> Result<(), Rejection> {
    judged.map_err(|breach| Rejection::LimitExceeded(Box::new(breach)))
}
