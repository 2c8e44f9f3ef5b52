//! Webhooks of all tenants: how far each has come, and its deliveries.
//!
//! Only the host of an address is shown: the rest may be a secret of the tenant.

mod deliveries;

use caudal_actors::engine::webhooks::DeliveryView;
use caudal_http::bodies::webhooks::{self, AttemptBody, WebhookBody, webhook};
use caudal_http::errors::ApiError;
use caudal_ledger::deliveries::Ending;
use caudal_ledger::rejection::Rejection;
use caudal_ledger::webhooks::WebhookId;
use serde_json::Value;

use super::lists::{asked_page, cut, whole};
use super::locale::Locale;
use super::operations::{OperationForm, form};
use super::page_context::{PageContext, TenantRealm};
use super::view::{Block, Cell, Page, Part, ROWS, Table, Takes, facts, table};
use super::words::Word;
use crate::admin::{all_webhooks, host, shown_status};

pub(super) use deliveries::{one as delivery, redeliver};

/// The endings of a delivery, by their words on the wire.
const ENDINGS: [(&str, Ending); 3] = [
    ("delivered", Ending::Delivered),
    ("failing", Ending::Failed),
    ("parked", Ending::Parked),
];

/// Lists the webhooks.
pub(super) async fn list(context: &PageContext) -> Result<Page, ApiError> {
    let locale = context.locale();
    let (all, note, next) = cut(context, all_webhooks(&context.admin_state).await?);
    let table = table! {
        locale, Word::Webhooks, Word::NoWebhooks; row in all.into_iter();
        Tenant: context.tenant(&row.tenant_id);
        Mode: locale.mode(row.mode);
        Webhook: Cell::code(&row.id).to(format!("/console/webhooks/{}", row.id));
        Host: Cell::text(&row.host);
        State: locale.state(row.shown_status());
        Behind figure: locale.count(row.progress.behind);
        Retrying figure: locale.count(row.progress.retrying);
        Delivered figure: locale.count(row.progress.delivered);
        Parked figure: locale.count(row.progress.parked);
    }
    .part(note, next);
    let (title, blocks) = (context.say(Word::Webhooks), vec![Block::Table(table)]);
    Ok(context.page(Part::Webhooks, title, blocks))
}

/// Shows a webhook with its deliveries.
pub(super) async fn one(context: &PageContext, text: &str) -> Result<Page, ApiError> {
    let queries = context.queries();
    let id = WebhookId::parse(text).ok_or(Rejection::WebhookNotFound)?;
    let place = context.realm(id.realm).ok_or(Rejection::WebhookNotFound)?;
    let view = queries.webhook(id.realm, id.number).await?;
    let asked = context.asks("status");
    let ending = ENDINGS.iter().find(|(word, _)| asked == Some(*word));
    let ending = ending.map(|(_, ending)| *ending);
    let page = asked_page(context, ROWS);
    let found = queries
        .deliveries(id.realm, id.number, ending, page)
        .await?;
    let shown = webhook(id.realm, &view);
    let resumes = (shown.status != "active")
        .then(|| form(context, OperationForm::ResumeWebhook, text, &Value::Null))
        .flatten();
    let title = host(&shown.url);
    let mut blocks = vec![known(context, &place, shown)];
    blocks.extend(resumes);
    let choices = Takes::any_of(context.locale(), ENDINGS.map(|(word, _)| word));
    let field = context.asked_field("status", Word::State, choices, 20);
    blocks.push(context.filter(vec![field]));
    let table = table(context, id, &found.items);
    blocks.push(Block::Table(whole(context, table, &found)));
    let page = context.page(Part::Webhooks, title, blocks);
    Ok(page.under(context.say(Word::Webhooks), "/console/webhooks"))
}

/// The answer to a try, or why there was none.
fn said(locale: Locale, attempt: Option<&AttemptBody>) -> Cell {
    let why = attempt.and_then(|it| it.error.as_deref());
    let status = attempt.and_then(|it| it.response_status);
    why.map_or_else(|| Cell::maybe(status), |why| locale.state(why))
}

fn known(context: &PageContext, place: &TenantRealm, body: WebhookBody) -> Block {
    let (locale, progress) = (context.locale(), body.progress);
    let status = shown_status(body.status, &progress);
    let any = || context.say(Word::Any).to_owned();
    let types = body.types.map_or_else(any, |types| types.join(", "));
    let success = progress.last_success_at.as_ref();
    facts! {
        context, Webhook;
        Tenant: Cell::text(place.title(locale));
        Id: Cell::code(body.id);
        State: locale.state(status);
        Description: Cell::maybe(body.description);
        Types: Cell::text(types);
        Behind: locale.count(progress.behind);
        Waiting: locale.count(progress.waiting);
        Retrying: locale.count(progress.retrying);
        Delivered: locale.count(progress.delivered);
        Parked: locale.count(progress.parked);
        LastSuccess: success.map_or_else(|| Cell::text(""), |at| locale.time_of(at));
        LastFailure: said(locale, progress.last_failure.as_ref());
    }
}

fn table(context: &PageContext, id: WebhookId, found: &[DeliveryView]) -> Table {
    let locale = context.locale();
    table! {
        locale, Word::Deliveries, Word::NoDeliveries; view in found.iter();
        => let body = webhooks::delivery(id.realm, id.number, view);
        => let last = body.attempts.last();
        => let place = format!("/console/deliveries/{}", body.id);
        Event: Cell::code(&body.event_id).to(place);
        Type: Cell::code(body.event_type);
        State: locale.state(body.status);
        Tries figure: locale.count(body.attempt_count);
        LastTry: last.map_or_else(|| Cell::text(""), |it| locale.time_of(&it.at));
        Answer: said(locale, last);
    }
}
