//! Threads whose work no request waits for: they give way to the threads that serve.
//!
//! **Why.** A busy machine divides its processors evenly among threads, in slices of milliseconds. A merge of the index
//! that takes its slice then delays a voucher that needs a hundredth of it. A background thread gets whatever the others
//! leave, and a small share when they leave nothing. If it falls behind, the committer waits for the flusher, and
//! the threads that serve leave the processor to it.
//!
//! A share says nothing about when: the system looks again only every few milliseconds (4 ms at 250 ticks a second)
//! whether another thread should have the processor. So a thread that is not behind [yields](yield_to_requests) after
//! every fraction of a millisecond.

use rustix::process::nice;

/// How far a background thread gives way, in steps of the system's `nice`: next to one busy thread that serves it gets a
/// tenth of a processor.
const STEPS: i32 = 10;

/// Makes this thread give way for as long as it runs. If the system refuses, the thread works like the others.
pub fn give_way() {
    if let Err(e) = nice(STEPS) {
        tracing::debug!(error = %e, "a background thread runs like the others");
    }
}

/// Lets threads that wait for the processor have it before this one goes on; without any, this returns at once.
pub fn yield_to_requests() {
    std::thread::yield_now();
}
