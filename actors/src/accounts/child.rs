//! An account's actor as others hold it: its mailbox, its vitals, and a place reserved in the mailbox.

use std::sync::Arc;

use actix::Handler;

use super::{AccountActor, AccountOrder};
use crate::mailbox::{Asked, Mailbox, Permit, Queued};
use crate::orders::Envelope;
use crate::scribe::Ticket;
use crate::vitals::Vitals;

/// One actor and its vitals.
#[derive(Clone, Debug)]
pub struct Child {
    /// Takes its messages.
    pub mailbox: Mailbox<AccountActor>,
    /// The vitals of the actor, as its supervisor reads them.
    pub vitals: Arc<Vitals>,
    /// Whether a message came for it since its supervisor last considered passivating it.
    pub touched: bool,
}

impl Child {
    /// Forwards an order. The caller has checked that there is room.
    pub fn send<O: AccountOrder>(&self, order: O, ticket: Ticket<O::Outcome>) {
        let permit = self.mailbox.reserve();
        // If the actor is gone, the caller is told so.
        drop(self.mailbox.put(permit, Envelope { order, ticket }));
    }

    /// Sends an order for whose outcome nobody waits. The caller has checked that there is room.
    pub fn tell<O: AccountOrder<Outcome = ()>>(&self, order: O) {
        self.send(order, Ticket::nobody());
    }

    /// Reserves a place in its mailbox, so that the actor stays until the message comes.
    pub fn reserve(self) -> Reserved {
        Reserved {
            permit: self.mailbox.reserve(),
            child: self,
        }
    }

    /// Whether it lives and is not in doubt.
    pub fn sound(&self) -> bool {
        self.mailbox.connected() && !self.vitals.doubtful()
    }
}

/// A place in an actor's mailbox. It is given back when this is dropped.
#[derive(Debug)]
pub struct Reserved {
    child: Child,
    permit: Permit,
}

impl Reserved {
    /// Sends the message for which the place was reserved.
    pub fn send<M: Asked + Send + 'static>(self, message: M)
    where
        AccountActor: Handler<Queued<M>>,
    {
        drop(self.child.mailbox.put(self.permit, message));
    }
}
