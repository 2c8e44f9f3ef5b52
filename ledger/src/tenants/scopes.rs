//! What a key may do, and from where it may be used: both are stored with the key.
//!
//! **Shape.** A [`Scope`] is a word: `read` allows every read that stays inside the service; `vouchers:read` allows
//! reading one group of operations, and `vouchers:write` reading and changing it. Reads that ask the bank have effects
//! outside, so they need the scope of their group ([`Group::asks_bank`]). Keys store the words.

use std::fmt;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

/// A group of operations.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Group {
    /// Accounts and their data: holder, alias, limits, balances, remuneration.
    Accounts,
    /// Vouchers, movements and fee previews.
    Vouchers,
    /// Holds and their steps.
    Holds,
    /// Transfers.
    Transfers,
    /// Lookups of the holder of a CBU, CVU or alias at the bank. There is nothing to write.
    Lookups,
    /// The voucher types that a tenant defines.
    Types,
    /// Webhooks and their deliveries.
    Webhooks,
    /// The event log, its stream, and the results of idempotency keys. There is nothing to write.
    Events,
    /// The treasury and the positions of clients. There is nothing to write.
    Treasury,
    /// Bank reconciliation, for which the bank's lists are read. There is nothing to write.
    Reconciliation,
}

impl Group {
    /// Whether its reads send questions to the bank: then the scope `read` does not allow them.
    pub const fn asks_bank(self) -> bool {
        matches!(self, Self::Lookups | Self::Reconciliation)
    }
}

/// The extent of a scope of a group; writing includes reading.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Access {
    /// Operations that change nothing.
    Read,
    /// Operations that change something, and also those that read.
    Write,
}

/// A permission of a key, as one word.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Scope {
    /// Read everything in all groups, except where the bank is asked.
    Read,
    /// Read a group of operations, or read and change it.
    Of(Group, Access),
}

use Access::{Read, Write};
use Group::{
    Accounts, Events, Holds, Lookups, Reconciliation, Transfers, Treasury, Types, Vouchers,
    Webhooks,
};

/// Every scope with its word.
pub const SCOPES: [(&str, Scope); 17] = [
    ("read", Scope::Read),
    ("accounts:read", Scope::Of(Accounts, Read)),
    ("accounts:write", Scope::Of(Accounts, Write)),
    ("vouchers:read", Scope::Of(Vouchers, Read)),
    ("vouchers:write", Scope::Of(Vouchers, Write)),
    ("holds:read", Scope::Of(Holds, Read)),
    ("holds:write", Scope::Of(Holds, Write)),
    ("transfers:read", Scope::Of(Transfers, Read)),
    ("transfers:write", Scope::Of(Transfers, Write)),
    ("lookups:read", Scope::Of(Lookups, Read)),
    ("types:read", Scope::Of(Types, Read)),
    ("types:write", Scope::Of(Types, Write)),
    ("webhooks:read", Scope::Of(Webhooks, Read)),
    ("webhooks:write", Scope::Of(Webhooks, Write)),
    ("events:read", Scope::Of(Events, Read)),
    ("treasury:read", Scope::Of(Treasury, Read)),
    ("reconciliation:read", Scope::Of(Reconciliation, Read)),
];

impl Scope {
    /// The scope with this word; `None` when there is none.
    pub fn parse(word: &str) -> Option<Self> {
        let mut known = SCOPES.iter();
        known
            .find(|(name, _)| *name == word)
            .map(|(_, scope)| *scope)
    }

    /// Its word; `None` for a scope that cannot be given, such as writing the treasury.
    pub fn word(self) -> Option<&'static str> {
        let mut known = SCOPES.iter();
        known
            .find(|(_, scope)| *scope == self)
            .map(|(name, _)| *name)
    }

    /// Whether this scope allows everything that the other one allows.
    pub fn covers(self, needed: Self) -> bool {
        match (self, needed) {
            (Self::Read, Self::Read) => true,
            (Self::Read, Self::Of(group, Read)) => !group.asks_bank(),
            (Self::Of(had, access), Self::Of(group, needs)) => had == group && access >= needs,
            (Self::Read, Self::Of(_, Write)) | (Self::Of(..), Self::Read) => false,
        }
    }
}

impl TryFrom<String> for Scope {
    type Error = String;

    fn try_from(word: String) -> Result<Self, String> {
        Self::parse(&word).ok_or_else(|| format!("no scope: {word}"))
    }
}

impl From<Scope> for String {
    fn from(scope: Scope) -> Self {
        scope.word().map_or_else(Self::new, str::to_owned)
    }
}

/// A set of addresses: a single one, or all with the same leading bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Network {
    address: IpAddr,
    bits: u8,
}

/// The bits of an address, with the first one highest, and their number.
fn bits_of(address: IpAddr) -> (u128, u8) {
    match address {
        IpAddr::V4(v4) => (u128::from(v4.to_bits()) << 96, 32),
        IpAddr::V6(v6) => (v6.to_bits(), 128),
    }
}

impl Network {
    /// Parses an address such as `203.0.113.7`, or a network such as `10.20.0.0/16` or `2001:db8::/32`. `None` when it
    /// is neither.
    pub fn parse(text: &str) -> Option<Self> {
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().ok()?;
        let (_, most) = bits_of(address);
        let digits = |bits: &&str| bits.len() <= 3 && bits.bytes().all(|b| b.is_ascii_digit());
        let bits = match bits {
            Some(bits) => Some(bits).filter(digits)?.parse().ok()?,
            None => most,
        };
        (bits <= most).then_some(Self { address, bits })
    }

    /// Whether the network contains an address. IPv4 in an IPv6 address counts as IPv4.
    pub fn contains(&self, address: IpAddr) -> bool {
        let (own, most) = bits_of(self.address);
        let (asked, of) = bits_of(address.to_canonical());
        let differs = own ^ asked;
        most == of && (self.bits == 0 || differs.leading_zeros() >= u32::from(self.bits))
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (_, most) = bits_of(self.address);
        if self.bits == most {
            write!(f, "{}", self.address)
        } else {
            write!(f, "{}/{}", self.address, self.bits)
        }
    }
}

impl TryFrom<String> for Network {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text).ok_or_else(|| format!("no network: {text}"))
    }
}

impl From<Network> for String {
    fn from(network: Network) -> Self {
        network.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_scope_covers_only_its_group_and_read_covers_every_read_inside() {
        for (word, scope) in SCOPES {
            assert_eq!(Scope::parse(word), Some(scope));
            assert_eq!(scope.word(), Some(word));
            assert!(scope.covers(scope), "{word}");
            let asks = ["lookups:read", "reconciliation:read"].contains(&word);
            assert_eq!(Scope::Read.covers(scope), !word.ends_with("write") && !asks);
            let others = SCOPES.iter().filter(|(_, other)| scope.covers(*other));
            let group = word.split(':').next();
            let of_group = |(name, _): &(&str, Scope)| name.split(':').next() == group;
            assert!(scope == Scope::Read || others.clone().all(of_group));
            assert_eq!(
                others.count(),
                match word {
                    "read" => 9,
                    _ if word.ends_with("write") => 2,
                    _ => 1,
                }
            );
        }
        assert_eq!(Scope::parse("treasury:write"), None);
        assert_eq!(Scope::parse("Read"), None);
    }

    #[test]
    fn a_network_has_the_addresses_with_its_first_bits() {
        for (text, within, without) in [
            ("203.0.113.7", "203.0.113.7", "203.0.113.8"),
            ("203.0.113.7/32", "::ffff:203.0.113.7", "203.0.113.6"),
            ("10.20.0.0/16", "10.20.255.1", "10.21.0.0"),
            ("10.20.30.40/8", "10.1.1.1", "11.0.0.0"),
            ("0.0.0.0/0", "198.51.100.1", "::1"),
            ("::/0", "2001:db8::1", "10.0.0.1"),
            ("2001:db8::/33", "2001:db8:7fff::1", "2001:db8:8000::1"),
        ] {
            let network = Network::parse(text).unwrap();
            assert!(network.contains(within.parse().unwrap()), "{text} {within}");
            assert!(
                !network.contains(without.parse().unwrap()),
                "{text} {without}"
            );
            assert_eq!(Network::parse(&network.to_string()), Some(network));
        }
        for text in [
            "",
            "/8",
            "10.0.0.0/",
            "10.0.0.0/33",
            "10.0.0.0/+8",
            "::/129",
            "10.0.0",
            "a.example",
        ] {
            assert_eq!(Network::parse(text), None, "{text}");
        }
    }
}
