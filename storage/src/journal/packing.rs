//! Compresses a segment that takes no more records, piece by piece, and replaces its file.
//!
//! **Order.** The segment is read and checked as in the background check, and written in frames under an unfinished
//! name; fsync; then that file is read from its beginning and unpacked, and must contain the same chain of records,
//! hash for hash; then it gets its final name, which must be free; fsync of the folder; only then the original file is
//! removed. So at any moment one of the two is complete and has its name on disk. If a crash leaves both, the original
//! counts until the compressed one has been read again.
//!
//! **Bounds.** A step processes one window of the segment; besides it, one frame is in memory.
//!
//! **Failure.** Nothing depends on the unfinished file: a failure before it has its name leaves the segment as it was.
//! Damage in the segment itself is handled like any other.

use std::fs::File;
use std::io;

use crate::files::Files;
use crate::folder::Folder;
use crate::journal::format::StoreId;
use crate::journal::names::{packed_name, segment_name};
use crate::journal::packed::{FRAME, Frame, Packed, Source, body_of, frames_of, head};
use crate::journal::reread::Reread;
use crate::journal::seal::{Seal, Wrong};
use crate::num::{u32_of, u64_of, usize_of, usize_of32};

/// The zstd level: higher ones save little here and take longer.
const LEVEL: i32 = 1;

/// The extension of a compressed segment that is not complete yet.
const UNFINISHED: &str = ".packing";

fn unfinished(number: u32) -> String {
    format!("{number:010}{UNFINISHED}")
}

/// Why a segment was not compressed.
#[derive(Debug)]
pub(crate) enum Kept {
    /// The segment itself is damaged, or the system refused to read it.
    Segment(Wrong),
    /// The compressed file could not be written. The segment is as it was.
    File(io::Error),
    /// The compressed file would not be smaller. The segment is as it was.
    Small,
    /// The compressed file differs from what was written to it. The segment is as it was.
    Untrue(Wrong),
}

/// The result of a step.
#[derive(Debug)]
pub(crate) enum Step {
    /// More steps are needed; this many bytes were read.
    More(u64),
    /// The segment is now compressed, in a file of this many bytes.
    Done(u32),
}

#[derive(Debug)]
enum Stage {
    /// The segment is read and its frames are written.
    Writing { segment: Reread, frames: Writing },
    /// The compressed file is read again; it already has its name if a crash left it so.
    Proving { packed: Reread, named: bool },
}

/// A segment that is being compressed.
#[derive(Debug)]
pub(crate) struct Packing {
    seal: Seal,
    id: StoreId,
    stage: Stage,
}

/// The compressed file while its frames are written.
#[derive(Debug)]
struct Writing {
    files: Files,
    file: File,
    /// Records that do not fill a frame yet.
    rest: Vec<u8>,
    frames: Vec<Frame>,
    /// Where the next frame goes.
    at: u64,
}

impl Writing {
    fn take(&mut self, records: &[u8]) -> io::Result<()> {
        let mut records = records;
        while !records.is_empty() {
            let room = usize_of32(FRAME) - self.rest.len();
            let (now, later) = records.split_at(room.min(records.len()));
            self.rest.extend_from_slice(now);
            records = later;
            if self.rest.len() == usize_of32(FRAME) {
                self.frame()?;
            }
        }
        Ok(())
    }

    fn frame(&mut self) -> io::Result<()> {
        let bytes = zstd::bulk::compress(&self.rest, LEVEL)?;
        self.rest.clear();
        self.files.write_at(&self.file, &bytes, self.at)?;
        self.frames.push(Frame {
            at: u32_of(usize_of(self.at)),
            length: u32_of(bytes.len()),
            crc: crc32c::crc32c(&bytes),
        });
        self.at += u64_of(bytes.len());
        Ok(())
    }

    /// Writes the rest; everything is on disk when this returns.
    fn finish(mut self, seal: &Seal, id: &StoreId) -> Result<(), Kept> {
        if !self.rest.is_empty() {
            self.frame().map_err(Kept::File)?;
        }
        if self.at >= u64::from(seal.size) {
            return Err(Kept::Small);
        }
        let head = head(seal, id, &self.frames);
        let written = self.files.write_at(&self.file, &head, 0);
        let synced = written.and_then(|()| self.files.sync_all(&self.file));
        synced.map_err(Kept::File)?;
        // the data must be read back from the disk, as far as the system can be told so
        rustix::fs::fadvise(&self.file, 0, None, rustix::fs::Advice::DontNeed).ok();
        Ok(())
    }
}

impl Packing {
    /// Begins with a segment whose file in `folder` is assumed to be intact.
    ///
    /// # Errors
    /// [`Kept::Segment`] when its header is wrong, [`Kept::File`] when no file can be created beside it,
    /// [`Kept::Untrue`] when a compressed file left by a crash is wrong.
    pub(crate) fn begin(
        files: &Files,
        folder: &Folder,
        id: &StoreId,
        seal: Seal,
    ) -> Result<Self, Kept> {
        let stage = match folder.id(&packed_name(seal.number)).map_err(Kept::File)? {
            Some(_) => prove(files, folder, id, &seal, true)?,
            None => write(files, folder, id, seal)?,
        };
        Ok(Self {
            seal,
            id: *id,
            stage,
        })
    }

    /// The seal of the segment.
    pub(crate) fn seal(&self) -> &Seal {
        &self.seal
    }

    /// Takes the next step: reads and writes one window, or reads one back. After an error only the original segment is
    /// left.
    ///
    /// # Errors
    /// [`Kept`] with the reason why the segment is not compressed; any of its variants.
    pub(crate) fn step(self, files: &Files, folder: &Folder) -> Result<(Self, Step), Kept> {
        let number = self.seal.number;
        let done = self.next(files, folder);
        if done.is_err()
            && let Err(e) = folder.remove(&unfinished(number))
        {
            tracing::warn!(error = %e, "an unfinished compressed segment could not be removed");
        }
        done
    }

    fn next(mut self, files: &Files, folder: &Folder) -> Result<(Self, Step), Kept> {
        let (read, stage) = match self.stage {
            Stage::Writing {
                mut segment,
                mut frames,
            } => {
                let mut taken = Ok(());
                let read = segment.step_with(&mut |records| taken = frames.take(records));
                let read = read.map_err(Kept::Segment)?;
                taken.map_err(Kept::File)?;
                if segment.done() {
                    frames.finish(&self.seal, &self.id)?;
                    (read, prove(files, folder, &self.id, &self.seal, false)?)
                } else {
                    (read, Stage::Writing { segment, frames })
                }
            }
            Stage::Proving { mut packed, named } => {
                let read = packed.step();
                let read = read.map_err(|why| untrue(files, folder, &self.seal, named, why))?;
                if packed.done() {
                    let bytes = put(files, folder, self.seal.number, named).map_err(Kept::File)?;
                    self.stage = Stage::Proving { packed, named };
                    return Ok((self, Step::Done(bytes)));
                }
                (read, Stage::Proving { packed, named })
            }
        };
        self.stage = stage;
        Ok((self, Step::More(read)))
    }
}

/// Begins to write the compressed file.
fn write(files: &Files, folder: &Folder, id: &StoreId, seal: Seal) -> Result<Stage, Kept> {
    let segment = Reread::open(files, folder, id, seal).map_err(Kept::Segment)?;
    let name = unfinished(seal.number);
    // left by an earlier try: it does not have a segment's name, so nothing depends on it
    let removed = folder.remove(&name);
    let made = removed.and_then(|()| files.create(folder, &name));
    let frames = Writing {
        files: files.clone(),
        file: made.map_err(Kept::File)?,
        rest: Vec::with_capacity(usize_of32(FRAME)),
        frames: Vec::new(),
        at: body_of(frames_of(seal.end)),
    };
    Ok(Stage::Writing { segment, frames })
}

/// Opens the compressed file, to read it back from its beginning.
fn prove(
    files: &Files,
    folder: &Folder,
    id: &StoreId,
    seal: &Seal,
    named: bool,
) -> Result<Stage, Kept> {
    let name = if named {
        packed_name(seal.number)
    } else {
        unfinished(seal.number)
    };
    let file = files.read(folder, &name).map_err(Kept::File)?;
    let packed = Packed::open(file, seal.number);
    let packed = packed.and_then(|packed| Reread::over(Source::Packed(packed), id, *seal));
    let packed = packed.map_err(|why| untrue(files, folder, seal, named, why))?;
    Ok(Stage::Proving { packed, named })
}

/// Handles a compressed file that differs from what was written to it. It loses its name if it has one and the original
/// file exists.
fn untrue(files: &Files, folder: &Folder, seal: &Seal, named: bool, why: Wrong) -> Kept {
    let first = folder.id(&segment_name(seal.number));
    if named
        && matches!(why, Wrong::Damaged { .. })
        && matches!(first, Ok(Some(_)))
        && let Err(e) = files.remove(folder, &packed_name(seal.number))
    {
        tracing::warn!(error = %e, "a damaged compressed segment could not be removed");
    }
    Kept::Untrue(why)
}

/// Gives the compressed file its name, then removes the original; returns its size in bytes.
fn put(files: &Files, folder: &Folder, number: u32, named: bool) -> io::Result<u32> {
    let name = packed_name(number);
    if named {
        // the crash may have come before the name was on disk
        files.sync_folder(folder)?;
    } else {
        files.rename(folder, &unfinished(number), &name)?;
    }
    let file = files.read(folder, &name)?;
    files.sync_all(&file)?;
    let bytes = file.metadata()?.len();
    files.remove(folder, &segment_name(number))?;
    Ok(u32_of(usize_of(bytes)))
}

/// Removes unfinished files that crashes left; nothing depends on them.
pub(crate) fn tidy(files: &Files, folder: &Folder) {
    let names = match folder.names() {
        Ok(names) => names,
        Err(e) => return tracing::warn!(error = %e, "cannot look for unfinished segments"),
    };
    let names = names.iter().filter_map(|name| name.to_str());
    for name in names.filter(|name| name.ends_with(UNFINISHED)) {
        match files.remove(folder, name) {
            Ok(()) => tracing::info!(name, "removed what compressing a segment left unfinished"),
            Err(e) => tracing::warn!(name, error = %e, "what compressing a segment left stays"),
        }
    }
}
