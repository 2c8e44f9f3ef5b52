//! Acts of operators at the console: all of them are in the audit log, as their looks are ([`super::looks`]).
//!
//! **Order.** As at the admin API: the entry that an act begins is durable before the act, and a second entry says
//! how it ended. Without the first, nothing is done. Of several nodes only the owner of the log does them.

use actix_web::http::StatusCode;
use caudal_actors::failure::Failure;
use caudal_http::errors::ApiError;
use caudal_http::words::Refusal;
use caudal_ledger::people::audit::{AuditDetails, FieldChange, REASON_MAX};
use serde_json::Value;

use super::page_context::{PageContext, SubmittedForm};
use crate::admin::access::{AdminOperation, AuditWeight, CreatedSubject};
use crate::admin::people::{AuditOutcome, audit};
use crate::admin::{changes, dispatch, forms};

/// The status that stands for a success of the console in the audit log.
const DONE: u16 = 200;

/// An act that is about to be done.
#[derive(Clone, Copy, Debug)]
struct AuditedAct<'a> {
    /// The admin API's operation for the same act.
    operation: &'static AdminOperation,
    /// The subject of the act.
    subject: &'a str,
}

impl<'a> AuditedAct<'a> {
    /// The act of an operation, by its id.
    fn of(id: &str, subject: &'a str) -> Result<Self, ApiError> {
        let operation = AdminOperation::named(id).ok_or(Refusal::NoPage)?;
        Ok(Self { operation, subject })
    }

    /// Whether it needs a reason, and may be done only once its first entry is durable.
    fn is_grave(&self) -> bool {
        self.operation.weight == AuditWeight::Acts
    }
}

/// How an act ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum ActOutcome {
    /// It was done, and these fields changed.
    Done(Vec<FieldChange>),
    /// It was done, and made this subject.
    Made(String),
    /// It waits for a second person's approval.
    Asked,
}

impl PageContext {
    async fn log(
        &self,
        act: &AuditedAct<'_>,
        reason: &str,
        outcome: AuditOutcome,
        changes: Vec<FieldChange>,
    ) -> Result<u64, Failure> {
        let (app, who) = (&self.admin_state.app, &self.session.who);
        let (action, details) = (act.operation.id, AuditDetails::of_changes(changes));
        audit(app, who, action, act.subject, reason, outcome, details).await
    }

    /// Checks that the visitor may do something; a denied attempt is written down.
    async fn may(&self, act: &AuditedAct<'_>) -> Result<(), ApiError> {
        let power = act.operation.power;
        if self.session.who.role.may(power) {
            return Ok(());
        }
        let denied = self.log(act, "", AuditOutcome::Denied, Vec::new());
        if let Err(why) = denied.await {
            tracing::error!(%why, "what was denied could not be written into the audit log");
        }
        let role = power.least().as_str();
        Err(Refusal::RoleMissing { role }.into())
    }

    /// Refuses what the visitor's role may not see.
    pub(super) async fn needs(&self, id: &str) -> Result<(), ApiError> {
        self.may(&AuditedAct::of(id, id)?).await
    }
}

impl SubmittedForm {
    /// The reason for an act: grave acts need one.
    pub(super) fn reason(&self) -> Result<String, ApiError> {
        self.required("reason", REASON_MAX)
    }

    /// Does an act, by the id of its operation, between its two entries in the audit log.
    pub(super) async fn does(
        &self,
        id: &str,
        subject: &str,
        work: impl Future<Output = Result<(), ApiError>>,
    ) -> Result<(), ApiError> {
        let done = async { work.await.map(|()| ActOutcome::Done(Vec::new())) };
        self.does_or_asks(id, subject, done).await.map(drop)
    }

    /// Runs an operation of the admin API with this body, as an act: how it ended, and the body of its answer.
    pub(super) async fn runs(
        &self,
        id: &str,
        subject: &str,
        body: &str,
    ) -> Result<(ActOutcome, Option<Value>), ApiError> {
        let mut read = None;
        let work = async {
            let reason = if AuditedAct::of(id, subject)?.is_grave() {
                self.reason()?
            } else {
                String::new()
            };
            let (admin_state, who) = (&self.context.admin_state, &self.context.session.who);
            let answer = forms::run(admin_state, who, (id, subject), &reason, body).await?;
            if answer.status() == StatusCode::ACCEPTED {
                return Ok(ActOutcome::Asked);
            }
            let outcome = match CreatedSubject::of(&answer) {
                Some(made) => ActOutcome::Made(made),
                None => ActOutcome::Done(changes::of(&answer)),
            };
            read = dispatch::read(answer).await;
            Ok(outcome)
        };
        let outcome = self.does_or_asks(id, subject, Box::pin(work)).await?;
        Ok((outcome, read))
    }

    /// Like [`Self::does`], for an act that changes fields, or that may have to wait for a second person: then it already
    /// has its second entry.
    pub(super) async fn does_or_asks(
        &self,
        id: &str,
        subject: &str,
        work: impl Future<Output = Result<ActOutcome, ApiError>>,
    ) -> Result<ActOutcome, ApiError> {
        let act = AuditedAct::of(id, subject)?;
        let (app, who) = (&self.context.admin_state.app, &self.context.session.who);
        let (_inside, reason) = if act.is_grave() {
            (app.enter()?, self.reason())
        } else {
            (None, Ok(String::new()))
        };
        self.context.may(&act).await?;
        let reason = reason?;
        let mut of = None;
        if act.is_grave() || app.audit_rate.admits(&who.name) {
            let begun = self
                .context
                .log(&act, &reason, AuditOutcome::Begun, Vec::new());
            match begun.await {
                Ok(begun) => of = Some(begun),
                Err(why) if act.is_grave() => return Err(why.into()),
                // A full disk must not keep operators from verifying or shipping the journal.
                Err(why) => {
                    tracing::error!(%why, "a check could not be written to the audit log");
                }
            }
        }
        let done = work.await;
        let Some(of) = of else { return done };
        let (outcome, subject, changes) = match &done {
            Ok(ActOutcome::Asked) => return done,
            Ok(ActOutcome::Done(changes)) => (
                AuditOutcome::Done { of, status: DONE },
                act.subject,
                changes.clone(),
            ),
            Ok(ActOutcome::Made(subject)) => (
                AuditOutcome::Done { of, status: DONE },
                subject.as_str(),
                Vec::new(),
            ),
            // It may have been done, so the entry that it began stays alone.
            Err(why) if why.is_unknown() => return done,
            Err(why) => {
                let status = why.status.as_u16();
                (AuditOutcome::Failed { of, status }, act.subject, Vec::new())
            }
        };
        let ended = AuditedAct { subject, ..act };
        if let Err(why) = self.context.log(&ended, &reason, outcome, changes).await {
            let action = act.operation.id;
            tracing::error!(%why, action, "the outcome could not be written to the audit log");
        }
        done
    }
}
