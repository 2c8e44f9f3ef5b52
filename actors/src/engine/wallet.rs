//! The door for the queries of the wallet family only: the accounts of a CUIT, the balances of many accounts.

use caudal_ledger::accounts::Account;
use caudal_ledger::cuit::Cuit;
use caudal_ledger::ids::RealmId;

use caudal_storage::Index;

use super::lists::{AccountFilter, AccountSort, ListPage, Listing, profiles};
use super::read_slots::ReadCost;
use super::{DEADLINE, Queries, value, wait};
use crate::accounts::{BalanceView, ReadBalance};
use crate::failure::Failure;
use crate::realms::Target;
use crate::records::reads;

/// How many accounts of one page are asked for their balances at the same time.
const BALANCES_AT_ONCE: usize = 16;
/// The most accounts of one CUIT that are listed.
pub(super) const OF_CUIT_MAX: usize = 1000;

impl Queries<'_> {
    /// Accounts whose holder has a CUIT, in the order of their registration, without their
    /// movements; at most [`OF_CUIT_MAX`].
    pub async fn accounts_of_cuit(
        self,
        realm: RealmId,
        cuit: Cuit,
    ) -> Result<Vec<Account>, Failure> {
        let read = move |store: &dyn Index| {
            let numbers = reads::accounts_of_cuit(store, realm, cuit, OF_CUIT_MAX)?;
            profiles(store, realm, numbers)
        };
        self.0.scan(realm, ReadCost::Page, read).await
    }

    /// Accounts with a CVU and their balances, as of now, in the order of their registration.
    pub async fn balances(
        self,
        realm: RealmId,
        filter: AccountFilter,
        page: ListPage,
    ) -> Result<Listing<BalanceView>, Failure> {
        let listing = self
            .accounts(realm, filter, AccountSort::CreatedAt, page)
            .await?;
        let mut items = Vec::with_capacity(listing.items.len());
        for some in listing.items.chunks(BALANCES_AT_ONCE) {
            let mut asked = Vec::with_capacity(some.len());
            for account in some {
                let target = Target::Account(account.number);
                asked.push(self.0.asked(realm, ReadBalance(target))?);
            }
            for answer in asked {
                items.push(value(wait(answer, DEADLINE).await)?);
            }
        }
        Ok(listing.with(|_| items))
    }
}
