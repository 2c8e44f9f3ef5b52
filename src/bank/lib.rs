//! The gateway to the sponsor bank: its API (API BANK) behind [`BankGateway`].
//!
//! **Shape.** Each operation is a `BankRequest` of `wire`, `transfers`, `statement`, `lookups` or `remuneration` (the request, what the
//! journal may keep of it, how the answer reads) that `attempts` brings to the bank: login, deadline, retries,
//! limits. `read` parses money and people from answers, `redact` keeps personal data out of the records, `names`
//! makes names that the bank accepts. [`notices`] is the opposite direction: messages that the bank sends to us.
//!
//! **Bounds.** See [`Config`]: a deadline for the operation, a timeout and a count for its attempts, [`BODY_MAX`] for
//! an answer; a list has [`PAGES_MAX`] and [`LIST_DEADLINE`]. No redirects, no proxies, https outside the loopback.
//!
//! **Threads.** One gateway serves any number of arbiters: connections belong to the runtime that
//! made them, so each runtime gets a client of its own; the login is shared by all.
//!
//! **Failure.** A refusal of the bank is final by its code, which `refusals` lists. Anything in doubt (5xx, no answer,
//! another code, an answer that makes no sense, our own login refused) is `Failed` or `TimedOut`: ask again.

mod attempts;
mod lookups;
mod names;
pub mod notices;
mod read;
mod redact;
mod refusals;
mod rejections;
mod remuneration;
mod statement;
mod text;
mod transfers;
mod wire;

#[cfg(test)]
mod tests;

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use caudal_actors::ports::{
    BankError, BankFuture, BankGateway, Collector, CollectorStatement, DayList, EnrolmentOrder,
    FundReport, KeyHolder, Notice, RawNotice, ReturnOrder, Simulation, TransferOrder, UnreadNotice,
};
use caudal_ledger::accounts::Holder;
use caudal_ledger::alias::Alias;
use caudal_ledger::clients::client_in;
use caudal_ledger::cuit::Cuit;
use caudal_ledger::cvu::Cvu;
use caudal_ledger::facts::BankRefusal;
use caudal_ledger::ids::OriginId;
use caudal_ledger::money::Money;
use caudal_ledger::remuneration::FundWord;
use caudal_ledger::time::{BusinessDay, Timestamp};
use caudal_ledger::transfers::{BankTransfer, Destination, RejectionCode, TransferRejection};
use secrecy::SecretString;
use url::{Host, Url};

use attempts::{BankSession, client};
use caudal_http::clients::Clients;
use wire::BankRequest;

/// The bank's code for a client id that is another client's.
const CLIENT_TAKEN: &str = "VW012";
/// The name of the bank whose API this is; its code, 322, is in every path.
const NAME: &str = "Banco Industrial";
/// How long a connection may take.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// How long one attempt may take, its answer included.
pub const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(3);
/// How long an operation may take, all its attempts included.
pub const DEADLINE: Duration = Duration::from_secs(8);
/// How often an operation is tried before it is returned as failed.
pub const ATTEMPTS_MAX: usize = 3;
/// How long to wait when the bank does not yet know a CVU that it just created.
pub const REPLICA_LAG: Duration = Duration::from_millis(700);
/// The longest answer that is read, in bytes.
pub const BODY_MAX: usize = 64 * 1024;
/// The most movements of a page of a list; the bank gives no more.
pub const PAGE: usize = 200;
/// How many pages of a day's movements are read in each direction; a day with more fails.
pub const PAGES_MAX: usize = 500;
/// How many lines of a day's list each way may be unreadable; a list with more is not understood as a whole.
pub const UNREADABLE_MAX: usize = 1_000;
/// The longest page that is read, in bytes.
pub const PAGE_BODY_MAX: usize = 1024 * 1024;
/// How long all pages of a day may take together; each page also has the operation's deadline.
pub const LIST_DEADLINE: Duration = Duration::from_secs(120);

/// How long one attempt may take. All copies share the time: setting it applies to all attempts that begin
/// afterwards.
#[derive(Clone, Debug)]
pub struct CallTimeout(Arc<AtomicU64>);

impl CallTimeout {
    /// A time, in whole milliseconds.
    pub fn new(time: Duration) -> Self {
        let patience = Self(Arc::default());
        patience.set(time);
        patience
    }

    /// Sets the time for attempts that begin from now on.
    pub fn set(&self, time: Duration) {
        let millis = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        self.0.store(millis, Ordering::Relaxed);
    }

    /// The present time for an attempt.
    pub fn get(&self) -> Duration {
        Duration::from_millis(self.0.load(Ordering::Relaxed))
    }
}

/// How to reach the bank.
#[derive(Clone, Debug)]
pub struct Config {
    /// The URL of its API, to which `/v1/…` is added.
    pub base_url: String,
    /// Our user there.
    pub username: String,
    /// Its password.
    pub password: SecretString,
    /// Our collector account.
    pub collector: String,
    /// See [`CONNECT_TIMEOUT`].
    pub connect_timeout: Duration,
    /// See [`ATTEMPT_TIMEOUT`].
    pub attempt_timeout: CallTimeout,
    /// See [`DEADLINE`].
    pub deadline: Duration,
    /// See [`ATTEMPTS_MAX`]; at least 1.
    pub attempts: usize,
    /// See [`REPLICA_LAG`].
    pub replica_lag: Duration,
    /// See [`PAGES_MAX`]; at least 1.
    pub pages: usize,
    /// Our PSP code, where it is known: a CVU of another PSP is not taken for ours.
    pub psp_code: Option<u16>,
    /// The secret under which the bank signs its notices, when it sends any; further lines are accepted, too.
    pub notice_secret: Option<SecretString>,
    /// Lets plain http pass to hosts other than the loopback, for a private link.
    pub plain_http: bool,
}

impl Config {
    /// A configuration with the usual limits.
    pub fn new(
        base_url: impl Into<String>,
        username: impl Into<String>,
        password: impl Into<SecretString>,
        collector: impl Into<String>,
    ) -> Self {
        Self {
            base_url: base_url.into(),
            username: username.into(),
            password: password.into(),
            collector: collector.into(),
            connect_timeout: CONNECT_TIMEOUT,
            attempt_timeout: CallTimeout::new(ATTEMPT_TIMEOUT),
            deadline: DEADLINE,
            attempts: ATTEMPTS_MAX,
            replica_lag: REPLICA_LAG,
            pages: PAGES_MAX,
            psp_code: None,
            notice_secret: None,
            plain_http: false,
        }
    }
}

/// Why a gateway cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum GatewayError {
    /// The base URL is not one.
    #[error("the bank's URL: {0}")]
    Url(#[from] url::ParseError),
    /// The base URL is not fit for a bank.
    #[error("the bank's URL {0}")]
    Unfit(&'static str),
    /// A limit of zero.
    #[error("the bank's timeouts, deadline, attempts and pages must be more than zero")]
    Zero,
    /// The HTTP client cannot be made.
    #[error("the client for the bank: {0}")]
    Client(#[from] reqwest::Error),
}

/// The sponsor bank over HTTP.
pub struct HttpGateway {
    base: Url,
    config: Config,
    clients: Clients,
    session: BankSession,
    may_call: MayCall,
}

/// Whether this node may call the bank at this moment: it owns the log, and its lease has not ended. A node that slept
/// beyond its lease must send nothing when it wakes up: its successor may be sending the same orders.
pub type MayCall = Arc<dyn Fn() -> bool + Send + Sync>;

impl HttpGateway {
    /// A gateway; nothing is sent before the first operation.
    pub fn new(config: Config) -> Result<Self, GatewayError> {
        let base = fit(Url::parse(&config.base_url)?, config.plain_http)?;
        let times = [
            config.connect_timeout,
            config.attempt_timeout.get(),
            config.deadline,
        ];
        if config.attempts == 0 || config.pages == 0 || times.contains(&Duration::ZERO) {
            return Err(GatewayError::Zero);
        }
        let (connect, https) = (config.connect_timeout, base.scheme() == "https");
        Ok(Self {
            base,
            clients: Clients::new(move || client(connect, https))?,
            session: BankSession::default(),
            config,
            may_call: Arc::new(|| true),
        })
    }

    /// The same, asking `may_call` right before each call.
    #[must_use]
    pub fn calling_while(self, may_call: MayCall) -> Self {
        Self { may_call, ..self }
    }
}

fn fit(base: Url, plain_http: bool) -> Result<Url, GatewayError> {
    let loopback = match base.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(ip)) => IpAddr::from(ip).is_loopback(),
        Some(Host::Ipv6(ip)) => IpAddr::from(ip).is_loopback(),
        None => return Err(GatewayError::Unfit("names no host")),
    };
    if !(base.scheme() == "https" || (base.scheme() == "http" && (loopback || plain_http))) {
        return Err(GatewayError::Unfit("must begin with https"));
    }
    if !base.username().is_empty() || base.password().is_some() {
        return Err(GatewayError::Unfit("must not carry a user or password"));
    }
    if base.query().is_some() || base.fragment().is_some() {
        return Err(GatewayError::Unfit("must not carry a query or fragment"));
    }
    Ok(base)
}

impl BankGateway for HttpGateway {
    fn collector(&self) -> Collector {
        Collector {
            cbu: self.config.collector.clone(),
            bank: NAME.to_owned(),
        }
    }

    fn verify(&self, notice: &RawNotice<'_>) -> bool {
        let secret = self.config.notice_secret.as_ref();
        secret.is_some_and(|secret| notices::is_signed(secret, notice))
    }

    fn read_notice(&self, notice: &RawNotice<'_>, now: Timestamp) -> Result<Notice, UnreadNotice> {
        let read = notices::read(notice.body, notice.header("content-type"), now);
        read.map_err(|why| UnreadNotice(why.to_string()))
    }

    fn client_in(&self, cvu: &Cvu) -> Option<u64> {
        client_in(cvu)
    }

    fn place(&self) -> String {
        format!("{} {}", self.base, self.config.collector)
    }

    fn create_cvu<'a>(
        &'a self,
        client_id: u64,
        holder: &'a Holder,
        request_id: &'a str,
    ) -> BankFuture<'a, Cvu> {
        let ask = BankRequest::create_cvu(&self.config, client_id, holder);
        Box::pin(self.perform(ask, request_id, self.deadline()))
    }

    fn is_taken(&self, why: &BankRefusal) -> bool {
        wire::code(&why.body) == CLIENT_TAKEN
    }

    fn rejection_code(&self, why: &TransferRejection) -> RejectionCode {
        rejections::meaning(why)
    }

    fn set_alias<'a>(
        &'a self,
        cvu: Cvu,
        cuit: Cuit,
        alias: Option<&'a Alias>,
        request_id: &'a str,
    ) -> BankFuture<'a, Alias> {
        let ask = BankRequest::set_alias(&self.config.collector, cvu, cuit, alias);
        Box::pin(self.perform(ask, request_id, self.deadline()))
    }

    fn rename<'a>(&'a self, cvu: Cvu, name: &'a str, request_id: &'a str) -> BankFuture<'a, ()> {
        let ask = BankRequest::rename(&self.config.collector, cvu, name);
        Box::pin(self.perform(ask, request_id, self.deadline()))
    }

    fn close<'a>(&'a self, cvu: Cvu, cuit: Cuit, request_id: &'a str) -> BankFuture<'a, ()> {
        let ask = BankRequest::close(&self.config.collector, cvu, cuit);
        Box::pin(async move {
            let deadline = self.deadline();
            let mut reply = self.perform(ask, request_id, deadline).await;
            let refused = match &reply.result {
                Err(BankError::Refused(refusal)) => {
                    matches!(wire::code(&refusal.body).as_str(), "VW006" | "VW015")
                }
                _ => false,
            };
            // Is it closed already, or does the CUIT belong to another holder? The refusal does not tell; a lookup
            // does.
            if refused {
                let ask = BankRequest::is_closed(cvu);
                let found = self.perform(ask, request_id, deadline).await;
                reply.calls.extend(found.calls);
                match found.result {
                    Ok(true) => reply.result = Ok(()),
                    // It is open, so the refusal stands: the CUIT is not the holder's.
                    Ok(false) | Err(BankError::Refused(_)) => {}
                    // It is unknown which of the two it was.
                    Err(doubt) => reply.result = Err(doubt),
                }
            }
            reply
        })
    }

    fn transfer<'a>(
        &'a self,
        order: &'a TransferOrder,
        request_id: &'a str,
    ) -> BankFuture<'a, BankTransfer> {
        let collector = &self.config.collector;
        let ask = BankRequest::transfer(collector, order);
        let confirmed = BankRequest::confirmed(collector, order.origin);
        Box::pin(self.order(ask, confirmed, request_id))
    }

    fn give_back<'a>(
        &'a self,
        order: &'a ReturnOrder,
        request_id: &'a str,
    ) -> BankFuture<'a, BankTransfer> {
        let collector = &self.config.collector;
        let ask = BankRequest::give_back(collector, order);
        let confirmed = BankRequest::confirmed(collector, order.origin);
        Box::pin(self.order(ask, confirmed, request_id))
    }

    fn transfer_status<'a>(
        &'a self,
        origin: OriginId,
        request_id: &'a str,
    ) -> BankFuture<'a, Option<BankTransfer>> {
        let ask = BankRequest::transfer_status(&self.config.collector, origin);
        Box::pin(self.perform(ask, request_id, self.deadline()))
    }

    fn movements<'a>(&'a self, day: BusinessDay, request_id: &'a str) -> BankFuture<'a, DayList> {
        Box::pin(self.list(day, request_id))
    }

    fn statement<'a>(
        &'a self,
        day: BusinessDay,
        ongoing: bool,
        request_id: &'a str,
    ) -> BankFuture<'a, CollectorStatement> {
        Box::pin(self.read_statement(day, ongoing, request_id))
    }

    fn lookup<'a>(
        &'a self,
        whom: &'a Destination,
        request_id: &'a str,
    ) -> BankFuture<'a, KeyHolder> {
        let ask = BankRequest::lookup(whom);
        Box::pin(self.perform(ask, request_id, self.deadline()))
    }

    fn balance<'a>(
        &'a self,
        asking: &'a dyn Fn(),
        request_id: &'a str,
    ) -> BankFuture<'a, (Money, Timestamp)> {
        let ask = BankRequest::balance(&self.config.collector);
        Box::pin(self.perform_asking(ask, request_id, self.deadline(), asking))
    }

    fn enrol<'a>(
        &'a self,
        order: &'a EnrolmentOrder,
        request_id: &'a str,
    ) -> BankFuture<'a, FundWord> {
        let ask = BankRequest::enrol(&self.config.collector, order);
        let confirmed = BankRequest::enrolled(&self.config.collector, &order.reference);
        Box::pin(self.order(ask, confirmed, request_id))
    }

    fn simulate<'a>(
        &'a self,
        simulation: &'a Simulation,
        request_id: &'a str,
    ) -> BankFuture<'a, ()> {
        let ask = BankRequest::simulation(&self.config.collector, simulation);
        Box::pin(self.perform(ask, request_id, self.deadline()))
    }

    fn fund_position<'a>(
        &'a self,
        reference: &'a str,
        request_id: &'a str,
    ) -> BankFuture<'a, Option<FundReport>> {
        let ask = BankRequest::fund_position(&self.config.collector, reference);
        Box::pin(self.perform(ask, request_id, self.deadline()))
    }
}

impl fmt::Debug for HttpGateway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpGateway")
            .field("base", &self.base.as_str())
            .finish_non_exhaustive()
    }
}
