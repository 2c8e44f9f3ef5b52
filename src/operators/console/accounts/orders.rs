//! An operator's orders about an account: suspend it, reactivate it, send its actor away.
//!
//! **Order.** A suspension needs a reason, which is kept in the journal, in the event and on the account.

use std::collections::BTreeMap;

use actix_web::{HttpResponse, web};
use caudal_actors::realms::Target;
use caudal_http::errors::ApiError;
use caudal_http::words::{Mistake, Refusal};
use caudal_ledger::accounts::{Account, ProfileOrder, Status, SuspensionCode};

use super::super::acts::ActOutcome;
use super::super::operations::{self, OperationForm};
use super::super::page_context::{PageContext, SubmittedForm, TenantRealm};
use super::super::places::found;
use super::super::view::{Block, Field, Takes};
use super::super::words::Word;
use crate::admin::people::Power;
use crate::admin::{accounts, fees_of_account};

/// The forms that make sense for the account's state.
pub(super) fn forms(context: &PageContext, key: &str, account: &Account) -> Vec<Block> {
    let locale = context.locale();
    let form = |title: Word, act: &str, fields: Vec<Field>, grave: bool| {
        let action = format!("/console/accounts/{key}/act?what={act}");
        Block::Folded(context.form(title, action, fields).grave(grave))
    };
    let codes = SuspensionCode::ALL.map(|code| {
        let word = code.as_str();
        (word.to_owned(), locale.state(word).text)
    });
    let reason = || Field::reason(locale);
    let mut blocks = Vec::new();
    if !context.session.who.role.may(Power::Act) {
        return blocks;
    }
    match account.status {
        Status::Active => {
            let takes = Takes::Choice(codes.into());
            let code = Field::new(locale, "code", Word::Cause, takes, 20);
            blocks.push(form(Word::Suspend, "suspend", vec![code, reason()], true));
        }
        Status::Suspended => {
            blocks.push(form(Word::Reactivate, "reactivate", vec![reason()], false));
        }
        Status::Registered | Status::Closed | Status::Void => {}
    }
    blocks.push(form(Word::SendAway, "passivate", vec![reason()], false));
    if let Some(cvu) = account.cvu {
        let fees = fees_of_account(cvu, &account.fees);
        let which = OperationForm::AccountFees;
        blocks.extend(operations::form(context, which, &cvu.to_string(), &fees));
    }
    blocks
}

/// Carries an order out.
pub(crate) async fn act(sent: SubmittedForm, path: web::Path<String>) -> HttpResponse {
    let done = ordered(&sent, &path).await;
    match done {
        Ok(()) => sent.context.done(&format!("/console/accounts/{path}")),
        Err(why) => sent.context.show(Err(why)),
    }
}

fn code(fields: &BTreeMap<String, String>) -> Result<SuspensionCode, ApiError> {
    let given = fields.get("code").map_or("", String::as_str);
    let mut all = SuspensionCode::ALL.into_iter();
    let found = all.find(|code| code.as_str() == given);
    found.ok_or_else(|| ApiError::field("code", Mistake::Required))
}

async fn ordered(sent: &SubmittedForm, key: &str) -> Result<(), ApiError> {
    let action = match sent.context.asks("what") {
        Some("suspend") => "suspendAccountByOperator",
        Some("reactivate") => "reactivateAccountByOperator",
        Some("passivate") => "passivateActor",
        _ => return Err(Refusal::NoPage.into()),
    };
    let (place, target, key) = found(&sent.context, key).await?;
    let work = changed(sent, &place, target, action);
    let done = sent.does_or_asks(action, &key, Box::pin(work)).await;
    done.map(drop)
}

async fn changed(
    sent: &SubmittedForm,
    place: &TenantRealm,
    target: Target,
    action: &str,
) -> Result<ActOutcome, ApiError> {
    let (context, engine) = (&sent.context, sent.context.engine());
    let (realm, by) = (place.realm.0, &context.session.who.name);
    let order = match action {
        "suspendAccountByOperator" => ProfileOrder::Suspend {
            reason: sent.reason()?,
            code: code(&sent.fields)?,
        },
        "reactivateAccountByOperator" => ProfileOrder::Reactivate,
        _ => {
            engine.operators().passivate(place.realm, target).await?;
            tracing::info!(realm, ?target, by, "an operator sent an actor away");
            return Ok(ActOutcome::Done(Vec::new()));
        }
    };
    let (_, changes) = accounts::stand(&context.admin_state, place.realm, target, order).await?;
    tracing::warn!(realm, ?target, action, by, "an operator changed an account");
    Ok(ActOutcome::Done(changes))
}
