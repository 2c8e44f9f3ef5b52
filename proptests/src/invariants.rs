//! The invariants by number, each over a history or a state; none of them knows the model.
//!
//! Holds by id (6), internal transfers (7), reads (13), states (17) and limits (18) are in [`flows`].
//! Invariants that need the service are not here (15, 16, 19 to 25, 28 to 30).

pub mod flows;
pub mod store;

use std::collections::BTreeMap;

use caudal_ledger::accounts::Account;
use caudal_ledger::balance::{Balance, BalanceError, Direction};
use caudal_ledger::chain::Digest;
use caudal_ledger::history::History;
use caudal_ledger::ids::{AccountNo, RealmId};
use caudal_ledger::limits::{Flow, LimitKind, Unit, Usage};
use caudal_ledger::money::Amount;
use caudal_ledger::time::{BusinessDay, Timestamp};
use caudal_ledger::vouchers::{ReferenceType, Voucher};

use crate::model::calendar;

/// The result of a check; an error describes what does not hold.
pub type Check = Result<(), String>;

/// Fails with a text when something does not hold.
#[macro_export]
macro_rules! hold {
    ($what:expr, $($text:tt)+) => {
        if !$what { return Err(format!($($text)+)); }
    };
}

fn parts(balance: Balance) -> (i128, i128) {
    (
        i128::from(balance.available.centavos()),
        i128::from(balance.held.centavos()),
    )
}

/// The effect of a direction on the available and the held amount, by the domain, §6.1.
pub fn delta(direction: Direction, amount: i128) -> (i128, i128) {
    match direction {
        Direction::Credit => (amount, 0),
        Direction::Debit => (-amount, 0),
        Direction::Hold => (-amount, amount),
        Direction::Release => (amount, -amount),
        Direction::ConfirmHold => (0, -amount),
    }
}

/// 1: `total = available + held`, also in the serialized balance.
pub fn check_i01(balance: Balance) -> Check {
    let (available, held) = parts(balance);
    let total = i128::from(balance.total().centavos());
    hold!(
        total == available + held,
        "I1: {total} is not {available} + {held}"
    );
    Ok(())
}

/// 2: nothing is negative.
pub fn check_i02(balance: Balance) -> Check {
    let (available, held) = parts(balance);
    hold!(
        available >= 0 && held >= 0,
        "I2: {available} available, {held} held"
    );
    Ok(())
}

/// 3: sequences without gap or repetition, and time that never goes back.
pub fn check_i03(previous: Option<&Voucher>, voucher: &Voucher) -> Check {
    let (last, at) = previous.map_or((0, Timestamp::default()), |v| (v.sequence, v.at));
    hold!(
        voucher.sequence == last + 1,
        "I3: {} follows {last}",
        voucher.sequence
    );
    hold!(
        voucher.at >= at,
        "I3: {} is at {}, before {at}",
        voucher.sequence,
        voucher.at
    );
    Ok(())
}

/// 4: each balance follows from the one before by the direction and the amount.
pub fn check_i04(previous: Option<&Voucher>, voucher: &Voucher) -> Check {
    let (available, held) = previous.map_or((0, 0), |v| parts(v.after));
    let (da, dh) = delta(voucher.direction, i128::from(voucher.amount.centavos()));
    let right = (available + da, held + dh);
    let stated = parts(voucher.after);
    hold!(
        stated == right,
        "I4: {} says {stated:?}, should be {right:?}",
        voucher.sequence
    );
    Ok(())
}

/// 5: each hash follows from the one before and from the whole voucher.
pub fn check_i05(previous: Option<&Voucher>, voucher: &Voucher) -> Check {
    let before = previous.map_or(Digest::default(), |v| v.hash);
    hold!(
        voucher.hash == voucher.hash_after(before),
        "I5: {} breaks the chain",
        voucher.sequence
    );
    Ok(())
}

/// 5, the other half: the account's head is the last voucher of its history, and the ledger's own
/// checker of histories agrees.
pub fn check_i05_head(account: &Account, history: &[Voucher]) -> Check {
    let mut checker = History::default();
    for voucher in history {
        checker
            .next(voucher)
            .map_err(|flaw| format!("I5: {flaw}"))?;
    }
    hold!(
        checker.hash == account.hash,
        "I5: the head is {}, not {}",
        account.hash,
        checker.hash
    );
    hold!(
        checker.balance == account.balance,
        "I5: the balance is not its history's"
    );
    hold!(
        checker.sequence == account.sequence,
        "I5: the sequence is not its history's"
    );
    Ok(())
}

/// 1 to 5 of a whole history.
pub fn check_history(history: &[Voucher]) -> Check {
    let mut previous = None;
    for voucher in history {
        check_i01(voucher.after)?;
        check_i02(voucher.after)?;
        check_i03(previous, voucher)?;
        check_i04(previous, voucher)?;
        check_i05(previous, voucher)?;
        previous = Some(voucher);
    }
    Ok(())
}

/// 8: the sum of all accounts is what came in less what went out.
pub fn check_i08<'a>(
    balances: impl Iterator<Item = Balance>,
    movements: impl Iterator<Item = &'a Voucher>,
) -> Check {
    let have: i128 = balances.map(|b| i128::from(b.total().centavos())).sum();
    let moved: i128 = movements
        .map(|v| {
            let (available, held) = delta(v.direction, i128::from(v.amount.centavos()));
            available + held
        })
        .sum();
    hold!(
        have == moved,
        "I8: accounts have {have}, {moved} came in and stayed"
    );
    Ok(())
}

/// 9: at most one voucher for each realm, external id and direction.
pub fn check_i09<'a>(movements: impl Iterator<Item = (RealmId, &'a Voucher)>) -> Check {
    let mut seen = BTreeMap::new();
    for (realm, voucher) in movements {
        // Transfers have ids in a separate space.
        let claimed = voucher.external_id.as_ref();
        let Some(external) = claimed.filter(|_| voucher.claims_external_id()) else {
            continue;
        };
        let place = (voucher.cvu, voucher.sequence);
        if let Some(first) = seen.insert((realm, external, voucher.direction), place) {
            return Err(format!(
                "I9: {realm:?} {external} is {first:?} and {place:?}"
            ));
        }
    }
    Ok(())
}

/// 10: the id of a CVU's record names one account of its realm, and the account can be read from it.
pub fn check_i10(one: (RealmId, AccountNo), other: (RealmId, AccountNo)) -> Check {
    let record = |(realm, number): (RealmId, AccountNo)| number.cvu_record(realm);
    hold!(
        AccountNo::of_cvu_record(record(one), one.0) == Some(one.1),
        "I10: {one:?} cannot be read from {}",
        record(one)
    );
    hold!(
        record(one) < 1 << 53,
        "I10: {one:?} has a record that JSON numbers cannot hold"
    );
    let other = (one.0, other.1);
    hold!(
        (record(one) == record(other)) == (one == other),
        "I10: {one:?} and {other:?} share a record"
    );
    Ok(())
}

/// 14: the balance of a day is that of the last movement whose Argentine day is not later, which
/// equals a replay from zero of all movements until then.
pub fn check_i14(history: &[Voucher], day: BusinessDay, number: i64) -> Check {
    let stated = history
        .iter()
        .rev()
        .find(|v| v.at <= day.end())
        .map(|v| parts(v.after));
    let mut replayed = (0, 0);
    for voucher in history
        .iter()
        .filter(|v| calendar::day(v.at.millis()) <= number)
    {
        let (da, dh) = delta(voucher.direction, i128::from(voucher.amount.centavos()));
        replayed = (replayed.0 + da, replayed.1 + dh);
    }
    let stated = stated.unwrap_or((0, 0));
    hold!(
        stated == replayed,
        "I14: {day} closed at {stated:?}, the replay says {replayed:?}"
    );
    Ok(())
}

/// 14 for every day of a history, the one before and the one after.
pub fn check_i14_all(history: &[Voucher]) -> Check {
    let days: std::collections::BTreeSet<i64> = history
        .iter()
        .map(|v| calendar::day(v.at.millis()))
        .flat_map(|day| [day - 1, day, day + 1])
        .collect();
    for number in days {
        let (year, month, day) = calendar::civil(number);
        let text = format!("{year:04}-{month:02}-{day:02}");
        let day = BusinessDay::parse(&text).ok_or_else(|| format!("I14: {text} is no day"))?;
        check_i14(history, day, number)?;
    }
    Ok(())
}

/// 18, where no hold or transfer releases anything and nothing is reversed: the usage counters equal the sums of the
/// movements.
pub fn check_i18_usage(usage: Usage, history: &[Voucher]) -> Check {
    let Some(last) = history.last() else {
        hold!(
            usage == Usage::default(),
            "I18: {usage:?} without any movement"
        );
        return Ok(());
    };
    let now = calendar::day(last.at.millis());
    let usage = usage.at(last.at);
    for kind in LimitKind::ALL {
        let most = i128::from(i64::MAX);
        let sum = |counts: &dyn Fn(&Voucher) -> bool| -> i128 {
            let of_period = history.iter().filter(|v| {
                let day = calendar::day(v.at.millis());
                counts(v) && calendar::within(kind.window(), day, now)
            });
            let sum = of_period.map(|v| match kind.unit() {
                Unit::Amount => i128::from(v.amount.centavos()),
                Unit::Count => 1,
            });
            // A counter stops at the end of its range, far above any limit that can be set.
            sum.sum::<i128>().min(most)
        };
        let incoming = |v: &Voucher| {
            v.direction == Direction::Credit && v.reference_type != ReferenceType::Transfer
        };
        let right = match kind.flow() {
            Flow::Incoming => sum(&incoming),
            Flow::Outgoing => sum(&outgoing),
            Flow::Gross => (sum(&incoming) + sum(&outgoing)).min(most),
        };
        let stated = usage.used(kind).number();
        hold!(
            stated == right,
            "I18: {stated:?} of {kind:?}, the movements say {right:?}"
        );
    }
    Ok(())
}

fn outgoing(voucher: &Voucher) -> bool {
    matches!(voucher.direction, Direction::Debit | Direction::Hold)
}

/// 26: the state read back from bytes equals the state before.
pub fn check_i26<T: PartialEq + std::fmt::Debug>(before: &T, after: &T) -> Check {
    hold!(before == after, "I26: before {before:?}\nafter {after:?}");
    Ok(())
}

/// 27: any movement on any balance results in the exact balance or the right refusal; never in a
/// panic or a rounding.
pub fn check_i27(balance: Balance, direction: Direction, amount: Amount) -> Check {
    let found = balance.after(direction, amount);
    let (available, held) = parts(balance);
    let (da, dh) = delta(direction, i128::from(amount.centavos()));
    let (available, held) = (available + da, held + dh);
    let right = if available < 0 {
        Err(BalanceError::InsufficientFunds)
    } else if held < 0 {
        Err(BalanceError::InsufficientHeld)
    } else if available + held > i128::from(i64::MAX) {
        Err(BalanceError::Overflow)
    } else {
        Ok((available, held))
    };
    let found = found.map(parts);
    hold!(
        found == right,
        "I27: {balance:?} {direction} {amount}: {found:?}, not {right:?}"
    );
    Ok(())
}
