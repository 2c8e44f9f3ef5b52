//! Whether what leaves a realm is held: after another generation of it came into force, until an operator releases it.
//!
//! **Shape.** One for each realm, for all its lives. What leaves waits here: transfers, returns and enrolments before
//! the bank ([`crate::banks`]), events before a webhook ([`crate::courier`]). What a client waits for is refused as by a
//! bank that fails; what the bank is only asked goes on.
//!
//! **Failure.** Whoever waits is dropped with the life of the realm, and finds it held in the next one.

use tokio::sync::watch;

/// Whether what leaves a realm is held.
#[derive(Debug)]
pub struct Hold(watch::Sender<bool>);

impl Hold {
    /// As it is now.
    pub fn new(held: bool) -> Self {
        Self(watch::Sender::new(held))
    }

    /// Holds, or lets everything leave that waits.
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
}
