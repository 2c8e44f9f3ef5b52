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

use super::lists::{after, asked_page, cut};
use super::view::{Block, Cell, Field, Form, Page, Part, ROWS, Table, Takes};
use super::visit::{Place, Visit};
use super::words::Word;
use crate::admin::{all_webhooks, host};

pub(super) use deliveries::{one as delivery, redeliver};

/// The endings of a delivery, by their words on the wire.
const ENDINGS: [(&str, Ending); 3] = [
    ("delivered", Ending::Delivered),
    ("failing", Ending::Failed),
    ("parked", Ending::Parked),
];

/// Lists the webhooks.
pub(super) async fn list(visit: Visit) -> HttpResponse {
    let made = listed(&visit).await;
    visit.show(made)
}

async fn listed(visit: &Visit) -> Result<Page, ApiError> {
    let tongue = visit.tongue();
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
    let (all, note, next) = cut(visit, all_webhooks(&visit.desk).await?);
    let rows = all.into_iter().map(|row| {
        vec![
            Cell::text(row.tenant_id),
            Cell::text(row.mode),
            Cell::code(&row.id).to(format!("/console/webhooks/{}", row.id)),
            Cell::text(row.host),
            tongue.state(row.status),
            tongue.count(row.progress.behind),
            tongue.count(row.progress.retrying),
            tongue.count(row.progress.delivered),
            tongue.count(row.progress.parked),
        ]
    });
    let table = Table::new(tongue, Word::Webhooks, Word::NoWebhooks, &columns)
        .with(rows)
        .part(note, next);
    Ok(visit.page(
        Part::Webhooks,
        visit.say(Word::Webhooks),
        vec![Block::Table(table)],
    ))
}

/// Shows a webhook with its deliveries.
pub(super) async fn one(visit: Visit, path: web::Path<String>) -> HttpResponse {
    let made = single(&visit, &path).await;
    visit.show(made)
}

async fn single(visit: &Visit, text: &str) -> Result<Page, ApiError> {
    let engine = visit.engine();
    let id = WebhookId::parse(text).ok_or(Rejection::WebhookNotFound)?;
    let place = visit.realm(id.realm).ok_or(Rejection::WebhookNotFound)?;
    let view = engine.queries().webhook(id.realm, id.number).await?;
    let asked = visit.asks("status");
    let ending = ENDINGS.iter().find(|(word, _)| asked == Some(*word));
    let ending = ending.map(|(_, ending)| *ending);
    let page = asked_page(visit, ROWS);
    let found = engine
        .queries()
        .deliveries(id.realm, id.number, ending, page)
        .await?;
    let next = after(visit, &found);
    let mut blocks: Vec<Block> = visit.done_note().into_iter().collect();
    blocks.push(known(visit, &place, webhook(id.realm, &view)));
    blocks.push(Block::Form(form(visit)));
    blocks.push(Block::Table(table(visit, id, &found.items).next(next)));
    let above = vec![(
        visit.say(Word::Webhooks).to_owned(),
        "/console/webhooks".to_owned(),
    )];
    Ok(visit.page(Part::Webhooks, text, blocks).below(above))
}

/// The answer to a try, or why there was none.
fn said(attempt: Option<&AttemptBody>) -> Cell {
    let status = |it: &AttemptBody| it.response_status.map(|status| status.to_string());
    Cell::maybe(attempt.and_then(|it| it.error.clone().or_else(|| status(it))))
}

fn known(visit: &Visit, place: &Place, body: WebhookBody) -> Block {
    let (tongue, progress) = (visit.tongue(), body.progress);
    let any = || visit.say(Word::Any).to_owned();
    let types = body.types.map_or_else(any, |types| types.join(", "));
    let success = progress.last_success_at.as_ref();
    let facts = vec![
        (visit.say(Word::Tenant), Cell::text(place.title())),
        (visit.say(Word::Host), Cell::text(host(&body.url))),
        (visit.say(Word::State), tongue.state(body.status)),
        (visit.say(Word::Description), Cell::maybe(body.description)),
        (visit.say(Word::Types), Cell::text(types)),
        (visit.say(Word::Behind), tongue.count(progress.behind)),
        (visit.say(Word::Waiting), tongue.count(progress.waiting)),
        (visit.say(Word::Retrying), tongue.count(progress.retrying)),
        (visit.say(Word::Delivered), tongue.count(progress.delivered)),
        (visit.say(Word::Parked), tongue.count(progress.parked)),
        (
            visit.say(Word::LastSuccess),
            success.map_or_else(|| Cell::text(""), |at| tongue.time_of(at)),
        ),
        (
            visit.say(Word::LastFailure),
            said(progress.last_failure.as_ref()),
        ),
    ];
    Block::Facts(visit.say(Word::Webhook).to_owned(), facts)
}

fn table(visit: &Visit, id: WebhookId, found: &[DeliveryView]) -> Table {
    let tongue = visit.tongue();
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
            tongue.state(body.status),
            tongue.count(body.attempt_count),
            last.map_or_else(|| Cell::text(""), |it| tongue.time_of(&it.at)),
            said(last),
        ]
    });
    Table::new(tongue, Word::Deliveries, Word::NoDeliveries, &columns).with(rows)
}

fn form(visit: &Visit) -> Form {
    let tongue = visit.tongue();
    let any = [(String::new(), visit.say(Word::Any).to_owned())];
    let known = ENDINGS.map(|(word, _)| (word.to_owned(), tongue.state(word).text));
    let choices = Takes::Choice(any.into_iter().chain(known).collect());
    let value = visit.asks("status").map_or("", |text| text);
    Form {
        title: visit.say(Word::Filter).to_owned(),
        action: visit.path.clone(),
        asks: true,
        fields: vec![Field::new(tongue, "status", Word::State, choices, 20).maybe(value)],
        submit: visit.say(Word::Filter),
        grave: false,
    }
}
