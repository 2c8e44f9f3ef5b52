//! Voucher types of the model.

use super::{Answer, Model, TypeModel};
use crate::generators::CODES;
use crate::generators::ops::Way;

/// The built-in types of the contract, §3, with the direction of each by the domain, §6.
pub const BUILT_IN: [(&str, Way); 13] = [
    ("CREDIT", Way::Credit),
    ("DEBIT", Way::Debit),
    ("HOLD", Way::Hold),
    ("RELEASE", Way::Release),
    ("CONFIRM_HOLD", Way::ConfirmHold),
    ("TRANSFER_IN", Way::Credit),
    ("TRANSFER_OUT", Way::ConfirmHold),
    ("TRANSFER_REVERSAL", Way::Credit),
    ("INTERNAL_P2P_IN", Way::Credit),
    ("INTERNAL_P2P_OUT", Way::Debit),
    ("FEE", Way::Debit),
    ("FEE_TAX", Way::Debit),
    ("REMUNERATION", Way::Credit),
];

fn built_in(code: &str) -> Option<Way> {
    BUILT_IN
        .iter()
        .find(|(name, _)| *name == code)
        .map(|(_, way)| *way)
}

impl Model {
    /// The direction of a type, whether it is active, and whether it is built in.
    pub(super) fn find_type(&mut self, realm: u32, code: &str) -> Option<(Way, bool, bool)> {
        match built_in(code) {
            Some(way) => Some((way, true, true)),
            None => self
                .realm(realm)
                .types
                .get(code)
                .map(|found| (found.way, found.active, false)),
        }
    }

    pub(super) fn create_type(&mut self, realm: u32, code: usize, way: Way) -> Answer {
        let realm = self.realm(realm);
        if !matches!(way, Way::Credit | Way::Debit) {
            return Answer::Refused("voucher_type_sense");
        }
        if realm.types.contains_key(CODES[code]) {
            return Answer::Refused("voucher_type_taken");
        }
        let legacy_id = realm.next_legacy_id;
        realm.next_legacy_id += 1;
        realm.types.insert(
            CODES[code].to_owned(),
            TypeModel {
                way,
                active: true,
                legacy_id,
            },
        );
        Answer::Facts(1)
    }

    pub(super) fn toggle_type(&mut self, realm: u32, code: &str, active: bool) -> Answer {
        if built_in(code).is_some() {
            return Answer::Refused("voucher_type_is_system");
        }
        match self.realm(realm).types.get_mut(code) {
            None => Answer::Refused("voucher_type_not_found"),
            Some(found) if found.active == active => Answer::Facts(0),
            Some(found) => {
                found.active = active;
                Answer::Facts(1)
            }
        }
    }

    pub(super) fn remove_type(&mut self, realm: u32, code: &str) -> Answer {
        if built_in(code).is_some() {
            return Answer::Refused("voucher_type_is_system");
        }
        match self.realm(realm).types.remove(code) {
            None => Answer::Refused("voucher_type_not_found"),
            Some(_) => Answer::Facts(1),
        }
    }
}
