//! The Spanish names of the system's voucher types, which tenants print for their clients.

use caudal_ledger::voucher_types::{SYSTEM_TYPES, TypeCode};

/// The Spanish names of the system's types, in their order.
const NOMBRES: [(&str, &str); SYSTEM_TYPES.len()] = [
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

/// The name of a type as it is printed for clients: in Spanish for the system's types, as `given` for a tenant's.
pub fn of_type(code: &TypeCode, given: &str) -> String {
    let known = NOMBRES.iter().find(|(known, _)| *known == code.as_str());
    known.map_or(given, |(_, name)| name).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_type_of_the_system_has_a_spanish_name() {
        for ((code, _, _), (named, name)) in SYSTEM_TYPES.iter().zip(NOMBRES) {
            assert_eq!((*code, name.is_empty()), (named, false));
        }
    }
}
