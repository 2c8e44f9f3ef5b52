//! What a realm's supervisor can be asked.

use caudal_ledger::accounts::Order;
use caudal_ledger::alias::Alias;
use caudal_ledger::cases::{Decision, Verdict};
use caudal_ledger::cvu::Cvu;
use caudal_ledger::facts::{BankCall, Registration};
use caudal_ledger::holds::{Hold, HoldStep, OpenHold};
use caudal_ledger::ids::{AccountNo, HoldId, TransferId};
use caudal_ledger::money::Amount;
use caudal_ledger::remuneration::Enrol;
use caudal_ledger::text::ExternalId;
use caudal_ledger::time::Timestamp;
use caudal_ledger::transfers::{BankTransfer, CashIn, Departure, Send, Transfer};
use caudal_ledger::voucher_types::{CreateVoucherType, TypeCode, VoucherType};
use caudal_ledger::vouchers::Outcome;
use caudal_ledger::webhooks::{Webhook, WebhookOrder};
use chrono::NaiveDate;

use super::Bulk;
use super::cases::CaseMessage;
use crate::accounts::enrolment::FundSaid;
use crate::accounts::{
    AccountView, BalanceView, BatchMode, EnrolmentView, Heard, HoldView, ItemOutcome, Observed,
    Placed, Quote, TransferView, Versions,
};
use crate::failure::Failure;
use crate::ports::webhooks::Sent;
use crate::reply::Reply;
use crate::scribe::Ticket;

/// How an order names its account.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Target {
    /// By its CVU.
    Cvu(Cvu),
    /// By its number in the realm.
    Account(AccountNo),
}

/// How an order names a voucher type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TypeRef {
    /// By its code.
    Code(TypeCode),
    /// By its numeric id.
    Legacy(u64),
}

/// An adjustment as it was asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Adjustment {
    /// The account.
    pub target: Target,
    /// The type.
    pub voucher_type: TypeRef,
    /// How much.
    pub amount: Amount,
    /// The tenant's own id.
    pub external_id: ExternalId,
    /// A line for people.
    pub description: Option<String>,
    /// The tenant's own date.
    pub external_date: Option<NaiveDate>,
    /// Only say what would happen.
    pub dry_run: bool,
}

/// How the actors of a realm are doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RealmReport {
    /// Actors that live.
    pub resident: usize,
    /// Messages that wait in their mailboxes.
    pub queued: usize,
    /// Commits that are not durable yet.
    pub in_flight: usize,
    /// Actors that wait for the bank.
    pub waiting_for_bank: usize,
    /// Actors that were started.
    pub starts: u64,
    /// Actors that were replaced after a panic or a failed commit.
    pub restarts: u64,
    /// Actors that were passivated.
    pub passivations: u64,
    /// Whether the bank's list was looked through for this start, so that orders leave.
    pub looked: bool,
}

/// Everything that a supervisor can be asked.
#[derive(Debug)]
pub enum RealmMessage {
    /// Post an adjustment.
    Post(Adjustment, Ticket<Outcome<Placed>>),
    /// Post many adjustments, each for itself, or all of them or nothing.
    Batch {
        /// The adjustments.
        items: Vec<Adjustment>,
        /// How.
        mode: BatchMode,
        /// Who asks.
        ticket: Ticket<Vec<ItemOutcome>>,
    },
    /// The rest of a batch that is on its way.
    BatchMore(Bulk),
    /// The outcomes of a batch whose key keeps its answer.
    BatchDone(Vec<ItemOutcome>, Ticket<Vec<ItemOutcome>>),
    /// Open a hold.
    OpenHold {
        /// The account.
        target: Target,
        /// The order.
        order: OpenHold,
        /// Only say what would happen.
        dry_run: bool,
        /// Who asks.
        ticket: Ticket<Outcome<HoldView>>,
    },
    /// Confirm or release a hold.
    StepHold {
        /// The hold.
        id: HoldId,
        /// What to do.
        step: HoldStep,
        /// How much; the rest when `None`.
        amount: Option<Amount>,
        /// Only say what would happen.
        dry_run: bool,
        /// Who asks.
        ticket: Ticket<HoldView>,
    },
    /// An open hold as it is.
    HoldOf(HoldId, Reply<Result<Option<Hold>, Failure>>),
    /// Transfer, inside the realm or through the bank.
    Transfer {
        /// The account that sends.
        from: Target,
        /// The order.
        order: Send,
        /// Only say what would happen.
        dry_run: bool,
        /// Who asks.
        ticket: Ticket<Outcome<TransferView>>,
    },
    /// A transfer that waits for the bank, as it is.
    TransferOf(TransferId, Reply<Result<Option<Transfer>, Failure>>),
    /// What the bank's notice says about a transfer.
    TransferNotice {
        /// The account that sent.
        account: AccountNo,
        /// The transfer.
        transfer: u64,
        /// What it says.
        said: BankTransfer,
        /// Who asks.
        ticket: Ticket<Heard>,
    },
    /// A transfer came back.
    Reverse {
        /// The account that sent.
        account: AccountNo,
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
    /// Something about money in suspense.
    Case(CaseMessage),
    /// Money arrived from the bank.
    CashIn(CashIn, Ticket<Heard>),
    /// What a movement would cost.
    Quote(Target, TypeCode, Amount, Reply<Result<Quote, Failure>>),
    /// Enrol an account in remuneration.
    Enrol(Target, Enrol, Ticket<EnrolmentView>),
    /// The last enrolment of an account.
    EnrolmentOf(Target, Reply<Result<EnrolmentView, Failure>>),
    /// What the fund said when somebody wanted to know.
    FundTold(AccountNo, FundSaid, Reply<Result<EnrolmentView, Failure>>),
    /// Calls to the bank that concern no account.
    Journal(Vec<BankCall>),
    /// Register an account (its number is given here), and open it where asked.
    Register {
        /// The registration; its number is ignored.
        registration: Registration,
        /// Whether it gets a CVU at once.
        open: bool,
        /// The alias asked for.
        alias: Option<Alias>,
        /// Who asks.
        ticket: Ticket<AccountView>,
    },
    /// Change the profile of an account.
    Change {
        /// The account.
        target: Target,
        /// The order.
        order: Order,
        /// The versions that the asker has seen.
        if_match: Option<Versions>,
        /// Who asks.
        ticket: Ticket<AccountView>,
    },
    /// The account as it is.
    View(Target, Reply<Result<AccountView, Failure>>),
    /// The balance as it is.
    BalanceOf(Target, Reply<Result<BalanceView, Failure>>),
    /// The balance as it was.
    BalanceAt(Target, Timestamp, Reply<Result<BalanceView, Failure>>),
    /// All voucher types.
    Types(Reply<Result<Vec<VoucherType>, Failure>>),
    /// Create a voucher type.
    CreateType(CreateVoucherType, Ticket<VoucherType>),
    /// Switch a voucher type on or off.
    ToggleType(TypeCode, bool, Ticket<VoucherType>),
    /// Remove a voucher type.
    RemoveType(TypeCode, Ticket<VoucherType>),
    /// An order about a webhook: its number (0 for a new one), what, who asks.
    Webhook(u64, WebhookOrder, Ticket<Webhook>),
    /// Send something to a webhook now, outside the order of events.
    TryWebhook(u64, String, Ticket<Sent>),
    /// The live state of an account's actor; `None` when it is not resident.
    Observe(Target, Reply<Result<Option<Observed>, Failure>>),
    /// Send an account's actor away if it is idle; answers whether it is gone.
    Passivate(Target, Reply<Result<bool, Failure>>),
    /// How the actors are doing.
    Report(Reply<RealmReport>),
    /// The lane is eased: orders that wait for it can go on.
    Eased,
}

impl RealmMessage {
    /// Whether whoever asked has left, so that nothing is to be done. What the bank has said and
    /// what is done already goes on without anybody.
    pub fn is_left(&self) -> bool {
        match self {
            Self::Post(_, ticket) => ticket.is_left(),
            Self::Batch { ticket, .. } => ticket.is_left(),
            Self::BatchMore(bulk) => bulk.is_left(),
            Self::OpenHold { ticket, .. } => ticket.is_left(),
            Self::StepHold { ticket, .. } => ticket.is_left(),
            Self::Transfer { ticket, .. } => ticket.is_left(),
            Self::DecideTransfer { ticket, .. } => ticket.is_left(),
            Self::Enrol(_, _, ticket) => ticket.is_left(),
            Self::Register { ticket, .. } | Self::Change { ticket, .. } => ticket.is_left(),
            Self::CreateType(_, ticket)
            | Self::ToggleType(_, _, ticket)
            | Self::RemoveType(_, ticket) => ticket.is_left(),
            Self::Webhook(_, _, ticket) => ticket.is_left(),
            Self::TryWebhook(_, _, ticket) => ticket.is_left(),
            Self::HoldOf(_, reply) => reply.is_closed(),
            Self::TransferOf(_, reply) => reply.is_closed(),
            Self::Quote(_, _, _, reply) => reply.is_closed(),
            Self::EnrolmentOf(_, reply) => reply.is_closed(),
            Self::View(_, reply) => reply.is_closed(),
            Self::BalanceOf(_, reply) | Self::BalanceAt(_, _, reply) => reply.is_closed(),
            Self::Types(reply) => reply.is_closed(),
            Self::Observe(_, reply) => reply.is_closed(),
            Self::Passivate(_, reply) => reply.is_closed(),
            Self::Report(reply) => reply.is_closed(),
            Self::Case(message) => message.is_left(),
            Self::BatchDone(..)
            | Self::TransferNotice { .. }
            | Self::Reverse { .. }
            | Self::Left(..)
            | Self::CashIn(..)
            | Self::FundTold(..)
            | Self::Journal(_)
            | Self::Eased => false,
        }
    }

    /// Whether this is one of the orders that come in crowds and that the store has to write, so
    /// that it waits while the store has enough. What the bank says, what ends something that has
    /// begun, and what reads does not.
    pub const fn waits_for_store(&self) -> bool {
        match self {
            Self::Post(..)
            | Self::Batch { .. }
            | Self::BatchMore(_)
            | Self::OpenHold { .. }
            | Self::StepHold { .. }
            | Self::Transfer { .. }
            | Self::Enrol(..)
            | Self::Register { .. }
            | Self::Change { .. } => true,
            Self::BatchDone(..)
            | Self::HoldOf(..)
            | Self::TransferOf(..)
            | Self::TransferNotice { .. }
            | Self::Reverse { .. }
            | Self::DecideTransfer { .. }
            | Self::Left(..)
            | Self::Case(_)
            | Self::CashIn(..)
            | Self::Quote(..)
            | Self::EnrolmentOf(..)
            | Self::FundTold(..)
            | Self::Journal(_)
            | Self::View(..)
            | Self::BalanceOf(..)
            | Self::BalanceAt(..)
            | Self::Types(_)
            | Self::CreateType(..)
            | Self::ToggleType(..)
            | Self::RemoveType(..)
            | Self::Webhook(..)
            | Self::TryWebhook(..)
            | Self::Observe(..)
            | Self::Passivate(..)
            | Self::Report(_)
            | Self::Eased => false,
        }
    }
}
