//! The audit log: who did what and who looked at whom, the newest first.

use caudal_actors::engine::people::AuditQuery;
use caudal_http::errors::ApiError;
use caudal_ledger::people::audit::{
    AuditDetails, AuditEntry, AuditFilter, AuditOutcome, FieldChange,
};
use caudal_ledger::time::BusinessDay;

use super::lists::going_on;
use super::page_context::PageContext;
use super::view::{Block, Cell, Page, Part, ROWS, Takes, table};
use super::words::Word;
use crate::admin::audit::subjects;

/// The longest name, action or subject to search for, in characters.
const TEXT_MAX: usize = 200;
/// How many changed fields and how many CVUs of an entry are written out; the API gives all of them.
const SAID_MAX: usize = 20;

/// Shows the log to those who may see it.
pub(super) async fn page(context: &PageContext) -> Result<Page, ApiError> {
    context.needs("listAudit").await?;
    let text = |name: &str| context.asks(name).map(str::to_owned);
    let day = |name: &str| context.asks(name).and_then(BusinessDay::parse);
    let asked = AuditQuery {
        filter: AuditFilter {
            operator: text("operator"),
            action: text("action"),
            subjects: subjects(&context.admin_state.app, context.asks("subject")).await?,
            request_id: text("request"),
        },
        from: day("from").map(BusinessDay::start),
        to: day("to").map(BusinessDay::end),
        before: context.asks("before").and_then(|text| text.parse().ok()),
        limit: context.rows(ROWS),
    };
    let found = context.operators().audit_page(asked).await?;
    let locale = context.locale();
    let table = table! {
        locale, Word::Audit, Word::NoAudit; row in &found.rows;
        => let entry = &row.entry;
        Number figure: locale.count(row.sequence);
        At: locale.time(row.at);
        By: Cell::text(&entry.operator);
        Role: Cell::text(entry.role.as_str());
        Action: Cell::code(&entry.action);
        About: Cell::code(&entry.subject);
        Outcome: outcome(context, entry);
        Reason: Cell::text(&entry.reason);
        Details: Cell::text(details(context, &entry.details));
        Request: Cell::code(&entry.request_id);
    };
    let next = found
        .next
        .map(|before| going_on(context, "before", &before.to_string()));
    let blocks = vec![form(context), Block::Table(table.next(next))];
    Ok(context.page(Part::Audit, context.say(Word::Audit), blocks))
}

/// How it ended, with the entry that it ends and how much of it was left out.
fn outcome(context: &PageContext, entry: &AuditEntry) -> Cell {
    let locale = context.locale();
    let mut outcome = match entry.outcome {
        AuditOutcome::Done { of, .. } | AuditOutcome::Failed { of, .. } => {
            let mut cell = locale.state(entry.outcome.as_str());
            cell.text = format!("{} · {}", cell.text, locale.count(of).text);
            cell
        }
        AuditOutcome::Begun
        | AuditOutcome::Looked
        | AuditOutcome::Denied
        | AuditOutcome::Asked { .. } => locale.state(entry.outcome.as_str()),
    };
    if entry.omitted > 0 {
        let (word, count) = (context.say(Word::Omitted), locale.count(entry.omitted).text);
        outcome.text = format!("{} · {word}: {count}", outcome.text);
    }
    outcome
}

/// What was shown, what changed, and who approved it.
fn details(context: &PageContext, details: &AuditDetails) -> String {
    let mut said = Vec::new();
    if let Some(second) = &details.second {
        let (word, by) = (context.say(Word::ApprovedBy), &second.by);
        said.push(format!(
            "{word} {by} ({}): {}",
            second.approval, second.reason
        ));
    }
    said.extend(details.changes.iter().take(SAID_MAX).map(change));
    let times = |(name, times): (&String, &u64)| match times {
        1 => name.clone(),
        times => format!("{name} ×{times}"),
    };
    said.extend(details.shown.iter().take(SAID_MAX).map(times));
    let all = [details.changes.len(), details.shown.len()];
    let left = all.map(|count| count.checked_sub(SAID_MAX));
    let left = left.into_iter().flatten().filter(|left| *left > 0);
    said.extend(left.map(|left| format!("+{left}")));
    said.join("; ")
}

/// A changed field with both values.
fn change(change: &FieldChange) -> String {
    let side = |text: &Option<String>| text.as_ref().map_or("–", String::as_str).to_owned();
    let (before, after) = (side(&change.before), side(&change.after));
    format!("{}: {before} → {after}", change.field)
}

fn form(context: &PageContext) -> Block {
    let field = |name, word, takes| context.asked_field(name, word, takes, TEXT_MAX);
    context.filter(vec![
        field("operator", Word::By, Takes::Line),
        field("action", Word::Action, Takes::Line),
        field("subject", Word::About, Takes::Line),
        field("request", Word::Request, Takes::Line),
        field("from", Word::From, Takes::Day),
        field("to", Word::To, Takes::Day),
    ])
}
