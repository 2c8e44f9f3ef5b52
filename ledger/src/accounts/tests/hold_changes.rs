//! A hold that is raised, lowered, extended, confirmed beyond what is held, released and expired in any order, against plain
//! arithmetic.

use proptest::prelude::*;

use super::movements::{amount, at, with_money};
use super::*;
use crate::holds::{HoldAmendment, HoldStep, OpenHold};

/// What may be asked of a hold.
#[derive(Clone, Copy, Debug)]
enum Ask {
    /// This amount in all.
    Amount(i64),
    /// This end, in milliseconds; none for never.
    End(Option<u64>),
    /// A confirmation of this amount.
    Confirm(i64),
    /// A release of this amount.
    Release(i64),
    /// Time goes by.
    Later(u64),
}

fn asks() -> impl Strategy<Value = Ask> {
    prop_oneof![
        (1_i64..300).prop_map(Ask::Amount),
        proptest::option::of(10_u64..300).prop_map(Ask::End),
        (1_i64..150).prop_map(Ask::Confirm),
        (1_i64..150).prop_map(Ask::Release),
        (1_u64..40).prop_map(Ask::Later),
    ]
}

/// The account and its only hold as plain numbers, in centavos.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Plain {
    available: i64,
    amount: i64,
    confirmed: i64,
    released: i64,
    end: Option<u64>,
    now: u64,
}

impl Plain {
    fn held(&self) -> i64 {
        self.amount - self.confirmed - self.released
    }

    /// The same after a request; `None` where it is refused.
    fn after(mut self, ask: Ask, percent: i64) -> Option<Self> {
        if let Ask::Later(by) = ask {
            self.now += by;
            return Some(self.expired());
        }
        if self.held() == 0 {
            return None;
        }
        match ask {
            Ask::Amount(amount) => {
                let more = amount - self.amount;
                self.amount = amount;
                self.available -= more;
                (self.available >= 0 && self.held() >= 0).then_some(self)
            }
            Ask::End(end) => {
                let same = end == self.end;
                self.end = end;
                (same || end.is_none_or(|end| end > self.now)).then_some(self)
            }
            Ask::Confirm(part) => {
                let more = (part - self.held()).max(0);
                if more > self.amount * percent / 100 || more > self.available {
                    return None;
                }
                self.amount += more;
                self.available -= more;
                self.confirmed += part;
                Some(self)
            }
            Ask::Release(part) => {
                self.released += part;
                self.available += part;
                (self.held() >= 0).then_some(self)
            }
            Ask::Later(_) => Some(self),
        }
    }

    /// What is held is released at its end.
    fn expired(mut self) -> Self {
        if self.end.is_some_and(|end| end <= self.now) {
            self.available += self.held();
            self.released += self.held();
        }
        self
    }
}

/// Decides and applies a request; whether it was done.
fn done(account: &mut Account, hold: u64, ask: Ask, now: u64) -> bool {
    let context = at(now);
    let change = |amount: Option<i64>, expires_at| HoldAmendment {
        amount: amount.map(super::movements::amount),
        expires_at,
    };
    let decided = match ask {
        Ask::Amount(centavos) => {
            account.decide_hold_change(hold, &change(Some(centavos), None), &context)
        }
        Ask::End(end) => {
            let end = Some(end.map(Timestamp::from_millis));
            account.decide_hold_change(hold, &change(None, end), &context)
        }
        Ask::Confirm(part) => {
            account.decide_step(hold, HoldStep::Confirm, Some(amount(part)), &context)
        }
        Ask::Release(part) => {
            account.decide_step(hold, HoldStep::Release, Some(amount(part)), &context)
        }
        Ask::Later(_) => Ok(account.decide_expiries(&context)),
    };
    let vouchers = decided.as_deref().unwrap_or_default();
    for voucher in vouchers {
        assert!(account.is_next(voucher), "{voucher:?}");
        account.apply_voucher(voucher);
    }
    let held = i128::from(account.balance.held.centavos());
    assert_eq!(account.set_apart(), held, "{vouchers:?}");
    decided.is_ok()
}

#[test]
fn a_confirmation_never_raises_a_hold_above_the_largest_amount() {
    let largest = Amount::MAX_CENTAVOS;
    let mut account = with_money(largest);
    let more = posting(&account, &order(Direction::Credit, 1, "more"), &context());
    (more.unwrap().into_inner().iter()).for_each(|voucher| account.apply_voucher(voucher));
    let hold = OpenHold {
        amount: amount(largest),
        external_id: ExternalId::parse("h").unwrap(),
        description: None,
        expires_at: None,
        capture_tolerance: Some(10),
        metadata: std::collections::BTreeMap::new(),
    };
    let opened = account.decide_hold(&hold, None, &context()).unwrap();
    let opened = opened.into_inner();
    opened
        .iter()
        .for_each(|voucher| account.apply_voucher(voucher));
    let number = opened[0].sequence;
    let released = account.decide_step(number, HoldStep::Release, Some(amount(1)), &context());
    (released.unwrap().iter()).for_each(|voucher| account.apply_voucher(voucher));
    let refused = account.decide_step(number, HoldStep::Confirm, Some(amount(largest)), &context());
    assert_eq!(refused, Err(Rejection::AmountOverflow));
}

proptest! {
    #[test]
    fn any_order_of_changes_and_steps_is_plain_arithmetic(
        asked in proptest::collection::vec(asks(), 1..30),
        percent in 0_u8..=100,
    ) {
        let mut account = with_money(500);
        let order = OpenHold {
            amount: amount(100),
            external_id: ExternalId::parse("h").unwrap(),
            description: None,
            expires_at: Some(Timestamp::from_millis(60)),
            capture_tolerance: Some(percent),
            metadata: std::collections::BTreeMap::new(),
        };
        let opened = account.decide_hold(&order, None, &context()).unwrap().into_inner();
        opened.iter().for_each(|voucher| account.apply_voucher(voucher));
        let number = opened[0].sequence;
        let mut plain = Plain {
            available: 400,
            amount: 100,
            confirmed: 0,
            released: 0,
            end: Some(60),
            now: 10,
        };
        for ask in asked {
            let later = match ask {
                Ask::Later(by) => plain.now + by,
                Ask::Amount(_) | Ask::End(_) | Ask::Confirm(_) | Ask::Release(_) => plain.now,
            };
            let after = plain.after(ask, percent.into());
            prop_assert_eq!(done(&mut account, number, ask, later), after.is_some(), "{:?}", ask);
            plain = after.unwrap_or(plain);
            let balance = account.balance;
            let found = (balance.available.centavos(), balance.held.centavos());
            prop_assert_eq!(found, (plain.available, plain.held()), "{:?}", ask);
            let hold = account.holds.get(&number);
            prop_assert_eq!(hold.is_some(), plain.held() > 0);
            if let Some(hold) = hold {
                let shown = (hold.amount.centavos(), hold.confirmed.centavos(), hold.released.centavos());
                prop_assert_eq!(shown, (plain.amount, plain.confirmed, plain.released));
                prop_assert_eq!(hold.expires_at.map(Timestamp::millis), plain.end);
                let next = plain.end.map(Timestamp::from_millis);
                prop_assert_eq!(account.next_expiry(), next);
            } else {
                prop_assert_eq!(account.next_expiry(), None);
            }
        }
    }
}
