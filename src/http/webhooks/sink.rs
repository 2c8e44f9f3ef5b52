//! The courier's port over HTTP: renders one parcel, signs it, sends it to its URL, and reports the result.
//!
//! **Shape.** The status line decides. The rest of the answer is read only so that the connection can be used again,
//! and is discarded.
//!
//! **Bounds.** [`AttemptLimits`]; as many idle connections for each receiver as tries of one webhook may be under
//! way, for [`IDLE_TIME`]; [`RETRY_AFTER_MAX`] for the pause that a receiver may ask for.
//!
//! **Threads.** One sink serves all tenants and any number of arbiters, with one client for each
//! runtime.
//!
//! **Failure.** Each kind of failure is one trouble of the port. A broken connection or a timeout does not mean that
//! the receiver has got nothing: it recognises repeats by their id.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use actix_web::http::header::HttpDate;
use caudal_actors::courier::IN_FLIGHT;
use caudal_actors::ports::LocalFuture;
use caudal_actors::ports::webhooks::{
    AttemptResult, NoResponse, Parcel, ParcelContents, WebhookSink,
};
use caudal_ledger::webhooks::WebhookFormat;
use caudal_signing::{self as signing, Message};
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue, RETRY_AFTER};
use reqwest::{Client, ClientBuilder, Response, redirect, retry};
use serde_json::json;
use tokio::time::{Instant, timeout_at};

use super::guard::{self, AllowedAddresses};
use super::resolve::{CheckedResolver, NameLookup, ResolveError};
use super::seal::{SealError, Sealer};
use crate::bodies::events;
use crate::clients::{Clients, USER_AGENT};
use crate::traces::{Leg, TRACEPARENT, leg};
use crate::walletentidad::notices;

/// How long an idle connection is kept: less than servers do, so that few are found closed.
pub(crate) const IDLE_TIME: Duration = Duration::from_secs(3);
/// The longest pause that a receiver may ask for.
pub(crate) const RETRY_AFTER_MAX: Duration = Duration::from_hours(24);

/// How long an attempt may take, and how much of an answer is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AttemptLimits {
    /// How long a name may take to resolve.
    pub lookup: Duration,
    /// How long a connection may take, the lookup and the handshake of TLS included.
    pub connect: Duration,
    /// How long an attempt may take until its status is there.
    pub total: Duration,
    /// How long the rest of the answer may take, within `total`.
    pub rest: Duration,
    /// How many bytes of that rest are read.
    pub body: usize,
}

impl AttemptLimits {
    /// How long an attempt may take, in milliseconds, unless set.
    pub const MILLIS: u64 = 10_000;

    /// The limits of an attempt that may take this long: no part of it may take longer.
    pub fn within(total: Duration) -> Self {
        let part = |seconds| Duration::from_secs(seconds).min(total);
        Self {
            lookup: part(4),
            connect: part(5),
            total,
            rest: part(1),
            body: 64 * 1024,
        }
    }
}

impl Default for AttemptLimits {
    fn default() -> Self {
        Self::within(Duration::from_millis(Self::MILLIS))
    }
}

/// Carries parcels over HTTP.
pub struct HttpSink {
    reach: Arc<AllowedAddresses>,
    sealer: Sealer,
    limits: AttemptLimits,
    clients: Clients,
}

impl HttpSink {
    /// A sink with these limits and this resolver; nothing is sent before the first parcel.
    ///
    /// # Errors
    /// When a client cannot be made, for instance where no certificates are installed.
    pub fn with(
        reach: AllowedAddresses,
        sealer: Sealer,
        limits: AttemptLimits,
        lookup: Arc<dyn NameLookup>,
    ) -> reqwest::Result<Self> {
        let reach = Arc::new(reach);
        let checked = CheckedResolver::new(Arc::clone(&reach), lookup, limits.lookup);
        let local = reach.is_loopback();
        let make = move || {
            let usual = Client::builder().https_only(!local);
            let made = client(usual, checked.clone(), limits);
            // A first look must work where no certificates are installed; then no server is trusted.
            made.or_else(|why| {
                if local {
                    client(
                        Client::builder().tls_certs_only([]),
                        checked.clone(),
                        limits,
                    )
                } else {
                    Err(why)
                }
            })
        };
        Ok(Self {
            reach,
            sealer,
            limits,
            clients: Clients::new(make)?,
        })
    }

    async fn attempt(&self, parcel: &Parcel) -> AttemptResult {
        let since = Instant::now();
        let leg = parcel.caused_by.as_deref().and_then(leg);
        let answered = self.post(parcel, since, leg).await;
        let millis = u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX);
        let now = parcel.at.millis().saturating_add(millis);
        let response = answered.as_ref();
        let sent = AttemptResult {
            result: response
                .map_err(|trouble| *trouble)
                .map(|it| it.status().as_u16()),
            retry_after: response.ok().and_then(|it| retry_after(it.headers(), now)),
            millis,
        };
        log(parcel, sent.result, millis);
        if let (Some(leg), Some(cause)) = (leg, &parcel.caused_by) {
            leg.ended("webhook delivery", cause, sent.result.ok());
        }
        let Ok(response) = answered else {
            return sent;
        };
        let until = since + self.limits.total;
        let rest = until.min(Instant::now() + self.limits.rest);
        // However this ends: a connection whose answer was not read whole is closed.
        timeout_at(rest, read(response, self.limits.body))
            .await
            .ok();
        sent
    }

    /// Posts a parcel; when this returns, the head of the answer has arrived.
    async fn post(
        &self,
        parcel: &Parcel,
        since: Instant,
        leg: Option<Leg>,
    ) -> Result<Response, NoResponse> {
        let url = guard::parse(&parcel.url, &self.reach).map_err(|why| {
            tracing::debug!(%why, "a webhook's URL is none to send to");
            NoResponse::Forbidden
        })?;
        let unsendable = |why: Unsendable| {
            let tenant = parcel.tenant.as_str();
            tracing::error!(%why, tenant, "a webhook cannot be sent");
            NoResponse::Unsendable
        };
        let (headers, body) = self.letter(parcel, leg).map_err(unsendable)?;
        let client = self.clients.here();
        let client = client.ok_or_else(|| unsendable(Unsendable::Client))?;
        let request = client.post(url).headers(headers).body(body);
        match timeout_at(since + self.limits.total, request.send()).await {
            Err(_) => Err(NoResponse::TimedOut),
            Ok(Err(why)) => {
                let trouble = trouble(&why);
                // A URL may hold something as good as a key.
                let why = why.without_url();
                let why: &(dyn Error + 'static) = &why;
                tracing::debug!(why, "a webhook got no answer");
                Err(trouble)
            }
            Ok(Ok(response)) => Ok(response),
        }
    }

    /// The headers and the body; the bytes that are signed are the bytes that are sent.
    fn letter(
        &self,
        parcel: &Parcel,
        leg: Option<Leg>,
    ) -> Result<(HeaderMap, Vec<u8>), Unsendable> {
        let (id, body) = render(parcel)?;
        let timestamp = (parcel.at.millis() / 1_000).to_string();
        let message = Message {
            id: &id,
            timestamp: &timestamp,
            body: &body,
        };
        let sign = |sealed: &Vec<u8>| {
            let secret = self.sealer.open(&parcel.tenant, sealed)?;
            Ok(message.sign(secret.bytes()))
        };
        let signatures: Result<Vec<_>, SealError> = parcel.secrets.iter().map(sign).collect();
        let signatures = signatures?;
        if signatures.is_empty() {
            return Err(Unsendable::NoSecret);
        }
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        for (name, value) in [
            (signing::ID, &id),
            (signing::TIMESTAMP, &timestamp),
            (signing::SIGNATURE, &signatures.join(" ")),
        ] {
            let value = HeaderValue::from_str(value).map_err(|_| Unsendable::Header(name))?;
            headers.insert(name, value);
        }
        if let Some(id) = &parcel.caused_by {
            for (name, value) in [
                ("x-request-id", Some(id.as_ref().to_owned())),
                (TRACEPARENT, leg.map(|leg| leg.header())),
            ] {
                // A value that only serves tracing is left out if it cannot stand in a header.
                if let Some(Ok(value)) = value.map(HeaderValue::try_from) {
                    headers.insert(name, value);
                }
            }
        }
        Ok((headers, body))
    }
}

/// The log line of a try: with the event and its subject, by which the request that caused it is found.
fn log(parcel: &Parcel, result: Result<u16, NoResponse>, millis: u64) {
    let (event, about) = match &parcel.contents {
        ParcelContents::Event(event) => (event.id.to_string(), events::about(event)),
        ParcelContents::Test { id, .. } => (id.clone(), None),
    };
    let (tenant, status) = (parcel.tenant.as_str(), result.ok());
    let request_id = parcel.caused_by.as_deref();
    let trouble = result.err().map(NoResponse::as_str);
    if matches!(result, Ok(200..=299)) {
        tracing::debug!(
            request_id,
            tenant,
            event,
            about,
            status,
            millis,
            "an event was delivered"
        );
    } else {
        tracing::info!(
            request_id,
            tenant,
            event,
            about,
            status,
            trouble,
            millis,
            "an event was not taken"
        );
    }
}

impl WebhookSink for HttpSink {
    fn send(&self, parcel: Parcel) -> LocalFuture<'_, AttemptResult> {
        Box::pin(async move { self.attempt(&parcel).await })
    }
}

impl fmt::Debug for HttpSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpSink")
            .field("reach", &self.reach)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

/// Why a parcel cannot even be tried.
#[derive(Debug, thiserror::Error)]
enum Unsendable {
    #[error("{0}")]
    Secret(#[from] SealError),
    #[error("it has no secret")]
    NoSecret,
    #[error("its body cannot be rendered: {0}")]
    Body(#[from] serde_json::Error),
    #[error("{0} is no text of a header")]
    Header(&'static str),
    #[error("there is no client here")]
    Client,
}

fn client(
    builder: ClientBuilder,
    checked: CheckedResolver,
    limits: AttemptLimits,
) -> reqwest::Result<Client> {
    builder
        .user_agent(USER_AGENT)
        .dns_resolver(Arc::new(checked))
        .connect_timeout(limits.connect)
        .redirect(redirect::Policy::none())
        .retry(retry::never())
        .no_proxy()
        .pool_max_idle_per_host(IN_FLIGHT)
        .pool_idle_timeout(IDLE_TIME)
        .build()
}

/// The id of a parcel and its body.
fn render(parcel: &Parcel) -> Result<(String, Vec<u8>), serde_json::Error> {
    match &parcel.contents {
        ParcelContents::Event(event) => {
            if let WebhookFormat::Walletentidad = parcel.format
                && let Some(notice) = notices::notice(event)?
            {
                return Ok((event.id.to_string(), serde_json::to_vec(&notice)?));
            }
            // Events without a notice go out in the usual form, if the webhook names their type.
            let body = events::event(&parcel.tenant, event);
            let bytes = serde_json::to_vec(&body)?;
            Ok((body.id, bytes))
        }
        ParcelContents::Test { id, webhook } if parcel.format == WebhookFormat::Walletentidad => {
            let body = notices::test(id, webhook);
            Ok((id.clone(), serde_json::to_vec(&body)?))
        }
        ParcelContents::Test { id, webhook } => {
            let body = json!({
                "id": id,
                "sequence": 0,
                "type": events::TEST.0,
                "timestamp": parcel.at.to_string(),
                "data": { "webhookId": webhook },
            });
            Ok((id.clone(), serde_json::to_vec(&body)?))
        }
    }
}

/// Reads an answer to its end, to a limit, or until it breaks; nothing of it is kept.
async fn read(mut response: Response, most: usize) {
    let mut left = most;
    while let Ok(Some(chunk)) = response.chunk().await {
        match left.checked_sub(chunk.len()) {
            Some(rest) => left = rest,
            None => return,
        }
    }
}

/// The trouble of a failure without an answer.
fn trouble(why: &reqwest::Error) -> NoResponse {
    let mut cause: Option<&(dyn Error + 'static)> = Some(why);
    while let Some(one) = cause {
        match one.downcast_ref() {
            Some(ResolveError::Unresolved) => return NoResponse::Unresolved,
            Some(ResolveError::Forbidden { .. }) => return NoResponse::Forbidden,
            None => cause = one.source(),
        }
    }
    // A connection that took too long was never made: the receiver has seen nothing.
    if why.is_connect() {
        NoResponse::Unconnected
    } else if why.is_timeout() {
        NoResponse::TimedOut
    } else {
        NoResponse::Broken
    }
}

/// How long a receiver asks to be left alone, in seconds or until a date; `now` is in milliseconds
/// since 1970.
fn retry_after(headers: &HeaderMap, now: u64) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let asked = if digits {
        // A number that is too large means a long time.
        text.parse().map_or(RETRY_AFTER_MAX, Duration::from_secs)
    } else {
        let date: HttpDate = text.parse().ok()?;
        let until = SystemTime::from(date).duration_since(UNIX_EPOCH).ok()?;
        until.saturating_sub(Duration::from_millis(now))
    };
    Some(asked.min(RETRY_AFTER_MAX))
}
