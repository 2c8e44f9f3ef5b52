//! Mailboxes with a real limit: waiting messages are counted, and refused beyond a named limit.
//!
//! **Shape.** [`Mailbox::tell`] wraps a message into a [`Queued`] that has a [`Permit`]. The permit is given back when
//! the message is taken, or dropped with the actor. actix's own capacity bounds nothing here: each clone of an address
//! may always put one message more, and every sender has its own clone. So this is the only module that may call
//! `try_send`.
//!
//! **Bounds.** Each actor names the most messages that may wait for it, where its mailbox is made.
//!
//! **Failure.** If an actor stops or panics, the mailbox drops the messages that wait. The caller of each gets
//! [`Undelivered`]: nothing was done. A full mailbox returns [`Failure::Overloaded`]. A mailbox whose actor has stopped
//! returns [`Failure::ShuttingDown`]. In both cases nothing was done.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use actix::dev::ToEnvelope;
use actix::fut::wrap_future;
use actix::prelude::SendError;
use actix::{Actor, Addr, AsyncContext as _, Context, Handler, Message};

use crate::failure::Failure;
use crate::reply::Responder;

/// How many messages wait for one actor.
#[derive(Clone, Debug, Default)]
pub struct QueueDepth(Arc<AtomicUsize>);

impl QueueDepth {
    /// How many messages wait now.
    pub fn count(&self) -> usize {
        self.0.load(Ordering::Acquire)
    }

    /// A permit whether there is room or not: for a message that had room before or gets it anyway.
    pub fn permit(&self) -> Permit {
        self.0.fetch_add(1, Ordering::AcqRel);
        Permit(self.clone())
    }

    /// A permit, if fewer than `most` messages wait.
    fn permit_below(&self, most: usize) -> Option<Permit> {
        let more = |count: usize| count.checked_add(1).filter(|count| *count <= most);
        let taken = self
            .0
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, more);
        taken.ok().map(|_| Permit(self.clone()))
    }
}

/// The right to one place in a mailbox. It is given back when this is dropped.
#[derive(Debug)]
pub struct Permit(QueueDepth);

impl Drop for Permit {
    fn drop(&mut self) {
        let QueueDepth(count) = &self.0;
        count.fetch_sub(1, Ordering::AcqRel);
    }
}

/// A message that somebody may wait for.
pub trait HasResponder {
    /// The caller for whom the message is done, if any: if the caller has left, nothing is done. The bank's answers,
    /// and business that has begun, go on without a caller.
    fn responder(&mut self) -> Option<&mut dyn Responder>;

    /// Whether the caller has left, so that nothing is to be done.
    fn is_left(&mut self) -> bool {
        self.responder()
            .is_some_and(|responder| responder.has_left())
    }
}

/// A message that nobody has taken. When dropped, it tells its caller that nothing was done.
#[derive(Debug)]
pub struct Undelivered<M: HasResponder>(Option<M>);

impl<M: HasResponder> From<M> for Undelivered<M> {
    fn from(message: M) -> Self {
        Self(Some(message))
    }
}

impl<M: HasResponder> Undelivered<M> {
    /// The message, for inspection while it waits.
    #[expect(
        clippy::expect_used,
        reason = "it is there until it is taken, with all of this"
    )]
    pub fn message(&mut self) -> &mut M {
        self.0.as_mut().expect("the message was taken")
    }

    /// Takes the message: its turn has come.
    #[expect(
        clippy::expect_used,
        reason = "it is there until it is taken, with all of this"
    )]
    pub fn take(mut self) -> M {
        self.0.take().expect("the message was taken")
    }
}

impl<M: HasResponder> Drop for Undelivered<M> {
    fn drop(&mut self) {
        if let Some(responder) = self.0.as_mut().and_then(HasResponder::responder) {
            responder.refuse(Failure::ShuttingDown);
        }
    }
}

/// A message that waits, with its permit.
#[derive(Debug)]
pub struct Queued<M: HasResponder> {
    message: Undelivered<M>,
    permit: Permit,
    since: Instant,
}

impl<M: HasResponder> Message for Queued<M> {
    type Result = ();
}

impl<M: HasResponder> Queued<M> {
    /// The message, for inspection while it waits.
    pub fn message(&mut self) -> &mut M {
        self.message.message()
    }

    /// How long it has waited.
    pub fn waited(&self) -> Duration {
        self.since.elapsed()
    }

    /// Takes the message: its turn has come, and its place is free.
    pub fn take(self) -> M {
        let Self {
            message, permit, ..
        } = self;
        drop(permit);
        message.take()
    }
}

/// The way to an actor.
#[derive(Debug)]
pub struct Mailbox<A: Actor> {
    addr: Addr<A>,
    waiting: QueueDepth,
    most: usize,
}

impl<A: Actor> Clone for Mailbox<A> {
    fn clone(&self) -> Self {
        Self {
            addr: self.addr.clone(),
            waiting: self.waiting.clone(),
            most: self.most,
        }
    }
}

impl<A: Actor> Mailbox<A> {
    /// The mailbox of an actor for which at most `most` messages wait.
    pub fn new(addr: Addr<A>, waiting: QueueDepth, most: usize) -> Self {
        Self {
            addr,
            waiting,
            most,
        }
    }

    /// Whether the actor lives.
    pub fn connected(&self) -> bool {
        self.addr.connected()
    }

    /// How many messages wait.
    pub fn count(&self) -> usize {
        self.waiting.count()
    }

    /// Whether the mailbox takes no further message.
    pub fn is_full(&self) -> bool {
        self.waiting.count() >= self.most
    }

    /// A permit for a message that comes later. The caller has checked that there is room, or needs none.
    pub fn reserve(&self) -> Permit {
        self.waiting.permit()
    }

    /// Puts a message into the mailbox.
    ///
    /// # Errors
    /// [`Failure::Overloaded`] when it is full, [`Failure::ShuttingDown`] when the actor is gone.
    pub fn tell<M>(&self, message: M) -> Result<(), Failure>
    where
        M: HasResponder + Send + 'static,
        A: Handler<Queued<M>>,
        A::Context: ToEnvelope<A, Queued<M>>,
    {
        let permit = self.waiting.permit_below(self.most);
        self.put(permit.ok_or(Failure::Overloaded)?, message)
    }

    /// Puts a message into a reserved place, or into one that needs no room: a message that finishes something already
    /// done is never refused.
    ///
    /// # Errors
    /// [`Failure::ShuttingDown`] when the actor is gone; the message is then dropped unhandled.
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place where messages are sent, and they are counted"
    )]
    pub fn put<M>(&self, permit: Permit, message: M) -> Result<(), Failure>
    where
        M: HasResponder + Send + 'static,
        A: Handler<Queued<M>>,
        A::Context: ToEnvelope<A, Queued<M>>,
    {
        let queued = Queued {
            message: message.into(),
            permit,
            since: Instant::now(),
        };
        // A clone that has sent nothing yet is never parked, so actix takes every message that we have counted.
        match self.addr.clone().try_send(queued) {
            Ok(()) => Ok(()),
            Err(SendError::Full(_)) => Err(Failure::Overloaded),
            Err(SendError::Closed(_)) => Err(Failure::ShuttingDown),
        }
    }
}

/// Lets the other actors of the thread take their turns before the next message is taken.
pub(crate) fn give_way<A: Actor<Context = Context<A>>>(ctx: &mut Context<A>) {
    ctx.wait(wrap_future(tokio::task::yield_now()));
}

#[cfg(test)]
mod tests {
    use actix::Context;

    use super::*;

    /// Takes messages and counts them.
    #[derive(Default)]
    struct Sink(Arc<AtomicUsize>);

    impl Actor for Sink {
        type Context = Context<Self>;
    }

    impl HasResponder for Vec<u8> {
        fn responder(&mut self) -> Option<&mut dyn Responder> {
            None
        }
    }

    impl Handler<Queued<Vec<u8>>> for Sink {
        type Result = ();
        fn handle(&mut self, queued: Queued<Vec<u8>>, _: &mut Context<Self>) {
            drop(queued.take());
            self.0.fetch_add(1, Ordering::AcqRel);
        }
    }

    #[actix::test]
    async fn waiting_messages_never_exceed_the_mailbox() {
        let taken = Arc::new(AtomicUsize::new(0));
        let sink = Sink(Arc::clone(&taken));
        let mailbox = Mailbox::new(sink.start(), QueueDepth::default(), 8);
        // The sink takes nothing before this task gives way.
        let (mut full, mut sent) = (0, 0);
        for _ in 0..20_000 {
            match mailbox.clone().tell(vec![0; 64]) {
                Ok(()) => sent += 1,
                Err(why) => {
                    assert_eq!(why, Failure::Overloaded);
                    full += 1;
                }
            }
        }
        assert_eq!((sent, full, mailbox.count()), (8, 19_992, 8));
        assert!(mailbox.is_full());
        while taken.load(Ordering::Acquire) < 8 {
            tokio::task::yield_now().await;
        }
        assert_eq!(mailbox.count(), 0);
        assert_eq!(mailbox.tell(Vec::new()), Ok(()));
    }

    #[actix::test]
    async fn a_dropped_permit_frees_its_place() {
        let waiting = QueueDepth::default();
        let mailbox = Mailbox::new(Sink::default().start(), waiting.clone(), 1);
        drop(mailbox.reserve());
        let reserved = mailbox.reserve();
        assert_eq!(mailbox.tell(Vec::new()), Err(Failure::Overloaded));
        assert_eq!(mailbox.put(reserved, Vec::new()), Ok(()));
        assert_eq!(waiting.count(), 1);
    }
}
