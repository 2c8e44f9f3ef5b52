//! What is done from the console, and who looked at what: all of it stands in the audit log.
//!
//! **Order.** As at the admin API: that something is about to be done is durable before it is done, and how it ended
//! stands in a second entry. Without the first nothing is done. Of several nodes the owner of the first cell does what acts on a
//! realm or on the platform, and writes it down.

use caudal_actors::failure::Failure;
use caudal_ledger::people::audit::REASON_MAX;

use super::visit::{Sent, Visit};
use crate::admin::access::Came;
use crate::admin::elsewhere::passed;
use crate::admin::people::{Outcome, Power, audit};
use crate::http::errors::ApiError;
use crate::http::words::Refusal;

/// The status that stands for success in the audit log.
const DONE: u16 = 200;

/// What is about to be done.
#[derive(Clone, Copy, Debug)]
pub struct Act<'a> {
    /// The id of the operation of the admin API that does the same, where there is one.
    pub action: &'static str,
    /// What it is done to.
    pub subject: &'a str,
    /// The power that it takes.
    pub power: Power,
    /// Whether somebody has to say why, and whether it is done only when it could be written down first.
    pub grave: bool,
    /// The body of that operation, where the owner of the first cell is to do it, whichever node is asked.
    pub body: Option<&'a str>,
}

/// What became of something.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    /// It was done.
    Done,
    /// It waits for a second person.
    Asked,
}

impl Visit {
    async fn note(&self, act: &Act<'_>, reason: &str, outcome: Outcome) -> Result<u64, Failure> {
        let (door, who) = (&self.desk.door, &self.session.who);
        audit(door, who, act.action, act.subject, reason, outcome).await
    }

    /// Whether the visitor may do something; that they tried is written down.
    async fn may(&self, act: &Act<'_>) -> Result<(), ApiError> {
        if self.session.who.role.may(act.power) {
            return Ok(());
        }
        if let Err(why) = self.note(act, "", Outcome::Denied).await {
            tracing::error!(%why, "what was denied could not be written into the audit log");
        }
        let role = act.power.least().as_str();
        Err(Refusal::RoleMissing { role }.into())
    }

    /// Writes down that somebody looked at a person's affairs.
    pub async fn looks(&self, action: &'static str, subject: &str) -> Result<(), ApiError> {
        let act = Act {
            action,
            subject,
            power: Power::Read,
            grave: false,
            body: None,
        };
        self.note(&act, "", Outcome::Looked).await?;
        Ok(())
    }

    /// Refuses what the visitor's role may not see.
    pub async fn needs(&self, action: &'static str, power: Power) -> Result<(), ApiError> {
        let act = Act {
            action,
            subject: action,
            power,
            grave: false,
            body: None,
        };
        self.may(&act).await
    }
}

impl Sent {
    /// Why it is done: it has to be said for what is grave.
    pub fn reason(&self) -> Result<String, ApiError> {
        self.required("reason", REASON_MAX)
    }

    /// Does something between its two entries in the audit log.
    pub async fn does(
        &self,
        act: Act<'_>,
        work: impl Future<Output = Result<(), ApiError>>,
    ) -> Result<(), ApiError> {
        self.does_and_tells(act, async { (work.await, None) }).await
    }

    /// The same of what tells what came of it: its second entry has that before the reason.
    pub async fn does_and_tells(
        &self,
        act: Act<'_>,
        work: impl Future<Output = (Result<(), ApiError>, Option<Came>)>,
    ) -> Result<(), ApiError> {
        let done = async {
            let (done, came) = work.await;
            (done.map(|()| Ended::Done), came)
        };
        self.between(act, done).await.map(drop)
    }

    /// The same of what may come to wait for a second person: then it has its second entry already.
    pub async fn does_or_asks(
        &self,
        act: Act<'_>,
        work: impl Future<Output = Result<Ended, ApiError>>,
    ) -> Result<Ended, ApiError> {
        self.between(act, async { (work.await, None) }).await
    }

    /// Has the owner of the first cell do it, where that is another node.
    async fn elsewhere(
        &self,
        act: &Act<'_>,
        reason: &str,
        body: &str,
    ) -> Result<Option<bool>, ApiError> {
        let (desk, who) = (&self.visit.desk, &self.visit.session.who);
        passed(desk, who, act.action, (act.subject, reason), body).await
    }

    async fn between(
        &self,
        act: Act<'_>,
        work: impl Future<Output = (Result<Ended, ApiError>, Option<Came>)>,
    ) -> Result<Ended, ApiError> {
        let reason = match act.grave {
            true => self.reason(),
            false => Ok(String::new()),
        };
        if let (Some(body), Ok(reason)) = (act.body, &reason)
            && let Some(asked) = self.elsewhere(&act, reason, body).await?
        {
            return Ok(if asked { Ended::Asked } else { Ended::Done });
        }
        self.visit.may(&act).await?;
        let reason = reason?;
        let begun = self.visit.note(&act, &reason, Outcome::Begun).await;
        let of = match begun {
            Ok(of) => {
                self.begun.set(of);
                Some(of)
            }
            Err(why) if act.grave => return Err(why.into()),
            // A full disk must not keep anybody from verifying or shipping the journal.
            Err(why) => {
                tracing::error!(%why, "a check could not be written into the audit log");
                None
            }
        };
        let (done, came) = work.await;
        let reason = came.map_or(reason.clone(), |came| came.before(&reason));
        let outcome = of.and_then(|of| match &done {
            Ok(Ended::Asked) => None,
            Ok(Ended::Done) => Some(Outcome::Done { of, status: DONE }),
            // It may have been done: that it was begun stands alone.
            Err(why) if why.is_unknown() => None,
            Err(why) => Some(Outcome::Failed {
                of,
                status: why.status.as_u16(),
            }),
        });
        if let Some(outcome) = outcome
            && let Err(why) = self.visit.note(&act, &reason, outcome).await
        {
            let action = act.action;
            tracing::error!(%why, action, "an end could not be written into the audit log");
        }
        done
    }
}
