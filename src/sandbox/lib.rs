//! The sandbox bank: a real HTTP server with the API of the sponsor bank (API BANK, bank 322),
//! so that the service always talks through the client that it uses in production.
//!
//! **Shape.** `book` decides and remembers (accounts and aliases; `rail` does so for transfers, `enrolments` for the
//! fund, `statement` for the movements of collector accounts; `worlds` says whose one is), `log` keeps them on disk,
//! `behaviours` says how each operation misbehaves at the moment, `answers` puts the three together, `notices` notifies
//! the service, `routes` and `payments` are the bank's own API and `control` the pages and switches next to it. A crate of
//! its own: it shares rules of form (CVUs, amounts, days) and signatures with the service, and no line of the protocol.
//!
//! **Order.** An operation's effect is on disk (with a data folder) before anything of its answer
//! leaves, and happens without waiting for anything: a client that goes away cannot cut it in two.
//!
//! **Bounds.** One worker thread; bodies of [`BODY_MAX`] bytes; a connection that is held without an answer is
//! released after [`HELD_MAX`].
//!
//! **Failure.** If the disk refuses an effect, it does not happen: 500 `GE500`.

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
mod log;
mod names;
mod notices;
mod payments;
mod rail;
mod refusals;
mod routes;
mod shapes;
mod statement;
mod transfers;
mod worlds;

#[cfg(test)]
mod tests;

use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
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

/// The user that the sandbox accepts on the test rail.
pub const USERNAME: &str = "caudal";
/// The user of the live rail, which knows nothing of the test rail.
pub const LIVE_USERNAME: &str = "caudal-live";
/// The password of both users.
pub const PASSWORD: &str = "sandbox";
/// The collector account that needs no realm, on the test rail; [`collector`] gives each realm one.
pub const COLLECTOR: &str = "3220001805007351350083";
/// The PSP code in the CVUs of [`COLLECTOR`], unless another is configured.
pub const PSP: u16 = 999;
/// The secret that signs notices unless another is given. Everyone knows it: `caudal dev` draws one of its own, and
/// `caudal serve` does not accept it.
pub const NOTICE_SECRET: &str = "caudal-sandbox-notices-are-signed-with-this";
/// The name of the PSP at the sandbox.
const PSP_NAME: &str = "CAUDAL SANDBOX";
/// How long after the order the bank completes or reverses a late transfer.
const SETTLE_AFTER: Duration = Duration::from_secs(2);
/// The longest body that is read, in bytes.
pub const BODY_MAX: usize = 64 * 1024;
/// The longest time for which `timeout` holds a connection.
pub const HELD_MAX: Duration = Duration::from_secs(60);
/// How long `late` waits, unless the order says otherwise.
pub const LATE_DEFAULT: Duration = Duration::from_secs(2);
/// How many connections there may be at the same time.
const CONNECTIONS_MAX: usize = 512;
/// How long requests in flight have to finish when the sandbox stops, in seconds.
const GRACE_SECONDS: u64 = 2;

/// The settings of a sandbox bank.
#[derive(Clone, Debug)]
pub struct SandboxOptions {
    /// The address on which it listens; port 0 picks a free one.
    pub listen: SocketAddr,
    /// The folder in which it keeps its accounts; in memory when there is none.
    pub data_dir: Option<PathBuf>,
    /// The PSP code in the CVUs of [`COLLECTOR`], 1 to 9999.
    pub psp: u16,
    /// Rules that can be switched.
    pub rules: Rules,
    /// The days on which banks are closed; in years that it does not cover, only weekends.
    pub calendar: Arc<Calendar>,
    /// The address to which notices of transfers go; until there is one, the last notices wait.
    pub notice_url: Option<String>,
    /// The secret that signs notices.
    pub notice_secret: SecretString,
    /// The balance of each collector account before any transfer, in centavos. It is not kept on disk.
    pub endowment: u64,
    /// How fast notices are sent.
    pub pace: Pace,
}

impl Default for SandboxOptions {
    /// In memory, on a free port of the loopback; banks are closed only at weekends.
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
    /// Starts a sandbox bank on threads of its own: this may be called from any runtime, or from none, and any number
    /// of times. When it returns, the port accepts connections.
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
                // If the handle is already gone, nobody waits for this.
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
            // Both end with this thread, or when the bank stops.
            rt::spawn(async move { timer.keep_time().await });
            rt::spawn(async move { teller.keep_telling().await });
            // `start` waits for this; if its caller went away, the bank may still run.
            send.send(Ok(running.handle())).ok();
            running.await
        }
        Err(why) => {
            send.send(Err(why)).ok();
            Ok(())
        }
    }
}

/// The value behind a lock. A thread that panicked while it held the lock has left the value whole: each of our locks
/// guards a value that is whole after each statement.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A running sandbox bank. Dropping it stops the bank at once; [`Running::stop`] lets requests finish.
#[must_use = "dropping it stops the sandbox bank"]
pub struct Running {
    /// The address on which it listens.
    pub addr: SocketAddr,
    /// The handle of its server.
    pub handle: ServerHandle,
    bank: Arc<Bank>,
    ended: Option<oneshot::Receiver<io::Result<()>>>,
}

impl Running {
    /// The base URL for a gateway.
    pub fn url(&self) -> String {
        format!("http://{}", self.addr)
    }

    /// Sends notices to this address from now on, signed with this secret or else the present one; without an address
    /// they are not sent.
    pub fn notify(&self, url: Option<&str>, secret: Option<SecretString>) -> io::Result<()> {
        let addressed = self.bank.notices.address(url, secret);
        addressed.map_err(|why| io::Error::new(io::ErrorKind::InvalidInput, why))
    }

    /// Stops taking connections, releases held requests, and ends when all threads have answered.
    pub async fn stop(mut self) -> io::Result<()> {
        self.bank.leave();
        self.handle.stop(true).await;
        let result = self.wait().await;
        self.bank.book().shut();
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
        self.bank.book().shut();
        // The server gets the order when the future is made; nothing here could wait for it.
        drop(self.handle.stop(false));
    }
}

impl fmt::Debug for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Running").field("addr", &self.addr).finish()
    }
}
