//! Routes orders and questions about who an account is.

use caudal_ledger::accounts::ProfileOrder;
use caudal_ledger::alias::Alias;
use caudal_ledger::facts::Registration;
use caudal_ledger::ids::AccountNo;
use caudal_ledger::numbers::{Kind, LastNumber};

use super::{RealmSupervisor, Target};
use crate::accounts::{AccountMessage, AccountView, ProfileTurn, Versions};
use crate::failure::Failure;
use crate::mailbox::Asked;
use crate::reply::{Reply, Waits};
use crate::scribe::Ticket;

/// What a supervisor can be asked about who an account is.
#[derive(Debug)]
pub enum ProfileMessage {
    /// Registers an account (the supervisor assigns its number), and opens it if asked.
    Register {
        /// The registration; its number is ignored.
        registration: Registration,
        /// Whether it gets a CVU at once.
        open: bool,
        /// The alias asked for.
        alias: Option<Alias>,
        /// Receives the account as it is afterwards; carries the key of the request.
        ticket: Ticket<AccountView>,
    },
    /// Changes the profile of an account.
    Change {
        /// The account that is changed.
        target: Target,
        /// The change.
        order: ProfileOrder,
        /// The versions that the caller has seen; any when `None`.
        if_match: Option<Versions>,
        /// Receives the account as it is afterwards; carries the key of the request.
        ticket: Ticket<AccountView>,
    },
    /// Asks for the account as it is.
    View(Target, Reply<Result<AccountView, Failure>>),
}

impl Asked for ProfileMessage {
    fn asker(&mut self) -> Option<&mut dyn Waits> {
        match self {
            Self::Register { ticket, .. } | Self::Change { ticket, .. } => Some(ticket),
            Self::View(_, reply) => Some(reply),
        }
    }
}

impl RealmSupervisor {
    /// Routes messages about who an account is.
    pub(super) fn profile(&mut self, message: ProfileMessage) {
        match message {
            ProfileMessage::Register {
                registration,
                open,
                alias,
                ticket,
            } => self.register(registration, open, alias, ticket),
            ProfileMessage::Change {
                target,
                order,
                if_match,
                ticket,
            } => self.change(target, order, if_match, ticket),
            ProfileMessage::View(target, reply) => self.ask(target, reply, ProfileTurn::View),
        }
    }

    fn register(
        &mut self,
        registration: Registration,
        open: bool,
        alias: Option<Alias>,
        ticket: Ticket<AccountView>,
    ) {
        let Some(mut ticket) = self.admit_or_adopt(ticket) else {
            return;
        };
        let now = self.shared.clock.now();
        let next = self
            .shared
            .opening
            .next(Kind::Account, self.last_account, now);
        let number = AccountNo(next);
        let registration = Registration {
            number,
            asks_cvu: open,
            ..registration
        };
        let claimed = self.claim_names(&registration, alias.as_ref());
        match claimed.and_then(|guards| Ok((guards, self.children.start_unborn(&registration)?))) {
            Err(why) => self.end(Err(why), ticket),
            Ok((guards, child)) => {
                ticket.guards.extend(guards);
                // The account draws the client id.
                let client_id = 0;
                let opening = open.then_some(ProfileOrder::Open { client_id, alias });
                child.send(AccountMessage::Profile(ProfileTurn::Register {
                    registration,
                    opening,
                    ticket,
                }));
                self.last_account = Some(LastNumber {
                    number: next,
                    at: now,
                });
            }
        }
    }

    fn change(
        &mut self,
        target: Target,
        order: ProfileOrder,
        if_match: Option<Versions>,
        ticket: Ticket<AccountView>,
    ) {
        let Some(mut ticket) = self.admit_or_adopt(ticket) else {
            return;
        };
        let number = match self.number(target) {
            Ok(number) => number,
            Err(why) => return self.end(Err(why), ticket),
        };
        let claimed = match &order {
            ProfileOrder::SetAlias(alias) => Some(self.claim_for(alias, number)),
            ProfileOrder::ChangeParticulars(change) => change
                .code
                .as_ref()
                .map(|code| self.claim_code(code, number)),
            _ => None,
        };
        match claimed {
            Some(Ok(guard)) => ticket.guards.push(guard),
            Some(Err(why)) => return self.end(Err(why), ticket),
            None => {}
        }
        self.forward(number, ticket, |ticket| ProfileTurn::Change {
            order,
            if_match,
            ticket,
        });
    }
}
