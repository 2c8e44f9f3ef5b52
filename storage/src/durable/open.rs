//! Opens a store: locks, identity, journal, witness, index. [`super::start`] does the rest.
//!
//! **Order.** Nothing is changed before the journal has been checked as a whole and agrees with
//! its witness and with what the index proves. Then the torn tail is cut, and an index in doubt is
//! begun anew.
//!
//! **Failure.** A journal that is damaged, or shorter than witness or index prove, is refused.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::api::Projection;
use crate::codec::hex;
use crate::durable::aside::{ASIDE, drop_old};
use crate::durable::cell::Cell;
use crate::durable::held::{Held, JOURNAL, Locks};
use crate::durable::options::{Options, Part};
use crate::durable::queue::Queue;
use crate::durable::role::Role;
use crate::durable::start::{Opened, start};
use crate::durable::watch::{self, Watch};
use crate::durable::witness::{self, WITNESS, Witness};
use crate::durable::{Counters, DurableStore, Shared, identity, space};
use crate::error::OpenError;
use crate::files::Files;
use crate::folder::Folder;
use crate::health::{Health, MARKER};
use crate::index::blocks::{INDEX, probe};
use crate::index::manifest::Mark;
use crate::index::open::Wanted;
use crate::index::trouble::Trouble;
use crate::index::{SortedRows, Tuning};
use crate::journal::check::{Checked, check, segment_path};
use crate::journal::format::{SEGMENT_HEADER, StoreId, genesis};
use crate::journal::writer::{Place, Writer};
use crate::journal::{Journal, position};
use crate::log::Log;
use crate::log::disk::DiskLog;

const SEGMENT_MIN: u32 = 64 << 10;

/// Opens or creates the store in `path`, whose journal is the log of its cell.
pub(super) fn open(
    path: PathBuf,
    options: Options,
    projection: Arc<dyn Projection>,
) -> Result<Arc<DurableStore>, OpenError> {
    let (opened, local) = prepare(path, options, projection, None, true)?;
    let log = Box::new(log_of(&opened, &local));
    let part = Part::Owner {
        name: String::new(),
        lease: Duration::ZERO,
    };
    start(opened, Cell::new(log, local), &part)
}

/// The journal of a store as the log of its cell.
fn log_of(opened: &Opened, local: &Arc<Mutex<Writer>>) -> DiskLog {
    let journal = Arc::clone(&opened.shared.journal);
    DiskLog::new(opened.id, Arc::clone(local), journal)
}

/// The log of a cell on one machine without anything above it, and what has to live as long.
#[cfg(test)]
pub(crate) fn disk_log(
    path: &Path,
    options: Options,
    projection: Arc<dyn Projection>,
) -> Result<(DiskLog, Opened), OpenError> {
    let (opened, local) = prepare(path.to_path_buf(), options, projection, None, true)?;
    Ok((log_of(&opened, &local), opened))
}

/// Opens or creates this node's copy of a cell whose log is elsewhere.
pub(super) fn join(
    path: PathBuf,
    options: Options,
    projection: Arc<dyn Projection>,
    log: Box<dyn Log>,
    part: &Part,
) -> Result<Arc<DurableStore>, OpenError> {
    let owns = matches!(part, Part::Owner { .. });
    let (opened, local) = prepare(path, options, projection, Some(log.id()), owns)?;
    start(opened, Cell::new(log, local), part)
}

/// Checks everything and gets ready to write.
fn prepare(
    path: PathBuf,
    options: Options,
    projection: Arc<dyn Projection>,
    of: Option<StoreId>,
    owns: bool,
) -> Result<(Opened, Arc<Mutex<Writer>>), OpenError> {
    let files = Files::with(options.faults.clone());
    let (folder, locks, id) = enter(&path, &files, &options, of)?;
    let journal_dir = path.join(JOURNAL);
    let journal_folder = journal_in(&folder, &journal_dir)?;
    let checked = check(&journal_folder, &id, &|p| options.report(p))?;
    let health = Arc::new(Health::new(Arc::clone(&folder), options.abort_on_poison));
    let (of_journal, its_health) = (Arc::clone(&journal_folder), Arc::clone(&health));
    let journal = Arc::new(Journal::new(&files, of_journal, its_health, &checked));
    let testimony = witness::read(&folder, &id)?;
    testify(&path, &options, &checked, &journal, testimony)?;
    let index = open_index(&folder, &files, id, &options, projection.version(), &health)?;
    if let Ok(index) = &index {
        agree(&journal_dir, &checked, &journal, index.mark())?;
    }
    // known before anything is changed
    let crowded = index.is_err() && space::for_rebuild(&folder, &checked, &options)?;
    let end = Mark {
        commit: checked.last_commit,
        chain: checked.chain,
        end: position(checked.segment, checked.offset),
    };
    let fail = |e| OpenError::io("opening", &path, e);
    let witness = Witness::open(&folder, &files, &id, testimony, end).map_err(fail)?;
    let held = Held::new(&path, &folder, &journal_folder, locks).map_err(fail)?;
    let held = Arc::new(held);
    let place = Place {
        files: files.clone(),
        folder: journal_folder,
        held: Arc::clone(&held),
        health: Arc::clone(&health),
        id,
        segment_bytes: options.segment_bytes.max(SEGMENT_MIN),
    };
    let writer = Writer::open(place, &checked, Arc::clone(&journal)).map_err(fail)?;
    let index_rebuilt = index.is_err() && checked.last_commit > 0;
    let index = match index {
        Ok(index) => index,
        Err(wanted) => anew(&path, &wanted, &checked, crowded)?,
    };
    space::keep(&folder, &files, &options);
    let shared = Arc::new(Shared {
        queue: Queue::new(options.queue_commits, options.queue_bytes),
        journal,
        index: Arc::new(index),
        projection,
        health,
        counters: Counters::default(),
        watch: Watch::new(),
        witness,
        role: Role::new(owns),
        held,
        files,
        index_rebuilt,
        options,
    });
    watch::look_at_space(&shared);
    let last = checked.last_commit;
    let opened = Opened {
        path,
        id,
        shared,
        last,
    };
    Ok((opened, Arc::new(Mutex::new(writer))))
}

/// The folder of segments; without it there is no store.
fn journal_in(folder: &Folder, dir: &Path) -> Result<Arc<Folder>, OpenError> {
    let fail = |e| OpenError::io("opening", dir, e);
    if !folder.has_folder(JOURNAL).map_err(fail)? {
        return Err(OpenError::damaged(dir, 0, "the folder is missing"));
    }
    Ok(Arc::new(folder.folder(JOURNAL).map_err(fail)?))
}

/// Opens and locks the folder; gives the identity of its store, which is made where there is none:
/// that `of` a log, or a new one.
fn enter(
    path: &Path,
    files: &Files,
    options: &Options,
    of: Option<StoreId>,
) -> Result<(Arc<Folder>, Locks, StoreId), OpenError> {
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
    let id = match identity::read(&folder)? {
        Some(id) => id,
        None => {
            let segment = options.segment_bytes.max(SEGMENT_MIN);
            identity::create(&folder, files, segment, of)?
        }
    };
    if let Some(of) = of.filter(|of| *of != id) {
        return Err(OpenError::NotAStore(format!(
            "{} holds a copy of log {}, not of {}. Nothing was changed",
            path.display(),
            hex(&id),
            hex(&of)
        )));
    }
    locks.take_identity(&folder, files)?;
    Ok((Arc::new(folder), locks, id))
}

/// Refuses a journal that lacks what its witness says was written.
fn testify(
    path: &Path,
    options: &Options,
    checked: &Checked,
    journal: &Journal,
    testimony: Option<(u64, Mark)>,
) -> Result<(), OpenError> {
    let file = path.join(WITNESS);
    let Some((_, mark)) = testimony else {
        if !options.witnessed {
            return Ok(());
        }
        let why = "it is missing, and with it the proof of how far the journal went";
        return Err(witness::refused(&file, why));
    };
    if mark.commit > checked.last_commit {
        let why = format!(
            "it says that commit {} was written, but the journal ends with commit {}: {} commits \
             are missing at its end (the newest segments or records were taken away, or an older \
             journal was put in place)",
            mark.commit,
            checked.last_commit,
            mark.commit - checked.last_commit
        );
        return Err(witness::refused(&file, &why));
    }
    if bears_out(checked, journal, &mark)? {
        return Ok(());
    }
    let why = format!(
        "it says that commit {} was written, and the journal, which ends with commit {}, holds \
         another commit of that number: one of the two was replaced",
        mark.commit, checked.last_commit
    );
    Err(witness::refused(&file, &why))
}

/// Whether the journal holds the record that a mark names.
fn bears_out(checked: &Checked, journal: &Journal, mark: &Mark) -> Result<bool, OpenError> {
    if mark.commit == checked.last_commit {
        return Ok(mark.chain == checked.chain);
    }
    let follows = journal.follows(mark.end, mark.commit, &mark.chain);
    follows.map_err(|e| OpenError::Io {
        what: "checking the journal".to_owned(),
        source: Arc::new(std::io::Error::other(e.to_string())),
    })
}

/// The index, or what to make a new one of.
fn open_index<'a>(
    folder: &Arc<Folder>,
    files: &'a Files,
    id: StoreId,
    options: &Options,
    projection: u32,
    health: &Arc<Health>,
) -> Result<Result<SortedRows, Wanted<'a>>, OpenError> {
    let start = position(1, SEGMENT_HEADER);
    let wanted = Wanted {
        store: Arc::clone(folder),
        files,
        cache: options.index_cache_bytes,
        id,
        projection,
        tuning: Tuning {
            table_bytes: options.table_bytes,
            frozen_max: options.frozen_max.max(1),
            fan_in: options.merge_fan_in.max(2),
            block_cache: options.block_cache_bytes,
        },
        health: Arc::clone(health),
        nothing: Mark {
            commit: 0,
            chain: genesis(&id),
            end: start,
        },
    };
    let exists = |name: &str| {
        let found = folder.id(name);
        found.map_err(|e| OpenError::io("looking into", folder.path(), e))
    };
    let marked = exists(MARKER)?.is_some();
    let opened = if marked {
        Err(Trouble::from("it was found damaged before"))
    } else {
        let mut opened = try_index(&wanted, false);
        let full = matches!(&opened, Err(why) if why.no_room());
        if full && space::give_up(folder).unwrap_or(false) {
            tracing::warn!("the disk is full: the room that was kept back is given up");
            opened = try_index(&wanted, false);
        }
        opened
    };
    // a system that cannot read says nothing of what is there
    let opened = opened.map_err(|why| match why {
        Trouble::Damaged(_) if exists(INDEX).is_ok_and(|i| i.is_some()) => probe(folder)
            .err()
            .filter(|e| !matches!(e, Trouble::Damaged(_)))
            .unwrap_or(why),
        why => why,
    });
    match opened {
        Ok(index) => Ok(Ok(index)),
        Err(Trouble::Read(why) | Trouble::Write(why)) => Err(OpenError::Io {
            what: format!("opening the index in {}", folder.path().display()),
            source: Arc::new(std::io::Error::other(format!(
                "{why}. The index was kept as it is; nothing is rebuilt for an error that may pass"
            ))),
        }),
        Err(Trouble::Damaged(why)) => {
            if marked || exists(INDEX)?.is_some() {
                tracing::warn!(
                    why,
                    "the index cannot be used and is rebuilt from the journal"
                );
            }
            Ok(Err(wanted))
        }
    }
}

fn try_index(wanted: &Wanted<'_>, fresh: bool) -> Result<SortedRows, Trouble> {
    let open = AssertUnwindSafe(|| SortedRows::open(wanted, fresh));
    catch_unwind(open).unwrap_or_else(|panic| Err(Trouble::panicked(panic.as_ref())))
}

/// Refuses a journal that lacks what the index proves to have been there.
fn agree(dir: &Path, checked: &Checked, journal: &Journal, mark: Mark) -> Result<(), OpenError> {
    let place = segment_path(dir, checked.segment);
    let refuse = |why: &str| Err(OpenError::damaged(&place, u64::from(checked.offset), why));
    if mark.commit > checked.last_commit {
        let why = format!(
            "the journal ends with commit {} here, but the index proves that commit {} was \
             written",
            checked.last_commit, mark.commit
        );
        return refuse(&why);
    }
    if bears_out(checked, journal, &mark)? {
        Ok(())
    } else {
        refuse("the index was made from another journal: one of the two was replaced")
    }
}

/// Moves the index aside, if there is one, or removes it where there is little room, and begins an
/// empty one.
fn anew(
    path: &Path,
    wanted: &Wanted<'_>,
    checked: &Checked,
    crowded: bool,
) -> Result<SortedRows, OpenError> {
    let store = &wanted.store;
    let fail = |e| OpenError::io("moving aside the index in", path, e);
    if store.has_folder(INDEX).map_err(fail)? {
        drop_old(store).map_err(fail)?;
        let moved = wanted.files.rename(store, INDEX, &format!("{ASIDE}1"));
        moved.map_err(fail)?;
        if crowded {
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
