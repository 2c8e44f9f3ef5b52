//! Converts between the model's plain words and the ledger's types.

use caudal_ledger::accounts::{Pending, Status};
use caudal_ledger::balance::Direction;
use caudal_ledger::limits::LimitKind;
use caudal_ledger::money::Amount;
use caudal_ledger::rejection::Rejection;
use caudal_ledger::vouchers::Voucher;

use super::{Machine, Slot};
use crate::generators::ops::Way;
use crate::hold;
use crate::invariants::Check;
use crate::model::{AccountModel, Answer, Model, State, View, Waiting};

/// The direction of a word.
pub fn direction(way: Way) -> Direction {
    match way {
        Way::Credit => Direction::Credit,
        Way::Debit => Direction::Debit,
        Way::Hold => Direction::Hold,
        Way::Release => Direction::Release,
        Way::ConfirmHold => Direction::ConfirmHold,
    }
}

/// The word of a direction.
pub fn way(direction: Direction) -> Way {
    match direction {
        Direction::Credit => Way::Credit,
        Direction::Debit => Way::Debit,
        Direction::Hold => Way::Hold,
        Direction::Release => Way::Release,
        Direction::ConfirmHold => Way::ConfirmHold,
    }
}

/// An amount that the model chose, which is always valid.
pub fn amount(centavos: i128) -> Amount {
    Amount::from_centavos(i64::try_from(centavos).unwrap()).unwrap()
}

/// A voucher as the model sees it.
pub fn view(voucher: &Voucher) -> View {
    View {
        sequence: voucher.sequence,
        available: i128::from(voucher.after.available.centavos()),
        held: i128::from(voucher.after.held.centavos()),
        at: voucher.at.millis(),
    }
}

/// A refusal as the model sees it.
pub fn refusal(why: &Rejection) -> Answer {
    match why {
        Rejection::ExternalIdReused {
            held_by, fields, ..
        } => Answer::Reused {
            number: held_by.account.0,
            sequence: held_by.sequence,
            differs: fields.len(),
        },
        other => Answer::Refused(other.code()),
    }
}

/// Compares the machine's accounts with the model's.
pub fn same(machine: &Machine, model: &Model) -> Check {
    for (slot, account) in machine.slots.iter().zip(&model.accounts) {
        same_account(slot, account)?;
    }
    Ok(())
}

/// Compares the voucher types of all realms with the model's.
pub fn same_types(machine: &Machine, model: &Model) -> Check {
    for (number, realm) in &model.realms {
        let real = &machine.realms[number];
        let custom: Vec<_> = real
            .types
            .all()
            .into_iter()
            .filter(|t| !t.is_system())
            .collect();
        let words: Vec<_> = custom
            .iter()
            .map(|t| (t.code.as_str(), way(t.direction()), t.active, t.legacy_id))
            .collect();
        let right: Vec<_> = (realm.types.iter())
            .map(|(code, t)| (code.as_str(), t.way, t.active, Some(t.legacy_id)))
            .collect();
        hold!(
            words == right,
            "types of realm {number}: {words:?}, should be {right:?}"
        );
    }
    Ok(())
}

fn same_account(slot: &Slot, right: &AccountModel) -> Check {
    let account = &slot.account;
    let state = match account.status {
        Status::Registered => State::Registered,
        Status::Active => State::Active,
        Status::Suspended => State::Suspended,
        Status::Closed => State::Closed,
        Status::Void => State::Void,
    };
    let waiting = account.pending.as_ref().map(|pending| match pending {
        Pending::Opening { .. } | Pending::Cvu { .. } => Waiting::Opening,
        Pending::Alias(alias) => Waiting::Alias(alias.as_str().to_owned()),
        Pending::Identity(_) | Pending::Particulars(_) => Waiting::Identity,
        Pending::Closing => Waiting::Closing,
    });
    let name = (slot.realm, account.number);
    hold!(
        state == right.state,
        "{name:?} is {state:?}, should be {:?}",
        right.state
    );
    hold!(
        account.enabled == right.enabled,
        "{name:?}: enabled should be {}",
        right.enabled
    );
    hold!(
        waiting == right.waiting,
        "{name:?}: {waiting:?}, should be {:?}",
        right.waiting
    );
    let alias = account.alias.as_ref().map(|alias| alias.as_str());
    hold!(
        alias == right.alias.as_deref(),
        "{name:?}: {alias:?}, should be {:?}",
        right.alias
    );
    hold!(
        account.email == right.email,
        "{name:?}: e-mail should be {:?}",
        right.email
    );
    let daily = account.limits.get(LimitKind::DailyAmount);
    let daily = daily.map(|amount| amount.number());
    hold!(
        daily == right.daily_amount,
        "{name:?}: {daily:?}, not {:?}",
        right.daily_amount
    );
    same_money(slot, right)
}

/// Compares balance, last movement and count.
fn same_money(slot: &Slot, right: &AccountModel) -> Check {
    let account = &slot.account;
    let name = (slot.realm, account.number);
    let balance = (
        account.balance.available.centavos(),
        account.balance.held.centavos(),
    );
    hold!(
        (i128::from(balance.0), i128::from(balance.1)) == (right.available, right.held),
        "{name:?} has {balance:?}, should have ({}, {})",
        right.available,
        right.held
    );
    let last = slot.vouchers.last().map(view);
    let right_last = right.movements.last().map(|movement| movement.view.clone());
    hold!(
        last == right_last,
        "{name:?}: {last:?}, should be {right_last:?}"
    );
    let count = (account.sequence, slot.vouchers.len());
    let right_count = right.movements.len();
    hold!(
        count == (u64::try_from(right_count).unwrap(), right_count),
        "{name:?} counts {count:?}, should be {right_count}"
    );
    Ok(())
}
