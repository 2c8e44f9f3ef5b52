//! The watch: a thread that checks free space, whether a write is stuck, and whether the folder is
//! still there.
//!
//! **Failure.** A stuck write or flush poisons the store; the watch answers the items that wait in
//! the queue. The stuck group is answered when the call returns, if ever, so production sets
//! `abort_on_poison`.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::durable::Shared;
use crate::sync::lock;

const LOOK_EVERY: Duration = Duration::from_millis(250);

/// The state that the committer reports to the watch.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    /// When the current write began; `None` when there is none.
    began: Mutex<Option<Instant>>,
    stop: AtomicBool,
}

impl Watch {
    /// Notes that a write or flush begins.
    pub(crate) fn begin(&self) {
        *lock(&self.began) = Some(Instant::now());
    }

    /// Notes that the write or flush is over.
    pub(crate) fn end(&self) {
        *lock(&self.began) = None;
    }

    /// Ends the thread; the caller unparks it.
    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Release);
    }

    fn stuck(&self, limit: Duration) -> bool {
        lock(&self.began).is_some_and(|began| began.elapsed() > limit)
    }
}

/// Checks the free space once, keeps it for the figures, and sets whether writes are accepted.
pub(crate) fn look_at_space(shared: &Shared) {
    let floor = shared.options.free_space_floor;
    match shared.context.folder.free_space() {
        Ok(free) => {
            let kept = &shared.counters.disk_free_bytes;
            kept.store(free, Ordering::Relaxed);
            let why = || {
                format!(
                    "{} MiB are free, {} MiB are kept back",
                    free >> 20,
                    floor >> 20
                )
            };
            shared.health.set_full((free < floor).then(why));
        }
        Err(e) => tracing::warn!(error = %e, "cannot ask for free space"),
    }
}

/// The loop of the watch's thread.
pub(crate) fn run(shared: &Shared) {
    while !shared.watch.stop.load(Ordering::Acquire) {
        std::thread::park_timeout(LOOK_EVERY);
        look_at_space(shared);
        shared.context.files.keep_descriptors();
        if let Err(why) = shared.held.check(shared.journal.segments()) {
            shared.health.poison(&why);
        }
        if let Some(place) = shared.health.failing_place() {
            shared.journal.try_again(place);
        }
        shared.health.forget_failing();
        if shared.watch.stuck(shared.options.stuck_after) {
            shared
                .health
                .poison("a write to the journal did not come back");
            if let Some(e) = shared.health.poisoned() {
                shared.fail_waiting(&e);
            }
            return;
        }
        if let Some(e) = shared.health.poisoned() {
            shared.fail_waiting(&e);
        }
    }
}
