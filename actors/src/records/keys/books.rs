//! Keys of the accounts for adjustments in the books of a realm.

use caudal_ledger::books::BookName;
use caudal_ledger::ids::RealmId;
use caudal_ledger::time::Timestamp;

use super::{TOTALS, totals};

/// How many bytes precede the name in the key of an account.
const NAME_AT: usize = totals(RealmId(0)).len();
/// The most bytes of the key of an account.
const BOOK_KEY_MAX: usize = NAME_AT + BookName::BYTES_MAX;

/// The key of an account, without an allocation: it is written with every adjustment.
#[derive(Clone, Copy, Debug)]
pub struct BookKey {
    bytes: [u8; BOOK_KEY_MAX],
    length: usize,
}

impl AsRef<[u8]> for BookKey {
    fn as_ref(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or(&self.bytes)
    }
}

/// Realm, name (in two parts, of any case) → what the account has. The rows of a realm follow the row of its sums, so that
/// both can be read in one scan.
pub fn book(realm: RealmId, name: [&str; 2]) -> BookKey {
    let mut bytes = [TOTALS; BOOK_KEY_MAX];
    let mut length = 0_usize;
    let [first, second] = name;
    for part in [&totals(realm), first.as_bytes(), second.as_bytes()] {
        let end = length.strict_add(part.len());
        if let Some(at) = bytes.get_mut(length..end) {
            at.copy_from_slice(part);
            length = end;
        }
    }
    if let Some(name) = bytes.get_mut(NAME_AT..length) {
        name.make_ascii_lowercase();
    }
    BookKey { bytes, length }
}

/// The name in the key of an account; `None` for the key of the realm's sums.
pub fn book_of(row: &[u8]) -> Option<BookName> {
    let name = row.get(NAME_AT..).filter(|name| !name.is_empty())?;
    let name = std::str::from_utf8(name).ok()?;
    Some(BookName::stored(name.to_owned()))
}

/// The day and the name in the key of what a day added to an account.
pub fn book_day_of(row: &[u8]) -> Option<(Timestamp, BookName)> {
    let (end, name) = row.get(NAME_AT..)?.split_first_chunk::<8>()?;
    let end = Timestamp::from_millis(u64::from_be_bytes(*end));
    let name = std::str::from_utf8(name).ok()?;
    Some((end, BookName::stored(name.to_owned())))
}

/// The name in the key of an account, as part of the keys of its days.
pub fn book_name(key: &BookKey) -> &[u8] {
    let (_, name) = key.as_ref().split_at(NAME_AT);
    name
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::keys;

    #[test]
    fn accounts_follow_the_sums_of_their_realm_and_read_back() {
        let realm = RealmId(7);
        let longest = "X".repeat(40);
        for (name, read) in [
            (["adjustments:", "TOP_UP"], "adjustments:top_up".to_owned()),
            (["gifts", ""], "gifts".to_owned()),
            (
                ["adjustments:", &longest],
                format!("adjustments:{}", "x".repeat(40)),
            ),
        ] {
            let key = book(realm, name);
            assert_eq!(book_of(key.as_ref()).unwrap().as_str(), read);
            assert_eq!(book_name(&key), read.as_bytes());
            let sums = keys::totals(realm);
            assert!(sums.as_slice() < key.as_ref());
            assert!(key.as_ref() < keys::after_prefix(&sums).as_slice());
            let end = Timestamp::from_millis(9);
            let day = keys::book_day(realm, end, book_name(&key));
            let (at, of) = book_day_of(&day).unwrap();
            assert_eq!((at, of.as_str()), (end, read.as_str()));
        }
        assert_eq!(book_of(&keys::totals(realm)), None);
    }
}
