//! The sandbox's switches under the bank's login, as the service forwards them for a realm: each is about the collector
//! account in its path, and no other.

use actix_web::web::{Data, Json, Path, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse, web};

use super::answers::Bank;
use super::behaviours::BehaviourOrder;
use super::clock::Advance;
use super::rail::{CashIn, Reverse, Settle};

pub(super) fn configure(config: &mut ServiceConfig) {
    let here = "/banks/322/accounts/{collector}/owner/simulations";
    config
        .route(&format!("{here}/cash-in"), web::post().to(cash_in))
        .route(
            &format!("{here}/transfers/{{id}}/settle"),
            web::post().to(settle),
        )
        .route(
            &format!("{here}/transfers/{{id}}/reverse"),
            web::post().to(reverse),
        )
        .route(&format!("{here}/behaviour"), web::post().to(behave))
        .route(&format!("{here}/clock"), web::post().to(advance));
}

async fn cash_in(
    request: HttpRequest,
    bank: Data<Bank>,
    collector: Path<String>,
    order: Json<CashIn>,
) -> HttpResponse {
    bank.simulate(&request, |book, rail, now| {
        let world = book.enter(&collector, rail)?;
        book.cash_in_of(world, &order, now)
    })
}

async fn settle(
    request: HttpRequest,
    bank: Data<Bank>,
    path: Path<(String, String)>,
    order: Json<Settle>,
) -> HttpResponse {
    let (collector, id) = path.into_inner();
    bank.simulate(&request, |book, rail, now| {
        let world = book.enter(&collector, rail)?;
        book.settle(Some(world), &id, &order, now)
    })
}

async fn reverse(
    request: HttpRequest,
    bank: Data<Bank>,
    path: Path<(String, String)>,
    order: Json<Reverse>,
) -> HttpResponse {
    let (collector, id) = path.into_inner();
    bank.simulate(&request, |book, rail, now| {
        let world = book.enter(&collector, rail)?;
        book.reverse(Some(world), &id, &order, now)
    })
}

async fn advance(
    request: HttpRequest,
    bank: Data<Bank>,
    collector: Path<String>,
    order: Json<Advance>,
) -> HttpResponse {
    bank.simulate(&request, |book, rail, _| {
        let world = book.enter(&collector, rail)?;
        book.advance(world, &order)
    })
}

async fn behave(
    request: HttpRequest,
    bank: Data<Bank>,
    collector: Path<String>,
    order: Json<BehaviourOrder>,
) -> HttpResponse {
    bank.simulate_behaviour(&request, &collector, order.into_inner())
}
