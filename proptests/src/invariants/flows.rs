//! The invariants of holds, transfers, states and limits, over histories; none knows the book.
//!
//! They read a voucher's meaning from the voucher: its direction, type and reference. Only the
//! circumstances of its commit (the account's state, the limits) come with it.

use std::collections::BTreeMap;

use caudal_ledger::accounts::{Account, Status};
use caudal_ledger::balance::{Balance, Direction};
use caudal_ledger::holds::Hold;
use caudal_ledger::ids::{AccountNo, HoldId, RealmId};
use caudal_ledger::limits::{Flow, LimitKind, PerKind, Unit, Window};
use caudal_ledger::time::Timestamp;
use caudal_ledger::transfers::Transfer;
use caudal_ledger::vouchers::{HoldChange, ReferenceType, Voucher};

use super::Check;
use crate::hold;
use crate::model::calendar;

/// A voucher with the circumstances of its commit.
#[derive(Clone, Copy, Debug)]
pub struct Noted<'a> {
    pub realm: RealmId,
    pub account: AccountNo,
    /// Its commit, counted over all accounts.
    pub commit: u64,
    pub status: Status,
    pub enabled: bool,
    /// The limits in force.
    pub limits: PerKind<Option<i128>>,
    pub voucher: &'a Voucher,
}

fn amount(voucher: &Voucher) -> i128 {
    i128::from(voucher.amount.centavos())
}

/// The rest of an open hold, and when it ends.
struct Open {
    id: HoldId,
    rest: i128,
    ends: Option<Timestamp>,
}

/// 6: each step names an open hold of the same account, `confirmed + released <= held` at every
/// prefix, and a hold that is due is released once, whole, before anything else happens.
pub fn check_i06(history: &[Noted<'_>]) -> Check {
    let mut open: BTreeMap<u64, Open> = BTreeMap::new();
    for noted in history {
        let voucher = noted.voucher;
        let due = open
            .iter()
            .filter(|(_, o)| o.ends.is_some_and(|end| end <= voucher.at));
        let due = due.map(|(number, o)| (o.ends, *number)).min();
        let of_hold = voucher.reference_type == ReferenceType::Hold;
        if let Some(change) = voucher.hold_change() {
            hold!(due.is_none(), "I6: {due:?} is due at {}", voucher.at);
            changed(&mut open, voucher, change)?;
            continue;
        }
        if of_hold && voucher.direction == Direction::Hold {
            hold!(due.is_none(), "I6: {due:?} is due at {}", voucher.at);
            let hold = Open {
                id: HoldId(voucher.id(noted.realm, noted.account)),
                rest: amount(voucher),
                ends: voucher.expires_at,
            };
            hold!(
                hold.ends.is_none_or(|end| end > voucher.at),
                "I6: {} ends before it begins",
                voucher.sequence
            );
            open.insert(voucher.sequence, hold);
            continue;
        }
        let step = matches!(
            voucher.direction,
            Direction::Release | Direction::ConfirmHold
        );
        if !(of_hold && step) {
            hold!(due.is_none(), "I6: {due:?} is due at {}", voucher.at);
            continue;
        }
        let named = voucher.reference_id.as_deref().and_then(HoldId::parse);
        let number = named.map_or(0, |id| id.0.sequence);
        let Some(hold) = open.get_mut(&number) else {
            return Err(format!("I6: {voucher:?} is of no open hold"));
        };
        hold!(
            named == Some(hold.id),
            "I6: {voucher:?} is of no hold of its account"
        );
        hold!(
            amount(voucher) <= hold.rest,
            "I6: {voucher:?} is more than {}",
            hold.rest
        );
        if let Some((_, first)) = due {
            let whole = voucher.direction == Direction::Release && amount(voucher) == hold.rest;
            hold!(
                first == number && whole,
                "I6: {first} was due before {voucher:?}"
            );
        }
        hold.rest -= amount(voucher);
        if hold.rest == 0 {
            open.remove(&number);
        }
    }
    Ok(())
}

/// A change of an open hold: more or less to be set apart, or another end.
fn changed(open: &mut BTreeMap<u64, Open>, voucher: &Voucher, change: HoldChange) -> Check {
    let named = voucher.reference_id.as_deref().and_then(HoldId::parse);
    let number = named.map_or(0, |id| id.0.sequence);
    let Some(hold) = open.get_mut(&number).filter(|it| named == Some(it.id)) else {
        return Err(format!("I6: {voucher:?} changes no open hold"));
    };
    let apart = amount(voucher);
    match (change, voucher.direction) {
        (HoldChange::Amount, Direction::Hold) => hold.rest += apart,
        (HoldChange::Amount, _) => hold.rest -= apart,
        (HoldChange::End, _) => {
            hold!(apart == hold.rest, "I6: {voucher:?} is not {}", hold.rest);
            hold.ends = voucher.expires_at;
        }
    }
    hold!(hold.rest >= 0, "I6: {voucher:?} leaves less than nothing");
    hold!(
        hold.ends.is_none_or(|end| end > voucher.at),
        "I6: {voucher:?} ends a hold in the past"
    );
    if hold.rest == 0 {
        open.remove(&number);
    }
    Ok(())
}

/// 7: every internal transfer has one half that leaves and one that arrives, on two accounts, with
/// the same amount, reference, realm and commit.
pub fn check_i07(all: &[Noted<'_>]) -> Check {
    let mut halves: BTreeMap<_, (Vec<&Noted<'_>>, Vec<&Noted<'_>>)> = BTreeMap::new();
    for noted in all {
        let half = halves.entry((noted.realm, noted.voucher.reference_id.as_deref()));
        match noted.voucher.type_code.as_str() {
            "INTERNAL_P2P_OUT" => half.or_default().0.push(noted),
            "INTERNAL_P2P_IN" => half.or_default().1.push(noted),
            _ => {}
        }
    }
    for ((realm, reference), halves) in halves {
        let ([out], [into]) = (&halves.0[..], &halves.1[..]) else {
            return Err(format!(
                "I7: {realm:?} {reference:?} has other than two halves"
            ));
        };
        hold!(reference.is_some(), "I7: {out:?} has no reference");
        hold!(
            out.commit == into.commit && amount(out.voucher) == amount(into.voucher),
            "I7: the halves differ: {out:?}, {into:?}"
        );
        hold!(
            out.account != into.account,
            "I7: {reference:?} goes to itself"
        );
    }
    Ok(())
}

/// 8: after every commit the sum of all accounts is what came from outside less what went there;
/// holds, releases and both halves of an internal transfer change nothing.
pub fn check_i08(balances: impl Iterator<Item = Balance>, all: &[Noted<'_>]) -> Check {
    let mut sorted: Vec<&Noted<'_>> = all.iter().collect();
    sorted.sort_by_key(|noted| noted.commit);
    let mut totals: BTreeMap<(RealmId, AccountNo), i128> = BTreeMap::new();
    let mut outside = 0;
    for commit in sorted.chunk_by(|one, other| one.commit == other.commit) {
        for noted in commit {
            let after = i128::from(noted.voucher.after.total().centavos());
            totals.insert((noted.realm, noted.account), after);
            outside += match (noted.voucher.direction, noted.voucher.reference_type) {
                (_, ReferenceType::P2p) => 0,
                (Direction::Credit, _) => amount(noted.voucher),
                (Direction::Debit | Direction::ConfirmHold, _) => -amount(noted.voucher),
                (Direction::Hold | Direction::Release, _) => 0,
            };
        }
        let have: i128 = totals.values().sum();
        hold!(
            have == outside,
            "I8: {have} after {commit:?}, should be {outside}"
        );
    }
    let have: i128 = balances.map(|b| i128::from(b.total().centavos())).sum();
    hold!(
        have == outside,
        "I8: accounts have {have}, should be {outside}"
    );
    Ok(())
}

/// 9, for transfers: at most one for each realm and external id.
pub fn check_i09_transfers<'a>(sent: impl Iterator<Item = (RealmId, &'a Transfer)>) -> Check {
    let mut seen = BTreeMap::new();
    for (realm, transfer) in sent {
        let place = (transfer.from, transfer.sequence);
        if let Some(first) = seen.insert((realm, &transfer.external_id), place) {
            return Err(format!("I9: {realm:?} {first:?} and {place:?} share an id"));
        }
    }
    Ok(())
}

/// 13, as far as rules can ensure it: the account decides next on the same state that every read of
/// the records shows: the last movement, the open holds, the open transfers.
pub fn check_i13(
    account: &Account,
    history: &[Voucher],
    holds: &BTreeMap<u64, Hold>,
    transfers: &BTreeMap<u64, Transfer>,
) -> Check {
    let last = history.last();
    hold!(
        last.map_or(0, |v| v.sequence) == account.sequence
            && last.is_none_or(|v| v.after == account.balance && v.hash == account.hash)
            && last.map(|v| v.at) == account.last_movement_at,
        "I13: the account is not at {last:?}"
    );
    let open = holds.iter().filter(|(_, hold)| hold.remaining().is_some());
    hold!(open.eq(account.holds.iter()), "I13: other holds are open");
    let open = transfers
        .iter()
        .filter(|(_, transfer)| transfer.status.is_open());
    hold!(
        open.eq(account.transfers.iter()),
        "I13: other transfers are open"
    );
    let ends = account
        .holds
        .values()
        .filter_map(|hold| hold.expires_at)
        .min();
    hold!(
        ends == account.next_expiry(),
        "I13: the next end is not {ends:?}"
    );
    Ok(())
}

/// The held amount equals what open holds and transfers set apart, with their charges.
pub fn check_set_apart(account: &Account) -> Check {
    let held = i128::from(account.balance.held.centavos());
    let apart = account.set_apart();
    hold!(held == apart, "{held} is held, for {apart}");
    Ok(())
}

/// 17: suspended accounts let out nothing that was not at the bank before, disabled ones nothing
/// that the tenant orders, and closed ones only end what was open and give back what is left.
pub fn check_i17(history: &[Noted<'_>]) -> Check {
    use Direction::{ConfirmHold, Credit, Debit, Hold, Release};
    for noted in history {
        let voucher = noted.voucher;
        let kind = voucher.reference_type;
        let fee = kind == ReferenceType::Fee;
        let settles = kind == ReferenceType::Transfer;
        let adjusts = kind == ReferenceType::Adjustment;
        let passes = match (noted.status, voucher.direction) {
            (Status::Registered | Status::Void, _) => false,
            (_, Release) => true,
            (Status::Closed, Credit) => settles,
            (Status::Closed, Debit) => adjusts || fee,
            (Status::Closed | Status::Suspended, Hold) => false,
            (Status::Closed, ConfirmHold) => true,
            (Status::Suspended, Credit) => noted.enabled || !adjusts,
            (Status::Suspended, Debit) => fee,
            (Status::Suspended, ConfirmHold) => settles,
            (Status::Active, Credit) => noted.enabled || !adjusts,
            (Status::Active, Debit) => noted.enabled || fee,
            (Status::Active, Hold) => noted.enabled,
            (Status::Active, ConfirmHold) => noted.enabled || settles,
        };
        hold!(passes, "I17: {noted:?}");
    }
    Ok(())
}

fn counts(voucher: &Voucher) -> bool {
    matches!(voucher.direction, Direction::Debit | Direction::Hold)
        && voucher.reference_type != ReferenceType::Fee
        && voucher.hold_change() != Some(HoldChange::End)
}

/// What each movement counts for limits, by place: its own amount less what was released of it, and whether it counts as a
/// movement, which it does until all of it is released.
fn counted(history: &[Noted<'_>]) -> Vec<(i128, bool)> {
    let mut left = vec![(0, false); history.len()];
    let mut opened = BTreeMap::new();
    for (place, noted) in history.iter().enumerate() {
        let voucher = noted.voucher;
        let reference = (
            voucher.reference_type.as_str(),
            voucher.reference_id.as_deref(),
        );
        if counts(voucher) {
            left[place] = (amount(voucher), true);
            opened.entry(reference).or_insert(place);
        } else if let Some(back) = voucher.gives_back
            && let Some(of) = opened.get(&reference)
        {
            left[*of].0 -= amount(voucher);
            left[*of].1 &= !back.whole;
        }
    }
    left
}

/// Whether a voucher brings money in that was not the account's before.
fn comes_in(voucher: &Voucher) -> bool {
    let reverses = voucher.details.as_ref().and_then(|it| it.reverses);
    voucher.direction == Direction::Credit
        && reverses.is_none()
        && matches!(
            voucher.reference_type,
            ReferenceType::Adjustment | ReferenceType::P2p | ReferenceType::CashIn
        )
}

/// What moved in the period of each kind of limit.
fn used(history: &[Noted<'_>], at: Timestamp) -> PerKind<i128> {
    let today = calendar::day(at.millis());
    let mut used = PerKind::default();
    for (noted, (left, counts)) in history.iter().zip(counted(history)) {
        let day = calendar::day(noted.voucher.at.millis());
        let comes = comes_in(noted.voucher);
        let (flow, moved) = if comes {
            (Flow::Incoming, amount(noted.voucher))
        } else {
            (Flow::Outgoing, left)
        };
        for kind in LimitKind::ALL {
            let concerns = [flow, Flow::Gross].contains(&kind.flow());
            if concerns && calendar::within(kind.window(), day, today) {
                *used.get_mut(kind) += match kind.unit() {
                    Unit::Amount => moved,
                    Unit::Count => i128::from(counts),
                };
            }
        }
    }
    used
}

/// 18: no commit exceeds a limit. Closed accounts give back what is left whatever the limits.
pub fn check_i18(history: &[Noted<'_>]) -> Check {
    for (place, noted) in history.iter().enumerate() {
        let (voucher, limits) = (noted.voucher, noted.limits);
        // The kinds that are set, except those on money that goes the other way.
        let set = |other| {
            let kinds = LimitKind::ALL
                .into_iter()
                .filter(move |kind| kind.flow() != other);
            kinds.filter_map(move |kind| Some((kind, (*limits.get(kind))?)))
        };
        let value = |kind: LimitKind, used: &PerKind<i128>| match kind.window() {
            Window::Balance => i128::from(voucher.after.total().centavos()),
            Window::Day | Window::Month => *used.get(kind),
            Window::Transaction | Window::Minute => amount(voucher),
        };
        let own = matches!(
            voucher.reference_type,
            ReferenceType::Adjustment | ReferenceType::P2p
        );
        if voucher.direction == Direction::Credit && own {
            let used = used(&history[..=place], voucher.at);
            let judged = set(Flow::Outgoing);
            for (kind, most) in
                judged.filter(|(kind, _)| comes_in(voucher) || kind.window() == Window::Balance)
            {
                let value = value(kind, &used);
                hold!(value <= most, "I18: {value} passes {kind:?}: {noted:?}");
            }
        }
        if noted.status == Status::Closed
            || !counts(voucher)
            || set(Flow::Incoming).next().is_none()
        {
            continue;
        }
        let used = used(&history[..=place], voucher.at);
        for (kind, most) in set(Flow::Incoming) {
            let value = value(kind, &used);
            hold!(value <= most, "I18: {value} passes {kind:?}: {noted:?}");
        }
    }
    Ok(())
}

/// 18, the other half: the usage counters equal the sums of the movements in the window.
pub fn check_i18_usage(account: &Account, history: &[Noted<'_>], now: Timestamp) -> Check {
    let now = account.last_movement_at.map_or(now, |last| last.max(now));
    let usage = account.usage.at(now);
    let stated = PerKind::of(|kind| usage.used(kind).number());
    let right = used(history, now);
    hold!(
        stated == right,
        "I18: {stated:?}, the movements say {right:?}"
    );
    Ok(())
}
