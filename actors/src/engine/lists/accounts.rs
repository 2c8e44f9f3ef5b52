//! The list of accounts: in order of registration from the index, otherwise sorted after a scan.

use caudal_ledger::accounts::{Account, Status};
use caudal_ledger::ids::{AccountNo, RealmId};
use caudal_ledger::text::folded;
use caudal_storage::{Order, Store, StoreError};

use super::SCAN_PAGE;
use super::pages::{Listing, Page, Picker, sorted};
use crate::records::projection::Listed;
use crate::records::{decode, keys, reads};

/// By what accounts are sorted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum AccountSort {
    /// In the order in which they were registered.
    #[default]
    CreatedAt,
    /// By the holder's name.
    HolderName,
    /// By CVU.
    Cvu,
    /// By alias.
    Alias,
}

/// Which accounts are asked for.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AccountFilter {
    /// This text in CVU, alias, holder's name or CUIT.
    pub text: Option<String>,
    /// Only in this state.
    pub status: Option<Status>,
}

impl AccountFilter {
    pub(in crate::engine) fn lets(&self, row: &Listed) -> bool {
        let text = |wanted: &String| {
            let wanted = folded(wanted);
            row.name.contains(&wanted)
                || row.cuit.as_str().contains(&wanted)
                || row.cvu.is_some_and(|cvu| cvu.as_str().contains(&wanted))
                || row
                    .alias
                    .as_ref()
                    .is_some_and(|alias| alias.folded().contains(&wanted))
        };
        row.cvu.is_some()
            && self.status.is_none_or(|wanted| wanted == row.status)
            && self.text.as_ref().is_none_or(text)
    }
}

pub(super) fn accounts(
    store: &dyn Store,
    realm: RealmId,
    filter: &AccountFilter,
    sort: AccountSort,
    page: &Page,
) -> Result<Listing<Account>, StoreError> {
    let census = reads::totals(store, realm)?.census;
    let everyone = census
        .active
        .saturating_add(census.suspended)
        .saturating_add(census.closed);
    // Without a filter the total is known, so a page may end as soon as it is full.
    let counted = *filter == AccountFilter::default();
    let order = if sort == AccountSort::CreatedAt {
        page.order
    } else {
        Order::Ascending
    };
    let mut picker = Picker::new(*page);
    let mut by_text = Vec::new();
    let (mut from, mut to) = (
        keys::directory(realm),
        keys::after_prefix(&keys::directory(realm)),
    );
    if let (Some(cursor), AccountSort::CreatedAt, true) = (page.cursor, sort, counted) {
        match order {
            Order::Ascending => {
                from = keys::directory_of(realm, AccountNo(cursor.saturating_add(1)));
            }
            Order::Descending => to = keys::directory_of(realm, AccountNo(cursor)),
        }
    }
    loop {
        let rows = store.scan(&from, &to, order, SCAN_PAGE)?;
        let Some((last, _)) = rows.last() else { break };
        match order {
            Order::Ascending => {
                from.clone_from(last);
                from.push(0);
            }
            Order::Descending => to.clone_from(last),
        }
        for (key, row) in &rows {
            let number = keys::account_of(key).unwrap_or(AccountNo(0));
            let row: Listed = decode(row)?;
            match (filter.lets(&row), sort) {
                (false, _) => {}
                (true, AccountSort::CreatedAt) => picker.offer(number.0, number),
                (true, _) => by_text.push(((sort_key(row, sort), number), number)),
            }
        }
        if counted && picker.more {
            break;
        }
    }
    let mut listing = match sort {
        AccountSort::CreatedAt => picker.listing(),
        AccountSort::HolderName | AccountSort::Cvu | AccountSort::Alias => sorted(by_text, page),
    };
    if counted {
        listing.total = everyone;
    }
    let Listing { items, total, next } = listing;
    let found: Result<Vec<_>, _> = items
        .into_iter()
        .map(|number| reads::profile(store, realm, number))
        .collect();
    Ok(Listing {
        items: found?.into_iter().flatten().collect(),
        total,
        next,
    })
}

fn sort_key(row: Listed, sort: AccountSort) -> String {
    match sort {
        AccountSort::CreatedAt => String::new(),
        AccountSort::HolderName => row.name,
        AccountSort::Cvu => row.cvu.map(|cvu| cvu.to_string()).unwrap_or_default(),
        AccountSort::Alias => row.alias.map(|alias| alias.folded()).unwrap_or_default(),
    }
}
