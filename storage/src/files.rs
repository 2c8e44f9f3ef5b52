//! Every change to the files of journal and identity goes through this module, so that a test can make the n-th one
//! fail; reads of the index also ask here whether a test wants them to fail.
//!
//! **Bounds.** Files are created 0600 and folders 0700.
//!
//! **Failure.** Every function passes on the system's error unchanged, or one that a test has injected. Nothing is
//! retried, except opening a file with a reserved descriptor. A store that gets an error from a write or a sync stops.

use std::fs::{DirBuilder, File, read_dir};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt};
use std::path::Path;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use rustix::io::Errno;

use crate::folder::Folder;
use crate::num::{u64_of, usize_of};
use crate::sync::lock;

/// Makes the n-th change to files fail, for tests of the fail-stop rule.
#[derive(Debug, Default)]
pub struct Faults {
    seen: AtomicU64,
    fail_at: AtomicU64,
    fail_for: AtomicU64,
    /// The error number that creating a file returns; 0 for none.
    creation: AtomicI32,
    /// How many more reads of the index succeed; `None` means all.
    reads: Mutex<Option<u64>>,
}

impl Faults {
    /// Fails changes number `first` (from 1) to `first + count - 1`, counted over the whole store.
    pub fn at(first: u64, count: u64) -> Arc<Self> {
        Arc::new(Self {
            fail_at: AtomicU64::new(first),
            fail_for: AtomicU64::new(count),
            ..Self::default()
        })
    }

    /// Makes creating a file fail from now on with this error number (24 is EMFILE, 28 is ENOSPC); 0 lets it succeed
    /// again.
    pub fn refuse_creation(&self, code: i32) {
        self.creation.store(code, Ordering::SeqCst);
    }

    /// Makes reads of the index fail after `behind` more of them, as on a broken disk; `None` lets all succeed again.
    pub fn refuse_reads(&self, behind: Option<u64>) {
        *lock(&self.reads) = behind;
    }

    fn read(&self) -> io::Result<()> {
        let mut reads = lock(&self.reads);
        let Some(left) = reads.as_mut() else {
            return Ok(());
        };
        *left = left.checked_sub(1).ok_or(Errno::IO)?;
        Ok(())
    }

    /// How many changes have been attempted.
    pub fn seen(&self) -> u64 {
        self.seen.load(Ordering::SeqCst)
    }

    fn hit(&self) -> io::Result<()> {
        let n = self.seen.fetch_add(1, Ordering::SeqCst) + 1;
        let first = self.fail_at.load(Ordering::SeqCst);
        if n >= first && n - first < self.fail_for.load(Ordering::SeqCst) {
            return Err(io::Error::other(format!("injected failure of change {n}")));
        }
        Ok(())
    }
}

/// Reserved descriptors for the journal: they are released one by one when the process has no others left, so that a
/// flood of connections does not end the store.
#[derive(Debug, Default)]
struct Spares(Mutex<Vec<File>>);

/// The most zeros that are written at once, in bytes.
const ZEROS: usize = 1 << 20;
/// How many descriptors are reserved.
const SPARES: usize = 8;

impl Spares {
    fn refill(&self) {
        let mut kept = lock(&self.0);
        while kept.len() < SPARES
            && let Ok(file) = File::open("/dev/null")
        {
            kept.push(file);
        }
    }

    fn give_up_one(&self) -> bool {
        lock(&self.0).pop().is_some()
    }
}

fn no_descriptor(e: &io::Error) -> bool {
    matches!(Errno::from_io_error(e), Some(Errno::MFILE | Errno::NFILE))
}

/// Creates a folder, mode 0700, and its missing parents; each of their names is durable afterwards. An existing folder
/// stays as it is; the name of an empty one is made durable, since it may be left of an attempt that failed before that.
///
/// # Errors
/// The system's error; folders that were created before it stay.
pub fn make_folder(path: &Path) -> io::Result<()> {
    Files::default().make_folder(path)
}

/// Access to files, with reserved descriptors and injected faults.
#[derive(Clone, Debug, Default)]
pub(crate) struct Files {
    faults: Option<Arc<Faults>>,
    spares: Arc<Spares>,
}

/// Why a folder above cannot be synced if this process has not made anything in it.
const NOT_OURS: [io::ErrorKind; 4] = [
    io::ErrorKind::PermissionDenied,
    io::ErrorKind::InvalidInput,
    io::ErrorKind::ReadOnlyFilesystem,
    io::ErrorKind::Unsupported,
];

impl Files {
    /// Files whose n-th change may fail.
    pub(crate) fn with(faults: Option<Arc<Faults>>) -> Self {
        let files = Self {
            faults,
            spares: Arc::default(),
        };
        files.keep_descriptors();
        files
    }

    /// Reopens the reserved descriptors that were released.
    pub(crate) fn keep_descriptors(&self) {
        self.spares.refill();
    }

    /// Opens a file, using a reserved descriptor when there is no other; returns the final result of `open`.
    pub(crate) fn with_spares(&self, open: impl Fn() -> io::Result<File>) -> io::Result<File> {
        loop {
            match open() {
                Err(e) if no_descriptor(&e) && self.spares.give_up_one() => {}
                opened => return opened,
            }
        }
    }

    /// Counts one change; fails if a test has asked for that.
    pub(crate) fn tick(&self) -> io::Result<()> {
        self.faults.as_ref().map_or(Ok(()), |f| f.hit())
    }

    /// Counts one read of the index; fails if a test has asked for that.
    pub(crate) fn look(&self) -> io::Result<()> {
        self.faults.as_ref().map_or(Ok(()), |f| f.read())
    }

    /// Creates an empty file, mode 0600; `EEXIST` when there is one of that name.
    pub(crate) fn create(&self, folder: &Folder, name: &str) -> io::Result<File> {
        self.may_create()?;
        self.with_spares(|| folder.create(name))
    }

    /// As [`Self::create`], but leaves the reserved descriptors to the journal.
    pub(crate) fn create_unreserved(&self, folder: &Folder, name: &str) -> io::Result<File> {
        self.may_create()?;
        folder.create(name)
    }

    fn may_create(&self) -> io::Result<()> {
        self.tick()?;
        let refused = self.faults.as_ref();
        match refused.map_or(0, |f| f.creation.load(Ordering::SeqCst)) {
            0 => Ok(()),
            code => Err(io::Error::from_raw_os_error(code)),
        }
    }

    /// Opens an existing file for reading and writing; `NotFound` when there is none.
    pub(crate) fn open(&self, folder: &Folder, name: &str) -> io::Result<File> {
        self.with_spares(|| folder.write(name))
    }

    /// Opens an existing file for reading; `NotFound` when there is none.
    pub(crate) fn read(&self, folder: &Folder, name: &str) -> io::Result<File> {
        self.with_spares(|| folder.read(name))
    }

    /// Opens a folder inside; creates it, mode 0700, if it is missing and syncs the new name.
    pub(crate) fn folder(&self, folder: &Folder, name: &str) -> io::Result<Folder> {
        if !folder.has_folder(name)? {
            self.tick()?;
            folder.make_folder(name)?;
            self.sync_folder(folder)?;
        }
        folder.folder(name)
    }

    /// Opens the folder under a path; creates it like [`make_folder`] if it is missing.
    pub(crate) fn open_folder(&self, path: &Path) -> io::Result<Folder> {
        self.make_folder(path)?;
        Folder::open(path)
    }

    fn make_folder(&self, path: &Path) -> io::Result<()> {
        let above = path.parent().filter(|above| !above.as_os_str().is_empty());
        let above = above.unwrap_or(Path::new("."));
        if path.is_dir() {
            let empty = read_dir(path).is_ok_and(|mut names| names.next().is_none());
            return match empty.then(|| self.sync_above(above)) {
                // nobody makes a folder where he may not look, or in a file system that is never written
                Some(Err(e)) if NOT_OURS.contains(&e.kind()) => Ok(()),
                Some(synced) => synced,
                None => Ok(()),
            };
        }
        self.make_folder(above)?;
        self.tick()?;
        match DirBuilder::new().mode(0o700).create(path) {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => {}
            made => made?,
        }
        self.sync_above(above)
    }

    fn sync_above(&self, above: &Path) -> io::Result<()> {
        self.tick()?;
        File::open(above)?.sync_all()
    }

    /// Writes all of `bytes` at `offset`, counted from the beginning of the file. A failure may leave any part of them
    /// written; an injected one leaves half.
    pub(crate) fn write_at(&self, file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
        if let Err(e) = self.tick() {
            let half = bytes.get(..bytes.len() / 2).unwrap_or_default();
            file.write_all_at(half, offset)?;
            return Err(e);
        }
        file.write_all_at(bytes, offset)
    }

    /// Writes zeros from one offset up to another, piece by piece.
    pub(crate) fn write_zeros(&self, file: &File, from: u64, to: u64) -> io::Result<()> {
        let zeros = vec![0; ZEROS];
        let mut at = from;
        while at < to {
            let n = usize_of(to - at).min(ZEROS);
            self.write_at(file, zeros.get(..n).unwrap_or_default(), at)?;
            at += u64_of(n);
        }
        Ok(())
    }

    /// Makes the file's data durable (fdatasync).
    pub(crate) fn sync_data(&self, file: &File) -> io::Result<()> {
        self.tick()?;
        file.sync_data()
    }

    /// Makes the file's data and metadata durable (fsync).
    pub(crate) fn sync_all(&self, file: &File) -> io::Result<()> {
        self.tick()?;
        file.sync_all()
    }

    /// Makes the names in a folder durable.
    pub(crate) fn sync_folder(&self, folder: &Folder) -> io::Result<()> {
        self.tick()?;
        folder.sync()
    }

    /// Removes a name and makes that durable; a missing name is no error.
    pub(crate) fn remove(&self, folder: &Folder, name: &str) -> io::Result<()> {
        self.tick()?;
        folder.remove(name)?;
        self.sync_folder(folder)
    }

    /// Renames inside a folder to a free name (`EEXIST` otherwise), and makes the new name durable.
    pub(crate) fn rename(&self, folder: &Folder, from: &str, to: &str) -> io::Result<()> {
        self.tick()?;
        folder.rename(from, to)?;
        self.sync_folder(folder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_folder_that_is_made_is_synced_above_and_one_with_something_in_it_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("something"), b"").unwrap();
        for (depth, path) in [(1, "a"), (3, "b/c/d"), (1, "b/c/e"), (0, "b/c")] {
            let path = dir.path().join(path);
            let faults = Arc::new(Faults::default());
            let files = Files::with(Some(Arc::clone(&faults)));
            files.open_folder(&path).unwrap();
            // each folder is created, and the one above it synced
            assert_eq!(faults.seen(), 2 * depth, "{}", path.display());
            // a failed attempt leaves nothing that has to be cleared away; if it has made the folder, the next one makes
            // its name durable
            let mut made = 0;
            for fails in 1.. {
                std::fs::remove_dir_all(&path).ok();
                let failing = Files::with(Some(Faults::at(fails, 1)));
                if failing.open_folder(&path).is_ok() {
                    break;
                }
                let there = path.is_dir();
                let faults = Arc::new(Faults::default());
                let files = Files::with(Some(Arc::clone(&faults)));
                files.open_folder(&path).unwrap();
                if there {
                    assert_eq!(faults.seen(), 1, "{}", path.display());
                    made += 1;
                }
            }
            assert_eq!(made, 1, "{}", path.display());
        }
    }
}
