//! The clients' money at a past instant: one cut through all accounts, read from their movements.
//!
//! **Shape.** Every movement has its instant and the balance after it, so an account's balance at an instant is in its
//! last movement up to then; nothing is written at the end of a day. A page of positions costs its own rows, like one
//! of today. The sums at the end of a day are the sums over all days up to it, each of which has a row. The sums at any
//! other instant cost a read of every account, so they are made once for a walk, with its first page.
//!
//! **Consistency.** A movement decided at an instant is on disk a moment later. So a cut of the last [`SETTLING`] may
//! still grow; an older one is final, and all its pages are of the same cut.

use caudal_ledger::balance::Balance;
use caudal_ledger::books::HouseBalances;
use caudal_ledger::days::DayRecord;
use caudal_ledger::ids::{AccountNo, RealmId};
use caudal_ledger::statements::SETTLING;
use caudal_ledger::time::{BusinessDay, Timestamp};
use caudal_ledger::treasury::Sum;
use caudal_storage::{Index, StoreError};

use super::Funds;
use crate::engine::Queries;
use crate::engine::lists::each_row;
use crate::engine::read_slots::ReadCost;
use crate::failure::Failure;
use crate::records::projection::{Added, VoucherPlace};
use crate::records::{LEDGER, account_stream, keys, reads};

/// The sums of a realm at an instant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cut {
    /// The instant up to which vouchers count, including the instant itself.
    pub at: Timestamp,
    /// The number of vouchers counted.
    pub sequence: u64,
    /// The money that clients could spend.
    pub available: Sum,
    /// The money that was set apart, and still the clients'.
    pub held: Sum,
}

impl Cut {
    /// The cut at the end of a day, given the sums of all days up to it.
    const fn of(at: Timestamp, sums: &Added) -> Self {
        Self {
            at,
            sequence: sums.vouchers,
            available: sums.available,
            held: sums.held,
        }
    }

    /// All money that belonged to clients.
    pub const fn owed(&self) -> Sum {
        self.available.plus(self.held)
    }
}

/// The treasury at the end of a day.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PastTreasury {
    /// What belonged to clients.
    pub cut: Cut,
    /// The PSP's own accounts of the books.
    pub house: HouseBalances,
    /// The day as it was closed; `None` while it is not.
    pub closed: Option<DayRecord>,
}

/// The balance of an account at an instant, and the number of its movements.
pub(super) fn then(
    store: &dyn Index,
    realm: RealmId,
    account: AccountNo,
    at: Timestamp,
) -> Result<(Funds, u64), StoreError> {
    let stream = account_stream(realm, account, LEDGER);
    let Some(sequence) = store.seq_at(stream, at.millis())? else {
        return Ok((Funds::default(), 0));
    };
    let voucher = reads::voucher(store, realm, VoucherPlace { account, sequence })?;
    let funds = voucher.map(|voucher| (voucher.after, Some(voucher.at)));
    Ok((funds.unwrap_or_default(), sequence))
}

/// Whether an instant is the last one of its day.
fn ends_a_day(at: Timestamp) -> bool {
    at == at.business_day().end()
}

fn cut(store: &dyn Index, realm: RealmId, at: Timestamp) -> Result<Cut, StoreError> {
    if ends_a_day(at) {
        return Ok(Cut::of(at, &reads::added_until(store, realm, at)?));
    }
    let mut cut = Cut {
        at,
        sequence: 0,
        available: Sum::default(),
        held: Sum::default(),
    };
    each_row(store, &keys::directory(realm), |key, _| {
        let ((Balance { available, held }, _), sequence) =
            then(store, realm, keys::account_of(key)?, at)?;
        cut.sequence = cut.sequence.strict_add(sequence);
        cut.available = cut.available.plus(available.into());
        cut.held = cut.held.plus(held.into());
        Ok(true)
    })?;
    Ok(cut)
}

impl Queries<'_> {
    /// The treasury at the end of a day, with the bank's side if the day is closed.
    ///
    /// # Errors
    /// When the store cannot be read, or no turn to read comes in time.
    pub async fn past_treasury(
        self,
        realm: RealmId,
        day: BusinessDay,
    ) -> Result<PastTreasury, Failure> {
        let read = move |store: &dyn Index| {
            let sums = reads::added_until(store, realm, day.end())?;
            Ok::<_, StoreError>(PastTreasury {
                cut: Cut::of(day.end(), &sums),
                house: sums.house,
                closed: reads::days::of(store, realm, day)?,
            })
        };
        self.0.scan(realm, ReadCost::Page, read).await
    }

    /// The sums of the clients' money at an instant. At the end of a day this sums up the days; at any other instant it
    /// reads every account.
    pub async fn cut(self, realm: RealmId, at: Timestamp) -> Result<Cut, Failure> {
        let cost = ReadCost::scan_if(!ends_a_day(at));
        self.0
            .scan(realm, cost, move |store| cut(store, realm, at))
            .await
    }

    /// Whether the cut of a realm at an instant can no longer grow.
    pub fn is_settled(self, realm: RealmId, at: Timestamp) -> bool {
        at.millis().saturating_add(SETTLING) < self.0.now_in(realm).millis()
    }
}
