//! How an operation is answered, in this order: the login, its present behaviour, its effect, the answer.

use std::any::Any;
use std::collections::VecDeque;
use std::io;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use actix_web::dev::Extensions;
use actix_web::http::StatusCode;
use actix_web::http::header::{AUTHORIZATION, ContentType};
use actix_web::{HttpRequest, HttpResponse, rt};
use base64::Engine;
use caudal_ledger::cvu::Cbu;
use serde_json::{Value, json};
use tokio::sync::{Notify, watch};

use super::behaviours::{BadOrder, Behaviour, Behaviours, Mode, Operation};
use super::book::{Book, Keeping};
use super::clock::now;
use super::log::{KeptRecords, Log};
use super::notices::Notices;
use super::refusals::{NoEffect, Refusal};
use super::worlds::{Rail, World};
use super::{HELD_MAX, SandboxOptions, locked};

/// How long a token is valid.
const TOKEN_LIFE: Duration = Duration::from_secs(3600);
/// How many tokens are valid at a time; the oldest is dropped first.
const TOKENS_MAX: usize = 1_024;
/// How long the bank waits before it repeats a write that the disk refused.
const TRY_AGAIN: Duration = Duration::from_secs(1);

/// Everything that the handlers share.
#[derive(Debug)]
pub(super) struct Bank {
    book: Mutex<Book>,
    pub behaviours: Mutex<Behaviours>,
    pub notices: Notices,
    /// Notified when the time of the next event that happens by itself has changed.
    next_changed: Notify,
    tokens: Mutex<VecDeque<(String, Instant, Rail)>>,
    leaving: watch::Sender<bool>,
    hurried: Notify,
    pub psp: u16,
}

impl Bank {
    pub(crate) fn open(options: &SandboxOptions) -> io::Result<Self> {
        if !(1..=9_999).contains(&options.psp) {
            return Err(io::Error::other("the PSP code must be 1 to 9999"));
        }
        let (keeping, kept) = match &options.data_dir {
            Some(folder) => {
                let (log, kept) = Log::open(folder)?;
                (Keeping::Disk(log), kept)
            }
            None => (Keeping::Memory, KeptRecords::default()),
        };
        let notices = Notices::at(options.pace);
        notices
            .address(
                options.notice_url.as_deref(),
                Some(options.notice_secret.clone()),
            )
            .map_err(io::Error::other)?;
        let rules = (options.rules, Arc::clone(&options.calendar));
        let book = Book::new(options.psp, rules, keeping, kept);
        let mut book = book.ok_or_else(|| io::Error::other("the collector account is none"))?;
        book.transfers.endowment = options.endowment;
        Ok(Self {
            book: Mutex::new(book),
            behaviours: Mutex::default(),
            notices,
            next_changed: Notify::new(),
            tokens: Mutex::default(),
            leaving: watch::Sender::new(false),
            hurried: Notify::new(),
            psp: options.psp,
        })
    }

    pub(crate) fn book(&self) -> MutexGuard<'_, Book> {
        locked(&self.book)
    }

    /// Makes everything happen that is due, then the effect, and posts the notices: in this order.
    fn happen(
        &self,
        effect: impl FnOnce(&mut Book, u64) -> Result<Value, NoEffect>,
    ) -> Result<Value, NoEffect> {
        let mut book = self.book();
        let next = book.transfers.next_due();
        let now = now();
        if let Err(NoEffect::Disk(why)) = book.catch_up(now) {
            tracing::error!(%why, "the sandbox bank cannot write what is due");
        }
        let result = effect(&mut book, now);
        for notice in mem::take(&mut book.notices) {
            let behaviour = locked(&self.behaviours).take_for_notice(
                notice.operation,
                notice.collector,
                notice.mode,
            );
            self.notices.post(notice, &behaviour);
        }
        if book.transfers.next_due() != next {
            self.next_changed.notify_one();
        }
        result
    }

    /// Makes things happen when they are due, until the bank stops.
    pub(crate) async fn keep_time(&self) {
        let mut leaving = self.leaving.subscribe();
        let keeping = async {
            loop {
                // An empty effect cannot fail; failures of what is due are logged there.
                self.happen(|_, _| Ok(Value::Null)).ok();
                let next = self.book().transfers.next_due();
                let changed = self.next_changed.notified();
                match next.map(|at| at.saturating_sub(now())) {
                    None => changed.await,
                    Some(0) => rt::time::sleep(TRY_AGAIN).await,
                    // Both the timeout and the notification end the wait.
                    Some(wait) => rt::time::timeout(Duration::from_millis(wait), changed)
                        .await
                        .unwrap_or_default(),
                }
            }
        };
        tokio::select! {
            () = keeping => {}
            _ = leaving.wait_for(|leaving| *leaving) => {}
        }
    }

    /// Sends notices until the bank stops.
    pub(crate) async fn keep_telling(&self) {
        self.notices.run(self.leaving.subscribe()).await;
    }

    /// Carries out an order of the sandbox's own switches, without login or behaviour.
    pub(crate) fn obey(
        &self,
        effect: impl FnOnce(&mut Book, u64) -> Result<Value, NoEffect>,
    ) -> HttpResponse {
        answer_of(self.happen(effect))
    }

    /// Carries out an order about the collector account in the path of a request, if it names one; its client has to have
    /// logged in then.
    pub(crate) fn obey_for(
        &self,
        request: &HttpRequest,
        effect: impl FnOnce(&mut Book, Option<World>, u64) -> Result<Value, NoEffect>,
    ) -> HttpResponse {
        let Some(collector) = request.match_info().get("collector") else {
            return self.obey(|book, now| effect(book, None, now));
        };
        let Some(rail) = self.knows(request) else {
            return unknown();
        };
        self.obey(|book, now| {
            let world = book.enter(collector, rail)?;
            effect(book, Some(world), now)
        })
    }

    /// Releases all held requests.
    pub(crate) fn leave(&self) {
        self.leaving.send_replace(true);
    }

    /// A new token, valid on one rail.
    pub(crate) fn token(&self, rail: Rail) -> Option<(String, u64)> {
        let mut chance = [0_u8; 24];
        aws_lc_rs::rand::fill(&mut chance).ok()?;
        let token = base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(chance);
        let mut tokens = locked(&self.tokens);
        while tokens.len() >= TOKENS_MAX {
            tokens.pop_front();
        }
        tokens.push_back((token.clone(), Instant::now(), rail));
        Some((token, TOKEN_LIFE.as_secs()))
    }

    /// Forgets all tokens, as if they had expired.
    pub(crate) fn expire_tokens(&self) {
        locked(&self.tokens).clear();
    }

    /// The rail on which a request is logged in.
    fn knows(&self, request: &HttpRequest) -> Option<Rail> {
        let header = request.headers().get(AUTHORIZATION)?;
        let token = header.to_str().ok()?.strip_prefix("JWT ")?;
        let tokens = locked(&self.tokens);
        let mut good = tokens.iter().filter(|it| it.1.elapsed() < TOKEN_LIFE);
        good.find(|(known, ..)| known == token).map(|it| it.2)
    }

    /// Answers an operation on the collector account in the path of a request. Its effect may depend on its behaviour.
    pub(crate) async fn answer(
        &self,
        request: &HttpRequest,
        operation: Operation,
        effect: impl FnOnce(&mut Book, World, (Mode, u64)) -> Result<Value, NoEffect>,
    ) -> HttpResponse {
        let collector = request.match_info().get("collector").unwrap_or_default();
        self.answer_on_rail(request, operation, |book, rail, at| {
            let world = book.enter(collector, rail)?;
            effect(book, world, at)
        })
        .await
    }

    /// Answers an operation on the rail of a login.
    pub(crate) async fn answer_on_rail(
        &self,
        request: &HttpRequest,
        operation: Operation,
        effect: impl FnOnce(&mut Book, Rail, (Mode, u64)) -> Result<Value, NoEffect>,
    ) -> HttpResponse {
        let Some(rail) = self.knows(request) else {
            return unknown();
        };
        let collector = request.match_info().get("collector");
        let collector = collector.and_then(|text| Cbu::parse(text).ok());
        let behaviour = locked(&self.behaviours).take(operation, collector);
        let mode = behaviour.mode;
        tracing::debug!(
            operation = operation.as_str(),
            mode = mode.as_str(),
            "asked"
        );
        if mode == Mode::Reject {
            return refused(&behaviour.refusal());
        }
        if mode == Mode::Error {
            return failed();
        }
        let answer = answer_of(self.happen(|book, now| effect(book, rail, (mode, now))));
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
            Mode::Ok
            | Mode::Reject
            | Mode::Error
            | Mode::DuplicateNotice
            | Mode::LoseNotice
            | Mode::ReorderNotice
            | Mode::Forget => answer,
        }
    }

    /// Releases the answers that are held at this moment.
    pub(crate) fn hurry(&self) {
        self.hurried.notify_waiters();
    }

    /// Waits this long, or until the bank stops or is hurried.
    async fn hold(&self, time: Duration) {
        let mut leaving = self.leaving.subscribe();
        tokio::select! {
            () = rt::time::sleep(time) => {}
            _ = leaving.wait_for(|leaving| *leaving) => {}
            () = self.hurried.notified() => {}
        }
    }
}

/// The answer to a request without a valid token.
fn unknown() -> HttpResponse {
    error(
        StatusCode::UNAUTHORIZED,
        "GE003",
        "Token inválido o vencido",
    )
}

/// The answer to an order for a behaviour.
pub(super) fn behaved(set: &Result<Behaviour, BadOrder>) -> HttpResponse {
    match set {
        Ok(behaviour) => HttpResponse::Ok().json(behaviour),
        Err(why) => HttpResponse::build(StatusCode::BAD_REQUEST).json(json!({
            "code": "GE400",
            "message": format!("{} must be one of: {}", why.field, why.allowed.join(", ")),
            "field": why.field,
            "allowed": why.allowed,
        })),
    }
}

/// An error in the bank's form.
pub(super) fn error(status: StatusCode, code: &str, message: &str) -> HttpResponse {
    HttpResponse::build(status).json(json!({"code": code, "message": message}))
}

fn answer_of(result: Result<Value, NoEffect>) -> HttpResponse {
    match result {
        Ok(body) => HttpResponse::Ok().json(body),
        Err(NoEffect::Refused(why)) => refused(&why),
        Err(NoEffect::Bad(why)) => error(StatusCode::BAD_REQUEST, "GE400", why),
        Err(NoEffect::Disk(why)) => {
            tracing::error!(%why, "the sandbox bank cannot write");
            failed()
        }
    }
}

fn refused(why: &Refusal) -> HttpResponse {
    error(StatusCode::CONFLICT, &why.code, why.message)
}

/// The answer when the bank itself fails.
pub(super) fn failed() -> HttpResponse {
    error(StatusCode::INTERNAL_SERVER_ERROR, "GE500", "Error interno")
}

/// A second handle of the connection's socket: the only way for a handler to hang up on it.
struct Socket(std::net::TcpStream);

/// Keeps a handle of each connection's socket next to the connection.
pub(super) fn remember_connection(connection: &dyn Any, extensions: &mut Extensions) {
    use std::os::fd::AsFd;
    let stream = connection.downcast_ref::<rt::net::TcpStream>();
    if let Some(Ok(fd)) = stream.map(|stream| stream.as_fd().try_clone_to_owned()) {
        extensions.insert(Socket(fd.into()));
    }
}

fn hang_up(request: &HttpRequest) {
    if let Some(socket) = request.conn_data::<Socket>() {
        // If the connection is already gone, that is what was wanted.
        socket.0.shutdown(std::net::Shutdown::Both).ok();
    }
}
