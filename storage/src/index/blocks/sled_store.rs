//! One sled, with its quirks contained.
//!
//! **Order.** [`SledStore::sync`] is sled's flush and then an fdatasync on our own handle of its file, because sled 0.34 does
//! not ask the device to flush.
//!
//! **Failure.** sled panics on damage; every call that reads or opens catches panics. A write does not: what is on disk
//! is unknown after it, and the store stops.

use std::fs::{self, File};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

use sled::IVec;

use super::{BlockVisitor, block_key, parse_key};
use crate::files::Files;
use crate::folder::Folder;
use crate::index::error::IndexError;

/// How often sled flushes by itself, in milliseconds.
const FLUSH_MS: u64 = 500;
/// How long to wait for sled's lock.
const LOCK_WAIT: Duration = Duration::from_secs(2);

/// One sled.
#[derive(Debug)]
pub(super) struct SledStore {
    db: sled::Db,
    file: File,
}

impl SledStore {
    /// Opens or creates sled in a folder. `dir` must always lead to that folder: sled takes a path and creates files by
    /// it later. Its files are private and durable afterwards.
    pub(super) fn open(
        dir: &Path,
        folder: &Folder,
        cache: u64,
        files: &Files,
    ) -> Result<Self, IndexError> {
        remove_unfinished_snapshots(dir)?;
        let config = sled::Config::new().path(dir).cache_capacity(cache);
        let config = config.flush_every_ms(Some(FLUSH_MS));
        let config = config.mode(sled::Mode::HighThroughput);
        // on a separate thread: a panic hook may abort the process on ours, but here a panic is expected
        let opened = std::thread::Builder::new()
            .name("sled-open".to_owned())
            .spawn(move || catch_unwind(AssertUnwindSafe(|| open_patiently(&config))))?
            .join();
        let db = match opened {
            Ok(Ok(Ok(db))) => db,
            Ok(Ok(Err(e))) => return Err(IndexError::reading(&e)),
            Ok(Err(panic)) | Err(panic) => return Err(IndexError::panicked(panic.as_ref())),
        };
        secure(dir, files)?;
        files.sync_folder(folder)?;
        let file = files.open(folder, "db")?;
        Ok(Self { db, file })
    }

    /// Stores a value; it is durable after [`Self::sync`].
    pub(super) fn insert(
        &self,
        key: impl AsRef<[u8]>,
        value: impl Into<IVec>,
    ) -> Result<(), IndexError> {
        let given = self.db.insert(key, value);
        given.map(drop).map_err(|e| IndexError::writing(&e))
    }

    /// Removes a key, if it exists.
    pub(super) fn remove(&self, key: impl AsRef<[u8]>) -> Result<(), IndexError> {
        let removed = self.db.remove(key);
        removed.map(drop).map_err(|e| IndexError::writing(&e))
    }

    /// The value under a key; `None` when there is none.
    ///
    /// # Errors
    /// `Read` when the system refuses, `Damaged` when sled panics or finds its files wrong.
    pub(super) fn get(&self, key: &[u8]) -> Result<Option<IVec>, IndexError> {
        contained(|| self.db.get(key).map_err(|e| IndexError::reading(&e)))
    }

    /// The first item whose key is greater than `key`; `None` at the end.
    pub(super) fn after(&self, key: &[u8]) -> Result<Option<(IVec, IVec)>, IndexError> {
        contained(|| self.db.get_gt(key).map_err(|e| IndexError::reading(&e)))
    }

    /// Visits these blocks of a run in order; skips missing ones.
    ///
    /// # Errors
    /// As [`Self::get`], and the error of `visit`, which ends the walk.
    pub(super) fn scan(
        &self,
        run: u64,
        blocks: std::ops::Range<u32>,
        visit: BlockVisitor<'_>,
    ) -> Result<(), IndexError> {
        let range = block_key(run, blocks.start)..block_key(run, blocks.end);
        contained(|| {
            for item in self.db.range(range) {
                let (key, value) = item.map_err(|e| IndexError::reading(&e))?;
                let (_, block) = parse_key(&key).ok_or("a key is not one of ours")?;
                visit(block, &value)?;
            }
            Ok(())
        })
    }

    /// Bytes of its file; `None` when the system does not say.
    pub(super) fn bytes(&self) -> Option<u64> {
        self.db.size_on_disk().ok()
    }

    /// Makes everything written durable: sled's flush, then an fdatasync of its file.
    ///
    /// # Errors
    /// `Write` when sled or the system refuses. What is on disk is unknown then.
    pub(super) fn sync(&self, files: &Files) -> Result<(), IndexError> {
        self.db.flush().map_err(|e| IndexError::writing(&e))?;
        files
            .sync_data(&self.file)
            .map_err(|e| IndexError::writing(&e))
    }
}

/// Calls sled; a panic becomes an error.
fn contained<T>(call: impl FnOnce() -> Result<T, IndexError>) -> Result<T, IndexError> {
    let called = catch_unwind(AssertUnwindSafe(call));
    called.unwrap_or_else(|panic| Err(IndexError::panicked(panic.as_ref())))
}

/// Makes sled's files private and durable.
fn secure(dir: &Path, files: &Files) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    for item in fs::read_dir(dir)? {
        let path = item?.path();
        if path.is_file() {
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600))?;
            files.sync_all(&File::open(&path)?)?;
        }
    }
    Ok(())
}

/// Opens sled, waiting for its lock: a child process that was being started when the previous store was dropped may
/// hold it a moment longer. That is no damage, and no reason to rebuild.
fn open_patiently(config: &sled::Config) -> sled::Result<sled::Db> {
    let start = Instant::now();
    loop {
        match config.open() {
            Err(sled::Error::Io(e))
                if e.to_string().contains("lock") && start.elapsed() < LOCK_WAIT =>
            {
                std::thread::sleep(Duration::from_millis(10));
            }
            opened => return opened,
        }
    }
}

/// Removes unfinished snapshots: sled never opens again with the remains of a snapshot that a full disk interrupted.
fn remove_unfinished_snapshots(dir: &Path) -> std::io::Result<()> {
    if !dir.is_dir() {
        return Ok(());
    }
    for item in fs::read_dir(dir)? {
        let path = item?.path();
        if path.extension().is_some_and(|e| e == "generating") {
            tracing::warn!(file = %path.display(), "removed an unfinished snapshot of the index");
            fs::remove_file(path)?;
        }
    }
    Ok(())
}
