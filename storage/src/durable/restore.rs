//! Restores a store from records that were kept elsewhere.
//!
//! **Shape.** Only the journal is written, with the records' bytes unchanged; the first open, which reads every byte,
//! makes index, witness and checkpoint.
//!
//! A segment is gathered in memory. Once it takes no more records, it is written, filled up with zeros and flushed.
//!
//! **Bounds.** One segment is in memory.
//!
//! **Order.** The file that becomes `IDENTITY` has the name `RESTORE` until every record is on disk. So an
//! interrupted restore leaves no store: nothing opens the folder, and the next restore begins anew in it.
//!
//! **Failure.** A folder that holds anything else is refused and not changed. A record that does not follow the last
//! one is refused.

use std::io;
use std::path::Path;

use crate::api::Commit;
use crate::durable::held::{IDENTITY, JOURNAL, LOCK, Locks, RESTORE};
use crate::durable::identity::{Identity, drawn};
use crate::durable::options::{SEGMENT_MIN, StoreOptions};
use crate::error::OpenError;
use crate::files::Files;
use crate::folder::Folder;
use crate::journal::format::{RecordBuilder, SEGMENT_HEADER, SegmentHeader, segment_name};
use crate::log::{LogId, Sealed, Tail};
use crate::num::{u64_of, usize_of32};
use crate::rows::check_commit;

/// The segment that is being filled.
#[derive(Debug)]
struct SegmentFill {
    number: u32,
    /// The size of its file, in bytes.
    size: u32,
    /// Its header and the records put so far.
    bytes: Vec<u8>,
}

impl SegmentFill {
    /// Writes the segment, with zeros after its records, and flushes it.
    fn write(&self, files: &Files, journal: &Folder) -> io::Result<()> {
        if journal.free_space()? < u64::from(self.size) {
            return Err(rustix::io::Errno::NOSPC.into());
        }
        let file = files.create(journal, &segment_name(self.number))?;
        files.write_at(&file, &self.bytes, 0)?;
        files.write_zeros(&file, u64_of(self.bytes.len()), u64::from(self.size))?;
        files.sync_all(&file)
    }
}

/// A store being restored. Dropping it leaves a folder that is not a store.
#[derive(Debug)]
pub struct Restore {
    files: Files,
    folder: Folder,
    journal: Folder,
    _locks: Locks,
    identity: Identity,
    segment_bytes: u32,
    filling: Option<SegmentFill>,
    tail: Tail,
}

impl Restore {
    /// Begins a restore in `path`, which is created when missing: a copy of the store `history`, whose chain begins
    /// with `log`. Without a `history` the store gets a new one, so it is a copy of no store.
    ///
    /// # Errors
    /// When the folder holds anything but an interrupted restore, another process has it, or the system refuses an
    /// operation.
    pub fn begin(
        path: &Path,
        options: &StoreOptions,
        log: LogId,
        history: Option<LogId>,
    ) -> Result<Self, OpenError> {
        let fail = |e| OpenError::io("restoring into", path, e);
        let files = Files::with(options.faults.clone());
        let folder = files.open_folder(path).map_err(fail)?;
        check_unused(&folder)?;
        let locks = Locks::take(&folder, &files)?;
        let history = history.map_or_else(drawn, Ok).map_err(fail)?;
        let identity = Identity { log, history };
        let begin = || -> io::Result<Folder> {
            let journal = files.folder(&folder, JOURNAL)?;
            for name in journal.names()? {
                let name = name.to_str();
                journal.remove(name.ok_or_else(|| io::Error::other("a name that is not ours"))?)?;
            }
            files.sync_folder(&journal)?;
            files.remove(&folder, RESTORE)?;
            let file = files.create(&folder, RESTORE)?;
            files.write_at(&file, identity.text().as_bytes(), 0)?;
            files.sync_all(&file)?;
            files.sync_folder(&folder)?;
            Ok(journal)
        };
        let journal = begin().map_err(fail)?;
        Ok(Self {
            files,
            folder,
            journal,
            _locks: locks,
            identity,
            segment_bytes: options.segment_bytes.max(SEGMENT_MIN),
            filling: None,
            tail: Tail::none(&log),
        })
    }

    /// The end of the records put so far.
    pub fn tail(&self) -> Tail {
        self.tail
    }

    /// The id of the store that the folder becomes.
    pub fn history(&self) -> LogId {
        self.identity.history
    }

    /// Writes the next record.
    ///
    /// # Errors
    /// When the record does not follow the last one, or the system refuses the write.
    pub fn put(&mut self, record: &Sealed<'_>) -> Result<(), OpenError> {
        if !record.follows(&self.tail) {
            return Err(OpenError::Corrupt(
                format!(
                    "the record with commit {} does not follow the one that ends with commit {}",
                    record.first_commit().0,
                    self.tail.commit.0
                )
                .into(),
            ));
        }
        let written = self.write(record.bytes());
        written.map_err(|e| OpenError::io("writing", self.journal.path(), e))?;
        self.tail = record.tail();
        Ok(())
    }

    /// Appends one new commit after the records put so far.
    ///
    /// # Errors
    /// `Corrupt` for a commit that no store accepts; otherwise when the system refuses the write.
    pub fn say(&mut self, commit: &Commit) -> Result<(), OpenError> {
        let fits = check_commit(commit);
        fits.map_err(|why| OpenError::Corrupt(why.to_string().into()))?;
        let mut record = RecordBuilder::default();
        record.clear();
        record.push(commit);
        let tail = self.tail;
        let (sealed, _) = Sealed::seal(&mut record, &tail);
        self.put(&sealed)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let fits = |it: &mut SegmentFill| it.bytes.len() + bytes.len() <= usize_of32(it.size);
        let filling = match self.filling.take_if(fits) {
            Some(filling) => filling,
            None => self.next(bytes.len())?,
        };
        let filling = self.filling.insert(filling);
        filling.bytes.extend_from_slice(bytes);
        Ok(())
    }

    /// Ends the segment that is full and begins the next, with room for `length` bytes.
    fn next(&mut self, length: usize) -> io::Result<SegmentFill> {
        let (number, mut bytes) = match self.filling.take() {
            Some(full) => {
                full.write(&self.files, &self.journal)?;
                (full.number + 1, full.bytes)
            }
            None => (1, Vec::new()),
        };
        bytes.clear();
        let room = u64::from(SEGMENT_HEADER) + u64_of(length);
        let room = u32::try_from(room).map_err(io::Error::other)?;
        let size = self.segment_bytes.max(room);
        let header = SegmentHeader {
            number,
            size,
            id: self.identity.log,
        };
        bytes.extend_from_slice(&header.encode());
        Ok(SegmentFill {
            number,
            size,
            bytes,
        })
    }

    /// Ends the restore: durably makes the folder a store.
    ///
    /// # Errors
    /// When no record was put, or the system refuses an operation.
    pub fn finish(mut self) -> Result<(), OpenError> {
        let path = self.folder.path().to_path_buf();
        let fail = |e| OpenError::io("restoring into", &path, e);
        let Some(last) = self.filling.take() else {
            return Err(fail(io::Error::other("there is no record to restore")));
        };
        last.write(&self.files, &self.journal).map_err(fail)?;
        self.files.sync_folder(&self.journal).map_err(fail)?;
        let renamed = self.files.rename(&self.folder, RESTORE, IDENTITY);
        renamed.map_err(fail)?;
        tracing::info!(
            folder = %self.folder.path().display(), segments = last.number,
            commit = self.tail.commit.0, "restored the journal"
        );
        Ok(())
    }
}

/// Refuses a folder that holds anything other than the files of an interrupted restore.
fn check_unused(folder: &Folder) -> Result<(), OpenError> {
    let dir = folder.path();
    let fail = |e| OpenError::io("looking into", dir, e);
    let names = folder.names().map_err(fail)?;
    let unfinished = names.iter().any(|name| name == RESTORE);
    for name in names {
        let ours = match name.to_str() {
            Some(LOCK | RESTORE) => true,
            Some(JOURNAL) if unfinished => true,
            Some(JOURNAL) => {
                let journal = folder.folder(JOURNAL).map_err(fail)?;
                journal.names().map_err(fail)?.is_empty()
            }
            Some(_) | None => false,
        };
        if !ours {
            return Err(OpenError::NotAStore(format!(
                "{} is not empty: it holds {}. Nothing was changed. Restore into a new folder",
                dir.display(),
                name.display()
            )));
        }
    }
    Ok(())
}
