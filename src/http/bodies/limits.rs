//! The JSON of a change of limits, the same for tenants and operators.

use caudal_ledger::limits::{Change, LimitsChange};
use caudal_ledger::money::Money;

use crate::body::read::{integer, money};
use crate::request::request;
use crate::shapes::MoneyDto;
use crate::words::Mistake;

/// The largest count of movements that a limit may have.
const COUNT_MAX: u64 = 1_000_000_000;

/// A count of movements.
///
/// # Errors
/// When the value is no count, or is above [`COUNT_MAX`].
pub fn count(raw: &str) -> Result<u64, Mistake> {
    integer(0, COUNT_MAX)(raw)
}

request! {
    /// A change of limits: absent stays, null inherits, 0 lets nothing pass. Amounts as text, or as numbers.
    strict pub struct UpdateLimits as UpdateLimitsDto {
        max_per_transaction: Change<Money> =
            change("maxPerTransaction", money) as Option<MoneyDto>;
        daily_amount: Change<Money> = change("dailyAmount", money) as Option<MoneyDto>;
        daily_count: Change<u64> = change("dailyCount", count) as Option<u64>;
        monthly_amount: Change<Money> = change("monthlyAmount", money) as Option<MoneyDto>;
        monthly_count: Change<u64> = change("monthlyCount", count) as Option<u64>;
        max_balance: Change<Money> = change("maxBalance", money) as Option<MoneyDto>;
    }
}

impl From<UpdateLimits> for LimitsChange {
    fn from(sent: UpdateLimits) -> Self {
        Self {
            max_per_transaction: sent.max_per_transaction,
            daily_amount: sent.daily_amount,
            daily_count: sent.daily_count,
            monthly_amount: sent.monthly_amount,
            monthly_count: sent.monthly_count,
            max_balance: sent.max_balance,
        }
    }
}
