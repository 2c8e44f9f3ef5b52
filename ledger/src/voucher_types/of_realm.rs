//! The voucher types of one realm, derived from its facts: which may be created, switched and removed.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{Origin, SYSTEM_TYPES, Sense, TypeCode, VoucherType, built_in, system_type};
use crate::balance::Direction;
use crate::book_accounts::BookName;
use crate::facts::RealmFact;
use crate::limits::{Limits, LimitsChange};
use crate::numbers::{Kind, LastNumber, Opening};
use crate::rejection::Rejection;
use crate::time::Timestamp;
use crate::vouchers::Voucher;

impl TryFrom<Direction> for Sense {
    type Error = Rejection;

    /// Refuses the other directions, which only built-in types have.
    fn try_from(direction: Direction) -> Result<Self, Rejection> {
        Self::of(direction).ok_or(Rejection::VoucherTypeSense { sense: direction })
    }
}

/// The order to create a type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CreateVoucherType {
    /// Its code, unique among the types of the realm.
    pub code: TypeCode,
    /// Its name, already a [`crate::text::line`] of 1 to 80 characters.
    pub name: String,
    /// Whether its vouchers bring money in or take it out.
    pub sense: Sense,
    /// A line for people, at most [`VoucherType::DESCRIPTION_MAX`] characters.
    pub description: Option<String>,
    /// The tenant's category, at most [`VoucherType::CATEGORY_MAX`] characters.
    pub category: Option<String>,
    /// The account of the books for its vouchers; `None` for that of its code.
    pub counter_account: Option<BookName>,
    /// By how many percent of a hold that names it more may be confirmed than is held, at most 100.
    pub capture_tolerance: Option<u8>,
}

/// What changes in a type; what is absent stays.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct VoucherTypeChange {
    /// Whether new vouchers of it are accepted.
    pub active: Option<bool>,
    /// The account of the books for its vouchers from now on; `Some(None)` for that of its code.
    pub counter_account: Option<Option<BookName>>,
    /// By how many percent more may be confirmed of holds from now on; `Some(None)` for nothing.
    pub capture_tolerance: Option<Option<u8>>,
    /// The limits of each account on vouchers of it, from now on.
    pub limits: LimitsChange,
}

fn built_in_types() -> impl Iterator<Item = VoucherType> {
    SYSTEM_TYPES.iter().map(built_in)
}

/// The types of one realm.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct VoucherTypes {
    custom: BTreeMap<TypeCode, VoucherType>,
    /// The last numeric id that was given.
    last: Option<LastNumber>,
    /// Removed types by their numeric ids: repeated postings may still name them, and vouchers contain the ids.
    removed: BTreeMap<u64, VoucherType>,
    /// The accounts of the books that types have had and do not have any more.
    #[serde(default)]
    former: BTreeSet<BookName>,
}

impl VoucherTypes {
    /// The smallest numeric id of custom types.
    pub const FIRST_LEGACY_ID: u64 = Kind::VoucherType.first();
    /// How many custom types a realm may have at a time.
    pub const CUSTOM_MAX: usize = 1000;

    /// The type with a code, built-in or custom.
    pub fn find(&self, code: &TypeCode) -> Option<VoucherType> {
        self.custom.get(code).cloned().or_else(|| system_type(code))
    }

    /// The type with a numeric id, built-in or custom.
    pub fn find_legacy(&self, id: u64) -> Option<VoucherType> {
        let custom = || self.custom.values().find(|t| t.legacy_id == Some(id));
        if id < Self::FIRST_LEGACY_ID {
            built_in_types().find(|it| it.legacy_id == Some(id))
        } else {
            custom().cloned()
        }
    }

    /// The code of the removed type with this numeric id.
    pub fn removed_code(&self, id: u64) -> Option<&TypeCode> {
        self.removed.get(&id).map(|removed| &removed.code)
    }

    /// Whether any type has or had that numeric id: vouchers may have been posted with it.
    pub fn has_had(&self, id: u64) -> bool {
        self.removed.contains_key(&id) || self.find_legacy(id).is_some()
    }

    /// The numeric id of the type with which a voucher was posted. For a voucher without a type number, this is the id
    /// of the last type of its code that existed at its time.
    pub fn number_of(&self, voucher: &Voucher) -> Option<u64> {
        let code = &voucher.type_code;
        let by_then = |it: &&VoucherType| it.code == *code && it.created_at <= voucher.at;
        let custom = || {
            let known = self.removed.values().chain(self.custom.get(code));
            known.filter(by_then).filter_map(|it| it.legacy_id).max()
        };
        let built_in = || system_type(code).and_then(|it| it.legacy_id);
        voucher.type_number.or_else(built_in).or_else(custom)
    }

    /// Every type: built-in ones first, then custom ones by code.
    pub fn all(&self) -> Vec<VoucherType> {
        let custom = self.custom.values().cloned();
        built_in_types().chain(custom).collect()
    }

    /// The custom type with a code.
    ///
    /// # Errors
    /// When the code belongs to a built-in type, or to none.
    pub fn custom(&self, code: &TypeCode) -> Result<&VoucherType, Rejection> {
        match self.custom.get(code) {
            Some(found) => Ok(found),
            None if system_type(code).is_some() => {
                Err(Rejection::VoucherTypeIsSystem { code: code.clone() })
            }
            None => Err(Rejection::VoucherTypeNotFound { code: code.clone() }),
        }
    }

    /// Decides the creation of a type; it gets the next numeric id.
    ///
    /// # Errors
    /// When the code is taken, or the realm has [`Self::CUSTOM_MAX`] custom types.
    pub fn decide_create(
        &self,
        order: &CreateVoucherType,
        opening: Opening,
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
        self.has_room_for(&order.code, order.counter_account.as_ref())?;
        Ok(RealmFact::VoucherTypeCreated(VoucherType {
            code: order.code.clone(),
            name: order.name.clone(),
            origin: Origin::Custom(order.sense),
            active: true,
            legacy_id: Some(opening.next(Kind::VoucherType, self.last, now)),
            description: order.description.clone(),
            category: order.category.clone(),
            counter_account: order.counter_account.clone(),
            capture_tolerance: order.capture_tolerance,
            limits: None,
            created_at: now,
        }))
    }

    /// The accounts of the books that vouchers of the tenant's types go to, or went to.
    pub fn book_accounts(&self) -> BTreeSet<BookName> {
        let types = self.custom.values().chain(self.removed.values());
        let now = types.filter_map(VoucherType::account);
        now.chain(self.former.iter().cloned()).collect()
    }

    /// Refuses one more account beyond the most that the books may have.
    fn has_room_for(&self, code: &TypeCode, account: Option<&BookName>) -> Result<(), Rejection> {
        let known = self.book_accounts();
        let of_type = || BookName::of_type(code.as_str());
        let is_known = known.contains(&account.cloned().unwrap_or_else(of_type));
        if is_known || known.len() < BookName::ACCOUNTS_MAX {
            return Ok(());
        }
        Err(Rejection::TooManyBookAccounts {
            maximum: BookName::ACCOUNTS_MAX,
        })
    }

    /// Decides a change of a type: a fact for each part that is not so already.
    ///
    /// # Errors
    /// As [`Self::custom`], or when the books would have more than [`BookName::ACCOUNTS_MAX`] accounts for adjustments.
    pub fn decide_change(
        &self,
        code: &TypeCode,
        change: &VoucherTypeChange,
    ) -> Result<Vec<RealmFact>, Rejection> {
        let found = self.custom(code)?;
        let active = change.active.filter(|active| found.active != *active);
        let account = change.counter_account.as_ref();
        let account = account.filter(|account| found.counter_account != **account);
        if let Some(account) = account {
            self.has_room_for(code, account.as_ref())?;
        }
        let toggled = active.map(|active| RealmFact::VoucherTypeToggled {
            code: code.clone(),
            active,
        });
        let set = account.map(|account| RealmFact::VoucherTypeAccountSet {
            code: code.clone(),
            account: account.clone(),
        });
        let percent = change.capture_tolerance;
        let percent = percent.filter(|percent| found.capture_tolerance != *percent);
        let tolerance = percent.map(|percent| RealmFact::VoucherTypeToleranceSet {
            code: code.clone(),
            percent,
        });
        let before = found.limits.as_deref();
        let before = before.map_or_else(Limits::default, |limits| *limits);
        let after = before.changed(change.limits);
        let limits = (after != before).then(|| RealmFact::VoucherTypeLimitsSet {
            code: code.clone(),
            limits: after,
        });
        let facts = toggled.into_iter().chain(set).chain(tolerance);
        Ok(facts.chain(limits).collect())
    }

    /// Decides the removal of a type; vouchers that were posted with it keep its code, name and number.
    ///
    /// # Errors
    /// As [`Self::custom`].
    pub fn decide_remove(&self, code: &TypeCode) -> Result<RealmFact, Rejection> {
        self.custom(code)?;
        Ok(RealmFact::VoucherTypeRemoved { code: code.clone() })
    }

    /// Applies a fact.
    pub fn apply(&mut self, fact: &RealmFact) {
        match fact {
            RealmFact::VoucherTypeCreated(created) => {
                let given = created.legacy_id.map(|number| LastNumber {
                    number,
                    at: created.created_at,
                });
                self.last = self.last.max(given);
                self.custom.insert(created.code.clone(), created.clone());
            }
            RealmFact::VoucherTypeToggled { code, active } => {
                if let Some(found) = self.custom.get_mut(code) {
                    found.active = *active;
                }
            }
            RealmFact::VoucherTypeRemoved { code } => {
                if let Some(removed) = self.custom.remove(code)
                    && let Some(id) = removed.legacy_id
                {
                    self.removed.insert(id, removed);
                }
            }
            RealmFact::VoucherTypeAccountSet { code, account } => {
                if let Some(found) = self.custom.get_mut(code) {
                    self.former.extend(found.account());
                    found.counter_account.clone_from(account);
                }
            }
            RealmFact::VoucherTypeToleranceSet { code, percent } => {
                if let Some(found) = self.custom.get_mut(code) {
                    found.capture_tolerance = *percent;
                }
            }
            RealmFact::VoucherTypeLimitsSet { code, limits } => {
                if let Some(found) = self.custom.get_mut(code) {
                    found.limits = (!limits.are_none()).then(|| Box::new(*limits));
                }
            }
            // This fact concerns the counting of events, not types.
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
            counter_account: None,
            capture_tolerance: None,
        }
    }

    fn switched(active: bool) -> VoucherTypeChange {
        VoucherTypeChange {
            active: Some(active),
            ..VoucherTypeChange::default()
        }
    }

    #[test]
    fn a_type_lives_and_its_numeric_id_is_never_reused() {
        let mut types = VoucherTypes::default();
        let now = Timestamp::from_millis(1);
        let created = types
            .decide_create(&order("bonus", Sense::Credit), Opening::default(), now)
            .unwrap();
        types.apply(&created);
        let code = TypeCode::parse("BONUS").unwrap();
        assert_eq!(types.find(&code).unwrap().legacy_id, Some(1000));
        assert!(matches!(
            types.decide_create(&order("BONUS", Sense::Debit), Opening::default(), now),
            Err(Rejection::VoucherTypeTaken { .. })
        ));
        assert_eq!(types.decide_change(&code, &switched(true)), Ok(Vec::new()));
        let off = types.decide_change(&code, &switched(false)).unwrap();
        off.iter().for_each(|fact| types.apply(fact));
        assert!(!types.find(&code).unwrap().active);
        types.apply(&types.decide_remove(&code).unwrap());
        assert_eq!(types.find(&code), None);
        types.apply(
            &types
                .decide_create(&order("BONUS", Sense::Credit), Opening::default(), now)
                .unwrap(),
        );
        assert_eq!(types.find_legacy(1001).unwrap().code, code);
        assert_eq!(types.find_legacy(1000), None);
        assert_eq!(types.removed_code(1000), Some(&code));
        let had = [0, 1, 13, 14, 999, 1000, 1001, 1002].map(|id| types.has_had(id));
        assert_eq!(had, [false, true, true, false, false, true, true, false]);
    }

    #[test]
    fn the_accounts_of_types_are_bounded_and_an_account_that_was_used_counts() {
        let mut types = VoucherTypes::default();
        let now = Timestamp::from_millis(1);
        let create = |types: &VoucherTypes, code: &str, account: Option<BookName>| {
            let order = CreateVoucherType {
                counter_account: account,
                ..order(code, Sense::Credit)
            };
            types.decide_create(&order, Opening::default(), now)
        };
        let named = |text: &str| Some(BookName::parse(text).unwrap());
        let code = TypeCode::parse("BONUS").unwrap();
        types.apply(&create(&types, "BONUS", named("promotions")).unwrap());
        for (account, facts) in [
            (named("promotions"), 0),
            (None, 1),
            (None, 0),
            (named("gifts"), 1),
        ] {
            let change = VoucherTypeChange {
                counter_account: Some(account.clone()),
                ..VoucherTypeChange::default()
            };
            let decided = types.decide_change(&code, &change).unwrap();
            assert_eq!(decided.len(), facts, "{account:?}");
            decided.iter().for_each(|fact| types.apply(fact));
            assert_eq!(types.find(&code).unwrap().counter_account, account);
        }
        let known: Vec<_> = types.book_accounts().into_iter().collect();
        let known: Vec<_> = known.iter().map(BookName::as_str).collect();
        assert_eq!(known, ["adjustments:bonus", "gifts", "promotions"]);
        let more = (known.len()..BookName::ACCOUNTS_MAX).map(|n| format!("a{n}"));
        types.former.extend(more.filter_map(|name| named(&name)));
        let full = Rejection::TooManyBookAccounts {
            maximum: BookName::ACCOUNTS_MAX,
        };
        assert_eq!(create(&types, "MORE", None), Err(full.clone()));
        assert!(create(&types, "MORE", named("gifts")).is_ok());
        let change = VoucherTypeChange {
            active: Some(false),
            counter_account: Some(named("one.more")),
            ..VoucherTypeChange::default()
        };
        assert_eq!(types.decide_change(&code, &change), Err(full));
    }

    #[test]
    fn the_limits_of_a_type_change_kind_by_kind_and_none_is_none() {
        use crate::limits::{Change, LimitKind};
        use crate::money::Money;

        let mut types = VoucherTypes::default();
        let created = types.decide_create(
            &order("bonus", Sense::Credit),
            Opening::default(),
            Timestamp::from_millis(1),
        );
        types.apply(&created.unwrap());
        let code = TypeCode::parse("BONUS").unwrap();
        for (kind, change, left) in [
            (LimitKind::DailyAmount, Change::Set(Money::ZERO.into()), 1),
            (LimitKind::DailyCount, Change::Set(3.into()), 2),
            (LimitKind::DailyAmount, Change::Inherit, 1),
            (LimitKind::DailyCount, Change::Inherit, 0),
        ] {
            let limits = LimitsChange::default().with(kind, change);
            let change = VoucherTypeChange {
                limits,
                ..VoucherTypeChange::default()
            };
            let decided = types.decide_change(&code, &change).unwrap();
            assert_eq!(decided.len(), 1);
            types.apply(&decided[0]);
            assert_eq!(types.decide_change(&code, &change), Ok(Vec::new()));
            let limits = types.find(&code).unwrap().limits;
            assert_eq!(limits.map_or(0, |limits| limits.set().count()), left);
        }
    }

    #[test]
    fn a_voucher_has_the_number_of_the_type_that_it_was_posted_with() {
        let mut types = VoucherTypes::default();
        for (created, sense) in [(10, Sense::Credit), (20, Sense::Debit)] {
            let at = Timestamp::from_millis(created);
            let fact = types.decide_create(&order("BONUS", sense), Opening::default(), at);
            types.apply(&fact.unwrap());
            if created == 10 {
                let code = TypeCode::parse("BONUS").unwrap();
                types.apply(&types.decide_remove(&code).unwrap());
            }
        }
        let voucher = |code: &str, number, at| Voucher {
            type_code: TypeCode::parse(code).unwrap(),
            type_number: number,
            at: Timestamp::from_millis(at),
            ..crate::accounts::tests::drafted()
        };
        for (code, said, at, number) in [
            ("BONUS", Some(1000), 25, Some(1000)),
            ("BONUS", None, 15, Some(1000)),
            ("BONUS", None, 20, Some(1001)),
            ("BONUS", None, 5, None),
            ("CREDIT", None, 5, Some(1)),
            ("REMUNERATION", None, 5, Some(13)),
        ] {
            assert_eq!(
                types.number_of(&voucher(code, said, at)),
                number,
                "{code} {at}"
            );
        }
    }

    #[test]
    fn system_types_stand_and_custom_ones_have_two_directions() {
        let types = VoucherTypes::default();
        assert_eq!(types.all().len(), SYSTEM_TYPES.len());
        for (number, (code, ..)) in (1..).zip(&SYSTEM_TYPES) {
            let found = types.find_legacy(number).unwrap();
            assert_eq!(
                (found.code.as_str(), found.legacy_id),
                (*code, Some(number))
            );
            assert_eq!(found.own_number(), None);
        }
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
