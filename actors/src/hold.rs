//! Whether what leaves a realm is held: after another generation of it came into force, until an operator releases it.
//!
//! **Shape.** One for each realm, for all its lives. Held, no order reaches the bank ([`crate::banks`]): what a client
//! waits for is refused as by a bank that fails, and transfers, returns and enrolments wait here, with no place among
//! the calls to the bank. The courier ([`crate::courier`]) takes no event. What the bank is only asked goes on.
//!
//! **Order.** A person may decide meanwhile about what waits. So it is sent only if whoever knows it has said that it is
//! still wanted after the hold had ended. Within one life of a realm a hold only ends: it begins while the realm rests.
//!
//! **Failure.** Whoever waits is dropped with the life of the realm, and finds it held in the next one.

use std::time::Duration;

use tokio::sync::watch;

/// Whether what leaves a realm is held.
#[derive(Debug)]
pub struct Hold(watch::Sender<bool>);

impl Hold {
    /// As it is now.
    pub fn new(held: bool) -> Self {
        Self(watch::Sender::new(held))
    }

    /// Holds, or releases everything that waits.
    pub fn set(&self, held: bool) {
        self.0.send_replace(held);
    }

    /// Whether it is held.
    pub fn is_held(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits until it is not.
    pub async fn leave(&self) {
        let mut held = self.0.subscribe();
        // The sender lives as long as this.
        held.wait_for(|held| !held).await.ok();
    }

    /// The pause before another try: where it is held, it ends with the hold.
    pub async fn pause(&self, pause: Duration) {
        match self.is_held() {
            true => drop(tokio::time::timeout(pause, self.leave()).await),
            false => tokio::time::sleep(pause).await,
        }
    }
}
