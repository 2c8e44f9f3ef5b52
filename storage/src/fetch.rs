//! Fetches memory into a processor's caches before it is needed.

use std::hint::black_box;

/// Touches some memory. Work that waits for memory at each step takes as long as all those waits; nothing depends on a
/// touch, so many places are fetched at once.
pub(crate) fn fetch(places: impl Iterator<Item = u64>) {
    black_box(places.fold(0, |all, place| all ^ place));
}
