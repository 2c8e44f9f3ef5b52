//! The door for holds and transfers.

use caudal_ledger::balance::Direction;
use caudal_ledger::cuit::Cuit;
use caudal_ledger::cvu::Cvu;
use caudal_ledger::facts::BankCall;
use caudal_ledger::holds::{Hold, HoldAmendment, HoldStatus, HoldStep};
use caudal_ledger::ids::{AccountNo, HoldId, OriginId, RealmId, TransferId};
use caudal_ledger::money::Amount;
use caudal_ledger::rejection::Rejection;
use caudal_ledger::text::ExternalId;
use caudal_ledger::time::Timestamp;
use caudal_ledger::transfers::{Transfer, TransferStatus};
use caudal_storage::{Index, SortOrder, StoreError};

use super::lists::bounded_scan::{ACCOUNT, BoundedScan, SINGLE, VOUCHER};
use super::lists::{CursorMark, ListCursor, ListPage, Listing, Range};
use super::read_slots::ReadCost;
use super::{Ledger, Queries, Requester};
use crate::accounts::{ChangeHold, FindHold, FindTransfer, StepHold};
use crate::failure::Failure;
use crate::realms::Target;
use crate::records::keys::TransferName;
use crate::records::projection::VoucherPlace;
use crate::records::{decode, keys, reads};
use crate::reply::Answered;

pub use crate::accounts::{HoldView, ItemOutcome, NoticeOutcome, TransferView};

/// The most calls to the bank that are shown with a transfer: the newest ones.
const CALLS_MAX: usize = 100;
/// The letter of cursors over the transfers of one account, whose numbers are the account's own.
const OF_ACCOUNT: u8 = b'f';

/// Which transfers are listed.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TransferFilter {
    /// Only in this state.
    pub status: Option<TransferStatus>,
    /// Only from this account.
    pub from: Option<Target>,
    /// Only those requested at this instant or later.
    pub since: Option<Timestamp>,
    /// Only those requested at this instant or earlier.
    pub until: Option<Timestamp>,
    /// Only those to a holder with this tax id.
    pub counterparty: Option<Cuit>,
    /// Only those of this amount, in centavos.
    pub amount: Option<i64>,
    /// Only the one that all these ids name.
    pub ids: TransferIds,
}

/// Ids of which each names at most one transfer of a realm.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TransferIds {
    /// The tenant's own id.
    pub external: Option<ExternalId>,
    /// The reference by which the bank knows it.
    pub origin: Option<String>,
    /// The bank's own id.
    pub bank: Option<String>,
    /// Its id on the rail, or that of money that came back of it.
    pub coelsa: Option<String>,
}

impl TransferFilter {
    /// Whether it names one transfer, which is found without looking at any other.
    fn names_one(&self) -> bool {
        self.ids != TransferIds::default()
    }

    fn lets(&self, transfer: &Transfer) -> bool {
        let to = transfer.resolved.as_deref();
        let to = to.and_then(|other| other.cuit.as_deref());
        self.status.is_none_or(|status| status == transfer.status)
            && self.since.is_none_or(|since| since <= transfer.created_at)
            && self.until.is_none_or(|until| transfer.created_at <= until)
            && self
                .counterparty
                .is_none_or(|cuit| to == Some(cuit.as_str()))
            && self
                .amount
                .is_none_or(|amount| amount == transfer.amount.centavos())
    }
}

impl Ledger<'_> {
    /// Confirms or releases a part of a hold, or the rest of it when no amount is given.
    pub async fn step_hold(
        self,
        realm: RealmId,
        id: HoldId,
        step: HoldStep,
        amount: Option<Amount>,
        dry_run: bool,
        requester: Requester<HoldView>,
    ) -> Answered<HoldView> {
        let order = StepHold {
            id,
            step,
            amount,
            dry_run,
        };
        let answered = self.0.order(realm, order, requester).await;
        answered.map_err(|why| not_found(why, Rejection::HoldNotFound))
    }

    /// Changes how much an open hold sets apart, or until when, or says what would happen.
    pub async fn change_hold(
        self,
        realm: RealmId,
        id: HoldId,
        change: HoldAmendment,
        dry_run: bool,
        requester: Requester<HoldView>,
    ) -> Answered<HoldView> {
        let order = ChangeHold {
            id,
            change,
            dry_run,
        };
        let answered = self.0.order(realm, order, requester).await;
        answered.map_err(|why| not_found(why, Rejection::HoldNotFound))
    }
}

impl Queries<'_> {
    /// A hold as it is, open or not.
    pub async fn hold(self, realm: RealmId, id: HoldId) -> Result<HoldView, Failure> {
        let (account, sequence) = (id.0.account, id.0.sequence);
        if id.0.realm != realm {
            return Err(Rejection::HoldNotFound.into());
        }
        let open = self
            .0
            .ask(realm, FindHold(id))
            .await
            .map_err(|why| not_found(why, Rejection::HoldNotFound))?;
        let hold = match open {
            Some(open) => open,
            // The answer came when everything that the account had done was on disk, so the index has the hold.
            None => {
                let read =
                    move |store: &dyn Index| reads::money::hold(store, realm, account, sequence);
                let found = self.0.scan(realm, ReadCost::Point, read).await?;
                found.ok_or(Rejection::HoldNotFound)?
            }
        };
        if hold.tag != id.0.tag {
            return Err(Rejection::HoldNotFound.into());
        }
        Ok(HoldView::read(account, hold))
    }

    /// The holds of all accounts of a realm, in the order of their opening, as of the last commit: a hold whose end has come
    /// is open until its account releases it.
    pub async fn realm_holds(
        self,
        realm: RealmId,
        filter: HoldFilter,
        page: ListPage,
    ) -> Result<Listing<HoldView>, Failure> {
        let point = filter == HoldFilter::default() || filter.external_id.is_some();
        let (cost, bound) = (ReadCost::scan_if(!point), self.0.list_rows);
        let read = move |store: &dyn Index| {
            let look = BoundedScan::of(&page, bound, (ACCOUNT, ACCOUNT));
            realm_holds(store, realm, &filter, &look)
        };
        self.0.scan(realm, cost, read).await
    }

    /// The holds of an account, in the order of their opening.
    pub async fn holds(
        self,
        realm: RealmId,
        target: Target,
        status: Option<HoldStatus>,
        page: ListPage,
    ) -> Result<Listing<HoldView>, Failure> {
        // This releases expired holds, and waits for everything in flight.
        let now = self.balance(realm, target).await?;
        let bound = self.0.list_rows;
        let read = move |store: &dyn Index| {
            let look = BoundedScan::of(&page, bound, (ACCOUNT, ACCOUNT));
            holds(store, realm, (now.account, now.sequence), status, &look)
        };
        self.0.scan(realm, ReadCost::Scan, read).await
    }

    /// A transfer as it is, with its last calls to the bank, oldest first.
    pub async fn transfer_of(
        self,
        realm: RealmId,
        id: TransferId,
    ) -> Result<(TransferView, Vec<(Timestamp, BankCall)>), Failure> {
        if id.0.realm != realm {
            return Err(Rejection::TransferNotFound.into());
        }
        let open = self
            .0
            .ask(realm, FindTransfer(id))
            .await
            .map_err(|why| not_found(why, Rejection::TransferNotFound))?;
        let place = VoucherPlace {
            account: id.0.account,
            sequence: id.0.sequence,
        };
        let known = open.is_some();
        let read = move |store: &dyn Index| {
            let kept = if known {
                None
            } else {
                reads::money::transfer(store, realm, place)?
            };
            let calls = reads::money::transfer_calls(store, realm, place, CALLS_MAX)?;
            Ok::<_, StoreError>((kept, calls))
        };
        let (kept, calls) = self.0.scan(realm, ReadCost::Point, read).await?;
        let transfer = open.or(kept).filter(|found| found.tag == id.0.tag);
        let transfer = transfer.ok_or(Rejection::TransferNotFound)?;
        let account = id.0.account;
        Ok((TransferView::read(account, transfer), calls))
    }

    /// The id of the transfer that holds an external id.
    pub async fn transfer_by_external(
        self,
        realm: RealmId,
        id: ExternalId,
    ) -> Result<TransferId, Failure> {
        let read = move |store: &dyn Index| reads::money::transfer_by_external(store, realm, &id);
        let found = self.0.scan(realm, ReadCost::Point, read).await?;
        let (account, transfer) = found.ok_or(Rejection::TransferNotFound)?;
        Ok(transfer.id(realm, account))
    }

    /// The transfers of a realm, in the order of their requests.
    pub async fn transfers(
        self,
        realm: RealmId,
        filter: TransferFilter,
        page: ListPage,
    ) -> Result<Listing<TransferView>, Failure> {
        let from = match filter.from {
            Some(target) => {
                let now = self.balance(realm, target).await?;
                Some((now.account, now.sequence))
            }
            None => None,
        };
        let point = filter == TransferFilter::default() || filter.names_one();
        let (cost, bound) = (ReadCost::scan_if(!point), self.0.list_rows);
        let read = move |store: &dyn Index| {
            let look = BoundedScan::of(&page, bound, (SINGLE, SINGLE));
            transfers(store, realm, &filter, from, &look)
        };
        self.0.scan(realm, cost, read).await
    }
}

/// An id without an account does not exist as its own kind either.
pub(super) fn not_found(why: Failure, what: Rejection) -> Failure {
    match why {
        Failure::Rejected(Rejection::AccountNotFound | Rejection::TenantNotFound) => what.into(),
        why => why,
    }
}

/// The holds of an account that has this many movements. Open holds also have rows of their own.
fn holds(
    store: &dyn Index,
    realm: RealmId,
    (account, movements): (AccountNo, u64),
    status: Option<HoldStatus>,
    look: &BoundedScan<'_>,
) -> Result<Listing<HoldView>, Failure> {
    let open = status == Some(HoldStatus::Open);
    let place = if open { keys::open_hold } else { keys::hold };
    let find = |sequence| reads::money::hold(store, realm, account, sequence);
    look.over(
        Range::to(movements),
        |rest, size, _| {
            let from = place(realm, account, rest.first);
            let to = keys::after_prefix(&place(realm, account, rest.last));
            let rows = store.scan(&from, &to, look.page.order, size)?;
            let read = |(key, row): &(Vec<u8>, Vec<u8>)| {
                let sequence = keys::number_of(key)?;
                let hold: Option<Hold> = if open {
                    find(sequence)?
                } else {
                    Some(decode(row)?)
                };
                Ok((sequence, hold))
            };
            rows.iter().map(read).collect()
        },
        |_, hold: Option<Hold>, _| {
            let hold = hold.filter(|hold| status.is_none_or(|wanted| wanted == hold.status()));
            Ok(hold.map(|hold| HoldView::read(account, hold)))
        },
        |sequence| Ok(find(sequence)?.map(|hold| hold.created_at)),
    )
}

/// Which holds of a realm.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct HoldFilter {
    /// Only those in this state.
    pub status: Option<HoldStatus>,
    /// Only those of this CVU.
    pub cvu: Option<Cvu>,
    /// Only the one with the tenant's own id.
    pub external_id: Option<ExternalId>,
    /// Only those that were opened at this time or later.
    pub since: Option<Timestamp>,
    /// Only those that were opened at this time or earlier.
    pub until: Option<Timestamp>,
}

impl HoldFilter {
    fn lets(&self, hold: &Hold) -> bool {
        self.status.is_none_or(|status| status == hold.status())
            && self.cvu.is_none_or(|cvu| cvu == hold.cvu)
            && self.since.is_none_or(|since| since <= hold.created_at)
            && self.until.is_none_or(|until| hold.created_at <= until)
    }
}

/// The holds of a realm, by the order of their opening; the one with an external id without looking at any other.
fn realm_holds(
    store: &dyn Index,
    realm: RealmId,
    filter: &HoldFilter,
    look: &BoundedScan<'_>,
) -> Result<Listing<HoldView>, Failure> {
    let view = |(account, hold)| HoldView::read(account, hold);
    if let Some(id) = &filter.external_id {
        let found = reads::voucher_by_external(store, realm, Direction::Hold, id)?;
        let hold = found.map(|(account, voucher)| {
            let hold = reads::money::hold(store, realm, account, voucher.sequence)?;
            Ok::<_, StoreError>(hold.map(|hold| (account, hold)))
        });
        let hold = hold.transpose()?.flatten();
        let hold = hold.filter(|(_, hold)| filter.lets(hold));
        let views = hold.map(view).into_iter().collect();
        return Ok(Listing::of_few(views, look.page));
    }
    let count = keys::count_in(store.get(&keys::hold_count(realm))?.as_deref())?;
    let at = |ordinal| reads::money::hold_at(store, realm, ordinal);
    let time = |ordinal| Ok(at(ordinal)?.map(|(_, hold)| hold.created_at));
    let range = Range::within(count, (filter.since, filter.until), time)?;
    look.over(
        range,
        |rest, size, _| {
            let ordinals = rest.first..=rest.last;
            let read = |ordinal| Ok(at(ordinal)?.map(|found| (ordinal, found)));
            let found = match look.page.order {
                SortOrder::Ascending => ordinals.take(size).map(read).collect(),
                SortOrder::Descending => ordinals.rev().take(size).map(read).collect(),
            };
            let found: Result<Vec<_>, StoreError> = found;
            Ok(found?.into_iter().flatten().collect())
        },
        |_, found: (AccountNo, Hold), _| {
            Ok(Some(found).filter(|(_, hold)| filter.lets(hold)).map(view))
        },
        time,
    )
}

fn transfers(
    store: &dyn Index,
    realm: RealmId,
    filter: &TransferFilter,
    from: Option<(AccountNo, u64)>,
    look: &BoundedScan<'_>,
) -> Result<Listing<TransferView>, Failure> {
    let page = look.page;
    if filter.names_one() {
        let from = from.map(|(account, _)| account);
        return Ok(one(store, realm, filter, from, page)?);
    }
    if let Some(from) = from {
        return of_account(store, realm, filter, from, look);
    }
    let count = keys::count_in(store.get(&keys::transfer_count(realm))?.as_deref())?;
    if *filter == TransferFilter::default() {
        let (shown, next) = Range::to(count).page(page);
        let rows = transfer_range(store, realm, shown, page.order, page.limit)?;
        let items = rows.into_iter().map(|(_, view)| view).collect();
        return Ok(Listing::of(items, count, next));
    }
    let time = |ordinal| Ok(transfer_at(store, realm, ordinal)?.map(|it| it.transfer.created_at));
    let range = Range::within(count, (filter.since, filter.until), time)?;
    look.over(
        range,
        |rest, size, _| transfer_range(store, realm, *rest, page.order, size),
        |_, view, _| Ok(Some(view).filter(|view| filter.lets(&view.transfer))),
        time,
    )
}

/// The transfers of one account that has this many movements: the account's own rows, by the number of each transfer.
fn of_account(
    store: &dyn Index,
    realm: RealmId,
    filter: &TransferFilter,
    (account, movements): (AccountNo, u64),
    look: &BoundedScan<'_>,
) -> Result<Listing<TransferView>, Failure> {
    if let Some(ListCursor { mark, .. }) = look.page.cursor
        && mark.is_none_or(|mark| mark.by() != OF_ACCOUNT)
    {
        return Err(Failure::NotACursor);
    }
    let look = BoundedScan {
        cost: (VOUCHER, VOUCHER),
        ..*look
    };
    let find = |sequence| reads::money::transfer(store, realm, VoucherPlace { account, sequence });
    let mut listing = look.over(
        Range::to(movements),
        |rest, size, _| {
            let from = keys::transfer(realm, account, rest.first);
            let to = keys::after_prefix(&keys::transfer(realm, account, rest.last));
            let rows = store.scan(&from, &to, look.page.order, size)?;
            let read = |(key, row): &(Vec<u8>, Vec<u8>)| Ok((keys::number_of(key)?, decode(row)?));
            rows.iter().map(read).collect()
        },
        |_, transfer: Transfer, _| {
            let lets = filter.lets(&transfer);
            Ok(lets.then_some(TransferView::read(account, transfer)))
        },
        |sequence| Ok(find(sequence)?.map(|transfer| transfer.created_at)),
    )?;
    listing.next = listing.next.map(|ListCursor { number, .. }| ListCursor {
        number,
        mark: CursorMark::new(OF_ACCOUNT, &[]),
    });
    Ok(listing)
}

/// The transfer that all ids of a filter name, if the filter matches it.
fn one(
    store: &dyn Index,
    realm: RealmId,
    filter: &TransferFilter,
    from: Option<AccountNo>,
    page: &ListPage,
) -> Result<Listing<TransferView>, StoreError> {
    let mut found = named(store, realm, &filter.ids)?;
    let first = found.pop().flatten().filter(|(account, transfer)| {
        let same = |(of, other): &(AccountNo, Transfer)| {
            (*of, other.sequence) == (*account, transfer.sequence)
        };
        found.iter().all(|it| it.as_ref().is_some_and(same))
            && filter.lets(transfer)
            && from.is_none_or(|from| from == *account)
    });
    let views = first.map(|(account, transfer)| TransferView::read(account, transfer));
    Ok(Listing::of_few(views.into_iter().collect(), page))
}

/// What each of these ids names.
pub(super) fn named(
    store: &dyn Index,
    realm: RealmId,
    ids: &TransferIds,
) -> Result<Vec<Option<(AccountNo, Transfer)>>, StoreError> {
    let mut found = Vec::new();
    if let Some(id) = &ids.external {
        found.push(reads::money::transfer_by_external(store, realm, id)?);
    }
    if let Some(text) = &ids.origin {
        let known = OriginId::parse(text)
            .map(|origin| reads::money::transfer_by_origin(store, origin))
            .transpose()?
            .flatten()
            .filter(|(of, ..)| *of == realm);
        found.push(known.map(|(_, account, transfer)| (account, transfer)));
    }
    if let Some(id) = &ids.bank {
        let kind = TransferName::Bank;
        found.push(reads::money::transfer_by_name(store, realm, kind, id)?);
    }
    if let Some(id) = &ids.coelsa {
        let left = reads::money::transfer_by_name(store, realm, TransferName::Rail, id)?;
        found.push(match left {
            Some(left) => Some(left),
            None => reads::money::transfer_by_return(store, realm, id)?,
        });
    }
    Ok(found)
}

/// The transfer with an ordinal.
fn transfer_at(
    store: &dyn Index,
    realm: RealmId,
    ordinal: u64,
) -> Result<Option<TransferView>, StoreError> {
    let only = Range {
        first: ordinal,
        last: ordinal,
    };
    let mut found = transfer_range(store, realm, only, SortOrder::Ascending, 1)?;
    Ok(found.pop().map(|(_, view)| view))
}

fn transfer_range(
    store: &dyn Index,
    realm: RealmId,
    range: Range,
    order: SortOrder,
    limit: usize,
) -> Result<Vec<(u64, TransferView)>, StoreError> {
    if range.len() == 0 {
        return Ok(Vec::new());
    }
    let from = keys::transfer_at(realm, range.first);
    let to = keys::transfer_at(realm, range.last.saturating_add(1));
    let mut found = Vec::new();
    for (key, row) in store.scan(&from, &to, order, limit)? {
        let place = VoucherPlace::from_bytes(&row)?;
        let ordinal = keys::number_of(&key)?;
        if let Some(transfer) = reads::money::transfer(store, realm, place)? {
            let account = place.account;
            found.push((ordinal, TransferView::read(account, transfer)));
        }
    }
    Ok(found)
}
