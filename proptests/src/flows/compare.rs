//! Compares the machine with the book: translates the ledger's words into plain ones, and checks
//! everything that should be equal.

use caudal_ledger::ids::{HoldId, TransferId, VoucherId};
use caudal_ledger::limits::{Levels, PerKind, Quantity};
use caudal_ledger::money::Money;
use caudal_ledger::rejection::Rejection;
use caudal_ledger::time::Timestamp;
use caudal_ledger::vouchers::Voucher;

use super::answer::{Answer, Breach, Line};
use super::book::{Book, State};
use super::machine::{FlowMachine, Slot};
use crate::hold;
use crate::invariants::Check;

fn centavos(money: Money) -> i128 {
    i128::from(money.centavos())
}

/// A refusal in plain words.
pub fn refusal(why: &Rejection) -> Answer {
    match why {
        Rejection::LimitExceeded(breach) => Answer::Limited(Breach {
            limit: breach.limit,
            level: breach.level.as_str(),
            maximum: breach.maximum.number(),
            used: breach.used.number(),
            requested: breach.requested.number(),
            remaining: breach.remaining.number(),
            resets: breach.resets_at.map(Timestamp::millis),
        }),
        Rejection::ExternalIdReused {
            held_by, fields, ..
        } => Answer::Reused(held_by.account.0, held_by.sequence, fields.clone()),
        Rejection::TransferExternalIdReused { held_by, fields } => {
            Answer::Reused(held_by.0.account.0, held_by.0.sequence, fields.clone())
        }
        other => Answer::Refused(other.code()),
    }
}

/// A voucher in plain words.
pub fn line(slot: &Slot, voucher: &Voucher) -> Line {
    let text = voucher.reference_id.as_deref().unwrap_or_default();
    let name = |kind: &str, id: VoucherId| {
        assert_eq!(id.realm, slot.realm, "a reference leaves the realm");
        format!("{kind}:{}:{}", id.account.0, id.sequence)
    };
    let refers = (HoldId::parse(text).map(|id| name("hld", id.0)))
        .or_else(|| TransferId::parse(text).map(|id| name("trf", id.0)))
        .or_else(|| VoucherId::parse(text).map(|id| name("cmp", id)));
    Line {
        number: slot.account.number.0,
        sequence: voucher.sequence,
        way: voucher.direction.as_str(),
        amount: i128::from(voucher.amount.centavos()),
        available: centavos(voucher.after.available),
        held: centavos(voucher.after.held),
        code: voucher.type_code.as_str().to_owned(),
        key: voucher
            .external_id
            .as_ref()
            .map(|key| key.as_str().to_owned()),
        kind: voucher.reference_type.as_str(),
        refers: refers.unwrap_or_else(|| text.to_owned()),
        at: voucher.at.millis(),
        ends: voucher.expires_at.map(Timestamp::millis),
        back: (voucher.gives_back).map(|back| (back.counted_at.millis(), back.whole)),
    }
}

/// The limits that apply.
pub fn effective(levels: &Levels) -> PerKind<Option<i128>> {
    PerKind::of(|kind| levels.effective(kind).0.map(Quantity::number))
}

/// Compares balances, sequences, usage and states of all accounts, and holds and transfers of those
/// in `closely`.
pub fn same(machine: &FlowMachine, book: &Book, closely: &[usize]) -> Check {
    for index in 0..machine.slots.len() {
        same_money(machine, book, index)?;
    }
    for index in closely {
        same_holds(machine, book, *index)?;
        same_transfers(machine, book, *index)?;
    }
    Ok(())
}

/// Compares everything of every account.
pub fn same_all(machine: &FlowMachine, book: &Book) -> Check {
    let all: Vec<usize> = (0..machine.slots.len()).collect();
    same(machine, book, &all)
}

fn same_money(machine: &FlowMachine, book: &Book, index: usize) -> Check {
    let (account, purse) = (&machine.slots[index].account, &book.purses[index]);
    let state = match account.status.as_str() {
        "registered" => State::Registered,
        "active" => State::Active,
        "suspended" => State::Suspended,
        "closed" => State::Closed,
        _ => State::Void,
    };
    let found = (state, account.enabled, account.sequence);
    let right = (
        purse.state,
        purse.enabled,
        u64::try_from(purse.events.len()).unwrap(),
    );
    hold!(found == right, "account {index}: {found:?}, not {right:?}");
    let found = (
        centavos(account.balance.available),
        centavos(account.balance.held),
    );
    let right = book.balance(index);
    hold!(
        found == right,
        "account {index} has {found:?}, not {right:?}"
    );
    let apart = book.set_apart(index);
    hold!(
        right.1 == apart && account.set_apart() == apart,
        "account {index} holds {}, for {apart} or {}",
        right.1,
        account.set_apart()
    );
    let at = book.instant(index);
    let usage = account.usage.at(Timestamp::from_millis(at));
    let found = PerKind::of(|kind| usage.used(kind).number());
    let right = book.usage(index, at);
    hold!(
        found == right,
        "account {index} used {found:?}, not {right:?}"
    );
    Ok(())
}

fn same_holds(machine: &FlowMachine, book: &Book, index: usize) -> Check {
    let slot = &machine.slots[index];
    let places = book.holds(index);
    hold!(
        places.len() == slot.shown.len(),
        "holds of {index}: {places:?}"
    );
    for (place, (number, shown)) in places.into_iter().zip(&slot.shown) {
        let parts = book.parts(index, place);
        let right = (
            u64::try_from(place).unwrap() + 1,
            book.hold_word(index, place),
            (parts.amount, parts.confirmed, parts.released, parts.expired),
            parts.ends,
        );
        let found = (
            *number,
            shown.status().as_str(),
            (
                i128::from(shown.amount.centavos()),
                centavos(shown.confirmed),
                centavos(shown.released),
                shown.expired,
            ),
            shown.expires_at.map(Timestamp::millis),
        );
        hold!(
            found == right,
            "a hold of {index}: {found:?}, not {right:?}"
        );
        let open = right.1 == "open";
        hold!(
            slot.account.holds.contains_key(number) == open,
            "hold {number} of {index} should be {}",
            right.1
        );
    }
    Ok(())
}

fn same_transfers(machine: &FlowMachine, book: &Book, index: usize) -> Check {
    let slot = &machine.slots[index];
    let deeds: Vec<_> = book.deeds.iter().filter(|d| d.from == index).collect();
    hold!(deeds.len() == slot.sent.len(), "transfers of {index}");
    for (deed, (number, sent)) in deeds.into_iter().zip(&slot.sent) {
        let right = (
            (u64::try_from(deed.first).unwrap() + 1, deed.amount),
            (deed.word(), deed.returned()),
            (deed.fee, deed.tax),
            deed.named(),
            deed.inside,
        );
        let found = (
            (*number, i128::from(sent.amount.centavos())),
            (sent.status.as_str(), centavos(sent.reversed)),
            (centavos(sent.charges.fee), centavos(sent.charges.tax)),
            (sent.bank_id.is_some(), sent.coelsa_id.is_some()),
            sent.receiver.is_some(),
        );
        hold!(
            found == right,
            "a transfer of {index}: {found:?}, not {right:?}"
        );
        let open = slot.account.transfers.get(number);
        hold!(
            open == deed.is_open().then_some(sent),
            "transfer {number} of {index} should be {}",
            deed.word()
        );
    }
    Ok(())
}
