//! Roles, and the powers that each has.

use serde::{Deserialize, Serialize};

/// A power that a role may have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Power {
    /// See everything except the audit log.
    Read,
    /// See the audit log.
    Audit,
    /// Act, with a reason.
    Act,
    /// Decide about another person's proposal.
    Approve,
    /// End somebody's credential.
    Revoke,
    /// Manage people, their roles and credentials.
    Administer,
}

words! {
    /// The role of a person.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
    pub enum Role {
        /// Reads.
        Viewer = "viewer",
        /// Reads, including the audit log.
        Auditor = "auditor",
        /// Reads and acts.
        Operator = "operator",
        /// Reads, acts, and decides about proposals of others.
        Approver = "approver",
        /// The configured admin key. It is not a person, so it approves nothing.
        Root = "root",
        /// A key of a tenant, in entries of the audit log about what it read. It has no power here.
        Key = "key",
    }
}

impl Role {
    /// The roles that a person can have, with their words.
    pub const OF_PEOPLE: [(&'static str, Self); 4] = [
        ("viewer", Self::Viewer),
        ("auditor", Self::Auditor),
        ("operator", Self::Operator),
        ("approver", Self::Approver),
    ];

    /// The role of a person with this word.
    pub fn parse(word: &str) -> Option<Self> {
        let mut all = Self::OF_PEOPLE.iter();
        all.find(|(known, _)| *known == word).map(|(_, role)| *role)
    }

    /// Whether the role has a power.
    pub const fn may(self, power: Power) -> bool {
        match power {
            Power::Read => !matches!(self, Self::Key),
            Power::Audit => matches!(self, Self::Auditor | Self::Root),
            Power::Act => matches!(self, Self::Operator | Self::Approver | Self::Root),
            Power::Approve => matches!(self, Self::Approver),
            Power::Revoke => matches!(self, Self::Approver | Self::Root),
            Power::Administer => matches!(self, Self::Root),
        }
    }
}

impl Power {
    /// The least role that has the power.
    pub const fn least(self) -> Role {
        match self {
            Self::Read => Role::Viewer,
            Self::Audit => Role::Auditor,
            Self::Act => Role::Operator,
            Self::Approve | Self::Revoke => Role::Approver,
            Self::Administer => Role::Root,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_role_has_its_powers_and_the_least_role_of_a_power_has_it() {
        use Power::{Act, Administer, Approve, Audit, Read, Revoke};
        let all = [Read, Audit, Act, Approve, Revoke, Administer];
        for (role, has) in [
            (Role::Viewer, &[Read][..]),
            (Role::Auditor, &[Read, Audit]),
            (Role::Operator, &[Read, Act]),
            (Role::Approver, &[Read, Act, Approve, Revoke]),
            (Role::Root, &[Read, Audit, Act, Revoke, Administer]),
            (Role::Key, &[]),
        ] {
            let found: Vec<_> = all.into_iter().filter(|power| role.may(*power)).collect();
            assert_eq!(found, has, "{role:?}");
        }
        assert!(all.iter().all(|power| power.least().may(*power)));
        for (word, role) in Role::OF_PEOPLE {
            assert_eq!((Role::parse(word), role.as_str()), (Some(role), word));
        }
        assert_eq!(Role::parse("root"), None);
    }
}
