//! The check that a client would write for a webhook, from the text of Standard Webhooks 1.0 and without any
//! code of ours.
//!
//! The signed content is `webhook-id`, `webhook-timestamp` and the body as received, joined by full stops;
//! the key is the base64 after `whsec_`; the header holds signatures separated by spaces, each a version, a
//! comma and base64; one match is enough; the timestamp is in seconds and must be near.

use aws_lc_rs::hmac::{HMAC_SHA256, Key, verify};
use base64::prelude::{BASE64_STANDARD, Engine as _};

/// How far a timestamp may be off, in seconds.
pub const NEAR: u64 = 300;

/// The reason why a message is not accepted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Doubt {
    /// A header is missing or malformed.
    Header(&'static str),
    /// Its timestamp is too far in the past or in the future.
    Time,
    /// No signature matches.
    Signature,
}

/// Checks that a message was signed with a secret, near `now`, in seconds since 1970.
pub fn check<'a>(
    secret: &str,
    header: impl Fn(&str) -> Option<&'a str>,
    body: &[u8],
    now: u64,
) -> Result<(), Doubt> {
    let there = |name| header(name).ok_or(Doubt::Header(name));
    let id = there("webhook-id")?;
    let timestamp = there("webhook-timestamp")?;
    let signatures = there("webhook-signature")?;
    let seconds: u64 = match timestamp.parse() {
        Ok(seconds) if !id.is_empty() && !id.contains('.') => seconds,
        _ => return Err(Doubt::Header("webhook-id or webhook-timestamp")),
    };
    if now.abs_diff(seconds) > NEAR {
        return Err(Doubt::Time);
    }
    let encoded = secret.strip_prefix("whsec_").unwrap();
    let key = Key::new(HMAC_SHA256, &BASE64_STANDARD.decode(encoded).unwrap());
    let mut content = format!("{id}.{timestamp}.").into_bytes();
    content.extend_from_slice(body);
    for signature in signatures.split(' ') {
        let Some(("v1", encoded)) = signature.split_once(',') else {
            continue;
        };
        let Ok(given) = BASE64_STANDARD.decode(encoded) else {
            continue;
        };
        if verify(&key, &content, &given).is_ok() {
            return Ok(());
        }
    }
    Err(Doubt::Signature)
}
