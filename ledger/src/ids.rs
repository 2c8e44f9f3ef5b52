//! Ids that contain their route: a voucher's id states its realm, account and sequence.
//!
//! **A place can be used twice.** After an older copy of a store is put back, new vouchers use places that already had
//! another meaning in the lost history. So an id has a [`Tag`] besides the place, derived from its history: an id that
//! was published once never names anything else.

mod realm;
mod tag;

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::chain::Canonical;
use crate::text::ExternalId;

pub use realm::{Mode, REALM_MAX, RealmId, Shard};
pub use tag::Tag;

/// The number of an account in its realm, from 1: the wallet account id.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AccountNo(pub u64);

impl AccountNo {
    /// The largest number: with [`crate::cases::RETURNS`] after it, the largest that fits into the 40 bits of ids.
    pub const MAX: u64 = (1 << 40) - 2;

    /// The number after this one, which may be one too large.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.strict_add(1))
    }

    /// The id of the record of an account's CVU: `realm × 10,000,000 + account`, unique in the realm.
    pub fn cvu_record(self, realm: RealmId) -> u64 {
        u64::from(realm.0)
            .saturating_mul(RealmId::RECORDS)
            .saturating_add(self.0)
    }

    /// The account of a realm whose [`Self::cvu_record`] is `id`; `None` if no account can have it.
    pub fn of_cvu_record(id: u64, realm: RealmId) -> Option<Self> {
        let before = u64::from(realm.0).checked_mul(RealmId::RECORDS)?;
        let number = id.checked_sub(before)?;
        (1..=Self::MAX).contains(&number).then_some(Self(number))
    }
}

impl fmt::Display for AccountNo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The id of a pepper: a part of a digest of it, by which it is recognised and not known.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PepperId(pub u32);

/// The place of a voucher: realm, account, sequence, and the [`Tag`] of its history. Written as `cmp_` and 32
/// characters of base 32: 26 for the place, which end in a checksum of everything, so that a typing error does not give
/// another voucher, and 6 for the tag. Ids without a tag have 26.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct VoucherId {
    /// The realm, of at most 32 bits.
    pub realm: RealmId,
    /// The account in it, of at most 40 bits.
    pub account: AccountNo,
    /// The movement's sequence in the account, of at most 40 bits.
    pub sequence: u64,
    /// The tag of its history; [`Tag::NONE`] in ids from before tags existed.
    pub tag: Tag,
}

const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
const PREFIX: &str = "cmp_";
const FIELD_40: u128 = 0xff_ffff_ffff;

impl VoucherId {
    fn check(high: u128, tag: Tag) -> u128 {
        // Any fixed mixing that spreads single changes over 16 bits would do.
        let tag = u128::from(tag.number()).wrapping_mul(0xd1b5_4a32_d192_ed03_8cb9_2ba7_2f3d_8dd7);
        let mixed = high
            .wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835)
            .wrapping_add(tag);
        mixed.wrapping_shr(112)
    }

    /// Parses an id; `None` for anything that `Display` never wrote.
    pub fn parse(text: &str) -> Option<Self> {
        Self::after(PREFIX, text)
    }

    /// Parses the digits of a place after a prefix other than that of vouchers; `None` for anything that
    /// [`Self::write`] never wrote.
    pub(crate) fn after(prefix: &str, text: &str) -> Option<Self> {
        let digits = text.strip_prefix(prefix)?;
        let (place, tag) = match digits.len() {
            26 => (digits, None),
            32 => digits
                .split_at_checked(26)
                .map(|(place, tag)| (place, Some(tag)))?,
            _ => return None,
        };
        let value = number(place, ALPHABET)?;
        let tag = match tag {
            Some(tag) => Tag::of_number(number(tag, ALPHABET)?)?,
            None => Tag::NONE,
        };
        let high = value.wrapping_shr(16);
        if value & 0xffff != Self::check(high, tag) {
            return None;
        }
        let id = Self {
            realm: RealmId(u32::try_from(high.wrapping_shr(80)).ok()?),
            account: AccountNo(u64::try_from(high.wrapping_shr(40) & FIELD_40).ok()?),
            sequence: u64::try_from(high & FIELD_40).ok()?,
            tag,
        };
        Some(id)
    }

    /// Writes the place after a prefix: 26 digits, or 32 with a tag.
    ///
    /// # Errors
    /// When the formatter fails.
    pub(crate) fn write(self, prefix: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let high = u128::from(self.realm.0).wrapping_shl(80)
            | (u128::from(self.account.0) & FIELD_40).wrapping_shl(40)
            | (u128::from(self.sequence) & FIELD_40);
        let value = high.wrapping_shl(16) | Self::check(high, self.tag);
        f.write_str(prefix)?;
        write_digits(&base32::<26>(value), f)?;
        if self.tag.is_none() {
            return Ok(());
        }
        write_digits(&base32::<6>(u128::from(self.tag.number())), f)
    }
}

/// The number written in these digits of an alphabet; `None` for other characters or too many digits.
fn number(digits: &str, alphabet: &[u8; 32]) -> Option<u128> {
    let mut value: u128 = 0;
    for byte in digits.bytes() {
        let digit = u128::try_from(alphabet.iter().position(|a| *a == byte)?).ok()?;
        if value.leading_zeros() < 5 {
            return None;
        }
        value = value.wrapping_shl(5) | digit;
    }
    Some(value)
}

/// Writes a number as this many base-32 digits.
#[expect(clippy::expect_used, reason = "five bits are a place among 32 digits")]
fn base32<const N: usize>(mut value: u128) -> [u8; N] {
    let mut text = [b'0'; N];
    for byte in text.iter_mut().rev() {
        let [.., low] = value.to_be_bytes();
        *byte = *ALPHABET
            .get(usize::from(low & 31))
            .expect("a digit for five bits");
        value >>= 5;
    }
    text
}

/// Writes digits, which are ASCII.
fn write_digits(digits: &[u8], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str(std::str::from_utf8(digits).map_err(|_| fmt::Error)?)
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

/// The reference by which the bank knows a transfer: 15 characters of base 32 that are on disk before the bank is
/// asked, so that the bank's answers and notices can be assigned to it.
///
/// It is a digest of the order's owner and of the tenant's own id of the order. So it never repeats: not for another
/// order, not in another store, not after an older copy of a store was put back. The same order, sent again by a client
/// after such a copy, has the same reference, and the bank pays it once.
///
/// Older references contained realm, account and transfer; they can still be parsed, and their first bit distinguishes
/// them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct OriginId(u128);

/// The error for a text that is not a reference of a transfer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoOrigin;

impl fmt::Display for NoOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("is no reference of a transfer: 15 characters")
    }
}

impl OriginId {
    const ACCOUNT_BITS: u32 = 24;
    const SEQUENCE_BITS: u32 = 31;
    const REALM_AT: u32 = Self::ACCOUNT_BITS.wrapping_add(Self::SEQUENCE_BITS);
    /// The bit that is set in references that are digests.
    const DIGEST: u128 = 1 << 74;

    /// The reference of a tenant's order in a mode, derived from the tenant's own id of it.
    pub fn of_order(tenant: &str, mode: Mode, external_id: &ExternalId) -> Self {
        Self::of_form(
            Canonical::default()
                .text("transfer")
                .text(tenant)
                .text(mode.as_str())
                .text(external_id.as_str()),
        )
    }

    /// The reference of the n-th try to return money in suspense that arrived under an id of the rail. The same try,
    /// repeated after an older copy of the store was put back, has the same reference.
    pub fn of_return(tenant: &str, mode: Mode, coelsa_id: &str, attempt: u32) -> Self {
        Self::of_form(
            Canonical::default()
                .text("return")
                .text(tenant)
                .text(mode.as_str())
                .text(coelsa_id)
                .number(i64::from(attempt)),
        )
    }

    /// The reference that is the digest of a canonical form.
    pub(crate) fn of_form(form: Canonical) -> Self {
        let digest = u128::from_be_bytes(form.digest().first());
        Self(Self::DIGEST | (digest & Self::DIGEST.wrapping_sub(1)))
    }

    /// The reference of a transfer from the time when references contained its place.
    pub fn of_place(place: VoucherId) -> Self {
        Self(
            u128::from(place.realm.0).wrapping_shl(Self::REALM_AT)
                | u128::from(place.account.0).wrapping_shl(Self::SEQUENCE_BITS)
                | u128::from(place.sequence),
        )
    }

    /// The place of the transfer, if the reference contains it.
    pub fn place(self) -> Option<VoucherId> {
        if self.0 & Self::DIGEST != 0 {
            return None;
        }
        let field = |at: u32, bits: u32| {
            self.0.wrapping_shr(at) & (1_u128.wrapping_shl(bits).wrapping_sub(1))
        };
        Some(VoucherId {
            realm: RealmId(u32::try_from(field(Self::REALM_AT, 20)).ok()?),
            account: AccountNo(u64::try_from(field(Self::SEQUENCE_BITS, Self::ACCOUNT_BITS)).ok()?),
            sequence: u64::try_from(field(0, Self::SEQUENCE_BITS)).ok()?,
            tag: Tag::NONE,
        })
    }

    /// Its 16 bytes, big-endian, as in the keys of rows.
    pub const fn to_bytes(self) -> [u8; 16] {
        self.0.to_be_bytes()
    }

    /// Parses a reference; `None` for anything that `Display` never wrote.
    pub fn parse(text: &str) -> Option<Self> {
        if text.len() != 15 {
            return None;
        }
        number(text, ORIGIN).map(Self)
    }
}

impl From<OriginId> for String {
    fn from(id: OriginId) -> Self {
        id.to_string()
    }
}

impl TryFrom<String> for OriginId {
    type Error = NoOrigin;
    fn try_from(text: String) -> Result<Self, NoOrigin> {
        Self::parse(&text).ok_or(NoOrigin)
    }
}

const ORIGIN: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

impl fmt::Display for OriginId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = base32::<15>(self.0).map(|digit| digit.to_ascii_uppercase());
        write_digits(&digits, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::Digest;
    use crate::time::Timestamp;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn ids_read_back_and_one_wrong_character_is_no_id(
            realm in 0_u32.., account in 0_u64..1 << 40, sequence in 0_u64..1 << 40,
            tag in 0_u32..1 << Tag::BITS, place in 4_usize..36, other in 0_usize..32,
        ) {
            let tag = Tag::of_number(tag.into()).unwrap_or_default();
            let id = VoucherId { realm: RealmId(realm), account: AccountNo(account), sequence, tag };
            let text = id.to_string();
            prop_assert_eq!(text.len(), if tag.is_none() { 30 } else { 36 });
            prop_assert_eq!(VoucherId::parse(&text), Some(id));
            let mut bytes = text.clone().into_bytes();
            let last = bytes.len() - 1;
            bytes[place.min(last)] = ALPHABET[other];
            let changed = String::from_utf8(bytes).unwrap();
            if changed != text {
                prop_assert!(VoucherId::parse(&changed) != Some(id));
            }
        }
    }

    proptest! {
        #[test]
        fn references_of_the_bank_read_back(
            realm in 0_u32..1 << 20, account in 0_u64..1 << 24, sequence in 0_u64..1 << 31,
        ) {
            let (realm_id, tag) = (RealmId(realm), Tag::NONE);
            let place = VoucherId { realm: realm_id, account: AccountNo(account), sequence, tag };
            let id = OriginId::of_place(place);
            prop_assert_eq!(id.to_string().len(), 15);
            prop_assert_eq!(OriginId::parse(&id.to_string()), Some(id));
            // The highest bit of a realm's number was never used by any store.
            prop_assert_eq!(id.place(), (realm < 1 << 19).then_some(place));
        }
    }

    #[test]
    fn references_of_orders_are_those_of_no_other_order() {
        let of = |tenant: &str, mode, id: &str| {
            OriginId::of_order(tenant, mode, &ExternalId::parse(id).unwrap())
        };
        let all = [
            of("tnt_1", Mode::Test, "a"),
            of("tnt_1", Mode::Live, "a"),
            of("tnt_1", Mode::Test, "b"),
            of("tnt_2", Mode::Test, "a"),
        ];
        let of = OriginId::of_return;
        let returns = [
            of("tnt_1", Mode::Test, "a", 1),
            of("tnt_1", Mode::Test, "a", 2),
            of("tnt_1", Mode::Live, "a", 1),
            of("tnt_1", Mode::Test, "b", 1),
            of("tnt_2", Mode::Test, "a", 1),
        ];
        let all: Vec<_> = all.into_iter().chain(returns).collect();
        let different: std::collections::BTreeSet<_> = all.iter().copied().collect();
        assert_eq!(different.len(), all.len());
        for id in &all {
            assert_eq!(OriginId::parse(&id.to_string()), Some(*id));
            assert_eq!(id.place(), None);
        }
        // The bank keeps it, so a later version must not compute another one.
        assert_eq!(all[0].to_string(), "TJF76VEKS5RSKT7");
    }

    #[test]
    fn anything_else_is_no_id() {
        for text in ["", "cmp_", "cmp_zzzzzzzzzzzzzzzzzzzzzzzzzz", "cmp_ñ", "1"] {
            assert_eq!(VoucherId::parse(text), None, "{text}");
        }
        // Clients keep ids, so a later version must not write others.
        let at = Timestamp::from_millis(1_700_000_000_000);
        let tag = Tag::after(Digest::of(b"before"), at);
        for (tag, text) in [
            (Tag::NONE, "cmp_00000020000000400000006bzy"),
            (tag, "cmp_000000200000004000000073hcgebfrm"),
        ] {
            let id = VoucherId {
                realm: RealmId(1),
                account: AccountNo(2),
                sequence: 3,
                tag,
            };
            assert_eq!(id.to_string(), text);
            assert_eq!(VoucherId::parse(text), Some(id));
        }
        // The tag of another place, no tag, or the tag that means "no tag".
        let [plain, tagged] = [
            "cmp_00000020000000400000006bzy",
            "cmp_000000200000004000000073hcgebfrm",
        ];
        let zero = format!("{plain}000000");
        let mixed = format!("{plain}{}", tagged.split_at(30).1);
        for text in [&zero, &mixed, tagged.split_at(30).0] {
            assert_eq!(VoucherId::parse(text), None, "{text}");
        }
        assert_eq!(AccountNo(7).cvu_record(RealmId(12)), 120_000_007);
        for (id, number) in [
            (120_000_007, Some(AccountNo(7))),
            (130_000_007, Some(AccountNo(10_000_007))),
            (
                120_000_000 + AccountNo::MAX,
                Some(AccountNo(AccountNo::MAX)),
            ),
            (120_000_001 + AccountNo::MAX, None),
            (120_000_000, None),
            (110_000_007, None),
            (7, None),
            (u64::MAX, None),
        ] {
            assert_eq!(AccountNo::of_cvu_record(id, RealmId(12)), number, "{id}");
        }
    }
}
