//! Ids that route themselves: a voucher's id says its realm, account and sequence.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::tenants::Mode;

/// The number of a realm (tenant × mode), from 1; 0 is the platform.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RealmId(pub u32);

impl RealmId {
    /// Live realms have odd numbers, test realms even ones: [`crate::tenants::Platform`] gives
    /// them out in pairs.
    pub const fn mode(self) -> Mode {
        if self.0 % 2 == 1 {
            Mode::Live
        } else {
            Mode::Test
        }
    }
}

/// The number of an account in its realm, from 1: the wallet account id.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AccountNo(pub u64);

impl AccountNo {
    /// The largest number: it has to fit the bank's client id beside the realm.
    pub const MAX: u64 = 9_999_999;

    /// The numeric client id (at most 12 digits) by which the bank knows the account: stable and
    /// unique, so that asking again gives the same CVU and never a second one.
    pub fn bank_client_id(self, realm: RealmId) -> u64 {
        u64::from(realm.0)
            .saturating_mul(10_000_000)
            .saturating_add(self.0)
    }
}

impl fmt::Display for AccountNo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Where a voucher is: realm, account, sequence. Written `cmp_` and 26 characters of base 32 that
/// end in a check, so that a typing error is no other voucher.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct VoucherId {
    /// The realm.
    pub realm: RealmId,
    /// The account in it.
    pub account: AccountNo,
    /// The movement's sequence in the account.
    pub sequence: u64,
}

const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
const PREFIX: &str = "cmp_";
const FIELD_40: u128 = 0xff_ffff_ffff;

impl VoucherId {
    fn check(high: u128) -> u128 {
        // Any fixed mixing that spreads single changes over 16 bits serves.
        let mixed = high.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
        mixed.wrapping_shr(112)
    }

    /// Reads an id; `None` for anything that was never written by `Display`.
    pub fn parse(text: &str) -> Option<Self> {
        Self::after(PREFIX, text)
    }

    pub(crate) fn after(prefix: &str, text: &str) -> Option<Self> {
        let digits = text.strip_prefix(prefix)?;
        if digits.len() != 26 {
            return None;
        }
        let mut value: u128 = 0;
        for byte in digits.bytes() {
            let digit = u128::try_from(ALPHABET.iter().position(|a| *a == byte)?).ok()?;
            if value.leading_zeros() < 5 {
                return None;
            }
            value = value.wrapping_shl(5) | digit;
        }
        let high = value.wrapping_shr(16);
        if value & 0xffff != Self::check(high) {
            return None;
        }
        let id = Self {
            realm: RealmId(u32::try_from(high.wrapping_shr(80)).ok()?),
            account: AccountNo(u64::try_from(high.wrapping_shr(40) & FIELD_40).ok()?),
            sequence: u64::try_from(high & FIELD_40).ok()?,
        };
        Some(id)
    }

    pub(crate) fn write(self, prefix: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let high = u128::from(self.realm.0).wrapping_shl(80)
            | (u128::from(self.account.0) & FIELD_40).wrapping_shl(40)
            | (u128::from(self.sequence) & FIELD_40);
        let value = high.wrapping_shl(16) | Self::check(high);
        f.write_str(prefix)?;
        f.write_str(std::str::from_utf8(&base32::<26>(value)).unwrap_or_default())
    }
}

/// A number as so many digits of base 32.
fn base32<const N: usize>(value: u128) -> [u8; N] {
    let mut text = [b'0'; N];
    for (place, byte) in text.iter_mut().rev().enumerate() {
        let shift = u32::try_from(place).unwrap_or(0).saturating_mul(5);
        let digit = usize::try_from(value.wrapping_shr(shift) & 31).unwrap_or(0);
        *byte = ALPHABET.get(digit).copied().unwrap_or(b'0');
    }
    text
}

impl fmt::Display for VoucherId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(PREFIX, f)
    }
}

macro_rules! named_by_its_first_voucher {
    ($(#[$meta:meta])* $type:ident, $prefix:literal) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub struct $type(pub VoucherId);

        impl $type {
            /// Reads an id; `None` for anything that was never written by `Display`.
            pub fn parse(text: &str) -> Option<Self> {
                VoucherId::after($prefix, text).map(Self)
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.write($prefix, f)
            }
        }
    };
}

named_by_its_first_voucher! {
    /// A hold: the place of the voucher that opened it. Written `hld_` and the voucher's digits.
    HoldId, "hld_"
}

named_by_its_first_voucher! {
    /// A transfer: the place of its first voucher on the account that sends. Written `trf_` and
    /// the voucher's digits.
    TransferId, "trf_"
}

/// The reference by which the bank knows a transfer: 15 characters that say which one it is, so
/// that it is on disk before the bank is asked, and its answers and notices find their way back.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct OriginId(pub VoucherId);

impl OriginId {
    const ACCOUNT_BITS: u32 = 24;
    const SEQUENCE_BITS: u32 = 31;

    /// Reads a reference; `None` for anything that was never written by `Display`.
    pub fn parse(text: &str) -> Option<Self> {
        if text.len() != 15 {
            return None;
        }
        let mut value: u128 = 0;
        for byte in text.bytes() {
            let digit = u128::try_from(ORIGIN.iter().position(|a| *a == byte)?).ok()?;
            value = value.wrapping_shl(5) | digit;
        }
        let field = |at: u32, bits: u32| {
            value.wrapping_shr(at) & (1_u128.wrapping_shl(bits).wrapping_sub(1))
        };
        let realm_at = Self::ACCOUNT_BITS.wrapping_add(Self::SEQUENCE_BITS);
        Some(Self(VoucherId {
            realm: RealmId(u32::try_from(field(realm_at, 20)).ok()?),
            account: AccountNo(u64::try_from(field(Self::SEQUENCE_BITS, Self::ACCOUNT_BITS)).ok()?),
            sequence: u64::try_from(field(0, Self::SEQUENCE_BITS)).ok()?,
        }))
    }
}

const ORIGIN: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

impl fmt::Display for OriginId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let VoucherId {
            realm,
            account,
            sequence,
        } = self.0;
        let value = u128::from(realm.0)
            .wrapping_shl(Self::ACCOUNT_BITS.wrapping_add(Self::SEQUENCE_BITS))
            | u128::from(account.0).wrapping_shl(Self::SEQUENCE_BITS)
            | u128::from(sequence);
        let digits = base32::<15>(value).map(|digit| digit.to_ascii_uppercase());
        f.write_str(std::str::from_utf8(&digits).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn ids_read_back_and_one_wrong_character_is_no_id(
            realm in 0_u32.., account in 0_u64..1 << 40, sequence in 0_u64..1 << 40,
            place in 4_usize..30, other in 0_usize..32,
        ) {
            let id = VoucherId { realm: RealmId(realm), account: AccountNo(account), sequence };
            let text = id.to_string();
            prop_assert_eq!(VoucherId::parse(&text), Some(id));
            let mut bytes = text.clone().into_bytes();
            bytes[place] = ALPHABET[other];
            let changed = String::from_utf8(bytes).unwrap();
            if changed != text {
                prop_assert!(VoucherId::parse(&changed) != Some(id));
            }
        }
    }

    proptest! {
        #[test]
        fn references_of_the_bank_read_back(
            realm in 0_u32..1 << 20, account in 0_u64..=AccountNo::MAX, sequence in 0_u64..1 << 31,
        ) {
            let id = OriginId(VoucherId { realm: RealmId(realm), account: AccountNo(account), sequence });
            prop_assert_eq!(id.to_string().len(), 15);
            prop_assert_eq!(OriginId::parse(&id.to_string()), Some(id));
        }
    }

    #[test]
    fn anything_else_is_no_id() {
        for text in ["", "cmp_", "cmp_zzzzzzzzzzzzzzzzzzzzzzzzzz", "cmp_ñ", "1"] {
            assert_eq!(VoucherId::parse(text), None, "{text}");
        }
        let id = VoucherId {
            realm: RealmId(1),
            account: AccountNo(2),
            sequence: 3,
        };
        assert_eq!(
            id.to_string(),
            VoucherId::parse(&id.to_string()).unwrap().to_string()
        );
        assert_eq!(AccountNo(7).bank_client_id(RealmId(12)), 120_000_007);
    }
}
