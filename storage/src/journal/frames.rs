//! A cache of unpacked frames of compressed segments.
//!
//! **Bounds.** A fixed number of bytes in total; the least recently used frame is dropped first. The last frame is kept
//! whatever the bound, since records are read one after the other.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use crate::journal::packed::Packed;
use crate::journal::seal::Wrong;
use crate::num::u64_of;
use crate::sync::lock;

/// A segment number and a frame number.
type Key = (u32, u32);

#[derive(Debug, Default)]
struct Kept {
    /// Most recently used first.
    frames: VecDeque<(Key, Arc<Vec<u8>>)>,
    bytes: u64,
}

/// The cached frames, and the limit of their bytes.
#[derive(Debug)]
pub(crate) struct Frames {
    most: u64,
    kept: Mutex<Kept>,
}

impl Frames {
    /// An empty cache of at most this many bytes.
    pub(crate) fn new(most: u64) -> Self {
        Self {
            most,
            kept: Mutex::default(),
        }
    }

    /// The unpacked frame `nth` (from 0) of a segment, from the cache or read and cached.
    ///
    /// # Errors
    /// As [`Packed::unpack`]; a cached frame cannot fail.
    pub(crate) fn get(&self, packed: &Packed, nth: u32) -> Result<Arc<Vec<u8>>, Wrong> {
        let key = (packed.seal().number, nth);
        if let Some(found) = self.look(key) {
            return Ok(found);
        }
        let frame = packed.unpack(nth)?;
        self.put(key, &frame);
        Ok(frame)
    }

    fn look(&self, key: Key) -> Option<Arc<Vec<u8>>> {
        let frames = &mut lock(&self.kept).frames;
        let at = frames.iter().position(|(other, _)| *other == key)?;
        if at > 0 {
            let found = frames.remove(at)?;
            frames.push_front(found);
        }
        frames.front().map(|(_, frame)| Arc::clone(frame))
    }

    fn put(&self, key: Key, frame: &Arc<Vec<u8>>) {
        let mut kept = lock(&self.kept);
        if kept.frames.iter().any(|(other, _)| *other == key) {
            return;
        }
        kept.frames.push_front((key, Arc::clone(frame)));
        kept.bytes += u64_of(frame.len());
        while kept.bytes > self.most && kept.frames.len() > 1 {
            if let Some((_, gone)) = kept.frames.pop_back() {
                kept.bytes -= u64_of(gone.len());
            }
        }
    }

    /// The limit and the current size, in bytes.
    pub(crate) fn bytes(&self) -> (u64, u64) {
        (self.most, lock(&self.kept).bytes)
    }
}
