//! Notices: messages that the bank sends unasked. First [`verify`] that the bank sent it, then [`read`] its contents.
//!
//! **Signature.** Standard Webhooks: HMAC-SHA256 over `{id}.{timestamp}.{body}`, in base64 after `v1,`. The key is
//! the secret's own bytes. There may be several signatures, for a secret that is being changed; one that fits is
//! enough. A notice whose time is too far from ours is refused, so that an overheard one cannot be replayed later.
//!
//! **Failure.** A notice that is refused changes nothing. The bank sends it again twice, and whatever is still
//! missing then is found by asking the bank.

pub mod route;

use caudal_actors::ports::{Notice, RawNotice};
use caudal_http::secret_lines::lines;
use caudal_ledger::cvu::Cvu;
use caudal_ledger::ids::OriginId;
use caudal_ledger::time::Timestamp;
use caudal_ledger::transfers::Counterparty;
use caudal_signing::{ID, Message, SIGNATURE, TIMESTAMP};
use secrecy::SecretString;
use serde::Deserialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::NAME;
use super::read::{self, JsonMembers, UnreadableMember};
use super::text::decoded;

/// The longest notice, in bytes.
pub const NOTICE_MAX: usize = 64 * 1024;
/// How far a notice's time may be from ours, in seconds, in either direction.
pub const TOLERANCE_SECONDS: u64 = 5 * 60;
/// The most signatures that are checked.
pub const SIGNATURES_MAX: usize = 16;
/// The shortest secret that is accepted, in bytes.
const SECRET_MIN: usize = 32;
/// The longest name of a kind of notice, in characters.
const KIND_MAX: usize = 64;

/// Why a notice is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NoticeError {
    /// A header is not there.
    #[error("the header {0} is missing")]
    Missing(&'static str),
    /// A header is not what it should be.
    #[error("the header {0} is malformed")]
    Malformed(&'static str),
    /// It was signed too long ago.
    #[error("the notice is older than 5 minutes")]
    TooOld,
    /// It was signed in the future, by our clock.
    #[error("the notice is more than 5 minutes ahead")]
    TooNew,
    /// No signature fits.
    #[error("no signature fits")]
    Signature,
    /// Our own secret is too short to verify with.
    #[error("there is no secret to verify with")]
    NoSecret,
    /// The body is longer than any notice.
    #[error("the notice is too long")]
    TooLong,
    /// The body is not the JSON of a notice.
    #[error("the notice is not one JSON object with its members")]
    NotANotice,
    /// A member has an invalid value.
    #[error("{0} is malformed")]
    Member(&'static str),
}

/// What the bank reports, as the document has it.
#[derive(ToSchema)]
#[schema(as = BankNotice)]
#[expect(dead_code, reason = "what the document shows is never made")]
pub struct NoticeBody {
    /// Its id.
    id: String,
    /// Always `event`.
    object: String,
    /// When it happened.
    #[schema(format = DateTime)]
    created: String,
    /// What happened: `transfer.cvu.received`, `transfer.cvu.completed`, `transfer.cvu.rejected`,
    /// `transfer.cvu.reversed` or `endpoint.created`; others are answered and ignored.
    #[schema(rename = "type")]
    kind: String,
    /// The transfer, as the bank has it.
    #[schema(value_type = Object, required = false)]
    data: Option<()>,
}

/// Whether a notice is signed with one of the lines of a secret, recently by one of its clocks. The use of an older line
/// is logged.
pub(super) fn is_signed(secret: &SecretString, notice: &RawNotice<'_>) -> bool {
    let signed = |secret: &str| {
        let fresh = |now: &Timestamp| verify(secret, notice, *now).is_ok();
        notice.once(NAME, secret, || notice.clocks.iter().any(fresh))
    };
    let place = lines(secret).position(signed);
    if place.is_some_and(|place| place > 0) {
        tracing::info!(secret = "notice_secret", "an older secret was used");
    }
    place.is_some()
}

/// Checks that the bank signed a notice, and did so recently.
///
/// # Errors
/// Why the notice is not to be believed.
pub fn verify(secret: &str, notice: &RawNotice<'_>, now: Timestamp) -> Result<(), NoticeError> {
    let secret = secret.as_bytes();
    if secret.len() < SECRET_MIN {
        return Err(NoticeError::NoSecret);
    }
    let header = |name| notice.header(name).ok_or(NoticeError::Missing(name));
    let (id, timestamp, signatures) = (header(ID)?, header(TIMESTAMP)?, header(SIGNATURE)?);
    if read::id(id).is_none() {
        return Err(NoticeError::Malformed(ID));
    }
    let seconds = seconds(timestamp).ok_or(NoticeError::Malformed(TIMESTAMP))?;
    let body = notice.body;
    if body.len() > NOTICE_MAX {
        return Err(NoticeError::TooLong);
    }
    let present = now.millis() / 1_000;
    if seconds.saturating_add(TOLERANCE_SECONDS) < present {
        return Err(NoticeError::TooOld);
    }
    if seconds > present.saturating_add(TOLERANCE_SECONDS) {
        return Err(NoticeError::TooNew);
    }
    let message = Message {
        id,
        timestamp,
        body,
    };
    if message.is_signed(secret, signatures, SIGNATURES_MAX) {
        Ok(())
    } else {
        Err(NoticeError::Signature)
    }
}

/// Seconds since 1970, as decimal digits only.
fn seconds(text: &str) -> Option<u64> {
    let good = (1..=12).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    good.then(|| text.parse().ok()).flatten()
}

/// Reads a notice that came with this `Content-Type` at this instant; its signature must have been verified.
///
/// # Errors
/// When it is not a notice, or a member that decides is invalid.
pub fn read(
    body: &[u8],
    content_type: Option<&str>,
    now: Timestamp,
) -> Result<Notice, NoticeError> {
    if body.len() > NOTICE_MAX {
        return Err(NoticeError::TooLong);
    }
    let body = decoded(body, content_type);
    let envelope: Envelope<'_> =
        serde_json::from_str(&body).map_err(|_| NoticeError::NotANotice)?;
    read::id(&envelope.id).ok_or(NoticeError::Member("id"))?;
    if envelope.object != "event" {
        return Err(NoticeError::Member("object"));
    }
    let created = envelope
        .created
        .map(|created| serde_json::from_str(created.get()));
    let created = created.and_then(|created: Result<&str, _>| created.ok());
    let at = created.and_then(Timestamp::parse).unwrap_or(now);
    let data = envelope.data.map(RawValue::get);
    match envelope.kind.as_str() {
        "transfer.cvu.received" => received(data, at),
        "transfer.cvu.completed" => settled(data, "COMPLETED"),
        "transfer.cvu.rejected" => settled(data, "FAILED"),
        "transfer.cvu.reversed" => reversed(data),
        "endpoint.created" => Ok(Notice::Created),
        other => {
            let kind = read::line(other, KIND_MAX);
            if kind.is_empty() {
                return Err(NoticeError::Member("type"));
            }
            Ok(Notice::Other { kind })
        }
    }
}

#[derive(Deserialize)]
struct Envelope<'a> {
    id: String,
    object: String,
    /// It says only when the notice was written.
    #[serde(borrow, default)]
    created: Option<&'a RawValue>,
    #[serde(rename = "type")]
    kind: String,
    #[serde(borrow, default)]
    data: Option<&'a RawValue>,
}

fn members(data: Option<&str>) -> Result<JsonMembers<'_>, NoticeError> {
    let data = data.and_then(|data| serde_json::from_str(data).ok());
    data.ok_or(NoticeError::Member("data"))
}

/// Names a member of the data.
fn within(field: UnreadableMember) -> NoticeError {
    NoticeError::Member(match field {
        "id" => "data.id",
        "coelsa_id" => "data.coelsa_id",
        "origin_id" => "data.origin_id",
        "status" => "data.status",
        "value" => "data.value",
        "type" => "data.type",
        "details" | "origin_credit" | "cvu" => "data.details.origin_credit.cvu",
        _ => "data",
    })
}

/// An id that decides and must be there.
fn id(data: &JsonMembers<'_>, name: UnreadableMember) -> Result<String, NoticeError> {
    let text = data.text(name).map_err(within)?;
    text.as_deref().and_then(read::id).ok_or(within(name))
}

fn origin(data: &JsonMembers<'_>) -> Result<OriginId, NoticeError> {
    let found = data.origin("origin_id").map_err(within)?;
    found.ok_or(within("origin_id"))
}

fn received(data: Option<&str>, at: Timestamp) -> Result<Notice, NoticeError> {
    let data = members(data)?;
    // Other arrivals, such as money that comes back, have notices of their own.
    let kind = data.text("type").map_err(within)?;
    if !matches!(kind.as_deref(), Some("TRANSFERENCIA" | "CREDIN")) {
        return Err(within("type"));
    }
    let details = data.object("details").map_err(within)?;
    let credit = details.object("origin_credit").map_err(within)?;
    let cvu = credit.text("cvu").map_err(within)?;
    let concept: Option<String> = data.shown("concept");
    Ok(Notice::Received {
        coelsa_id: id(&data, "coelsa_id")?,
        bank_id: id(&data, "id")?,
        cvu: cvu
            .and_then(|cvu| Cvu::parse(&cvu).ok())
            .ok_or(within("cvu"))?,
        amount: data.pesos().map_err(within)?,
        from: Counterparty {
            concept: read::concept(concept.as_deref()),
            ..details.party("origin_debit")
        },
        at,
    })
}

fn settled(data: Option<&str>, status: &str) -> Result<Notice, NoticeError> {
    let data = members(data)?;
    // A notice that contradicts itself is refused.
    if data.text("status").map_err(within)?.as_deref() != Some(status) {
        return Err(within("status"));
    }
    let origin = origin(&data)?;
    let transfer = data.transfer().map_err(within)?;
    match transfer.moved.amount {
        Some(_) => Ok(Notice::Settled { origin, transfer }),
        None => Err(within("value")),
    }
}

fn reversed(data: Option<&str>) -> Result<Notice, NoticeError> {
    let data = members(data)?;
    let reason: Option<String> = data.shown("reason");
    Ok(Notice::Reversed {
        origin: origin(&data)?,
        bank_id: id(&data, "id")?,
        coelsa_id: id(&data, "coelsa_id")?,
        amount: data.pesos().map_err(within)?,
        reason: read::reason(reason.as_deref()),
    })
}
