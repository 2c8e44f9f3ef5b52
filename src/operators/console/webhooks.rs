//! Webhooks of all tenants: how far each has come, and its deliveries.
//!
//! Only the host of an address is shown: the rest may be a secret of the tenant.

mod deliveries;

use actix_web::{HttpResponse, web};
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
use super::view::{Block, Cell, Field, Form, Page, Part, ROWS, Table, Takes};
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
pub(super) async fn list(context: PageContext) -> HttpResponse {
    context
        .answer((), async |context: &PageContext, ()| listed(context).await)
        .await
}

async fn listed(context: &PageContext) -> Result<Page, ApiError> {
    let locale = context.locale();
    let columns = [
        (Word::Tenant, false),
        (Word::Mode, false),
        (Word::Webhook, false),
        (Word::Host, false),
        (Word::State, false),
        (Word::Behind, true),
        (Word::Retrying, true),
        (Word::Delivered, true),
        (Word::Parked, true),
    ];
    let (all, note, next) = cut(context, all_webhooks(&context.admin_state).await?);
    let rows = all.into_iter().map(|row| {
        vec![
            context.tenant(&row.tenant_id),
            locale.mode(row.mode),
            Cell::code(&row.id).to(format!("/console/webhooks/{}", row.id)),
            Cell::text(&row.host),
            locale.state(row.shown_status()),
            locale.count(row.progress.behind),
            locale.count(row.progress.retrying),
            locale.count(row.progress.delivered),
            locale.count(row.progress.parked),
        ]
    });
    let table = Table::new(locale, Word::Webhooks, Word::NoWebhooks, &columns)
        .with(rows)
        .part(note, next);
    Ok(context.page(
        Part::Webhooks,
        context.say(Word::Webhooks),
        vec![Block::Table(table)],
    ))
}

/// Shows a webhook with its deliveries.
pub(super) async fn one(context: PageContext, path: web::Path<String>) -> HttpResponse {
    let made = async |context: &PageContext, id: &String| single(context, id).await;
    context.answer(path.into_inner(), made).await
}

async fn single(context: &PageContext, text: &str) -> Result<Page, ApiError> {
    let engine = context.engine();
    let id = WebhookId::parse(text).ok_or(Rejection::WebhookNotFound)?;
    let place = context.realm(id.realm).ok_or(Rejection::WebhookNotFound)?;
    let view = engine.queries().webhook(id.realm, id.number).await?;
    let asked = context.asks("status");
    let ending = ENDINGS.iter().find(|(word, _)| asked == Some(*word));
    let ending = ending.map(|(_, ending)| *ending);
    let page = asked_page(context, ROWS);
    let found = engine
        .queries()
        .deliveries(id.realm, id.number, ending, page)
        .await?;
    let mut blocks: Vec<Block> = context.done_note().into_iter().collect();
    let shown = webhook(id.realm, &view);
    let resumes = (shown.status != "active")
        .then(|| form(context, OperationForm::ResumeWebhook, text, &Value::Null))
        .flatten();
    let title = host(&shown.url);
    blocks.push(known(context, &place, shown));
    blocks.extend(resumes);
    blocks.push(Block::Form(filter(context)));
    let table = table(context, id, &found.items);
    blocks.push(Block::Table(whole(context, table, &found)));
    let above = vec![(
        context.say(Word::Webhooks).to_owned(),
        "/console/webhooks".to_owned(),
    )];
    Ok(context.page(Part::Webhooks, title, blocks).below(above))
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
    let facts = vec![
        (context.say(Word::Tenant), Cell::text(place.title(locale))),
        (context.say(Word::Id), Cell::code(body.id)),
        (context.say(Word::State), locale.state(status)),
        (
            context.say(Word::Description),
            Cell::maybe(body.description),
        ),
        (context.say(Word::Types), Cell::text(types)),
        (context.say(Word::Behind), locale.count(progress.behind)),
        (context.say(Word::Waiting), locale.count(progress.waiting)),
        (context.say(Word::Retrying), locale.count(progress.retrying)),
        (
            context.say(Word::Delivered),
            locale.count(progress.delivered),
        ),
        (context.say(Word::Parked), locale.count(progress.parked)),
        (
            context.say(Word::LastSuccess),
            success.map_or_else(|| Cell::text(""), |at| locale.time_of(at)),
        ),
        (
            context.say(Word::LastFailure),
            said(locale, progress.last_failure.as_ref()),
        ),
    ];
    Block::Facts(context.say(Word::Webhook).to_owned(), facts)
}

fn table(context: &PageContext, id: WebhookId, found: &[DeliveryView]) -> Table {
    let locale = context.locale();
    let columns = [
        (Word::Event, false),
        (Word::Type, false),
        (Word::State, false),
        (Word::Tries, true),
        (Word::LastTry, false),
        (Word::Answer, false),
    ];
    let rows = found.iter().map(|view| {
        let body = webhooks::delivery(id.realm, id.number, view);
        let last = body.attempts.last();
        let place = format!("/console/deliveries/{}", body.id);
        vec![
            Cell::code(&body.event_id).to(place),
            Cell::code(body.event_type),
            locale.state(body.status),
            locale.count(body.attempt_count),
            last.map_or_else(|| Cell::text(""), |it| locale.time_of(&it.at)),
            said(locale, last),
        ]
    });
    Table::new(locale, Word::Deliveries, Word::NoDeliveries, &columns).with(rows)
}

fn filter(context: &PageContext) -> Form {
    let locale = context.locale();
    let any = [(String::new(), context.say(Word::Any).to_owned())];
    let known = ENDINGS.map(|(word, _)| (word.to_owned(), locale.state(word).text));
    let choices = Takes::Choice(any.into_iter().chain(known).collect());
    let value = context.asks("status").map_or("", |text| text);
    Form {
        title: context.say(Word::Filter).to_owned(),
        action: context.path.clone(),
        asks: true,
        fields: vec![Field::new(locale, "status", Word::State, choices, 20).maybe(value)],
        submit: context.say(Word::Filter),
        grave: false,
    }
}
