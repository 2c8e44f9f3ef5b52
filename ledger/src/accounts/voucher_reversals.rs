//! Vouchers that reverse another voucher of the account, in whole or in part.
//!
//! **Shape.** A reversal has the type of the voucher that it reverses and the opposite direction, so it takes back what that
//! voucher did to the books. It names the voucher, and the sum of all reversals of a voucher never exceeds it. The fee of
//! the voucher and its tax are reversed in proportion, if the order says so; each by a voucher of its own.
//!
//! **Proportion.** What is due is the share of fee and tax together for all that is reversed after this reversal, less
//! that share before it, each rounded to the nearest centavo. So the parts of a voucher add up to its charges. It is
//! divided between fee and tax by what is left of each, with the last centavo for the larger remainder.
//!
//! **Order.** Seen before, reversible, what is left, state of the account, limits, money. A reversal has no fee of its own.

use super::drafts::{Draft, Drafts};
use super::movements::Movement;
use super::{Account, Context};
use crate::ids::AccountNo;
use crate::limits::LimitKind;
use crate::money::{Amount, Money};
use crate::rejection::Rejection;
use crate::voucher_types::{Origin, Sense, VoucherType};
use crate::vouchers::{
    Outcome, PostAdjustment, ReferenceType, Reversal, ReversedVoucher, Voucher, VoucherDetails,
};

/// What of a voucher and of its charges is reversed already.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ReversedSoFar {
    /// What of the voucher, in centavos.
    pub amount: Money,
    /// The vouchers of its fee and its tax, each with what of it is reversed, in centavos.
    pub charges: Vec<(Voucher, Money)>,
}

impl Reversal {
    /// The type of the reversal: that of the voucher, in the opposite direction.
    pub fn voucher_type(&self) -> VoucherType {
        opposite(&self.original)
    }
}

/// The type that takes back what a voucher did.
fn opposite(of: &Voucher) -> VoucherType {
    let sense = if of.direction.adds() {
        Sense::Debit
    } else {
        Sense::Credit
    };
    VoucherType {
        code: of.type_code.clone(),
        name: of.type_name.clone(),
        origin: Origin::Custom(sense),
        active: true,
        legacy_id: of.type_number,
        description: None,
        category: None,
        counter_account: of.counter_account.clone(),
        capture_tolerance: None,
        limits: None,
        created_at: of.at,
    }
}

impl Account {
    /// Decides the reversal of a voucher. `existing` is the voucher that already has the same external id and direction,
    /// with its account.
    ///
    /// # Errors
    /// When `existing` differs from the order, the voucher cannot be reversed or less is left of it, or state, limits or
    /// balance refuse it.
    pub fn decide_voucher_reversal(
        &self,
        (order, reversal): (&PostAdjustment, &Reversal),
        so_far: &ReversedSoFar,
        existing: Option<(AccountNo, &Voucher)>,
        context: &Context<'_>,
    ) -> Result<Outcome<Vec<Voucher>>, Rejection> {
        self.exists()?;
        let original = &reversal.original;
        let reversed = ReversedVoucher {
            sequence: original.sequence,
            tag: original.tag,
        };
        if let Some((number, existing)) = existing {
            let amount = if reversal.rest {
                existing.amount
            } else {
                order.amount
            };
            let named = existing.details.as_ref().and_then(|it| it.reverses);
            let elsewhere = number != self.number || named != Some(reversed);
            let other = ("reverses", elsewhere);
            return self.seen_before((number, existing), amount, Some(other), context);
        }
        if !original.is_reversible() {
            return Err(Rejection::VoucherNotReversible);
        }
        let exceeds = |remaining| Rejection::ReversalExceeds {
            original: original.amount,
            reversed: so_far.amount,
            remaining,
        };
        let left = original.amount.money().minus(so_far.amount);
        let left = left.ok_or(Rejection::AmountOverflow)?;
        let Some(remaining) = left.amount() else {
            return Err(exceeds(Money::ZERO));
        };
        let amount = if reversal.rest {
            remaining
        } else {
            order.amount
        };
        if amount > remaining {
            return Err(exceeds(left));
        }
        if reversal.refund_fees {
            // Its fee and tax are credits, which a closed account does not take.
            self.may(Movement::AdjustIn)?;
        }
        if original.direction.adds() {
            self.may(Movement::AdjustOut)?;
            self.within_all_limits(amount, context)?;
        } else {
            self.may(Movement::AdjustIn)?;
            self.within(LimitKind::is_on_balance, amount, context)?;
        }
        let mut drafts = self.draft(context)?;
        let details = order.details.as_deref().cloned();
        let details = details.unwrap_or_else(VoucherDetails::default);
        drafts.add(Draft {
            external_id: Some(order.external_id.clone()),
            description: order.description.clone(),
            external_date: order.external_date.clone(),
            details: Some(Box::new(VoucherDetails {
                reverses: Some(reversed),
                ..details
            })),
            ..Draft::new(opposite(original), amount, ReferenceType::Adjustment)
        })?;
        if reversal.refund_fees {
            refund(&mut drafts, original, so_far, amount)?;
        }
        Ok(Outcome::Recorded(drafts.vouchers))
    }
}

/// Adds the reversals of a voucher's fee and tax.
fn refund(
    drafts: &mut Drafts<'_>,
    original: &Voucher,
    so_far: &ReversedSoFar,
    amount: Amount,
) -> Result<(), Rejection> {
    let charges = &so_far.charges;
    let shares = shares(original.amount, (so_far.amount, amount), charges);
    for ((charge, _), share) in charges.iter().zip(shares) {
        let share = i64::try_from(share).ok();
        let Some(share) = share.and_then(|share| Amount::from_centavos(share).ok()) else {
            continue;
        };
        let reverses = ReversedVoucher {
            sequence: charge.sequence,
            tag: charge.tag,
        };
        drafts.add(Draft {
            reference_id: charge.reference_id.clone(),
            details: VoucherDetails {
                reverses: Some(reverses),
                ..VoucherDetails::default()
            }
            .if_any(),
            ..Draft::new(opposite(charge), share, ReferenceType::Fee)
        })?;
    }
    Ok(())
}

/// What of each charge is due for a reversal, in centavos, at most what is left of it.
fn shares(
    original: Amount,
    (before, amount): (Money, Amount),
    charges: &[(Voucher, Money)],
) -> Vec<i128> {
    let wide = |money: Money| i128::from(money.centavos());
    let all: i128 = charges.iter().map(|(it, _)| wide(it.amount.money())).sum();
    let whole = wide(original.money());
    // The share of all charges for this much of the voucher, to the nearest centavo.
    let share = |reversed: i128| {
        let twice = all.strict_mul(reversed).strict_mul(2).strict_add(whole);
        twice.strict_div(whole.strict_mul(2))
    };
    let after = wide(before).strict_add(wide(amount.money()));
    let left = |(charge, reversed): &(Voucher, Money)| {
        wide(charge.amount.money())
            .strict_sub(wide(*reversed))
            .max(0)
    };
    let left: Vec<_> = charges.iter().map(left).collect();
    let total: i128 = left.iter().sum();
    if total == 0 {
        return left;
    }
    let due = share(after).strict_sub(share(wide(before))).min(total);
    let part = |left: &i128| {
        let wanted = due.strict_mul(*left);
        let floor = wanted.strict_div(total);
        (floor, wanted.strict_sub(floor.strict_mul(total)))
    };
    let mut parts: Vec<_> = left.iter().map(part).collect();
    let given: i128 = parts.iter().map(|(floor, _)| floor).sum();
    // Fewer centavos are over than there are charges.
    for _ in 0..due.strict_sub(given) {
        let largest = parts
            .iter_mut()
            .rev()
            .max_by_key(|(_, remainder)| *remainder);
        if let Some((floor, remainder)) = largest {
            *floor = floor.strict_add(1);
            *remainder = -1;
        }
    }
    parts.into_iter().map(|(share, _)| share).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::accounts::tests::drafted;

    #[test]
    fn every_detail_of_a_voucher_is_in_its_hash() {
        let plain = drafted();
        let with = |details: VoucherDetails| {
            let details = details.if_any();
            Voucher {
                details,
                ..plain.clone()
            }
            .hash_after(plain.hash)
        };
        let reverses = |sequence| VoucherDetails {
            reverses: Some(ReversedVoucher {
                sequence,
                tag: plain.tag,
            }),
            ..VoucherDetails::default()
        };
        let data = |name: &str, value: &str| VoucherDetails {
            metadata: [(name.to_owned(), value.to_owned())].into(),
            ..VoucherDetails::default()
        };
        let limited = VoucherDetails {
            of_limited_type: true,
            ..VoucherDetails::default()
        };
        let related = VoucherDetails {
            relates_to: Some("cmp_1".to_owned()),
            ..VoucherDetails::default()
        };
        let all = [
            VoucherDetails::default(),
            reverses(1),
            reverses(2),
            related,
            data("a", "bc"),
            data("ab", "c"),
            limited,
        ];
        let hashes: std::collections::BTreeSet<_> = all.map(with).map(|it| it.0).into();
        assert_eq!(hashes.len(), 7);
        assert_eq!(
            with(VoucherDetails::default()),
            plain.hash_after(plain.hash)
        );
    }

    fn charge(centavos: i64) -> (Voucher, Money) {
        let mut voucher = drafted();
        voucher.amount = Amount::from_centavos(centavos).unwrap();
        (voucher, Money::ZERO)
    }

    /// Reverses a voucher part by part; returns what of each charge is given back in each.
    fn all_parts(original: i64, parts: &[i64], charges: &[i64]) -> Vec<Vec<i128>> {
        let mut known: Vec<_> = charges.iter().map(|it| charge(*it)).collect();
        let mut before = Money::ZERO;
        let original = Amount::from_centavos(original).unwrap();
        let each = parts.iter().map(|part| {
            let amount = Amount::from_centavos(*part).unwrap();
            let found = shares(original, (before, amount), &known);
            before = before.plus(amount.money()).unwrap();
            for ((_, reversed), share) in known.iter_mut().zip(&found) {
                *reversed = reversed
                    .plus(Money::from_centavos(i64::try_from(*share).unwrap()))
                    .unwrap();
            }
            found
        });
        each.collect()
    }

    #[test]
    fn the_charges_are_given_back_in_proportion_with_the_last_centavo_for_the_larger_remainder() {
        for (original, parts, charges, expected) in [
            (10_000, vec![10_000], vec![100, 21], vec![vec![100, 21]]),
            (
                10_000,
                vec![5_000, 5_000],
                vec![100, 21],
                vec![vec![50, 11], vec![50, 10]],
            ),
            (
                3,
                vec![1, 1, 1],
                vec![1, 1],
                vec![vec![1, 0], vec![0, 0], vec![0, 1]],
            ),
            (100, vec![1], vec![7], vec![vec![0]]),
            (100, vec![50], vec![], vec![vec![]]),
        ] {
            let found = all_parts(original, &parts, &charges);
            assert_eq!(found, expected, "{original} {parts:?} {charges:?}");
        }
    }

    proptest! {
        #[test]
        fn parts_of_any_size_give_back_the_charges_exactly_and_never_more(
            parts in proptest::collection::vec(1_i64..5_000_000, 1..20),
            charges in proptest::collection::vec(1_i64..900_000, 0..=2),
        ) {
            let original: i64 = parts.iter().sum();
            let found = all_parts(original, &parts, &charges);
            for (place, charge) in charges.iter().enumerate() {
                let given: Vec<_> = found.iter().map(|part| part[place]).collect();
                prop_assert!(given.iter().all(|it| *it >= 0));
                prop_assert_eq!(given.iter().sum::<i128>(), i128::from(*charge));
            }
        }
    }
}
