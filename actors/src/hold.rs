//! Whether what leaves a realm is held, until an operator releases it: after another generation of it came into force,
//! and in a whole service that was restored to the past.
//!
//! **Shape.** One for each realm, for all its lives; it is held by a word of its own and by that of the service. Held, no
//! order reaches the bank ([`crate::banks`]): what a client waits for is refused as by a bank that fails, and transfers,
//! returns and enrolments wait here, with no place among the calls to the bank. The courier ([`crate::courier`]) takes no
//! event. What the bank is only asked goes on, and so does a try of a webhook that a tenant asks for.
//!
//! **Order.** A person may decide meanwhile about a waiting order. So it is sent only if its owner confirms after the
//! end of the hold that it is still wanted. Within one life of a realm a hold only ends: it begins while the realm
//! rests, or before the service has started.
//!
//! **Failure.** Waiting orders are dropped when the life of the realm ends; in the next life they find
//! it held again.

use std::future;
use std::time::Duration;

use tokio::sync::watch;

/// Whether what leaves a realm is held.
#[derive(Debug)]
pub struct Hold {
    own: watch::Sender<bool>,
    service: watch::Receiver<bool>,
}

impl Hold {
    /// As it is now; `service` says whether what leaves any realm is held.
    pub fn new(held: bool, service: watch::Receiver<bool>) -> Self {
        Self {
            own: watch::Sender::new(held),
            service,
        }
    }

    /// Holds the realm, or releases what waits unless the whole service is held.
    pub fn set(&self, held: bool) {
        self.own.send_replace(held);
    }

    /// Whether it is held.
    pub fn is_held(&self) -> bool {
        *self.own.borrow() || *self.service.borrow()
    }

    /// Waits until it is not.
    pub async fn leave(&self) {
        while self.is_held() {
            released(self.service.clone()).await;
            released(self.own.subscribe()).await;
        }
    }

    /// The pause before another try: where it is held, it ends with the hold.
    pub async fn pause(&self, pause: Duration) {
        match self.is_held() {
            true => drop(tokio::time::timeout(pause, self.leave()).await),
            false => tokio::time::sleep(pause).await,
        }
    }
}

/// Waits until it is said that nothing is held, for ever where nobody can say so any more.
async fn released(mut held: watch::Receiver<bool>) {
    if held.wait_for(|held| !held).await.is_err() {
        future::pending::<()>().await;
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Waker};

    use super::*;

    /// Asks once, as often as it is called, whether whoever waits may go on.
    fn waits(
        held: (bool, bool),
        then: impl FnOnce(&Hold, &watch::Sender<bool>, &mut dyn FnMut() -> bool),
    ) {
        let service = watch::Sender::new(held.1);
        let hold = Hold::new(held.0, service.subscribe());
        let mut leave = pin!(hold.leave());
        let mut context = Context::from_waker(Waker::noop());
        let mut left = || leave.as_mut().poll(&mut context).is_ready();
        then(&hold, &service, &mut left);
    }

    #[test]
    fn what_waits_leaves_when_realm_and_service_are_released_in_either_order() {
        waits((false, false), |_, _, left| assert!(left()));
        for own_first in [true, false] {
            waits((true, true), |hold, service, left| {
                assert!(!left() && hold.is_held());
                match own_first {
                    true => hold.set(false),
                    false => drop(service.send_replace(false)),
                }
                assert!(!left() && hold.is_held(), "the other word still holds it");
                match own_first {
                    true => drop(service.send_replace(false)),
                    false => hold.set(false),
                }
                assert!(!hold.is_held() && left());
            });
        }
        waits((true, false), |hold, _, left| {
            assert!(!left());
            hold.set(false);
            assert!(left());
        });
        waits((false, true), |_, service, left| {
            assert!(!left());
            service.send_replace(false);
            assert!(left());
        });
    }

    #[test]
    fn what_is_held_again_meanwhile_does_not_leave() {
        waits((true, true), |hold, service, left| {
            assert!(!left());
            service.send_replace(false);
            assert!(!left());
            service.send_replace(true);
            hold.set(false);
            assert!(!left() && hold.is_held());
            service.send_replace(false);
            assert!(left());
        });
    }
}
