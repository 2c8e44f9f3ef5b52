//! The reasons why the ledger refuses: one closed list, each with a stable code and a sentence for
//! people.

use crate::balance::Direction;
use crate::cvu::Cvu;
use crate::holds::HoldStatus;
use crate::ids::{AccountNo, HoldId, TransferId, VoucherId};
use crate::kyc::KycError;
use crate::limits::Breach;
use crate::money::{Amount, Money};
use crate::time::Timestamp;
use crate::transfers::TransferStatus;
use crate::voucher_types::TypeCode;

/// Declares the rules, each with the sentence for people and the stable code.
macro_rules! rules {
    ($($(#[$about:meta])+ $rule:ident $({ $($field:tt)+ })? $(($($of:tt)+))? = $code:literal,)+) => {
        /// A refusal by a rule. Nothing was changed.
        #[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
        pub enum Rejection {
            $($(#[$about])+ $rule $({ $($field)+ })? $(($($of)+))?,)+
        }

        impl Rejection {
            /// Every rule with its stable word.
            pub const CODES: &[(&str, &str)] = &[$((stringify!($rule), $code)),+];

            /// The stable word that clients may switch on.
            pub const fn code(&self) -> &'static str {
                match self {$(Self::$rule { .. } => $code),+}
            }
        }
    };
}

rules! {
    /// The account does not exist for this caller.
    #[error("account not found")]
    AccountNotFound = "account_not_found",
    /// The wallet account has no CVU yet.
    #[error("the wallet account has no CVU yet; create one first")]
    AccountWithoutCvu = "account_without_cvu",
    /// The account is closed.
    #[error("the account is closed")]
    AccountClosed = "account_closed",
    /// The account is suspended.
    #[error("the account is suspended; reactivate it first")]
    AccountSuspended = "account_suspended",
    /// The account is not suspended.
    #[error("the account is not suspended")]
    AccountNotSuspended = "account_not_suspended",
    /// The wallet account is disabled.
    #[error("the wallet account is disabled; enable it first")]
    AccountDisabled = "account_disabled",
    /// A policy of the tenant refuses to close an account that has money.
    #[error("the account still has {total}; the tenant's policy closes only empty accounts")]
    AccountNotEmpty {
        /// Available and held together, in centavos.
        total: Money,
    } = "account_not_empty",
    /// An operation of the same account waits for the bank.
    #[error("another operation on this account is waiting for the bank; try again shortly")]
    OperationInFlight = "operation_in_flight",
    /// The amount exceeds the available money.
    #[error("insufficient funds: {available} available, {requested} requested")]
    InsufficientFunds {
        /// What the account can spend, in centavos.
        available: Money,
        /// The amount that the movement, or its charges, would take, in centavos.
        requested: Amount,
    } = "insufficient_funds",
    /// The balance would leave the range of money.
    #[error("the balance would exceed what an account can hold")]
    AmountOverflow = "amount_overflow",
    /// The alias belongs to another account, or is reserved to another holder.
    #[error("the alias is taken{}", owned(.by.as_ref()))]
    AliasTaken {
        /// The account that has it; `None` if it is unknown or in another realm.
        by: Option<Owner>,
    } = "alias_taken",
    /// The code belongs to another wallet account.
    #[error("an account with this external id already exists{}", owned(.by.as_ref()))]
    AccountCodeTaken {
        /// The account that has it; `None` while that is being opened.
        by: Option<Owner>,
    } = "account_code_taken",
    /// The CUIT of an account with a CVU cannot change.
    #[error("the CUIT cannot be changed once the account has a CVU")]
    CuitImmutable = "cuit_immutable",
    /// The realm has as many accounts as it may have.
    #[error("the realm has reached its maximum of {maximum} accounts")]
    TooManyAccounts {
        /// The most accounts that a realm may have.
        maximum: u64,
    } = "too_many_accounts",
    /// A change would leave the holder without a name.
    #[error("provide the holder's given and family name, or the company name")]
    NameRequired = "name_required",
    /// The number of the identity document does not fit its kind.
    #[error("the number of the identity document {0}")]
    Document(KycError) = "invalid_request",
    /// The first of the holders is not the account's own.
    #[error("the first entry of titulares must have the CUIT of the CVU")]
    FirstHolderDiffers = "first_holder_differs",
    /// A CUIT comes twice among the holders.
    #[error("a CUIT appears twice in titulares")]
    HolderTwice = "holder_twice",
    /// The type of person contradicts the CUIT.
    #[error("the person type contradicts the CUIT")]
    PersonTypeContradicts = "person_type_contradicts",
    /// The type does not exist, so it cannot be used.
    #[error("voucher type {code} does not exist; create it with POST /v1/voucher-types")]
    VoucherTypeUnknown {
        /// The code asked for.
        code: String,
    } = "voucher_type_unknown",
    /// The type does not exist, so it cannot be read or changed.
    #[error("voucher type {code} not found")]
    VoucherTypeNotFound {
        /// The code asked for.
        code: TypeCode,
    } = "voucher_type_not_found",
    /// The type is switched off.
    #[error("voucher type {code} is inactive; activate it with PATCH /v1/voucher-types/{code}")]
    VoucherTypeInactive {
        /// The code of the type.
        code: TypeCode,
    } = "voucher_type_inactive",
    /// The type is built in.
    #[error("voucher type {code} is a system type: it cannot be changed or used for adjustments")]
    VoucherTypeIsSystem {
        /// The code of the type.
        code: TypeCode,
    } = "voucher_type_is_system",
    /// The code is taken.
    #[error("voucher type {code} already exists")]
    VoucherTypeTaken {
        /// The code in question.
        code: TypeCode,
    } = "voucher_type_taken",
    /// Custom types are only credit or debit.
    #[error("a custom voucher type is credit or debit, not {sense}")]
    VoucherTypeSense {
        /// The direction that was asked for.
        sense: Direction,
    } = "voucher_type_sense",
    /// The realm has as many custom types as it may have.
    #[error("the realm has reached its maximum of {maximum} custom voucher types")]
    TooManyVoucherTypes {
        /// The most custom types: [`crate::voucher_types::VoucherTypes::CUSTOM_MAX`].
        maximum: usize,
    } = "too_many_voucher_types",
    /// The books of the realm have as many accounts for adjustments as they may have.
    #[error(
        "the books have reached their maximum of {maximum} accounts for adjustments; name one that exists as counterAccount"
    )]
    TooManyBookAccounts {
        /// The most accounts: [`crate::books::BookName::ACCOUNTS_MAX`].
        maximum: usize,
    } = "too_many_book_accounts",
    /// The webhook does not exist for this caller.
    #[error("webhook not found")]
    WebhookNotFound = "webhook_not_found",
    /// That event was never sent to that webhook.
    #[error("delivery not found")]
    DeliveryNotFound = "delivery_not_found",
    /// The realm has as many webhooks as it may have.
    #[error("the realm has reached its maximum of {maximum} webhooks; delete one first")]
    TooManyWebhooks {
        /// The most webhooks: [`crate::webhooks::WEBHOOKS_MAX`].
        maximum: usize,
    } = "too_many_webhooks",
    /// The webhook has as many redeliveries under way as it may have.
    #[error("the webhook has {maximum} redeliveries in progress; retry after one finishes")]
    TooManyReplays {
        /// The most redeliveries: [`crate::webhooks::REPLAYS_MAX`].
        maximum: usize,
    } = "too_many_redeliveries",
    /// The external id was used with other data.
    #[error("idExterno was used before by voucher {held_by} with other data")]
    ExternalIdReused {
        /// The voucher that has it.
        held_by: VoucherId,
        /// The CVU of that voucher.
        cvu: Cvu,
        /// The fields of the order that differ, by their names on the wire.
        fields: Vec<&'static str>,
    } = "id_externo_reused",
    /// Another item of the same batch has the external id, for another account.
    #[error("idExterno is used by an earlier item of this batch for another CVU")]
    ExternalIdTwice {
        /// The fields of the items that differ, by their names on the wire.
        fields: Vec<&'static str>,
    } = "id_externo_reused",
    /// Another request with this external id, for another account, is being processed.
    #[error("another request with this idExterno is in progress; try again shortly")]
    ExternalIdInFlight = "id_externo_in_flight",
    /// The voucher does not exist for this caller.
    #[error("voucher not found")]
    VoucherNotFound = "voucher_not_found",
    /// The voucher is neither an adjustment nor a confirmation of a hold, or it reverses another one itself.
    #[error("only adjustments and confirmed holds can be reversed, and no reversals")]
    VoucherNotReversible = "voucher_not_reversible",
    /// The reversals of a voucher would exceed it.
    #[error("of {original}, {reversed} is reversed already: at most {remaining} can be reversed")]
    ReversalExceeds {
        /// The amount of the voucher, in centavos.
        original: Amount,
        /// What of it is reversed already, in centavos.
        reversed: Money,
        /// What is left, in centavos.
        remaining: Money,
    } = "reversal_exceeds",
    /// A limit would be exceeded.
    #[error("{0}")]
    LimitExceeded(Box<Breach>) = "limit_exceeded",
    /// The hold does not exist for this caller.
    #[error("hold not found")]
    HoldNotFound = "hold_not_found",
    /// Nothing is left of the hold.
    #[error("{}", over(.ended.as_deref()))]
    HoldNotOpen {
        /// The hold, and how it ended, if known.
        ended: Option<Box<EndedHold>>,
    } = "hold_not_open",
    /// The amount exceeds what is left of the hold.
    #[error("{requested} exceeds the remaining amount of the hold: {remaining}")]
    HoldRemaining {
        /// The amount left, in centavos.
        remaining: Amount,
        /// The amount to be confirmed or released, in centavos.
        requested: Amount,
    } = "hold_remaining",
    /// The end of a hold must be in the future.
    #[error("expiresAt must be in the future")]
    ExpiryInThePast = "expiry_in_the_past",
    /// The account has as many open holds as it may have.
    #[error("the account has reached its maximum of {maximum} open holds")]
    TooManyOpenHolds {
        /// The most open holds: [`crate::holds::OPEN_HOLDS_MAX`].
        maximum: usize,
    } = "too_many_open_holds",
    /// The account has as many transfers that wait for the bank as it may have.
    #[error("the account has reached its maximum of {maximum} transfers that wait for the bank")]
    TooManyOpenTransfers {
        /// The most open transfers: [`crate::transfers::OPEN_TRANSFERS_MAX`].
        maximum: usize,
    } = "too_many_open_transfers",
    /// The transfer does not exist for this caller.
    #[error("transfer not found")]
    TransferNotFound = "transfer_not_found",
    /// The transfer is final.
    #[error("the transfer is final: it does not wait for the bank")]
    TransferNotOpen = "transfer_not_open",
    /// More would come back than had left.
    #[error("nothing of the transfer is left to be returned")]
    NothingToReverse = "nothing_to_reverse",
    /// The transfer goes to its own account.
    #[error("a transfer must go to another account")]
    SameAccount = "same_account",
    /// The receiving account is closed.
    #[error("the destination account is closed")]
    DestinationClosed = "destination_closed",
    /// There is no receiving account.
    #[error("the destination account does not exist")]
    DestinationNotFound = "destination_not_found",
    /// The bank has not given up on the transfer, and the person does not insist.
    #[error(
        "the transfer is {}: the bank may still end it; decide with force: true if you know better",
        .status.as_str()
    )]
    TransferNotInAudit {
        /// The state of the transfer, an open one.
        status: TransferStatus,
    } = "transfer_not_in_audit",
    /// There is no such case.
    #[error("case not found")]
    CaseNotFound = "case_not_found",
    /// The case was decided before.
    #[error("the case has been decided; read it to see by whom and why")]
    CaseDecided = "case_decided",
    /// Another realm has the same collector account.
    #[error(
        "the collector account is another realm's as well; nobody can say whose its balances are"
    )]
    CollectorShared = "collector_shared",
    /// The day is not closed yet.
    #[error("the day is not closed yet; a day is closed some minutes after its end")]
    DayNotClosed = "day_not_closed",
    /// The bank is being asked to return the money.
    #[error("the bank is being asked to return this money; its answer decides the case")]
    ReturnInFlight = "return_in_flight",
    /// The bank did not say where the money came from.
    #[error("the bank did not report the CBU of the sender; credit the money to a CVU instead")]
    SenderUnknown = "sender_unknown",
    /// The external id was used by another transfer.
    #[error("idExterno was used before by transfer {held_by} with other data")]
    TransferExternalIdReused {
        /// The transfer that has it.
        held_by: TransferId,
        /// The fields of the order that differ, by their names on the wire.
        fields: Vec<&'static str>,
    } = "id_externo_reused",
    /// The account is enrolled in remuneration in another way than asked for.
    #[error("the account is enrolled with another brokerage account or fund")]
    EnrolledOtherwise = "remuneration_enrolled",
    /// The tenant does not exist.
    #[error("unknown tenant id; the list of tenants shows the ids")]
    TenantNotFound = "tenant_not_found",
    /// The id belongs to another tenant.
    #[error("a tenant with this id already exists")]
    TenantTaken = "tenant_taken",
    /// No realm numbers are left for another tenant in this shard: [`crate::ids::REALM_MAX`].
    #[error("no realm numbers are left for another tenant; create it in another shard")]
    TooManyTenants = "too_many_tenants",
    /// The realm is being filled from a file.
    #[error("the realm is being imported from a file; finish that import first")]
    RealmImporting = "realm_importing",
    /// The key does not exist.
    #[error("key not found")]
    KeyNotFound = "key_not_found",
    /// The key was revoked or has expired.
    #[error("the key is revoked or expired; issue a new one")]
    KeyNotActive = "key_not_active",
    /// The tenant has as many active keys as it may have.
    #[error("the tenant has reached its maximum of {maximum} active keys; revoke one first")]
    TooManyKeys {
        /// The most keys of a tenant and mode: [`crate::tenants::Platform::KEYS_MAX`].
        maximum: usize,
    } = "too_many_keys",
    /// Nobody with this name has a working credential.
    #[error("no person has this name; the list of people shows the names")]
    PersonNotFound = "person_not_found",
    /// The person already has a working credential.
    #[error("this person already has a credential; rotate it, or revoke it first")]
    PersonTaken = "person_taken",
    /// The maximum number of people already have a credential.
    #[error("at most {maximum} people may have a credential; revoke one first")]
    TooManyPeople {
        /// The most: [`crate::people::PEOPLE_MAX`].
        maximum: usize,
    } = "too_many_people",
    /// There is no such approval, or it ended long ago and is no longer kept.
    #[error("approval not found")]
    ApprovalNotFound = "approval_not_found",
    /// The approval was already decided, or its time is over.
    #[error("the approval was already decided or has expired; request the operation again")]
    ApprovalEnded = "approval_ended",
    /// The person who asked cannot decide.
    #[error("another person must decide your own request")]
    ApprovalOwn = "approval_own",
    /// The maximum number of approvals already wait.
    #[error("at most {maximum} approvals may wait; have some of them decided first")]
    TooManyApprovals {
        /// The most: [`crate::people::approvals::WAITING_MAX`].
        maximum: usize,
    } = "too_many_approvals",
}

/// An account of the same realm that already has the alias or code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Owner {
    /// The number of the account.
    pub account: AccountNo,
    /// Its CVU, if it has one.
    pub cvu: Option<Cvu>,
}

fn owned(owner: Option<&Owner>) -> String {
    match owner {
        None => String::new(),
        Some(Owner { cvu: Some(cvu), .. }) => format!(": your account {cvu} has it"),
        Some(Owner { account, cvu: None }) => format!(": your wallet account {account} has it"),
    }
}

/// A hold that has ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EndedHold {
    /// The id by which the order named it.
    pub id: HoldId,
    /// Whether it was confirmed, released or expired.
    pub status: HoldStatus,
    /// When it ended; `None` if the step that ended it is unknown.
    pub at: Option<Timestamp>,
}

fn over(ended: Option<&EndedHold>) -> String {
    let Some(EndedHold { id, status, at }) = ended else {
        return "the hold is not open any more".to_owned();
    };
    let how = match status {
        HoldStatus::Open => "ended",
        HoldStatus::Confirmed => "was confirmed",
        HoldStatus::Released => "was released",
        HoldStatus::Expired => "expired",
    };
    let when = at.map_or_else(String::new, |at| format!(" at {at}"));
    format!("the hold {id} is not open any more: it {how}{when}")
}
