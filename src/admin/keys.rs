//! Keys: issued and shown once, listed by prefix, rotated with overlap, revoked at once.

use actix_web::http::StatusCode;
use actix_web::{HttpResponse, web};
use caudal_actors::failure::Failure;
use caudal_actors::platform::PlatformOrder;
use caudal_ledger::rejection::Rejection;
use caudal_ledger::tenants::{ApiKey, Mode, Platform};
use caudal_ledger::time::Timestamp;
use serde::Serialize;

use super::shapes::List;
use super::{OperatorDesk, relations};
use crate::http::Door;
use crate::http::body::Body;
use crate::http::body::read::{integer, line, text};
use crate::http::errors::ApiError;
use crate::http::request::request;
use crate::http::respond::json;
use crate::http::words::Mistake;
use crate::keys::{self, Issued};

/// How long a rotated key goes on, unless the request says otherwise, in seconds: a day.
pub const OVERLAP_SECONDS: u64 = 24 * 60 * 60;
/// The longest that a rotated key may go on, in seconds: a week.
pub const OVERLAP_SECONDS_MAX: u64 = 7 * 24 * 60 * 60;
/// The longest label, in characters.
const LABEL_MAX: usize = 80;

type Answer = Result<HttpResponse, ApiError>;

/// A key as it is listed: never its secret.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct KeyBody {
    id: String,
    prefix: String,
    mode: &'static str,
    label: Option<String>,
    /// The whole key; only in the answer that made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    /// `active`, `ending` (it works until `expiresAt`), `expired` or `revoked`.
    status: &'static str,
    created_at: String,
    expires_at: Option<String>,
}

fn body(key: &ApiKey, text: Option<String>, now: Timestamp) -> KeyBody {
    let status = match (key.revoked, key.ends_at) {
        (true, _) => "revoked",
        (false, None) => "active",
        (false, Some(end)) if now < end => "ending",
        (false, Some(_)) => "expired",
    };
    KeyBody {
        id: key.id.clone(),
        prefix: keys::prefix(key),
        mode: key.mode.as_str(),
        label: key.label.clone(),
        key: text,
        status,
        created_at: key.created_at.to_string(),
        expires_at: key.ends_at.map(|end| end.to_string()),
    }
}

/// Makes a key whose id nobody has.
fn make(
    door: &Door,
    platform: &Platform,
    tenant: &str,
    mode: Mode,
    label: Option<String>,
) -> Result<Issued, ApiError> {
    loop {
        let made = door.keyring.issue(tenant, mode, label.clone());
        let made = made.map_err(|why| {
            tracing::error!(%why, "no key could be made");
            ApiError::from(Failure::Overloaded)
        })?;
        if !platform.keys.contains_key(&made.record.id) {
            return Ok(made);
        }
    }
}

fn kept(platform: &Platform, id: &str) -> Result<ApiKey, ApiError> {
    Ok(platform
        .keys
        .get(id)
        .cloned()
        .ok_or(Rejection::KeyNotFound)?)
}

/// Issues a key to a tenant: its text, to be shown this once, and what is kept of it.
///
/// # Errors
/// When the tenant does not exist, has no bank of that mode, or has too many keys.
pub async fn issue(
    door: &Door,
    tenant: &str,
    mode: Mode,
    label: Option<String>,
) -> Result<(String, ApiKey), ApiError> {
    relations::has_bank(door, tenant, mode)?;
    let Issued { text, record } = make(door, &door.engine.platform(), tenant, mode, label)?;
    let id = record.id.clone();
    let platform = door
        .engine
        .administer(PlatformOrder::IssueKey(record))
        .await?;
    tracing::info!(tenant, key = id, "key issued");
    Ok((text, kept(&platform, &id)?))
}

/// `GET /admin/tenants/{id}/keys`: newest first.
pub async fn list(desk: web::Data<OperatorDesk>, path: web::Path<String>) -> Answer {
    let platform = desk.door.engine.platform();
    let tenant = platform.tenant(&path)?;
    let now = desk.door.engine.now();
    let mut found: Vec<_> = platform
        .keys
        .values()
        .filter(|k| k.tenant == tenant.id)
        .collect();
    found.sort_by_key(|key| std::cmp::Reverse((key.created_at, key.id.clone())));
    let items: Vec<_> = found.into_iter().map(|key| body(key, None, now)).collect();
    Ok(json(StatusCode::OK, &List::of(items)))
}

request! {
    /// A new key.
    admin struct IssueKey {
        /// `live` or `test`.
        mode: Mode = required("mode", text(mode));
        /// For people.
        label: Option<String> = optional("label", line(LABEL_MAX));
    }
}

request! {
    /// How long the old key goes on.
    admin struct RotateKey {
        /// In seconds; a day when absent, 0 ends it at once.
        overlap: Option<u64> = optional("overlapSeconds", integer(0, OVERLAP_SECONDS_MAX));
    }
}

/// `POST /admin/tenants/{id}/keys`
pub async fn post(desk: web::Data<OperatorDesk>, path: web::Path<String>, sent: Body) -> Answer {
    desk.door.engine.platform().tenant(&path)?;
    let IssueKey { mode, label } = IssueKey::read(sent)?;
    let (text, key) = issue(&desk.door, &path, mode, label).await?;
    let now = desk.door.engine.now();
    Ok(json(StatusCode::CREATED, &body(&key, Some(text), now)))
}

fn mode(text: &str) -> Result<Mode, Mistake> {
    match text {
        "live" => Ok(Mode::Live),
        "test" => Ok(Mode::Test),
        _ => Err(Mistake::NotAMode),
    }
}

/// `POST /admin/keys/{id}/rotate`: another key in place of this one, which goes on for a while.
pub async fn rotate(desk: web::Data<OperatorDesk>, path: web::Path<String>, sent: Body) -> Answer {
    let RotateKey { overlap } = RotateKey::read(sent)?;
    let platform = desk.door.engine.platform();
    let old = kept(&platform, &path)?;
    relations::has_bank(&desk.door, &old.tenant, old.mode)?;
    let made = make(&desk.door, &platform, &old.tenant, old.mode, None)?;
    let id = made.record.id.clone();
    let order = PlatformOrder::RotateKey {
        id: old.id.clone(),
        new: made.record,
        overlap: overlap.unwrap_or(OVERLAP_SECONDS).saturating_mul(1000),
    };
    let platform = desk.door.engine.administer(order).await?;
    tracing::info!(tenant = old.tenant, key = old.id, new = id, "key rotated");
    let key = kept(&platform, &id)?;
    let now = desk.door.engine.now();
    Ok(json(StatusCode::CREATED, &body(&key, Some(made.text), now)))
}

/// `DELETE /admin/keys/{id}`: it works no longer from this answer on.
pub async fn revoke(desk: web::Data<OperatorDesk>, path: web::Path<String>) -> Answer {
    let id = path.into_inner();
    let order = PlatformOrder::RevokeKey(id.clone());
    desk.door.engine.administer(order).await?;
    tracing::info!(key = id, "key revoked");
    Ok(HttpResponse::NoContent().finish())
}
