//! An operator's orders about an account: suspend it, reactivate it, send its actor away.
//!
//! **Order.** A suspension needs a reason, which is kept in the journal, in the event and on the account.

use std::collections::BTreeMap;

use actix_web::{HttpResponse, web};
use caudal_actors::realms::Target;
use caudal_http::errors::ApiError;
use caudal_http::words::{Mistake, Refusal};
use caudal_ledger::accounts::{Account, ProfileOrder, Status, SuspensionCode};
use caudal_ledger::people::audit::REASON_MAX;

use super::super::acts::Act;
use super::super::places::found;
use super::super::view::{Block, Field, Form, Takes};
use super::super::visit::{Place, Sent, Visit};
use super::super::words::Word;
use crate::admin::accounts;
use crate::admin::people::Power;

/// The forms that make sense for the account's state.
pub(super) fn forms(visit: &Visit, key: &str, account: &Account) -> Vec<Block> {
    let tongue = visit.tongue();
    let form = |title: Word, act: &str, fields: Vec<Field>, grave: bool| {
        Block::Form(Form {
            title: visit.say(title).to_owned(),
            action: format!("/console/accounts/{key}/act?what={act}"),
            asks: false,
            fields,
            submit: visit.say(title),
            grave,
        })
    };
    let codes = SuspensionCode::ALL.map(|code| {
        let word = code.as_str();
        (word.to_owned(), tongue.state(word).text)
    });
    let reason = || Field::new(tongue, "reason", Word::Reason, Takes::Lines, REASON_MAX);
    let mut blocks = Vec::new();
    match account.status {
        Status::Active => blocks.push(form(
            Word::Suspend,
            "suspend",
            vec![
                Field::new(tongue, "code", Word::Cause, Takes::Choice(codes.into()), 20),
                reason(),
            ],
            true,
        )),
        Status::Suspended => {
            blocks.push(form(Word::Reactivate, "reactivate", vec![reason()], false));
        }
        Status::Registered | Status::Closed | Status::Void => {}
    }
    blocks.push(form(Word::SendAway, "passivate", vec![reason()], false));
    blocks
}

/// Carries an order out.
pub(crate) async fn act(sent: Sent, path: web::Path<String>) -> HttpResponse {
    let done = ordered(&sent, &path).await;
    match done {
        Ok(()) => sent.visit.done(&format!("/console/accounts/{path}")),
        Err(why) => sent.visit.show(Err(why)),
    }
}

fn code(fields: &BTreeMap<String, String>) -> Result<SuspensionCode, ApiError> {
    let given = fields.get("code").map_or("", String::as_str);
    let found = SuspensionCode::ALL
        .into_iter()
        .find(|code| code.as_str() == given);
    found.ok_or_else(|| ApiError::field("code", Mistake::Required))
}

async fn ordered(sent: &Sent, key: &str) -> Result<(), ApiError> {
    let action = match sent.visit.asks("what") {
        Some("suspend") => "suspendAccountByOperator",
        Some("reactivate") => "reactivateAccountByOperator",
        Some("passivate") => "passivateActor",
        _ => return Err(Refusal::NoPage.into()),
    };
    let (place, target, key) = found(&sent.visit, key).await?;
    let act = Act {
        action,
        subject: &key,
        power: Power::Act,
        grave: true,
    };
    let work = changed(sent, &place, target, action);
    sent.does(act, Box::pin(work)).await
}

async fn changed(sent: &Sent, place: &Place, target: Target, action: &str) -> Result<(), ApiError> {
    let (visit, engine) = (&sent.visit, sent.visit.engine());
    let (realm, by) = (place.realm.0, &visit.session.who.name);
    let order = match action {
        "suspendAccountByOperator" => ProfileOrder::Suspend {
            reason: sent.reason()?,
            code: code(&sent.fields)?,
        },
        "reactivateAccountByOperator" => ProfileOrder::Reactivate,
        _ => {
            engine.operators().passivate(place.realm, target).await?;
            tracing::info!(realm, ?target, by, "an operator sent an actor away");
            return Ok(());
        }
    };
    accounts::change(engine, place.realm, target, order).await?;
    tracing::warn!(realm, ?target, action, by, "an operator changed an account");
    Ok(())
}
