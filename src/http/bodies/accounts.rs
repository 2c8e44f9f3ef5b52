//! The bodies of accounts in the native family.

use std::collections::BTreeMap;

use caudal_actors::accounts::{AccountView, BalanceView};
use caudal_ledger::accounts::{Account, Holder, Suspension};
use caudal_ledger::limits::{Level, Levels, Limits, Usage};
use caudal_ledger::money::Money;
use serde::Serialize;
use utoipa::ToSchema;

use super::kyc::KycBody;
use super::words::{AccountStatusWord, CurrencyWord, LevelWord, PersonTypeWord, SuspensionWord};

/// A holder.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct HolderBody {
    /// Tax id, 11 digits.
    pub cuit: String,
    /// Name, as it was given.
    pub name: String,
    /// `human` or `legal`.
    #[schema(value_type = PersonTypeWord)]
    pub person_type: String,
}

impl From<&Holder> for HolderBody {
    fn from(holder: &Holder) -> Self {
        Self {
            cuit: holder.cuit.to_string(),
            name: holder.name.clone(),
            person_type: holder.person_type.as_str().to_owned(),
        }
    }
}

/// A suspension.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
pub struct SuspensionBody {
    /// Why, for people.
    pub reason: String,
    /// Why, as a word.
    #[schema(value_type = SuspensionWord)]
    pub code: String,
    /// Since when.
    pub at: String,
}

impl From<&Suspension> for SuspensionBody {
    fn from(suspension: &Suspension) -> Self {
        Self {
            reason: suspension.reason.clone(),
            code: suspension.code.as_str().to_owned(),
            at: suspension.at.to_string(),
        }
    }
}

/// A balance (BalanceResponse).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = BalanceResponse)]
pub struct BalanceBody {
    /// The CVU.
    pub cvu: String,
    /// Always `ARS`.
    #[schema(value_type = CurrencyWord)]
    pub currency: &'static str,
    /// What can be spent.
    pub available: String,
    /// What is set apart by open holds.
    pub held: String,
    /// `available + held`.
    pub total: String,
    /// Counts the CVU's movements from 1; 0 before the first.
    pub sequence: u64,
    /// As of when.
    pub as_of: String,
}

impl From<&BalanceView> for BalanceBody {
    fn from(view: &BalanceView) -> Self {
        Self {
            cvu: view.cvu.to_string(),
            currency: "ARS",
            available: view.balance.available.to_string(),
            held: view.balance.held.to_string(),
            total: view.balance.total().to_string(),
            sequence: view.sequence,
            as_of: view.as_of.to_string(),
        }
    }
}

/// Limits of one level; null where the level sets none.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[expect(
    missing_docs,
    reason = "the fields are documented with the limits themselves"
)]
pub struct LimitsBody {
    pub max_per_transaction: Option<String>,
    pub daily_amount: Option<String>,
    pub daily_count: Option<u64>,
    pub monthly_amount: Option<String>,
    pub monthly_count: Option<u64>,
    pub max_balance: Option<String>,
}

impl From<&Limits> for LimitsBody {
    fn from(limits: &Limits) -> Self {
        let text = |money: Option<Money>| money.map(|m| m.to_string());
        Self {
            max_per_transaction: text(limits.max_per_transaction),
            daily_amount: text(limits.daily_amount),
            daily_count: limits.daily_count,
            monthly_amount: text(limits.monthly_amount),
            monthly_count: limits.monthly_count,
            max_balance: text(limits.max_balance),
        }
    }
}

/// The level that each limit comes from: `account`, `psp`, `platform` or `none`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[expect(
    missing_docs,
    reason = "the fields are documented with the limits themselves"
)]
pub struct LimitSources {
    #[schema(value_type = LevelWord)]
    pub max_per_transaction: &'static str,
    #[schema(value_type = LevelWord)]
    pub daily_amount: &'static str,
    #[schema(value_type = LevelWord)]
    pub daily_count: &'static str,
    #[schema(value_type = LevelWord)]
    pub monthly_amount: &'static str,
    #[schema(value_type = LevelWord)]
    pub monthly_count: &'static str,
    #[schema(value_type = LevelWord)]
    pub max_balance: &'static str,
}

/// Outgoing money of the business day and the calendar month.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[expect(
    missing_docs,
    reason = "the fields are documented with the limits themselves"
)]
pub struct UsageBody {
    pub daily_amount: String,
    pub daily_count: u64,
    pub monthly_amount: String,
    pub monthly_count: u64,
}

/// Effective limits, where each comes from, and what is left of them (LimitsSnapshot).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = LimitsSnapshot)]
pub struct LimitsSnapshot {
    /// The limits in force: account, else PSP, else platform, field by field.
    pub effective: LimitsBody,
    /// The level of each.
    pub source: LimitSources,
    /// The account's own.
    pub own: LimitsBody,
    /// What has been used of them.
    pub usage: UsageBody,
    /// What is left; null where there is no limit.
    pub remaining: LimitsBody,
    /// As of when.
    pub as_of: String,
}

/// Limits with the level that each comes from.
fn effective(levels: &Levels) -> (Limits, LimitSources) {
    fn of<T: Copy>(levels: &Levels, f: fn(&Limits) -> Option<T>) -> (Option<T>, &'static str) {
        let (value, level): (Option<T>, Level) = levels.effective(f);
        (value, level.as_str())
    }
    let max_per_transaction = of(levels, |l| l.max_per_transaction);
    let daily_amount = of(levels, |l| l.daily_amount);
    let daily_count = of(levels, |l| l.daily_count);
    let monthly_amount = of(levels, |l| l.monthly_amount);
    let monthly_count = of(levels, |l| l.monthly_count);
    let max_balance = of(levels, |l| l.max_balance);
    let limits = Limits {
        max_per_transaction: max_per_transaction.0,
        daily_amount: daily_amount.0,
        daily_count: daily_count.0,
        monthly_amount: monthly_amount.0,
        monthly_count: monthly_count.0,
        max_balance: max_balance.0,
    };
    let sources = LimitSources {
        max_per_transaction: max_per_transaction.1,
        daily_amount: daily_amount.1,
        daily_count: daily_count.1,
        monthly_amount: monthly_amount.1,
        monthly_count: monthly_count.1,
        max_balance: max_balance.1,
    };
    (limits, sources)
}

fn remaining(limits: &Limits, usage: &Usage, total: Money) -> Limits {
    let left = |limit: Option<Money>, used: Money| {
        limit.map(|limit| {
            limit
                .minus(used)
                .filter(|m| *m > Money::ZERO)
                .unwrap_or(Money::ZERO)
        })
    };
    Limits {
        max_per_transaction: limits.max_per_transaction,
        daily_amount: left(limits.daily_amount, usage.daily_amount),
        daily_count: limits
            .daily_count
            .map(|limit| limit.saturating_sub(usage.daily_count)),
        monthly_amount: left(limits.monthly_amount, usage.monthly_amount),
        monthly_count: limits
            .monthly_count
            .map(|limit| limit.saturating_sub(usage.monthly_count)),
        max_balance: left(limits.max_balance, total),
    }
}

impl From<&AccountView> for LimitsSnapshot {
    fn from(view: &AccountView) -> Self {
        let (limits, source) = effective(&view.levels);
        let usage = view.account.usage.at(view.as_of);
        let left = remaining(&limits, &usage, view.account.balance.total());
        Self {
            effective: (&limits).into(),
            source,
            own: (&view.account.limits).into(),
            usage: UsageBody {
                daily_amount: usage.daily_amount.to_string(),
                daily_count: usage.daily_count,
                monthly_amount: usage.monthly_amount.to_string(),
                monthly_count: usage.monthly_count,
            },
            remaining: (&left).into(),
            as_of: view.as_of.to_string(),
        }
    }
}

/// An account without balance and limits: an entry of a list.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AccountSummary {
    /// The CVU, 22 digits.
    pub cvu: String,
    /// Its alias; null while the bank has not assigned one.
    pub alias: Option<String>,
    /// `active`, `suspended` or `closed`.
    #[schema(value_type = AccountStatusWord)]
    pub status: String,
    /// The holder.
    pub holder: HolderBody,
    /// All holders, the account's own first.
    pub titulares: Vec<HolderBody>,
    /// Always `ARS`.
    #[schema(value_type = CurrencyWord)]
    pub currency: &'static str,
    /// The id of the wallet family.
    pub wallet_account_id: u64,
    /// The tenant's own id (wallet `codigo`).
    pub external_id: Option<String>,
    /// Whether the wallet account is enabled.
    pub enabled: bool,
    /// E-mail.
    pub email: Option<String>,
    /// Phone.
    pub phone: Option<String>,
    /// Whatever the tenant keeps with it.
    pub metadata: BTreeMap<String, String>,
    /// KYC data.
    pub kyc: KycBody,
    /// The suspension, while suspended.
    pub suspension: Option<SuspensionBody>,
    /// When it was created.
    pub created_at: String,
    /// When it last changed.
    pub updated_at: String,
    /// When it was closed.
    pub closed_at: Option<String>,
}

impl From<&Account> for AccountSummary {
    fn from(account: &Account) -> Self {
        Self {
            cvu: account.cvu.map(|cvu| cvu.to_string()).unwrap_or_default(),
            alias: account.alias.as_ref().map(ToString::to_string),
            status: account.status.as_str().to_owned(),
            holder: (&account.holder).into(),
            titulares: account.holders.iter().map(HolderBody::from).collect(),
            currency: "ARS",
            wallet_account_id: account.number.0,
            external_id: account.code.clone(),
            enabled: account.enabled,
            email: account.email.clone(),
            phone: account.phone.clone(),
            metadata: account.metadata.clone(),
            kyc: (&account.kyc).into(),
            suspension: account.suspension.as_ref().map(SuspensionBody::from),
            created_at: account.created_at.to_string(),
            updated_at: account.updated_at.to_string(),
            closed_at: account.closed_at.map(|at| at.to_string()),
        }
    }
}

/// An account (AccountResponse).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
#[schema(as = AccountResponse)]
pub struct AccountBody {
    /// The account.
    #[serde(flatten)]
    pub account: AccountSummary,
    /// Its balance.
    pub balance: BalanceBody,
    /// Its effective limits and usage.
    pub limits: LimitsSnapshot,
}

impl From<&AccountView> for AccountBody {
    fn from(view: &AccountView) -> Self {
        let account = AccountSummary::from(&view.account);
        let balance = BalanceBody {
            cvu: account.cvu.clone(),
            currency: "ARS",
            available: view.account.balance.available.to_string(),
            held: view.account.balance.held.to_string(),
            total: view.account.balance.total().to_string(),
            sequence: view.account.sequence,
            as_of: view.as_of.to_string(),
        };
        Self {
            account,
            balance,
            limits: view.into(),
        }
    }
}
