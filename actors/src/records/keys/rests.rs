//! Keys of the rows that accounts leave when they go to rest: caches, which may be lost.

use caudal_ledger::ids::{AccountNo, RealmId};

use super::key;

pub(super) const REST: u8 = 0x46;

/// The kinds of rows that are looked up one by one: mostly for an account that was not used for a long time, so its
/// neighbours are not wanted.
pub const SINGLE: &[u8] = &[REST];

/// Realm, account → the account as of its last movement.
pub fn rest(realm: RealmId, account: AccountNo) -> Vec<u8> {
    key(REST, realm, &[&account.0.to_be_bytes()])
}

/// The account of a row at rest; `None` for the key of any other row.
pub fn rest_of(row: &[u8]) -> Option<(RealmId, AccountNo)> {
    let (realm, account) = row.strip_prefix(&[REST])?.split_first_chunk::<4>()?;
    let account = u64::from_be_bytes(account.try_into().ok()?);
    Some((RealmId(u32::from_be_bytes(*realm)), AccountNo(account)))
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
