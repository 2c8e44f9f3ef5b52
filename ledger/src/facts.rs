//! Facts: what happened, in the past tense. Variants and fields are appended, never edited.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::accounts::{CvuOpening, CvuRequest, Holder, Identity, SuspensionCode};
use crate::alias::Alias;
use crate::book_accounts::BookName;
use crate::chain::Digest;
use crate::collector::CollectorRule;
use crate::cuit::Cuit;
use crate::cvu::Cvu;
use crate::fees::FeeRule;
use crate::ids::AccountNo;
use crate::kyc::Kyc;
use crate::limits::{Limits, TemporaryLimits, TotalLimits};
use crate::particulars::{Names, Particulars};
use crate::remuneration::{BrokerageAccount, EnrolmentState};
use crate::tenants::test_clock::ClockAdvance;
use crate::tenants::{ApiKey, BankRelation, Mode, Policy, Provider, RealmState, Tenant};
use crate::time::Timestamp;
use crate::voucher_types::{TypeCode, VoucherType};
use crate::vouchers::Voucher;

pub use crate::bank::BankRefusal;

/// What happened to the profile of an account.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum AccountFact {
    /// The wallet account exists.
    Registered(Registration),
    /// The bank will be asked for a CVU, with this client id.
    OpeningRequested(CvuOpening),
    /// The bank gave a CVU.
    Opened {
        /// The CVU that the bank gave.
        cvu: Cvu,
        /// Its alias; `None` if the bank could not set one yet.
        alias: Option<Alias>,
    },
    /// The bank refused to open the account.
    OpeningRefused(BankRefusal),
    /// The bank will be asked to set this alias.
    AliasRequested {
        /// The alias that the holder wants.
        alias: Alias,
    },
    /// The bank set the alias.
    AliasChanged {
        /// The new alias.
        alias: Alias,
    },
    /// The bank refused the alias.
    AliasRefused(BankRefusal),
    /// The bank will be asked to adopt this identity.
    IdentityRequested(Identity),
    /// The bank has adopted the identity.
    IdentityChanged(Identity),
    /// The bank refused the identity.
    IdentityRefused(BankRefusal),
    /// The bank will be asked to close the CVU.
    ClosingRequested,
    /// The account is closed.
    Closed,
    /// The bank refused to close the CVU.
    ClosingRefused(BankRefusal),
    /// Outgoing movements are blocked.
    Suspended {
        /// The reason, as a sentence for people.
        reason: String,
        /// The reason as a code of a closed list.
        code: SuspensionCode,
    },
    /// Outgoing movements are possible again.
    Reactivated,
    /// The KYC data, e-mail and phone after a change.
    KycChanged {
        /// All KYC data, including what did not change.
        kyc: Kyc,
        /// The current e-mail address; `None` when there is none.
        email: Option<String>,
        /// The current phone number; `None` when there is none.
        phone: Option<String>,
    },
    /// The account's own limits after a change.
    LimitsChanged(Limits),
    /// The wallet account was enabled or disabled.
    EnabledChanged {
        /// Whether it is enabled.
        enabled: bool,
    },
    /// The account's own fees after a change.
    FeesChanged(Vec<FeeRule>),
    /// The bank will be asked for a CVU for an account that existed before.
    CvuRequested(CvuRequest),
    /// The bank refused a CVU to an account that existed before: the account stays as it was.
    CvuRefused(BankRefusal),
    /// The bank will be asked to adopt the name; the rest of the change waits for it.
    ParticularsRequested(Particulars),
    /// The particulars of the wallet account changed.
    ParticularsChanged(Particulars),
    /// The bank refused the name, so nothing of the change happened.
    ParticularsRefused(BankRefusal),
    /// The fund will be asked to accept the account; the sequence of this fact is the number of the enrolment.
    EnrolmentRequested {
        /// The holder's account at the broker.
        brokerage_account: BrokerageAccount,
        /// The fund; without one, the bank chooses.
        fund: Option<String>,
        /// The reference by which the bank will know it; missing in earlier facts, where the number implies it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reference: Option<String>,
    },
    /// The fund reported the state of an enrolment.
    EnrolmentChanged {
        /// The number of the enrolment.
        enrolment: u64,
        /// The new state.
        state: EnrolmentState,
        /// The fund, if the bank named it.
        fund: Option<String>,
        /// The bank's answer when it refused.
        refusal: Option<BankRefusal>,
    },
    /// The bank gave a closed CVU again: it is open as before.
    Reopened {
        /// Its alias now; `None` when it has none.
        alias: Option<Alias>,
    },
    /// Limits that go before the account's own until an instant were set, in place of earlier ones; `None` ends them.
    TemporaryLimitsSet(Option<Box<TemporaryLimits>>),
}

/// A new wallet account.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Registration {
    /// Its number in the realm, from 1.
    pub number: AccountNo,
    /// The account's own holder: the first of the holders.
    pub holder: Holder,
    /// The tenant's own code of it, unique in the realm.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The holder's e-mail address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
    /// The holder's phone number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phone: Option<String>,
    /// The tenant's own key-value data.
    pub metadata: BTreeMap<String, String>,
    /// The KYC data of the holder.
    pub kyc: Kyc,
    /// Whether it is enabled.
    pub enabled: bool,
    /// The parts of the holder's name, if the tenant gave them separately.
    #[serde(default, skip_serializing_if = "Names::is_empty")]
    pub names: Names,
    /// Whether it is registered to get a CVU at once; it is then published only when it has the CVU.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub asks_cvu: bool,
}

/// What happened to the money of an account.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum LedgerFact {
    /// A voucher was posted.
    #[serde(rename = "p")]
    Posted(Voucher),
}

/// The same as [`LedgerFact`], borrowing the voucher; used for writing facts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename = "LedgerFact")]
pub enum LedgerFactRef<'a> {
    /// A voucher was posted.
    #[serde(rename = "p")]
    Posted(&'a Voucher),
}

/// What happened in a realm.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum RealmFact {
    /// A voucher type was created.
    VoucherTypeCreated(VoucherType),
    /// A voucher type was switched on or off.
    VoucherTypeToggled {
        /// The code of the type.
        code: TypeCode,
        /// Whether it is active now.
        active: bool,
    },
    /// A voucher type was removed.
    VoucherTypeRemoved {
        /// The code of the type.
        code: TypeCode,
    },
    /// From here on another set of rules decides which facts of the realm are events: see [`crate::events::rules`].
    EventRules {
        /// The number of the set, from 1.
        number: u16,
    },
    /// The account of the books for the vouchers of a type was set, from here on.
    VoucherTypeAccountSet {
        /// The code of the type.
        code: TypeCode,
        /// The account; `None` for that of the code.
        account: Option<BookName>,
    },
    /// How much more may be confirmed of holds that name a type was set, for holds from here on.
    VoucherTypeToleranceSet {
        /// The code of the type.
        code: TypeCode,
        /// Percent of the hold; `None` for nothing.
        percent: Option<u8>,
    },
    /// The limits of each account on the vouchers of a type changed.
    VoucherTypeLimitsSet {
        /// The code of the type.
        code: TypeCode,
        /// All of its limits after the change.
        limits: Limits,
    },
}

/// A person's confirmation that the machine's clock is right.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ClockWord {
    /// The time of the machine's clock.
    pub says: Timestamp,
    /// The time that the service had assumed until then.
    pub believed: Timestamp,
    /// The operator's name, as they gave it.
    pub by: String,
    /// Why the operator trusts the clock.
    pub reason: String,
}

/// What happened to the platform: tenants and keys.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum PlatformFact {
    /// A tenant was created.
    TenantCreated(Box<Tenant>),
    /// A tenant's settings after a change.
    TenantChanged {
        /// The id of the tenant.
        id: String,
        /// Its name for people.
        name: String,
        /// Its policy for its accounts.
        policy: Policy,
        /// The limits that its accounts inherit.
        limits: Limits,
        /// The fee schedule that its accounts inherit.
        fees: Vec<FeeRule>,
        /// The limits on the sum over its accounts.
        #[serde(default, skip_serializing_if = "crate::words::is_default")]
        total_limits: TotalLimits,
        /// What its statements state of it besides its name.
        #[serde(default, skip_serializing_if = "crate::words::is_default")]
        provider: Provider,
    },
    /// A key was issued.
    KeyIssued(ApiKey),
    /// The time at which a key stops working was set (now, when revoked; later, in a rotation).
    KeyEnds {
        /// The public id of the key.
        id: String,
        /// The first instant at which it no longer works.
        at: Timestamp,
        /// Whether it was revoked, as opposed to rotated out.
        revoked: bool,
    },
    /// The platform's settings after a change.
    PlatformChanged {
        /// Limits for tenants without limits of their own.
        limits: Limits,
        /// Fees for tenants without fees of their own.
        fees: Vec<FeeRule>,
    },
    /// A tenant's relation to the bank of a mode after a change.
    BankRelated {
        /// The id of the tenant.
        id: String,
        /// The mode of its realm.
        mode: Mode,
        /// The tenant's own settings for that bank.
        relation: BankRelation,
    },
    /// A person confirmed the machine's clock, which was in doubt.
    ClockConfirmed(ClockWord),
    /// A realm is created, deleted, opened or closed.
    RealmChanged {
        /// The id of the tenant.
        id: String,
        /// The mode of its realm.
        mode: Mode,
        /// Its state from here on.
        state: RealmState,
    },
    /// A tenant's rules for the movements of its collector accounts after a change.
    CollectorRulesSet {
        /// The id of the tenant.
        id: String,
        /// All its rules.
        rules: Vec<CollectorRule>,
    },
    /// New keys sign the closed days of a tenant's realms: the next closed day names its successor's key.
    SealKeysRotated {
        /// The id of the tenant.
        id: String,
        /// Which of the tenant's keys it is, from 1.
        generation: u32,
    },
    /// The clock of a tenant's test realm was advanced.
    TestClockAdvanced {
        /// The id of the tenant.
        id: String,
        /// How far, and since when.
        advance: ClockAdvance,
    },
}

/// A call to the bank, for the auditor: the request, the answer, and how long it took.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct BankCall {
    /// The operation as the gateway calls it, for instance `create_cvu`.
    #[serde(rename = "o")]
    pub operation: String,
    /// The reference by which the bank recognises a repeated request.
    #[serde(rename = "r")]
    pub reference: String,
    /// The request without personal data, as JSON text.
    #[serde(rename = "q")]
    pub request: String,
    /// The HTTP status; `None` when there was no answer.
    #[serde(rename = "s", skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The answer's body, cut at a limit.
    #[serde(rename = "b")]
    pub body: String,
    /// The time from sending the request to the answer, in milliseconds.
    #[serde(rename = "m")]
    pub millis: u64,
    /// The request id of the call that caused it.
    #[serde(rename = "c")]
    pub correlation: String,
}

/// The stored answer to a request with an `Idempotency-Key`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Answer {
    /// The `Idempotency-Key` of the request.
    #[serde(rename = "k")]
    pub key: String,
    /// The HTTP method of the request.
    #[serde(rename = "m")]
    pub method: String,
    /// The path of the request, as sent.
    #[serde(rename = "p")]
    pub path: String,
    /// For each field of the body, a hash of its value: a repeat with another body is told which fields differ.
    #[serde(rename = "f")]
    pub fields: BTreeMap<String, Digest>,
    /// The HTTP status of the answer; 0 while the bank's outcome is unknown.
    #[serde(rename = "s")]
    pub status: u16,
    /// The body of the answer as JSON text, or its beginning (see [`Self::rest`]).
    #[serde(rename = "b")]
    pub body: String,
    /// When it was answered.
    #[serde(rename = "t")]
    pub at: Timestamp,
    /// The account whose opening will complete the answer, while `status` is 0 because the outcome at the bank is
    /// unknown.
    #[serde(rename = "a", default, skip_serializing_if = "Option::is_none")]
    pub account: Option<AccountNo>,
    /// Where the rest of a long body is: the sequence of the first entry that has it, and the number of such entries.
    #[serde(rename = "r", default, skip_serializing_if = "Option::is_none")]
    pub rest: Option<(u64, u64)>,
}

/// The owner of an alias: an alias that was given up stays reserved for the CUIT of its holder.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct AliasOwner {
    /// The account that has or had the alias.
    pub account: AccountNo,
    /// The holder for whom it is reserved.
    pub cuit: Cuit,
    /// Whether the account has it now.
    pub current: bool,
}
