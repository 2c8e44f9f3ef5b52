//! The keys that sign a tenant's closed days.

use caudal_actors::engine::Engine;
use caudal_actors::failure::Failure;
use caudal_http::errors::HandlerResult;
use caudal_ledger::tenants::Mode;
use caudal_ledger::tenants::orders::PlatformOrder;
use serde::Serialize;
use utoipa::ToSchema;

use super::tenants::TenantInPath;
use super::{PathPart, State, changes, ok};

/// The public keys that sign the closed days of a tenant, as verifiers take them.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = SealKeys)]
struct SealKeysBody {
    /// The key of its live realm.
    live: String,
    /// The key of its test realm.
    test: String,
}

impl SealKeysBody {
    fn of(engine: &Engine, tenant: &str) -> Result<Self, Failure> {
        let platform = engine.platform();
        let tenant = platform.tenant(tenant)?;
        let key = |mode| engine.queries().seal_key(tenant.realm(mode));
        Ok(Self {
            live: key(Mode::Live)?,
            test: key(Mode::Test)?,
        })
    }
}

/// Reads the public keys that sign a tenant's closed days, for the tenant to publish.
///
/// After a rotation they are the new keys, with which days are signed once the next day is closed.
#[utoipa::path(
    get,
    path = "/admin/tenants/{id}/seal-keys",
    params(TenantInPath),
    responses((status = 200, body = SealKeysBody))
)]
pub(super) async fn read(admin_state: State, path: PathPart) -> HandlerResult {
    let keys = SealKeysBody::of(&admin_state.app.engine, &path)?;
    Ok(ok(&keys))
}

/// Lets new keys sign a tenant's closed days, in both of its realms.
///
/// The next closed day is signed with the old key and names the new one; the days after it are signed with the new key.
/// Whoever has the old key can follow that. Publish the new keys as well.
#[utoipa::path(
    post,
    path = "/admin/tenants/{id}/seal-keys/rotate",
    params(TenantInPath),
    responses((status = 200, body = SealKeysBody))
)]
pub(super) async fn rotate(admin_state: State, path: PathPart) -> HandlerResult {
    let _alone = admin_state.changes.lock().await;
    let (engine, id) = (&admin_state.app.engine, path.into_inner());
    let before = changes::state(&SealKeysBody::of(engine, &id)?);
    let order = PlatformOrder::RotateSealKeys(id.clone());
    engine.operators().administer(order).await?;
    let keys = SealKeysBody::of(engine, &id)?;
    tracing::info!(tenant = id, "keys of closed days rotated");
    Ok(changes::answer(&before, &keys))
}
