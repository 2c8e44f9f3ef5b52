//! Lists: movements of an account, vouchers of a realm, accounts.
//!
//! **Shape.** A list without a filter is a range of sequence numbers, and a page costs its own rows. With a filter, the
//! range that the dates leave is scanned, off the actors' threads.
//!
//! **Bounds.** A page scans a part of a long range (see [`look`]); pages take turns (see [`super::read_slots`]).

mod accounts;
pub(in crate::engine) mod bounded_scan;
mod internal;
mod pages;
mod realm;
mod search;

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

use super::Queries;
use super::read_slots::ReadCost;
use super::vouchers::all_placed;
use crate::accounts::AccountVoucher;
use crate::failure::Failure;
use crate::realms::Target;
use crate::records::marks::Marks;
use crate::records::projection::{InternalLine, VoucherPlace};
use crate::records::{LEDGER, account_stream, reads};
pub(super) use accounts::{directory, listed, profiles, rows};
use bounded_scan::{BoundedScan, ScanBudget, VOUCHER};
use pages::sorted;
pub(super) use pages::{Range, each_row};

pub use accounts::{AccountFilter, AccountScope, AccountSort};
pub use bounded_scan::ROWS as ROWS_MAX;
pub use caudal_storage::SortOrder;
pub use pages::{CursorMark, ListCursor, ListPage, Listing, ScannedPart};
pub use search::FoundIn;

/// How many records a scan reads at once.
const SCAN_PAGE: usize = 1000;
/// How far commits of one realm may be out of the order of their times, in milliseconds.
const TIME_SLACK: u64 = 60_000;

/// The order of vouchers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum VoucherSort {
    /// In the order in which they were posted.
    #[default]
    CreatedAt,
    /// By amount, in centavos.
    Amount,
}

/// The number of a type, with the realm's types, which tell whether a voucher is of that type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Numbered {
    /// The numeric id of the type.
    pub number: u64,
    /// The types that the realm has and had.
    pub types: VoucherTypes,
}

/// Which vouchers are wanted.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct VoucherFilter {
    /// Only of this direction.
    pub direction: Option<Direction>,
    /// Only of types with this code: the present type, and earlier types of the code.
    pub type_code: Option<TypeCode>,
    /// Only posted with the one type of this number.
    pub type_number: Option<Numbered>,
    /// Only with this kind of reference.
    pub reference_type: Option<ReferenceType>,
    /// Only posted at this instant or later.
    pub from: Option<Timestamp>,
    /// Only posted at this instant or earlier.
    pub to: Option<Timestamp>,
    /// This text in id, external id, description, reference, or the known data of the other side.
    pub text: Option<String>,
    /// Only of at least this many centavos.
    pub min: Option<i64>,
    /// Only of at most this many centavos.
    pub max: Option<i64>,
    /// Only with this tax id on the other side.
    pub counterparty: Option<Cuit>,
    /// Only adjustments and internal transfers.
    pub internal: bool,
    /// Only vouchers that add to the available balance, or only those that take from it.
    pub adds: Option<bool>,
    /// Only with this date of the tenant's own.
    pub external_date: Option<NaiveDate>,
}

impl VoucherFilter {
    /// Whether a page is a range of an account's movements: the filter has only dates.
    fn is_range(&self, sort: VoucherSort) -> bool {
        let dates = Self {
            from: self.from,
            to: self.to,
            ..Self::default()
        };
        *self == dates && sort == VoucherSort::CreatedAt
    }

    /// Whether a page is a range of the realm's internal vouchers.
    fn is_everything(&self, sort: VoucherSort) -> bool {
        let everything = Self {
            internal: true,
            ..Self::default()
        };
        *self == everything && sort == VoucherSort::CreatedAt
    }

    /// Whether the lines of the index hold everything that the filter needs.
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

    /// Whether a voucher may match, as far as its line can tell.
    fn lets_line(&self, line: &InternalLine) -> bool {
        let InternalLine {
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

    pub(super) fn lets(&self, realm: RealmId, account: AccountNo, voucher: &Voucher) -> bool {
        let code = self.type_code.as_ref();
        let numbered = self.type_number.as_ref();
        let reference = self.reference_type;
        let text = self.text.as_ref();
        self.lets_line(&InternalLine::of(account, voucher))
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

impl VoucherFilter {
    /// The marks of a block that has some of the wanted vouchers: the block needs one mark of each set.
    fn marks(&self) -> Vec<Marks> {
        let of = |adds| {
            let some = Direction::ALL.into_iter().filter(|it| it.adds() == adds);
            some.map(Marks::direction)
                .fold(Marks::default(), Marks::and)
        };
        let code = |asked: &Numbered| {
            let known = asked.types.find_legacy(asked.number).map(|it| it.code);
            known.or_else(|| asked.types.removed_code(asked.number).cloned())
        };
        let numbered = self.type_number.as_ref().and_then(code);
        let codes = [self.type_code.as_ref(), numbered.as_ref()];
        let wanted = [
            self.direction.map(Marks::direction),
            self.adds.map(of),
            self.reference_type.map(Marks::reference),
        ];
        let codes = codes.into_iter().flatten().map(Marks::code);
        wanted.into_iter().flatten().chain(codes).collect()
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

impl Queries<'_> {
    /// Movements of an account, as of now.
    pub async fn movements(
        self,
        realm: RealmId,
        target: Target,
        filter: VoucherFilter,
        sort: VoucherSort,
        page: ListPage,
    ) -> Result<Listing<AccountVoucher>, Failure> {
        let head = self.balance(realm, target).await?;
        let cost = ReadCost::scan_if(!filter.is_range(sort));
        let bound = self.0.list_rows;
        let read = move |store: &dyn Index| {
            let look = BoundedScan::of(&page, bound, (VOUCHER, VOUCHER));
            let of = (realm, head.account);
            movements(store, of, Range::to(head.sequence), &filter, sort, &look)
        };
        self.0.scan(realm, cost, read).await
    }

    /// Adjustments and internal transfers of the whole realm.
    pub async fn internal(
        self,
        realm: RealmId,
        filter: VoucherFilter,
        sort: VoucherSort,
        page: ListPage,
    ) -> Result<Listing<AccountVoucher>, Failure> {
        let cost = ReadCost::scan_if(!filter.is_everything(sort));
        let bound = self.0.list_rows;
        let read =
            move |store: &dyn Index| internal::list(store, realm, &filter, sort, (&page, bound));
        self.0.scan(realm, cost, read).await
    }

    /// All vouchers of the realm, in the order in which they were posted.
    pub async fn vouchers(
        self,
        realm: RealmId,
        filter: VoucherFilter,
        page: ListPage,
    ) -> Result<Listing<AccountVoucher>, Failure> {
        let bound = self.0.list_rows;
        let read = move |store: &dyn Index| realm::list(store, realm, &filter, (&page, bound));
        self.0.scan(realm, ReadCost::Scan, read).await
    }

    /// Accounts, without their movements.
    pub async fn accounts(
        self,
        realm: RealmId,
        filter: AccountFilter,
        sort: AccountSort,
        page: ListPage,
    ) -> Result<Listing<Account>, Failure> {
        let skips = sort != AccountSort::CreatedAt && page.offset > SCAN_PAGE;
        let cost = ReadCost::scan_if(filter.text.is_some() || skips);
        let bound = self.0.list_rows;
        let read =
            move |store: &dyn Index| accounts::accounts(store, realm, &filter, sort, &page, bound);
        self.0.scan(realm, cost, read).await
    }
}

/// Narrows a range of movements to the filter's dates.
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
    (realm, account): (RealmId, AccountNo),
    range: Range,
    filter: &VoucherFilter,
    sort: VoucherSort,
    look: &BoundedScan<'_>,
) -> Result<Listing<AccountVoucher>, Failure> {
    let range = within_dates(store, realm, account, range, filter)?;
    let page = look.page;
    let placed = |voucher| AccountVoucher {
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
        return Ok(Listing::of(items, range.len(), next));
    }
    let read = |order| {
        move |rest: &mut Range, size, _: &mut ScanBudget| {
            let ends = (rest.first, rest.last);
            let found = reads::vouchers(store, realm, account, ends, order, size)?;
            Ok(found.into_iter().map(|it| (it.sequence, it)).collect())
        }
    };
    let lets = |voucher: &Voucher| filter.lets(realm, account, voucher);
    let find = |sequence| reads::voucher(store, realm, VoucherPlace { account, sequence });
    if sort == VoucherSort::CreatedAt {
        let take = |_, voucher, _: &mut _| Ok(Some(voucher).filter(lets).map(placed));
        let time = |sequence| Ok(find(sequence)?.map(|voucher| voucher.at));
        return look.over(range, read(page.order), take, time);
    }
    look.sorts(range)?;
    let mut by_amount = Vec::new();
    let (mut rest, order) = (range, SortOrder::Ascending);
    while rest.len() > 0 {
        let vouchers: Vec<(u64, Voucher)> =
            read(order)(&mut rest, SCAN_PAGE, &mut ScanBudget::of(1))?;
        let Some((last, _)) = vouchers.last() else {
            break;
        };
        rest = rest.behind(*last, order);
        let found = vouchers.into_iter().filter(|(_, voucher)| lets(voucher));
        by_amount.extend(found.map(|(sequence, it)| ((it.amount, sequence), sequence)));
    }
    let mark = page.after().map(find).transpose()?.flatten();
    let mark = mark.map(|voucher| (voucher.amount, voucher.sequence));
    let listing = sorted(by_amount, mark.as_ref(), page);
    Ok(listing.try_with(|sequences| {
        let places = sequences.into_iter();
        let places = places.map(|sequence| VoucherPlace { account, sequence });
        all_placed(store, realm, places)
    })?)
}
