//! The watch: a thread that checks free space, whether a write is stuck, and whether the folder is
//! still there.
//!
//! **Failure.** A write or flush that is stuck poisons the store; what waits in the queue gets its
//! answer from here. The group that is stuck gets its answer when the call returns, if ever, so
//! production sets `abort_on_poison`.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::durable::Shared;

const LOOK_EVERY: Duration = Duration::from_millis(250);

/// What the committer reports and the watch looks at.
#[derive(Debug)]
pub(crate) struct Watch {
    base: Instant,
    /// Milliseconds since `base`, plus one, when the current write began; 0 when there is none.
    began: AtomicU64,
    stop: AtomicBool,
}

impl Watch {
    /// Nothing is being written.
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

    /// A write or flush begins.
    pub(crate) fn begin(&self) {
        self.began.store(self.now() + 1, Ordering::Release);
    }

    /// The write is over.
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

/// Looks at free space once and says whether writes may go on.
pub(crate) fn look_at_space(shared: &Shared) {
    let floor = shared.options.free_space_floor;
    if floor == 0 {
        return;
    }
    match shared.held.folder().free_space() {
        Ok(free) if free >= floor => shared.health.set_full(None),
        Ok(free) => shared.health.set_full(Some(format!(
            "{} MiB are free, {} MiB are kept back",
            free >> 20,
            floor >> 20
        ))),
        Err(e) => tracing::warn!(error = %e, "cannot ask for free space"),
    }
}

/// What the thread does.
pub(crate) fn run(shared: &Shared) {
    while !shared.watch.stop.load(Ordering::Acquire) {
        std::thread::park_timeout(LOOK_EVERY);
        look_at_space(shared);
        shared.files.keep_descriptors();
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
