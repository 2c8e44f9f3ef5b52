//! How the sandbox takes a lock.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// The value behind a lock. A thread that panicked while it held the lock has left the value whole: each of our locks
/// guards a value that is whole after each statement.
pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
