//! The body of a hold.

use std::collections::BTreeMap;

use super::metadata::Metadata;
use super::texts::{Instant, Pesos};
use super::words::HoldStatusWord;
use caudal_actors::accounts::HoldView;
use caudal_ledger::balance::Balance;
use caudal_ledger::ids::{RealmId, VoucherId};
use caudal_ledger::money::Money;
use serde::Serialize;
use utoipa::ToSchema;

/// A hold.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Hold)]
pub struct HoldBody {
    /// Its id.
    pub id: String,
    /// The CVU.
    pub cvu: String,
    /// What is set apart in all, with what was confirmed and released of it: ARS with two decimals.
    pub amount: Pesos,
    /// What of it has left.
    pub confirmed: Pesos,
    /// What of it has returned.
    pub released: Pesos,
    /// What of it is still set apart.
    pub remaining: Pesos,
    /// `open`, `released`, `expired`, or `confirmed`: it has ended, and at least a part of it was confirmed.
    #[schema(value_type = HoldStatusWord)]
    pub status: &'static str,
    /// The tenant's own id.
    pub id_externo: Option<String>,
    /// When its rest is released by itself.
    pub expires_at: Option<Instant>,
    /// By how many percent of `amount` more may be confirmed than is held: that of its voucher type when it was opened; absent
    /// where nothing may.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub capture_tolerance: Option<u8>,
    /// The tenant's own data; absent without any.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(value_type = Metadata, required = false)]
    pub metadata: BTreeMap<String, String>,
    /// The balance of the CVU after the request; absent where the hold is only read, and in events.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub balance: Option<BalanceAfter>,
    /// The voucher of the request; for a confirmation the one to reverse. Absent as `balance`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub voucher_id: Option<String>,
    /// When it was opened.
    pub created_at: Instant,
}

/// The balance of a CVU after a request.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
pub struct BalanceAfter {
    /// What can be spent.
    pub available: Pesos,
    /// What is set apart.
    pub held: Pesos,
    /// The sum of both.
    pub total: Pesos,
}

impl From<Balance> for BalanceAfter {
    fn from(balance: Balance) -> Self {
        Self {
            available: balance.available.into(),
            held: balance.held.into(),
            total: balance.total().into(),
        }
    }
}

/// Renders a hold.
pub fn hold(realm: RealmId, view: &HoldView) -> HoldBody {
    let HoldView {
        account,
        hold,
        balance,
        voucher,
    } = view;
    let voucher = voucher.map(|(sequence, tag)| VoucherId {
        realm,
        account: *account,
        sequence,
        tag,
    });
    let remaining = hold.remaining().map_or(Money::ZERO, |rest| rest.money());
    HoldBody {
        id: hold.id(realm, *account).to_string(),
        cvu: hold.cvu.to_string(),
        amount: hold.amount.into(),
        confirmed: hold.confirmed.into(),
        released: hold.released.into(),
        remaining: remaining.into(),
        status: hold.status().as_str(),
        id_externo: hold.external_id.as_ref().map(ToString::to_string),
        expires_at: hold.expires_at.map(Into::into),
        capture_tolerance: hold.capture_tolerance,
        metadata: hold.metadata.clone(),
        balance: balance.map(Into::into),
        voucher_id: voucher.map(|id| id.to_string()),
        created_at: hold.created_at.into(),
    }
}
