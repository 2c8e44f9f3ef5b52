//! The voucher types of one realm, as its facts make them: what may be created, switched and removed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Origin, SYSTEM_TYPES, Sense, TypeCode, VoucherType, system_type};
use crate::balance::Direction;
use crate::facts::RealmFact;
use crate::rejection::Rejection;
use crate::time::Timestamp;

impl TryFrom<Direction> for Sense {
    type Error = Rejection;

    /// The other directions are those of built-in types.
    fn try_from(direction: Direction) -> Result<Self, Rejection> {
        Self::of(direction).ok_or(Rejection::VoucherTypeSense { sense: direction })
    }
}

/// The order to create a type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CreateVoucherType {
    /// Its code.
    pub code: TypeCode,
    /// Its name, already a [`crate::text::line`] of at most 80 characters.
    pub name: String,
    /// Whether money comes in or goes out by it.
    pub sense: Sense,
    /// A line for people.
    pub description: Option<String>,
    /// The tenant's category.
    pub category: Option<String>,
}

/// The types of one realm.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct VoucherTypes {
    custom: BTreeMap<TypeCode, VoucherType>,
    next_legacy_id: u64,
    /// The codes of removed types by their numeric ids: a repeat of a posting may still name them.
    #[serde(default)]
    removed: BTreeMap<u64, TypeCode>,
}

impl Default for VoucherTypes {
    fn default() -> Self {
        Self {
            custom: BTreeMap::new(),
            next_legacy_id: Self::FIRST_LEGACY_ID,
            removed: BTreeMap::new(),
        }
    }
}

impl VoucherTypes {
    /// The first numeric id of a custom type: far above the ids that wallet clients know as the
    /// bank's own.
    pub const FIRST_LEGACY_ID: u64 = 1000;
    /// The most custom types that a realm may have.
    pub const CUSTOM_MAX: usize = 1000;

    /// The type of that code, built-in or custom.
    pub fn find(&self, code: &TypeCode) -> Option<VoucherType> {
        self.custom.get(code).cloned().or_else(|| system_type(code))
    }

    /// The custom type of that numeric id.
    pub fn find_legacy(&self, id: u64) -> Option<&VoucherType> {
        self.custom.values().find(|t| t.legacy_id == Some(id))
    }

    /// The code that a removed type of that numeric id had.
    pub fn removed_code(&self, id: u64) -> Option<&TypeCode> {
        self.removed.get(&id)
    }

    /// Every type: built-in ones first, then custom ones by code.
    pub fn all(&self) -> Vec<VoucherType> {
        let built_in = SYSTEM_TYPES.iter().filter_map(|(code, _, _)| {
            TypeCode::parse(code)
                .ok()
                .and_then(|code| system_type(&code))
        });
        built_in.chain(self.custom.values().cloned()).collect()
    }

    /// The custom type of that code, or why a change of it is refused.
    pub fn custom(&self, code: &TypeCode) -> Result<&VoucherType, Rejection> {
        match self.custom.get(code) {
            Some(found) => Ok(found),
            None if system_type(code).is_some() => {
                Err(Rejection::VoucherTypeIsSystem { code: code.clone() })
            }
            None => Err(Rejection::VoucherTypeNotFound { code: code.clone() }),
        }
    }

    /// Decides the creation of a type.
    pub fn decide_create(
        &self,
        order: &CreateVoucherType,
        now: Timestamp,
    ) -> Result<RealmFact, Rejection> {
        if self.find(&order.code).is_some() {
            return Err(Rejection::VoucherTypeTaken {
                code: order.code.clone(),
            });
        }
        if self.custom.len() >= Self::CUSTOM_MAX {
            return Err(Rejection::TooManyVoucherTypes {
                maximum: Self::CUSTOM_MAX,
            });
        }
        Ok(RealmFact::VoucherTypeCreated(VoucherType {
            code: order.code.clone(),
            name: order.name.clone(),
            origin: Origin::Custom(order.sense),
            active: true,
            legacy_id: Some(self.next_legacy_id),
            description: order.description.clone(),
            category: order.category.clone(),
            created_at: now,
        }))
    }

    /// Decides a toggle; `None` when the type is already so.
    pub fn decide_toggle(
        &self,
        code: &TypeCode,
        active: bool,
    ) -> Result<Option<RealmFact>, Rejection> {
        let found = self.custom(code)?;
        let fact = RealmFact::VoucherTypeToggled {
            code: code.clone(),
            active,
        };
        Ok((found.active != active).then_some(fact))
    }

    /// Decides a removal.
    pub fn decide_remove(&self, code: &TypeCode) -> Result<RealmFact, Rejection> {
        self.custom(code)?;
        Ok(RealmFact::VoucherTypeRemoved { code: code.clone() })
    }

    /// Takes in what happened.
    pub fn apply(&mut self, fact: &RealmFact) {
        match fact {
            RealmFact::VoucherTypeCreated(created) => {
                let next = created.legacy_id.unwrap_or(0).saturating_add(1);
                self.next_legacy_id = self.next_legacy_id.max(next);
                self.custom.insert(created.code.clone(), created.clone());
            }
            RealmFact::VoucherTypeToggled { code, active } => {
                if let Some(found) = self.custom.get_mut(code) {
                    found.active = *active;
                }
            }
            RealmFact::VoucherTypeRemoved { code } => {
                let removed = self.custom.remove(code);
                if let Some(id) = removed.and_then(|removed| removed.legacy_id) {
                    self.removed.insert(id, code.clone());
                }
            }
            // It says how events are counted, and nothing of types.
            RealmFact::EventRules { .. } => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(code: &str, sense: Sense) -> CreateVoucherType {
        CreateVoucherType {
            code: TypeCode::parse(code).unwrap(),
            name: "Name".into(),
            sense,
            description: None,
            category: None,
        }
    }

    #[test]
    fn a_type_lives_and_its_numeric_id_is_never_reused() {
        let mut types = VoucherTypes::default();
        let now = Timestamp::from_millis(1);
        let created = types
            .decide_create(&order("bonus", Sense::Credit), now)
            .unwrap();
        types.apply(&created);
        let code = TypeCode::parse("BONUS").unwrap();
        assert_eq!(types.find(&code).unwrap().legacy_id, Some(1000));
        assert!(matches!(
            types.decide_create(&order("BONUS", Sense::Debit), now),
            Err(Rejection::VoucherTypeTaken { .. })
        ));
        assert_eq!(types.decide_toggle(&code, true), Ok(None));
        types.apply(&types.decide_toggle(&code, false).unwrap().unwrap());
        assert!(!types.find(&code).unwrap().active);
        types.apply(&types.decide_remove(&code).unwrap());
        assert_eq!(types.find(&code), None);
        types.apply(
            &types
                .decide_create(&order("BONUS", Sense::Credit), now)
                .unwrap(),
        );
        assert_eq!(types.find_legacy(1001).unwrap().code, code);
    }

    #[test]
    fn system_types_stand_and_custom_ones_have_two_directions() {
        let types = VoucherTypes::default();
        assert_eq!(types.all().len(), SYSTEM_TYPES.len());
        let hold = TypeCode::parse("HOLD").unwrap();
        assert!(matches!(
            types.decide_remove(&hold),
            Err(Rejection::VoucherTypeIsSystem { .. })
        ));
        for direction in [Direction::Hold, Direction::Release, Direction::ConfirmHold] {
            let refused = Rejection::VoucherTypeSense { sense: direction };
            assert_eq!(Sense::try_from(direction), Err(refused));
        }
        for bad in ["A", "CON ESPACIO", "ÑANDU", &"A".repeat(41)] {
            assert!(TypeCode::parse(bad).is_err(), "{bad}");
        }
    }
}
