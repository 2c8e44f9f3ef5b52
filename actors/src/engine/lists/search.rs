//! The search: accounts of several realms by a text, for operators who do not know the accounts' realm.
//!
//! **Shape.** First the sorted rows: a CUIT, and the beginning of a name, CVU, alias or code, which are found among any
//! number of accounts. Then a scan of the directory, the newest accounts first, for the text anywhere in the fields by
//! which accounts are known.
//!
//! **Bounds.** All realms share one bound for the scans ([`super::ROWS_MAX`]), as for one page of a list: each realm
//! may take its share of the remainder that smaller realms have left. So a search costs the same however much is
//! stored. Of the sorted rows, as many of each kind are read as are asked for.

use std::collections::BTreeSet;

use caudal_ledger::accounts::{Account, Status};
use caudal_ledger::cuit::Cuit;
use caudal_ledger::ids::RealmId;
use caudal_ledger::text::folded;
use caudal_storage::{Index, SortOrder, StoreError};

use super::bounded_scan::ACCOUNT;
use super::{AccountFilter, AccountScope, AccountSort, ListPage, accounts};
use crate::engine::Queries;
use crate::engine::read_slots::ReadCost;
use crate::failure::Failure;
use crate::records::keys::Sorted;
use crate::records::reads;

/// The result of a search in a realm.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FoundIn {
    /// The realm.
    pub realm: RealmId,
    /// The accounts, those from the sorted rows first.
    pub accounts: Vec<Account>,
    /// Whether there may be more.
    pub more: bool,
    /// How many accounts were scanned next to the sorted rows.
    pub looked: u64,
}

impl Queries<'_> {
    /// Finds accounts by a text, at most `limit` in each of these realms.
    ///
    /// # Errors
    /// Those of every reading door.
    pub async fn find_accounts(
        self,
        realms: Vec<RealmId>,
        text: &str,
        limit: usize,
    ) -> Result<Vec<FoundIn>, Failure> {
        let (bound, text) = (self.0.list_rows, text.to_owned());
        // Under no realm: operators do not take turns from tenants.
        let read = move |store: &dyn Index| {
            let mut sizes = Vec::with_capacity(realms.len());
            for realm in realms {
                let totals = reads::totals(store, realm)?;
                sizes.push((totals.census.everyone(), realm));
            }
            sizes.sort_unstable();
            let (mut left, mut found) = (bound, Vec::with_capacity(sizes.len()));
            for (rest, (size, realm)) in (1..=sizes.len()).rev().zip(sizes) {
                let share = u64::try_from(rest).map_or(left, |rest| left.div_euclid(rest));
                let of = found_in(store, realm, size, &text, limit, share)?;
                let spent = of.looked.checked_mul(ACCOUNT);
                left = spent
                    .and_then(|spent| left.checked_sub(spent))
                    .map_or(0, |left| left);
                found.push(of);
            }
            Ok::<_, Failure>(found)
        };
        self.0.scan(RealmId(0), ReadCost::Scan, read).await
    }
}

fn found_in(
    store: &dyn Index,
    realm: RealmId,
    size: u64,
    text: &str,
    limit: usize,
    bound: u64,
) -> Result<FoundIn, Failure> {
    let mut accounts_found = sorted(store, realm, text, limit)?;
    let mut found = FoundIn {
        realm,
        // A full list hides what a scan would find, and so does a spent bound.
        more: accounts_found.len() >= limit || (bound < ACCOUNT && size > 0),
        looked: 0,
        accounts: Vec::new(),
    };
    accounts_found.truncate(limit);
    if accounts_found.len() < limit && bound >= ACCOUNT {
        let filter = AccountFilter {
            text: Some(text.to_owned()),
            scope: AccountScope::ByAnything,
            ..AccountFilter::default()
        };
        let page = ListPage {
            order: SortOrder::Descending,
            limit,
            offset: 0,
            cursor: None,
        };
        let by = AccountSort::CreatedAt;
        let listing = accounts::accounts(store, realm, &filter, by, &page, bound)?;
        found.more |= listing.next.is_some();
        found.looked = listing.looked.map_or(size, |part| part.rows);
        for account in listing.items {
            let known = |it: &Account| it.number == account.number;
            if !accounts_found.iter().any(known) {
                accounts_found.push(account);
            }
        }
        found.more |= accounts_found.len() > limit;
        accounts_found.truncate(limit);
    }
    found.accounts = accounts_found;
    Ok(found)
}

/// Accounts whose CUIT is the text, or whose name, CVU, alias or code begins with it; one more than `limit`, if there
/// are.
fn sorted(
    store: &dyn Index,
    realm: RealmId,
    text: &str,
    limit: usize,
) -> Result<Vec<Account>, StoreError> {
    let most = limit.strict_add(1);
    let mut numbers = Vec::new();
    if let Ok(cuit) = Cuit::parse(&text.replace('-', "")) {
        numbers.extend(reads::accounts_of_cuit(store, realm, cuit, most)?);
    }
    let folded = folded(text);
    for by in Sorted::ALL {
        // Codes keep the case in which the tenant writes them.
        let begins = match by {
            Sorted::Code => text,
            Sorted::Name | Sorted::Cvu | Sorted::Alias => &folded,
        };
        numbers.extend(reads::beginning(store, realm, by, begins, most)?);
    }
    let (mut seen, mut found) = (BTreeSet::new(), Vec::new());
    for number in numbers {
        if found.len() > limit {
            break;
        }
        if seen.insert(number) {
            let account = reads::profile(store, realm, number)?;
            found.extend(account.filter(|account| account.status != Status::Void));
        }
    }
    Ok(found)
}
