//! Whether a notice was signed by the bank, and just now; a stand-in until the bank's own module has
//! it, with the same names.

use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use caudal_actors::ports::Notice;
use caudal_ledger::time::Timestamp;
use secrecy::{ExposeSecret as _, SecretString};

/// How far a notice's time may be from ours, in seconds, in either direction.
const TOLERANCE_SECONDS: u64 = 5 * 60;
/// The most signatures that are looked at.
const SIGNATURES_MAX: usize = 16;

/// Why a notice is not believed or understood.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NoticeError {
    /// A header is not there or not what it should be, or no signature fits.
    #[error("no signature fits")]
    Signature,
    /// It was signed at another time.
    #[error("the notice is of another time")]
    Time,
    /// The body is not the JSON of a notice.
    #[error("the notice is not one JSON object with its members")]
    NotANotice,
}

/// The headers of a notice, as far as they are there and text.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Headers<'a> {
    /// `webhook-id`.
    pub id: Option<&'a str>,
    /// `webhook-timestamp`: seconds since 1970.
    pub timestamp: Option<&'a str>,
    /// `webhook-signature`: `v1,<base64>`, several with spaces between.
    pub signature: Option<&'a str>,
}

/// Whether the bank signed a notice, and just now.
///
/// # Errors
/// Why it is not to be believed.
pub fn verify(
    secret: &SecretString,
    headers: Headers<'_>,
    body: &[u8],
    now: Timestamp,
) -> Result<(), NoticeError> {
    let Headers {
        id: Some(id),
        timestamp: Some(timestamp),
        signature: Some(signatures),
    } = headers
    else {
        return Err(NoticeError::Signature);
    };
    let seconds: u64 = timestamp.parse().map_err(|_| NoticeError::Time)?;
    if seconds.abs_diff(now.millis() / 1_000) > TOLERANCE_SECONDS {
        return Err(NoticeError::Time);
    }
    let signed = [id.as_bytes(), b".", timestamp.as_bytes(), b".", body].concat();
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.expose_secret().as_bytes());
    let fits = |one: &str| {
        let tag = one.strip_prefix("v1,");
        let tag = tag.and_then(|tag| STANDARD.decode(tag).ok());
        tag.is_some_and(|tag| hmac::verify(&key, &signed, &tag).is_ok())
    };
    let mut signatures = signatures.split(' ').take(SIGNATURES_MAX);
    signatures
        .any(fits)
        .then_some(())
        .ok_or(NoticeError::Signature)
}

/// What a notice says; whose it is must have been verified.
///
/// # Errors
/// When it is not a notice.
pub fn read(body: &[u8]) -> Result<Notice, NoticeError> {
    let object: Result<serde_json::Map<_, _>, _> = serde_json::from_slice(body);
    object
        .map(|_| Notice::Other)
        .map_err(|_| NoticeError::NotANotice)
}
