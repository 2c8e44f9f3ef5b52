//! The money that leaves a tenant, counted over all its accounts.

use super::movements::{amount, take, with_money};
use super::*;
use crate::holds::{HoldStep, OpenHold};
use crate::limits::{TotalLimits, TotalUsage};

fn when(text: &str) -> Timestamp {
    Timestamp::parse(text).unwrap()
}

/// A debit of a new account.
fn out(centavos: i64, at: &str) -> Voucher {
    let context = Context {
        now: when(at),
        ..context()
    };
    let order = order(Direction::Debit, centavos, "out");
    let decided = posting(&with_money(10_000), &order, &context);
    decided.unwrap().into_inner().remove(0)
}

/// Every permutation of some things.
fn orders<T: Clone>(things: &[T]) -> Vec<Vec<T>> {
    if things.is_empty() {
        return vec![Vec::new()];
    }
    (0..things.len())
        .flat_map(|first| {
            let mut rest = things.to_vec();
            let first = rest.remove(first);
            let all = orders(&rest).into_iter();
            all.map(move |rest| [vec![first.clone()], rest].concat())
        })
        .collect()
}

#[test]
fn usage_is_the_same_in_whatever_order_accounts_move() {
    // Around the end of a business day that is the end of a month, three hours behind UTC.
    let vouchers = [
        out(1, "2026-04-01T02:58:30Z"),
        out(20, "2026-04-01T02:59:59Z"),
        out(300, "2026-04-01T03:00:00Z"),
        out(4_000, "2026-04-01T03:00:59Z"),
        out(5_000, "2026-04-01T03:01:00Z"),
    ];
    for order in orders(&vouchers) {
        let after = |usage: TotalUsage, voucher: &Voucher| usage.after(voucher);
        let usage = order.iter().fold(TotalUsage::default(), after);
        assert_eq!(usage.at, when("2026-04-01T03:01:00Z"));
        assert_eq!(usage.daily, Money::from_centavos(9_300));
        assert_eq!(usage.monthly, Money::from_centavos(9_300));
        assert_eq!(usage.in_minute, 1);
        let without = order[1..].iter().fold(usage, |usage, v| usage.without(v));
        let counts = order[0].at >= when("2026-04-01T03:00:00Z");
        let rest = if counts {
            order[0].amount.money()
        } else {
            Money::ZERO
        };
        assert_eq!((without.daily, without.monthly), (rest, rest));
    }
}

#[test]
fn a_release_gives_back_where_its_hold_was_counted() {
    let context = |at| Context {
        now: when(at),
        ..context()
    };
    let mut account = with_money(1_000);
    let hold = OpenHold {
        amount: amount(700),
        external_id: ExternalId::parse("h").unwrap(),
        description: None,
        expires_at: None,
        capture_tolerance: None,
        metadata: std::collections::BTreeMap::new(),
    };
    let held = account
        .decide_hold(&hold, None, &context("2026-03-30T12:00:00Z"))
        .unwrap()
        .into_inner();
    let number = held[0].sequence;
    let usage = TotalUsage::default().after(&held[0]);
    take(
        &mut account,
        &Movements {
            vouchers: held,
            transfers: Vec::new(),
        },
    );
    let next_day = context("2026-03-31T12:00:00Z");
    let released = account
        .decide_step(number, HoldStep::Release, Some(amount(200)), &next_day)
        .unwrap();
    let usage = usage
        .after(&out(50, "2026-03-31T12:00:00Z"))
        .after(&released[0]);
    assert_eq!(usage.daily, Money::from_centavos(50), "of the day before");
    assert_eq!(usage.monthly, Money::from_centavos(550));
    assert_eq!(usage.in_minute, 1);
    let limits = TotalLimits {
        monthly_outgoing: Some(Money::from_centavos(600)),
        ..TotalLimits::default()
    };
    let at = when("2026-03-31T12:00:30Z");
    assert!(limits.outgoing(usage, amount(50), at).is_ok());
    let breach = limits.outgoing(usage, amount(51), at).unwrap_err();
    assert_eq!(breach.resets_at, Some(when("2026-04-01T03:00:00Z")));
    let next_month = when("2026-04-01T03:00:00Z");
    assert!(limits.outgoing(usage, amount(600), next_month).is_ok());
    // A movement that was counted and not written can be taken back completely.
    let undone = usage.without(&released[0]);
    assert_eq!(undone.monthly, Money::from_centavos(750));
}
