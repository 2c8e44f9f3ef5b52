//! Keys of the index: a tag each, then realm and name, all big-endian so that they sort. So all keys of a realm lie
//! under its number; [`origin`] documents the one exception.

mod books;
mod numbers;

use std::borrow::Cow;

use caudal_ledger::alias::Alias;
use caudal_ledger::balance::Direction;
use caudal_ledger::cases::CaseKind;
use caudal_ledger::chain::{Canonical, Digest};
use caudal_ledger::cuit::Cuit;
use caudal_ledger::cvu::Cvu;
use caudal_ledger::ids::{AccountNo, OriginId, RealmId};
use caudal_ledger::text::ExternalId;
use caudal_ledger::time::{BusinessDay, Timestamp};
use caudal_ledger::voucher_types::TypeCode;
use caudal_storage::StoreError;

pub use books::{BookKey, book, book_day_of, book_name, book_of};
pub use numbers::{VoucherPlace, account_of, count_in, number_of, numbers_of};

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
// 0x1a and 0x45 were earlier rows of accounts at rest.
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
// 0x29 was the closed accounts, which the account sets now hold.
const CUIT: u8 = 0x30;
const ENROLLING: u8 = 0x31;
const ROLL: u8 = 0x32;
const SORTED: u8 = 0x33;
const EVENT: u8 = 0x34;
const WEBHOOK: u8 = 0x35;
const PROGRESS: u8 = 0x36;
const DELIVERY: u8 = 0x37;
const PARKED: u8 = 0x38;
const OPEN_CASE: u8 = 0x39;
const CASE_SINCE: u8 = 0x3a;
const CASE_COUNTS: u8 = 0x3b;
const RETURN: u8 = 0x3c;
const OPEN_RETURN: u8 = 0x3d;
const UNBOOKED: u8 = 0x3e;
const SAID: u8 = 0x3f;
const ORIGIN: u8 = 0x40;
const USAGE: u8 = 0x41;
const MARKS: u8 = 0x42;
const DAY: u8 = 0x43;
const REST: u8 = 0x46;
const COLLECTOR: u8 = 0x48;
const COLLECTOR_OF: u8 = 0x49;
const COLLECTOR_DAY: u8 = 0x4a;
const BOOK_DAY: u8 = 0x4b;
const BOOK_PLACE: u8 = 0x4c;
const CLOSED_DAY: u8 = 0x4d;
const REVERSED: u8 = 0x4e;
const HOLD_LIST: u8 = 0x4f;
const HOLD_COUNT: u8 = 0x50;
const TRANSFER_NAME: u8 = 0x51;
const USAGE_OF_TYPE: u8 = 0x52;

/// The kinds of rows that vouchers and accounts write and no entry reads while it is projected.
pub const UNREAD: &[u8] = &[
    CVU, CODE, EXTERNAL, INTERNAL, PENDING, BANK_DAY, CUIT, ENROLLING, SORTED, EVENT,
];
/// The kinds of rows that are looked up one by one: mostly for an account that was not used for a long time, so its
/// neighbours are not wanted.
pub const SINGLE: &[u8] = &[REST];
/// The kinds of rows that are scanned by their owner, so that the index records which of its runs have rows of an
/// owner: an account, a CUIT or a webhook.
///
/// The index uses twelve bytes after the kind: a realm, and the number of an account or a webhook, or the beginning of a
/// CUIT. Each owner costs ten bits of memory in every run that has rows of it.
pub const SCOPED: &[u8] = &[
    HOLD,
    OPEN_HOLD,
    TRANSFER,
    OPEN_TRANSFER,
    TRANSFER_CALL,
    CUIT,
    DELIVERY,
];
/// How many bytes of a text count in the order of accounts.
pub const SORTED_BYTES_MAX: usize = 160;

/// A value as a part of a key.
trait KeyPart {
    /// Adds the bytes, which sort as the values do.
    fn add_to(self, key: &mut Vec<u8>);
}

/// The types of which keys are made, with their bytes.
macro_rules! parts {
    ($($of:ty: |$value:ident| $bytes:expr;)*) => {$(
        impl KeyPart for $of {
            fn add_to(self, key: &mut Vec<u8>) {
                let $value = self;
                key.extend_from_slice($bytes.as_ref());
            }
        }
    )*};
}

parts! {
    u64: |number| number.to_be_bytes();
    AccountNo: |account| account.0.to_be_bytes();
    VoucherPlace: |place| place.to_bytes();
    Timestamp: |at| at.millis().to_be_bytes();
    BusinessDay: |day| day.to_string();
    Cuit: |cuit| cuit.as_str();
    Digest: |digest| digest.0;
    Direction: |direction| [direction.byte()];
    CaseKind: |kind| [kind.number()];
    Marked: |list| [list.byte()];
    Sorted: |by| [by.byte()];
    TransferName: |kind| [kind.byte()];
    Rail: |kind| [kind.byte()];
    &Alias: |alias| alias.folded();
    &TypeCode: |code| code.as_str();
    &ExternalId: |id| own(id);
    &str: |text| named(text);
    &[u8]: |bytes| bytes;
}

/// A text that somebody else chooses, always of one size, because it may be longer than a key.
fn named(text: &str) -> [u8; 32] {
    Canonical::default().text(text).digest().0
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

/// Keys of a tag, a realm, and these parts.
macro_rules! keys {
    ($($(#[$doc:meta])* $tag:ident: $name:ident($($part:ident: $of:ty),*);)*) => {$(
        $(#[$doc])*
        pub fn $name(realm: RealmId $(, $part: $of)*) -> Vec<u8> {
            let mut key = Vec::with_capacity(48);
            key.push($tag);
            key.extend_from_slice(&realm.0.to_be_bytes());
            $($part.add_to(&mut key);)*
            key
        }
    )*};
}

keys! {
    /// Realm, alias → the account that has it or for which it is reserved. Between realms the bank decides.
    ALIAS: alias(alias: &Alias);
    /// Realm, the tenant's own code → account.
    CODE: code(code: &str);

    /// All external ids of a realm.
    EXTERNAL: externals();
    /// Realm, direction, external id → account, sequence.
    EXTERNAL: external(direction: Direction, id: &ExternalId);

    /// All answers of an idempotency key.
    ANSWER: answers(name: &str);

    /// All lines of adjustments and internal transfers of a realm.
    INTERNAL: internals();
    /// Realm, ordinal → the line of an adjustment or internal transfer.
    INTERNAL: internal(ordinal: u64);
    /// Realm → the number of adjustments and internal transfers.
    INTERNAL_COUNT: internal_count();

    /// All accounts of a realm.
    DIRECTORY: directory();
    /// Realm, account → the data for lists and searches.
    DIRECTORY: directory_of(account: AccountNo);

    /// All accounts of a realm, by CUIT.
    CUIT: of_cuits();
    /// All accounts of a CUIT in a realm.
    CUIT: of_cuit(cuit: Cuit);
    /// Realm, CUIT, account → present while the holder has this CUIT.
    CUIT: account_of_cuit(cuit: Cuit, account: AccountNo);

    /// All accounts of a realm that wait for the bank.
    PENDING: pending();
    /// Realm, account → present while the account waits for the bank.
    PENDING: pending_of(account: AccountNo);

    /// All accounts of a realm that wait for the fund.
    ENROLLING: enrolling();
    /// Realm, account → present while an enrolment of the account waits for the fund.
    ENROLLING: enrolling_of(account: AccountNo);

    /// Realm, account → the account as of its last movement: a cache, which may be lost.
    REST: rest(account: AccountNo);

    /// All account sets of a realm.
    ROLL: roll();
    /// Realm, block of account numbers → the states of its accounts.
    ROLL: account_set_of(block: u64);

    /// All accounts of a realm in all their orders.
    SORTED: orders();
    /// All accounts of a realm, sorted.
    SORTED: sorted(by: Sorted);

    /// All webhooks of a realm.
    WEBHOOK: webhooks();
    /// Realm, number → the webhook.
    WEBHOOK: webhook(number: u64);
    /// Realm, number of the webhook → its progress.
    PROGRESS: progress(webhook: u64);
    /// All deliveries of a webhook.
    DELIVERY: deliveries(webhook: u64);
    /// Realm, number of the webhook, event → its tries.
    DELIVERY: delivery(webhook: u64, event: u64);

    /// Realm, account, sequence of a voucher → what of it is reversed, and the sequence of the last reversal.
    REVERSED: reversed(account: AccountNo, sequence: u64);
    /// Realm, account, code of a voucher type with limits → what vouchers of it have used of them.
    USAGE_OF_TYPE: usage_of_type(account: AccountNo, code: &TypeCode);

    /// All holds of an account.
    HOLD: holds(account: AccountNo);
    /// Realm, account, sequence → the hold.
    HOLD: hold(account: AccountNo, sequence: u64);
    /// Realm, ordinal → the hold's account and number.
    HOLD_LIST: hold_at(ordinal: u64);
    /// Realm → the number of holds.
    HOLD_COUNT: hold_count();
    /// All open holds of an account.
    OPEN_HOLD: open_holds(account: AccountNo);
    /// Realm, account, sequence → present while the hold is open.
    OPEN_HOLD: open_hold(account: AccountNo, sequence: u64);
    /// All ends of open holds of a realm.
    HOLD_END: hold_ends();
    /// The first end of an open hold at an instant or later.
    HOLD_END: hold_ends_from(at: Timestamp);
    /// Realm, end, sequence, account → present while the hold is open.
    HOLD_END: hold_end(end: Timestamp, sequence: u64, account: AccountNo);

    /// Realm, account, number → the transfer.
    TRANSFER: transfer(account: AccountNo, number: u64);
    /// All transfers of a realm that wait for the bank.
    OPEN_TRANSFER: open_transfers();
    /// All transfers of an account that wait for the bank.
    OPEN_TRANSFER: open_transfers_of(account: AccountNo);
    /// Realm, account, number → when the transfer was requested (milliseconds, big-endian), while it waits for the
    /// bank; empty while it waits for a person.
    OPEN_TRANSFER: open_transfer(account: AccountNo, number: u64);
    /// Realm, account, number → the sequence of the voucher with which the transfer's money left.
    TRANSFER_LEFT: transfer_left(account: AccountNo, number: u64);
    /// Realm, external id → the transfer's account and number.
    TRANSFER_EXTERNAL: transfer_external(id: &ExternalId);
    /// Realm, kind, id of the bank → the account and number of the last transfer that got it.
    TRANSFER_NAME: transfer_name(kind: TransferName, id: &str);
    /// Realm, ordinal → the transfer's account and number.
    TRANSFER_LIST: transfer_at(ordinal: u64);
    /// Realm → the number of transfers.
    TRANSFER_COUNT: transfer_count();
    /// All calls to the bank for a transfer.
    TRANSFER_CALL: transfer_calls(account: AccountNo, number: u64);
    /// Realm, account, number, sequence of the call → its place.
    TRANSFER_CALL: transfer_call(account: AccountNo, number: u64, call: u64);

    /// Realm, kind, id of the rail → where it landed. An id of the rail belongs to one CVU, and so to one realm.
    RAIL: rail(kind: Rail, id: &str);
    /// All movements of a realm in a business day that the bank must have, too.
    BANK_DAY: bank_day(day: BusinessDay);
    /// Realm, day, account, sequence → present.
    BANK_DAY: bank_day_of(day: BusinessDay, account: AccountNo, sequence: u64);

    /// Realm, place → money in suspense, with the decisions about it.
    PARKED: parked(place: VoucherPlace);
    /// Realm, place → an unbooked report, with the decisions about it.
    UNBOOKED: unbooked(place: VoucherPlace);
    /// Realm, digest of the bank's report → its place.
    SAID: said(what: Digest);
    /// All open cases of a kind.
    OPEN_CASE: open_cases(kind: CaseKind);
    /// Realm, kind, since when, place → present while the case is open.
    OPEN_CASE: open_case(kind: CaseKind, since: Timestamp, place: VoucherPlace);
    /// Realm, kind, place → since when, while the case is open.
    CASE_SINCE: case_since(kind: CaseKind, place: VoucherPlace);
    /// Realm → the number of open cases.
    CASE_COUNTS: case_counts();
    /// Realm, number of a return → the place of the money in suspense.
    RETURN: return_of(number: u64);
    /// All returns of a realm about which the bank is being asked.
    OPEN_RETURN: open_returns();
    /// Realm, number of a return → the same place, while the bank is being asked.
    OPEN_RETURN: open_return(number: u64);

    /// Realm, sequence → the recorded movement of the collector account.
    COLLECTOR: collector(sequence: u64);
    /// Realm, the bank's id → the sequence of the recorded movement.
    COLLECTOR_OF: collector_of(bank_id: &str);
    /// All recorded movements of a realm that the bank posted on a business day.
    COLLECTOR_DAY: collector_day(day: BusinessDay);
    /// Realm, day, sequence → present.
    COLLECTOR_DAY: collector_day_of(day: BusinessDay, sequence: u64);

    /// Realm, list, block → the marks of its vouchers.
    MARKS: marks(list: Marked, block: u64);
    /// All blocks of a list.
    MARKS: marked(list: Marked);

    /// All days of a realm.
    DAY: days();
    /// Realm, the last instant of a day → the sums that the day has added.
    DAY: day(end: Timestamp);
    /// All closed days of a realm.
    CLOSED_DAY: closed_days();
    /// Realm, day → the sequence of the fact that closed it, and of the one after which it waits for nothing.
    CLOSED_DAY: closed_day(day: BusinessDay);

    /// Realm, the last instant of a day, name → what the day added to the account for adjustments.
    BOOK_DAY: book_day(end: Timestamp, name: &[u8]);
    /// Realm, place → the sequence of a fact about a movement of the collector account. Its place counts the events and
    /// these facts of the realm up to it, so events have all the other places.
    BOOK_PLACE: book_place(place: u64);
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

/// Realm, idempotency key, method, path → place of the answer.
pub fn answer(realm: RealmId, name: &str, method: &str, path: &str) -> Vec<u8> {
    let scope = Canonical::default().text(method).text(path).digest();
    let mut key = answers(realm, name);
    key.extend(scope.0.iter().take(16));
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

/// The account of a row at rest; `None` for the key of any other row.
pub fn rest_of(row: &[u8]) -> Option<(RealmId, AccountNo)> {
    let (realm, account) = row.strip_prefix(&[REST])?.split_first_chunk::<4>()?;
    let account = u64::from_be_bytes(account.try_into().ok()?);
    Some((RealmId(u32::from_be_bytes(*realm)), AccountNo(account)))
}

/// Realm, text (its first [`SORTED_BYTES_MAX`] bytes and a zero), account → present.
pub fn sorted_of(realm: RealmId, by: Sorted, text: &[u8], account: AccountNo) -> Vec<u8> {
    let mut key = sorted(realm, by);
    key.extend_from_slice(text.get(..SORTED_BYTES_MAX).unwrap_or(text));
    key.push(0);
    account.add_to(&mut key);
    key
}

/// The day in the key of a closed day.
///
/// # Errors
/// [`StoreError::Corrupt`] when the key does not end with a day.
pub fn day_of(key: &[u8]) -> Result<BusinessDay, StoreError> {
    let text = key.last_chunk::<10>();
    let day = text.and_then(|text| BusinessDay::parse(str::from_utf8(text).ok()?));
    day.ok_or_else(|| StoreError::Corrupt("the key of a closed day has no day".into()))
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

/// The bank's ids by which a transfer is found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TransferName {
    /// Its id on the rail.
    Rail,
    /// The bank's own id.
    Bank,
}

impl TransferName {
    const fn byte(self) -> u8 {
        match self {
            Self::Rail => b'r',
            Self::Bank => b'b',
        }
    }
}

/// What an id of the rail names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rail {
    /// Money that arrived, by its id on the rail.
    Arrival,
    /// A transfer of ours that came back.
    Return,
}

impl Rail {
    const fn byte(self) -> u8 {
        match self {
            Self::Arrival => b'i',
            Self::Return => b'r',
        }
    }
}

/// The list to which a block of marks belongs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Marked {
    /// The events of a realm.
    Events,
    /// Its adjustments and internal transfers.
    Internal,
}

impl Marked {
    const fn byte(self) -> u8 {
        match self {
            Self::Events => b'e',
            Self::Internal => b'i',
        }
    }
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

    #[test]
    fn a_row_at_rest_says_whose_it_is_and_no_other_row_does() {
        let at = (RealmId(u32::MAX), AccountNo(7));
        let key = rest(at.0, at.1);
        assert_eq!(rest_of(&key), Some(at));
        for cut in 0..key.len() {
            assert_eq!(rest_of(&key[..cut]), None, "{cut}");
        }
        assert_eq!(rest_of(&[key.as_slice(), &[0]].concat()), None);
    }

    #[test]
    fn a_scan_names_a_realm_and_eight_bytes_at_least() {
        let (realm, account) = (RealmId(2), AccountNo(7));
        let scans = [
            holds(realm, account),
            open_holds(realm, account),
            hold(realm, account, 1),
            transfer(realm, account, 1),
            open_transfers_of(realm, account),
            transfer_calls(realm, account, 1),
            of_cuit(realm, Cuit::parse("20267565393").unwrap()),
            deliveries(realm, 1),
        ];
        for key in scans {
            assert!(SCOPED.contains(&key[0]) && key.len() >= 13, "{key:?}");
        }
    }
}
