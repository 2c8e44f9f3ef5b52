//! What an account's actor can be asked, and what it answers with.

use std::sync::Arc;

use actix::Message;
use caudal_ledger::accounts::{Account, Order};
use caudal_ledger::balance::{Balance, Direction};
use caudal_ledger::cases::{Decision, Parked, Verdict};
use caudal_ledger::cvu::Cvu;
use caudal_ledger::facts::Registration;
use caudal_ledger::fees::{Charges, FeeRule};
use caudal_ledger::holds::{Hold, HoldStep, OpenHold};
use caudal_ledger::ids::{AccountNo, HoldId, TransferId};
use caudal_ledger::limits::{Level, Levels};
use caudal_ledger::money::{Amount, Money};
use caudal_ledger::remuneration::{Enrol, Enrolment};
use caudal_ledger::time::Timestamp;
use caudal_ledger::transfers::{BankTransfer, CashIn, Departure, Send, Transfer};
use caudal_ledger::voucher_types::VoucherType;
use caudal_ledger::vouchers::{Outcome, PostAdjustment, Voucher};
use tokio::sync::oneshot;

use super::batch::Share;
use super::enrolment::FundSaid;
use super::joint::Convoy;
use super::remittance::{Errand, TransferSaid};
use super::saga::BankSaid;
use crate::failure::Failure;
use crate::reply::{ClaimGuard, Reply};
use crate::scribe::Ticket;

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

/// Everything that an account's actor can be asked.
#[derive(Debug, Message)]
#[rtype(result = "()")]
#[expect(
    clippy::large_enum_variant,
    reason = "messages are boxed by the mailbox"
)]
pub enum AccountMessage {
    /// Post an adjustment, or say what would happen.
    Post {
        /// The order.
        order: PostAdjustment,
        /// Only say what would happen.
        dry_run: bool,
        /// Who asks.
        ticket: Ticket<Outcome<Placed>>,
    },
    /// Post the adjustments of a batch that are this account's, each for itself.
    PostMany(Share),
    /// Open a hold, or say what would happen.
    OpenHold {
        /// The order.
        order: OpenHold,
        /// Only say what would happen.
        dry_run: bool,
        /// Who asks.
        ticket: Ticket<Outcome<HoldView>>,
    },
    /// Confirm or release a hold, in part or the rest.
    StepHold {
        /// The hold.
        hold: HoldId,
        /// What to do.
        step: HoldStep,
        /// How much; the rest when `None`.
        amount: Option<Amount>,
        /// Only say what would happen.
        dry_run: bool,
        /// Who asks.
        ticket: Ticket<HoldView>,
    },
    /// Ask the bank for a transfer, or say what would happen.
    Send {
        /// The order.
        order: Send,
        /// Only say what would happen.
        dry_run: bool,
        /// Who asks.
        ticket: Ticket<Outcome<TransferView>>,
    },
    /// Lend the desk for an order that concerns several accounts, or decide it.
    Joint(Convoy),
    /// What to ask the bank about a transfer next; `None` once it is not open any more.
    TransferNext(u64, oneshot::Sender<Option<Errand>>),
    /// What the bank said about a transfer.
    TransferSaid(TransferSaid),
    /// What the bank's notice says about a transfer.
    TransferNotice {
        /// The transfer.
        transfer: u64,
        /// What it says.
        said: BankTransfer,
        /// Who asks.
        ticket: Ticket<Heard>,
    },
    /// A transfer came back.
    Reverse {
        /// The transfer.
        transfer: u64,
        /// How much.
        amount: Amount,
        /// The id of the reversal on the rail.
        coelsa_id: String,
        /// Who asks.
        ticket: Ticket<Heard>,
    },
    /// A person decides about a transfer that waits for the bank.
    DecideTransfer {
        /// The transfer.
        transfer: TransferId,
        /// What, and whether they insist though the bank has not given up.
        verdict: (Verdict, bool),
        /// By whom and why.
        decision: Box<Decision>,
        /// Who asks.
        ticket: Ticket<TransferView>,
    },
    /// Money left by an order that the ledger does not know.
    Left(Departure, Ticket<Heard>),
    /// Credit money in suspense: a person says that it is this account's.
    Credit(Box<Parked>, Box<Decision>, Ticket<Parked>),
    /// Money arrived from the bank.
    CashIn(CashIn, Ticket<Heard>),
    /// What a movement would cost.
    Quote(VoucherType, Amount, Reply<Result<Quote, Failure>>),
    /// An open hold as it is; `None` when it is not open.
    HoldOf(u64, Reply<Result<Option<Hold>, Failure>>),
    /// An open transfer as it is; `None` when it is not open.
    TransferOf(u64, Reply<Result<Option<Transfer>, Failure>>),
    /// Enrol the account in remuneration.
    Enrol(Enrol, Ticket<EnrolmentView>),
    /// Answer a key whose first request to enrol was cut off while the bank was asked.
    AdoptEnrolment(Enrol, Ticket<EnrolmentView>),
    /// What the fund said of an enrolment that waits; answers whether it still waits.
    FundSaid(FundSaid, oneshot::Sender<bool>),
    /// What the fund said when somebody wanted to know.
    FundTold(FundSaid, Reply<Result<EnrolmentView, Failure>>),
    /// The last enrolment as it is.
    EnrolmentOf(Reply<Result<EnrolmentView, Failure>>),
    /// Look whether something is due.
    Tick,
    /// Become the account of this registration, and get a CVU if `opening` says so.
    Register {
        /// The registration.
        registration: Registration,
        /// The order to open it.
        opening: Option<Order>,
        /// Who asks.
        ticket: Ticket<AccountView>,
    },
    /// Change the profile.
    Change {
        /// The order.
        order: Order,
        /// The versions that the asker has seen; any when `None`.
        if_match: Option<Versions>,
        /// Who asks.
        ticket: Ticket<AccountView>,
    },
    /// Answer a key whose first request was cut off while the bank was asked.
    Adopt(Ticket<AccountView>),
    /// The account as it is.
    View(Reply<Result<AccountView, Failure>>),
    /// The balance as it is.
    BalanceOf(Reply<Result<BalanceView, Failure>>),
    /// The balance as it was at the end of an instant.
    BalanceAt(Timestamp, Reply<Result<BalanceView, Failure>>),
    /// What the bank said, with the claim of the client id under which it was asked.
    BankSaid(BankSaid, Option<ClaimGuard>),
    /// The live state.
    Observe(Reply<Observed>),
    /// Go away; only sent when idle.
    Passivate,
}

impl AccountMessage {
    /// Whether whoever asked has left, so that nothing is to be done. What the bank has said goes on
    /// without anybody, and so does what the actor was started for.
    pub(super) fn is_left(&self) -> bool {
        match self {
            Self::Post { ticket, .. } => ticket.is_left(),
            Self::PostMany(share) => share.gather.is_left(),
            Self::OpenHold { ticket, .. } => ticket.is_left(),
            Self::StepHold { ticket, .. } => ticket.is_left(),
            Self::Send { ticket, .. } => ticket.is_left(),
            Self::Joint(convoy) => convoy.order.is_left(),
            Self::DecideTransfer { ticket, .. } => ticket.is_left(),
            Self::Credit(_, _, ticket) => ticket.is_left(),
            Self::Enrol(_, ticket) | Self::AdoptEnrolment(_, ticket) => ticket.is_left(),
            Self::Change { ticket, .. } | Self::Adopt(ticket) => ticket.is_left(),
            Self::Quote(_, _, reply) => reply.is_closed(),
            Self::HoldOf(_, reply) => reply.is_closed(),
            Self::TransferOf(_, reply) => reply.is_closed(),
            Self::EnrolmentOf(reply) => reply.is_closed(),
            Self::View(reply) => reply.is_closed(),
            Self::BalanceOf(reply) | Self::BalanceAt(_, reply) => reply.is_closed(),
            Self::Observe(reply) => reply.is_closed(),
            Self::Register { .. }
            | Self::TransferNext(..)
            | Self::TransferSaid(_)
            | Self::TransferNotice { .. }
            | Self::Reverse { .. }
            | Self::Left(..)
            | Self::CashIn(..)
            | Self::FundSaid(..)
            | Self::FundTold(..)
            | Self::BankSaid(..)
            | Self::Tick
            | Self::Passivate => false,
        }
    }
}

/// A voucher with its account.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Placed {
    /// The account.
    pub account: AccountNo,
    /// The voucher.
    pub voucher: Arc<Voucher>,
}
