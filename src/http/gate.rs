//! The gate: open while the service takes requests.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

/// Open while the service takes requests.
#[derive(Debug, Default)]
pub struct Gate {
    closed: AtomicBool,
    closing: Notify,
}

impl Gate {
    /// Takes no more requests: health says "not ready", handlers answer 503.
    pub fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.closing.notify_waiters();
    }

    /// Has what goes on for long end itself, and takes requests as before: another node owns the cell.
    pub fn interrupt(&self) {
        self.closing.notify_waiters();
    }

    /// Whether requests are taken.
    pub fn is_open(&self) -> bool {
        !self.closed.load(Ordering::Acquire)
    }

    /// Waits until no more requests are taken, or what goes on for long is interrupted: it ends itself then.
    pub async fn closed(&self) {
        let closing = self.closing.notified();
        tokio::pin!(closing);
        closing.as_mut().enable();
        if self.is_open() {
            closing.await;
        }
    }
}
