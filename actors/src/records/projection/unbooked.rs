//! Rows of reports of the bank that the ledger cannot book: by place, by the report's digest, and as a case while it is
//! undecided.

use caudal_ledger::cases::{BankSays, CaseKind, Unbooked, UnbookedFact, UnbookedState};
use caudal_ledger::ids::OriginId;
use caudal_ledger::transfers::Transfer;
use caudal_storage::StoreError;

use super::{EntryRows, VoucherPlace, cases};
use crate::records::keys;

/// The rows that a fact adds.
pub(super) fn happened(rows: &mut EntryRows<'_>) -> Result<(), StoreError> {
    match rows.fact()? {
        UnbookedFact::Said { says, reason } => {
            let (place, since) = (rows.place(), rows.at());
            let said = keys::said(rows.realm, says.key());
            rows.index.put(&said, &place.to_bytes());
            let unbooked = Unbooked::new(place.into(), (says, reason), since);
            rows.put(&keys::unbooked(rows.realm, place), &unbooked)?;
            cases::opens(rows, CaseKind::Unbooked, place, since)
        }
        UnbookedFact::Dismissed { case, decision } => {
            becomes(rows, case.into(), UnbookedState::Dismissed(decision))
        }
    }
}

/// A waiting departure is booked by a transfer under its reference: one that was taken in, or the order itself, given
/// again.
pub(super) fn booked(
    rows: &mut EntryRows<'_>,
    origin: OriginId,
    transfer: &Transfer,
) -> Result<(), StoreError> {
    let said = keys::said(rows.realm, BankSays::left(origin));
    let Some(row) = rows.index.get(&said)? else {
        return Ok(());
    };
    let state = UnbookedState::Booked {
        account: rows.account,
        transfer: transfer.sequence,
        tag: transfer.tag,
    };
    becomes(rows, VoucherPlace::from_bytes(&row)?, state)
}

fn becomes(
    rows: &mut EntryRows<'_>,
    place: VoucherPlace,
    state: UnbookedState,
) -> Result<(), StoreError> {
    let key = keys::unbooked(rows.realm, place);
    let lost = "what could not be booked goes on and was never said";
    let unbooked: Unbooked = rows.known(&key, lost)?;
    if !unbooked.waits() {
        return Ok(());
    }
    rows.put(&key, &Unbooked { state, ..unbooked })?;
    cases::closes(rows, CaseKind::Unbooked, place)
}
