//! Amounts as texts and as numbers against a decimal of our own, and balances at their edges.

use caudal_ledger::balance::{Balance, Direction};
use caudal_ledger::money::{Amount, AmountError, Money};
use proptest::prelude::*;
use proptest::sample::select;

use crate::generators::texts;
use crate::model::decimal::{self, Reading};
use crate::{config, invariants as inv};

fn centavos() -> impl Strategy<Value = i64> {
    prop_oneof![
        any::<i64>(),
        1..=Amount::MAX_CENTAVOS,
        1_i64..1_000,
        Amount::MAX_CENTAVOS - 2..=Amount::MAX_CENTAVOS + 2,
        -2_i64..=2,
        select(vec![i64::MIN, i64::MIN + 1, i64::MAX - 1, i64::MAX]),
    ]
}

fn amount() -> impl Strategy<Value = Amount> {
    prop_oneof![
        1_i64..=3,
        1..=Amount::MAX_CENTAVOS,
        Amount::MAX_CENTAVOS - 2..=Amount::MAX_CENTAVOS
    ]
    .prop_map(|centavos| Amount::from_centavos(centavos).unwrap())
}

/// Possible balances: parts of at least 0 whose sum is money; small, large, and completely full.
fn balance() -> impl Strategy<Value = Balance> {
    let parts = prop_oneof![
        (0_i64..=4, 0_i64..=4),
        (0..=i64::MAX).prop_flat_map(|total| (0..=total).prop_map(move |h| (total - h, h))),
        (0_i64..=3, 0..=i64::MAX).prop_map(|(left, h)| ((i64::MAX - h).saturating_sub(left), h)),
        (0_i64..=3, 0..=i64::MAX).prop_map(|(h, less)| (i64::MAX - less.max(h), h)),
        (0..=Amount::MAX_CENTAVOS, 0..=Amount::MAX_CENTAVOS),
    ];
    parts
        .prop_filter("a balance that can be", |(a, h)| *a >= 0 && *h >= 0)
        .prop_map(|(a, h)| Balance {
            available: Money::from_centavos(a),
            held: Money::from_centavos(h),
        })
}

proptest! {
    #![proptest_config(config(4_000))]

    /// A text is an amount exactly when our own decimal says so, and then it is the same one.
    #[test]
    fn amounts_are_read_like_our_own_decimal(text in texts::amounts()) {
        let right = match decimal::read(&text) {
            Reading::Centavos(0) => Err(AmountError::Zero),
            Reading::Centavos(centavos) => Ok(centavos),
            Reading::NotANumber => Err(AmountError::NotANumber),
            Reading::TooPrecise => Err(AmountError::TooPrecise),
            Reading::TooLarge => Err(AmountError::TooLarge),
        };
        prop_assert_eq!(Amount::parse(&text).map(|a| i128::from(a.centavos())), right, "{:?}", text);
        let or_zero = match right {
            Err(AmountError::Zero) => Ok(0),
            other => other,
        };
        prop_assert_eq!(Amount::parse_or_zero(&text).map(i128::from), or_zero, "{:?}", text);
    }

    /// What is written has two decimals, is what our own decimal writes, and reads back.
    #[test]
    fn amounts_are_written_exactly(centavos in centavos()) {
        let money = Money::from_centavos(centavos).to_string();
        prop_assert_eq!(&money, &decimal::write(i128::from(centavos)));
        prop_assert_eq!(Money::from_centavos(centavos).decimal().to_string(), money.clone());
        match Amount::from_centavos(centavos) {
            Ok(amount) => {
                prop_assert!((1..=99_999_999_999_999_999).contains(&centavos));
                prop_assert_eq!(amount.to_string(), money.clone());
                prop_assert_eq!(Amount::parse(&money), Ok(amount));
                prop_assert_eq!(Amount::parse(&format!("{money}000")), Ok(amount));
            }
            Err(_) => prop_assert!(Amount::parse(&money).is_err()),
        }
    }

    /// 27: five directions, any balance, any amount: exact, or the right refusal.
    #[test]
    fn balances_move_exactly_or_not_at_all(balance in balance(), amount in amount()) {
        for direction in Direction::ALL {
            prop_assert_eq!(inv::check_i27(balance, direction, amount), Ok(()));
            if let Ok(after) = balance.after(direction, amount) {
                prop_assert_eq!(inv::check_i01(after), Ok(()));
                prop_assert_eq!(inv::check_i02(after), Ok(()));
            }
        }
    }

    /// 27, beyond what can be: balances that no history makes do not panic either.
    #[test]
    fn no_balance_panics(available in centavos(), held in centavos(), amount in amount()) {
        let balance = Balance {
            available: Money::from_centavos(available),
            held: Money::from_centavos(held),
        };
        let total = (i128::from(available) + i128::from(held))
            .clamp(i128::from(i64::MIN), i128::from(i64::MAX));
        prop_assert_eq!(i128::from(balance.total().centavos()), total);
        for direction in Direction::ALL {
            if let Ok(after) = balance.after(direction, amount) {
                prop_assert_eq!(inv::check_i01(after), Ok(()));
            }
        }
    }

    /// Sums and differences are exact or refused.
    #[test]
    fn money_adds_like_whole_numbers(a in centavos(), b in centavos()) {
        let (one, other) = (Money::from_centavos(a), Money::from_centavos(b));
        let exact = |sum: i128| i64::try_from(sum).ok().map(Money::from_centavos);
        prop_assert_eq!(one.plus(other), exact(i128::from(a) + i128::from(b)));
        prop_assert_eq!(one.minus(other), exact(i128::from(a) - i128::from(b)));
    }

    /// Money goes to disk and comes back as it was; an amount that cannot be does not come back.
    #[test]
    fn money_survives_its_bytes(centavos in centavos()) {
        let money = Money::from_centavos(centavos);
        let bytes = crate::machine::encode(&money);
        prop_assert_eq!(crate::machine::decode::<Money>(&bytes), money);
        let read: Result<Amount, _> = rmp_serde::from_slice(&bytes);
        prop_assert_eq!(read.ok(), Amount::from_centavos(centavos).ok());
    }
}
