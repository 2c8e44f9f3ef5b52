//! One delivery: its last tries, and sending it once more.

use actix_web::{HttpResponse, web};
use caudal_http::bodies::webhooks;
use caudal_http::errors::ApiError;
use caudal_ledger::rejection::Rejection;
use caudal_ledger::webhooks::DeliveryId;

use super::super::page_context::{PageContext, SubmittedForm};
use super::super::view::{Block, Cell, Field, Page, Part, facts, table};
use super::super::words::Word;
use super::said;

/// Shows a delivery.
pub(crate) async fn one(context: &PageContext, text: &str) -> Result<Page, ApiError> {
    let (locale, id) = (context.locale(), DeliveryId::parse(text));
    let id = id.filter(|id| context.realm(id.webhook.realm).is_some());
    let id = id.ok_or(Rejection::DeliveryNotFound)?;
    let (realm, number) = (id.webhook.realm, id.webhook.number);
    let view = context.queries().delivery(id).await?;
    let body = webhooks::delivery(realm, number, &view);
    let facts = facts! {
        context, Delivery;
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
    let (action, reason) = (format!("/console/deliveries/{text}"), Field::reason(locale));
    let form = context.form(Word::Redeliver, action, vec![reason]);
    let blocks = vec![facts, Block::Table(tries), Block::Form(form)];
    let hook = id.webhook.to_string();
    let page = context.page(Part::Webhooks, context.say(Word::Delivery), blocks);
    let page = page.under(context.say(Word::Webhooks), "/console/webhooks");
    Ok(page.under(&hook, format!("/console/webhooks/{hook}")))
}

/// Sends the event of a delivery to its webhook once more.
pub(crate) async fn redeliver(sent: SubmittedForm, path: web::Path<String>) -> HttpResponse {
    match sent.runs("redeliverByOperator", &path, "{}").await {
        Ok(_) => sent.context.done(&format!("/console/deliveries/{path}")),
        Err(why) => sent.context.show(Err(why)),
    }
}
