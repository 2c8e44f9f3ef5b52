//! Beside the bank's own API: switches, a view of the state, and a page that explains both.

use std::fmt::Write;

use actix_web::http::StatusCode;
use actix_web::http::header::{CONTENT_SECURITY_POLICY, ContentType};
use actix_web::web::{Data, Json, ServiceConfig};
use actix_web::{HttpResponse, web};
use serde_json::{Value, json};

use super::answers::{Bank, locked};
use super::behaviours::{Mode, Operation, Order};
use super::book::Account;
use super::{COLLECTOR, external};

/// The most accounts that the view of the state shows.
const ACCOUNTS_SHOWN_MAX: usize = 10_000;
const PAGE: &str = include_str!("docs.html");

pub(super) fn configure(config: &mut ServiceConfig) {
    config
        .route("/sandbox/behaviour", web::post().to(behave))
        .route("/sandbox/expire-tokens", web::post().to(expire_tokens))
        .route("/sandbox/state", web::get().to(state))
        .route("/docs", web::get().to(docs))
        .route("/", web::get().to(docs));
}

async fn behave(bank: Data<Bank>, order: Json<Order>) -> HttpResponse {
    match locked(&bank.behaviours).set(order.into_inner()) {
        Ok(behaviour) => HttpResponse::Ok().json(behaviour),
        Err(why) => HttpResponse::build(StatusCode::BAD_REQUEST).json(json!({
            "code": "GE400",
            "message": format!("{} must be one of: {}", why.field, why.allowed.join(", ")),
            "field": why.field,
            "allowed": why.allowed,
        })),
    }
}

async fn expire_tokens(bank: Data<Bank>) -> HttpResponse {
    bank.expire_tokens();
    HttpResponse::NoContent().finish()
}

fn shown(account: &Account) -> Value {
    json!({
        "clientId": account.client_id,
        "cvu": account.cvu,
        "alias": account.alias,
        "cuit": account.cuit,
        "name": account.name,
        "active": account.active,
        "pastAliases": account.past_aliases,
        "openedAt": account.opened_at,
        "closedAt": account.closed_at,
    })
}

async fn state(bank: Data<Bank>) -> HttpResponse {
    let (total, accounts): (usize, Vec<_>) = {
        let book = bank.book();
        let shown = book.accounts().take(ACCOUNTS_SHOWN_MAX).map(shown);
        (book.accounts().len(), shown.collect())
    };
    let behaviours = locked(&bank.behaviours);
    HttpResponse::Ok().json(json!({
        "psp": bank.psp,
        "collector": COLLECTOR,
        "accountsTotal": total,
        "accounts": accounts,
        "calls": behaviours.calls(),
        "behaviours": behaviours.now(),
    }))
}

/// The rows of a table. All texts are our own: nothing needs escaping.
fn rows<'a>(pairs: impl Iterator<Item = (String, &'a str)>) -> String {
    let mut rows = String::new();
    for (word, says) in pairs {
        // Writing to a text cannot fail.
        writeln!(rows, "<tr><td><code>{word}</code></td><td>{says}</td></tr>").ok();
    }
    rows
}

async fn docs() -> HttpResponse {
    let operations = Operation::ALL
        .iter()
        .map(|it| (it.as_str().to_owned(), it.says()));
    let modes = Mode::ALL
        .iter()
        .map(|it| (it.as_str().to_owned(), it.says()));
    let digits = external::DIGITS.iter().map(|(digit, says)| {
        let key = external::agreed(u64::from(*digit));
        let key = key.map_or_else(String::new, |key| key.to_string());
        (
            format!("{digit}</code> <code>DESTINO.{digit}</code> <code>{key}"),
            *says,
        )
    });
    let page = PAGE
        .replace("{{operations}}", &rows(operations))
        .replace("{{modes}}", &rows(modes))
        .replace("{{digits}}", &rows(digits))
        .replace("{{collector}}", COLLECTOR);
    HttpResponse::Ok()
        .content_type(ContentType::html())
        .insert_header((
            CONTENT_SECURITY_POLICY,
            "default-src 'none'; style-src 'unsafe-inline'",
        ))
        .body(page)
}
