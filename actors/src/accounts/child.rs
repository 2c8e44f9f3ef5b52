//! An account's actor as others hold it: its mailbox, its pulse, and a place reserved in it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::{AccountActor, AccountMessage};
use crate::mailbox::{Mailbox, Permit};
use crate::vitals::Vitals;

/// One actor and its pulse.
#[derive(Clone, Debug)]
pub struct Child {
    /// Where its messages go.
    pub mailbox: Mailbox<AccountActor>,
    /// The pulse of the actor, as its supervisor reads it.
    pub vitals: Arc<Vitals>,
    /// Whether it was asked for since its supervisor last looked for one to send away.
    pub touched: bool,
}

impl Child {
    /// Forwards a message. There is room: whoever found it has checked that.
    pub fn send(&self, message: AccountMessage) {
        let permit = match self.vitals.lent.load(Ordering::Acquire) {
            // It waits for a disk or for another account.
            true => self.mailbox.reserve_apart(),
            false => self.mailbox.reserve(),
        };
        // A dropped message answers "outcome unknown"; the actor is gone.
        drop(self.mailbox.put(permit, message));
    }

    /// Reserves a place in its mailbox, so that it stays until the message comes.
    pub fn reserve(self) -> Reserved {
        Reserved {
            permit: self.mailbox.reserve_apart(),
            child: self,
        }
    }

    /// Whether it lives and knows only what is on disk.
    pub fn sound(&self) -> bool {
        self.mailbox.connected() && !self.vitals.doubtful()
    }
}

/// A place in an actor's mailbox. Given back when it is dropped.
#[derive(Debug)]
pub struct Reserved {
    child: Child,
    permit: Permit,
}

impl Reserved {
    /// Sends the message that the place was reserved for.
    pub fn send(self, message: AccountMessage) {
        drop(self.child.mailbox.put(self.permit, message));
    }
}
