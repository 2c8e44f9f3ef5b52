//! Threads whose work no request waits for: they give way to the threads that serve.
//!
//! **Why.** On a busy machine the system shares its processors out evenly, in slices of milliseconds. A merge of the index
//! that takes its slice then delays a voucher that needs a hundredth of it. A thread that gives way still gets whatever
//! the others leave, and a share of it when they leave nothing, so a backlog is worked off; while it is
//! not, the committer waits for the flusher and the others with it.

use rustix::process::nice;

/// How far a background thread gives way, in steps of the system's `nice`: beside one busy thread that serves it gets a
/// tenth of a processor.
const STEPS: i32 = 10;

/// Makes this thread give way, for as long as it runs. A system that refuses is no reason not to work.
pub(crate) fn give_way() {
    let steps = std::env::var("X_NICE_STORE")
        .ok()
        .and_then(|it| it.parse().ok())
        .unwrap_or(STEPS);
    if let Err(e) = nice(steps) {
        tracing::debug!(error = %e, "a background thread runs like the others");
    }
}
