//! The sandbox bank: a real HTTP server with the API of the sponsor bank (API BANK, bank 322),
//! so that the service always talks through the client that it uses in production.
//!
//! **Shape.** `book` decides and remembers (accounts and aliases; `rail` does so for
//! transfers, `enrolments` for the fund; `worlds` says which collector account is whose), `log` keeps them
//! on disk, `behaviours` says how each operation misbehaves at the moment, `answers` puts the three
//! together, `notices` tells the service, `routes` and `payments` are the bank's own API and `control` the
//! pages and switches beside it. A crate of its own: it shares rules of form (CVUs, amounts, days) and
//! signatures with the service, and no line of the protocol.
//!
//! **Order.** An operation's effect is on disk (with a data folder) before anything of its answer
//! leaves, and happens without waiting for anything: a client that goes away cannot cut it in two.
//!
//! **Bounds.** One worker thread; bodies of [`BODY_MAX`] bytes; a connection that is held without
//! an answer is let go after [`HELD_MAX`].
//!
//! **Failure.** A disk that refuses an effect makes it not happen: 500 `GE500`.

mod accounts;
mod answers;
mod behaviours;
mod book;
mod clock;
mod control;
mod directory;
mod enrolments;
mod external;
mod fund;
mod locked;
mod log;
mod names;
mod notices;
mod payments;
mod rail;
mod refusals;
mod routes;
mod shapes;
mod transfers;
mod worlds;

#[cfg(test)]
mod tests;

use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use actix_web::dev::ServerHandle;
use actix_web::{App, HttpServer, rt, web};
use caudal_ledger::calendar::Calendar;
use secrecy::SecretString;
use tokio::sync::oneshot;

pub use behaviours::{Mode, Operation};
pub use book::Rules;
pub use notices::Pace;
pub use worlds::{collector, psp};

use answers::Bank;

/// The user of the test rail that the sandbox lets in.
pub const USERNAME: &str = "caudal";
/// The user of the live rail, which knows nothing of the other.
pub const LIVE_USERNAME: &str = "caudal-live";
/// The password of both.
pub const PASSWORD: &str = "sandbox";
/// The collector account that needs no realm, on the test rail; [`collector`] gives each realm one.
pub const COLLECTOR: &str = "3220001805007351350083";
/// The PSP code in the CVUs of [`COLLECTOR`], unless another is configured.
pub const PSP: u16 = 999;
/// What signs notices unless another is given. It is known to everyone: `caudal dev` draws one of its
/// own, and `caudal serve` takes none.
pub const NOTICE_SECRET: &str = "caudal-sandbox-notices-are-signed-with-this";
/// The name of the PSP at the sandbox.
const PSP_NAME: &str = "CAUDAL SANDBOX";
/// How long after the order the bank completes or reverses what it does late.
const SETTLE_AFTER: Duration = Duration::from_secs(2);
/// The longest body that is read, in bytes.
pub const BODY_MAX: usize = 64 * 1024;
/// The longest that `timeout` holds a connection.
pub const HELD_MAX: Duration = Duration::from_secs(60);
/// How long `late` waits, unless it says otherwise.
pub const LATE_DEFAULT: Duration = Duration::from_secs(2);
/// Connections at the same time.
const CONNECTIONS_MAX: usize = 512;
/// How long requests in flight have to finish when the sandbox stops, in seconds.
const GRACE_SECONDS: u64 = 2;

/// How a sandbox bank is run.
#[derive(Clone, Debug)]
pub struct SandboxOptions {
    /// Where it listens; port 0 picks a free one.
    pub listen: SocketAddr,
    /// Where it keeps its accounts; in memory when there is none.
    pub data_dir: Option<PathBuf>,
    /// The PSP code in the CVUs of [`COLLECTOR`], 1 to 9999.
    pub psp: u16,
    /// Rules that can be switched.
    pub rules: Rules,
    /// The days on which banks are closed; in years that it does not cover, weekends alone.
    pub calendar: Arc<Calendar>,
    /// Where notices of transfers go; until there is an address, the last ones wait.
    pub notice_url: Option<String>,
    /// What notices are signed with.
    pub notice_secret: SecretString,
    /// What each collector account has before anything is moved, in centavos. It is not kept.
    pub endowment: u64,
    /// How fast they are sent.
    pub pace: Pace,
}

impl Default for SandboxOptions {
    /// In memory, on a free port of the loopback; closed on weekends alone.
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            data_dir: None,
            psp: PSP,
            rules: Rules::default(),
            calendar: Arc::default(),
            notice_url: None,
            notice_secret: SecretString::from(NOTICE_SECRET),
            endowment: 0,
            pace: Pace::default(),
        }
    }
}

/// The sandbox bank.
#[derive(Clone, Copy, Debug)]
pub struct Sandbox;

impl Sandbox {
    /// Starts a sandbox bank on threads of its own: any runtime, or none, may call this, and as
    /// often as it likes. When this returns, the port accepts connections.
    pub fn start(options: SandboxOptions) -> io::Result<Running> {
        let bank = web::Data::new(Bank::open(&options)?);
        let listener = TcpListener::bind(options.listen)?;
        let addr = listener.local_addr()?;
        let (send, started) = mpsc::channel();
        let (end, ended) = oneshot::channel();
        let served = bank.clone();
        thread::Builder::new()
            .name("sandbox-bank".into())
            .spawn(move || {
                let result = rt::System::new().block_on(serve(listener, served, &send));
                drop(send);
                // Nobody waits when the handle is gone already.
                end.send(result).ok();
            })?;
        let handle = started
            .recv()
            .map_err(|_| io::Error::other("the sandbox bank did not start"))??;
        Ok(Running {
            addr,
            handle,
            bank: bank.into_inner(),
            ended: Some(ended),
        })
    }
}

async fn serve(
    listener: TcpListener,
    bank: web::Data<Bank>,
    send: &mpsc::Sender<io::Result<ServerHandle>>,
) -> io::Result<()> {
    let (timer, teller) = (bank.clone(), bank.clone());
    let server = HttpServer::new(move || {
        App::new()
            .app_data(bank.clone())
            .app_data(web::PayloadConfig::new(BODY_MAX))
            .configure(routes::configure)
    })
    .on_connect(answers::remember_connection)
    .workers(1)
    .max_connections(CONNECTIONS_MAX)
    .worker_max_blocking_threads(1)
    .disable_signals()
    .shutdown_timeout(GRACE_SECONDS)
    .listen(listener);
    match server {
        Ok(server) => {
            let running = server.run();
            // Both end with this thread, or when the bank is told to leave.
            rt::spawn(async move { timer.keep_time().await });
            rt::spawn(async move { teller.keep_telling().await });
            // The one who started us waits for this; if it went away, nobody minds us running.
            send.send(Ok(running.handle())).ok();
            running.await
        }
        Err(why) => {
            send.send(Err(why)).ok();
            Ok(())
        }
    }
}

/// A sandbox bank that runs. Dropping it stops the bank at once; [`Running::stop`] is kinder.
#[must_use = "dropping it stops the sandbox bank"]
pub struct Running {
    /// Where it listens.
    pub addr: SocketAddr,
    /// Its server.
    pub handle: ServerHandle,
    bank: Arc<Bank>,
    ended: Option<oneshot::Receiver<io::Result<()>>>,
}

impl Running {
    /// The base URL for a gateway.
    pub fn url(&self) -> String {
        format!("http://{}", self.addr)
    }

    /// From now on notices go to this address, signed with this secret or else the one of before;
    /// without an address they are not sent.
    pub fn notify(&self, url: Option<&str>, secret: Option<SecretString>) -> io::Result<()> {
        let addressed = self.bank.notices.address(url, secret);
        addressed.map_err(|why| io::Error::new(io::ErrorKind::InvalidInput, why))
    }

    /// Stops taking connections, lets held requests go, and ends when all threads have answered.
    pub async fn stop(mut self) -> io::Result<()> {
        self.bank.leave();
        self.handle.stop(true).await;
        let result = match self.ended.take() {
            Some(ended) => ended.await.unwrap_or(Ok(())),
            None => Ok(()),
        };
        self.bank.shut();
        result
    }

    /// Waits until the bank ends, for a program that does nothing else.
    pub async fn wait(&mut self) -> io::Result<()> {
        match self.ended.as_mut() {
            Some(ended) => {
                let result = ended.await.unwrap_or(Ok(()));
                self.ended = None;
                result
            }
            None => Ok(()),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.bank.leave();
        self.bank.shut();
        // The order is given when the future is made; there is nobody to wait for it here.
        drop(self.handle.stop(false));
    }
}

impl fmt::Debug for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Running").field("addr", &self.addr).finish()
    }
}
