//! An order on its way to the actor that decides it.
//!
//! **Shape.** An order is a type of its own. It is declared once, with its outcome ([`Order`]), and says what a realm's
//! supervisor does with it (`realms::RealmOrder`), what an account's actor does with it (`accounts::AccountOrder`), or
//! both. Doors, mailboxes and actors handle every order in the same way: as an [`Envelope`], which has the order and
//! its caller's ticket. So no list names the orders, and a new one changes none of them.
//!
//! Questions and reports are orders, too: a question has no idempotency key, and a report of the bank is taken even if
//! nobody waits for it.

use actix::Message;

use crate::mailbox::Asked;
use crate::reply::Waits;
use crate::scribe::Ticket;

/// What an actor can be asked or told.
pub trait Order: Send + Sized + 'static {
    /// What its caller receives.
    type Outcome: Send + 'static;
    /// Whether it is taken even if its caller has left: what the bank reports, and business that has begun.
    const ALWAYS: bool = false;

    /// The caller for whom the order is done, if any; usually the ticket's.
    fn caller<'a>(
        &'a mut self,
        ticket: &'a mut Ticket<Self::Outcome>,
    ) -> Option<&'a mut dyn Waits> {
        (!Self::ALWAYS).then_some(ticket)
    }
}

/// The ticket of an order's caller.
pub type TicketOf<O> = Ticket<<O as Order>::Outcome>;

/// An order with its caller's ticket: the message that travels.
pub struct Envelope<O: Order> {
    /// The order.
    pub order: O,
    /// Its caller's ticket.
    pub ticket: TicketOf<O>,
}

impl<O: Order<Outcome = ()>> From<O> for Envelope<O> {
    /// An order for whose outcome nobody waits.
    fn from(order: O) -> Self {
        Self {
            order,
            ticket: Ticket::nobody(),
        }
    }
}

impl<O: Order> Asked for Envelope<O> {
    fn asker(&mut self) -> Option<&mut dyn Waits> {
        self.order.caller(&mut self.ticket)
    }
}

impl<O: Order> Message for Envelope<O> {
    type Result = ();
}
