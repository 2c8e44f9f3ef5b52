//! The door for vouchers and their types.

use std::sync::Arc;

use caudal_ledger::balance::Direction;
use caudal_ledger::facts::RealmFact;
use caudal_ledger::ids::{RealmId, VoucherId};
use caudal_ledger::money::Money;
use caudal_ledger::rejection::Rejection;
use caudal_ledger::text::ExternalId;
use caudal_ledger::voucher_types::VoucherTypes;
use caudal_storage::{Index, StoreError};

use super::Queries;
use super::read_slots::ReadCost;
use crate::accounts::AccountVoucher;
use crate::failure::Failure;
use crate::realms::ListTypes;
use crate::records::projection::VoucherPlace;
use crate::records::{REALM, reads, realm_stream};

impl Queries<'_> {
    /// All present and former voucher types of a realm; for a realm that another node serves, those known here.
    ///
    /// # Errors
    /// Those of every door.
    pub async fn voucher_types(self, realm: RealmId) -> Result<VoucherTypes, Failure> {
        if self.0.is_at_rest() {
            let read = move |store: &dyn Index| types(store, realm);
            return self.0.scan(realm, ReadCost::Page, read).await;
        }
        self.0.ask(realm, ListTypes).await
    }

    /// A voucher by its id.
    pub async fn voucher(self, realm: RealmId, id: VoucherId) -> Result<AccountVoucher, Failure> {
        if id.realm != realm {
            return Err(Rejection::VoucherNotFound.into());
        }
        let place = VoucherPlace {
            account: id.account,
            sequence: id.sequence,
        };
        let read = move |store: &dyn Index| placed(store, realm, place);
        let found = self.0.scan(realm, ReadCost::Point, read).await?;
        let found = found.filter(|found| found.voucher.tag == id.tag);
        Ok(found.ok_or(Rejection::VoucherNotFound)?)
    }

    /// What of a voucher is reversed, and what can still be, in centavos; `None` if nothing of it is.
    ///
    /// # Errors
    /// When the store cannot be read, or no turn to read comes in time.
    pub async fn reversed(
        self,
        realm: RealmId,
        placed: &AccountVoucher,
    ) -> Result<Option<(Money, Money)>, Failure> {
        let AccountVoucher { account, voucher } = placed;
        let place = VoucherPlace {
            account: *account,
            sequence: voucher.sequence,
        };
        let read = move |store: &dyn Index| reads::money::reversed(store, realm, place);
        let reversed = self.0.scan(realm, ReadCost::Point, read).await?.amount;
        if reversed == Money::ZERO {
            return Ok(None);
        }
        let left = voucher.amount.money().minus(reversed);
        Ok(Some((reversed, left.unwrap_or(Money::ZERO))))
    }

    /// The adjustment that holds an external id; if both directions have one, the newer.
    pub async fn voucher_by_external(
        self,
        realm: RealmId,
        id: &ExternalId,
        direction: Option<Direction>,
    ) -> Result<AccountVoucher, Failure> {
        let id = id.clone();
        let read = move |store: &dyn Index| by_external(store, realm, &id, direction);
        let found = self.0.scan(realm, ReadCost::Point, read).await?;
        Ok(found.ok_or(Rejection::VoucherNotFound)?)
    }
}

/// The voucher at a place.
pub(super) fn placed(
    store: &dyn Index,
    realm: RealmId,
    place: VoucherPlace,
) -> Result<Option<AccountVoucher>, StoreError> {
    let voucher = reads::voucher(store, realm, place)?;
    Ok(voucher.map(|voucher| AccountVoucher {
        account: place.account,
        voucher: Arc::new(voucher),
    }))
}

/// The vouchers at some places. A voucher that never became durable is missing.
pub(super) fn all_placed(
    store: &dyn Index,
    realm: RealmId,
    places: impl Iterator<Item = VoucherPlace>,
) -> Result<Vec<AccountVoucher>, StoreError> {
    let found = places.map(|place| placed(store, realm, place));
    found.filter_map(Result::transpose).collect()
}

fn types(store: &dyn Index, realm: RealmId) -> Result<VoucherTypes, StoreError> {
    let mut types = VoucherTypes::default();
    reads::fold(
        store,
        realm_stream(realm, REALM),
        0,
        |fact: RealmFact, _, _| types.apply(&fact),
    )?;
    Ok(types)
}

fn by_external(
    store: &dyn Index,
    realm: RealmId,
    id: &ExternalId,
    direction: Option<Direction>,
) -> Result<Option<AccountVoucher>, StoreError> {
    let directions = direction.map_or(vec![Direction::Credit, Direction::Debit], |d| vec![d]);
    let mut found: Option<AccountVoucher> = None;
    for direction in directions {
        let held = reads::voucher_by_external(store, realm, direction, id)?;
        if let Some((account, voucher)) = held
            && found
                .as_ref()
                .is_none_or(|older| older.voucher.at <= voucher.at)
        {
            found = Some(AccountVoucher {
                account,
                voucher: Arc::new(voucher),
            });
        }
    }
    Ok(found)
}
