//! The identity of the store in a folder.
//!
//! **Shape.** Text: the disk format; the id of the journal, with which its hash chain begins; on the next line, if the
//! folder was restored as a new history, the id of that history. In every other folder the two ids are the same.
//!
//! **Order.** Creation: `IDENTITY.new` in an empty folder, then the journal with its first segment, then the rename to
//! `IDENTITY`. So a folder with `IDENTITY` always had a journal, and a folder that has records but no `IDENTITY` has
//! lost it and is refused.

use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::path::Path;

use crate::codec::{hex, unhex};
use crate::durable::DurableStore;
use crate::durable::held::{IDENTITY, JOURNAL, LOCK, RESTORE};
use crate::error::OpenError;
use crate::files::Files;
use crate::folder::Folder;
use crate::journal::check::{Trust, check, segment_numbers};
use crate::journal::format::{DISK_FORMAT, StoreId, segment_name};
use crate::journal::prepare::prepare;
use crate::log::LogId;

const UNFINISHED: &str = "IDENTITY.new";
const FIRST_LINE: &str = "caudal store, format ";
/// The largest file that is read, in bytes.
const TEXT_MAX: u64 = 4096;

/// The ids of a store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Identity {
    /// The id of the journal: its hash chain begins with it, and all its files name it.
    pub(crate) log: LogId,
    /// The id of the store; differs from `log` when the store was continued from an older copy.
    pub(crate) history: LogId,
}

impl From<LogId> for Identity {
    fn from(log: LogId) -> Self {
        Self { log, history: log }
    }
}

impl Identity {
    /// The content of the file.
    pub(crate) fn text(&self) -> String {
        let mut head = format!("{FIRST_LINE}{DISK_FORMAT}\nid {}\n", hex(&self.log));
        if self.history != self.log {
            head.push_str(&format!("history {}\n", hex(&self.history)));
        }
        format!("{head}crc {:08x}\n", crc32c::crc32c(head.as_bytes()))
    }

    fn parse(content: &str) -> Option<Self> {
        let id = |text: &str| -> Option<StoreId> { unhex(text)?.try_into().ok() };
        let mut lines = content.lines().skip(1);
        let log = id(lines.next()?.strip_prefix("id ")?)?;
        let history = lines.next()?.strip_prefix("history ");
        let history = history.map_or(Some(log), id)?;
        let identity = Self { log, history };
        (identity.text() == content).then_some(identity)
    }
}

impl DurableStore {
    /// The id of the store in a folder ([`Self::id`]); the store need not be open. `None` when the folder holds no
    /// store.
    ///
    /// # Errors
    /// When the folder or its `IDENTITY` cannot be read.
    pub fn id_of(path: &Path) -> Result<Option<String>, OpenError> {
        let fail = |e| OpenError::io("opening", path, e);
        match Folder::open(path) {
            Ok(folder) => Ok(read(&folder)?.map(|id| hex(&id.history))),
            Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                Ok(None)
            }
            Err(e) => Err(fail(e)),
        }
    }
}

/// Reads the identity in a folder; `None` when the file does not exist. Reads at most 4 KiB.
///
/// # Errors
/// `NotAStore` when the folder has another format, `Corrupt` when the file differs from what was written, `Io` when it
/// cannot be read.
pub(crate) fn read(folder: &Folder) -> Result<Option<Identity>, OpenError> {
    let path = folder.path().join(IDENTITY);
    let content = match folder.content(IDENTITY, TEXT_MAX) {
        Ok(content) => content,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(OpenError::io("reading", &path, e)),
    };
    let content = std::str::from_utf8(&content).unwrap_or_default();
    let format = content
        .lines()
        .next()
        .and_then(|line| line.strip_prefix(FIRST_LINE));
    let format = format.and_then(|format| format.parse::<u32>().ok());
    if let Some(format) = format.filter(|format| *format != DISK_FORMAT) {
        return Err(OpenError::NotAStore(format!(
            "{} has disk format {format}, and this program reads format {DISK_FORMAT}. Nothing was changed; use the program \
             that wrote it",
            folder.path().display()
        )));
    }
    let identity = Identity::parse(content).map(Some);
    identity.ok_or_else(|| OpenError::damaged(&path, 0, "it is not what was written"))
}

/// Makes sure that a store may be created here: the folder holds nothing but a `LOCK` and the remains of an interrupted
/// creation.
///
/// # Errors
/// `NotAStore`, naming whatever else is there; `Io` when the folder cannot be listed.
pub(crate) fn check_empty(folder: &Folder) -> Result<(), OpenError> {
    let dir = folder.path();
    let names = folder.names();
    let names = names.map_err(|e| OpenError::io("listing", dir, e))?;
    if names.iter().any(|name| name == RESTORE) {
        return Err(OpenError::NotAStore(format!(
            "a restore into {} was cut off. Nothing was changed; restore into it again",
            dir.display()
        )));
    }
    let unfinished = names.iter().any(|name| name == UNFINISHED);
    let ours =
        |name: &OsString| name == LOCK || unfinished && (name == UNFINISHED || name == JOURNAL);
    if let Some(name) = names.into_iter().find(|name| !ours(name)) {
        return Err(OpenError::NotAStore(format!(
            "{} is neither empty nor a store: it holds {} but no IDENTITY. Nothing was \
             changed. If it was a store, restore IDENTITY from a backup",
            dir.display(),
            name.display()
        )));
    }
    Ok(())
}

/// Removes the empty segment of an interrupted creation; refuses when there is more.
fn clear_unfinished(folder: &Folder) -> Result<(), OpenError> {
    let dir = folder.path();
    let fail = |e| OpenError::io("looking into", dir, e);
    let journal = folder.folder(JOURNAL).map_err(fail)?;
    let numbers = segment_numbers(&journal).map_err(fail)?;
    if numbers.is_empty() {
        return Ok(());
    }
    let id = folder.content(UNFINISHED, TEXT_MAX).ok();
    let id = id.and_then(|text| Identity::parse(std::str::from_utf8(&text).ok()?));
    let checked = id
        .map(|id| check(&journal, &id.log, &Trust::default(), &|_| {}))
        .transpose()?;
    if checked.is_none_or(|c| c.last_commit > 0 || c.torn.is_some()) {
        return Err(OpenError::NotAStore(format!(
            "{} has a journal but no IDENTITY. Nothing was changed; restore IDENTITY from a \
             backup",
            dir.display()
        )));
    }
    numbers
        .into_iter()
        .try_for_each(|number| journal.remove(&segment_name(number)))
        .map_err(fail)
}

/// Creates the identity, that `of` a log or a new one, and the first segment, of `segment` bytes. An interrupted
/// creation is begun anew, but only when its journal has no record.
///
/// # Errors
/// `NotAStore` when the folder holds anything else or its journal a record, `Corrupt` when that journal is damaged,
/// `Io` when the system refuses an operation. Until the last step the folder has no `IDENTITY`, so the creation can be
/// tried again.
pub(crate) fn create(
    folder: &Folder,
    files: &Files,
    segment: u32,
    of: Option<StoreId>,
) -> Result<StoreId, OpenError> {
    check_empty(folder)?;
    let dir = folder.path();
    let fail = |e| OpenError::io("creating a store in", dir, e);
    if folder.has_folder(JOURNAL).map_err(fail)? {
        clear_unfinished(folder)?;
    }
    let id = match of {
        Some(id) => id,
        None => drawn().map_err(|e| OpenError::io("choosing an identity for", dir, e))?,
    };
    let make = || -> io::Result<()> {
        folder.remove(UNFINISHED)?;
        let file = files.create(folder, UNFINISHED)?;
        files.write_at(&file, Identity::from(id).text().as_bytes(), 0)?;
        files.sync_all(&file)?;
        files.sync_folder(folder)?;
        let journal = files.folder(folder, JOURNAL)?;
        prepare(files, &journal, &id, 1, segment)?;
        files.rename(folder, UNFINISHED, IDENTITY)
    };
    make().map_err(fail)?;
    tracing::info!(folder = %dir.display(), id = %hex(&id), "created a new store");
    Ok(id)
}

/// A new random id.
pub(crate) fn drawn() -> io::Result<StoreId> {
    let mut id: StoreId = [0; 16];
    let filled = aws_lc_rs::rand::fill(&mut id);
    filled.map_err(|_| io::Error::other("no randomness"))?;
    Ok(id)
}
