//! The JSON of the books of a realm.

use caudal_actors::engine::books::{BookEntry, EntrySource, TrialBalance};
use caudal_ledger::books::{BookRef, IN_TRANSIT, TrialBalanceLine, difference};
use caudal_ledger::time::BusinessDay;
use caudal_ledger::treasury::Sum;
use serde::Serialize;
use utoipa::ToSchema;

use super::texts::{Day, Instant, Pesos};
use super::words::{BookKindWord, EntrySourceWord};

/// The kind of a line that is shown next to the books, and is in no total.
pub const MEMO_KIND: &str = "memo";

/// An account of the books.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
#[schema(as = BookAccount)]
pub struct BookAccountBody {
    /// Its name: of a fixed account, or of one for adjustments.
    pub account: String,
    /// `asset`, `liability`, `income`, `expense`, `equity` or `memo`.
    #[schema(value_type = BookKindWord)]
    pub kind: &'static str,
}

impl From<&BookRef> for BookAccountBody {
    fn from(account: &BookRef) -> Self {
        Self {
            account: account.as_str().to_owned(),
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
    /// Its balance as its kind counts it: debits less credits of an asset or expense, credits less debits of any other. A
    /// memo has a balance on neither side.
    pub balance: Pesos,
}

impl BookAccountBody {
    /// The memo line of transfers that were sent and are not final.
    pub fn in_transit() -> Self {
        Self {
            account: IN_TRANSIT.to_owned(),
            kind: MEMO_KIND,
        }
    }
}

impl From<&TrialBalanceLine> for TrialBalanceItem {
    fn from(line: &TrialBalanceLine) -> Self {
        let zero = Sum::from_centavos(0);
        Self {
            account: (&line.account).into(),
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
    /// The accounts, and at the end the memo `in_transit`: transfers that were sent and are not final, whose money
    /// `clients` still has. It is absent for an instant within a day.
    pub items: Vec<TrialBalanceItem>,
    /// The sum of all debits less the sum of all credits: always 0.00.
    pub total: Pesos,
}

impl TrialBalanceBody {
    /// The trial balance of a day, or of now.
    pub fn of(found: &TrialBalance, day: Option<BusinessDay>) -> Self {
        let zero = Sum::from_centavos(0);
        let memo = found.in_transit.map(|sum| TrialBalanceItem {
            account: BookAccountBody::in_transit(),
            debit: zero.into(),
            credit: zero.into(),
            balance: sum.into(),
        });
        let lines = found.lines.iter().map(TrialBalanceItem::from);
        Self {
            as_of: found.as_of.into(),
            date: day.map(Into::into),
            items: lines.chain(memo).collect(),
            total: difference(&found.lines).into(),
        }
    }
}

/// What an entry of the books is about.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
#[schema(as = BookEntrySource)]
pub struct BookEntrySourceBody {
    /// `voucher`, `suspense` (money that no account could take: its arrival, or its end) or `collector` (a movement of the
    /// collector account: its record, another class, or its match).
    #[serde(rename = "type")]
    #[schema(value_type = EntrySourceWord)]
    pub kind: &'static str,
    /// Its id.
    pub id: String,
}

impl From<EntrySource> for BookEntrySourceBody {
    fn from(source: EntrySource) -> Self {
        let (kind, id) = match source {
            EntrySource::Voucher(id) => ("voucher", id.to_string()),
            EntrySource::Suspense(id) => ("suspense", id.to_string()),
            EntrySource::Collector(id) => ("collector", id.to_string()),
        };
        Self { kind, id }
    }
}

/// An entry of the books: what a fact moved in one of its two accounts.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = BookEntry)]
pub struct BookEntryBody {
    /// When the fact happened.
    pub at: Instant,
    /// Its business day, in which the trial balance counts it.
    pub day: Day,
    /// The account.
    pub account: String,
    /// The amount, if the account is debited; else 0.00.
    pub debit: Pesos,
    /// The amount, if the account is credited; else 0.00.
    pub credit: Pesos,
    /// What the fact is about.
    pub source: BookEntrySourceBody,
    /// The description of the voucher, or the bank's text of the movement.
    pub text: Option<String>,
    /// The account on the other side, which has an entry of the same fact.
    pub counter_account: String,
}

impl From<&BookEntry> for BookEntryBody {
    fn from(entry: &BookEntry) -> Self {
        let (zero, amount) = (Sum::from_centavos(0), Sum::from(entry.fact.moved.amount));
        let (debit, credit) = if entry.is_debit {
            (amount, zero)
        } else {
            (zero, amount)
        };
        Self {
            at: entry.fact.at.into(),
            day: entry.fact.at.business_day().into(),
            account: entry.account().as_str().to_owned(),
            debit: debit.into(),
            credit: credit.into(),
            source: entry.fact.source.into(),
            text: entry.fact.text.clone(),
            counter_account: entry.counter_account().as_str().to_owned(),
        }
    }
}
