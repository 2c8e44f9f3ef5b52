//! Rows of reports of the bank that the ledger cannot book: by place, by the report's digest, and as a case while it is
//! undecided.

use caudal_ledger::cases::{
    BankSays, CaseKind, SuspensePlace, Unbooked, UnbookedFact, UnbookedState,
};
use caudal_ledger::ids::{AccountNo, OriginId, RealmId, Tag};
use caudal_ledger::time::Timestamp;
use caudal_storage::{Entry, IndexWriter, StoreError};

use super::{VoucherPlace, cases};
use crate::records::{decode, encode, keys};

/// The rows that a fact adds.
pub(super) fn happened(
    realm: RealmId,
    account: AccountNo,
    entry: &Entry,
    index: &mut dyn IndexWriter,
) -> Result<(), StoreError> {
    match decode(&entry.body)? {
        UnbookedFact::Said { says, reason } => {
            let sequence = entry.seq;
            let place = VoucherPlace { account, sequence };
            let since = Timestamp::from_millis(entry.at);
            index.put(&keys::said(realm, says.key()), &place.to_bytes());
            let at = SuspensePlace { account, sequence };
            let unbooked = Unbooked::new(at, (says, reason), since);
            index.put(&keys::unbooked(realm, place), &encode(&unbooked)?);
            cases::opens(realm, CaseKind::Unbooked, (place, since), index)
        }
        UnbookedFact::Dismissed { case, decision } => {
            let place = VoucherPlace {
                account: case.account,
                sequence: case.sequence,
            };
            becomes(realm, place, UnbookedState::Dismissed(decision), index)
        }
    }
}

/// A waiting departure is booked by a transfer under its reference: one that was taken in, or the order itself, given
/// again.
pub(super) fn booked(
    realm: RealmId,
    account: AccountNo,
    origin: OriginId,
    transfer: u64,
    tag: Tag,
    index: &mut dyn IndexWriter,
) -> Result<(), StoreError> {
    let Some(row) = index.get(&keys::said(realm, BankSays::left(origin)))? else {
        return Ok(());
    };
    let state = UnbookedState::Booked {
        account,
        transfer,
        tag,
    };
    becomes(realm, VoucherPlace::from_bytes(&row)?, state, index)
}

fn becomes(
    realm: RealmId,
    place: VoucherPlace,
    state: UnbookedState,
    index: &mut dyn IndexWriter,
) -> Result<(), StoreError> {
    let key = keys::unbooked(realm, place);
    let lost = || StoreError::Corrupt("what could not be booked goes on and was never said".into());
    let unbooked: Unbooked = decode(&index.get(&key)?.ok_or_else(lost)?)?;
    if !unbooked.waits() {
        return Ok(());
    }
    index.put(&key, &encode(&Unbooked { state, ..unbooked })?);
    cases::closes(realm, CaseKind::Unbooked, place, index)
}
