//! Writes segments full of zeros ahead of their use, on its own thread.
//!
//! **Order.** Zeros, fsync, rename to the final name, fsync of the folder: a segment that has its
//! name is complete, so a power cut leaves a whole segment or a `.tmp` that open removes.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use crate::files::Files;
use crate::journal::check::segment_path;
use crate::journal::format::{SegmentHeader, StoreId};
use crate::num::{u64_of, usize_of};

const ZEROS: usize = 1 << 20;

/// A segment ready for records.
#[derive(Debug)]
pub(crate) struct Segment {
    pub(crate) number: u32,
    pub(crate) size: u32,
    pub(crate) file: File,
}

/// Makes segment `number` of `size` bytes; one of that name is replaced.
pub(crate) fn prepare(
    files: &Files,
    dir: &Path,
    id: &StoreId,
    number: u32,
    size: u32,
) -> io::Result<Segment> {
    let path = segment_path(dir, number);
    let unfinished = path.with_extension("tmp");
    let file = files.create(&unfinished)?;
    let header = SegmentHeader {
        number,
        size,
        id: *id,
    }
    .encode();
    files.write_at(&file, &header, 0)?;
    let zeros = vec![0; ZEROS];
    let mut offset = u64_of(header.len());
    while offset < u64::from(size) {
        let n = usize_of(u64::from(size) - offset).min(ZEROS);
        files.write_at(&file, zeros.get(..n).unwrap_or_default(), offset)?;
        offset += u64_of(n);
    }
    files.sync_all(&file)?;
    files.rename(&unfinished, &path)?;
    Ok(Segment { number, size, file })
}

/// The thread that prepares the next segment while the current one fills.
#[derive(Debug)]
pub(crate) struct Preparer {
    order: Option<SyncSender<u32>>,
    ready: Receiver<io::Result<Segment>>,
    thread: Option<JoinHandle<()>>,
    waiting: bool,
}

impl Preparer {
    /// Starts the thread.
    pub(crate) fn start(files: Files, dir: PathBuf, id: StoreId, size: u32) -> io::Result<Self> {
        let (order, orders) = sync_channel::<u32>(1);
        let (give, ready) = sync_channel(1);
        let thread = std::thread::Builder::new()
            .name("caudal-storage-prepare".to_owned())
            .spawn(move || {
                for number in orders {
                    if give.send(prepare(&files, &dir, &id, number, size)).is_err() {
                        return;
                    }
                }
            })?;
        Ok(Self {
            order: Some(order),
            ready,
            thread: Some(thread),
            waiting: false,
        })
    }

    /// Asks for a segment; [`Self::take`] gives it.
    pub(crate) fn order(&mut self, number: u32) {
        if let Some(order) = &self.order {
            self.waiting = order.send(number).is_ok();
        }
    }

    /// Waits for the segment that was ordered; `None` when none was.
    pub(crate) fn take(&mut self) -> Option<io::Result<Segment>> {
        if !self.waiting {
            return None;
        }
        self.waiting = false;
        Some(self.ready.recv().unwrap_or_else(|_| {
            Err(io::Error::other(
                "the thread that prepares segments has ended",
            ))
        }))
    }
}

impl Drop for Preparer {
    fn drop(&mut self) {
        drop(self.order.take());
        drop(self.take());
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the thread that prepares segments panicked");
        }
    }
}
