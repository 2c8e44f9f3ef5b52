//! The accounts of the books of a realm: the fixed ones, and those of adjustments.
//!
//! **Shape.** Adjustments go to an account of their voucher type: one per code, named `adjustments:` and the code in lower
//! case, unless the tenant has set another for the type. Several types may share an account. `adjustments` itself is the
//! control account of all of these: its sum is theirs.
//!
//! **Bounds.** A realm has at most [`BookName::ACCOUNTS_MAX`] of them.

use serde::{Deserialize, Serialize};

use crate::text::TextError;

words! {
    /// The kind of an account, which decides the side on which it grows.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub enum BookKind {
        /// What is there: grows by debits.
        Asset = "asset",
        /// What is owed: grows by credits.
        Liability = "liability",
        /// What was earned: grows by credits.
        Income = "income",
        /// What was spent: grows by debits.
        Expense = "expense",
        /// The PSP's own money: grows by credits.
        Equity = "equity",
    }
}

impl BookKind {
    /// Whether its balance is what was debited less what was credited.
    pub const fn grows_by_debits(self) -> bool {
        matches!(self, Self::Asset | Self::Expense)
    }
}

words! {
    /// An account of the books, in the order of a trial balance.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
    pub enum BookAccount {
        /// The collector account at the bank, by the books.
        Bank = "bank",
        /// The money of all clients: the sum of all positions.
        Clients = "clients",
        /// Money that arrived and that no account could take.
        Suspense = "suspense",
        /// Movements of the collector account that nobody has classified.
        Unclassified = "unclassified",
        /// Tax on fees that was taken from clients.
        FeeTax = "fee_tax",
        /// Fees that were taken from clients.
        Fees = "fees",
        /// Interest that the bank paid.
        Interest = "interest",
        /// What the tenant's own vouchers took from clients, less what they gave.
        Adjustments = "adjustments",
        /// What the bank charged.
        BankFees = "bank_fees",
        /// Taxes that the bank withheld.
        BankTaxes = "bank_taxes",
        /// The PSP's own money: what came in, less what left.
        PspFunds = "psp_funds",
    }
}

impl BookAccount {
    /// Its kind.
    pub const fn kind(self) -> BookKind {
        match self {
            Self::Bank => BookKind::Asset,
            Self::Clients | Self::Suspense | Self::Unclassified | Self::FeeTax => {
                BookKind::Liability
            }
            Self::Fees | Self::Interest | Self::Adjustments => BookKind::Income,
            Self::BankFees | Self::BankTaxes => BookKind::Expense,
            Self::PspFunds => BookKind::Equity,
        }
    }
}

/// The name of the memo line of transfers that were sent and are not final.
pub const IN_TRANSIT: &str = "in_transit";

/// The name of an account for adjustments: of a voucher type, or one that the tenant has set.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct BookName(String);

/// What the name of a voucher type's own account begins with; its code follows, in lower case.
pub const OF_TYPE: &str = "adjustments:";

text!(BookName);

impl BookName {
    /// How many accounts for adjustments a realm may have, those of removed types included.
    pub const ACCOUNTS_MAX: usize = 5000;
    /// The most characters of a name that a tenant sets.
    pub const LENGTH_MAX: usize = 40;
    /// The most bytes of any name: that of a type with the longest code.
    pub const BYTES_MAX: usize = OF_TYPE.len() + 40;

    /// Parses a name that a tenant sets: 1 to [`Self::LENGTH_MAX`] lower-case letters without accents, digits,
    /// underscores, colons, dots or dashes.
    ///
    /// # Errors
    /// When it has another length or another character, or is the name of a fixed account.
    pub fn parse(text: &str) -> Result<Self, TextError> {
        let good = |b: u8| {
            b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'_' | b':' | b'.' | b'-')
        };
        if !(1..=Self::LENGTH_MAX).contains(&text.len()) || !text.bytes().all(good) {
            return Err(TextError::BookName);
        }
        let fixed = BookAccount::ALL.iter().map(|account| account.as_str());
        if fixed.chain([IN_TRANSIT]).any(|name| name == text) {
            return Err(TextError::BookFixed);
        }
        Ok(Self(text.to_owned()))
    }

    /// The account of a voucher type, by its code.
    pub fn of_type(code: &str) -> Self {
        Self([OF_TYPE, &code.to_ascii_lowercase()].concat())
    }

    /// Takes a name that was stored.
    pub const fn stored(text: String) -> Self {
        Self(text)
    }
}

/// Any account of the books.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum BookRef {
    /// A fixed account.
    Fixed(BookAccount),
    /// An account for adjustments.
    Adjustments(BookName),
}

impl BookRef {
    /// Parses the name of an account, fixed or for adjustments.
    ///
    /// # Errors
    /// When no account can have that name.
    pub fn parse(text: &str) -> Result<Self, TextError> {
        let mut fixed = BookAccount::ALL.into_iter();
        if let Some(account) = fixed.find(|account| account.as_str() == text) {
            return Ok(Self::Fixed(account));
        }
        match text.strip_prefix(OF_TYPE) {
            Some(code) => {
                BookName::parse(code).map(|_| Self::Adjustments(BookName(text.to_owned())))
            }
            None => BookName::parse(text).map(Self::Adjustments),
        }
    }

    /// Whether it is the other account, or the control account of it.
    pub fn has(&self, other: &Self) -> bool {
        let control = Self::Fixed(BookAccount::Adjustments);
        self == other || (*self == control && matches!(other, Self::Adjustments(_)))
    }

    /// The word on the wire.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Fixed(account) => account.as_str(),
            Self::Adjustments(name) => name.as_str(),
        }
    }

    /// Its kind.
    pub const fn kind(&self) -> BookKind {
        match self {
            Self::Fixed(account) => account.kind(),
            Self::Adjustments(_) => BookAccount::Adjustments.kind(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_a_form_and_fixed_accounts_keep_theirs() {
        for good in [
            "a",
            "income:fees",
            "0.9_x-y",
            "adjustments:topup",
            &"z".repeat(40),
        ] {
            assert_eq!(BookName::parse(good).unwrap().as_str(), good);
        }
        for bad in ["", "A", "a b", "ñ", &"z".repeat(41)] {
            assert_eq!(BookName::parse(bad), Err(TextError::BookName), "{bad}");
        }
        for fixed in BookAccount::ALL {
            let refused = BookName::parse(fixed.as_str());
            assert_eq!(refused, Err(TextError::BookFixed), "{fixed:?}");
        }
        assert_eq!(BookName::parse(IN_TRANSIT), Err(TextError::BookFixed));
    }

    #[test]
    fn a_type_has_an_account_of_its_code() {
        let longest = "X".repeat(40);
        let name = BookName::of_type(&longest);
        assert_eq!(name.as_str().len(), BookName::BYTES_MAX);
        let of_type = BookName::of_type("TOP_UP");
        assert_eq!(of_type.as_str(), "adjustments:top_up");
        // Every name of an account is read back.
        let all = BookAccount::ALL
            .iter()
            .map(|account| BookRef::Fixed(*account));
        let named = [name, of_type, BookName::parse("gifts").unwrap()];
        let control = BookRef::Fixed(BookAccount::Adjustments);
        for account in all.chain(named.map(BookRef::Adjustments)) {
            assert_eq!(BookRef::parse(account.as_str()), Ok(account.clone()));
            assert!(account.has(&account));
            let is_named = matches!(account, BookRef::Adjustments(_));
            assert_eq!(control.has(&account), is_named || account == control);
        }
        for bad in ["", "Fees", "a b", IN_TRANSIT, &"z".repeat(41)] {
            assert!(BookRef::parse(bad).is_err(), "{bad}");
        }
    }
}
