//! The names of movements of the system's types in a PDF.
//!
//! **The same for ever.** The table is frozen: it is a copy, because names elsewhere may be corrected and types be
//! added. A type that is not here, a tenant's or a later one of the system's, has the name that its vouchers give: a
//! new row could rename movements that were already printed, for a tenant may have had a type with that code.

use caudal_ledger::voucher_types::TypeCode;

/// The names. None is ever changed or added.
const NAMES: [(&str, &str); 13] = [
    ("CREDIT", "Crédito"),
    ("DEBIT", "Débito"),
    ("HOLD", "Retención"),
    ("RELEASE", "Liberación de retención"),
    ("CONFIRM_HOLD", "Confirmación de retención"),
    ("TRANSFER_IN", "Transferencia recibida"),
    ("TRANSFER_OUT", "Transferencia enviada"),
    ("TRANSFER_REVERSAL", "Devolución de transferencia"),
    ("INTERNAL_P2P_IN", "Transferencia interna recibida"),
    ("INTERNAL_P2P_OUT", "Transferencia interna enviada"),
    ("FEE", "Comisión"),
    ("FEE_TAX", "Impuesto sobre comisión"),
    ("REMUNERATION", "Remuneración de saldo"),
];

/// The name of a type: that of the table, or else the one that was `given` when the movement was posted.
pub(super) fn of_type(code: &TypeCode, given: &str) -> String {
    let known = NAMES.iter().find(|(known, _)| *known == code.as_str());
    known.map_or(given, |(_, name)| name).to_owned()
}
