//! Webhooks of all tenants: which are behind, which have stopped, and why.
//!
//! Only the host of a URL is shown: the rest may be a secret of the tenant.

use actix_web::HttpResponse;
use caudal_actors::failure::Failure;
use caudal_actors::platform::realms;
use caudal_actors::realms::OrderWebhook;
use caudal_http::bodies::body;
use caudal_http::bodies::webhooks::{ProgressBody, WebhookBody, webhook};
use caudal_http::declared::{declared, id};
use caudal_http::errors::{ApiError, HandlerResult};
use caudal_ledger::ids::RealmId;
use caudal_ledger::rejection::Rejection;
use caudal_ledger::tenants::Mode;
use caudal_ledger::webhooks::{WebhookId, WebhookOrder};
use reqwest::Url;

use super::shapes::List;
use super::{AdminState, PathPart, State, changes, ok, owner, requester};
use caudal_http::bodies::texts::Instant;

body! {
    /// A webhook as operators see it.
    pub(crate) struct Row as WebhookOfTenant by row(tenant: String, mode: Mode, found: WebhookBody) {
        /// The tenant's id.
        tenant_id: String = tenant;
        /// Live or test.
        mode: &'static str = mode.as_str();
        /// Its id.
        id: String = found.id;
        /// Where it is, without path and query.
        host: String = host(&found.url);
        /// As the tenant sees it.
        status: &'static str = found.status;
        /// How far it has come.
        progress: ProgressBody = found.progress;
        created_at: Instant = found.created_at;
        updated_at: Instant = found.updated_at;
    }
}

impl Row {
    /// Whether it gets no events until it is resumed.
    pub(crate) fn is_stopped(&self) -> bool {
        matches!(self.status, "parked" | "gone")
    }

    /// Its status as operators see it.
    pub(crate) fn shown_status(&self) -> &'static str {
        shown_status(self.status, &self.progress)
    }
}

/// The status of a webhook as operators see it: an active one whose last event was not taken is failing.
pub(crate) fn shown_status(status: &'static str, progress: &ProgressBody) -> &'static str {
    match status {
        "active" if progress.retrying > 0 => "failing",
        status => status,
    }
}

/// The host of a URL, with the port if the URL names one.
pub(crate) fn host(url: &str) -> String {
    let parsed = Url::parse(url).ok();
    let host = parsed.as_ref().and_then(Url::host_str).unwrap_or_default();
    match parsed.as_ref().and_then(Url::port) {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }
}

/// The webhooks of every realm.
pub(crate) async fn all(admin_state: &AdminState) -> Result<Vec<Row>, Failure> {
    let engine = &admin_state.app.engine;
    let mut rows = Vec::new();
    for (tenant, mode) in realms(&engine.platform()) {
        let realm: RealmId = tenant.realm(mode);
        for view in engine.queries().webhooks(realm).await? {
            rows.push(row(tenant.id.clone(), mode, webhook(realm, &view)));
        }
    }
    Ok(rows)
}

/// Lists the webhooks of all tenants, with how far each has come.
#[utoipa::path(
    get,
    path = "/admin/webhooks",
    responses((status = 200, body = List<Row>))
)]
pub(super) async fn list(admin_state: State) -> Result<HttpResponse, ApiError> {
    let rows = all(&admin_state).await?;
    Ok(ok(&List::of(rows)))
}

declared! {
    /// The id of a webhook, `whk_…`
    WebhookInPath = Path "id" as String
        => WebhookId: id(WebhookId::parse, Rejection::WebhookNotFound);
}

/// A webhook, and the tenant that it belongs to.
async fn one(admin_state: &AdminState, id: WebhookId) -> Result<Row, ApiError> {
    let engine = &admin_state.app.engine;
    let platform = engine.platform();
    let owner = owner(&platform, id.realm);
    let (tenant, mode) = owner.ok_or(Rejection::WebhookNotFound)?;
    let view = engine.queries().webhook(id.realm, id.number).await?;
    Ok(row(tenant.id.clone(), mode, webhook(id.realm, &view)))
}

/// Resumes a webhook where it stopped: one that took nothing for 3 days, that answered 410, or that was paused.
#[utoipa::path(
    post,
    path = "/admin/webhooks/{id}/resume",
    params(WebhookInPath),
    responses((status = 200, body = Row))
)]
pub(super) async fn resume(admin_state: State, path: PathPart) -> HandlerResult {
    let id = WebhookInPath::read(&path)?;
    let status = |row: &Row| serde_json::json!({"status": row.status});
    // No other change may come in between: the audit log has the states before and after.
    let _alone = admin_state.changes.lock().await;
    let before = status(&one(&admin_state, id).await?);
    let order = WebhookOrder::Change {
        url: None,
        types: None,
        description: None,
        format: None,
        active: Some(true),
    };
    let order = OrderWebhook {
        number: id.number,
        order,
    };
    let ledger = admin_state.app.engine.ledger();
    ledger.order(id.realm, order, requester()).await?;
    let row = one(&admin_state, id).await?;
    let (answer, after) = (ok(&row), status(&row));
    Ok(changes::attach(answer, &before, &after))
}
