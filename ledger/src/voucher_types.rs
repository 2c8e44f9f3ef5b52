//! Voucher types: the built-in ones, and those that a tenant defines for its adjustments.

mod of_realm;
mod shapes;

use serde::{Deserialize, Serialize};

use crate::balance::Direction;
use crate::text::TextError;
use crate::time::Timestamp;

pub use of_realm::{CreateVoucherType, VoucherTypeChange, VoucherTypes};
pub use shapes::{Origin, Sense, VoucherType};

/// The code of a voucher type: 2 to 40 unaccented letters, digits, underscores or dashes; letters are upper case.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TypeCode(String);

text!(TypeCode);

impl TypeCode {
    /// Parses a code; lower case is converted to upper case.
    ///
    /// # Errors
    /// When it has another length or another character.
    pub fn parse(text: &str) -> Result<Self, TextError> {
        let raised = text.to_ascii_uppercase();
        let good = |b: u8| b.is_ascii_uppercase() || b.is_ascii_digit() || matches!(b, b'_' | b'-');
        if (2..=40).contains(&raised.len()) && raised.bytes().all(good) {
            Ok(Self(raised))
        } else {
            Err(TextError::TypeCode)
        }
    }
}

/// The built-in types: code, name, and direction. The position of a type, counted from 1, is its number, so new types
/// are appended.
pub const SYSTEM_TYPES: [(&str, &str, Direction); 13] = [
    ("CREDIT", "Credit", Direction::Credit),
    ("DEBIT", "Debit", Direction::Debit),
    ("HOLD", "Hold", Direction::Hold),
    ("RELEASE", "Release of a hold", Direction::Release),
    (
        "CONFIRM_HOLD",
        "Confirmation of a hold",
        Direction::ConfirmHold,
    ),
    ("TRANSFER_IN", "Incoming transfer", Direction::Credit),
    ("TRANSFER_OUT", "Outgoing transfer", Direction::ConfirmHold),
    (
        "TRANSFER_REVERSAL",
        "Reversal of a transfer",
        Direction::Credit,
    ),
    (
        "INTERNAL_P2P_IN",
        "Internal transfer received",
        Direction::Credit,
    ),
    (
        "INTERNAL_P2P_OUT",
        "Internal transfer sent",
        Direction::Debit,
    ),
    ("FEE", "Fee", Direction::Debit),
    ("FEE_TAX", "Tax on a fee", Direction::Debit),
    (
        "REMUNERATION",
        "Remuneration of the balance",
        Direction::Credit,
    ),
];

/// A built-in type that the service itself posts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SystemType {
    /// Opens a hold, or sets money of a transfer apart.
    Hold,
    /// Ends a hold or a part of it, or gives a transfer's money back.
    Release,
    /// Lets money of a hold leave, all or a part.
    ConfirmHold,
    /// Credits money that arrived from the bank.
    TransferIn,
    /// A transfer through the bank that completed.
    TransferOut,
    /// A transfer that came back.
    TransferReversal,
    /// The receiving half of an internal transfer.
    P2pIn,
    /// The sending half of an internal transfer.
    P2pOut,
    /// Takes the fee of a movement.
    Fee,
    /// Takes the tax on a fee.
    FeeTax,
}

impl SystemType {
    const fn entry(self) -> &'static (&'static str, &'static str, Direction) {
        let [
            _,
            _,
            hold,
            release,
            confirm,
            arrives,
            leaves,
            back,
            p2p_in,
            p2p_out,
            fee,
            tax,
            _,
        ] = &SYSTEM_TYPES;
        match self {
            Self::Hold => hold,
            Self::Release => release,
            Self::ConfirmHold => confirm,
            Self::TransferIn => arrives,
            Self::TransferOut => leaves,
            Self::TransferReversal => back,
            Self::P2pIn => p2p_in,
            Self::P2pOut => p2p_out,
            Self::Fee => fee,
            Self::FeeTax => tax,
        }
    }

    /// The code of the type in [`SYSTEM_TYPES`].
    pub fn code(self) -> TypeCode {
        TypeCode(self.entry().0.to_owned())
    }

    /// The type in the form used for posting vouchers.
    pub fn voucher_type(self) -> VoucherType {
        built_in(self.entry())
    }
}

fn system_type(code: &TypeCode) -> Option<VoucherType> {
    let found = SYSTEM_TYPES
        .iter()
        .find(|(word, _, _)| *word == code.as_str())?;
    Some(built_in(found))
}

fn built_in((code, name, direction): &(&'static str, &'static str, Direction)) -> VoucherType {
    let number = (1..)
        .zip(&SYSTEM_TYPES)
        .find(|(_, (known, ..))| known == code);
    VoucherType {
        code: TypeCode((*code).to_owned()),
        name: (*name).to_owned(),
        origin: Origin::System(*direction),
        active: true,
        legacy_id: number.map(|(number, _)| number),
        description: None,
        category: None,
        counter_account: None,
        capture_tolerance: None,
        limits: None,
        created_at: Timestamp::default(),
    }
}
