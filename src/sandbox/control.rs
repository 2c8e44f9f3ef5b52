//! The sandbox's own part next to the bank's API: switches, a view of the state, and a page that explains both.

use std::fmt::Write;

use actix_web::http::StatusCode;
use actix_web::http::header::{CONTENT_SECURITY_POLICY, ContentType};
use actix_web::web::{Bytes, Data, Json, Path, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse, web};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::{Value, json};

use super::accounts::Account;
use super::answers::{Bank, behaved, error};
use super::behaviours::{BehaviourOrder, Mode, Operation};
use super::book::Place;
use super::clock::Advance;
use super::enrolments::Tell;
use super::rail::{CashIn, Reverse, Settle};
use super::statement::{OwnChange, OwnMovement};
use super::{COLLECTOR, external, locked, shapes};

/// The most accounts that the view of the state shows.
const ACCOUNTS_SHOWN_MAX: usize = 10_000;
/// The most transfers that the view of the state shows.
const TRANSFERS_SHOWN_MAX: usize = 1_000;
/// The most collector accounts that the page shows.
const COLLECTORS_SHOWN_MAX: usize = 100;
/// The longest secret of notices, in bytes.
const SECRET_MAX: usize = 256;
const PAGE: &str = include_str!("docs.html");

pub(super) fn configure(config: &mut ServiceConfig) {
    config
        .route("/sandbox/behaviour", web::post().to(behave))
        .configure(|config| switches(config, "/sandbox"))
        .route("/sandbox/transfers/{id}/reverse", web::post().to(reverse))
        .route("/sandbox/collector-movements", web::post().to(post_own))
        .route(
            "/sandbox/collector-movements/{id}",
            web::post().to(change_own),
        )
        .route("/sandbox/remuneration/{cvu}", web::post().to(remuneration))
        .route("/sandbox/notify", web::post().to(notify))
        .route("/sandbox/expire-tokens", web::post().to(expire_tokens))
        .route("/sandbox/hurry", web::post().to(hurry))
        .route("/sandbox/state", web::get().to(state))
        .route("/docs", web::get().to(docs))
        .route("/", web::get().to(docs));
}

/// The switches under the bank's login, as the service forwards them for a realm: each is about the collector account in
/// its path, and no other.
pub(super) fn of_realm(config: &mut ServiceConfig) {
    let here = "/banks/322/accounts/{collector}/owner/simulations";
    switches(config, here);
    config
        .route(
            &format!("{here}/transfers/{{id}}/reverse"),
            web::post().to(reverse_own),
        )
        .route(&format!("{here}/behaviour"), web::post().to(behave_own))
        .route(&format!("{here}/clock"), web::post().to(advance));
}

fn switches(config: &mut ServiceConfig, here: &str) {
    let settled = format!("{here}/transfers/{{id}}/settle");
    config
        .route(&format!("{here}/cash-in"), web::post().to(cash_in))
        .route(&settled, web::post().to(settle));
}

/// The part of a path that names a transfer.
#[derive(Deserialize)]
struct TransferPath {
    id: String,
}

async fn behave(bank: Data<Bank>, order: Json<BehaviourOrder>) -> HttpResponse {
    behaved(&locked(&bank.behaviours).set(order.into_inner(), None))
}

async fn behave_own(
    request: HttpRequest,
    bank: Data<Bank>,
    order: Json<BehaviourOrder>,
) -> HttpResponse {
    let mut of = None;
    let entered = bank.obey_for(&request, |_, world, _| {
        of = world.map(|world| world.collector);
        Ok(Value::Null)
    });
    if of.is_none() {
        return entered;
    }
    behaved(&locked(&bank.behaviours).set(order.into_inner(), of))
}

async fn cash_in(request: HttpRequest, bank: Data<Bank>, order: Json<CashIn>) -> HttpResponse {
    bank.obey_for(&request, |book, world, now| match world {
        Some(world) => book.cash_in_of(world, &order, now),
        None => book.cash_in(&order, now),
    })
}

async fn settle(
    request: HttpRequest,
    bank: Data<Bank>,
    path: Path<TransferPath>,
    order: Json<Settle>,
) -> HttpResponse {
    bank.obey_for(&request, |book, world, now| {
        book.settle(world, &path.id, &order, now)
    })
}

async fn reverse_own(
    request: HttpRequest,
    bank: Data<Bank>,
    path: Path<TransferPath>,
    order: Json<Reverse>,
) -> HttpResponse {
    bank.obey_for(&request, |book, world, now| {
        book.reverse(world, &path.id, &order, now)
    })
}

async fn advance(request: HttpRequest, bank: Data<Bank>, order: Json<Advance>) -> HttpResponse {
    bank.obey_for(&request, |book, world, _| {
        let world = world.unwrap_or(book.main);
        book.advance(world, &order)
    })
}

async fn reverse(bank: Data<Bank>, id: Path<String>, body: Bytes) -> HttpResponse {
    // An empty body reverses the whole transfer; a broken one is refused.
    let order = match body.as_ref() {
        b"" => Ok(Reverse::default()),
        some => serde_json::from_slice(some),
    };
    match order {
        Ok(order) => bank.obey(|book, now| book.reverse(None, &id, &order, now)),
        Err(why) => error(StatusCode::BAD_REQUEST, "GE400", &why.to_string()),
    }
}

async fn post_own(bank: Data<Bank>, order: Json<OwnMovement>) -> HttpResponse {
    bank.obey(|book, now| book.post_own(&order, now))
}

async fn change_own(bank: Data<Bank>, id: Path<String>, order: Json<OwnChange>) -> HttpResponse {
    bank.obey(|book, _| book.change_own(&id, &order))
}

async fn remuneration(bank: Data<Bank>, cvu: Path<String>, order: Json<Tell>) -> HttpResponse {
    bank.obey(|book, now| book.tell_enrolled(&cvu, &order, now))
}

/// The body of `POST /sandbox/notify`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Address {
    url: Option<String>,
    secret: Option<SecretString>,
}

async fn notify(bank: Data<Bank>, order: Json<Address>) -> HttpResponse {
    let bad = |why: &str| error(StatusCode::BAD_REQUEST, "GE400", why);
    let Address { url, secret } = order.into_inner();
    let length = secret.as_ref().map_or(1, |it| it.expose_secret().len());
    if !(1..=SECRET_MAX).contains(&length) {
        return bad("secret must have 1 to 256 bytes");
    }
    match bank.notices.address(url.as_deref(), secret) {
        Ok(()) => HttpResponse::NoContent().finish(),
        Err(why) => bad(&why),
    }
}

async fn expire_tokens(bank: Data<Bank>) -> HttpResponse {
    bank.expire_tokens();
    HttpResponse::NoContent().finish()
}

async fn hurry(bank: Data<Bank>) -> HttpResponse {
    bank.hurry();
    HttpResponse::NoContent().finish()
}

fn shown(((home, _), account): (&Place, &Account)) -> Value {
    json!({
        "collector": home.collector,
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
    let (book, behaviours) = (bank.book(), locked(&bank.behaviours));
    let accounts = book.accounts.iter().take(ACCOUNTS_SHOWN_MAX).map(shown);
    let transfers = book.transfers.all.values().rev();
    let transfers = transfers.take(TRANSFERS_SHOWN_MAX).map(shapes::transfer);
    let worlds = book.worlds.iter().take(ACCOUNTS_SHOWN_MAX).map(|world| {
        json!({
            "collector": world.collector,
            "psp": world.psp,
            "rail": world.rail.as_str(),
            "balance": book.transfers.balance(world.collector),
        })
    });
    HttpResponse::Ok().json(json!({
        "accountsTotal": book.accounts.len(),
        "accounts": accounts.collect::<Vec<_>>(),
        "transfersTotal": book.transfers.all.len(),
        "transfers": transfers.collect::<Vec<_>>(),
        "balance": book.transfers.balance_of_all(),
        "worlds": worlds.collect::<Vec<_>>(),
        "enrolments": book.fund.values().take(ACCOUNTS_SHOWN_MAX).collect::<Vec<_>>(),
        "psp": bank.psp,
        "collector": COLLECTOR,
        "calls": behaviours.calls(),
        "behaviours": behaviours.now(),
        "notices": bank.notices.view(),
    }))
}

/// The rows of a table. All texts are ours: nothing needs escaping.
fn rows(pairs: impl Iterator<Item = (String, String)>) -> String {
    let mut rows = String::new();
    for (word, says) in pairs {
        // Writing to a text cannot fail.
        writeln!(rows, "<tr><td><code>{word}</code></td><td>{says}</td></tr>").ok();
    }
    rows
}

/// The collector accounts in use, with the rail, PSP code and balance of each.
fn collectors(bank: &Bank) -> String {
    let book = bank.book();
    rows(book.worlds.iter().take(COLLECTORS_SHOWN_MAX).map(|world| {
        let (rail, psp) = (world.rail.as_str(), world.psp);
        let balance = book.transfers.balance(world.collector);
        let says = format!("{rail}, PSP {psp:04}, {balance}");
        (world.collector.to_string(), says)
    }))
}

async fn docs(bank: web::Data<Bank>) -> HttpResponse {
    let operations = Operation::ALL.iter();
    let operations = operations.map(|it| (it.as_str().to_owned(), it.says().to_owned()));
    let modes = Mode::ALL.iter();
    let modes = modes.map(|it| (it.as_str().to_owned(), it.says().to_owned()));
    let digits = external::DIGITS.iter().map(|(digit, says)| {
        let key = external::agreed(u64::from(*digit));
        let key = key.map_or_else(String::new, |key| key.to_string());
        let word = format!("{digit}</code> <code>DESTINO.{digit}</code> <code>{key}");
        (word, (*says).to_owned())
    });
    let page = PAGE
        .replace("{{operations}}", &rows(operations))
        .replace("{{modes}}", &rows(modes))
        .replace("{{digits}}", &rows(digits))
        .replace("{{collectors}}", &collectors(&bank))
        .replace("{{collector}}", COLLECTOR)
        .replace("{{secret}}", &bank.notices.secret());
    HttpResponse::Ok()
        .content_type(ContentType::html())
        .insert_header((
            CONTENT_SECURITY_POLICY,
            "default-src 'none'; style-src 'unsafe-inline'",
        ))
        .body(page)
}
