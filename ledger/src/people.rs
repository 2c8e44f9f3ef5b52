//! The people who run the service: who they are, what each may do, and how that changes.
//!
//! What they did is in [`audit`]; what waits for a second person is in [`approvals`].
//!
//! **Shape.** A person has a name, a role and one credential, of which only the keyed digest is stored. A role is a set
//! of powers ([`Role::may`]); each operation names the power it needs where it is offered. The name of a revoked person
//! is never given to anybody else, because the audit log contains it.
//!
//! **Bounds.** At most [`PEOPLE_MAX`] people may work at a time; names have at most [`NAME_MAX`] characters.

pub mod approvals;
pub mod audit;
mod roles;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::chain::Digest;
use crate::ids::PepperId;
use crate::rejection::Rejection;
use crate::time::Timestamp;

pub use roles::{Power, Role};

/// How many people may have a working credential at a time.
pub const PEOPLE_MAX: usize = 200;
/// How many names there may ever be, including those of revoked people.
pub const NAMES_MAX: usize = 10_000;
/// The longest name of a person, in characters.
pub const NAME_MAX: usize = 48;
/// The name under which the configured admin key acts; no person may have it.
pub const ROOT: &str = Role::Root.as_str();

/// The name of a person: 2 to 48 lower-case letters, digits and `. _ - @`, so that it can be used in a path, a command
/// and a log.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PersonName(String);

/// The error for a text that is not a person's name.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "must be 2 to 48 small letters without accents, digits, dots, dashes, underscores or @, begin with a letter or digit, and not be root"
)]
pub struct NotAName;

text!(PersonName, NotAName);

impl PersonName {
    /// Parses a name.
    ///
    /// # Errors
    /// When it is not a valid name, or is [`ROOT`].
    pub fn parse(text: &str) -> Result<Self, NotAName> {
        let good = |b: u8| {
            b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'.' | b'_' | b'-' | b'@')
        };
        let begins = text
            .bytes()
            .next()
            .is_some_and(|b| b.is_ascii_alphanumeric());
        let fits = (2..=NAME_MAX).contains(&text.len());
        if fits && begins && text.bytes().all(good) && text != ROOT {
            Ok(Self(text.to_owned()))
        } else {
            Err(NotAName)
        }
    }
}

/// The stored part of a credential, never its secret.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Credential {
    /// Its public id, part of the credential itself.
    pub id: String,
    /// HMAC-SHA-256 of its secret under the server's pepper.
    pub mac: Digest,
    /// The pepper under which it was made; `None` if that was not recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pepper: Option<PepperId>,
}

/// A change to the people.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum PeopleFact {
    /// A person got a credential, their first or another; an earlier one no longer works.
    Issued {
        /// The person's name.
        name: PersonName,
        /// The person's role.
        role: Role,
        /// The stored part of the credential.
        credential: Credential,
    },
    /// A person got another role.
    RoleChanged {
        /// The person's name.
        name: PersonName,
        /// The new role.
        role: Role,
    },
    /// A person's credential no longer works.
    Revoked {
        /// The person's name.
        name: PersonName,
    },
}

/// A person.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Person {
    /// The person's name.
    pub name: PersonName,
    /// The person's role.
    pub role: Role,
    /// Since when they have had that role without a break.
    pub role_since: Timestamp,
    /// Their credential; after a revocation, the last one.
    pub credential: Credential,
    /// When they first got a credential.
    pub created_at: Timestamp,
    /// When they got the current credential.
    pub issued_at: Timestamp,
    /// When they were revoked; `None` while their credential works.
    pub revoked_at: Option<Timestamp>,
}

impl Person {
    /// Whether their credential works.
    pub const fn works(&self) -> bool {
        self.revoked_at.is_none()
    }
}

/// An order about people.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PeopleOrder {
    /// Give a credential to somebody without a working one.
    Add {
        /// The person's name.
        name: PersonName,
        /// The person's role.
        role: Role,
        /// The stored part of the credential.
        credential: Credential,
    },
    /// Give another credential to somebody who has a working one.
    Rotate {
        /// The person's name.
        name: PersonName,
        /// The stored part of the new credential.
        credential: Credential,
        /// The id of the credential to replace, if it must not be any other.
        instead_of: Option<String>,
    },
    /// Give another role to somebody.
    ChangeRole {
        /// The person's name.
        name: PersonName,
        /// The new role.
        role: Role,
    },
    /// End somebody's credential at once.
    Revoke {
        /// The person's name.
        name: PersonName,
    },
}

/// The people, derived from their facts.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct People {
    all: BTreeMap<String, Person>,
    /// Names by the id of the credential, including revoked ones.
    credentials: BTreeMap<String, String>,
}

impl People {
    /// All people, including revoked ones, by name.
    pub fn all(&self) -> impl Iterator<Item = &Person> {
        self.all.values()
    }

    /// The people whose credential works.
    pub fn working(&self) -> impl Iterator<Item = &Person> {
        self.all().filter(|person| person.works())
    }

    /// The person with a name, whether their credential works or not.
    pub fn named(&self, name: &str) -> Option<&Person> {
        self.all.get(name)
    }

    /// The person with a working credential; `None` when nobody has it, or its holder got another or was revoked.
    pub fn with_credential(&self, id: &str) -> Option<&Person> {
        let person = self.named(self.credentials.get(id)?)?;
        (person.works() && person.credential.id == id).then_some(person)
    }

    fn working_named(&self, name: &PersonName) -> Result<&Person, Rejection> {
        let person = self.named(name.as_str());
        person
            .filter(|person| person.works())
            .ok_or(Rejection::PersonNotFound)
    }

    /// Decides an order.
    ///
    /// # Errors
    /// When the person already has a working credential or has none, no person can have the role, or there are too many
    /// people.
    pub fn decide(&self, order: PeopleOrder) -> Result<PeopleFact, Rejection> {
        match order {
            PeopleOrder::Add {
                name,
                role,
                credential,
            } => {
                let known = self.named(name.as_str());
                if known.is_some_and(Person::works) {
                    return Err(Rejection::PersonTaken);
                }
                let full = known.is_none() && self.all.len() >= NAMES_MAX;
                if full || self.working().count() >= PEOPLE_MAX {
                    let maximum = PEOPLE_MAX;
                    return Err(Rejection::TooManyPeople { maximum });
                }
                Ok(PeopleFact::Issued {
                    name,
                    role,
                    credential,
                })
            }
            PeopleOrder::Rotate {
                name,
                credential,
                instead_of,
            } => {
                let known = self.working_named(&name)?;
                if instead_of.is_some_and(|id| id != known.credential.id) {
                    return Err(Rejection::PersonNotFound);
                }
                let role = known.role;
                Ok(PeopleFact::Issued {
                    name,
                    role,
                    credential,
                })
            }
            PeopleOrder::ChangeRole { name, role } => {
                self.working_named(&name)?;
                Ok(PeopleFact::RoleChanged { name, role })
            }
            PeopleOrder::Revoke { name } => {
                self.working_named(&name)?;
                Ok(PeopleFact::Revoked { name })
            }
        }
    }

    /// Applies a fact.
    pub fn apply(&mut self, fact: &PeopleFact, at: Timestamp) {
        match fact {
            PeopleFact::Issued {
                name,
                role,
                credential,
            } => {
                let key = name.as_str().to_owned();
                let known = self.all.get(&key);
                let created_at = known.map_or(at, |known| known.created_at);
                let kept = known.filter(|known| known.works() && known.role == *role);
                let role_since = kept.map_or(at, |known| known.role_since);
                self.credentials.insert(credential.id.clone(), key.clone());
                let person = Person {
                    name: name.clone(),
                    role: *role,
                    role_since,
                    credential: credential.clone(),
                    created_at,
                    issued_at: at,
                    revoked_at: None,
                };
                self.all.insert(key, person);
            }
            PeopleFact::RoleChanged { name, role } => {
                let person = self.all.get_mut(name.as_str());
                if let Some(person) = person.filter(|person| person.role != *role) {
                    (person.role, person.role_since) = (*role, at);
                }
            }
            PeopleFact::Revoked { name } => {
                if let Some(person) = self.all.get_mut(name.as_str()) {
                    person.revoked_at = Some(at);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOON: Timestamp = Timestamp::from_millis(1_772_463_600_000);

    fn name(text: &str) -> PersonName {
        PersonName::parse(text).unwrap()
    }

    fn credential(id: &str) -> Credential {
        Credential {
            id: id.to_owned(),
            mac: Digest([1; 32]),
            pepper: None,
        }
    }

    fn add(who: &str, id: &str) -> PeopleOrder {
        PeopleOrder::Add {
            name: name(who),
            role: Role::Operator,
            credential: credential(id),
        }
    }

    fn done(people: &mut People, order: PeopleOrder) {
        let fact = people.decide(order).unwrap();
        people.apply(&fact, NOON);
    }

    #[test]
    fn a_credential_is_its_persons_until_it_is_replaced_or_revoked() {
        let mut people = People::default();
        done(&mut people, add("ana", "one"));
        let of = |people: &People, id: &str| people.with_credential(id).map(|it| it.role);
        assert_eq!(of(&people, "one"), Some(Role::Operator));
        assert_eq!(
            people.decide(add("ana", "two")),
            Err(Rejection::PersonTaken)
        );
        let rotate = PeopleOrder::Rotate {
            name: name("ana"),
            credential: credential("two"),
            instead_of: Some("one".to_owned()),
        };
        done(&mut people, rotate.clone());
        // The first credential was replaced, so it cannot be replaced again.
        assert_eq!(
            people.decide(rotate.clone()),
            Err(Rejection::PersonNotFound)
        );
        assert_eq!(
            (of(&people, "one"), of(&people, "two")),
            (None, Some(Role::Operator))
        );
        let role = |role| PeopleOrder::ChangeRole {
            name: name("ana"),
            role,
        };
        done(&mut people, role(Role::Viewer));
        assert_eq!(of(&people, "two"), Some(Role::Viewer));
        let revoke = PeopleOrder::Revoke { name: name("ana") };
        done(&mut people, revoke.clone());
        assert_eq!(of(&people, "two"), None);
        for order in [revoke, role(Role::Approver), rotate] {
            assert_eq!(people.decide(order), Err(Rejection::PersonNotFound));
        }
        // Somebody who comes back is the same person, and the old credentials stay dead.
        done(&mut people, add("ana", "three"));
        assert_eq!(
            (of(&people, "two"), of(&people, "three")),
            (None, Some(Role::Operator))
        );
    }

    #[test]
    fn a_role_counts_from_when_the_person_got_it() {
        let mut people = People::default();
        done(&mut people, add("ana", "one"));
        let since = |people: &People| people.named("ana").unwrap().role_since;
        assert_eq!(since(&people), NOON);
        let later = NOON.plus_millis(1000);
        let change = |people: &mut People, role| {
            let name = name("ana");
            people.apply(&PeopleFact::RoleChanged { name, role }, later);
        };
        // The role that she has already is no other one.
        change(&mut people, Role::Operator);
        assert_eq!(since(&people), NOON);
        change(&mut people, Role::Approver);
        assert_eq!(since(&people), later);
        change(&mut people, Role::Operator);
        assert_eq!(since(&people), later);
    }

    #[test]
    fn concurrent_work_is_bounded() {
        let mut people = People::default();
        for n in 0..PEOPLE_MAX {
            done(&mut people, add(&format!("p{n}"), &format!("c{n}")));
        }
        let maximum = PEOPLE_MAX;
        let more = add("more", "more");
        assert_eq!(
            people.decide(more.clone()),
            Err(Rejection::TooManyPeople { maximum })
        );
        done(&mut people, PeopleOrder::Revoke { name: name("p7") });
        done(&mut people, more);
    }

    #[test]
    fn names_are_small_plain_words_and_never_root() {
        for good in ["ana", "a1", "ana.perez@psp.com.ar", "7-of_9"] {
            assert_eq!(name(good).as_str(), good);
        }
        let long = "a".repeat(NAME_MAX + 1);
        for bad in [
            "", "a", "Ana", "añá", "a b", ".ana", "root", "a/b", "a\n", &long,
        ] {
            assert_eq!(PersonName::parse(bad), Err(NotAName), "{bad:?}");
        }
    }
}
