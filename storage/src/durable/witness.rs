//! The witness: a separate file that records how far the journal went.
//!
//! **Shape.** `WITNESS`, 8192 bytes: two slots of 512 bytes at 0 and 4096, written in turn:
//! ```text
//! magic "CAUDALW1", format u32, serial u64, store id [16], commit u64, chain [32],
//! end of the record (segment and offset) u64, crc32c u32 of all before, zeros
//! ```
//! **Order.** A slot names a commit only after the flush of its record has returned, so the journal always reaches at
//! least as far, even after a power cut. A thread of its own writes the slot at most half a second after a commit, at
//! each new segment and at a clean stop: no commit waits for it. So at most the last half second of a journal can be
//! removed unnoticed, and only after a crash.
//! **Failure.** If one slot is torn or rotten, the other one remains. A failed write poisons the store: a disk that
//! lost one flush is not trusted with another.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use crate::api::Position;
use crate::codec::{Cursor, hex};
use crate::context::StoreContext;
use crate::error::OpenError;
use crate::folder::Folder;
use crate::health::Health;
use crate::index::manifest::JournalMark;
use crate::journal::format::StoreId;
use crate::journal::split;
use crate::sync::{lock, wait_for};

/// The name of the file.
pub(crate) const WITNESS: &str = "WITNESS";
const UNFINISHED: &str = "WITNESS.new";
const MAGIC: [u8; 8] = *b"CAUDALW1";
const FORMAT: u32 = 1;
const SLOT: usize = 512;
const SLOT_USED: usize = 88;
const SLOT_STRIDE: u64 = 4096;
const FILE_BYTES: usize = 8192;
/// The longest time from a commit until the witness names it.
const EVERY: Duration = Duration::from_millis(500);

/// The state that the thread and the committer share.
#[derive(Debug)]
struct WitnessState {
    /// The last durable record.
    mark: JournalMark,
    /// The last record that a slot on disk names.
    written: JournalMark,
    serial: u64,
    /// Whether a new segment was begun.
    urgent: bool,
    stop: bool,
}

/// The witness of an open store.
#[derive(Debug)]
pub(crate) struct Witness {
    context: Arc<StoreContext>,
    file: File,
    state: Mutex<WitnessState>,
    /// Held while a slot is written.
    writing: Mutex<()>,
    changed: Condvar,
}

/// Encodes the bytes of a slot.
pub(crate) fn encode(id: &StoreId, serial: u64, mark: &JournalMark) -> Vec<u8> {
    let mut slot = Vec::with_capacity(SLOT);
    slot.extend_from_slice(&MAGIC);
    slot.extend_from_slice(&FORMAT.to_be_bytes());
    slot.extend_from_slice(&serial.to_be_bytes());
    slot.extend_from_slice(id);
    slot.extend_from_slice(&mark.commit.to_be_bytes());
    slot.extend_from_slice(&mark.chain);
    slot.extend_from_slice(&mark.end.0.to_be_bytes());
    let crc = crc32c::crc32c(&slot);
    slot.extend_from_slice(&crc.to_be_bytes());
    slot.resize(SLOT, 0);
    slot
}

/// Parses a slot; `None` unless every bit is right.
pub(crate) fn decode(slot: &[u8]) -> Option<(StoreId, u64, JournalMark)> {
    let used = slot.get(..SLOT_USED - 4)?;
    let mut c = Cursor::new(slot);
    if c.bytes(MAGIC.len())? != MAGIC || c.u32()? != FORMAT {
        return None;
    }
    let (serial, id) = (c.u64()?, c.array()?);
    let mark = JournalMark {
        commit: c.u64()?,
        chain: c.array()?,
        end: Position(c.u64()?),
    };
    (c.u32()? == crc32c::crc32c(used)).then_some((id, serial, mark))
}

/// Reads the newest slot of the file in a store's folder: its serial number and the last record that it names. `None`
/// when there is no file.
///
/// # Errors
/// `Corrupt` when no slot is intact, or one belongs to another store; `Io` when the file cannot be read.
pub(crate) fn read(folder: &Folder, id: &StoreId) -> Result<Option<(u64, JournalMark)>, OpenError> {
    let path = folder.path().join(WITNESS);
    let fail = |e| OpenError::io("reading", &path, e);
    let file = match folder.read(WITNESS) {
        Ok(file) => file,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(fail(e)),
    };
    let mut newest = None;
    for at in [0, SLOT_STRIDE] {
        let mut slot = [0; SLOT];
        match file.read_exact_at(&mut slot, at) {
            Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => continue,
            read => read.map_err(fail)?,
        }
        match decode(&slot) {
            Some((whose, ..)) if whose != *id => {
                return Err(refused(&path, "it belongs to another store"));
            }
            Some((_, serial, mark)) if newest.is_none_or(|(n, _)| n < serial) => {
                newest = Some((serial, mark));
            }
            Some(_) | None => {}
        }
    }
    match newest {
        Some(found) => Ok(Some(found)),
        None => Err(refused(&path, "it is not what was written")),
    }
}

/// The error for a store that contradicts its witness, with the ways out.
pub(crate) fn refused(path: &Path, why: &str) -> OpenError {
    OpenError::Corrupt(Arc::from(format!(
        "{}: {why}. Nothing was changed. Bring the whole store folder back as it was, all of its \
         files from the same moment. If this is a copy that was made while the store was in use, \
         and you accept that it lacks its newest commits, remove this file (and store.id beside \
         the store folder, if there is one) and start again",
        path.display()
    )))
}

impl Witness {
    /// Opens the witness of a journal that ends at `mark`; `found` is the result of [`read`]. If that is `None`, the
    /// file is created and names `mark`.
    ///
    /// # Errors
    /// The system's error when the file cannot be created or opened.
    pub(crate) fn open(
        context: &Arc<StoreContext>,
        found: Option<(u64, JournalMark)>,
        mark: JournalMark,
    ) -> io::Result<Self> {
        let (folder, files) = (&context.folder, &context.files);
        let (serial, written) = match found {
            Some(found) => found,
            None => {
                folder.remove(UNFINISHED)?;
                let file = files.create(folder, UNFINISHED)?;
                let mut bytes = encode(&context.id, 1, &mark);
                bytes.resize(FILE_BYTES, 0);
                files.write_at(&file, &bytes, 0)?;
                files.sync_all(&file)?;
                files.rename(folder, UNFINISHED, WITNESS)?;
                (1, mark)
            }
        };
        Ok(Self {
            context: Arc::clone(context),
            file: files.open(folder, WITNESS)?,
            state: Mutex::new(WitnessState {
                mark,
                written,
                serial,
                urgent: false,
                stop: false,
            }),
            writing: Mutex::new(()),
            changed: Condvar::new(),
        })
    }

    /// Notes that the record at `mark` is durable.
    pub(crate) fn saw(&self, mark: JournalMark) {
        let mut state = lock(&self.state);
        if split(state.mark.end).0 != split(mark.end).0 {
            state.urgent = true;
            self.changed.notify_all();
        }
        state.mark = mark;
    }

    /// The last record that a slot on disk names.
    pub(crate) fn written(&self) -> JournalMark {
        lock(&self.state).written
    }

    /// Writes the last durable record into the older slot and flushes it, unless a slot already names it.
    ///
    /// # Errors
    /// The system's error. It is unknown then whether the slot is on disk; the other one is untouched.
    pub(crate) fn write(&self) -> io::Result<()> {
        let _one = lock(&self.writing);
        let (mark, serial) = {
            let mut state = lock(&self.state);
            state.urgent = false;
            if state.mark == state.written {
                return Ok(());
            }
            state.serial += 1;
            (state.mark, state.serial)
        };
        let files = &self.context.files;
        let slot = encode(&self.context.id, serial, &mark);
        files.write_at(&self.file, &slot, serial % 2 * SLOT_STRIDE)?;
        files.sync_data(&self.file)?;
        lock(&self.state).written = mark;
        Ok(())
    }

    /// Ends the thread that writes the witness.
    pub(crate) fn stop(&self) {
        lock(&self.state).stop = true;
        self.changed.notify_all();
    }

    /// Logs where the journal ends, so that an operator can compare it later.
    pub(crate) fn tell(&self, when: &str) {
        let mark = self.written();
        let (commit, chain) = (mark.commit, hex(&mark.chain));
        tracing::info!(commit, chain, when, "where the journal ends");
    }

    /// The loop of the witness's thread.
    pub(crate) fn run(&self, health: &Health) {
        loop {
            let mut state = lock(&self.state);
            if !state.stop && !state.urgent {
                state = wait_for(&self.changed, state, EVERY);
            }
            let (stop, urgent) = (state.stop, state.urgent);
            drop(state);
            if stop || health.poisoned().is_some() {
                return;
            }
            if let Err(e) = self.write() {
                return health.poison(&format!("writing the witness: {e}"));
            }
            if urgent {
                self.tell("a segment was begun");
            }
        }
    }
}
