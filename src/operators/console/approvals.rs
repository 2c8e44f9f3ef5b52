//! Approvals: requests of one person that another one has to decide.
//!
//! **Order.** An approved act is carried out by the code that would have done it at once, and is checked again
//! against the state of that time.

use actix_web::{HttpResponse, web};
use caudal_http::errors::ApiError;
use caudal_http::words::Mistake;
use caudal_ledger::people::approvals::Approval;
use caudal_ledger::people::audit::REASON_MAX;
use serde_json::Value;

use super::acts::AuditedAct;
use super::page_context::{PageContext, SubmittedForm};
use super::show::seen;
use super::view::{Block, Cell, Field, Form, Page, Part, Table, Takes};
use super::words::Word;
use crate::admin::approvals::{ApprovalSubject, ChangeBody, bank_changes};
use crate::admin::forms::vote;
use crate::admin::people::Power;

/// Lists approvals, the newest first: all that wait, and the last of those that were decided.
pub(super) async fn list(context: PageContext) -> HttpResponse {
    let (locale, approvals) = (
        context.locale(),
        context.engine().operators().staff().approvals,
    );
    let columns = [
        (Word::Number, true),
        (Word::At, false),
        (Word::State, false),
        (Word::By, false),
        (Word::Action, false),
        (Word::About, false),
        (Word::Reason, false),
        (Word::DecidedBy, false),
    ];
    let now = context.engine().now();
    let rows = approvals.all().rev().map(|it| {
        let number = it.proposal.number;
        vec![
            locale
                .count(number)
                .to(format!("/console/approvals/{number}")),
            locale.time(it.asked_at),
            locale.state(it.state(now)),
            Cell::text(&it.proposal.by),
            Cell::code(&it.proposal.action),
            Cell::code(&it.proposal.subject),
            Cell::text(&it.proposal.reason),
            Cell::maybe(it.vote.as_ref().map(|vote| &vote.by)),
        ]
    });
    let table = Table::new(locale, Word::Approvals, Word::NoApprovals, &columns).with(rows);
    let title = context.say(Word::Approvals);
    let page = context.page(Part::Approvals, title, vec![Block::Table(table)]);
    context.show(Ok(page))
}

/// Shows an approval, with the form to decide it.
pub(super) async fn one(context: PageContext, path: web::Path<u64>) -> HttpResponse {
    let approvals = context.engine().operators().staff().approvals;
    let found = approvals.numbered(*path).map_err(ApiError::from);
    let made = found.map(|approval| shown(&context, approval, None));
    context.show(made)
}

/// The page of an approval; with the text of a key if approving it has just made one.
fn shown(context: &PageContext, approval: &Approval, key: Option<String>) -> Page {
    let (locale, now) = (context.locale(), context.engine().now());
    let (proposal, vote) = (&approval.proposal, approval.vote.as_ref());
    let platform = context.engine().platform();
    let about = ApprovalSubject::of(&platform, proposal);
    let facts = vec![
        (context.say(Word::State), locale.state(approval.state(now))),
        (context.say(Word::By), Cell::text(&proposal.by)),
        (context.say(Word::At), locale.time(approval.asked_at)),
        (context.say(Word::EndsAt), locale.time(proposal.expires_at)),
        (context.say(Word::Action), Cell::code(&proposal.action)),
        (context.say(Word::About), Cell::code(&proposal.subject)),
        (
            context.say(Word::Tenant),
            Cell::maybe(about.tenant.map(|tenant| &tenant.name)),
        ),
        (
            context.say(Word::Label),
            Cell::maybe(about.key.and_then(|key| key.label.as_ref())),
        ),
        (context.say(Word::Reason), Cell::text(&proposal.reason)),
        (
            context.say(Word::DecidedBy),
            Cell::maybe(vote.map(|vote| &vote.by)),
        ),
        (
            context.say(Word::DecidedAt),
            locale.maybe_time(vote.map(|vote| vote.at)),
        ),
        (
            context.say(Word::Decision),
            Cell::maybe(vote.map(|vote| &vote.reason)),
        ),
        (context.say(Word::Answer), Cell::maybe_code(approval.status)),
    ];
    let mut blocks: Vec<Block> = context.done_note().into_iter().collect();
    blocks.extend(key.map(|key| Block::Text(context.say(Word::NewKey).to_owned(), key)));
    blocks.push(Block::Facts(context.say(Word::Approval).to_owned(), facts));
    let relates = proposal.action == "changeTenant" && approval.waits_at(now);
    let changes = about.tenant.filter(|_| relates);
    let changes = changes.map(|tenant| bank_changes(tenant, &proposal.body));
    let changes = changes.filter(|changes| !changes.is_empty());
    blocks.extend(changes.map(|changes| Block::Table(changed(context, changes))));
    blocks.push(Block::Text(
        context.say(Word::Request).to_owned(),
        readable(&proposal.body),
    ));
    if approval.waits_at(now) {
        let said = |word: Word| context.say(word).to_owned();
        let choices = vec![
            (String::new(), said(Word::Choose)),
            ("approve".to_owned(), said(Word::Approve)),
            ("reject".to_owned(), said(Word::Reject)),
        ];
        let outcome = Field::new(locale, "outcome", Word::Outcome, Takes::Choice(choices), 10);
        let reason = Field::new(locale, "reason", Word::Reason, Takes::Lines, REASON_MAX);
        blocks.push(Block::Form(Form {
            title: said(Word::Decide),
            action: format!("/console/approvals/{}", proposal.number),
            asks: false,
            fields: vec![outcome, reason],
            submit: context.say(Word::Decide),
            grave: true,
        }));
    }
    let above = vec![(
        context.say(Word::Approvals).to_owned(),
        "/console/approvals".to_owned(),
    )];
    let title = format!("{} {}", context.say(Word::Approval), proposal.number);
    context.page(Part::Approvals, title, blocks).below(above)
}

/// What a request would change in a tenant's bank relations.
fn changed(context: &PageContext, changes: Vec<ChangeBody>) -> Table {
    let columns = [
        (Word::Field, false),
        (Word::Before, false),
        (Word::After, false),
    ];
    let rows = changes.into_iter().map(|it| {
        vec![
            Cell::code(it.field),
            Cell::maybe_code(it.before),
            Cell::maybe_code(it.after),
        ]
    });
    Table::new(
        context.locale(),
        Word::BankChanges,
        Word::NothingHere,
        &columns,
    )
    .with(rows)
}

/// A body as it is parsed: neither blanks nor escapes hide a part of it.
fn readable(body: &str) -> String {
    let parsed: Option<Value> = serde_json::from_str(body).ok();
    let text = parsed.and_then(|parsed| serde_json::to_string_pretty(&parsed).ok());
    text.unwrap_or_else(|| format!("{body:?}"))
}

/// Decides an approval. The page that follows has the key if approving made one: it is shown this once.
pub(super) async fn decide(sent: SubmittedForm, path: web::Path<u64>) -> HttpResponse {
    let key = match voted(&sent, &path.to_string()).await {
        Ok(key) => key,
        Err(why) => return sent.context.show(Err(why)),
    };
    let page = format!("/console/approvals/{path}");
    let (staff, now) = (
        sent.context.engine().operators().staff(),
        sent.context.engine().now(),
    );
    match (staff.approvals.numbered(*path), key) {
        (Ok(approval), Some(key)) => {
            let page = shown(&sent.context, approval, Some(key));
            sent.context.show(Ok(page))
        }
        // An act that failed when it was carried out is not done: the page shows its status.
        (found, _) => match found.map(|it| it.state(now)) {
            Ok("done" | "rejected") => sent.context.done(&page),
            _ => seen(&page),
        },
    }
}

async fn voted(sent: &SubmittedForm, number: &str) -> Result<Option<String>, ApiError> {
    let (action, approved) = match sent.fields.get("outcome").map(String::as_str) {
        Some("approve") => ("approveRequest", true),
        Some("reject") => ("rejectRequest", false),
        _ => return Err(ApiError::field("outcome", Mistake::Required)),
    };
    let act = AuditedAct {
        action,
        subject: number,
        power: Power::Approve,
        grave: true,
    };
    let reason = sent.reason()?;
    let (admin_state, who) = (&sent.context.admin_state, &sent.context.session.who);
    let mut answer = None;
    let work = async {
        answer = vote(admin_state, who, number, &reason, approved).await?;
        Ok(())
    };
    sent.does(act, Box::pin(work)).await?;
    let key = answer
        .as_ref()
        .and_then(|answer| answer.get("key")?.as_str());
    Ok(key.map(str::to_owned))
}
