//! The names of the journal's files.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// The path of a segment's file.
pub(crate) fn segment_path(dir: &Path, number: u32) -> PathBuf {
    dir.join(segment_name(number))
}

/// The file name of a segment.
pub(crate) fn segment_name(number: u32) -> String {
    format!("{number:010}.segment")
}

/// The extension of a compressed segment's name.
const PACKED: &str = "packed";

/// The file name of a compressed segment.
pub(crate) fn packed_name(number: u32) -> String {
    format!("{number:010}.{PACKED}")
}

/// The number in the name of a segment's file, compressed or not.
pub(crate) fn number_in(name: &str) -> Option<u32> {
    let plain = name.strip_suffix(".segment");
    let number = plain.or_else(|| name.strip_suffix(PACKED)?.strip_suffix('.'));
    number?.parse().ok()
}

/// The file of a segment, and whether it is the compressed one. If there are both, the uncompressed file counts: it is
/// removed only once the other one has its name on disk.
///
/// # Errors
/// The error of `open`; `NotFound` when there is neither.
pub(crate) fn find(
    number: u32,
    open: impl Fn(&str) -> io::Result<File>,
) -> io::Result<(File, bool)> {
    match open(&segment_name(number)) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            open(&packed_name(number)).map(|file| (file, true))
        }
        found => found.map(|file| (file, false)),
    }
}

/// The path of a segment's file, for messages.
pub(crate) fn place_of(dir: &Path, number: u32, packed: bool) -> PathBuf {
    if packed {
        dir.join(packed_name(number))
    } else {
        segment_path(dir, number)
    }
}
