//! What a wallet account says of itself: names in their parts, and the change of all of it at once.

use serde::{Deserialize, Serialize};

use crate::cuit::{Cuit, PersonType};
use crate::kyc::Kyc;

/// The parts of a holder's name, where the tenant gave them apart. The holder's name follows from
/// them, so they are forgotten when another name is set.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Names {
    /// Given name.
    pub given: Option<String>,
    /// Family name.
    pub family: Option<String>,
    /// Name of a firm.
    pub business: Option<String>,
}

impl Names {
    /// Whether there are none.
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

    /// The names that one name in a single piece stands for.
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

    /// The holder's name that follows; `None` when there are no names.
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

    /// Forgets the parts when the holder has got a name that does not follow from them.
    pub fn forget_unless(&mut self, person: PersonType, name: &str) {
        if self.holder_name(person).as_deref() != Some(name) {
            *self = Self::default();
        }
    }
}

/// A change of a wallet account: what is `None` stays.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Particulars {
    /// Another CUIT, while there is no CVU.
    pub cuit: Option<Cuit>,
    /// The parts of the holder's name.
    pub names: Names,
    /// The holder's name that follows from CUIT and names; decided, never asked for.
    pub name: Option<String>,
    /// The tenant's own code.
    pub code: Option<String>,
    /// E-mail.
    pub email: Option<String>,
    /// Phone.
    pub phone: Option<String>,
    /// KYC data.
    pub kyc: Kyc,
    /// Whether the account is enabled.
    pub enabled: Option<bool>,
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
}
