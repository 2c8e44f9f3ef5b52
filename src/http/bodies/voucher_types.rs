//! The body of a voucher type.

use super::body;
use super::limits::SetLimits;
use super::words::LedgerTypeWord;
use caudal_ledger::voucher_types::VoucherType;

body! {
    /// A voucher type (VoucherTypeResponse).
    pub struct VoucherTypeBody as VoucherTypeResponse
        by voucher_type(tenant: &str, found: &VoucherType)
    {
        => let number = found.own_number();
        /// Its code.
        code: String = found.code.to_string();
        /// Its name.
        name: String = found.name.clone();
        /// The direction of its vouchers.
        sense: &'static str as LedgerTypeWord = found.direction().as_str();
        /// Whether new vouchers of it are accepted.
        active: bool = found.active;
        /// Whether it is built in.
        system: bool = found.is_system();
        /// Its id; null for system types, which their code names.
        id: Option<String> = number.map(|number| format!("vty_{number}"));
        /// The numeric id of the wallet family, from 1000 on; null for system types, whose fixed numbers below 1000 the
        /// wallet family alone shows. A code that is used again gets another one.
        legacy_id: Option<u64> = number;
        /// A line for people (wallet `descripcion`).
        description: Option<String> = found.description.clone();
        /// The tenant's own category (wallet `tipoMovimiento`).
        movement_kind: Option<String> = found.category.clone();
        /// The account of the books on the other side of its vouchers from now on; null for system types.
        counter_account: Option<String> = found.account().map(|account| account.to_string());
        /// By how many percent of a hold that names the type more may be confirmed than is held; absent where nothing may.
        capture_tolerance?: Option<u8> = found.capture_tolerance;
        /// The limits of each account on its vouchers of this type; absent without any.
        limits?: Option<SetLimits> = found.limits.as_deref().copied().map(SetLimits);
        /// The tenant that owns it; null for system types.
        tenant_id: Option<String> = (!found.is_system()).then(|| tenant.to_owned());
    }
}
