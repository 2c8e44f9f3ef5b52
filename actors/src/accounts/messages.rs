//! What an account's actor can be asked, and what it answers with.

use std::sync::Arc;

use actix::Message;
use caudal_ledger::accounts::Account;
use caudal_ledger::balance::Balance;
use caudal_ledger::cvu::Cvu;
use caudal_ledger::holds::Hold;
use caudal_ledger::ids::AccountNo;
use caudal_ledger::limits::Levels;
use caudal_ledger::remuneration::Enrolment;
use caudal_ledger::time::Timestamp;
use caudal_ledger::transfers::Transfer;
use caudal_ledger::vouchers::{Outcome, Voucher};

use super::joint::Convoy;
use super::{CaseTurn, FundTurn, MoneyTurn, ProfileTurn, TransferTurn};
use crate::failure::Failure;
use crate::reply::Reply;

/// An account as it is shown, with the limits of the levels above it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AccountView {
    /// The account.
    pub account: Account,
    /// The three levels of limits.
    pub levels: Levels,
    /// Whether the order that it answers did anything; false for a question.
    pub changed: bool,
    /// As of when.
    pub as_of: Timestamp,
}

/// A balance as it is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BalanceView {
    /// The account's number.
    pub account: AccountNo,
    /// Its CVU.
    pub cvu: Cvu,
    /// What it has.
    pub balance: Balance,
    /// The movements so far.
    pub sequence: u64,
    /// When it last moved, up to `as_of`.
    pub last_movement_at: Option<Timestamp>,
    /// As of when.
    pub as_of: Timestamp,
}

/// The live state of an actor, for operators.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Observed {
    /// The account as the actor knows it.
    pub account: Account,
    /// Messages that wait.
    pub mailbox: usize,
    /// Commits that are not durable yet.
    pub pending_commits: usize,
    /// When it last took a message.
    pub active_at: Timestamp,
}

/// The versions of an account that `If-Match` lets pass: profile and movements.
pub type Versions = Vec<(u64, u64)>;

/// A hold with its account.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HoldView {
    /// The account.
    pub account: AccountNo,
    /// The hold.
    pub hold: Hold,
}

/// A transfer with the account that sends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TransferView {
    /// The account.
    pub account: AccountNo,
    /// The transfer.
    pub transfer: Transfer,
}

/// An enrolment in remuneration with its account.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EnrolmentView {
    /// The account.
    pub account: AccountNo,
    /// Its CVU.
    pub cvu: Option<Cvu>,
    /// The reference by which the bank knows the enrolment; empty when there is none.
    pub reference: String,
    /// The last enrolment.
    pub enrolment: Option<Enrolment>,
    /// Whether the order that it answers found it made before.
    pub again: bool,
}

/// What became of a notice of the bank.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Heard {
    /// It did something.
    Done,
    /// It had been heard before.
    Known,
    /// Money arrived that no account could take; it waits for a person.
    Suspended,
    /// It is about nothing of ours.
    Ignored,
}

/// What one posting of a batch gives.
pub type ItemOutcome = Result<Outcome<Placed>, Failure>;

/// Everything that an account's actor can be asked, by kind. Each kind lives beside what takes its turn.
#[derive(Debug, Message)]
#[rtype(result = "()")]
#[expect(
    clippy::large_enum_variant,
    reason = "messages are boxed by the mailbox"
)]
pub enum AccountMessage {
    /// Postings, holds, balances, quotes, and money that arrives.
    Money(MoneyTurn),
    /// Transfers through the bank.
    Transfer(TransferTurn),
    /// What a person decides, and what the ledger did not know.
    Case(CaseTurn),
    /// Who the account is.
    Profile(ProfileTurn),
    /// Remuneration.
    Fund(FundTurn),
    /// Lend the desk for an order that concerns several accounts, or decide it.
    Joint(Convoy),
    /// The live state.
    Observe(Reply<Observed>),
    /// Look whether something is due.
    Tick,
    /// Go away; only sent when idle.
    Passivate,
}

impl AccountMessage {
    /// Whether whoever asked has left, so that nothing is to be done. What the bank has said goes on
    /// without anybody, and so does what the actor was started for.
    pub(super) fn is_left(&self) -> bool {
        match self {
            Self::Money(turn) => turn.is_left(),
            Self::Transfer(turn) => turn.is_left(),
            Self::Case(turn) => turn.is_left(),
            Self::Profile(turn) => turn.is_left(),
            Self::Fund(turn) => turn.is_left(),
            Self::Joint(convoy) => convoy.order.is_left(),
            Self::Observe(reply) => reply.is_closed(),
            Self::Tick | Self::Passivate => false,
        }
    }
}

/// Lets whoever sends name the kind of a turn only.
macro_rules! kinds {
    ($($kind:ident: $turn:ty),* $(,)?) => {
        $(impl From<$turn> for AccountMessage {
            fn from(turn: $turn) -> Self {
                Self::$kind(turn)
            }
        })*
    };
}

kinds! {
    Money: MoneyTurn,
    Transfer: TransferTurn,
    Case: CaseTurn,
    Profile: ProfileTurn,
    Fund: FundTurn,
}

/// A voucher with its account.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Placed {
    /// The account.
    pub account: AccountNo,
    /// The voucher.
    pub voucher: Arc<Voucher>,
}
