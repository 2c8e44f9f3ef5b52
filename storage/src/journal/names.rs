//! The names of the journal's files.

use std::path::{Path, PathBuf};

/// The path of a segment's file.
pub(crate) fn segment_path(dir: &Path, number: u32) -> PathBuf {
    dir.join(segment_name(number))
}

/// The file name of a segment.
pub(crate) fn segment_name(number: u32) -> String {
    format!("{number:010}.segment")
}

/// The number in the name of a segment's file.
pub(crate) fn number_in(name: &str) -> Option<u32> {
    name.strip_suffix(".segment")?.parse().ok()
}
