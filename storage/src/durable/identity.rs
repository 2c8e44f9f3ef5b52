//! Which store a folder holds.
//!
//! **Order.** Creation: `IDENTITY.new` in an empty folder, then the journal with its first
//! segment, then the rename to `IDENTITY`. So a folder with `IDENTITY` always had a journal, and
//! one that has records but no `IDENTITY` has lost it and is refused.

use std::ffi::OsString;
use std::io::{self, Read};

use crate::codec::{hex, unhex};
use crate::durable::held::{IDENTITY, JOURNAL, LOCK};
use crate::error::OpenError;
use crate::files::Files;
use crate::folder::Folder;
use crate::journal::check::{Trust, check, segment_numbers};
use crate::journal::format::StoreId;
use crate::journal::names::segment_name;
use crate::journal::prepare::prepare;

const UNFINISHED: &str = "IDENTITY.new";
const FIRST_LINE: &str = "caudal store, format 1";
/// The largest file that is read, in bytes.
const TEXT_MAX: u64 = 4096;

fn text(id: &StoreId) -> String {
    let head = format!("{FIRST_LINE}\nid {}\n", hex(id));
    format!("{head}crc {:08x}\n", crc32c::crc32c(head.as_bytes()))
}

fn parse(content: &str) -> Option<StoreId> {
    let id = content.lines().nth(1)?.strip_prefix("id ")?;
    let id: StoreId = unhex(id)?.try_into().ok()?;
    (text(&id) == content).then_some(id)
}

/// The identity in a folder; `None` when there is no such file.
pub(crate) fn read(folder: &Folder) -> Result<Option<StoreId>, OpenError> {
    let path = folder.path().join(IDENTITY);
    let content = match read_text(folder, IDENTITY) {
        Ok(content) => content,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(OpenError::io("reading", &path, e)),
    };
    let id = std::str::from_utf8(&content).ok().and_then(parse);
    id.map(Some).ok_or_else(|| {
        OpenError::damaged(&path, 0, "it is not what was written, or of a newer format")
    })
}

fn read_text(folder: &Folder, name: &str) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    let file = folder.read(name)?;
    file.take(TEXT_MAX).read_to_end(&mut content)?;
    Ok(content)
}

/// Refuses to create a store where there is anything else.
pub(crate) fn check_empty(folder: &Folder) -> Result<(), OpenError> {
    let dir = folder.path();
    let names = folder.names();
    let names = names.map_err(|e| OpenError::io("listing", dir, e))?;
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

/// Removes the empty segment of a creation that was cut short; refuses when there is more.
fn clear_unfinished(folder: &Folder) -> Result<(), OpenError> {
    let dir = folder.path();
    let fail = |e| OpenError::io("looking into", dir, e);
    let journal = folder.folder(JOURNAL).map_err(fail)?;
    let numbers = segment_numbers(&journal).map_err(fail)?;
    if numbers.is_empty() {
        return Ok(());
    }
    let id = read_text(folder, UNFINISHED).ok();
    let id = id.and_then(|text| parse(std::str::from_utf8(&text).ok()?));
    let checked = id
        .map(|id| check(&journal, &id, &Trust::default(), &|_| {}))
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

/// Makes the identity, that `of` a log or a new one, and the first segment; a creation that was cut short is begun anew, but only
/// when its journal has no record.
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
        files.write_at(&file, text(&id).as_bytes(), 0)?;
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

fn drawn() -> io::Result<StoreId> {
    let mut id: StoreId = [0; 16];
    let filled = aws_lc_rs::rand::fill(&mut id);
    filled.map_err(|_| io::Error::other("no randomness"))?;
    Ok(id)
}
