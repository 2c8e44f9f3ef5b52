//! Seals the secrets of webhooks anew under the newest pepper, while there is an older one. The secrets stay the same, so
//! receivers notice nothing, and soon no webhook needs the older pepper.
//!
//! **Failure.** A webhook that cannot be stored now, such as that of a closed realm, is sealed by a later round.

use std::sync::Arc;
use std::time::Duration;

use actix_web::rt;
use caudal_actors::engine::{Engine, Requester};
use caudal_actors::failure::Failure;
use caudal_actors::platform::realms;
use caudal_actors::realms::OrderWebhook;
use caudal_http::Hooks;
use caudal_ledger::webhooks::{Webhook, WebhookOrder};

/// The pause before a further round.
const PAUSE: Duration = Duration::from_secs(60);
/// The id of its orders, in place of that of a request.
const ID: &str = "resealing";

/// Seals all secrets anew, until none is left.
pub(super) async fn run(engine: Arc<Engine>, hooks: Arc<Hooks>) {
    while let Err(why) = round(&engine, &hooks).await {
        tracing::warn!(%why, "secrets of webhooks are still sealed under an older pepper");
        rt::time::sleep(PAUSE).await;
    }
}

/// Seals the secrets of every webhook. An error if one is left.
async fn round(engine: &Engine, hooks: &Hooks) -> Result<(), Failure> {
    let mut left = Ok(());
    for (tenant, mode) in realms(&engine.platform()) {
        let realm = tenant.realm(mode);
        for view in engine.queries().webhooks(realm).await? {
            let webhook = view.webhook;
            let Some(order) = order(hooks, &tenant.id, &webhook) else {
                continue;
            };
            let requester = Requester {
                keyed: None,
                request_id: ID.to_owned(),
                admitted: None,
            };
            let order = OrderWebhook {
                number: webhook.number,
                order,
            };
            let done = engine.ledger().order(realm, order, requester);
            if let Err(why) = done.await {
                left = Err(why);
            }
        }
    }
    left
}

/// The order that stores the secrets of a webhook anew; `None` if none needs an older pepper.
fn order(hooks: &Hooks, tenant: &str, webhook: &Webhook) -> Option<WebhookOrder> {
    let anew = webhook.secrets.iter().filter_map(|secret| {
        let anew = hooks.sealer.anew(tenant, &secret.sealed)?;
        Some((secret.sealed.clone(), anew))
    });
    let secrets: Vec<_> = anew.collect();
    (!secrets.is_empty()).then_some(WebhookOrder::Reseal { secrets })
}
