//! The answers of an account's actor.

use std::sync::Arc;

use caudal_ledger::accounts::Account;
use caudal_ledger::balance::Balance;
use caudal_ledger::cvu::Cvu;
use caudal_ledger::holds::Hold;
use caudal_ledger::ids::{AccountNo, Tag};
use caudal_ledger::limits::Levels;
use caudal_ledger::remuneration::Enrolment;
use caudal_ledger::time::Timestamp;
use caudal_ledger::transfers::Transfer;
use caudal_ledger::vouchers::{Outcome, Voucher};

use crate::failure::Failure;

/// An account as it is shown, with the limits of the levels above it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AccountView {
    /// The account as its actor has it.
    pub account: Account,
    /// The three levels of limits.
    pub levels: Levels,
    /// Whether the order did anything; false for a query.
    pub changed: bool,
    /// When the actor answered.
    pub as_of: Timestamp,
}

/// A balance as it is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BalanceView {
    /// The number of the account.
    pub account: AccountNo,
    /// The CVU of the account.
    pub cvu: Cvu,
    /// The balance at `as_of`, in centavos.
    pub balance: Balance,
    /// The number of movements up to `as_of`.
    pub sequence: u64,
    /// When the account last moved, up to `as_of`.
    pub last_movement_at: Option<Timestamp>,
    /// The instant of the balance.
    pub as_of: Timestamp,
}

/// The live state of an actor, for operators.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Observed {
    /// The account as the actor knows it.
    pub account: Account,
    /// How many messages wait for the actor.
    pub mailbox: usize,
    /// How many of its commits are not durable yet.
    pub pending_commits: usize,
    /// When it last took a message.
    pub active_at: Timestamp,
}

/// The versions of an account's profile that `If-Match` accepts.
pub type Versions = Vec<u64>;

/// A hold with its account.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HoldView {
    /// The account whose money the hold sets apart.
    pub account: AccountNo,
    /// The hold, with all steps so far.
    pub hold: Hold,
    /// The balance of the account after the order that shows the hold; `None` where it is only read.
    pub balance: Option<Balance>,
    /// The voucher of that order: of several the one that confirms, or else the last one.
    pub voucher: Option<(u64, Tag)>,
}

impl HoldView {
    /// A hold that is only read.
    pub const fn read(account: AccountNo, hold: Hold) -> Self {
        Self {
            account,
            hold,
            balance: None,
            voucher: None,
        }
    }
}

/// A transfer with the sending account.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TransferView {
    /// The sending account.
    pub account: AccountNo,
    /// The transfer, with everything that happened to it.
    pub transfer: Transfer,
    /// The balance of the sending account after the order that shows it; `None` where it is only read.
    pub balance: Option<Balance>,
}

impl TransferView {
    /// A transfer that is only read.
    pub const fn read(account: AccountNo, transfer: Transfer) -> Self {
        Self {
            account,
            transfer,
            balance: None,
        }
    }
}

/// An enrolment in remuneration with its account.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EnrolmentView {
    /// The account that is enrolled.
    pub account: AccountNo,
    /// The CVU of the account, once it has one.
    pub cvu: Option<Cvu>,
    /// The reference by which the bank knows the enrolment; empty when there is none.
    pub reference: String,
    /// The last enrolment; `None` when it never was enrolled.
    pub enrolment: Option<Enrolment>,
    /// Whether an earlier order had already made it.
    pub again: bool,
}

/// How a notice of the bank ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoticeOutcome {
    /// It was about something of ours, and was taken in.
    Done,
    /// It had been taken in before.
    Known,
    /// Money arrived that no account could take; it waits for a person.
    Suspended,
    /// It is about nothing of ours.
    Ignored,
}

/// The outcome of one posting of a batch.
pub type ItemOutcome = Result<Outcome<AccountVoucher>, Failure>;

/// A voucher with its account.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AccountVoucher {
    /// The account that it moved.
    pub account: AccountNo,
    /// The voucher with its number in the account's history, its amount in centavos and the balance after it.
    pub voucher: Arc<Voucher>,
}
