//! The public server: both families, health, the OpenAPI document and its pages.

use std::net::{SocketAddr, TcpListener};
use std::sync::LazyLock;

use actix_web::dev::ServerHandle;
use actix_web::http::StatusCode;
use actix_web::middleware::{Condition, from_fn};
use actix_web::{App, HttpRequest, HttpResponse, guard, web};
use caudal_actors::failure::Failure;
use caudal_api::document::{finish, nested};
use caudal_api::v1;
use caudal_api::wallet;
use caudal_bank::notices::route;
use caudal_http::errors::ApiError;
use caudal_http::node::layer;
use caudal_http::pages::{ListenerPages, Site};
use caudal_http::paths::{PathTable, Paths};
use caudal_http::respond;
use caudal_http::routes::Routes;
use caudal_http::trace::RequestSpans;
use caudal_http::wire::{self, Listening};
use caudal_http::words::Refusal;
use caudal_http::{AppState, frame, key_reads};
use tracing_actix_web::TracingLogger;
use utoipa::OpenApi as _;
use utoipa::openapi::OpenApi;
use utoipa_actix_web::AppExt as _;
use utoipa_actix_web::service_config::ServiceConfig;

/// The pages of the public listener.
static PAGES: LazyLock<Site> = LazyLock::new(|| {
    Site::new(ListenerPages {
        name: "Caudal",
        home: include_str!("server/home.md"),
        document: openapi,
    })
});

/// A server that runs.
pub(super) struct RunningServer {
    /// The address and port on which it listens.
    pub(super) addr: SocketAddr,
    /// The handle that stops it.
    pub(super) handle: ServerHandle,
}

/// Routes that a caller adds (the bench's no-op handler).
pub type Extra = Option<fn(&mut web::ServiceConfig)>;

/// Starts the public server, with further routes. When it is stopped, requests in flight have `how.grace` to finish;
/// a client that does not read its answer is cut off.
pub(super) fn start(
    app: AppState,
    listener: TcpListener,
    how: &Listening,
    extra: Extra,
) -> std::io::Result<RunningServer> {
    let addr = listener.local_addr()?;
    let app = web::Data::new(app);
    let paths: Paths = &PATHS;
    let nodes = app.node.is_some();
    let routes = web::Data::new(Routes::new(&app.measures, paths, true));
    let app = move || {
        App::new()
            .app_data(app.clone())
            .app_data(paths)
            .app_data(routes.clone())
            .wrap(from_fn(key_reads::count))
            .wrap(Condition::new(nodes, from_fn(layer::layer)))
            .wrap(from_fn(frame::frame))
            .wrap(TracingLogger::<RequestSpans>::new())
            .configure(batch_by_post_alone)
            .configure(|config| families(&mut ServiceConfig::new(config)))
            .configure(route::routes)
            .service(web::resource("/livez").get(livez))
            .service(web::resource("/readyz").get(readyz))
            .configure(|config| PAGES.routes(config))
            .configure(|config| extra.iter().for_each(|extra| extra(config)))
            .default_service(web::to(unknown))
    };
    let server = wire::listen(app, listener, how)?;
    let handle = server.handle();
    actix::spawn(server);
    Ok(RunningServer { addr, handle })
}

/// The paths of the document; see [`Paths`].
static PATHS: LazyLock<PathTable> = LazyLock::new(|| PathTable::of(&openapi()));

/// The routes of both families.
fn families(config: &mut ServiceConfig) {
    config.configure(v1::routes).configure(wallet::routes);
}

/// The operation that the bank calls.
#[derive(utoipa::OpenApi)]
#[openapi(paths(caudal_bank::notices::route::hear))]
struct Notices;

/// The OpenAPI document of the public server.
pub fn openapi() -> OpenApi {
    let (_, mut document) = App::new()
        .into_utoipa_app()
        .configure(families)
        .split_for_parts();
    document.merge(Notices::openapi());
    document.merge(nested());
    finish(&mut document);
    document
}

async fn livez() -> HttpResponse {
    respond::json(StatusCode::OK, &serde_json::json!({"status": "alive"}))
}

/// Whether requests are taken here and writes are possible: of several nodes, only the owner of the log is ready.
async fn readyz(app: web::Data<AppState>) -> Result<HttpResponse, ApiError> {
    if !app.gate.is_open() {
        return Err(Failure::ShuttingDown.into());
    }
    if !app.is_owners() {
        return Err(app.refusal());
    }
    app.ready().map_err(Failure::from)?;
    Ok(respond::ready())
}

/// Gives any other method than POST its answer here: `GET /v1/comprobantes/{id}` would take the path of a batch for
/// that of a voucher.
fn batch_by_post_alone(config: &mut web::ServiceConfig) {
    let others = web::resource("/v1/comprobantes/batch").guard(guard::Not(guard::Post()));
    config.service(others.to(unknown));
}

async fn unknown(request: HttpRequest) -> Result<HttpResponse, ApiError> {
    match PATHS.methods(request.path()) {
        Some(methods) => Err(Refusal::NoMethod { methods }.into()),
        None => PAGES.missing(&request, Refusal::NoRoute),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reference_of_the_document_resolves_and_every_operation_has_its_own_id() {
        let document = serde_json::to_value(openapi()).unwrap();
        let text = document.to_string();
        for reference in text.split("\"$ref\":\"#").skip(1) {
            let pointer = reference.split('"').next().unwrap();
            assert!(document.pointer(pointer).is_some(), "{pointer}");
        }
        let ids: Vec<_> = text
            .split("\"operationId\":\"")
            .skip(1)
            .map(|t| t.split('"').next())
            .collect();
        let distinct: std::collections::BTreeSet<_> = ids.iter().collect();
        assert_eq!(ids.len(), distinct.len());
    }
}
