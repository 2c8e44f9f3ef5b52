//! The kinds of rows that are scanned by their owner, so that the index records which of its runs have rows of an
//! owner.
//!
//! **Bounds.** The index uses twelve bytes after the kind: a realm, and the number of an account or a webhook, or the
//! beginning of a CUIT. Each owner costs ten bits of memory in every run that has rows of it.

use super::{CUIT, DELIVERY, HOLD, OPEN_HOLD, OPEN_TRANSFER, TRANSFER, TRANSFER_CALL};

/// The kinds of rows that are scanned by an account, a CUIT or a webhook.
pub const SCOPED: &[u8] = &[
    HOLD,
    OPEN_HOLD,
    TRANSFER,
    OPEN_TRANSFER,
    TRANSFER_CALL,
    CUIT,
    DELIVERY,
];

#[cfg(test)]
mod tests {
    use caudal_ledger::cuit::Cuit;
    use caudal_ledger::ids::{AccountNo, RealmId};

    use super::SCOPED;
    use crate::records::keys;

    #[test]
    fn a_scan_names_a_realm_and_eight_bytes_at_least() {
        let (realm, account) = (RealmId(2), AccountNo(7));
        let scans = [
            keys::holds(realm, account),
            keys::open_holds(realm, account),
            keys::hold(realm, account, 1),
            keys::transfer(realm, account, 1),
            keys::open_transfers_of(realm, account),
            keys::transfer_calls(realm, account, 1),
            keys::of_cuit(realm, Cuit::parse("20267565393").unwrap()),
            keys::deliveries(realm, 1),
        ];
        for key in scans {
            assert!(SCOPED.contains(&key[0]) && key.len() >= 13, "{key:?}");
        }
    }
}
