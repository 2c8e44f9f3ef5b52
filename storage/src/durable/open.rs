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
use crate::context::StoreContext;
use crate::durable::cell::Cell;
use crate::durable::checker::{Checker, Parts};
use crate::durable::examine::{Examined, examine, try_index};
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

impl DurableStore {
    /// Opens the store in `path`, or creates it when the folder is empty or missing. First checks every byte of journal
    /// and index that the checkpoint does not attest, and rebuilds the index when in doubt.
    ///
    /// # Errors
    /// When another process has the store open, the folder holds something else, the journal is damaged or shorter than
    /// its witness or index proves, or the system refuses an operation. Nothing on disk has been changed then.
    pub fn open(
        path: impl Into<PathBuf>,
        options: StoreOptions,
        projection: Arc<dyn Projection>,
    ) -> Result<Arc<Self>, OpenError> {
        let (opened, local) = prepare(path.into(), options, projection, None, true)?;
        let log = Box::new(log_of(&opened, &local));
        let part = NodePart::Owner {
            name: String::new(),
            lease: Duration::ZERO,
            patience: Duration::ZERO,
        };
        start(opened, Cell::new(log, local, false), &part)
    }

    /// Opens this node's copy of a cell whose log is elsewhere, in `path`; creates the copy when the folder is empty or
    /// missing. When this returns, an owner has applied the log to its end; a follower keeps following it.
    ///
    /// # Errors
    /// `Log` with `Held` when `part` is to become the owner and there already is one; refused when this node's journal
    /// belongs to another log, or holds records that the log does not.
    pub fn join(
        path: impl Into<PathBuf>,
        options: StoreOptions,
        projection: Arc<dyn Projection>,
        log: Box<dyn Log>,
        part: &NodePart,
    ) -> Result<Arc<Self>, OpenError> {
        let owns = matches!(part, NodePart::Owner { .. });
        let (opened, local) = prepare(path.into(), options, projection, Some(log.id()), owns)?;
        start(opened, Cell::new(log, local, true), part)
    }
}

/// Makes the journal of a store the log of its cell.
fn log_of(opened: &Opened, local: &Arc<Mutex<JournalWriter>>) -> DiskLog {
    let journal = Arc::clone(&opened.shared.journal);
    DiskLog::new(opened.identity.log, Arc::clone(local), journal)
}

/// The log of a cell on one machine without the committer above it, and the store parts that must
/// live as long.
#[cfg(test)]
pub(crate) fn disk_log(
    path: &Path,
    options: StoreOptions,
    projection: Arc<dyn Projection>,
) -> Result<(DiskLog, Opened), OpenError> {
    let (opened, local) = prepare(path.to_path_buf(), options, projection, None, true)?;
    Ok((log_of(&opened, &local), opened))
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
    let context = Arc::new(StoreContext {
        journal: journal_in(&folder, &path.join(JOURNAL))?,
        folder,
        files,
        id: identity.log,
        health: Arc::new(health),
        path,
    });
    let Examined {
        found,
        checked,
        journal,
        testimony,
        index,
    } = examine(&context, &options, projection.as_ref())?;
    // checked before anything is changed
    let short_of_space = index.is_err() && space::for_rebuild(&context.folder, &checked, &options)?;
    let end = JournalMark {
        commit: checked.last_commit,
        chain: checked.chain,
        end: position(checked.segment, checked.offset),
    };
    let fail = |e| OpenError::io("opening", &context.path, e);
    let witness = Witness::open(&context, testimony, end).map_err(fail)?;
    let held = Arc::new(HeldFolder::new(&context, locks).map_err(fail)?);
    let seals = Arc::new(Seals::default());
    let writer = JournalWriter::open(
        &context,
        options.segment_bytes.max(SEGMENT_MIN),
        &checked,
        Arc::clone(&journal),
        Arc::clone(&held),
        Arc::clone(&seals),
    );
    let writer = writer.map_err(fail)?;
    let index_rebuilt = index.is_err() && checked.last_commit > 0;
    let index = match index {
        Ok(index) => index,
        Err(wanted) => anew(&wanted, &checked, short_of_space)?,
    };
    space::keep(&context.folder, &context.files, &options);
    let index = Arc::new(index);
    let parts = Parts {
        context: Arc::clone(&context),
        index: Arc::clone(&index),
        seals,
        rate: options.check_bytes_per_second,
        every: options.check_every,
        reader: Arc::clone(&journal),
    };
    let shared = Arc::new(Shared {
        queue: CommitQueue::new(options.queue_commits, options.queue_bytes),
        checker: Checker::new(parts, &found, &checked),
        journal,
        index,
        projection,
        health: Arc::clone(&context.health),
        counters: Counters::default(),
        watch: Watch::default(),
        witness,
        role: Role::new(owns, options.turned.clone()),
        held,
        context,
        index_rebuilt,
        options,
    });
    watch::look_at_space(&shared);
    Ok((Opened { identity, shared }, Arc::new(Mutex::new(writer))))
}

/// Opens the folder of segments; without it there is no store.
fn journal_in(folder: &Folder, dir: &Path) -> Result<Folder, OpenError> {
    let fail = |e| OpenError::io("opening", dir, e);
    if !folder.has_folder(JOURNAL).map_err(fail)? {
        return Err(OpenError::damaged(dir, 0, "the folder is missing"));
    }
    folder.folder(JOURNAL).map_err(fail)
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
fn anew(wanted: &Wanted, checked: &Checked, short_of_space: bool) -> Result<SortedRows, OpenError> {
    let StoreContext {
        folder: store,
        files,
        path,
        ..
    } = wanted.context.as_ref();
    let fail = |e| OpenError::io("moving aside the index in", path, e);
    if store.has_folder(INDEX).map_err(fail)? {
        drop_old(store).map_err(fail)?;
        let moved = files.rename(store, INDEX, &format!("{OBSOLETE_PREFIX}1"));
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
