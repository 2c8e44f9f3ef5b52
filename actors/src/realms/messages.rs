//! What a realm's supervisor can be asked, by kind, and the conversions into one message type.

use caudal_ledger::facts::BankCall;

use super::{
    ActorsMessage, CaseMessage, FundMessage, MoneyMessage, PostingMessage, ProfileMessage,
    TransferMessage, TypesMessage, WebhookMessage,
};
use crate::mailbox::Asked;
use crate::reply::Waits;

/// Everything that a supervisor can be asked, by kind. Each kind is defined beside the code that routes it.
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
    /// Transfers, and the bank's answers about them.
    Transfer(TransferMessage),
    /// Money in suspense, and reports that could not be booked.
    Case(CaseMessage),
    /// Enrolments of accounts in a fund, and the fund's answers about them.
    Fund(FundMessage),
    /// Who the accounts are.
    Profile(ProfileMessage),
    /// The kinds of vouchers that the realm's tenant has.
    Types(TypesMessage),
    /// Webhooks: orders about them, and tries.
    Webhook(WebhookMessage),
    /// The actors of the accounts, for operators.
    Actors(ActorsMessage),
    /// Calls to the bank that concern no account.
    Journal(Vec<BankCall>),
    /// Stop: messages that come later are not taken any more.
    Retire,
}

impl Asked for RealmMessage {
    fn asker(&mut self) -> Option<&mut dyn Waits> {
        match self {
            Self::Posting(message) => message.asker(),
            Self::Money(message) => message.asker(),
            Self::Transfer(message) => message.asker(),
            Self::Case(message) => message.asker(),
            Self::Fund(message) => message.asker(),
            Self::Profile(message) => message.asker(),
            Self::Types(message) => message.asker(),
            Self::Webhook(message) => message.asker(),
            Self::Actors(message) => message.asker(),
            Self::Journal(_) | Self::Retire => None,
        }
    }
}

/// Lets a sender name only the kind of its message.
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
