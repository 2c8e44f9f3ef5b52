//! How an operation is answered: who is asking, how it behaves at the moment, its effect, the
//! answer, in this order.

use std::any::Any;
use std::collections::VecDeque;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use actix_web::dev::Extensions;
use actix_web::http::StatusCode;
use actix_web::http::header::{AUTHORIZATION, ContentType};
use actix_web::{HttpRequest, HttpResponse, rt};
use base64::Engine;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::behaviours::{Behaviour, Behaviours, Mode, Operation};
use super::book::{Book, Keeping};
use super::log::Log;
use super::refusals::{Refusal, Trouble};
use super::{HELD_MAX, Options};

/// How long a token is good.
const TOKEN_LIFE: Duration = Duration::from_secs(3600);
/// How many tokens are good at a time; the oldest goes first.
const TOKENS_MAX: usize = 1_024;

/// Everything that the handlers share.
#[derive(Debug)]
pub(super) struct Bank {
    book: Mutex<Book>,
    pub behaviours: Mutex<Behaviours>,
    tokens: Mutex<VecDeque<(String, Instant)>>,
    leaving: watch::Sender<bool>,
    pub psp: u16,
}

pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What is behind each of our locks is whole after each statement.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Bank {
    pub fn open(options: &Options) -> io::Result<Self> {
        if !(1..=9_999).contains(&options.psp) {
            return Err(io::Error::other("the PSP code must be 1 to 9999"));
        }
        let (keeping, accounts) = match &options.data_dir {
            Some(folder) => {
                let (log, accounts) = Log::open(folder)?;
                (Keeping::Disk(log), accounts)
            }
            None => (Keeping::Memory, Vec::new()),
        };
        Ok(Self {
            book: Mutex::new(Book::new(options.psp, options.rules, keeping, accounts)),
            behaviours: Mutex::default(),
            tokens: Mutex::default(),
            leaving: watch::Sender::new(false),
            psp: options.psp,
        })
    }

    pub fn book(&self) -> MutexGuard<'_, Book> {
        locked(&self.book)
    }

    /// Lets all held requests go.
    pub fn leave(&self) {
        self.leaving.send_replace(true);
    }

    /// No more effects, and the file is free.
    pub fn shut(&self) {
        self.book().shut();
    }

    /// A new token.
    pub fn token(&self) -> Option<(String, u64)> {
        let mut chance = [0_u8; 24];
        aws_lc_rs::rand::fill(&mut chance).ok()?;
        let token = base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(chance);
        let mut tokens = locked(&self.tokens);
        while tokens.len() >= TOKENS_MAX {
            tokens.pop_front();
        }
        tokens.push_back((token.clone(), Instant::now()));
        Some((token, TOKEN_LIFE.as_secs()))
    }

    /// Forgets all tokens, as if their time were over.
    pub fn expire_tokens(&self) {
        locked(&self.tokens).clear();
    }

    fn knows(&self, request: &HttpRequest) -> bool {
        let header = request.headers().get(AUTHORIZATION);
        let Some(token) = header
            .and_then(|value| value.to_str().ok())
            .and_then(|value| value.strip_prefix("JWT "))
        else {
            return false;
        };
        locked(&self.tokens)
            .iter()
            .any(|(known, since)| known == token && since.elapsed() < TOKEN_LIFE)
    }

    /// Answers an operation.
    pub async fn answer(
        &self,
        request: &HttpRequest,
        operation: Operation,
        effect: impl FnOnce(&mut Book, u64) -> Result<Value, Trouble>,
    ) -> HttpResponse {
        if !self.knows(request) {
            return error(
                StatusCode::UNAUTHORIZED,
                "GE003",
                "Token inválido o vencido",
            );
        }
        let behaviour = locked(&self.behaviours).take(operation);
        tracing::debug!(
            operation = operation.as_str(),
            mode = behaviour.mode.as_str(),
            "asked"
        );
        match behaviour.mode {
            Mode::Reject => return refused(&behaviour.refusal()),
            Mode::Error => return failed(),
            Mode::Ok
            | Mode::Timeout
            | Mode::Late
            | Mode::DuplicateNotice
            | Mode::LoseNotice
            | Mode::Reset
            | Mode::Garbage => {}
        }
        let answer = match effect(&mut self.book(), now()) {
            Ok(body) => HttpResponse::Ok().json(body),
            Err(Trouble::Refused(why)) => refused(&why),
            Err(Trouble::Disk(why)) => {
                tracing::error!(%why, "the sandbox bank cannot write");
                failed()
            }
        };
        self.deliver(request, &behaviour, answer).await
    }

    async fn deliver(
        &self,
        request: &HttpRequest,
        behaviour: &Behaviour,
        answer: HttpResponse,
    ) -> HttpResponse {
        match behaviour.mode {
            Mode::Late => {
                self.hold(behaviour.delay()).await;
                answer
            }
            Mode::Timeout => {
                self.hold(HELD_MAX).await;
                error(StatusCode::GATEWAY_TIMEOUT, "GE504", "Tiempo agotado")
            }
            Mode::Reset => {
                hang_up(request);
                answer
            }
            Mode::Garbage => HttpResponse::Ok()
                .content_type(ContentType::html())
                .body("<html>Estamos trabajando para usted"),
            Mode::Ok | Mode::Reject | Mode::Error | Mode::DuplicateNotice | Mode::LoseNotice => {
                answer
            }
        }
    }

    /// Waits so long, or until the bank stops.
    async fn hold(&self, time: Duration) {
        let mut leaving = self.leaving.subscribe();
        let left = async { leaving.wait_for(|leaving| *leaving).await.is_ok() };
        // Either end will do.
        rt::time::timeout(time, left).await.ok();
    }
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    u64::try_from(since.unwrap_or_default().as_millis()).unwrap_or(u64::MAX)
}

/// An error in the bank's form.
pub(super) fn error(status: StatusCode, code: &str, message: &str) -> HttpResponse {
    HttpResponse::build(status).json(json!({"code": code, "message": message}))
}

fn refused(why: &Refusal) -> HttpResponse {
    error(StatusCode::CONFLICT, &why.code, why.message)
}

/// The bank is at a loss.
pub(super) fn failed() -> HttpResponse {
    error(StatusCode::INTERNAL_SERVER_ERROR, "GE500", "Error interno")
}

/// A second handle of the connection's socket: the only way for a handler to hang up on it.
#[cfg(unix)]
struct Socket(std::net::TcpStream);

/// Keeps a handle of each connection's socket beside the connection.
#[cfg(unix)]
pub(super) fn remember_connection(connection: &dyn Any, extensions: &mut Extensions) {
    use std::os::fd::AsFd;
    let stream = connection.downcast_ref::<rt::net::TcpStream>();
    if let Some(Ok(fd)) = stream.map(|stream| stream.as_fd().try_clone_to_owned()) {
        extensions.insert(Socket(fd.into()));
    }
}

#[cfg(unix)]
fn hang_up(request: &HttpRequest) {
    if let Some(socket) = request.conn_data::<Socket>() {
        // A connection that is gone already is what was wanted.
        socket.0.shutdown(std::net::Shutdown::Both).ok();
    }
}

#[cfg(not(unix))]
pub(super) fn remember_connection(_: &dyn Any, _: &mut Extensions) {}

/// Without a handle of the socket the answer goes out: `reset` needs Unix.
#[cfg(not(unix))]
fn hang_up(_: &HttpRequest) {}
