//! Brings an operation to the bank: login, deadline, attempts, limits, and a record of each call.
//!
//! **Order.** Every operation is idempotent by its reference, so an attempt that left doubt is repeated, at most
//! [`Config::attempts`](super::Config) times within the deadline; after an answer that makes no sense it is not,
//! since the next answer would make none either.
//!
//! **Failure.** Nothing here waits past the deadline; the caller gets the last failure.

use std::iter;
use std::time::Duration;

use aws_lc_rs::rand;
use caudal_actors::ports::{BankError, BankReply};
use caudal_http::clients::USER_AGENT;
use caudal_http::traces::{TRACEPARENT, leg};
use caudal_ledger::facts::{BankCall, BankRefusal};
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use reqwest::{Client, RequestBuilder, Response, StatusCode, redirect};
use tokio::time::{Instant, sleep, timeout, timeout_at};
use url::Url;

use super::HttpGateway;
use super::redact::{for_the_journal, to_be_shown};
use super::text::decoded;
use super::wire::{BankRequest, BankResponse, LoggedIn, Verdict};

/// How many idle connections a runtime keeps, and how long: less than servers do, so that few are
/// found closed.
const IDLE_MAX: usize = 16;
const IDLE_TIME: Duration = Duration::from_secs(3);
/// The pause after the first failure, and the longest; a random part adds up to as much again.
const PAUSE_MIN: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(1);
/// A login is renewed this long before the bank forgets it, and is kept no longer than the maximum.
const LOGIN_MARGIN: Duration = Duration::from_secs(30);
const LOGIN_MAX: Duration = Duration::from_secs(24 * 3600);
const REQUEST_ID: &str = "x-request-id";

/// A client for the bank.
pub(super) fn client(connect_timeout: Duration, https: bool) -> reqwest::Result<Client> {
    let builder = if https {
        Client::builder().https_only(true)
    } else {
        // The sandbox must run where no certificates are installed; then no server is trusted.
        Client::builder().tls_certs_only([])
    };
    builder
        .user_agent(USER_AGENT)
        .connect_timeout(connect_timeout)
        .redirect(redirect::Policy::none())
        .retry(reqwest::retry::never())
        .no_proxy()
        .pool_max_idle_per_host(IDLE_MAX)
        .pool_idle_timeout(IDLE_TIME)
        .build()
}

/// A login.
struct BankLogin {
    header: HeaderValue,
    until: Instant,
}

impl BankLogin {
    /// `None` when the token does not fit into a header.
    fn of(given: &LoggedIn) -> Option<Self> {
        let mut header = HeaderValue::try_from(format!("JWT {}", given.token)).ok()?;
        header.set_sensitive(true);
        let life = Duration::from_secs(given.expires_in).min(LOGIN_MAX);
        let until = Instant::now() + life.saturating_sub(LOGIN_MARGIN);
        Some(Self { header, until })
    }
}

/// Our login at the bank, shared by all operations: one renews it, the others wait for that.
#[derive(Default)]
pub(super) struct BankSession(tokio::sync::Mutex<Option<BankLogin>>);

/// An attempt that did not get an answer to judge.
struct Failure {
    error: BankError,
    /// Whether another attempt makes sense.
    again: bool,
}

impl Failure {
    fn timed_out() -> Self {
        let error = BankError::TimedOut;
        Self { error, again: true }
    }

    fn of(answer: &BankResponse, again: bool) -> Self {
        let error = BankError::Failed {
            status: Some(answer.status),
            body: to_be_shown(&answer.body),
        };
        Self { error, again }
    }

    /// Nothing was sent: another node may be the owner by now.
    fn not_owner() -> Self {
        let body = r#"{"message":"this node is not certain to own the log"}"#.to_owned();
        let error = BankError::Failed { status: None, body };
        Self {
            error,
            again: false,
        }
    }

    fn lost(status: Option<u16>, again: bool) -> Self {
        let body = "{}".to_owned();
        let error = BankError::Failed { status, body };
        Self { error, again }
    }
}

/// One operation on its way: its deadline, its request, and the calls so far.
struct BankOperation<'a> {
    client: Client,
    deadline: Instant,
    request_id: &'a str,
    /// Called right before each attempt is sent.
    asking: &'a dyn Fn(),
    calls: Vec<BankCall>,
}

impl HttpGateway {
    /// The latest instant at which an operation that begins now may end.
    pub(super) fn deadline(&self) -> Instant {
        Instant::now() + self.config.deadline
    }

    /// Brings an operation to the bank.
    pub(super) async fn perform<T>(
        &self,
        ask: BankRequest<T>,
        request_id: &str,
        deadline: Instant,
    ) -> BankReply<T> {
        self.perform_asking(ask, request_id, deadline, &|| ()).await
    }

    /// Like [`Self::perform`]; `asking` is called right before each attempt of the operation itself is sent.
    pub(super) async fn perform_asking<T>(
        &self,
        ask: BankRequest<T>,
        request_id: &str,
        deadline: Instant,
        asking: &dyn Fn(),
    ) -> BankReply<T> {
        let Some(client) = self.clients.here() else {
            let result = Err(Failure::lost(None, true).error);
            let calls = Vec::new();
            return BankReply { result, calls };
        };
        let mut trip = BankOperation {
            client,
            deadline,
            request_id,
            asking,
            calls: Vec::new(),
        };
        let mut pauses = pauses(self.config.attempts);
        let result = loop {
            let (failure, pause) = match self.attempt(&ask, &mut trip).await {
                Ok(answer) => match (ask.judge)(&answer) {
                    Verdict::Done(done) => break Ok(done),
                    Verdict::Refused => break Err(refused(&answer)),
                    Verdict::NotYet => (refused(&answer), Some(self.config.replica_lag)),
                    Verdict::Nonsense => break Err(Failure::of(&answer, false).error),
                },
                Err(failure) if failure.again => (failure.error, None),
                Err(failure) => break Err(failure.error),
            };
            let Some(usual) = pauses.next() else {
                break Err(failure);
            };
            let pause = pause.unwrap_or(usual);
            if Instant::now() + pause >= trip.deadline {
                break Err(failure);
            }
            sleep(pause).await;
        };
        let calls = trip.calls;
        BankReply { result, calls }
    }

    /// One attempt: asks with the present login, and once more with a new one if that login is no longer accepted.
    async fn attempt<T>(
        &self,
        ask: &BankRequest<T>,
        trip: &mut BankOperation<'_>,
    ) -> Result<BankResponse, Failure> {
        let mut login = self.login(trip, None).await?;
        let mut renewed = false;
        loop {
            (trip.asking)();
            let answer = self.call(ask, Some(&login), trip).await?;
            match answer.status {
                401 if !renewed => {
                    login = self.login(trip, Some(&login)).await?;
                    renewed = true;
                }
                200..=299 => return Ok(answer),
                // Not about this request, but about this service or the moment.
                408 | 425 | 429 => return Err(Failure::of(&answer, true)),
                401 | 403 | 407 => return Err(Failure::of(&answer, false)),
                400..=499 => return Ok(answer),
                500.. => return Err(Failure::of(&answer, true)),
                _ => return Err(Failure::of(&answer, false)),
            }
        }
    }

    fn url(&self, path: &[String]) -> Url {
        let mut url = self.base.clone();
        // A base URL with a host always has a path.
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path);
        }
        url
    }

    /// The login to use: a new one if there is none, if it has expired, or if it is the refused one.
    async fn login(
        &self,
        trip: &mut BankOperation<'_>,
        refused: Option<&HeaderValue>,
    ) -> Result<HeaderValue, Failure> {
        let held = timeout_at(trip.deadline, self.session.0.lock()).await;
        let mut held = held.map_err(|_| Failure::timed_out())?;
        if let Some(login) = held.as_ref()
            && login.until > Instant::now()
            && refused != Some(&login.header)
        {
            return Ok(login.header.clone());
        }
        *held = None;
        let ask = BankRequest::login(&self.config);
        let answer = self.call(&ask, None, trip).await?;
        let given = match (ask.judge)(&answer) {
            Verdict::Done(given) => BankLogin::of(&given),
            Verdict::Refused | Verdict::NotYet | Verdict::Nonsense => None,
        };
        // A login that fails tells nothing about the operation, which was not even asked for.
        let again = answer.status >= 500 || answer.status == 429;
        let login = given.ok_or_else(|| Failure::of(&answer, again))?;
        let header = login.header.clone();
        *held = Some(login);
        Ok(header)
    }

    /// The HTTP request of an operation.
    fn request<T>(
        &self,
        ask: &BankRequest<T>,
        login: Option<&HeaderValue>,
        trip: &BankOperation<'_>,
    ) -> RequestBuilder {
        let url = self.url(&ask.path);
        let mut request = trip.client.request(ask.method.clone(), url);
        if let Some(login) = login {
            request = request.header(AUTHORIZATION, login.clone());
        }
        if let Some(body) = &ask.body {
            request = request.json(body);
        }
        for (name, value) in &ask.headers {
            request = request.header(*name, value);
        }
        if let Ok(id) = HeaderValue::from_str(trip.request_id) {
            request = request.header(REQUEST_ID, id);
        }
        request
    }

    /// Makes one call and records it.
    async fn call<T>(
        &self,
        ask: &BankRequest<T>,
        login: Option<&HeaderValue>,
        trip: &mut BankOperation<'_>,
    ) -> Result<BankResponse, Failure> {
        if !(self.may_call)() {
            return Err(Failure::not_owner());
        }
        let left = trip.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(Failure::timed_out());
        }
        let mut request = self.request(ask, login, trip);
        let leg = leg(trip.request_id);
        if let Some(leg) = &leg {
            request = request.header(TRACEPARENT, leg.header());
        }
        let started = Instant::now();
        let mut status = None;
        let outcome = timeout(left.min(self.config.attempt_timeout.get()), async {
            let response = request.send().await?;
            status = Some(response.status());
            limited(response, ask.body_max).await
        })
        .await;
        if let Some(leg) = leg {
            let name = format!("bank {}", ask.operation);
            leg.ended(&name, trip.request_id, status.map(|it| it.as_u16()));
        }
        let (said, result) = described(outcome, status);
        let millis = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        tracing::info!(
            request_id = trip.request_id,
            operation = ask.operation,
            reference = ask.reference,
            status = status.map(|status| status.as_u16()),
            trouble = result
                .is_err()
                .then_some(said.as_str())
                .filter(|_| status.is_none()),
            millis,
            "the bank was called"
        );
        trip.calls.push(BankCall {
            operation: ask.operation.to_owned(),
            reference: ask.reference.clone(),
            request: ask.redacted.clone(),
            status: status.map(|status| status.as_u16()),
            body: said,
            millis,
            correlation: trip.request_id.to_owned(),
        });
        result
    }
}

#[cfg(test)]
impl HttpGateway {
    /// Logs in, before a test makes attempts short.
    pub(super) async fn log_in(&self) {
        let mut trip = BankOperation {
            client: self.clients.here().unwrap(),
            deadline: self.deadline(),
            request_id: "login",
            asking: &|| (),
            calls: Vec::new(),
        };
        assert!(self.login(&mut trip, None).await.is_ok());
    }
}

/// The pauses between so many attempts: each is twice the one before, up to [`PAUSE_MAX`], plus its random part.
fn pauses(attempts: usize) -> impl Iterator<Item = Duration> {
    let doubled = iter::successors(Some(PAUSE_MIN), |last| Some((*last * 2).min(PAUSE_MAX)));
    let drawn = |pause: Duration| {
        let mut part = [0_u8; 2];
        // Without randomness the pause stays as it is.
        rand::fill(&mut part).ok();
        pause + pause * u32::from(u16::from_le_bytes(part)) / u32::from(u16::MAX)
    };
    doubled.take(attempts.saturating_sub(1)).map(drawn)
}

/// Reads an answer up to its limit and decodes it; `None` when it is longer.
async fn limited(mut response: Response, max: usize) -> reqwest::Result<Option<String>> {
    let kind = response.headers().get(CONTENT_TYPE).cloned();
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        if body.len().saturating_add(chunk.len()) > max {
            return Ok(None);
        }
        body.extend_from_slice(&chunk);
    }
    let kind = kind.as_ref().and_then(|kind| kind.to_str().ok());
    Ok(Some(decoded(&body, kind)))
}

type Outcome = Result<reqwest::Result<Option<String>>, tokio::time::error::Elapsed>;

/// The text of an outcome for the journal, and its meaning. An error's own words stay out: they name the URL, which
/// may name a person.
fn described(
    outcome: Outcome,
    status: Option<StatusCode>,
) -> (String, Result<BankResponse, Failure>) {
    let status = status.map(|status| status.as_u16());
    let (said, failure) = match outcome {
        Ok(Ok(Some(body))) => {
            let status = status.unwrap_or_default();
            return (for_the_journal(&body), Ok(BankResponse { status, body }));
        }
        Ok(Ok(None)) => ("(the answer is too long)", Failure::lost(status, false)),
        Err(_) => ("(no answer in time)", Failure::timed_out()),
        Ok(Err(why)) if why.is_timeout() => ("(no connection in time)", Failure::timed_out()),
        Ok(Err(why)) if why.is_connect() => ("(no connection)", Failure::lost(status, true)),
        Ok(Err(_)) => ("(the connection was lost)", Failure::lost(status, true)),
    };
    (said.to_owned(), Err(failure))
}

fn refused(answer: &BankResponse) -> BankError {
    BankError::Refused(BankRefusal {
        status: answer.status,
        body: to_be_shown(&answer.body),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest_and_have_a_random_part() {
        let usual = [100, 200, 400, 800, 1000, 1000].map(Duration::from_millis);
        let mut drawn = false;
        for _ in 0..100 {
            let found: Vec<_> = pauses(usual.len() + 1).collect();
            assert_eq!(found.len(), usual.len());
            for (pause, least) in found.iter().zip(usual) {
                assert!((least..=least * 2).contains(pause), "{found:?}");
                drawn |= *pause != least;
            }
        }
        assert!(drawn);
        assert_eq!(pauses(1).count() + pauses(0).count(), 0);
    }
}
