//! Extracts a realm from a chain of records.
//!
//! **Shape.** [`Export::record`] receives every record from the first one on, from a journal or from a backup store. The
//! platform's facts among them give the realm's number and the tenant's settings.
//!
//! **Order.** The file has a temporary name until all of it is on disk, and never replaces another file.
//!
//! **Failure.** An interrupted export leaves a file that ends in `.half`, which the next one replaces.

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, ErrorKind, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use caudal_actors::records::{PLATFORM_STREAM, decode, encode};
use caudal_ledger::facts::PlatformFact;
use caudal_ledger::ids::{Mode, RealmId};
use caudal_ledger::tenants::{Platform, RealmState, Tenant};
use caudal_storage::log::{LogId, Sealed, StoredEntry};

use super::file::{CheckedFile, count, failed, taken};
use super::format::{
    self, Ending, FRAME_ENTRIES, FileHead, FrameKind, HEAD_BYTES, STREAMS_IN_FRAME,
};
use super::tally::{RealmEntry, RealmTally};
use crate::BackupError;
use crate::chain::entries;
use crate::restore::Until;

/// The realm to export, and how much of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExportRequest {
    /// The tenant's id.
    pub tenant: String,
    /// The live or the test realm.
    pub mode: Mode,
    /// The point to export up to.
    pub until: Until,
    /// A frame that has this many bytes takes no further commit: [`format::FRAME_BYTES`], or less in tests.
    pub frame_bytes: usize,
}

/// A file in the making. Dropping it leaves only the incomplete `.half` file.
pub struct Export {
    wanted: ExportRequest,
    store: LogId,
    paths: (PathBuf, PathBuf),
    out: BufWriter<File>,
    platform: Platform,
    realm: Option<RealmId>,
    /// The entries of the current commit.
    commit: Vec<u8>,
    commit_entries: usize,
    /// The entries of whole commits for the next frame.
    frame: Vec<u8>,
    frame_entries: usize,
    tally: RealmTally,
    reached: (u64, [u8; 32], u64),
    /// Whether there is a record after the requested end.
    cut: bool,
}

fn refused<T>(why: impl ToString) -> Result<T, BackupError> {
    Err(BackupError::Refused(why.to_string()))
}

impl Export {
    /// Begins a file at `path` for a realm of the store with this id.
    ///
    /// # Errors
    /// When the path exists, or the system refuses.
    pub fn begin(path: &Path, store: LogId, wanted: ExportRequest) -> Result<Self, BackupError> {
        let fail = |why| failed("making", path, why);
        if path.try_exists().map_err(fail)? {
            return refused(taken(path));
        }
        let mut half = path.as_os_str().to_owned();
        half.push(".half");
        let half = PathBuf::from(half);
        let mut options = OpenOptions::new();
        let file = options.create(true).truncate(false).write(true).open(&half);
        let file = file.map_err(fail)?;
        caudal_storage::exclusive(&file, &half)?;
        file.set_len(0).map_err(fail)?;
        let mut out = BufWriter::new(file);
        // The head contains the end of the file, so it is written last.
        out.write_all(&[0; HEAD_BYTES]).map_err(fail)?;
        Ok(Self {
            wanted,
            store,
            paths: (half, path.to_owned()),
            out,
            platform: Platform::default(),
            realm: None,
            commit: Vec::new(),
            commit_entries: 0,
            frame: Vec::new(),
            frame_entries: 0,
            tally: RealmTally::default(),
            reached: (0, [0; 32], 0),
            cut: false,
        })
    }

    /// Takes the realm's entries from the next record, whose latest entry has the time `latest`; false when no more is
    /// wanted.
    ///
    /// # Errors
    /// When the record cannot be read, or the file cannot be written.
    pub fn record(&mut self, record: &Sealed<'_>, latest: u64) -> Result<bool, BackupError> {
        self.cut = self.wanted.until.is_before(record, latest);
        if self.cut {
            return Ok(false);
        }
        let mut commit = record.first_commit();
        entries(record, &mut |entry| {
            if entry.commit != commit {
                self.end_commit()?;
            }
            commit = entry.commit;
            self.entry(entry)
        })?;
        self.end_commit()?;
        let known = self.reached.2;
        self.reached = (record.tail().commit.0, record.hash(), known.max(latest));
        Ok(true)
    }

    fn fact(&mut self, entry: &StoredEntry<'_>) -> Result<(), BackupError> {
        let fact: PlatformFact = decode(entry.body)?;
        self.platform.apply(&fact);
        let tenant = self.platform.tenants.get(&self.wanted.tenant);
        self.realm = tenant.map(|tenant| tenant.realm(self.wanted.mode));
        Ok(())
    }

    fn entry(&mut self, entry: &StoredEntry<'_>) -> Result<(), BackupError> {
        if entry.stream == PLATFORM_STREAM {
            return self.fact(entry);
        }
        if self.realm != Some(RealmId(entry.stream.realm)) {
            return Ok(());
        }
        let item = RealmEntry::of(entry.stream, (entry.seq, entry.at), entry.body);
        let name = |why: String| BackupError::Refused(format!("commit {}: {why}", entry.commit.0));
        self.tally.take(&item).map_err(name)?;
        format::put_item(&mut self.commit, &item).map_err(name)?;
        self.commit_entries += 1;
        Ok(())
    }

    /// Adds a commit to the frame as a whole, because an import makes it durable as a whole.
    fn end_commit(&mut self) -> Result<(), BackupError> {
        let full = self.frame.len() + self.commit.len() > self.wanted.frame_bytes
            || self.frame_entries + self.commit_entries > FRAME_ENTRIES;
        if full {
            self.end_frame()?;
        }
        self.frame.append(&mut self.commit);
        self.frame_entries += std::mem::take(&mut self.commit_entries);
        Ok(())
    }

    fn end_frame(&mut self) -> Result<(), BackupError> {
        let bytes = std::mem::take(&mut self.frame);
        self.frame_entries = 0;
        if bytes.is_empty() {
            Ok(())
        } else {
            self.put(FrameKind::Entries, &bytes)
        }
    }

    fn put(&mut self, kind: FrameKind, bytes: &[u8]) -> Result<(), BackupError> {
        let frame = format::pack(kind, bytes).map_err(BackupError::Refused)?;
        let written = self.out.write_all(&frame);
        written.map_err(|why| failed("writing", &self.paths.0, why))
    }

    /// Completes the file, durably, after the last record.
    ///
    /// # Errors
    /// When there is no such realm, the path exists by now, or the system refuses.
    pub fn finish(mut self) -> Result<CheckedFile, BackupError> {
        let ExportRequest { tenant, mode, .. } = self.wanted.clone();
        let (commit, chain, latest) = self.reached;
        if let Until::Commit(wanted) = self.wanted.until
            && wanted > commit
            && !self.cut
        {
            std::fs::remove_file(&self.paths.0).ok();
            return refused(format!(
                "the source ends with commit {commit}, so it has no commit {wanted}. Without --at, all of the realm is exported"
            ));
        }
        let Some(known) = self.platform.tenants.get(&tenant) else {
            std::fs::remove_file(&self.paths.0).ok();
            return refused(format!("up to commit {commit} there is no tenant {tenant}"));
        };
        let known = Tenant::clone(known);
        let realm = known.realm(mode);
        let head = FileHead {
            store: self.store,
            tenant,
            mode,
            realm,
            commit,
            chain,
            latest,
        };
        self.end_frame()?;
        self.streams()?;
        let ending = Ending {
            test_clock: self.platform.test_clock(known.test),
            tenant: known,
            closed: *self.platform.state(realm) == RealmState::Closed,
            entries: self.tally.entries,
            streams: count(self.tally.streams.len()),
            digest: self.tally.digest(),
        };
        self.put(FrameKind::End, &encode(&ending)?)?;
        let bytes = self.close(&head)?;
        CheckedFile::of(head, ending, bytes)
    }

    fn streams(&mut self) -> Result<(), BackupError> {
        let all = std::mem::take(&mut self.tally.streams);
        let mut frame = Vec::new();
        for (nth, (name, reach)) in all.iter().enumerate() {
            if nth > 0 && nth.is_multiple_of(STREAMS_IN_FRAME) {
                self.put(FrameKind::Streams, &std::mem::take(&mut frame))?;
            }
            format::put_stream(&mut frame, *name, reach);
        }
        if !frame.is_empty() {
            self.put(FrameKind::Streams, &frame)?;
        }
        self.tally.streams = all;
        Ok(())
    }

    /// Writes the head and gives the file its name; returns its size in bytes.
    fn close(mut self, head: &FileHead) -> Result<u64, BackupError> {
        let (half, path) = self.paths;
        let fail = |why| failed("writing", &half, why);
        let head = head.encode().map_err(BackupError::Refused)?;
        let bytes = self.out.stream_position().map_err(fail)?;
        self.out.seek(SeekFrom::Start(0)).map_err(fail)?;
        self.out.write_all(&head).map_err(fail)?;
        self.out.flush().map_err(fail)?;
        self.out.get_ref().sync_all().map_err(fail)?;
        std::fs::hard_link(&half, &path).map_err(|why| match why.kind() {
            ErrorKind::AlreadyExists => BackupError::Refused(taken(&path)),
            _ => failed("naming", &path, why),
        })?;
        std::fs::remove_file(&half).map_err(fail)?;
        let folder = path.parent().filter(|it| !it.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        let synced = File::open(folder).and_then(|it| it.sync_all());
        synced.map_err(|why| failed("naming", &path, why))?;
        Ok(bytes)
    }
}
