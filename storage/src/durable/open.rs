//! Opens a store: takes locks and identity; [`super::examine`] examines the folder,
//! [`super::start`] does the rest.
//!
//! **Order.** Nothing is changed until the journal has been checked and agrees with its witness and
//! with what the index proves. Then the torn tail is cut, and a doubtful index is begun anew.
//!
//! **Bounds.** A start reads the segments from the one in which the index ends, and any that the
//! checkpoint does not attest as they are ([`super::checkpoint`]). Of the index it reads the runs
//! that the checkpoint does not know, and only the fences and filters of the others. Rows are only
//! derived from records that were read in this start: if the index lacks earlier ones, or has to be
//! rebuilt, the whole journal is read.
//!
//! **Failure.** A journal that is damaged, or shorter than witness or index proves, is refused.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::api::Projection;
use crate::codec::hex;
use crate::durable::cell::Cell;
use crate::durable::checker::Checker;
use crate::durable::examine::{Examined, Site, examine, try_index};
use crate::durable::held::{HeldFolder, JOURNAL, Locks};
use crate::durable::identity::Identity;
use crate::durable::obsolete_indexes::{OBSOLETE_PREFIX, drop_old};
use crate::durable::options::{NodePart, SEGMENT_MIN, StoreOptions};
use crate::durable::queue::CommitQueue;
use crate::durable::role::Role;
use crate::durable::seals::Seals;
use crate::durable::start::{Opened, start};
use crate::durable::watch::{self, Watch};
use crate::durable::witness::Witness;
use crate::durable::{Counters, DurableStore, Shared, identity, space};
use crate::error::OpenError;
use crate::files::Files;
use crate::folder::Folder;
use crate::health::{Health, MARKER};
use crate::index::SortedRows;
use crate::index::blocks::INDEX;
use crate::index::manifest::JournalMark;
use crate::index::open::Wanted;
use crate::journal::check::Checked;
use crate::journal::format::StoreId;
use crate::journal::position;
use crate::journal::writer::JournalWriter;
use crate::log::Log;
use crate::log::disk::DiskLog;

/// Opens or creates the store in `path`, whose journal is the log of its cell.
///
/// # Errors
/// As [`DurableStore::open`].
pub(super) fn open(
    path: PathBuf,
    options: StoreOptions,
    projection: Arc<dyn Projection>,
) -> Result<Arc<DurableStore>, OpenError> {
    let (opened, local) = prepare(path, options, projection, None, true)?;
    let log = Box::new(log_of(&opened, &local));
    let part = NodePart::Owner {
        name: String::new(),
        lease: Duration::ZERO,
        patience: Duration::ZERO,
    };
    start(opened, Cell::new(log, local, false), &part)
}

/// Makes the journal of a store the log of its cell.
fn log_of(opened: &Opened, local: &Arc<Mutex<JournalWriter>>) -> DiskLog {
    let journal = Arc::clone(&opened.shared.journal);
    DiskLog::new(opened.identity.log, Arc::clone(local), journal)
}

/// The log of a cell on one machine without the committer above it, and the store parts that must
/// live as long.
///
/// # Errors
/// As [`DurableStore::open`].
#[cfg(test)]
pub(crate) fn disk_log(
    path: &Path,
    options: StoreOptions,
    projection: Arc<dyn Projection>,
) -> Result<(DiskLog, Opened), OpenError> {
    let (opened, local) = prepare(path.to_path_buf(), options, projection, None, true)?;
    Ok((log_of(&opened, &local), opened))
}

/// Opens or creates this node's copy of a cell whose log is elsewhere.
///
/// # Errors
/// As [`DurableStore::join`].
pub(super) fn join(
    path: PathBuf,
    options: StoreOptions,
    projection: Arc<dyn Projection>,
    log: Box<dyn Log>,
    part: &NodePart,
) -> Result<Arc<DurableStore>, OpenError> {
    let owns = matches!(part, NodePart::Owner { .. });
    let (opened, local) = prepare(path, options, projection, Some(log.id()), owns)?;
    start(opened, Cell::new(log, local, true), part)
}

/// Examines and checks the folder, then prepares journal and index for writing.
fn prepare(
    path: PathBuf,
    options: StoreOptions,
    projection: Arc<dyn Projection>,
    of: Option<StoreId>,
    owns: bool,
) -> Result<(Opened, Arc<Mutex<JournalWriter>>), OpenError> {
    let files = Files::with(options.faults.clone());
    let (folder, locks, identity) = enter(&path, &files, &options, of)?;
    let health = Health::new(Arc::clone(&folder), &files, options.abort_on_poison);
    let site = Site {
        journal: journal_in(&folder, &path.join(JOURNAL))?,
        folder,
        files,
        id: identity.log,
        health: Arc::new(health),
        path,
    };
    let Examined {
        found,
        checked,
        journal,
        testimony,
        index,
    } = examine(&site, &options, projection.as_ref())?;
    let Site {
        folder,
        files,
        health,
        path,
        ..
    } = &site;
    // checked before anything is changed
    let short_of_space = index.is_err() && space::for_rebuild(folder, &checked, &options)?;
    let end = JournalMark {
        commit: checked.last_commit,
        chain: checked.chain,
        end: position(checked.segment, checked.offset),
    };
    let fail = |e| OpenError::io("opening", path, e);
    let witness = Witness::open(folder, files, &site.id, testimony, end).map_err(fail)?;
    let held = HeldFolder::new(path, folder, &site.journal, locks).map_err(fail)?;
    let held = Arc::new(held);
    let seals = Arc::new(Seals::default());
    let parts = site.writer(&held, &seals, &options);
    let writer = JournalWriter::open(parts, &checked, Arc::clone(&journal)).map_err(fail)?;
    let index_rebuilt = index.is_err() && checked.last_commit > 0;
    let index = match index {
        Ok(index) => index,
        Err(wanted) => anew(path, &wanted, &checked, short_of_space)?,
    };
    space::keep(folder, files, &options);
    let index = Arc::new(index);
    let checker = site.checker(&index, &journal, &options, seals);
    let shared = Arc::new(Shared {
        queue: CommitQueue::new(options.queue_commits, options.queue_bytes),
        checker: Checker::new(checker, &found, &checked),
        journal,
        index,
        projection,
        health: Arc::clone(health),
        counters: Counters::default(),
        watch: Watch::new(),
        witness,
        role: Role::new(owns, options.turned.clone()),
        held,
        files: files.clone(),
        index_rebuilt,
        options,
    });
    watch::look_at_space(&shared);
    let opened = Opened {
        path: path.clone(),
        identity,
        shared,
    };
    Ok((opened, Arc::new(Mutex::new(writer))))
}

/// Opens the folder of segments; without it there is no store.
fn journal_in(folder: &Folder, dir: &Path) -> Result<Arc<Folder>, OpenError> {
    let fail = |e| OpenError::io("opening", dir, e);
    if !folder.has_folder(JOURNAL).map_err(fail)? {
        return Err(OpenError::damaged(dir, 0, "the folder is missing"));
    }
    Ok(Arc::new(folder.folder(JOURNAL).map_err(fail)?))
}

/// Opens and locks the folder; returns the identity of its store, and creates one if there is none:
/// that `of` a log, or a new one.
fn enter(
    path: &Path,
    files: &Files,
    options: &StoreOptions,
    of: Option<StoreId>,
) -> Result<(Arc<Folder>, Locks, Identity), OpenError> {
    let folder = if options.create {
        files.open_folder(path)
    } else {
        Folder::open(path)
    };
    let folder = folder.map_err(|e| OpenError::io("opening", path, e))?;
    if identity::read(&folder)?.is_none() {
        if !options.create {
            return Err(OpenError::NotAStore(format!(
                "{} holds no store: IDENTITY is missing. Nothing was changed",
                path.display()
            )));
        }
        identity::check_empty(&folder)?;
    }
    let mut locks = Locks::take(&folder, files)?;
    let identity = match identity::read(&folder)? {
        Some(identity) => identity,
        None => {
            let segment = options.segment_bytes.max(SEGMENT_MIN);
            identity::create(&folder, files, segment, of)?.into()
        }
    };
    // a history of its own is not a copy of the log it branched from
    if let Some(of) = of.filter(|of| *of != identity.history) {
        return Err(OpenError::NotAStore(format!(
            "{} holds a copy of log {}, not of {}. Nothing was changed",
            path.display(),
            hex(&identity.history),
            hex(&of)
        )));
    }
    locks.take_identity(&folder, files)?;
    Ok((Arc::new(folder), locks, identity))
}

/// Moves an existing index aside, or removes it if space is short, and begins an empty one.
fn anew(
    path: &Path,
    wanted: &Wanted<'_>,
    checked: &Checked,
    short_of_space: bool,
) -> Result<SortedRows, OpenError> {
    let store = &wanted.store;
    let fail = |e| OpenError::io("moving aside the index in", path, e);
    if store.has_folder(INDEX).map_err(fail)? {
        drop_old(store).map_err(fail)?;
        let moved = wanted
            .files
            .rename(store, INDEX, &format!("{OBSOLETE_PREFIX}1"));
        moved.map_err(fail)?;
        if short_of_space {
            drop_old(store).map_err(fail)?;
        }
    } else if checked.last_commit > 0 {
        tracing::warn!("the index is missing and is rebuilt from the journal");
    }
    let index = try_index(wanted, true).map_err(|why| {
        let why = std::io::Error::other(why.to_string());
        OpenError::io("creating the index in", path, why)
    })?;
    store.remove(MARKER).map_err(fail)?;
    Ok(index)
}
