//! What an account's actor can be asked, by kind.

use actix::Message;

use super::joint::Convoy;
use super::{CaseTurn, FundTurn, MoneyTurn, Observed, ProfileTurn, TransferTurn};
use crate::failure::Failure;
use crate::mailbox::Asked;
use crate::reply::{Reply, Waits};

/// Everything that an account's actor can be asked, by kind. Each kind is defined beside the code that takes its turn.
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
    /// A person's decisions, and money that left by orders unknown to the ledger.
    Case(CaseTurn),
    /// Who the account is.
    Profile(ProfileTurn),
    /// Remuneration of its balance by a fund.
    Fund(FundTurn),
    /// Lend the desk for an order that concerns several accounts, or decide it.
    Joint(Convoy),
    /// Show the live state, for operators.
    Observe(Reply<Result<Option<Observed>, Failure>>),
    /// Check whether a hold has expired, as every turn does first.
    Tick,
    /// Leave the account as one row and stop; only sent to an idle actor.
    Passivate,
}

impl Asked for AccountMessage {
    fn asker(&mut self) -> Option<&mut dyn Waits> {
        match self {
            Self::Money(turn) => turn.asker(),
            Self::Transfer(turn) => turn.asker(),
            Self::Case(turn) => turn.asker(),
            Self::Profile(turn) => turn.asker(),
            Self::Fund(turn) => turn.asker(),
            Self::Joint(convoy) => convoy.order.asker(),
            Self::Observe(reply) => Some(reply),
            Self::Tick | Self::Passivate => None,
        }
    }
}

/// Lets a sender name only the kind of its turn.
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
