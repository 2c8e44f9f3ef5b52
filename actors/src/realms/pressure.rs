//! Orders that wait for the store before anything is decided about them.
//!
//! **Shape.** While the realm's lane is pressed (see [`crate::lanes`]), orders that the store would have to write are
//! deferred: they stay here, undecided, with their places in the mailbox. The supervisor is woken when the pressure eases, and they
//! take their turns. So under too much load an order waits where it can still be dropped: it has claimed nothing,
//! nothing of it is decided, and if its caller has left meanwhile its turn is skipped. Decided orders wait for the disk
//! for only a few milliseconds.
//!
//! **Bounds.** A deferred order keeps its place in the mailbox, so [`super::ORDERS_MAX`] bounds how many there are: a
//! later order is refused at the door. The rest of a batch that has begun is deferred, too, and never refused.
//!
//! **Order.** First come, first served. Reads, the bank's answers and the ends of orders that have begun pass the
//! deferred orders: no promise holds between them and an order that has no answer yet.

use actix::Context;

use super::{RealmMessage, RealmSupervisor};
use crate::mailbox::{Asked as _, Queued, give_way};

/// How many orders take their turns before the accounts of the same thread take theirs. Only then does the lane know of
/// these orders, so at most this many reach a pressed lane.
const IN_A_ROW_MAX: usize = 64;

impl RealmSupervisor {
    /// Defers a message that has to wait for the store, and gives back one that may be handled now.
    pub(super) fn defer(
        &mut self,
        mut queued: Queued<RealmMessage>,
        ctx: &mut Context<Self>,
    ) -> Option<Queued<RealmMessage>> {
        if !queued.message().waits_for_store() {
            return Some(queued);
        }
        match self.deferred.is_empty() {
            true if !self.shared.lane.is_pressed() => {
                self.in_a_row += 1;
                if self.in_a_row >= IN_A_ROW_MAX {
                    self.in_a_row = 0;
                    give_way(ctx);
                }
                return Some(queued);
            }
            true => self.call_back(ctx),
            false => {}
        }
        self.deferred.push_back(queued);
        None
    }

    /// Has the pressed lane call back when the pressure eases.
    fn call_back(&self, ctx: &Context<Self>) {
        let home = self.home(ctx);
        let permit = home.reserve();
        let wake = Box::new(move || {
            // If the supervisor is gone, nobody waits.
            drop(home.put(permit, RealmMessage::Eased));
        });
        self.shared.lane.when_eased(wake);
    }

    /// Lets deferred orders take their turns until the lane is pressed again.
    pub(super) fn go_on(&mut self, ctx: &mut Context<Self>) {
        let mut resumed = 0_usize;
        while resumed < IN_A_ROW_MAX
            && !self.shared.lane.is_pressed()
            && let Some(mut queued) = self.deferred.pop_front()
        {
            if !queued.message().is_left() {
                resumed += 1;
                self.take(queued, ctx);
            }
        }
        if !self.deferred.is_empty() {
            self.call_back(ctx);
            give_way(ctx);
        }
    }
}
