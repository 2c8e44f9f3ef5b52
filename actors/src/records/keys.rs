//! Keys of the index: a tag each, then realm and name, all big-endian so that they sort. So all keys of a realm lie
//! under its number; [`origin`] documents the one exception.

mod books;
mod cases;
mod collector;
mod days;
mod marks;
mod numbers;
mod realms;
mod rests;
mod scoped;

use std::borrow::Cow;

use caudal_ledger::alias::Alias;
use caudal_ledger::balance::Direction;
use caudal_ledger::cuit::Cuit;
use caudal_ledger::cvu::Cvu;
use caudal_ledger::ids::{AccountNo, OriginId, RealmId};
use caudal_ledger::text::ExternalId;
use caudal_ledger::time::{BusinessDay, Timestamp};
use caudal_ledger::voucher_types::TypeCode;

pub use books::{BookKey, book, book_day, book_day_of, book_name, book_of, book_place};
pub use cases::{
    case_counts, case_since, open_case, open_cases, open_return, open_returns, parked, return_of,
    said, unbooked,
};
pub use collector::{collector, collector_day, collector_day_of, collector_of};
pub use days::{closed_day, closed_days, day_of};
pub use marks::{Marked, day, days, marked, marks};
pub use numbers::{account_of, count_in, number_of, numbers_of};
pub use realms::{externals, internals, orders};
pub use rests::{SINGLE, rest, rest_of};
pub use scoped::SCOPED;

const CVU: u8 = 0x10;
const ALIAS: u8 = 0x11;
const CODE: u8 = 0x12;
const EXTERNAL: u8 = 0x13;
const ANSWER: u8 = 0x14;
const INTERNAL: u8 = 0x15;
const INTERNAL_COUNT: u8 = 0x16;
const DIRECTORY: u8 = 0x17;
const PENDING: u8 = 0x18;
// 0x19 was the census, which is now part of the totals.
// 0x1a is in `rests`.
const HOLD: u8 = 0x1b;
const OPEN_HOLD: u8 = 0x1c;
const HOLD_END: u8 = 0x1d;
const TRANSFER: u8 = 0x1e;
const OPEN_TRANSFER: u8 = 0x1f;
const TRANSFER_EXTERNAL: u8 = 0x20;
const TRANSFER_LIST: u8 = 0x21;
const TRANSFER_COUNT: u8 = 0x22;
const TRANSFER_CALL: u8 = 0x23;
const RAIL: u8 = 0x24;
const BANK_DAY: u8 = 0x25;
// 0x26 was the days of suspense, which nobody read: the rail's id leads there.
const TRANSFER_LEFT: u8 = 0x27;
const TOTALS: u8 = 0x28;
// 0x38 to 0x3f are in `cases`.
// 0x29 was the closed accounts, which the account sets now hold.
const CUIT: u8 = 0x30;
const ENROLLING: u8 = 0x31;
const ROLL: u8 = 0x32;
const SORTED: u8 = 0x33;
const EVENT: u8 = 0x34;
const WEBHOOK: u8 = 0x35;
const PROGRESS: u8 = 0x36;
const DELIVERY: u8 = 0x37;
const ORIGIN: u8 = 0x40;
const USAGE: u8 = 0x41;
// 0x42 and 0x43 are in `marks`.
// 0x45 and 0x46 are in `rests`.
// 0x48 to 0x4a are in `collector`.
// 0x4b and 0x4c are in `books`.
// 0x4d is in `days`.
const REVERSED: u8 = 0x4e;
const HOLD_LIST: u8 = 0x4f;
const HOLD_COUNT: u8 = 0x50;
const TRANSFER_NAME: u8 = 0x51;
const USAGE_OF_TYPE: u8 = 0x52;

/// The kinds of rows that vouchers and accounts write and no entry reads while it is projected.
pub const UNREAD: &[u8] = &[
    CVU, CODE, EXTERNAL, INTERNAL, PENDING, BANK_DAY, CUIT, ENROLLING, SORTED, EVENT,
];
/// How many bytes of a text count in the order of accounts.
pub const SORTED_BYTES_MAX: usize = 160;

fn key(tag: u8, realm: RealmId, rest: &[&[u8]]) -> Vec<u8> {
    let mut key = Vec::with_capacity(48);
    key.push(tag);
    key.extend_from_slice(&realm.0.to_be_bytes());
    rest.iter().for_each(|part| key.extend_from_slice(part));
    key
}

/// A client's text as part of a key, always of one size.
fn named(text: &str) -> [u8; 32] {
    caudal_ledger::chain::Canonical::default()
        .text(text)
        .digest()
        .0
}

/// A tenant's own id of an operation as part of a key: the id itself, or its digest if it may be too long. No text
/// contains the byte before a digest, so no id is mistaken for another.
fn own(id: &ExternalId) -> Cow<'_, [u8]> {
    let text = id.as_str();
    match text.len() {
        0..=64 => Cow::Borrowed(text.as_bytes()),
        _ => Cow::Owned([&[0xff], named(text).as_slice()].concat()),
    }
}

/// Realm, account, sequence of a voucher → what of it is reversed, and the sequence of the last reversal.
pub fn reversed(realm: RealmId, account: AccountNo, sequence: u64) -> Vec<u8> {
    let parts = [account.0.to_be_bytes(), sequence.to_be_bytes()];
    key(REVERSED, realm, &[parts.as_flattened()])
}

/// Realm, account, code of a voucher type with limits → what vouchers of it have used of them.
pub fn usage_of_type(realm: RealmId, account: AccountNo, code: &TypeCode) -> Vec<u8> {
    let parts = [&account.0.to_be_bytes(), code.as_str().as_bytes()];
    key(USAGE_OF_TYPE, realm, &parts)
}

/// The first key after all keys that begin with `prefix`.
pub fn after_prefix(prefix: &[u8]) -> Vec<u8> {
    let mut end = prefix.to_vec();
    while let Some(last) = end.pop() {
        if let Some(next) = last.checked_add(1) {
            end.push(next);
            return end;
        }
    }
    vec![0xff; prefix.len().saturating_add(1)]
}

/// CVU, realm → account. The CVU is first, because whoever reports money knows no realm.
pub fn cvu(realm: RealmId, cvu: Cvu) -> Vec<u8> {
    let mut key = cvus(cvu);
    key.extend_from_slice(&realm.0.to_be_bytes());
    key
}

/// The rows of a CVU: one in each realm that has it, which is one unless two banks gave the same.
pub fn cvus(cvu: Cvu) -> Vec<u8> {
    [&[CVU], cvu.as_str().as_bytes()].concat()
}

/// The realm of a row of a CVU.
pub fn realm_of_cvu(key: &[u8]) -> Option<RealmId> {
    let realm = key.last_chunk::<4>()?;
    Some(RealmId(u32::from_be_bytes(*realm)))
}

/// Realm, alias → the account that has it or for which it is reserved. Between realms the bank decides.
pub fn alias(realm: RealmId, alias: &Alias) -> Vec<u8> {
    key(ALIAS, realm, &[alias.folded().as_bytes()])
}

/// Realm, the tenant's own code (hashed, because it may be longer than a key) → account.
pub fn code(realm: RealmId, code: &str) -> Vec<u8> {
    key(CODE, realm, &[&named(code)])
}

/// Realm, direction, external id → account, sequence.
pub fn external(realm: RealmId, direction: Direction, id: &ExternalId) -> Vec<u8> {
    key(EXTERNAL, realm, &[&[direction.byte()], &own(id)])
}

/// All answers of an idempotency key (hashed, because it may be longer than a key).
pub fn answers(realm: RealmId, name: &str) -> Vec<u8> {
    key(ANSWER, realm, &[&named(name)])
}

/// Realm, idempotency key, method, path → place of the answer.
pub fn answer(realm: RealmId, name: &str, method: &str, path: &str) -> Vec<u8> {
    let scope = caudal_ledger::chain::Canonical::default()
        .text(method)
        .text(path)
        .digest();
    let mut key = answers(realm, name);
    key.extend(scope.0.iter().take(16));
    key
}

/// Realm, ordinal → the line of an adjustment or internal transfer.
pub fn internal(realm: RealmId, ordinal: u64) -> Vec<u8> {
    key(INTERNAL, realm, &[&ordinal.to_be_bytes()])
}

/// Realm → the number of adjustments and internal transfers.
pub fn internal_count(realm: RealmId) -> Vec<u8> {
    key(INTERNAL_COUNT, realm, &[])
}

/// All accounts of a realm.
pub fn directory(realm: RealmId) -> Vec<u8> {
    key(DIRECTORY, realm, &[])
}

/// Realm, account → the data for lists and searches.
pub fn directory_of(realm: RealmId, account: AccountNo) -> Vec<u8> {
    key(DIRECTORY, realm, &[&account.0.to_be_bytes()])
}

/// All accounts of a realm, by CUIT.
pub fn of_cuits(realm: RealmId) -> Vec<u8> {
    key(CUIT, realm, &[])
}

/// All accounts of a CUIT in a realm.
pub fn of_cuit(realm: RealmId, cuit: Cuit) -> Vec<u8> {
    key(CUIT, realm, &[cuit.as_str().as_bytes()])
}

/// Realm, CUIT, account → present while the holder has this CUIT.
pub fn account_of_cuit(realm: RealmId, cuit: Cuit, account: AccountNo) -> Vec<u8> {
    let number = account.0.to_be_bytes();
    key(CUIT, realm, &[cuit.as_str().as_bytes(), &number])
}

/// All accounts of a realm that wait for the bank.
pub fn pending(realm: RealmId) -> Vec<u8> {
    key(PENDING, realm, &[])
}

/// Realm, account → present while the account waits for the bank.
pub fn pending_of(realm: RealmId, account: AccountNo) -> Vec<u8> {
    key(PENDING, realm, &[&account.0.to_be_bytes()])
}

/// All accounts of a realm that wait for the fund.
pub fn enrolling(realm: RealmId) -> Vec<u8> {
    key(ENROLLING, realm, &[])
}

/// Realm, account → present while an enrolment of the account waits for the fund.
pub fn enrolling_of(realm: RealmId, account: AccountNo) -> Vec<u8> {
    key(ENROLLING, realm, &[&account.0.to_be_bytes()])
}

/// Realm → its usage sums. Written with every voucher, so the key takes no allocation.
pub const fn usage(realm: RealmId) -> [u8; 5] {
    let [a, b, c, d] = realm.0.to_be_bytes();
    [USAGE, a, b, c, d]
}

/// The sums of a realm.
pub const fn totals(realm: RealmId) -> [u8; 5] {
    let [a, b, c, d] = realm.0.to_be_bytes();
    [TOTALS, a, b, c, d]
}

/// Realm, number → the event. Written with every voucher, so the key takes no allocation.
pub fn event(realm: RealmId, number: u64) -> [u8; 13] {
    let mut key = [EVENT; 13];
    let parts = realm.0.to_be_bytes().into_iter();
    let parts = parts.chain(number.to_be_bytes());
    key.iter_mut().skip(1).zip(parts).for_each(|(k, p)| *k = p);
    key
}

/// All webhooks of a realm.
pub fn webhooks(realm: RealmId) -> Vec<u8> {
    key(WEBHOOK, realm, &[])
}

/// Realm, number → the webhook.
pub fn webhook(realm: RealmId, number: u64) -> Vec<u8> {
    key(WEBHOOK, realm, &[&number.to_be_bytes()])
}

/// Realm, number of the webhook → its progress.
pub fn progress(realm: RealmId, webhook: u64) -> Vec<u8> {
    key(PROGRESS, realm, &[&webhook.to_be_bytes()])
}

/// All deliveries of a webhook.
pub fn deliveries(realm: RealmId, webhook: u64) -> Vec<u8> {
    key(DELIVERY, realm, &[&webhook.to_be_bytes()])
}

/// Realm, number of the webhook, event → its tries.
pub fn delivery(realm: RealmId, webhook: u64, event: u64) -> Vec<u8> {
    numbered(DELIVERY, realm, AccountNo(webhook), event)
}

/// All account sets of a realm.
pub fn roll(realm: RealmId) -> Vec<u8> {
    key(ROLL, realm, &[])
}

/// Realm, block of account numbers → the states of its accounts.
pub fn account_set_of(realm: RealmId, block: u64) -> Vec<u8> {
    key(ROLL, realm, &[&block.to_be_bytes()])
}

/// The texts by which accounts are kept sorted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sorted {
    /// By the holder's name.
    Name,
    /// By the digits of the CVU.
    Cvu,
    /// By the alias, in lower case.
    Alias,
    /// By the tenant's own code.
    Code,
}

impl Sorted {
    /// All of these texts.
    pub const ALL: [Self; 4] = [Self::Name, Self::Cvu, Self::Alias, Self::Code];

    const fn byte(self) -> u8 {
        match self {
            Self::Name => b'n',
            Self::Cvu => b'v',
            Self::Alias => b'a',
            Self::Code => b'c',
        }
    }
}

/// All accounts of a realm, sorted.
pub fn sorted(realm: RealmId, by: Sorted) -> Vec<u8> {
    key(SORTED, realm, &[&[by.byte()]])
}

/// Realm, text (its first [`SORTED_BYTES_MAX`] bytes and a zero), account → present.
pub fn sorted_of(realm: RealmId, by: Sorted, text: &[u8], account: AccountNo) -> Vec<u8> {
    let text = text.get(..SORTED_BYTES_MAX).unwrap_or(text);
    key(
        SORTED,
        realm,
        &[&[by.byte()], text, &[0], &account.0.to_be_bytes()],
    )
}

/// A number of an account, such as the sequence of a voucher, as part of a key.
fn numbered(tag: u8, realm: RealmId, account: AccountNo, number: u64) -> Vec<u8> {
    key(
        tag,
        realm,
        &[&account.0.to_be_bytes(), &number.to_be_bytes()],
    )
}

/// All holds of an account.
pub fn holds(realm: RealmId, account: AccountNo) -> Vec<u8> {
    key(HOLD, realm, &[&account.0.to_be_bytes()])
}

/// Realm, account, sequence → the hold.
pub fn hold(realm: RealmId, account: AccountNo, sequence: u64) -> Vec<u8> {
    numbered(HOLD, realm, account, sequence)
}

/// Realm, ordinal → the hold's account and number.
pub fn hold_at(realm: RealmId, ordinal: u64) -> Vec<u8> {
    key(HOLD_LIST, realm, &[&ordinal.to_be_bytes()])
}

/// Realm → the number of holds.
pub fn hold_count(realm: RealmId) -> Vec<u8> {
    key(HOLD_COUNT, realm, &[])
}

/// All open holds of an account.
pub fn open_holds(realm: RealmId, account: AccountNo) -> Vec<u8> {
    key(OPEN_HOLD, realm, &[&account.0.to_be_bytes()])
}

/// Realm, account, sequence → present while the hold is open.
pub fn open_hold(realm: RealmId, account: AccountNo, sequence: u64) -> Vec<u8> {
    numbered(OPEN_HOLD, realm, account, sequence)
}

/// The range of keys of all ends of open holds up to and including an instant.
pub fn hold_ends(realm: RealmId, until: Timestamp) -> (Vec<u8>, Vec<u8>) {
    let after = until.millis().saturating_add(1);
    (
        key(HOLD_END, realm, &[]),
        key(HOLD_END, realm, &[&after.to_be_bytes()]),
    )
}

/// Realm, end, sequence, account → present while the hold is open.
pub fn hold_end(realm: RealmId, end: Timestamp, account: AccountNo, sequence: u64) -> Vec<u8> {
    let (end, sequence) = (end.millis().to_be_bytes(), sequence.to_be_bytes());
    key(
        HOLD_END,
        realm,
        &[&end, &sequence, &account.0.to_be_bytes()],
    )
}

/// Realm, account, number → the transfer.
pub fn transfer(realm: RealmId, account: AccountNo, number: u64) -> Vec<u8> {
    numbered(TRANSFER, realm, account, number)
}

/// All transfers of a realm that wait for the bank.
pub fn open_transfers(realm: RealmId) -> Vec<u8> {
    key(OPEN_TRANSFER, realm, &[])
}

/// All transfers of an account that wait for the bank.
pub fn open_transfers_of(realm: RealmId, account: AccountNo) -> Vec<u8> {
    key(OPEN_TRANSFER, realm, &[&account.0.to_be_bytes()])
}

/// Realm, account, number → when the transfer was requested (milliseconds, big-endian), while it waits for the bank; empty
/// while it waits for a person.
pub fn open_transfer(realm: RealmId, account: AccountNo, number: u64) -> Vec<u8> {
    numbered(OPEN_TRANSFER, realm, account, number)
}

/// Realm, account, number → the sequence of the voucher with which the transfer's money left.
pub fn transfer_left(realm: RealmId, account: AccountNo, number: u64) -> Vec<u8> {
    numbered(TRANSFER_LEFT, realm, account, number)
}

/// Realm, external id → the transfer's account and number.
pub fn transfer_external(realm: RealmId, id: &ExternalId) -> Vec<u8> {
    key(TRANSFER_EXTERNAL, realm, &[&own(id)])
}

/// The bank's ids by which a transfer is found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TransferName {
    /// Its id on the rail.
    Rail,
    /// The bank's own id.
    Bank,
}

/// Realm, kind, id of the bank (hashed, because the bank chooses it) → the account and number of the last transfer that
/// got it.
pub fn transfer_name(realm: RealmId, kind: TransferName, id: &str) -> Vec<u8> {
    let kind = match kind {
        TransferName::Rail => b'r',
        TransferName::Bank => b'b',
    };
    key(TRANSFER_NAME, realm, &[&[kind], &named(id)])
}

/// Realm, ordinal → the transfer's account and number.
pub fn transfer_at(realm: RealmId, ordinal: u64) -> Vec<u8> {
    key(TRANSFER_LIST, realm, &[&ordinal.to_be_bytes()])
}

/// Realm → the number of transfers.
pub fn transfer_count(realm: RealmId) -> Vec<u8> {
    key(TRANSFER_COUNT, realm, &[])
}

/// All calls to the bank for a transfer.
pub fn transfer_calls(realm: RealmId, account: AccountNo, number: u64) -> Vec<u8> {
    numbered(TRANSFER_CALL, realm, account, number)
}

/// Realm, account, number, sequence of the call → its place.
pub fn transfer_call(realm: RealmId, account: AccountNo, number: u64, call: u64) -> Vec<u8> {
    let mut key = transfer_calls(realm, account, number);
    key.extend_from_slice(&call.to_be_bytes());
    key
}

/// Reference of a transfer at the bank → realm, account and number. It is under no realm, because a notice may have
/// only the reference. The reference is a digest of tenant, mode and order, so no two realms can mean different things
/// by it.
pub fn origin(origin: OriginId) -> Vec<u8> {
    let mut key = vec![ORIGIN];
    key.extend_from_slice(&origin.to_bytes());
    key
}

/// What an id of the rail names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rail {
    /// Money that arrived, by its id on the rail.
    Arrival,
    /// A transfer of ours that came back.
    Return,
}

/// Realm, kind, id of the rail (hashed, because the bank chooses it) → where it landed. An id of the rail belongs to
/// one CVU, and so to one realm.
pub fn rail(realm: RealmId, kind: Rail, id: &str) -> Vec<u8> {
    let kind = match kind {
        Rail::Arrival => b'i',
        Rail::Return => b'r',
    };
    key(RAIL, realm, &[&[kind], &named(id)])
}

/// All movements of a realm in a business day that the bank must have, too.
pub fn bank_day(realm: RealmId, day: BusinessDay) -> Vec<u8> {
    key(BANK_DAY, realm, &[day.to_string().as_bytes()])
}

/// Realm, day, account, sequence → present.
pub fn bank_day_of(realm: RealmId, day: BusinessDay, account: AccountNo, sequence: u64) -> Vec<u8> {
    let day = day.to_string();
    let (account, sequence) = (account.0.to_be_bytes(), sequence.to_be_bytes());
    key(BANK_DAY, realm, &[day.as_bytes(), &account, &sequence])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_texts_that_clients_may_send_fit_a_key() {
        let realm = RealmId(u32::MAX);
        let long = ExternalId::parse(&"\u{1f30a}".repeat(64)).unwrap();
        let longest = [
            answer(realm, &"k".repeat(255), "DELETE", &"p".repeat(60_000)),
            code(realm, &"\u{1f30a}".repeat(64)),
            external(realm, Direction::Debit, &long),
            transfer_external(realm, &long),
            sorted_of(realm, Sorted::Name, &[b'n'; 400], AccountNo(u64::MAX)),
            alias(realm, &Alias::parse(&"a".repeat(20)).unwrap()),
        ];
        for key in longest {
            assert!(key.len() <= caudal_storage::KEY_BYTES_MAX, "{}", key.len());
        }
    }

    #[test]
    fn operation_ids_are_stable_and_distinct() {
        let parse = |text: &str| ExternalId::parse(text).unwrap();
        let of = |text: &str| external(RealmId(1), Direction::Credit, &parse(text));
        let ascii = "x".repeat(64);
        assert!(of(&ascii).ends_with(ascii.as_bytes()));
        let texts = [
            "a",
            "a b",
            "a/b",
            &ascii,
            &"ñ".repeat(32),
            &"ñ".repeat(33),
            &"ñ".repeat(64),
        ];
        let all: std::collections::BTreeSet<_> = texts.map(of).into();
        assert_eq!(all.len(), texts.len());
    }
}
