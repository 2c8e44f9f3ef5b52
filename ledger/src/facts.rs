//! Facts: what happened, in the past tense. Variants and fields are appended, never edited.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::accounts::{Holder, Identity, SuspensionCode};
use crate::alias::Alias;
use crate::chain::Digest;
use crate::cuit::Cuit;
use crate::cvu::Cvu;
use crate::fees::FeeRule;
use crate::ids::AccountNo;
use crate::kyc::Kyc;
use crate::limits::{Limits, TotalLimits};
use crate::particulars::{Names, Particulars};
use crate::remuneration::{BrokerageAccount, EnrolmentState};
use crate::tenants::{
    ApiKey, BankRelation, Copied, Mode, Policy, RealmState, RestorePoint, Tenant,
};
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
    OpeningRequested {
        /// The numeric id by which the bank knows the account.
        client_id: u64,
        /// The alias that was asked for; the bank assigns one when there is none.
        alias: Option<Alias>,
    },
    /// The bank gave a CVU.
    Opened {
        /// The CVU that the bank gave.
        cvu: Cvu,
        /// Its alias; `None` when the bank could not set one yet.
        alias: Option<Alias>,
    },
    /// The bank refused to open the account.
    OpeningRefused(BankRefusal),
    /// The bank will be asked to set this alias.
    AliasRequested {
        /// The alias that the holder is to have.
        alias: Alias,
    },
    /// The bank set the alias.
    AliasChanged {
        /// The alias as it is now.
        alias: Alias,
    },
    /// The bank refused the alias.
    AliasRefused(BankRefusal),
    /// The bank will be asked to take over this identity.
    IdentityRequested(Identity),
    /// The bank took over the identity.
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
        /// A sentence for people: why.
        reason: String,
        /// The reason as a word of a closed list.
        code: SuspensionCode,
    },
    /// Outgoing movements are possible again.
    Reactivated,
    /// KYC data, e-mail and phone as they are now.
    KycChanged {
        /// All KYC data, also what did not change.
        kyc: Kyc,
        /// The e-mail address now; `None` when there is none.
        email: Option<String>,
        /// The phone number now; `None` when there is none.
        phone: Option<String>,
    },
    /// The account's own limits as they are now.
    LimitsChanged(Limits),
    /// The wallet account was enabled or disabled.
    EnabledChanged {
        /// Whether it is enabled.
        enabled: bool,
    },
    /// The account's own fees as they are now.
    FeesChanged(Vec<FeeRule>),
    /// The bank will be asked for a CVU for an account that existed before.
    CvuRequested {
        /// The numeric id by which the bank knows the account.
        client_id: u64,
        /// What the tenant calls the CVU.
        name: Option<String>,
        /// Whether the bank assigns an alias.
        automatic_alias: bool,
    },
    /// The bank refused a CVU to an account that existed before: it stays as it was.
    CvuRefused(BankRefusal),
    /// The bank will be asked to take over the name; what else changes waits for it.
    ParticularsRequested(Particulars),
    /// What the wallet account says of itself changed.
    ParticularsChanged(Particulars),
    /// The bank refused the name, and so nothing of the change happened.
    ParticularsRefused(BankRefusal),
    /// The fund will be asked to take the account in; the sequence of this fact is the number of
    /// the enrolment.
    EnrolmentRequested {
        /// The holder's account at the broker.
        brokerage_account: BrokerageAccount,
        /// The fund; the bank's own choice when there is none.
        fund: Option<String>,
        /// The reference by which the bank will know it; none in earlier facts, whose number says it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reference: Option<String>,
    },
    /// The fund said how far an enrolment is.
    EnrolmentChanged {
        /// The number of the enrolment.
        enrolment: u64,
        /// How far it is now.
        state: EnrolmentState,
        /// The fund, where the bank named it.
        fund: Option<String>,
        /// What the bank said when it refused.
        refusal: Option<BankRefusal>,
    },
    /// The bank gave the CVU again that was closed: it is open as it was.
    Reopened {
        /// Its alias now; `None` when it has none.
        alias: Option<Alias>,
    },
}

/// A new wallet account.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Registration {
    /// Its number in the realm, from 1.
    pub number: AccountNo,
    /// The person who holds it: the first holder.
    pub holder: Holder,
    /// The tenant's own code of it, unique in the realm.
    pub code: Option<String>,
    /// The holder's e-mail address.
    pub email: Option<String>,
    /// The holder's phone number.
    pub phone: Option<String>,
    /// Whatever the tenant wants to keep with it, key by key.
    pub metadata: BTreeMap<String, String>,
    /// What is known of the holder.
    pub kyc: Kyc,
    /// Whether it is enabled.
    pub enabled: bool,
    /// The parts of the holder's name, where the tenant gave them apart.
    #[serde(default, skip_serializing_if = "Names::is_empty")]
    pub names: Names,
    /// Whether it is registered to get a CVU at once, so that it is published only when it has it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub asks_cvu: bool,
}

/// What happened to the money of an account.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum LedgerFact {
    /// A voucher was posted.
    Posted(Voucher),
}

/// The same as [`LedgerFact`], without owning the voucher: how facts are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename = "LedgerFact")]
pub enum LedgerFactRef<'a> {
    /// A voucher was posted.
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
    /// From here on another set of rules says which facts of the realm are events: see
    /// [`crate::events::rules`].
    EventRules {
        /// The number of the set, from 1.
        number: u16,
    },
}

/// A person's word that the machine's clock is right.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ClockWord {
    /// What the machine's clock said.
    pub says: Timestamp,
    /// What the service believed until then.
    pub believed: Timestamp,
    /// The operator, as they named themselves.
    pub by: String,
    /// Why the operator believes the clock.
    pub reason: String,
}

/// What happened to the platform: tenants and keys.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum PlatformFact {
    /// A tenant was created.
    TenantCreated(Box<Tenant>),
    /// A tenant's settings as they are now.
    TenantChanged {
        /// The id of the tenant.
        id: String,
        /// Its name for people.
        name: String,
        /// What it has decided about its accounts.
        policy: Policy,
        /// The limits that its accounts inherit.
        limits: Limits,
        /// The fee schedule that its accounts inherit.
        fees: Vec<FeeRule>,
        /// The limits over the sum of its accounts.
        #[serde(default, skip_serializing_if = "TotalLimits::are_none")]
        total_limits: TotalLimits,
    },
    /// A key was issued.
    KeyIssued(ApiKey),
    /// A key stops working at an instant (now, when revoked; later, in a rotation).
    KeyEnds {
        /// The public id of the key.
        id: String,
        /// The first instant at which it no longer works.
        at: Timestamp,
        /// Whether it was revoked, as opposed to rotated out.
        revoked: bool,
    },
    /// The platform's settings as they are now.
    PlatformChanged {
        /// Limits for tenants that have none of their own.
        limits: Limits,
        /// Fees for tenants that have none of their own.
        fees: Vec<FeeRule>,
    },
    /// A tenant's relation to the bank of a mode as it is now.
    BankRelated {
        /// The id of the tenant.
        id: String,
        /// Which of its realms.
        mode: Mode,
        /// What it has of its own.
        relation: BankRelation,
    },
    /// A person confirmed the machine's clock, which was in doubt.
    ClockConfirmed(ClockWord),
    /// A realm comes, goes, opens or closes.
    RealmChanged {
        /// The id of the tenant.
        id: String,
        /// Which of its realms.
        mode: Mode,
        /// How it stands from here on.
        state: RealmState,
    },
    /// A copy of a realm as it was at an instant is made: another generation of it.
    RestoreBegun {
        /// The id of the tenant.
        id: String,
        /// Which of its realms.
        mode: Mode,
        /// The number of the generation, which no other of the realm has.
        number: u32,
        /// What is copied.
        point: RestorePoint,
    },
    /// All of the copy is here.
    RestoreCopied {
        /// The id of the tenant.
        id: String,
        /// Which of its realms.
        mode: Mode,
        /// The number of the generation.
        number: u32,
        /// What it came to.
        copied: Copied,
    },
    /// Another generation of a realm is in force from here on, and what leaves the realm is held.
    GenerationSet {
        /// The id of the tenant.
        id: String,
        /// Which of its realms.
        mode: Mode,
        /// The number of the generation; 0 is the first.
        number: u32,
        /// Since when.
        at: Timestamp,
    },
    /// What leaves a realm is held no more.
    OutgoingReleased {
        /// The id of the tenant.
        id: String,
        /// Which of its realms.
        mode: Mode,
    },
    /// There is another cell from here on; or a cell is another store from here on, where a copy of all cells goes on
    /// beside them.
    CellAdded {
        /// Its number, from 1.
        cell: u32,
        /// The id of its store, in hexadecimal digits.
        store: String,
    },
    /// The first generation of a realm lies in another cell than the first one.
    RealmPlaced {
        /// The id of the tenant.
        id: String,
        /// Which of its realms.
        mode: Mode,
        /// The number of the cell.
        cell: u32,
    },
    /// A copy of all of a realm is made in another cell: another generation of it.
    MoveBegun {
        /// The id of the tenant.
        id: String,
        /// Which of its realms.
        mode: Mode,
        /// The number of the generation, which no other of the realm has.
        number: u32,
        /// The generation that is copied.
        from: u32,
        /// The cell that it is copied into.
        cell: u32,
        /// The last commit of that cell: all of the copy lies behind it.
        behind: u64,
        /// When it was begun.
        at: Timestamp,
    },
    /// All of a realm is in another cell, and that generation is in force from here on; nothing is held.
    RealmMoved {
        /// The id of the tenant.
        id: String,
        /// Which of its realms.
        mode: Mode,
        /// The number of the generation.
        number: u32,
        /// What it came to.
        copied: Copied,
        /// The last commit of its cell: all of the copy lies before it.
        commit: u64,
        /// Since when.
        at: Timestamp,
    },
    /// A realm that goes into another cell rests for the last of it, wherever it is served, or does no more.
    RealmLeaves {
        /// The id of the tenant.
        id: String,
        /// Which of its realms.
        mode: Mode,
        /// The number of the generation that is being made.
        number: u32,
        /// Whether it rests from here on.
        leaves: bool,
        /// Since when.
        at: Timestamp,
    },
}

/// A call to the bank, for the auditor: what was asked, what came back, how long it took.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct BankCall {
    /// The operation as the gateway calls it, for instance `create_cvu`.
    pub operation: String,
    /// The reference by which the bank recognises a repeat of it.
    pub reference: String,
    /// The request without personal data, as JSON text.
    pub request: String,
    /// The HTTP status; `None` when there was no answer.
    pub status: Option<u16>,
    /// The answer, cut at a limit.
    pub body: String,
    /// From sending to the answer, in milliseconds.
    pub millis: u64,
    /// The request id of the call that caused it.
    pub correlation: String,
}

/// The answer to a request with an `Idempotency-Key`, as it was given.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Answer {
    /// The `Idempotency-Key` of the request.
    pub key: String,
    /// The HTTP method of the request.
    pub method: String,
    /// The path of the request, as it was asked for.
    pub path: String,
    /// For each field of the body, a hash of its value: a repeat with another body is told which
    /// fields differ.
    pub fields: BTreeMap<String, Digest>,
    /// The HTTP status that was answered; 0 while the bank's outcome is not known.
    pub status: u16,
    /// The body that was answered, as JSON text, or its beginning (see [`Self::rest`]).
    pub body: String,
    /// When it was answered.
    pub at: Timestamp,
    /// The account whose opening will give the answer, while `status` is 0: the bank's outcome was
    /// not known yet.
    #[serde(default)]
    pub account: Option<AccountNo>,
    /// Where the rest of a long body is: the sequence of the first of the entries that have it,
    /// and how many they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rest: Option<(u64, u64)>,
}

/// Whose an alias is: an alias that was given up stays reserved to the CUIT of its holder.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct AliasOwner {
    /// The account that has or had it.
    pub account: AccountNo,
    /// The holder to whom it is reserved.
    pub cuit: Cuit,
    /// Whether the account has it now.
    pub current: bool,
}
