//! Restarts a task when it panics: business that waits for it, money for instance, must not wait for the next start
//! because of one bug, and the rest must go on meanwhile.
//!
//! **Bounds.** The pauses double from [`PAUSE_FIRST`] to [`PAUSE_LAST`]; the number of panics has no bound.

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;
use std::time::Duration;

use tokio::time::sleep;

/// The pause after the first panic of a task; it doubles with each further one.
pub const PAUSE_FIRST: Duration = Duration::from_millis(500);
/// The longest pause after a panic.
pub const PAUSE_LAST: Duration = Duration::from_secs(60);

/// The panics that this process has met here.
static PANICS: AtomicU64 = AtomicU64::new(0);

/// How many tasks of this process have panicked and were restarted, or are about to be.
pub fn panicked() -> u64 {
    PANICS.load(Ordering::Relaxed)
}

/// Runs a task to completion, and restarts it with backoff when it panics. The task is told whether it is restarted:
/// it may then have done anything before, for example asked the bank. `task` names it in the log.
pub async fn persist(task: &str, mut attempt: impl AsyncFnMut(bool)) {
    let mut pause = PAUSE_FIRST;
    let mut again = false;
    while panics(attempt(again)).await {
        tracing::error!(
            task,
            pause_ms = pause.as_millis(),
            "task panicked; restarting after a pause"
        );
        sleep(pause).await;
        pause = pause
            .checked_mul(2)
            .map_or(PAUSE_LAST, |twice| twice.min(PAUSE_LAST));
        again = true;
    }
}

/// Runs `work` until it ends or panics; returns whether it panicked. Panics count in [`panicked`].
pub async fn panics(work: impl Future<Output = ()>) -> bool {
    let mut work = pin!(work);
    poll_fn(|turn| {
        let polled = catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(turn)));
        let Ok(polled) = polled else {
            PANICS.fetch_add(1, Ordering::Relaxed);
            // The work is never polled again, only dropped.
            return Poll::Ready(true);
        };
        polled.map(|()| false)
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[actix::test]
    async fn a_task_that_panics_is_begun_again_after_pauses_that_double() {
        tokio::time::pause();
        let began = tokio::time::Instant::now();
        let mut attempts = Vec::new();
        let attempt = async |again| {
            attempts.push((again, began.elapsed().as_secs()));
            tokio::task::yield_now().await;
            if attempts.len() < 10 {
                std::panic::resume_unwind(Box::new("as the test wants"));
            }
        };
        let before = panicked();
        persist("test", attempt).await;
        assert!(panicked() >= before + 9);
        let (again, seconds): (Vec<bool>, Vec<u64>) = attempts.into_iter().unzip();
        assert_eq!(again[..2], [false, true]);
        // Half a second, one, two, and so on up to a minute.
        assert_eq!(seconds, [0, 0, 1, 3, 7, 15, 31, 63, 123, 183]);
    }
}
