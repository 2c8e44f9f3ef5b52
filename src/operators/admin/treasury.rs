//! The treasury of every collector account, for operators: the whole account, including accounts that tenants share.

use actix_web::{HttpRequest, HttpResponse};
use caudal_actors::platform::realms;
use caudal_http::bodies::body;
use caudal_http::bodies::treasury::Treasury;
use caudal_http::current;
use caudal_http::errors::ApiError;
use caudal_http::rows;
use caudal_http::sheets::columns::COLLECTORS;
use caudal_ledger::tenants::{Mode, Tenant};
use futures_util::future::join_all;
use serde::Serialize;
use utoipa::ToSchema;

use super::shapes::List;
use super::{State, ok};

/// How many banks are asked concurrently.
const AT_ONCE: usize = 16;

body! {
    /// A realm whose money is on the account.
    pub(super) struct RealmBody as RealmOfCollector of(tenant: &Tenant, mode: Mode) {
        tenant: String = tenant.id.clone();
        mode: &'static str = mode.as_str();
    }
}

/// A collector account.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Collector)]
struct CollectorBody {
    realms: Vec<RealmBody>,
    /// Whether several realms share it: none of them sees its balance.
    shared: bool,
    treasury: Treasury,
}

/// Shows each collector account next to what the realms on it owe, as of one instant.
#[utoipa::path(
    get,
    path = "/admin/treasury",
    responses((status = 200, content((List<CollectorBody> = "application/json"), (String = "text/csv"), (String = "application/x-ndjson"), (String = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"))))
)]
pub(super) async fn list(
    admin_state: State,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    let engine = &admin_state.app.engine;
    let (platform, request_id) = (engine.platform(), current::request().id);
    let all: Vec<_> = engine.queries().collectors().values().cloned().collect();
    let mut items = Vec::with_capacity(all.len());
    for some in all.chunks(AT_ONCE) {
        let taken = some.iter().map(|on| {
            let asked = engine.queries().treasury_of(on.clone(), &request_id);
            async move { (on, asked.await) }
        });
        for (on, taken) in join_all(taken).await {
            let realms =
                realms(&platform).filter(|(tenant, mode)| on.realms.contains(&tenant.realm(*mode)));
            let realms: Vec<_> = realms
                .map(|(tenant, mode)| RealmBody::of(tenant, mode))
                .collect();
            items.push(CollectorBody {
                shared: realms.len() > 1,
                realms,
                treasury: Treasury::from(&taken?),
            });
        }
    }
    if let Some(style) = rows::style(&request) {
        let items = items.iter().map(|item| serde_json::json!(item));
        return Ok(rows::table(style, COLLECTORS, items));
    }
    Ok(ok(&List::of(items)))
}
