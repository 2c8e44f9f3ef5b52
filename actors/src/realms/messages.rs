//! What a realm's supervisor can be asked, by kind, and the words that several kinds share.

use caudal_ledger::facts::BankCall;

use super::{
    ActorsMessage, CaseMessage, FundMessage, MoneyMessage, PostingMessage, ProfileMessage,
    TransferMessage, TypesMessage, WebhookMessage,
};

/// Everything that a supervisor can be asked, by kind. Each kind lives beside what routes it.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "messages are boxed by the mailbox"
)]
pub enum RealmMessage {
    /// Adjustments, one or many.
    Posting(PostingMessage),
    /// Holds, balances, quotes, and money that arrives.
    Money(MoneyMessage),
    /// Transfers, and what the bank says of them.
    Transfer(TransferMessage),
    /// Money in suspense, and what could not be booked.
    Case(CaseMessage),
    /// Remuneration.
    Fund(FundMessage),
    /// Who the accounts are.
    Profile(ProfileMessage),
    /// Voucher types.
    Types(TypesMessage),
    /// Webhooks.
    Webhook(WebhookMessage),
    /// The actors of the accounts, for operators.
    Actors(ActorsMessage),
    /// Calls to the bank that concern no account.
    Journal(Vec<BankCall>),
    /// The lane is eased: orders that wait for it can go on.
    Eased,
}

impl RealmMessage {
    /// Whether whoever asked has left, so that nothing is to be done. What the bank has said and
    /// what is done already goes on without anybody.
    pub fn is_left(&self) -> bool {
        match self {
            Self::Posting(message) => message.is_left(),
            Self::Money(message) => message.is_left(),
            Self::Transfer(message) => message.is_left(),
            Self::Case(message) => message.is_left(),
            Self::Fund(message) => message.is_left(),
            Self::Profile(message) => message.is_left(),
            Self::Types(message) => message.is_left(),
            Self::Webhook(message) => message.is_left(),
            Self::Actors(message) => message.is_left(),
            Self::Journal(_) | Self::Eased => false,
        }
    }

    /// Whether this is one of the orders that come in crowds and that the store has to write, so
    /// that it waits while the store has enough. What the bank says, what ends something that has
    /// begun, and what reads does not.
    pub const fn waits_for_store(&self) -> bool {
        match self {
            Self::Posting(message) => message.waits_for_store(),
            Self::Money(message) => message.waits_for_store(),
            Self::Transfer(message) => message.waits_for_store(),
            Self::Fund(message) => message.waits_for_store(),
            Self::Profile(message) => message.waits_for_store(),
            Self::Case(_)
            | Self::Types(_)
            | Self::Webhook(_)
            | Self::Actors(_)
            | Self::Journal(_)
            | Self::Eased => false,
        }
    }
}

/// Lets whoever sends name the kind of a message only.
macro_rules! kinds {
    ($($kind:ident: $message:ty),* $(,)?) => {
        $(impl From<$message> for RealmMessage {
            fn from(message: $message) -> Self {
                Self::$kind(message)
            }
        })*
    };
}

kinds! {
    Posting: PostingMessage,
    Money: MoneyMessage,
    Transfer: TransferMessage,
    Case: CaseMessage,
    Fund: FundMessage,
    Profile: ProfileMessage,
    Types: TypesMessage,
    Webhook: WebhookMessage,
    Actors: ActorsMessage,
}
