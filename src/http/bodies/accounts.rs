//! The bodies of accounts in the native family.

use std::collections::BTreeMap;

use caudal_actors::accounts::{AccountView, BalanceView};
use caudal_ledger::accounts::{Account, Holder, Suspension};
use caudal_ledger::limits::PerKind;
use serde::Serialize;
use utoipa::ToSchema;

use super::kyc::KycBody;
use super::limits::{LimitSources, LimitsBody, TemporaryLimitsBody, UsageBody};
use super::texts::{Instant, Pesos};
use super::words::{AccountStatusWord, CurrencyWord, PersonTypeWord, SuspensionWord};

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
    pub at: Instant,
}

impl From<&Suspension> for SuspensionBody {
    fn from(suspension: &Suspension) -> Self {
        Self {
            reason: suspension.reason.clone(),
            code: suspension.code.as_str().to_owned(),
            at: suspension.at.into(),
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
    pub available: Pesos,
    /// What is set apart by open holds.
    pub held: Pesos,
    /// `available + held`.
    pub total: Pesos,
    /// Counts the CVU's movements from 1; 0 before the first.
    pub sequence: u64,
    /// As of when.
    pub as_of: Instant,
}

impl From<&BalanceView> for BalanceBody {
    fn from(view: &BalanceView) -> Self {
        Self {
            cvu: view.cvu.to_string(),
            currency: "ARS",
            available: view.balance.available.into(),
            held: view.balance.held.into(),
            total: view.balance.total().into(),
            sequence: view.sequence,
            as_of: view.as_of.into(),
        }
    }
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
    /// The limits that go before the account's own until they end; absent without any.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub temporary: Option<TemporaryLimitsBody>,
    /// As of when.
    pub as_of: Instant,
}

impl From<&AccountView> for LimitsSnapshot {
    fn from(view: &AccountView) -> Self {
        let levels = &view.levels;
        let usage = view.account.usage.at(view.as_of);
        let total = view.account.balance.total();
        let effective = PerKind::of(|kind| levels.effective(kind).0);
        Self {
            effective: LimitsBody(effective),
            source: LimitSources(PerKind::of(|kind| levels.effective(kind).1)),
            own: (&view.account.limits).into(),
            usage: UsageBody::new(&usage, &effective),
            remaining: LimitsBody(PerKind::of(|kind| {
                let limit = *effective.get(kind);
                limit.map(|limit| limit.less(usage.against(kind, total)))
            })),
            temporary: TemporaryLimitsBody::of(&view.account, view.as_of),
            as_of: view.as_of.into(),
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
    pub created_at: Instant,
    /// When it last changed.
    pub updated_at: Instant,
    /// When it was closed.
    pub closed_at: Option<Instant>,
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
            created_at: account.created_at.into(),
            updated_at: account.updated_at.into(),
            closed_at: account.closed_at.map(Into::into),
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
            available: view.account.balance.available.into(),
            held: view.account.balance.held.into(),
            total: view.account.balance.total().into(),
            sequence: view.account.sequence,
            as_of: view.as_of.into(),
        };
        Self {
            account,
            balance,
            limits: view.into(),
        }
    }
}
