//! An order on its way to the actor that decides it.
//!
//! **Shape.** An order is a type of its own. It is declared once, with its outcome ([`Order`]), and says what a realm's
//! supervisor does with it (`realms::RealmOrder`), what an account's actor does with it (`accounts::AccountOrder`), or
//! both. Doors, mailboxes and actors handle every order in the same way: as an [`Envelope`], which has the order and
//! its caller's request context. So no list names the orders, and a new one changes none of them.
//!
//! Questions and reports are orders, too: a question has no idempotency key, and an actor takes a report of the bank even
//! if its caller has left.

use actix::Message;

use crate::commit_writer::RequestContext;
use crate::mailbox::HasResponder;
use crate::reply::Responder;

/// What an actor can be asked or told.
pub trait Order: Send + Sized + 'static {
    /// What its caller receives.
    type Outcome: Send + 'static;
    /// Whether it is taken even if its caller has left: what the bank reports, and business that has begun.
    const ALWAYS: bool = false;

    /// The caller for whom the order is done, if any; usually the request context's.
    fn caller<'a>(
        &'a mut self,
        request: &'a mut RequestContext<Self::Outcome>,
    ) -> Option<&'a mut dyn Responder> {
        (!Self::ALWAYS).then_some(request)
    }
}

/// The request context of an order's caller.
pub type ContextOf<O> = RequestContext<<O as Order>::Outcome>;

/// An order with its caller's request context: the message that travels.
pub struct Envelope<O: Order> {
    /// The order.
    pub order: O,
    /// Its caller's request context.
    pub request: ContextOf<O>,
}

impl<O: Order<Outcome = ()>> From<O> for Envelope<O> {
    /// An order that has no caller.
    fn from(order: O) -> Self {
        Self {
            order,
            request: RequestContext::nobody(),
        }
    }
}

impl<O: Order> HasResponder for Envelope<O> {
    fn responder(&mut self) -> Option<&mut dyn Responder> {
        self.order.caller(&mut self.request)
    }
}

impl<O: Order> Message for Envelope<O> {
    type Result = ();
}
