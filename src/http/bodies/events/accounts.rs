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
    pub struct AccountEvent as AccountOfEvent
        of(account: &Account, balance: Balance, movements: u64, at: Timestamp)
    {
        => let summary = AccountSummary::from(account);
        => let balance = account.cvu.map(|cvu| BalanceBody {
            cvu: cvu.to_string(),
            currency: "ARS",
            available: balance.available.into(),
            held: balance.held.into(),
            total: balance.total().into(),
            sequence: movements,
            as_of: at.into(),
        });
        /// The CVU; null while it has none.
        cvu: Option<String> = account.cvu.map(|cvu| cvu.to_string());
        /// Its alias; null while it has none.
        alias: Option<String> = summary.alias;
        /// `registered` (it has no CVU yet), `active`, `suspended`, `closed` or `rejected` (the bank refused to open it).
        status: String as AccountStatusWord = summary.status;
        /// The holder.
        holder: HolderBody = summary.holder;
        /// All holders, the account's own first.
        titulares: Vec<HolderBody> = summary.titulares;
        /// Always `ARS`.
        currency: &'static str as CurrencyWord = summary.currency;
        /// The id of the wallet family.
        wallet_account_id: u64 = summary.wallet_account_id;
        /// The tenant's own id (wallet `codigo`).
        external_id: Option<String> = summary.external_id;
        /// Whether the wallet account is enabled.
        enabled: bool = summary.enabled;
        /// E-mail.
        email: Option<String> = summary.email;
        /// Phone.
        phone: Option<String> = summary.phone;
        /// Whatever the tenant keeps with it.
        metadata: BTreeMap<String, String> = summary.metadata;
        /// KYC data.
        kyc: KycBody = summary.kyc;
        /// The suspension, while suspended.
        suspension: Option<SuspensionBody> = summary.suspension;
        /// When it was created.
        created_at: Instant = summary.created_at;
        /// When it last changed.
        updated_at: Instant = summary.updated_at;
        /// When it was closed.
        closed_at: Option<Instant> = summary.closed_at;
        /// What it had; null while it has no CVU.
        balance: Option<BalanceBody> = balance;
        /// Its limits.
        limits: OwnLimits = OwnLimits::of(account, at);
        /// Its enrolment in remuneration.
        remuneration: Option<EnrolmentBody> = account.enrolment.as_ref().map(EnrolmentBody::from);
    }
}

body! {
    /// The limits that are an account's own.
    pub struct OwnLimits as OwnLimits of(account: &Account, at: Timestamp) {
        /// What it may, as far as that was said of itself.
        own: LimitsBody = (&account.limits).into();
        /// The limits that went before its own until they end; absent without any.
        temporary?: Option<TemporaryLimitsBody> = TemporaryLimitsBody::of(account, at);
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
