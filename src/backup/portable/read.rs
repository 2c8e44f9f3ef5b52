//! Reads a realm's file, and trusts nothing in it.
//!
//! **Shape.** A [`FileReader`] returns the entries frame by frame, and checks that each entry follows those before it.
//! After the last one it compares what it saw with what the file claims to contain.
//!
//! **Failure.** The first error ends the reading, with the offset of its frame. A file without its end was cut short;
//! how much is missing is unknown.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use caudal_actors::records::decode;

use super::file::{CheckedFile, count, failed};
use super::format::{self, Ending, FRAME_HEAD, FileHead, FrameHead, FrameKind, HEAD_BYTES};
use super::tally::{RealmTally, StreamName};
use crate::BackupError;

/// The size of the read buffer, in bytes.
const BUFFER: usize = 64 << 10;

/// A file that is being read.
pub struct FileReader {
    name: String,
    file: BufReader<File>,
    offset: usize,
    head: FileHead,
    tally: RealmTally,
    /// The number of streams named so far, and the last one's name.
    named: (u64, Option<StreamName>),
    ending: Option<Ending>,
}

/// Reads a whole file; `done` receives the number of its bytes read.
///
/// # Errors
/// The first thing wrong with it.
pub fn check(path: &Path, done: &mut dyn FnMut(u64)) -> Result<CheckedFile, BackupError> {
    let mut reader = FileReader::open(path)?;
    while reader.entries()?.is_some() {
        done(reader.offset());
    }
    reader.checked()
}

impl FileReader {
    /// Opens a file and reads its head.
    ///
    /// # Errors
    /// When it is not a realm's file, or cannot be read.
    pub fn open(path: &Path) -> Result<Self, BackupError> {
        let fail = |why| failed("opening", path, why);
        let mut file = BufReader::with_capacity(BUFFER, File::open(path).map_err(fail)?);
        let mut head = Vec::with_capacity(HEAD_BYTES);
        let read = (&mut file).take(count(HEAD_BYTES)).read_to_end(&mut head);
        read.map_err(fail)?;
        let name = path.display().to_string();
        let head = FileHead::decode(&head).map_err(|why| BackupError::damaged(&name, 0, why))?;
        Ok(Self {
            name,
            file,
            offset: HEAD_BYTES,
            head,
            tally: RealmTally::default(),
            named: (0, None),
            ending: None,
        })
    }

    /// The realm in the file.
    pub fn head(&self) -> &FileHead {
        &self.head
    }

    /// The number of bytes read.
    pub fn offset(&self) -> u64 {
        count(self.offset)
    }

    /// The tally of the entries that were read.
    pub fn tally(&self) -> &RealmTally {
        &self.tally
    }

    /// The entries of the next frame, for [`format::items`]; `None` once all entries were returned and the totals
    /// match.
    ///
    /// # Errors
    /// What is wrong with the file.
    pub fn entries(&mut self) -> Result<Option<Vec<u8>>, BackupError> {
        while self.ending.is_none() {
            let at = self.offset;
            let (kind, bytes) = self.frame()?;
            let wrong = match kind {
                FrameKind::Entries if self.named.0 > 0 => {
                    Err("entries follow the streams".to_owned())
                }
                FrameKind::Entries => {
                    let tally = &mut self.tally;
                    format::items(&bytes, &mut |item| tally.take(&item))
                }
                FrameKind::Streams => self.streams(&bytes),
                FrameKind::End => self.end(&bytes),
            };
            wrong.map_err(|why| self.damaged(at, why))?;
            if kind == FrameKind::Entries {
                return Ok(Some(bytes));
            }
        }
        Ok(None)
    }

    /// The file's summary, once all of it was read.
    ///
    /// # Errors
    /// When it was not read to its end.
    pub fn checked(self) -> Result<CheckedFile, BackupError> {
        let (offset, name) = (self.offset(), self.name.clone());
        let cut = || BackupError::Refused(format!("{name} was not read to its end"));
        CheckedFile::of(self.head, self.ending.ok_or_else(cut)?, offset)
    }

    fn streams(&mut self, bytes: &[u8]) -> Result<(), String> {
        let (tally, named) = (&self.tally, &mut self.named);
        format::streams(bytes, &mut |name, reach| {
            if named.1.is_some_and(|last| last >= name) {
                return Err("the streams are not in their order".to_owned());
            }
            *named = (named.0 + 1, Some(name));
            if tally.streams.get(&name) == Some(&reach) {
                Ok(())
            } else {
                Err(format!(
                    "stream {}/{} does not have the entries that the file says",
                    name.0, name.1
                ))
            }
        })
    }

    fn end(&mut self, bytes: &[u8]) -> Result<(), String> {
        let ending: Ending = decode(bytes).map_err(|why| why.to_string())?;
        let counted = (
            self.tally.entries,
            count(self.tally.streams.len()),
            self.tally.digest(),
        );
        let said = (ending.entries, ending.streams, ending.digest);
        let whose = (&ending.tenant.id, ending.tenant.realm(self.head.mode));
        if counted != said || self.named.0 != said.1 {
            return Err("the file does not have what its end says".to_owned());
        }
        if whose != (&self.head.tenant, self.head.realm) {
            return Err("its end is of another realm than its head".to_owned());
        }
        let mut more = [0; 1];
        match self.file.read(&mut more) {
            Ok(0) => {}
            Ok(_) => return Err("something follows its end".to_owned()),
            Err(why) => return Err(why.to_string()),
        }
        self.ending = Some(ending);
        Ok(())
    }

    fn frame(&mut self) -> Result<(FrameKind, Vec<u8>), BackupError> {
        let at = self.offset;
        let head = self.bytes(FRAME_HEAD)?;
        let head: [u8; FRAME_HEAD] = head
            .try_into()
            .map_err(|_| self.damaged(at, "it is cut short".to_owned()))?;
        let known = FrameHead::decode(&head).map_err(|why| self.damaged(at, why))?;
        let length = usize::try_from(known.packed);
        let length = length.map_err(|why| self.damaged(at, why.to_string()))?;
        let packed = self.bytes(length)?;
        let bytes = known.unpack(&head, &packed);
        Ok((known.kind, bytes.map_err(|why| self.damaged(at, why))?))
    }

    fn bytes(&mut self, length: usize) -> Result<Vec<u8>, BackupError> {
        let mut bytes = Vec::new();
        let read = (&mut self.file).take(count(length)).read_to_end(&mut bytes);
        read.map_err(|why| BackupError::backup_store(format!("reading {}", self.name), why))?;
        if bytes.len() < length {
            let why = "the file ends here, without its end: it was cut short";
            return Err(self.damaged(self.offset + bytes.len(), why.to_owned()));
        }
        self.offset += length;
        Ok(bytes)
    }

    fn damaged(&self, offset: usize, why: String) -> BackupError {
        BackupError::damaged(&self.name, offset, why)
    }
}
