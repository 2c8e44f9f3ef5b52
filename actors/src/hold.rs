//! Whether a realm's departures are held, until an operator releases them: after another generation of the realm came
//! into force, and in a whole service that was restored to the past.
//!
//! **Shape.** One for each realm, for all its lives. A realm is held by its own flag or by the service's. While it is
//! held, no order reaches the bank ([`crate::banks`]): orders for which a client waits fail as at a failing bank, and
//! transfers, returns and enrolments wait here, without a slot for calls to the bank. The courier ([`crate::courier`])
//! takes no event. Queries to the bank go on, and so do webhook tries that a tenant asks for.
//!
//! **Order.** A person may decide meanwhile about a waiting order. So it is sent only if its owner confirms after the
//! end of the hold that it is still wanted. Within one life of a realm a hold only ends: it begins while the realm
//! rests, or before the service has started.
//!
//! **Failure.** Waiting orders are dropped when the life of the realm ends; in the next life they find it held again.

use std::future;
use std::time::Duration;

use tokio::sync::watch;

/// Whether a realm's departures are held.
#[derive(Debug)]
pub struct Hold {
    own: watch::Sender<bool>,
    service: watch::Receiver<bool>,
}

impl Hold {
    /// The hold in its present state; `service` tells whether the departures of all realms are held.
    pub fn new(held: bool, service: watch::Receiver<bool>) -> Self {
        Self {
            own: watch::Sender::new(held),
            service,
        }
    }

    /// Holds the realm, or releases its departures unless the whole service is held.
    pub fn set(&self, held: bool) {
        self.own.send_replace(held);
    }

    /// Whether the departures are held.
    pub fn is_held(&self) -> bool {
        *self.own.borrow() || *self.service.borrow()
    }

    /// Waits until the departures are not held.
    pub async fn leave(&self) {
        while self.is_held() {
            released(self.service.clone()).await;
            released(self.own.subscribe()).await;
        }
    }

    /// The pause before another try. If the departures are held, the pause ends with the hold at the latest.
    pub async fn pause(&self, pause: Duration) {
        match self.is_held() {
            true => drop(tokio::time::timeout(pause, self.leave()).await),
            false => tokio::time::sleep(pause).await,
        }
    }
}

/// Waits until a flag is released; for ever if nobody can release it any more.
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

    /// Polls, as often as `left` is called, whether the waiting future may go on.
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
