//! An account as an event reports it.

use std::collections::BTreeMap;

use caudal_ledger::accounts::Account;
use caudal_ledger::balance::Balance;
use caudal_ledger::remuneration::{Enrolment, EnrolmentState};
use caudal_ledger::time::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

use crate::bodies::accounts::{AccountSummary, BalanceBody, HolderBody, SuspensionBody};
use crate::bodies::kyc::KycBody;
use crate::bodies::limits::{LimitsBody, TemporaryLimitsBody};
use crate::bodies::texts::Instant;
use crate::bodies::words::{AccountStatusWord, CurrencyWord, EnrolmentWord};

/// An account as it was right after an event: an `AccountResponse` with its own limits alone, for the
/// effective ones depend on others too, and with its enrolment. The fields of `AccountSummary` stand here
/// again because the CVU may be null here, and nowhere else.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = AccountOfEvent)]
pub struct AccountEvent {
    /// The CVU; null while it has none.
    pub cvu: Option<String>,
    /// Its alias; null while it has none.
    pub alias: Option<String>,
    /// `registered` (it has no CVU yet), `active`, `suspended`, `closed` or `rejected` (the bank refused to open it).
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
    /// What it had; null while it has no CVU.
    pub balance: Option<BalanceBody>,
    /// Its limits.
    pub limits: OwnLimits,
    /// Its enrolment in remuneration.
    pub remuneration: Option<EnrolmentBody>,
}

/// The limits that are an account's own.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
#[schema(as = OwnLimits)]
pub struct OwnLimits {
    /// What it may, as far as that was said of itself.
    pub own: LimitsBody,
    /// The limits that went before its own until they end; absent without any.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub temporary: Option<TemporaryLimitsBody>,
}

/// An enrolment in remuneration.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Enrolment)]
pub struct EnrolmentBody {
    /// `pending`, `active`, `rejected`, `suspended` or `ended`.
    #[schema(value_type = EnrolmentWord)]
    pub status: &'static str,
    /// The account at the broker.
    pub brokerage_account: String,
    /// The fund; null while it was not said.
    pub fund: Option<String>,
    /// When it was asked for.
    pub requested_at: Instant,
}

impl From<&Enrolment> for EnrolmentBody {
    fn from(enrolment: &Enrolment) -> Self {
        Self {
            status: match enrolment.state {
                EnrolmentState::Pending => "pending",
                EnrolmentState::Active => "active",
                EnrolmentState::Rejected => "rejected",
                EnrolmentState::Suspended => "suspended",
                EnrolmentState::Ended => "ended",
            },
            brokerage_account: enrolment.brokerage_account.as_str().to_owned(),
            fund: enrolment.fund.clone(),
            requested_at: enrolment.requested_at.into(),
        }
    }
}

/// Renders an account as it was at an instant, with its balance after this many movements.
pub(super) fn account(
    account: &Account,
    balance: Balance,
    movements: u64,
    at: Timestamp,
) -> AccountEvent {
    let summary = AccountSummary::from(account);
    let cvu = account.cvu.map(|cvu| cvu.to_string());
    let balance = cvu.clone().map(|cvu| BalanceBody {
        cvu,
        currency: summary.currency,
        available: balance.available.into(),
        held: balance.held.into(),
        total: balance.total().into(),
        sequence: movements,
        as_of: at.into(),
    });
    AccountEvent {
        cvu,
        alias: summary.alias,
        status: summary.status,
        holder: summary.holder,
        titulares: summary.titulares,
        currency: summary.currency,
        wallet_account_id: summary.wallet_account_id,
        external_id: summary.external_id,
        enabled: summary.enabled,
        email: summary.email,
        phone: summary.phone,
        metadata: summary.metadata,
        kyc: summary.kyc,
        suspension: summary.suspension,
        created_at: summary.created_at,
        updated_at: summary.updated_at,
        closed_at: summary.closed_at,
        balance,
        limits: OwnLimits {
            own: LimitsBody::from(&account.limits),
            temporary: TemporaryLimitsBody::of(account, at),
        },
        remuneration: account.enrolment.as_ref().map(EnrolmentBody::from),
    }
}
