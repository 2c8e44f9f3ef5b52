//! Fees: a schedule per account, PSP and platform, and the one function that previews and charges.
//!
//! `fee = clamp(amount × percentage + fixed, minimum, maximum)`, then the tax on the fee; each is
//! rounded half up to centavos, first the fee, then the tax.
//!
//! Fees are charged for a tenant's orders and for money that arrives from the bank. Mere endings, such as the expiry of
//! a hold or the bank's rejection of a transfer, cost nothing.

pub mod quotes;

use rust_decimal::{Decimal, RoundingStrategy};
use serde::{Deserialize, Serialize};

use crate::limits::Level;
use crate::money::{Amount, Money};
use crate::voucher_types::TypeCode;

/// The built-in types that are charged. The other ones are never posted, or are the charges themselves.
pub const CHARGED: [&str; 8] = [
    "CONFIRM_HOLD",
    "HOLD",
    "INTERNAL_P2P_IN",
    "INTERNAL_P2P_OUT",
    "RELEASE",
    "TRANSFER_IN",
    "TRANSFER_OUT",
    "TRANSFER_REVERSAL",
];

/// One entry of a fee schedule. If a type has several entries, the first counts.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FeeRule {
    /// The type of the vouchers to which it applies.
    pub code: TypeCode,
    /// The share of the amount, in percent: `1.25` is 1.25 %.
    pub percentage: Decimal,
    /// Added to the percentage, in centavos.
    pub fixed: Money,
    /// The smallest fee, in centavos; none means 0.
    pub minimum: Option<Money>,
    /// The largest fee, in centavos; it takes precedence if it is below the minimum.
    pub maximum: Option<Money>,
    /// Whether the fee is charged; otherwise it is only previewed.
    pub charge: bool,
    /// The tax on the fee (VAT), in percent of the fee.
    pub tax_rate: Decimal,
}

/// A fee and the tax on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Charges {
    /// The fee of the movement, in centavos, without tax.
    pub fee: Money,
    /// The tax on the fee, in centavos.
    pub tax: Money,
}

impl Charges {
    /// Fee and tax together, in centavos; `None` if that exceeds the range of money.
    pub fn total(self) -> Option<Money> {
        self.fee.plus(self.tax)
    }

    /// Whether there is nothing to charge.
    pub fn is_nothing(self) -> bool {
        self.fee == Money::ZERO && self.tax == Money::ZERO
    }
}

impl FeeRule {
    /// The charges of a movement of this amount; `None` if they exceed [`Amount::MAX_CENTAVOS`] or cannot be computed
    /// exactly.
    pub fn charges(&self, amount: Amount) -> Option<Charges> {
        let hundredth = Decimal::new(1, 2);
        let share = amount
            .money()
            .decimal()
            .checked_mul(self.percentage)?
            .checked_mul(hundredth)?;
        let fee = centavos(share.checked_add(self.fixed.decimal())?)?;
        let fee = fee.max(self.minimum.unwrap_or(Money::ZERO));
        let fee = self.maximum.map_or(fee, |most| fee.min(most));
        let tax = fee
            .decimal()
            .checked_mul(self.tax_rate)?
            .checked_mul(hundredth)?;
        let charges = Charges {
            fee,
            tax: centavos(tax)?,
        };
        let total = charges.total()?;
        (total.centavos() <= Amount::MAX_CENTAVOS).then_some(charges)
    }
}

/// Rounds half up to centavos.
fn centavos(pesos: Decimal) -> Option<Money> {
    let rounded = pesos.round_dp_with_strategy(2, RoundingStrategy::MidpointAwayFromZero);
    let whole = rounded.checked_mul(Decimal::ONE_HUNDRED)?.trunc();
    i64::try_from(whole).ok().map(Money::from_centavos)
}

/// The schedules of the three levels.
#[derive(Clone, Copy, Debug, Default)]
pub struct Schedules<'a> {
    /// The entries of the account itself.
    pub account: &'a [FeeRule],
    /// The entries of its tenant.
    pub psp: &'a [FeeRule],
    /// The entries of the platform, for tenants without any.
    pub platform: &'a [FeeRule],
}

impl<'a> Schedules<'a> {
    /// The entry for a type and the level that has it; an entry replaces those of other levels as a whole.
    pub fn rule(&self, code: &TypeCode) -> (Option<&'a FeeRule>, Level) {
        [
            (self.account, Level::Account),
            (self.psp, Level::Psp),
            (self.platform, Level::Platform),
        ]
        .into_iter()
        .find_map(|(rules, level)| {
            let rule = rules.iter().find(|rule| rule.code == *code)?;
            Some((Some(rule), level))
        })
        .unwrap_or((None, Level::None))
    }

    /// The charges for posting an amount of a type: zero when no entry says `charge`, `None` as for
    /// [`FeeRule::charges`].
    pub fn charged(&self, code: &TypeCode, amount: Amount) -> Option<Charges> {
        match self.rule(code).0.filter(|rule| rule.charge) {
            Some(rule) => rule.charges(amount),
            None => Some(Charges::default()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn money(text: &str) -> Money {
        Money::from_centavos(Amount::parse_or_zero(text).unwrap())
    }

    /// Published examples of a fee and its tax.
    #[test]
    fn fees_are_rounded_half_up_and_kept_in_bounds() {
        let vectors = [
            ("10000.00", "0.6", "0", None, None, "60.00", "12.60"),
            ("100.21", "0.6", "0", Some("15.00"), None, "15.00", "3.15"),
            (
                "5000000.00",
                "0.5",
                "100",
                None,
                Some("20000.00"),
                "20000.00",
                "4200.00",
            ),
            ("333.33", "1.25", "0", None, None, "4.17", "0.88"),
            ("0.01", "1", "0", None, None, "0.00", "0.00"),
        ];
        for (amount, percentage, fixed, minimum, maximum, fee, tax) in vectors {
            let rule = FeeRule {
                code: TypeCode::parse("SALE").unwrap(),
                percentage: percentage.parse().unwrap(),
                fixed: money(fixed),
                minimum: minimum.map(money),
                maximum: maximum.map(money),
                charge: true,
                tax_rate: Decimal::from(21),
            };
            let right = Charges {
                fee: money(fee),
                tax: money(tax),
            };
            let amount = Amount::parse(amount).unwrap();
            assert_eq!(rule.charges(amount), Some(right), "{amount}");
        }
    }

    #[test]
    fn the_nearest_level_counts_and_only_when_it_charges() {
        let rule = |percentage: i64, charge| FeeRule {
            code: TypeCode::parse("SALE").unwrap(),
            percentage: Decimal::from(percentage),
            fixed: Money::ZERO,
            minimum: None,
            maximum: None,
            charge,
            tax_rate: Decimal::ZERO,
        };
        let (own, psp) = ([rule(1, false)], [rule(2, true)]);
        let code = TypeCode::parse("SALE").unwrap();
        let amount = Amount::from_centavos(10_000).unwrap();
        let mut schedules = Schedules {
            psp: &psp,
            ..Schedules::default()
        };
        assert_eq!(schedules.rule(&code).1, Level::Psp);
        let fee = |schedules: &Schedules<'_>| schedules.charged(&code, amount).unwrap().fee;
        assert_eq!(fee(&schedules), Money::from_centavos(200));
        schedules.account = &own;
        assert_eq!(schedules.rule(&code).1, Level::Account);
        assert_eq!(fee(&schedules), Money::ZERO);
        assert_eq!(Schedules::default().rule(&code).1, Level::None);
        // The largest amount at the largest sensible rate either stays in range or gives `None`.
        assert!(
            rule(1_000_000, true)
                .charges(Amount::from_centavos(Amount::MAX_CENTAVOS).unwrap())
                .is_none()
        );
    }
}
