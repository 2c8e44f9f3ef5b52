//! The JSON of the books of a realm.

use caudal_actors::engine::books::TrialBalance;
use caudal_ledger::books::{BookAccount, TrialBalanceLine, difference};
use caudal_ledger::time::BusinessDay;
use caudal_ledger::treasury::Sum;
use serde::Serialize;
use utoipa::ToSchema;

use super::texts::{Day, Instant, Pesos};
use super::words::{BookAccountWord, BookKindWord};

/// An account of the books.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
#[schema(as = BookAccount)]
pub struct BookAccountBody {
    /// Its name.
    #[schema(value_type = BookAccountWord)]
    pub account: &'static str,
    /// `asset`, `liability`, `income`, `expense` or `equity`.
    #[schema(value_type = BookKindWord)]
    pub kind: &'static str,
}

impl From<BookAccount> for BookAccountBody {
    fn from(account: BookAccount) -> Self {
        Self {
            account: account.as_str(),
            kind: account.kind().as_str(),
        }
    }
}

/// An account with its balance.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
pub struct TrialBalanceItem {
    /// The account.
    #[serde(flatten)]
    pub account: BookAccountBody,
    /// Its balance, if it is on the side of debits; else 0.00.
    pub debit: Pesos,
    /// Its balance, if it is on the side of credits; else 0.00.
    pub credit: Pesos,
    /// Its balance as its kind counts it: debits less credits of an asset or expense, credits less debits of any other.
    pub balance: Pesos,
}

impl From<&TrialBalanceLine> for TrialBalanceItem {
    fn from(line: &TrialBalanceLine) -> Self {
        let zero = Sum::from_centavos(0);
        Self {
            account: line.account.into(),
            debit: line.debit.max(zero).into(),
            credit: zero.minus(line.debit).max(zero).into(),
            balance: line.balance().into(),
        }
    }
}

/// The balances of all accounts at an instant.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TrialBalanceBody {
    /// The instant; of a past day, its end.
    pub as_of: Instant,
    /// The business day that was asked for; absent for now.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub date: Option<Day>,
    /// The accounts.
    pub items: Vec<TrialBalanceItem>,
    /// The sum of all debits less the sum of all credits: always 0.00.
    pub total: Pesos,
}

impl TrialBalanceBody {
    /// The trial balance of a day, or of now.
    pub fn of(found: &TrialBalance, day: Option<BusinessDay>) -> Self {
        Self {
            as_of: found.as_of.into(),
            date: day.map(Into::into),
            items: found.lines.iter().map(TrialBalanceItem::from).collect(),
            total: difference(&found.lines).into(),
        }
    }
}
