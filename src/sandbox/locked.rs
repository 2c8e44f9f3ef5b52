//! How the sandbox takes a lock.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// What a lock guards. A thread that panicked with it has left it whole: each of our locks guards what is
/// whole after each statement.
pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
