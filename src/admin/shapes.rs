//! Bodies of tenants and of the platform: policy, limits, fee schedule (contract §9).

use std::collections::BTreeSet;

use caudal_ledger::cvu::Cvu;
use caudal_ledger::fees::FeeRule;
use caudal_ledger::limits::{Change, LimitsChange, TotalLimitsChange};
use caudal_ledger::money::Money;
use caudal_ledger::tenants::{Platform, Policy, Tenant};
use caudal_ledger::voucher_types::TypeCode;
use rust_decimal::Decimal;
use serde::Serialize;

use super::relations::RelationsBody;
use crate::bodies::accounts::LimitsBody;
use crate::http::Door;
use crate::http::body::{Fields, read};
use crate::http::words::Mistake;

/// The most entries of a fee schedule.
const FEES_MAX: usize = 200;
/// The most decimals of a percentage.
const PERCENT_DECIMALS_MAX: usize = 6;
/// The tax on fees unless the schedule says otherwise, in percent: IVA.
const TAX_PERCENT: u32 = 21;
/// The largest count of movements that a limit may name.
const COUNT_MAX: u64 = 1_000_000_000;

/// A whole list.
#[derive(Debug, Serialize)]
pub struct List<T> {
    items: Vec<T>,
    total: usize,
}

impl<T> List<T> {
    /// All of it.
    pub fn of(items: Vec<T>) -> Self {
        let total = items.len();
        Self { items, total }
    }
}

/// A policy in which what was not sent stays as it was.
pub fn policy(fields: &mut Fields, old: Policy) -> Option<Policy> {
    fields.object("policy", |inner| {
        let mut flag = |name, old| inner.optional(name, read::boolean).unwrap_or(old);
        Policy {
            close_requires_zero_balance: flag(
                "closeRequiresZeroBalance",
                old.close_requires_zero_balance,
            ),
            relaxed_test_cuit: flag("relaxedTestCuit", old.relaxed_test_cuit),
        }
    })
}

/// A change of limits: absent stays, null inherits, 0 lets nothing pass.
pub fn limits(fields: &mut Fields) -> Option<LimitsChange> {
    fields.object("limits", of_accounts)
}

/// A change of a tenant's limits: those that its accounts inherit, and those over their sum.
pub fn tenant_limits(fields: &mut Fields) -> Option<(LimitsChange, TotalLimitsChange)> {
    fields.object("limits", |inner| {
        let total = TotalLimitsChange {
            daily_outgoing: money(inner, "dailyOutgoingTotal"),
            monthly_outgoing: money(inner, "monthlyOutgoingTotal"),
            per_minute: count(inner, "perMinuteCount"),
        };
        (of_accounts(inner), total)
    })
}

fn of_accounts(fields: &mut Fields) -> LimitsChange {
    LimitsChange {
        max_per_transaction: money(fields, "maxPerTransaction"),
        daily_amount: money(fields, "dailyAmount"),
        daily_count: count(fields, "dailyCount"),
        monthly_amount: money(fields, "monthlyAmount"),
        monthly_count: count(fields, "monthlyCount"),
        max_balance: money(fields, "maxBalance"),
    }
}

fn money(fields: &mut Fields, name: &'static str) -> Change<Money> {
    change(fields.nullable(name, read::centavos), Money::from_centavos)
}

fn count(fields: &mut Fields, name: &'static str) -> Change<u64> {
    change(fields.nullable(name, read::integer(0, COUNT_MAX)), |n| n)
}

fn change<T, U>(sent: Option<Option<T>>, of: impl FnOnce(T) -> U) -> Change<U> {
    match sent {
        None => Change::Unchanged,
        Some(None) => Change::Inherit,
        Some(Some(value)) => Change::Set(of(value)),
    }
}

/// A whole fee schedule, in place of the old one.
pub fn fees(fields: &mut Fields) -> Option<Vec<FeeRule>> {
    let rules = fields.objects("feeSchedule", FEES_MAX, fee)?;
    let rules: Vec<_> = rules.into_iter().flatten().collect();
    let codes: BTreeSet<_> = rules.iter().map(|rule| rule.code.clone()).collect();
    if codes.len() < rules.len() {
        fields.mistake("feeSchedule", Mistake::FeeTwice);
    }
    Some(rules)
}

fn fee(fields: &mut Fields) -> Option<FeeRule> {
    let code = fields.required("voucherTypeCode", read::text(TypeCode::parse));
    let percentage = fields.optional("percentage", percent);
    let mut money = |name| {
        fields
            .optional(name, read::centavos)
            .map(Money::from_centavos)
    };
    let (fixed, minimum, maximum) = (money("fixed"), money("minimum"), money("maximum"));
    let charge = fields.required("charge", read::boolean);
    let tax_rate = fields.optional("taxRate", percent);
    if let (Some(least), Some(most)) = (minimum, maximum)
        && least > most
    {
        fields.mistake("minimum", Mistake::Above { other: "maximum" });
    }
    Some(FeeRule {
        code: code?,
        percentage: percentage.unwrap_or_default(),
        fixed: fixed.unwrap_or_default(),
        minimum,
        maximum,
        charge: charge?,
        tax_rate: tax_rate.unwrap_or_else(|| Decimal::from(TAX_PERCENT)),
    })
}

/// A percentage from 0 to 100, read from its text and never through binary floating point.
fn percent(raw: &str) -> Result<Decimal, Mistake> {
    let decimals = PERCENT_DECIMALS_MAX;
    let wrong = || Mistake::Percentage { decimals };
    let text = if raw.starts_with('"') {
        serde_json::from_str::<String>(raw).map_err(|_| wrong())?
    } else {
        raw.to_owned()
    };
    let (whole, decimals) = text.split_once('.').unwrap_or((&text, "0"));
    let digits = |part: &str, max| {
        (1..=max).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit())
    };
    let leading_zero = whole.len() > 1 && whole.starts_with('0');
    if !digits(whole, 3) || !digits(decimals, PERCENT_DECIMALS_MAX) || leading_zero {
        return Err(wrong());
    }
    let value = Decimal::from_str_exact(&text).map_err(|_| wrong())?;
    if value > Decimal::ONE_HUNDRED {
        return Err(wrong());
    }
    Ok(value.normalize())
}

/// A tenant's policy.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct PolicyBody {
    close_requires_zero_balance: bool,
    relaxed_test_cuit: bool,
}

/// One entry of a fee schedule.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct FeeBody {
    voucher_type_code: String,
    percentage: String,
    fixed: String,
    minimum: Option<String>,
    maximum: Option<String>,
    charge: bool,
    tax_rate: String,
}

impl From<&FeeRule> for FeeBody {
    fn from(rule: &FeeRule) -> Self {
        Self {
            voucher_type_code: rule.code.to_string(),
            percentage: rule.percentage.normalize().to_string(),
            fixed: rule.fixed.to_string(),
            minimum: rule.minimum.map(|money| money.to_string()),
            maximum: rule.maximum.map(|money| money.to_string()),
            charge: rule.charge,
            tax_rate: rule.tax_rate.normalize().to_string(),
        }
    }
}

/// The fee schedule of an account.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ScheduleBody {
    cvu: String,
    fee_schedule: Vec<FeeBody>,
}

impl ScheduleBody {
    /// The schedule of a CVU.
    pub fn of(cvu: Cvu, rules: &[FeeRule]) -> Self {
        Self {
            cvu: cvu.to_string(),
            fee_schedule: rules.iter().map(FeeBody::from).collect(),
        }
    }
}

/// A tenant.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TenantBody {
    id: String,
    name: String,
    policy: PolicyBody,
    limits: TenantLimitsBody,
    fee_schedule: Vec<FeeBody>,
    bank: RelationsBody,
    created_at: String,
}

impl TenantBody {
    /// A tenant as it is.
    pub fn of(door: &Door, tenant: &Tenant) -> Self {
        Self {
            id: tenant.id.clone(),
            name: tenant.name.clone(),
            policy: PolicyBody {
                close_requires_zero_balance: tenant.policy.close_requires_zero_balance,
                relaxed_test_cuit: tenant.policy.relaxed_test_cuit,
            },
            limits: TenantLimitsBody::of(tenant),
            fee_schedule: tenant.fees.iter().map(FeeBody::from).collect(),
            bank: RelationsBody::of(door, tenant),
            created_at: tenant.created_at.to_string(),
        }
    }
}

/// The limits of a tenant: those that its accounts inherit, and those over their sum.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct TenantLimitsBody {
    #[serde(flatten)]
    inherited: LimitsBody,
    daily_outgoing_total: Option<String>,
    monthly_outgoing_total: Option<String>,
    per_minute_count: Option<u64>,
}

impl TenantLimitsBody {
    fn of(tenant: &Tenant) -> Self {
        let text = |money: Option<Money>| money.map(|m| m.to_string());
        let total = &tenant.total_limits;
        Self {
            inherited: LimitsBody::from(&tenant.limits),
            daily_outgoing_total: text(total.daily_outgoing),
            monthly_outgoing_total: text(total.monthly_outgoing),
            per_minute_count: total.per_minute,
        }
    }
}

/// What the platform sets for tenants that set nothing.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlatformBody {
    limits: LimitsBody,
    fee_schedule: Vec<FeeBody>,
}

impl From<&Platform> for PlatformBody {
    fn from(platform: &Platform) -> Self {
        Self {
            limits: LimitsBody::from(&platform.limits),
            fee_schedule: platform.fees.iter().map(FeeBody::from).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages_are_read_exactly_or_refused() {
        for (raw, text) in [
            ("\"0.6\"", "0.6"),
            ("0.600", "0.6"),
            ("0", "0"),
            ("\"100.000000\"", "100"),
            ("\"0.000001\"", "0.000001"),
        ] {
            assert_eq!(percent(raw).unwrap().to_string(), text, "{raw}");
        }
        for raw in [
            "\"\"",
            "-1",
            "\"+1\"",
            "1e1",
            "100.01",
            "0.0000001",
            "00.1",
            "\".5\"",
            "\"5.\"",
            "true",
            "null",
            "\"1_0\"",
            "\"٥\"",
        ] {
            assert!(percent(raw).is_err(), "{raw}");
        }
    }
}
