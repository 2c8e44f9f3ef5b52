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
use super::super::view::{Block, Cell, Field, Page, Part, Takes, facts, table};
use super::super::words::Word;
use super::said;
use crate::admin::people::Power;

fn known(context: &PageContext, text: &str) -> Result<DeliveryId, Rejection> {
    let id = DeliveryId::parse(text).ok_or(Rejection::DeliveryNotFound)?;
    let place = context.realm(id.webhook.realm);
    place.map(|_| id).ok_or(Rejection::DeliveryNotFound)
}

/// Shows a delivery.
pub(crate) async fn one(context: &PageContext, text: &str) -> Result<Page, ApiError> {
    let (locale, id) = (context.locale(), known(context, text)?);
    let (realm, number) = (id.webhook.realm, id.webhook.number);
    let view = context.queries().delivery(id).await?;
    let body = webhooks::delivery(realm, number, &view);
    let facts = facts! {
        context;
        Event: Cell::code(&body.event_id);
        Type: Cell::code(body.event_type);
        State: locale.state(body.status);
        Tries: locale.count(body.attempt_count);
    };
    let tries = table! {
        locale, Word::LatestTries, Word::NothingHere; tried in body.attempts.iter();
        => let next = tried.next_attempt_at.as_ref();
        At: locale.time_of(&tried.at);
        Millis figure: locale.count(tried.duration_ms);
        Answer: said(locale, Some(tried));
        State: locale.state(tried.outcome);
        NextTry: next.map_or_else(|| Cell::text(""), |at| locale.time_of(at));
    };
    let reason = Field::new(locale, "reason", Word::Reason, Takes::Lines, REASON_MAX);
    let form = context.form(
        Word::Redeliver,
        format!("/console/deliveries/{text}"),
        vec![reason],
    );
    let blocks = vec![
        Block::Facts(context.say(Word::Delivery).to_owned(), facts),
        Block::Table(tries),
        Block::Form(form),
    ];
    let hook = id.webhook.to_string();
    let page = context.page(Part::Webhooks, context.say(Word::Delivery), blocks);
    let page = page.under(context.say(Word::Webhooks), "/console/webhooks");
    Ok(page.under(&hook, format!("/console/webhooks/{hook}")))
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
