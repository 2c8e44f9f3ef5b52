//! What an account's actor can be asked, and what it answers with.

use std::sync::Arc;

use actix::Message;
use caudal_ledger::accounts::{Account, Order};
use caudal_ledger::balance::Balance;
use caudal_ledger::cvu::Cvu;
use caudal_ledger::facts::Registration;
use caudal_ledger::ids::AccountNo;
use caudal_ledger::limits::{Levels, Limits};
use caudal_ledger::tenants::{Mode, Policy};
use caudal_ledger::time::Timestamp;
use caudal_ledger::vouchers::{Outcome, PostAdjustment, Voucher};

use super::saga::BankSaid;
use crate::failure::Failure;
use crate::reply::Reply;
use crate::scribe::Ticket;

/// What a tenant has set, as one immutable value that travels with each order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Settings {
    /// The tenant's id.
    pub tenant: String,
    /// Live or test.
    pub mode: Mode,
    /// Its policy.
    pub policy: Policy,
    /// Its limits.
    pub psp: Limits,
    /// The platform's limits.
    pub platform: Limits,
}

/// An account as it is shown, with the limits of the levels above it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AccountView {
    /// The account.
    pub account: Account,
    /// The three levels of limits.
    pub levels: Levels,
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
    /// Become the account of this registration, and get a CVU if `opening` says so.
    Register {
        /// The registration.
        registration: Registration,
        /// The order to open it.
        opening: Option<Order>,
        /// The tenant's settings.
        settings: Arc<Settings>,
        /// Who asks.
        ticket: Ticket<AccountView>,
    },
    /// Change the profile.
    Change {
        /// The order.
        order: Order,
        /// The versions that the asker has seen; any when `None`.
        if_match: Option<Versions>,
        /// The tenant's settings.
        settings: Arc<Settings>,
        /// Who asks.
        ticket: Ticket<AccountView>,
    },
    /// Answer a key whose first request was cut off while the bank was asked.
    Adopt {
        /// The tenant's settings.
        settings: Arc<Settings>,
        /// Who asks.
        ticket: Ticket<AccountView>,
    },
    /// The account as it is.
    View(Arc<Settings>, Reply<Result<AccountView, Failure>>),
    /// The balance as it is.
    BalanceOf(Reply<Result<BalanceView, Failure>>),
    /// The balance as it was at the end of an instant.
    BalanceAt(Timestamp, Reply<Result<BalanceView, Failure>>),
    /// What the bank said.
    BankSaid(BankSaid),
    /// The live state.
    Observe(Reply<Observed>),
    /// Go away; only sent when idle.
    Passivate,
}

/// A voucher with its account.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Placed {
    /// The account.
    pub account: AccountNo,
    /// The voucher.
    pub voucher: Arc<Voucher>,
}
