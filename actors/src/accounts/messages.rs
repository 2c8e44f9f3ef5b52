//! What an account's actor can be asked, by kind.

use actix::Message;

use super::joint::Convoy;
use super::{CaseTurn, FundTurn, MoneyTurn, Observed, ProfileTurn, TransferTurn};
use crate::reply::Reply;

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
