//! Tenants and the platform's own settings.

use actix_web::HttpResponse;
use caudal_actors::banks::Relation;
use caudal_actors::failure::Failure;
use caudal_actors::platform::{NewTenant, PlatformOrder, TenantChange};
use caudal_http::AppState;
use caudal_http::body::Body;
use caudal_http::current;
use caudal_http::errors::{ApiError, HandlerResult};
use caudal_ledger::limits::{Limits, TotalLimits};
use caudal_ledger::tenants::four_eyes::{raises, raises_total};
use caudal_ledger::tenants::{BankRelations, Mode, Platform, Policy, Provider, Tenant};
use serde_json::Value;

use super::access::{Acting, created};
use super::approvals::{self, ApprovalBody};
use super::fees::can_be_charged;
use super::requests::{ChangePlatform, ChangeTenant, CreateTenant, rules};
use super::shapes::{List, PlatformBody, TenantBody};
use super::{AdminState, PathPart, State, changes, ok, relations};
use caudal_http::declared::declared;

/// Creates a tenant with its two realms.
///
/// # Errors
/// When the store takes no writes.
pub async fn create(app: &AppState, new: NewTenant) -> Result<Tenant, ApiError> {
    let id = new.id.clone();
    let shard = app.keyring.shard();
    let order = PlatformOrder::CreateTenant(NewTenant { shard, ..new });
    let platform = app.engine.operators().administer(order).await?;
    tracing::info!(tenant = id, "tenant created");
    Ok(platform.tenant(&id)?.clone())
}

/// An id that no tenant has.
pub fn new_id() -> String {
    format!("tnt_{}", uuid::Uuid::now_v7().simple())
}

/// Lists the tenants, oldest first.
#[utoipa::path(
    get,
    path = "/admin/tenants",
    responses((status = 200, body = List<TenantBody>))
)]
pub(super) async fn list(admin_state: State) -> HttpResponse {
    let platform = admin_state.app.engine.platform();
    let mut found: Vec<_> = platform.tenants.values().collect();
    found.sort_by_key(|tenant| (tenant.created_at, tenant.live));
    let items = found.into_iter();
    let items = items.map(|it| TenantBody::of(&admin_state.app, it));
    ok(&List::of(items.collect()))
}

/// Creates a tenant with its two realms.
#[utoipa::path(
    post,
    path = "/admin/tenants",
    request_body(content = CreateTenant),
    responses((status = 201, body = TenantBody))
)]
pub(super) async fn post(admin_state: State, sent: Body) -> HandlerResult {
    let sent = CreateTenant::read(sent)?;
    let none = BankRelations::default();
    let banks = sent.banks.map_or(none.clone(), |sent| sent.over(&none));
    let (live, test) = {
        let shard = admin_state.app.keyring.shard();
        admin_state.app.engine.platform().next_realms(shard)
    };
    for (mode, realm) in [(Mode::Live, live), (Mode::Test, test)] {
        let relation = Relation {
            tenant: String::new(),
            realm,
            mode,
            own: banks.of(mode).clone(),
        };
        relations::check(&admin_state.app, &relation)?;
    }
    let limits = sent.limits.map(|it| (it.inherited, it.total));
    let (limits, total) = limits.unwrap_or_default();
    let fees = sent.fees.map(rules).unwrap_or_default();
    can_be_charged(&admin_state.app, &[], &fees).await?;
    let new = NewTenant {
        shard: admin_state.app.keyring.shard(),
        id: new_id(),
        name: sent.name,
        policy: sent
            .policy
            .map_or_else(Policy::default, |sent| sent.over(Policy::default())),
        limits: Limits::default().changed(limits),
        total_limits: TotalLimits::default().changed(total),
        fees,
        banks,
        provider: sent
            .provider
            .map_or_else(Provider::default, |sent| sent.over(Provider::default())),
    };
    let tenant = create(&admin_state.app, new).await?;
    let body = TenantBody::of(&admin_state.app, &tenant);
    Ok(created(&body, tenant.id))
}

declared! {
    /// Its id
    TenantInPath = Path "id" as String;
}

/// Reads a tenant.
#[utoipa::path(
    get,
    path = "/admin/tenants/{id}",
    params(TenantInPath),
    responses((status = 200, body = TenantBody))
)]
pub(super) async fn read(admin_state: State, path: PathPart) -> HandlerResult {
    let platform = admin_state.app.engine.platform();
    let body = TenantBody::of(&admin_state.app, platform.tenant(&path)?);
    Ok(ok(&body))
}

/// Changes a tenant; what is not sent stays.
#[utoipa::path(
    patch,
    path = "/admin/tenants/{id}",
    params(TenantInPath),
    request_body(content = ChangeTenant),
    responses((status = 200, body = TenantBody),
        (status = 202, body = ApprovalBody, description = "It waits for a second person."))
)]
pub(super) async fn change(
    admin_state: State,
    path: PathPart,
    acting: Acting,
    sent: Body,
) -> HandlerResult {
    // In a task of its own, so that a realm that rests for the change goes on even if the operator's connection ends.
    let work = async move { changed(&admin_state, &path, &acting, sent).await };
    let work = current::answering(current::request(), work);
    let done = actix_web::rt::spawn(work).await;
    done.map_err(|_| Failure::OutcomeUnknown)?
}

/// Changes the tenant, at once or once a second person has approved. A change of its bank relations needs one as soon as
/// any tenant's policy needs one for anything: whoever chooses the bank decides which money arrived.
pub(super) async fn changed(
    admin_state: &AdminState,
    id: &str,
    acting: &Acting,
    sent: Body,
) -> HandlerResult {
    let _turn = admin_state.changes.lock().await;
    let platform = admin_state.app.engine.platform();
    let old = platform.tenant(id)?.clone();
    let change = changes::change_of(&old, ChangeTenant::read(sent)?);
    if let Some(fees) = &change.fees {
        can_be_charged(&admin_state.app, &[old.live, old.test], fees).await?;
    }
    let new = change.clone().over(&old);
    for mode in [Mode::Live, Mode::Test] {
        if new.banks.of(mode) != old.banks.of(mode) {
            let relation = Relation {
                own: new.banks.of(mode).clone(),
                ..Relation::of(&old, mode)
            };
            relations::check(&admin_state.app, &relation)?;
        }
    }
    let relates = new.banks != old.banks && platform.has_four_eyes();
    if acting.second.is_none() && (relates || takes_two(&platform, &old, &change)) {
        return approvals::ask(admin_state, acting).await;
    }
    let before = changes::state(&TenantBody::of(&admin_state.app, &old));
    let platform = admin_state.operators().change_tenant(&old, change).await?;
    tracing::info!(tenant = old.id, "tenant changed");
    let after = TenantBody::of(&admin_state.app, platform.tenant(&old.id)?);
    Ok(changes::answer(&before, &after))
}

/// Whether a change of a tenant needs a second person: a raise of limits does where the tenant's policy says so, and so
/// does a change that weakens the four-eyes rules themselves.
fn takes_two(platform: &Platform, old: &Tenant, change: &TenantChange) -> bool {
    let eyes = old.policy.four_eyes;
    let above = &platform.limits;
    let inherited = change.limits.as_ref();
    let inherited = inherited.is_some_and(|new| raises(&old.limits, above, new, above));
    let total = change.total_limits.as_ref();
    let total = total.is_some_and(|new| raises_total(&old.total_limits, new));
    let weaker = change
        .policy
        .is_some_and(|new| eyes.is_weakened_by(&new.four_eyes));
    (eyes.limit_raises && (inherited || total)) || weaker
}

/// Reads the limits and fees of tenants that set none.
#[utoipa::path(
    get,
    path = "/admin/platform",
    responses((status = 200, body = PlatformBody))
)]
pub(super) async fn platform(admin_state: State) -> HttpResponse {
    let platform = admin_state.app.engine.platform();
    ok(&PlatformBody::from(platform.as_ref()))
}

/// A tenant, as [`read`] shows it.
///
/// # Errors
/// When there is none with this id.
pub(crate) fn state(app: &AppState, id: &str) -> Result<Value, ApiError> {
    let platform = app.engine.platform();
    Ok(changes::state(&TenantBody::of(app, platform.tenant(id)?)))
}

/// What the platform sets, as [`platform`] shows it.
pub(crate) fn state_of_platform(app: &AppState) -> Value {
    changes::state(&PlatformBody::from(app.engine.platform().as_ref()))
}

/// Changes the limits and fees of tenants that set none; what is not sent stays.
#[utoipa::path(
    patch,
    path = "/admin/platform",
    request_body(content = ChangePlatform),
    responses((status = 200, body = PlatformBody),
        (status = 202, body = ApprovalBody, description = "It waits for a second person."))
)]
pub(super) async fn settings(admin_state: State, acting: Acting, sent: Body) -> HandlerResult {
    let _turn = admin_state.changes.lock().await;
    let old = admin_state.app.engine.platform();
    let sent = ChangePlatform::read(sent)?;
    let limits = sent.limits.map(|sent| old.limits.changed(sent.into()));
    let fees = sent.fees.map(rules);
    if let Some(fees) = &fees {
        let realms = old.tenants.values().flat_map(|it| [it.live, it.test]);
        can_be_charged(&admin_state.app, &realms.collect::<Vec<_>>(), fees).await?;
    }
    let above = (&old.limits, limits.as_ref().unwrap_or(&old.limits));
    let raises = |it: &Tenant| {
        let wary = it.policy.four_eyes.limit_raises;
        wary && raises(&it.limits, above.0, &it.limits, above.1)
    };
    if acting.second.is_none() && old.tenants.values().any(raises) {
        return approvals::ask(&admin_state, &acting).await;
    }
    let order = PlatformOrder::ChangePlatform { limits, fees };
    let platform = admin_state.operators().administer(order).await?;
    tracing::info!("platform changed");
    let [before, after] = [&old, &platform].map(|it| PlatformBody::from(it.as_ref()));
    Ok(changes::answer(&changes::state(&before), &after))
}
