//! The public server: both families, health, the OpenAPI document and its pages.

pub mod catalogue;
pub mod document;

use std::net::{SocketAddr, TcpListener};
use std::sync::LazyLock;

use actix_web::dev::ServerHandle;
use actix_web::http::StatusCode;
use actix_web::middleware::{Condition, from_fn};
use actix_web::{App, HttpRequest, HttpResponse, guard, web};
use caudal_actors::failure::Failure;
use tracing_actix_web::TracingLogger;
use utoipa::OpenApi as _;
use utoipa::openapi::OpenApi;
use utoipa_actix_web::AppExt as _;
use utoipa_actix_web::service_config::ServiceConfig;

use crate::bodies::words;
use crate::http::errors::ApiError;
use crate::http::node::layer;
use crate::http::paths::{Paths, Table};
use crate::http::routes::Routes;
use crate::http::trace::Requests;
use crate::http::wire::{self, Listening};
use crate::http::words::Refusal;
use crate::http::{Door, frame};
use crate::notices;
use crate::pages::{About, Site};
use crate::{v1, wallet};

/// The pages of the public listener.
static PAGES: LazyLock<Site> = LazyLock::new(|| {
    Site::new(About {
        name: "Caudal",
        home: include_str!("pages/home.md"),
        document: openapi,
    })
});

/// A server that runs.
#[derive(Debug, Clone)]
pub struct Running {
    /// The address and port on which it listens.
    pub addr: SocketAddr,
    /// The handle that stops it.
    pub handle: ServerHandle,
}

/// Routes that a caller adds (the bench's no-op handler).
pub type Extra = Option<fn(&mut web::ServiceConfig)>;

/// Starts the public server, with further routes. When it is stopped, requests in flight have `how.grace` to finish;
/// a client that does not read its answer is cut off.
///
/// # Errors
/// When the listener cannot be used.
pub fn start(
    door: Door,
    listener: TcpListener,
    how: &Listening,
    extra: impl Fn(&mut web::ServiceConfig) + Clone + Send + 'static,
) -> std::io::Result<Running> {
    let addr = listener.local_addr()?;
    let door = web::Data::new(door);
    let paths: Paths = &PATHS;
    let nodes = door.node.is_some();
    let routes = web::Data::new(Routes::new(&door.measures, paths, true));
    let app = move || {
        App::new()
            .app_data(door.clone())
            .app_data(paths)
            .app_data(routes.clone())
            .wrap(Condition::new(nodes, from_fn(layer::layer)))
            .wrap(from_fn(frame::frame))
            .wrap(TracingLogger::<Requests>::new())
            .configure(batch_by_post_alone)
            .configure(|config| families(&mut ServiceConfig::new(config)))
            .configure(notices::routes)
            .service(web::resource("/livez").get(livez))
            .service(web::resource("/readyz").get(readyz))
            .configure(|config| PAGES.routes(config))
            .configure(extra.clone())
            .default_service(web::to(unknown))
    };
    let server = wire::listen(app, listener, how)?;
    let handle = server.handle();
    actix::spawn(server);
    Ok(Running { addr, handle })
}

/// The paths of the document; see [`Paths`].
static PATHS: LazyLock<Table> = LazyLock::new(|| Table::of(&openapi()));

/// The routes of both families.
fn families(config: &mut ServiceConfig) {
    config.configure(v1::routes).configure(wallet::routes);
}

/// Schemas that only appear inside others, and are not collected from the handlers.
#[derive(utoipa::OpenApi)]
#[openapi(
    paths(crate::notices::hear),
    components(schemas(
        words::AccountSortWord,
        words::AccountStatusWord,
        words::ListedStatusWord,
        words::VoucherSortWord,
        words::AgreementWord,
        words::AttemptWord,
        words::BankWordWord,
        words::BatchModeWord,
        words::BatchStatusWord,
        words::ConceptWord,
        words::CurrencyWord,
        words::DeliveryStatusWord,
        words::DifferenceWord,
        words::EnrolmentWord,
        words::EstadoWord,
        words::EventTypeWord,
        words::HeardWord,
        words::HoldStatusWord,
        words::KeyKindWord,
        words::KeyStateWord,
        words::LedgerTypeWord,
        words::LevelWord,
        words::OrderWord,
        words::OutcomeWord,
        words::PersonTypeWord,
        words::ReferenceTypeWord,
        words::RiskLevelWord,
        words::SenseWord,
        words::SentidoWord,
        words::SexWord,
        words::SignoWord,
        words::SilenceWord,
        words::SuspenseWord,
        words::SuspensionWord,
        words::TransferKindWord,
        words::TransferStatusWord,
        words::TroubleWord,
        words::WayWord,
        words::WebhookStatusWord,
        words::WebhookFormatWord,
        words::EventFilterWord,
        crate::http::catalogue::ErrorCode,
        crate::http::errors::ErrorBody,
        crate::http::errors::FieldError,
        crate::http::shapes::AmountDto,
        crate::http::shapes::CodeDto,
        crate::http::shapes::DayOrInstant,
        crate::http::shapes::MoneyDto,
        crate::v1::accounts::identity::Titular,
        crate::v1::accounts::kyc::UpdateAddress,
        crate::v1::transfers::To,
        crate::v1::batch::items::BatchItem,
        crate::v1::treasury::CollectorBody,
        crate::v1::treasury::BankSilence,
        crate::v1::treasury::ClientFunds,
        crate::v1::treasury::AccountCounts,
        crate::v1::treasury::InTransit,
        crate::v1::treasury::PositionBody,
        crate::wallet::tesoreria::bodies::CuentaRecaudadora,
        crate::wallet::tesoreria::bodies::CuentasPorEstado,
        crate::wallet::tesoreria::bodies::SaldoCliente,
        crate::wallet::tesoreria::bodies::Movimiento,
        crate::wallet::cuenta_request::DomicilioRequest,
        crate::wallet::cuentas::CuentaSort,
        crate::wallet::cuenta_body::Domicilio,
        crate::wallet::importe::Importe,
        crate::wallet::campos::FechaExterna
    ))
)]
struct Nested;

/// The OpenAPI document of the public server.
pub fn openapi() -> OpenApi {
    let (_, mut document) = App::new()
        .into_utoipa_app()
        .configure(families)
        .split_for_parts();
    document.merge(Nested::openapi());
    document::finish(&mut document);
    document
}

async fn livez() -> HttpResponse {
    crate::http::respond::json(StatusCode::OK, &serde_json::json!({"status": "alive"}))
}

/// Whether requests are taken here and writes are possible: of several nodes, only the owner of the log is ready.
pub async fn readyz(door: web::Data<Door>) -> Result<HttpResponse, ApiError> {
    if !door.gate.is_open() {
        return Err(Failure::ShuttingDown.into());
    }
    if !door.is_owners() {
        return Err(door.refusal());
    }
    door.ready().map_err(Failure::from)?;
    Ok(ready())
}

/// The answer of a service that is ready and has nothing to add.
pub fn ready() -> HttpResponse {
    crate::http::respond::json(StatusCode::OK, &serde_json::json!({"status": "ready"}))
}

/// Gives any other method than POST its answer here: `GET /v1/comprobantes/{id}` would take the path of a batch for
/// that of a voucher.
fn batch_by_post_alone(config: &mut web::ServiceConfig) {
    let others = web::resource("/v1/comprobantes/batch").guard(guard::Not(guard::Post()));
    config.service(others.to(unknown));
}

async fn unknown(request: HttpRequest) -> Result<HttpResponse, ApiError> {
    Err(match PATHS.methods(request.path()) {
        Some(methods) => Refusal::NoMethod { methods }.into(),
        None => Refusal::NoRoute.into(),
    })
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
