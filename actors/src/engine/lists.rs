//! Lists: movements of an account, vouchers of a realm, accounts.
//!
//! **Shape.** What needs no filter is a range of sequence numbers and costs what the page costs.
//! With a filter, the range that dates leave is scanned, off the actors' threads.
//!
//! **Bounds.** See [`super::read_slots`].

mod accounts;
mod internal;
mod pages;
mod realm;

use std::sync::Arc;

use caudal_ledger::accounts::Account;
use caudal_ledger::balance::Direction;
use caudal_ledger::cuit::Cuit;
use caudal_ledger::ids::{AccountNo, RealmId};
use caudal_ledger::text::{ExternalId, folded};
use caudal_ledger::time::Timestamp;
use caudal_ledger::voucher_types::{TypeCode, VoucherTypes};
use caudal_ledger::vouchers::{ReferenceType, Voucher};
use caudal_storage::{Index, StoreError};
use chrono::NaiveDate;

use super::Engine;
use super::read_slots::Cost;
use crate::accounts::Placed;
use crate::failure::Failure;
use crate::realms::Target;
use crate::records::projection::{Line, Place};
use crate::records::{LEDGER, account_stream, reads};
pub(super) use accounts::listed;
use pages::sorted;
pub(super) use pages::{Picker, Range};

pub use accounts::{AccountFilter, AccountScope, AccountSort};
pub use caudal_storage::SortOrder;
pub use pages::{Cursor, ListPage, Listing, Mark};

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
    /// By amount, in centavos.
    Amount,
}

/// The number of a type, and the types of the realm, by which a voucher is known to be of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Numbered {
    /// The numeric id of the type.
    pub number: u64,
    /// The types that the realm has and had.
    pub types: VoucherTypes,
}

/// Which vouchers are asked for.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct VoucherFilter {
    /// Only of this direction.
    pub direction: Option<Direction>,
    /// Only of types of this code: the one that is there now, and those that were there before.
    pub type_code: Option<TypeCode>,
    /// Only posted with the one type of this number.
    pub type_number: Option<Numbered>,
    /// Only with this kind of reference.
    pub reference_type: Option<ReferenceType>,
    /// Only posted at this instant or later.
    pub from: Option<Timestamp>,
    /// Only posted at this instant or earlier.
    pub to: Option<Timestamp>,
    /// This text in id, external id, description, reference, or what is known of the other side.
    pub text: Option<String>,
    /// Only of at least so many centavos.
    pub min: Option<i64>,
    /// Only of at most so many centavos.
    pub max: Option<i64>,
    /// Only with this tax id on the other side.
    pub counterparty: Option<Cuit>,
    /// Only adjustments and internal transfers.
    pub internal: bool,
    /// Only what adds to what is available, or only what takes from it.
    pub adds: Option<bool>,
    /// Only with this date of the tenant's own.
    pub external_date: Option<NaiveDate>,
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

    /// Whether lines hold all that is asked.
    const fn is_of_lines(&self) -> bool {
        let Self {
            type_code,
            type_number,
            reference_type,
            text,
            external_date,
            counterparty,
            ..
        } = self;
        type_code.is_none()
            && type_number.is_none()
            && reference_type.is_none()
            && text.is_none()
            && external_date.is_none()
            && counterparty.is_none()
    }

    /// Whether a line may be shown, as far as it can tell.
    fn lets_line(&self, line: &Line) -> bool {
        let Line {
            at,
            amount,
            direction,
            ..
        } = *line;
        self.direction.is_none_or(|wanted| wanted == direction)
            && self.adds.is_none_or(|wanted| wanted == direction.adds())
            && self.from.is_none_or(|from| from <= at)
            && self.to.is_none_or(|to| at <= to)
            && self.min.is_none_or(|min| min <= amount)
            && self.max.is_none_or(|max| amount <= max)
    }

    fn lets(&self, realm: RealmId, account: AccountNo, voucher: &Voucher) -> bool {
        let code = self.type_code.as_ref();
        let numbered = self.type_number.as_ref();
        let reference = self.reference_type;
        let text = self.text.as_ref();
        self.lets_line(&Line::of(account, voucher))
            && code.is_none_or(|wanted| *wanted == voucher.type_code)
            && numbered.is_none_or(|wanted| wanted.types.number_of(voucher) == Some(wanted.number))
            && reference.is_none_or(|wanted| wanted == voucher.reference_type)
            && (!self.internal || voucher.is_internal())
            && self
                .external_date
                .is_none_or(|day| voucher.external_date == Some(day))
            && self
                .counterparty
                .is_none_or(|cuit| has_counterparty(voucher, cuit))
            && text.is_none_or(|text| mentions(realm, account, voucher, text))
    }
}

fn has_counterparty(voucher: &Voucher, cuit: Cuit) -> bool {
    let other = voucher.counterparty.as_deref();
    other.is_some_and(|other| other.cuit.as_deref() == Some(cuit.as_str()))
}

fn mentions(realm: RealmId, account: AccountNo, voucher: &Voucher, text: &str) -> bool {
    let text = folded(text);
    let id = voucher.id(realm, account).to_string();
    let texts = [
        Some(id.as_str()),
        voucher.external_id.as_ref().map(ExternalId::as_str),
        voucher.description.as_deref(),
        voucher.reference_id.as_deref(),
    ];
    let has = |field: &str| folded(field).contains(&text);
    let other = voucher.counterparty.as_deref();
    texts.into_iter().flatten().any(has) || other.is_some_and(|other| other.mentions(has))
}

impl Engine {
    /// Movements of an account, as of now.
    pub async fn movements(
        &self,
        realm: RealmId,
        target: Target,
        filter: VoucherFilter,
        sort: VoucherSort,
        page: ListPage,
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
        page: ListPage,
    ) -> Result<Listing<Placed>, Failure> {
        let cost = Cost::scan_if(!filter.is_everything(sort));
        self.scan(realm, cost, move |store| {
            internal::list(store, realm, &filter, sort, &page)
        })
        .await
    }

    /// All vouchers of the realm, in the order in which they were posted.
    pub async fn vouchers(
        &self,
        realm: RealmId,
        filter: VoucherFilter,
        page: ListPage,
    ) -> Result<Listing<Placed>, Failure> {
        self.scan(realm, Cost::Scan, move |store| {
            realm::list(store, realm, &filter, &page)
        })
        .await
    }

    /// Accounts, without their movements.
    pub async fn accounts(
        &self,
        realm: RealmId,
        filter: AccountFilter,
        sort: AccountSort,
        page: ListPage,
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
    store: &dyn Index,
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
    store: &dyn Index,
    realm: RealmId,
    account: AccountNo,
    range: Range,
    filter: &VoucherFilter,
    sort: VoucherSort,
    page: &ListPage,
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
        SortOrder::Ascending
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
            SortOrder::Ascending => rest.first = last.sequence.saturating_add(1),
            SortOrder::Descending if last.sequence == 0 => break,
            SortOrder::Descending => rest.last = last.sequence.saturating_sub(1),
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
    let find = |sequence| reads::voucher(store, realm, Place { account, sequence });
    let mark = page.after().map(find).transpose()?.flatten();
    let mark = mark.map(|voucher| (voucher.amount, voucher.sequence));
    let Listing { items, total, next } = sorted(by_amount, mark.as_ref(), page);
    let found: Result<Vec<_>, _> = items.into_iter().map(find).collect();
    let items = found?.into_iter().flatten().map(placed).collect();
    Ok(Listing { items, total, next })
}
