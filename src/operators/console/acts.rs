//! Acts of operators at the console: all of them are in the audit log, as their looks are ([`super::looks`]).
//!
//! **Order.** As at the admin API: the entry that an act begins is durable before the act, and a second entry says
//! how it ended. Without the first, nothing is done. Of several nodes only the owner of the log does them.

use caudal_actors::failure::Failure;
use caudal_http::errors::ApiError;
use caudal_http::words::Refusal;
use caudal_ledger::people::audit::{AuditDetails, FieldChange, REASON_MAX};

use super::page_context::{PageContext, SubmittedForm};
use crate::admin::people::{AuditOutcome, Power, audit};

/// The status that stands for a success of the console in the audit log.
const DONE: u16 = 200;

/// An act that is about to be done.
#[derive(Clone, Copy, Debug)]
pub(super) struct AuditedAct<'a> {
    /// The id of the admin API's operation for the same act, where there is one.
    pub action: &'static str,
    /// The subject of the act.
    pub subject: &'a str,
    /// The power that it takes.
    pub power: Power,
    /// Whether it needs a reason, and may be done only once its first entry is durable.
    pub grave: bool,
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
    async fn note(
        &self,
        act: &AuditedAct<'_>,
        reason: &str,
        outcome: AuditOutcome,
        changes: Vec<FieldChange>,
    ) -> Result<u64, Failure> {
        let (app, who) = (&self.admin_state.app, &self.session.who);
        let details = AuditDetails::of_changes(changes);
        audit(app, who, act.action, act.subject, reason, outcome, details).await
    }

    /// Checks that the visitor may do something; a denied attempt is written down.
    async fn may(&self, act: &AuditedAct<'_>) -> Result<(), ApiError> {
        if self.session.who.role.may(act.power) {
            return Ok(());
        }
        let denied = self.note(act, "", AuditOutcome::Denied, Vec::new());
        if let Err(why) = denied.await {
            tracing::error!(%why, "what was denied could not be written into the audit log");
        }
        let role = act.power.least().as_str();
        Err(Refusal::RoleMissing { role }.into())
    }

    /// Refuses what the visitor's role may not see.
    pub(super) async fn needs(&self, action: &'static str, power: Power) -> Result<(), ApiError> {
        let act = AuditedAct {
            action,
            subject: action,
            power,
            grave: false,
        };
        self.may(&act).await
    }
}

impl SubmittedForm {
    /// The reason for an act: grave acts need one.
    pub(super) fn reason(&self) -> Result<String, ApiError> {
        self.required("reason", REASON_MAX)
    }

    /// Does an act between its two entries in the audit log.
    pub(super) async fn does(
        &self,
        act: AuditedAct<'_>,
        work: impl Future<Output = Result<(), ApiError>>,
    ) -> Result<(), ApiError> {
        let done = async { work.await.map(|()| ActOutcome::Done(Vec::new())) };
        self.between(act, done).await.map(drop)
    }

    /// Like [`Self::does`], for an act that changes fields, or that may have to wait for a second person: then it already
    /// has its second entry.
    pub(super) async fn does_or_asks(
        &self,
        act: AuditedAct<'_>,
        work: impl Future<Output = Result<ActOutcome, ApiError>>,
    ) -> Result<ActOutcome, ApiError> {
        self.between(act, work).await
    }

    async fn between(
        &self,
        act: AuditedAct<'_>,
        work: impl Future<Output = Result<ActOutcome, ApiError>>,
    ) -> Result<ActOutcome, ApiError> {
        let _inside = if act.grave {
            self.context.admin_state.app.enter()?
        } else {
            None
        };
        let reason = if act.grave {
            self.reason()
        } else {
            Ok(String::new())
        };
        self.context.may(&act).await?;
        let reason = reason?;
        let (app, who) = (&self.context.admin_state.app, &self.context.session.who);
        let begun = if act.grave || app.audit_rate.admits(&who.name) {
            self.context
                .note(&act, &reason, AuditOutcome::Begun, Vec::new())
                .await
                .map(Some)
        } else {
            Ok(None)
        };
        let of = match begun {
            Ok(of) => of,
            Err(why) if act.grave => return Err(why.into()),
            // A full disk must not keep operators from verifying or shipping the journal.
            Err(why) => {
                tracing::error!(%why, "a check could not be written to the audit log");
                None
            }
        };
        let done = work.await;
        let outcome = of.and_then(|of| match &done {
            Ok(ActOutcome::Asked) => None,
            Ok(ActOutcome::Done(_) | ActOutcome::Made(_)) => {
                Some(AuditOutcome::Done { of, status: DONE })
            }
            // It may have been done, so the entry that it began stays alone.
            Err(why) if why.is_unknown() => None,
            Err(why) => Some(AuditOutcome::Failed {
                of,
                status: why.status.as_u16(),
            }),
        });
        let changes = match &done {
            Ok(ActOutcome::Done(changes)) => changes.clone(),
            Ok(ActOutcome::Made(_) | ActOutcome::Asked) | Err(_) => Vec::new(),
        };
        let ended = AuditedAct {
            subject: match &done {
                Ok(ActOutcome::Made(subject)) => subject,
                Ok(ActOutcome::Done(_) | ActOutcome::Asked) | Err(_) => act.subject,
            },
            ..act
        };
        if let Some(outcome) = outcome
            && let Err(why) = self.context.note(&ended, &reason, outcome, changes).await
        {
            let action = act.action;
            tracing::error!(%why, action, "the outcome could not be written to the audit log");
        }
        done
    }
}
