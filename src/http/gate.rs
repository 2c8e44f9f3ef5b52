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
    /// Stops taking requests: health says "not ready", handlers answer 503.
    pub fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.closing.notify_waiters();
    }

    /// Makes long answers end, while requests are taken as before: another node owns the cell.
    pub fn interrupt(&self) {
        self.closing.notify_waiters();
    }

    /// Whether requests are taken.
    pub fn is_open(&self) -> bool {
        !self.closed.load(Ordering::Acquire)
    }

    /// Waits until no more requests are taken, or long answers are interrupted: a long answer then ends itself.
    pub async fn closed(&self) {
        let closing = self.closing.notified();
        tokio::pin!(closing);
        closing.as_mut().enable();
        if self.is_open() {
            closing.await;
        }
    }

    /// Waits until no more requests are taken; interruptions do not end the wait.
    pub async fn shut(&self) {
        while self.is_open() {
            self.closed().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use futures_util::FutureExt as _;

    use super::*;

    #[test]
    fn an_interruption_is_not_the_end() {
        let gate = Gate::default();
        let (mut closed, mut shut) = (pin!(gate.closed()), pin!(gate.shut()));
        assert_eq!(closed.as_mut().now_or_never(), None);
        assert_eq!(shut.as_mut().now_or_never(), None);
        for _ in 0..3 {
            gate.interrupt();
            assert_eq!(shut.as_mut().now_or_never(), None);
        }
        assert_eq!(closed.now_or_never(), Some(()));
        gate.close();
        assert_eq!(shut.now_or_never(), Some(()));
        assert_eq!(gate.shut().now_or_never(), Some(()));
    }
}
