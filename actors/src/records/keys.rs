//! Keys of the index: one tag each, then realm and name, all big-endian so that they sort.

use caudal_ledger::alias::Alias;
use caudal_ledger::balance::Direction;
use caudal_ledger::cvu::Cvu;
use caudal_ledger::ids::{AccountNo, RealmId};
use caudal_ledger::tenants::Mode;
use caudal_ledger::text::ExternalId;

const CVU: u8 = 0x10;
const ALIAS: u8 = 0x11;
const CODE: u8 = 0x12;
const EXTERNAL: u8 = 0x13;
const ANSWER: u8 = 0x14;
const INTERNAL: u8 = 0x15;
const INTERNAL_COUNT: u8 = 0x16;
const DIRECTORY: u8 = 0x17;
const PENDING: u8 = 0x18;
const CENSUS: u8 = 0x19;
const SNAPSHOT: u8 = 0x1a;

fn key(tag: u8, realm: RealmId, rest: &[&[u8]]) -> Vec<u8> {
    let mut key = Vec::with_capacity(48);
    key.push(tag);
    key.extend_from_slice(&realm.0.to_be_bytes());
    rest.iter().for_each(|part| key.extend_from_slice(part));
    key
}

/// A text of a client as part of a key, always of one size.
fn named(text: &str) -> [u8; 32] {
    caudal_ledger::chain::Canonical::default()
        .text(text)
        .digest()
        .0
}

/// The first key after all that begin with `prefix`.
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

/// CVU → realm, account.
pub fn cvu(cvu: Cvu) -> Vec<u8> {
    let mut key = vec![CVU];
    key.extend_from_slice(cvu.as_str().as_bytes());
    key
}

/// Mode, alias → who has it or to whom it is reserved.
pub fn alias(mode: Mode, alias: &Alias) -> Vec<u8> {
    let mut key = vec![ALIAS];
    key.extend_from_slice(mode.as_str().as_bytes());
    key.push(0);
    key.extend_from_slice(alias.folded().as_bytes());
    key
}

/// Realm, the tenant's own code (hashed: it may be longer than a key) → account.
pub fn code(realm: RealmId, code: &str) -> Vec<u8> {
    key(CODE, realm, &[&named(code)])
}

/// Realm, direction, external id → account, sequence.
pub fn external(realm: RealmId, direction: Direction, id: &ExternalId) -> Vec<u8> {
    key(
        EXTERNAL,
        realm,
        &[&[direction.byte()], id.as_str().as_bytes()],
    )
}

/// All answers of an idempotency key, which is hashed: it may be longer than a key.
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

/// Realm, ordinal → account, sequence of an adjustment or internal transfer.
pub fn internal(realm: RealmId, ordinal: u64) -> Vec<u8> {
    key(INTERNAL, realm, &[&ordinal.to_be_bytes()])
}

/// Realm → how many adjustments and internal transfers there are.
pub fn internal_count(realm: RealmId) -> Vec<u8> {
    key(INTERNAL_COUNT, realm, &[])
}

/// All accounts of a realm.
pub fn directory(realm: RealmId) -> Vec<u8> {
    key(DIRECTORY, realm, &[])
}

/// Realm, account → what lists and searches need.
pub fn directory_of(realm: RealmId, account: AccountNo) -> Vec<u8> {
    key(DIRECTORY, realm, &[&account.0.to_be_bytes()])
}

/// All accounts of a realm that wait for the bank.
pub fn pending(realm: RealmId) -> Vec<u8> {
    key(PENDING, realm, &[])
}

/// Realm, account → present while the account waits for the bank.
pub fn pending_of(realm: RealmId, account: AccountNo) -> Vec<u8> {
    key(PENDING, realm, &[&account.0.to_be_bytes()])
}

/// Realm → how many accounts are in which state.
pub fn census(realm: RealmId) -> Vec<u8> {
    key(CENSUS, realm, &[])
}

/// Realm, account → the account as of some commit: a cache.
pub fn snapshot(realm: RealmId, account: AccountNo) -> Vec<u8> {
    key(SNAPSHOT, realm, &[&account.0.to_be_bytes()])
}

/// The account number at the end of a directory or pending key.
pub fn account_of(key: &[u8]) -> Option<AccountNo> {
    let at = key.len().checked_sub(8)?;
    let bytes: [u8; 8] = key.get(at..)?.try_into().ok()?;
    Some(AccountNo(u64::from_be_bytes(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_texts_that_clients_may_send_fit_a_key() {
        let realm = RealmId(u32::MAX);
        let external = ExternalId::parse(&"x".repeat(64)).unwrap();
        let longest = [
            answer(realm, &"k".repeat(255), "DELETE", &"p".repeat(60_000)),
            code(realm, &"\u{1f30a}".repeat(64)),
            external_key(realm, &external),
            alias(Mode::Live, &Alias::parse(&"a".repeat(20)).unwrap()),
        ];
        for key in longest {
            assert!(key.len() <= caudal_storage::KEY_BYTES_MAX, "{}", key.len());
        }
    }

    fn external_key(realm: RealmId, id: &ExternalId) -> Vec<u8> {
        external(realm, Direction::Debit, id)
    }
}
