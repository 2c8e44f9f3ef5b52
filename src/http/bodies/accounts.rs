//! The bodies of accounts in the native family.

use std::collections::BTreeMap;

use caudal_actors::accounts::{AccountView, BalanceView};
use caudal_ledger::accounts::{Account, Holder, Suspension};
use caudal_ledger::limits::PerKind;

use super::body;
use super::kyc::KycBody;
use super::limits::{LimitSources, LimitsBody, TemporaryLimitsBody, UsageBody};
use super::texts::{Instant, Pesos};
use super::words::{AccountStatusWord, CurrencyWord, PersonTypeWord, SuspensionWord};

body! {
    /// A holder.
    pub struct HolderBody from holder: &Holder {
        /// Tax id, 11 digits.
        cuit: String = holder.cuit.to_string();
        /// Name, as it was given.
        name: String = holder.name.clone();
        /// `human` or `legal`.
        person_type: String as PersonTypeWord = holder.person_type.as_str().to_owned();
    }
}

body! {
    /// A suspension.
    pub struct SuspensionBody from suspension: &Suspension {
        /// Why, for people.
        reason: String = suspension.reason.clone();
        /// Why, as a word.
        code: String as SuspensionWord = suspension.code.as_str().to_owned();
        /// Since when.
        at: Instant = suspension.at.into();
    }
}

body! {
    /// A balance (BalanceResponse).
    pub struct BalanceBody as BalanceResponse from view: &BalanceView {
        /// The CVU.
        cvu: String = view.cvu.to_string();
        /// Always `ARS`.
        currency: &'static str as CurrencyWord = "ARS";
        /// What can be spent.
        available: Pesos = view.balance.available.into();
        /// What is set apart by open holds.
        held: Pesos = view.balance.held.into();
        /// `available + held`.
        total: Pesos = view.balance.total().into();
        /// Counts the CVU's movements from 1; 0 before the first.
        sequence: u64 = view.sequence;
        /// As of when.
        as_of: Instant = view.as_of.into();
    }
}

body! {
    /// Effective limits, where each comes from, and what is left of them (LimitsSnapshot).
    pub struct LimitsSnapshot as LimitsSnapshot from view: &AccountView {
        => let levels = &view.levels;
        => let usage = view.account.usage.at(view.as_of);
        => let total = view.account.balance.total();
        => let effective = PerKind::of(|kind| levels.effective(kind).0);
        /// The limits in force: account, else PSP, else platform, field by field.
        effective: LimitsBody = LimitsBody(effective);
        /// The level of each.
        source: LimitSources = LimitSources(PerKind::of(|kind| levels.effective(kind).1));
        /// The account's own.
        own: LimitsBody = (&view.account.limits).into();
        /// What has been used of them.
        usage: UsageBody = UsageBody::new(&usage, &effective);
        /// What is left; null where there is no limit.
        remaining: LimitsBody = LimitsBody(PerKind::of(|kind| {
            let limit = *effective.get(kind);
            limit.map(|limit| limit.less(usage.against(kind, total)))
        }));
        /// The limits that go before the account's own until they end; absent without any.
        temporary?: Option<TemporaryLimitsBody>
            = TemporaryLimitsBody::of(&view.account, view.as_of);
        /// As of when.
        as_of: Instant = view.as_of.into();
    }
}

body! {
    /// An account without balance and limits: an entry of a list.
    pub struct AccountSummary from account: &Account {
        /// The CVU, 22 digits.
        cvu: String = account.cvu.map(|cvu| cvu.to_string()).unwrap_or_default();
        /// Its alias; null while the bank has not assigned one.
        alias: Option<String> = account.alias.as_ref().map(ToString::to_string);
        /// `active`, `suspended` or `closed`.
        status: String as AccountStatusWord = account.status.as_str().to_owned();
        /// The holder.
        holder: HolderBody = (&account.holder).into();
        /// All holders, the account's own first.
        titulares: Vec<HolderBody> = account.holders.iter().map(HolderBody::from).collect();
        /// Always `ARS`.
        currency: &'static str as CurrencyWord = "ARS";
        /// The id of the wallet family.
        wallet_account_id: u64 = account.number.0;
        /// The tenant's own id (wallet `codigo`).
        external_id: Option<String> = account.code.clone();
        /// Whether the wallet account is enabled.
        enabled: bool = account.enabled;
        /// E-mail.
        email: Option<String> = account.email.clone();
        /// Phone.
        phone: Option<String> = account.phone.clone();
        /// Whatever the tenant keeps with it.
        metadata: BTreeMap<String, String> = account.metadata.clone();
        /// KYC data.
        kyc: KycBody = (&account.kyc).into();
        /// The suspension, while suspended.
        suspension: Option<SuspensionBody> = account.suspension.as_ref().map(SuspensionBody::from);
        /// When it was created.
        created_at: Instant = account.created_at.into();
        /// When it last changed.
        updated_at: Instant = account.updated_at.into();
        /// When it was closed.
        closed_at: Option<Instant> = account.closed_at.map(Into::into);
    }
}

body! {
    /// An account (AccountResponse).
    pub struct AccountBody as AccountResponse from view: &AccountView {
        => let account = AccountSummary::from(&view.account);
        => let balance = BalanceBody {
            cvu: account.cvu.clone(),
            currency: "ARS",
            available: view.account.balance.available.into(),
            held: view.account.balance.held.into(),
            total: view.account.balance.total().into(),
            sequence: view.account.sequence,
            as_of: view.as_of.into(),
        };
        /// The account.
        #[serde(flatten)]
        account: AccountSummary = account;
        /// Its balance.
        balance: BalanceBody = balance;
        /// Its effective limits and usage.
        limits: LimitsSnapshot = view.into();
    }
}
