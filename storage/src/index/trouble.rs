//! Why an operation of the index failed, and whether that is a reason to rebuild it.
//!
//! **Failure.** What the system refuses (no room, no descriptor, a read that fails) says nothing of
//! the bytes on disk: it is reported and may pass. Only bytes that are not what was written make
//! the store rebuild its index. sled hands on an error of the system as such, as a copy that keeps
//! its text alone, or inside a panic: all three are recognised by what the system's number looks
//! like in text.

use std::any::Any;
use std::fmt;
use std::io;

/// Why the index does not do what it is asked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Trouble {
    /// The system refused to read.
    Read(String),
    /// The system refused to write: nobody knows what is on disk until the index is opened again.
    Write(String),
    /// What is there is not what was written.
    Damaged(String),
}

/// What stands before the number of a system's error in the text of an [`io::Error`].
const CODE: &str = "Os { code: ";
/// No such file: what should be there is not, so trying again does not help.
const ENOENT: i32 = 2;
/// No room on the disk, or none left of what this user may take.
const NO_ROOM: [i32; 2] = [28, 122];

fn code(text: &str) -> Option<i32> {
    let rest = text.split_once(CODE)?.1;
    rest.split(|c: char| !c.is_ascii_digit())
        .next()?
        .parse()
        .ok()
}

impl Trouble {
    /// Of reading, from what sled said.
    pub(crate) fn reading(e: &sled::Error) -> Self {
        Self::logged(format!("reading the index: {e:?}"))
    }

    /// An error of writing, from what sled or the system said.
    pub(crate) fn writing(e: &dyn fmt::Debug) -> Self {
        Self::Write(format!("writing the index: {e:?}"))
    }

    /// Of looking at sled's files ourselves.
    pub(crate) fn looking(e: &io::Error) -> Self {
        Self::logged(format!("looking at the files of the index: {e:?}"))
    }

    /// Of a panic of sled.
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

    /// Whether it is room on the disk that is missing.
    pub(crate) fn no_room(&self) -> bool {
        matches!(self, Self::Read(text) | Self::Write(text)
            if code(text).is_some_and(|c| NO_ROOM.contains(&c)))
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(why) | Self::Write(why) | Self::Damaged(why) => f.write_str(why),
        }
    }
}

impl From<String> for Trouble {
    fn from(why: String) -> Self {
        Self::Damaged(why)
    }
}

impl From<&str> for Trouble {
    fn from(why: &str) -> Self {
        Self::Damaged(why.to_owned())
    }
}
