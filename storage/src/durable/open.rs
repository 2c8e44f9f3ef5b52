//! Opens a store: lock, identity, journal, index, and the tail that the index lacks.
//!
//! **Order.** Nothing is changed before the journal has been checked as a whole and agrees with
//! what the index proves. Then the torn tail is cut, the index is rebuilt if in doubt, and the
//! rest of the journal is put into it.
//!
//! **Failure.** A journal that is damaged, or shorter than the index proves, is refused.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::JoinHandle;

use crate::api::{Position, Projection, StoreError};
use crate::codec::all_zero;
use crate::durable::committer::Committer;
use crate::durable::options::{Options, Progress};
use crate::durable::project::Overlay;
use crate::durable::queue::Queue;
use crate::durable::watch::{self, Watch};
use crate::durable::{Counters, DurableStore, Shared, identity};
use crate::error::OpenError;
use crate::files::Files;
use crate::health::Health;
use crate::index::manifest::Mark;
use crate::index::open::Wanted;
use crate::index::{Index, Tuning};
use crate::journal::check::{Checked, check, segment_path};
use crate::journal::format::{SEGMENT_HEADER, StoreId, genesis};
use crate::journal::writer::Writer;
use crate::journal::{Journal, position};

const SEGMENT_MIN: u32 = 64 << 10;

/// Opens or creates the store in `path`.
pub(super) fn open(
    path: PathBuf,
    options: Options,
    projection: Arc<dyn Projection>,
) -> Result<Arc<DurableStore>, OpenError> {
    let files = Files::with(options.faults.clone());
    let segment = options.segment_bytes.max(SEGMENT_MIN);
    files
        .create_dir(&path)
        .map_err(|e| OpenError::io("creating", &path, e))?;
    if identity::read(&path)?.is_none() {
        identity::check_empty(&path)?;
    }
    let lock = identity::take_lock(&path, &files)?;
    let id = match identity::read(&path)? {
        Some(id) => id,
        None => identity::create(&path, &files, segment)?,
    };
    let journal_dir = path.join("journal");
    if !journal_dir.is_dir() {
        return Err(OpenError::damaged(&journal_dir, 0, "the folder is missing"));
    }
    let checked = check(&journal_dir, &id, &|p| options.report(p))?;
    let journal = Arc::new(Journal::new(&journal_dir, &checked));
    let health = Arc::new(Health::new(
        path.join("INDEX-DAMAGED"),
        options.abort_on_poison,
    ));
    let index = open_index(&path, &files, id, &options, projection.version(), &health)?;
    if let Ok(index) = &index {
        agree(&journal_dir, &checked, &journal, index.mark())?;
    }
    let writer = Writer::open(
        &files,
        &journal_dir,
        &id,
        &checked,
        segment,
        Arc::clone(&journal),
    );
    let writer = writer.map_err(|e| OpenError::io("opening", &journal_dir, e))?;
    let index = match index {
        Ok(index) => index,
        Err(wanted) => anew(&path, &wanted, &checked)?,
    };
    let shared = Arc::new(Shared {
        queue: Queue::new(options.queue_commits, options.queue_bytes),
        journal,
        index: Arc::new(index),
        projection,
        health,
        counters: Counters::default(),
        watch: Watch::new(),
        _lock: lock,
        options,
    });
    watch::look_at_space(&shared, &path);
    start(path, shared, writer, &checked)
}

/// The index, or what to make a new one of.
fn open_index<'a>(
    path: &Path,
    files: &'a Files,
    id: StoreId,
    options: &Options,
    projection: u32,
    health: &Arc<Health>,
) -> Result<Result<Index, Wanted<'a>>, OpenError> {
    let start = position(1, SEGMENT_HEADER);
    let wanted = Wanted {
        dir: path.join("index"),
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
    let marked = health.marker.is_file();
    let opened = if marked {
        Err("it was found damaged before".to_owned())
    } else {
        let open = AssertUnwindSafe(|| Index::open(&wanted, false));
        catch_unwind(open).unwrap_or_else(|_| Err("sled panicked".to_owned()))
    };
    match opened {
        Ok(index) => Ok(Ok(index)),
        Err(why) => {
            if wanted.dir.exists() || marked {
                tracing::warn!(
                    why,
                    "the index cannot be used and is rebuilt from the journal"
                );
            }
            Ok(Err(wanted))
        }
    }
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
    let agrees = if mark.commit == checked.last_commit {
        mark.chain == checked.chain
    } else {
        journal.follows(mark.end, mark.commit, &mark.chain)
    };
    if agrees {
        Ok(())
    } else {
        refuse("the index was made from another journal: one of the two was replaced")
    }
}

/// Moves the index aside, if there is one, and begins an empty one.
fn anew(path: &Path, wanted: &Wanted<'_>, checked: &Checked) -> Result<Index, OpenError> {
    let fail = |e| OpenError::io("moving aside", &wanted.dir, e);
    if wanted.dir.exists() {
        let mut number = 0u64;
        for item in fs::read_dir(path).map_err(fail)? {
            let item = item.map_err(fail)?;
            let name = item.file_name();
            let old = name.to_str().and_then(|n| n.strip_prefix("index.damaged-"));
            if let Some(old) = old {
                number = number.max(old.parse().unwrap_or(0));
                fs::remove_dir_all(item.path()).map_err(fail)?;
            }
        }
        let aside = path.join(format!("index.damaged-{}", number + 1));
        wanted.files.rename(&wanted.dir, &aside).map_err(fail)?;
    } else if checked.last_commit > 0 {
        tracing::warn!("the index is missing and is rebuilt from the journal");
    }
    let opened = catch_unwind(AssertUnwindSafe(|| Index::open(wanted, true)));
    let index = opened
        .unwrap_or_else(|_| Err("sled panicked".to_owned()))
        .map_err(|why| OpenError::io("creating", &wanted.dir, std::io::Error::other(why)))?;
    if wanted.health.marker.is_file() {
        fs::remove_file(&wanted.health.marker).map_err(fail)?;
    }
    Ok(index)
}

/// Starts the threads and brings the index up to the journal.
fn start(
    path: PathBuf,
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
    let (watched, dir) = (Arc::clone(&shared), path.clone());
    spawn(
        "caudal-storage-watch",
        Box::new(move || watch::run(&watched, &dir)),
    )?;
    let ids = threads
        .iter()
        .map(|t: &JoinHandle<()>| t.thread().id())
        .collect();
    let closed = std::sync::atomic::AtomicBool::new(false);
    Ok(Arc::new(DurableStore {
        shared,
        path,
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
