//! CBU and CVU: 22 digits in two blocks, each with a check digit.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The position of a block's check digit among the 22 digits, counted from 1: 8 for block 1, 22 for
/// block 2.
pub const fn place(block: u8) -> u8 {
    match block {
        1 => 8,
        _ => 22,
    }
}

/// Why 22 characters are not a CBU or CVU.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum KeyError {
    /// Not exactly 22 ASCII digits.
    #[error("must be exactly 22 digits")]
    Shape,
    /// A check digit is wrong.
    #[error("has a wrong check digit (digit {} of 22): it should be {right}", place(*block))]
    CheckDigit {
        /// The number of the block, 1 (its check digit is digit 8) or 2 (digit 22).
        block: u8,
        /// The digit that would be right, 0 to 9.
        right: u8,
    },
    /// A CVU begins with `000`, a CBU never does.
    #[error("must begin with 000, as every CVU does")]
    NotACvu,
    /// A CVU names a PSP other than 0000.
    #[error("must not have the PSP code 0000, which does not exist")]
    NoPsp,
    /// The digit after the first check digit of a CVU is reserved and 0.
    #[error("must have 0 as its digit 9, as every CVU does")]
    Reserved,
}

const WEIGHTS_1: [u32; 7] = [7, 1, 3, 9, 7, 1, 3];
const WEIGHTS_2: [u32; 13] = [3, 9, 7, 1, 3, 9, 7, 1, 3, 9, 7, 1, 3];

/// `(10 − (Σ digit·weight mod 10)) mod 10`. The outer mod 10 is not optional.
fn check_digit(digits: &[u8], weights: &[u32]) -> u8 {
    let sum: u32 = digits
        .iter()
        .zip(weights)
        .map(|(d, w)| u32::from(d.saturating_sub(b'0')).saturating_mul(*w))
        .fold(0, u32::saturating_add);
    u8::try_from(10_u32.saturating_sub(sum % 10) % 10).unwrap_or(0)
}

/// Both blocks, each with its check digit.
fn checked(first: &str, second: &str) -> String {
    let v1 = check_digit(first.as_bytes(), &WEIGHTS_1);
    let v2 = check_digit(second.as_bytes(), &WEIGHTS_2);
    format!("{first}{v1}{second}{v2}")
}

fn parse_22(text: &str) -> Result<[u8; 22], KeyError> {
    let digits: [u8; 22] = text.as_bytes().try_into().map_err(|_| KeyError::Shape)?;
    if !digits.iter().all(u8::is_ascii_digit) {
        return Err(KeyError::Shape);
    }
    let (block_1, block_2) = digits.split_at(8);
    for (block, digits, weights) in [
        (1, block_1, WEIGHTS_1.as_slice()),
        (2, block_2, WEIGHTS_2.as_slice()),
    ] {
        if let Some((last, body)) = digits.split_last() {
            let right = check_digit(body, weights);
            if last.saturating_sub(b'0') != right {
                return Err(KeyError::CheckDigit { block, right });
            }
        }
    }
    Ok(digits)
}

#[expect(clippy::expect_used, reason = "only digits ever get in")]
fn text_of(digits: &[u8; 22]) -> &str {
    std::str::from_utf8(digits).expect("digits are ASCII")
}

/// A CVU (Clave Virtual Uniforme), the key of a payment account at a PSP: `000`, the PSP's code
/// (4 digits), a check digit, `0`, the client id (12 digits), a check digit.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Cvu([u8; 22]);

impl Cvu {
    /// Parses 22 digits with correct check digits that begin with `000`, name a PSP and have 0 as
    /// their ninth digit.
    ///
    /// # Errors
    /// The first of these rules that the text breaks; check digits are verified before the rest.
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        let digits = parse_22(text)?;
        let text = text_of(&digits);
        match (text.starts_with("000"), text.get(3..7), text.get(8..9)) {
            (false, _, _) => Err(KeyError::NotACvu),
            (true, Some("0000"), _) => Err(KeyError::NoPsp),
            (true, _, Some("0")) => Ok(Self(digits)),
            (true, _, _) => Err(KeyError::Reserved),
        }
    }

    /// The CVU of a client of a PSP: `psp` 1 to 9999, `client` at most 12 digits; `None` outside
    /// these bounds.
    pub fn compose(psp: u16, client: u64) -> Option<Self> {
        if !(1..=9_999).contains(&psp) || client > 999_999_999_999 {
            return None;
        }
        let first = format!("000{psp:04}");
        let second = format!("0{client:012}");
        Self::parse(&checked(&first, &second)).ok()
    }

    /// The 22 digits of the CVU.
    pub fn as_str(&self) -> &str {
        text_of(&self.0)
    }

    /// The code of the PSP, 4 digits: the institution that keeps the account.
    pub fn psp(&self) -> &str {
        let (_, after) = self.as_str().split_at(3);
        after.split_at(4).0
    }

    /// The last four digits: all that a log line may show.
    pub fn last4(&self) -> &str {
        self.as_str().get(18..).unwrap_or_default()
    }

    /// PSP and client id as one number below 10^16, which identifies a CVU in compact tables.
    pub fn number(&self) -> u64 {
        let said = (3..7).chain(9..21).filter_map(|at| self.0.get::<usize>(at));
        said.fold(0, |number: u64, digit| {
            let digit = u64::from(digit.strict_sub(b'0'));
            number.strict_mul(10).strict_add(digit)
        })
    }
}

/// A key to which a transfer can be sent: the CBU of a bank account (bank 3 digits, branch 4, check
/// digit, account 13, check digit), or a CVU.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Cbu([u8; 22]);

impl Cbu {
    /// Parses a CBU, or a CVU by its stricter rules.
    ///
    /// # Errors
    /// When it is not 22 digits, a check digit is wrong, or a text that begins with `000` is not a
    /// CVU.
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        if text.starts_with("000") {
            Cvu::parse(text).map(Self::from)
        } else {
            parse_22(text).map(Self)
        }
    }

    /// The CBU of an account: `bank` 1 to 999, `branch` 0 to 9999, `account` at most 13 digits;
    /// `None` outside these bounds.
    pub fn compose(bank: u16, branch: u16, account: u64) -> Option<Self> {
        if !(1..=999).contains(&bank) || branch > 9_999 || account > 9_999_999_999_999 {
            return None;
        }
        let first = format!("{bank:03}{branch:04}");
        let second = format!("{account:013}");
        parse_22(&checked(&first, &second)).ok().map(Self)
    }

    /// The 22 digits of the key.
    pub fn as_str(&self) -> &str {
        text_of(&self.0)
    }

    /// The same as a CVU; `None` for the CBU of a bank account.
    pub fn cvu(&self) -> Option<Cvu> {
        Cvu::parse(self.as_str()).ok()
    }

    /// The code of the bank (3 digits), or of the PSP (4 digits) for a CVU.
    pub fn entity(&self) -> &str {
        let range = if self.as_str().starts_with("000") {
            3..7
        } else {
            0..3
        };
        self.as_str().get(range).unwrap_or_default()
    }

    /// The name of the bank, if the built-in table has its code; it has no PSPs.
    pub fn entity_name(&self) -> Option<&'static str> {
        let mut banks = BANKS.iter();
        let found = banks.find(|(code, _)| *code == self.entity());
        found.map(|(_, name)| *name)
    }
}

const BANKS: [(&str, &str); 12] = [
    ("007", "Galicia"),
    ("011", "Nación"),
    ("014", "Provincia"),
    ("017", "BBVA"),
    ("072", "Santander"),
    ("143", "Brubank"),
    ("285", "Macro"),
    ("299", "Comafi"),
    ("322", "Industrial"),
    ("384", "Wilobank"),
    ("431", "Coinag"),
    ("453", "Naranja X"),
];

impl From<Cvu> for Cbu {
    fn from(cvu: Cvu) -> Self {
        Self(cvu.0)
    }
}

macro_rules! as_text {
    ($type:ident) => {
        impl TryFrom<String> for $type {
            type Error = KeyError;
            fn try_from(text: String) -> Result<Self, KeyError> {
                Self::parse(&text)
            }
        }
        impl From<$type> for String {
            fn from(key: $type) -> String {
                key.as_str().to_owned()
            }
        }
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }
        impl fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}
as_text!(Cvu);
as_text!(Cbu);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_of_the_field_pass() {
        let cbus = [
            "2850590940090418135201",
            "0110012920000091344977",
            "0110376030037695834983",
            "0070081830004089740113",
            "0140019901401901247953",
            "3220001805007351350083",
        ];
        let cvus = [
            "0000003100062244154712",
            "0000013000000325120058",
            "0000007900203796201767",
            "0000532609100002749314",
            "0000531909000067076630",
            "0000032100000000000024",
            "0000033802019012400010",
        ];
        for text in cbus {
            assert_eq!(Cbu::parse(text).map(|c| c.to_string()), Ok(text.to_owned()));
            assert_eq!(Cvu::parse(text), Err(KeyError::NotACvu), "{text}");
        }
        for text in cvus {
            assert_eq!(Cvu::parse(text).map(|c| c.to_string()), Ok(text.to_owned()));
            assert!(Cbu::parse(text).is_ok(), "{text}");
        }
        for (psp, client, text) in [
            (1, 1, "0000001700000000000017"),
            (184, 1, "0000184300000000000017"),
            (184, 2, "0000184300000000000024"),
            (184, 10, "0000184300000000000109"),
            (999, 1, "0000999100000000000017"),
        ] {
            assert_eq!(
                Cvu::compose(psp, client).map(|c| c.to_string()).as_deref(),
                Some(text)
            );
        }
    }

    #[test]
    fn wrong_numbers_say_what_is_wrong() {
        use KeyError::*;
        for (text, why) in [
            ("2810590940090418135201", CheckDigit { block: 1, right: 1 }),
            ("2850590940090418135202", CheckDigit { block: 2, right: 1 }),
            ("0110012020000091344977", CheckDigit { block: 1, right: 9 }),
            ("0110012920000091344970", CheckDigit { block: 2, right: 7 }),
            ("3220001823001077580012", CheckDigit { block: 1, right: 8 }),
            ("0110012920000091", Shape),
            ("0110012920000091344977777", Shape),
            ("011ABCD920000091344977", Shape),
            ("0000000000000000000000", NoPsp),
        ] {
            let found = Cbu::parse(text).unwrap_err();
            let same_kind = std::mem::discriminant(&found) == std::mem::discriminant(&why);
            assert!(same_kind, "{text}: {found}");
        }
        for text in [
            "0000003000062244154712",
            "0000003100062244154710",
            "0000003180062244154712",
        ] {
            assert!(Cvu::parse(text).is_err(), "{text}");
        }
        assert_eq!(Cvu::compose(0, 1), None);
        for (psp, client) in [(1, 0), (184, 10), (9_999, 999_999_999_999)] {
            let number = Cvu::compose(psp, client).map(|cvu| cvu.number());
            assert_eq!(number, Some(u64::from(psp) * 1_000_000_000_000 + client));
        }
        assert_eq!(Cvu::compose(1, 1_000_000_000_000), None);
    }
}
