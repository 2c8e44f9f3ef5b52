//! API keys: issued and shown once, with scopes and networks; listed by prefix, rotated with overlap, revoked at once.
//!
//! Where any tenant's policy needs a second person, issuing or rotating a live key does, too. Its text is then in the
//! answer to the approval and nowhere else: whoever asked never sees it, and no store has it.
//!
//! When a key was last used is kept only in memory, so a use writes nothing, and after a start the time is unknown
//! until the next use.

use std::collections::BTreeSet;

use actix_web::HttpResponse;
use caudal_actors::failure::Failure;
use caudal_actors::platform::PlatformOrder;
use caudal_http::AppState;
use caudal_http::body::Body;
use caudal_http::body::read::{instant, integer, line, text};
use caudal_http::errors::{ApiError, HandlerResult};
use caudal_http::keys::Issued;
use caudal_http::request::request;
use caudal_http::words::{Choices, Mistake};
use caudal_ledger::rejection::Rejection;
use caudal_ledger::tenants::scopes::{Network, SCOPES, Scope};
use caudal_ledger::tenants::{ApiKey, Mode, Platform};
use caudal_ledger::time::Timestamp;

use super::access::{Acting, created};
use super::approvals::{self, ApprovalBody};
use super::shapes::{KeyBody, List};
use super::tenants::TenantInPath;
use super::{PathPart, State, ok, relations};
use caudal_http::declared::declared;

/// How long a rotated key keeps working, unless the request says otherwise, in seconds: a day.
pub(super) const OVERLAP_SECONDS: u64 = 24 * 60 * 60;
/// The longest that a rotated key may keep working, in seconds: a week.
pub(super) const OVERLAP_SECONDS_MAX: u64 = 7 * 24 * 60 * 60;
/// The longest lifetime that can be set for a key, counted from its issue, in seconds: ten years.
const LIFETIME_SECONDS_MAX: u64 = 10 * 366 * 24 * 60 * 60;
/// The most addresses and networks of a key.
const NETWORKS_MAX: usize = 32;
/// The longest label, in characters.
const LABEL_MAX: usize = 80;

/// Creates a key under an unused id.
fn make(
    app: &AppState,
    platform: &Platform,
    tenant: &str,
    mode: Mode,
    label: Option<String>,
) -> Result<Issued, ApiError> {
    loop {
        let made = app.keyring.issue(tenant, mode, label.clone());
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
    let key = platform.keys.get(id).cloned();
    Ok(key.ok_or(Rejection::KeyNotFound)?)
}

/// Issues a key to a tenant: returns its text, which is shown only this once, and the record that is kept.
///
/// # Errors
/// When the tenant does not exist, has no bank of that mode, or has too many keys.
pub async fn issue(
    app: &AppState,
    tenant: &str,
    wanted: IssueKey,
) -> Result<(String, ApiKey), ApiError> {
    let mode = wanted.mode;
    relations::has_bank(app, tenant, mode)?;
    let ends_at = wanted.ends_at(app.engine.now())?;
    let platform = app.engine.platform();
    let Issued { text, record } = make(app, &platform, tenant, mode, wanted.label)?;
    let id = record.id.clone();
    let order = PlatformOrder::IssueKey(ApiKey {
        ends_at,
        scopes: wanted.scopes,
        networks: wanted.networks.into_iter().flatten().collect(),
        ..record
    });
    let platform = app.engine.operators().administer(order).await?;
    tracing::info!(tenant, key = id, "key issued");
    Ok((text, kept(&platform, &id)?))
}

/// The keys of a tenant, newest first.
pub(crate) fn of_tenant<'a>(platform: &'a Platform, tenant: &str) -> Vec<&'a ApiKey> {
    let keys = platform.keys.values();
    let mut found: Vec<_> = keys.filter(|key| key.tenant == tenant).collect();
    found.sort_by_key(|key| std::cmp::Reverse((key.created_at, key.id.clone())));
    found
}

/// Lists the keys of a tenant, newest first; never their secrets.
#[utoipa::path(
    get,
    path = "/admin/tenants/{id}/keys",
    params(TenantInPath),
    responses((status = 200, body = List<KeyBody>))
)]
pub(super) async fn list(admin_state: State, path: PathPart) -> HandlerResult {
    let platform = admin_state.app.engine.platform();
    let tenant = platform.tenant(&path)?;
    let found = of_tenant(&platform, &tenant.id).into_iter();
    let items = found.map(|key| KeyBody::of(&admin_state.app, key, None));
    Ok(ok(&List::of(items.collect())))
}

request! {
    /// A new key.
    strict pub struct IssueKey as NewKey {
        /// `live` or `test`.
        mode: Mode = required("mode", text(mode)) as String { pattern = "^(live|test)$" };
        /// For people.
        label: Option<String> = optional("label", line(LABEL_MAX)) as Option<String> { max_length = 80 };
        /// What it may do; everything when absent.
        scopes: Option<Vec<Scope>> = optional("scopes", scopes)
            as Option<Vec<String>> { example = json!(["read"]) };
        /// From where it may be used; from everywhere when absent.
        networks: Option<Vec<Network>> = optional("ipAllow", networks)
            as Option<Vec<String>> { max_items = 32, example = json!(["203.0.113.7", "198.51.100.0/24"]) };
        /// The first instant at which it no longer works; never when absent.
        expires_at: Option<Timestamp> = optional("expiresAt", text(instant)) as Option<String>;
        /// The same in seconds from now.
        expires_in: Option<u64> = optional("expiresIn", integer(1, LIFETIME_SECONDS_MAX)) as Option<u64>;
        => |fields| if expires_at.is_some() && expires_in.is_some() {
            fields.mistake("expiresIn", Mistake::Together { other: "expiresAt" });
        };
    }
}

request! {
    /// How long the old key goes on.
    strict struct RotateKey as KeyRotation {
        /// In seconds; a day when absent, 0 ends it at once.
        overlap: Option<u64> = optional("overlapSeconds", integer(0, OVERLAP_SECONDS_MAX))
            as Option<u64> { maximum = 604800 };
    }
}

/// Issues a key. This answer alone has its whole text; of a key that waited for a second person, the answer to the
/// approval.
#[utoipa::path(
    post,
    path = "/admin/tenants/{id}/keys",
    params(TenantInPath),
    request_body(content = IssueKey),
    responses((status = 201, body = KeyBody),
        (status = 202, body = ApprovalBody, description = "It waits for a second person."))
)]
pub(super) async fn post(
    admin_state: State,
    path: PathPart,
    acting: Acting,
    sent: Body,
) -> HandlerResult {
    let (app, tenant) = (&admin_state.app, path.as_str());
    let platform = app.engine.platform();
    platform.tenant(tenant)?;
    let wanted = IssueKey::read(sent)?;
    if takes_two(&platform, wanted.mode, &acting) {
        relations::has_bank(app, tenant, wanted.mode)?;
        let now = app.engine.now();
        wanted.ends_at(now)?;
        platform.may_issue(tenant, wanted.mode, now)?;
        return approvals::ask(&admin_state, &acting).await;
    }
    let (text, key) = issue(app, tenant, wanted).await?;
    Ok(created(&KeyBody::of(app, &key, Some(text)), key.id))
}

/// Whether issuing or rotating a key of a mode has to wait for a second person: of a live key it does as soon as any
/// tenant's policy needs one for anything. A live key moves money, and the money of tenants may be on one account.
fn takes_two(platform: &Platform, mode: Mode, acting: &Acting) -> bool {
    mode == Mode::Live && platform.has_four_eyes() && acting.second.is_none()
}

impl IssueKey {
    /// A key of a mode with all scopes, from everywhere, that never expires.
    pub const fn of(mode: Mode) -> Self {
        Self {
            mode,
            label: None,
            scopes: None,
            networks: None,
            expires_at: None,
            expires_in: None,
        }
    }

    fn ends_at(&self, now: Timestamp) -> Result<Option<Timestamp>, ApiError> {
        if self.expires_at.is_some_and(|end| end <= now) {
            return Err(ApiError::field("expiresAt", Mistake::InThePast));
        }
        let after = |seconds| now.plus_millis(millis(seconds));
        Ok(self.expires_at.or_else(|| self.expires_in.map(after)))
    }
}

fn millis(seconds: u64) -> u64 {
    seconds.saturating_mul(1000)
}

/// A list of at least one and at most so many texts, each of which can be read.
fn texts<T>(raw: &str, most: usize, read: impl Fn(&str) -> Option<T>) -> Option<Vec<T>> {
    let texts: Option<Vec<String>> = serde_json::from_str(raw).ok();
    let texts = texts.filter(|texts| (1..=most).contains(&texts.len()))?;
    texts.iter().map(|text| read(text)).collect()
}

fn scopes(raw: &str) -> Result<Vec<Scope>, Mistake> {
    let read = texts(raw, SCOPES.len(), Scope::parse);
    let once = |read: &Vec<Scope>| read.iter().collect::<BTreeSet<_>>().len() == read.len();
    let choices = Choices::of(&SCOPES);
    read.filter(once).ok_or(Mistake::NotScopes { choices })
}

fn networks(raw: &str) -> Result<Vec<Network>, Mistake> {
    let read = texts(raw, NETWORKS_MAX, Network::parse);
    read.ok_or(Mistake::NotNetworks { max: NETWORKS_MAX })
}

pub(super) fn mode(text: &str) -> Result<Mode, Mistake> {
    match text {
        "live" => Ok(Mode::Live),
        "test" => Ok(Mode::Test),
        _ => Err(Mistake::NotAMode),
    }
}

declared! {
    /// Its id
    KeyInPath = Path "id" as String;
}

/// Issues another key in place of this one, which works on for `overlapSeconds`.
#[utoipa::path(
    post,
    path = "/admin/keys/{id}/rotate",
    params(KeyInPath),
    request_body(content = RotateKey),
    responses((status = 201, body = KeyBody),
        (status = 202, body = ApprovalBody, description = "It waits for a second person."))
)]
pub(super) async fn rotate(
    admin_state: State,
    path: PathPart,
    acting: Acting,
    sent: Body,
) -> HandlerResult {
    let RotateKey { overlap } = RotateKey::read(sent)?;
    let (app, id) = (&admin_state.app, path.as_str());
    let platform = app.engine.platform();
    let old = kept(&platform, id)?;
    relations::has_bank(app, &old.tenant, old.mode)?;
    if takes_two(&platform, old.mode, &acting) {
        let now = app.engine.now();
        platform.decide_end(id, now, false, now)?;
        platform.may_issue(&old.tenant, old.mode, now)?;
        return approvals::ask(&admin_state, &acting).await;
    }
    let new = make(app, &platform, &old.tenant, old.mode, None)?;
    let id = new.record.id.clone();
    let order = PlatformOrder::RotateKey {
        id: old.id.clone(),
        new: new.record,
        overlap: millis(overlap.unwrap_or(OVERLAP_SECONDS)),
    };
    let platform = app.engine.operators().administer(order).await?;
    tracing::info!(tenant = old.tenant, key = old.id, new = id, "key rotated");
    let key = kept(&platform, &id)?;
    Ok(created(&KeyBody::of(app, &key, Some(new.text)), key.id))
}

/// Revokes a key: from this answer on it does not work.
#[utoipa::path(
    delete,
    path = "/admin/keys/{id}",
    params(KeyInPath),
    responses((status = 204, description = "revoked"))
)]
pub(super) async fn revoke(admin_state: State, path: PathPart) -> HandlerResult {
    let id = path.into_inner();
    let order = PlatformOrder::RevokeKey(id.clone());
    admin_state.operators().administer(order).await?;
    tracing::info!(key = id, "key revoked");
    Ok(HttpResponse::NoContent().finish())
}
