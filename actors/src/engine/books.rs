//! The door of the books: the accounts, their entries, and the trial balance, now or at a past instant. The present sums are
//! one cut, those of a past day the sums of its days, and those at an instant within a day have its entries in addition.

mod entries;

use std::collections::BTreeSet;

use caudal_ledger::books::{BookBalances, BookName, TrialBalanceLine};
use caudal_ledger::ids::RealmId;
use caudal_ledger::time::Timestamp;
use caudal_ledger::treasury::Sum;
use caudal_storage::{Index, StoreError};

use super::Queries;
use super::lists::{ListPage, Listing};
use super::read_slots::ReadCost;
use crate::failure::Failure;
use crate::records::reads;

pub use crate::records::reads::books::{BookFact, EntrySource};
pub use entries::{BookEntry, EntryFilter};

/// All accounts of a realm's books with their balances at an instant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TrialBalance {
    /// The instant up to which facts count, including the instant itself.
    pub as_of: Timestamp,
    /// The accounts, whose balances add up to zero.
    pub lines: Vec<TrialBalanceLine>,
    /// Next to them: the transfers that were sent and are not final, in centavos. `None` for an instant within a day.
    pub in_transit: Option<Sum>,
}

impl Queries<'_> {
    /// The trial balance at the end of a day, or at an instant; at present for `None`.
    ///
    /// # Errors
    /// When the store cannot be read, or no turn to read comes in time; [`Failure::TooManyEntries`] when the day of an
    /// instant has too many entries to count.
    pub async fn trial_balance(
        self,
        realm: RealmId,
        at: Option<Timestamp>,
    ) -> Result<TrialBalance, Failure> {
        let as_of = at.unwrap_or_else(|| self.0.now_in(realm));
        let ends_a_day = as_of == as_of.business_day().end();
        let cost = ReadCost::scan_if(at.is_some() && !ends_a_day);
        let both = |(balances, sum)| (balances, Some(sum));
        let read = move |store: &dyn Index| match at {
            None => Ok::<_, Failure>(both(now(store, realm)?)),
            Some(at) if ends_a_day => Ok(both(reads::books::until(store, realm, at)?)),
            Some(at) => Ok((entries::balances_at(store, realm, at)?, None)),
        };
        let (balances, in_transit) = self.0.scan(realm, cost, read).await?;
        Ok(TrialBalance {
            as_of,
            lines: balances.trial_balance(),
            in_transit,
        })
    }

    /// The entries of the books: each fact that moved them, with a line for each of its two accounts.
    ///
    /// # Errors
    /// When the store cannot be read, or no turn to read comes in time.
    pub async fn book_entries(
        self,
        realm: RealmId,
        filter: EntryFilter,
        page: ListPage,
    ) -> Result<Listing<BookEntry>, Failure> {
        let bound = self.0.list_rows;
        let read = move |store: &dyn Index| entries::list(store, realm, &filter, (&page, bound));
        self.0.scan(realm, ReadCost::Scan, read).await
    }

    /// The accounts for adjustments: those that have moved, and those of the realm's voucher types.
    ///
    /// # Errors
    /// When the store cannot be read, or no turn to read comes in time.
    pub async fn book_accounts(self, realm: RealmId) -> Result<BTreeSet<BookName>, Failure> {
        let types = self.voucher_types(realm).await?;
        let read = move |store: &dyn Index| reads::books::now(store, realm);
        let (_, moved) = self.0.scan(realm, ReadCost::Page, read).await?;
        let mut names = types.book_accounts();
        names.extend(moved.into_keys());
        Ok(names)
    }
}

/// The books at present, and the transfers that wait for the bank.
fn now(store: &dyn Index, realm: RealmId) -> Result<(BookBalances, Sum), StoreError> {
    let (totals, adjustments) = reads::books::now(store, realm)?;
    let balances = BookBalances {
        clients: totals.owed(),
        suspense: totals.incoming,
        house: totals.house,
        adjustments,
    };
    Ok((balances, totals.outgoing))
}
