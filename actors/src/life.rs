//! One life of a realm's actors: from the start of its supervisor until none of them can act any more.
//!
//! **Shape.** The supervisor has the [`Heart`]. Everything that acts for the realm holds the [`Life`]: actors, and the
//! tasks that call the bank. When the heart is dropped, because the supervisor has stopped or panicked, the tasks are
//! dropped where they wait, and the courier and the accounts stop. [`Gone`] ends when the last holder is gone.
//!
//! **Failure.** If a task is dropped while it asks the bank, the result is the same as after a crash: the intent is on
//! disk, and the next life resumes it. If it panics, it is begun again ([`crate::persist`]).

use std::convert::Infallible;
use std::sync::Arc;

use tokio::sync::{mpsc, watch};

/// The beginning and the end of a life. When this is dropped, the life is over.
#[derive(Debug)]
pub struct Heart(#[expect(dead_code, reason = "it is there to be dropped")] watch::Sender<()>);

/// A life, as its actors and tasks hold it.
#[derive(Debug)]
pub struct Life {
    heart: watch::Receiver<()>,
    /// Closed when nobody holds the life any more.
    _held: mpsc::Sender<Infallible>,
}

/// Ends when nothing of a life is left.
#[derive(Debug)]
pub struct Gone(mpsc::Receiver<Infallible>);

/// Begins a life. Returns its heart, which ends it; the life, which its actors hold; and the signal that nobody holds
/// it any more.
pub fn begin() -> (Heart, Arc<Life>, Gone) {
    let (beats, heart) = watch::channel(());
    let (held, gone) = mpsc::channel(1);
    let life = Life { heart, _held: held };
    (Heart(beats), Arc::new(life), Gone(gone))
}

impl Life {
    /// Waits until the life is over.
    pub async fn over(self: Arc<Self>) {
        let mut heart = self.heart.clone();
        // The channel carries no value; it only closes when the heart is gone.
        while heart.changed().await.is_ok() {}
    }

    /// Runs a task on this thread as long as the life goes on. When the life ends first, the task is dropped where it
    /// waits.
    pub fn spawn(self: &Arc<Self>, work: impl Future<Output = ()> + 'static) {
        let life = Arc::clone(self);
        actix::spawn(async move {
            tokio::select! {
                () = Arc::clone(&life).over() => {}
                () = work => {}
            }
            // Only now: the dropped task can no longer act.
            drop(life);
        });
    }
}

impl Gone {
    /// Waits until nothing of the life is left.
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
    async fn what_waits_is_dropped_when_the_life_is_over_and_gone_waits_for_all() {
        let (heart, life, mut gone) = begin();
        let acted = Arc::new(AtomicUsize::new(0));
        let (open, gate) = tokio::sync::oneshot::channel::<()>();
        let counts = Arc::clone(&acted);
        life.spawn(async move {
            counts.fetch_add(1, Ordering::Relaxed);
            gate.await.ok();
            counts.fetch_add(1, Ordering::Relaxed);
        });
        tokio::task::yield_now().await;
        drop(heart);
        assert!(!gone.0.is_closed(), "it is held");
        drop(life);
        gone.wait().await;
        assert!(
            open.send(()).is_err(),
            "the task is gone with what it waited for"
        );
        assert_eq!(acted.load(Ordering::Relaxed), 1);
    }
}
