//! Checks that the folder is still the one that was opened, and that no other process has it open.
//!
//! **Shape.** Locks on the folder itself, on `LOCK` and on `IDENTITY`: removing one of the names leaves the other locks
//! in place. Beside them, the inode that each name led to when the store was opened.
//!
//! **Order.** The active segment is looked up under its full name after each flush and before the commits in it are
//! acknowledged. So at that moment they were in the folder that the name leads to: no acknowledged commit is lost
//! because the folder had already been moved, replaced or deleted. The watch checks all other names four times a
//! second.
//!
//! **Failure.** A missing or replaced file poisons the store. A name that cannot be looked up for
//! another reason (permissions, a failing network) proves nothing and is only logged.

use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::io::Errno;

use crate::context::StoreContext;
use crate::durable::witness::WITNESS;
use crate::error::OpenError;
use crate::files::Files;
use crate::folder::{Folder, Id};
use crate::journal::check::segment_numbers;
use crate::journal::format::segment_name;
use crate::sync::lock;

/// The file that exists only to be locked.
pub(crate) const LOCK: &str = "LOCK";
/// The file that names the store in the folder.
pub(crate) const IDENTITY: &str = "IDENTITY";
/// The name of `IDENTITY` while a restore writes the journal.
pub(crate) const RESTORE: &str = "RESTORE";
/// The folder of segments.
pub(crate) const JOURNAL: &str = "journal";

/// How long to wait for a lock: a process that was killed, or a child that is just being started by the process that
/// closed the store, holds it for a moment longer.
const LOCK_WAIT: Duration = Duration::from_secs(1);

/// Locks that are released when they are dropped.
#[derive(Debug, Default)]
pub(crate) struct Locks {
    files: Vec<(&'static str, File)>,
}

impl Locks {
    /// Locks the folder and its `LOCK`, which is created if missing.
    ///
    /// # Errors
    /// `Busy` when another process keeps one of them locked for a second, `Io` when the system cannot open or lock it.
    pub(crate) fn take(folder: &Folder, files: &Files) -> Result<Self, OpenError> {
        let fail = |e| OpenError::io("locking", folder.path(), e);
        let itself = folder.file().try_clone().map_err(fail)?;
        exclusive(&itself, folder.path())?;
        let file = match folder.id(LOCK).map_err(fail)? {
            Some(_) => files.open(folder, LOCK),
            None => files.create(folder, LOCK),
        };
        let file = file.map_err(fail)?;
        exclusive(&file, folder.path())?;
        Ok(Self {
            files: vec![(LOCK, file)],
        })
    }

    /// Also locks the identity, once there is one.
    ///
    /// # Errors
    /// `Busy` when another process keeps it locked for a second, `Io` when it is missing or cannot be opened or locked.
    pub(crate) fn take_identity(
        &mut self,
        folder: &Folder,
        files: &Files,
    ) -> Result<(), OpenError> {
        let fail = |e| OpenError::io("locking", folder.path(), e);
        let file = files.open(folder, IDENTITY).map_err(fail)?;
        exclusive(&file, folder.path())?;
        self.files.push((IDENTITY, file));
        Ok(())
    }
}

/// Locks an open file or folder for this process alone; error messages name `dir`.
///
/// # Errors
/// `Busy` when another process keeps it locked for a second. A file system that cannot lock a
/// folder (NFS) is no error: the files in it are locked, too.
pub fn exclusive(file: &File, dir: &Path) -> Result<(), OpenError> {
    let start = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) if start.elapsed() < LOCK_WAIT => {
                std::thread::sleep(Duration::from_millis(10));
            }
            Err(TryLockError::WouldBlock) => return Err(OpenError::Busy(dir.to_path_buf())),
            Err(TryLockError::Error(e)) if cannot_lock(&e) && is_folder(file) => return Ok(()),
            Err(TryLockError::Error(e)) => return Err(OpenError::io("locking", dir, e)),
        }
    }
}

fn cannot_lock(e: &io::Error) -> bool {
    let cannot = [Errno::BADF, Errno::NOLCK, Errno::OPNOTSUPP, Errno::INVAL];
    cannot
        .iter()
        .any(|c| e.raw_os_error() == Some(c.raw_os_error()))
}

fn is_folder(file: &File) -> bool {
    file.metadata().is_ok_and(|m| m.is_dir())
}

/// The files and folders that must stay where they are.
#[derive(Debug)]
pub(crate) struct HeldFolder {
    context: Arc<StoreContext>,
    /// The full path of the folder of segments.
    journal: PathBuf,
    /// Full names, and the file that each led to.
    names: Vec<(PathBuf, Id)>,
    /// The active segment, once there is one.
    active: Mutex<Option<(PathBuf, Id)>>,
    /// When the names of segments were last found complete.
    seen: Mutex<Option<(i64, u64)>>,
    warned: AtomicBool,
    _locks: Locks,
}

impl HeldFolder {
    /// Watches an open store; all names are kept as full paths.
    ///
    /// # Errors
    /// The system's error when it cannot tell what a name leads to.
    pub(crate) fn new(context: &Arc<StoreContext>, locks: Locks) -> io::Result<Self> {
        let path = std::path::absolute(&context.path)?;
        let journal = path.join(JOURNAL);
        let mut names = vec![
            (path.clone(), Id::of(context.folder.file())?),
            (journal.clone(), Id::of(context.journal.file())?),
        ];
        for (name, file) in &locks.files {
            names.push((path.join(name), Id::of(file)?));
        }
        if let Some(id) = context.folder.id(WITNESS)? {
            names.push((path.join(WITNESS), id));
        }
        Ok(Self {
            context: Arc::clone(context),
            journal,
            names,
            active: Mutex::new(None),
            seen: Mutex::new(None),
            warned: AtomicBool::new(false),
            _locks: locks,
        })
    }

    /// Makes the segment of this number the active one; `file` is the open file of that name.
    ///
    /// # Errors
    /// The system's error when it cannot identify the file. The previous segment then stays the one that is looked up.
    pub(crate) fn set_active(&self, number: u32, file: &File) -> io::Result<()> {
        let path = self.journal.join(segment_name(number));
        *lock(&self.active) = Some((path, Id::of(file)?));
        Ok(())
    }

    /// Looks up the active segment under its full name; succeeds when none was set yet.
    ///
    /// # Errors
    /// A sentence for operators when the name leads nowhere or to another file.
    pub(crate) fn check_active(&self) -> Result<(), String> {
        let active = lock(&self.active);
        match &*active {
            Some((path, id)) => self.check_name(path, id),
            None => Ok(()),
        }
    }

    /// Checks that everything is where it was; `segments` is the number of segments with records, which are numbered
    /// from 1.
    ///
    /// # Errors
    /// A sentence for operators with the first name that leads nowhere or to something else.
    pub(crate) fn check(&self, segments: u32) -> Result<(), String> {
        for (path, id) in &self.names {
            self.check_name(path, id)?;
        }
        self.check_active()?;
        let journal = &self.context.journal;
        let (Ok(changed), mut seen) = (journal.changed(), lock(&self.seen)) else {
            return Ok(());
        };
        if *seen == Some(changed) {
            return Ok(());
        }
        let Ok(numbers) = segment_numbers(journal) else {
            return Ok(());
        };
        // a directory listing is not atomic: a segment that was just made may be missing from it
        let there = |n: u32| {
            let named = || !matches!(journal.id(&segment_name(n)), Ok(None));
            numbers.binary_search(&n).is_ok() || named()
        };
        if let Some(gone) = (1..=segments).find(|n| !there(*n)) {
            let path = self.journal.join(segment_name(gone));
            return Err(gone_from(&path, "removed"));
        }
        *seen = Some(changed);
        Ok(())
    }

    fn check_name(&self, path: &Path, id: &Id) -> Result<(), String> {
        match Id::at(path) {
            Ok(Some(found)) if found == *id => Ok(()),
            Ok(Some(_)) => Err(gone_from(path, "replaced")),
            Ok(None) => Err(gone_from(path, "removed or moved away")),
            Err(e) => {
                if !self.warned.swap(true, Ordering::Relaxed) {
                    tracing::warn!(error = %e, path = %path.display(), "cannot look for the store's own files");
                }
                Ok(())
            }
        }
    }
}

fn gone_from(path: &Path, what: &str) -> String {
    format!(
        "{} was {what} while the store was in use; what was acknowledged is in the folder that was \
         opened, as far as its files are left: keep that folder, and do not start on another one \
         before you know which has the newest commit",
        path.display()
    )
}
