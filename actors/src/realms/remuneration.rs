//! Routing of orders and questions about remuneration.

use caudal_ledger::remuneration::Enrol;

use super::{Admission, RealmMessage, RealmSupervisor, Target};
use crate::accounts::{AccountMessage, EnrolmentView};
use crate::scribe::Ticket;

impl RealmSupervisor {
    /// Routes what is about remuneration; any other message does nothing.
    pub(super) fn remunerate(&mut self, message: RealmMessage) {
        match message {
            RealmMessage::Enrol(target, order, ticket) => self.enrol(target, order, ticket),
            RealmMessage::EnrolmentOf(target, reply) => {
                self.ask(target, reply, AccountMessage::EnrolmentOf);
            }
            RealmMessage::FundTold(account, said, reply) => {
                self.ask(Target::Account(account), reply, |reply| {
                    AccountMessage::FundTold(said, reply)
                });
            }
            _ => {}
        }
    }

    fn enrol(&mut self, target: Target, order: Enrol, ticket: Ticket<EnrolmentView>) {
        let (adopt, ticket) = match self.admit(ticket) {
            Admission::Go(ticket) => (None, ticket),
            Admission::Adopt(account, ticket) => (Some(account), ticket),
            Admission::Ended => return,
        };
        if let Some(account) = adopt {
            return self.forward(account, ticket, |ticket| {
                AccountMessage::AdoptEnrolment(order, ticket)
            });
        }
        match self.number(target) {
            Ok(number) => self.forward(number, ticket, |ticket| {
                AccountMessage::Enrol(order, ticket)
            }),
            Err(why) => self.end(Err(why), ticket),
        }
    }
}
