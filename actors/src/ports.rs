//! The actors' ports to the outside: a bank and a clock. The real implementations are in `src`.

pub mod fake_bank;
mod notices;
pub mod seals;
mod time;
pub mod webhooks;

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use caudal_ledger::accounts::Holder;
use caudal_ledger::alias::Alias;
use caudal_ledger::cases::{SuspensePlace, UnreadableLine};
use caudal_ledger::chain::Digest;
use caudal_ledger::collector::CollectorMovement;
use caudal_ledger::cuit::Cuit;
use caudal_ledger::cvu::{Cbu, Cvu};
use caudal_ledger::facts::{BankCall, BankRefusal};
use caudal_ledger::ids::{OriginId, RealmId};
use caudal_ledger::money::{Amount, Money};
use caudal_ledger::remuneration::{BrokerageAccount, FundPosition, FundWord};
use caudal_ledger::time::{BusinessDay, Timestamp};
use caudal_ledger::transfers::{
    BankTransfer, BankWord, Concept, Counterparty, Departure, Destination, RejectionCode,
    TransferRejection,
};

pub use notices::{RawNotice, UnreadNotice};
pub use time::{Clock, ClockDoubt, DoubtCause, KnownTimes};

/// How a bank operation ended when it did not succeed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BankError {
    /// The bank refused: nothing happened there. Final.
    Refused(BankRefusal),
    /// The bank failed (5xx, garbage, connection lost after sending): nobody knows whether it happened. Ask again with
    /// the same reference.
    Failed {
        /// The HTTP status of the bank, when there was one.
        status: Option<u16>,
        /// Its body, cut at a limit.
        body: String,
    },
    /// The bank did not answer in time: nobody knows. Ask again with the same reference.
    TimedOut,
}

/// The result of a bank operation, and every call that was made for it (for the journal).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BankReply<T> {
    /// The result, or how the operation failed.
    pub result: Result<T, BankError>,
    /// The calls, oldest first: redacted request, status, body, latency.
    pub calls: Vec<BankCall>,
}

impl<T> BankReply<T> {
    /// A result for which no bank was called.
    pub const fn without_call(result: Result<T, BankError>) -> Self {
        let calls = Vec::new();
        Self { result, calls }
    }
}

/// A future that runs on one thread, as actors' futures do.
pub type LocalFuture<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// A bank operation under way.
pub type BankFuture<'a, T> = LocalFuture<'a, BankReply<T>>;

/// A bank operation whose result is known without a call.
pub fn known<'a, T: 'a>(result: Result<T, BankError>) -> BankFuture<'a, T> {
    Box::pin(std::future::ready(BankReply::without_call(result)))
}

/// The service's own refusal in place of the bank's; `body` is JSON text.
pub fn own_refusal(body: &str) -> BankRefusal {
    BankRefusal {
        status: 0,
        body: body.to_owned(),
    }
}

/// A transfer as it is ordered at the bank.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TransferOrder {
    /// Our reference: the bank never makes two transfers of one.
    pub origin: OriginId,
    /// The sending CVU.
    pub from: Cvu,
    /// The tax id of the holder of that CVU.
    pub cuit: Cuit,
    /// The destination: a CBU, CVU or alias.
    pub to: Destination,
    /// The amount, in centavos, without our charges.
    pub amount: Amount,
    /// What the money is for.
    pub concept: Concept,
    /// A line for people; the bank takes at most 100 characters.
    pub description: Option<String>,
}

/// A return of money to its sender, as it is ordered at the bank. It leaves the collector account itself, so it belongs
/// to no CVU.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReturnOrder {
    /// Our reference: the bank never makes two transfers of one.
    pub origin: OriginId,
    /// The sender's CBU or CVU, which receives the return.
    pub to: Cbu,
    /// The whole amount that arrived, in centavos.
    pub amount: Amount,
    /// The id on the rail of the money that is returned.
    pub returns: String,
}

/// What a sandbox is to do as if it had happened at the bank.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Simulation {
    /// Its name at the sandbox, with the id of what it is about.
    pub path: Vec<String>,
    /// The order as JSON text.
    pub order: String,
}

/// An enrolment in remuneration as it is ordered at the bank.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EnrolmentOrder {
    /// Our reference: the bank never makes two enrolments of one.
    pub reference: String,
    /// The CVU whose balance is remunerated.
    pub cvu: Cvu,
    /// The tax id of the holder of that CVU.
    pub cuit: Cuit,
    /// The holder's account at the broker.
    pub brokerage_account: BrokerageAccount,
    /// The fund; the bank's own choice when `None`.
    pub fund: Option<String>,
}

/// The state of an enrolment, and its position in the fund.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FundReport {
    /// The state.
    pub word: FundWord,
    /// The position; `None` while it has none.
    pub position: Option<FundPosition>,
}

/// The holder behind a CBU, CVU or alias.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KeyHolder {
    /// The CBU or CVU, as the bank gives it.
    pub key: Cbu,
    /// The alias of that account, if the bank gives it.
    pub alias: Option<String>,
    /// Its holders, the first one first: CUIT, name, whether a natural person.
    pub holders: Vec<(Cuit, String, bool)>,
    /// The code and name of its bank or PSP.
    pub bank: (String, String),
    /// The currency of the account, as the bank writes it.
    pub currency: String,
    /// Whether it can receive.
    pub active: bool,
}

impl From<KeyHolder> for Counterparty {
    /// The first holder, with key, alias and bank.
    fn from(found: KeyHolder) -> Self {
        let filled = |text: String| Some(text).filter(|text| !text.is_empty());
        let (cuit, name) = match found.holders.into_iter().next() {
            Some((cuit, name, _)) => (Some(cuit.to_string()), filled(name)),
            None => (None, None),
        };
        Self {
            cuit,
            name,
            cbu: Some(found.key.to_string()),
            alias: found.alias,
            bank: filled(found.bank.1),
            ..Self::default()
        }
    }
}

/// The account that really holds the clients' money.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Collector {
    /// The CBU of the account; empty where there is none.
    pub cbu: String,
    /// The name of its bank.
    pub bank: String,
}

/// Which way a movement at the bank went.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MovementWay {
    /// The money arrived on a CVU of ours.
    In,
    /// The money left a CVU of ours.
    Out,
}

/// A movement of a CVU as the bank lists it, for reconciliation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BankMovement {
    /// The bank's own id.
    pub bank_id: String,
    /// The id on the rail.
    pub coelsa_id: Option<String>,
    /// Our reference, for transfers that we sent; for a reversal, the reference of the transfer that came back.
    pub origin: Option<OriginId>,
    /// Whether it is the reversal of a transfer of ours.
    pub reversal: bool,
    /// Whether the money arrived or left.
    pub way: MovementWay,
    /// The CVU, as the bank writes it.
    pub cvu: String,
    /// The other side, as far as the bank reports it.
    pub counterparty: Counterparty,
    /// The amount, in centavos.
    pub amount: Amount,
    /// The state of the movement.
    pub word: BankWord,
    /// The time of the movement, by the bank's clock.
    pub at: Timestamp,
}

/// The bank's list of a business day.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DayList {
    /// Every movement that can be read, both ways.
    pub movements: Vec<BankMovement>,
    /// The lines that cannot be read in a field that decides.
    pub unreadable: Vec<UnreadableLine>,
}

/// The bank's statement of a collector account for a business day.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CollectorStatement {
    /// The bank's balance before the first movement of the day; `None` when the bank has neither an earlier movement
    /// nor one of the day.
    pub opening: Option<Money>,
    /// The bank's balance after the last movement of the day; that of the opening on a day without one.
    pub closing: Option<Money>,
    /// Every movement that can be read, in the bank's order.
    pub movements: Vec<CollectorMovement>,
    /// The lines that cannot be read in a field that decides.
    pub unreadable: Vec<UnreadableLine>,
    /// The digest of the bank's answers as they were received: the SHA-256 of the SHA-256 of each, in their order.
    pub digest: Digest,
}

/// A notice of the bank. It may come late, twice, in any order or never, so it is a hint, and takes effect only once,
/// by its ids.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Notice {
    /// Money arrived on a CVU.
    Received {
        /// The id on the rail: the same money never has two.
        coelsa_id: String,
        /// The bank's own id of it.
        bank_id: String,
        /// The receiving CVU.
        cvu: Cvu,
        /// The amount that arrived, in centavos.
        amount: Amount,
        /// The sender, as far as the bank knows.
        from: Counterparty,
        /// When the bank wrote the notice.
        at: Timestamp,
    },
    /// A transfer of ours ended.
    Settled {
        /// Our reference of the transfer.
        origin: OriginId,
        /// How it ended: completed or failed.
        transfer: BankTransfer,
    },
    /// A transfer of ours that had left came back.
    Reversed {
        /// Our reference of the transfer that came back.
        origin: OriginId,
        /// The bank's own id of the transfer that had left.
        bank_id: String,
        /// The id on the rail of the reversal.
        coelsa_id: String,
        /// The amount that came back, in centavos.
        amount: Amount,
        /// The reason, in the bank's words.
        reason: String,
    },
    /// Money left a CVU of ours by an order that the ledger does not know. Only the bank's list shows this.
    Left(Departure),
    /// The bank has a return of money in suspense that the ledger does not remember ordering. Only its
    /// list shows this.
    Returned {
        /// The realm of the money.
        realm: RealmId,
        /// The place of the money's record.
        case: SuspensePlace,
        /// The number of the try to return it, from 1.
        attempt: u32,
    },
    /// A line of the bank's list cannot be read. Only its list shows this.
    Unreadable {
        /// The realm that keeps the case.
        realm: RealmId,
        /// The line.
        line: Box<UnreadableLine>,
    },
    /// The bank has registered the address for notices.
    Created,
    /// A notice about nothing that the service needs.
    Other {
        /// The bank's name for it.
        kind: String,
    },
}

/// The operations of the sponsor bank that the service uses. Every operation is idempotent by its reference, so asking
/// again after a timeout or crash is always safe. Implementations put a deadline on each operation, retry safe calls
/// within it, and never follow redirects.
pub trait BankGateway: Send + Sync + fmt::Debug + 'static {
    /// The collector account, as the gateway is configured; the bank is not called.
    fn collector(&self) -> Collector;

    /// The identity of the collector account among all accounts at any bank: two gateways with the same value move the
    /// money of one account. The bank is not called.
    fn place(&self) -> String {
        self.collector().cbu
    }

    /// Whether this bank sent a notice, and did so recently by one of the notice's clocks. A bank without anything that
    /// proves it, such as a secret, has sent none.
    fn verify(&self, _: &RawNotice<'_>) -> bool {
        false
    }

    /// Reads a notice that [`Self::verify`] accepted. `now` is its time if it states none.
    ///
    /// # Errors
    /// When it is no notice, or a member that decides is invalid.
    fn read_notice(&self, _: &RawNotice<'_>, _: Timestamp) -> Result<Notice, UnreadNotice> {
        Err(UnreadNotice("this bank sends no notices".to_owned()))
    }

    /// The client id in a CVU of this bank; `None` if its CVUs carry none. It names no realm: the index knows which realm
    /// has a CVU.
    fn client_in(&self, _: &Cvu) -> Option<u64> {
        None
    }

    /// Creates the CVU of a client id, or returns the existing one. `request_id` is passed along for tracing.
    fn create_cvu<'a>(
        &'a self,
        client_id: u64,
        holder: &'a Holder,
        request_id: &'a str,
    ) -> BankFuture<'a, Cvu>;

    /// Whether a refusal to create a CVU means that the client id belongs to somebody else at the bank.
    fn is_taken(&self, _: &BankRefusal) -> bool {
        false
    }

    /// What it means that this bank rejected a transfer or a return, by its answer or its words.
    fn rejection_code(&self, _: &TransferRejection) -> RejectionCode {
        RejectionCode::Other
    }

    /// Sets the alias of a CVU; with none, the bank assigns one. Returns the resulting alias.
    /// Setting the alias that the CVU already has is a success.
    fn set_alias<'a>(
        &'a self,
        cvu: Cvu,
        cuit: Cuit,
        alias: Option<&'a Alias>,
        request_id: &'a str,
    ) -> BankFuture<'a, Alias>;

    /// Sets the holder's name.
    fn rename<'a>(&'a self, cvu: Cvu, name: &'a str, request_id: &'a str) -> BankFuture<'a, ()>;

    /// Closes a CVU; closing a closed one is a success.
    fn close<'a>(&'a self, cvu: Cvu, cuit: Cuit, request_id: &'a str) -> BankFuture<'a, ()>;

    /// Sends a transfer, or returns the one that the reference has made before. A refusal means that there is no such
    /// transfer and will be none.
    fn transfer<'a>(
        &'a self,
        order: &'a TransferOrder,
        request_id: &'a str,
    ) -> BankFuture<'a, BankTransfer>;

    /// Returns money from the collector account, or gives the return that the reference has made before;
    /// [`Self::transfer_status`] and [`Self::movements`] know it like any transfer. A refusal means that there is no
    /// such return and will be none; a bank without this operation always refuses.
    fn give_back<'a>(&'a self, _: &'a ReturnOrder, _: &'a str) -> BankFuture<'a, BankTransfer> {
        let body = r#"{"message":"the bank sends nothing from the collector account"}"#;
        known(Err(BankError::Refused(own_refusal(body))))
    }

    /// Asks for the state of a transfer. `Ok(None)`: the bank does not know it (yet).
    fn transfer_status<'a>(
        &'a self,
        origin: OriginId,
        request_id: &'a str,
    ) -> BankFuture<'a, Option<BankTransfer>>;

    /// Lists every movement of a business day, both ways, and every line that cannot be read.
    fn movements<'a>(&'a self, day: BusinessDay, request_id: &'a str) -> BankFuture<'a, DayList>;

    /// Reads the statement of the collector account for a business day: every movement, also those of no CVU, between
    /// the bank's own balances. `ongoing` says that the day is not over, so that it closes with the present balance. A
    /// bank without statements returns an empty one.
    fn statement<'a>(
        &'a self,
        _: BusinessDay,
        _: bool,
        _: &'a str,
    ) -> BankFuture<'a, CollectorStatement> {
        known(Ok(CollectorStatement::default()))
    }

    /// Looks up the holder behind a CBU, CVU or alias.
    fn lookup<'a>(
        &'a self,
        whom: &'a Destination,
        request_id: &'a str,
    ) -> BankFuture<'a, KeyHolder>;

    /// The balance of the collector account, and when the bank read it. `asking` is called at the moment at which the
    /// bank is asked, and again before each further attempt: the answer belongs to the last call before it.
    fn balance<'a>(
        &'a self,
        asking: &'a dyn Fn(),
        request_id: &'a str,
    ) -> BankFuture<'a, (Money, Timestamp)>;

    /// Enrols an account in remuneration, or returns the state of the enrolment that the reference has made before. A
    /// refusal means that there is no such enrolment and will be none; a bank without a fund always refuses.
    fn enrol<'a>(&'a self, _: &'a EnrolmentOrder, _: &'a str) -> BankFuture<'a, FundWord> {
        let body = r#"{"message":"the bank has no fund"}"#;
        known(Err(BankError::Refused(own_refusal(body))))
    }

    /// Has a sandbox do something, for this collector account alone. A bank that is no sandbox does not understand it.
    fn simulate<'a>(&'a self, _: &'a Simulation, _: &'a str) -> BankFuture<'a, ()> {
        known(Err(BankError::Failed {
            status: None,
            body: r#"{"message":"this bank is no sandbox"}"#.to_owned(),
        }))
    }

    /// Asks for the state of the enrolment with a reference, and for its position once it is active. `Ok(None)`: the
    /// bank does not know it (yet).
    fn fund_position<'a>(&'a self, _: &'a str, _: &'a str) -> BankFuture<'a, Option<FundReport>> {
        known(Ok(None))
    }
}
