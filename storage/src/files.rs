//! Every change to the journal's and identity's files goes through here, so that a test can make
//! the n-th one fail.
//!
//! **Bounds.** Files are created 0600 and folders 0700. **Failure.** Nothing is retried: an error
//! from a write or a sync goes up as it is, and the store that gets it stops.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Makes the n-th change to files fail, for tests of the fail-stop rule.
#[derive(Debug, Default)]
pub struct Faults {
    seen: AtomicU64,
    fail_at: AtomicU64,
    fail_for: AtomicU64,
}

impl Faults {
    /// Fails changes number `first` (from 1) to `first + count - 1`, counted over the whole store.
    pub fn at(first: u64, count: u64) -> Arc<Self> {
        Arc::new(Self {
            seen: AtomicU64::new(0),
            fail_at: AtomicU64::new(first),
            fail_for: AtomicU64::new(count),
        })
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

/// The way to files.
#[derive(Clone, Debug, Default)]
pub(crate) struct Files {
    faults: Option<Arc<Faults>>,
}

impl Files {
    /// Files whose n-th change may fail.
    pub(crate) fn with(faults: Option<Arc<Faults>>) -> Self {
        Self { faults }
    }

    /// Counts one change and fails it when its turn has come.
    pub(crate) fn tick(&self) -> io::Result<()> {
        self.faults.as_ref().map_or(Ok(()), |f| f.hit())
    }

    /// A new file, empty, 0600; an existing one of that name is emptied.
    pub(crate) fn create(&self, path: &Path) -> io::Result<File> {
        self.tick()?;
        OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(path)
    }

    /// An existing file for reading and writing.
    pub(crate) fn open(&self, path: &Path) -> io::Result<File> {
        OpenOptions::new().read(true).write(true).open(path)
    }

    /// A folder, 0700, if it is not there; its parent is synced.
    pub(crate) fn create_dir(&self, path: &Path) -> io::Result<()> {
        if path.is_dir() {
            return Ok(());
        }
        self.tick()?;
        DirBuilder::new().recursive(true).mode(0o700).create(path)?;
        path.parent().map_or(Ok(()), |parent| self.sync_dir(parent))
    }

    /// Writes all of `bytes` at `offset`. An injected failure leaves half of them written.
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
    pub(crate) fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.tick()?;
        let path = if path.as_os_str().is_empty() {
            Path::new(".")
        } else {
            path
        };
        File::open(path)?.sync_all()
    }

    /// Renames within one folder and makes the new name durable.
    pub(crate) fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.tick()?;
        fs::rename(from, to)?;
        to.parent().map_or(Ok(()), |parent| self.sync_dir(parent))
    }
}

/// Free bytes that an ordinary process may still use on the file system of `path`.
pub(crate) fn free_space(path: &Path) -> io::Result<u64> {
    let s = rustix::fs::statvfs(path)?;
    Ok(s.f_bavail.saturating_mul(s.f_frsize))
}
