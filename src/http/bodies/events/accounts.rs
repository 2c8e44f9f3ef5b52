//! An account as an event reports it.

use std::collections::BTreeMap;

use caudal_ledger::accounts::Account;
use caudal_ledger::balance::Balance;
use caudal_ledger::remuneration::{Enrolment, EnrolmentState};
use caudal_ledger::time::Timestamp;

use crate::bodies::accounts::{AccountSummary, BalanceBody, HolderBody, SuspensionBody};
use crate::bodies::body;
use crate::bodies::kyc::KycBody;
use crate::bodies::limits::{LimitsBody, TemporaryLimitsBody};
use crate::bodies::texts::Instant;
use crate::bodies::words::{AccountStatusWord, CurrencyWord, EnrolmentWord};

body! {
    /// An account as it was right after an event: an `AccountResponse` with its own limits alone, for the
    /// effective ones depend on others too, and with its enrolment. The fields of `AccountSummary` stand here
    /// again because the CVU may be null here, and nowhere else.
    pub struct AccountEvent as AccountOfEvent {
        /// The CVU; null while it has none.
        cvu: Option<String>;
        /// Its alias; null while it has none.
        alias: Option<String>;
        /// `registered` (it has no CVU yet), `active`, `suspended`, `closed` or `rejected` (the bank refused to open it).
        status: String as AccountStatusWord;
        /// The holder.
        holder: HolderBody;
        /// All holders, the account's own first.
        titulares: Vec<HolderBody>;
        /// Always `ARS`.
        currency: &'static str as CurrencyWord;
        /// The id of the wallet family.
        wallet_account_id: u64;
        /// The tenant's own id (wallet `codigo`).
        external_id: Option<String>;
        /// Whether the wallet account is enabled.
        enabled: bool;
        /// E-mail.
        email: Option<String>;
        /// Phone.
        phone: Option<String>;
        /// Whatever the tenant keeps with it.
        metadata: BTreeMap<String, String>;
        /// KYC data.
        kyc: KycBody;
        /// The suspension, while suspended.
        suspension: Option<SuspensionBody>;
        /// When it was created.
        created_at: Instant;
        /// When it last changed.
        updated_at: Instant;
        /// When it was closed.
        closed_at: Option<Instant>;
        /// What it had; null while it has no CVU.
        balance: Option<BalanceBody>;
        /// Its limits.
        limits: OwnLimits;
        /// Its enrolment in remuneration.
        remuneration: Option<EnrolmentBody>;
    }
}

body! {
    /// The limits that are an account's own.
    pub struct OwnLimits as OwnLimits {
        /// What it may, as far as that was said of itself.
        own: LimitsBody;
        /// The limits that went before its own until they end; absent without any.
        temporary?: Option<TemporaryLimitsBody>;
    }
}

body! {
    /// An enrolment in remuneration.
    pub struct EnrolmentBody as Enrolment from enrolment: &Enrolment {
        /// `pending`, `active`, `rejected`, `suspended` or `ended`.
        status: &'static str as EnrolmentWord = match enrolment.state {
            EnrolmentState::Pending => "pending",
            EnrolmentState::Active => "active",
            EnrolmentState::Rejected => "rejected",
            EnrolmentState::Suspended => "suspended",
            EnrolmentState::Ended => "ended",
        };
        /// The account at the broker.
        brokerage_account: String = enrolment.brokerage_account.as_str().to_owned();
        /// The fund; null while it was not said.
        fund: Option<String> = enrolment.fund.clone();
        /// When it was asked for.
        requested_at: Instant = enrolment.requested_at.into();
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
