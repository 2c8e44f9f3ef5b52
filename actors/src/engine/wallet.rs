//! The door for the queries of the wallet family only: a CVU for an existing account, the accounts of a CUIT, the
//! balances of many accounts.

use caudal_ledger::accounts::{Account, CvuRequest, ProfileOrder};
use caudal_ledger::cuit::Cuit;
use caudal_ledger::ids::{AccountNo, RealmId};

use super::lists::{AccountFilter, AccountSort, ListPage, Listing};
use super::read_slots::ReadCost;
use super::{DEADLINE, Ledger, Queries, Requester, value, wait};
use crate::accounts::{AccountView, BalanceView, ReadBalance};
use crate::failure::Failure;
use crate::realms::Target;
use crate::records::reads;
use crate::reply::Answered;

/// How many accounts of one page are asked for their balances at the same time.
const BALANCES_AT_ONCE: usize = 16;
/// The most accounts of one CUIT that are listed.
pub(super) const OF_CUIT_MAX: usize = 1000;

impl Ledger<'_> {
    /// Gets a CVU for a wallet account; the view tells whether the account had none before.
    pub async fn get_cvu(
        self,
        realm: RealmId,
        number: AccountNo,
        name: Option<String>,
        automatic_alias: bool,
        requester: Requester<AccountView>,
    ) -> Answered<AccountView> {
        let order = ProfileOrder::GetCvu(CvuRequest {
            // The account draws the client id.
            client_id: 0,
            name,
            automatic_alias,
        });
        self.change(realm, Target::Account(number), order, None, requester)
            .await
    }
}

impl Queries<'_> {
    /// Accounts whose holder has a CUIT, in the order of their registration, without their
    /// movements; at most [`OF_CUIT_MAX`].
    pub async fn accounts_of_cuit(
        self,
        realm: RealmId,
        cuit: Cuit,
    ) -> Result<Vec<Account>, Failure> {
        self.0
            .scan(realm, ReadCost::Page, move |store| {
                let numbers = reads::accounts_of_cuit(store, realm, cuit, OF_CUIT_MAX)?;
                let found: Result<Vec<_>, _> = numbers
                    .into_iter()
                    .map(|number| reads::profile(store, realm, number))
                    .collect();
                Ok(found?.into_iter().flatten().collect())
            })
            .await
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
