//! One delivery: its last tries, and sending it once more.

use actix_web::{HttpResponse, web};
use caudal_actors::engine::Asker;
use caudal_http::bodies::webhooks;
use caudal_http::current;
use caudal_http::errors::ApiError;
use caudal_ledger::people::audit::REASON_MAX;
use caudal_ledger::rejection::Rejection;
use caudal_ledger::webhooks::{DeliveryId, WebhookOrder};

use super::super::acts::Act;
use super::super::view::{Block, Cell, Field, Form, Page, Part, Table, Takes};
use super::super::visit::{Sent, Visit};
use super::super::words::Word;
use super::said;
use crate::admin::people::Power;

/// Shows a delivery.
pub(crate) async fn one(visit: Visit, path: web::Path<String>) -> HttpResponse {
    let made = made(&visit, &path).await;
    visit.show(made)
}

fn known(visit: &Visit, text: &str) -> Result<DeliveryId, Rejection> {
    let id = DeliveryId::parse(text).ok_or(Rejection::DeliveryNotFound)?;
    let place = visit.realm(id.webhook.realm);
    place.map(|_| id).ok_or(Rejection::DeliveryNotFound)
}

async fn made(visit: &Visit, text: &str) -> Result<Page, ApiError> {
    let (tongue, id) = (visit.tongue(), known(visit, text)?);
    let (realm, number) = (id.webhook.realm, id.webhook.number);
    let view = visit.engine().queries().delivery(id).await?;
    let body = webhooks::delivery(realm, number, &view);
    let facts = vec![
        (visit.say(Word::Event), Cell::code(&body.event_id)),
        (visit.say(Word::Type), Cell::code(body.event_type)),
        (visit.say(Word::State), tongue.state(body.status)),
        (visit.say(Word::Tries), tongue.count(body.attempt_count)),
    ];
    let columns = [
        (Word::At, false),
        (Word::Millis, true),
        (Word::Answer, false),
        (Word::State, false),
        (Word::NextTry, false),
    ];
    let rows = body.attempts.iter().map(|tried| {
        let next = tried.next_attempt_at.as_ref();
        vec![
            tongue.time_of(&tried.at),
            tongue.count(tried.duration_ms),
            said(Some(tried)),
            tongue.state(tried.outcome),
            next.map_or_else(|| Cell::text(""), |at| tongue.time_of(at)),
        ]
    });
    let tries = Table::new(tongue, Word::LatestTries, Word::NothingHere, &columns).with(rows);
    let reason = Field::new(tongue, "reason", Word::Reason, Takes::Lines, REASON_MAX);
    let form = Form {
        title: visit.say(Word::Redeliver).to_owned(),
        action: format!("/console/deliveries/{text}"),
        asks: false,
        fields: vec![reason],
        submit: visit.say(Word::Redeliver),
        grave: false,
    };
    let mut blocks: Vec<Block> = visit.done_note().into_iter().collect();
    blocks.push(Block::Facts(visit.say(Word::Delivery).to_owned(), facts));
    blocks.push(Block::Table(tries));
    blocks.push(Block::Form(form));
    let hook = id.webhook.to_string();
    let above = vec![
        (
            visit.say(Word::Webhooks).to_owned(),
            "/console/webhooks".to_owned(),
        ),
        (hook.clone(), format!("/console/webhooks/{hook}")),
    ];
    let page = visit.page(Part::Webhooks, visit.say(Word::Delivery), blocks);
    Ok(page.below(above))
}

/// Sends the event of a delivery to its webhook once more.
pub(crate) async fn redeliver(sent: Sent, path: web::Path<String>) -> HttpResponse {
    let act = Act {
        action: "redeliverByOperator",
        subject: &path,
        power: Power::Act,
        grave: true,
    };
    match sent.does(act, Box::pin(redelivered(&sent, &path))).await {
        Ok(()) => sent.visit.done(&format!("/console/deliveries/{path}")),
        Err(why) => sent.visit.show(Err(why)),
    }
}

async fn redelivered(sent: &Sent, text: &str) -> Result<(), ApiError> {
    let visit = &sent.visit;
    again(visit, known(visit, text)?).await
}

async fn again(visit: &Visit, id: DeliveryId) -> Result<(), ApiError> {
    let engine = visit.engine();
    let (realm, number) = (id.webhook.realm, id.webhook.number);
    let event = engine.queries().delivery(id).await?.event.number;
    let order = WebhookOrder::Replay {
        from: event,
        to: event,
        every_kind: true,
    };
    let asker = Asker {
        keyed: None,
        request_id: current::request().id,
        admitted: None,
    };
    engine
        .operators()
        .order_webhook(realm, number, order, asker)
        .await?;
    Ok(())
}
