//! The bank's own API, as far as the service uses it: under `/v1`, and also without that, as its documentation writes
//! it.

use actix_web::http::StatusCode;
use actix_web::web::{Data, Json, JsonConfig, Path, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse, error::InternalError, web};
use serde::Deserialize;
use serde_json::json;

use super::answers::{Bank, error, failed};
use super::behaviours::Operation;
use super::book::{Create, Rename, SetAlias};
use super::enrolments::Enrol;
use super::worlds::Rail;
use super::{BODY_MAX, PASSWORD, control, payments};

/// All routes of the sandbox.
pub(super) fn configure(config: &mut ServiceConfig) {
    let bodies = JsonConfig::default()
        .limit(BODY_MAX)
        .content_type_required(false)
        .error_handler(|why, _| {
            let answer = error(StatusCode::BAD_REQUEST, "GE400", &why.to_string());
            InternalError::from_response(why, answer).into()
        });
    config
        .app_data(bodies)
        .configure(control::configure)
        .service(web::scope("/v1").configure(bank))
        .configure(bank)
        .default_service(web::to(async || {
            error(StatusCode::NOT_FOUND, "GE404", "No existe el recurso")
        }));
}

fn bank(config: &mut ServiceConfig) {
    let wallet = "/banks/322/accounts/{collector}/owner/wallet";
    config
        .route("/login/jwt", web::post().to(login))
        .route(&format!("{wallet}/cvu"), web::post().to(create))
        .route(&format!("{wallet}/alias"), web::post().to(set_alias))
        .route(&format!("{wallet}/cvu/{{cvu}}"), web::put().to(rename))
        .route(
            &format!("{wallet}/cvu/{{cvu}}/{{cuit}}"),
            web::delete().to(close),
        )
        .route(&format!("{wallet}/remuneration"), web::post().to(enrol))
        .route(
            &format!("{wallet}/remuneration/{{reference}}"),
            web::get().to(enrolled),
        )
        .route("/accounts/cbu/{address}", web::get().to(lookup))
        .route("/accounts/alias/{alias}", web::get().to(lookup_alias))
        .configure(payments::configure)
        .configure(control::of_realm);
}

#[derive(Debug, Deserialize)]
struct Login {
    username: String,
    password: String,
}

async fn login(bank: Data<Bank>, body: Json<Login>) -> HttpResponse {
    let rail = Rail::of_user(&body.username).filter(|_| body.password == PASSWORD);
    let Some(rail) = rail else {
        return error(
            StatusCode::UNAUTHORIZED,
            "GE403",
            "Usuario o clave incorrectos",
        );
    };
    match bank.token(rail) {
        Some((token, life)) => HttpResponse::Ok().json(json!({"token": token, "expires_in": life})),
        None => failed(),
    }
}

async fn create(request: HttpRequest, bank: Data<Bank>, body: Json<Create>) -> HttpResponse {
    bank.answer(&request, Operation::CreateCvu, |book, world, (_, now)| {
        book.create(world, &body, now)
    })
    .await
}

async fn set_alias(request: HttpRequest, bank: Data<Bank>, body: Json<SetAlias>) -> HttpResponse {
    bank.answer(&request, Operation::SetAlias, |book, world, (_, now)| {
        book.set_alias(world, &body, now)
    })
    .await
}

async fn rename(
    request: HttpRequest,
    bank: Data<Bank>,
    path: Path<(String, String)>,
    body: Json<Rename>,
) -> HttpResponse {
    bank.answer(&request, Operation::Rename, |book, world, _| {
        book.rename(world, &path.1, &body.name)
    })
    .await
}

async fn close(
    request: HttpRequest,
    bank: Data<Bank>,
    path: Path<(String, String, String)>,
) -> HttpResponse {
    bank.answer(&request, Operation::Close, |book, world, (_, now)| {
        book.close(world, (&path.1, &path.2), now)
    })
    .await
}

async fn enrol(request: HttpRequest, bank: Data<Bank>, body: Json<Enrol>) -> HttpResponse {
    bank.answer(
        &request,
        Operation::Remuneration,
        |book, world, (_, now)| book.enrol(world, &body, now),
    )
    .await
}

async fn enrolled(
    request: HttpRequest,
    bank: Data<Bank>,
    path: Path<(String, String)>,
) -> HttpResponse {
    bank.answer(
        &request,
        Operation::Remuneration,
        |book, world, (_, now)| book.enrolled(world, &path.1, now),
    )
    .await
}

async fn lookup(request: HttpRequest, bank: Data<Bank>, path: Path<String>) -> HttpResponse {
    bank.answer_on_rail(&request, Operation::Lookup, |book, rail, _| {
        book.lookup(rail, &path)
    })
    .await
}

async fn lookup_alias(request: HttpRequest, bank: Data<Bank>, path: Path<String>) -> HttpResponse {
    bank.answer_on_rail(&request, Operation::Lookup, |book, rail, _| {
        book.lookup_alias(rail, &path)
    })
    .await
}
