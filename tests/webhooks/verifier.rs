//! What a client would write to check a webhook, from the text of Standard Webhooks 1.0 and nothing of ours.
//!
//! The signed content is `webhook-id`, `webhook-timestamp` and the body as it came, with full stops
//! between; the key is the base64 after `whsec_`; the header holds signatures with spaces between,
//! each a version, a comma and base64; one that fits is enough; the timestamp is in seconds and near.

use aws_lc_rs::hmac::{HMAC_SHA256, Key, verify};
use base64::prelude::{BASE64_STANDARD, Engine as _};

/// How far a timestamp may be away, in seconds.
pub const NEAR: u64 = 300;

/// Why a message is not believed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Doubt {
    /// A header is missing or malformed.
    Header(&'static str),
    /// It was signed long ago, or will be.
    Time,
    /// No signature fits.
    Signature,
}

/// Whether a message was signed with a secret, just now; `now` is in seconds since 1970.
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
