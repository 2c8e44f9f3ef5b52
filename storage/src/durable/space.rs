//! Disk space while a store opens.
//!
//! **Shape.** `RESERVE` is a file of zeros. sled writes a little when it opens, so on a full disk this file is removed
//! to make room, and a later start that finds room writes it again. The index is rebuilt only if all of it fits.
//!
//! **Bounds.** A rebuilt index takes up to twice the size of the journal, merges included; the floor stays free in
//! addition.

use std::io;

use crate::durable::options::StoreOptions;
use crate::error::OpenError;
use crate::files::Files;
use crate::folder::Folder;
use crate::index::blocks::taken;
use crate::journal::check::Checked;

/// The file that is removed to make room.
const RESERVE: &str = "RESERVE";
/// Bytes that even the smallest index takes.
const INDEX_LEAST: u64 = 2 << 20;

/// Removes the reserve, so that its space is free; false when there was none.
///
/// # Errors
/// The system's error when it cannot look up the file or remove it.
pub(crate) fn give_up(folder: &Folder) -> io::Result<bool> {
    let there = folder.id(RESERVE)?.is_some();
    folder.remove(RESERVE)?;
    Ok(there)
}

/// Creates the reserve if it is missing and the disk has plenty of space.
pub(crate) fn keep(folder: &Folder, files: &Files, options: &StoreOptions) {
    let size = options.reserve_bytes;
    let wanted = size
        .saturating_mul(2)
        .saturating_add(options.free_space_floor);
    let make = || -> io::Result<()> {
        if size == 0 || folder.id(RESERVE)?.is_some() || folder.free_space()? < wanted {
            return Ok(());
        }
        let file = files.create(folder, RESERVE)?;
        files.write_zeros(&file, 0, size)?;
        files.sync_all(&file)
    };
    if let Err(e) = make() {
        tracing::warn!(error = %e, "could not reserve disk space for opening on a full disk");
        // a partial reserve is useless
        folder.remove(RESERVE).ok();
    }
}

/// Makes sure that a rebuild of the index fits. True when it fits only after the old index was removed.
///
/// # Errors
/// `NoRoom`, with the figures, when it does not fit even then; `Io` when the system does not say how much space is
/// free.
pub(crate) fn for_rebuild(
    folder: &Folder,
    checked: &Checked,
    options: &StoreOptions,
) -> Result<bool, OpenError> {
    let path = folder.path();
    let free = folder.free_space();
    let free = free.map_err(|e| OpenError::io("asking for free space of", path, e))?;
    let before = checked
        .segments
        .iter()
        .filter(|s| s.number < checked.segment);
    let written = before.map(|s| u64::from(s.size)).sum::<u64>() + u64::from(checked.offset);
    let needed = written.saturating_mul(2).saturating_add(INDEX_LEAST);
    let wanted = needed.saturating_add(options.free_space_floor);
    if free >= wanted {
        return Ok(false);
    }
    let old = taken(folder);
    if free.saturating_add(old) >= wanted {
        return Ok(true);
    }
    Err(OpenError::NoRoom(format!(
        "the index in {} has to be rebuilt from the journal, which takes about {} MiB besides the \
         {} MiB that are kept free; {} MiB are free and the old index takes {}. Nothing was \
         changed: make room and start again",
        path.display(),
        needed >> 20,
        options.free_space_floor >> 20,
        free >> 20,
        old >> 20,
    )))
}
