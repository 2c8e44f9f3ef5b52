//! The decision about a case: its form, and its handling.

use actix_web::{HttpResponse, web};
use caudal_actors::accounts::TransferView;
use caudal_ledger::cases::{BY_MAX, RecordedMovement, Unbooked};

use caudal_ledger::transfers::TransferStatus;
use serde_json::{Map, Value};

use super::super::acts::ActOutcome;
use super::super::page_context::{PageContext, SubmittedForm};
use super::super::show::seen;
use super::super::view::{Block, Field, Takes};
use super::super::words::Word;

/// The longest reference of the bank, in characters.
const REFERENCE_MAX: usize = 64;
/// The digits of a CVU.
const CVU_DIGITS: usize = 22;

fn form(context: &PageContext, id: &str, outcomes: &[(&str, Word)], more: Vec<Field>) -> Block {
    let locale = context.locale();
    // No outcome is chosen in advance.
    let none = [("", Word::Choose)];
    let choices = none.iter().chain(outcomes);
    let choices = choices.map(|(value, word)| ((*value).to_owned(), context.say(*word).to_owned()));
    // A person decides under their own name.
    let nameless = !context.session.who.is_person();
    let by = nameless.then(|| Field::new(locale, "by", Word::By, Takes::Line, BY_MAX));
    let takes = Takes::Choice(choices.collect());
    let outcome = Field::new(locale, "outcome", Word::Outcome, takes, 20);
    let (name, label) = ("bankReference", Word::BankReference);
    let reference = Field::new(locale, name, label, Takes::Line, REFERENCE_MAX).maybe("");
    let mut fields = vec![outcome];
    fields.extend(by);
    fields.extend([reference, Field::reason(locale)]);
    fields.extend(more);
    let form = context.form(Word::Decide, format!("/console/cases/{id}"), fields);
    Block::Form(form.grave(true))
}

/// The form for a transfer that waits; `None` for one that does not.
pub(super) fn about_transfer(
    context: &PageContext,
    id: &str,
    view: &TransferView,
) -> Option<Block> {
    let open = matches!(
        view.transfer.status,
        TransferStatus::Audit | TransferStatus::InProgress | TransferStatus::Requested
    );
    let outcomes = [
        ("rejected", Word::OutcomeRejected),
        ("completed", Word::OutcomeCompleted),
    ];
    // Until the bank has given up, it may still report how the transfer ended.
    let force = Field::new(context.locale(), "force", Word::Force, Takes::Tick, 3);
    let more = match view.transfer.status {
        TransferStatus::Audit => Vec::new(),
        _ => vec![force],
    };
    open.then(|| form(context, id, &outcomes, more))
}

/// The form for money in suspense that waits.
pub(super) fn about_suspense(context: &PageContext, id: &str, outcome: &str) -> Option<Block> {
    let outcomes = [
        ("return", Word::OutcomeReturn),
        ("credit", Word::OutcomeCredit),
    ];
    let locale = context.locale();
    let cvu = Field::new(locale, "cvu", Word::CreditTo, Takes::Line, CVU_DIGITS).maybe("");
    (outcome == "waiting").then(|| form(context, id, &outcomes, vec![cvu]))
}

/// The form for a waiting case of something that could not be booked.
pub(super) fn about_unbooked(
    context: &PageContext,
    id: &str,
    unbooked: &Unbooked,
) -> Option<Block> {
    let outcomes = [("dismiss", Word::OutcomeDismiss)];
    let waits = unbooked.waits();
    waits.then(|| form(context, id, &outcomes, Vec::new()))
}

/// The form for a movement of the collector account that nobody has classified.
pub(super) fn about_collector(
    context: &PageContext,
    id: &str,
    record: &RecordedMovement,
) -> Option<Block> {
    let outcomes = [
        ("bank_fee", Word::ClassBankFee),
        ("bank_tax", Word::ClassBankTax),
        ("interest", Word::ClassInterest),
        ("funding", Word::ClassFunding),
        ("sweep", Word::ClassSweep),
    ];
    let waits = record.waits();
    waits.then(|| form(context, id, &outcomes, Vec::new()))
}

/// Takes the decision, or asks for a second person where the tenant's policy wants one.
pub(crate) async fn decide(sent: SubmittedForm, path: web::Path<String>) -> HttpResponse {
    match sent.runs("decideCase", &path, &body(&sent)).await {
        Ok((ActOutcome::Asked, _)) => seen("/console/approvals"),
        Ok(_) => sent.context.done(&format!("/console/cases/{path}")),
        Err(why) => sent.context.show(Err(why)),
    }
}

/// The body of the admin API's operation.
fn body(sent: &SubmittedForm) -> String {
    // The fields have the names of the operation's; an empty field counts as not sent.
    let names = ["outcome", "by", "reason", "bankReference", "cvu"];
    let given = |name: &str| {
        let text = sent.fields.get(name).map(|text| text.trim());
        let text = text.filter(|text| !text.is_empty());
        text.map(|text| (name.to_owned(), Value::from(text)))
    };
    let mut body: Map<String, Value> = names.into_iter().filter_map(given).collect();
    if sent.fields.get("force").is_some_and(|value| value == "yes") {
        body.insert("force".to_owned(), Value::from(true));
    }
    Value::from(body).to_string()
}
