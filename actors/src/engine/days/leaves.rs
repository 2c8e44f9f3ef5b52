//! What the accounts of a realm had at the end of a day: the leaves of its tree.
//!
//! **Shape.** Most accounts are not in memory and have had no voucher since they were unloaded; what such an account has is in
//! its row at rest, which is next to those of its neighbours. Whether a voucher came after it is looked up for many at
//! once. The directory is read for the other accounts only, and what they had is looked up by time.
//!
//! **Bounds.** The rows of [`ROWS`] accounts in memory. The thread yields the processor after [`YIELD`] accounts.
//!
//! **Failure.** A row at rest is a hint: one that is missing or too new only makes its account cost more.

use caudal_ledger::balance::Balance;
use caudal_ledger::chain::Digest;
use caudal_ledger::cvu::Cvu;
use caudal_ledger::days::SaltKey;
use caudal_ledger::facts::LedgerFact;
use caudal_ledger::ids::{AccountNo, RealmId};
use caudal_ledger::seal::{BLOCK_LEAVES, DayLeaf, SumNode};
use caudal_ledger::time::{BusinessDay, Timestamp};
use caudal_ledger::vouchers::Voucher;
use caudal_storage::{Index, Position, SortOrder, StoreError, yield_to_requests};
use serde::Deserialize;

use crate::records::projection::VoucherPlace;
use crate::records::rest::{self, Stand};
use crate::records::{LEDGER, PROFILE, account_stream, decode, keys, reads};

/// How many accounts are read at once.
const ROWS: u64 = 1000;
/// How many vouchers after a row at rest are looked up one after the other; an account that has as many is looked up by
/// time.
const STEPS: u64 = 4;
/// After how many accounts the thread that builds a tree lets others have the processor: reading so many takes a tenth of a
/// millisecond, and the system itself looks only every few milliseconds.
const YIELD: u64 = 64;

/// The leaves of a block.
#[derive(Default)]
pub(super) struct BlockLeaves {
    /// Accounts that had a CVU at the end of the day, at most [`BLOCK_LEAVES`].
    pub(super) leaves: Vec<(AccountNo, DayLeaf)>,
    /// The number from which the next block is read; `None` at the end of the realm.
    pub(super) next: Option<AccountNo>,
}

impl BlockLeaves {
    /// The leaves as nodes of the tree.
    pub(super) fn nodes(&self) -> Vec<SumNode> {
        self.leaves.iter().map(|(_, leaf)| leaf.node()).collect()
    }
}

/// The leaves of the block that begins at an account number.
///
/// # Errors
/// When the store cannot be read.
pub(super) fn leaves(
    store: &dyn Index,
    realm: RealmId,
    date: BusinessDay,
    salts: &SaltKey,
    first: AccountNo,
) -> Result<BlockLeaves, StoreError> {
    let end = date.end();
    let mut found = BlockLeaves::default();
    let mut add = |number: AccountNo, stood: Option<Stood>| {
        let Some((cvu, last)) = stood else {
            return true;
        };
        if found.leaves.len() == BLOCK_LEAVES {
            found.next = Some(number);
            return false;
        }
        let leaf = leaf(salts.salt(date, number), cvu, last);
        found.leaves.push((number, leaf));
        true
    };
    let after_all = AccountNo(reads::last_account(store, realm)?).next();
    let mut from = first;
    while from < after_all {
        let to = after_all.min(AccountNo(from.0.strict_add(ROWS)));
        for account in resting(store, realm, (from, to), end)? {
            let number = account.number;
            yield_at(number);
            if !each_in_directory(store, realm, (from, number), end, &mut add)?
                || !add(number, Some((account.cvu, Some(account.last(store)?))))
            {
                return Ok(found);
            }
            from = number.next();
        }
        if !each_in_directory(store, realm, (from, to), end, &mut add)? {
            return Ok(found);
        }
        from = to;
    }
    Ok(found)
}

fn yield_at(number: AccountNo) {
    if number.0.is_multiple_of(YIELD) {
        yield_to_requests();
    }
}

/// An account that had moved until an instant, by its row at rest and the vouchers after it.
struct RestingAccount {
    number: AccountNo,
    cvu: Cvu,
    /// The voucher in the row.
    rested: LastVoucher,
    /// How many vouchers until the instant came after it.
    moved: u64,
    /// Where the last of them is.
    position: Option<Position>,
}

impl RestingAccount {
    fn last(self, store: &dyn Index) -> Result<LastVoucher, StoreError> {
        let Some(position) = self.position else {
            return Ok(self.rested);
        };
        let LedgerFact::Posted(voucher) = decode(&store.entry(position)?.body)?;
        Ok(voucher.into())
    }
}

/// The accounts in a range of numbers whose rows at rest tell what they had at an instant. An account that had moved on
/// before its row was written, or has moved often since, is not among them.
fn resting(
    store: &dyn Index,
    realm: RealmId,
    (from, to): (AccountNo, AccountNo),
    at: Timestamp,
) -> Result<Vec<RestingAccount>, StoreError> {
    let (from, to) = (keys::rest(realm, from), keys::rest(realm, to));
    let mut resting = Vec::new();
    store.visit(&from, &to, &mut |key, row| {
        resting.extend(keys::rest_of(key).and_then(|(_, number)| {
            yield_at(number);
            let (stand, cvu) = rest::stand_in(number, row).filter(|(stand, _)| stand.at <= at)?;
            Some(RestingAccount {
                number,
                cvu,
                rested: stand.into(),
                moved: 0,
                position: None,
            })
        }));
        true
    })?;
    let mut moving: Vec<_> = resting.iter_mut().collect();
    for _ in 0..STEPS {
        let next = |account: &&mut RestingAccount| {
            let stream = account_stream(realm, account.number, LEDGER);
            let sequence = account.rested.sequence.strict_add(account.moved);
            (stream, sequence.strict_add(1))
        };
        let found = store.find(&moving.iter().map(next).collect::<Vec<_>>())?;
        let moved = moving.into_iter().zip(found);
        let moved = moved.filter_map(|(account, place)| {
            let place = place.filter(|place| place.at <= at.millis())?;
            account.moved = account.moved.strict_add(1);
            account.position = Some(place.position);
            Some(account)
        });
        moving = moved.collect();
    }
    resting.retain(|account| account.moved < STEPS);
    Ok(resting)
}

/// An account's last voucher, as far as a leaf needs it.
struct LastVoucher {
    sequence: u64,
    after: Balance,
    hash: Digest,
}

impl From<Voucher> for LastVoucher {
    fn from(voucher: Voucher) -> Self {
        Self {
            sequence: voucher.sequence,
            after: voucher.after,
            hash: voucher.hash,
        }
    }
}

impl From<Stand> for LastVoucher {
    fn from(stand: Stand) -> Self {
        Self {
            sequence: stand.sequence,
            after: stand.balance,
            hash: stand.hash,
        }
    }
}

/// The CVU that an account had at an instant, and its last voucher up to then.
type Stood = (Cvu, Option<LastVoucher>);

/// Passes the accounts of a part of the directory on, at most [`ROWS`], with what they had at an instant, until `add` returns
/// `false`; returns whether it did not.
fn each_in_directory(
    store: &dyn Index,
    realm: RealmId,
    (from, to): (AccountNo, AccountNo),
    at: Timestamp,
    add: &mut dyn FnMut(AccountNo, Option<Stood>) -> bool,
) -> Result<bool, StoreError> {
    if from >= to {
        return Ok(true);
    }
    let (from, to) = (
        keys::directory_of(realm, from),
        keys::directory_of(realm, to),
    );
    for (key, row) in &store.scan(&from, &to, SortOrder::Ascending, usize::MAX)? {
        let number = keys::account_of(key)?;
        if !add(number, stood(store, (realm, number), row, at)?) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// What of an account's row a leaf needs.
#[derive(Deserialize)]
struct RowOfLeaf {
    cvu: Option<Cvu>,
    created_at: Timestamp,
}

/// What an account had at an instant, given its row of now: an account gets a CVU only once. `None` for an account that had
/// no CVU.
fn stood(
    store: &dyn Index,
    (realm, account): (RealmId, AccountNo),
    row: &[u8],
    at: Timestamp,
) -> Result<Option<Stood>, StoreError> {
    let row: RowOfLeaf = decode(row)?;
    let Some(cvu) = row.cvu.filter(|_| row.created_at <= at) else {
        return Ok(None);
    };
    let stream = |kind| account_stream(realm, account, kind);
    if let Some(sequence) = store.seq_at(stream(LEDGER), at.millis())? {
        let last = reads::voucher(store, realm, VoucherPlace { account, sequence })?;
        return Ok(Some((cvu, last.map(Into::into))));
    }
    let head = store.head(stream(PROFILE))?;
    if head.is_some_and(|head| head.at <= at.millis()) {
        return Ok(Some((cvu, None)));
    }
    // The profile has changed since.
    let then = reads::statements::profile_at(store, realm, account, at)?;
    Ok(then.and_then(|then| then.cvu).map(|cvu| (cvu, None)))
}

fn leaf(salt: [u8; 32], cvu: Cvu, last: Option<LastVoucher>) -> DayLeaf {
    let last = last.unwrap_or(LastVoucher {
        sequence: 0,
        after: Balance::default(),
        hash: Digest::default(),
    });
    DayLeaf {
        salt,
        cvu,
        available: last.after.available.into(),
        held: last.after.held.into(),
        sequence: last.sequence,
        chain: last.hash,
    }
}
