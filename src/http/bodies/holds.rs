//! The body of a hold.

use std::collections::BTreeMap;

use super::body;
use super::metadata::Metadata;
use super::texts::{Instant, Pesos};
use super::words::HoldStatusWord;
use caudal_actors::accounts::HoldView;
use caudal_ledger::balance::Balance;
use caudal_ledger::ids::{RealmId, VoucherId};
use caudal_ledger::money::Money;

body! {
    /// A hold.
    pub struct HoldBody as Hold by hold(realm: RealmId, view: &HoldView) {
        => let HoldView {
            account,
            hold,
            balance,
            voucher,
        } = view;
        => let voucher = voucher.map(|(sequence, tag)| VoucherId {
            realm,
            account: *account,
            sequence,
            tag,
        });
        => let remaining = hold.remaining().map_or(Money::ZERO, |rest| rest.money());
        /// Its id.
        id: String = hold.id(realm, *account).to_string();
        /// The CVU.
        cvu: String = hold.cvu.to_string();
        /// What is set apart in all, with what was confirmed and released of it: ARS with two decimals.
        amount: Pesos = hold.amount.into();
        /// What of it has left.
        confirmed: Pesos = hold.confirmed.into();
        /// What of it has returned.
        released: Pesos = hold.released.into();
        /// What of it is still set apart.
        remaining: Pesos = remaining.into();
        /// `open`, `released`, `expired`, or `confirmed`: it has ended, and at least a part of it was confirmed.
        status: &'static str as HoldStatusWord = hold.status().as_str();
        /// The tenant's own id.
        id_externo: Option<String> = hold.external_id.as_ref().map(ToString::to_string);
        /// When its rest is released by itself.
        expires_at: Option<Instant> = hold.expires_at.map(Into::into);
        /// By how many percent of `amount` more may be confirmed than is held: that of its voucher type when it was opened; absent
        /// where nothing may.
        capture_tolerance?: Option<u8> = hold.capture_tolerance;
        /// The tenant's own data; absent without any.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        #[schema(value_type = Metadata, required = false)]
        metadata: BTreeMap<String, String> = hold.metadata.clone();
        /// The balance of the CVU after the request; absent where the hold is only read, and in events.
        balance?: Option<BalanceAfter> = balance.map(Into::into);
        /// The voucher of the request; for a confirmation the one to reverse. Absent as `balance`.
        voucher_id?: Option<String> = voucher.map(|id| id.to_string());
        /// When it was opened.
        created_at: Instant = hold.created_at.into();
    }
}

body! {
    /// The balance of a CVU after a request.
    pub struct BalanceAfter from balance: Balance {
        /// What can be spent.
        available: Pesos = balance.available.into();
        /// What is set apart.
        held: Pesos = balance.held.into();
        /// The sum of both.
        total: Pesos = balance.total().into();
    }
}
