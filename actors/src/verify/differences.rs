//! Checks movements and accounts one by one, and names the differences.

use caudal_ledger::history::History;
use caudal_ledger::vouchers::Voucher;
use caudal_storage::{Index, StoreError};

use super::compare::{is_at, is_in_full};
use super::lists::{self, Lines};
use super::{At, Report, name};
use crate::records::projection::VoucherPlace;
use crate::records::reads::LoadedAccount;
use crate::records::{LEDGER, account_stream, keys, reads};

/// The differences in the rows of a movement, in words.
pub(super) fn rows(
    store: &dyn Index,
    at: At,
    voucher: &Voucher,
    lines: &mut Lines,
) -> Result<Vec<String>, StoreError> {
    let (found, listed) = (
        index_agrees(store, at, voucher)?,
        lines.agree(store, at, voucher)?,
    );
    let about = |what| format!("{}: movement {} is not {what}", name(at), voucher.sequence);
    let wrong = [
        (!found).then(|| about("found by its external id")),
        (!listed).then(|| about("in the list of its realm")),
    ];
    Ok(wrong.into_iter().flatten().collect())
}

/// Compares an account as it is loaded with its history, and some accounts also with their streams.
pub(super) fn account_and_streams(
    store: &dyn Index,
    at: At,
    history: &History,
    report: &mut Report,
) -> Result<(), StoreError> {
    account(store, at, history, report)?;
    if is_in_full(at) {
        in_full(store, at, report)?;
    }
    Ok(())
}

/// Compares an account as it is loaded with its history. A running service moves on meanwhile: only an account that has
/// not changed can be compared.
pub(super) fn account(
    store: &dyn Index,
    at: At,
    history: &History,
    report: &mut Report,
) -> Result<(), StoreError> {
    let Some((account, _)) = reads::account(store, at.0, at.1)? else {
        report.differs(format!(
            "{}: is in the journal and not in the index",
            name(at)
        ));
        return Ok(());
    };
    // An account that has moved on since has all its movements, up to the last.
    let moved = account.sequence > history.sequence
        && store.has(account_stream(at.0, at.1, LEDGER), account.sequence)?;
    if !moved && !is_at(&account, history) {
        report.differs(format!(
            "{}: the index disagrees with the journal",
            name(at)
        ));
    }
    let lists = lists::differences(store, at, &account)?;
    let apart = account.holds_what_is_set_apart();
    let again = reads::account(store, at.0, at.1)?;
    if again.as_ref().is_some_and(|(again, _)| *again == account) {
        for wrong in lists {
            report.differs(format!("{}: {wrong}", name(at)));
        }
    }
    if !apart && again.is_some_and(|(again, _)| again.sequence == account.sequence) {
        report.differs(format!(
            "{}: what is held is not what its holds and transfers keep apart",
            name(at)
        ));
    }
    Ok(())
}

/// Compares an account loaded from its rows at rest with the same account from its streams only, if it has not changed.
pub(super) fn in_full(store: &dyn Index, at: At, report: &mut Report) -> Result<(), StoreError> {
    let load = || reads::load(store, at.0, at.1);
    let all = |found: Option<LoadedAccount>| found.map(|it| it.account);
    let before = load().map(all);
    let full = reads::load_in_full(store, at.0, at.1).map(all);
    let (before, full, after) = match (before, full, load().map(all)) {
        // Movements that do not follow each other were reported before.
        (Err(StoreError::Corrupt(_)), _, _) | (_, Err(StoreError::Corrupt(_)), _) => return Ok(()),
        (before, full, after) => (before?, full?, after?),
    };
    if before == after && full != before {
        report.differs(format!(
            "{}: what it left at rest is not what its profile and movements say",
            name(at)
        ));
    }
    Ok(())
}

/// Whether a movement is found by its external id, if it has one of its own.
pub(super) fn index_agrees(
    store: &dyn Index,
    (realm, account): At,
    voucher: &Voucher,
) -> Result<bool, StoreError> {
    let id = voucher.external_id.as_ref();
    let Some(id) = id.filter(|_| voucher.claims_external_id()) else {
        return Ok(true);
    };
    let row = store.get(&keys::external(realm, voucher.direction, id))?;
    let right = VoucherPlace::new(account, voucher.sequence);
    Ok(row.map(|row| VoucherPlace::from_bytes(&row)).transpose()? == Some(right))
}
