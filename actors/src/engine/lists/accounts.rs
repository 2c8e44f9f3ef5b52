//! The list of accounts: in order of registration from the index, otherwise sorted after a scan.

use caudal_ledger::accounts::{Account, Status};
use caudal_ledger::ids::{AccountNo, RealmId};
use caudal_ledger::text::folded;
use caudal_storage::{Order, Store, StoreError};

use super::SCAN_PAGE;
use super::pages::{Listing, Page, Picker, sorted};
use crate::records::projection::Listed;
use crate::records::{decode, keys, reads};
use caudal_ledger::treasury::Census;

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
    /// By the tenant's own code.
    Code,
    /// By the holder's CUIT.
    Cuit,
}

/// Which accounts a list is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum AccountScope {
    /// Those with a CVU; a text is looked for in CVU, alias, holder's name and CUIT.
    #[default]
    WithCvu,
    /// All; a text is looked for in CUIT, e-mail, names, code and number.
    Everyone,
}

/// Which accounts are asked for.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AccountFilter {
    /// This text in what the scope says.
    pub text: Option<String>,
    /// Only in this state.
    pub status: Option<Status>,
    /// Only enabled, or only disabled.
    pub enabled: Option<bool>,
    /// Which accounts.
    pub scope: AccountScope,
}

impl AccountFilter {
    /// How many accounts it lets pass, where a census tells: when nothing is filtered.
    fn total(&self, census: &Census) -> Option<u64> {
        let unfiltered = Self {
            scope: self.scope,
            ..Self::default()
        };
        let total = match self.scope {
            AccountScope::WithCvu => census.with_cvu(),
            AccountScope::Everyone => census.everyone(),
        };
        (*self == unfiltered).then_some(total)
    }

    /// The filter with its text folded, as rows are.
    pub(in crate::engine) fn folded(&self) -> Self {
        Self {
            text: self.text.as_deref().map(folded),
            ..self.clone()
        }
    }

    pub(in crate::engine) fn lets(&self, number: AccountNo, row: &Listed) -> bool {
        let listed = match self.scope {
            AccountScope::WithCvu => row.cvu.is_some(),
            AccountScope::Everyone => row.status != Status::Void,
        };
        let text = |wanted: &String| match self.scope {
            AccountScope::WithCvu => names_account(row, wanted),
            AccountScope::Everyone => names_wallet(number, row, wanted),
        };
        listed
            && self.status.is_none_or(|wanted| wanted == row.status)
            && self.enabled.is_none_or(|wanted| wanted == row.enabled)
            && self.text.as_ref().is_none_or(text)
    }
}

fn names_account(row: &Listed, wanted: &str) -> bool {
    let alias = |alias: &caudal_ledger::alias::Alias| alias.folded().contains(wanted);
    row.name.contains(wanted)
        || row.cuit.as_str().contains(wanted)
        || row.cvu.is_some_and(|cvu| cvu.as_str().contains(wanted))
        || row.alias.as_ref().is_some_and(alias)
}

fn names_wallet(number: AccountNo, row: &Listed, wanted: &str) -> bool {
    let part = |text: &Option<String>| {
        let found = |text: &String| folded(text).contains(wanted);
        text.as_ref().is_some_and(found)
    };
    // People write a CUIT with dashes between its three parts.
    let digits = wanted.replace('-', "");
    let cuit = !digits.is_empty() && row.cuit.as_str().contains(&digits);
    number.to_string() == wanted
        || cuit
        || row.name.contains(wanted)
        || part(&row.email)
        || part(&row.code)
        || part(&row.names.given)
        || part(&row.names.family)
        || part(&row.names.business)
}

pub(super) fn accounts(
    store: &dyn Store,
    realm: RealmId,
    filter: &AccountFilter,
    sort: AccountSort,
    page: &Page,
) -> Result<Listing<Account>, StoreError> {
    // Without a filter the total is known, so a page may end as soon as it is full.
    let everyone = filter.total(&reads::totals(store, realm)?.census);
    let counted = everyone.is_some();
    let filter = filter.folded();
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
            match (filter.lets(number, &row), sort) {
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
        AccountSort::HolderName
        | AccountSort::Cvu
        | AccountSort::Alias
        | AccountSort::Code
        | AccountSort::Cuit => sorted(by_text, page),
    };
    listing.total = everyone.unwrap_or(listing.total);
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
        AccountSort::Code => row.code.unwrap_or_default(),
        AccountSort::Cuit => row.cuit.to_string(),
    }
}
