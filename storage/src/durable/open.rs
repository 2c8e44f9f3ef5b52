//! Opens a store: locks, identity, journal, witness, index, and the tail that the index lacks.
//!
//! **Order.** Nothing is changed before the journal has been checked as a whole and agrees with
//! its witness and with what the index proves. Then the torn tail is cut, the index is rebuilt if in doubt, and the
//! rest of the journal is put into it.
//!
//! **Failure.** A journal that is damaged, or shorter than witness or index prove, is refused.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::JoinHandle;

use crate::api::{Position, Projection, StoreError};
use crate::codec::all_zero;
use crate::durable::committer::Committer;
use crate::durable::held::{Held, JOURNAL, Locks};
use crate::durable::options::{Options, Progress};
use crate::durable::project::Overlay;
use crate::durable::queue::Queue;
use crate::durable::watch::{self, Watch};
use crate::durable::witness::{self, WITNESS, Witness};
use crate::durable::{Counters, DurableStore, Shared, identity, room};
use crate::error::OpenError;
use crate::files::Files;
use crate::folder::Folder;
use crate::health::{Health, MARKER};
use crate::index::blocks::{INDEX, probe};
use crate::index::manifest::Mark;
use crate::index::open::Wanted;
use crate::index::trouble::Trouble;
use crate::index::{Index, Tuning};
use crate::journal::check::{Checked, check, segment_path};
use crate::journal::format::{SEGMENT_HEADER, StoreId, genesis};
use crate::journal::writer::{Place, Writer};
use crate::journal::{Journal, position};

const SEGMENT_MIN: u32 = 64 << 10;
/// What the name of an index that was moved aside begins with.
const ASIDE: &str = "index.damaged-";

/// Opens or creates the store in `path`.
pub(super) fn open(
    path: PathBuf,
    options: Options,
    projection: Arc<dyn Projection>,
) -> Result<Arc<DurableStore>, OpenError> {
    let files = Files::with(options.faults.clone());
    let (folder, locks, id) = enter(&path, &files, &options)?;
    let journal_dir = path.join(JOURNAL);
    if !folder
        .has_folder(JOURNAL)
        .map_err(|e| OpenError::io("opening", &journal_dir, e))?
    {
        return Err(OpenError::damaged(&journal_dir, 0, "the folder is missing"));
    }
    let journal_folder = folder
        .folder(JOURNAL)
        .map_err(|e| OpenError::io("opening", &journal_dir, e))?;
    let journal_folder = Arc::new(journal_folder);
    let checked = check(&journal_folder, &id, &|p| options.report(p))?;
    let health = Arc::new(Health::new(Arc::clone(&folder), options.abort_on_poison));
    let (of_journal, told) = (Arc::clone(&journal_folder), Arc::clone(&health));
    let journal = Arc::new(Journal::new(&files, of_journal, told, &checked));
    let testimony = witness::read(&folder, &id)?;
    testify(&path, &options, &checked, &journal, testimony)?;
    let index = open_index(&folder, &files, id, &options, projection.version(), &health)?;
    if let Ok(index) = &index {
        agree(&journal_dir, &checked, &journal, index.mark())?;
    }
    // known before anything is changed
    let crowded = index.is_err() && room::for_rebuild(&folder, &checked, &options)?;
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
    room::keep(&folder, &files, &options);
    let shared = Arc::new(Shared {
        queue: Queue::new(options.queue_commits, options.queue_bytes),
        journal,
        index: Arc::new(index),
        projection,
        health,
        counters: Counters::default(),
        watch: Watch::new(),
        witness,
        held,
        files,
        index_rebuilt,
        options,
    });
    watch::look_at_space(&shared);
    start(path, id, shared, writer, &checked)
}

/// Opens and locks the folder; gives the identity of its store, which is made where there is none.
fn enter(
    path: &Path,
    files: &Files,
    options: &Options,
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
            identity::create(&folder, files, segment)?
        }
    };
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
) -> Result<Result<Index, Wanted<'a>>, OpenError> {
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
        if full && room::give_up(folder).unwrap_or(false) {
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

fn try_index(wanted: &Wanted<'_>, fresh: bool) -> Result<Index, Trouble> {
    let open = AssertUnwindSafe(|| Index::open(wanted, fresh));
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
) -> Result<Index, OpenError> {
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

/// Removes indexes that were moved aside.
fn drop_old(store: &Folder) -> std::io::Result<()> {
    for name in store.names()? {
        if name.to_str().is_some_and(|n| n.starts_with(ASIDE)) {
            std::fs::remove_dir_all(store.steady_path().join(name))?;
        }
    }
    Ok(())
}

/// Starts the threads and brings the index up to the journal.
fn start(
    path: PathBuf,
    id: StoreId,
    shared: Arc<Shared>,
    writer: Writer,
    checked: &Checked,
) -> Result<Arc<DurableStore>, OpenError> {
    let mut threads = Vec::new();
    let mut spawn = |name: &str, work: Box<dyn FnOnce() + Send>| -> Result<(), OpenError> {
        let health = Arc::clone(&shared.health);
        let what = format!("the thread {name} panicked");
        let guarded = move || {
            if catch_unwind(AssertUnwindSafe(work)).is_err() {
                health.poison(&what);
            }
        };
        let thread = std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(guarded);
        threads.push(thread.map_err(|e| OpenError::io("starting the threads of", &path, e))?);
        Ok(())
    };
    let index = Arc::clone(&shared.index);
    spawn("caudal-storage-flush", Box::new(move || index.flush_loop()))?;
    let index = Arc::clone(&shared.index);
    spawn("caudal-storage-merge", Box::new(move || index.merge_loop()))?;
    let mut overlay = Overlay::new(shared.options.heads_max);
    let caught_up = catch_up(&shared, &mut overlay, checked).map_err(OpenError::Rebuild);
    let mark = match caught_up {
        Ok(mark) => mark,
        Err(e) => {
            shared.index.stop();
            join(threads);
            return Err(e);
        }
    };
    // what was moved aside is of no use once the journal is in a new index
    if let Err(e) = drop_old(shared.held.folder()) {
        tracing::warn!(error = %e, "the index that was replaced could not be removed");
    }
    shared
        .counters
        .last_commit
        .store(checked.last_commit, Ordering::Release);
    let committer = Committer::new(Arc::clone(&shared), writer, overlay, mark);
    let failing = Arc::clone(&shared);
    let run = move || {
        if catch_unwind(AssertUnwindSafe(|| committer.run())).is_err() {
            failing.health.poison("the committer panicked");
        }
        if let Some(e) = failing.health.poisoned() {
            failing.fail_waiting(&e);
        }
    };
    spawn("caudal-storage-commit", Box::new(run))?;
    let watched = Arc::clone(&shared);
    spawn(
        "caudal-storage-watch",
        Box::new(move || watch::run(&watched)),
    )?;
    let seen = Arc::clone(&shared);
    let work = move || seen.witness.run(&seen.health);
    spawn("caudal-storage-witness", Box::new(work))?;
    shared.witness.tell("the store is open");
    let ids = threads
        .iter()
        .map(|t: &JoinHandle<()>| t.thread().id())
        .collect();
    let closed = std::sync::atomic::AtomicBool::new(false);
    Ok(Arc::new(DurableStore {
        shared,
        path,
        id,
        closed,
        threads: Mutex::new(threads),
        ids,
    }))
}

fn join(threads: Vec<JoinHandle<()>>) {
    for thread in threads {
        if thread.join().is_err() {
            tracing::error!("a thread of the store panicked");
        }
    }
}

/// Puts into the index what the journal has beyond it.
fn catch_up(shared: &Shared, overlay: &mut Overlay, checked: &Checked) -> Result<Mark, StoreError> {
    let mut mark = shared.index.mark();
    let behind = checked.last_commit - mark.commit;
    if behind > 0 {
        tracing::info!(
            from = mark.commit,
            to = checked.last_commit,
            "indexing the journal"
        );
    }
    let mut entry = crate::rows::no_entry();
    let failed = OnceLock::new();
    let mut told = std::time::Instant::now();
    shared.journal.records(mark.end, &mut |at, record| {
        let (segment, offset) = crate::journal::split(at);
        record.visit(&mut |_, place, found| {
            found.copy_to(&mut entry);
            let position: Position = position(segment, offset + place);
            let done = overlay.entry(&shared.index, shared.projection.as_ref(), &entry, position);
            done.or_else(|e| failed.set(e)).is_ok() && failed.get().is_none()
        });
        if let Some(e) = failed.get() {
            return Err(e.clone());
        }
        let length = crate::num::u32_of(record.bytes.len());
        let end = crate::journal::position(segment, offset + length);
        mark = Mark {
            commit: record.header.last_commit(),
            chain: record.hash(),
            end,
        };
        overlay.publish(&shared.index);
        shared.index.freeze_if_full(mark)?;
        if told.elapsed().as_secs() >= 1 {
            told = std::time::Instant::now();
            shared.options.report(Progress::Indexing {
                commit: mark.commit,
                of: checked.last_commit,
            });
            tracing::info!(commit = mark.commit, of = checked.last_commit, "indexing");
        }
        Ok(true)
    })?;
    debug_assert!(!all_zero(&mark.chain));
    Ok(mark)
}
