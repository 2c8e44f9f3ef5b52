//! The courier's port to the outside: it carries one parcel to one address.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use caudal_ledger::events::Event;
use caudal_ledger::time::Timestamp;
use caudal_ledger::webhooks::WebhookFormat;

use super::LocalFuture;

/// A secret as it is stored in the store: sealed, so that only the sink can read it.
pub type SealedSecret = Vec<u8>;

/// The contents of a parcel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ParcelContents {
    /// An event of the log.
    Event(Box<Event>),
    /// A try that the tenant asked for, which belongs to no event.
    Test {
        /// An id of its own.
        id: String,
        /// The id of the webhook, for the body.
        webhook: String,
    },
}

/// One attempt to deliver.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Parcel {
    /// The request that caused the event, while that is known.
    pub caused_by: Option<Arc<str>>,
    /// The tenant to whom it is sent.
    pub tenant: String,
    /// The URL to which it is posted, as the tenant gave it.
    pub url: String,
    /// The secrets to sign with, the newest first; while one rotates, both count.
    pub secrets: Vec<SealedSecret>,
    /// The contents of the body.
    pub contents: ParcelContents,
    /// The format of the body.
    pub format: WebhookFormat,
    /// When the attempt begins: the time that is signed.
    pub at: Timestamp,
}

/// Why there was no answer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum NoResponse {
    /// The name of the host does not resolve.
    Unresolved,
    /// The service may not send to the URL or its address.
    Forbidden,
    /// The connection was refused or failed.
    Unconnected,
    /// No answer in time.
    TimedOut,
    /// The connection broke, or the answer is no HTTP.
    Broken,
    /// It could not be signed or rendered: a fault of ours.
    Unsendable,
}

impl NoResponse {
    /// Every kind of trouble.
    pub const ALL: [Self; 6] = [
        Self::Unresolved,
        Self::Forbidden,
        Self::Unconnected,
        Self::TimedOut,
        Self::Broken,
        Self::Unsendable,
    ];

    /// The stable name of the trouble.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unresolved => "host_unresolved",
            Self::Forbidden => "address_forbidden",
            Self::Unconnected => "connection_failed",
            Self::TimedOut => "timed_out",
            Self::Broken => "connection_broken",
            Self::Unsendable => "not_sendable",
        }
    }
}

/// How an attempt ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AttemptResult {
    /// The status of the answer, whichever it is, or why there was none.
    pub result: Result<u16, NoResponse>,
    /// How long the receiver asks to wait.
    pub retry_after: Option<Duration>,
    /// How long it took, in milliseconds.
    pub millis: u64,
}

impl AttemptResult {
    /// Whether the receiver has it: any 2xx, nothing else.
    pub fn is_delivered(&self) -> bool {
        matches!(self.result, Ok(200..=299))
    }
}

/// Carries parcels. It never follows a redirect, never waits longer than its limit, and sends to no forbidden address.
pub trait WebhookSink: Send + Sync + fmt::Debug + 'static {
    /// Makes one attempt.
    fn send(&self, parcel: Parcel) -> LocalFuture<'_, AttemptResult>;
}

/// Carries nothing: every try ends as one that could not be sent.
#[derive(Clone, Copy, Debug)]
pub struct NoSink;

impl WebhookSink for NoSink {
    fn send(&self, _: Parcel) -> LocalFuture<'_, AttemptResult> {
        Box::pin(std::future::ready(AttemptResult {
            result: Err(NoResponse::Unsendable),
            retry_after: None,
            millis: 0,
        }))
    }
}
