//! The actor for the people who run the service: the people, the requests that wait for a second person, and the
//! audit log, each on a stream of its own.
//!
//! **Shape.** One writer for all three, so that a change and its entry in the audit log can be one commit. Changes of
//! people and approvals are published as soon as they are durable: when the answer leaves, a revoked credential no
//! longer works.
//!
//! **Order.** The actor waits for the disk before its next turn, as the platform's actor does: there are few operators.
//!
//! **Failure.** If the store takes no writes, nothing changes and the caller is told. Entries of the audit log are
//! written while the clock is in doubt, too, because the clock's confirmation is one of them.

use std::sync::{Arc, PoisonError, RwLock};

use actix::{Actor, Context, Handler};
use caudal_ledger::numbers::Opening;
use caudal_ledger::people::approvals::{ApprovalFact, ApprovalOrder, Approvals};
use caudal_ledger::people::audit::{AuditEntry, AuditFact, AuditOutcome};
use caudal_ledger::people::{People, PeopleFact, PeopleOrder};
use caudal_ledger::time::Timestamp;
use caudal_storage::{Commit, Index, SortOrder, Store, StoreError};

use crate::failure::Failure;
use crate::mailbox::{HasResponder, Queued};
use crate::ports::Clock;
use crate::records::{APPROVALS_STREAM, AUDIT_STREAM, PEOPLE_STREAM, Tail, reads};
use crate::reply::{Reply, Responder};
use crate::writing::write_then;

/// How many messages may wait for the actor.
pub const MAILBOX: usize = 256;

/// The people and their approvals, as of the last durable change.
#[derive(Clone, Debug, Default)]
pub struct Staff {
    /// The people.
    pub people: Arc<People>,
    /// Their requests, and the decisions about them.
    pub approvals: Arc<Approvals>,
}

/// Where [`Staff`] is published.
pub type PublishedStaff = Arc<RwLock<Staff>>;

/// An order to the actor, besides an entry of the audit log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum StaffOrder {
    /// Nothing.
    Nothing,
    /// An order about people.
    People(PeopleOrder),
    /// An order about a request that waits for a second person.
    Approval(ApprovalOrder),
}

/// The result of a write.
#[derive(Clone, Debug)]
pub struct StaffOutcome {
    /// The sequence of the audit log's entry; 0 if there was none.
    pub entry: u64,
    /// The number of the approval that the order was about, if any.
    pub approval: Option<u64>,
    /// People and approvals after the write.
    pub staff: Staff,
}

/// An order, the entry of the audit log that is written with it, and the reply.
#[derive(Debug)]
pub struct StaffMessage {
    /// The order.
    pub order: StaffOrder,
    /// The entry of the audit log about it.
    pub entry: Option<AuditEntry>,
    /// Receives the answer.
    pub reply: Reply<Result<StaffOutcome, Failure>>,
}

impl HasResponder for StaffMessage {
    fn responder(&mut self) -> Option<&mut dyn Responder> {
        Some(&mut self.reply)
    }
}

/// The ends of the three streams.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct StaffTails {
    people: Tail,
    approvals: Tail,
    audit: Tail,
}

/// People and approvals from the index, and the ends of their streams.
pub(crate) fn load(index: &dyn Index) -> Result<(Staff, StaffTails), StoreError> {
    let (mut people, mut approvals) = (People::default(), Approvals::default());
    let mut tails = StaffTails::default();
    reads::fold(index, PEOPLE_STREAM, 0, |fact: PeopleFact, seq, at| {
        people.apply(&fact, at);
        tails.people = Tail { seq, at };
    })?;
    reads::fold(index, APPROVALS_STREAM, 0, |fact: ApprovalFact, seq, at| {
        approvals.apply(&fact, at);
        tails.approvals = Tail { seq, at };
    })?;
    tails.audit = Tail::read(index, AUDIT_STREAM)?;
    let staff = Staff {
        people: Arc::new(people),
        approvals: Arc::new(approvals),
    };
    Ok((staff, tails))
}

/// The actor: the only writer of its streams.
pub struct StaffActor {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    staff: Staff,
    tails: StaffTails,
    opening: Opening,
    published: PublishedStaff,
}

impl StaffActor {
    /// Loads people and approvals from the store, with their actor.
    pub fn load(store: Arc<dyn Store>, clock: Arc<dyn Clock>) -> Result<Self, StoreError> {
        let (staff, tails) = load(store.as_ref())?;
        let opened = clock.now();
        // No request is older than the first entry of the audit log.
        let first = store.read(AUDIT_STREAM, 1, 1, SortOrder::Ascending, 1)?;
        let began = first.first().map(|entry| Timestamp::from_millis(entry.at));
        Ok(Self {
            opening: Opening {
                opened,
                began: began.unwrap_or(opened),
            },
            store,
            clock,
            published: Arc::new(RwLock::new(staff.clone())),
            staff,
            tails,
        })
    }

    /// Where the people and approvals are published.
    pub fn published(&self) -> PublishedStaff {
        Arc::clone(&self.published)
    }

    /// The commit of an order, and the state after it.
    fn draft(
        &self,
        order: StaffOrder,
        entry: Option<AuditEntry>,
        now: Timestamp,
    ) -> Result<(Commit, StaffTails, StaffOutcome), Failure> {
        let mut commit = Commit::default();
        let (mut tails, mut staff) = (self.tails, self.staff.clone());
        let mut approval = None;
        let mut asked = None;
        match order {
            StaffOrder::Nothing => {}
            StaffOrder::People(order) => {
                let fact = staff.people.decide(order)?;
                commit
                    .entries
                    .push(tails.people.next(PEOPLE_STREAM, now, &fact)?);
                Arc::make_mut(&mut staff.people).apply(&fact, tails.people.at);
            }
            StaffOrder::Approval(order) => {
                let fact = staff.approvals.decide(order, self.opening, now)?;
                let number = number(&fact);
                if matches!(fact, ApprovalFact::Asked(_)) {
                    asked = Some(AuditOutcome::Asked { approval: number });
                }
                approval = Some(number);
                let next = tails.approvals.next(APPROVALS_STREAM, now, &fact)?;
                commit.entries.push(next);
                Arc::make_mut(&mut staff.approvals).apply(&fact, tails.approvals.at);
            }
        }
        let noted = entry.map(|entry| AuditEntry {
            outcome: asked.unwrap_or(entry.outcome),
            ..entry.bounded()
        });
        let mut written = 0;
        if let Some(entry) = noted {
            let fact = AuditFact::Noted(entry);
            commit
                .entries
                .push(tails.audit.next(AUDIT_STREAM, now, &fact)?);
            written = tails.audit.seq;
        }
        let written = StaffOutcome {
            entry: written,
            approval,
            staff,
        };
        Ok((commit, tails, written))
    }

    fn obey(&mut self, ctx: &mut Context<Self>, message: StaffMessage) {
        let StaffMessage {
            order,
            entry,
            reply,
        } = message;
        let drafted = self.draft(order, entry, self.clock.now());
        let (commit, tails, written) = match drafted {
            Ok(drafted) => drafted,
            Err(why) => return reply.send(Err(why)),
        };
        if commit.entries.is_empty() {
            return reply.send(Ok(written));
        }
        write_then(&self.store, ctx, commit, move |done, actor: &mut Self| {
            reply.send(done.map(|()| {
                actor.tails = tails;
                actor.staff = written.staff.clone();
                let mut known = actor
                    .published
                    .write()
                    .unwrap_or_else(PoisonError::into_inner);
                *known = written.staff.clone();
                written
            }));
        });
    }
}

/// The number of the proposal that a fact is about.
const fn number(fact: &ApprovalFact) -> u64 {
    match fact {
        ApprovalFact::Asked(proposal) => proposal.number,
        ApprovalFact::Decided { number, .. } | ApprovalFact::Ended { number, .. } => *number,
    }
}

impl Actor for StaffActor {
    type Context = Context<Self>;
}

impl Handler<Queued<StaffMessage>> for StaffActor {
    type Result = ();

    fn handle(&mut self, queued: Queued<StaffMessage>, ctx: &mut Context<Self>) {
        let message = queued.take();
        if message.reply.is_closed() {
            return;
        }
        self.obey(ctx, message);
    }
}
