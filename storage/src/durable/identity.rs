//! Which store a folder holds, and that it has one owner.
//!
//! **Order.** Creation: `IDENTITY.new` in an empty folder, then the journal with its first
//! segment, then the rename to `IDENTITY`. So a folder with `IDENTITY` always had a journal, and
//! one that has records but no `IDENTITY` has lost it and is refused.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::codec::{hex, unhex};
use crate::error::OpenError;
use crate::files::Files;
use crate::journal::check::{check, segment_numbers};
use crate::journal::format::StoreId;
use crate::journal::prepare::prepare;

const FIRST_LINE: &str = "caudal store, format 1";

/// How long a lock is waited for: a process that was killed, or a child that is just being started
/// from the one that closed the store, holds it for a moment longer.
const LOCK_WAIT: Duration = Duration::from_secs(1);

/// Takes the lock of the folder, or says who has it.
pub(crate) fn take_lock(dir: &Path, files: &Files) -> Result<File, OpenError> {
    let path = dir.join("LOCK");
    let fail = |e| OpenError::io("locking", &path, e);
    let file = if path.is_file() {
        files.open(&path)
    } else {
        files.create(&path)
    };
    let file = file.map_err(fail)?;
    let start = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) if start.elapsed() < LOCK_WAIT => {
                std::thread::sleep(Duration::from_millis(10));
            }
            Err(TryLockError::WouldBlock) => return Err(OpenError::Busy(dir.to_path_buf())),
            Err(TryLockError::Error(e)) => return Err(fail(e)),
        }
    }
}

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
pub(crate) fn read(dir: &Path) -> Result<Option<StoreId>, OpenError> {
    let path = dir.join("IDENTITY");
    let content = match fs::read(&path) {
        Ok(content) => content,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(OpenError::io("reading", &path, e)),
    };
    let id = std::str::from_utf8(&content).ok().and_then(parse);
    id.map(Some).ok_or_else(|| {
        OpenError::damaged(&path, 0, "it is not what was written, or of a newer format")
    })
}

/// Refuses to create a store where there is anything else.
pub(crate) fn check_empty(dir: &Path) -> Result<(), OpenError> {
    let fail = |e| OpenError::io("listing", dir, e);
    let unfinished = dir.join("IDENTITY.new").is_file();
    for item in fs::read_dir(dir).map_err(fail)? {
        let name = item.map_err(fail)?.file_name();
        let ours = name == "LOCK" || unfinished && (name == "IDENTITY.new" || name == "journal");
        if !ours {
            return Err(OpenError::NotAStore(format!(
                "{} is neither empty nor a store: it holds {} but no IDENTITY. Nothing was \
                 changed. If it was a store, restore IDENTITY from a backup",
                dir.display(),
                name.display()
            )));
        }
    }
    Ok(())
}

/// Makes the identity and the first segment; a creation that was cut short is begun anew, but only
/// when its journal has no record.
pub(crate) fn create(dir: &Path, files: &Files, segment: u32) -> Result<StoreId, OpenError> {
    check_empty(dir)?;
    let journal = dir.join("journal");
    let unfinished = dir.join("IDENTITY.new");
    if journal.is_dir() && !segment_numbers(&journal)?.is_empty() {
        let id = fs::read_to_string(&unfinished)
            .ok()
            .as_deref()
            .and_then(parse);
        let checked = id.map(|id| check(&journal, &id, &|_| {})).transpose()?;
        if checked.is_none_or(|c| c.last_commit > 0 || c.torn.is_some()) {
            return Err(OpenError::NotAStore(format!(
                "{} has a journal but no IDENTITY. Nothing was changed; restore IDENTITY from a \
                 backup",
                dir.display()
            )));
        }
    }
    let mut id: StoreId = [0; 16];
    aws_lc_rs::rand::fill(&mut id).map_err(|_| {
        OpenError::io(
            "choosing an identity for",
            dir,
            io::Error::other("no randomness"),
        )
    })?;
    let make = || -> io::Result<()> {
        let file = files.create(&unfinished)?;
        files.write_at(&file, text(&id).as_bytes(), 0)?;
        files.sync_all(&file)?;
        files.sync_dir(dir)?;
        files.create_dir(&journal)?;
        prepare(files, &journal, &id, 1, segment)?;
        files.rename(&unfinished, &dir.join("IDENTITY"))
    };
    make().map_err(|e| OpenError::io("creating a store in", dir, e))?;
    tracing::info!(folder = %dir.display(), id = %hex(&id), "created a new store");
    Ok(id)
}
