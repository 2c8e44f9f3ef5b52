//! The body of a voucher.

use std::collections::BTreeMap;

use super::texts::{Instant, Pesos};
use super::words::{LedgerTypeWord, ReferenceTypeWord};
use super::{body, schema};
use caudal_actors::accounts::AccountVoucher;
use caudal_ledger::ids::RealmId;
use caudal_ledger::money::Money;
use utoipa::ToSchema as _;
use utoipa::openapi::Ref;
use utoipa::openapi::schema::{AllOfBuilder, Schema};

use super::counterparty::CounterpartyBody;
use super::metadata::Metadata;

body! {
    /// A voucher (ComprobanteResponse).
    pub struct VoucherBody as ComprobanteResponse
        by voucher(realm: RealmId, placed: &AccountVoucher)
    {
        => let AccountVoucher { account, voucher } = placed;
        => let id = voucher.id(realm, *account).to_string();
        => let details = voucher.details.as_deref();
        /// Its id.
        id: String = id.clone();
        /// The CVU that it moved.
        cvu: String = voucher.cvu.to_string();
        /// Counts the CVU's movements from 1.
        sequence: u64 = voucher.sequence;
        /// `credit`, `debit`, `hold`, `release` or `confirm_hold`.
        ledger_type: &'static str as LedgerTypeWord = voucher.direction.as_str();
        /// ARS with two decimals.
        amount: Pesos = voucher.amount.into();
        /// What was available afterwards.
        available_after: Pesos = voucher.after.available.into();
        /// What was held afterwards.
        held_after: Pesos = voucher.after.held.into();
        /// The sum of both.
        total_after: Pesos = voucher.after.total().into();
        /// The code of its type.
        voucher_type_code: String = voucher.type_code.to_string();
        /// The name of its type at that time.
        voucher_type_name: String = voucher.type_name.clone();
        /// The tenant's own id.
        id_externo: Option<String> = voucher.external_id.as_ref().map(ToString::to_string);
        /// What it belongs to.
        reference_type: &'static str as ReferenceTypeWord = voucher.reference_type.as_str();
        /// The id of what it belongs to.
        reference_id: String = voucher.reference_id.clone().unwrap_or_else(|| id.clone());
        /// A line for people: what whoever ordered it wrote.
        description: Option<String> = voucher.description.clone();
        /// The other side, as far as it was known when it was posted; null for adjustments, holds and
        /// fees, and for what was posted before this was kept.
        counterparty: Option<Box<CounterpartyBody>>
            = voucher.other_side().map(|other| Box::new(other.into()));
        /// The id of the voucher that it reverses, in whole or in part; absent where it reverses none.
        reverses?: Option<String> = voucher.reverses(realm, *account).map(|id| id.to_string());
        /// The id of the voucher that it relates to, by the tenant's word; absent without one.
        relates_to?: Option<String> = details.and_then(|it| it.relates_to.clone());
        /// The tenant's own data; absent without any.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        #[schema(value_type = Metadata, required = false)]
        metadata: BTreeMap<String, String>
            = details.map_or_else(BTreeMap::new, |it| it.metadata.clone());
        /// What of it is reversed; only where one voucher is read of which something is.
        reversed?: Option<Pesos> = None;
        /// What of it can still be reversed; only next to `reversed`.
        remaining?: Option<Pesos> = None;
        /// When it was posted.
        created_at: Instant = voucher.at.into();
    }
}

/// A ledger movement, as the document shows it: a voucher under the name that it has in the list of
/// movements.
#[derive(Debug)]
pub struct Movement;

schema!(Movement, "LedgerMovementResponse", with VoucherBody, {
    let voucher = Ref::from_schema_name(VoucherBody::name());
    let about = "A ledger movement: the voucher that moved the money.";
    let schema = AllOfBuilder::new().item(voucher).description(Some(about));
    Schema::AllOf(schema.build())
});

/// Renders a voucher with what of it is reversed and what can still be, if something is.
pub fn whole(
    realm: RealmId,
    placed: &AccountVoucher,
    reversed: Option<(Money, Money)>,
) -> VoucherBody {
    VoucherBody {
        reversed: reversed.map(|(reversed, _)| reversed.into()),
        remaining: reversed.map(|(_, remaining)| remaining.into()),
        ..voucher(realm, placed)
    }
}
