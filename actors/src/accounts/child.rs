//! An account's actor as others hold it: its mailbox, its vitals, and a place reserved in the mailbox.

use std::sync::Arc;

use super::{AccountActor, AccountMessage};
use crate::mailbox::{Mailbox, Permit};
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
    /// Forwards a message. The caller has checked that there is room.
    pub fn send(&self, message: AccountMessage) {
        let permit = self.mailbox.reserve();
        // A dropped message answers "outcome unknown"; the actor is gone.
        drop(self.mailbox.put(permit, message));
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
    pub fn send(self, message: AccountMessage) {
        drop(self.child.mailbox.put(self.permit, message));
    }
}
