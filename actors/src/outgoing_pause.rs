//! Whether outgoing calls are paused, until an operator releases them: in a whole service that was restored
//! to the past.
//!
//! **Shape.** Each realm sees the service's flag. While it is set, no order reaches the bank ([`crate::banks`]): orders
//! for which a client waits fail as at a failing bank, and transfers, returns and enrolments wait here, without a slot
//! for calls to the bank. The courier ([`crate::courier`]) takes no event. Queries to the bank go on, and so do webhook
//! tries that a tenant asks for.
//!
//! **Order.** A person may decide meanwhile about a waiting order. So it is sent only if its owner confirms after the
//! end of the pause that it is still wanted. A pause begins before the service has started, and only ends afterwards.
//!
//! **Failure.** Waiting orders are dropped when the supervisor of the realm ends; the next one finds the pause again.

use std::future;
use std::time::Duration;

use tokio::sync::watch;

/// Whether the outgoing calls of a realm are paused.
#[derive(Debug)]
pub struct OutgoingPause(watch::Receiver<bool>);

impl OutgoingPause {
    /// The pause of a service: the receiver is true while the outgoing calls of all realms are paused.
    pub const fn new(service: watch::Receiver<bool>) -> Self {
        Self(service)
    }

    /// Whether outgoing calls are paused.
    pub fn is_held(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits until outgoing calls are not paused; for ever if nobody can release them any more.
    pub async fn leave(&self) {
        let mut held = self.0.clone();
        if held.wait_for(|held| !held).await.is_err() {
            future::pending::<()>().await;
        }
    }

    /// Waits before another try; while outgoing calls are paused, at most until they are released.
    pub async fn pause(&self, pause: Duration) {
        if self.is_held() {
            drop(tokio::time::timeout(pause, self.leave()).await)
        } else {
            tokio::time::sleep(pause).await
        }
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Waker};

    use super::*;

    #[test]
    fn waiting_calls_leave_when_the_pause_is_released() {
        let service = watch::Sender::new(true);
        let hold = OutgoingPause::new(service.subscribe());
        let mut leave = pin!(hold.leave());
        let mut context = Context::from_waker(Waker::noop());
        let mut left = || leave.as_mut().poll(&mut context).is_ready();
        assert!(!left() && hold.is_held());
        service.send_replace(false);
        assert!(left() && !hold.is_held());
    }
}
