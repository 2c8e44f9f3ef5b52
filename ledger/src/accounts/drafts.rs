//! Drafts: vouchers on top of an account's current state, each following the one before it.

use super::{Account, Context};
use crate::balance::{Balance, BalanceError, Direction};
use crate::chain::Digest;
use crate::counterparty::Counterparty;
use crate::cvu::Cvu;
use crate::fees::Charges;
use crate::holds::{Hold, HoldStep};
use crate::ids::{Tag, VoucherId};
use crate::money::{Amount, Money};
use crate::rejection::Rejection;
use crate::text::ExternalId;
use crate::time::Timestamp;
use crate::transfers::Transfer;
use crate::voucher_types::{SystemType, VoucherType};
use crate::vouchers::{
    ExternalDate, GivesBack, HoldChange, ReferenceType, Voucher, VoucherDetails,
};

impl Account {
    /// Begins drafting on top of the account's current state.
    ///
    /// # Errors
    /// When the account has no CVU.
    pub(super) fn draft<'a>(&'a self, context: &'a Context<'a>) -> Result<Drafts<'a>, Rejection> {
        Ok(Drafts {
            account: self,
            context,
            cvu: self.cvu.ok_or(Rejection::AccountWithoutCvu)?,
            balance: self.balance,
            sequence: self.sequence,
            hash: self.hash,
            at: self.instant(context.now),
            vouchers: Vec::with_capacity(1),
        })
    }
}

/// The content of a voucher before it has its place.
#[derive(Clone, Debug)]
pub(super) struct Draft {
    /// The type; its direction decides what the balance does.
    pub voucher_type: VoucherType,
    /// The amount, in centavos.
    pub amount: Amount,
    /// The kind of thing that the voucher belongs to.
    pub reference_type: ReferenceType,
    /// The id of that thing, if it is not the voucher itself.
    pub reference_id: Option<String>,
    /// The tenant's own id of the movement.
    pub external_id: Option<ExternalId>,
    /// A line for people.
    pub description: Option<String>,
    /// The tenant's own date of the movement.
    pub external_date: Option<ExternalDate>,
    /// When the hold that the voucher opens ends by itself.
    pub expires_at: Option<Timestamp>,
    /// For a release: the usage of limits that it gives back.
    pub gives_back: Option<GivesBack>,
    /// The other side, as far as known.
    pub counterparty: Option<Counterparty>,
    /// What only some vouchers have.
    pub details: Option<Box<VoucherDetails>>,
}

impl Draft {
    /// A draft with only type, amount and the kind of thing it belongs to.
    pub(super) fn new(
        voucher_type: VoucherType,
        amount: Amount,
        reference_type: ReferenceType,
    ) -> Self {
        Self {
            voucher_type,
            amount,
            reference_type,
            reference_id: None,
            external_id: None,
            description: None,
            external_date: None,
            expires_at: None,
            gives_back: None,
            counterparty: None,
            details: None,
        }
    }

    /// The same for a built-in type.
    pub(super) fn of(system: SystemType, amount: Amount, reference_type: ReferenceType) -> Self {
        Self::new(system.voucher_type(), amount, reference_type)
    }

    /// A draft of a voucher of a transfer, for all of its amount.
    pub(super) fn of_transfer(
        transfer: &Transfer,
        system: SystemType,
        reference_type: ReferenceType,
        reference_id: String,
    ) -> Self {
        Self {
            external_id: Some(transfer.external_id.clone()),
            description: transfer.description.clone(),
            reference_id: Some(reference_id),
            counterparty: Some(transfer.counterparty()),
            ..Self::of(system, transfer.amount, reference_type)
        }
    }
}

/// Vouchers on top of an account, each following the one before it.
#[derive(Debug)]
pub(super) struct Drafts<'a> {
    account: &'a Account,
    context: &'a Context<'a>,
    cvu: Cvu,
    balance: Balance,
    sequence: u64,
    hash: Digest,
    at: Timestamp,
    /// The drafted vouchers, in the order of their sequences.
    pub vouchers: Vec<Voucher>,
}

impl Drafts<'_> {
    /// The id that the next voucher will have.
    pub(super) fn next_id(&self) -> VoucherId {
        VoucherId {
            realm: self.context.realm,
            account: self.account.number,
            sequence: self.sequence.strict_add(1),
            tag: Tag::after(self.hash, self.at),
        }
    }

    /// The sequence of the last voucher drafted, or of the account's last one while there is none.
    pub(super) const fn sequence(&self) -> u64 {
        self.sequence
    }

    /// Adds a voucher after the last one.
    ///
    /// # Errors
    /// When the money is not available or not held, or the balance would leave the range of money.
    pub(super) fn add(&mut self, draft: Draft) -> Result<(), Rejection> {
        let direction = draft.voucher_type.direction();
        let after = self
            .balance
            .after(direction, draft.amount)
            .map_err(|why| match why {
                BalanceError::InsufficientFunds | BalanceError::InsufficientHeld => {
                    Rejection::InsufficientFunds {
                        available: self.account.balance.available,
                        requested: draft.amount,
                    }
                }
                BalanceError::Overflow => Rejection::AmountOverflow,
            })?;
        let mut voucher = Voucher {
            cvu: self.cvu,
            sequence: self.sequence.strict_add(1),
            direction,
            amount: draft.amount,
            after,
            type_number: draft.voucher_type.own_number(),
            counter_account: draft.voucher_type.counter_account,
            type_code: draft.voucher_type.code,
            type_name: draft.voucher_type.name,
            external_id: draft.external_id,
            reference_type: draft.reference_type,
            reference_id: draft.reference_id,
            description: draft.description,
            external_date: draft.external_date.as_ref().map(|date| date.day),
            external_date_sent: draft.external_date.and_then(|date| date.sent),
            expires_at: draft.expires_at,
            gives_back: draft.gives_back,
            tag: self.next_id().tag,
            counterparty: draft.counterparty.map(Box::new),
            details: draft.details,
            at: self.at,
            hash: Digest::default(),
        };
        voucher.hash = voucher.hash_after(self.hash);
        assert_moved(self.balance, &voucher);
        (self.balance, self.sequence, self.hash) = (after, voucher.sequence, voucher.hash);
        self.vouchers.push(voucher);
        Ok(())
    }

    /// Adds a step of a hold.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub(super) fn step(
        &mut self,
        hold: &Hold,
        step: HoldStep,
        amount: Amount,
    ) -> Result<(), Rejection> {
        let system = match step {
            HoldStep::Confirm => SystemType::ConfirmHold,
            HoldStep::Release => SystemType::Release,
        };
        let gives_back = (step == HoldStep::Release).then(|| back(hold, amount));
        let opened = hold.id(self.context.realm, self.account.number);
        self.add(Draft {
            reference_id: Some(opened.to_string()),
            gives_back,
            ..Draft::of(system, amount, ReferenceType::Hold)
        })
    }

    /// Adds a voucher that changes an open hold until `expires_at`: in direction `Hold` it sets more apart, in direction
    /// `Release` less.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub(super) fn change_hold(
        &mut self,
        hold: &Hold,
        (system, change): (SystemType, HoldChange),
        amount: Amount,
        expires_at: Option<Timestamp>,
    ) -> Result<(), Rejection> {
        let lowers = system == SystemType::Release && change == HoldChange::Amount;
        let details = VoucherDetails {
            hold_change: Some(change),
            ..VoucherDetails::default()
        };
        let opened = hold.id(self.context.realm, self.account.number);
        self.add(Draft {
            reference_id: Some(opened.to_string()),
            expires_at,
            gives_back: lowers.then(|| back(hold, amount)),
            details: details.if_any(),
            ..Draft::of(system, amount, ReferenceType::Hold)
        })
    }

    /// Adds the fee of the last voucher and its tax, if the schedule charges them.
    ///
    /// # Errors
    /// As [`Self::add`], or when the charges exceed the largest amount.
    pub(super) fn charge(&mut self) -> Result<(), Rejection> {
        let Some(last) = self.vouchers.last() else {
            return Ok(());
        };
        let id = last.id(self.context.realm, self.account.number);
        let charged = self
            .account
            .schedules(self.context)
            .charged(&last.type_code, last.amount)
            .ok_or(Rejection::AmountOverflow)?;
        self.take(charged, &id.to_string())
    }

    /// Adds a fee and its tax, each if it is not zero; `reference` is the id of the movement that they are charged for.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub(super) fn take(&mut self, charges: Charges, reference: &str) -> Result<(), Rejection> {
        self.charged(SystemType::Fee, charges.fee, reference)?;
        self.charged(SystemType::FeeTax, charges.tax, reference)
    }

    /// Sets fee and tax apart or releases them, both by one voucher; none if there are no charges.
    pub(super) fn move_charges(
        &mut self,
        system: SystemType,
        charges: Charges,
        reference: &str,
    ) -> Result<(), Rejection> {
        let total = charges.total().ok_or(Rejection::AmountOverflow)?;
        self.charged(system, total, reference)
    }

    fn charged(
        &mut self,
        system: SystemType,
        money: Money,
        reference: &str,
    ) -> Result<(), Rejection> {
        let Some(amount) = money.amount() else {
            return Ok(());
        };
        self.add(Draft {
            reference_id: Some(reference.to_owned()),
            ..Draft::of(system, amount, ReferenceType::Fee)
        })
    }

    /// Like [`Self::charge`], but charges nothing if the balance does not cover all of it.
    pub(super) fn charge_if_covered(&mut self) {
        let before = (self.balance, self.sequence, self.hash, self.vouchers.len());
        if self.charge().is_err() {
            let drafted;
            (self.balance, self.sequence, self.hash, drafted) = before;
            self.vouchers.truncate(drafted);
        }
    }
}

/// What the release of an amount of a hold gives back of limits.
fn back(hold: &Hold, amount: Amount) -> GivesBack {
    GivesBack {
        counted_at: hold.created_at,
        whole: hold.remaining() == Some(amount) && hold.confirmed == Money::ZERO,
    }
}

/// Checks the result of the balance rules independently: nothing is below zero, and the change equals the amount.
fn assert_moved(before: Balance, voucher: &Voucher) {
    let (whole, after) = (
        |balance: Balance| {
            let held = i128::from(balance.held.centavos());
            i128::from(balance.available.centavos()).strict_add(held)
        },
        voucher.after,
    );
    assert!(
        after.available >= Money::ZERO && after.held >= Money::ZERO,
        "a voucher leaves less than nothing: {after:?}"
    );
    let amount = i128::from(voucher.amount.centavos());
    let came = match voucher.direction {
        Direction::Credit => amount,
        Direction::Debit | Direction::ConfirmHold => amount.strict_neg(),
        Direction::Hold | Direction::Release => 0,
    };
    assert_eq!(
        whole(before).strict_add(came),
        whole(after),
        "a voucher of {} makes {after:?} of {before:?}",
        voucher.amount
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounts::tests::drafted;

    #[test]
    #[should_panic(expected = "less than nothing")]
    fn a_voucher_that_leaves_less_than_nothing_is_no_voucher() {
        let mut voucher = drafted();
        voucher.after.available = Money::from_centavos(-1);
        assert_moved(Balance::default(), &voucher);
    }

    #[test]
    #[should_panic(expected = "a voucher of")]
    fn money_that_comes_from_nowhere_is_no_voucher() {
        let mut voucher = drafted();
        voucher.after.held = Money::from_centavos(1);
        assert_moved(Balance::default(), &voucher);
    }
}
