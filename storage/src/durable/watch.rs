//! The watch: a thread that checks free space, whether a write is stuck, and whether the folder is
//! still there.
//!
//! **Failure.** A stuck write or flush poisons the store; the watch answers the items that wait in
//! the queue. The stuck group is answered when the call returns, if ever, so production sets
//! `abort_on_poison`.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::durable::Shared;

const LOOK_EVERY: Duration = Duration::from_millis(250);

/// The state that the committer reports to the watch.
#[derive(Debug)]
pub(crate) struct Watch {
    base: Instant,
    /// Milliseconds since `base`, plus one, when the current write began; 0 when there is none.
    began: AtomicU64,
    stop: AtomicBool,
}

impl Watch {
    /// A watch without a write under way.
    pub(crate) fn new() -> Self {
        Self {
            base: Instant::now(),
            began: AtomicU64::new(0),
            stop: AtomicBool::new(false),
        }
    }

    fn now(&self) -> u64 {
        u64::try_from(self.base.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Notes that a write or flush begins.
    pub(crate) fn begin(&self) {
        self.began.store(self.now() + 1, Ordering::Release);
    }

    /// Notes that the write or flush is over.
    pub(crate) fn end(&self) {
        self.began.store(0, Ordering::Release);
    }

    /// Ends the thread; the caller unparks it.
    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Release);
    }

    fn stuck(&self, limit: Duration) -> bool {
        let began = self.began.load(Ordering::Acquire);
        let limit = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
        began != 0 && self.now() + 1 - began.min(self.now() + 1) > limit
    }
}

/// Checks the free space once, keeps it for the figures, and sets whether writes are accepted.
pub(crate) fn look_at_space(shared: &Shared) {
    let floor = shared.options.free_space_floor;
    match shared.site.folder.free_space() {
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
        shared.site.files.keep_descriptors();
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
