//! The particulars of a wallet account: names in their parts, and a change of everything at once.

use serde::{Deserialize, Serialize};

use crate::cuit::{Cuit, PersonType};
use crate::kyc::{Kyc, KycMarks};
use crate::text::folded;

/// The parts of a holder's name, if the tenant gave them separately. The holder's name follows from them, so they are
/// forgotten when another name is set.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Names {
    /// The given name, or names, of a person.
    pub given: Option<String>,
    /// The family name of a person.
    pub family: Option<String>,
    /// The name of a firm (`razón social`).
    pub business: Option<String>,
}

impl Names {
    /// Whether there are no parts.
    pub const fn is_empty(&self) -> bool {
        self.given.is_none() && self.family.is_none() && self.business.is_none()
    }

    /// The names with what `change` brings; what it does not bring stays.
    #[must_use]
    pub fn merged(&self, change: &Self) -> Self {
        let pick =
            |new: &Option<String>, old: &Option<String>| new.as_ref().or(old.as_ref()).cloned();
        Self {
            given: pick(&change.given, &self.given),
            family: pick(&change.family, &self.family),
            business: pick(&change.business, &self.business),
        }
    }

    /// The names without the marked parts.
    #[must_use]
    pub fn without(&self, marks: &NamesMarks) -> Self {
        let keep = |part: &Option<String>, gone: bool| part.clone().filter(|_| !gone);
        Self {
            given: keep(&self.given, marks.given),
            family: keep(&self.family, marks.family),
            business: keep(&self.business, marks.business),
        }
    }

    /// Whether they name somebody completely: a person by both parts, or a firm.
    pub const fn are_whole(&self) -> bool {
        self.business.is_some() || (self.given.is_some() && self.family.is_some())
    }

    /// The names of a holder whose name was now given in one piece: the family name stays if the new name ends with it.
    #[must_use]
    pub fn renamed(&self, person: PersonType, name: &str) -> Self {
        if self.holder_name(person).as_deref() == Some(name) {
            return self.clone();
        }
        let given = self
            .family
            .as_deref()
            .and_then(|family| before_family(name, family));
        match (person, given) {
            (PersonType::Human, given @ Some(_)) => Self {
                given,
                ..self.clone()
            },
            (PersonType::Human | PersonType::Legal, _) => Self::of(name, person),
        }
    }

    /// The names for a name given in one piece.
    pub fn of(name: &str, person: PersonType) -> Self {
        let name = Some(name.to_owned());
        match person {
            PersonType::Human => Self {
                given: name,
                ..Self::default()
            },
            PersonType::Legal => Self {
                business: name,
                ..Self::default()
            },
        }
    }

    /// The holder's name that follows from the parts; `None` when there are none.
    pub fn holder_name(&self, person: PersonType) -> Option<String> {
        let own = match (&self.given, &self.family) {
            (Some(given), Some(family)) => Some(format!("{given} {family}")),
            (one, other) => one.as_ref().or(other.as_ref()).cloned(),
        };
        match person {
            PersonType::Human => own.or_else(|| self.business.clone()),
            PersonType::Legal => self.business.clone().or(own),
        }
    }

    /// Forgets the parts when the holder's name does not follow from them.
    pub fn forget_unless(&mut self, person: PersonType, name: &str) {
        if self.holder_name(person).as_deref() != Some(name) {
            *self = Self::default();
        }
    }
}

/// The given names in front of a family name with which a name ends, compared without case and accents.
fn before_family(name: &str, family: &str) -> Option<String> {
    let many = family.split_whitespace().count();
    let words: Vec<_> = name.split_whitespace().collect();
    let (before, last) = words.split_at_checked(words.len().checked_sub(many)?)?;
    let same = folded(&last.join(" ")) == folded(family);
    (same && !before.is_empty()).then(|| before.join(" "))
}

/// The parts of a name that a change clears.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct NamesMarks {
    /// Whether [`Names::given`] is cleared.
    pub given: bool,
    /// Whether [`Names::family`] is cleared.
    pub family: bool,
    /// Whether [`Names::business`] is cleared.
    pub business: bool,
}

/// The fields that a change of a wallet account clears.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Cleared {
    /// Parts of the name. Used only in orders: facts contain whole names.
    #[serde(skip)]
    pub names: NamesMarks,
    /// The tenant's own code of the account.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub code: bool,
    /// The holder's e-mail address.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub email: bool,
    /// The holder's phone number.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub phone: bool,
    /// Fields of the KYC data, one by one.
    #[serde(skip_serializing_if = "crate::words::is_default")]
    pub kyc: KycMarks,
}

/// A change of a wallet account: fields that are `None` stay, unless they are cleared.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Particulars {
    /// Another CUIT, allowed while there is no CVU.
    pub cuit: Option<Cuit>,
    /// The parts of the holder's name.
    pub names: Names,
    /// The holder's name that follows from CUIT and names; set by the decision, never by the order.
    pub name: Option<String>,
    /// The tenant's own code.
    pub code: Option<String>,
    /// Another e-mail address of the holder.
    pub email: Option<String>,
    /// Another phone number of the holder.
    pub phone: Option<String>,
    /// The KYC data that changes; its fields that are `None` stay.
    pub kyc: Kyc,
    /// Whether the account is enabled.
    pub enabled: Option<bool>,
    /// The fields to clear.
    #[serde(skip_serializing_if = "crate::words::is_default")]
    pub cleared: Cleared,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_holder_is_called_by_the_parts_that_fit_the_person() {
        let names = |given: &str, family: &str, business: &str| {
            let part = |text: &str| (!text.is_empty()).then(|| text.to_owned());
            Names {
                given: part(given),
                family: part(family),
                business: part(business),
            }
        };
        for (parts, human, legal) in [
            (("Ana", "Paz", ""), "Ana Paz", "Ana Paz"),
            (("Ana", "", ""), "Ana", "Ana"),
            (("", "Paz", ""), "Paz", "Paz"),
            (("Ana", "Paz", "Paz SA"), "Ana Paz", "Paz SA"),
            (("", "", "Paz SA"), "Paz SA", "Paz SA"),
        ] {
            let mut names = names(parts.0, parts.1, parts.2);
            assert_eq!(names.holder_name(PersonType::Human).as_deref(), Some(human));
            assert_eq!(names.holder_name(PersonType::Legal).as_deref(), Some(legal));
            names.forget_unless(PersonType::Human, human);
            assert!(!names.is_empty());
            names.forget_unless(PersonType::Human, "Otra");
            assert!(names.is_empty());
        }
        assert_eq!(Names::default().holder_name(PersonType::Human), None);
    }

    #[test]
    fn a_family_name_outlives_a_rename_that_ends_with_it() {
        let names = |given: &str, family: Option<&str>| Names {
            given: Some(given.into()),
            family: family.map(str::to_owned),
            business: None,
        };
        let old = names("Juan", Some("Pérez"));
        for (name, right) in [
            ("Juan Pérez", old.clone()),
            ("Juan Carlos Pérez", names("Juan Carlos", Some("Pérez"))),
            ("Juan Pérez Gómez", names("Juan Pérez Gómez", None)),
            ("Pérez", names("Pérez", None)),
            ("JuanPérez", names("JuanPérez", None)),
            ("JUAN PÉREZ", names("JUAN", Some("Pérez"))),
            ("juan perez", names("juan", Some("Pérez"))),
            ("Juan  Carlos PEREZ", names("Juan Carlos", Some("Pérez"))),
            ("PEREZ", names("PEREZ", None)),
        ] {
            assert_eq!(old.renamed(PersonType::Human, name), right, "{name}");
        }
        let two = names("Ana", Some("Paz Gómez"));
        let right = names("ANA", Some("Paz Gómez"));
        assert_eq!(two.renamed(PersonType::Human, "ANA PAZ GOMEZ"), right);
        let firm = Names::of("Pérez SA", PersonType::Legal);
        assert_eq!(old.renamed(PersonType::Legal, "Pérez SA"), firm);
    }
}
