//! The sandbox's own part next to the bank's API: switches, a view of the state, and a page that explains both.

use std::fmt::Write;

use actix_web::http::StatusCode;
use actix_web::http::header::{CONTENT_SECURITY_POLICY, ContentType};
use actix_web::web::{Bytes, Data, Json, Path, ServiceConfig};
use actix_web::{HttpResponse, web};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::{Value, json};

use super::accounts::Account;
use super::answers::{Bank, behaved, error};
use super::behaviours::{BehaviourOrder, Mode, Operation};
use super::enrolments::Tell;
use super::locked::locked;
use super::rail::{CashIn, Reverse, Settle};
use super::statement::{OwnChange, OwnMovement};
use super::worlds::World;
use super::{COLLECTOR, external, shapes};

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
        .route("/sandbox/cash-in", web::post().to(cash_in))
        .route("/sandbox/transfers/{id}/settle", web::post().to(settle))
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

async fn behave(bank: Data<Bank>, order: Json<BehaviourOrder>) -> HttpResponse {
    behaved(&locked(&bank.behaviours).set(order.into_inner(), None))
}

async fn cash_in(bank: Data<Bank>, order: Json<CashIn>) -> HttpResponse {
    bank.obey(|book, now| book.cash_in(&order, now))
}

async fn settle(bank: Data<Bank>, id: Path<String>, order: Json<Settle>) -> HttpResponse {
    bank.obey(|book, now| book.settle(None, &id, &order, now))
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

fn shown((home, account): (&World, &Account)) -> Value {
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
    let mut state = {
        let book = bank.book();
        let accounts = book.accounts().take(ACCOUNTS_SHOWN_MAX).map(shown);
        let transfers = book.transfers.newest().take(TRANSFERS_SHOWN_MAX);
        json!({
            "accountsTotal": book.accounts().len(),
            "accounts": accounts.collect::<Vec<_>>(),
            "transfersTotal": book.transfers.count(),
            "transfers": transfers.map(shapes::transfer).collect::<Vec<_>>(),
            "balance": book.transfers.balance_of_all(),
            "worlds": book.worlds().take(ACCOUNTS_SHOWN_MAX).map(|world| json!({
                "collector": world.collector,
                "psp": world.psp,
                "rail": world.rail.as_str(),
                "balance": book.transfers.balance(world.collector),
            })).collect::<Vec<_>>(),
            "enrolments": book.fund.values().take(ACCOUNTS_SHOWN_MAX).collect::<Vec<_>>(),
        })
    };
    let behaviours = locked(&bank.behaviours);
    if let Some(state) = state.as_object_mut() {
        let mut put = |name: &str, value: Value| state.insert(name.to_owned(), value);
        put("psp", json!(bank.psp));
        put("collector", json!(COLLECTOR));
        put("calls", json!(behaviours.calls()));
        put("behaviours", json!(behaviours.now()));
        put("notices", bank.notices.view());
    }
    HttpResponse::Ok().json(state)
}

/// The rows of a table. All texts are ours: nothing needs escaping.
fn rows<'a>(pairs: impl Iterator<Item = (String, &'a str)>) -> String {
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
    let mut rows = String::new();
    for world in book.worlds().take(COLLECTORS_SHOWN_MAX) {
        let World {
            collector,
            rail,
            psp,
        } = world;
        let (rail, balance) = (rail.as_str(), book.transfers.balance(*collector));
        // Writing to a text cannot fail.
        writeln!(
            rows,
            "<tr><td><code>{collector}</code></td><td>{rail}, PSP {psp:04}, {balance}</td></tr>"
        )
        .ok();
    }
    rows
}

async fn docs(bank: web::Data<Bank>) -> HttpResponse {
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
