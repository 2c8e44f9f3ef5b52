//! The passage of a realm: orders and questions wait here while the realm moves into another cell.
//!
//! **Shape.** A request is inside the passage until its answer. A shut passage lets nothing in: new requests wait. To
//! move a realm is to shut its passage, to wait until it is empty, and to stop the realm.
//!
//! **Bounds.** A request waits at most [`DEADLINE`], as long as it would for its answer.
//!
//! **Failure.** A request that has waited that long is answered that nothing was done. A passage opens when the task
//! that shut it has ended.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use caudal_ledger::ids::RealmId;
use tokio::sync::{Notify, watch};
use tokio::time::timeout;

use super::{DEADLINE, Realms};
use crate::failure::Failure;

/// The entrance to a realm; it outlives the realm's supervisors.
#[derive(Debug)]
pub(super) struct Passage {
    shut: watch::Sender<bool>,
    inside: AtomicUsize,
    left: Notify,
}

impl Default for Passage {
    fn default() -> Self {
        Self {
            shut: watch::Sender::new(false),
            inside: AtomicUsize::new(0),
            left: Notify::new(),
        }
    }
}

/// A request inside the passage that has no answer yet.
#[derive(Debug)]
pub(super) struct Inside(Arc<Passage>);

impl Drop for Inside {
    fn drop(&mut self) {
        // The last request to leave wakes the mover that waits for an empty passage.
        if self.0.inside.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.0.left.notify_waiters();
        }
    }
}

/// A passage that is shut; it opens when this is dropped.
#[derive(Debug)]
pub(crate) struct Shut(Arc<Passage>);

impl Drop for Shut {
    fn drop(&mut self) {
        self.0.shut.send_replace(false);
    }
}

impl Passage {
    /// Counts a request in, unless the passage is shut. This counts first and then checks; the mover shuts first and
    /// then reads the count.
    fn enter(self: &Arc<Self>) -> Option<Inside> {
        self.inside.fetch_add(1, Ordering::SeqCst);
        let inside = Inside(Arc::clone(self));
        let shut = *self.shut.borrow();
        (!shut).then_some(inside)
    }

    /// Waits until the request is let in.
    async fn opened(self: Arc<Self>) -> Result<Inside, Failure> {
        let opened = async {
            let mut shut = self.shut.subscribe();
            loop {
                if let Some(inside) = self.enter() {
                    return Ok(inside);
                }
                let opened = shut.wait_for(|shut| !*shut).await;
                opened.map_err(|_| Failure::ShuttingDown)?;
            }
        };
        let entered = timeout(DEADLINE, opened).await;
        entered.map_err(|_| Failure::ShuttingDown)?
    }

    /// Lets no request in any more.
    pub(super) fn shut(self: &Arc<Self>) -> Shut {
        self.shut.send_replace(true);
        Shut(Arc::clone(self))
    }
}

impl Shut {
    /// Waits until nobody is inside, at most this long. Returns whether nobody is.
    pub(crate) async fn emptied(&self, most: Duration) -> bool {
        let empty = async {
            loop {
                let left = self.0.left.notified();
                tokio::pin!(left);
                left.as_mut().enable();
                if self.0.inside.load(Ordering::SeqCst) == 0 {
                    return;
                }
                left.await;
            }
        };
        timeout(most, empty).await.is_ok()
    }
}

impl Realms {
    /// Enters the passage of a realm, once it is open.
    ///
    /// # Errors
    /// `TenantNotFound` if there is no such realm, [`Failure::ShuttingDown`] if the passage stays shut, or its cell
    /// rests.
    pub(super) async fn enter(&self, realm: RealmId) -> Result<Inside, Failure> {
        let passage = self.passage(realm)?;
        match passage.enter() {
            Some(inside) => Ok(inside),
            // Boxed: the rare case takes no room in the future of every question.
            None => Box::pin(passage.opened()).await,
        }
    }

    /// The passage of a realm.
    pub(super) fn passage(&self, realm: RealmId) -> Result<Arc<Passage>, Failure> {
        let known = self.supervisors.get(&realm);
        let passage = known.map(|known| Arc::clone(&known.value().passage));
        passage.ok_or_else(|| self.absent(realm))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn who_comes_to_a_shut_passage_waits_and_who_is_inside_is_waited_for() {
        let passage = Arc::new(Passage::default());
        let inside = passage.enter().unwrap();
        let shut = passage.shut();
        assert!(passage.enter().is_none());
        assert!(!shut.emptied(Duration::from_secs(1)).await);
        let (empty, ()) = tokio::join!(shut.emptied(DEADLINE), async { drop(inside) });
        assert!(empty);
        drop(shut);
        assert!(passage.enter().is_some());
    }
}
