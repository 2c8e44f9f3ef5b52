//! The audit log: who did what and who looked at whom, the newest first.

use actix_web::HttpResponse;
use caudal_actors::engine::people::{AuditQuery, AuditRow};
use caudal_http::errors::ApiError;
use caudal_ledger::people::audit::{AuditFilter, Outcome};
use caudal_ledger::time::BusinessDay;

use super::view::{Block, Cell, Field, Form, Page, Part, ROWS, Table, Takes};
use super::visit::Visit;
use super::words::Word;
use crate::admin::people::Power;

/// The longest name, action or subject to search for, in characters.
const TEXT_MAX: usize = 200;

/// Shows the log to those who may see it.
pub(super) async fn page(visit: Visit) -> HttpResponse {
    let made = made(&visit).await;
    visit.show(made)
}

async fn made(visit: &Visit) -> Result<Page, ApiError> {
    visit.needs("listAudit", Power::Audit).await?;
    let text = |name: &str| visit.asks(name).map(str::to_owned);
    let day = |name: &str| visit.asks(name).and_then(BusinessDay::parse);
    let asked = AuditQuery {
        filter: AuditFilter {
            operator: text("operator"),
            action: text("action"),
            subject: text("subject"),
            request_id: text("request"),
        },
        from: day("from").map(BusinessDay::start),
        to: day("to").map(BusinessDay::end),
        before: visit.asks("before").and_then(|text| text.parse().ok()),
        limit: ROWS,
    };
    let found = visit.engine().operators().audit_page(asked).await?;
    let columns = [
        (Word::Number, true),
        (Word::At, false),
        (Word::By, false),
        (Word::Role, false),
        (Word::Action, false),
        (Word::About, false),
        (Word::Outcome, false),
        (Word::Reason, false),
        (Word::Request, false),
    ];
    let rows = found.rows.iter().map(|row| shown(visit, row));
    let table = Table::new(visit.tongue(), Word::Audit, Word::NoAudit, &columns).with(rows);
    let next = found.next.map(|before| {
        let kept = visit.asked.iter().filter(|(name, _)| *name != "before");
        let query = url::form_urlencoded::Serializer::new(String::new())
            .extend_pairs(kept)
            .append_pair("before", &before.to_string())
            .finish();
        format!("/console/audit?{query}")
    });
    let blocks = vec![Block::Form(form(visit)), Block::Table(table.next(next))];
    Ok(visit.page(Part::Audit, visit.say(Word::Audit), blocks))
}

fn shown(visit: &Visit, row: &AuditRow) -> Vec<Cell> {
    let (tongue, entry) = (visit.tongue(), &row.entry);
    let mut outcome = match entry.outcome {
        Outcome::Done { of, .. } | Outcome::Failed { of, .. } => {
            let mut cell = tongue.state(entry.outcome.as_str());
            cell.text = format!("{} · {}", cell.text, tongue.count(of).text);
            cell
        }
        Outcome::Begun | Outcome::Looked | Outcome::Denied | Outcome::Asked { .. } => {
            tongue.state(entry.outcome.as_str())
        }
    };
    if entry.omitted > 0 {
        let (word, count) = (visit.say(Word::Omitted), tongue.count(entry.omitted).text);
        outcome.text = format!("{} · {word}: {count}", outcome.text);
    }
    vec![
        tongue.count(row.sequence),
        tongue.time(row.at),
        Cell::text(&entry.operator),
        Cell::text(entry.role.as_str()),
        Cell::code(&entry.action),
        Cell::code(&entry.subject),
        outcome,
        Cell::text(&entry.reason),
        Cell::code(&entry.request_id),
    ]
}

fn form(visit: &Visit) -> Form {
    let field = |name, word, takes| {
        let value = visit.asks(name).map_or("", |text| text);
        Field::new(visit.tongue(), name, word, takes, TEXT_MAX).maybe(value)
    };
    Form {
        title: visit.say(Word::Filter).to_owned(),
        action: "/console/audit".to_owned(),
        asks: true,
        fields: vec![
            field("operator", Word::By, Takes::Line),
            field("action", Word::Action, Takes::Line),
            field("subject", Word::About, Takes::Line),
            field("request", Word::Request, Takes::Line),
            field("from", Word::From, Takes::Day),
            field("to", Word::To, Takes::Day),
        ],
        submit: visit.say(Word::Filter),
        grave: false,
    }
}
