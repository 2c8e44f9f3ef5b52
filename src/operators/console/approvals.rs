//! Approvals: requests of one person that another one has to decide.
//!
//! **Order.** An approved act is carried out by the code that would have done it at once, and is checked again
//! against the state of that time.

use actix_web::{HttpResponse, web};
use caudal_http::errors::ApiError;
use caudal_http::words::{Mistake, Say as _};
use caudal_ledger::people::approvals::{Approval, Proposal};
use caudal_ledger::people::audit::FieldChange;
use serde_json::Value;

use super::cases;
use super::page_context::{PageContext, SubmittedForm};
use super::show::seen;
use super::view::{Block, Cell, Field, Page, Part, Table, Takes, Tone, facts, table};
use super::words::Word;
use crate::admin::approvals::voting::choices;
use crate::admin::approvals::{ApprovalSubject, case_of, changes};
use crate::admin::forms::vote;

/// Lists approvals, the newest first: all that wait, and the last of those that were decided.
pub(super) async fn list(context: &PageContext) -> Result<Page, ApiError> {
    let (locale, approvals) = (context.locale(), context.operators().staff().approvals);
    let now = context.engine().now();
    let table = table! {
        locale, Word::Approvals, Word::NoApprovals; it in approvals.all().rev();
        => let number = it.proposal.number;
        Number figure: locale.count(number).to(format!("/console/approvals/{number}"));
        At: locale.time(it.asked_at);
        State: locale.state(it.state(now));
        By: Cell::text(&it.proposal.by);
        Action: Cell::code(&it.proposal.action);
        About: Cell::code(&it.proposal.subject);
        Reason: Cell::text(&it.proposal.reason);
        DecidedBy: Cell::maybe(it.vote.as_ref().map(|vote| &vote.by));
    };
    let title = context.say(Word::Approvals);
    Ok(context.page(Part::Approvals, title, vec![Block::Table(table)]))
}

/// Shows an approval with what it is about, and the form to decide it for those who may.
pub(super) async fn one(context: &PageContext, number: &u64) -> Result<Page, ApiError> {
    numbered(context, *number, None).await
}

/// The page of an approval; with the text of a key if approving it has just made one.
async fn numbered(
    context: &PageContext,
    number: u64,
    key: Option<String>,
) -> Result<Page, ApiError> {
    let approvals = context.operators().staff().approvals;
    let approval = approvals.numbered(number)?;
    let proposal = &approval.proposal;
    let key = key.map(|key| Block::Text(context.say(Word::NewKey).to_owned(), key));
    let mut blocks: Vec<Block> = key.into_iter().collect();
    blocks.push(facts(context, approval));
    blocks.extend(decision(context, proposal));
    let changes = changes(&context.admin_state.app, approval, context.engine().now());
    if !changes.is_empty() {
        blocks.push(Block::Table(changed(context, changes)));
    }
    if let Some(id) = case_of(proposal) {
        let shown = cases::contents(context, (id, &proposal.subject), &proposal.body);
        match shown.await {
            Ok((case, _)) => blocks.extend(case),
            // The request is shown even if the case is gone.
            Err(why) => blocks.push(Block::Note(Tone::Warn, why.text(context.locale().0))),
        }
    }
    let request = context.say(Word::Request).to_owned();
    blocks.push(Block::Text(request, readable(&proposal.body)));
    blocks.extend(form(context, approval));
    let title = format!("{} {number}", context.say(Word::Approval));
    let page = context.page(Part::Approvals, title, blocks);
    Ok(page.under(context.say(Word::Approvals), "/console/approvals"))
}

/// Who asked for what, why, and what became of it.
fn facts(context: &PageContext, approval: &Approval) -> Block {
    let (locale, now) = (context.locale(), context.engine().now());
    let (proposal, vote) = (&approval.proposal, approval.vote.as_ref());
    let platform = context.engine().platform();
    let about = ApprovalSubject::of(&platform, proposal);
    let subject = &proposal.subject;
    let place = match proposal.action.as_str() {
        "decideCase" => Some(format!("/console/cases/{subject}")),
        "decideTransfer" => Some(format!("/console/transfers/{subject}")),
        _ => None,
    };
    let tenant = about.tenant.map_or_else(
        || Cell::text(""),
        |tenant| Cell::text(&tenant.name).to(format!("/console/tenants/{}", tenant.id)),
    );
    facts! {
        context, Approval;
        State: locale.state(approval.state(now));
        By: Cell::text(&proposal.by);
        At: locale.time(approval.asked_at);
        WhyAsked: Cell::text(&proposal.reason);
        EndsAt: locale.time(proposal.expires_at);
        Action: Cell::code(&proposal.action);
        About: Cell::code(subject).leads(place);
        Tenant: tenant;
        Label: Cell::maybe(about.key.and_then(|key| key.label.as_ref()));
        DecidedBy: Cell::maybe(vote.map(|vote| &vote.by));
        DecidedAt: locale.maybe_time(vote.map(|vote| vote.at));
        ApprovalReason: Cell::maybe(vote.map(|vote| &vote.reason));
        Answer: Cell::maybe_code(approval.status);
    }
}

/// What the first person decides about a case.
fn decision(context: &PageContext, proposal: &Proposal) -> Option<Block> {
    case_of(proposal)?;
    let sent: Value = serde_json::from_str(&proposal.body).ok()?;
    let text = |name: &str| sent.get(name).and_then(Value::as_str);
    let outcome = match text("outcome")? {
        "completed" => context.say(Word::OutcomeCompleted),
        "rejected" => context.say(Word::OutcomeRejected),
        "return" => context.say(Word::OutcomeReturn),
        "credit" => context.say(Word::OutcomeCredit),
        "dismiss" => context.say(Word::OutcomeDismiss),
        other => other,
    };
    let to = text("cvu").map(|cvu| Cell::code(cvu).to(format!("/console/accounts/{cvu}")));
    let forced = sent.get("force").and_then(Value::as_bool) == Some(true);
    Some(facts! {
        context, WouldDecide;
        Outcome: Cell::text(outcome);
        CreditedTo: to.unwrap_or_else(|| Cell::text(""));
        Reason: Cell::maybe(text("reason"));
        BankReference: Cell::maybe_code(text("bankReference"));
        Forced: context.locale().is(forced, Tone::Quiet);
    })
}

/// The form to decide, for those who may; for whoever asked, a note that somebody else has to.
fn form(context: &PageContext, approval: &Approval) -> Option<Block> {
    let (locale, who) = (context.locale(), &context.session.who);
    let (approves, rejects) = choices(&context.admin_state.app, who, approval);
    if approval.waits_at(context.engine().now()) && approval.proposal.by == who.name {
        return Some(context.note(Tone::Quiet, Word::OwnRequest));
    }
    if !rejects {
        return None;
    }
    let said = |word: Word| context.say(word).to_owned();
    let mut all = vec![(String::new(), said(Word::Choose))];
    all.extend(approves.then(|| ("approve".to_owned(), said(Word::Approve))));
    all.push(("reject".to_owned(), said(Word::Reject)));
    let outcome = Field::new(locale, "outcome", Word::Outcome, Takes::Choice(all), 10);
    let action = format!("/console/approvals/{}", approval.proposal.number);
    let form = context.form(Word::Decide, action, vec![outcome, Field::reason(locale)]);
    Some(Block::Form(form.grave(true)))
}

/// The fields that a request would change, or that it would have changed when it was made.
fn changed(context: &PageContext, changes: Vec<FieldChange>) -> Table {
    table! {
        context.locale(), Word::Changes, Word::NothingHere; it in changes.into_iter();
        Field: Cell::code(it.field);
        Before: Cell::maybe_code(it.before);
        After: Cell::maybe_code(it.after);
    }
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
        sent.context.operators().staff(),
        sent.context.engine().now(),
    );
    match (staff.approvals.numbered(*path), key) {
        (Ok(_), Some(key)) => {
            let page = numbered(&sent.context, *path, Some(key)).await;
            sent.context.show(page)
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
    let reason = sent.reason()?;
    let (admin_state, who) = (&sent.context.admin_state, &sent.context.session.who);
    let mut answer = None;
    let work = async {
        answer = vote(admin_state, who, number, &reason, approved).await?;
        Ok(())
    };
    sent.does(action, number, Box::pin(work)).await?;
    let key = answer
        .as_ref()
        .and_then(|answer| answer.get("key")?.as_str());
    Ok(key.map(str::to_owned))
}
