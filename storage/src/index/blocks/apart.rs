//! Runs with a sled of their own.
//!
//! **Shape.** `index/run-<number>`: sled returns space to the system only from the end of its file, and the blocks that
//! a merge frees are in the middle. So a run of many rows has files of its own: when the run is merged away its files
//! are removed, and all of their space is free at once.
//!
//! **Bounds.** The runs that are listed (see `maintain`), those being written (one by a flush, one by the merge of each
//! level), and those that were merged away but are still being read. Each has two descriptors, a sleeping thread of
//! sled's, and a [`CACHE`]th part of the cache.
//!
//! **Order.** A run's own sled is synced before the manifest names the run, and removed after the manifest no longer
//! names it. The next start removes every run that the manifest does not name.
//!
//! **Identity.** A run's own sled also stores the digest of its blocks: files of another run, of another store or of an
//! older copy may have the same number and shape, and each of their blocks passes its checks. If the digest differs
//! from the manifest's, or is missing because an earlier version wrote the run, the start reads the whole run, which
//! shows whether it is the right one.
//!
//! **Remnants.** If a run's own sled could not be created, the run is in the main one under the same number, and its
//! folder may still exist. So if the main sled has the first block of a run, the run is there, whatever the folder of
//! that name holds.
//!
//! **Failure.** As with the main sled: if one is missing or damaged, the index is rebuilt. An earlier program version
//! does not find such runs and also rebuilds the index.

use std::fs;
use std::io::ErrorKind;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use super::{BlockStore, INDEX, One, block_key};
use crate::folder::Folder;
use crate::index::trouble::Trouble;
use crate::sync::{lock, read, write};

/// The prefix of the names of their folders.
const NAME: &str = "run-";
/// The key of a run's digest in its own sled; it sorts after all blocks.
const DIGEST_KEY: &[u8] = b"\xFFdigest";
/// Each of them gets one part in this many of sled's caches.
const CACHE: u64 = 32;
/// How often each of them flushes by itself; a long interval, because it is written in one go.
const FLUSH: Duration = Duration::from_secs(30);

fn name(run: u64) -> String {
    format!("{NAME}{run}")
}

fn number(name: &str) -> Option<u64> {
    name.strip_prefix(NAME)?.parse().ok()
}

impl BlockStore {
    /// The own sled of a run, if it has one.
    pub(super) fn apart(&self, run: u64) -> Option<Arc<One>> {
        read(&self.apart).get(&run).cloned()
    }

    fn index(&self) -> Result<Folder, Trouble> {
        self.store.folder(INDEX).map_err(|e| Trouble::looking(&e))
    }

    fn open_apart(&self, index: &Folder, run: u64) -> Result<(), Trouble> {
        let folder = self.files.folder(index, &name(run));
        let folder = folder.map_err(|e| Trouble::looking(&e))?;
        let dir = self.store.steady_path().join(INDEX).join(name(run));
        let one = One::open(&dir, &folder, (self.sled_cache / CACHE, FLUSH), &self.files)?;
        write(&self.apart).insert(run, Arc::new(one));
        Ok(())
    }

    /// Gives a new run of this many keys a sled of its own, if there are enough of them. If the system refuses to make
    /// one, the run goes into the main sled.
    ///
    /// # Errors
    /// As [`BlockStore::open`], except when the system refuses.
    pub(crate) fn begin(&self, run: u64, keys: u64) -> Result<(), Trouble> {
        if keys < self.apart_keys {
            return Ok(());
        }
        match self.index().and_then(|index| self.open_apart(&index, run)) {
            Err(Trouble::Read(why)) => {
                tracing::warn!(run, %why, "a run of the index gets no files of its own");
                self.remove_folder(run);
                Ok(())
            }
            opened => opened,
        }
    }

    /// Opens the own sleds of the runs that the manifest names, and removes all others. Returns the largest number of a
    /// run that has or had one.
    ///
    /// # Errors
    /// As [`BlockStore::open`].
    pub(crate) fn find_apart(&self, named: impl Fn(u64) -> bool) -> Result<u64, Trouble> {
        let index = self.index()?;
        let mut seen = 0;
        for name in index.names().map_err(|e| Trouble::looking(&e))? {
            let Some(run) = name.to_str().and_then(number) else {
                continue;
            };
            seen = seen.max(run);
            match named(run) && !self.is_in_main(run)? {
                true => self.open_apart(&index, run)?,
                false => self.remove_folder(run),
            }
        }
        Ok(seen)
    }

    /// Whether the main sled has a run; only valid while no sled of its own is open for that number.
    fn is_in_main(&self, run: u64) -> Result<bool, Trouble> {
        Ok(self.get(&block_key(run, 0))?.is_some())
    }

    /// Stores the digest of a run's blocks in its own sled, if it has one, which identifies the run. It is durable
    /// after [`Self::sync_run`].
    ///
    /// # Errors
    /// When sled or the system refuses.
    pub(crate) fn identify(&self, run: u64, digest: &[u8]) -> Result<(), Trouble> {
        let Some(one) = self.apart(run) else {
            return Ok(());
        };
        let _one = lock(&self.writing);
        let written = one.db.insert(DIGEST_KEY, digest);
        written.map(drop).map_err(|e| Trouble::writing(&e))
    }

    /// Whether the files of a run belong to the run with this digest. A run in the main sled always belongs to the
    /// manifest beside it.
    ///
    /// # Errors
    /// As [`BlockStore::get`].
    pub(crate) fn is_of(&self, run: u64, digest: &[u8]) -> Result<bool, Trouble> {
        let Some(one) = self.apart(run) else {
            return Ok(true);
        };
        match catch_unwind(AssertUnwindSafe(|| one.db.get(DIGEST_KEY))) {
            Ok(Ok(value)) => Ok(value.as_deref() == Some(digest)),
            Ok(Err(e)) => Err(Trouble::reading(&e)),
            Err(panic) => Err(Trouble::panicked(panic.as_ref())),
        }
    }

    /// Makes all blocks of a run durable.
    ///
    /// # Errors
    /// As [`Self::sync`].
    pub(crate) fn sync_run(&self, run: u64) -> Result<(), Trouble> {
        match self.apart(run) {
            Some(one) => one.sync(&self.files),
            None => self.sync(),
        }
    }

    /// Removes the first `blocks` blocks of a run that nothing refers to any more, as far as they exist; its own sled
    /// is removed as a whole.
    ///
    /// # Errors
    /// When sled or the system refuses; the blocks before the failed one are removed.
    pub(crate) fn remove(&self, run: u64, blocks: u32) -> Result<(), Trouble> {
        let Some(one) = write(&self.apart).remove(&run) else {
            return (0..blocks).try_for_each(|block| self.remove_one(run, block));
        };
        // sled writes its remaining data when it is closed, and only one thread may write at a time. Errors there
        // affect nobody.
        let writing = lock(&self.writing);
        if catch_unwind(AssertUnwindSafe(|| drop(one))).is_err() {
            tracing::warn!(
                run,
                "a run that is over could not be closed as it should be"
            );
        }
        drop(writing);
        self.remove_folder(run);
        Ok(())
    }

    /// Removes the folder of a run. If that fails, the next start removes it: no other run ever gets its name.
    fn remove_folder(&self, run: u64) {
        let dir = self.store.steady_path().join(INDEX).join(name(run));
        match fs::remove_dir_all(dir) {
            Err(e) if e.kind() != ErrorKind::NotFound => {
                tracing::warn!(run, error = %e, "the files of a run that is over cannot be removed yet");
            }
            Ok(()) | Err(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_has_its_folder_and_no_other_name_is_one() {
        assert_eq!(number(&name(17)), Some(17));
        for other in ["db", "run-", "run-x", "run-1.tmp", "blobs"] {
            assert_eq!(number(other), None, "{other}");
        }
    }
}
