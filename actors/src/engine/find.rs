//! Finds what an id names: the tenant's own id, COELSA's, the bank's, or our reference at the bank.
//!
//! **Cost.** Each kind of id has a row, so nothing is scanned: a search reads a few rows, however much is stored.
//!
//! **Bounds.** An id names at most one transfer, one case, and two vouchers of each direction: [`FOUND_MAX`] in all.

use std::collections::BTreeSet;

use caudal_ledger::balance::Direction;
use caudal_ledger::cases::{Parked, SuspensePlace};
use caudal_ledger::cvu::Cvu;
use caudal_ledger::ids::{AccountNo, RealmId};
use caudal_ledger::money::Amount;
use caudal_ledger::text::ExternalId;
use caudal_ledger::time::Timestamp;
use caudal_storage::{Index, StoreError};

use super::Queries;
use super::lists::{ListPage, Listing, VoucherFilter};
use super::money::{TransferIds, named};
use super::read_slots::ReadCost;
use super::vouchers::all_placed;
use crate::accounts::{AccountVoucher, TransferView};
use crate::failure::Failure;
use crate::records::keys::{Rail, TransferName};
use crate::records::projection::VoucherPlace;
use crate::records::reads;

/// The most that one id names.
pub const FOUND_MAX: usize = 12;

/// What an id names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Found {
    /// A transfer.
    Transfer(Box<TransferView>),
    /// Money that arrived and waits, or waited, for a person.
    Case(Box<Parked>),
    /// A voucher.
    Voucher(AccountVoucher),
}

/// What lists show of something found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FoundSummary {
    /// `transfer`, `case` or `voucher`.
    pub kind: &'static str,
    /// Its id.
    pub id: String,
    /// The CVU whose money it is about.
    pub cvu: Cvu,
    /// The amount, in centavos.
    pub amount: Amount,
    /// When it was requested or posted, or began to wait.
    pub at: Timestamp,
}

impl Found {
    /// The same in a line, for something of a realm.
    pub fn summary(&self, realm: RealmId) -> FoundSummary {
        let (kind, id, cvu, amount, at) = match self {
            Self::Transfer(view) => {
                let it = &view.transfer;
                let id = it.id(realm, view.account).to_string();
                ("transfer", id, it.from, it.amount, it.created_at)
            }
            Self::Case(parked) => {
                let it = &parked.suspense.cash_in;
                let id = parked.id(realm).to_string();
                ("case", id, it.cvu, it.amount, parked.since)
            }
            Self::Voucher(placed) => {
                let it = &placed.voucher;
                let id = it.id(realm, placed.account).to_string();
                ("voucher", id, it.cvu, it.amount, it.at)
            }
        };
        FoundSummary {
            kind,
            id,
            cvu,
            amount,
            at,
        }
    }
}

/// Ids by which vouchers of a realm are found.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct VoucherIds {
    /// The tenant's own id.
    pub external: Option<ExternalId>,
    /// The id on the rail of the money that moved.
    pub coelsa: Option<String>,
}

impl Queries<'_> {
    /// Everything in a realm that an id names.
    ///
    /// # Errors
    /// When the store cannot be read, or no turn to read comes in time.
    pub async fn find(self, realm: RealmId, id: &str) -> Result<Vec<Found>, Failure> {
        let id = id.to_owned();
        let read = move |store: &dyn Index| found(store, realm, &id);
        self.0.scan(realm, ReadCost::Point, read).await
    }

    /// The vouchers that all these ids name, as far as a filter matches them.
    ///
    /// # Errors
    /// As [`Self::find`].
    pub async fn vouchers_named(
        self,
        realm: RealmId,
        ids: VoucherIds,
        filter: VoucherFilter,
        page: ListPage,
    ) -> Result<Listing<AccountVoucher>, Failure> {
        let read = move |store: &dyn Index| {
            let mut found = vouchers(store, realm, &ids)?;
            found.retain(|it| filter.lets(realm, it.account, &it.voucher));
            Ok::<_, StoreError>(Listing::of_few(found, &page))
        };
        self.0.scan(realm, ReadCost::Point, read).await
    }
}

fn found(store: &dyn Index, realm: RealmId, id: &str) -> Result<Vec<Found>, StoreError> {
    let external = ExternalId::parse(id).ok();
    let ids = TransferIds {
        external: external.clone(),
        origin: Some(id.to_owned()),
        bank: Some(id.to_owned()),
        coelsa: Some(id.to_owned()),
    };
    let mut all = Vec::new();
    let mut seen = BTreeSet::new();
    for (account, transfer) in named(store, realm, &ids)?.into_iter().flatten() {
        if seen.insert((account, transfer.sequence)) {
            let view = TransferView::read(account, transfer);
            all.push(Found::Transfer(Box::new(view)));
        }
    }
    let arrived = reads::money::landed(store, realm, Rail::Arrival, id)?;
    if let Some(waits) = arrived.filter(|landed| landed.suspended) {
        let place = SuspensePlace {
            account: waits.account,
            sequence: waits.sequence,
        };
        let parked = reads::cases::parked(store, realm, place)?;
        all.extend(parked.map(|parked| Found::Case(Box::new(parked))));
    }
    let mut places = of_rail(store, realm, id)?;
    if let Some(external) = &external {
        places.extend(of_external(store, realm, external)?);
    }
    all.extend(read(store, realm, places)?.into_iter().map(Found::Voucher));
    all.truncate(FOUND_MAX);
    Ok(all)
}

/// The vouchers that all these ids name, oldest first.
fn vouchers(
    store: &dyn Index,
    realm: RealmId,
    ids: &VoucherIds,
) -> Result<Vec<AccountVoucher>, StoreError> {
    let mut sets = Vec::new();
    if let Some(id) = &ids.external {
        sets.push(of_external(store, realm, id)?);
    }
    if let Some(id) = &ids.coelsa {
        sets.push(of_rail(store, realm, id)?);
    }
    let all = sets.pop().into_iter().flatten();
    let places = all.filter(|place| sets.iter().all(|other| other.contains(place)));
    read(store, realm, places)
}

/// The vouchers at these places, oldest first.
fn read(
    store: &dyn Index,
    realm: RealmId,
    places: impl IntoIterator<Item = (AccountNo, u64)>,
) -> Result<Vec<AccountVoucher>, StoreError> {
    let places = places.into_iter();
    let places = places.map(|(account, sequence)| VoucherPlace { account, sequence });
    let mut found = all_placed(store, realm, places)?;
    found.sort_by_key(|it| (it.voucher.at, it.account, it.voucher.sequence));
    Ok(found)
}

/// The vouchers that were posted with the tenant's own id, and those of the sender of the transfer that has it.
fn of_external(
    store: &dyn Index,
    realm: RealmId,
    id: &ExternalId,
) -> Result<BTreeSet<(AccountNo, u64)>, StoreError> {
    let mut places = BTreeSet::new();
    for direction in Direction::ALL {
        let found = reads::voucher_by_external(store, realm, direction, id)?;
        places.extend(found.map(|(account, voucher)| (account, voucher.sequence)));
    }
    if let Some((account, transfer)) = reads::money::transfer_by_external(store, realm, id)? {
        places.insert((account, transfer.sequence));
        let left = reads::money::confirmed(store, realm, account, transfer.sequence)?;
        places.extend(left.map(|sequence| (account, sequence)));
    }
    Ok(places)
}

/// The vouchers of money that arrived, left or came back under an id of the rail.
fn of_rail(
    store: &dyn Index,
    realm: RealmId,
    id: &str,
) -> Result<BTreeSet<(AccountNo, u64)>, StoreError> {
    let mut places = BTreeSet::new();
    for kind in [Rail::Arrival, Rail::Return] {
        let landed = reads::money::landed(store, realm, kind, id)?;
        let landed = landed.filter(|it| !it.suspended);
        places.extend(landed.map(|it| (it.account, it.sequence)));
    }
    if let Some((account, transfer)) =
        reads::money::transfer_by_name(store, realm, TransferName::Rail, id)?
    {
        let left = reads::money::confirmed(store, realm, account, transfer.sequence)?;
        places.extend(left.map(|sequence| (account, sequence)));
    }
    Ok(places)
}
