//! The body of a voucher.

use std::collections::BTreeMap;

use super::texts::{Instant, Pesos};
use super::words::{LedgerTypeWord, ReferenceTypeWord};
use caudal_actors::accounts::AccountVoucher;
use caudal_ledger::ids::RealmId;
use caudal_ledger::money::Money;
use serde::Serialize;
use utoipa::openapi::schema::{AllOfBuilder, Schema};
use utoipa::openapi::{Ref, RefOr};
use utoipa::{PartialSchema, ToSchema};

use super::counterparty::CounterpartyBody;
use super::metadata::Metadata;

/// A voucher (ComprobanteResponse).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ComprobanteResponse)]
pub struct VoucherBody {
    /// Its id.
    pub id: String,
    /// The CVU that it moved.
    pub cvu: String,
    /// Counts the CVU's movements from 1.
    pub sequence: u64,
    /// `credit`, `debit`, `hold`, `release` or `confirm_hold`.
    #[schema(value_type = LedgerTypeWord)]
    pub ledger_type: &'static str,
    /// ARS with two decimals.
    pub amount: Pesos,
    /// What was available afterwards.
    pub available_after: Pesos,
    /// What was held afterwards.
    pub held_after: Pesos,
    /// The sum of both.
    pub total_after: Pesos,
    /// The code of its type.
    pub voucher_type_code: String,
    /// The name of its type at that time.
    pub voucher_type_name: String,
    /// The tenant's own id.
    pub id_externo: Option<String>,
    /// What it belongs to.
    #[schema(value_type = ReferenceTypeWord)]
    pub reference_type: &'static str,
    /// The id of what it belongs to.
    pub reference_id: String,
    /// A line for people: what whoever ordered it wrote.
    pub description: Option<String>,
    /// The other side, as far as it was known when it was posted; null for adjustments, holds and
    /// fees, and for what was posted before this was kept.
    pub counterparty: Option<Box<CounterpartyBody>>,
    /// The id of the voucher that it reverses, in whole or in part; absent where it reverses none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub reverses: Option<String>,
    /// The id of the voucher that it relates to, by the tenant's word; absent without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub relates_to: Option<String>,
    /// The tenant's own data; absent without any.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(value_type = Metadata, required = false)]
    pub metadata: BTreeMap<String, String>,
    /// What of it is reversed; only where one voucher is read of which something is.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub reversed: Option<Pesos>,
    /// What of it can still be reversed; only next to `reversed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub remaining: Option<Pesos>,
    /// When it was posted.
    pub created_at: Instant,
}

/// A ledger movement, as the document shows it: a voucher under the name that it has in the list of
/// movements.
#[derive(Debug)]
pub struct Movement;

impl PartialSchema for Movement {
    fn schema() -> RefOr<Schema> {
        let voucher = Ref::from_schema_name(VoucherBody::name());
        let about = "A ledger movement: the voucher that moved the money.";
        let schema = AllOfBuilder::new().item(voucher).description(Some(about));
        Schema::AllOf(schema.build()).into()
    }
}

impl ToSchema for Movement {
    fn name() -> std::borrow::Cow<'static, str> {
        "LedgerMovementResponse".into()
    }

    fn schemas(into: &mut Vec<(String, RefOr<Schema>)>) {
        into.push((VoucherBody::name().into_owned(), VoucherBody::schema()));
        VoucherBody::schemas(into);
    }
}

/// Renders a voucher.
pub fn voucher(realm: RealmId, placed: &AccountVoucher) -> VoucherBody {
    let AccountVoucher { account, voucher } = placed;
    let id = voucher.id(realm, *account).to_string();
    let details = voucher.details.as_deref();
    VoucherBody {
        cvu: voucher.cvu.to_string(),
        sequence: voucher.sequence,
        ledger_type: voucher.direction.as_str(),
        amount: voucher.amount.into(),
        available_after: voucher.after.available.into(),
        held_after: voucher.after.held.into(),
        total_after: voucher.after.total().into(),
        voucher_type_code: voucher.type_code.to_string(),
        voucher_type_name: voucher.type_name.clone(),
        id_externo: voucher.external_id.as_ref().map(ToString::to_string),
        reference_type: voucher.reference_type.as_str(),
        reference_id: voucher.reference_id.clone().unwrap_or_else(|| id.clone()),
        description: voucher.description.clone(),
        counterparty: voucher.other_side().map(|other| Box::new(other.into())),
        reverses: voucher.reverses(realm, *account).map(|id| id.to_string()),
        relates_to: details.and_then(|it| it.relates_to.clone()),
        metadata: details.map_or_else(BTreeMap::new, |it| it.metadata.clone()),
        reversed: None,
        remaining: None,
        created_at: voucher.at.into(),
        id,
    }
}

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
