//! One delivery: its last tries, and sending it once more.

use actix_web::{HttpResponse, web};
use caudal_actors::engine::Requester;
use caudal_http::bodies::webhooks;
use caudal_http::current;
use caudal_http::errors::ApiError;
use caudal_ledger::people::audit::REASON_MAX;
use caudal_ledger::rejection::Rejection;
use caudal_ledger::webhooks::{DeliveryId, WebhookOrder};

use super::super::acts::AuditedAct;
use super::super::page_context::{PageContext, SubmittedForm};
use super::super::view::{Block, Cell, Field, Form, Page, Part, Table, Takes};
use super::super::words::Word;
use super::said;
use crate::admin::people::Power;

/// Shows a delivery.
pub(crate) async fn one(context: PageContext, path: web::Path<String>) -> HttpResponse {
    let page = async |context: &PageContext, id: &String| made(context, id).await;
    context.answer(path.into_inner(), page).await
}

fn known(context: &PageContext, text: &str) -> Result<DeliveryId, Rejection> {
    let id = DeliveryId::parse(text).ok_or(Rejection::DeliveryNotFound)?;
    let place = context.realm(id.webhook.realm);
    place.map(|_| id).ok_or(Rejection::DeliveryNotFound)
}

async fn made(context: &PageContext, text: &str) -> Result<Page, ApiError> {
    let (locale, id) = (context.locale(), known(context, text)?);
    let (realm, number) = (id.webhook.realm, id.webhook.number);
    let view = context.engine().queries().delivery(id).await?;
    let body = webhooks::delivery(realm, number, &view);
    let facts = vec![
        (context.say(Word::Event), Cell::code(&body.event_id)),
        (context.say(Word::Type), Cell::code(body.event_type)),
        (context.say(Word::State), locale.state(body.status)),
        (context.say(Word::Tries), locale.count(body.attempt_count)),
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
            locale.time_of(&tried.at),
            locale.count(tried.duration_ms),
            said(locale, Some(tried)),
            locale.state(tried.outcome),
            next.map_or_else(|| Cell::text(""), |at| locale.time_of(at)),
        ]
    });
    let tries = Table::new(locale, Word::LatestTries, Word::NothingHere, &columns).with(rows);
    let reason = Field::new(locale, "reason", Word::Reason, Takes::Lines, REASON_MAX);
    let form = Form {
        title: context.say(Word::Redeliver).to_owned(),
        action: format!("/console/deliveries/{text}"),
        asks: false,
        fields: vec![reason],
        submit: context.say(Word::Redeliver),
        grave: false,
    };
    let mut blocks: Vec<Block> = context.done_note().into_iter().collect();
    blocks.push(Block::Facts(context.say(Word::Delivery).to_owned(), facts));
    blocks.push(Block::Table(tries));
    blocks.push(Block::Form(form));
    let hook = id.webhook.to_string();
    let above = vec![
        (
            context.say(Word::Webhooks).to_owned(),
            "/console/webhooks".to_owned(),
        ),
        (hook.clone(), format!("/console/webhooks/{hook}")),
    ];
    let page = context.page(Part::Webhooks, context.say(Word::Delivery), blocks);
    Ok(page.below(above))
}

/// Sends the event of a delivery to its webhook once more.
pub(crate) async fn redeliver(sent: SubmittedForm, path: web::Path<String>) -> HttpResponse {
    let act = AuditedAct {
        action: "redeliverByOperator",
        subject: &path,
        power: Power::Act,
        grave: true,
    };
    match sent.does(act, Box::pin(redelivered(&sent, &path))).await {
        Ok(()) => sent.context.done(&format!("/console/deliveries/{path}")),
        Err(why) => sent.context.show(Err(why)),
    }
}

async fn redelivered(sent: &SubmittedForm, text: &str) -> Result<(), ApiError> {
    let context = &sent.context;
    again(context, known(context, text)?).await
}

async fn again(context: &PageContext, id: DeliveryId) -> Result<(), ApiError> {
    let engine = context.engine();
    let (realm, number) = (id.webhook.realm, id.webhook.number);
    let event = engine.queries().delivery(id).await?.event.number;
    let order = WebhookOrder::Replay {
        from: event,
        to: event,
        every_kind: true,
    };
    let requester = Requester {
        keyed: None,
        request_id: current::request().id,
        admitted: None,
    };
    engine
        .operators()
        .order_webhook(realm, number, order, requester)
        .await?;
    Ok(())
}
