//! The tasks and actors of one incarnation of a realm: a cancellation token and a tracker.
//!
//! **Shape.** The supervisor has the [`CancelGuard`]. Everything that acts for the realm holds the [`RealmTasks`]: actors, and the
//! tasks that call the bank. When the guard is dropped, because the supervisor has stopped or panicked, the tasks are
//! dropped where they wait, and the courier and the accounts stop. [`TasksDone`] ends when the last holder is gone.
//!
//! **Failure.** If a task is dropped while it asks the bank, the result is the same as after a crash: the intent is on
//! disk, and the next incarnation resumes it. If it panics, it is restarted ([`crate::persist`]).

use std::convert::Infallible;
use std::sync::Arc;

use tokio::sync::{mpsc, watch};

/// Cancels the tasks of a realm when it is dropped.
#[derive(Debug)]
pub struct CancelGuard(
    #[expect(dead_code, reason = "it is there to be dropped")] watch::Sender<()>,
);

/// The tasks of a realm, as its actors and tasks hold them.
#[derive(Debug)]
pub struct RealmTasks {
    cancel_guard: watch::Receiver<()>,
    /// Closed when no task is left.
    _held: mpsc::Sender<Infallible>,
}

/// Ends when no task of a realm is left.
#[derive(Debug)]
pub struct TasksDone(mpsc::Receiver<Infallible>);

/// Returns the guard that cancels the tasks; the tasks, which actors hold; and the signal that nobody holds
/// them any more.
pub fn begin() -> (CancelGuard, Arc<RealmTasks>, TasksDone) {
    let (cancel, cancel_guard) = watch::channel(());
    let (held, tasks_done) = mpsc::channel(1);
    let tasks = RealmTasks {
        cancel_guard,
        _held: held,
    };
    (CancelGuard(cancel), Arc::new(tasks), TasksDone(tasks_done))
}

impl RealmTasks {
    /// Waits until the tasks are cancelled.
    pub async fn cancelled(self: Arc<Self>) {
        let mut cancel_guard = self.cancel_guard.clone();
        // The channel carries no value; it only closes when the guard is dropped.
        while cancel_guard.changed().await.is_ok() {}
    }

    /// Runs a task on this thread until the tasks are cancelled. If they are cancelled first, the task is dropped where it
    /// waits.
    pub fn spawn(self: &Arc<Self>, work: impl Future<Output = ()> + 'static) {
        let tasks = Arc::clone(self);
        actix::spawn(async move {
            tokio::select! {
                () = Arc::clone(&tasks).cancelled() => {}
                () = work => {}
            }
            // Only now: the dropped task can no longer act.
            drop(tasks);
        });
    }
}

impl TasksDone {
    /// Waits until no task is left.
    pub async fn wait(&mut self) {
        // Nothing is ever sent.
        while self.0.recv().await.is_some() {}
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[actix::test]
    async fn tasks_are_dropped_on_cancel_and_done_waits_for_all() {
        let (cancel_guard, tasks, mut tasks_done) = begin();
        let acted = Arc::new(AtomicUsize::new(0));
        let (open, gate) = tokio::sync::oneshot::channel::<()>();
        let counts = Arc::clone(&acted);
        tasks.spawn(async move {
            counts.fetch_add(1, Ordering::Relaxed);
            gate.await.ok();
            counts.fetch_add(1, Ordering::Relaxed);
        });
        tokio::task::yield_now().await;
        drop(cancel_guard);
        assert!(!tasks_done.0.is_closed(), "it is held");
        drop(tasks);
        tasks_done.wait().await;
        assert!(
            open.send(()).is_err(),
            "the task is gone with what it waited for"
        );
        assert_eq!(acted.load(Ordering::Relaxed), 1);
    }
}
