//! What an account's actor can be asked, and what it answers with.

use std::sync::Arc;

use actix::Message;
use caudal_ledger::accounts::Account;
use caudal_ledger::balance::{Balance, Direction};
use caudal_ledger::cvu::Cvu;
use caudal_ledger::fees::{Charges, FeeRule};
use caudal_ledger::holds::Hold;
use caudal_ledger::ids::AccountNo;
use caudal_ledger::limits::{Level, Levels};
use caudal_ledger::money::{Amount, Money};
use caudal_ledger::remuneration::Enrolment;
use caudal_ledger::time::Timestamp;
use caudal_ledger::transfers::Transfer;
use caudal_ledger::voucher_types::VoucherType;
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

/// What a movement would cost.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Quote {
    /// The CVU.
    pub cvu: Cvu,
    /// The type.
    pub voucher_type: VoucherType,
    /// The amount.
    pub amount: Amount,
    /// The entry of the schedule.
    pub rule: Option<FeeRule>,
    /// The level that has it.
    pub source: Level,
    /// Fee and tax.
    pub charges: Charges,
    /// What is available.
    pub available: Money,
    /// As of when.
    pub as_of: Timestamp,
}

impl Quote {
    /// Fee and tax; `None`, here and below, where a sum leaves the range of money.
    pub fn total_charges(&self) -> Option<Money> {
        self.charges.total()
    }

    /// What the movement comes to: a credit less its charges, anything else with them.
    pub fn net_amount(&self) -> Option<Money> {
        let (amount, charges) = (self.amount.money(), self.charges.total()?);
        match self.voucher_type.sense {
            Direction::Credit => amount.minus(charges),
            Direction::Debit | Direction::Hold | Direction::Release | Direction::ConfirmHold => {
                amount.plus(charges)
            }
        }
    }

    /// Whether the account could bear it now: what comes in may pay for its own charges, and what
    /// will leave by a hold has to be there to be held.
    pub fn sufficient(&self) -> Option<bool> {
        let (amount, charges) = (self.amount.money(), self.charges.total()?);
        let (has, needs) = match self.voucher_type.sense {
            Direction::Credit | Direction::Release => (self.available.plus(amount)?, charges),
            Direction::Debit | Direction::Hold | Direction::ConfirmHold => {
                (self.available, amount.plus(charges)?)
            }
        };
        Some(needs <= has)
    }
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
