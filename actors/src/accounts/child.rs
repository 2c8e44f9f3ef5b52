//! An account's actor as others hold it: its mailbox, its status, and a place reserved in the mailbox.

use std::sync::Arc;

use actix::Handler;

use super::{AccountActor, AccountOrder};
use crate::actor_status::ActorStatus;
use crate::commit_writer::RequestContext;
use crate::mailbox::{HasResponder, Mailbox, Permit, Queued};
use crate::orders::Envelope;

/// One actor and its status.
#[derive(Clone, Debug)]
pub struct Child {
    /// Takes its messages.
    pub mailbox: Mailbox<AccountActor>,
    /// The status of the actor, as its supervisor reads it.
    pub actor_status: Arc<ActorStatus>,
    /// Whether a message came for it since its supervisor last considered passivating it.
    pub touched: bool,
}

impl Child {
    /// Forwards an order. The caller has checked that there is room.
    pub fn send<O: AccountOrder>(&self, order: O, request: RequestContext<O::Outcome>) {
        let permit = self.mailbox.reserve();
        // If the actor has stopped, the caller gets an error.
        drop(self.mailbox.put(permit, Envelope { order, request }));
    }

    /// Sends an order without waiting for its outcome. The caller has checked that the mailbox has room.
    pub fn tell<O: AccountOrder<Outcome = ()>>(&self, order: O) {
        self.send(order, RequestContext::nobody());
    }

    /// Reserves a place in its mailbox, so that the actor stays until the message comes.
    pub fn reserve(self) -> Reserved {
        Reserved {
            permit: self.mailbox.reserve(),
            child: self,
        }
    }

    /// Whether it runs and is not poisoned.
    pub fn sound(&self) -> bool {
        self.mailbox.connected() && !self.actor_status.is_poisoned()
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
    pub fn send<M: HasResponder + Send + 'static>(self, message: M)
    where
        AccountActor: Handler<Queued<M>>,
    {
        drop(self.child.mailbox.put(self.permit, message));
    }
}
