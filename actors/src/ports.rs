//! What the actors need from outside: a bank and a clock. The real ones live in `src`.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use caudal_ledger::accounts::Holder;
use caudal_ledger::alias::Alias;
use caudal_ledger::cuit::Cuit;
use caudal_ledger::cvu::Cvu;
use caudal_ledger::facts::{BankCall, BankRefusal};
use caudal_ledger::time::Timestamp;

/// Where the time comes from.
pub trait Clock: Send + Sync + fmt::Debug + 'static {
    /// The present.
    fn now(&self) -> Timestamp;
}

/// How a bank operation ended when it did not succeed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BankError {
    /// The bank answered that it will not: nothing happened there. Final.
    Refused(BankRefusal),
    /// The bank failed (5xx, garbage, connection lost after sending): nobody knows whether it
    /// happened. Ask again with the same reference.
    Failed {
        /// The bank's status, when there was one.
        status: Option<u16>,
        /// Its body, cut at a limit.
        body: String,
    },
    /// The bank did not answer in time: nobody knows. Ask again with the same reference.
    TimedOut,
}

/// What a bank operation gave, and every call that was made for it (for the journal).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BankReply<T> {
    /// How it ended.
    pub result: Result<T, BankError>,
    /// The calls, oldest first: redacted request, status, body, latency.
    pub calls: Vec<BankCall>,
}

/// A future that runs on one thread, as actors' futures do.
pub type LocalFuture<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// What the service asks of the sponsor bank. Every operation is idempotent by its reference, so
/// asking again after a timeout or crash is always safe. Implementations put a deadline on each
/// operation, retry what is safe inside it, and never follow redirects.
pub trait BankGateway: Send + Sync + fmt::Debug + 'static {
    /// Creates the CVU of a client id, or gives the one it has. `request_id` goes along for tracing.
    fn create_cvu<'a>(
        &'a self,
        client_id: u64,
        holder: &'a Holder,
        request_id: &'a str,
    ) -> LocalFuture<'a, BankReply<Cvu>>;

    /// Sets the alias of a CVU; with none, has the bank assign one. Gives the alias as it is then.
    /// Setting the alias that the CVU has already is a success.
    fn set_alias<'a>(
        &'a self,
        cvu: Cvu,
        cuit: Cuit,
        alias: Option<&'a Alias>,
        request_id: &'a str,
    ) -> LocalFuture<'a, BankReply<Alias>>;

    /// Sets the holder's name.
    fn rename<'a>(
        &'a self,
        cvu: Cvu,
        name: &'a str,
        request_id: &'a str,
    ) -> LocalFuture<'a, BankReply<()>>;

    /// Closes a CVU; closing a closed one is a success.
    fn close<'a>(
        &'a self,
        cvu: Cvu,
        cuit: Cuit,
        request_id: &'a str,
    ) -> LocalFuture<'a, BankReply<()>>;
}
