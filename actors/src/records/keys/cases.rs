//! Keys of cases: transfers in doubt, money in suspense, unbooked reports, and returns.

use caudal_ledger::cases::CaseKind;
use caudal_ledger::chain::Digest;
use caudal_ledger::ids::RealmId;
use caudal_ledger::time::Timestamp;

use super::{key, numbered};
use crate::records::projection::VoucherPlace;

const PARKED: u8 = 0x38;
const OPEN_CASE: u8 = 0x39;
const CASE_SINCE: u8 = 0x3a;
const CASE_COUNTS: u8 = 0x3b;
const RETURN: u8 = 0x3c;
const OPEN_RETURN: u8 = 0x3d;
const UNBOOKED: u8 = 0x3e;
const SAID: u8 = 0x3f;

/// Realm, place → money in suspense, with the decisions about it.
pub fn parked(realm: RealmId, place: VoucherPlace) -> Vec<u8> {
    numbered(PARKED, realm, place.account, place.sequence)
}

/// Realm, place → an unbooked report, with the decisions about it.
pub fn unbooked(realm: RealmId, place: VoucherPlace) -> Vec<u8> {
    numbered(UNBOOKED, realm, place.account, place.sequence)
}

/// Realm, digest of the bank's report → its place.
pub fn said(realm: RealmId, what: Digest) -> Vec<u8> {
    key(SAID, realm, &[&what.0])
}

/// All open cases of a kind.
pub fn open_cases(realm: RealmId, kind: CaseKind) -> Vec<u8> {
    key(OPEN_CASE, realm, &[&[kind.number()]])
}

/// Realm, kind, since when, place → present while the case is open.
pub fn open_case(realm: RealmId, kind: CaseKind, since: Timestamp, place: VoucherPlace) -> Vec<u8> {
    let since = since.millis().to_be_bytes();
    let place = place.to_bytes();
    key(OPEN_CASE, realm, &[&[kind.number()], &since, &place])
}

/// Realm, kind, place → since when, while the case is open.
pub fn case_since(realm: RealmId, kind: CaseKind, place: VoucherPlace) -> Vec<u8> {
    let place = place.to_bytes();
    key(CASE_SINCE, realm, &[&[kind.number()], &place])
}

/// Realm → the number of open cases.
pub fn case_counts(realm: RealmId) -> Vec<u8> {
    key(CASE_COUNTS, realm, &[])
}

/// Realm, number of a return → the place of the money in suspense.
pub fn return_of(realm: RealmId, number: u64) -> Vec<u8> {
    key(RETURN, realm, &[&number.to_be_bytes()])
}

/// All returns of a realm about which the bank is being asked.
pub fn open_returns(realm: RealmId) -> Vec<u8> {
    key(OPEN_RETURN, realm, &[])
}

/// Realm, number of a return → the same place, while the bank is being asked.
pub fn open_return(realm: RealmId, number: u64) -> Vec<u8> {
    key(OPEN_RETURN, realm, &[&number.to_be_bytes()])
}
