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

/// Declares the built-in types, each with its code, its name, and the direction of its vouchers.
macro_rules! system_types {
    ($($(#[$about:meta])+ $type:ident = $code:literal, $name:literal, $direction:ident;)+) => {
        /// A built-in type.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum SystemType { $($(#[$about])+ $type,)+ }

        /// The built-in types: code, name, and direction. The position of a type, counted from 1, is its number, so new
        /// types are appended.
        pub const SYSTEM_TYPES: [(&str, &str, Direction); [$($code),+].len()] =
            [$(($code, $name, Direction::$direction)),+];

        impl SystemType {
            const fn entry(self) -> (&'static str, &'static str, Direction) {
                match self { $(Self::$type => ($code, $name, Direction::$direction),)+ }
            }
        }
    };
}

system_types! {
    /// A credit; the service posts none.
    Credit = "CREDIT", "Credit", Credit;
    /// A debit; the service posts none.
    Debit = "DEBIT", "Debit", Debit;
    /// Opens a hold, or sets money of a transfer apart.
    Hold = "HOLD", "Hold", Hold;
    /// Ends a hold or a part of it, or gives a transfer's money back.
    Release = "RELEASE", "Release of a hold", Release;
    /// Lets money of a hold leave, all or a part.
    ConfirmHold = "CONFIRM_HOLD", "Confirmation of a hold", ConfirmHold;
    /// Credits money that arrived from the bank.
    TransferIn = "TRANSFER_IN", "Incoming transfer", Credit;
    /// A transfer through the bank that completed.
    TransferOut = "TRANSFER_OUT", "Outgoing transfer", ConfirmHold;
    /// A transfer that came back.
    TransferReversal = "TRANSFER_REVERSAL", "Reversal of a transfer", Credit;
    /// The receiving half of an internal transfer.
    P2pIn = "INTERNAL_P2P_IN", "Internal transfer received", Credit;
    /// The sending half of an internal transfer.
    P2pOut = "INTERNAL_P2P_OUT", "Internal transfer sent", Debit;
    /// Takes the fee of a movement.
    Fee = "FEE", "Fee", Debit;
    /// Takes the tax on a fee.
    FeeTax = "FEE_TAX", "Tax on a fee", Debit;
    /// Remuneration of the balance; the service posts none.
    Remuneration = "REMUNERATION", "Remuneration of the balance", Credit;
}

impl SystemType {
    /// The code of the type.
    pub fn code(self) -> TypeCode {
        TypeCode(self.entry().0.to_owned())
    }

    /// The type in the form used for posting vouchers.
    pub fn voucher_type(self) -> VoucherType {
        built_in(&self.entry())
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
