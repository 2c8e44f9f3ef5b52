//! Why an operation of the index failed, and whether that is a reason to rebuild it.
//!
//! **Failure.** An operation that the system refuses (no room, no descriptor, a failed read) says
//! nothing about the bytes on disk: it is reported and may be temporary. Only bytes that differ
//! from those written make the store rebuild its index. sled passes on a system error as such, as a
//! copy that keeps only its text, or inside a panic: all three are recognised by how the error
//! number looks in text.

use std::any::Any;
use std::fmt;
use std::io;

/// Why the index could not do an operation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum IndexError {
    /// The system refused to read.
    Read(String),
    /// The system refused to write: what is on disk is unknown until the index is opened again.
    Write(String),
    /// The content on disk differs from what was written.
    Damaged(String),
}

/// The text before the number of a system error in the debug form of an [`io::Error`].
const CODE: &str = "Os { code: ";
/// No such file: an expected file is missing, so trying again does not help.
const ENOENT: i32 = 2;
/// No space left on the disk, or this user's quota is used up.
const NO_ROOM: [i32; 2] = [28, 122];
/// No memory, or no descriptor: the disk was not asked.
const NO_MEANS: [i32; 3] = [12, 23, 24];

fn code(text: &str) -> Option<i32> {
    let rest = text.split_once(CODE)?.1;
    rest.split(|c: char| !c.is_ascii_digit())
        .next()?
        .parse()
        .ok()
}

impl IndexError {
    /// A failed read, from sled's error.
    pub(crate) fn reading(e: &sled::Error) -> Self {
        Self::logged(format!("reading the index: {e:?}"))
    }

    /// A failed write, from an error of sled or the system.
    pub(crate) fn writing(e: &dyn fmt::Debug) -> Self {
        Self::Write(format!("writing the index: {e:?}"))
    }

    /// A panic in sled.
    pub(crate) fn panicked(panic: &(dyn Any + Send)) -> Self {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        Self::logged(format!(
            "sled panicked: {}",
            text.unwrap_or("without a word")
        ))
    }

    fn logged(text: String) -> Self {
        let locked = text.contains("could not acquire lock");
        match code(&text) {
            Some(ENOENT) => Self::Damaged(text),
            Some(_) => Self::Read(text),
            None if locked => Self::Read(text),
            None => Self::Damaged(text),
        }
    }

    /// Whether the process lacked memory or a descriptor, which says nothing about the disk.
    pub(crate) fn no_means(&self) -> bool {
        matches!(self, Self::Read(text) if code(text).is_some_and(|c| NO_MEANS.contains(&c)))
    }

    /// Whether the cause is missing disk space.
    pub(crate) fn no_room(&self) -> bool {
        matches!(self, Self::Read(text) | Self::Write(text)
            if code(text).is_some_and(|c| NO_ROOM.contains(&c)))
    }
}

impl fmt::Display for IndexError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(why) | Self::Write(why) | Self::Damaged(why) => f.write_str(why),
        }
    }
}

/// A failed access of ours to the files of the index, but for writing.
impl From<io::Error> for IndexError {
    fn from(e: io::Error) -> Self {
        Self::logged(format!("looking at the files of the index: {e:?}"))
    }
}

impl From<String> for IndexError {
    fn from(why: String) -> Self {
        Self::Damaged(why)
    }
}

impl From<&str> for IndexError {
    fn from(why: &str) -> Self {
        Self::Damaged(why.to_owned())
    }
}
