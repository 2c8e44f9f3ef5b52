//! Routes orders and questions about remuneration.

use caudal_ledger::ids::AccountNo;
use caudal_ledger::remuneration::Enrol;

use super::{Admission, RealmSupervisor, Target};
use crate::accounts::enrolment::FundSaid;
use crate::accounts::{EnrolmentView, FundTurn};
use crate::failure::Failure;
use crate::mailbox::Asked;
use crate::reply::{Reply, Waits};
use crate::scribe::Ticket;

/// What a supervisor can be asked about remuneration.
#[derive(Debug)]
pub enum FundMessage {
    /// Enrols an account in the fund that the tenant's bank offers.
    Enrol(Target, Enrol, Ticket<EnrolmentView>),
    /// Asks for the last enrolment of an account.
    EnrolmentOf(Target, Reply<Result<EnrolmentView, Failure>>),
    /// The fund's answer to somebody's question.
    Answered(AccountNo, FundSaid, Reply<Result<EnrolmentView, Failure>>),
}

impl Asked for FundMessage {
    fn asker(&mut self) -> Option<&mut dyn Waits> {
        match self {
            Self::Enrol(_, _, ticket) => Some(ticket),
            Self::EnrolmentOf(_, reply) => Some(reply),
            Self::Answered(..) => None,
        }
    }
}

impl RealmSupervisor {
    /// Routes messages about remuneration.
    pub(super) fn fund(&mut self, message: FundMessage) {
        match message {
            FundMessage::Enrol(target, order, ticket) => self.enrol(target, order, ticket),
            FundMessage::EnrolmentOf(target, reply) => {
                self.ask(target, reply, FundTurn::EnrolmentOf);
            }
            FundMessage::Answered(account, said, reply) => {
                self.ask(Target::Account(account), reply, |reply| {
                    FundTurn::Answered(said, reply)
                });
            }
        }
    }

    fn enrol(&mut self, target: Target, order: Enrol, ticket: Ticket<EnrolmentView>) {
        let (adopt, ticket) = match self.admit(ticket) {
            Admission::Go(ticket) => (None, ticket),
            Admission::Adopt(account, ticket) => (Some(account), ticket),
            Admission::Ended => return,
        };
        if let Some(account) = adopt {
            return self.forward(account, ticket, |ticket| FundTurn::Adopt(order, ticket));
        }
        match self.number(target) {
            Ok(number) => self.forward(number, ticket, |ticket| FundTurn::Enrol(order, ticket)),
            Err(why) => self.end(Err(why), ticket),
        }
    }
}
