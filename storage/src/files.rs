//! Every change to the journal's and identity's files goes through here, so that a test can make
//! the n-th one fail; reads of the index ask here whether a test has them fail.
//!
//! **Bounds.** Files are created 0600 and folders 0700.
//!
//! **Failure.** Every function gives the system's error as it is, or the one that a test has injected.
//! Nothing is retried but an opening for which a descriptor was kept back. The store that gets an error
//! of a write or a sync stops.

use std::fs::{DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt};
use std::path::Path;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use rustix::io::Errno;

use crate::folder::Folder;
use crate::sync::lock;

/// Makes the n-th change to files fail, for tests of the fail-stop rule.
#[derive(Debug, Default)]
pub struct Faults {
    seen: AtomicU64,
    fail_at: AtomicU64,
    fail_for: AtomicU64,
    /// What the making of a file is answered with; 0 for nothing.
    creation: AtomicI32,
    /// How many reads of the index are still answered; `None` is all.
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

    /// From now on the system answers the making of a file with this number of an error (24 is
    /// EMFILE, 28 is ENOSPC); 0 lets it be made again.
    pub fn refuse_creation(&self, code: i32) {
        self.creation.store(code, Ordering::SeqCst);
    }

    /// After this many reads the system refuses to read the index, as a broken disk does; `None` lets it be read again.
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

    /// How many changes have been tried.
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

/// Descriptors that are kept back for the journal: given up one by one when the process has no
/// other left, so that a flood of connections does not end the store.
#[derive(Debug, Default)]
struct Spares(Mutex<Vec<File>>);

/// How many descriptors are kept back.
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

/// Makes a folder, 0700, and those above it that are missing; each of their names is durable then. A folder that is there
/// stays as it is.
///
/// # Errors
/// What the system says; the folders that were made before that stay.
pub fn make_folder(path: &Path) -> io::Result<()> {
    Files::default().make_folder(path)
}

/// The way to files.
#[derive(Clone, Debug, Default)]
pub(crate) struct Files {
    faults: Option<Arc<Faults>>,
    spares: Arc<Spares>,
}

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

    /// Takes back what was given up of the descriptors that are kept for files.
    pub(crate) fn keep_descriptors(&self) {
        self.spares.refill();
    }

    /// Opens with a descriptor that was kept back when there is no other; gives what `open` gives in the end.
    pub(crate) fn with_spares(&self, open: impl Fn() -> io::Result<File>) -> io::Result<File> {
        loop {
            match open() {
                Err(e) if no_descriptor(&e) && self.spares.give_up_one() => {}
                opened => return opened,
            }
        }
    }

    /// Counts one change; it fails when a test has asked for that.
    pub(crate) fn tick(&self) -> io::Result<()> {
        self.faults.as_ref().map_or(Ok(()), |f| f.hit())
    }

    /// Counts one read of the index; it fails when a test has asked for that.
    pub(crate) fn look(&self) -> io::Result<()> {
        self.faults.as_ref().map_or(Ok(()), |f| f.read())
    }

    /// A new file, empty, 0600; `EEXIST` when there is one of that name.
    pub(crate) fn create(&self, folder: &Folder, name: &str) -> io::Result<File> {
        self.tick()?;
        let refused = self.faults.as_ref();
        match refused.map_or(0, |f| f.creation.load(Ordering::SeqCst)) {
            0 => self.with_spares(|| folder.create(name)),
            code => Err(io::Error::from_raw_os_error(code)),
        }
    }

    /// An existing file for reading and writing; `NotFound` when there is none.
    pub(crate) fn open(&self, folder: &Folder, name: &str) -> io::Result<File> {
        self.with_spares(|| folder.write(name))
    }

    /// An existing file for reading; `NotFound` when there is none.
    pub(crate) fn read(&self, folder: &Folder, name: &str) -> io::Result<File> {
        self.with_spares(|| folder.read(name))
    }

    /// A folder inside, 0700, if it is not there; the new name is synced.
    pub(crate) fn folder(&self, folder: &Folder, name: &str) -> io::Result<Folder> {
        if !folder.has_folder(name)? {
            self.tick()?;
            folder.make_folder(name)?;
            self.sync_folder(folder)?;
        }
        folder.folder(name)
    }

    /// Opens the folder under a path; one that is not there is made as [`make_folder`] does.
    pub(crate) fn open_folder(&self, path: &Path) -> io::Result<Folder> {
        self.make_folder(path)?;
        Folder::open(path)
    }

    fn make_folder(&self, path: &Path) -> io::Result<()> {
        if path.is_dir() {
            return Ok(());
        }
        let above = path.parent().filter(|above| !above.as_os_str().is_empty());
        let above = above.unwrap_or(Path::new("."));
        self.make_folder(above)?;
        self.tick()?;
        match DirBuilder::new().mode(0o700).create(path) {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => {}
            made => made?,
        }
        self.tick()?;
        File::open(above)?.sync_all()
    }

    /// Writes all of `bytes` at `offset`, counted from the beginning of the file. A failure may leave any part
    /// of them written, an injected one leaves half.
    pub(crate) fn write_at(&self, file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
        if let Err(e) = self.tick() {
            let half = bytes.get(..bytes.len() / 2).unwrap_or_default();
            file.write_all_at(half, offset)?;
            return Err(e);
        }
        file.write_all_at(bytes, offset)
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

    /// Takes a name away and makes that durable; one that nothing has is no error.
    pub(crate) fn remove(&self, folder: &Folder, name: &str) -> io::Result<()> {
        self.tick()?;
        folder.remove(name)?;
        self.sync_folder(folder)
    }

    /// Renames inside a folder to a name that nothing has (`EEXIST` otherwise), and makes the new name durable.
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
    fn each_folder_that_is_made_is_synced_above_and_one_that_is_there_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        for (depth, path) in [(1, "a"), (3, "b/c/d"), (1, "b/c/e"), (0, "b/c")] {
            let path = dir.path().join(path);
            let faults = Arc::new(Faults::default());
            let files = Files::with(Some(Arc::clone(&faults)));
            files.open_folder(&path).unwrap();
            // each is made, and the one above it synced
            assert_eq!(faults.seen(), 2 * depth, "{}", path.display());
            // of a try that failed anywhere nothing has to be cleared away
            std::fs::remove_dir_all(&path).unwrap();
            for fails in 1..=2 {
                let failing = Files::with(Some(Faults::at(fails, 1)));
                failing.open_folder(&path).unwrap_err();
            }
            files.open_folder(&path).unwrap();
        }
    }
}
