//! Compares the rows by which lists find an account with the account itself.

use std::collections::BTreeMap;

use caudal_ledger::accounts::{Account, Status};
use caudal_ledger::ids::{AccountNo, RealmId};
use caudal_ledger::money::Money;
use caudal_ledger::vouchers::Voucher;
use caudal_storage::{Index, StoreError};

use crate::records::account_sets::AccountFlags;
use crate::records::keys::{Marked, Sorted};
use crate::records::marks::{self, BLOCK, Marks};
use crate::records::projection::{self, InternalLine, Listed};
use crate::records::{account_sets, keys, reads};

/// How many lines each realm has: lines have the order of the journal.
#[derive(Debug, Default)]
pub(super) struct Lines(BTreeMap<RealmId, (u64, Marks)>);

impl Lines {
    /// Whether the next voucher of the journal has its line, if it is internal to its realm, and the block that it
    /// completes has its marks.
    pub(super) fn agree(
        &mut self,
        store: &dyn Index,
        (realm, account): (RealmId, AccountNo),
        voucher: &Voucher,
    ) -> Result<bool, StoreError> {
        if !voucher.is_internal() {
            return Ok(true);
        }
        let (count, open) = self.0.entry(realm).or_default();
        *count += 1;
        *open = open.and(Marks::of(voucher));
        let row = store.get(&keys::internal(realm, *count))?;
        let mut right = row == Some(InternalLine::of(account, voucher).to_bytes());
        if marks::is_last(*count) {
            let block = count.div_euclid(BLOCK);
            let row = store.get(&keys::marks(realm, Marked::Internal, block))?;
            right &= row.as_deref() == Some(std::mem::take(open).to_bytes().as_slice());
        }
        Ok(right)
    }
}

/// The rows that contradict the account, in words.
pub(super) fn differences(
    store: &dyn Index,
    (realm, number): (RealmId, AccountNo),
    account: &Account,
) -> Result<Vec<&'static str>, StoreError> {
    let right = projection::listed(account);
    let mut wrong = Vec::new();
    let row = reads::listed(store, realm, number)?.map(|row| Listed {
        // The code that a pending change asks for is not part of the account.
        asked_code: None,
        ..row
    });
    if row.as_ref() != Some(&right) {
        wrong.push("the directory says otherwise");
    }
    let standing = AccountFlags {
        status: right.status,
        enabled: right.enabled,
        funded: account.balance.total() != Money::ZERO,
    };
    if !account_sets::agrees(store, realm, number, standing)? {
        wrong.push("the account sets say otherwise");
    }
    let present = right.status != Status::Void;
    for by in Sorted::ALL {
        let key = keys::sorted_of(realm, by, right.sorted_by(by).as_bytes(), number);
        if store.get(&key)?.is_some() != present {
            wrong.push("its place in an order is wrong");
        }
    }
    let of_cuit = keys::account_of_cuit(realm, right.cuit, number);
    if store.get(&of_cuit)?.is_some() != present {
        wrong.push("it is not found by its CUIT");
    }
    Ok(wrong)
}
