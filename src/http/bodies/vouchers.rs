//! The body of a voucher.

use super::texts::{Instant, Pesos};
use super::words::{LedgerTypeWord, ReferenceTypeWord};
use caudal_actors::accounts::AccountVoucher;
use caudal_ledger::ids::RealmId;
use serde::Serialize;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::Schema;
use utoipa::{PartialSchema, ToSchema};

use super::counterparty::CounterpartyBody;

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
    /// When it was posted.
    pub created_at: Instant,
}

/// A ledger movement, as the document shows it: a voucher under the name that it has in the list of
/// movements.
#[derive(Debug)]
pub struct Movement;

impl PartialSchema for Movement {
    fn schema() -> RefOr<Schema> {
        let mut schema = VoucherBody::schema();
        if let RefOr::T(Schema::Object(object)) = &mut schema {
            object.description =
                Some("A ledger movement: the voucher that moved the money.".into());
        }
        schema
    }
}

impl ToSchema for Movement {
    fn name() -> std::borrow::Cow<'static, str> {
        "LedgerMovementResponse".into()
    }

    fn schemas(into: &mut Vec<(String, RefOr<Schema>)>) {
        VoucherBody::schemas(into);
    }
}

/// Renders a voucher.
pub fn voucher(realm: RealmId, placed: &AccountVoucher) -> VoucherBody {
    let AccountVoucher { account, voucher } = placed;
    let id = voucher.id(realm, *account).to_string();
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
        created_at: voucher.at.into(),
        id,
    }
}
