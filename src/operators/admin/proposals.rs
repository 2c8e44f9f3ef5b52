//! What the request of an operation would change, field by field, before anybody carries it out.

use caudal_http::AppState;
use caudal_http::body::Body;
use caudal_ledger::people::audit::FieldChange;
use caudal_ledger::tenants::Tenant;
use caudal_ledger::tenants::orders::TenantChange;

use super::changes;
use super::requests::{ChangePlatform, ChangeTenant, rules};
use super::shapes::{PlatformBody, TenantBody};

/// The fields that a request would change now; none of an operation that changes no fields.
pub(super) fn fields(app: &AppState, action: &str, subject: &str, body: &str) -> Vec<FieldChange> {
    match action {
        "changeTenant" => tenant(app, subject, body),
        "changePlatform" => platform(app, body),
        _ => Vec::new(),
    }
}

/// The change of a tenant that a request asks for.
pub(super) fn change_of(old: &Tenant, sent: ChangeTenant) -> TenantChange {
    let banks = sent.banks.map(|sent| sent.over(&old.banks));
    let limits = sent.limits.as_ref();
    TenantChange {
        name: sent.name,
        policy: sent.policy.map(|sent| sent.over(old.policy)),
        limits: limits.map(|sent| old.limits.changed(sent.inherited)),
        total_limits: limits.map(|sent| old.total_limits.changed(sent.total)),
        fees: sent.fees.map(rules),
        provider: sent.provider.map(|sent| sent.over(old.provider.clone())),
        live_bank: banks.as_ref().map(|banks| banks.live.clone()),
        test_bank: banks.map(|banks| banks.test),
        live: sent.realms.as_ref().and_then(|realms| realms.live),
        test: sent.realms.as_ref().and_then(|realms| realms.test),
    }
}

/// The fields of a tenant that the body of a request would change now; none where either is gone or cannot be read.
fn tenant(app: &AppState, id: &str, body: &str) -> Vec<FieldChange> {
    let platform = app.engine.platform();
    let sent = Body::parse(body.as_bytes()).and_then(ChangeTenant::read);
    let (Some(old), Ok(sent)) = (platform.tenants.get(id), sent) else {
        return Vec::new();
    };
    let change = change_of(old, sent);
    let before = TenantBody::of(app, old);
    let after = TenantBody::after(app, old, change);
    changes::between(&changes::state(&before), &changes::state(&after))
}

/// The fields of the platform's settings that the body of a request would change now.
fn platform(app: &AppState, body: &str) -> Vec<FieldChange> {
    let old = app.engine.platform();
    let Ok(sent) = Body::parse(body.as_bytes()).and_then(ChangePlatform::read) else {
        return Vec::new();
    };
    let mut new = old.as_ref().clone();
    if let Some(limits) = sent.limits {
        new.limits = old.limits.changed(limits.into());
    }
    if let Some(fees) = sent.fees {
        new.fees = rules(fees);
    }
    let [before, after] = [old.as_ref(), &new].map(|it| changes::state(&PlatformBody::from(it)));
    changes::between(&before, &after)
}
