//! Lists: movements of an account, vouchers of a realm, accounts.
//!
//! **Shape.** What needs no filter is a range of sequence numbers and costs what the page costs.
//! With a filter, the range that dates leave is scanned, off the actors' threads.
//!
//! **Bounds.** See [`super::turns`].

mod accounts;
mod pages;

use std::sync::Arc;

use caudal_ledger::accounts::Account;
use caudal_ledger::balance::Direction;
use caudal_ledger::ids::{AccountNo, RealmId, VoucherId};
use caudal_ledger::text::{ExternalId, folded};
use caudal_ledger::time::Timestamp;
use caudal_ledger::voucher_types::TypeCode;
use caudal_ledger::vouchers::{ReferenceType, Voucher};
use caudal_storage::{Store, StoreError};

use super::Engine;
use super::turns::Cost;
use crate::accounts::Placed;
use crate::failure::Failure;
use crate::realms::Target;
use crate::records::projection::Place;
use crate::records::{LEDGER, account_stream, keys, reads};
pub(super) use accounts::listed;
use pages::sorted;
pub(super) use pages::{Picker, Range};

pub use accounts::{AccountFilter, AccountScope, AccountSort};
pub use caudal_storage::Order;
pub use pages::{Listing, Page};

/// How many records a scan reads at once.
const SCAN_PAGE: usize = 1000;
/// Commits of one realm may be this far out of the order of their times, in milliseconds.
const TIME_SLACK: u64 = 60_000;

/// By what vouchers are sorted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum VoucherSort {
    /// In the order in which they were posted.
    #[default]
    CreatedAt,
    /// By amount.
    Amount,
}

/// Which vouchers are asked for.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct VoucherFilter {
    /// Only of this direction.
    pub direction: Option<Direction>,
    /// Only of this type.
    pub type_code: Option<TypeCode>,
    /// Only with this kind of reference.
    pub reference_type: Option<ReferenceType>,
    /// Not before.
    pub from: Option<Timestamp>,
    /// Not after.
    pub to: Option<Timestamp>,
    /// This text in id, external id, description or reference.
    pub text: Option<String>,
    /// At least.
    pub min: Option<i64>,
    /// At most.
    pub max: Option<i64>,
    /// Only adjustments and internal transfers.
    pub internal: bool,
}

impl VoucherFilter {
    /// Whether a page is a range of the movements of an account: only dates are asked for.
    fn is_range(&self, sort: VoucherSort) -> bool {
        let dates = Self {
            from: self.from,
            to: self.to,
            ..Self::default()
        };
        *self == dates && sort == VoucherSort::CreatedAt
    }

    /// Whether a page is a range of what is internal to the realm.
    fn is_everything(&self, sort: VoucherSort) -> bool {
        let everything = Self {
            internal: true,
            ..Self::default()
        };
        *self == everything && sort == VoucherSort::CreatedAt
    }

    fn lets(&self, realm: RealmId, account: AccountNo, voucher: &Voucher) -> bool {
        let Voucher {
            direction,
            amount,
            at,
            ..
        } = voucher;
        self.direction.is_none_or(|wanted| wanted == *direction)
            && self
                .type_code
                .as_ref()
                .is_none_or(|wanted| *wanted == voucher.type_code)
            && self
                .reference_type
                .is_none_or(|wanted| wanted == voucher.reference_type)
            && self.from.is_none_or(|from| from <= *at)
            && self.to.is_none_or(|to| *at <= to)
            && self.min.is_none_or(|min| min <= amount.centavos())
            && self.max.is_none_or(|max| amount.centavos() <= max)
            && (!self.internal || voucher.is_internal())
            && self
                .text
                .as_ref()
                .is_none_or(|text| mentions(realm, account, voucher, text))
    }
}

fn mentions(realm: RealmId, account: AccountNo, voucher: &Voucher, text: &str) -> bool {
    let text = folded(text);
    let id = VoucherId {
        realm,
        account,
        sequence: voucher.sequence,
    }
    .to_string();
    let texts = [
        Some(id.as_str()),
        voucher.external_id.as_ref().map(ExternalId::as_str),
        voucher.description.as_deref(),
        voucher.reference_id.as_deref(),
    ];
    texts
        .into_iter()
        .flatten()
        .any(|field| folded(field).contains(&text))
}

impl Engine {
    /// Movements of an account, as of now.
    pub async fn movements(
        &self,
        realm: RealmId,
        target: Target,
        filter: VoucherFilter,
        sort: VoucherSort,
        page: Page,
    ) -> Result<Listing<Placed>, Failure> {
        let head = self.balance(realm, target).await?;
        let cost = Cost::scan_if(!filter.is_range(sort));
        self.scan(realm, cost, move |store| {
            let range = Range {
                first: 1,
                last: head.sequence,
            };
            movements(store, realm, head.account, range, &filter, sort, &page)
        })
        .await
    }

    /// Adjustments and internal transfers of the whole realm.
    pub async fn internal(
        &self,
        realm: RealmId,
        filter: VoucherFilter,
        sort: VoucherSort,
        page: Page,
    ) -> Result<Listing<Placed>, Failure> {
        let cost = Cost::scan_if(!filter.is_everything(sort));
        self.scan(realm, cost, move |store| {
            internal(store, realm, &filter, sort, &page)
        })
        .await
    }

    /// Accounts, without their movements.
    pub async fn accounts(
        &self,
        realm: RealmId,
        filter: AccountFilter,
        sort: AccountSort,
        page: Page,
    ) -> Result<Listing<Account>, Failure> {
        let skips = sort != AccountSort::CreatedAt && page.offset > SCAN_PAGE;
        let cost = Cost::scan_if(filter.text.is_some() || skips);
        self.scan(realm, cost, move |store| {
            accounts::accounts(store, realm, &filter, sort, &page)
        })
        .await
    }
}

/// Narrows a range of movements to what the dates leave.
fn within_dates(
    store: &dyn Store,
    realm: RealmId,
    account: AccountNo,
    range: Range,
    filter: &VoucherFilter,
) -> Result<Range, StoreError> {
    let stream = account_stream(realm, account, LEDGER);
    let up_to = |at: Timestamp| {
        store
            .seq_at(stream, at.millis())
            .map(|seq| seq.unwrap_or(0))
    };
    let first = match filter.from.and_then(|from| from.millis().checked_sub(1)) {
        Some(before) => up_to(Timestamp::from_millis(before))?
            .saturating_add(1)
            .max(range.first),
        None => range.first,
    };
    let last = match filter.to {
        Some(to) => up_to(to)?.min(range.last),
        None => range.last,
    };
    Ok(Range { first, last })
}

fn movements(
    store: &dyn Store,
    realm: RealmId,
    account: AccountNo,
    range: Range,
    filter: &VoucherFilter,
    sort: VoucherSort,
    page: &Page,
) -> Result<Listing<Placed>, StoreError> {
    let range = within_dates(store, realm, account, range, filter)?;
    let placed = |voucher| Placed {
        account,
        voucher: Arc::new(voucher),
    };
    if filter.is_range(sort) {
        let (shown, next) = range.page(page);
        let ends = (shown.first, shown.last);
        let vouchers = match shown.len() {
            0 => Vec::new(),
            _ => reads::vouchers(store, realm, account, ends, page.order, page.limit)?,
        };
        let items = vouchers.into_iter().map(placed).collect();
        return Ok(Listing {
            items,
            total: range.len(),
            next,
        });
    }
    let order = if sort == VoucherSort::Amount {
        Order::Ascending
    } else {
        page.order
    };
    let mut picker = Picker::new(*page);
    let mut by_amount = Vec::new();
    let mut rest = range;
    while rest.len() > 0 {
        let vouchers = reads::vouchers(
            store,
            realm,
            account,
            (rest.first, rest.last),
            order,
            SCAN_PAGE,
        )?;
        let Some(last) = vouchers.last() else { break };
        match order {
            Order::Ascending => rest.first = last.sequence.saturating_add(1),
            Order::Descending if last.sequence == 0 => break,
            Order::Descending => rest.last = last.sequence.saturating_sub(1),
        }
        for voucher in vouchers
            .into_iter()
            .filter(|v| filter.lets(realm, account, v))
        {
            let sequence = voucher.sequence;
            match sort {
                VoucherSort::CreatedAt => picker.offer(sequence, placed(voucher)),
                VoucherSort::Amount => by_amount.push(((voucher.amount, sequence), sequence)),
            }
        }
    }
    if sort == VoucherSort::CreatedAt {
        return Ok(picker.listing());
    }
    let Listing { items, total, next } = sorted(by_amount, page);
    let find = |sequence| reads::voucher(store, realm, Place { account, sequence });
    let found: Result<Vec<_>, _> = items.into_iter().map(find).collect();
    let items = found?.into_iter().flatten().map(placed).collect();
    Ok(Listing { items, total, next })
}

fn internal_place(
    store: &dyn Store,
    realm: RealmId,
    ordinal: u64,
) -> Result<Option<Place>, StoreError> {
    let row = store.get(&keys::internal(realm, ordinal))?;
    row.map(|row| Place::from_bytes(&row)).transpose()
}

/// The first ordinal whose voucher is not before `at`.
fn first_internal(
    store: &dyn Store,
    realm: RealmId,
    count: u64,
    at: Timestamp,
) -> Result<u64, StoreError> {
    let (mut low, mut high) = (1_u64, count.saturating_add(1));
    while low < high {
        let middle = low.saturating_add(high.saturating_sub(low) / 2);
        let place = internal_place(store, realm, middle)?;
        let voucher = match place {
            Some(place) => reads::voucher(store, realm, place)?,
            None => None,
        };
        if voucher.is_some_and(|voucher| voucher.at < at) {
            low = middle.saturating_add(1);
        } else {
            high = middle;
        }
    }
    Ok(low)
}

fn internal(
    store: &dyn Store,
    realm: RealmId,
    filter: &VoucherFilter,
    sort: VoucherSort,
    page: &Page,
) -> Result<Listing<Placed>, StoreError> {
    let count = store
        .get(&keys::internal_count(realm))?
        .and_then(|row| row.first_chunk::<8>().copied())
        .map_or(0, u64::from_be_bytes);
    let all = Range {
        first: 1,
        last: count,
    };
    if filter.is_everything(sort) {
        let (shown, next) = all.page(page);
        let items = internal_range(store, realm, shown, page.order, page.limit)?;
        let items = items.into_iter().map(|(_, placed)| placed).collect();
        return Ok(Listing {
            items,
            total: count,
            next,
        });
    }
    let mut rest = all;
    if let Some(from) = filter.from {
        let from = Timestamp::from_millis(from.millis().saturating_sub(TIME_SLACK));
        rest.first = first_internal(store, realm, count, from)?;
    }
    if let Some(to) = filter.to {
        let after = first_internal(store, realm, count, to.plus_millis(TIME_SLACK))?;
        rest.last = after.saturating_sub(1);
    }
    let order = if sort == VoucherSort::Amount {
        Order::Ascending
    } else {
        page.order
    };
    let mut picker = Picker::new(*page);
    let mut by_amount = Vec::new();
    while rest.len() > 0 {
        let rows = internal_range(store, realm, rest, order, SCAN_PAGE)?;
        let Some((last, _)) = rows.last() else { break };
        match order {
            Order::Ascending => rest.first = last.saturating_add(1),
            Order::Descending => rest.last = last.saturating_sub(1),
        }
        for (ordinal, placed) in rows {
            if !filter.lets(realm, placed.account, &placed.voucher) {
                continue;
            }
            match sort {
                VoucherSort::CreatedAt => picker.offer(ordinal, placed),
                VoucherSort::Amount => by_amount.push(((placed.voucher.amount, ordinal), ordinal)),
            }
        }
    }
    if sort == VoucherSort::CreatedAt {
        return Ok(picker.listing());
    }
    let Listing { items, total, next } = sorted(by_amount, page);
    let found: Result<Vec<_>, _> = items
        .into_iter()
        .map(|ordinal| {
            let only = Range {
                first: ordinal,
                last: ordinal,
            };
            internal_range(store, realm, only, Order::Ascending, 1)
        })
        .collect();
    let items = found?.into_iter().flatten().map(|(_, placed)| placed);
    let items = items.collect();
    Ok(Listing { items, total, next })
}

fn internal_range(
    store: &dyn Store,
    realm: RealmId,
    range: Range,
    order: Order,
    limit: usize,
) -> Result<Vec<(u64, Placed)>, StoreError> {
    if range.len() == 0 {
        return Ok(Vec::new());
    }
    let from = keys::internal(realm, range.first);
    let to = keys::internal(realm, range.last.saturating_add(1));
    let rows = store.scan(&from, &to, order, limit)?;
    let mut found = Vec::with_capacity(rows.len());
    for (key, row) in rows {
        let place = Place::from_bytes(&row)?;
        let ordinal = keys::account_of(&key).map_or(0, |number| number.0);
        if let Some(voucher) = reads::voucher(store, realm, place)? {
            found.push((
                ordinal,
                Placed {
                    account: place.account,
                    voucher: Arc::new(voucher),
                },
            ));
        }
    }
    Ok(found)
}
