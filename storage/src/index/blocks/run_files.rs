//! Runs with files of their own.
//!
//! **Shape.** `index/run-<number>.blocks` (see [`RunFile`]). sled returns space to the system only from the end of its
//! file, and the blocks that a merge frees are in the middle. So a run of many rows has a file of its own: when the run
//! is merged away its file is removed, and all of its space is free at once. sled's manifest names the run.
//!
//! **Bounds.** The runs that are listed (see `maintain`), those being written (one by a flush, one by the merge of each
//! level), and those that were merged away but are still being read. Each has one descriptor.
//!
//! **Order.** A run's file is synced before the manifest names the run, and removed after the manifest no longer names
//! it. The next start removes every run that the manifest does not name.
//!
//! **Identity.** The file ends with the digest of its blocks: files of another run, of another store or of an older copy
//! may have the same number and shape, and each of their blocks passes its checks. If the digest differs from the
//! manifest's, the start reads the whole run, which shows whether it is the right one.
//!
//! **Remnants.** If a run's file could not be created, the run is in sled under the same number, and a file of that name
//! may still exist. So if sled has the first block of a run, the run is there, whatever has its name.
//!
//! **Failure.** As with sled: if a file is missing or damaged, the index is rebuilt.

use std::fs;
use std::io::ErrorKind;
use std::sync::Arc;

use super::file::RunFile;
use super::{BlockStore, INDEX, block_key};
use crate::folder::Folder;
use crate::index::error::IndexError;
use crate::journal::format::Hash;
use crate::sync::{read, write};

/// What the names of runs begin with.
const NAME: &str = "run-";
/// What the names of their files end with.
const BLOCKS: &str = ".blocks";
fn name(run: u64) -> String {
    format!("{NAME}{run}{BLOCKS}")
}

/// The run that a name in the index's folder belongs to.
fn number(name: &str) -> Option<u64> {
    let number = name.strip_prefix(NAME)?;
    number.strip_suffix(BLOCKS)?.parse().ok()
}

impl BlockStore {
    /// The file of a run, if its blocks are not in sled.
    pub(super) fn run_files(&self, run: u64) -> Option<Arc<RunFile>> {
        read(&self.run_files).get(&run).cloned()
    }

    fn index(&self) -> Result<Folder, IndexError> {
        Ok(self.context.folder.folder(INDEX)?)
    }

    fn keep(&self, run: u64, file: RunFile) {
        write(&self.run_files).insert(run, Arc::new(file));
    }

    fn create_file(&self, run: u64) -> Result<(), IndexError> {
        let index = self.index()?;
        let file = self.context.files.create_unreserved(&index, &name(run))?;
        self.context.files.sync_folder(&index)?;
        self.keep(run, RunFile::new(file));
        Ok(())
    }

    fn open_file(&self, index: &Folder, run: u64, named: &str) -> Result<(), IndexError> {
        let file = self.context.files.open(index, named)?;
        self.keep(run, RunFile::open(file)?);
        Ok(())
    }

    /// Gives a new run of this many keys a file of its own, if there are enough of them. If the system refuses to
    /// create one, the run goes into sled.
    ///
    /// # Errors
    /// `Damaged` when the index has no folder.
    pub(crate) fn begin(&self, run: u64, keys: u64) -> Result<(), IndexError> {
        if keys < self.file_keys {
            return Ok(());
        }
        match self.create_file(run) {
            Err(IndexError::Read(why)) => {
                tracing::warn!(run, %why, "index run could not get its own file");
                self.remove_named(&name(run));
                Ok(())
            }
            created => created,
        }
    }

    /// Opens the runs with files of their own that the manifest names, and removes all others. Returns the largest
    /// number of a run that has or had one.
    ///
    /// # Errors
    /// As [`BlockStore::open`]; `Damaged` when a file was not finished.
    pub(crate) fn find_files(&self, named: impl Fn(u64) -> bool) -> Result<u64, IndexError> {
        let index = self.index()?;
        let mut seen = 0;
        for name in index.names()? {
            let Some((name, run)) = name.to_str().and_then(|n| Some((n, number(n)?))) else {
                continue;
            };
            seen = seen.max(run);
            if named(run) && !self.is_in_main(run)? {
                self.open_file(&index, run, name)?
            } else {
                self.remove_named(name)
            }
        }
        Ok(seen)
    }

    /// Whether sled has a run.
    fn is_in_main(&self, run: u64) -> Result<bool, IndexError> {
        self.context.files.look()?;
        Ok(self.main.get(&block_key(run, 0))?.is_some())
    }

    /// Ends the file of a run, if it has one, with the digest of its blocks, which identifies the run. It is durable
    /// after [`Self::sync_run`].
    pub(crate) fn identify(&self, run: u64, digest: &Hash) -> Result<(), IndexError> {
        match self.run_files(run).as_deref() {
            Some(file) => file.finish(digest, &self.context.files),
            None => Ok(()),
        }
    }

    /// Whether the files of a run belong to the run with this digest. A run in the main sled always belongs to the
    /// manifest next to it.
    pub(crate) fn is_of(&self, run: u64, digest: &Hash) -> bool {
        let file = self.run_files(run);
        file.is_none_or(|file| file.digest().as_ref() == Some(digest))
    }

    /// Makes all blocks of a run durable.
    pub(crate) fn sync_run(&self, run: u64) -> Result<(), IndexError> {
        match self.run_files(run).as_deref() {
            Some(file) => file.sync(&self.context.files),
            None => self.sync(),
        }
    }

    /// Removes the first `blocks` blocks of a run that nothing refers to any more, as far as they exist; a file of its
    /// own is removed as a whole.
    ///
    /// # Errors
    /// When sled or the system refuses; the blocks before the failed one are removed.
    pub(crate) fn remove(&self, run: u64, blocks: u32) -> Result<(), IndexError> {
        if write(&self.run_files).remove(&run).is_none() {
            return (0..blocks).try_for_each(|block| self.remove_one(run, block));
        }
        self.remove_named(&name(run));
        Ok(())
    }

    /// Removes the file or the folder of a run. If that fails, the next start removes it: no other run ever gets its
    /// name.
    fn remove_named(&self, name: &str) {
        let path = self.context.folder.steady_path().join(INDEX).join(name);
        let removed = if path.is_dir() {
            fs::remove_dir_all(path)
        } else {
            fs::remove_file(path)
        };
        match removed {
            Err(e) if e.kind() != ErrorKind::NotFound => {
                tracing::warn!(name, error = %e, "the files of a run that is over cannot be removed yet");
            }
            Ok(()) | Err(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_has_its_name_and_no_other_name_is_one() {
        assert_eq!(number(&name(17)), Some(17));
        for other in [
            "db",
            "run-",
            "run-17",
            "run-x",
            "run-1.tmp",
            "blobs",
            "run-.blocks",
        ] {
            assert_eq!(number(other), None, "{other}");
        }
    }
}
