//! The body of a voucher type.

use super::limits::SetLimits;
use super::words::LedgerTypeWord;
use caudal_ledger::voucher_types::VoucherType;
use serde::Serialize;
use utoipa::ToSchema;

/// A voucher type (VoucherTypeResponse).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = VoucherTypeResponse)]
pub struct VoucherTypeBody {
    /// Its code.
    pub code: String,
    /// Its name.
    pub name: String,
    /// The direction of its vouchers.
    #[schema(value_type = LedgerTypeWord)]
    pub sense: &'static str,
    /// Whether new vouchers of it are accepted.
    pub active: bool,
    /// Whether it is built in.
    pub system: bool,
    /// Its id; null for system types, which their code names.
    pub id: Option<String>,
    /// The numeric id of the wallet family, from 1000 on; null for system types, whose fixed numbers below 1000 the
    /// wallet family alone shows. A code that is used again gets another one.
    pub legacy_id: Option<u64>,
    /// A line for people (wallet `descripcion`).
    pub description: Option<String>,
    /// The tenant's own category (wallet `tipoMovimiento`).
    pub movement_kind: Option<String>,
    /// The account of the books on the other side of its vouchers from now on; null for system types.
    pub counter_account: Option<String>,
    /// By how many percent of a hold that names the type more may be confirmed than is held; absent where nothing may.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub capture_tolerance: Option<u8>,
    /// The limits of each account on its vouchers of this type; absent without any.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub limits: Option<SetLimits>,
    /// The tenant that owns it; null for system types.
    pub tenant_id: Option<String>,
}

/// Renders a voucher type for a tenant.
pub fn voucher_type(tenant: &str, found: &VoucherType) -> VoucherTypeBody {
    let number = found.own_number();
    VoucherTypeBody {
        code: found.code.to_string(),
        name: found.name.clone(),
        sense: found.direction().as_str(),
        active: found.active,
        system: found.is_system(),
        id: number.map(|number| format!("vty_{number}")),
        legacy_id: number,
        description: found.description.clone(),
        movement_kind: found.category.clone(),
        counter_account: found.account().map(|account| account.to_string()),
        capture_tolerance: found.capture_tolerance,
        limits: found.limits.as_deref().copied().map(SetLimits),
        tenant_id: (!found.is_system()).then(|| tenant.to_owned()),
    }
}
