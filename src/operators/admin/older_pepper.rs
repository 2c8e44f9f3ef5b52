//! What still needs a pepper that is being replaced, so that an operator knows when it can be removed.

use caudal_actors::failure::Failure;
use caudal_actors::platform::realms;
use caudal_http::AppState;
use serde::Serialize;
use utoipa::ToSchema;

/// What still needs an older pepper; it can be removed when all of it is 0.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = StatusOfOlderPepper)]
pub(super) struct OlderPepper {
    /// API keys that work.
    keys: usize,
    /// Credentials of people.
    people: usize,
    /// Webhooks, of which a secret that signs is sealed under it.
    webhooks: usize,
    /// Realms whose next closed day is signed under it.
    realms: usize,
}

impl OlderPepper {
    /// What needs it now; `None` while there is only one pepper.
    pub(super) async fn now(app: &AppState) -> Result<Option<Self>, Failure> {
        let (engine, keyring) = (&app.engine, &app.keyring);
        if keyring.older_peppers() == 0 {
            return Ok(None);
        }
        let (platform, now) = (engine.platform(), engine.now());
        let keys = platform.keys.values().filter(|key| key.works_at(now));
        let staff = engine.operators().staff();
        let people = staff.people.working();
        let mut webhooks = 0_usize;
        for (tenant, mode) in realms(&platform) {
            for view in engine.queries().webhooks(tenant.realm(mode)).await? {
                let mut signing = view.webhook.signing(now).into_iter();
                let needs = signing.any(|it| app.hooks.sealer.needs_older(&tenant.id, &it));
                webhooks = webhooks.strict_add(usize::from(needs));
            }
        }
        Ok(Some(Self {
            keys: keys.filter(|key| keyring.needs_older(key.pepper)).count(),
            people: people
                .filter(|person| keyring.needs_older(person.credential.pepper))
                .count(),
            webhooks,
            realms: engine.operators().realms_with_older_seal_key().await?,
        }))
    }
}
