//! The bank's own API for transfers, the statement and the balance of the collector account.

use actix_web::http::header::HeaderMap;
use actix_web::web::{Data, Json, Path, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse, web};
use caudal_ledger::time::{BusinessDay, Timestamp};
use serde_json::{Value, json};

use super::answers::Bank;
use super::behaviours::Operation;
use super::rail::Send;
use super::refusals::NoEffect;
use super::shapes;
use super::transfers::{Query, TransferStatus};

/// How many transfers a page has, unless the request says otherwise.
const PAGE: usize = 50;
/// The most transfers of a page.
const PAGE_MAX: usize = 200;

pub(super) fn configure(config: &mut ServiceConfig) {
    let owner = "/banks/322/accounts/{collector}/owner";
    let types = format!("{owner}/transaction-request-types");
    let transfers = format!("{types}/TRANSFER-CVU");
    config
        .route(
            &format!("{types}/TRANSFER/transaction-requests"),
            web::post().to(send_own),
        )
        .route(
            &format!("{transfers}/transaction-requests"),
            web::post().to(send),
        )
        .route(&format!("{transfers}/{{id}}"), web::get().to(one))
        .route(&transfers, web::get().to(list))
        .route(&format!("{owner}/transactions"), web::get().to(statement))
        .route(owner, web::get().to(balance));
}

async fn send(request: HttpRequest, bank: Data<Bank>, body: Json<Send>) -> HttpResponse {
    bank.answer(&request, Operation::Transfer, |book, world, at| {
        book.send(world, &body, false, at)
    })
    .await
}

async fn send_own(request: HttpRequest, bank: Data<Bank>, body: Json<Send>) -> HttpResponse {
    bank.answer(&request, Operation::Transfer, |book, world, at| {
        book.send(world, &body, true, at)
    })
    .await
}

async fn one(request: HttpRequest, bank: Data<Bank>, path: Path<(String, String)>) -> HttpResponse {
    bank.answer(&request, Operation::TransferStatus, |book, world, _| {
        book.transfer(world, &path.1)
    })
    .await
}

async fn list(request: HttpRequest, bank: Data<Bank>) -> HttpResponse {
    bank.answer(&request, Operation::TransferList, |book, world, _| {
        let query = Query {
            collector: Some(world.collector),
            ..query(request.headers())?
        };
        let found = book.transfers.list(&query).map(shapes::transfer);
        Ok(Value::Array(found.collect()))
    })
    .await
}

async fn statement(request: HttpRequest, bank: Data<Bank>) -> HttpResponse {
    bank.answer(&request, Operation::Statement, |book, world, _| {
        let direction = request.headers().get("obp_sort_direction");
        let newest_first = direction.is_none_or(|it| it.as_bytes() != b"ASC");
        let query = query(request.headers())?;
        Ok(book.statement(world.collector, query, newest_first))
    })
    .await
}

async fn balance(request: HttpRequest, bank: Data<Bank>) -> HttpResponse {
    bank.answer(&request, Operation::Balance, |book, world, (_, now)| {
        let collector = world.collector;
        Ok(json!({
            "id": collector,
            "balance": {"currency": "ARS", "amount": book.transfers.balance(collector)},
            "at": Timestamp::from_millis(book.time_of(collector, now)).to_string(),
        }))
    })
    .await
}

/// Reads the headers that select transfers.
pub(super) fn query(headers: &HeaderMap) -> Result<Query, NoEffect> {
    let text = |name: &str| match headers.get(name) {
        None => Ok(None),
        Some(value) => value
            .to_str()
            .map(|text| Some(text.trim()))
            .map_err(|_| NoEffect::Bad("a header is not text")),
    };
    let number = |name, usual: usize, why| match text(name)? {
        None => Ok(usual),
        Some(text) => text.parse().map_err(|_| NoEffect::Bad(why)),
    };
    let day = |name, why| match text(name)? {
        None => Ok(None),
        Some(text) => BusinessDay::parse(text).map(Some).ok_or(NoEffect::Bad(why)),
    };
    let limit = number("obp_limit", PAGE, "obp_limit must be 1 to 200")?;
    if !(1..=PAGE_MAX).contains(&limit) {
        return Err(NoEffect::Bad("obp_limit must be 1 to 200"));
    }
    let incoming = match text("obp_origin")? {
        None => None,
        Some("TRANSFERENCIAS_ENVIADAS") => Some(false),
        Some("TRANSFERENCIAS_RECIBIDAS") => Some(true),
        Some(_) => return Err(NoEffect::Bad("obp_origin is not known")),
    };
    let status = match text("obp_status")? {
        None => None,
        Some(word) => {
            Some(TransferStatus::parse(word).ok_or(NoEffect::Bad("obp_status is not known"))?)
        }
    };
    let from = day("obp_from_date", "obp_from_date must be YYYY-MM-DD")?;
    let to = day("obp_to_date", "obp_to_date must be YYYY-MM-DD")?;
    Ok(Query {
        limit,
        collector: None,
        offset: number("obp_offset", 0, "obp_offset must be a number from 0")?,
        from: from.map(|day| day.start().millis()),
        to: to.map(|day| day.end().millis()),
        incoming,
        status,
    })
}
