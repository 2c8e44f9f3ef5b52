//! The account sets of a realm: the states of its accounts as bits, so that any page of accounts is found by counting
//! bits.
//!
//! **Shape.** One row for each block of 256 account numbers: six sets of 256 bits of 32 bytes each,
//! the bit of a number in the byte `number / 8`, the lowest first. Numbers are given without gaps,
//! so the rows are dense: 100,000 accounts are 391 rows of 192 bytes.
//!
//! **Cost.** A row is written when an account changes its state, and when its balance becomes zero or stops being zero,
//! which most vouchers do not cause. A page that begins at a number reads the rows that it shows. A page with an offset
//! also reads the rows before, each for all of its 256 accounts.

use caudal_ledger::accounts::Status;
use caudal_ledger::balance::Direction;
use caudal_ledger::ids::{AccountNo, RealmId};
use caudal_ledger::money::Money;
use caudal_ledger::vouchers::Voucher;
use caudal_storage::{Index, IndexWriter, SortOrder, StoreError};

use super::keys;

/// Bytes of one set.
const SET_BYTES: usize = 32;
/// Accounts of a block.
const BLOCK: u64 = 256;
/// How many rows are read at once, at first and at most.
const ROWS: (usize, usize) = (2, 256);

/// A set of the accounts of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Set([u8; SET_BYTES]);

/// The place of a number's bit: byte and mask.
fn place(number: AccountNo) -> (usize, u8) {
    let within = number.0 % BLOCK;
    let byte = usize::try_from(within / 8).unwrap_or(0);
    (byte, 1_u8 << (within % 8))
}

impl Set {
    fn put(&mut self, number: AccountNo, present: bool) {
        let (byte, mask) = place(number);
        if let Some(byte) = self.0.get_mut(byte) {
            *byte = if present { *byte | mask } else { *byte & !mask };
        }
    }

    fn has(&self, number: AccountNo) -> bool {
        let (byte, mask) = place(number);
        self.0.get(byte).is_some_and(|byte| byte & mask != 0)
    }

    fn with(mut self, other: &Self, join: fn(u8, u8) -> u8) -> Self {
        for (byte, other) in self.0.iter_mut().zip(other.0) {
            *byte = join(*byte, other);
        }
        self
    }

    fn and(self, other: &Self) -> Self {
        self.with(other, |a, b| a & b)
    }

    fn or(self, other: &Self) -> Self {
        self.with(other, |a, b| a | b)
    }

    fn without(self, other: &Self) -> Self {
        self.with(other, |a, b| a & !b)
    }

    fn len(&self) -> u64 {
        let ones = self.0.iter().map(|byte| u64::from(byte.count_ones()));
        ones.sum()
    }
}

/// A row: the states of 256 accounts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Block {
    registered: Set,
    active: Set,
    suspended: Set,
    closed: Set,
    enabled: Set,
    funded: Set,
}

impl Block {
    fn parse(row: &[u8]) -> Result<Self, StoreError> {
        let (sets, rest) = row.as_chunks::<SET_BYTES>();
        let ([registered, active, suspended, closed, enabled, funded], []) = (sets, rest) else {
            return Err(StoreError::Corrupt(
                "a row of the account sets is cut short".into(),
            ));
        };
        Ok(Self {
            registered: Set(*registered),
            active: Set(*active),
            suspended: Set(*suspended),
            closed: Set(*closed),
            enabled: Set(*enabled),
            funded: Set(*funded),
        })
    }

    fn row(&self) -> [[u8; SET_BYTES]; 6] {
        let Self {
            registered,
            active,
            suspended,
            closed,
            enabled,
            funded,
        } = self;
        [registered, active, suspended, closed, enabled, funded].map(|set| set.0)
    }

    const fn of(&mut self, status: Status) -> Option<&mut Set> {
        match status {
            Status::Registered => Some(&mut self.registered),
            Status::Active => Some(&mut self.active),
            Status::Suspended => Some(&mut self.suspended),
            Status::Closed => Some(&mut self.closed),
            Status::Void => None,
        }
    }
}

fn change(
    realm: RealmId,
    number: AccountNo,
    index: &mut dyn IndexWriter,
    change: impl FnOnce(&mut Block),
) -> Result<(), StoreError> {
    let key = keys::account_set_of(realm, number.0 / BLOCK);
    let row = index.get(&key)?;
    let before = row.as_deref().map_or(Ok(Block::default()), Block::parse)?;
    let mut after = before;
    change(&mut after);
    if after != before {
        index.put(&key, after.row().as_flattened());
    }
    Ok(())
}

/// Notes the new state of an account, and whether it is enabled.
pub(super) fn became(
    realm: RealmId,
    number: AccountNo,
    (before, after): (Option<(Status, bool)>, (Status, bool)),
    index: &mut dyn IndexWriter,
) -> Result<(), StoreError> {
    if before == Some(after) {
        return Ok(());
    }
    let (status, enabled) = after;
    change(realm, number, index, |block| {
        if let Some(set) = before.and_then(|(old, _)| block.of(old)) {
            set.put(number, false);
        }
        if let Some(set) = block.of(status) {
            set.put(number, true);
        }
        block.enabled.put(number, enabled);
    })
}

/// Notes whether an account has money, if a voucher changes that.
pub(super) fn posted(
    realm: RealmId,
    number: AccountNo,
    voucher: &Voucher,
    index: &mut dyn IndexWriter,
) -> Result<(), StoreError> {
    let (total, amount) = (voucher.after.total(), voucher.amount.money());
    let turned = match voucher.direction {
        Direction::Credit => total == amount,
        Direction::Debit | Direction::ConfirmHold => total == Money::ZERO,
        Direction::Hold | Direction::Release => false,
    };
    if !turned {
        return Ok(());
    }
    let funded = total != Money::ZERO;
    change(realm, number, index, |block| {
        block.funded.put(number, funded)
    })
}

/// The state of an account in the account sets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AccountFlags {
    /// The stage of its life.
    pub status: Status,
    /// Whether it is enabled.
    pub enabled: bool,
    /// Whether it has money.
    pub funded: bool,
}

/// Whether the account sets show an account's present state.
pub fn agrees(
    store: &dyn Index,
    realm: RealmId,
    number: AccountNo,
    flags: AccountFlags,
) -> Result<bool, StoreError> {
    Recent::default().agrees(store, realm, number, flags)
}

/// The block that was read last, for checks of many accounts in order.
#[derive(Debug, Default)]
pub struct Recent {
    of: Option<(RealmId, u64)>,
    block: Block,
}

impl Recent {
    /// Whether the account sets show an account's state, as of now or as of the first check in its block.
    pub fn agrees(
        &mut self,
        store: &dyn Index,
        realm: RealmId,
        number: AccountNo,
        flags: AccountFlags,
    ) -> Result<bool, StoreError> {
        let of = (realm, number.0 / BLOCK);
        if self.of != Some(of) {
            let row = store.get(&keys::account_set_of(realm, of.1))?;
            self.block = row.as_deref().map_or(Ok(Block::default()), Block::parse)?;
            self.of = Some(of);
        }
        let block = &mut self.block;
        let (enabled, funded) = (block.enabled.has(number), block.funded.has(number));
        let states = [
            Status::Registered,
            Status::Active,
            Status::Suspended,
            Status::Closed,
        ];
        let right = states.iter().all(|status| {
            let set = block.of(*status);
            set.is_some_and(|set| set.has(number) == (flags.status == *status))
        });
        Ok(right && enabled == flags.enabled && funded == flags.funded)
    }
}

/// A selection of accounts from the account sets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Among {
    /// Accounts without a CVU, too.
    pub everyone: bool,
    /// Only in this state.
    pub status: Option<Status>,
    /// Only enabled, or only disabled.
    pub enabled: Option<bool>,
    /// No closed accounts without money.
    pub alive: bool,
}

impl Among {
    fn of(&self, block: &Block) -> Set {
        let Block {
            registered,
            active,
            suspended,
            closed,
            enabled,
            funded,
        } = block;
        let with_cvu = active.or(suspended).or(closed);
        let mut set = match self.status {
            Some(Status::Active) => *active,
            Some(Status::Suspended) => *suspended,
            Some(Status::Closed) => *closed,
            Some(Status::Registered) if self.everyone => *registered,
            Some(Status::Registered | Status::Void) => Set::default(),
            None if self.everyone => with_cvu.or(registered),
            None => with_cvu,
        };
        match self.enabled {
            Some(true) => set = set.and(enabled),
            Some(false) => set = set.without(enabled),
            None => {}
        }
        if self.alive {
            set = set.without(&closed.without(funded));
        }
        set
    }
}

/// Walks over the blocks of a realm, in an order, from the block of `start` on, until `visit` returns `false`. `visit`
/// gets the number of the block's first account and the selected accounts.
fn walk(
    store: &dyn Index,
    realm: RealmId,
    among: &Among,
    order: SortOrder,
    start: Option<AccountNo>,
    mut visit: impl FnMut(u64, &Set) -> bool,
) -> Result<(), StoreError> {
    let all = keys::roll(realm);
    let (mut from, mut to) = (all.clone(), keys::after_prefix(&all));
    if let Some(start) = start {
        let block = start.0 / BLOCK;
        match order {
            SortOrder::Ascending => from = keys::account_set_of(realm, block),
            SortOrder::Descending => to = keys::account_set_of(realm, block.saturating_add(1)),
        }
    }
    let (mut size, most) = ROWS;
    loop {
        let rows = store.scan(&from, &to, order, size)?;
        for (key, row) in &rows {
            let block = keys::number_of(key)?;
            let set = among.of(&Block::parse(row)?);
            if !visit(block.saturating_mul(BLOCK), &set) {
                return Ok(());
            }
        }
        match rows.last() {
            Some((key, _)) if rows.len() == size => match order {
                SortOrder::Ascending => from = [key.as_slice(), &[0]].concat(),
                SortOrder::Descending => to.clone_from(key),
            },
            Some(_) | None => return Ok(()),
        }
        size = size.saturating_mul(2).min(most);
    }
}

/// The number of selected accounts.
pub fn count(store: &dyn Index, realm: RealmId, among: &Among) -> Result<u64, StoreError> {
    let mut count = 0_u64;
    walk(store, realm, among, SortOrder::Ascending, None, |_, set| {
        count += set.len();
        true
    })?;
    Ok(count)
}

/// The numbers of one page: after the number `after`, or after skipping `skip` of them; and whether there are more.
pub fn page(
    store: &dyn Index,
    realm: RealmId,
    among: &Among,
    (order, after, skip, limit): (SortOrder, Option<AccountNo>, u64, usize),
) -> Result<(Vec<AccountNo>, bool), StoreError> {
    let mut skip = if after.is_some() { 0 } else { skip };
    let (mut found, mut more) = (Vec::with_capacity(limit), false);
    let is_behind = |number: AccountNo| match order {
        SortOrder::Ascending => after.is_none_or(|after| number > after),
        SortOrder::Descending => after.is_none_or(|after| number < after),
    };
    walk(store, realm, among, order, after, |first, set| {
        let count = set.len();
        if skip >= count {
            skip = skip.saturating_sub(count);
            return true;
        }
        let mut at = 0..BLOCK;
        let next = || match order {
            SortOrder::Ascending => at.next(),
            SortOrder::Descending => at.next_back(),
        };
        let numbers = std::iter::from_fn(next).map(|at| AccountNo(first.saturating_add(at)));
        for number in numbers.filter(|n| set.has(*n) && is_behind(*n)) {
            if skip > 0 {
                skip = skip.saturating_sub(1);
            } else if found.len() < limit {
                found.push(number);
            } else {
                more = true;
                return false;
            }
        }
        true
    })?;
    Ok((found, more))
}

/// The selected accounts, for checks of many accounts in order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Members {
    sets: std::collections::BTreeMap<u64, Set>,
}

impl Members {
    /// Reads the selection: 32 bytes for 256 accounts.
    pub fn read(store: &dyn Index, realm: RealmId, among: &Among) -> Result<Self, StoreError> {
        let mut members = Self::default();
        walk(
            store,
            realm,
            among,
            SortOrder::Ascending,
            None,
            |first, set| {
                members.sets.insert(first / BLOCK, *set);
                true
            },
        )?;
        Ok(members)
    }

    /// Whether an account is selected.
    pub fn has(&self, number: AccountNo) -> bool {
        let set = self.sets.get(&(number.0 / BLOCK));
        set.is_some_and(|set| set.has(number))
    }

    /// The number of selected accounts.
    pub fn len(&self) -> u64 {
        self.sets.values().map(Set::len).sum()
    }

    /// Whether no account is selected.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
