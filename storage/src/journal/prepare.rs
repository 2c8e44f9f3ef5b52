//! Writes segments full of zeros ahead of their use, on its own thread.
//!
//! **Order.** Zeros, fsync, rename to the final name, fsync of the folder: a segment that has its name is complete, so
//! a power cut leaves a whole segment or a `.tmp`, which the next try removes.
//!
//! **Failure.** Making a segment writes no part of a commit. So when the machine runs out of something (descriptors,
//! disk space, memory), the thread tries again with growing pauses; commits wait a second and are then refused until
//! the segment exists. Any other error ends the store.

use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::io::Errno;

use crate::api::StoreError;
use crate::background::give_way;
use crate::context::StoreContext;
use crate::files::Files;
use crate::folder::Folder;
use crate::health::Health;
use crate::journal::format::{SegmentHeader, StoreId, segment_name};
use crate::log::LogError;
use crate::num::u64_of;
use crate::sync::lock;

/// The pause after the first failure; it doubles.
const FIRST_PAUSE: Duration = Duration::from_millis(10);
/// The longest pause between two tries.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// How long commits wait for a segment that cannot be made before they are refused.
const PATIENCE: Duration = Duration::from_secs(1);
/// How often a waiting writer checks whether to go on waiting.
const POLL: Duration = Duration::from_millis(20);

/// A segment ready for records.
#[derive(Debug)]
pub(crate) struct Segment {
    /// Its number, from 1.
    pub(crate) number: u32,
    /// Its size in bytes.
    pub(crate) size: u32,
    /// The file, open for reading and writing.
    pub(crate) file: File,
}

/// Whether the machine has run out of something for a while: nothing is broken, and a later try may succeed.
pub(crate) fn exhausted(e: &io::Error) -> bool {
    let passing = [
        Errno::NOSPC,
        Errno::DQUOT,
        Errno::MFILE,
        Errno::NFILE,
        Errno::NOMEM,
        Errno::AGAIN,
        Errno::INTR,
    ];
    Errno::from_io_error(e).is_some_and(|e| passing.contains(&e))
}

/// Whether the cause is missing disk space.
pub(crate) fn no_room(e: &io::Error) -> bool {
    matches!(Errno::from_io_error(e), Some(Errno::NOSPC | Errno::DQUOT))
}

/// Creates segment `number` of `size` bytes, header and zeros, durably under its name.
///
/// # Errors
/// `ENOSPC` before anything is written when `size` bytes are not free, `EEXIST` when there is a segment of that name,
/// otherwise the system's error. An unfinished file is removed again, if possible.
pub(crate) fn prepare(
    files: &Files,
    folder: &Folder,
    id: &StoreId,
    number: u32,
    size: u32,
) -> io::Result<Segment> {
    // otherwise the zeros of a segment that cannot be finished would use up the disk
    if folder.free_space()? < u64::from(size) {
        return Err(Errno::NOSPC.into());
    }
    let unfinished = format!("{number:010}.tmp");
    // left by a crash or an earlier try: it does not have a segment's name, so it was never used
    folder.remove(&unfinished)?;
    let made = fill(files, folder, id, number, size, &unfinished);
    if made.is_err()
        && let Err(e) = folder.remove(&unfinished)
    {
        tracing::warn!(error = %e, "an unfinished segment could not be removed");
    }
    made
}

fn fill(
    files: &Files,
    folder: &Folder,
    id: &StoreId,
    number: u32,
    size: u32,
    unfinished: &str,
) -> io::Result<Segment> {
    let file = files.create(folder, unfinished)?;
    let header = SegmentHeader {
        number,
        size,
        id: *id,
    }
    .encode();
    files.write_at(&file, &header, 0)?;
    files.write_zeros(&file, u64_of(header.len()), u64::from(size))?;
    files.sync_all(&file)?;
    files.rename(folder, unfinished, &segment_name(number))?;
    Ok(Segment { number, size, file })
}

/// The state that the thread and the writer share.
#[derive(Debug, Default)]
struct Trying {
    /// Since when the machine has lacked something for a segment, and its last error.
    failing: Mutex<Option<(Instant, io::Error)>>,
    stop: AtomicBool,
}

/// The thread that prepares the next segment while the current one fills.
#[derive(Debug)]
pub(crate) struct Preparer {
    order: Option<SyncSender<u32>>,
    ready: Receiver<io::Result<Segment>>,
    thread: Option<JoinHandle<()>>,
    trying: Arc<Trying>,
    context: Arc<StoreContext>,
    waiting: bool,
}

impl Preparer {
    /// Starts the thread, which makes segments of `size` bytes.
    ///
    /// # Errors
    /// The system's error when it cannot start a thread.
    pub(crate) fn start(context: &Arc<StoreContext>, size: u32) -> io::Result<Self> {
        let (order, orders) = sync_channel::<u32>(1);
        let (give, ready) = sync_channel(1);
        let trying = Arc::new(Trying::default());
        let (shared, of) = (Arc::clone(&trying), Arc::clone(context));
        let thread = std::thread::Builder::new()
            .name("caudal-storage-prepare".to_owned())
            .spawn(move || {
                give_way();
                for number in orders {
                    let make = || prepare(&of.files, &of.journal, &of.id, number, size);
                    let made = patiently(&shared, &of.health, make);
                    if give.send(made).is_err() {
                        return;
                    }
                }
            })?;
        Ok(Self {
            order: Some(order),
            ready,
            thread: Some(thread),
            trying,
            context: Arc::clone(context),
            waiting: false,
        })
    }

    /// Orders a segment, unless one was ordered and not taken yet; [`Self::take`] returns it.
    pub(crate) fn order(&mut self, number: u32) {
        if let Some(order) = self.order.as_ref().filter(|_| !self.waiting) {
            self.waiting = order.send(number).is_ok();
        }
    }

    /// Waits for the segment that was ordered; `None` when none was.
    ///
    /// # Errors
    /// `Yet` when the machine has lacked something for longer than [`PATIENCE`]: the store refuses commits until the
    /// segment is made, and this may be called again. `Lost` when the segment cannot be made, or the thread has ended.
    pub(crate) fn take(&mut self) -> Result<Option<Segment>, LogError> {
        if !self.waiting {
            return Ok(None);
        }
        loop {
            match self.ready.recv_timeout(POLL) {
                Ok(made) => {
                    self.waiting = false;
                    return Ok(Some(made?));
                }
                Err(RecvTimeoutError::Timeout) => {
                    let failing = lock(&self.trying.failing);
                    if let Some((since, e)) = &*failing
                        && since.elapsed() > PATIENCE
                    {
                        let why = stalled(e);
                        // under the lock, because the thread ends the stall under the same lock
                        self.context.health.stall(why.clone());
                        return Err(LogError::Yet(why));
                    }
                }
                Err(RecvTimeoutError::Disconnected) => {
                    self.waiting = false;
                    let ended = "the thread that prepares segments has ended";
                    return Err(LogError::Lost(Arc::from(ended)));
                }
            }
        }
    }
}

/// The error for commits while there is no next segment.
pub(crate) fn stalled(e: &io::Error) -> StoreError {
    if no_room(e) {
        StoreError::Full(format!("the next segment of the journal does not fit: {e}"))
    } else {
        StoreError::Overloaded
    }
}

/// Tries with growing pauses until it succeeds, or fails for a lasting reason.
fn patiently(
    trying: &Trying,
    health: &Health,
    make: impl Fn() -> io::Result<Segment>,
) -> io::Result<Segment> {
    let mut pause = FIRST_PAUSE;
    loop {
        let made = make();
        let mut failing = lock(&trying.failing);
        match made {
            Err(e) if exhausted(&e) && !trying.stop.load(Ordering::Acquire) => {
                if failing.is_none() {
                    tracing::warn!(error = %e, "the next segment of the journal cannot be made yet");
                }
                let since = failing.take().map_or_else(Instant::now, |(since, _)| since);
                *failing = Some((since, e));
            }
            made => {
                if failing.take().is_some() && made.is_ok() {
                    tracing::info!("the next segment of the journal could be made");
                }
                health.go_on();
                return made;
            }
        }
        drop(failing);
        std::thread::park_timeout(pause);
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

impl Drop for Preparer {
    fn drop(&mut self) {
        self.trying.stop.store(true, Ordering::Release);
        drop(self.order.take());
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // drop the receiver, so that the thread cannot block on handing over an ordered segment
            drop(std::mem::replace(&mut self.ready, sync_channel(0).1));
            if thread.join().is_err() {
                tracing::error!("the thread that prepares segments panicked");
            }
        }
    }
}
