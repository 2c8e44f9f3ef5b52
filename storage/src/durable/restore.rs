//! Restores a store from records that were kept elsewhere.
//!
//! **Shape.** Only the journal is written, with the records' bytes unchanged; the first open, which reads every byte,
//! makes index, witness and checkpoint.
//!
//! A segment is gathered in memory. Once it takes no more records, a thread of its own writes and flushes it, filled up
//! with zeros, while the next one is gathered. A flush mostly waits for the disk, so [`WRITING`] such threads run at once.
//!
//! **Bounds.** One segment more than that is in memory.
//!
//! **Order.** The file that becomes `IDENTITY` has the name `RESTORE` until every record is on disk. So an
//! interrupted restore leaves no store: nothing opens the folder, and the next restore begins anew in it.
//!
//! **Failure.** A folder that holds anything else is refused and not changed. A record that does not follow the last
//! one is refused.

use std::collections::VecDeque;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;

use crate::api::Commit;
use crate::durable::held::{IDENTITY, JOURNAL, LOCK, Locks, RESTORE};
use crate::durable::identity::{Identity, drawn};
use crate::durable::options::{SEGMENT_MIN, StoreOptions};
use crate::error::OpenError;
use crate::files::Files;
use crate::folder::Folder;
use crate::journal::format::{RecordBuilder, SEGMENT_HEADER, SegmentHeader};
use crate::journal::names::segment_name;
use crate::journal::prepare::fill_with_zeros;
use crate::log::{LogId, Sealed, Tail};
use crate::num::{u64_of, usize_of32};
use crate::rows::check_commit;

/// How many segments are written at once.
const WRITING: usize = 2;

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
    /// Writes the segment, with zeros after its records, and flushes it; returns the memory of its bytes.
    fn write(self, files: &Files, journal: &Folder) -> io::Result<Vec<u8>> {
        if journal.free_space()? < u64::from(self.size) {
            return Err(rustix::io::Errno::NOSPC.into());
        }
        let file = files.create(journal, &segment_name(self.number))?;
        files.write_at(&file, &self.bytes, 0)?;
        fill_with_zeros(files, &file, u64_of(self.bytes.len()), self.size)?;
        files.sync_all(&file)?;
        Ok(self.bytes)
    }
}

/// A store being restored. Dropping it leaves a folder that is not a store.
#[derive(Debug)]
pub struct Restore {
    files: Files,
    folder: Folder,
    journal: Arc<Folder>,
    _locks: Locks,
    identity: Identity,
    segment_bytes: u32,
    filling: Option<SegmentFill>,
    /// The threads that write the previous segments, in their order.
    writing: VecDeque<JoinHandle<io::Result<Vec<u8>>>>,
    /// The memory of a segment that was written.
    spare: Vec<u8>,
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
            journal: Arc::new(journal),
            _locks: locks,
            identity,
            segment_bytes: options.segment_bytes.max(SEGMENT_MIN),
            filling: None,
            writing: VecDeque::new(),
            spare: Vec::new(),
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
        let number = match self.filling.take() {
            Some(full) => {
                let next = full.number + 1;
                self.end(full)?;
                next
            }
            None => 1,
        };
        let room = u64::from(SEGMENT_HEADER) + u64_of(length);
        let room = u32::try_from(room).map_err(io::Error::other)?;
        let size = self.segment_bytes.max(room);
        let header = SegmentHeader {
            number,
            size,
            id: self.identity.log,
        };
        let mut bytes = std::mem::take(&mut self.spare);
        bytes.clear();
        bytes.extend_from_slice(&header.encode());
        Ok(SegmentFill {
            number,
            size,
            bytes,
        })
    }

    /// Durably makes the folder a store without any records, for a backup that holds none.
    ///
    /// # Errors
    /// When a record was put, or the system refuses an operation.
    pub fn finish_empty(mut self) -> Result<(), OpenError> {
        let fail = |e| OpenError::io("restoring into", self.folder.path(), e);
        if self.filling.is_some() {
            return Err(fail(io::Error::other("there are records in it")));
        }
        let first = self.next(0);
        let path = self.folder.path();
        self.filling = Some(first.map_err(|e| OpenError::io("restoring into", path, e))?);
        self.finish()
    }

    /// Starts writing a segment.
    fn end(&mut self, full: SegmentFill) -> io::Result<()> {
        self.wait(WRITING - 1)?;
        let (files, journal) = (self.files.clone(), Arc::clone(&self.journal));
        let thread = std::thread::Builder::new().name("caudal-storage-restore".to_owned());
        let writing = thread.spawn(move || full.write(&files, &journal))?;
        self.writing.push_back(writing);
        Ok(())
    }

    /// Waits until at most this many segments are being written.
    fn wait(&mut self, most: usize) -> io::Result<()> {
        while self.writing.len() > most
            && let Some(first) = self.writing.pop_front()
        {
            let panicked = |_| io::Error::other("the thread that writes a segment panicked");
            self.spare = first.join().map_err(panicked)??;
        }
        Ok(())
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
        let segments = last.number;
        self.end(last).and_then(|()| self.wait(0)).map_err(fail)?;
        self.files.sync_folder(&self.journal).map_err(fail)?;
        let renamed = self.files.rename(&self.folder, RESTORE, IDENTITY);
        renamed.map_err(fail)?;
        tracing::info!(
            folder = %self.folder.path().display(), segments,
            commit = self.tail.commit.0, "restored the journal"
        );
        Ok(())
    }
}

impl Drop for Restore {
    fn drop(&mut self) {
        // nothing is written into the folder once it is not locked any more; nobody wants this restore, so its errors
        // do not matter
        while self.wait(0).is_err() {}
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
